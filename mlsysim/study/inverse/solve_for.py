"""Inverse problem: the value of one input at which outputs meet targets."""

from __future__ import annotations

from typing import Any

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.inverse.at_point import solution_at
from mlsysim.study.inverse.target_function import TargetFunction
from mlsysim.study.inverse.targets import read, split
from mlsysim.symbolic import Variable

WHICH = ("largest", "smallest")


def solve_for(
    model: DeclaredModel,
    /,
    unknown: str,
    *entries: Any,
    which: str | None = None,
    subject_to: Any = None,
    allow_infeasible: bool = False,
    **targets: Any,
) -> Any:
    """Find the value of one input at which outputs meet their targets.

    A keyword that names an argument of the model sets it; one that names an output is a target. A target is a value
    (``step_time="2 s"``, ``feasible=True``) or text that begins with a comparison (``total_memory="<= 0.9 *
    memory_capacity"``). A bare number is in the unit of the output. All targets must hold.

    Parameters
    ----------
    unknown : str
        Name of a numeric input.
    *entries : Entry or str
        As for ``solve``.
    which : {"largest", "smallest"}, optional
        Value to return if the targets hold for more than one. By default the largest if they hold from the lower end of
        the domain on, and the smallest if they hold from some value up.
    subject_to : str, sympy Boolean or sequence of them, optional
        Further conditions on inputs and outputs. A value that makes the model choose the unknown itself never counts.
    allow_infeasible : bool
        Also accept a value at which the output ``feasible`` is False. By default ``feasible`` is one of the targets
        wherever the model computes it, for which it needs a device, unless a target names it.
    **targets
        Required value per output, and inputs as for ``solve``. Several numbers form an axis.

    Returns
    -------
    Solution or xarray.Dataset
        At a point, a solution with the value, its closed form if there is one, and the result there. If arguments or
        targets are lists, the unknown at every point, with a status that tells where there is none.

    Raises
    ------
    InputError
        If a name or a value is refused, as for ``solve``, or no target depends on the unknown.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> run = dict(seq_len=2048, dp_size=8, zero_stage=2)
    >>> found = memory.solve_for("batch_size", "Llama3_8B", "H100", **run, feasible=True)
    >>> found.value
    160
    """
    variable = _unknown(model, unknown)
    if which is not None and which not in WHICH:
        raise InputError("which", which, "must be 'largest' or 'smallest'")
    arguments, conditions = split(model, model.named_arguments(entries, targets))
    if arguments.pop(unknown, None) is not None:
        raise InputError(unknown, targets.get(unknown), "is the unknown: leave it out")
    function = TargetFunction(
        model, arguments, variable, read(model, conditions, subject_to, unknown), allow_infeasible
    )
    if function.sizes:
        from mlsysim.study.inverse.on_grid import solutions_on

        return solutions_on(function, which)
    return solution_at(function, arguments, which)


def _unknown(model: DeclaredModel, name: Any) -> Variable:
    """Return the variable of an input that can be solved for."""
    numbers = [
        input_name
        for input_name, variable in model.arguments.items()
        if variable is not None and variable.domain.kind != "choice"
    ]
    if isinstance(name, str) and name in numbers:
        return model.arguments[name]  # type: ignore[return-value]
    if isinstance(name, str) and name in model.system:
        raise InputError("unknown", name, "is an output", f"solve() computes it; as a target it is {name}=...")
    if isinstance(name, str) and name in model.arguments:
        raise InputError("unknown", name, "must be an input that is a number, not an entry or a label")
    if isinstance(name, str) and name in type(model).arguments:
        raise model.unused("unknown", name, name)
    raise UnknownNameError(f"input of {type(model).__name__}", name, numbers)
