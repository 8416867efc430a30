"""Parameters, states and KV cache against tensors counted in transformers models, split over ranks."""

import itertools

from validation.checks import Check, Group

from mlsysim import ParameterCountModel, ServingCapacityModel, TrainingMemoryModel

RELEASES = (
    "GPT-2 XL", "OPT-13B", "Llama 3 8B", "Llama 3.1 405B", "Mistral 7B", "Mixtral 8x7B", "Qwen3 8B", "Qwen3 30B-A3B",
    "DeepSeek-V3", "Llama 4 Maverick",
)  # fmt: skip
#: Tensor-, pipeline-, data- and expert-parallel ranks.
SPLITS = (
    ("Llama 3 8B", (8, 4, 8, 1)), ("Llama 3.1 405B", (8, 9, 16, 1)), ("OPT-13B", (4, 10, 8, 1)),
    ("Mixtral 8x7B", (1, 1, 8, 8)), ("Mixtral 8x7B", (4, 2, 8, 4)), ("Qwen3 30B-A3B", (4, 12, 64, 16)),
    ("DeepSeek-V3", (8, 1, 64, 32)), ("Llama 4 Maverick", (8, 6, 32, 16)),
)  # fmt: skip
STATES = {"weights": 3, "gradients": 2, "optimizer_state": 1}


def parameters() -> list[Check]:
    """Every parameter of a model on the meta device."""
    from counted import models

    found = []
    for name in RELEASES:
        spec = models.PUBLISHED[name]
        theirs = models.count(models.tensors(spec.build()).values())
        ours = ParameterCountModel().solve(spec.workload()).canonical("parameters")
        found.append(Check(name, theirs, ours, 0))
    return found


def per_rank() -> list[Check]:
    """Parameters of the rank that holds the most."""
    from counted import models

    found = []
    for name, sizes in SPLITS:
        spec, layout = models.PUBLISHED[name], models.Layout(*sizes)
        named = models.tensors(spec.build())
        theirs = models.most_parameters(named, spec, layout)
        ours = models.solve(spec.workload(), layout)["parameters_per_rank"]
        tp, pp, dp, ep = sizes
        # The first-order form takes no experts over ranks.
        first = None if ep > 1 else TrainingMemoryModel().solve(
            spec.workload(parameters=models.count(named.values())), memory_capacity="80 GB", batch_size=dp, tp_size=tp,
            pp_size=pp, dp_size=dp,
        )["parameters_per_rank"]  # fmt: skip
        what = f"{name}, tensor {tp}, pipeline {pp}, data {dp}, expert {ep}"
        found.append(Check(what, theirs, ours, 0, "", first))
    return found


def states() -> list[Check]:
    """Bytes after a real step of mixed-precision AdamW, on the rank that holds the most."""
    from counted import models

    found = []
    for name, zero in itertools.product(("llama", "mixtral", "qwen3_moe"), (0, 1, 2, 3)):
        spec, layout = models.SMALL[name], models.Layout(2, 2, 8, 1 if name == "llama" else 4, zero)
        kept = models.trained(name, "bf16", "adamw")
        said = models.solve(spec.workload(), layout, precision="bf16", optimizer="adamw")
        for state, tensors in zip(STATES, (kept.weights, kept.gradients, kept.optimizer), strict=True):
            theirs = models.most_bytes(tensors, spec, layout, STATES[state])
            what = f"small {name.replace('_', ' ')}, ZeRO-{zero}, {state.replace('_', ' ')}"
            found.append(Check(what, theirs, said.canonical(state), 0, "B"))
    return found


def kv_cache() -> list[Check]:
    """Bytes one token leaves in the cache."""
    import torch
    from counted import models

    found = []
    for name in ("gpt2", "llama", "mixtral", "qwen3", "qwen3_moe", "deepseek_v3"):
        spec = models.SMALL[name]
        model = spec.build("cpu").to(torch.bfloat16).eval()
        with torch.no_grad():
            cache = model(input_ids=torch.randint(2, 90, (1, 16)), use_cache=True).past_key_values
        theirs = models.size(models.caches(cache)) / 16
        workload = spec.workload(parameters=1e6, **({"active_parameters": 1e6} if "experts" in spec.shape else {}))
        ours, first = (
            ServingCapacityModel(variant)
            .solve(workload, "H100", qps=1, target_p99_latency_ms=1e4, precision="bf16")
            .canonical("kv_bytes_per_token")
            for variant in ("prefill_aware", "first_order")
        )
        found.append(Check(f"small {name.replace('_', ' ')}", theirs, ours, 0, "B/token", first))
    return found


NEEDS = ("torch", "transformers")
GROUPS = (
    Group(
        "counted_tensors",
        "Parameters of transformers models",
        "Every parameter of the model at its published shape, on the meta device, against the formula.",
        "PyTorch 2.13 and transformers",
        parameters,
        NEEDS,
    ),
    Group(
        "counted_ranks",
        "Parameters of one rank",
        "Variant `per_operator` against the same tensors, split as Megatron-LM splits them and assigned to stages. "
        "The first-order form divides everything by all ranks, and takes no expert-parallel ranks.",
        "PyTorch 2.13 and transformers",
        per_rank,
        NEEDS,
    ),
    Group(
        "counted_states",
        "Weights, gradients and optimizer state of one rank",
        "Bytes of every tensor after a real step of AdamW on bf16 weights with an fp32 master copy: tensor 2, pipeline "
        "2, data 8, expert 4 (1 for the dense model). `tests/counted` has 15 models, 7 recipes and all splits.",
        "PyTorch 2.13 and transformers",
        states,
        NEEDS,
    ),
    Group(
        "counted_kv_cache",
        "KV cache of transformers models",
        "Variant `prefill_aware` knows the width of a head; the first-order form takes h / a, half of Qwen3's.",
        "PyTorch 2.13 and transformers",
        kv_cache,
        NEEDS,
    ),
)
