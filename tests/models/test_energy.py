"""Power, energy, carbon and water: laws that hold in every model that has them."""

import itertools
import math

import pytest
from fuzz import rest_long

from mlsysim import (
    DistributedModel,
    EconomicsModel,
    IterationModel,
    MemoryExpansionModel,
    ServingCapacityModel,
    ServingModel,
)
from mlsysim.errors import InputError, UnknownNameError

DECODE = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16", "decode_requests": 64, "context_tokens": 1000}
FLEET = {"hardware": "H100", "accelerators": 8, "duration": 10, "run_tokens": 1e12, "price": 1}
fleet = EconomicsModel("owned_fleet")
MODELS = {
    "iterate": (IterationModel(), IterationModel.example),
    "train": (DistributedModel(), DistributedModel.example),
    "fleet": (fleet, {**FLEET, "busy_share": 0.7, "flop_share": 0.2}),
    "replicas first": (ServingCapacityModel("first_order"), ServingCapacityModel.example),
    **{f"iterate {name}": (IterationModel(name), IterationModel.example) for name in ("saturated", "static")},
    "train by load": (DistributedModel("load_line"), DistributedModel.example),
    **{f"serve {name}": (ServingModel(name), ServingModel.example) for name in ("colocated", "disaggregated")},
    "serve chunked": (ServingModel("chunked_estimate"), ServingModel.example),
    "replicas": (ServingCapacityModel("prefill_aware"), ServingCapacityModel.example),
    "fleet by load": (EconomicsModel("owned_fleet_load_line"), {**FLEET, "busy_share": 0.7}),
    "offload": (MemoryExpansionModel("offloaded_training"), {
        **MemoryExpansionModel.variants["offloaded_training"].example, "tdp": 700, "host_power_fraction": 0.3}),
}  # fmt: skip


def watts(busy, arithmetic, idle=0.12, limit=700):
    return limit * (idle + (1 - idle) * (1 - math.exp(-busy - 5.21 * arithmetic)))


@pytest.fixture(scope="module", params=rest_long(list(MODELS), quick=4), ids=str)
def answer(request):
    model, given = MODELS[request.param]
    return model.solve(**given)


def test_energy_is_the_integral_of_power(answer):
    drawn = answer.canonical("average_power") * (1 + answer["host_power_fraction"]) * answer["pue"]
    seconds = answer.canonical("duration")
    assert answer.canonical("energy") == pytest.approx(drawn * seconds, rel=1e-12)
    assert answer.canonical("energy_per_token") * answer.canonical("run_tokens") == pytest.approx(
        answer.canonical("energy"), rel=1e-12
    )
    assert answer.canonical("average_power") == pytest.approx(
        answer.canonical("device_power") * answer.canonical("accelerators"), rel=1e-12
    )


def test_parts_of_carbon_and_water_are_all_of_it(answer):
    parts = answer.canonical("operational_carbon") + answer.canonical("embodied_carbon")
    assert answer.canonical("carbon") == pytest.approx(parts, rel=1e-12)
    parts = answer.canonical("site_water_use") + answer.canonical("grid_water_use")
    assert answer.canonical("water") == pytest.approx(parts, rel=1e-12)


def test_no_load_draws_what_idling_draws():
    for model in ("owned_fleet", "owned_fleet_load_line"):
        given = {**FLEET, "busy_share": 0} | ({"flop_share": 0} if model == "owned_fleet" else {})
        found = EconomicsModel(model).solve(**given, idle_power_fraction=0.2)
        assert found.canonical("device_power") == pytest.approx(140)
    idle = ServingModel.solve_example(request_rate=0, num_replicas=1)
    assert idle.canonical("device_power") == pytest.approx(84)
    assert idle.power_bottleneck == "Idling"
    assert idle.canonical("energy_per_request") == math.inf


def test_no_load_exceeds_the_limit():
    shares = fleet.sweep(**FLEET, busy_share=[0, 0.5, 1], flop_share=[0, 0.1, 0.5, 1, 5], outputs=["device_power"])
    assert (shares.device_power.values <= 700).all()
    held = fleet.sweep(**FLEET, busy_share=[0, 0.5, 1], flop_share=[0, 0.1, 0.5, 1, 5], power_limit=300,
                       outputs=["device_power"])  # fmt: skip
    assert held.device_power.values == pytest.approx(shares.device_power.values.clip(max=300))


def test_a_period_draws_more_than_the_mean_of_its_phases():
    """The law is concave: shares are averaged, not powers."""
    phases = [(1, 0.5), (1, 0.02), (0, 0)]
    apart = [fleet.solve(**FLEET, busy_share=u, flop_share=x).canonical("device_power") for u, x in phases]
    busy, arithmetic = (sum(share) / 3 for share in zip(*phases, strict=True))
    whole = fleet.solve(**FLEET, busy_share=busy, flop_share=arithmetic).canonical("device_power")
    assert whole > sum(apart) / 3


