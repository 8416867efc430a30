"""Probability distributions of uncertain inputs.

Numbers are in the unit of the input; quantities and text such as ``"3 TB/s"`` bring their own. Every class can be typed
as text: ``Uniform(0.3, 0.5)`` is ``"uniform(0.3, 0.5)"``.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.convert import number
from mlsysim.symbolic import Variable
from mlsysim.tracebacks import at_the_call

ARGUMENT = "distributions"


@dataclass(frozen=True)
class Distribution:
    """Probability distribution of one input."""

    #: True if a whole number can have it.
    whole: ClassVar[bool] = False
    _frozen: ClassVar[Callable[..., Any]]

    def frozen(self, variable: Variable, current: float) -> Any:
        """Build a frozen distribution of scipy, in the unit of the variable.

        Parameters
        ----------
        variable : Variable
            Variable whose values it describes.
        current : float
            Value of the input in the call, in its unit.
        """
        from scipy import stats

        values = [self.parameter(variable, parameter.name) for parameter in fields(self)]
        return self._frozen(stats, variable, float(current), *values)

    def parameter(self, variable: Variable, name: str) -> Any:
        """Convert a parameter to the unit of the variable; shares and factors are pure numbers.

        Parameters
        ----------
        variable : Variable
            The input.
        name : str
            Name of the parameter.

        Returns
        -------
        float
        """
        typed = getattr(self, name)
        return _share(self, variable, typed) if name in ("share", "factor") else number(variable, typed)

    def refused(self, variable: Variable, allowed: str) -> InputError:
        """Build the error for parameters that do not make a distribution.

        Parameters
        ----------
        variable : Variable
            The input.
        allowed : str
            What is allowed, in words.

        Returns
        -------
        InputError
        """
        return InputError(f"{ARGUMENT}[{variable.name!r}]", str(self), allowed)

    def __str__(self) -> str:
        values = [getattr(self, parameter.name) for parameter in fields(self)]
        return f"{type(self).__name__.lower()}({', '.join(str(value) for value in values if value is not None)})"


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform from ``low`` to ``high``; for a whole number over whole values.

    Examples
    --------
    >>> from mlsysim import distributions
    >>> print(distributions.Uniform(0.3, 0.5))
    uniform(0.3, 0.5)
    """

    whole: ClassVar[bool] = True
    low: Any
    high: Any

    def _frozen(self, stats: Any, variable: Variable, current: float, low: float, high: float) -> Any:
        if variable.domain.kind == "integer":
            if low != math.floor(low) or high != math.floor(high) or not low <= high:
                raise self.refused(variable, "goes from a whole number up to another one")
            return stats.randint(int(low), int(high) + 1)
        if not low < high:
            raise self.refused(variable, "goes from a lower value to a higher one")
        return stats.uniform(low, high - low)


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal around ``mean`` with standard deviation ``sd``."""

    mean: Any
    sd: Any

    def _frozen(self, stats: Any, variable: Variable, current: float, mean: float, sd: float) -> Any:
        if not sd > 0:
            raise self.refused(variable, "has a standard deviation above zero")
        return stats.norm(mean, sd)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """Lognormal around ``median``; about two thirds lie within a ``factor`` above and below."""

    median: Any
    factor: float

    def _frozen(self, stats: Any, variable: Variable, current: float, median: float, factor: float) -> Any:
        if not median > 0 or not factor > 1:
            raise self.refused(variable, "has a median above zero, and a factor above one")
        return stats.lognorm(math.log(factor), scale=median)


@dataclass(frozen=True)
class Triangular(Distribution):
    """Triangular from ``low`` to ``high``, most likely at ``mode``."""

    low: Any
    mode: Any
    high: Any

    def _frozen(self, stats: Any, variable: Variable, current: float, low: float, mode: float, high: float) -> Any:
        if not (low <= mode <= high and low < high):
            raise self.refused(variable, "rises from the lowest value over the most likely to the highest")
        return stats.triang((mode - low) / (high - low), low, high - low)


@dataclass(frozen=True)
class Relative(Distribution):
    """Normal around the value of the input in the call, with this relative standard deviation."""

    share: float

    def _frozen(self, stats: Any, variable: Variable, current: float, share: float) -> Any:
        if not 0 < share < 1:
            raise self.refused(variable, "is a share between 0 and 1 of the value held")
        if not math.isfinite(current) or current == 0:
            raise self.refused(variable, f"needs a value of {variable.name} to stand around")
        return stats.norm(current, share * abs(current))


@dataclass(frozen=True)
class FromScipy(Distribution):
    """A frozen distribution of ``scipy.stats``, in the unit of the input."""

    distribution: Any

    def frozen(self, variable: Variable, current: float) -> Any:
        """See :meth:`Distribution.frozen`."""
        return self.distribution

    def __str__(self) -> str:
        parameters = ", ".join(map(str, (*self.distribution.args, *self.distribution.kwds.values())))
        return f"scipy.stats.{self.distribution.dist.name}({parameters})"


@dataclass(frozen=True)
class FromCatalog(Distribution):
    """Uniform over the range that the source of a catalog value states."""

    def __str__(self) -> str:
        return "catalog"


@at_the_call
@dataclass(frozen=True)
class Choice(Distribution):
    """One of several values, labels or catalog entries, with probabilities by ``weights``, by default equal."""

    whole: ClassVar[bool] = True
    values: Sequence[Any]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Sequence) or not len(self.values):
            raise InputError("values", self.values, "must be a list of what may be chosen")
        weights = [1.0] * len(self.values) if self.weights is None else self.weights
        try:
            numbers = [float(weight) for weight in weights]
        except (TypeError, ValueError):
            numbers = []
        if (
            len(numbers) != len(self.values)
            or not all(0 <= weight < math.inf for weight in numbers)
            or not sum(numbers) > 0
        ):
            raise InputError("weights", self.weights, "must be a number of at least zero per value, not all zero")
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "weights", tuple(weight / sum(numbers) for weight in numbers))

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each value."""
        assert self.weights is not None
        return tuple(self.weights)

    def __str__(self) -> str:
        return f"choice({', '.join(str(getattr(value, 'name', value)) for value in self.values)})"


