"""The korthikanti and per_operator systems against plain Python that lists tensors, not formulas.

Inputs are canonical: byte, second, FLOP, token, request.
"""

import math

import pytest

from formulas import plain_formats as formats
from mlsysim.models import TrainingMemoryModel
from mlsysim.models.shape import OPTIONAL_SHAPE, SAVED_DEFAULTS

POINTS = 1200
#: One attention in every layer; tests/models/test_mixers.py counts other mixers layer by layer.
ONE_ATTENTION = {**OPTIONAL_SHAPE, **SAVED_DEFAULTS, "state_chunk": 0}
#: Bytes per trained parameter with 32-bit copies of weights, of optimizers that need no shapes.
FIRST_ORDER = {
    "adam": 12, "adamw": 12, "adam_fp32": 12, "adam_bf16": 8, "adam_8bit": 6 + 1 / 256, "sgd": 4, "none": 0
}  # fmt: skip


def up(value, by):
    """Whole division, rounded up."""
    return -(-value // by)


def micro_batch(x):
    """Sequences of a micro-batch, and how many of them fill the batch of a rank."""
    size = up(x["batch_size"], x["dp_size"] * x["gradient_accumulation_steps"])
    return size, up(x["batch_size"], x["dp_size"] * size)


def stages(x):
    """Layers of the first stage, of those between, and of the last."""
    first, last, p = x["layers_first_stage"], x["layers_last_stage"], x["pp_size"]
    between = up(x["layers"] - first - last, max(1, p - (first > 0) - (last > 0)))
    return {"first": max(1, first or between), "between": max(1, between), "last": max(1, last or between)}


def in_flight_of(x, place):
    """Micro-batches that the rank of one stage holds at once."""
    p, v, there = x["pp_size"], x["interleaved_stages"], micro_batch(x)[1]
    if x["pipeline_schedule"] == "dualpipe":
        return min(there, p + 1)
    one_layer = x["two_batch_overlap"] / stages(x)[place]
    if p == 1:
        return min(there, 1 + one_layer)
    if x["pipeline_schedule"] == "gpipe":
        return there
    behind = p - {"first": 1, "between": min(2, p), "last": p}[place]
    chunks = 1 + behind if v == 1 else (v - 1) * min(x["microbatch_group"] or p, there) + 1 + 2 * behind
    return min(there, chunks / v + one_layer)


def in_flight(x):
    p, v, there = x["pp_size"], x["interleaved_stages"], micro_batch(x)[1]
    if x["pipeline_schedule"] == "dualpipe":
        return min(there, p + 1)
    one_layer = x["two_batch_overlap"] / up(x["layers"], p)
    if p == 1:
        return min(there, 1 + one_layer)
    if x["pipeline_schedule"] == "gpipe":
        return there
    return min(there, p + ((p - 1) / v if v > 1 else 0) + one_layer)


def may_pair(x):
    """Whether one micro-batch may go forward while another goes backward."""
    chunked = x["interleaved_stages"] > 1 or x["pp_size"] == 1 or x["pipeline_schedule"] == "dualpipe"
    return chunked and x["gradient_accumulation_steps"] > 1 and x["activation_checkpointing"] != "full"


def hot_rank(x):
    """Load of the hot rank over the mean: no more than every token, once for each of its experts, or its capacity."""
    if x["pad_to_capacity"]:
        return x["capacity_factor"]
    load = min(x["routing_imbalance_factor"], x["ep_size"], x["experts"] / x["active_experts_per_token"])
    return min(load, x["capacity_factor"] or load)


def mean_rank(x):
    """The same of loads that are all alike."""
    return hot_rank({**x, "routing_imbalance_factor": 1.0})


def least_dropped(x):
    """What the hot rank and all others together have no room for."""
    e, room = x["ep_size"], x["capacity_factor"] or math.inf
    load = hot_rank({**x, "capacity_factor": 0, "pad_to_capacity": 0})
    return (max(0, load - room) + (max(0, e - load - (e - 1) * room) if e > 1 else 0)) / e


def expert_rows(x):
    """Rows that the experts of the hot rank hold for each token it brings, their padding among them."""
    padding = x["experts"] // x["ep_size"] * x["expert_row_padding"]
    return hot_rank(x) * x["active_experts_per_token"] + padding / (micro_batch(x)[0] * x["seq_len"] / x["cp_size"])


def expert_width(x):
    """Width of what experts read and give."""
    return x["expert_input_dim"] or x["hidden_dim"]


def weighed(x, q):
    """Bytes of a token that are kept for the gradient of its routing weight."""
    if x["recompute_activation_func"] or x["routing_weights"] == "in_activation":
        return 0
    return q if x["routing_weights"] == "after" else 4


def routed_buffers(x, q, inner):
    """What stands beside a layer with experts at its peaks, in bytes per token."""
    h, width, rows, read = expert_width(x), x["expert_ffn_dim"] / x["tp_size"], expert_rows(x), bytes_kept(x)[2]
    own, kept = mean_rank(x) * x["active_experts_per_token"] * h, weighed(x, q)
    came, ordered, back, sent = rows * h * q if x["ep_size"] > 1 else 0, rows * h * q, rows * h * q, own * q
    forward, backward, weighing = came + ordered + back + sent, 2 * rows * width * q, 3 * kept * own
    if x["routing_weights"] == "before_fp32":
        return max(forward, backward, weighing - rows * (read * h + inner * width))
    if x["routing_weights"] == "in_activation":
        return max(forward, backward)
    return max(forward - kept * own, backward - kept * own, weighing)


def bytes_kept(x):
    """Bytes of a weight, of a hidden state, of an input of a product, of a gradient."""
    weight, hidden = (
        formats.bytes_of(x, "trained", "weight_dtype"),
        formats.bytes_of(x, "hidden", "activation_dtype"),
    )
    both = x["gradient_dtype"] == "both"
    gradient = hidden + 4 if both else formats.bytes_of(x, "gradient", "gradient_dtype")
    return weight, hidden, min(hidden, formats.bytes_of(x, "product", "compute_dtype")), gradient


# --- Korthikanti et al. ---------------------------------------------------------------------------


def korthikanti(x):
    wide, q, _, slope = bytes_kept(x)
    d, t, p, Z = x["dp_size"], x["tp_size"], x["pp_size"], x["zero_stage"]
    rank = x["parameters"] / (t * p * x["ep_size"])
    trained = rank * x["trainable_fraction"]
    weights, gradients = wide * rank, slope * trained
    optimizer = FIRST_ORDER[x["optimizer"]] * trained
    m, deepest = micro_batch(x)[0], up(x["layers"], p)
    s, h = x["seq_len"], x["hidden_dim"]
    scores = 5 * x["heads"] * s / h
    linear = 34 / t if x["sequence_parallel"] else 10 + 24 / t
    per_layer = {"none": linear + scores / t, "selective": linear, "full": 2}[x["activation_checkpointing"]]
    activations = per_layer * s * m * h * deepest * (q / 2) * in_flight(x)
    if Z >= 3:
        weights /= d
    if Z >= 2:
        gradients /= d
    if Z >= 1:
        optimizer /= d
    buffers = x["communication_buffer_fraction"] * gradients + (2 * m * s * h * q if p > 1 else 0)
    total = weights + gradients + optimizer + activations + buffers
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer_state": optimizer,
        "micro_batches": micro_batch(x)[1],
        "in_flight_micro_batches": in_flight(x),
        "activations": activations,
        "communication_buffers": buffers,
        "total_memory": total,
        "memory_utilization": total / x["memory_capacity"],
        "feasible": total <= x["memory_capacity"],
    }


