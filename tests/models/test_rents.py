"""Rents of the catalog: named and dated, never a default, and what is cheapest by them."""

import pytest

from mlsysim import EconomicsModel, ServingModel, Systems, linked
from mlsysim.catalog import Rent
from mlsysim.errors import InputError, MlsysimError

RUN = {
    "model": "Llama3_8B", "fleet_size": 8, "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "batch_size": 128,
    "gradient_accumulation_steps": 16, "zero_stage": 3, "activation_checkpointing": "full", "seq_len": 4096,
    "precision": "bf16", "training_tokens": 1e9,
}  # fmt: skip
RENTS = {name: Systems.Rents[name] for name in Systems.Rents}
#: Rents of devices that have what the run needs.
FITTING = [name for name, rent in RENTS.items() if rent.accelerator.value_of("tdp", "bf16") is not None]
MODEL = EconomicsModel("rented_training")


@pytest.mark.parametrize("rent", RENTS.values(), ids=RENTS)
class TestEveryRent:
    def test_is_a_price_an_hour_with_a_day(self, rent):
        assert isinstance(rent, Rent)
        assert 0.1 < rent.price.value < 20
        assert rent.price.unit == "USD/hour"
        assert rent.price.date >= "2025-01"
        assert rent.price.note

    def test_names_its_device(self, rent):
        assert rent.key.endswith(rent.accelerator.key)


def test_there_is_no_default():
    with pytest.raises(MlsysimError, match="rental_price"):
        MODEL.solve(**RUN, hardware="H100")


def test_a_rent_gives_the_price():
    named = MODEL.solve(**RUN, hardware="H100", rent="RunPod_H100")
    given = MODEL.solve(**RUN, hardware="H100", rental_price=3.348)
    assert named.canonical("total_cost") == given.canonical("total_cost")
    assert "RunPod" in str(named.explain("total_cost")) or "docs.runpod.io" in str(named.explain("total_cost"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"hardware": "H100", "rent": "RunPod_A100"},
            "must be of H100; RunPod_A100 is of A100; of H100 the catalog has R",
        ),
        ({"fleet": "SuperPOD_H100", "rent": "RunPod_A100"}, "must be of H100; "),
        ({"hardware": ["H100", "H200"], "rent": "RunPod_H100"}, "must be of H200; "),
        ({"hardware": "H100", "rent": ["RunPod_H100", "RunPod_A100"]}, "must be of H100; RunPod_A100 is of A100; "),
        ({"hardware": ["H100", "GB200"], "rent": ["RunPod_H100", "RunPod_A100"]}, "the catalog has none of GB200"),
        (
            {"offer": linked(hardware=["H100", "A100"], rent=["RunPod_A100", "RunPod_H100"])},
            "must be of H100; RunPod_A100 is of A100; ",
        ),
    ],
)
def test_a_rent_of_another_device_is_refused(given, said):
    run = {name: value for name, value in RUN.items() if "fleet" not in given or not name.startswith("f")}
    with pytest.raises(InputError, match=said) as caught:
        MODEL.sweep(**run, **given, outputs=["total_cost"])
    assert str(caught.value).startswith("rent=")


def test_so_it_is_of_a_deployment_and_of_a_device_of_ones_own():
    served = {"model": "Llama3_1_8B", "precision": "bf16", "isl": 512, "osl": 64, "request_rate": 2}
    with pytest.raises(InputError, match="must be of A100; RunPod_H100 is of H100"):
        ServingModel("colocated").solve(**served, hardware="A100", rent="RunPod_H100")
    mine = Systems.Rents.RunPod_H100.accelerator.changed(name="Mine")
    with pytest.raises(InputError, match=r"must be of Mine; .* the catalog has none of Mine"):
        MODEL.solve(**RUN, hardware=mine, rent="RunPod_H100")
    rent = Systems.Rents.RunPod_H100.changed(accelerator=mine)
    assert MODEL.solve(**RUN, hardware=mine, rent=rent).total_cost.magnitude > 0


def test_each_of_several_devices_takes_its_own_rent():
    devices, rents = ["H100", "H200", "MI300X"], ["Hot_Aisle_MI300X", "RunPod_H200", "RunPod_L4", "RunPod_H100"]
    grid = MODEL.sweep(**RUN, hardware=devices, rent=rents, outputs=["total_cost"])
    assert grid.total_cost.dims == ("hardware",)
    assert grid.rent.values.tolist() == ["RunPod_H100", "RunPod_H200", "Hot_Aisle_MI300X"]
    alone = [
        MODEL.solve(**RUN, hardware=device, rent=rent) for device, rent in zip(devices, grid.rent.values, strict=True)
    ]
    assert grid.total_cost.values.tolist() == [each.total_cost.magnitude for each in alone]
    found = MODEL.search(**RUN, hardware=devices, rent=rents, minimize="total_cost", subject_to="feasible")
    assert found.best.total_cost == min(each.total_cost for each in alone)
    assert found.best.to_dict()["entries"]["rent"] == "Hot Aisle, eight MI300X"


def test_two_rents_of_one_device_are_told_apart():
    other = Systems.Rents.RunPod_H100.changed(name="Other", price=2)
    with pytest.raises(InputError, match=r"are several of H100; give one, or pairs by linked\(...\)"):
        MODEL.sweep(**RUN, hardware=["H100", "H200"], rent=["RunPod_H100", other, "RunPod_H200"])


def test_a_keyword_overrides_it():
    found = MODEL.solve(**RUN, hardware="H100", rent="RunPod_H100", rental_price=1)
    assert found.canonical("total_cost") == MODEL.solve(**RUN, hardware="H100", rental_price=1).canonical("total_cost")


def test_who_buys_takes_no_rent():
    with pytest.raises(MlsysimError, match="the variant owned_training does not use it"):
        EconomicsModel("owned_training").solve(**RUN, hardware="H100", price=30_000, rent="RunPod_H100")


def test_the_cheapest_of_all_pairs_is_found():
    """Every device with a rent, against each solved by itself."""
    devices = [RENTS[name].accelerator.key for name in FITTING]
    run = {**RUN, "precision": "fp16"}
    found = MODEL.search(
        **run, offer=linked(hardware=devices, rent=FITTING), subject_to="feasible", minimize="total_cost"
    )
    costs = {}
    for name, device in zip(FITTING, devices, strict=True):
        one = MODEL.solve(**run, hardware=device, rent=name)
        if one.feasible:
            costs[name] = one.canonical("total_cost")
    assert len(costs) > 4
    cheapest = min(costs, key=costs.__getitem__)
    assert found.best.canonical("total_cost") == pytest.approx(costs[cheapest], rel=1e-12)
    assert found.best.to_dict()["entries"]["rent"] == RENTS[cheapest].name
