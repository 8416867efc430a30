"""Cost of runs and fleets: identities, proportions, and what is refused."""

import math

import numpy as np
import pytest

from mlsysim import (
    DistributedModel,
    EconomicsModel,
    PostTrainingModel,
    RunModel,
    ServingCapacityModel,
    ServingModel,
)
from mlsysim.bounds import Search
from mlsysim.errors import InputError, MissingInputError, NotMeasuredError, UnknownNameError
from mlsysim.study import search

FLEET = {"accelerators": 64, "duration": 10, "run_tokens": 1e9, "tdp": 700}
RUN = {
    "model": "Llama3_8B", "hardware": "H100", "fleet_size": 8, "batch_size": 64, "seq_len": 4096, "precision": "bf16",
    "gradient_accumulation_steps": 4, "zero_stage": 3, "fabric_bandwidth": 50, "fabric_latency": 5,
    "training_tokens": 1e10,
}  # fmt: skip
SERVING = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 8000}
rented = EconomicsModel("rented_fleet")
owned = EconomicsModel("owned_fleet")


def test_deepseek_counted_the_same_rent():
    """A day on 226.75 nodes of eight accelerators at two dollars an hour: 87,072 dollars."""
    found = rented.solve(accelerators=1814, duration=1, run_tokens=168e9, rental_price=2, tdp=700)
    assert found.canonical("total_cost") == pytest.approx(87_072, rel=1e-12)


def test_a_bill_by_hand():
    found = owned.solve(**FLEET, price=25_000, busy_share=0.5, flop_share=0.1)
    watts = 700 * (0.12 + 0.88 * (1 - math.exp(-0.5 - 0.521)))
    assert found.canonical("average_power") == pytest.approx(64 * watts)
    kilowatt_hours = 64 * watts / 1000 * 1.45 * 240 * 1.2
    assert found.canonical("energy") == pytest.approx(kilowatt_hours * 3.6e6)
    assert found.canonical("operational_carbon") == pytest.approx(0.47301 * kilowatt_hours)
    assert found.canonical("energy_cost") == pytest.approx(0.08 * kilowatt_hours)
    purchase = 64 * 25_000 * 1.5
    assert found.canonical("hardware_cost") == pytest.approx(purchase * 10 / 1460)
    assert found.canonical("maintenance_cost") == pytest.approx(0.05 * purchase * 10 / 365)
    parts = sum(found.canonical(f"{part}_cost") for part in ("hardware", "energy", "maintenance"))
    assert found.canonical("total_cost") == pytest.approx(parts, rel=1e-15)
    assert found.canonical("cost_per_token") == pytest.approx(parts / 1e9)


def test_twice_the_time_is_twice_the_energy_and_the_cost():
    once, twice = (owned.solve(**{**FLEET, "duration": days}, price=25_000) for days in (10, 20))
    for name in ("energy", "carbon", "total_cost"):
        assert twice.canonical(name) == pytest.approx(2 * once.canonical(name), rel=1e-15)
    assert twice.canonical("average_power") == once.canonical("average_power")


def test_a_training_run_is_one_system():
    found = EconomicsModel("rented_training").solve(**RUN, rental_price="2 USD/hour")
    step = DistributedModel().solve(**RUN)
    assert found.canonical("step_time") == step.canonical("step_time")
    assert found.canonical("duration") == step.canonical("training_time")
    hours = step.canonical("training_time") / 3600
    assert found.canonical("total_cost") == pytest.approx(8 * 2 * hours, rel=1e-12)
    text = str(found.explain("total_cost"))
    for line in (
        "Rent  [deepseek2025, day 6: a day on 226.75 nodes of eight]",
        "One training step  [narayanan2021, section 3]",
        "Time to train",
    ):
        assert line in text


