"""Where errors of a group of checks hold: of which model, variants and outputs, and on what."""

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from validation import (
    measured_groups,
    power_rows,
    published_collectives,
    published_exchanges,
    published_kernels,
    published_power,
    serving_silicon,
    training_peaks,
    training_steps,
)
from validation.checks import Check, Group, Spread, relative, spread
from validation.pages import DOCS, page_of

from mlsysim import Stacks

DATA = Path(__file__).parents[2] / "mlsysim" / "study" / "results" / "accuracy.toml"
HEAD = """# Errors of outputs against what others measured, counted or simulated, by area; each number is a share.
# tests/validation/report.py writes this from the checks behind docs/validation/, and a test compares the two.
"""
#: Fewer rows say little about others.
FEWEST = 5
DIGITS = 4
ERRORS = "median", "tail", "worst"
#: How far apart errors of so many digits may be that are the same but for rounding.
ROUNDED = 2e-3

Errors = Iterable[float]
ErrorsOf = Callable[[], Errors]


@dataclass(frozen=True)
class Area:
    """Errors of some outputs, and the results that they speak of.

    Parameters
    ----------
    group : str
        Name of the group of checks.
    model : str
        Class.
    variants, outputs : tuple of str
        Of the model.
    about : str
        Which rows.
    errors : callable
        Gives relative errors from the checks of the group.
    devices : tuple of str
        Catalog keys of the accelerators; empty where the error does not depend on one.
    stacks : tuple of str
        Catalog keys; empty for any.
    where : dict
        For an input the labels it may have, or the least and the largest number.
    source : str
        Who published theirs, where the rows are those of several groups.
    """

    group: str
    model: str
    variants: tuple[str, ...]
    outputs: tuple[str, ...]
    about: str
    errors: Callable[[list[Check]], Errors]
    devices: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    where: dict[str, list[Any]] = field(default_factory=dict)
    source: str = ""

    def record(self, group: Group, checks: list[Check]) -> dict[str, Any] | None:
        """What the data file says of it; nothing where there are too few rows."""
        errors = [float(each) for each in self.errors(checks)]
        if len(errors) < FEWEST:
            return None
        median, tail, worst = (float(f"{each:.{DIGITS}g}") for each in spread(errors))
        page = page_of(group.title).path.relative_to(DOCS.parent).as_posix()
        return {
            "group": self.group, "section": group.title, "page": page, "source": self.source or group.source,
            "about": self.about, "model": self.model, "variants": [*self.variants], "outputs": [*self.outputs],
            "devices": [*self.devices], "stacks": [*self.stacks], "where": self.where, "rows": len(errors),
            "median": median, "tail": tail, "worst": worst,
        }  # fmt: skip


def own(checks: list[Check]) -> Errors:
    """Errors of ours, on rows that nothing was calibrated on."""
    return [check.error for check in checks if check.counts]


def beside(checks: list[Check], calibrated: bool = True) -> Errors:
    """Errors of what stands beside ours."""
    return [
        relative(check.first_order, check.theirs)
        for check in checks
        if check.first_order is not None and (calibrated or not check.calibrated)
    ]


def of_what(word: str, errors: Callable[[list[Check]], Errors], checks: list[Check]) -> Errors:
    """Errors of the rows whose name ends with a word."""
    return errors([check for check in checks if check.what.endswith(word)])


def peaks(errors: Callable[[list[Check]], Errors], checks: list[Check]) -> Errors:
    """Errors of peak memory, without the difference of two peaks."""
    return errors([check for check in checks if "fall from" not in check.what])


def of_spreads(spreads: Callable[[bool], list[Spread]], word: str, _: list[Check]) -> Errors:
    """Errors of the rows of a sample whose spread has a name; checks show few of them."""
    return next(each.errors for each in spreads(False) if each.what == word)


def as_times(errors: Errors) -> Errors:
    """Errors of times, from those of rates."""
    return [1 / (1 + each) - 1 for each in errors]


def rings(kind: bool, checks: list[Check]) -> Errors:
    """Collectives left out of the fit: rings, or all-to-alls."""
    places = np.array([row.kind in published_collectives.RINGS for row in published_collectives.ROWS])
    return published_collectives.errors()[places == kind].tolist()


def exchanges(kind: str, checks: list[Check]) -> Errors:
    """Exchanges of one kind by the normal kernels, left out of the fit; of their times."""
    pairs = zip(published_exchanges.ROWS, published_exchanges.left_out(), strict=True)
    return [row.theirs / ours - 1 for row, ours in pairs if row.kind == kind]


