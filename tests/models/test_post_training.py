"""A step of post-training: by the models that it calls, by brute force, and what it refuses."""

import math
from itertools import pairwise

import numpy as np
import pytest

from mlsysim import DistributedModel, IterationModel, PostTrainingModel
from mlsysim.errors import MlsysimError

JOB = PostTrainingModel.example
SPLIT = {"rollout_accelerators": 8}
#: Constants of a stack that change nothing.
PLAIN = {
    "rollout_stretch": 1, "update_stretch": 1, "refit_time": 0, "refit_bandwidth": "20 GB/s", "rest_stretch": 1
}  # fmt: skip


@pytest.fixture(scope="module")
def step():
    return PostTrainingModel().solve(**JOB)


def test_a_step_is_the_sum_of_its_phases(step):
    phases = step.rollout_time + step.logprob_time + step.update_time + step.sync_time
    assert step.step_time.magnitude == pytest.approx(1.03 * phases.to("s").magnitude)
    assert step.samples_per_second.magnitude == pytest.approx(2048 / step.step_time.magnitude)


def test_phases_of_two_pools_hide_each_other():
    apart = PostTrainingModel("one_step_off").solve(**JOB, **SPLIT)
    trained = (apart.update_time + apart.logprob_time).to("s").magnitude
    longest = max(apart.rollout_time.to("s").magnitude, trained)
    assert apart.step_time.magnitude == pytest.approx(1.03 * (longest + apart.sync_time.to("s").magnitude))
    assert min(apart.rollout_idle_share, apart.update_idle_share) == 0
    one_by_one = PostTrainingModel("disaggregated").solve(**JOB, **SPLIT)
    assert one_by_one.rollout_time == apart.rollout_time
    assert one_by_one.rollout_idle_share + one_by_one.update_idle_share == pytest.approx(1)
    assert (one_by_one.mean_staleness, apart.mean_staleness) == (0, 1)


def test_an_update_is_a_training_step_on_packs(step):
    sequences, ranks = step.update_sequences, step.update_dp_size
    trained = DistributedModel().solve(
        model=JOB["model"], hardware=JOB["hardware"], stack=JOB["stack"], fleet_size=16, precision="bf16",
        batch_size=sequences * ranks, gradient_accumulation_steps=sequences, seq_len=4096, document_len=127 + 1019,
        activation_checkpointing="full", zero_stage=1, training_tokens=1e9, fabric_bandwidth="50 GB/s",
        fabric_latency="2.5 us",
    )  # fmt: skip
    assert step.update_step_time.to("s").magnitude == pytest.approx(trained.step_time.to("s").magnitude, rel=1e-3)
    assert step.trainer_weights.to("GB").magnitude == pytest.approx(trained.weights.to("GB").magnitude)


def engine(requests, context):
    given = {"decode_requests": requests, "context_tokens": context, "precision": "bf16"}
    return IterationModel().solve(model=JOB["model"], hardware=JOB["hardware"], stack=JOB["rollout_stack"], **given)


@pytest.mark.parametrize(("response", "cap", "within"), [(1019, 3969, 0.05), (3000, 3600, 0.05)])
def test_a_rollout_is_the_integral_of_steps_of_its_engine(response, cap, within):
    """Each step of the engine is asked for by itself, at the requests that are left and the context they have."""
    given = {**JOB, **PLAIN, "mean_response_length": response, "max_response_length": cap}
    found = PostTrainingModel().solve(**given)
    scale, requests = found.response_scale.magnitude, 128
    ends = np.unique(np.concatenate([np.linspace(0, cap, 25), scale * np.log(128 / np.array([64, 32, 16, 8, 4, 2]))]))
    ends = ends[ends <= cap]
    spent = 0.0
    for low, high in pairwise(ends):
        place = (low + high) / 2
        left = max(1.0, requests * math.exp(-place / scale))
        spent += (high - low) * engine(left, left and 127 + place).iteration_time.to("s").magnitude
    decoded = (found.rollout_time - found.prompts_time).to("s").magnitude
    assert decoded == pytest.approx(spent, rel=within)


def test_responses_of_one_length_never_leave_the_engine():
    given = {**JOB, **PLAIN, "mean_response_length": 2000, "max_response_length": 2000}
    found = PostTrainingModel().solve(**given)
    together = 2000 * engine(128, 127 + 1000).iteration_time.to("s").magnitude
    assert (found.rollout_time - found.prompts_time).to("s").magnitude == pytest.approx(together, rel=0.01)
    varied = PostTrainingModel().solve(**{**given, "mean_response_length": 1990, "response_cv": 0.02})
    assert varied.rollout_time.magnitude == pytest.approx(found.rollout_time.magnitude, rel=0.02)


