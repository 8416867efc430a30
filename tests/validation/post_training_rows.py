"""Published steps of post-training as calls that a user can repeat: ``PostTrainingModel(...).solve(...)``."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mlsysim import PostTrainingModel

#: A sample of the rows, drawn by a fixed hash; the whole stands beside the project where it is developed.
SAMPLE: dict[str, Any] = json.loads(Path(__file__).with_name("post_training.json").read_text(encoding="utf-8"))
WHOLE = Path(__file__).parents[3] / "shared" / "validation" / "data" / "post_training_rows.json"

#: The model's variant of each schedule of the tables, and its age bound in steps where it has one.
SCHEDULES: dict[str, tuple[str, int]] = {
    "colocated": ("colocated", 0),
    "1off": ("one_step_off", 1),
    "8off": ("fully_asynchronous", 8),
}
#: Where a row ran. A tray of GB200 has four devices, which NVLink joins with those of the other trays.
PLACES: dict[str, dict[str, Any]] = {
    "H100": {"fleet": "SuperPOD_H100"},
    "GB200": {"fleet": "SuperPOD_GB200", "accelerators_per_node": 64},
}
ENGINES = {"H100": "vLLM_2026_Hopper", "GB200": "vLLM_2026_Blackwell"}
#: Entries of the catalog by what updates the weights, and the device.
STACKS = {
    ("Megatron", "H100"): "NeMo_RL_H100",
    ("Megatron", "GB200"): "NeMo_RL_GB200",
    ("DTensor", "H100"): "NeMo_RL_DTensor_H100",
}
#: Share of the memory that recipes leave to the engine (examples/configs of NeMo-RL).
UTILIZATION = {"colocated": 0.6, "1off": 0.8, "8off": 0.8}
#: Variants by schedules whose printed rollout is the whole of it, and not what a trainer waits.
PHASED = {"colocated": "colocated", "disaggregated": "disaggregated", "1off": "one_step_off"}
PHASES = {"gen": "rollout_time", "train": "update_time", "logprob": "logprob_time", "refit": "sync_time"}
#: Responses to a prompt; only the samples of a step count.
GROUP = 32


@dataclass(frozen=True)
class Row:
    """A published step.

    Attributes
    ----------
    case : str
        Its version, device, model, schedule and devices.
    source : str
        Who published it.
    row : dict
        The numbers as they stand.
    """

    case: str
    source: str
    row: dict[str, Any]

    @property
    def model(self) -> str:
        """Catalog key of the trained model."""
        return self.row["model"]

    @property
    def schedule(self) -> str:
        """Name of its schedule in the tables."""
        return self.row["schedule"]

    @property
    def variant(self) -> str:
        """The model's variant."""
        return SCHEDULES[self.schedule][0]

    @property
    def stack(self) -> str:
        """Catalog key of its software on its device."""
        return STACKS[self.row["trainer"], self.row["device"]]

    @property
    def seconds(self) -> float:
        """The step."""
        return self.row["step"]

    @property
    def phases(self) -> dict[str, float]:
        """Outputs of the model that the row has seconds of."""
        return {output: self.row[key] for key, output in PHASES.items() if self.row[key]}

    @property
    def without(self) -> dict[str, float]:
        """Values of its stack that were found without its model, of those that its variant has."""
        unused = ("sync_bandwidth",) if self.schedule == "colocated" else ("refit_time", "refit_bandwidth")
        found = SAMPLE["without"].get(f"{self.model} by {self.stack}", {})
        return {name: value for name, value in found.items() if name not in unused}

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of ``PostTrainingModel.solve``."""
        row, apart = self.row, self.schedule != "colocated"
        prompt = row["mean_total"] - row["mean_response"]
        given = {
            "model": self.model, **PLACES[row["device"]], "stack": self.stack, "rollout_stack": ENGINES[row["device"]],
            "precision": row["precision"], "rollout_precision": "w8a8" if row["precision"] == "fp8" else "bf16",
            "num_prompts": row["rollout_batch"] // GROUP, "num_generations": GROUP,
            "prompt_len": prompt, "mean_response_length": row["mean_response"],
            "max_response_length": row["max_total_length"] - prompt, "pack_length": row["max_total_length"],
            "optimizer_steps": row["rollout_batch"] // row["train_batch"], "logprob_passes": row["logprob_passes"],
            "fleet_size": row["gen_gpus"] + row["train_gpus"] if apart else row["gpus"],
            "rollout_tp_size": row["gen_tp"], "gpu_memory_utilization": UTILIZATION[self.schedule],
            "tp_size": row["tp"], "cp_size": row["cp"], "pp_size": row["pp"], "ep_size": row["ep"],
            "etp_size": 1 if row["ep"] > 1 else 0, "sequence_parallel": row["tp"] > 1,
            "zero_stage": 1 if row["trainer"] == "Megatron" else 3, "gradient_dtype": "bf16",
            "activation_checkpointing": "full" if row["recompute"] else "none",
        }  # fmt: skip
        if apart:
            given["rollout_accelerators"] = row["gen_gpus"]
        if self.variant == "fully_asynchronous":
            given["staleness"] = SCHEDULES[self.schedule][1]
        if row["pp"] > 1:
            given["pipeline_split"] = "balanced"
        return given

    def solve(self, **given: Any) -> Any:
        """Ours, with other values where they are given."""
        return _model(self.variant).solve(**{**self.arguments, **given})


@cache
def _model(variant: str) -> PostTrainingModel:
    return PostTrainingModel(variant)


def _rows(rows: list[dict[str, Any]]) -> tuple[Row, ...]:
    return tuple(Row(_case(row), row["source"], row) for row in rows)


def _case(row: dict[str, Any]) -> str:
    """Words that tell a row from the others."""
    version = row["key"].split("|")[1]
    pools = f"{row['gen_gpus']}" if row["schedule"] == "colocated" else f"{row['gen_gpus']}+{row['train_gpus']}"
    trainer = "" if row["trainer"] == "Megatron" else f", {row['trainer']}"
    lengths = "" if row["max_total_length"] < 16_000 else ", 16k"
    fp8 = ", fp8" if row["precision"] == "fp8" else ""
    return f"{version} {row['model']}, {pools} {row['device']}, {row['schedule']}{fp8}{trainer}{lengths}"


@cache
def rows(whole: bool = False) -> tuple[Row, ...]:
    """Rows of the sample, or all that can be asked."""
    return _rows(_usable() if whole else SAMPLE["rows"])


@cache
def _table() -> dict[str, Any]:
    return json.loads(WHOLE.read_text(encoding="utf-8"))


def _usable() -> list[dict[str, Any]]:
    return [row for row in _table()["rows"] if row.get("usable")]


#: Catalog keys of models whose weights were sent, by the first word of their case.
SENT = {
    "Qwen2.5-Math-7B": "Qwen2_5_7B", "Qwen2.5-7B": "Qwen2_5_7B", "Qwen3-30B-A3B": "Qwen3_30B_A3B",
    "Qwen3-235B-A22B": "Qwen3_235B_A22B", "nemo|v0.3|8B": "Llama3_1_8B", "nemo|rerun|8B": "Llama3_1_8B",
    "nemo|v0.3|70B": "Llama3_1_70B", "nemo|rerun|70B": "Llama3_1_70B", "nemo|v0.3|Qwen3-32B": "Qwen3_32B",
    "nemo|v0.3|Qwen3-30B-A3B": "Qwen3_30B_A3B",
}  # fmt: skip


def syncs(whole: bool = False) -> list[dict[str, Any]]:
    """Exchanges of weights, of the sample or all."""
    return _table()["weight_sync"] if whole else SAMPLE["syncs"]


def phased(whole: bool = False) -> list[dict[str, Any]]:
    """Steps with seconds of their phases, also where lengths or layouts are not printed."""
    rows = _table()["rows"] if whole else [*SAMPLE["phases"], *SAMPLE["rows"]]
    return [row for row in rows if row.get("gen") and row.get("train") and row["schedule"] in PHASED]


def drawn_phases() -> list[dict[str, Any]]:
    """Fields that the sample keeps of steps whose phases cannot be asked."""
    own = [row for row in phased(True) if not row.get("usable")]
    kept = ("source", "key", "schedule", "step", "gen", "logprob", "ref", "train", "refit", "wait")
    return [{key: row[key] for key in kept if row.get(key)} for row in own]


def lengths(whole: bool = False) -> list[dict[str, Any]]:
    """Logged lengths of responses whose cap cut a known share."""
    return [row for row in (_table()["lengths"] if whole else SAMPLE["lengths"]) if row["cap"] and row.get("cut")]


def sent_model(row: dict[str, Any]) -> str:
    """Catalog key of the model of an exchange; empty where the catalog has none."""
    return next((key for case, key in SENT.items() if row["model"].startswith(case)), "")


#: What the sample keeps of a row.
KEPT = (
    "source", "key", "model", "device", "gpus", "gen_gpus", "train_gpus", "schedule", "max_total_length",
    "mean_response", "mean_total", "rollout_batch", "train_batch", "gen_tp", "tp", "cp", "ep", "pp", "precision",
    "step", "gen", "logprob", "train", "refit", "logprob_passes", "trainer", "recompute",
)  # fmt: skip


def drawn() -> list[dict[str, Any]]:
    """The sample: of each model, device, schedule and trainer a row by its hash, and those with phases."""
    kinds: dict[Any, list[dict[str, Any]]] = {}
    for row in _usable():
        kinds.setdefault((row["model"], row["device"], row["schedule"], row["trainer"]), []).append(row)
    picked = [min(each, key=lambda row: hashlib.sha1(row["key"].encode()).hexdigest()) for each in kinds.values()]
    picked += [row for row in _usable() if row["gen"] and row not in picked]
    return [{key: row[key] for key in KEPT} for row in picked]


#: Parts of the sample that are lists of rows.
LISTS = ("rows", "phases", "syncs", "lengths")


def write(**found: Any) -> None:
    """Write the sample with other parts, a line a row."""
    parts = {**SAMPLE, **found}
    lines = {name: ",\n".join(f"  {json.dumps(row)}" for row in parts[name]) for name in LISTS}
    without = ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in parts["without"].items())
    text = ",\n".join([*(f' "{name}": [\n{part}]' for name, part in lines.items()), f' "without": {{\n{without}}}'])
    Path(__file__).with_name("post_training.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