def quick(kind: str, checks: list[Check]) -> Errors:
    """Exchanges of one kind by the low-latency kernels, left out of the fit."""
    pairs = zip(published_exchanges.QUICK, published_exchanges.left_out_quick(), strict=True)
    return [ours / row.theirs - 1 for row, ours in pairs if row.kind == kind]


# A utilization is a rate over a constant, and is as far off.
RATES = ("tokens_per_second", "tokens_per_second_per_accelerator", "mfu")
TIMES = ("step_time", "training_time")
HOPPER, BLACKWELL = ("H100", "H200"), ("B200", "GB200", "B300", "GB300")
GPUS, TPUS = ("A100", "A100_40GB", *HOPPER, *BLACKWELL), ("TPU_v4", "TPU_v5e", "TPU_v5p", "TPU_v6e", "TPU7x")
RUNS = "Megatron-LM, torchtitan, llm-foundry, Megatron-Bridge and others, as the tables of steps cite them"
RINGS = "aiconfigurator, NCCL on A100, H100, H200 and B200"
TRAINED = {"experts": [1, 1], "finetuning": ["full"]}
SPARSE = {"experts": [2, 1024], "finetuning": ["full"]}
ADAPTED = {"finetuning": ["lora", "qlora"]}


def _of_steps(about: str, software: str, devices: tuple[str, ...], errors: ErrorsOf, experts: bool) -> list[Area]:
    stacks = tuple(name for name in dir(Stacks) if name.startswith(software))
    area = partial(
        Area, "steps_whole", "DistributedModel", ("per_operator",), devices=devices, stacks=stacks,
        where=SPARSE if experts else TRAINED, source=RUNS,
        about=f"steps of {'models with experts' if experts else 'dense models'} by {about}",
    )  # fmt: skip
    return [
        area(outputs=TIMES, errors=lambda checks: errors()),
        area(outputs=RATES, errors=lambda checks: as_times(errors())),
    ]


#: Software of training steps: its stacks, devices that have rows of it, and whether some have experts.
TRAINERS = (
    ("Megatron-Bridge", "Megatron_Bridge", ("H100", "B200", "GB200", "B300", "GB300"), True),
    ("MaxText", "MaxText", TPUS, True),
    ("LLM Foundry", "MPT", ("A100", "A100_40GB", "H100"), False),
    ("torchtitan", "torchtitan_", ("A100", "H100", "H200"), False),
    ("PAX", "PAX", ("A100", "H100"), False),
    ("Megatron-LM", "Megatron_LM_A100", ("A100", "A100_40GB"), False),
)


def _steps() -> Iterator[Area]:
    for name, software, devices, has_experts in TRAINERS:
        for experts in (False, True)[: 1 + has_experts]:
            about = f"{name}, each with its model left out of the stack"
            yield from _of_steps(about, software, devices, partial(training_steps.left_out, software, experts), experts)
    for devices, experts in ((GPUS, False), (GPUS, True), (TPUS, False)):
        errors = partial(training_steps.by_default, experts, devices is TPUS)
        yield from _of_steps("library defaults", "Generic", devices, errors, experts)


def _engine(group: str, stack: str) -> list[Area]:
    area = partial(Area, group, "IterationModel", ("iteration",), ("iteration_time",), devices=("A100",),
                   where={"experts": [1, 1], "precision": ["fp16", "bf16"]})  # fmt: skip
    return [area("decode steps and prefills of OPT", own, stacks=(stack,))]


#: Stacks of engines of 2025 and 2026, and the devices of each.
SILICON = {"TensorRT_LLM_1_2_Blackwell": BLACKWELL, "vLLM_2026_Hopper": HOPPER, "vLLM_2026_Blackwell": BLACKWELL,
           "SGLang_2026_Hopper": HOPPER, "SGLang_2026_Blackwell": BLACKWELL}  # fmt: skip


def _silicon(stack: str, dense: bool) -> list[Area]:
    variants = ("colocated",) if stack.startswith("SGLang") else ("chunked_estimate", "chunked")
    about = f"closed loops of {'dense models' if dense else 'mixtures of experts'}, each with its model left out"
    of = partial(serving_silicon.kind_errors, stack, dense)
    return [
        Area("serving_silicon_whole", "ServingModel", variants, outputs, about, partial(of, outputs[0]),
             SILICON[stack], (stack,), {"experts": [1, 1] if dense else [2, 1024]})
        for outputs in (("tpot_mean",), ("ttft_mean",), ("tokens_per_second", "tokens_per_second_per_accelerator"))
    ]  # fmt: skip