#: Distributions that can be typed as text.
BY_NAME: dict[str, type[Distribution]] = {
    kind.__name__.lower(): kind for kind in (Uniform, Normal, LogNormal, Triangular, Relative, Choice)
}


def read(name: str, typed: Any) -> Distribution:
    """Read the distribution of an input.

    Parameters
    ----------
    name : str
        Name of the input.
    typed : Distribution, str or frozen distribution of scipy
        Text such as ``"uniform(0.3, 0.5)"``, ``"normal(3 TB/s, 0.1 TB/s)"``, ``"choice(bf16, fp8)"``, ``"catalog"``.

    Raises
    ------
    InputError
        If it is no distribution.
    """
    if isinstance(typed, Distribution):
        return typed
    if isinstance(typed, str):
        return _from_text(f"{ARGUMENT}[{name!r}]", typed)
    if hasattr(typed, "ppf") and hasattr(typed, "dist"):
        return FromScipy(typed)
    example = f"as in {{{name!r}: 'uniform(0.3, 0.5)'}}"
    raise InputError(f"{ARGUMENT}[{name!r}]", typed, f"must be one of {', '.join(BY_NAME)}, or of scipy.stats", example)


def _from_text(argument: str, text: str) -> Distribution:
    if text.strip() == "catalog":
        return FromCatalog()
    matched = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text, re.S)
    if not matched:
        raise InputError(argument, text, f"must read as one of {', '.join(BY_NAME)}", "as in 'uniform(0.3, 0.5)'")
    word, arguments = matched[1].lower(), matched[2]
    if word not in BY_NAME:
        raise UnknownNameError("distribution", matched[1], (*BY_NAME, "catalog"))
    kind, argument_texts = BY_NAME[word], _parts(arguments)
    if kind is Choice:
        lists = [
            [_typed(item) for item in _parts(argument_text[1:-1])]
            for argument_text in argument_texts
            if argument_text.startswith("[")
        ]
        if lists and (len(lists) != len(argument_texts) or len(lists) > 2):
            raise InputError(argument, text, "takes values, or a list of them and a list of weights")
        return Choice(*lists) if lists else Choice([_typed(argument_text) for argument_text in argument_texts])
    wanted = list(inspect.signature(kind).parameters)
    if len(argument_texts) != len(wanted) or not all(argument_texts):
        raise InputError(argument, text, f"takes {word}({', '.join(wanted)})")
    return kind(*(_typed(argument_text) for argument_text in argument_texts))


def _parts(text: str) -> list[str]:
    """Split at commas outside brackets."""
    return [piece.strip() for piece in re.split(r",(?![^\[]*\])", text)] if text.strip() else []


def _typed(text: str) -> Any:
    """Parse a word as a truth value, a number, or text."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"")


def _share(distribution: Distribution, variable: Variable, typed: Any) -> float:
    """Convert a pure number or a percentage."""
    from mlsysim import units

    try:
        if isinstance(typed, str):
            typed = units.parsed(typed)
        if units.is_quantity(typed):
            return float(units.canonical(typed, "", variable.name))
        return float(typed)
    except (TypeError, ValueError):
        raise distribution.refused(variable, f"takes a pure number, not {typed!r}") from None
