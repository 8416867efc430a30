"""Power, energy, carbon and water by public calls: bounds, directions, identities, and what is refused."""

import numpy as np
import pytest

from mlsysim import DistributedModel, EconomicsModel, Hardware, IterationModel
from mlsysim.errors import InputError, MlsysimError

FLEET, ENGINE = EconomicsModel("rented_fleet"), IterationModel()
LOAD = {"hardware": "H100", "accelerators": 8, "run_tokens": 1e9, "rental_price": 2}
ASKED = {"model": "Llama3_8B", "decode_requests": 16, "context_tokens": 500}
SHARES = np.linspace(0, 1, 21)
POWERED = [name for name in Hardware.Cloud if Hardware.Cloud[name].tdp is not None]


@pytest.fixture(scope="module")
def watts():
    """Power along both shares, of a capped device too."""
    found = FLEET.sweep(
        **LOAD,
        busy_share=SHARES,
        flop_share=SHARES,
        power_limit=["700 W", "450 W"],
        outputs=["device_power", "clock_stretch"],
    )
    return found.transpose("busy_share", "flop_share", "power_limit")


class TestTheLaw:
    def test_lies_between_idling_and_the_limit(self, watts):
        power = watts.device_power.values
        assert power.min() == pytest.approx(0.12 * 700)
        assert power[..., 0].max() < 700
        assert power[..., 1].max() == pytest.approx(450)

    def test_rises_in_both_shares(self, watts):
        power = watts.device_power.values[..., 0]
        assert (np.diff(power, axis=0) > 0).all()
        assert (np.diff(power, axis=1) > 0).all()

    def test_is_concave_so_that_a_mean_of_phases_reads_lower(self, watts):
        power = watts.device_power.values[..., 0]
        assert (np.diff(power, 2, axis=0) < 0).all()
        assert (np.diff(power, 2, axis=1) < 0).all()

    def test_a_limit_stretches_arithmetic_where_it_binds_and_nowhere_else(self, watts):
        free, stretch = watts.device_power.values[..., 0], watts.clock_stretch.values
        assert (stretch[..., 0] == 1).all()
        assert ((stretch[..., 1] > 1) == (free > 450)).all()

    def test_a_limit_above_the_default_one_changes_nothing(self):
        high, plain = FLEET.solve(**LOAD, power_limit="900 W"), FLEET.solve(**LOAD)
        assert high.device_power == plain.device_power
        assert high.clock_stretch == 1

    def test_the_lower_the_limit_the_longer_arithmetic_takes(self):
        found = FLEET.sweep(**LOAD, power_limit=["300 W", "400 W", "500 W", "600 W"], outputs="clock_stretch")
        assert (np.diff(found.clock_stretch.values) < 0).all()


@pytest.mark.parametrize(
    ("hardware", "busy", "flops", "watts"),
    [("H100", 1, 0.10, 565.4), ("H100", 1, 0.35, 663.4), ("H100", 0, 0, 84.0), ("B200", 0.3, 0.02, 412.6)],
)
def test_worked_examples(hardware, busy, flops, watts):
    found = FLEET.solve(**{**LOAD, "hardware": hardware}, busy_share=busy, flop_share=flops)
    assert found.canonical("device_power") == pytest.approx(watts, abs=0.05)


def test_a_worked_example_of_energy_per_token():
    """Eight devices of 565.4 W that give 40,000 tokens a second."""
    day = {**LOAD, "run_tokens": 40_000 * 86_400, "duration": "1 day"}
    found = FLEET.solve(**day, flop_share=0.10, host_power_fraction=0.45, pue=1.2)
    assert found.canonical("energy_per_token") == pytest.approx(0.19676, rel=1e-4)


@pytest.mark.parametrize("device", POWERED)
def test_every_device_draws_between_idling_and_its_limit(device):
    entry = Hardware.Cloud[device]
    found = ENGINE.solve(**ASKED, hardware=entry, precision="bf16" if "bf16" in entry.peak_flops else "fp16")
    limit = entry.tdp.canonical
    assert 0.12 * limit <= found.canonical("device_power") < limit


def test_narrower_formats_draw_less_in_the_same_time():
    same = {**ASKED, "hardware": "H100", "decode_requests": 256, "measured_iteration_time": "20 ms"}
    wide, narrow = (ENGINE.solve(**same, precision=precision) for precision in ("bf16", "fp8"))
    assert narrow.flop_share == pytest.approx(0.65 * wide.flop_share)
    assert narrow.device_power < wide.device_power


def test_energy_is_power_over_time():
    found = ENGINE.solve(**ASKED, hardware="H100", tp_size=2, duration="3 day", host_power_fraction=0.5, pue=1.1)
    watts = 2 * found.canonical("device_power")
    assert found.canonical("average_power") == pytest.approx(watts)
    assert found.canonical("energy") == pytest.approx(watts * 1.5 * 1.1 * 3 * 86400)
    assert found.canonical("energy_per_token") == pytest.approx(
        found.canonical("energy") / found.canonical("run_tokens")
    )


def test_a_measured_clock_sets_energy_per_token():
    slow, slower = (ENGINE.solve(**ASKED, hardware="H100", measured_iteration_time=f"{ms} ms") for ms in (20, 40))
    assert slower.device_power < slow.device_power
    assert slower.energy_per_token > slow.energy_per_token
    assert slow.iteration_time == slower.iteration_time


def test_parts_of_carbon_and_water_add_up():
    found = ENGINE.solve(**ASKED, hardware="H100", grid="US", duration="1 day")
    assert found.canonical("carbon") == pytest.approx(
        found.canonical("operational_carbon") + found.canonical("embodied_carbon")
    )
    assert found.canonical("water") == pytest.approx(
        found.canonical("site_water_use") + found.canonical("grid_water_use")
    )
    # 164 kg of a device and 712.5 of its host over four years in service, six tenths of which are used.
    assert found.embodied_carbon.to("kg").magnitude == pytest.approx((164 + 712.5) / (1460 * 0.6), rel=1e-9)


def test_a_step_of_training_lies_below_the_limit_and_a_light_one_waits():
    step = DistributedModel()
    run = {"model": "Llama3_2_1B", "hardware": "H200", "fleet_size": 1, "batch_size": 1, "precision": "bf16"}
    light, full = (step.solve(**run, seq_len=tokens).canonical("device_power") for tokens in (128, 8192))
    assert light < 0.5 * 700
    assert 0.9 * 700 < full < 700


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pue": 0.9}, "pue.*0.9.*1"),
        ({"busy_share": 1.2}, "busy_share.*1.2"),
        ({"flop_share": -0.1}, "flop_share.*-0.1"),
        ({"idle_power_fraction": 1.5}, "idle_power_fraction.*1.5"),
        ({"used_share": 0}, "used_share.*0"),
        ({"lifetime": "0 day"}, "lifetime.*0"),
        ({"power_limit": "-1 W"}, "power_limit.*-1"),
        ({"power_limit": "700 J"}, "power_limit.*J"),
        ({"host_power_fraction": -0.2}, "host_power_fraction.*-0.2"),
        ({"grid_carbon": "0.4 kg"}, "grid_carbon.*kg"),
        ({"busy_shares": 1}, "busy_shares.*busy_share"),
        ({"power_cap": "500 W"}, "power_cap"),
    ],
)
def test_bad_numbers_are_refused_by_name(given, said):
    with pytest.raises((InputError, MlsysimError, TypeError), match=said):
        FLEET.solve(**LOAD, **given)
