"""A step of post-training: by the models that it calls, by brute force, and what it refuses."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from mlsysim import DistributedModel, IterationModel, PostTrainingModel
from mlsysim.errors import MlsysimError

JOB: dict[str, Any] = dict(PostTrainingModel.example)
SPLIT: dict[str, Any] = {"rollout_accelerators": 8}
#: Constants of a stack that change nothing.
PLAIN: dict[str, Any] = {
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


@pytest.mark.parametrize(("staleness", "slots"), [(0.1, 1024), (1, 1024), (4, 1024), (0.2, 32), (2, 32)])
def test_further_samples_conserve_tokens(step, staleness, slots):
    """As many tokens are decoded as the samples of a step have, whatever is started beside."""
    found = PostTrainingModel().solve(**JOB, staleness=staleness, max_num_seqs=slots)
    batch, end, scale = (found.canonical(name) for name in ("rollout_batch", "rollout_steps", "response_scale"))
    decoded = batch * (found.canonical("full_steps") + scale * (1 - math.exp(-end / scale)))
    assert decoded == pytest.approx(found.canonical("replica_samples") * 1019, rel=0.01)
    assert found.canonical("rollout_time") <= PostTrainingModel().solve(**JOB, max_num_seqs=slots).canonical(
        "rollout_time"
    )


def test_further_samples_are_of_no_use_where_the_cap_cuts_as_many():
    given = {**JOB, "mean_response_length": 3300}
    alone, more = (PostTrainingModel().solve(**given, staleness=each) for each in (0, 0.5))
    assert more.cut_share > 1 / 3
    assert more.rollout_time == alone.rollout_time


@pytest.mark.parametrize(
    ("variant", "given"),
    [
        ("disaggregated", {"critic": "policy_size", "max_num_seqs": 64}),
        ("one_step_off", {"max_num_seqs": 32}),
        ("one_step_off", {"max_num_seqs": 32, "staleness": 2}),
        ("fully_asynchronous", {"max_num_seqs": 32}),
        ("fully_asynchronous", {"staleness": 0.2}),
    ],
)
def test_the_best_split_where_requests_wait_for_slots(variant, given):
    model, given = PostTrainingModel(variant), {**JOB, "fleet_size": 64, **given}
    steps = model.sweep(**given, rollout_accelerators=list(range(8, 64, 8)), outputs=["step_time"]).step_time
    assert model.solve(**given).canonical("step_time") <= 1.03 * float(steps.min())


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
    assert stays.phase_bottleneck == "Rollout memory"
    critic = PostTrainingModel().solve(**JOB, critic="policy_size")
    assert critic.update_time.magnitude == pytest.approx(2 * step.update_time.magnitude)
    assert critic.logprob_time.magnitude == pytest.approx(1.5 * step.logprob_time.magnitude)


@pytest.mark.parametrize("staleness", [0, 4])
def test_caches_hold_the_cap_whatever_the_schedule(staleness):
    """An engine whose caches are shorter than its cap does not start."""
    given = {"mean_response_length": 2000, "max_response_length": 100_000, "gpu_memory_utilization": 0.3}
    found = PostTrainingModel("fully_asynchronous").solve(**{**JOB, **given}, **SPLIT, staleness=staleness)
    assert found.rollout_cache_tokens.magnitude < 100_000
    assert not found.feasible


def test_what_leaves_a_pool_that_trains_is_on_its_host():
    model = PostTrainingModel("one_step_off")
    stays, moved = (model.solve(**JOB, **SPLIT, critic="policy_size", offload=each) for each in ("none", "all"))
    gone = (stays.trainer_memory - moved.trainer_memory).to("GB").magnitude
    assert stays.host_memory.magnitude == 0
    assert moved.host_memory.to("GB").magnitude == pytest.approx(8 * gone)


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


def test_arithmetic_is_that_of_two_operations_per_parameter_and_of_attention(step):
    """Counted by hand for Llama 3.1 8B: 32 layers, grouped queries of 8 of 32 heads, a head that prompts use once."""
    layers, head = 32 * (2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336), 4096 * 128256
    scores = 4 * 4096 * 32
    context = step.rollout_context.to("token/request").magnitude
    prompt = 2 * (127 * layers + head) + scores * 127**2 / 2
    decoded = 1019 * (2 * (layers + head) + scores * context)
    assert step.rollout_flops.to("PFLOP").magnitude == pytest.approx(2048 * (prompt + decoded) / 1e15, rel=0.002)
    passes = 2048 * 1146 * 2 * (layers + head) / 1e15
    # Forward, backward and recomputation of all but the head, and two more passes forward.
    assert step.update_flops.to("PFLOP").magnitude == pytest.approx(6 * passes, rel=0.06)


def test_an_update_computes_what_its_training_steps_do(step):
    sequences, ranks = step.update_sequences, step.update_dp_size
    trained = DistributedModel().solve(
        model=JOB["model"], hardware=JOB["hardware"], stack=JOB["stack"], fleet_size=16, precision="bf16",
        batch_size=sequences * ranks, gradient_accumulation_steps=sequences, seq_len=4096, document_len=127 + 1019,
        activation_checkpointing="full", zero_stage=1, fabric_bandwidth="50 GB/s", fabric_latency="2.5 us",
    )  # fmt: skip
    computed = trained.hfu * trained.step_time.to("s").magnitude * 16 * 989.5e12
    packed = step.pack_fill * 4 * (1 + 2 / 4)
    assert step.update_flops.to("FLOP").magnitude == pytest.approx(computed * packed, rel=1e-3)
    assert step.update_busy_share == pytest.approx(trained.busy_share, rel=1e-3)


@pytest.mark.parametrize("variant", PostTrainingModel.variants)
def test_energy_is_that_of_phases_and_of_waiting(variant):
    """Power by its law at the shares of all phases together; a pool that waits lowers both."""
    found = PostTrainingModel(variant).solve(**JOB, duration=2)
    length = found.step_time.to("s").magnitude
    rolling = found.rollout_pool * found.rollout_time.to("s").magnitude * found.rollout_busy_share
    training = found.update_pool * (found.update_time + found.logprob_time).to("s").magnitude
    assert found.busy_share == pytest.approx((rolling + training * found.update_busy_share) / (16 * length))
    computed = (found.rollout_flops + found.update_flops).to("TFLOP").magnitude
    assert found.flop_share == pytest.approx(computed / (16 * length * 989.5), rel=1e-3)
    watts = 700 * (1 - 0.88 * math.exp(-found.busy_share - 5.21 * found.flop_share))
    assert found.device_power.to("W").magnitude == pytest.approx(watts, rel=1e-3)
    assert found.training_steps == pytest.approx(2 * 86400 / length)
    joules = 16 * watts * 1.45 * 1.2 * length
    assert found.energy_per_step.to("J").magnitude == pytest.approx(joules, rel=1e-3)
    assert found.energy_per_token.to("J/token").magnitude == pytest.approx(joules / (2048 * 1146), rel=1e-3)


def test_a_pool_that_waits_draws_less_and_costs_more():
    at_once, in_turn = (
        PostTrainingModel(each).solve(**JOB, **SPLIT, rest_stretch=1, sync_bandwidth="1e6 GB/s")
        for each in ("one_step_off", "disaggregated")
    )
    idle = (in_turn.rollout_idle_share + in_turn.update_idle_share) / 2
    assert in_turn.busy_share == pytest.approx(1 - idle, rel=0.01)
    assert in_turn.device_power < at_once.device_power
    assert in_turn.energy_per_step > at_once.energy_per_step


def test_formats_grids_and_engines_have_their_own_energy(step):
    assert PostTrainingModel().solve(**JOB, rollout_format_energy=0).flop_share == pytest.approx(
        step.flop_share * step.update_flops / (step.rollout_flops + step.update_flops)
    )
    eight = PostTrainingModel().solve(**JOB, rollout_precision="w8a8")
    assert eight.rollout_flops.magnitude == pytest.approx(step.rollout_flops.magnitude)
    assert eight.energy_per_step < step.energy_per_step
    france = PostTrainingModel().solve(**JOB, grid="France")
    assert france.energy == step.energy
    assert france.operational_carbon < step.operational_carbon
    half = PostTrainingModel().solve(**JOB, kept_group_share=0.5)
    assert half.rollout_flops.magnitude == pytest.approx(2 * step.rollout_flops.magnitude)


@pytest.mark.parametrize("variant", ["disaggregated", "one_step_off", "fully_asynchronous"])
@pytest.mark.parametrize(("fleet", "ranks"), [(24, 2), (64, 1), (64, 4)])
def test_the_default_split_is_accepted_when_typed(variant, fleet, ranks):
    model, given = PostTrainingModel(variant), {**JOB, "fleet_size": fleet, "rollout_tp_size": ranks}
    found = model.solve(**given)
    typed = model.solve(**given, rollout_accelerators=int(found.rollout_pool))
    assert found.rollout_pool % 8 == 0
    assert typed.step_time == found.step_time