def test_a_lower_limit_stretches_arithmetic_by_the_power_of_the_clock():
    found = fleet.solve(**FLEET, busy_share=1, flop_share=0.35, power_limit=500)
    free = watts(1, 0.35)
    assert found.clock_stretch == pytest.approx(((free - 84) / (500 - 84)) ** (1 / 2.4), rel=1e-12)
    assert found.clock_stretch == pytest.approx(1.148, rel=1e-3)
    assert found.power_bottleneck == "Limit"
    assert fleet.solve(**FLEET, busy_share=1, flop_share=0.35).clock_stretch == 1
    assert fleet.solve(**FLEET, busy_share=1, power_limit=80).clock_stretch == math.inf


@pytest.mark.parametrize(
    ("busy", "arithmetic", "sets"),
    [(1, 0.5, "Limit"), (1, 0.01, "Kernels"), (0.5, 0.15, "Arithmetic"), (0.1, 0, "Idling")],
)
def test_what_sets_the_power(busy, arithmetic, sets):
    found = fleet.solve(**FLEET, busy_share=busy, flop_share=arithmetic)
    assert found.power_bottleneck == sets


def test_a_day_of_a_device_bears_its_share_of_manufacture():
    """876.5 kg over four years are 25.0 g in an hour, 41.7 where three fifths of the time are used."""
    for used, grams in ((1, 25.0), (0.6, 41.7)):
        found = fleet.solve(**{**FLEET, "accelerators": 1, "duration": "1 hour"}, used_share=used)
        assert found.canonical("embodied_carbon") * 1000 == pytest.approx(grams, rel=2e-3)


def test_a_manufacture_that_is_not_known_is_left_out_and_said():
    found = fleet.solve(**{**FLEET, "hardware": "A100"})
    assert found.canonical("embodied_carbon") == 0
    assert any("carbon of manufacture is not known" in note for note in found.notes)
    assert not any("manufacture" in note for note in fleet.solve(**FLEET).notes)


def test_a_grid_gives_its_carbon_and_water():
    sweden, world = (fleet.solve(**FLEET, **given) for given in ({"grid": "Sweden"}, {}))
    ratio = sweden.canonical("operational_carbon") / world.canonical("operational_carbon")
    assert ratio == pytest.approx(36 / 473, rel=0.02)
    assert sweden.canonical("grid_water_use") > world.canonical("grid_water_use")
    assert sweden.canonical("energy") == world.canonical("energy")


def test_arithmetic_of_a_dense_iteration_by_hand():
    """Two operations a weight and token, but for the look-up, and four a number of the heads and token of context."""
    found = IterationModel().solve(**DECODE, tp_size=2)
    weights = 8_030_261_248 - 128_256 * 4096
    by_hand = 64 * (2 * weights + 4 * 32 * 4096 * 1000) / 2
    assert found.canonical("iteration_flops") == pytest.approx(by_hand, rel=1e-3)
    prefill = IterationModel().solve(model="Llama3_8B", hardware="H100", precision="bf16", prompts=1, seq_len=4096)
    by_hand = 4096 * (2 * (weights - 128_256 * 4096) + 4 * 32 * 4096 * 4097 / 2) + 2 * 128_256 * 4096
    assert prefill.canonical("iteration_flops") == pytest.approx(by_hand, rel=1e-3)


def test_ranks_do_the_same_arithmetic_however_an_engine_is_laid_out():
    """Experts count where they are active; ranks and stages share the work, but for routers, which each rank has."""
    run = {"model": "Mixtral_8x7B", "hardware": "H100", "precision": "bf16", "decode_requests": 64}
    whole = IterationModel().solve(**run).canonical("iteration_flops")
    assert whole == pytest.approx(64 * 2 * (12.88e9 - 32_000 * 4096), rel=0.01)
    router = 64 * 2 * 32 * 8 * 4096
    for layout in ({"tp_size": 4}, {"tp_size": 2, "pp_size": 2}, {"dp_attention_size": 4, "ep_size": 4}):
        found = IterationModel().solve(**run, **layout)
        copies = layout.get("tp_size", 1) - 1
        assert 4 * found.canonical("iteration_flops") == pytest.approx(whole + copies * router, rel=1e-12)


