"""Activations, operator by operator, against saved tensors that PyTorch hooks count on real layers."""

from typing import Any

from validation.checks import Check, Group

from mlsysim import TrainingMemoryModel

#: Tokens, width, heads and feed-forward width of the layers: square, long and narrow, wide, none a power of two.
SHAPES = (
    {"b": 2, "s": 128, "h": 256, "heads": 4, "kv_heads": 2, "f": 896},
    {"b": 1, "s": 1024, "h": 128, "heads": 4, "kv_heads": 2, "f": 448},
    {"b": 1, "s": 192, "h": 384, "heads": 6, "kv_heads": 3, "f": 1000},
)
SPARSE = ({"experts": 8, "top_k": 2, "f_expert": 128}, {"experts": 64, "top_k": 6, "f_expert": 64},
          {"experts": 16, "top_k": 4, "f_expert": 256})  # fmt: skip
LATENT = ({"q_rank": 96, "kv_rank": 64, "nope": 32, "rope": 16, "v_dim": 32},
          {"q_rank": 64, "kv_rank": 32, "nope": 16, "rope": 16, "v_dim": 24},
          {"q_rank": 192, "kv_rank": 64, "nope": 64, "rope": 32, "v_dim": 64})  # fmt: skip

#: Kind of layer, how it is described, and how it is computed.
LAYERS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("gpt", "GPT, no dropout", {}),
    ("gpt", "GPT, dropout, one-byte masks", {"dropout": 0.1, "mask_bytes": 1}),
    ("gpt", "GPT, dropout, two-byte masks", {"dropout": 0.1, "mask_bytes": 2}),
    ("gpt", "GPT, eager attention, dropout",
     {"dropout": 0.1, "attention_dropout": 0.1, "mask_bytes": 1, "attention": "eager"}),
    ("llama", "Llama, eager norms and gate", {}),
    ("llama", "Llama, fused norms and gate", {"norm": "fused", "mlp": "fused"}),
    ("llama", "Llama, eager attention", {"attention": "eager"}),
    ("llama", "Llama, core of attention recomputed", {"checkpointing": "attention"}),
    ("llama", "Llama, every second product kept", {"checkpointing": "torchtitan_op"}),
    ("llama", "Llama, full recomputation", {"checkpointing": "full"}),
    ("qwen3", "Qwen3, eager", {}),
    ("qwen3", "Qwen3, fused", {"norm": "fused", "mlp": "fused"}),
    ("mixtral", "Mixtral, eager", {}),
    ("mixtral", "Mixtral, fused", {"norm": "fused", "mlp": "fused"}),
    ("mixtral", "Mixtral, core of attention recomputed", {"checkpointing": "attention", "attention": "eager"}),
    ("mixtral", "Mixtral, full recomputation", {"checkpointing": "full"}),
    ("titan_moe", "MoE with a shared expert, fused",
     {"norm": "fused", "mlp": "fused", "shared": 1, "score": "output_bf16"}),
    ("deepseek", "DeepSeek-V3 dense, eager", {"moe": False}),
    ("deepseek", "DeepSeek-V3 dense, fused", {"moe": False, "norm": "fused", "mlp": "fused"}),
    ("deepseek", "DeepSeek-V3 dense, full recomputation", {"moe": False, "checkpointing": "full"}),
)  # fmt: skip
POLICIES = {"none": "none", "full": "full", "attention": "selective", "torchtitan_op": "selective"}
EXPERTS = ("mixtral", "titan_moe")


def sizes_of(kind: str, place: int) -> dict[str, Any]:
    """What `measure` needs to build the layer."""
    found: dict[str, Any] = dict(SHAPES[place])
    if kind == "gpt":
        found |= {"kv_heads": found["heads"], "f": 4 * found["h"]}
    if kind in EXPERTS:
        found |= SPARSE[place]
    if kind == "deepseek":
        found |= LATENT[place]
    return found


