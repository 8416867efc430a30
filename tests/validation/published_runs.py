"""Runs that failed as publications tell of them, asked by catalog names: how often, what was useful, saves, spares."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

from validation.checks import Check, Group

from mlsysim import RunModel, units

#: All rows that can be asked; inputs, published numbers and what was read of their sources.
ROWS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("runs.json").read_text(encoding="utf-8"))
#: Where the project is developed, the cases that the rows were taken from.
CASES = Path(__file__).parents[3] / "shared" / "validation" / "data" / "goodput_cases.json"
SOURCES = "papers and reports as the rows cite them; Text says what of each was read"


@cache
def model(variant: str) -> RunModel:
    """One model per variant."""
    return RunModel(variant)


def ours(row: dict[str, Any]) -> float:
    """The output of a row, in its unit."""
    found, output = model(row["variant"]).solve(**row["asked"]), row["output"]
    if output == "lost_per_failure":
        value = (found["rework_share"] + found["recovery_share"]) * found.canonical("mean_time_between_interruptions")
    else:
        value = found.canonical(output)
    return units.from_canonical(value, row["unit"])


def checks(group: str) -> list[Check]:
    """The rows of a group."""
    return [
        Check(
            f"{row['what']} ({row['source']})", row["theirs"], ours(row), row["tolerance"], row["unit"],
            missed=row.get("missed", ""), solved=row.get("solved_for", False), bound=row.get("bound", ""),
            read=row["text"], assumed=row.get("assumed", ""),
        )
        for row in ROWS if row["group"] == group
    ]  # fmt: skip


GROUPS = (
    Group(
        "runs_rates", "Runs: how often they fail",
        "Wall time between interruptions by the rates of the catalog (`Systems.Failures`). Meta's projections are its "
        "own arithmetic on the rate and check the convention. A rate counts certain causes; measured jobs also fail "
        "for others.",
        SOURCES, partial(checks, "rates"),
    ),
    Group(
        "runs_ettr", "Runs: the useful share of time",
        "ETTR by `RunModel`, with the failures of the catalog and the intervals, saves and recoveries that are "
        "published. Assumptions about missing inputs are listed. Bounds and rows whose inputs were solved from their "
        "output are left out of the errors. FT-HSDP's 0.44 holds if its 18 minutes are wall-clock time. "
        "Not testable, since inputs are unpublished: Gemini's 97%, C4's 31.19% to 1.16%, AWS's 95%, OLMo Hybrid's 97%.",
        SOURCES, partial(checks, "ettr"),
    ),
    Group(
        "runs_saves", "Runs: saves",
        "Throughput of runs that save at each step, by the stall and the step of ByteRobust's table 8, of which the "
        "row of Megatron gives the step; bytes and times of saves. Bytes over PCIe alone do not give a stall: "
        "`save_barrier` is the rest.",
        SOURCES, partial(checks, "saves"),
    ),
    Group(
        "runs_spares", "Runs: spares",
        "Spare nodes that cover the failures of one repair with 99%. ByteRobust's machines fail with one probability "
        "in a repair, which was solved for.",
        SOURCES, partial(checks, "spares"),
    ),
)  # fmt: skip