def test_a_run_that_fails_is_paid_for_with_its_spares():
    asked = {**RUN, "placement_time": 60, "storage_bandwidth": "100 GB/s", "spare_nodes": 1}
    run, found = RunModel().solve(**asked, rental_price=2), EconomicsModel("rented_run").solve(**asked, rental_price=2)
    for name in ("run_time", "run_cost", "run_cost_p90", "failure_cost", "accelerators", "busy_share"):
        assert found.canonical(name) == pytest.approx(run.canonical(name), rel=1e-12)
    assert found.canonical("total_cost") == found.canonical("run_cost")
    days = found.canonical("run_time") / 86400
    owned = EconomicsModel("owned_run").solve(**asked, price=30_000)
    purchase = (8 + 8) * 30_000 * 1.5
    assert owned.canonical("hardware_cost") == pytest.approx(purchase * days / 1460, rel=1e-12)
    parts = sum(owned.canonical(f"{part}_cost") for part in ("hardware", "energy", "maintenance"))
    assert owned.canonical("run_cost") == owned.canonical("total_cost") == pytest.approx(parts, rel=1e-12)
    late = owned.canonical("run_time_p90") / owned.canonical("run_time")
    assert owned.canonical("run_cost_p90") == pytest.approx(parts * late, rel=1e-12)
    assert owned.canonical("run_cost_deviation") / owned.canonical("run_cost") == pytest.approx(
        run.canonical("run_cost_deviation") / run.canonical("run_cost"), rel=1e-12
    )
    never = EconomicsModel("owned_run").solve(**{**asked, "failures": "Llama3_405B"}, node_failure_rate=1e4, price=1)
    assert {never.canonical(name) for name in ("run_cost", "run_cost_deviation", "run_cost_p90")} == {math.inf}


def test_a_run_without_failures_costs_what_its_training_does():
    calm = {"node_failure_rate": 0, "planned_rate": 0, "placement_time": 60, "storage_bandwidth": "1e9 GB/s"}
    calm |= {"save_barrier": 0, "host_copy_bandwidth": "1e9 GB/s"}
    for tenure, price in (("owned", {"price": 30_000}), ("rented", {"rental_price": 2})):
        run = EconomicsModel(f"{tenure}_run").solve(**RUN, **calm, **price)
        alone = EconomicsModel(f"{tenure}_training").solve(**RUN, **price)
        assert run.canonical("total_cost") == pytest.approx(alone.canonical("total_cost"), rel=1e-6)


