"""Refusals of a step of post-training, with their words."""

import pytest

from mlsysim import PostTrainingModel
from mlsysim.errors import InputError, MlsysimError

JOB = {
    "model": "Llama3_1_8B", "fleet": "SuperPOD_H100", "fleet_size": 16, "rollout_stack": "vLLM_2026_Hopper",
    "num_prompts": 64, "num_generations": 32, "prompt_len": 127, "mean_response_length": 1019,
    "max_response_length": 3969, "zero_stage": 1,
}  # fmt: skip
REFUSED = [
    ({"num_prompts": 0}, "num_prompts=0: must be a whole number >= 1"),
    ({"num_prompts": 1.5}, "num_prompts=1.5: must be a whole number >= 1; nearest: 1, 2"),
    ({"num_generations": -8}, "num_generations=-8: must be"),
    ({"prompt_len": 0}, "prompt_len=0: must be"),
    ({"mean_response_length": 0}, "mean_response_length=0: must be a finite number > 0"),
    ({"mean_response_length": float("nan")}, "mean_response_length=nan: must be"),
    ({"mean_response_length": 5000}, "mean_response_length=5000: must be at most max_response_length=3969"),
    ({"max_response_length": float("inf")}, "max_response_length=inf: must be"),
    ({"longest_response": 10}, "longest_response=10: must be at least mean_response_length=1019, or 0 for the cap"),
    ({"longest_response": 9999}, "longest_response=9999: must be at most max_response_length=3969, or 0 for it"),
    ({"response_cv": -1}, "response_cv=-1: must be a finite number >= 0"),
    ({"optimizer_steps": 0}, "optimizer_steps=0: must be"),
    ({"optimizer_steps": 2049}, "optimizer_steps=2049: must be at most the samples of a step: num_prompts=64 times"),
    ({"model": "BERT_base"}, "bidirectional=True: must be False here, where tokens are decoded"),
    ({"pack_length": 100}, "pack_length=100: must hold a sample: prompt_len=127 and mean_response_length=1019"),
    ({"logprob_passes": 0.5}, "logprob_passes=0.5: must be a whole number >= 0; nearest: 0, 1"),
    ({"critic": "big"}, "critic='big': must be one of none, policy_size"),
    ({"kept_group_share": 0}, "kept_group_share=0: must be a finite number > 0 and <= 1"),
    ({"staleness": -0.5}, "staleness=-0.5: must be"),
    ({"offload": "disk"}, "offload='disk': must be one of none, optimizer, all"),
    ({"rollout_tp_size": 3}, "rollout_tp_size=3: must divide ffn_dim=14336; nearest: 2, 4"),
    ({"rollout_ep_size": 2}, "rollout_ep_size=2: must divide rollout_tp_size=1; nearest: 1"),
    ({"rollout_precision": "int3"}, "rollout_precision='int3': must be one of"),
    ({"rollout_stretch": 0}, "rollout_stretch=0: must be"),
    ({"update_stretch": -1}, "update_stretch=-1: must be"),
    ({"rest_stretch": 0}, "rest_stretch=0: must be"),
    ({"refit_time": "-1 s"}, "refit_time='-1 s': must be"),
    ({"refit_bandwidth": "0 GB/s"}, "refit_bandwidth='0 GB/s': must be"),
    ({"refit_bandwidth": "20 GB"}, "refit_bandwidth='20 GB'"),
    ({"duration": -1}, "duration=-1: must be a finite number > 0"),
    ({"rollout_format_energy": -1}, "rollout_format_energy=-1: must be"),
    ({"rollout_busy_power": 1}, "did you mean busy_power"),
    ({"pue": 0.9}, "pue=0.9: must be"),
    ({"host_power_fraction": -0.1}, "host_power_fraction=-0.1: must be"),
    ({"grid": "Frnce"}, "did you mean France"),
    ({"gpu_memory_utilization": 1.5}, "gpu_memory_utilization=1.5: must be"),
    ({"max_num_seqs": 0}, "max_num_seqs=0: must be"),
    ({"rollout_stack": "vLLM_2026_Hoper"}, "did you mean vLLM_2026_Hopper"),
    ({"stack": "NeMo_RL"}, "did you mean NeMo_RL_H100"),
    ({"rollout_tp": 2}, "did you mean rollout_tp_size"),
    ({"rollout_accelerators": 8}, "the variant colocated does not use it"),
    ({"sync_bandwidth": "50 GB/s"}, "the variant colocated does not use it"),
]
REFUSED_OF_POOLS = [
    ({"rollout_accelerators": 16}, "rollout_accelerators=16: must be less than fleet_size=16; nearest: 15"),
    ({"rollout_accelerators": -8}, "rollout_accelerators=-8: must be"),
    (
        {"rollout_accelerators": 9, "rollout_tp_size": 2},
        "rollout_accelerators=9: must be a multiple of rollout_tp_size=2",
    ),
    (
        {"rollout_accelerators": 3},
        "rollout_accelerators=3: must leave a rest of fleet_size=16 that is at most accelerators_per_node=8",
    ),
    ({"rollout_accelerators": 24}, "rollout_accelerators=24: must be less than fleet_size=16"),
    (
        {"rollout_accelerators": 6, "tp_size": 4},
        "rollout_accelerators=6: must leave a rest of fleet_size=16 that is a multiple of tp_size=4",
    ),
    ({"fleet_size": 24, "tp_size": 8, "pp_size": 2}, "fleet_size=24: must be at least twice, and a multiple of"),
    ({"fleet_size": 8, "rollout_tp_size": 8}, "fleet_size=8: must be at least twice"),
    ({"sync_bandwidth": 0}, "sync_bandwidth=0: must be"),
    ({"refit_time": "1 s"}, "does not use it; variant=colocated does"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_refused(given, said):
    with pytest.raises(MlsysimError) as error:
        PostTrainingModel().solve(**{**JOB, **given})
    assert said in str(error.value)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(("given", "said"), REFUSED_OF_POOLS)
def test_refused_of_pools(given, said):
    with pytest.raises(InputError) as error:
        PostTrainingModel("one_step_off").solve(**{**JOB, **given})
    assert said in str(error.value)


def test_an_unknown_schedule_is_refused_and_the_known_ones_named():
    with pytest.raises(MlsysimError, match="known: colocated, disaggregated, one_step_off, fully_asynchronous"):
        PostTrainingModel("sync")


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ({"model": "Llama3_1_70B"}, "Update memory"),
        ({"model": "Llama3_1_70B", "tp_size": 8, "pp_size": 2}, "Rollout memory"),
        ({"gpu_memory_utilization": 0.9, "offload": "none"}, "Rollout memory"),
        ({"gpu_memory_utilization": 0.215}, "Rollout memory"),
    ],
)
def test_what_does_not_fit_is_an_answer(given, lacks):
    found = PostTrainingModel().solve(**{**JOB, "activation_checkpointing": "full", **given})
    assert not found.feasible
    assert found.phase_bottleneck == lacks


def test_a_cap_far_above_the_mean_asks_for_the_longest_response():
    def notes(**given):
        return " ".join(PostTrainingModel().solve(**{**JOB, **given}).notes)

    short = {"mean_response_length": 200, "max_response_length": 4000}
    assert "give longest_response" in notes(**short)
    assert "give longest_response" not in notes()
    assert "give longest_response" not in notes(**short, longest_response=1500)


def test_refused_points_of_a_grid_are_masked():
    grid = PostTrainingModel().sweep(
        **{**JOB, "mean_response_length": [1000, 5000]}, outputs=["step_time"], refused="mask"
    )
    assert grid.step_time.notnull().values.tolist() == [True, False]
