"""Distributions of inputs that are not known exactly.

Numbers are in the unit of the input they are given for; quantities and text such as ``"3 TB/s"`` bring their own. Every
class can be typed as text: ``Uniform(0.3, 0.5)`` is ``"uniform(0.3, 0.5)"``.
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
    """Knowledge of one input as a probability distribution."""

    #: Whether it can be that of a whole number.
    whole: ClassVar[bool] = False
    _frozen: ClassVar[Callable[..., Any]]

    def frozen(self, variable: Variable, held: float) -> Any:
        """A frozen distribution of scipy, in the unit of the variable.

        Parameters
        ----------
        variable : Variable
            Whose values it describes.
        held : float
            The value that the call gives the input, in its unit.
        """
        from scipy import stats

        values = [self.parameter(variable, each.name) for each in fields(self)]
        return self._frozen(stats, variable, float(held), *values)

    def parameter(self, variable: Variable, name: str) -> Any:
        """A parameter in the unit of the variable; shares and factors are pure numbers.

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
        given = getattr(self, name)
        return _share(self, variable, given) if name in ("share", "factor") else number(variable, given)

    def refused(self, variable: Variable, allowed: str) -> InputError:
        """The error for parameters that do not make a distribution.

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
        values = [getattr(self, each.name) for each in fields(self)]
        return f"{type(self).__name__.lower()}({', '.join(str(each) for each in values if each is not None)})"


@dataclass(frozen=True)
class Uniform(Distribution):
    """Any value from ``low`` to ``high`` is as likely; of a whole number, any whole one.

    Examples
    --------
    >>> from mlsysim import distributions
    >>> print(distributions.Uniform(0.3, 0.5))
    uniform(0.3, 0.5)
    """

    whole: ClassVar[bool] = True
    low: Any
    high: Any

    def _frozen(self, stats: Any, variable: Variable, held: float, low: float, high: float) -> Any:
        if variable.domain.kind == "integer":
            if low != math.floor(low) or high != math.floor(high) or not low <= high:
                raise self.refused(variable, "goes from a whole number up to another one")
            return stats.randint(int(low), int(high) + 1)
        if not low < high:
            raise self.refused(variable, "goes from a lower value to a higher one")
        return stats.uniform(low, high - low)


@dataclass(frozen=True)
class Normal(Distribution):
    """Around ``mean``, with standard deviation ``sd``."""

    mean: Any
    sd: Any

    def _frozen(self, stats: Any, variable: Variable, held: float, mean: float, sd: float) -> Any:
        if not sd > 0:
            raise self.refused(variable, "has a standard deviation above zero")
        return stats.norm(mean, sd)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """Around ``median``, two thirds of it within a ``factor`` above and below."""

    median: Any
    factor: float

    def _frozen(self, stats: Any, variable: Variable, held: float, median: float, factor: float) -> Any:
        if not median > 0 or not factor > 1:
            raise self.refused(variable, "has a median above zero, and a factor above one")
        return stats.lognorm(math.log(factor), scale=median)


@dataclass(frozen=True)
class Triangular(Distribution):
    """From ``low`` to ``high``, most likely ``mode``."""

    low: Any
    mode: Any
    high: Any

    def _frozen(self, stats: Any, variable: Variable, held: float, low: float, mode: float, high: float) -> Any:
        if not (low <= mode <= high and low < high):
            raise self.refused(variable, "rises from the lowest value over the most likely to the highest")
        return stats.triang((mode - low) / (high - low), low, high - low)


@dataclass(frozen=True)
class Relative(Distribution):
    """Normal around the value that the input has in the call, with a standard deviation of this share of it."""

    share: float

    def _frozen(self, stats: Any, variable: Variable, held: float, share: float) -> Any:
        if not 0 < share < 1:
            raise self.refused(variable, "is a share between 0 and 1 of the value held")
        if not math.isfinite(held) or held == 0:
            raise self.refused(variable, f"needs a value of {variable.name} to stand around")
        return stats.norm(held, share * abs(held))


@dataclass(frozen=True)
class FromScipy(Distribution):
    """A frozen distribution of ``scipy.stats``, in the unit of the input."""

    distribution: Any

    def frozen(self, variable: Variable, held: float) -> Any:
        """See :meth:`Distribution.frozen`."""
        return self.distribution

    def __str__(self) -> str:
        parameters = ", ".join(map(str, (*self.distribution.args, *self.distribution.kwds.values())))
        return f"scipy.stats.{self.distribution.dist.name}({parameters})"


@dataclass(frozen=True)
class FromCatalog(Distribution):
    """The range that the source of a catalog value states, any value of it as likely."""

    def __str__(self) -> str:
        return "catalog"


@at_the_call
@dataclass(frozen=True)
class Choice(Distribution):
    """One of several values, labels or catalog entries; as likely as their weights say, or all as likely."""

    whole: ClassVar[bool] = True
    values: Sequence[Any]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Sequence) or not len(self.values):
            raise InputError("values", self.values, "must be a list of what may be chosen")
        weights = [1.0] * len(self.values) if self.weights is None else self.weights
        try:
            found = [float(weight) for weight in weights]
        except (TypeError, ValueError):
            found = []
        if len(found) != len(self.values) or not all(0 <= each < math.inf for each in found) or not sum(found) > 0:
            raise InputError("weights", self.weights, "must be a number of at least zero per value, not all zero")
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "weights", tuple(each / sum(found) for each in found))

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each value."""
        assert self.weights is not None
        return tuple(self.weights)

    def __str__(self) -> str:
        return f"choice({', '.join(str(getattr(each, 'name', each)) for each in self.values)})"


