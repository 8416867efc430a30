"""Weights that are stored in fewer bits than they are multiplied in: what is read, and what widening them takes."""

import pytest

from mlsysim import IterationModel, ServingModel
from mlsysim.errors import InputError

ASKED = {"model": "Llama2_7B", "hardware": "A100", "decode_requests": 1, "context_tokens": 100}
WIDE = {"precision": "bf16"}
INT8 = {"precision": "bf16", "weight_dtype": "int8", "head_bytes": 1}
INT4 = {"precision": "bf16", **dict.fromkeys(("mixer_bytes", "dense_bytes", "head_bytes"), 0.625)}


def solved(**given):
    return IterationModel().solve(**{**ASKED, **given})


@pytest.mark.parametrize(("stored", "size", "share"), [(INT8, 1, 0.75), (INT4, 0.625, 0.58)])
def test_narrow_weights_are_read_more_slowly_than_their_bytes(stored, size, share):
    """Shares of the rate of bf16 by GPT-fast's table: 0.77 at 8 bit, 0.62 at 4."""
    wide, narrow = solved(**WIDE), solved(**stored)
    rate = (size / 2) * wide.canonical("iteration_time") / narrow.canonical("iteration_time")
    assert rate == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize(
    "given",
    [
        WIDE,
        {"precision": "w8a8", "hardware": "H100"},
        {"precision": "fp8", "hardware": "H100"},
        {"precision": "fp8_deepseek", "hardware": "H100"},
    ],
)
def test_weights_as_wide_as_their_products_pay_nothing(given):
    assert solved(**given).outputs == solved(**given, weight_read_efficiency=0.3).outputs


def test_four_bits_are_unpacked_also_for_products_of_four_bits():
    """And the head, whose products are of 16 bits, where it is narrow."""
    given = {"hardware": "B200", "precision": "nvfp4", "weight_read_efficiency": 0.5}
    found = solved(**given)
    assert found.canonical("widening_bytes") == found.canonical("passed_weight_bytes") == 0.5625
    assert solved(**given, head_bytes=1).canonical("head_time") == pytest.approx(
        1.625 / 2 * found.canonical("head_time"), rel=1e-4
    )


def test_routed_experts_pay_nothing():
    given = {"model": "Mixtral_8x7B", **WIDE, "expert_bytes": 1}
    slow, quick = (solved(**given, weight_read_efficiency=share) for share in (0.3, 1))
    assert slow.canonical("expert_product_time") == quick.canonical("expert_product_time")


def test_serving_pays_as_well():
    asked = {"model": "Llama2_7B", "hardware": "A100", "precision": "w4a16", "concurrency": 1}
    slow, quick = (ServingModel().solve(**asked, weight_read_efficiency=share) for share in (0.5, 1))
    assert slow["tpot_mean"] > 1.3 * quick["tpot_mean"]


@pytest.mark.parametrize("share", [0, 1.5, -1])
def test_a_share_is_above_zero_and_at_most_one(share):
    with pytest.raises(InputError, match="weight_read_efficiency"):
        solved(**WIDE, weight_read_efficiency=share)