class TestPostTraining:
    """Sixteen H100 for two days, on steps of 64 prompts with 32 responses of 1,019 tokens on average each."""

    asked = {**PostTrainingModel.example, "duration": "2 day"}

    def test_a_rent_by_hand(self):
        found = EconomicsModel("rented_post_training").solve(**self.asked, rental_price="2 USD/hour")
        step = PostTrainingModel().solve(**self.asked)
        for name in ("step_time", "samples_per_second", "energy_per_step", "energy", "average_power", "trainer_memory"):
            assert found.canonical(name) == step.canonical(name)
        assert found.accelerators == 16
        assert found.canonical("total_cost") == found.canonical("hardware_cost") == pytest.approx(16 * 2 * 48)
        steps = 2 * 86400 / step.canonical("step_time")
        tokens = steps * 64 * 32 * (127 + 1019)
        assert found.canonical("cost_per_token") == pytest.approx(16 * 2 * 48 / tokens, rel=1e-12)

    def test_a_bill_by_hand(self):
        owned = EconomicsModel("owned_post_training")
        found = owned.solve(**self.asked, price=30_000, electricity_price="0.1 USD/kWh")
        step = PostTrainingModel().solve(**self.asked)
        purchase = 16 * 30_000 * 1.5
        assert found.canonical("hardware_cost") == pytest.approx(purchase * 2 / 1460)
        assert found.canonical("maintenance_cost") == pytest.approx(0.05 * purchase * 2 / 365)
        steps = 2 * 86400 / step.canonical("step_time")
        kilowatt_hours = step.canonical("energy_per_step") * steps / 3.6e6
        assert found.canonical("energy_cost") == pytest.approx(0.1 * kilowatt_hours, rel=1e-12)
        parts = sum(found.canonical(f"{part}_cost") for part in ("hardware", "energy", "maintenance"))
        assert found.canonical("total_cost") == pytest.approx(parts, rel=1e-15)
        slower = owned.solve(**self.asked, price=30_000, electricity_price="0.1 USD/kWh", rollout_stretch=3)
        assert slower.canonical("hardware_cost") == found.canonical("hardware_cost")
        assert slower.canonical("cost_per_token") > found.canonical("cost_per_token")

    def test_costs_of_tokens_are_as_far_off_as_steps(self):
        """A bill for a time that is given is not: no step is in it."""
        found = EconomicsModel("rented_post_training").solve(**self.asked, rental_price=2)
        step = PostTrainingModel().solve(**self.asked).expected_error("step_time")
        for name in ("cost_per_token", "samples_per_second", "step_time"):
            error = found.expected_error(name)
            assert (error.median, error.follows) == (step.median, "step_time of PostTrainingModel")
        with pytest.raises(NotMeasuredError, match="no error of total_cost was measured"):
            found.expected_error("total_cost")

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"price": 1}, "price=1: the variant rented_post_training does not use it; "),
            ({"fleet_size": 0}, "fleet_size=0: must be a whole number >= 1"),
            ({"rollout_tp_size": 3}, "rollout_tp_size=3: must divide ffn_dim=14336; nearest: 2, 4"),
            ({"mean_response_length": 5000}, "mean_response_length=5000: must be at most max_response_length=3969"),
            ({"rollout_stack": "vLLM_2062"}, "unknown stack 'vLLM_2062': did you mean "),
            ({"duration": -1}, "duration=-1: must be "),
        ],
    )
    def test_what_is_refused(self, bad, message):
        with pytest.raises((InputError, UnknownNameError)) as refused:
            EconomicsModel("rented_post_training").solve(**{**self.asked, "rental_price": 2, **bad})
        assert str(refused.value).startswith(message)

    def test_other_uses_take_no_engine_of_rollouts(self):
        with pytest.raises(InputError, match=r"rollout_stack=.*: the variant rented_training does not use it"):
            EconomicsModel("rented_training").solve(**RUN, rental_price=2, rollout_stack="vLLM_2026_Hopper")


def test_a_serving_fleet_is_one_system():
    found = EconomicsModel("owned_serving").solve(**SERVING, price="30000 USD")
    fleet = ServingCapacityModel("prefill_aware").solve(**SERVING)
    assert found.accelerators == found.required_replicas == fleet.required_replicas
    assert found.canonical("estimated_p99_latency") == fleet.canonical("estimated_p99_latency")
    assert found.canonical("run_requests") == pytest.approx(20 * 365 * 86400)
    assert found.canonical("cost_per_request") == pytest.approx(found.canonical("cost_per_token") * 128, rel=1e-12)


@pytest.mark.long
def test_a_chain_sweeps_and_is_differentiated_end_to_end():
    model = EconomicsModel("rented_training")
    grid = model.sweep(**{**RUN, "efficiency": [0.3, 0.6]}, rental_price=2, outputs=["total_cost"])
    assert grid.total_cost.values[0] > grid.total_cost.values[1] > 0
    found = model.sensitivity("total_cost", **RUN, rental_price=2)
    assert "rental_price" in str(found)


def test_a_target_no_fleet_meets_has_no_price():
    """Not the price of as many replicas as were tried."""
    found = EconomicsModel("owned_serving").solve(**{**SERVING, "target_p99_latency_ms": 1}, price="30000 USD")
    assert not found.feasible
    assert found.canonical("total_cost") == found.canonical("cost_per_request") == math.inf


def test_hosts_draw_power_only_where_they_are_given():
    alone, hosted = (owned.solve(**FLEET, price=1, host_power_fraction=share) for share in (0, 0.8))
    assert hosted.canonical("energy") == pytest.approx(1.8 * alone.canonical("energy"))


