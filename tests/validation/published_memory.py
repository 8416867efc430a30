"""Training memory against what papers and tools print."""

from typing import Any

from validation.cases import CASES
from validation.checks import Check, Group

from mlsysim import TrainingMemoryModel
from mlsysim.study.results.result import Result

GIB = 2**30
STAGES = {"os": 1, "os_g": 2, "os_g_p": 3}
STATES = ("weights", "gradients", "optimizer_state")

#: A model that is its parameter count alone, where only model states are asked for.
POINT = {
    "layers": 1, "hidden_dim": 1, "heads": 1, "experts": 1, "batch_size": 1, "seq_len": 1, "memory_capacity": "32 GB",
}  # fmt: skip


def solve(variant: str, **inputs: Any) -> Result:
    """One point of the training-memory model."""
    return TrainingMemoryModel(variant).solve(**inputs)


def states(variant: str = "first_order", **inputs: Any) -> float:
    """Bytes of weights, gradients and optimizer state."""
    result = solve(variant, **{**POINT, **inputs})
    return sum(result.canonical(name) for name in STATES)


def zero_table_1() -> list[Check]:
    """Model states per device."""
    table = CASES["zero_table1"]
    found = []
    for size, row in table["measured"].items():
        for stage, name in STAGES.items():
            for ranks, printed in zip(table["config"]["DP"], row[stage], strict=True):
                ours = states(parameters=row["psi"], dp_size=ranks, zero_stage=name) / 1e9
                what = f"{size}, ZeRO-{name}, {ranks} ranks"
                found.append(Check(what, printed, ours, 0.024 if printed < 1 else 0.015, "GB"))
    return found


STATES_ALONE = (
    "the states are a bound: what was run leaves 17 to 38% of the memory to activations and fragmentation, which the "
    "first-order states do not count"
)
IN_TRILLIONS = "0.5T, 1T and 2T stand for 512B, 1.024T and 2.048T, as 128B and 256B above them show"


def zero_table_2() -> list[Check]:
    """States of the largest model said to fit 32 GB, and of the largest that was run."""
    table = CASES["zero_table2_max_model"]
    found = []
    for line in table["measured"]:
        for stage in ("base", *STAGES):
            size = float(line[stage][:-1]) * {"B": 1e9, "T": 1e12}[line[stage][-1]]
            at = {"tp_size": line["mp"], "heads": line["mp"], "dp_size": table["config"]["dp"]}
            ours = states(parameters=size, zero_stage=STAGES.get(stage, 0), **at) / 1e9
            missed = IN_TRILLIONS if line[stage].endswith("T") else ""
            found.append(
                Check(f"theory: {line[stage]} on {line['gpus']} ranks, {stage}", 32, ours, 0.01, "GB", None, missed)
            )
    for line in table["measured"]:
        for stage in ("base", "os"):
            size = float(line[f"measured_{stage}"][:-1])
            at = {"tp_size": line["mp"], "heads": line["mp"], "dp_size": table["config"]["dp"]}
            largest = 32 / states(parameters=1e9, zero_stage=STAGES.get(stage, 0), **at) * 1e9
            found.append(Check(f"run: {line['gpus']} ranks, {stage}", size, largest, 0.01, "B", None, STATES_ALONE))
    return found


def korthikanti_inputs(size: str) -> dict[str, Any]:
    """The layout of one model of Korthikanti et al."""
    at = CASES["korthikanti_activation_memory"]["config"][size]
    return {
        "layers": at["L"], "hidden_dim": at["h"], "heads": at["a"], "experts": 1, "seq_len": 2048,
        "parameters": 12 * at["L"] * at["h"] ** 2, "tp_size": at["t"], "pp_size": at["p"],
        "interleaved_stages": at["m"], "batch_size": at["b"] * 4 * at["p"],
        "gradient_accumulation_steps": 4 * at["p"], "gradient_dtype": "fp32", "memory_capacity": "80 GiB",
    }  # fmt: skip


def korthikanti_activations(variant: str, size: str, policy: str, sequence_parallel: bool) -> float:
    """Activations in GiB; the first-order form has no sequence parallelism or interleaving."""
    inputs = {**korthikanti_inputs(size), "activation_checkpointing": policy}
    if variant == "first_order":
        for name in ("interleaved_stages", "gradient_dtype"):
            del inputs[name]
        return solve(variant, **inputs).canonical("activations") / GIB
    return solve(variant, **inputs, sequence_parallel=sequence_parallel).canonical("activations") / GIB


