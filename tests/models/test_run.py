"""Runs that fail: published numbers, identities, and the same laws written another way."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from mlsysim import DistributedModel, RunModel
from mlsysim.errors import InputError

given, overlapped = RunModel("given"), RunModel("overlapped")
#: 16,384 accelerators that fail every 3.093 hours of running time.
RUN = {
    "training_time": 48.6, "fleet_size": 16384, "accelerators_per_node": 8, "node_failure_rate": 24 / 3.093 / 2048,
    "failure_clock": "running", "planned_rate": 0, "detection_time": 600, "placement_time": 0,
    "initialization_time": 0, "load_time": 0, "save_stall": 60, "rental_price": 2,
}  # fmt: skip
STEP = {
    "model": "Llama3_8B", "fleet": "SuperPOD_H100", "batch_size": 2048, "seq_len": 4096, "precision": "bf16",
    "gradient_accumulation_steps": 8, "zero_stage": 2,
}  # fmt: skip
SAVED = {"storage_bandwidth": 100, "placement_time": 60}
FAILING = {
    "overlapped": SAVED, "blocking": SAVED, "two_level": SAVED,
    "elastic": {"dp_replicate_size": 8, "elastic_stall": 180, "away_time": 900},
}  # fmt: skip
#: What a run without a step is given.
TYPED = {name: RunModel(name).example for name in RunModel.variants if name not in FAILING}
CALLS = {**{name: {**STEP, **call} for name, call in FAILING.items()}, **TYPED}
SHARES = ("ettr", "stall_share", "rework_share", "recovery_share", "absent_share")


def test_a_run_of_the_page():
    found = given.solve(**RUN)
    assert found.canonical("young_interval") == pytest.approx(1155.9, abs=0.05)
    assert found.canonical("daly_interval") == pytest.approx(1116.28, abs=0.005)
    assert found.ettr == pytest.approx(0.8537, abs=5e-5)
    assert given.solve(**RUN, restarts_fail=True).ettr == pytest.approx(0.8525, abs=6e-5)
    assert found.run_time.to("day").magnitude == pytest.approx(56.93, abs=0.005)
    assert found.run_time_deviation.to("day").magnitude == pytest.approx(0.31, abs=0.005)
    assert found.run_time_p90.to("day").magnitude == pytest.approx(57.32, abs=0.005)
    assert found.canonical("run_cost") == pytest.approx(44.8e6, abs=5e4)
    assert found.canonical("run_cost_p90") == pytest.approx(45.1e6, abs=5e4)
    assert found.canonical("failure_cost") == pytest.approx(found.canonical("run_cost") * (1 - found.ettr), rel=1e-12)


@pytest.mark.parametrize(("factor", "lost"), [(0.5, 0.024), (2, 0.025), (4, 0.111)])
def test_the_optimum_is_flat(factor, lost):
    best = given.solve(**RUN)
    other = given.solve(**RUN, save_interval=factor * best.canonical("best_save_interval"))
    assert 1 - other.ettr / best.ettr == pytest.approx(lost, abs=6e-4)


@pytest.mark.parametrize(
    ("entry", "accelerators", "hours"),
    [("Llama3_405B", 16384, 3.09), ("Meta_RSC1_A100", 16384, 1.80), ("Meta_RSC1_A100", 131072, 0.225)],
)
def test_published_times_between_interruptions_are_wall_time(entry, accelerators, hours):
    found = given.solve(
        failures=entry, training_time=1, fleet_size=accelerators, save_stall=1, load_time=0, placement_time=0,
        detection_time=60,
    )  # fmt: skip
    between = found.mean_time_between_interruptions.to("hour").magnitude
    assert between == pytest.approx(hours, abs=0.006)
    assert found.canonical("mttf") == pytest.approx(between * 3600 - found.canonical("recovery_time"))


@pytest.mark.parametrize(
    ("between", "exact", "first", "published"), [(3600, 0.709, 0.684, 0.7), (300, 0.932, 0.932, 0.93)]
)
def test_effective_training_time_of_16000_devices(between, exact, first, published):
    """Kokolis et al.: 0.7 with saves every hour, 0.93 with one every five minutes."""
    cluster = {"fleet_size": 16000, "node_failure_rate": 6.5e-3, "failure_clock": "wall", "detection_time": 300}
    found = given.solve(**{**RUN, **cluster, "save_stall": 0, "save_interval": between})
    assert found.ettr == pytest.approx(exact, abs=6e-4)
    assert found.first_order_ettr == pytest.approx(first, abs=6e-4)
    assert found.ettr == pytest.approx(published, abs=0.01)


def test_replicas_that_leave_and_come_back():
    """98,304 devices, 48 replicas: 80% of the time is useful in FT-HSDP, at 18 minutes between failures."""
    found = RunModel("given_elastic").solve(
        training_time=1, fleet_size=98304, failures="FT_HSDP_98K", elastic_replicas=48, planned_rate=0
    )
    assert found.canonical("mean_time_between_interruptions") == pytest.approx(18 * 60, rel=1e-3)
    assert found.ettr == pytest.approx(0.82, abs=0.005)


@pytest.mark.parametrize("variant", CALLS)
class TestIdentities:
    def test_without_failures_a_run_takes_the_days_of_its_step(self, variant):
        found = RunModel(variant).solve(**{**CALLS[variant], "node_failure_rate": 0, "planned_rate": 0,
                                           "failures_observed": 0})  # fmt: skip
        if variant in FAILING:
            step = {name: value for name, value in CALLS[variant].items() if name in DistributedModel().arguments}
            assert found.canonical("training_time") == DistributedModel().solve(**step).canonical("training_time")
        assert found.canonical("run_time") == found.canonical("training_time")
        assert found.canonical("failure_deviation") == found.expected_failures == 0

    def test_shares_and_days_sum_up(self, variant):
        found = RunModel(variant).solve(**{**CALLS[variant], "node_failure_rate": 0.05})
        shares = [found.canonical(name) for name in SHARES if name in found.model.system]
        assert sum(shares) == pytest.approx(1, rel=1e-14)
        assert min(shares) >= 0
        days = sum(found.canonical(name) for name in found.model.parts_of("run_time"))
        assert days == pytest.approx(found.canonical("run_time"), rel=1e-13)
        assert found.canonical("time_in_work") == pytest.approx(found.canonical("training_time"), rel=1e-13)

    def test_more_failures_take_longer(self, variant):
        model = RunModel(variant)
        rates = np.geomspace(1e-4, 0.2, 6)
        times = [model.solve(**{**CALLS[variant], "node_failure_rate": rate}).canonical("run_time") for rate in rates]
        assert np.all(np.diff(times) > 0)


@pytest.mark.parametrize("variant", ["given", "given_two_level", "given_elastic"])
def test_the_elasticity_is_that_of_the_wall_time(variant):
    call = {**TYPED[variant], "failure_clock": "running", "save_interval": 1500, "memory_save_interval": 200,
            "save_latency": 50}  # fmt: skip
    model = RunModel(variant)
    call = {name: value for name, value in call.items() if name in model.arguments}
    low, mid, high = (model.solve(**call, node_failure_rate=0.02 * (1 + k), planned_rate=0) for k in (-1e-4, 0, 1e-4))
    slope = math.log(high.canonical("run_time") / low.canonical("run_time")) / math.log(1.0001 / 0.9999)
    assert mid.failure_elasticity == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize(("survival", "stall"), [(0, "save_stall"), (1, "memory_save_stall")])
def test_one_of_two_levels_alone_is_one_level(survival, stall):
    """Two levels are one where copies never stall and never help, or nobody reads the saves."""
    ways = {"save_stall": 60, "memory_save_stall": 60, "load_time": 0, "memory_load_time": 0}
    unused = {"save_stall", "memory_save_stall"} - {stall}
    two = RunModel("given_two_level").solve(**{**RUN, **ways, **dict.fromkeys(unused, 0), "memory_survival": survival,
                                               "save_interval": 1116.28, "memory_save_interval": 1116.28})  # fmt: skip
    one = given.solve(**RUN, save_interval=1116.28)
    assert two.ettr == pytest.approx(one.ettr, rel=1e-9)
    assert two.canonical("failure_deviation") == pytest.approx(one.canonical("failure_deviation"), rel=1e-6)
    assert two.failure_elasticity == pytest.approx(one.failure_elasticity, rel=1e-8)


@pytest.mark.parametrize("ratio", [0.005, 0.02, 0.17, 0.4, 0.66])
def test_the_series_of_daly_is_the_optimum(ratio):
    """T = M (1 + W0(-exp(-1 - C/M))), which the series costs at most 3e-5 of the useful share."""
    call = {**RUN, "save_stall": ratio * 3.093 * 3600}
    exact = 3.093 * 3600 * (1 + special.lambertw(-math.exp(-1 - ratio)).real)
    best, series = given.solve(**call, save_interval=exact).ettr, given.solve(**call).ettr
    assert 0 <= 1 - series / best <= 3e-5
    found = optimize.minimize_scalar(
        lambda t: -given.solve(**call, save_interval=t).ettr, (exact / 2, exact, exact * 2), tol=1e-9
    )
    assert found.x == pytest.approx(exact, rel=1e-4)


def test_a_save_is_done_before_the_next_begins():
    latent = given.solve(**RUN, save_latency=3000)
    assert latent.feasible
    assert latent.canonical("save_period") == 2940
    assert not given.solve(**RUN, save_latency=3000, save_interval=2900).feasible


def test_saves_back_to_back_lose_105_minutes_a_failure():
    """GEMINI: half an interval of 42 minutes, 42 minutes until the save is there, 42 minutes to load it."""
    rare = {**RUN, "node_failure_rate": 1e-8, "save_stall": 0, "save_latency": 2520, "save_interval": 2520,
            "detection_time": 0, "load_time": 2520}  # fmt: skip
    found = given.solve(**rare)
    lost = found.canonical("time_in_rework") + found.canonical("time_in_recovery")
    assert lost / found.expected_failures / 60 == pytest.approx(105, abs=0.2)


class TestSpares:
    def test_hosts_of_opt(self):
        """Two hosts a day that are away for three: 12 spares, and 36% of the time waiting with 4 of them."""
        call = {**RUN, "fleet_size": 1024, "node_failure_rate": 2 / 128, "repair_time": 3}
        found = given.solve(**call, spare_nodes=12)
        assert found.nodes_away == pytest.approx(6)
        assert found.spare_nodes_needed == 12
        assert found.spare_wait_share == pytest.approx(0.005, abs=0.001)
        assert found.accelerators == 1024 + 12 * 8
        assert given.solve(**call, spare_nodes=4).spare_wait_share == pytest.approx(0.36, abs=0.005)

    @pytest.mark.parametrize(("machines", "spares"), [(128, 2), (256, 2), (512, 3), (1024, 4)])
    def test_machines_of_byterobust(self, machines, spares):
        call = {**RUN, "fleet_size": 8 * machines, "node_failure_rate": 1.2e-3, "repair_time": 1}
        found = given.solve(**call).spare_nodes_needed
        assert found == spares == stats.poisson.ppf(0.99, machines * 1.2e-3)

    @pytest.mark.parametrize(("away", "spares"), [(0.05, 0), (1, 0), (2, 5), (6, 4), (30, 36), (30, 10)])
    def test_waiting_is_erlangs_loss(self, away, spares):
        found = given.solve(**{**RUN, "node_failure_rate": away / 2048, "repair_time": 1, "spare_nodes": spares})
        served = stats.poisson.pmf(spares + 1, away) / stats.poisson.cdf(spares + 1, away)
        assert found.spare_wait_share == pytest.approx(served, rel=1e-12)

    def test_what_a_restart_cures_takes_no_node(self):
        call = {**RUN, "repair_time": 3, "placement_time": 100}
        half, all_ = given.solve(**call, restart_share=0.5), given.solve(**call)
        assert half.nodes_away == pytest.approx(all_.nodes_away / 2)
        assert all_.canonical("recovery_time") - half.canonical("recovery_time") == pytest.approx(50)


class TestBytes:
    def test_of_bloom_and_of_megatron_turing(self):
        bloom = RunModel("given_blocking").solve(**{**RUN_OF_BYTES, "save_bytes": 176 * 14, "fleet_size": 384})
        assert bloom.canonical("save_write_time") == pytest.approx(40, abs=0.5)
        slow = {"storage": "Remote_20Gbps", "save_bytes": 530 * 12}
        assert RunModel("given_blocking").solve(**{**RUN_OF_BYTES, **slow}).canonical(
            "save_write_time"
        ) == pytest.approx(42.4 * 60, abs=0.5)

    @pytest.mark.parametrize(
        "layout",
        [{"zero_stage": 0}, {"zero_stage": 1}, {"zero_stage": 3}, {"tp_size": 8}, {"dp_replicate_size": 4}],
        ids=str,
    )
    def test_replicas_are_saved_once(self, layout):
        found = overlapped.solve(**{**STEP, **SAVED, **layout})
        assert found.canonical("save_bytes_per_parameter") == pytest.approx(14)
        assert found.canonical("save_bytes") == pytest.approx(14 * found.parameters, rel=1e-12)
        if "tp_size" not in layout:  # whose ranks all hold norms
            assert found.canonical("rank_save_bytes") * 256 == pytest.approx(found.canonical("save_bytes"), rel=1e-3)

    def test_a_pipeline_saves_what_one_stage_does(self):
        found = overlapped.solve(**{**STEP, **SAVED, "pp_size": 4, "gradient_accumulation_steps": 8})
        assert found.canonical("save_bytes") == pytest.approx(14 * found.parameters, rel=1e-12)

    def test_adapters_alone_are_saved(self):
        found = overlapped.solve(**{**STEP, **SAVED, "finetuning": "lora", "zero_stage": 0})
        assert 0 < found.canonical("save_bytes") < 0.02 * overlapped.solve(**STEP, **SAVED).canonical("save_bytes")

    def test_the_slowest_tier_writes(self):
        model = RunModel("given_overlapped")
        call = {**RUN_OF_BYTES, "save_bytes": 2464, "metadata_time": 3}
        at = {
            "storage_bandwidth": 1000, "storage_share": 0.5, "node_storage_bandwidth": 0.1, "host_copy_bandwidth": 0.01,
            "save_writers": 10, "writer_bandwidth": 2,
        }  # fmt: skip
        call = {name: value for name, value in call.items() if name != "storage"}
        each = [2464 / 500, 2464 / 2048 / 0.1, 2464 / 16384 / 0.01, 2464 / 20]
        assert model.solve(**call, **at).canonical("save_write_time") == pytest.approx(max(each) + 3)


RUN_OF_BYTES = {
    **{name: value for name, value in RUN.items() if name not in ("save_stall", "load_time")},
    "storage": "Jean_Zay_GPFS",
}


@pytest.mark.parametrize("lost", range(1, 6))
def test_lost_nodes_hold_no_pair(lost):
    found = RunModel("given_two_level").solve(**{**TYPED["given_two_level"], "lost_nodes": lost, "fleet_size": 128,
                                                 "memory_copies": 1})  # fmt: skip
    expected = math.prod((16 - 2 * i) / (16 - i) for i in range(lost))
    assert found.copy_survival == pytest.approx(expected, rel=1e-12)


def test_jobs_share_a_storage():
    """16,384, 2,048 and 512 accelerators with 5.67, 0.98 and 0.112 TB on 25 GB/s: 240, 797 and 1,077 s."""
    jobs = [(16384, 5670), (2048, 980), (512, 112)]
    pressures = [math.sqrt(saved * size * size) for size, saved in jobs]  # failures grow with the size
    fills = 0.0
    for (size, saved), pressure, expected in zip(jobs, pressures, (240, 797, 1077), strict=True):
        found = RunModel("given_overlapped").solve(
            **{**RUN_OF_BYTES, "storage": None, "fleet_size": size, "save_bytes": saved, "storage_bandwidth": 25,
               "other_save_pressure": sum(pressures) / pressure - 1, "save_barrier": 0}
        )  # fmt: skip
        assert found.canonical("shared_interval") == pytest.approx(expected, abs=0.6)
        fills += saved / 25 / found.canonical("shared_interval")
    assert fills == pytest.approx(1)


def test_blocking_saves_that_share_a_storage():
    """The price of storage at which the saves of three jobs fill it loses less than intervals grown alike."""
    model = RunModel("given_blocking")
    jobs = [(16384, 5670), (2048, 980), (512, 112)]
    calls = [{**RUN_OF_BYTES, "storage": None, "storage_bandwidth": 25, "fleet_size": size, "save_bytes": saved,
              "interval_rule": "young"} for size, saved in jobs]  # fmt: skip

    def use(price):
        return sum(model.solve(**call, storage_multiplier=price).storage_use for call in calls)

    def lost(results):
        return sum(r.fleet_size * (1 - r.ettr) for r in results)

    room = 0.05
    price = optimize.brentq(lambda price: use(price) - room, 0, 1e6)
    planned = [model.solve(**call, storage_multiplier=price) for call in calls]
    alone = [model.solve(**call) for call in calls]
    grown = optimize.brentq(
        lambda f: sum(model.solve(**c, save_interval=f * r.canonical("save_period")).storage_use
                      for c, r in zip(calls, alone, strict=True)) - room, 1, 100
    )  # fmt: skip
    alike = [
        model.solve(**c, save_interval=grown * r.canonical("save_period")) for c, r in zip(calls, alone, strict=True)
    ]
    assert price > 0
    assert lost(planned) < lost(alike)


def test_a_rate_of_few_failures_widens_the_interval():
    known, counted = given.solve(**RUN), given.solve(**RUN, failures_observed=25)
    added = counted.canonical("run_time_deviation") ** 2 - known.canonical("run_time_deviation") ** 2
    expected = known.failure_elasticity * known.canonical("run_time") / 5
    assert math.sqrt(added) == pytest.approx(expected, rel=1e-9)


def test_the_error_of_the_step_widens_the_interval():
    found = overlapped.solve(**STEP, **SAVED)
    assert found.expected_error("run_time").median == found.expected_error("step_time").median
    assert found.canonical("run_time_deviation") / found.canonical("run_time") == pytest.approx(0.14, rel=0.01)
    known = overlapped.solve(**STEP, **SAVED, stack="Megatron_Bridge_H100")
    assert known.canonical("run_time_deviation") / known.canonical("run_time") == pytest.approx(0.083, rel=0.01)
    measured = overlapped.solve(**STEP, **SAVED, step_spread=0)
    assert measured.canonical("run_time_deviation") == measured.canonical("failure_deviation")


def test_the_spread_of_a_step_is_that_of_its_stack():
    known, generic = (overlapped.solve(**STEP, **SAVED, stack=name) for name in ("Megatron_Bridge_H100", "DeepSpeed"))
    assert known["step_spread"] == 0.083
    assert generic["step_spread"] == overlapped.solve(**STEP, **SAVED)["step_spread"] == 0.14
    assert known.canonical("run_time_deviation") < 0.085 * known.canonical("run_time")
    assert given.solve(**RUN)["step_spread"] == 0


def test_no_failures_of_a_rate_that_was_counted_spread_nothing():
    calm = given.solve(**{**RUN, "failure_clock": "wall", "node_failure_rate": 0}, failures_observed=419)
    assert calm.canonical("run_time") == calm.canonical("training_time")
    assert calm.canonical("run_time_deviation") == calm.canonical("run_cost_deviation") == 0


def test_an_interval_beyond_the_run_is_the_run():
    small = {**RUN, "fleet_size": 8, "training_time": 1}
    once, longer = given.solve(**small, save_interval="1 day"), given.solve(**small, save_interval="100 day")
    assert longer.canonical("run_time") == once.canonical("run_time") < 1.003 * 86400


def test_days_and_dollars_spread_alike():
    found = given.solve(**RUN)
    relative = found.canonical("run_time_deviation") / found.canonical("run_time")
    assert found.canonical("run_cost_deviation") == pytest.approx(found.canonical("run_cost") * relative, rel=1e-12)


def test_a_rate_that_leaves_no_time_says_so():
    found = given.solve(**{**RUN, "failure_clock": "wall", "node_failure_rate": 5})
    assert math.isinf(found.canonical("run_cost_deviation"))
    assert not found.feasible
    assert found.notes == ("mttf, 0.000 h, must be above 0.000 h",)


def test_corruption_costs_the_time_back_to_it():
    """Six in 54 days that are found ten hours later cost 5% of the time, not half an interval."""
    call = {**RUN, "corruption_rate": 6 / 54 / 2048, "corruption_lost_time": 10}
    found = given.solve(**call)
    assert found.corruption_share == pytest.approx(6 / 54 * (10 + 1 / 6) / 24)
    assert found.run_goodput == pytest.approx(found.ettr * (1 - found.corruption_share))


def test_what_to_mend_first():
    """Detection, where saves overlap: the time-out costs more than stalls."""
    found = RunModel("given_overlapped").sensitivity(
        "run_time",
        **{**RUN_OF_BYTES, "storage": None, "save_bytes": 5670, "storage_bandwidth": 2000, "planned_rate": 0},
    )
    rows = {row["input"]: row["elasticity"] for row in found.to_dict()["rows"]} if "rows" in found.to_dict() else {}
    text = str(found)
    assert text.index("detection_time") < text.index("save_barrier")
    assert not rows or rows["detection_time"] > rows["save_barrier"]


def test_a_search_over_intervals_and_spares():
    call = {**RUN, "repair_time": 1, "save_interval": [0, 300, 600, 1200, 2400], "spare_nodes": list(range(0, 21, 2))}
    found = given.search(minimize="run_cost", **call)
    best = min(
        given.solve(**{**call, "save_interval": between, "spare_nodes": spares}).canonical("run_cost")
        for between in call["save_interval"]
        for spares in call["spare_nodes"]
    )
    assert found.best.canonical("run_cost") == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(
    ("variant", "bad", "message"),
    [
        (
            "given",
            {"failure_size_exponent": 1, "measured_nodes": 0},
            "failure_size_exponent=1: must be 0 where no size",
        ),
        ("given", {"node_failure_rate": -1}, "node_failure_rate=-1: must be a finite number >= 0"),
        ("given", {"save_interval": -1}, "save_interval=-1: must be a finite number >= 0"),
        ("given", {"interval_rule": "best"}, "interval_rule='best'"),
        ("given", {"spare_nodes": 1.5}, "spare_nodes=1.5: must be a whole number >= 0"),
        ("given", {"storage_bandwidth": 1}, "storage_bandwidth=1: the variant given does not use it"),
        ("given", {"model": "Llama3_8B"}, "model='Llama3_8B': the variant given does not use it"),
        ("given_elastic", {"shrunk_replicas": 48}, "shrunk_replicas=48: must be below elastic_replicas=48"),
        ("given_overlapped", {"storage_share": 0}, "storage_share=0: must be a finite number > 0 and <= 1"),
        ("given_two_level", {"memory_survival": 1.1}, "memory_survival=1.1: must be a finite number >= 0 and <= 1"),
        ("given_two_level", {"lost_nodes": 6}, "lost_nodes=6: must be a whole number >= 0 and <= 5"),
    ],
)
def test_what_is_refused(variant, bad, message):
    with pytest.raises(InputError) as refused:
        RunModel(variant).solve(**{**TYPED[variant], **bad})
    assert message in str(refused.value)


def test_a_larger_job_fails_more_often_than_its_size():
    """A power of 0.95 from 32,768 on: with three times the devices each fails 2.8 times as often."""
    call = {**RUN, "failures": "FT_HSDP_32K", "node_failure_rate": 2.3e-3, "failure_size_exponent": 0.95}
    small, large = (given.solve(**{**call, "fleet_size": size}) for size in (32768, 98304))
    assert large.canonical("published_failure_rate") / small.canonical("published_failure_rate") == pytest.approx(
        3 * 3**0.95
    )
