"""Lines beside a result: what a better variant says against it, and what saves nothing."""

import pytest

from mlsysim import DistributedModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import InputError

#: Activations that the constants of the first-order form leave out.
TIGHT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 24, "seq_len": 4096, "dp_size": 8, "zero_stage": 2,
         "precision": "bf16"}  # fmt: skip


def test_a_form_that_says_it_fits_is_contradicted_by_the_one_that_counts():
    first = TrainingMemoryModel().solve(**TIGHT, activation_checkpointing="none")
    counted = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="none")
    assert first.feasible
    assert not counted.feasible
    assert first.notes == (f"per_operator: {counted.total_memory.magnitude:.1f} GB, does not fit",)


def test_two_forms_that_agree_say_nothing():
    assert not TrainingMemoryModel().solve(**{**TIGHT, "batch_size": 8}, activation_checkpointing="full").notes
    assert not TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="none").notes


def test_replicas_that_the_prefill_asks_for_are_named():
    found = ServingCapacityModel.solve_example()
    counted = ServingCapacityModel.solve_example(variant="prefill_aware")
    assert found.required_replicas != counted.required_replicas
    assert found.notes == (f"prefill_aware: {counted.required_replicas} required replicas",)


def test_recomputing_what_a_flash_kernel_never_keeps_is_said_to_save_nothing():
    found = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="selective")
    (note,) = found.notes
    assert note.startswith("activation_checkpointing=selective saves ")
    assert note.endswith(" GB total_memory")
    full = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="full")
    assert not full.notes


def test_what_cannot_be_asked_of_the_other_variant_says_nothing():
    found = TrainingMemoryModel().solve(hardware="H100", parameters=8e9, layers=32, hidden_dim=4096, heads=32,
                                        experts=1, batch_size=1)  # fmt: skip
    assert not found.notes


@pytest.mark.parametrize("variant", ["first_order", "korthikanti"])
def test_forms_that_divide_by_every_rank_refuse_experts_over_ranks(variant):
    asked = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "dp_size": 8, "ep_size": 8}
    with pytest.raises(InputError, match="must be 1 in this variant; variant='per_operator' counts"):
        TrainingMemoryModel(variant).solve(**asked)
    held = TrainingMemoryModel("per_operator").solve(**asked)
    assert held.canonical("weights") > 2 * 46.7e9 / 8


def test_a_step_without_recomputation_has_no_note():
    assert not DistributedModel.solve_example().notes
