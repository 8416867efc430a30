"""Random valid points of a formula, in the units its variables are entered in."""

import math
import random
from functools import cache

import numpy as np
import pytest
from formulas.every import GOODPUTS, POSITIVE, WRITTEN
from on_jax import evaluate
from sympy.core.relational import Relational

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.symbolic import Variable, at_least, variable_of

#: Points drawn per formula; a test takes the first of them.
MOST = 250
#: Which names hang together: a queue is drawn whole, so that load, rate and utilization agree.
QUEUE = {"replicas", "offered_load", "utilization", "qps", "per_replica_qps_capacity"}


#: Differences, which models have below zero; of other results without a lower end the positive ones are drawn.
SIGNED = {
    "added_traffic_time", "growing_traffic_time", "traffic_saved_time", "rows_saved_time", "edge_traffic_saved_time",
    "kv_memory",
}  # fmt: skip
#: Shares are at most one, and others at least one, which not every formula shows.
FROM_ONE = ("_law", "_ranks_per_node", "unsplit_ranks", "tokens_per_decode_step", "prefix_popularity_sum")
#: Zero where all are alike, or where nobody stops.
ALIKE = ("_variance", "_stopping_prompts")
SHARES = ("_share", "_probability", "_attainment", "exchange_growth", "tile_efficiency")


def draw_one(variable: Variable, rng: random.Random) -> float:
    """One value of a domain, in the unit of the variable; labels as codes."""
    domain = variable.domain
    if domain.kind in ("choice", "boolean"):
        return float(rng.randint(int(domain.lower), int(domain.upper)))
    if domain.kind == "integer":
        if rng.random() < 0.3:
            return float(domain.lower)
        top = min(domain.upper, domain.lower + 3000)
        return float(min(top, domain.lower + math.floor(10 ** rng.uniform(0, math.log10(top - domain.lower + 1)))))
    if variable.name in SIGNED:
        return rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 3)
    if variable.name.endswith(FROM_ONE):
        domain = at_least(1)
    lower = 0.0 if domain.lower == -math.inf else domain.lower
    upper = min(domain.upper, 1.0) if variable.name.endswith(SHARES) else domain.upper
    if upper < math.inf:
        return rng.choice([upper, rng.uniform(lower, upper)]) or upper / 2
    if domain.lower == -math.inf:
        return 0.0 if variable.name.endswith(ALIKE) and rng.random() < 0.2 else 10 ** rng.uniform(-2, 3)
    if domain.lower > 0 or (not domain.open_lower and rng.random() < 0.2):
        return domain.lower + (10 ** rng.uniform(-2, 2) if rng.random() < 0.8 else 0.0)
    return 10 ** rng.uniform(-2, 3)


#: Zero is in the domain, where a memory or an expert holds nothing; what follows from it has tests of its own.
DIVISORS = {
    "all_prompts_time", "per_replica_qps_capacity", "tokens_per_second", "mean_rank_factor", "mttf", "save_period",
    "memory_save_period", "save_price", "memory_save_stall", "saves_per_failure", "running_share", "elastic_capacity",
    "kept_share", "expected_failures", "published_failure_rate", "mean_time_between_interruptions",
    "memory_segment_loss", "copy_deviation",
}  # fmt: skip

#: What a deployment is often asked without, and loads, of which most lie below one.
WITHOUT = (
    "concurrency", "num_replicas", "ttft_slo", "tpot_slo", "e2e_slo", "replica_goodput", "num_speculative_tokens",
    "prefill_cost_share", "isl_cv", "osl_cv", "prompt_time_cv", "short_answer_variance", "cohort_size",
    "remote_kv_share", "expert_efficiency", "weight_only_expert_efficiency", "num_rounds", "poll_interval",
    "batch_wait", "frontend_wait", "prompts_together", "whole_prompts", "measured_busy_share",
)  # fmt: skip
#: Zero where nobody waits for a slot, and where no copy survives.
FREE = ("slot_wait_probability", "prompt_slot_wait_probability", "copy_survival")
#: What only answers with a decode step have.
ANSWERED = {"answer_steps", "first_stall", "short_answer_variance"}
#: One where lengths are alike.
LAWS = ("first_token_law", "whole_law")
LOADS = ("replica_load", "prompt_load")
#: Zero where nothing arrives, which tests of limits ask; and adapters, which have parameters.
BUSY = (
    "replica_rate", "batch_variance", "step_growth_at_load", "prompt_wait", "slot_wait_mean", "ttft_log_variance",
    "latency_variance", "lora_parameters_per_rank", "lora_parameters_per_token", "prompt_interval",
)  # fmt: skip
#: What ``deployed`` draws, after all points: their number decides what it draws.
DRAWN_AGAIN = {*WITHOUT, *FREE, *BUSY, *LAWS, *LOADS, "slot_load", "slot_growth", "save_price"}


