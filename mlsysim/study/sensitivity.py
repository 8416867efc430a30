"""Sensitivity of an output to its inputs: gradients, elasticities, second derivatives and jumps."""

from __future__ import annotations

from typing import Any

from mlsysim.errors import InputError
from mlsysim.inputs.binding import bind_grid
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.derivative import continuous, smooth
from mlsysim.study.sensitivities.moves import Moves
from mlsysim.study.sensitivities.on_grid import on_grid
from mlsysim.study.sensitivities.point import at_point
from mlsysim.study.sweep import refuse_size
from mlsysim.study.varied import closure


def sensitivity(
    model: DeclaredModel, /, output: str, *entries: Any, second: bool = False, relax: bool = False, **inputs: Any
) -> Any:
    """Compute gradient and elasticity of one output with respect to every input, at a point or on a grid.

    Continuous inputs are differentiated. A whole number is moved to its next allowed values both ways, and a label to
    every other label. Where a continuous input passes through a ceiling, floor or least integer, the table says how far
    the next jump is and how large.

    Parameters
    ----------
    output : str
        Name of an output.
    second : bool
        Add second derivatives and cross-elasticities: how the elasticity of one input changes with another.
    relax : bool
        Drop ceilings and floors, and also differentiate by whole numbers in which the formulas are then smooth.

    Returns
    -------
    Sensitivity or xarray.Dataset
        At a point a table, ranked by elasticity, with ``plot()`` for a tornado diagram. On a grid an
        ``xarray.Dataset``: ``gradient_<input>`` with units, and ``elasticity`` and ``elasticity_rank``
        along a dimension ``input``.

    Raises
    ------
    InputError
        If the output is a label or a truth value, or an argument is refused.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> shape = dict(product_rows=4096, product_columns=8192, product_inner=8192)
    >>> slopes = KernelModel("roofline").sensitivity("kernel_time", "H100", **shape)
    >>> print(f"{slopes['peak_flops'].elasticity:.3f}")
    -0.993
    """
    variable = model.output(output)
    if variable.domain.kind in ("choice", "boolean"):
        raise InputError("output", output, "must be a number; labels and truth values have no gradient")
    for name, flag in (("second", second), ("relax", relax)):
        if not isinstance(flag, bool):
            raise InputError(name, flag, "must be True or False")
    arguments = model.named_arguments(entries, inputs)
    binding = bind_grid(model, arguments)
    refuse_size([binding])
    binding.refuse()
    binding.require(output)
    system = closure(binding.system, (output,), relax=relax)
    names = smooth(system) if relax else continuous(system)
    if binding.axes:
        return on_grid(model, variable, binding, system, names, second=second)
    return at_point(Moves(model, arguments, binding, system, variable), names, second=second, relax=relax)
