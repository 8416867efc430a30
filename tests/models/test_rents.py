"""Rents of the catalog: named and dated, never a default, and what is cheapest by them."""

import pytest

from mlsysim import EconomicsModel, Systems, linked
from mlsysim.catalog import Rent
from mlsysim.errors import MlsysimError

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


def test_a_keyword_overrides_it():
    found = MODEL.solve(**RUN, hardware="H100", rent="RunPod_H100", rental_price=1)
    assert found.canonical("total_cost") == MODEL.solve(**RUN, hardware="H100", rental_price=1).canonical("total_cost")


def test_who_buys_takes_no_rent():
    with pytest.raises(MlsysimError, match="the variant training does not use it"):
        EconomicsModel("training").solve(**RUN, hardware="H100", price=30_000, rent="RunPod_H100")


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
