"""Training memory against ZeRO's tables, Korthikanti's figure and the tutorial, at their own tolerances.

A miss stays visible: it is expected to fail, and says why.
"""

import math

import pytest

from mlsysim.engine import compiled
from mlsysim.models import TrainingMemoryModel
from mlsysim.symbolic import variable_of

STAGES = {"os": 1, "os_g": 2, "os_g_p": 3}

#: Mixed-precision Adam on one model replica per rank; the rest is set per case.
INPUTS = {
    "precision": "fp16", "optimizer": "adam", "activation_checkpointing": "selective", "zero_stage": 0,
    "parameters": 1.0, "layers": 1, "hidden_dim": 1, "batch_size": 1, "seq_len": 1, "dp_size": 1, "tp_size": 1,
    "pp_size": 1, "ep_size": 1, "gradient_accumulation_steps": 1, "trainable_fraction": 1.0,
    "communication_buffer_fraction": 0.05, "memory_capacity": 32e9,
}  # fmt: skip


def solve(**inputs):
    """Canonical outputs."""
    function = compiled(TrainingMemoryModel().system)
    given = {**INPUTS, **inputs}
    coded = {k: float(variable_of(k).code(v)) if isinstance(v, str) else float(v) for k, v in given.items()}
    return function(coded)


def states(**inputs):
    """Weights, gradients and optimizer state together."""
    found = solve(**inputs)
    return found["weights"] + found["gradients"] + found["optimizer_state"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("size", ["7.5B", "128B", "1T"])
def test_zero_table_1(case, size, stage):
    """Per-device memory of model states: 1.5 %, 2.4 % on cells below 1 GB, which are truncated in print."""
    table = case("zero_table1")
    for ranks, printed in zip(table["config"]["DP"], table["measured"][size][stage], strict=True):
        found = states(parameters=table["measured"][size]["psi"], dp_size=ranks, zero_stage=STAGES[stage]) / 1e9
        assert found == pytest.approx(printed, rel=0.024 if printed < 1 else 0.015), f"{ranks} ranks"


IN_TRILLIONS = pytest.mark.xfail(
    reason="0.5T, 1T and 2T stand for 512B, 1.024T and 2.048T, as the 128B and 256B above show: 2.3 % by rounding",
    strict=True,
)
TABLE_2 = [
    pytest.param(row, stage, marks=IN_TRILLIONS if stage == "os_g_p" and row >= 2 else (), id=f"mp{2**row}-{stage}")
    for row in range(5)
    for stage in ("base", *STAGES)
]


@pytest.mark.parametrize(("row", "stage"), TABLE_2)
def test_zero_table_2_largest_model(case, row, stage):
    """The states of the largest model in theory fill 32 GB, to 1 %."""
    table = case("zero_table2_max_model")
    line = table["measured"][row]
    size = float(line[stage][:-1]) * {"B": 1e9, "T": 1e12}[line[stage][-1]]
    found = states(parameters=size, tp_size=line["mp"], dp_size=table["config"]["dp"], zero_stage=STAGES.get(stage, 0))
    assert found == pytest.approx(32e9, rel=0.01)


MODELS_KORTHIKANTI = ["22B", "175B", "530B", "1T"]


def selective(case, size):
    """First-order activations of one rank, and the figure's, both in GiB."""
    table = case("korthikanti_activation_memory")
    at = table["config"][size]
    interleaved = 1 + (at["p"] - 1) / (at["p"] * at["m"]) if at["m"] > 1 else 1
    # With 1F1B the first stage holds p micro-batches of L / p layers: as many as the whole model once.
    found = solve(
        layers=at["L"], hidden_dim=at["h"], seq_len=2048, batch_size=at["b"], activation_checkpointing="selective"
    )
    return found["activations"] * interleaved / 2**30, table["measured"]["fig1_GiB"][size]["seqsel"], at["t"]


@pytest.mark.xfail(
    reason="10 bytes for selective recomputation where Korthikanti et al. keep 34, and no division by the "
    "tensor-parallel ranks: the error the formula states",
    strict=True,
)
@pytest.mark.parametrize("size", MODELS_KORTHIKANTI)
def test_korthikanti_figure_1_selective(case, size):
    found, printed, _ = selective(case, size)
    assert found == pytest.approx(printed, rel=0.005)


@pytest.mark.parametrize("size", MODELS_KORTHIKANTI)
def test_the_error_of_the_first_order_form_is_the_one_it_states(case, size):
    """34 / 10 too low per rank that does not share, and t times too high where all share."""
    found, printed, ranks = selective(case, size)
    assert found * 3.4 / ranks == pytest.approx(printed, rel=0.005)


TUTORIAL = ["weights", "gradients", "optimizer", "activations", "buffers", "total"]
NAMES = {"optimizer": "optimizer_state", "buffers": "communication_buffers", "total": "total_memory"}
PRINTED_ROUNDING = pytest.mark.xfail(
    reason="0.05 x 2.0075 GB is 0.1004 GB; the 0.38 % is the rounding of the printed 0.100", strict=True
)


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=PRINTED_ROUNDING if part == "buffers" else ()) for part in TUTORIAL]
)
def test_tutorial_section_1(case, part):
    """Llama 3 8B on eight H100 with ZeRO-2, to 0.3 %."""
    table = case("seed_training_memory")
    at = table["config"]
    found = solve(
        parameters=8.03e9, layers=32, hidden_dim=4096, memory_capacity=80 * 2**30,
        batch_size=at["batch"], seq_len=at["seq"], dp_size=at["dp"], zero_stage=at["zero"],
    )  # fmt: skip
    assert found["feasible"]
    assert found[NAMES.get(part, part)] / 1e9 == pytest.approx(table["measured"][part], rel=0.003)
    assert not math.isnan(found["memory_utilization"])
