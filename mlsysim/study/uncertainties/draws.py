"""Draws of uncertain inputs: what is uncertain in a call, and the inputs and outputs of every draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlsysim.backends import compiled
from mlsysim.backends.blocks import POINTS
from mlsysim.errors import InputError
from mlsysim.inputs.convert import LARGEST_GRID, is_axis
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import Expression, condition
from mlsysim.inputs.refusal import refuse
from mlsysim.progress import loop
from mlsysim.study.uncertainties.distributions import ARGUMENT, Choice, Distribution
from mlsysim.study.uncertainties.placed import Correlated, Placed, correlated, named_matrix, placed
from mlsysim.study.varied import Varied
from mlsysim.symbolic import lower, variable_of


@dataclass(frozen=True)
class Uncertain:
    """The uncertain inputs of a call, and the outputs asked for as functions of them.

    Attributes
    ----------
    varied : Varied
        The outputs as functions of the inputs. Choices are axes of its binding, before those of the call.
    choices : dict
        What may be chosen, by argument.
    numbers : tuple of Placed
        Inputs that are numbers, each on its own.
    joint : Correlated, optional
        Inputs that are normal together.
    """

    varied: Varied
    choices: dict[str, Choice]
    numbers: tuple[Placed, ...]
    joint: Correlated | None

    @property
    def names(self) -> tuple[str, ...]:
        """The uncertain inputs: what is chosen, the numbers, and those that belong together."""
        return (
            *self.choices,
            *(each.variable.name for each in self.numbers),
            *(self.joint.names if self.joint else ()),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The uncertain inputs, each with its distribution."""
        found = [f"{name} {each}" for name, each in self.choices.items()]
        found += [f"{each.variable.name} {each.distribution}" for each in self.numbers]
        return (*found, *(f"{name} by covariance" for name in (self.joint.names if self.joint else ())))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Points along each axis of the call."""
        return self.varied.binding.sizes[len(self.choices) :]

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the call."""
        return tuple(self.varied.binding.axes)[len(self.choices) :]

    def inputs(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """Every input that varies, in canonical units, along the draws and then the axes.

        Parameters
        ----------
        shares : ndarray
            A row per draw, a column per name: how much of the distribution lies below.
        """
        columns = iter(shares.T)
        places = [
            np.searchsorted(np.cumsum(each.probabilities)[:-1], next(columns), "right")
            for each in self.choices.values()
        ]
        drawn = [each.at(next(columns)) for each in self.numbers]
        return self._at(places, drawn, self.joint.at(np.stack(list(columns), axis=1)) if self.joint else {})

    def central(self) -> dict[str, np.ndarray]:
        """The inputs at their means, and of what is chosen the likeliest."""
        places = [np.array([int(np.argmax(each.probabilities))]) for each in self.choices.values()]
        together = dict(zip(self.joint.names, self.joint.mean, strict=True)) if self.joint else {}
        return self._at(places, [np.array(each.mean) for each in self.numbers], together)

    def _at(
        self, places: Sequence[np.ndarray], numbers: Sequence[np.ndarray], together: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Every input that varies, at places among the choices and at values of the numbers."""
        found = {name: self._gathered(value, places) for name, value in self._arrays.items()}
        for each, drawn in zip(self.numbers, map(self._along, numbers), strict=True):
            name = each.variable.name
            held: Any = found.get(name, self.varied.binding.values.get(name))
            found[name] = drawn * held if each.factor else drawn
        return found | {name: self._along(drawn) for name, drawn in together.items()}

    def refuse_others(self) -> None:
        """Raise the error of a point of the grid that is refused whatever the uncertain inputs are.

        Raises
        ------
        InputError
            If there is one.
        """
        binding, varying = self.varied.binding, {*self.varied.free, *self._chosen}
        varying |= {each.variable.name for each in binding.derived if varying.intersection(each.inputs)}
        others = [reason for reason in binding.reasons if varying.isdisjoint(reason.inputs)]
        refuse(others, binding.system, binding.numbers)

    def refused(self) -> InputError:
        """The error where no draw is allowed, with the reasons that there may be."""
        texts = dict.fromkeys(reason.text for reason in self.varied.binding.reasons)
        why = f"what may refuse it: {'; '.join(texts)}" if texts else ""
        return InputError(ARGUMENT, ", ".join(self.texts), "every draw is refused, as solve would refuse it", why)

    def blocks(self, shares: np.ndarray) -> Iterator[slice]:
        """Draws in parts that are held at once, saying how far they are."""
        rows = max(1, POINTS // max(1, int(np.prod(self.sizes))))
        with loop(len(shares), POINTS) as advance:
            for first in range(0, len(shares), rows):
                last = min(first + rows, len(shares))
                yield slice(first, last)
                advance(last - first)

    def shaped(self, values: np.ndarray, draws: int) -> np.ndarray:
        """An array over draws and axes, whatever it depends on."""
        shape = (draws, *self.sizes)
        values = np.asarray(values)
        return np.broadcast_to(values.reshape(values.shape[max(0, values.ndim - len(shape)) :]), shape)

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        """Arrays that vary along an axis: values, and where there are any."""
        return {name: value for name, value in self.varied.binding.numbers.items() if np.ndim(value)}

    @property
    def _chosen(self) -> set[str]:
        """Inputs that depend on what is chosen."""
        places = range(len(self.choices))
        values = self.varied.binding.values.items()
        return {name for name, value in values if any(np.shape(value)[place : place + 1] > (1,) for place in places)}

    def _gathered(self, value: np.ndarray, places: Sequence[np.ndarray]) -> np.ndarray:
        """Values along the choices as values along the draws."""
        chosen = tuple(
            place if size > 1 else np.zeros(1, int) for place, size in zip(places, value.shape, strict=False)
        )
        return value[chosen] if chosen else value[np.newaxis]

    def _along(self, drawn: np.ndarray) -> np.ndarray:
        return drawn.reshape(-1, *(1 for _ in self.sizes))


def uncertain(
    model: DeclaredModel,
    arguments: Mapping[str, Any],
    given: Mapping[str, Distribution],
    outputs: Sequence[str],
    covariance: Any,
    logs: bool,
) -> Uncertain:
    """Read which inputs of a call are uncertain.

    Parameters
    ----------
    model : DeclaredModel
        Whose outputs are asked for.
    arguments : mapping
        Arguments of ``solve``, of which some may be axes.
    given : mapping
        Distribution per input.
    outputs : sequence of str
        Names that are asked for.
    covariance : mapping, pandas.DataFrame or xarray.DataArray, optional
        Of further inputs.
    logs : bool
        Whether it is that of their logarithms.

    Raises
    ------
    InputError
        If an input has two distributions, or none fits it; and as ``sweep`` does.
    """
    choices = {name: each for name, each in given.items() if isinstance(each, Choice)}
    numbers = {name: each for name, each in given.items() if name not in choices}
    for name, each in numbers.items():
        variable = model.arguments.get(name)
        if name in model.arguments and (
            variable is None or variable.domain.kind == "choice" or variable.domain.is_flag
        ):
            raise InputError(f"{ARGUMENT}[{name!r}]", str(each), "is of a number; a choice is choice([...])")
    for name in given:
        if is_axis(arguments.get(name)):
            raise InputError(name, arguments[name], "is uncertain: give it no axis")
    together = named_matrix(covariance)[0] if covariance is not None else ()
    for name in together:
        if name in given:
            raise InputError(f"{ARGUMENT}[{name!r}]", str(given[name]), "is in the covariance too; give one of them")
    held = {name: value for name, value in arguments.items() if name not in choices}
    typed = {**{name: list(each.values) for name, each in choices.items()}, **held}
    varied = Varied(model, typed, (*numbers, *together), outputs)
    values = varied.binding.values
    return Uncertain(
        varied,
        choices,
        tuple(placed(variable_of(name), each, values[name]) for name, each in numbers.items()),
        correlated(covariance, values, logs) if together else None,
    )


def refuse_size(found: Uncertain, draws: int) -> None:
    """Refuse draws that do not fit in memory.

    Raises
    ------
    InputError
        If they do not.
    """
    points = draws * int(np.prod(found.sizes, dtype=float))
    if points > LARGEST_GRID:
        allowed = f"draws times points of the grid are at most {LARGEST_GRID:,}; these are {points:,}"
        raise InputError("samples", draws, allowed)


def shares_of(inputs: int, samples: int, seed: Any) -> np.ndarray:
    """Draws of equally likely shares that fill the cube evenly: a scrambled Sobol' sequence.

    Parameters
    ----------
    inputs : int
        Columns.
    samples : int
        Rows; a power of two.
    seed : int
        Of the scrambling.
    """
    from scipy.stats import qmc

    return qmc.Sobol(inputs, scramble=True, rng=np.random.default_rng(seed)).random(samples)


def conditions_of(model: DeclaredModel, asked: Uncertain, texts: Sequence[Any]) -> list[Expression]:
    """Conditions on the inputs and outputs of a call, read from text.

    Raises
    ------
    InputError
        If one does not read as a condition.
    """
    binding = asked.varied.binding
    known = [*(v.name for v in binding.system.variables), *binding.values]
    return [condition(text, model, known, "conditions") for text in texts]


def evaluated(
    asked: Uncertain, outputs: Sequence[str], shares: np.ndarray, conditions: Sequence[Expression] = ()
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Outputs and conditions at draws.

    Parameters
    ----------
    asked : Uncertain
        The uncertain inputs.
    outputs : sequence of str
        Names among those asked for.
    shares : ndarray
        A row per draw.
    conditions : sequence of Expression
        What may hold.

    Returns
    -------
    tuple
        Canonical values per output, over draws and axes, nan where a draw is refused; whether each condition holds,
        along a first axis of conditions; and whether each draw is allowed.
    """
    size = (len(shares), *asked.sizes)
    found = {name: np.empty(size) for name in outputs}
    held = np.zeros((len(conditions), *size), bool)
    allowed = np.empty(size, bool)
    named = tuple((f"condition_{place}", lower(each.sympy)) for place, each in enumerate(conditions))
    function = compiled(asked.varied.binding.system, None, "vector", named) if named else None
    for rows in asked.blocks(shares):
        given, count = asked.inputs(shares[rows]), rows.stop - rows.start
        allowed[rows] = good = asked.shaped(asked.varied.allowed(given), count)
        if outputs:
            for name, value in asked.varied.values(given).items():
                if name in found:
                    found[name][rows] = np.where(good, asked.shaped(value, count), np.nan)
        if function is not None:
            with np.errstate(all="ignore"):
                met = function({**asked.varied.binding.values, **given})
            for place, each in enumerate(met.values()):
                held[place, rows] = asked.shaped(np.asarray(each, bool), count) & good
    return found, held, allowed


def shares_that_hold(held: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Share of the allowed draws in which each condition holds, over the axes; nan where none is allowed."""
    count = allowed.sum(axis=0)
    return np.where(count > 0, held.sum(axis=1) / np.maximum(count, 1), np.nan)