def test_laws_of_lengths_keep_the_mean():
    """Means and squares after the cut, against draws."""
    draws = np.random.default_rng(5)
    for given, drawn in (
        ({}, lambda r: draws.exponential(r.response_scale.magnitude, 400_000)),
        ({"response_cv": 0.7}, lambda r: draws.lognormal(
            math.log(r.response_scale.magnitude), math.sqrt(math.log(1.49)), 400_000)),
    ):  # fmt: skip
        found = PostTrainingModel().solve(**{**JOB, **given})
        cut = np.minimum(drawn(found), 3969)
        assert cut.mean() == pytest.approx(1019, rel=0.01)
        assert (cut**2).mean() == pytest.approx(found.response_square.magnitude, rel=0.01)
        assert (cut == 3969).mean() == pytest.approx(found.cut_share, abs=0.002)
        longest = np.mean([np.minimum(drawn(found), 3969)[:200_000].reshape(-1, 100).max(axis=1).mean()])
        few = PostTrainingModel().solve(**{**JOB, **given, "num_prompts": 25, "num_generations": 4})
        assert few.longest_response_low.magnitude == pytest.approx(longest, rel=0.02)


def test_further_samples_end_a_rollout_sooner(step):
    more = PostTrainingModel().solve(**JOB, staleness=0.1)
    assert more.rollout_steps.magnitude == pytest.approx(step.response_scale.magnitude * math.log(11))
    assert more.rollout_time < step.rollout_time


@pytest.mark.parametrize("variant", ["disaggregated", "one_step_off", "fully_asynchronous"])
def test_the_best_split_is_that_of_a_proven_search(variant):
    model, given = PostTrainingModel(variant), {**JOB, "fleet_size": 64}
    splits = list(range(8, 64, 8))
    designs = model.search(minimize="step_time", **given, rollout_accelerators=splits)
    steps = {each: model.solve(**given, rollout_accelerators=each).step_time.magnitude for each in splits}
    assert designs.best.step_time.magnitude == pytest.approx(min(steps.values()))
    found = model.solve(**given)
    assert found.rollout_pool == found.best_rollout_accelerators
    assert found.step_time.magnitude <= 1.03 * min(steps.values())


def test_an_engine_has_a_format_of_its_own(step):
    eight = PostTrainingModel().solve(**JOB, rollout_precision="w8a8")
    assert eight.update_time == step.update_time
    assert eight.rollout_time < step.rollout_time
    assert eight.sync_time == step.sync_time
    slow = PostTrainingModel().solve(**JOB, rollout_memory_efficiency=0.4)
    assert slow.rollout_time > step.rollout_time
    assert slow.update_time == step.update_time


def test_memory_follows_what_is_moved_to_the_host(step):
    stays = PostTrainingModel().solve(**JOB, offload="none")
    assert stays.rollout_memory > step.rollout_memory
    assert stays.host_memory < step.host_memory
    assert not stays.feasible
    assert stays.phase_bottleneck == "Memory"
    critic = PostTrainingModel().solve(**JOB, critic="policy_size")
    assert critic.update_time.magnitude == pytest.approx(2 * step.update_time.magnitude)
    assert critic.logprob_time.magnitude == pytest.approx(1.5 * step.logprob_time.magnitude)


def test_dropped_groups_repeat_the_rollout(step):
    half = PostTrainingModel().solve(**JOB, kept_group_share=0.5)
    assert half.rollout_time.magnitude == pytest.approx(2 * step.rollout_time.magnitude)


@pytest.mark.parametrize(
    ("variant", "given", "said"),
    [
        ("colocated", {"mean_response_length": 5000}, "mean_response_length=5000.*at most max_response_length"),
        ("colocated", {"rollout_tp_size": 3}, "rollout_tp_size=3"),
        ("colocated", {"rollout_ep_size": 2}, "rollout_ep_size=2: must divide rollout_tp_size=1"),
        ("colocated", {"rollout_accelerators": 4}, "the variant colocated does not use it"),
        ("colocated", {"longest_response": 500}, "longest_response=500.*at least mean_response_length"),
        ("colocated", {"pack_length": 1000}, "pack_length=1000.*must hold a sample"),
        ("colocated", {"critic": "large"}, "critic"),
        ("colocated", {"kept_group_share": 0}, "kept_group_share=0"),
        ("colocated", {"num_prompts": 0}, "num_prompts=0"),
        ("colocated", {"offload": "weights"}, "offload"),
        ("one_step_off", {"rollout_accelerators": 16}, "rollout_accelerators=16.*less than fleet_size"),
        (
            "one_step_off",
            {"rollout_accelerators": 8, "rollout_tp_size": 16},
            "rollout_accelerators=8: must be a multiple",
        ),
        ("one_step_off", {"fleet_size": 2, "pp_size": 2}, "fleet_size=2"),
        ("fully_asynchronous", {"staleness": -1}, "staleness=-1"),
    ],
)
def test_what_cannot_be_is_refused_by_name(variant, given, said):
    with pytest.raises(MlsysimError, match=said):
        PostTrainingModel(variant).solve(**{**JOB, **given})
