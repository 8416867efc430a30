"""The spread of an output: its unit on the axis, a line per quantile, and every draw counted."""

from __future__ import annotations

import pytest

from mlsysim import KernelModel, plot
from mlsysim.errors import InputError

POINT = {"hardware": "H100", "product_rows": 64, "product_columns": 1024, "product_inner": 1024}


@pytest.fixture(scope="module")
def answer():
    known = {"memory_bandwidth": "relative(0.1)", "precision": "choice(bf16, fp8)"}
    return KernelModel("roofline").uncertainty(
        ["kernel_time", "kernel_bottleneck"], distributions=known, samples=256, first_order=False, **POINT
    )


def test_the_axis_names_the_output_and_its_unit(answer, ax):
    plot.spread(answer, ax=ax)
    assert ax.get_xlabel() == "Kernel time [ms]"
    assert sum(bar.get_height() for bar in ax.patches) == 256


def test_a_line_at_every_quantile(answer, ax):
    plot.spread(answer, "kernel_time", kind="cumulative", ax=ax)
    places = [line.get_xdata()[0] for line in ax.lines[1:]]
    assert places == pytest.approx([float(value.magnitude) for value in answer["kernel_time"].quantiles.values()])


@pytest.mark.parametrize("asked", [{"kind": "pie"}, {"output": "kernel_bottleneck"}])
def test_what_cannot_be_drawn_is_refused(answer, asked):
    with pytest.raises(InputError):
        plot.spread(answer, **asked)