# --- operator by operator -------------------------------------------------------------------------


def size(tensors):
    """Elements of tensors, each a tuple of its sides."""
    return sum(math.prod(sides) for sides in tensors)


def attention_matrices(x, ways):
    """Queries, keys and values, output on one of so many ranks; of latent attention with what is compressed."""
    h, heads = x["hidden_dim"], x["heads"] // ways
    nope, rope, value = x["qk_nope_head_dim"], x["qk_rope_head_dim"], x["v_head_dim"]
    if x["kv_lora_rank"]:
        r_q, r_kv = x["q_lora_rank"], x["kv_lora_rank"]
        queries = [(h, r_q), (r_q, heads * (nope + rope))] if r_q else [(h, heads * (nope + rope))]
        return [*queries, (h, r_kv + rope), (r_kv, heads * (nope + value)), (heads * value, h)]
    kv, width = up(x["kv_heads"], ways), x["head_dim"]
    value = value or width
    return [(h, heads * width + x["gate_width"] // ways), (h, kv * width), (h, kv * value), (heads * value, h)]


def attention_weights(x, ways):
    """Every tensor of attention on one of so many ranks."""
    heads, kv, width = x["heads"] // ways, up(x["kv_heads"], ways), x["head_dim"]
    tensors = attention_matrices(x, ways)
    if x["kv_lora_rank"]:
        return tensors + [(rank,) for rank in (x["q_lora_rank"], x["kv_lora_rank"]) if rank]
    if x["qkv_bias"]:
        tensors += [(heads * width,), (kv * width,), (kv * (x["v_head_dim"] or width),)]
    if x["attention_output_bias"]:
        tensors += [(x["hidden_dim"],)]
    if x["qk_norm"]:
        tensors += [(width,), (width,)] * (2 if x["norm_bias"] else 1)
    return tensors


def ffn_weights(x, width, bias, ways, outer=0):
    """Every tensor of a feed-forward block, none of width 0; widths need not divide, as in the formulas."""
    h, inner = outer or x["hidden_dim"], 2 if x["gated"] else 1
    tensors = [(h, width / ways)] * (inner + 1) if width else []
    return [*tensors, *[(width / ways,)] * inner, (h,)] if bias else tensors


def norm_weights(x):
    return [(x["hidden_dim"],)] * (x["norm_scale"] + x["norm_bias"])


def projections(x):
    """Matrices to the width of experts and back."""
    h, r = x["hidden_dim"], x["expert_input_dim"]
    return [(h, r), (r, h)] if r else []


def router_weights(x):
    return [(x["experts"], x["hidden_dim"]), *projections(x), *([(x["experts"],)] if x["router_bias"] else [])]


def layer_weights(x, ways, experts, sparse):
    """What one layer holds beside its experts, and the experts."""
    dense = [*attention_weights(x, ways), *norm_weights(x) * x["block_norms"]]
    if not sparse:
        return [*dense, *ffn_weights(x, x["ffn_dim"], x["mlp_bias"], ways)], []
    shared = ffn_weights(x, x["shared_ffn_dim"], False, ways)
    expert = ffn_weights(x, x["expert_ffn_dim"], False, ways, expert_width(x))
    return [*dense, *router_weights(x), *shared], expert * int(experts)


def adapter(matrix, rank):
    """The two matrices of an adapter."""
    rows, columns = matrix
    return [(rows, rank), (rank, columns)]


def adapters(x, sparse):
    """The adapters of one layer, and of its experts, on one rank."""
    t, rank, targets = x["tp_size"], x["lora_rank"], x["lora_target_modules"]
    attention = attention_matrices(x, t)
    dense, experts = [attention[0], attention[2]] if targets == "query_value" else attention, []
    if targets == "all_linear":
        dense = dense + ffn_weights(x, x["shared_ffn_dim" if sparse else "ffn_dim"], False, t)
        dense = dense + (projections(x) if sparse else [])
        expert = ffn_weights(x, x["expert_ffn_dim"], False, t, expert_width(x))
        experts = expert * (x["experts"] // x["ep_size"]) if sparse else []
    return tuple([each for matrix in kind for each in adapter(matrix, rank)] for kind in (dense, experts))


def state_of(x, tensors, kept, edge=False):
    """Bytes an optimizer keeps for tensors whose trained weights take so many bytes; edge: embedding and head."""
    master = 4 if kept < 4 and x["master_weights"] else 0
    number = 4 if master else max(kept, 2)
    name, elements = x["optimizer"], size(tensors)
    if name == "none":
        return 0
    matrices = [sides for sides in tensors if len(sides) == 2 and min(sides) > 0]
    vectors = elements - size(matrices)
    moments = {
        "adam": 2 * number * elements,
        "adamw": 2 * number * elements,
        "adam_fp32": 8 * elements,
        "adam_bf16": 4 * elements,
        "adam_8bit": 2 * (1 + 4 / 2048) * elements,
        "adafactor": number * (sum(map(sum, matrices)) + vectors),
        "muon": number * (elements + (elements if edge else vectors)),
        "sgd": 0,
    }
    return moments[name] + master * elements


def whole_model(x, experts):
    """Parameters with so many experts counted in a layer that has some."""
    V, h, r = x["vocab_size"], x["hidden_dim"], x["embedding_dim"]
    edges = [(V, r or h), (x["learned_positions"], h), *norm_weights(x), (h, r), (r, h)]
    edges += [] if x["tied_embeddings"] else [(V, r or h)]
    total = size(edges)
    for count, sparse in ((x["layers"] - x["moe_layers"], False), (x["moe_layers"], True)):
        dense, routed = layer_weights(x, 1, experts, sparse)
        total += count * (size(dense) + size(routed))
    return total


def norm_saves(x, q, width):
    """Bytes per token of a norm: input, output as a product reads it, statistic, and an fp32 copy where eager."""
    return (q + bytes_kept(x)[2]) * width + 4 + (4 * width if copies(x) else 0)


def copies(x):
    """Whether a norm makes an fp32 copy of its input: RMSNorm in eager code."""
    return x["elementwise_kernels"] == "eager" and not x["norm_bias"]


def read_by_products(x, q):
    """Bytes per token of the norm of a layer and all that reads it; frozen scales and products need its input alone."""
    h = x["hidden_dim"]
    own = norm_saves(x, q, h) if x["finetuning"] == "full" else (4 if copies(x) else q) * h + 4
    return own + max(0, residual_bytes(x, q) - q) * h


def read_again(x, q):
    """Bytes per token of what products of a layer read once more: cast for each of them, or for adapters."""
    h, t, wide = x["hidden_dim"], x["tp_size"], x["adapter_dtype"] == "fp32"
    split = t if x["sequence_parallel"] else 1
    if x["finetuning"] == "full":
        return q * h / split * (2 + x["gated"]) if casts(x, q) else 0
    everywhere, few = x["lora_target_modules"] == "all_linear", x["lora_target_modules"] == "query_value"
    times = (2 if few else 3) if wide else 1
    times += ((1 + x["gated"]) if wide else 1) if everywhere else 0
    value = x["v_head_dim"] if x["kv_lora_rank"] else x["v_head_dim"] or x["head_dim"]
    of_output = x["heads"] * value / t if wide and not few else 0
    number = 2 if few else 6 + x["gated"] if everywhere else 4
    return q * (times * h / split + of_output + number * x["lora_rank"])


def casts(x, q):
    """Whether weights are wider than hidden states and cast for each product."""
    return bytes_kept(x)[0] > q and x["zero_stage"] < 1


def attention_saves(x, q):
    """Bytes per token that attention keeps: outside its core, and in it."""
    heads, eager = x["heads"] // x["tp_size"], x["elementwise_kernels"] == "eager"
    nope, rope, value = x["qk_nope_head_dim"], x["qk_rope_head_dim"], x["v_head_dim"]
    kv, width = up(x["kv_heads"], x["tp_size"]), x["head_dim"]
    latent = x["kv_lora_rank"] > 0
    value = value if latent or value else width
    read = bytes_kept(x)[2]
    given = formats.bytes_of(x, "attention", "saved_dtype")
    # What attention gives: once where it is kept narrow, else once more as the next product reads it.
    result = given if given < q else q + (read if read < q else 0)
    engine, split = x["attention_kernel"] in ENGINE, x["tp_size"] if x["sequence_parallel"] else 1
    if latent:
        outside = norm_saves(x, q, x["kv_lora_rank"]) + (norm_saves(x, q, x["q_lora_rank"]) if x["q_lora_rank"] else 0)
        if engine:
            outside = (outside + q * rope) / split + q * rope
        else:
            outside += 0 if eager else q * rope
        queries, keys, expanded, output = nope + rope, nope + rope, (0 if engine else nope) + value, value
        assembled = q * heads * (queries + keys + expanded)
        if x["recompute_mla_up_proj"]:
            outside, assembled = q * (x["q_lora_rank"] + x["kv_lora_rank"] + rope), 0
        outside += assembled + result * heads * output
    else:
        outside = q * (width * (heads + kv) + value * kv) + result * value * heads
        if x["gate_width"]:
            outside += q * (x["gate_width"] // x["tp_size"] + value * heads)
        if x["qk_norm"]:
            outside += (heads + kv) * (q * width + (4 * width if copies(x) else 0) + 4)
    if x["attention_kernel"] in FLASH:
        again = x["attention_kernel"] == "flash_te" and micro_batch(x)[0] > 1
        return outside, (4 + (q * value if again else 0)) * heads
    rows = heads * x["seq_len"]
    repeated = 0 if latent else q * (width + value) * (heads - kv)
    mask = x["dropout_mask_bytes"]
    if engine:
        return outside, (rows * q + (rows * q + rows * mask if mask else 0)) / x["cp_size"] + repeated
    return outside, rows * q + rows * 4 + rows * mask + repeated


#: Kernels that keep no scores, and those of Transformer Engine.
FLASH, ENGINE = ("flash", "fused", "flash_te"), ("fused", "flash_te", "unfused")


def residual_bytes(x, q):
    """Bytes of a number that a layer hands on."""
    return q if x["residual_dtype"] == "as_precision" else formats.STORED[x["residual_dtype"]]


def layer_saves(x, q, sparse):
    """Bytes per token of one layer: all of it, and what the checkpointing policy keeps."""
    h, t, k = x["hidden_dim"], x["tp_size"], x["active_experts_per_token"]
    split = t if x["sequence_parallel"] else 1
    inner = 2 + (0 if not x["gated"] else 2 if x["elementwise_kernels"] == "eager" else 1)
    outside, core = attention_saves({**x, "recompute_mla_up_proj": 0}, q)
    kept_outside, _ = attention_saves(x, q)
    read = bytes_kept(x)[2]
    inner = (inner - 1) * q + (read if x["finetuning"] == "full" or x["lora_target_modules"] == "all_linear" else 0)
    again = x["recompute_activation_func"]
    if again:
        inner = (2 if x["gated"] else 1) * formats.bytes_of(x, "saved", "saved_dtype")
    if sparse:
        outer = expert_width(x)
        own = mean_rank(x) * k * weighed(x, q) * outer + read * x["expert_input_dim"] / split
        twice = x["routing_weights"] == "in_activation" and not again and not x["gated"]
        routed = expert_rows(x) * (read * outer + (inner + (q if twice else 0)) * x["expert_ffn_dim"] / t) + own
        block = routed + inner * x["shared_ffn_dim"] / t + 4 * x["experts"] + 4 * k + 4 * k + 4
    else:
        block = inner * x["ffn_dim"] / t
    wide = residual_bytes(x, q)
    norm, inputs = read_by_products(x, q), read_again(x, q)
    rest = x["block_norms"] * norm / split + outside + 2 * x["dropout_mask_bytes"] * h / split + inputs
    entry = wide * h / split
    norms = x["block_norms"] * (wide * h if x["recompute_layernorm"] else norm) / split
    less = norms + kept_outside + 2 * x["dropout_mask_bytes"] * h / split + inputs
    heads, kv, width = x["heads"] // t, up(x["kv_heads"], t), x["head_dim"]
    value = x["v_head_dim"] or width
    queries, values = q * (heads * width + x["gate_width"] // t), q * kv * value
    gate, attended = q * x["ffn_dim"] / t, (q * value + 4) * heads
    matmuls = entry + queries + values + attended + gate + entry
    selective = {"core_attention": less + block, "alternate_matmuls": matmuls}[x["selective_policy"]]
    kept = {"none": less + core + block, "selective": selective, "full": entry}[x["activation_checkpointing"]]
    held = x["finetuning"] == "full" or x["lora_target_modules"] == "all_linear"
    made = (2 if held else 3) * q * x["ffn_dim"] / t
    return rest + core + block, kept, routed_buffers(x, q, inner) if sparse else made


def outside(x, tensors, kept, edges):
    """State of embedding, head and the last norm, with copies of so many elements."""
    if x["optimizer"] != "adafactor":
        return state_of(x, [(edges,)], kept, edge=True)
    copies = {**x, "optimizer": "sgd"}
    return state_of(x, tensors, kept) - state_of(copies, tensors, kept) + state_of(copies, [(edges,)], kept)


#: Bytes of one row of the vocabulary at the loss of a token.
LOGITS = {
    "eager": 12, "compiled": 14, "fast": 8, "megatron": 6, "megatron_fused": 10, "fused_linear": 1 / 2
}  # fmt: skip


def moment_bytes(x, kept):
    """Bytes of one moment of a trained number; 0 without any."""
    number = 4 if kept < 4 and x["master_weights"] else max(kept, 2)
    own = {"adam_fp32": 4, "adam_8bit": 1 + 4 / 2048, "adam_bf16": 2, "sgd": 0, "none": 0, "adafactor": 0}
    return own.get(x["optimizer"], number)


def per_operator(x):
    """The fullest rank, or the one that is asked."""
    p, asked = x["pp_size"], x["peak_rank"]
    ranks = {place: of_rank(x, place) for place in ("first", "between", "last")}
    own = {place: rank["rank_memory"] for place, rank in ranks.items() if place != "between" or p > 2}
    place = "first"
    if x["pipeline_schedule"] == "dualpipe":
        place = "between"
    elif p > 1:
        place = max(own, key=lambda each: (own[each], -["first", "last", "between"].index(each)))
        place = place if asked == "fullest" else asked
    found = ranks[place]
    total = max(found["rank_memory"], found.pop("both_ends"))
    moments = ("loss_memory", "head_memory", "layer_memory", "update_memory")
    gives = x["driver_memory"] or x["memory_capacity"]
    usable = gives - x["context_memory"]
    margin, spread = usable - total, x["memory_spread"]
    likely = math.erfc(math.log(total / usable) / spread / 2**0.5) / 2 if spread else margin >= 0
    reading, pools = x["memory_reading"], total * (1 + x["pool_share"])
    read = {"allocated": min(total, usable), "reserved": min(pools, usable)}
    read["device"] = min(pools + x["context_memory"], gives)
    return {
        **found,
        "binding_rank": ["first", "between", "last"].index(place),
        "peak_moment": max(range(4), key=lambda each: found[moments[each]]),
        "total_memory": total,
        "usable_memory": usable,
        "reported_memory": read[reading],
        "memory_utilization": total / usable,
        "memory_margin": margin,
        "fit_probability": likely,
        "fit": 0 if likely >= 0.95 else 1 if likely <= 0.05 else 2,
        "feasible": total <= usable,
    }


def of_rank(x, place):
    """Bytes of the rank of one stage, by part."""
    wide, q, _, slope = bytes_kept(x)
    if x["finetuning"] == "qlora" and x["weight_dtype"] == "as_precision":
        wide = formats.STORED["nf4"]
    e, t, p, Z = x["ep_size"], x["tp_size"], x["pp_size"], x["zero_stage"]
    d = x["dp_size"] * x["cp_size"] // x["dp_replicate_size"]
    L, L_moe, h, s = x["layers"], x["moe_layers"], x["hidden_dim"], x["seq_len"] / x["cp_size"]
    m, deepest = micro_batch(x)[0], stages(x)[place]
    rows = x["vocab_multiple"] * up(x["vocab_size"], x["vocab_multiple"] * t)
    on_first, on_last = p == 1 or place == "first", p == 1 or place == "last"

    plain_layer, _ = layer_weights(x, t, 0, False)
    sparse_layer, experts = layer_weights(x, t, x["experts"] // e, True)
    every = x["moe_layer_interval"]
    fewest = deepest - min(L - L_moe, deepest - deepest // every if every > 1 else deepest)
    most = min(L_moe, up(deepest, every))
    plain_is_larger = size(plain_layer) > size(sparse_layer) + size(experts)
    both = x["pipeline_schedule"] == "dualpipe"
    if every == 1:  # those without experts are the first ones
        v, plain = x["interleaved_stages"], L - L_moe
        chunk, before = up(deepest, v), up(stages(x)["first"], v)
        own = min(plain, chunk) if on_first else min(chunk, max(0, plain - before))
        own = max(0, plain - L + chunk) if on_last and not on_first else own
        fewest = most = min(L_moe, max(0, deepest - own))
    sparse_layers = min(deepest, min(L_moe, fewest) if plain_is_larger else most)
    positions, norm = [(x["learned_positions"], h)], norm_weights(x)
    r = x["embedding_dim"]
    row, factor = r or h, [(h, r)] if r else []
    if p > 1:
        ends = rows * row + max(size(positions), size(norm)) + size(factor)
        tables = on_first + on_last
        factor = tables * factor
        positions = positions if on_first else []
        edges = rows * row * tables + size(positions) + (size(norm) if on_last else 0) + size(factor)
    else:
        tables, factor = 1 if x["tied_embeddings"] else 2, 2 * factor
        edges = ends = rows * row * tables + size(positions) + size(norm) + size(factor)
    held_stages = 2 if both else 1
    layers = (held_stages * (deepest - sparse_layers), held_stages * sparse_layers)
    dense = layers[0] * size(plain_layer) + layers[1] * size(sparse_layer) + edges
    routed = layers[1] * size(experts)

    def held(dense, routed, stage):
        """Dense tensors over all data-parallel ranks, experts over those that hold the same ones."""
        ways, copies = (d, d / e) if stage <= Z else (1, 1)
        return dense / ways + routed / copies

    full, wide_weight, kept_wide = x["finetuning"] == "full", wide, max(wide, 2)  # embedding and head
    weights = held(wide * dense + (kept_wide - wide) * edges, wide * routed, 3)
    units = [size(plain_layer)] if L_moe < L else []
    if L_moe:
        units.append(size(sparse_layer) + (size(experts) if d > e else 0))
    unit = max(units)
    if full:
        f = x["trainable_fraction"]
        learned = list(sparse_layer)
        if x["router_bias"]:  # set by counting
            learned.remove((x["experts"],))
        trained = f * (dense - layers[1] * (size(sparse_layer) - size(learned))), f * routed
        state = (
            f
            * (
                layers[0] * state_of(x, plain_layer, wide)
                + layers[1] * state_of(x, learned, wide)
                + outside(x, [(rows, row)] * tables + factor + positions + norm, wide, edges)
            ),
            f * layers[1] * state_of(x, experts, wide),
        )
        trained_unit = f * unit
    else:
        kept = 4 if x["adapter_dtype"] == "fp32" else max(q, 2)
        per_layer = adapters(x, False), adapters(x, True)
        trained, state = (
            tuple(sum(n * value(kinds[kind]) for n, kinds in zip(layers, per_layer, strict=True)) for kind in (0, 1))
            for value in (size, lambda tensors: state_of(x, tensors, kept))
        )
        weights += held(kept * trained[0], kept * trained[1], 3)
        adapted = [size(per_layer[0][0])] if L_moe < L else []
        if L_moe:
            adapted.append(size(per_layer[1][0]) + (size(per_layer[1][1]) if d > e else 0))
        trained_unit = max(adapted)
    gradients = held(slope * trained[0], slope * trained[1], 2)
    if x["optimizer_in_backward"]:
        gradients = min(gradients, slope * rows * row)
    on_device = x["optimizer_device"] == "accelerator"
    optimizer = on_device * held(*state, 1)
    moment = moment_bytes(x, wide if full else kept) if x["update_buffer"] == "foreach" else 0
    update = held(moment * trained[0], moment * trained[1], 1)

    product = formats.bytes_of(x, "product", "compute_dtype")
    sent = min(wide, max(product, 2))  # a shard that is kept wider than products is cast before it travels
    gathers = Z >= 3 and d > 1
    whole = min(x["gathered_layers"], max(stages(x).values())) + 1 / d
    gathered = sent * whole * unit + (1 + 1 / d) * max(sent, 2) * rows * row if gathers else 0
    if not full and wide < product:
        value = x["head_dim"] if x["kv_lora_rank"] else x["v_head_dim"] or x["head_dim"]
        columns = max(x["heads"] * x["head_dim"] + x["gate_width"], x["heads"] * value)
        widths = h * x["ffn_dim"], expert_width(x) * x["expert_ffn_dim"], h * x["shared_ffn_dim"], h * columns
        gathered += product * max(max(widths) / t, h * x["expert_input_dim"])
    split = t if x["sequence_parallel"] else 1
    buffers = (q * trained_unit if Z >= 2 and d > 1 else 0) + (2 * m * s * h * q / split if p > 1 else 0)
    whole_sequence = m * s * h * q if x["sequence_parallel"] and t > 1 else 0
    ways = e * t  # an expert is cut over as many ranks as everything else
    gathers_tokens = x["token_dispatcher"] == "allgather" and L_moe and ways > 1
    buffers += max(whole_sequence, m * s * h * q / split * ways if gathers_tokens else 0)

    all_dense, kept_dense, beside_dense = layer_saves(x, q, False)
    all_sparse, kept_sparse, beside_sparse = layer_saves(x, q, True)
    stage = max(m * s * (max(0, deepest - n) * kept_dense + n * kept_sparse) for n in (most, fewest))
    stage += m * s * x["dropout_mask_bytes"] * h / split if on_first else 0
    fly = in_flight_of(x, place)
    activations = stage / deepest if x["activation_offload"] else fly * stage
    kinds = [(all_dense, kept_dense, beside_dense)] if L_moe < L else []
    if L_moe:
        kinds.append((all_sparse, kept_sparse, beside_sparse))
    largest, kept, beside = (max(kind) for kind in zip(*kinds, strict=True))
    beside = max(beside, 0 if x["attention_kernel"] in FLASH else 2 * q * x["heads"] / t * x["seq_len"] / x["cp_size"])
    wide_entry = residual_bytes(x, q)
    backward = m * s * (largest - kept + wide_entry * h / split + beside)
    kernel, steady = x["loss_kernel"], x["gradients_at_loss"] or micro_batch(x)[1] > 1
    logit = {**LOGITS, "eager_referenced": 12 + q, "chunked": q + q / x["loss_chunks"]}[kernel]
    loss = m * s * (logit * rows + read_by_products(x, q) / split)
    loss += min(x["deferred_head_gradients"], micro_batch(x)[1]) * m * s * q * (rows + h / split)
    of_head = (x["trainable_fraction"] if full else 0) * rows * row
    chunked = kernel in ("chunked", "fused_linear")
    loss += slope * of_head * (1 if steady else 2) if chunked else 0
    there = gradients if steady else 0
    always = weights + optimizer + x["workspace"] + x["reserved_memory"]
    passing = always + buffers + gathered + (m * x["seq_len"] ** 2 if x["loaded_mask"] else 0)
    if wide > q and Z < 1:
        recomputed = x["activation_checkpointing"] == "full"
        passing += q * (0 if recomputed else dense + routed - edges) + (q * rows * row if on_last else 0)
    referenced = m * s * q * rows if on_last and kernel == "eager_referenced" else 0
    anew = not x["gradients_at_loss"] and micro_batch(x)[1] == 1 and Z < 2
    of_table = slope * of_head if anew and on_first else 0
    tied, last_one = x["tied_embeddings"], gradients
    last_one -= 0 if tied else min(gradients, of_table)
    ends_alike = (1 if kernel in ("chunked", "fused_linear") else 2) * of_table if tied and on_last else 0
    made = min(gradients, slope * (trained_unit + (of_head if on_last else 0)))
    head = m * s * q * (rows + h / split) + max(there, min(gradients, slope * of_head)) + referenced
    moments = {
        "loss_memory": passing + there + activations + loss + (q * of_head if gathers else 0) if on_last else 0,
        "head_memory": passing + activations + head if on_last and not chunked else 0,
        "layer_memory": passing
        + referenced
        + max(
            max(0, backward) + max(activations + max(there, made), activations / deepest + last_one),
            gradients + ends_alike,
        ),
        "update_memory": always + gradients + update,
    }
    most = max(moments.values())
    peak = max(0, most - always - buffers - gathered - gradients)
    total_of_end = 0
    if both:
        # Layer by layer: what the ends hold, those without experts first.
        left = max(0, L - (p - 2) * deepest)
        kinds = [place >= L - L_moe for place in range(left)]
        first = kinds[: up(left, 2)]
        of_kind = {False: (size(plain_layer), 0), True: (size(sparse_layer), size(experts))}
        own, split_own = (sum(of_kind[kind][part] for kind in kinds) for part in (0, 1))
        own += 2 * ends
        states = f * state_of(x, [(1,)], wide_weight) * on_device
        of_states = [(wide_weight, 3), (slope * f, 2), (states, 1)]
        total_of_end = sum(
            each * (own / (d if at <= Z else 1) + split_own / (d / e if at <= Z else 1)) for each, at in of_states
        )
        total_of_end += (kept_wide - wide_weight) * 2 * ends / (d if Z >= 3 else 1)
        rows_of = {False: kept_dense, True: kept_sparse}
        in_first = min(micro_batch(x)[1], p) * sum(rows_of[kind] for kind in first)
        in_last = (left - len(first)) * rows_of[L_moe > 0]
        total_of_end += m * s * (in_first + in_last) + loss + buffers + x["reserved_memory"] + x["workspace"]
    return {
        "parameters": whole_model(x, x["experts"]),
        "active_parameters": whole_model(x, x["active_experts_per_token"]),
        "dense_parameters_per_rank": dense,
        "expert_parameters_per_rank": routed,
        "parameters_per_rank": dense + routed,
        "trained_parameters_per_rank": sum(trained),
        "weights": weights,
        "gradients": gradients,
        "optimizer_state": optimizer,
        "largest_layer_parameters": unit,
        "gathered_weights": gathered,
        "communication_buffers": buffers,
        "dense_layer_activation": kept_dense,
        "moe_layer_activation": kept_sparse,
        "micro_batches": micro_batch(x)[1],
        "hot_rank_factor": hot_rank(x),
        "mean_rank_factor": mean_rank(x),
        "least_dropped_share": least_dropped(x),
        "expert_rows_per_token": expert_rows(x),
        "in_flight_micro_batches": fly,
        "stage_activations": stage,
        "activations": activations,
        "backward_buffer": backward,
        "loss_buffer": loss,
        "peak_activations": peak,
        **moments,
        "rank_memory": most,
        "both_ends": total_of_end,
    }


# --- random inputs --------------------------------------------------------------------------------


def draw_routing(r):
    """How tokens are spread over experts, and what experts have room for."""
    room = r.choice([0.0, 1.0, r.uniform(0.5, 3)])
    return {
        "routing_imbalance_factor": r.choice([1.0, r.uniform(1, 8)]),
        "capacity_factor": room,
        "pad_to_capacity": r.randint(0, 1) if room else 0,
    }


def draw_run(r):
    """What both variants ask of a run."""
    e, t, p = r.choice([1, 2, 8]), r.choice([1, 2, 4, 8]), r.choice([1, r.randint(2, 16)])
    schedule, layers = r.choice(["1f1b", "1f1b", "gpipe"]), r.randint(p, 130)
    return {
        "batch_size": r.randint(1, 3000),
        "seq_len": r.choice([r.randint(1, 100_000), 2048]),
        "precision": r.choice(list(formats.PRESETS)),
        **formats.draw(r, "weight_dtype", "activation_dtype"),
        "optimizer": r.choice(list(FIRST_ORDER)),
        "activation_checkpointing": r.choice(["none", "selective", "full"]),
        "zero_stage": r.randint(0, 3),
        "dp_size": e * r.choice([1, 1, r.randint(2, 60)]),
        "tp_size": t,
        "pp_size": p,
        "cp_size": r.choice([1, 1, 2, 8]),
        "ep_size": e,
        "gradient_accumulation_steps": r.choice([1, r.randint(1, 32)]),
        "trainable_fraction": r.choice([0.0, 1.0, r.random()]),
        "sequence_parallel": r.randint(0, 1),
        "interleaved_stages": min(r.choice([1, r.randint(2, 6)]), up(layers, p)) if p > 1 and schedule == "1f1b" else 1,
        "pipeline_schedule": schedule,
        "gradient_dtype": r.choice(["as_precision", "fp32", "both"]),
        "layers": layers,
        "hidden_dim": r.choice([r.randint(1, 20_000), 4096]),
        "heads": t * r.choice([1, 2, 3, 4, 6, 8, 12, 16]),
        "memory_capacity": 10 ** r.uniform(10, 13),
    }


def draw_korthikanti(r):
    x = draw_run(r)
    return {
        **ONE_ATTENTION,
        **x,
        "two_batch_overlap": int(may_pair(x) and r.random() < 0.5),
        "ep_size": 1,
        "parameters": 10 ** r.uniform(7, 12),
        "communication_buffer_fraction": r.choice([0.05, r.random()]),
    }


def draw_live(r, x):
    """Memory that lives at the moments of a step."""
    both, p = x["pipeline_schedule"] == "dualpipe", x["pp_size"]
    few = max(1, x["layers"] // p) if p > 2 and not both and x["interleaved_stages"] == 1 else 0
    return {
        "peak_rank": "fullest" if both else r.choice(["fullest", "fullest", "first", "last"]),
        "loss_kernel": r.choice([*LOGITS, "eager_referenced", "chunked"]),
        "loss_chunks": r.choice([1, 8]),
        "vocab_multiple": r.choice([1, 128]),
        "gradients_at_loss": r.randint(0, 1),
        "update_buffer": r.choice(["none", "fused", "foreach"]),
        "optimizer_in_backward": r.choice([0, 0, 1]) if x["gradient_accumulation_steps"] == 1 else 0,
        "optimizer_device": r.choice(["accelerator", "accelerator", "host"]),
        "activation_offload": r.choice([0, 0, 1]),
        "residual_dtype": r.choice(["as_precision", "fp32"]),
        "workspace": r.choice([0.0, 1e8]),
        "loaded_mask": r.randint(0, 1),
        "deferred_head_gradients": r.choice([0, 0, 3]) if p > 1 else 0,
        "layers_first_stage": r.choice([0, r.randint(1, few)]) if few else 0,
        "layers_last_stage": r.choice([0, r.randint(1, few)]) if few else 0,
        "microbatch_group": r.choice([0, 5]),
        "memory_spread": r.choice([0.0, 0.5]),
        "token_dispatcher": r.choice(["alltoall", "allgather"]),
        "adapter_dtype": r.choice(["as_precision", "fp32"]),
        "memory_reading": r.choice(["allocated", "reserved", "device"]),
        "context_memory": r.choice([0.0, 1e9]),
        "pool_share": r.choice([0.0, 0.1]),
        "driver_memory": r.choice([0.0, 9e9]),
    }


def draw_per_operator(r):
    x = draw_run(r)
    e, L = x["ep_size"], x["layers"]
    sparse = e > 1 or r.random() < 0.5
    experts = e * r.choice([2, 3, 8]) if sparse else 1
    interval = r.choice([1, 1, 2, 3]) if sparse else 1
    L_moe = (L // interval if interval > 1 else r.choice([L, r.randint(1, L)])) if sparse else 0
    t = x["tp_size"]
    latent = r.random() < 0.3
    gated = r.randint(0, 1)
    plain = L_moe == 0 and gated and not latent
    finetuning = r.choice(["full", "full", "lora", "qlora"])
    x["optimizer"] = r.choice([x["optimizer"], "adafactor", "muon"])
    if x["pp_size"] % 2 == 0 and r.random() < 0.3:
        rounds = 2 * x["pp_size"] + 2 * r.randint(0, 9)
        x |= {"pipeline_schedule": "dualpipe", "interleaved_stages": 1, "gradient_accumulation_steps": rounds}
        x["optimizer"], finetuning = r.choice(list(FIRST_ORDER)), "full"
    return {
        **ONE_ATTENTION,
        **x,
        "two_batch_overlap": int(may_pair(x) and r.random() < 0.5),
        "etp_size": 0,  # as everything else; test_expert_tensor_parallel.py counts other cuts
        "master_weights": r.randint(0, 1),
        "finetuning": finetuning,
        "trainable_fraction": x["trainable_fraction"] if finetuning == "full" else 1.0,
        "lora_rank": r.choice([1, 16, r.randint(1, 200)]),
        "lora_target_modules": r.choice(["attention", "all_linear"] if latent else LORA_TARGETS),
        **formats.draw(r, "compute_dtype", "saved_dtype"),
        "dp_replicate_size": r.choice([n for n in (1, 1, 2, 3, 5) if x["dp_size"] % (e * n) == 0]),
        **{f"recompute_{name}": r.randint(0, 1) for name in ("layernorm", "mla_up_proj", "activation_func")},
        "attention_kernel": r.choice([*FLASH, "eager", "unfused"]),
        **draw_live(r, x),
        "elementwise_kernels": r.choice(["fused", "eager"]),
        "selective_policy": r.choice(["core_attention", "alternate_matmuls"]) if plain else "core_attention",
        "dropout_mask_bytes": r.choice([0.0, 1.0, r.random()]),
        **draw_routing(r),
        "routing_weights": r.choice(["after", "after_fp32", "before_fp32", "in_activation"]),
        "expert_row_padding": r.choice([0, 8, 16]),
        "gathered_layers": r.randint(1, 5),
        "reserved_memory": r.choice([0.0, 10 ** r.uniform(8, 10)]),
        "kv_heads": r.choice(
            [n for n in range(1, x["heads"] + 1) if x["heads"] % n == 0 and (n % t == 0 or t % n == 0)]
        ),
        "head_dim": r.choice([64, 80, 128]),
        "vocab_size": r.randint(1, 300_000),
        "ffn_dim": t * r.randint(0 if L_moe == L else 1, 10_000),
        "gated": gated,
        "experts": experts,
        "active_experts_per_token": r.randint(1, min(experts, 8)),
        "moe_layers": L_moe,
        "moe_layer_interval": interval,
        "expert_ffn_dim": t * r.choice([r.randint(1, 50), r.randint(1, 5000)]) if L_moe else 0,
        "shared_ffn_dim": t * r.choice([0, r.randint(1, 5000)]) if L_moe else 0,
        "router_bias": r.randint(0, 1),
        **dict.fromkeys(("expert_bias", "sandwich_norm", "attention_sinks", "mtp_layers"), 0),
        "tied_embeddings": r.randint(0, 1),
        "learned_positions": r.choice([0, 2048]),
        "qkv_bias": r.randint(0, 1),
        "attention_output_bias": r.randint(0, 1),
        "mlp_bias": r.randint(0, 1),
        "norm_bias": r.randint(0, 1),
        "qk_norm": 0 if latent else r.randint(0, 1),
        "q_lora_rank": r.choice([0, 1536, r.randint(1, 2000)]) if latent else 0,
        "kv_lora_rank": r.choice([512, r.randint(1, 1000)]) if latent else 0,
        "qk_nope_head_dim": r.randint(0, 128),
        "qk_rope_head_dim": r.randint(0, 64) if latent else 0,
        "v_head_dim": r.randint(1, 128) if latent else r.choice([0, 0, r.randint(1, 200)]),
        "gate_width": 0 if latent else x["heads"] * r.choice([0, 0, 1, 64]),
        "block_norms": r.choice([1, 2, 2]),
        "norm_scale": r.choice([0, 1, 1]),
        "embedding_dim": r.choice([0, 0, 128]),
        "expert_input_dim": r.choice([0, 0, 1024, r.randint(1, 3000)]) if L_moe else 0,
    }


LORA_TARGETS = ["query_value", "attention", "all_linear"]


def draw_with_room(r):
    """A draw whose padded experts have no more room than for every token."""
    x = draw_per_operator(r)
    most = x["experts"] // x["active_experts_per_token"]
    return {**x, "capacity_factor": min(x["capacity_factor"], most) if x["pad_to_capacity"] else x["capacity_factor"]}


CASES = {"korthikanti": (korthikanti, draw_korthikanti), "per_operator": (per_operator, draw_with_room)}
#: A difference of what a layer makes and keeps; where it is small, only its size beside the rest counts.
BESIDE = {"backward_buffer": "total_memory"}


@pytest.fixture(scope="module", params=CASES)
def case(request, plain_points):
    plain, draw = CASES[request.param]
    return TrainingMemoryModel(request.param), *plain_points(plain, draw, request.param, POINTS)


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_equals_the_plain_implementation(case, backend, on_backend, assert_close):
    model, _, inputs, expected = case
    assert {v.name for v in model.system.inputs} <= set(inputs)
    inputs = {v.name: inputs[v.name] for v in model.system.inputs}
    assert_close(on_backend(model.system, inputs, expected, backend), expected, BESIDE)


def test_every_headline_output_is_compared(case):
    model, _, _, expected = case
    assert set(model.headline) <= set(expected)


BYTES = ("reserved_memory", "workspace", "context_memory", "driver_memory")


def test_the_draws_are_inputs_the_model_accepts(case):
    """Through the front door, so that what is compared is what a user can ask."""
    model, points, _, expected = case
    for place, point in enumerate(points[:60]):
        typed = {k: v for k, v in point.items() if k in model.arguments}
        typed |= {"memory_capacity": f"{point['memory_capacity']!r} byte"}
        typed |= {k: f"{point[k]!r} byte" for k in BYTES if k in typed}
        found = model.solve(**typed).canonical("total_memory")
        assert found == pytest.approx(expected["total_memory"][place], rel=1e-12)


def test_the_draws_reach_both_answers(case):
    _, _, _, expected = case
    assert 0.1 < expected["feasible"].mean() < 0.9
