"""The verb: what value of one input it would take to meet targets."""

from __future__ import annotations

from typing import Any

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.inverse.at_point import solution_at
from mlsysim.study.inverse.landscape import Landscape
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
    """The value of one input at which outputs are what they must be.

    A keyword that is an argument of the model is an argument; one that is an output is a target: a value that it must
    have (``step_time="2 s"``, ``feasible=True``), or text that begins with a comparison
    (``total_memory="<= 0.9 * memory_capacity"``). A bare number is in the unit of the output. All targets must hold.

    Parameters
    ----------
    unknown : str
        Name of an input that is a number.
    which : {"largest", "smallest"}, optional
        Which value is given where the targets hold for more than one. By default the largest if they hold from the
        least value of the domain on, and the smallest if they hold from some value on.
    subject_to : str, sympy Boolean or sequence of them, optional
        Further conditions on inputs and outputs. A value that lets the model find the unknown is never the answer.
    allow_infeasible : bool
        Whether a value may be one at which the output ``feasible`` is False. By default ``feasible`` is one of the
        targets wherever the model computes it, for which it needs a device, and no target names it.
    **targets
        By output, what it must be. Several numbers are an axis.

    Returns
    -------
    Solution or xarray.Dataset
        At a point a solution with its value, the closed form if there is one, and the result there. Where arguments
        or targets are lists, the unknown at every point, with a status that says where there is none.

    Raises
    ------
    InputError
        If a name or a value is refused, as for ``solve``, or no target depends on the unknown.
    """
    variable = _unknown(model, unknown)
    if which is not None and which not in WHICH:
        raise InputError("which", which, "must be 'largest' or 'smallest'")
    arguments, given = split(model, model.named_arguments(entries, targets))
    if arguments.pop(unknown, None) is not None:
        raise InputError(unknown, targets.get(unknown), "is the unknown: leave it out")
    landscape = Landscape(model, arguments, variable, read(model, given, subject_to, unknown), allow_infeasible)
    if landscape.sizes:
        from mlsysim.study.inverse.on_grid import solutions_on

        return solutions_on(landscape, which)
    return solution_at(landscape, arguments, which)


def _unknown(model: DeclaredModel, name: Any) -> Variable:
    """The variable of an input that can be asked for."""
    numbers = [each for each, v in model.arguments.items() if v is not None and v.domain.kind != "choice"]
    if isinstance(name, str) and name in numbers:
        return model.arguments[name]  # type: ignore[return-value]
    if isinstance(name, str) and name in model.system:
        raise InputError("unknown", name, "is an output", f"solve() computes it; as a target it is {name}=...")
    if isinstance(name, str) and name in model.arguments:
        raise InputError("unknown", name, "must be an input that is a number, not an entry or a label")
    if isinstance(name, str) and name in type(model).arguments:
        raise model.unused("unknown", name, name)
    raise UnknownNameError(f"input of {type(model).__name__}", name, numbers)
