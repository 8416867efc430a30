"""The front door: what a model declares, and the verbs that every model has."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from mlsysim.inputs.checks import check_arguments
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.signature import with_signature
from mlsysim.progress import shown
from mlsysim.study.calibration.calibrate import calibrate
from mlsysim.study.derivative import derivative
from mlsysim.study.function import function
from mlsysim.study.inverse import solve_for
from mlsysim.study.regimes import regimes
from mlsysim.study.result import Result
from mlsysim.study.search import pareto, search
from mlsysim.study.sensitivity import sensitivity
from mlsysim.study.solve import solve
from mlsysim.study.sweep import sweep
from mlsysim.study.uncertainties.uncertainty import uncertainty
from mlsysim.tracebacks import at_the_call

#: Verbs that take the arguments of a model.
VERBS = (
    "solve",
    "sweep",
    "search",
    "pareto",
    "function",
    "sensitivity",
    "regimes",
    "solve_for",
    "uncertainty",
    "calibrate",
)

#: Those that never take long enough for a line on how far they are.
QUICK = ("solve", "function")

#: Options of the command of a model, and names in the data set of a sweep.
OPTIONS = ("variant", "catalog", "json", "as_json", "explain", "strict", "help", "refused", "input", "outputs")


class PerformanceModel(DeclaredModel):
    """Base of every model: a subclass declares formulas and arguments, and has every verb with its own signature."""

    solve = solve
    sweep = sweep
    search = search
    pareto = pareto
    function = function
    sensitivity = sensitivity
    regimes = regimes
    solve_for = solve_for
    uncertainty = uncertainty
    calibrate = calibrate
    derivative = at_the_call(derivative)

    @classmethod
    @at_the_call
    def solve_example(cls, **changed: Any) -> Result:
        """Solve at the example point, with some of its arguments changed.

        Parameters
        ----------
        **changed
            Arguments of ``solve``, or ``variant``.

        Returns
        -------
        Result
        """
        point = {**cls.example, **changed}
        return solve(cls(point.pop("variant", None)), **point)

    @at_the_call
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_arguments(cls, _taken())
        for verb in VERBS:
            plain = getattr(PerformanceModel, verb)
            setattr(cls, verb, with_signature(cls, plain if verb in QUICK else shown(plain)))


@cache
def _taken() -> frozenset[str]:
    """Names that no argument of a model can have."""
    verbs = [getattr(PerformanceModel, verb) for verb in (*VERBS, "derivative")]
    parameters = [each for verb in verbs for each in inspect.signature(verb).parameters.values()]
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return frozenset({"self", "cls", *OPTIONS, *(each.name for each in parameters if each.kind in by_name)})