def inputs_of(kind: str, sizes: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """The same layer as inputs of the model: one layer on one rank."""
    sparse = kind in EXPERTS
    inputs = {
        "batch_size": sizes["b"], "seq_len": sizes["s"], "layers": 1, "hidden_dim": sizes["h"],
        "heads": sizes["heads"], "kv_heads": sizes["kv_heads"], "head_dim": sizes["h"] // sizes["heads"],
        "vocab_size": 256, "gated": kind != "gpt", "qk_norm": kind == "qwen3", "ffn_dim": 0 if sparse else sizes["f"],
        "experts": sizes["experts"] if sparse else 1, "active_experts_per_token": sizes["top_k"] if sparse else 1,
        "moe_layers": int(sparse), "moe_layer_interval": 1, "expert_ffn_dim": sizes["f_expert"] if sparse else 0,
        "shared_ffn_dim": how.get("shared", 0) * sizes["f_expert"] if sparse else 0, "router_bias": False,
        "memory_capacity": "80 GB", "precision": "bf16", "attention_kernel": how.get("attention", "flash"),
        "elementwise_kernels": "fused" if kind == "gpt" else how.get("norm", "eager"),
        "dropout_mask_bytes": how["mask_bytes"] if how.get("dropout") else 0.0,
        "activation_checkpointing": POLICIES[how.get("checkpointing", "none")],
        "selective_policy": "alternate_matmuls" if how.get("checkpointing") == "torchtitan_op" else "core_attention",
    }  # fmt: skip
    if kind == "deepseek":
        inputs |= {
            "kv_heads": sizes["heads"], "q_lora_rank": sizes["q_rank"], "kv_lora_rank": sizes["kv_rank"],
            "qk_nope_head_dim": sizes["nope"], "qk_rope_head_dim": sizes["rope"], "v_head_dim": sizes["v_dim"],
        }  # fmt: skip
    return inputs


def saved() -> list[Check]:
    """Bytes one layer keeps, in kB; first order and Korthikanti's sum beside ours."""
    import torch
    from counted import layers

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = []
        for kind, what, how in LAYERS:
            for place, shape in enumerate(SHAPES):
                sizes = sizes_of(kind, place)
                theirs = layers.measure(kind, **sizes, **how).bytes / 1e3
                inputs = inputs_of(kind, sizes, how)
                ours = TrainingMemoryModel("per_operator").solve(**inputs).canonical("activations") / 1e3
                known = {name: value for name, value in inputs.items() if name in TrainingMemoryModel().arguments}
                first = TrainingMemoryModel().solve(parameters=1.0, **known).canonical("activations") / 1e3
                label = f"{what}, s = {shape['s']}, h = {shape['h']}"
                found.append(Check(label, theirs, ours, 0.03, "kB", first))
        return found
    finally:
        torch.set_num_threads(threads)


def loss() -> list[Check]:
    """Most bytes alive at once in logits and loss."""
    from counted import layers

    found = []
    for s, h, vocab in ((128, 32, 4096), (64, 64, 32_000)):
        theirs = layers.measure_loss(s=s, h=h, vocab=vocab, keep_logits=False).peak_backward / 1e6
        inputs = inputs_of("llama", sizes_of("llama", 0), {"norm": "fused"}) | {
            "batch_size": 1,
            "seq_len": s,
            "vocab_size": vocab,
        }
        ours = (
            TrainingMemoryModel("per_operator")
            .solve(
                **inputs,
            )
            .canonical("loss_buffer")
            / 1e6
        )
        found.append(Check(f"{vocab:,} words, {s} tokens", theirs, ours, 0.03, "MB"))
    return found


#: Ranks, how far loads are apart, where tokens are weighed, and how gates are computed.
RANKS: tuple[tuple[int, float, str, str], ...] = (
    (1, 0.0, "before_fp32", "fused"),
    (4, 0.0, "after", "fused"),
    (4, 0.3, "after", "eager"),
    (4, 0.0, "before_fp32", "eager"),
    (4, 0.3, "before_fp32", "fused"),
    (4, 0.3, "after_fp32", "fused"),
)
#: Narrow and wide experts, few and many tokens for the rows that are padded.
RANK_SHAPES = (
    {"s": 768, "h": 128, "heads": 4, "kv_heads": 2, "experts": 16, "top_k": 4, "f_expert": 64},
    {"s": 1024, "h": 128, "heads": 4, "kv_heads": 2, "experts": 8, "top_k": 2, "f_expert": 320},
)
SCORES = {"after": "output_bf16", "after_fp32": "output", "before_fp32": "input"}


def expert_ranks() -> list[Check]:
    """Bytes kept by a layer of the hottest rank, and at the peak of its backward pass, recomputed whole."""
    from counted import expert_rank, layers

    from mlsysim import routing_imbalance

    found = []
    for ranks, skew, weights, gate in RANKS:
        for shape in RANK_SHAPES:
            how = {"norm": "fused", "mlp": gate, "score": SCORES[weights], "ranks": ranks, "skew": skew}
            kept = layers.measure("expert_rank", **shape, **how)
            peak = layers.measure("expert_rank", **shape, **how, checkpointing="full", peak=True)
            factor = routing_imbalance(kept.layer.mlp.counts.sum(0), ep_size=ranks)
            inputs = inputs_of("titan_moe", {"b": ranks, "f": 0, **shape}, {"norm": "fused"}) | {
                "dp_size": ranks, "ep_size": ranks, "routing_imbalance_factor": factor, "routing_weights": weights,
                "expert_row_padding": expert_rank.ALIGNMENT, "elementwise_kernels": gate,
            }  # fmt: skip
            model = TrainingMemoryModel("per_operator")
            whole = model.solve(**inputs)
            again = model.solve(**{**inputs, "activation_checkpointing": "full"})
            # Norms are fused, where eager gates would say that they are not.
            norms = 0 if gate == "fused" else 4 * 2 * shape["h"] * shape["s"]
            label = f"{shape['top_k']} of {shape['experts']} experts, {weights}, {gate}"
            label += f", {factor:.2f} times the mean of {ranks}"
            ours = (whole.canonical("activations") - norms) / 1e3
            peaks = (again.canonical("activations") + again.canonical("backward_buffer") - norms) / 1e3
            found += [
                Check(f"{label}: kept", kept.bytes / 1e3, ours, 0.02, "kB"),
                Check(f"{label}: peak", peak.peak / 1e3, peaks, 0.02, "kB"),
            ]
    return found


GROUPS = (
    Group(
        "saved_tensors",
        "Activations of real layers",
        "Variant `per_operator` against the bytes that PyTorch keeps for "
        "the backward pass of one bf16 layer, counted with saved-tensor hooks: every storage once, without parameters, "
        "integer indices and rotary tables. 3%. The first-order form has one constant per policy.",
        "PyTorch 2.13 and transformers layers on the CPU",
        saved,
        ("torch", "transformers"),
    ),
    Group(
        "loss_peak",
        "Logits and loss",
        "The most bytes alive at once in the backward pass of a head with cross-entropy, "
        "counted by storages; hidden states and weights excluded. 3%.",
        "PyTorch 2.13 on the CPU",
        loss,
        ("torch", "transformers"),
    ),
    Group(
        "expert_ranks",
        "Routed tokens of one rank of an expert-parallel group",
        "Variant `per_operator` against a layer of the rank that gets the most rows of four, or of a rank alone, whose "
        "real routers have logits with a bias: tokens that it sends and gets, permuted and padded to eight rows an "
        "expert as in torchtitan. Bytes kept for the backward pass, and the most bytes alive in the backward pass of "
        "the recomputed layer, where theirs have indices and a gradient of weights beside. 2%.",
        "PyTorch 2.13 and a transformers layer on the CPU, the exchange a buffer of the right size",
        expert_ranks,
        ("torch", "transformers"),
    ),
)
