"""Requests that come together: prefilled together up to the budget, decoded to the end."""

import pytest

from mlsysim import IterationModel
from mlsysim.errors import InputError

STATIC, ONE = IterationModel("static"), IterationModel()
ASKED = {"model": "Llama2_7B", "hardware": "A100", "precision": "fp16"}


def solved(**given):
    return STATIC.solve(**ASKED, **given)


def prefill(prompts, tokens, **given):
    return ONE.solve(**ASKED, prompts=prompts, seq_len=tokens, **given).canonical("iteration_time")


def test_one_request_is_a_prefill_and_its_steps():
    found = solved(seq_len=1000, output_tokens=101)
    first = prefill(1, 1000)
    step = ONE.solve(**ASKED, decode_requests=1, context_tokens=1050.5).canonical("iteration_time")
    assert found.canonical("ttft_mean") == first
    assert found.canonical("e2e_mean") == pytest.approx(first + 100 * step, rel=1e-12)
    assert found.canonical("tpot_mean") == pytest.approx(step, rel=1e-12)
    assert found.canonical("output_tokens_per_second") == pytest.approx(101 / (first + 100 * step), rel=1e-12)
    assert solved(seq_len=1000, output_tokens=101, sent_one_by_one=True).outputs == found.outputs


def test_prompts_share_iterations_up_to_the_budget():
    """Of twenty prompts eight fit at a time: two prefills of eight, and one of four."""
    found = solved(decode_requests=20, seq_len=1000, output_tokens=1)
    eight, four = prefill(8, 1000), prefill(4, 1000)
    assert found["prefill_batch"].magnitude == 8
    assert found.canonical("e2e_mean") == pytest.approx(2 * eight + four, rel=1e-12)
    mean = (8 * eight + 8 * 2 * eight + 4 * (2 * eight + four)) / 20
    assert found.canonical("ttft_mean") == pytest.approx(mean, rel=1e-12)
    assert found.canonical("tpot_mean") == 0
    whole = solved(decode_requests=3, seq_len=1000, output_tokens=1, max_num_batched_tokens=100)
    assert whole.canonical("e2e_mean") == pytest.approx(3 * prefill(1, 1000), rel=1e-12)


def test_short_prompts_together_take_hardly_longer_than_one():
    """Sixteen of one token by LMDeploy: the first after 11 ms, 21 ms in the mean; one after the other would be 90."""
    alone, together = (solved(decode_requests=n, seq_len=1, output_tokens=128).canonical("ttft_mean") for n in (1, 16))
    assert together < 1.1 * alone
    found = solved(decode_requests=16, seq_len=1, output_tokens=128, sent_one_by_one=True)
    assert found.canonical("ttft_mean") == pytest.approx((16 * alone + 15 * prefill(15, 1)) / 16, rel=1e-12)


def test_every_group_of_requests_has_a_budget():
    asked = {"decode_requests": 64, "seq_len": 4096, "output_tokens": 16, "accelerators_per_node": 8}
    assert [solved(**asked, pp_size=p)["prefill_batch"].magnitude for p in (1, 4)] == [2, 8]


def test_batches_without_room_are_named():
    few, many = (solved(decode_requests=n, seq_len=2048, output_tokens=2048) for n in (16, 64))
    assert not any("for which there is" in str(note) for note in few.notes)
    assert any("for which there is" in str(note) for note in many.notes)


@pytest.mark.parametrize("given", [{"max_num_batched_tokens": 0}, {"sent_one_by_one": 2}, {"decode_requests": -1}])
def test_odd_batches_are_refused(given):
    with pytest.raises(InputError, match=next(iter(given))):
        solved(**given)


def test_budgets_are_of_batches_alone():
    with pytest.raises(InputError, match="max_num_batched_tokens"):
        ONE.solve(**ASKED, decode_requests=1, max_num_batched_tokens=100)