def test_power_of_an_iteration_by_hand():
    found = IterationModel().solve(**DECODE, tp_size=2)
    arithmetic = found.canonical("iteration_flops") / (
        found.canonical("iteration_time") * found.canonical("attention_peak_flops")
    )
    assert found.busy_share == 1
    assert found.flop_share == pytest.approx(arithmetic, rel=1e-12)
    assert found.canonical("device_power") == pytest.approx(watts(1, arithmetic), rel=1e-12)
    rate = 64 / found.canonical("iteration_time")
    joules = 2 * watts(1, arithmetic) * 1.45 * 1.2 / rate
    assert found.canonical("energy_per_token") == pytest.approx(joules, rel=1e-12)
    assert found.canonical("node_power") == pytest.approx(8 * watts(1, arithmetic) * 1.45, rel=1e-12)


def test_a_measured_clock_gives_its_own_power_and_energy():
    ours = IterationModel().solve(**DECODE, tp_size=2)
    slower = IterationModel().solve(**DECODE, tp_size=2, measured_iteration_time=2 * ours.iteration_time)
    assert slower.canonical("iteration_time") == ours.canonical("iteration_time")
    assert slower.flop_share == pytest.approx(ours.flop_share / 2, rel=1e-12)
    ratio = slower.canonical("device_power") / ours.canonical("device_power")
    assert 0.5 < ratio < 1
    assert slower.canonical("energy_per_token") == pytest.approx(
        2 * ratio * ours.canonical("energy_per_token"), rel=1e-12
    )
    same = IterationModel().solve(**DECODE, tp_size=2, measured_iteration_time=ours.iteration_time)
    assert same.canonical("energy") == pytest.approx(ours.canonical("energy"), rel=1e-12)


def test_a_limit_stretches_an_iteration_of_arithmetic_and_saves_energy():
    """Capping power lowers efficiencies by the stretch; an iteration that reads is hardly longer."""
    run = {**DECODE, "tp_size": 2, "prompts": 4, "seq_len": 4096}
    capped = IterationModel("capped").solve(**run, power_limit=400)
    stretch = capped.clock_stretch
    assert stretch > 1.1
    efficiencies = {name: capped[name] / stretch for name in ("efficiency", "prefill_attention_efficiency")}
    slower = IterationModel().solve(**run, **efficiencies).canonical("iteration_time")
    assert capped.canonical("capped_iteration_time") == pytest.approx(slower, rel=1e-12)
    free = IterationModel("capped").solve(**run)
    assert free.clock_stretch == 1
    assert free.canonical("capped_iteration_time") == pytest.approx(free.canonical("iteration_time"), rel=1e-12)
    assert capped.canonical("energy_per_token") < free.canonical("energy_per_token")
    reading = IterationModel("capped").solve(**DECODE, tp_size=2, power_limit=400)
    assert reading.canonical("capped_iteration_time") < 1.02 * reading.canonical("iteration_time")
    never = IterationModel("capped").solve(**run, power_limit=80)
    assert never.canonical("capped_iteration_time") == never.canonical("energy_per_token") == math.inf


def test_one_device_waits_between_iterations_and_a_busy_share_may_be_given():
    found = IterationModel().solve(**DECODE, measured_iteration_time="100 ms")
    bytes_read, arithmetic = found.canonical("iteration_bytes"), found.flop_share
    assert found.busy_share == pytest.approx(bytes_read / (0.7 * 3350e9 * 0.1) + 2 * arithmetic + 32 * 50e-6 / 0.1)
    given = IterationModel().solve(**DECODE, tp_size=2, measured_busy_share=0.4)
    assert given.busy_share == 0.4
    assert given.canonical("device_power") == pytest.approx(watts(0.4, given.flop_share), rel=1e-12)


def test_operations_of_eight_bit_cost_less():
    wide, narrow = (IterationModel().solve(**{**DECODE, "precision": precision}, measured_iteration_time=10, tp_size=2)
                    for precision in ("bf16", "w8a8"))  # fmt: skip
    assert narrow.flop_share == pytest.approx(0.65 * wide.flop_share, rel=1e-12)
    stored = IterationModel().solve(**{**DECODE, "precision": "w4a16"}, measured_iteration_time=10, tp_size=2)
    assert stored.flop_share == pytest.approx(wide.flop_share, rel=1e-12)


@pytest.mark.parametrize("more", [{}, {"stack": "Generic"}])
def test_a_sweep_over_formats_takes_the_energy_of_each(more):
    """Also where the stack is the default."""
    asked = {"model": "Llama3_8B", "hardware": "H100", "decode_requests": 16, "seq_len": 1024, "prompts": 1, **more}
    formats = ["bf16", "fp8"]
    found = IterationModel().sweep(**asked, precision=formats, outputs=["device_power"]).device_power.values
    alone = [IterationModel().solve(**asked, precision=each).canonical("device_power") for each in formats]
    assert found.tolist() == pytest.approx(alone, rel=1e-12)