def deployed(point: dict[str, float], rng: random.Random) -> dict[str, float]:
    """Values of a deployment that are drawn to meet each of its cases."""
    found = {name: 0.0 for name in WITHOUT if name in point and rng.random() < 0.6}
    if not found.get("concurrency", point.get("concurrency", 1)) and "num_rounds" in point:
        found["num_rounds"] = 0.0  # of a closed loop
    found |= {name: 0.0 for name in FREE if name in point and rng.random() < 0.1}
    found |= {name: point[name] or 10 ** rng.uniform(-2, 2) for name in BUSY if name in point}
    if {"first_token_law", "first_token_variance"} <= set(point):  # a law that is none has no variance either
        found["first_token_variance"] = point["first_token_variance"] or 1.0
    if "output_tokens" in point and ANSWERED & set(point):  # an answer has two tokens at least
        found["output_tokens"] = max(2.0, point["output_tokens"])
    if "decode_iteration_time" in point:  # a prompt takes a step at least, and stays as long
        least = point["decode_iteration_time"]
        for name in ("prompt_time", "prompt_stay"):
            if name in point:
                found[name] = least = least + point[name]
    if {"e2e_mean", "replica_rate"} <= set(point):  # one in a hundred finds another there at least
        found["e2e_mean"] = point["e2e_mean"] + 10 / (found.get("replica_rate") or point["replica_rate"])
    if "ttft_log_variance" in point:  # the logarithm of a variance: hundreds would overflow
        found["ttft_log_variance"] = rng.uniform(0, 2)
    if {"prefix_popularity_sum", "c1_prefixes"} <= set(point):  # shares of all prefixes are one
        classes = [name.removesuffix("_log_rank") for name in point if name.endswith("_log_rank")]

        def popularity(of: dict[str, float]) -> float:
            return sum(of[f"{c}_prefixes"] * math.exp(-of[f"{c}_log_rank"] * of["prefix_zipf"]) for c in classes)

        if popularity(point) < 1:  # over that of the first one, which is among them
            rank = point["c1_log_rank"] / 100
            least = math.exp(rank * point["prefix_zipf"])
            found |= {"c1_log_rank": rank, "c1_prefixes": max(least, point["c1_prefixes"])}
        found["prefix_popularity_sum"] = popularity(point | found)
    if {"save_price", "mttf"} <= set(point) and rng.random() < 0.2:  # as long as the time between failures
        found["save_price"] = 3 * 3600 * point["mttf"]
    if "lost_bunch_share" in point:  # of others that began with a request some are always left
        found["lost_bunch_share"] = 0.9 * point["lost_bunch_share"]
    if {"replica_capacity", "prompt_interval"} <= set(point):  # what all slots complete is divided by
        found["replica_capacity"] = point["replica_capacity"] or 1.0
    if "slots" in point:  # an engine without a slot does not fit, and is asked for nothing
        found["slots"] = max(1.0, point["slots"])
    if "slot_load" in point:  # below one, and that of the rates beside it
        found["slot_load"] = rng.choice([0.0, rng.uniform(0, 0.99)])
        if {"slot_capacity", "replica_rate"} <= set(point):
            found["slot_capacity"] = point["slot_capacity"] or 1.0
            found["replica_rate"] = found["slot_load"] * found["slot_capacity"]
    if "slot_growth" in point:  # part of the load
        found["slot_growth"] = rng.random() * found.get("slot_load", 1.0)
    found |= {name: 1.0 for name in LAWS if name in point and rng.random() < 0.5}
    return {**found, **{name: rng.uniform(0, 1.2) for name in LOADS if name in point}}


#: Coefficients of variation, of which moments are powers.
SPREADS = {"service_time_cv", "isl_cv", "osl_cv", "prompt_time_cv"}
#: A closed loop where memory holds no request.
ENDLESS = {"tpot_mean", "ttft_mean", "ttft_burst", "e2e_p50_beyond"}
#: Runs without an end: formulas with a case for one of these have a point for it.
STOPPED = {"mttf", "run_goodput", "expected_failures", "memory_save_stall", "published_failure_rate"}
#: Formulas with a case for a replica that completes nothing.
IDLE = {"offered_load", "utilization"}


#: Sizes that are multiples of others.
MULTIPLES = {
    "ffn_dim": ("tp_size",),
    "expert_ffn_dim": ("tp_size",),
    "shared_ffn_dim": ("tp_size",),
    "heads": ("tp_size", "kv_heads"),
    "hidden_dim": ("heads",),
    "experts": ("ep_size",),
    "dp_size": ("ep_size", "dp_replicate_size"),
    "seq_len": ("cp_size",),
}
#: The layout of engines that prefill, which fits as that of others does.
PREFILL = {
    "prefill_tensor_ranks": "tp_size",
    "prefill_stages": "pp_size",
    "prefill_expert_ranks": "ep_size",
    "prefill_attention_ranks": "dp_attention_size",
}
#: Parts of which the first is at most the second.
PARTS = (
    ("accelerators_per_segment", "accelerators_per_node"),
    ("kv_heads", "heads"),
    ("active_experts_per_token", "experts"),
    ("moe_layers", "layers"),
    ("moe_layers_per_stage", "layers_per_stage"),
    ("pp_size", "layers"),
    ("num_redundant_experts", "experts"),
    ("product_groups", "product_rows"),
    ("group_imbalance", "product_groups"),
    ("mean_response_length", "max_response_length"),
    ("longest_response", "max_response_length"),
)