def _post_training(variant: str, schedule: str) -> Area:
    return Area(
        "post_training_whole", "PostTrainingModel", (variant,), ("step_time",),
        f"steps of NeMo-RL ({schedule}), each with its model left out of the constants",
        lambda checks: beside([check for check in checks if f", {schedule}" in check.what]),
        ("H100", "GB200"), ("NeMo_RL_H100", "NeMo_RL_GB200", "NeMo_RL_DTensor_H100"),
    )  # fmt: skip


PEAKS = {"experts": [1, 1], "zero_stage": [1, 3], "precision": ["bf16", "fp16"]}
ROUTED = {"precision": ["bf16", "fp16"]}
LOOP = {"devices": ("H100",), "stacks": ("TensorRT_LLM_H100",),
        "where": {"experts": [1, 1], "precision": ["w8a8", "fp8"], "concurrency": [1, 250]}}  # fmt: skip
FULL_LOAD = {"devices": ("H100", "H200"), "where": {"experts": [1, 1], "precision": ["w8a8", "fp8"]}}
AREAS: tuple[Area, ...] = (
    *(
        Area("products", "KernelModel", (variant,), ("kernel_time",),
             "matrix products, constants fitted without the device",
             lambda checks, variant=variant: published_kernels.errors(published_kernels.left_out(variant)),
             ("A100", "H100", "H200", "B200"),
             where={"precision": ["bf16", "fp16", "fp8"], "product_groups": [1, 1]})
        for variant in ("waves", "smooth")
    ),
    Area("batches_h200", "KernelModel", ("waves",), ("kernel_time",),
         "products of a batch, constants of dense products on H100", own, ("H100", "H200"), ("cuBLAS_H100",),
         {"precision": ["bf16", "fp16"], "product_groups": [2, 1024], "group_imbalance": [1, 1]}),
    Area("experts_h200", "KernelModel", ("waves",), ("kernel_time",),
         "grouped products of experts, constants fitted without the model", lambda _: measured_groups.left_out(),
         ("H200",), ("PyTorch_grouped_H200",),
         {"precision": ["bf16", "fp16"], "product_groups": [2, 1024]}),
    Area("attention_h200", "KernelModel", ("attention",), ("attention_forward_time", "attention_backward_time"),
         "attention of FlashAttention 2 and cuDNN, constants of other figures", own, ("H100", "H200"),
         where={"attention_kernel": ["fa2", "cudnn", "flash"]}),
    Area("nccl_a100", "CollectiveModel", ("all_reduce", "all_gather", "reduce_scatter"), ("collective_time",),
         "rings of NCCL within a node, constants fitted without the class of links", partial(rings, True),
         ("A100", "H100", "H200", "B200"), where={"collective_ranks": [2, 8]}, source=RINGS),
    Area("nccl_a100", "CollectiveModel", ("all_to_all",), ("collective_time",),
         "all-to-alls of NCCL within a node, constants fitted without the class of links", partial(rings, False),
         ("A100", "H100", "H200", "B200"), where={"collective_ranks": [2, 8]}, source=RINGS),
    *(
        Area("deepep_rates", "CollectiveModel", (kind,), ("collective_time",),
             "DeepEP's normal kernels, shares fitted on the other configurations", partial(exchanges, kind),
             ("H800", "B200"), ("DeepEP",), {"collective_ranks": [8, 64]})
        for kind in ("dispatch", "combine")
    ),
    *(
        Area("deepep_times", "CollectiveModel", (f"low_latency_{kind}",), ("collective_time",),
             "DeepEP's low-latency kernels, floor fitted on the other numbers of ranks", partial(quick, kind),
             ("H800",), ("DeepEP",), {"collective_ranks": [8, 256]})
        for kind in ("dispatch", "combine")
    ),
    Area("iterations_trtllm", "IterationModel", ("saturated",), ("output_tokens_per_second",),
         "dense models at full load", own, stacks=("TensorRT_LLM_H100",), **FULL_LOAD),
    Area("iterations_trtllm", "IterationModel", ("saturated",), ("output_tokens_per_second",),
         "dense models at full load, by library defaults", beside, stacks=("Generic",), **FULL_LOAD),
    Area("iterations_trtllm_moe", "IterationModel", ("saturated",), ("output_tokens_per_second",),
         "a mixture of experts at full load", own, ("H200",), ("TensorRT_LLM_H100",),
         {"experts": [2, 1024], "precision": ["w8a8", "fp8"]}),
    *(
        Area(group, "ServingModel", ("chunked",), outputs, f"Llama 3.3 70B in a closed loop, {about}",
             partial(of_what, rows, own), **LOOP)
        for group, outputs, about, rows in (
            ("servers_nim", ("tokens_per_second", "tokens_per_second_per_accelerator"), "tokens", "in flight"),
            ("servers_nim", ("ttft_mean",), "first tokens", "first token"),
            ("iterations_nim", ("tpot_mean",), "time between tokens", "in flight"),
        )
    ),
    Area("llamacpp_decode", "IterationModel", ("iteration",), ("iteration_time",),
         "one request of Llama 3, decoding, on one device or stages of several", lambda checks: as_times(own(checks)),
         ("RTX_4080", "RTX_4090", "RTX_6000_Ada", "L40S", "RTX_3090", "RTX_A6000", "A40"),
         ("llama_cpp_2024_Ada", "llama_cpp_2024_Ampere"),
         {"experts": [1, 1], "precision": ["fp16", "q4_k_m"], "prompts": [0, 0]}),
    Area("gpt_fast", "IterationModel", ("iteration",), ("iteration_time",),
         "one request of Llama 2, decoding, in 16, 8 and 4 bits", lambda checks: as_times(own(checks)), ("A100",),
         ("GPT_fast_A100",), {"experts": [1, 1], "prompts": [0, 0]}),
    Area("lmdeploy_static", "IterationModel", ("static",), ("output_tokens_per_second",),
         "batches of Llama 2 7B", own, ("A100",), ("LMDeploy_2024_A100",),
         {"experts": [1, 1], "precision": ["fp16", "bf16"]}),
    *_engine("iterations_distserve", "DistServe_A100"),
    *_engine("iterations_vllm", "vLLM_2023_A100"),
    *(area for stack in SILICON for dense in (True, False) for area in _silicon(stack, dense)),
    *_steps(),
    Area("finetuning_memory", "DistributedModel", ("per_operator",), ("total_memory",), "LoRA and Q-LoRA of Qwen", own,
         ("A100",), ("Generic",), ADAPTED),
    Area("finetuning_time", "DistributedModel", ("per_operator",), ("step_time",), "LoRA and Q-LoRA of Qwen", own,
         ("A100",), ("Generic",), ADAPTED),
    Area("published_counts", "ParameterCountModel", ("counted",), ("parameters",), "totals as published",
         lambda checks: [check.error for check in checks if not check.what.endswith("active")]),
    Area("published_counts", "ParameterCountModel", ("counted",), ("active_parameters",), "active ones as published",
         partial(of_what, "active", own)),
    Area("saved_tensors", "TrainingMemoryModel", ("per_operator",), ("activations",),
         "bytes that PyTorch keeps of one layer", own, where={"precision": ["bf16", "fp16"]}),
    Area("saved_tensors", "TrainingMemoryModel", ("first_order",), ("activations",),
         "bytes that PyTorch keeps of one layer", beside, where={"precision": ["bf16", "fp16"]}),
    *(
        Area("torchtitan", "TrainingMemoryModel", (variant,), ("total_memory",),
             "peaks of dense models trained in full under ZeRO", partial(peaks, errors), where={**PEAKS, **trained})
        for variant, errors, trained in (("per_operator", own, {"finetuning": ["full"]}), ("first_order", beside, {}))
    ),
    *(
        Area("megatron_peaks", "TrainingMemoryModel", ("per_operator",), ("total_memory",), f"runs of {about}",
             partial(of_spreads, training_peaks.megatron_spreads, f"{training_peaks.KINDS[kind]}: peak"),
             stacks=("Megatron_LM",), where={"experts": experts, "finetuning": ["full"]})
        for kind, about, experts in (("dense", "dense models", [1, 1]), ("moe", "models with experts", [2, 1024]))
    ),
    Area("trainer_peaks", "TrainingMemoryModel", ("per_operator",), ("total_memory",), "fine-tuning on A100",
         partial(of_spreads, training_peaks.trainer_spreads, "All"), stacks=("HF_Trainer",),
         where={"precision": ["bf16", "fp16"]}),
    *(
        Area("counted_states", "TrainingMemoryModel", ("per_operator",), (output,),
             "tensors of small models after a real step, split over ranks",
             partial(of_what, output.replace("_", " "), own),
             where={"precision": ["bf16", "fp16"], "optimizer": ["adam", "adamw"], "finetuning": ["full"]})
        for output in ("weights", "gradients", "optimizer_state")
    ),
    *(
        Area("counted_routing", "MoERoutingModel", (variant,), (output,),
             "tokens counted at a router under skewed inputs", partial(of_what, rows, errors), where=ROUTED)
        for variant, output, rows, errors in (
            ("per_layer", "token_dispatch_bytes", "leaving their rank", own),
            ("per_layer", "hot_rank_bytes", "received by the hot rank", own),
            ("first_order", "token_dispatch_bytes", "leaving their rank", beside),
        )
    ),
    Area("simulated_capacity", variants=("prefill_aware",), outputs=("per_replica_qps_capacity", "qps_capacity"),
         about="a replica that always has others waiting, with its step times given", errors=own,
         model="ServingCapacityModel"),
    Area("simulated_capacity", variants=("first_order",), outputs=("per_replica_qps_capacity", "qps_capacity"),
         about="a replica that always has others waiting, with its step times given", errors=beside,
         model="ServingCapacityModel"),
    Area("simulated_p99", variants=("prefill_aware",), outputs=("estimated_p99_latency",),
         about="simulated queues with the step times given", errors=own, model="ServingCapacityModel"),
    Area("simulated_p99", variants=("first_order",), outputs=("estimated_p99_latency",),
         about="simulated queues with the step times given", errors=beside, model="ServingCapacityModel"),
    *(
        area
        for device, stack in power_rows.STACKS.items()
        for area in (
            Area("power_language_whole", "IterationModel", ("iteration",), ("device_power",),
                 "serving language models, constants of the law of power fitted without the model",
                 lambda _, device=device: published_power.by_iterations(device), (device,), (stack,)),
            Area("power_language_whole", "ServingModel", ("chunked_estimate",), ("device_power",),
                 "serving language models, constants of the law of power fitted without the model",
                 lambda _, device=device: published_power.by_loops(device).watts, (device,), (stack,)),
            Area("power_language_whole", "ServingModel", ("chunked_estimate",), ("energy_per_token",),
                 "serving language models, devices alone",
                 lambda _, device=device: published_power.by_loops(device).joules, (device,), (stack,),
                 {"host_power_fraction": [0, 0], "pue": [1, 1]}),
        )
    ),
    Area("power_h200", "DistributedModel", ("per_operator",), ("device_power",), "training steps of dense models",
         lambda checks: own([check for check in checks if check.what.startswith("Step")]), ("H100", "H200"),
         where=TRAINED),
    Area("runs_ettr", "RunModel", ("overlapped", "blocking", "given", "given_overlapped", "given_blocking"),
         ("ettr", "run_goodput"), "useful shares that Meta prints of its clusters, and others of their runs", own),
    _post_training("colocated", "colocated"),
    _post_training("one_step_off", "1off"),
)  # fmt: skip
#: Groups that have areas.
GROUPS = tuple(dict.fromkeys(area.group for area in AREAS))