def korthikanti_figure_1() -> list[Check]:
    """States, and activations without and with selective recomputation and sequence parallelism."""
    found = []
    for size, printed in CASES["korthikanti_activation_memory"]["measured"]["fig1_GiB"].items():
        inputs = korthikanti_inputs(size)
        result = solve("korthikanti", **inputs)
        ours = sum(result.canonical(name) for name in STATES) / GIB
        found.append(Check(f"{size}, weights, gradients and Adam", printed["param_opt"], ours, 0.005, "GiB"))
        for column, policy, parallel in (("none", "none", False), ("seqsel", "selective", True)):
            ours = korthikanti_activations("korthikanti", size, policy, parallel)
            first = korthikanti_activations("first_order", size, policy, parallel)
            what = f"{size}, activations, {'selective, sequence parallel' if parallel else 'all kept'}"
            found.append(Check(what, printed[column], ours, 0.005, "GiB", first))
    return found


FIGURE_7 = {"seq": ("none", True), "sel": ("selective", False), "seqsel": ("selective", True), "full": ("full", False)}


def korthikanti_figure_7() -> list[Check]:
    """Activations as a share of those of plain tensor parallelism."""
    found = []
    for size, printed in CASES["korthikanti_activation_memory"]["measured"][
        "fig7_percent_of_tensor_parallel_baseline"
    ].items():
        whole = korthikanti_activations("korthikanti", size, "none", False)
        for column, (policy, parallel) in FIGURE_7.items():
            ours = 100 * korthikanti_activations("korthikanti", size, policy, parallel) / whole
            found.append(Check(f"{size}, {column}", printed[column], ours, 0.012 if column == "full" else 0.005, "%"))
    return found


TWO_DECIMALS = "0.119 prints as 0.12"


def deepspeed_estimators() -> list[Check]:
    """GPU memory of model states as DeepSpeed's own estimators give it, T5-3B on eight GPUs."""
    case = CASES["deepspeed_estimators_t5_3b"]
    printed, size, layer = case["measured"], case["config"]["params"], case["config"]["largest_layer"]
    at = {"parameters": size, "dp_size": case["config"]["gpus"], "gradient_dtype": "both"}
    two = solve("korthikanti", **POINT, **at, zero_stage=2)
    three = solve("korthikanti", **POINT, **{**at, "gradient_dtype": "fp32"}, zero_stage=3)
    shards = sum(three.canonical(name) for name in STATES)
    # A layer at work is whole: its 16-bit weights, and its gradients until they are reduced.
    whole_layer = 4 * layer
    rows = [
        ("ZeRO-2, optimizer on the host", printed["zero2 offload_optimizer=cpu"]["gpu"], two.canonical("weights")),
        ("ZeRO-2 (the code; its documentation says 15.93)", printed["zero2 none (code @edaa722: 2P+18P/n)"]["gpu"],
         sum(two.canonical(name) for name in STATES)),
        ("ZeRO-3, all on the host", printed["zero3 opt+param cpu, zero_init"]["gpu"], whole_layer),
        ("ZeRO-3, optimizer on the host", printed["zero3 opt cpu, zero_init"]["gpu"],
         whole_layer + three.canonical("weights")),
        ("ZeRO-3", printed["zero3 none, zero_init"]["gpu"], whole_layer + shards),
    ]  # fmt: skip
    return [
        Check(
            what, theirs, ours / GIB, 0.004 if theirs < 1 else 0.001, "GiB", None, TWO_DECIMALS if theirs < 0.2 else ""
        )
        for what, theirs, ours in rows
    ]


def tutorial() -> list[Check]:
    """The tutorial's first question."""
    case = CASES["seed_training_memory"]
    at, printed = case["config"], case["measured"]
    result = solve("first_order", model="Llama3_8B", hardware="H100", batch_size=at["batch"], seq_len=at["seq"],
                   dp_size=at["dp"], zero_stage=at["zero"])  # fmt: skip
    names = {"optimizer": "optimizer_state", "buffers": "communication_buffers", "total": "total_memory"}
    rounding = "0.05 x 2.0075 GB is 0.1004 GB, printed as 0.100"
    return [
        Check(
            part,
            theirs,
            result.canonical(names.get(part, part)) / 1e9,
            0.003,
            "GB",
            None,
            rounding if part == "buffers" else "",
        )
        for part, theirs in printed.items()
    ]


TITAN = "torchtitan_fsdp_memory_slope"


def titan(**inputs: Any) -> float:
    """Peak GiB of one rank training Llama 3.1 as torchtitan does: fp32 states sharded, bf16 at work."""
    base = {
        "hardware": "H100", "seq_len": 8192, "precision": "bf16", "zero_stage": 3, "elementwise_kernels": "eager",
        "selective_policy": "alternate_matmuls", "weight_dtype": "fp32", "gradient_dtype": "fp32",
        "loss_kernel": "eager_referenced", "workspace": "0.07 GB",
    }  # fmt: skip
    return solve("per_operator", **{**base, **inputs}).canonical("total_memory") / GIB


def first_order_titan(**inputs: Any) -> float:
    """The same layout by the first-order form, which knows fewer inputs."""
    known = {name: value for name, value in inputs.items() if name in TrainingMemoryModel().arguments}
    base = {"hardware": "H100", "seq_len": 8192, "precision": "bf16", "zero_stage": 3}
    return solve("first_order", **{**base, **known}).canonical("total_memory") / GIB