def fit(point: dict[str, float], rng: random.Random) -> dict[str, float]:
    """The point with sizes a model accepts together."""
    names = point.keys()
    if {"tp_size", "accelerators_per_node"} <= names and point["tp_size"] > point["accelerators_per_node"]:
        point["tp_size"] = point["accelerators_per_node"] * rng.choice([2, 3, 4, 32])
    if {"kv_heads", "tp_size"} <= names:
        ranks = point["tp_size"]
        point["kv_heads"] = rng.choice([1.0, ranks, 2 * ranks, max(n for n in (1, 2, 3) if ranks % n == 0)])
    for whole, parts in MULTIPLES.items():
        common = math.lcm(*(int(point[part]) for part in parts if part in point))
        if whole in point and point[whole] % common:
            point[whole] = float(common * rng.choice([1, 2, 3, 8, 64]))
    if {"tp_size", "etp_size"} <= names and point["tp_size"] % max(1.0, point["etp_size"]):
        point["etp_size"] = rng.choice([0.0, 1.0, point["tp_size"]])
    for part, whole in PARTS:
        if {whole, part} <= names:
            point[part] = min(point[part], point[whole])
    if {"fleet_size", "accelerators_per_node"} <= names and point["fleet_size"] > point["accelerators_per_node"]:
        point["fleet_size"] = point["accelerators_per_node"] * rng.choice([2, 3, 4, 32])
    if {"fleet_size", "rollout_tp_size"} <= names:
        point["rollout_tp_size"] = rng.choice([1.0, point["fleet_size"]])
    if {"ep_size", "accelerators_per_node"} <= names and point["ep_size"] > point["accelerators_per_node"]:
        point["ep_size"] = point["accelerators_per_node"] * rng.choice([2, 3, 4, 32])
    if {"device_power", "tdp"} <= names:  # a board draws no more than it may, and idles at a part of that
        point["device_power"], point["idle_power_fraction"] = rng.random() * point["tdp"], rng.uniform(0, 0.4)
    loads = {"segment_load", "memory_segment_load", "storage_wall_load", "copy_load"} & names  # exponents
    point |= {name: min(point[name], 30.0) for name in loads}
    point |= {name: point[name] or 1e-4 for name in loads & {"storage_wall_load", "copy_load"}}
    if "failure_size_exponent" in point:
        point["failure_size_exponent"] = min(point["failure_size_exponent"], 2.0)
    if point.get("measured_nodes") == 0:
        point |= dict.fromkeys({"failure_size_exponent"} & names, 0.0)
    if {"shrunk_replicas", "elastic_replicas"} <= names:
        point["shrunk_replicas"] = min(point["shrunk_replicas"], point["elastic_replicas"] - 1)
    if "compute_capability" in point:
        # Laws step where a generation begins; half of the values lie within one, where slopes can be compared.
        point["compute_capability"] = rng.choice([0.0, 8.0, 8.9, 9.0, 10.0, 10.3, 12.1])
    serving_layout(point, rng)
    if point.get("experts", 1.0) > 1 and point.get("moe_layers") == 0:
        point["moe_layers"] = 1.0
    mixed(point, rng)
    if {"rank_stride", "accelerators_per_node"} <= names and point["accelerators_per_node"] % point["rank_stride"]:
        point["rank_stride"] = rng.choice([1.0, point["accelerators_per_node"]])
    if {"collective_ranks", "rank_stride", "accelerators_per_node"} <= names:
        segment = point.get("accelerators_per_segment", 0.0)
        sizes = [point["accelerators_per_node"], *[segment] * bool(segment and segment % point["rank_stride"] == 0)]
        in_node = rng.choice(sizes) // point["rank_stride"]
        if point["collective_ranks"] > in_node:
            point["collective_ranks"] = in_node * rng.choice([2, 3, 4, 32])
    if {"heads", "tp_size", "kv_heads_per_rank"} <= names:
        point["kv_heads_per_rank"] = min(point["kv_heads_per_rank"], point["heads"] / point["tp_size"])
    if point.get("kv_lora_rank"):
        if point.get("v_head_dim") == 0:
            point["v_head_dim"] = 128
        point |= dict.fromkeys({"qk_norm", "attention_sinks"} & names, 0.0)
        point |= dict.fromkeys({"gate_width"} & names, 0.0)
    if {"gate_width", "heads"} <= names:
        point["gate_width"] = point["heads"] * min(point["gate_width"], 128.0)
    if point.get("kv_lora_rank") == 0:
        unused = {"qk_rope_head_dim"} if point.get("compressed_layers") else {"q_lora_rank", "qk_rope_head_dim"}
        point |= dict.fromkeys(unused & names, 0.0)
    if "memory_capacity" in names:
        point |= {name: min(point[name], point["memory_capacity"]) for name in {"driver_memory"} & names}
        gives = point.get("driver_memory") or point["memory_capacity"]
        point |= {name: min(point[name], gives / 3) for name in {"context_memory", "reserved_memory"} & names}
    if point.get("finetuning"):
        point |= dict.fromkeys({"trainable_fraction"} & names, 1.0)
    if (point.get("kv_lora_rank") or point.get("compressed_layers")) and point.get("lora_target_modules") == 0:
        point["lora_target_modules"] = rng.choice([1.0, 2.0])
    if {"window_reach", "seq_len"} <= names:
        point["window_reach"] = min(point["window_reach"], point["seq_len"])
    if point.get("document_len"):
        point["document_len"] = min(max(1.0, point["document_len"]), point["seq_len"])
    if point.get("sliding_layers") and "sliding_window" in point:
        point["sliding_window"] = point["sliding_window"] or 512.0
    point |= {name: min(point[name], 2.0) for name in SPREADS & names}
    if point.get("pipeline_schedule") == 3 and "pp_size" in point:
        point["pp_size"] = 2 * math.ceil(point["pp_size"] / 2)
        if "layers" in point:
            point["layers"] = max(point["layers"], point["pp_size"])
        point |= dict.fromkeys({"gradient_accumulation_steps"} & names, 2 * point["pp_size"])
    if point.get("pp_size") == 1 or point.get("pipeline_schedule") in (1, 2, 3):
        point |= dict.fromkeys({"interleaved_stages"} & names, 1.0)
    if point.get("pipeline_schedule") == 3:  # ranks that hold both ends
        point |= dict.fromkeys({"peak_rank", "finetuning", "optimizer"} & names, 0.0)
    if {"layers", "pp_size"} <= names:  # stages of one layer at least, and chunks of as many
        stages, ends = point["pp_size"], {"layers_first_stage", "layers_last_stage"} & names
        few = max(1.0, point["layers"] // stages) if stages > 2 else 0.0
        point |= {name: min(point[name], few) for name in ends}
        chunks = {"interleaved_stages"} & names
        point |= {name: min(point[name], math.ceil(point["layers"] / stages)) for name in chunks}
    if point.get("moe_layers", 1) == 0 or point.get("experts") == 1:
        point |= dict.fromkeys({"expert_bias"} & names, 0.0)
    if point.get("capacity_factor") == 0:
        point |= dict.fromkeys({"pad_to_capacity"} & names, 0.0)
    if point.get("pad_to_capacity") and {"experts", "active_experts_per_token"} <= names:
        room = point["experts"] / point["active_experts_per_token"]
        point["capacity_factor"] = min(point["capacity_factor"], room * (1 - 1e-12))
    alone = (
        point.get("pp_size", 1) > 1 and point.get("interleaved_stages", 1) == 1 and point.get("pipeline_schedule") != 3
    )
    if alone or point.get("activation_checkpointing") == 2:
        point |= dict.fromkeys({"two_batch_overlap"} & names, 0.0)
    if point.get("gradient_accumulation_steps") == 1:
        point |= dict.fromkeys({"two_batch_overlap"} & names, 0.0)
    if point.get("experts") == 1:
        point |= dict.fromkeys({"moe_layers"} & names, 0.0)
    if point.get("moe_layers") == 0:
        point |= dict.fromkeys({"expert_input_dim"} & names, 0.0)
    if point.get("moe_layers"):
        point |= {name: point[name] or 64 * point.get("tp_size", 1) for name in {"expert_ffn_dim"} & names}
    if "moe_layers" in point and point["moe_layers"] != point.get("layers"):
        point |= {name: point[name] or 256 * point.get("tp_size", 1) for name in {"ffn_dim"} & names}
    if point.get("cp_size", 1) > 1:
        point |= dict.fromkeys({"compressed_layers", "heavily_compressed_layers"} & names, 0.0)
    if point.get("pp_size", 1) > 1:
        point |= dict.fromkeys({"reused_parameters"} & names, 0.0)
    else:
        point |= dict.fromkeys({"deferred_head_gradients"} & names, 0.0)
    if point.get("source_tokens"):
        point |= dict.fromkeys({"images"} & names, 0.0)
    sized = {"slot_batch", "answer_steps", "computed_prompt_tokens", "max_num_batched_tokens", "num_speculative_tokens"}
    if sized <= names and point["computed_prompt_tokens"] > point["max_num_batched_tokens"]:
        budget = point["max_num_batched_tokens"]
        few = {"slot_batch": budget / (4 * (1 + point["num_speculative_tokens"])), "engine_slots": 1.0}
        point |= {"computed_prompt_tokens": budget, **few}
    return point


#: Layers that are some of all, each of those that are left.
SHARED_OUT = ("state_layers", "mixerless_layers", "sliding_layers", "compressed_layers")
#: Layers that share the keys and values of others, and layers one of which keeps them.
SHARING = (("shared_cache_layers", "unbounded_attention_layers"), ("sliding_shared_layers", "sliding_layers"))


#: Numbers that are of layers of one kind alone, but for what follows from them and what has no zero.
GIVEN = ("state_layers", "state_parameters", "state_parameters_per_rank", "state_bytes_per_request",
         "state_element_bytes", "state_operations")  # fmt: skip
OF_LAYERS = {
    "sliding_layers": ("sliding_heads", "sliding_kv_heads", "sliding_head_dim", "sliding_v_head_dim"),
    "state_layers": ("state_", "conv_"),
    "index_layers": ("index_heads", "index_head_dim"),
}


def mixed(point: dict[str, float], rng: random.Random) -> None:
    """Layers of each kind, heads that ranks share, and what layers with a window have of what all have."""
    if "layers" in point:
        left = point["layers"] - 1
        for name in SHARED_OUT:
            if name in point:
                point[name] = min(point[name], left)
                left -= point[name]
        point |= {name: min(point[name], left) for name in {"shared_cache_layers"} & set(point)}
        if "parallel_layers" in point:
            point["parallel_layers"] = min(point["parallel_layers"], point.get("state_layers", 0.0))
        if "blockless_layers" in point:
            sparse = point.get("moe_layers", point.get("moe_layers_per_stage", 0.0))
            point["blockless_layers"] = min(point["blockless_layers"], max(0.0, point["layers"] - sparse))
        if "index_layers" in point:
            point["index_layers"] = min(point["index_layers"], point["layers"])
    if point.get("layers_per_stage", math.inf) < point.get("layers", 0.0):
        point |= dict.fromkeys({"blockless_layers"} & set(point), 0.0)
    if "compressed_layers" in point:
        if point.get("kv_lora_rank"):
            point["compressed_layers"] = 0.0
        if not point["compressed_layers"]:
            point |= dict.fromkeys({"heavily_compressed_layers", "index_compression"} & set(point), 0.0)
        else:
            needed = {"sliding_window", "q_lora_rank", "o_lora_rank", "index_compression", "heavy_compression"}
            point |= {name: point[name] or 64.0 for name in needed & set(point)}
    if "o_groups" in point:
        point["o_groups"] = point.get("tp_size", 1.0)
    if {"compressed_layers", "index_layers"} <= set(point) and point["compressed_layers"]:
        point["index_layers"] = min(point["index_layers"], point["compressed_layers"])
    if {"compressed_layers", "heavily_compressed_layers"} <= set(point):
        left = point["compressed_layers"] - point.get("index_layers", 0.0) * (point["compressed_layers"] > 0)
        point["heavily_compressed_layers"] = min(point["heavily_compressed_layers"], max(0.0, left))
    for shared, layers in SHARING:
        if shared in point:
            most = max(0.0, point.get(layers, point[shared] + 1.0) - 1.0)
            point[shared] = 0.0 if point.get("kv_lora_rank") else min(point[shared], most)
    ranks = point.get("tp_size", 1.0)
    for heads, kv in (("heads_in_window", "kv_heads_in_window"), ("sliding_heads", "sliding_kv_heads")):
        if kv in point:
            point[kv] = point[kv] and ranks * rng.choice([1.0, 2.0])
        if heads in point:
            point[heads] = point[heads] and (point.get(kv) or ranks) * rng.choice([1.0, 2.0, 3.0])
    if "state_heads" in point:
        point["state_heads"] = ranks * rng.choice([0.0, 1.0, 2.0, 8.0])
    if "state_key_heads" in point:
        point["state_key_heads"] = min(rng.choice([0.0, 1.0, 2.0]) * ranks, point.get("state_heads", math.inf))
    if "state_heads" in point and not point["state_heads"] and point.get("state_layers"):
        point |= {name: point[name] or 64.0 for name in {"state_matrices"} & set(point)}
    if point.get("index_layers") == 0:
        point |= dict.fromkeys({"index_topk"} & set(point), 0.0)
    for layers, names in OF_LAYERS.items():
        if point.get(layers) == 0:
            point |= {name: 0.0 for name in point if name.startswith(names) and name not in GIVEN}
    if point.get("index_layers"):
        point |= {name: point[name] or 64.0 for name in {"index_heads", "index_head_dim", "index_topk"} & set(point)}
    beside(point)
    if "cache_width" in point:
        of_indexers = point.get("index_layers", 0.0) * point.get("index_head_dim", 0.0)
        point["cache_width"] += 1.0 + point.get("cache_width_in_window", 0.0) + of_indexers
    if "read_width" in point:
        point["read_width"] += point.get("cache_width", 1.0) + point.get("read_width_in_window", 0.0)
    if {"attention_flops", "sliding_attention_flops"} <= set(point):
        point["attention_flops"] += point["sliding_attention_flops"]
    if {"decode_attention_flops", "sliding_attention_flops"} <= set(point):
        scored = point["sliding_attention_flops"] + point.get("indexer_flops", 0.0)
        point["decode_attention_flops"] += scored + 1.0


def beside(point: dict[str, float]) -> None:
    """Symbols of what a request has beside its text, and of what reads it."""
    if "cross_layers" in point:
        point["cross_layers"] = (
            0.0 if point.get("kv_lora_rank") else min(point["cross_layers"], point.get("layers", 9.0))
        )
    if "source_tokens" in point and "images" in point:
        point["images"] = math.floor(point["images"]) if point.get("source_token_flops", 1.0) else 0.0
        if point["images"]:
            point |= {name: point[name] or 64.0 for name in {"image_patches"} & set(point)}
        if point.get("cross_layers"):
            point["source_tokens"] = point["source_tokens"] or 64.0
        elif not point.get("source_token_flops", 1.0):
            point["source_tokens"] = 0.0
        if point["images"] or point["source_tokens"]:
            point |= dict.fromkeys({"pp_size"} & set(point), 1.0)
    if point.get("cross_layers"):
        point |= dict.fromkeys({"num_loras"} & set(point), 0.0)
    if {"output_tokens", "decode_requests"} & set(point):
        point |= dict.fromkeys({"bidirectional"} & set(point), 0.0)


def serving_layout(point: dict[str, float], rng: random.Random) -> None:
    """Ranks of an engine and the experts they hold, as models accept them together."""
    if {"tp_size", "ep_size", "dp_attention_size"} <= set(point):
        if point["tp_size"] * point["dp_attention_size"] > point.get("accelerators_per_node", math.inf):
            point["dp_attention_size"] = point["accelerators_per_node"]
        point["ep_size"] = rng.choice([1.0, point["tp_size"], point["tp_size"] * point["dp_attention_size"]])
        if point["ep_size"] <= point["tp_size"]:
            point |= dict.fromkeys({"two_batch_overlap"} & set(point), 0.0)
    if {"ep_size", "num_redundant_experts"} <= set(point):
        point["experts"] = point["ep_size"] * rng.choice([1, 2, 16])
        point["num_redundant_experts"] = point["ep_size"] * rng.choice([0, 1])
        if "active_experts_per_token" in point:
            point["active_experts_per_token"] = min(point["active_experts_per_token"], point["experts"])
    if {"num_redundant_experts", "moe_layers"} <= set(point) and (not point["moe_layers"] or point["experts"] == 1):
        point["num_redundant_experts"] = 0.0


def longest_part(point: dict[str, float]) -> float:
    """The longest of these parts of a step."""
    arithmetic = point["step_product_time"] + point["step_score_time"] + point["step_loss_time"]
    sums = (arithmetic, point["bubble_time"] + point["pp_time"])
    rest = [point[name] for name in ("step_elementwise_time", "tp_time", "ep_time", "cp_time", "dp_time")]
    if "host_sync_time" in point:
        rest += [point["optimizer_time"], point["host_sync_time"]]
    return max(*sums, *rest)


#: What an iteration takes one after the other, but for its layers and its pipeline.
ITERATION = (
    "dense_product_time", "expert_product_time", "head_time", "activation_time", "decode_attention_time",
    "prefill_attention_time", "allreduce_time", "expert_exchange_time", "lora_time",
)  # fmt: skip


def draw_point(variables: tuple[Variable, ...], rng: random.Random) -> dict[str, float]:
    """One value per variable, in their units, consistent where the variables belong to one queue."""
    drawn = {variable.name: draw_one(variable, rng) for variable in variables}
    alone = {name: size for name, size in PREFILL.items() if name in drawn and size not in drawn}
    point = fit({alone.get(name, name): value for name, value in drawn.items()}, rng)
    point |= {name: point.pop(size) for name, size in alone.items()}
    point |= {name: 10 ** rng.uniform(-2, 2) for name in DIVISORS & set(point)}
    point |= {name: point[name] or 1.0 for name in point if name in POSITIVE}
    if {"reduce_dtype", "precision"} <= set(point) and rng.random() < 0.2:  # one case of several labels at once
        labels = variable_of("precision").domain.labels
        point |= {"reduce_dtype": 0.0, "gradient_dtype": 0.0, "precision": float(labels.index("fp8_deepseek"))}
    if {"longest_part_time", "step_product_time"} <= set(point):  # less a rounding, or the update is longer
        point["longest_part_time"] = longest_part(point) * (1 - 1e-9 if rng.random() < 0.9 else 2)
    if {"longest_iteration_part", *ITERATION} <= set(point):
        sums = (point["uneven_stage_time"] + point["stage_send_time"], *(point[name] for name in ITERATION))
        point["longest_iteration_part"] = max(sums) * (1 - 1e-9 if rng.random() < 0.9 else 2)
    if "offered_load" in point and len(QUEUE & set(point)) > 1:
        servers = float(rng.choice([1, 2, 3, rng.randint(4, 60), rng.randint(60, 400)]))
        rate = 10 ** rng.uniform(-1, 2)
        utilization = rng.choice([rng.uniform(0.02, 0.98), rng.uniform(0.98, 0.9999), rng.uniform(1.0, 3.0)])
        qps = utilization * servers * rate
        queue = {
            "replicas": servers,
            "per_replica_qps_capacity": rate,
            "qps": qps,
            "offered_load": qps / rate,
            "utilization": utilization,
        }
        point |= {name: queue[name] for name in QUEUE & set(point)}
    if "target_p99_latency_ms" in point and "base_request_latency" in point:
        point["target_p99_latency_ms"] = point["base_request_latency"] * rng.choice([0.9, 1.001, 1.1, 2.0, 5.0])
    return point


def canonical(point: dict[str, float]) -> dict[str, float]:
    """The point in canonical units, as compiled code sees it."""
    return {name: units.to_canonical(value, variable_of(name).unit) for name, value in point.items()}


#: Formulas of a replica that prefills and decodes by turns whose inputs make sense together only.
BATCHING = {
    "wait_probability[prefill_aware]",
    "prefill_wait_probability",
    "required_replicas[prefill_aware]",
    "estimated_p99_latency[prefill_aware]",
}


def batching(rng: random.Random) -> dict[str, float]:
    """A replica and its load, in the units of the variables: ms, QPS."""
    tokens, layers, cv = (
        rng.choice([1, *(rng.randint(2, 1000) for _ in range(5))]),
        rng.randint(1, 80),
        rng.choice([0.0, rng.uniform(0.1, 2.0)]),
    )
    batch = rng.choice([1, 2, rng.randint(3, 64), rng.randint(3, 64)])
    servers = rng.choice([1, 2, 3, rng.randint(4, 40)])
    weights, computing = 10 ** rng.uniform(-1, 2), 10 ** rng.uniform(-2, 1)
    experts = rng.choice([1, 1, 8, 64])
    chosen, sparse = rng.randint(1, min(experts, 4)), weights * rng.uniform(0.1, 0.9) if experts > 1 else 0.0
    each, tax = weights * 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-4, -1)
    prefill = tokens * weights * 10 ** rng.uniform(-3, 0)

    def read(requests):
        return weights - sparse * (1 - chosen / experts) ** requests

    reading = read(batch)

    def step(requests):
        return max(read(requests) + each * requests, computing * requests) + tax * layers

    rate = 1000 / (prefill + (tokens - 1) * step(batch) / batch)
    utilization = rng.choice([*(rng.uniform(0.02, 0.98) for _ in range(4)), 0.999, rng.uniform(1.0, 2.0)])
    arriving = utilization * rate if utilization < 1 and rng.random() < 0.93 else 0.0
    prefill_load = arriving * prefill / 1000
    bunch = prefill_load / (1 - prefill_load)
    computes = computing * batch > reading + each * batch
    base = prefill + (tokens - 1) * step(1)
    quantile = max(0.0, 1 - cv**2 / 9 + 2.326348 * cv / 3) ** 3
    full = 1000 * batch / rate * quantile
    return {
        "output_tokens": tokens,
        "layers": layers,
        "layer_tax": tax,
        "service_time_cv": cv,
        "active_batch_size": batch if arriving or rng.random() < 0.5 else 0,
        "replicas": servers,
        "max_replicas": rng.choice([1, servers, 3 * servers]),
        "step_weights_time": reading,
        "served_weights": weights,
        "memory_bandwidth": 1000.0,
        "memory_efficiency": 1.0,
        "experts": experts,
        "active_experts_per_token": chosen,
        "moe_layers": layers if experts > 1 else 0,
        "weight_bytes": 2.0,
        "expert_weight_bytes": 2.0,
        "expert_parameters": 5e8 * sparse / (layers * experts) or 1e6,
        "step_kv_time": each,
        "step_compute_time": computing,
        "prefill_time": prefill,
        "per_replica_qps_capacity": rate,
        "qps": utilization * servers * rate,
        "replica_arrival_rate": arriving,
        "prefill_load": prefill_load,
        "decode_share": 1 - prefill_load,
        "arrival_noise": 1 + bunch + (1 + cv**2) * bunch**2 / 2,
        "step_floor": tax * layers + (0 if computes else reading),
        "step_slope": computing if computes else each,
        "base_request_latency": base,
        "size_quantile": quantile,
        "light_load_p99": base * quantile,
        "fitted_p99": rng.choice([base, full]) * quantile * 10 ** rng.uniform(-0.5, 0.5),
        "queue_wait_p99": full * 10 ** rng.uniform(-2, 1) if rng.random() < 0.8 else 0.0,
        "target_p99_latency_ms": base * quantile * rng.choice([0.9, 1.001, 1.2, 2.0, 5.0]),
    }


