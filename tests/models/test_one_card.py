"""One card: every device of the catalog answers, and links that nothing crosses are not asked for."""

import pytest

from mlsysim import DistributedModel, EconomicsModel, IterationModel, ServingModel, TrainingMemoryModel
from mlsysim.catalog import Accelerator, builtin
from mlsysim.errors import InputError, MissingInputError

DEVICES = {path: builtin().entry(path) for path in builtin().paths() if path.startswith("Hardware.")}
MODEL = "Qwen3_0_6B"
QUESTIONS = {
    "memory": (TrainingMemoryModel, {"batch_size": 1, "seq_len": 512, "precision": "bf16"}),
    "serve": (ServingModel, {"isl": 512, "osl": 64, "request_rate": 0.1, "precision": "bf16"}),
    "train": (DistributedModel, {"batch_size": 1, "seq_len": 512, "fleet_size": 1, "precision": "bf16"}),
}
#: A device without links and without a fabric.
BARE = Accelerator(
    name="Bare", memory_capacity="24 GB", memory_bandwidth="300 GB/s", peak_flops={"bf16": "100 TFLOP/s"}
)


def _asked(question, device, **more):
    kind, arguments = QUESTIONS[question]
    return kind.asked().solve(MODEL, device, **{**arguments, **more})


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("path", DEVICES)
def test_every_device_answers_on_one_card_or_says_which_format_it_lacks(path, question):
    device = DEVICES[path]
    if "bf16" in device.peak_flops:
        assert _asked(question, device)
        return
    if question != "memory":
        with pytest.raises(InputError, match=rf"precision='bf16': {device.name} has no rate for it, only for"):
            _asked(question, device)
    assert _asked(question, device, precision="fp16")


@pytest.mark.parametrize("device", ["RTX_4090", "A30"])
def test_the_number_of_cards_is_what_a_fleet_is_asked_for_first(device):
    """Also of a device that says how few its links join."""
    with pytest.raises(MissingInputError, match=r"needs fleet: .* one by one, as in fleet_size=\.\.\."):
        DistributedModel().solve(MODEL, hardware=device, batch_size=1)


@pytest.mark.parametrize("question", ["serve", "train"])
def test_no_answer_depends_on_links_of_one_card(question):
    without = _asked(question, BARE)
    links = {"node_bandwidth": "300 GB/s"}
    if question == "train":
        links |= {"fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us"}
    given = _asked(question, BARE, **links)
    answers = ["feasible", *(each for each in without if each.endswith(("time", "_p99", "_per_second", "memory")))]
    crossing = {"send_time"}  # of a hop to another stage, by which nothing is multiplied
    assert len(answers) > 15
    assert {name: without[name] for name in answers if name not in crossing} == {
        name: given[name] for name in answers if name not in crossing
    }


def test_a_fleet_within_a_node_needs_its_links_and_no_fabric():
    within = {"fleet_size": 4, "batch_size": 4, "zero_stage": 2}
    with pytest.raises(MissingInputError, match="node_bandwidth"):
        _asked("train", BARE, **within)
    alone = _asked("train", BARE, node_bandwidth="32 GB/s", **within)
    fabric = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "5 us"}
    assert alone.step_time == _asked("train", BARE, node_bandwidth="32 GB/s", **within, **fabric).step_time


def test_several_cards_still_ask_for_what_joins_them():
    assert _asked("serve", BARE, tp_size=1)
    with pytest.raises(InputError, match=r"tp_size=2: must be 1, as node_bandwidth is not given"):
        _asked("serve", BARE, tp_size=2)
    with pytest.raises(MissingInputError, match="fabric_bandwidth"):
        _asked("train", BARE, node_bandwidth="32 GB/s", fleet_size=16, batch_size=16)
    with pytest.raises(MissingInputError, match="node_bandwidth"):
        ServingModel().sweep(MODEL, BARE, tp_size=[1, 2], **QUESTIONS["serve"][1])


def test_iterations_and_prices_of_one_card_need_no_links():
    assert IterationModel().solve(MODEL, BARE, decode_requests=4, context_tokens=512).iteration_time
    priced = EconomicsModel("owned_training").solve(MODEL, BARE, price=1000, tdp=150, **QUESTIONS["train"][1])
    assert priced.total_cost


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("question", ["serve", "train"])
def test_devices_without_links_along_an_axis_are_those_asked_alone(question):
    kind, arguments = QUESTIONS[question]
    answer = {"serve": "ttft_mean", "train": "step_time"}[question]
    devices = ["RTX_4090", "M3_Ultra", "H100"]
    grid = kind.asked().sweep(model=MODEL, **arguments, hardware=devices)
    alone = [_asked(question, device)[answer].to(grid[answer].units).magnitude for device in devices]
    assert grid[answer].values.tolist() == pytest.approx(alone, rel=1e-12)
    wide = {"serve": {"tp_size": 2}, "train": {"fleet_size": 2, "batch_size": 2}}[question]
    with pytest.raises(MissingInputError, match="node_bandwidth: Apple M3 Ultra, 80 GPU cores has no value"):
        kind.asked().sweep(model=MODEL, **{**arguments, **wide}, hardware=["M3_Ultra", "M4_Max"])