def torchtitan() -> list[Check]:
    """Peak memory of Llama 3.1 on H100, and its fall from 8 to 128 ranks."""
    printed = CASES[TITAN]["measured"]
    small = {"model": "Llama3_1_8B", "batch_size": 2 * 8, "dp_size": 8}
    large = {"model": "Llama3_1_8B", "batch_size": 2 * 128, "dp_size": 128}
    theirs = printed["8B FSDP 8 GPUs lbs2 SAC"][1] - printed["8B FSDP 128"][1]
    first = first_order_titan(**small) - first_order_titan(**large)
    found = [Check("8B, fall from 8 to 128 ranks", theirs, titan(**small) - titan(**large), 0.15, "GiB", first)]
    fused = {"elementwise_kernels": "fused", "loss_kernel": "compiled"}
    layouts = [
        ("8B on 8", "8B FSDP 8 GPUs lbs2 SAC", small),
        ("8B on 128", "8B FSDP 128", large),
        ("8B on 8, compiled", "8B FSDP+compile 8", {**small, **fused}),
        ("8B on 128, compiled", "8B FSDP+compile 128", {**large, **fused}),
        ("70B on 256, tensor parallel 8, full recomputation", "70B FSDP32xTP8 compile float8 full AC lbs16",
         {"model": "Llama3_1_70B", "batch_size": 16 * 32, "dp_size": 32, "tp_size": 8, "sequence_parallel": True,
          "activation_checkpointing": "full", **fused}),
        ("405B on 512, 1F1B", "405B FSDP8 TP8 PP8 1F1B lbs32",
         {"model": "Llama3_1_405B", "batch_size": 32 * 8, "dp_size": 8, "tp_size": 8, "pp_size": 8,
          "gradient_accumulation_steps": 8, "sequence_parallel": True, "activation_checkpointing": "full",
          "zero_stage": 1, "gradient_dtype": "fp32", **fused}),
        ("8B, 32,768 tokens, full recomputation", "8B seq 32768 FSDP8 CP1 full AC lbs1",
         {"model": "Llama3_1_8B", "seq_len": 32768, "batch_size": 8, "dp_size": 8, "activation_checkpointing": "full"}),
    ]  # fmt: skip
    for what, row, inputs in layouts:
        ours, first = titan(**inputs), first_order_titan(**inputs)
        found.append(Check(what, printed[row][1], ours, 0.25, "GiB", first))
    return found


GROUPS = (
    Group(
        "zero_table_1",
        "Model states under ZeRO",
        "Bytes per device of 16-bit weights, gradients and Adam in mixed "
        "precision. 1.5% is the print; cells below 1 GB are truncated (2.4%).",
        "ZeRO (arXiv 1910.02054), table 1",
        zero_table_1,
    ),
    Group(
        "zero_table_2",
        "Largest model under ZeRO",
        "In theory the states of the largest model fill 32 GB (1%). "
        "Below, the largest model that was run, in billions of parameters, against the largest whose states fit.",
        "ZeRO, table 2",
        zero_table_2,
    ),
    Group(
        "korthikanti_figure_1",
        "Weights, optimizer and activations of Megatron-LM models",
        "Variant `korthikanti`; "
        "the paper keeps gradients in 32 bit. The first-order form keeps 34 and 10 bytes, and splits nothing over "
        "tensor-parallel ranks.",
        "Korthikanti et al. (arXiv 2205.05198), figure 1, as transcribed by Calculon",
        korthikanti_figure_1,
    ),
    Group(
        "korthikanti_figure_7",
        "Activations against plain tensor parallelism",
        "In percent of the activations kept without recomputation and sequence parallelism.",
        "Korthikanti et al., figure 7, as transcribed by Calculon",
        korthikanti_figure_7,
    ),
    Group(
        "deepspeed_estimators",
        "DeepSpeed's estimators",
        "Per GPU, T5-3B on eight GPUs of one node. DeepSpeed keeps "
        "32-bit gradients beside the 16-bit ones, and one layer whole under ZeRO-3.",
        "estimate_zero2_model_states_mem_needs and estimate_zero3_model_states_mem_needs",
        deepspeed_estimators,
    ),
    Group(
        "torchtitan",
        "torchtitan on H100",
        "Variant `per_operator`, nothing fitted. Peak memory as torchtitan logs "
        "it; two sharding degrees apart isolate the sharded states (15%), absolute peaks 25%. With a pipeline FSDP "
        "keeps weights whole and sums whole 32-bit gradients over micro-batches, which is ZeRO-1 here.",
        "pytorch/torchtitan, benchmarks of December 2024, Llama 3.1, tables 1 and 3",
        torchtitan,
    ),
    Group(
        "tutorial_memory",
        "The tutorial's training run",
        "The first-order form reproduces the text it comes from.",
        "the tutorial, section 1",
        tutorial,
    ),
)
