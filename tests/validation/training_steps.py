"""Steps of training that frameworks published, asked by the arguments of each run and the stack of its software."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from validation.checks import Check, Group, Spread, spread
from validation.published_steps import DENSE as DENSE_ROWS
from validation.published_steps import SPARSE, ours
from validation.step_rows import PLACES, ROWS, arguments, published, stack_of

from mlsysim import DistributedModel, Stacks

#: A sample of the rows, drawn by a fixed hash; the whole stands beside the project where it is developed.
SAMPLE: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
WHOLE = Path(__file__).parents[3] / "shared" / "validation" / "data"
TABLES = ("step_rows_shown", "step_rows_more")
STEP = DistributedModel()

#: Sets of rows: family, software, and rows of the sample; of vTrain's nodes groups of one model, devices and batch.
SETS: dict[str, tuple[str, str, int]] = {
    "vtrain_single": ("vTrain, up to eight A100", "Megatron_LM", 4),
    "vtrain_multi": ("vTrain, 512 A100", "Megatron_LM", 4),
    "bridge dense": ("Megatron-Bridge 26, dense", "Megatron_Bridge", 8),
    "bridge moe early": ("Megatron-Bridge 26.02 and 26.04, experts", "Megatron_Bridge", 10),
    "bridge moe late": ("Megatron-Bridge 26.06 and 26.08, experts", "Megatron_Bridge", 6),
    "bridge moe early gpt-oss": ("Megatron-Bridge 26, GPT-OSS", "Megatron_Bridge", 4),
    "bridge moe late gpt-oss": ("Megatron-Bridge 26, GPT-OSS", "Megatron_Bridge", 2),
    "moe zoo layouts": ("Megatron-MoE-ModelZoo, layouts on H100", "Megatron_Bridge", 5),
    "moe zoo long": ("Megatron-MoE-ModelZoo, long sequences on H100", "Megatron_Bridge", 5),
    "moe zoo GB": ("Megatron-MoE-ModelZoo, GB200 and GB300", "Megatron_Bridge", 4),
    "mlperf 405b": ("MLPerf 5.0, 405B", "Megatron_Bridge", 3),
    "nemo_pre": ("NeMo 24.07, pre-training", "Megatron_Bridge", 5),
    "nemo_ft SFT": ("NeMo 24.07, tuning", "Megatron_Bridge", 2),
    "nemo_ft LoRA": ("NeMo 24.07, tuning", "Megatron_Bridge", 2),
    "maxtext_scale": ("MaxText, tables of TPUs", "MaxText", 6),
    "maxtext_logs": ("MaxText, logs, dense", "MaxText", 5),
    "maxtext_logs moe": ("MaxText, logs, experts", "MaxText", 4),
    "ironwood": ("MaxText on TPU7x, dense", "MaxText", 3),
    "ironwood moe": ("MaxText on TPU7x, experts", "MaxText", 2),
    "jax": ("PAX and MaxText on GPUs", "PAX", 6),
    "bloom": ("BLOOM's prequel", "Megatron_LM", 6),
}
#: Families of the older rows, which ``steps.json`` has whole, by their groups and whether they have experts.
OLDER = {
    "Megatron-LM on A100": (("korthikanti5", "narayanan1", "narayanan2"), False),
    "torchtitan": (("torchtitan",), False),
    "LLM Foundry": (("mpt",), False),
    "Megatron-Bridge 25.11, dense": (("megatron_bridge",), False),
    "Megatron-Bridge 25.11, experts": (("megatron_bridge",), True),
    "An 80B model with ZeRO-3": (("idefics",), False),
}
FAMILIES = (*OLDER, *dict.fromkeys(family for family, *_ in SETS.values()))
#: First edition of Megatron-Bridge with graphs of whole iterations, where they were measured.
GRAPHS = "26.06"


@dataclass(frozen=True)
class Row:
    """A published step.

    Attributes
    ----------
    group : str
        Its set, or its group of ``steps.json``.
    case : str
        Its name there.
    device : str
        Catalog key, or a name of ``PLACES``.
    seconds : float
        The step.
    calls : tuple of dict
        Arguments of ``DistributedModel.solve``, without the stack; the step is the mean of several.
    stack : str
        The entry of the catalog for its software on its device.
    """

    group: str
    case: str
    device: str
    seconds: float
    calls: tuple[dict[str, Any], ...]
    stack: str

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of its first call."""
        return self.calls[0]

    @property
    def family(self) -> str:
        """Its family."""
        if self.group in SETS:
            return SETS[self.group][0]
        return next(name for name, (groups, experts) in OLDER.items() if (self.group, self.experts) in
                    [(group, experts) for group in groups])  # fmt: skip

    @property
    def model(self) -> str:
        """The trained model: a name, or its depth and width."""
        given = self.arguments
        return given.get("model") or f"L{given['layers']}h{given['hidden_dim']}"

    @property
    def experts(self) -> bool:
        """Whether it has experts."""
        return "moe" in self.group or "zoo" in self.group or self.arguments.get("experts", 1) > 1

    @property
    def left_out(self) -> str:
        """What is left out of a calibration with it: its model by its stack."""
        return f"{self.model} by {self.stack}"

    @property
    def without(self) -> dict[str, float]:
        """Values of its stack that were found without its model; those of a number format where it is its own."""
        found = [(*key.partition("."), value) for key, value in SAMPLE["without"].get(self.left_out, {}).items()]
        return {key: value for key, _, each, value in found if each in ("", self.arguments["precision"])}

    def step(self, by_stack: bool = True, **given: Any) -> float:
        """Our step in seconds, by its stack or by defaults, with other values where they are given."""
        values = {"stack": self.stack if by_stack else "Generic", **given}
        return sum(STEP.solve(**{**call, **values}).canonical("step_time") for call in self.calls) / len(self.calls)