def test_arithmetic_of_a_deployment_is_that_of_its_iterations():
    """All requests of a day, prefilled once and decoded token by token."""
    found = ServingModel("chunked_estimate").solve_example()
    layout = {name: ServingModel.example[name] for name in ("model", "hardware", "precision", "tp_size", "stack")}
    prefill = IterationModel().solve(**layout, prompts=1, seq_len=1024).canonical("iteration_flops")
    step = IterationModel().solve(**layout, decode_requests=1, context_tokens=1024 + 128).canonical("iteration_flops")
    each = 4 * (prefill + 255 * step)
    assert found.canonical("request_flops") == pytest.approx(each, rel=1e-9)
    peak = found.canonical("accelerators") * found.canonical("attention_peak_flops")
    assert found.flop_share == pytest.approx(0.65 * 20 * each / peak, rel=1e-9)


def test_a_training_step_draws_by_the_operations_that_it_carries_out():
    found = DistributedModel.solve_example()
    arithmetic = found.canonical("hardware_flops") / (256 * 989e12 * found.canonical("step_time"))
    busy = found.canonical("mean_compute_time") / found.canonical("step_time")
    assert found.canonical("device_power") == pytest.approx(watts(busy, arithmetic), rel=1e-3)
    steps = found.canonical("energy_per_step") * found.training_steps
    assert steps == pytest.approx(found.canonical("energy"), rel=1e-12)


def test_the_line_of_load_gives_the_power_of_earlier_versions():
    found = DistributedModel("load_line").solve(**DistributedModel.example)
    busy = found.canonical("mean_compute_time") / found.canonical("step_time")
    assert found.canonical("average_power") == pytest.approx(256 * 700 * (0.3 + 0.7 * busy), rel=1e-12)
    assert "flop_share" not in found.outputs
    found = EconomicsModel("owned_fleet_load_line").solve(**FLEET, busy_share=0.5)
    assert found.canonical("device_power") == pytest.approx(455)


@pytest.mark.parametrize("model", [IterationModel(), DistributedModel()], ids=lambda m: m.command)
def test_without_a_power_there_is_an_answer_and_no_energy(model):
    bare = {
        "memory_capacity": 80, "memory_bandwidth": 3350, "peak_flops": 989, "attention_peak_flops": 989,
        "link_bandwidth": 450, "node_bandwidth": 450, "accelerators_per_node": 8, "fabric_bandwidth": 50,
        "fabric_latency": 5,
    }  # fmt: skip
    given = {name: value for name, value in model.example.items() if name not in ("hardware", "fleet", "stack")}
    given |= {name: value for name, value in bare.items() if name in model.arguments}
    given |= {"fleet_size": 256} if model.command == "train" else {}
    found = model.solve(**given)
    assert found[model.answer] > 0
    with pytest.raises(UnknownNameError, match=r"it needs tdp=\.\.\."):
        _ = found.energy_per_token


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"measured_busy_share": 1.5}, "measured_busy_share=1.5: must be"),
        ({"measured_iteration_time": -1}, "measured_iteration_time=-1: must be"),
        ({"used_share": 0}, "used_share=0: must be"),
        ({"cap_exponent": 0.5}, "cap_exponent=0.5: must be"),
        ({"grid": "Swedn"}, "unknown grid 'Swedn': did you mean Sweden"),
        ({"lifetime": 0}, "lifetime=0: must be"),
    ],
    ids=str,
)
def test_what_is_refused(bad, message):
    with pytest.raises((InputError, UnknownNameError), match=message.split(":")[0]) as refused:
        IterationModel().solve(**DECODE, **bad)
    assert str(refused.value).startswith(message)


def test_more_load_never_draws_less():
    grid = IterationModel().sweep(**{**DECODE, "decode_requests": [1, 4, 16, 64, 256]}, outputs=["device_power"])
    drawn = grid.device_power.values.tolist()
    assert all(few <= many for few, many in itertools.pairwise(drawn))


def test_a_batch_draws_by_its_prompts_and_its_steps():
    run = {"model": "Llama3_8B", "hardware": "H100", "precision": "bf16", "tp_size": 2, "seq_len": 1024}
    found = IterationModel("static").solve(**run, decode_requests=16, output_tokens=129)
    prompts = IterationModel().solve(**run, prompts=16).canonical("iteration_flops")
    step = IterationModel().solve(**run, decode_requests=16, context_tokens=1024 + 129 / 2).canonical("iteration_flops")
    work = prompts + 128 * step
    assert found.canonical("request_flops") == pytest.approx(2 * work / 16, rel=1e-9)
    whole = found.canonical("e2e_mean")
    assert found.flop_share == pytest.approx(work / (whole * 989e12), rel=1e-3)
    joules = found.canonical("average_power") * 1.45 * 1.2 / found.canonical("output_tokens_per_second")
    assert found.canonical("energy_per_token") == pytest.approx(joules, rel=1e-12)