def records(group: Group, checks: list[Check]) -> list[dict[str, Any]]:
    """What the data file says of a group."""
    found = (area.record(group, checks) for area in AREAS if area.group == group.name)
    return [record for record in found if record is not None]


def recorded(group: str) -> list[dict[str, Any]]:
    """What the data file says of a group."""
    groups = tomllib.loads(DATA.read_text(encoding="utf-8"))["group"] if DATA.exists() else []
    return [{**each, **area} for each in groups if each["group"] == group for area in each.pop("area")]


def alike(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Whether two lists of records say the same, but for the last digits of an error."""

    def equal(one: Any, other: Any) -> bool:
        return math.isclose(one, other, rel_tol=ROUNDED) if isinstance(one, float) else one == other

    return len(some) == len(others) and all(
        one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
        for one, other in zip(some, others, strict=True)
    )


def write(found: list[dict[str, Any]]) -> None:
    """Write the data file, in the order of the groups; what the areas of one have in common stands once."""
    ranked = sorted(found, key=lambda record: GROUPS.index(record["group"]))
    DATA.write_text(
        HEAD + "".join(_tables([*some]) for _, some in groupby(ranked, itemgetter("group"))), encoding="utf-8"
    )


def _tables(areas: list[dict[str, Any]]) -> str:
    shared = {key: value for key, value in areas[0].items() if all(each[key] == value for each in areas)}
    shared = {key: value for key, value in shared.items() if key not in ERRORS}
    own = [{key: value for key, value in each.items() if key not in shared} for each in areas]
    return _table("group", shared) + "".join(_table("group.area", each) for each in own)


def _table(name: str, record: dict[str, Any]) -> str:
    return f"\n[[{name}]]\n" + "".join(f"{key} = {_value(value)}\n" for key, value in record.items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and not np.isfinite(value):
        return "inf"
    return repr(value)
