"""The formulas of a step against schedules executed event by event, on random layouts."""

import random

import pytest
from simulated.pipeline_schedule import gathered, gathered_and_reduced, overlapped, pipeline

from mlsysim.backends import compiled
from mlsysim.formulas import activations, data_parallel_traffic, pipeline_schedule
from mlsysim.symbolic import System

PIPELINE = compiled(
    System(
        [
            pipeline_schedule.fill_share,
            pipeline_schedule.bubble_time,
            pipeline_schedule.bubble_fraction,
            pipeline_schedule.exposed_sends,
        ]
    )
)
IN_FLIGHT = compiled(System([activations.in_flight_micro_batches]))
EXPOSED = compiled(System(data_parallel_traffic.EXPOSED))
#: One micro-batch at a time.
ALONE = {"two_batch_overlap": 0, "layers_per_stage": 4}
LAYOUTS = range(50)


def drawn(seed):
    rng = random.Random(f"step {seed}")
    p, v = rng.randint(2, 8), rng.choice([1, 1, 2, 3, 5])
    forward = rng.uniform(0.1, 2)
    return rng, p, v, p * rng.randint(1, 6), forward, 2 * forward


@pytest.mark.parametrize("seed", LAYOUTS)
def test_pipelines(seed):
    """1F1B and interleaved, with sends that a stage computes beside."""
    rng, p, v, g, forward, backward = drawn(seed)
    send = rng.random() * forward / v
    executed = pipeline(p, g, v, forward, backward, send, "interleaved" if v > 1 else "1f1b")
    inputs = {"pp_size": p, "interleaved_stages": v, "micro_batches": g, "send_time": send, "pipeline_schedule": 0}
    found = PIPELINE(
        {**inputs, "recomputed_products": 0, "weight_gradient_share": 1, "micro_batch_time": forward + backward,
         "stage_wait_time": 0}
    )  # fmt: skip
    ours = g * (forward + backward) + found["bubble_time"] + found["pp_time"]
    assert ours == pytest.approx(executed.makespan, rel=0.02)


@pytest.mark.parametrize("seed", LAYOUTS)
def test_gpipe(seed):
    """Everything forward, then everything backward: as fast, and all micro-batches are held."""
    rng, p, _, g, forward, backward = drawn(seed)
    send = rng.random() * forward
    executed = pipeline(p, g, 1, forward, backward, send, "gpipe")
    inputs = {"pp_size": p, "interleaved_stages": 1, "micro_batches": g, "send_time": send, "pipeline_schedule": 1}
    found = PIPELINE(
        {**inputs, "recomputed_products": 0, "weight_gradient_share": 1, "micro_batch_time": forward + backward,
         "stage_wait_time": 0}
    )  # fmt: skip
    ours = g * (forward + backward) + found["bubble_time"] + found["pp_time"]
    assert ours == pytest.approx(executed.makespan, rel=0.02)
    held = IN_FLIGHT({**inputs, **ALONE})["in_flight_micro_batches"]
    assert held == executed.in_flight[0] == g


@pytest.mark.parametrize("seed", LAYOUTS)
def test_micro_batches_in_flight(seed):
    _, p, v, g, forward, backward = drawn(seed)
    executed = pipeline(p, g, v, forward, backward, 0.0, "interleaved" if v > 1 else "1f1b")
    held = IN_FLIGHT({"pp_size": p, "interleaved_stages": v, "micro_batches": g, "pipeline_schedule": 0, **ALONE})
    assert held["in_flight_micro_batches"] == pytest.approx(executed.in_flight[0], rel=1e-12)


@pytest.mark.parametrize("seed", LAYOUTS)
def test_bubbles(seed):
    _, p, v, g, forward, backward = drawn(seed)
    executed = pipeline(p, g, v, forward, backward, 0.0, "interleaved" if v > 1 else "1f1b")
    inputs = {"pp_size": p, "interleaved_stages": v, "micro_batches": g, "send_time": 0.0, "pipeline_schedule": 0}
    found = PIPELINE(
        {**inputs, "recomputed_products": 0, "weight_gradient_share": 1, "micro_batch_time": forward + backward,
         "stage_wait_time": 0}
    )  # fmt: skip
    assert found["bubble_fraction"] == pytest.approx(executed.bubble, rel=1e-9)


def exposed(stage, g, layers, forward, backward, gather, reduce, cost):
    """Traffic that a step does not hide, and what the hidden costs, executed layer by layer."""
    if stage == 0:
        return overlapped(layers, backward, 2 * reduce).exposed
    before = gathered(layers, forward, gather, cost=cost if stage > 1 else 0.0).exposed
    if stage == 1:
        return overlapped(layers, backward, reduce).exposed + before
    if stage == 2:
        return g * overlapped(layers, backward, reduce, cost=cost).exposed + before
    return g * (gathered_and_reduced(layers, backward, gather, reduce, cost=cost).exposed + before)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("seed", LAYOUTS)
def test_data_parallel_traffic(seed, stage):
    """From ZeRO-2 on traffic and computing slow each other down while they run beside each other."""
    rng = random.Random(f"traffic {seed}")
    layers, g, forward = rng.randint(2, 60), rng.randint(1, 8), rng.uniform(0.1, 2)
    gather, reduce = (10 ** rng.uniform(-2, 1) for _ in range(2))
    cost = rng.choice([0, rng.random(), 1])
    found = EXPOSED(
        {
            "zero_stage": stage,
            "micro_batches": g,
            "layers_per_stage": layers,
            "free_link_time": 3 * forward,
            "forward_share": 1 / 3,
            "dp_overlap": 1.0,
            "hidden_traffic_cost": cost,
            "gradient_reduction_time": reduce,
            "gradient_all_reduce_time": 2 * reduce,
            "weight_gather_time": gather,
        }
    )["dp_time"]
    executed = exposed(stage, g, layers, forward, 2 * forward, gather, reduce, cost)
    assert found == pytest.approx(executed, rel=0.02)
