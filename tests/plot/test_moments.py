"""Bars of moments: their parts add up to each, and the one that binds, with its rank, is told."""

import pytest
from matplotlib.figure import Figure

from mlsysim import TrainingMemoryModel, plot
from mlsysim.errors import InputError
from mlsysim.plot.moments import MOMENTS, RANKS

MEMORY = TrainingMemoryModel("per_operator")
RUN = {"model": "Llama3_8B", "hardware": "A100", "precision": "bf16", "seq_len": 4096, "dp_size": 8}
PIPELINE = {**RUN, "batch_size": 64, "pp_size": 4, "gradient_accumulation_steps": 8, "zero_stage": 1}


def drawn(found):
    return found.plot(ax=Figure().add_subplot())


def widths(ax):
    """Ends of the bars of each row, from the top."""
    ends = {}
    for bar in ax.patches:
        row = round(bar.get_y() + bar.get_height() / 2)
        ends[row] = max(ends.get(row, 0), bar.get_x() + bar.get_width())
    return ends


def test_a_bar_per_moment_whose_parts_add_up():
    found = MEMORY.solve(**RUN, batch_size=16, zero_stage=3, stack="torchtitan")
    ax = drawn(found)
    moments = [found.canonical(name) / 1e9 for name in MOMENTS]
    assert list(widths(ax).values()) == pytest.approx(moments)
    assert ax.get_title(loc="left") == "Memory peaks at the loss: fits"
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["69.07"]


def test_the_ranks_of_a_pipeline_and_the_one_that_binds():
    found = MEMORY.solve(**PIPELINE, stack="Megatron_LM")
    ax = drawn(found)
    assert ax.get_title(loc="left") == "Memory peaks at the backward pass of a layer of the first stage: fits"
    ranks = [found.canonical(name) / 1e9 for name in RANKS]
    assert [widths(ax)[row] for row in (4, 5, 6)] == pytest.approx(ranks)
    assert sum(text.get_text() == "not on this rank" for text in ax.texts) == 2
    limit = next(line for line in ax.lines if line.get_gid() == "limit")
    assert limit.get_xdata()[0] == pytest.approx(found.canonical("usable_memory") / 1e9)


def test_no_moments_no_bars():
    with pytest.raises(InputError, match="variant per_operator"):
        TrainingMemoryModel().solve(model="Llama3_8B", hardware="A100", batch_size=8).plot()
    with pytest.raises(InputError, match="must be a result"):
        plot.moments("no result")
