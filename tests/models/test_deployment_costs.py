"""Costs of deployments: published identities, how they are shared out, and what is refused or left out."""

import math

import pytest

from mlsysim import EconomicsModel, ServingModel
from mlsysim.errors import InputError

#: A day of DeepSeek's service: tokens of prompts and of answers, nodes of eight on average, rent of an accelerator.
PROMPTS, ANSWERS, NODES, RENT = 608e9, 168e9, 226.75, 2
#: The same tokens from 1,814 replicas of one accelerator each.
DAY = {
    "model": "Llama3_8B", "hardware": "H100", "num_replicas": int(8 * NODES), "osl": 1000,
    "isl": round(1000 * PROMPTS / ANSWERS), "request_rate": ANSWERS / 1000 / 86400, "rental_price": RENT, "duration": 1,
}  # fmt: skip
VARIANTS = pytest.mark.parametrize("variant", ["colocated", "disaggregated"])


def test_deepseek_counted_the_same_cost():
    """87,072 dollars a day, 0.518 dollars for a million tokens of answers."""
    found = ServingModel("colocated").solve(**DAY)
    assert found.canonical("total_cost") == pytest.approx(87_072, rel=1e-12)
    assert found.canonical("cost_per_hour") * 24 * 3600 == pytest.approx(87_072, rel=1e-12)
    assert found["cost_per_token"].to("USD/Mtoken").magnitude == pytest.approx(0.518, rel=1e-3)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("variant", ServingModel.variants)
def test_prompts_and_answers_share_the_cost(variant):
    found = ServingModel.solve_example(variant=variant, rent="RunPod_H100")
    shared = {name: found.canonical(f"cost_per_{name}_token") for name in ("input", "output")}
    both = shared["input"] * found.canonical("isl") + shared["output"] * found.canonical("osl")
    assert both == pytest.approx(found.canonical("cost_per_token") * found.canonical("osl"), rel=1e-12)
    assert min(shared.values()) > 0


def test_longer_prompts_bear_more_of_the_cost():
    shares = [ServingModel.solve_example(isl=length, rental_price=2)["prefill_cost_share"] for length in (256, 2048)]
    assert 0 < shares[0] < shares[1] < 1


@VARIANTS
def test_without_a_rent_there_is_no_price(variant):
    found = ServingModel.solve_example(variant=variant)
    assert "energy_per_token" in found.outputs
    assert not {"total_cost", "cost_per_hour", "cost_per_token", "cost_per_input_token"} & set(found.outputs)


@VARIANTS
def test_what_cannot_be_deployed_costs_infinitely_much(variant):
    found = ServingModel.solve_example(variant=variant, ttft_slo="1 ms", rental_price=2)
    assert not found["feasible"]
    assert found.canonical("cost_per_token") == found.canonical("energy_per_token") == math.inf


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("variant", ServingModel.variants)
@pytest.mark.parametrize("idle", [{"request_rate": 0}, {"concurrency": 4, "memory_capacity": "20 GB"}], ids=str)
def test_where_nothing_is_answered_each_token_and_request_costs_infinitely_much(variant, idle):
    found = ServingModel.solve_example(variant=variant, rental_price=2, num_replicas=2, **idle)
    assert found.canonical("replica_rate") == 0
    assert {found.canonical(f"cost_per_{each}token") for each in ("", "input_", "output_")} == {math.inf}


def test_an_idle_engine_draws_what_idling_draws():
    idle = ServingModel.solve_example(request_rate=0, num_replicas=2, idle_power_fraction=0.25)
    assert idle.canonical("average_power") == pytest.approx(2 * 4 * 700 * 0.25)
    full = ServingModel.solve_example(concurrency=200, num_replicas=2, idle_power_fraction=0.25)
    watts = 700 * (0.25 + 0.75 * (1 - math.exp(-1 - 5.21 * full.flop_share)))
    assert full.canonical("average_power") == pytest.approx(2 * 4 * watts)


@pytest.mark.long(quick=2)
@pytest.mark.parametrize("tenure", ["owned", "rented"])
@pytest.mark.parametrize("variant", ServingModel.variants)
def test_economics_prices_the_same_replicas(variant, tenure):
    kind = {
        "colocated": "deployment",
        "disaggregated": "disaggregated_deployment",
        "chunked": "chunked_deployment",
        "chunked_estimate": "chunked_deployment_estimate",
    }[variant]
    price = {"rental_price": 2} if tenure == "rented" else {"price": 30_000}
    priced = EconomicsModel(f"{tenure}_{kind}").solve(**ServingModel.example, **price)
    plain = ServingModel.solve_example(variant=variant, rental_price=2)
    for name in ("deployed_replicas", "ttft_p99", "tpot_mean", "goodput", "energy_per_token"):
        assert priced.canonical(name) == plain.canonical(name)
    if tenure == "rented":
        assert priced.canonical("total_cost") == plain.canonical("total_cost")
    requests = 20 * 365 * 86400
    assert priced.canonical("cost_per_request") == pytest.approx(priced.canonical("total_cost") / requests)


def test_a_fleet_brings_the_power_of_its_hosts():
    point = {name: value for name, value in ServingModel.example.items() if name != "hardware"}
    alone = ServingModel("colocated").solve(**point, hardware="H100", host_power_fraction=0)
    hosted = ServingModel("colocated").solve(**point, fleet="SuperPOD_H100")
    assert hosted["host_power_fraction"] == pytest.approx(0.45)
    assert hosted.canonical("average_power") == pytest.approx(alone.canonical("average_power"))
    assert hosted.canonical("energy") == pytest.approx(alone.canonical("energy") * 1.45)


def test_training_takes_no_fabric_by_default():
    """A deployment has one, as its own model does; a training run says what joins its nodes."""
    run = {"model": "Llama3_8B", "hardware": "H100", "fleet_size": 16, "batch_size": 16, "rental_price": 2}
    with pytest.raises(InputError, match="needs fabric_bandwidth"):
        EconomicsModel("rented_training").solve(**run)
    with pytest.raises(InputError, match="the variant rented_training does not use it"):
        EconomicsModel("rented_training").solve(**run, fabric="InfiniBand_NDR")