#: What can be typed as text.
BY_NAME: dict[str, type[Distribution]] = {
    kind.__name__.lower(): kind for kind in (Uniform, Normal, LogNormal, Triangular, Relative, Choice)
}


def read(name: str, given: Any) -> Distribution:
    """The distribution of an input, from what was typed.

    Parameters
    ----------
    name : str
        The input.
    given : Distribution, str or frozen distribution of scipy
        Text such as ``"uniform(0.3, 0.5)"``, ``"normal(3 TB/s, 0.1 TB/s)"``, ``"choice(bf16, fp8)"``, ``"catalog"``.

    Raises
    ------
    InputError
        If it is none.
    """
    if isinstance(given, Distribution):
        return given
    if isinstance(given, str):
        return _from_text(f"{ARGUMENT}[{name!r}]", given)
    if hasattr(given, "ppf") and hasattr(given, "dist"):
        return FromScipy(given)
    example = f"as in {{{name!r}: 'uniform(0.3, 0.5)'}}"
    raise InputError(f"{ARGUMENT}[{name!r}]", given, f"must be one of {', '.join(BY_NAME)}, or of scipy.stats", example)


def _from_text(argument: str, text: str) -> Distribution:
    if text.strip() == "catalog":
        return FromCatalog()
    matched = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text, re.S)
    if not matched:
        raise InputError(argument, text, f"must read as one of {', '.join(BY_NAME)}", "as in 'uniform(0.3, 0.5)'")
    word, inside = matched[1].lower(), matched[2]
    if word not in BY_NAME:
        raise UnknownNameError("distribution", matched[1], (*BY_NAME, "catalog"))
    kind, parts = BY_NAME[word], _parts(inside)
    if kind is Choice:
        lists = [[_typed(each) for each in _parts(part[1:-1])] for part in parts if part.startswith("[")]
        if lists and (len(lists) != len(parts) or len(lists) > 2):
            raise InputError(argument, text, "takes values, or a list of them and a list of weights")
        return Choice(*lists) if lists else Choice([_typed(part) for part in parts])
    wanted = list(inspect.signature(kind).parameters)
    if len(parts) != len(wanted) or not all(parts):
        raise InputError(argument, text, f"takes {word}({', '.join(wanted)})")
    return kind(*(_typed(part) for part in parts))


def _parts(text: str) -> list[str]:
    """Parts between commas that stand in no bracket."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text)] if text.strip() else []


def _typed(text: str) -> Any:
    """A word as the value it stands for: a truth value, a number, or text."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"")


def _share(of: Distribution, variable: Variable, given: Any) -> float:
    """A pure number, also as a percentage."""
    from mlsysim import units

    try:
        if isinstance(given, str):
            given = units.parsed(given)
        if units.is_quantity(given):
            return float(units.canonical(given, "", variable.name))
        return float(given)
    except (TypeError, ValueError):
        raise of.refused(variable, f"takes a pure number, not {given!r}") from None