def _stack(group: str, case: str, device: str) -> str:
    """The entry of the catalog for the software of a set on a device, and for its age where that has one."""
    name = f"{SETS[group][1]}_{device}"
    late = f"{name}_26_06"
    return late if group.startswith("bridge") and case >= GRAPHS and late in dir(Stacks) else name


#: Recipes with moe_a2a_overlap=True (Megatron-Bridge, scripts/performance/configs): model, device, ranks of experts.
OVERLAPPED = {("DeepSeek_V3", "B200", 32), ("Qwen3_235B_A22B", "H100", 32), ("gpt_oss_120B", "GB200", 64)}


def _asked(group: str, device: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a row, with a place where it names none."""
    place = {} if {"hardware", "fleet"} & given.keys() else PLACES.get(device, {"hardware": device})
    found = {**place, **given}
    if group.startswith("vtrain"):
        # Its configurations have layers that divide by the stages (src/config.py), and Megatron cuts them evenly.
        found["pipeline_split"] = "even"
    if group.startswith("nemo_ft"):
        # Its recipes pack SQuAD into sequences; no mean is printed, 256 tokens are assumed.
        found["document_len"] = 256
    if (given.get("model"), device, given.get("ep_size")) in OVERLAPPED and group.startswith("bridge moe early"):
        found["two_batch_overlap"] = True
    if group == "moe zoo GB" and given.get("interleaved_stages", 1) > 1:
        # Their commands recompute moe_act and layernorm; that of 4,096 tokens has A2A_OVERLAP=1.
        found |= {"recompute_activation_func": True, "recompute_layernorm": True}
        found["two_batch_overlap"] = given["seq_len"] == 4096
    if "zoo" in group:
        # Their table has a column of dispatchers: an all-to-all with 32 stages, DeepEP and HybridEP elsewhere.
        found["dispatcher"] = "all_to_all" if given["pp_size"] == 32 else "fused"
    elif device == "H100" and given.get("model") == "Qwen3_30B_A3B":
        # Its recipe names HybridEP (scripts/performance/configs/qwen), those of larger models there an all-to-all.
        found["dispatcher"] = "fused"
    return found


def _tables() -> dict[str, Any]:
    """All sets as they stand beside the project."""
    files = [json.loads((WHOLE / f"{name}.json").read_text(encoding="utf-8")) for name in TABLES]
    return {name: each for file in files for name, each in file["sets"].items() if name in SETS}


@cache
def rows(whole: bool = False) -> tuple[Row, ...]:
    """Rows of the sample, or all."""
    if whole:
        tables = {name: (each["common_arguments"], each["rows"]) for name, each in _tables().items()}
    else:
        tables = {name: (each["common"], each["rows"]) for name, each in SAMPLE["sets"].items()}
    return tuple(
        Row(group, case, device, seconds, (_asked(group, device, {**common, **given}),), _stack(group, case, device))
        for group in SETS
        for common, own in [tables[group]]
        for case, device, seconds, given in own
    )


@cache
def older() -> tuple[Row, ...]:
    """Rows of ``steps.json``, but two of expert parallelism that did not pay."""
    groups = {group for own, _ in OLDER.values() for group in own}
    return tuple(
        Row(row["group"], row["name"], row["dev"], published(row), tuple(arguments(row)), stack_of(row))
        for row in ROWS if row["group"] in groups
    )  # fmt: skip


def _hash(*words: Any) -> str:
    return hashlib.sha1("|".join(map(str, words)).encode()).hexdigest()


def drawn() -> dict[str, Any]:
    """The sample: rows of each set by their hash, of vTrain's nodes whole groups of five to eleven layouts."""
    found = {}
    for name, table in _tables().items():
        count = SETS[name][2]
        picked = sorted(table["rows"], key=lambda row, name=name: _hash(name, *row[:3]))[:count]
        if name == "vtrain_single":
            grouped = defaultdict(list)
            for row in table["rows"]:
                grouped[tuple(row[3][key] for key in SAME)].append(row)
            whole = [key for key, each in grouped.items() if 5 <= len(each) <= 11]
            picked = [row for key in sorted(whole, key=lambda key: _hash(name, *key))[:count] for row in grouped[key]]
        found[name] = {"source": table["source"], "common": table["common_arguments"], "rows": picked}
    return found


def write(**found: Any) -> None:
    """Write the sample with other parts, a line a row."""
    parts = {**SAMPLE, **found}
    sets = [
        f'  {json.dumps(name)}: {{"source": {json.dumps(each["source"])},\n   "common": {json.dumps(each["common"])},\n'
        '   "rows": [\n' + ",\n".join(f"    {json.dumps(row)}" for row in each["rows"]) + "]}"
        for name, each in parts.pop("sets").items()
    ]
    parts = {
        name: ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in part.items())
        for name, part in parts.items()
    }
    parts["sets"] = ",\n".join(sets)
    text = ",\n".join(f' "{name}": {{\n{part}}}' for name, part in parts.items())
    Path(__file__).with_suffix(".json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


#: What layouts of vTrain have in common within a group.
SAME = ("hidden_dim", "layers", "fleet_size", "batch_size")


def orders(whole: bool, group: str, **given: Any) -> list[float]:
    """Kendall's tau of our order of layouts within model, devices and batch, of four layouts and more."""
    grouped: dict[Any, list[Row]] = defaultdict(list)
    for row in rows(whole):
        if row.group == group:
            grouped[tuple(row.arguments.get(key) for key in SAME)].append(row)
    return [
        tau([row.seconds for row in each], [row.step(**given) for row in each])
        for each in grouped.values()
        if len(each) >= 4
    ]


def tau(some: Iterable[float], others: Iterable[float]) -> float:
    """Kendall's tau-b of two orders."""
    from scipy.stats import kendalltau

    return float(kendalltau([*some], [*others]).statistic)


@cache
def steps(whole: bool, by_stack: bool) -> list[float]:
    """Our steps of all rows in seconds."""
    return [row.step(by_stack) for row in rows(whole)]


@cache
def errors(family: str, whole: bool, by_stack: bool) -> tuple[float, ...]:
    """Our steps over those of a family, less one, by stacks or by defaults."""
    if family in OLDER:
        groups, experts = OLDER[family]
        own = [row for row in (SPARSE if experts else DENSE_ROWS) if row["group"] in groups]
        return tuple(ours(row, stack_of(row) if by_stack else "Generic") / published(row) - 1 for row in own)
    return tuple(
        step / row.seconds - 1 for row, step in zip(rows(whole), steps(whole, by_stack), strict=True)
        if SETS[row.group][0] == family
    )  # fmt: skip


#: Largest medians by stacks: of dense models, of experts, of vTrain, on TPUs; and by defaults.
DENSE, EXPERTS, VTRAIN, TPUS, DEFAULTS = 0.05, 0.06, 0.09, 0.04, 0.11
ALLOWED = {
    family: VTRAIN if family.startswith("vTrain")
    else TPUS if family.startswith("MaxText")
    else EXPERTS if any(word in family for word in ("experts", "GPT-OSS", "Zoo"))
    else DENSE
    for family in FAMILIES
}  # fmt: skip
POWER = (
    "Google prints no power, so that the default share of 0.6 is theirs (0.8 would leave 8%); by the energy of GPUs "
    "and the power that was measured v4 has 0.68, and 0.83 in fact"
)
PACKED = "documents of 256 tokens are assumed in its packed sequences (SQuAD); no mean is printed"
NARROW = (
    "experts of GPT-OSS on Blackwell would fit at 0.4 to 0.5 of dense products; a width of 2,880 and clamped gates "
    "are not counted, and one container takes 1.6 times as long as the others of its layout"
)
BETWEEN = "its software stands between the two ages that stacks were calibrated on"
BLOCKING = (
    "every launch waits for the device (CUDA_LAUNCH_BLOCKING=1, 7% where both ran), the PCI-Express of its nodes was "
    "repaired a day later (1 to 5%), and the rest of some 10 ms a layer and micro-batch is not explained"
)
BALANCED = "dropless rows are asked with balanced routing, and their imbalance is not printed"
AGE = "its software is a year older than the stack of its successor, which is the only one"
SMALL = "its small models are bound by what is not counted: on A100 unfused attention, on H100 nothing that was found"
RING = "ring attention over four and eight ranks is up to a fifth slower; H100 of 500 W with kernels of other ages"
SLOW = "experts on TPU7x reach more than the half that DeepSeek-V3 has on v5p"
FABRIC = (
    "ZeRO-3 over slow ports waits longer than its bytes; the stack of DeepSpeed of 2021 would be three times too slow"
)
GRAPHS_LATE = "graphs of whole iterations and fused experts are no default"
LAYOUT = "an FSDP layout with full recomputation and six exchanges, and defaults that hide half as much"
ONE_EXPERT = "a token has one expert, whose products are as fast as dense ones; the stack has the half of eight"
#: Why a family is further off than allowed: by its stacks, and by defaults.
CAUSES = {
    "Megatron-Bridge 26, GPT-OSS": NARROW, "Megatron-MoE-ModelZoo, GB200 and GB300": BETWEEN,
    "BLOOM's prequel": BLOCKING,
    "Megatron-MoE-ModelZoo, long sequences on H100": BALANCED, "NeMo 24.07, pre-training": AGE,
    "NeMo 24.07, tuning": PACKED, "PAX and MaxText on GPUs": SMALL, "torchtitan": RING,
    "MaxText on TPU7x, experts": SLOW,
    "MaxText, logs, experts": ONE_EXPERT, "An 80B model with ZeRO-3": FABRIC,
}  # fmt: skip
CAUSES_OF_DEFAULTS = CAUSES | {
    **{family: POWER for family in FAMILIES if family.startswith("MaxText")},
    "Megatron-Bridge 26.06 and 26.08, experts": GRAPHS_LATE, "Megatron-MoE-ModelZoo, layouts on H100": LAYOUT,
}  # fmt: skip
#: A row by its stack may be so far off; beyond it the reason is said.
FURTHEST = 0.2
IMAGES = "two containers of one layout are 1.8 times apart"
TRACE = "one container of this layout is a third faster than the others of its table"
NODES_OF_EIGHT = "exchanges of 32 ranks over nodes of eight"
MANY = "384 experts, the most of its edition; not explained"
EDITION = "an edition with graphs of whole iterations on a device that its stack was not calibrated on"
HELD_UP = "four and eight tensor-parallel ranks of one host are slower by up to a quarter, which is not in the law"


def why(row: Row) -> str:
    """Reason of a row that is further off; empty where none is known."""
    if row.model == "Qwen3_30B_A3B" and row.device == "H100":
        return IMAGES
    if row.model == "Qwen3_30B_A3B" and row.device == "B300":
        return EDITION
    if row.model == "DeepSeek_V3" and row.device == "B200" and row.arguments["ep_size"] == 32:
        return NODES_OF_EIGHT
    if row.model == "Kimi_K2":
        return MANY
    if row.model == "Llama4_Scout":
        return ONE_EXPERT
    if row.group == "bridge dense" and row.device == "GB300":
        return TRACE
    if row.group == "moe zoo layouts" and row.arguments["zero_stage"] == 3:
        return LAYOUT
    if row.group == "vtrain_single" and row.arguments["tp_size"] >= 4:
        return HELD_UP
    return CAUSES.get(SETS[row.group][0], "")


@cache
def left_out(software: str, experts: bool) -> list[float]:
    """Errors of steps by stacks of a software that were calibrated without their model on their device.

    Rows that no value was found on count as they are.
    """
    own = [row for row in counted() if row.stack.startswith(software) and row.experts == experts]
    return [row.step(**row.without) / row.seconds - 1 for row in own]


def by_default(experts: bool, tpus: bool) -> list[float]:
    """Errors of steps by library defaults, on TPUs or on GPUs"""
    own = [row for row in counted() if row.experts == experts and row.stack.startswith("MaxText") == tpus]
    return [row.step(by_stack=False) / row.seconds - 1 for row in own]


@cache
def counted() -> list[Row]:
    """All rows of full training, of vTrain's nodes those of the sample."""
    drawn_rows = rows(False)
    return [
        row for row in (*older(), *rows(True))
        if "finetuning" not in row.arguments and (row.group != "vtrain_single" or row in drawn_rows)
    ]  # fmt: skip


def checks(whole: bool) -> list[Check]:
    """Every row of the sample, or of all rows those that are further off; both with what defaults give."""
    found = []
    for row, step, default in zip(rows(whole), steps(whole, True), steps(whole, False), strict=True):
        far = abs(step / row.seconds - 1) > FURTHEST
        if not whole or (far and not row.group.startswith("vtrain")):
            what = f"{SETS[row.group][0]}, {row.device}: {' '.join(row.case.split())}"
            found.append(Check(what, row.seconds, step, FURTHEST, "s", default, why(row) if far else ""))
    return found


def spreads(whole: bool) -> list[Spread]:
    """Errors by family, with stacks and with defaults, and of kinds of families together."""
    found = []

    def add(what: str, families: Iterable[str], by_stack: bool, allowed: float, cause: str = "") -> None:
        own = [error for family in families for error in errors(family, whole, by_stack)]
        far = spread(own)[0] > allowed
        found.append(Spread(what, own, allowed, missed=cause if far else ""))

    apart = [family for family in FAMILIES if family != "vTrain, up to eight A100"]
    dense = [family for family in apart if ALLOWED[family] in (DENSE, TPUS) and "experts" not in family]
    bridge = [family for family in FAMILIES if family.startswith("Megatron-Bridge") and "experts" in family]
    add("Dense, with stacks", dense, True, DENSE)
    add("Experts of Megatron-Bridge, with stacks", bridge, True, EXPERTS)
    add("MaxText, with stacks", [family for family in FAMILIES if family.startswith("MaxText")], True, TPUS)
    add("All, with defaults", FAMILIES, False, DEFAULTS)
    add("All but vTrain's nodes, with defaults", apart, False, DEFAULTS)
    add("Dense, with defaults", dense, False, DEFAULTS)
    for family in FAMILIES:
        add(f"{family}: stack", [family], True, ALLOWED[family], CAUSES.get(family, ""))
        add(f"{family}: defaults", [family], False, DEFAULTS, CAUSES_OF_DEFAULTS.get(family, ""))
    for ranks in (1, 2, 4, 8):
        own = [
            step / row.seconds - 1 for row, step in zip(rows(whole), steps(whole, True), strict=True)
            if row.group == "vtrain_single" and row.arguments["tp_size"] == ranks
        ]  # fmt: skip
        if own:
            slow = spread(own)[0] > VTRAIN
            found.append(Spread(f"vTrain, {ranks} tensor-parallel: stack", own, VTRAIN, missed=HELD_UP if slow else ""))
    return found


def worse() -> list[str]:
    """Families whose median by stacks is larger than by the laws before."""
    return [
        family for family in FAMILIES
        if spread(errors(family, True, True))[0] > SAMPLE["before"][family]["stack"][0] + 1e-4
    ]  # fmt: skip


#: Software whose stacks many rows say together: name, first letters of its stacks, and whether its experts.
SOFTWARE = (
    ("Megatron-Bridge, dense", "Megatron_Bridge", False), ("Megatron-Bridge, experts", "Megatron_Bridge", True),
    ("MaxText, dense", "MaxText", False), ("MaxText, experts", "MaxText", True), ("LLM Foundry", "MPT", False),
    ("torchtitan", "torchtitan_", False), ("PAX", "PAX", False), ("Megatron-LM on A100", "Megatron_LM_A100", False),
)  # fmt: skip


def compared() -> str:
    """Medians and worst errors before and now, by family, and what got worse."""
    lines = [
        ASKED + "Here all rows that were shown; below the errors stand the rows that are more than a fifth off, "
        "without vTrain's. By family what the laws before gave (one share of products for all "
        "devices; with the stack that they had, or their defaults), and what these give: median and worst error of a "
        "step, before without the rows that a stack was calibrated on.",
        "",
        "| Family | Rows | Stack before | Stack now | Defaults before | Defaults now |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for family in FAMILIES:
        was = SAMPLE["before"][family]
        now = {by: spread(errors(family, True, by == "stack")) for by in was}
        cells = [
            f"{100 * middle:.1f}%, {100 * last:.0f}%"
            for by in ("stack", "defaults")
            for middle, last in (was[by], (now[by][0], now[by][2]))
        ]
        lines.append(f"| {family} | {len(errors(family, True, True))} | {' | '.join(cells)} |")
    lines += ["", "Further off by its stacks than before:", ""]
    lines += [f"- {family}: {CAUSES[family]}." for family in worse()]
    lines += ["", "With the model of a row on its device left out of the calibration of its stack:", ""]
    for name, software, experts in SOFTWARE:
        middle, tail, last = spread(left_out(software, experts))
        lines.append(
            f"- {name}: {len(left_out(software, experts))} rows, median {middle:.1%}, 90th percentile {tail:.1%}, "
            f"worst {last:.0%}."
        )
    single, many = orders(True, "vtrain_single"), orders(True, "vtrain_multi")
    typed = spread(row.step(pipeline_split="balanced") / row.seconds - 1 for row in rows(True) if "single" in row.group)
    lines += [
        "",
        f"Kendall's tau of our order of layouts: {np.mean(single):.2f} in the mean of {len(single)} groups of vTrain "
        f"with one model, devices and batch, {np.mean(many):.2f} on its 512 devices, "
        f"{orders(True, 'moe zoo layouts')[0]:.2f} of five layouts of Qwen3-235B. vTrain's layers are cut evenly, as "
        'its configurations ask for and Megatron does it; `pipeline_split="balanced"` would be '
        f"{100 * typed[0]:.1f}% off in the median.",
    ]
    return "\n".join(lines)


ASKED = (
    "Every row is asked by the arguments of its run and the `stack` of its software on its device, which is never that "
    "of a set of rows (`tests/validation/training_steps.py`); beside it stands what library defaults give. Families of "
    "older rows, whose tables stand above, are counted whole. "
)
SOURCE = (
    "VIA-Research/vTrain f8dda84, NVIDIA-NeMo/Megatron-Bridge 067f987, AI-Hypercomputer/maxtext e591f30 and "
    "tpu-recipes c8cfe2f, mlcommons/training_results_v5.0 0fdc28f, NVIDIA/NeMo 8e3d65d, NVIDIA/JAX-Toolbox ecacd5b, "
    "bigscience-workshop/bigscience 9e64ede, yanring/Megatron-MoE-ModelZoo e865051"
)
GROUPS = tuple(
    Group(
        f"steps{'_whole' if whole else ''}",
        f"Steps: frameworks of 2021 to 2026, {'all rows' if whole else 'a sample'}",
        compared if whole else f"{ASKED}Here a sample, drawn by a hash; a row may be a fifth off.",
        SOURCE,
        partial(checks, whole),
        spreads=partial(spreads, whole),
        beside="Defaults",
        long=whole,
        beside_project=whole,
    )
    for whole in (False, True)
)