@pytest.mark.parametrize(("fleet", "kilowatts"), [("SuperPOD_H100", 1.015), ("SuperPOD_A100", 0.8125)])
def test_an_accelerator_of_a_fleet_draws_its_share_of_the_node(fleet, kilowatts):
    """Hosts of H100 were measured at 0.45 of their devices; a DGX A100 draws 6.5 kW at most."""
    found = owned.solve(fleet=fleet, price=1, duration=1, run_tokens=1, idle_power_fraction=1, pue=1)
    assert found.canonical("energy") == pytest.approx(found.accelerators * kilowatts * 24 * 3.6e6)


def test_a_fleet_says_how_many_accelerators_it_has():
    found = rented.solve(fleet="SuperPOD_H100", run_tokens=1e9, rental_price=2)
    assert found.accelerators == 256
    assert found.canonical("tdp") == 700


def test_no_price_is_an_error_that_says_how_to_give_one():
    with pytest.raises(MissingInputError) as refused:
        EconomicsModel("owned_serving").solve(**SERVING)
    assert (
        str(refused.value) == "EconomicsModel needs price: NVIDIA H100 SXM5 80 GB has no value for it; give price=..."
    )
    with pytest.raises(MissingInputError, match=r"needs rental_price: give rent=\.\.\. or rental_price="):
        EconomicsModel("rented_serving").solve(**SERVING)
    assert EconomicsModel("owned_serving").solve(**{**SERVING, "hardware": "L40S", "qps": 1}).source("price")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"pue": 0.9}, "pue=0.9: must be a finite number >= 1"),
        ({"busy_share": 1.2}, "busy_share=1.2: must be a finite number >= 0 and <= 1"),
        ({"run_tokens": 0}, "run_tokens=0: must be above 0"),
        ({"rental_price": 2}, "rental_price=2: the variant owned_fleet does not use it"),
        ({"accelerators": 0}, "accelerators=0: must be a whole number >= 1"),
    ],
)
def test_what_is_refused(bad, message):
    with pytest.raises(InputError) as refused:
        owned.solve(**{**FLEET, "price": 25_000, **bad})
    assert str(refused.value).startswith(message)