@pytest.fixture(scope="session")
def draw_points():
    """``draw_points(formula, count)``: valid points in the units of the variables, the same on every run."""

    @cache
    def drawn(formula, count):
        rng = random.Random(formula.id)
        points = [draw_point(formula.inputs, rng) for _ in range(count)]
        if formula.id in BATCHING:
            wholes = [batching(rng) for _ in points]
            points = [{name: float(whole[name]) for name in point} for point, whole in zip(points, wholes, strict=True)]
        points = [{**point, **deployed(point, rng)} for point in points]
        if formula.name in GOODPUTS:  # at every rate, also at hardly any, it rests on what its variant has
            own = [one for _, one in WRITTEN if one.variant == formula.variant and one.name in points[0]]
            fixed = {one.name: float(one.expression) for one in own if one.expression.is_number}
            points = [point | fixed for point in points]
        cases = (case for case in formula.expression.atoms(Relational) if case.rhs == 0)
        if stopped := {case.lhs.name for case in cases if case.lhs.is_Symbol} & STOPPED:
            running = {"job_failure_rate": 1.0, "copy_survival": 0.5}
            running = {name: running[name] for name in running if name in points[0]}
            ended = [{**point, **running, name: 0.0} for point, name in zip(points, sorted(stopped), strict=False)]
            points[: len(ended)] = ended
        if formula.name in IDLE:
            points[:2] = [{**point, "per_replica_qps_capacity": 0.0} for point in points[:2]]
        unguarded = {"replica_rate", "replica_capacity"} & set(points[0]) == {"replica_rate"}  # divides by no rate
        if formula.name in ENDLESS and "concurrency" in points[0] and not unguarded:
            full = {
                "replica_capacity": 0.0,
                "replica_rate": 0.0,
                "replica_load": 2.0,
                "concurrency": 4.0,
                "num_rounds": 1.0,
            }
            points[:2] = [point | {name: full[name] for name in full if name in point} for point in points[:2]]
        return points

    def first(formula, count=MOST):
        again = formula.id in BATCHING or any(variable.name in DRAWN_AGAIN for variable in formula.inputs)
        return [dict(point) for point in drawn(formula, MOST if again else count)[:count]]

    return first


