"""The front door: what a model declares, and the verbs that every model has."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import Any

from mlsysim.inputs.checks import check_arguments
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.signature import TARGETS, with_signature
from mlsysim.progress import shown
from mlsysim.study.results.result import Result
from mlsysim.study.solve import solve
from mlsysim.tracebacks import at_the_call

#: Verbs that take the arguments of a model, and the modules of studies that have them.
VERBS = {
    "solve": "solve",
    "sweep": "sweep",
    "search": "search",
    "pareto": "search",
    "function": "function",
    "sensitivity": "sensitivity",
    "regimes": "regimes",
    "solve_for": "inverse.solve_for",
    "uncertainty": "uncertainties.uncertainty",
    "calibrate": "calibration.calibrate",
}

#: Verbs of the models that declare them alone.
OWN_VERBS = {"simulate": "mlsysim.simulation.simulate"}

#: Those that never take long enough for a line on how far they are.
QUICK = ("solve", "function")

#: Options of the command of a model, and names in the data set of a sweep.
OPTIONS = ("variant", "catalog", "json", "as_json", "explain", "strict", "help", "refused", "input", "outputs")

#: Modules of models that come with the library.
OURS = f"{__package__}."


class Verb:
    """A verb as an attribute of models: imported when it is first looked at, and given the arguments of one model.

    Parameters
    ----------
    name : str
        Its name.
    model : type, optional
        Whose arguments it takes; of any model where left out.
    """

    def __init__(self, name: str, model: type[DeclaredModel] | None = None) -> None:
        self._name, self._model = name, model

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The function, which takes the place of this attribute, or the method of an instance."""
        function: Any = plain(self._name)
        if self._model is not None:
            made: Any = with_signature(self._model, function if self._name in QUICK else shown(function))
            made.verb_of = self._model
            if vars(self._model).get(self._name) is self:
                setattr(self._model, self._name, made)
            function = made
        return function if instance is None else function.__get__(instance, owner)


@cache
def plain(name: str) -> Any:
    """A verb as its module has it, for any model."""
    if name == "derivative":
        return at_the_call(import_module("mlsysim.study.derivative").derivative)
    if name in OWN_VERBS:
        return getattr(import_module(OWN_VERBS[name]), name)
    return getattr(import_module(f"mlsysim.study.{VERBS[name]}"), name)


class PerformanceModel(DeclaredModel):
    """Base of every model: a subclass declares formulas and arguments, and has every verb with its own signature.

    Examples
    --------
    >>> from mlsysim import ParameterCountModel
    >>> model = ParameterCountModel()
    >>> model.question()
    'How many parameters does a transformer have, and where?'
    >>> model.positional()
    ('model',)
    >>> [variable.name for variable in model.outputs[:3]]
    ['parameters', 'active_parameters', 'embedding_parameters']
    """

    solve = Verb("solve")
    sweep = Verb("sweep")
    search = Verb("search")
    pareto = Verb("pareto")
    function = Verb("function")
    sensitivity = Verb("sensitivity")
    regimes = Verb("regimes")
    solve_for = Verb("solve_for")
    uncertainty = Verb("uncertainty")
    calibrate = Verb("calibrate")
    derivative = Verb("derivative")

    @classmethod
    @at_the_call
    def solve_example(cls, **changed: Any) -> Result:
        """Solve at the example of a variant, with some of its arguments changed.

        Parameters
        ----------
        **changed
            Arguments of ``solve``, or ``variant``.

        Returns
        -------
        Result

        Raises
        ------
        InputError
            As for ``solve``.

        Examples
        --------
        >>> from mlsysim import TrainingMemoryModel
        >>> print(f"{TrainingMemoryModel.solve_example(zero_stage=3).weights:.2f}")
        2.01 GB
        """
        model = cls(changed.pop("variant", cls.example.get("variant")))
        return solve(model, **{**model.example, **changed})

    @at_the_call
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith(OURS):
            check_arguments(cls, taken())
        own = [each for each in OWN_VERBS if any(each in vars(kind) for kind in cls.__mro__)]
        for verb in (*VERBS, *own):
            if not _has_its_own(cls, verb):
                setattr(cls, verb, Verb(verb, cls))


def _has_its_own(model: type[PerformanceModel], verb: str) -> bool:
    """Tell whether a class has a verb that somebody wrote for it."""
    found = next(vars(each)[verb] for each in model.__mro__ if verb in vars(each))
    return not (isinstance(found, Verb) or hasattr(found, "verb_of"))


@cache
def taken() -> frozenset[str]:
    """Names that no argument of a model can have; they come with all verbs, and ours are held by a test instead."""
    parameters = [
        each for verb in (*VERBS, "derivative") for each in inspect.signature(plain(verb)).parameters.values()
    ]
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_verb = {each.name for each in parameters if each.kind in by_name or each.name == TARGETS}
    return frozenset({"self", "cls", *OPTIONS, *by_verb})