class TestARateOfZeroCostsZero:
    """Also where no number of replicas is enough, so that the fleet, its energy and its price are infinite."""

    never = {**SERVING, "target_p99_latency_ms": 1, "price": 30_000, "tdp": 700}
    free = {"maintenance_rate": 0, "grid_carbon": 0, "electricity_price": 0}
    parts = ("maintenance_cost", "operational_carbon", "energy_cost")

    def test_at_a_point(self):
        model = EconomicsModel("owned_serving")
        found = model.solve(**self.never, **self.free)
        assert found.accelerators == math.inf
        assert [found.canonical(name) for name in self.parts] == [0, 0, 0]
        assert found.canonical("total_cost") == math.inf
        assert "= 0.000 kg" in str(found.explain("operational_carbon"))
        paid = model.solve(**self.never, maintenance_rate=1e-4, grid_carbon=0.4, electricity_price=0.1)
        assert [paid.canonical(name) for name in self.parts] == [math.inf] * 3

    def test_on_a_grid(self):
        axes = {
            **self.never,
            "target_p99_latency_ms": [1, 8000],
            "grid_carbon": [0, 0.4],
            "maintenance_rate": [0, 1e-4],
        }
        grid = EconomicsModel("owned_serving").sweep(**axes, outputs=["operational_carbon", "maintenance_cost"])
        never, served = grid.sel(target_p99_latency_ms=1), grid.sel(target_p99_latency_ms=8000)
        assert never.operational_carbon.sel(maintenance_rate=0).values.tolist() == [0, math.inf]
        assert never.maintenance_cost.sel(grid_carbon=0).values.tolist() == [0, math.inf]
        assert (served.operational_carbon.values[0] == 0).all()
        assert (served.operational_carbon.values[1] > 0).all()

    @pytest.mark.long
    def test_every_slope_is_a_number(self):
        """Of nothing: an infinite fleet at no rate."""
        found = EconomicsModel("owned_serving").sensitivity("operational_carbon", **self.never, **self.free)
        assert {row.gradient.magnitude for row in found if row.gradient is not None} == {0}

    def test_a_slope_is_a_number(self):
        slope = EconomicsModel("owned_serving").derivative("carbon", "tdp").at(**self.never, **self.free)
        assert slope.magnitude == 0

    @pytest.mark.long
    @pytest.mark.parametrize("minimize", ["energy_cost + maintenance_cost", "carbon", "maintenance_cost", "total_cost"])
    def test_a_search_agrees_with_every_point(self, minimize, monkeypatch):
        monkeypatch.setattr(search, "AT_ONCE", 0.0)
        monkeypatch.setattr(Search, "LEAF", 4)
        axes = {
            "qps": [20, 1, 5, 80], "target_p99_latency_ms": [1, 2000, 8000], "grid_carbon": [0.4, 0, 0.1],
            "maintenance_rate": [1e-4, 0], "electricity_price": [0.1, 0],
        }  # fmt: skip
        model = EconomicsModel("owned_serving")
        fixed = {**self.never, **axes}
        grid = model.sweep(**fixed, outputs=["carbon", "maintenance_cost", "energy_cost", "total_cost"])
        assert not any(np.isnan(values).any() for values in grid.data_vars.values())
        every = grid.eval(minimize).values
        found = model.search(**fixed, minimize=minimize, method="bounds", top=30)
        expected = np.sort(every[np.isfinite(every)], axis=None)[:30]
        assert [value for (value,) in found.objectives] == pytest.approx(expected, rel=1e-9)
        assert found.certificate.proven
        low, high = found.certificate.feasible
        assert low <= np.isfinite(every).sum() <= high


@pytest.mark.parametrize("model", ["tests/catalog/configs/qwen3_4b.json", "Gemma3n_E4B", "Llama2_7B"])
@pytest.mark.parametrize(
    ("engine", "variant", "asked"),
    [
        (ServingModel(), "rented_deployment", {"request_rate": 1, "isl": 100, "osl": 10}),
        (ServingCapacityModel("prefill_aware"), "rented_serving", {"qps": 1, "target_p99_latency_ms": 60_000}),
    ],
)
def test_a_fleet_serves_the_parameters_that_its_engine_counts(model, engine, variant, asked):
    """A file gives no count, and 7B is a name of 6.74 billion."""
    alone = engine.solve(model=model, hardware="H200", **asked)
    found = EconomicsModel(variant).solve(model=model, hardware="H200", rental_price=2, **asked)
    assert found.canonical("served_weights") == alone.canonical("served_weights")


def test_a_variant_is_a_tenure_and_a_use():
    uses = {variant.removeprefix("owned_") for variant in EconomicsModel.variants if variant.startswith("owned_")}
    assert set(EconomicsModel.variants) == {f"{tenure}_{use}" for tenure in ("owned", "rented") for use in uses}
    for use in uses:
        owned, rented = (EconomicsModel(f"{tenure}_{use}") for tenure in ("owned", "rented"))
        assert set(rented.system.variables) < set(owned.system.variables)
        assert ("rental_price" in rented.arguments) > ("rental_price" in owned.arguments)


@pytest.mark.parametrize("use", dict.fromkeys(name.partition("_")[2] for name in EconomicsModel.variants))
def test_a_use_alone_is_told_its_owned_variant(use):
    """Old names of variants of owned accelerators."""
    with pytest.raises(
        UnknownNameError, match=rf"variant of EconomicsModel '{use}': did you mean owned_{use}, rented_{use}"
    ):
        EconomicsModel(use)