@pytest.fixture(scope="session")
def to_canonical():
    """Turns a point into canonical units."""
    return canonical


def coded(name, value):
    """A value as compiled code sees it: labels by their place."""
    return float(variable_of(name).code(value)) if isinstance(value, str) else float(value)


@pytest.fixture(scope="session")
def plain_points():
    """``plain_points(plain, draw, seed, count)``: random inputs, and what a plain implementation makes of them."""

    def make(plain, draw, seed, count):
        rng = random.Random(seed)
        points = [draw(rng) for _ in range(count)]
        found = [plain(point) for point in points]
        inputs = {name: np.array([coded(name, point[name]) for point in points]) for name in points[0]}
        return points, inputs, {name: np.array([float(row[name]) for row in found]) for name in found[0]}

    return make


@pytest.fixture(scope="session")
def on_backend():
    """``on_backend(system, inputs, outputs, backend)``: the outputs, one point at a time or as one array."""

    def run(system, inputs, outputs, backend):
        if backend == "jax":
            return {name: np.asarray(v, float) for name, v in evaluate(system, list(outputs), inputs).items()}
        function = compiled(system)
        rows = [function(dict(zip(inputs, row, strict=True))) for row in zip(*inputs.values(), strict=True)]
        return {name: np.array([float(row[name]) for row in rows]) for name in outputs}

    return run


@pytest.fixture(scope="session")
def assert_close():
    """``assert_close(found, expected, beside)``: equal to 1e-12, or to 1e-12 of the output named in ``beside``."""

    def check(found, expected, beside=None):
        for name, values in expected.items():
            scale = np.abs(expected[beside[name]]) if beside and name in beside else 0.0
            size = np.maximum(np.abs(values), scale)
            off = np.abs(found[name] - values) / np.where(size == 0, 1.0, size)
            assert off.max() <= 1e-12, f"{name} is off by {off.max()} at {off.argmax()}"

    return check
