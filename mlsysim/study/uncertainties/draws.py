"""Draws of uncertain inputs, and the inputs and outputs of every draw."""

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
    """Uncertain inputs of a call, and the outputs as functions of them.

    Attributes
    ----------
    varied : Varied
        Outputs as functions of the inputs. Choices are axes of its binding, before the axes of the call.
    choices : dict
        Choices by argument.
    numbers : tuple of Placed
        Numeric inputs with independent distributions.
    joint : Correlated, optional
        Jointly normal inputs.
    """

    varied: Varied
    choices: dict[str, Choice]
    numbers: tuple[Placed, ...]
    joint: Correlated | None

    @property
    def names(self) -> tuple[str, ...]:
        """Uncertain inputs: choices, independent numbers, then correlated numbers."""
        return (
            *self.choices,
            *(number.variable.name for number in self.numbers),
            *(self.joint.names if self.joint else ()),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """Uncertain inputs, each with its distribution."""
        texts = [f"{name} {choice}" for name, choice in self.choices.items()]
        texts += [f"{number.variable.name} {number.distribution}" for number in self.numbers]
        return (*texts, *(f"{name} by covariance" for name in (self.joint.names if self.joint else ())))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Points along each axis of the call."""
        return self.varied.binding.sizes[len(self.choices) :]

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes of the call."""
        return tuple(self.varied.binding.axes)[len(self.choices) :]

    def inputs(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """Compute every varying input, in canonical units, along the draws and then the axes.

        Parameters
        ----------
        shares : ndarray
            A row per draw, a column per name: values of the cumulative distribution.
        """
        columns = iter(shares.T)
        chosen = [
            np.searchsorted(np.cumsum(choice.probabilities)[:-1], next(columns), "right")
            for choice in self.choices.values()
        ]
        drawn = [number.at(next(columns)) for number in self.numbers]
        return self._at(chosen, drawn, self.joint.at(np.stack(list(columns), axis=1)) if self.joint else {})

    def central(self) -> dict[str, np.ndarray]:
        """Return the inputs at their means, and choices at the likeliest value."""
        chosen = [np.array([int(np.argmax(choice.probabilities))]) for choice in self.choices.values()]
        joint_means = dict(zip(self.joint.names, self.joint.mean, strict=True)) if self.joint else {}
        return self._at(chosen, [np.array(number.mean) for number in self.numbers], joint_means)

    def _at(
        self, chosen: Sequence[np.ndarray], numbers: Sequence[np.ndarray], joint: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Compute every varying input, from indices of choices and values of numbers."""
        values = {name: self._gathered(array, chosen) for name, array in self._arrays.items()}
        for number, drawn in zip(self.numbers, map(self._along, numbers), strict=True):
            name = number.variable.name
            current: Any = values.get(name, self.varied.binding.values.get(name))
            values[name] = drawn * current if number.factor else drawn
        return values | {name: self._along(drawn) for name, drawn in joint.items()}

    def refuse_others(self) -> None:
        """Refuse a point of the grid that is refused whatever the uncertain inputs are.

        Raises
        ------
        InputError
            If there is one.
        """
        binding, varying = self.varied.binding, {*self.varied.free, *self._chosen}
        varying |= {
            derived_input.variable.name
            for derived_input in binding.derived
            if varying.intersection(derived_input.inputs)
        }
        others = [reason for reason in binding.reasons if varying.isdisjoint(reason.inputs)]
        refuse(others, binding.system, binding.numbers)

    def refused(self) -> InputError:
        """Build the error for a call in which every draw is refused, with the possible reasons."""
        texts = dict.fromkeys(reason.text for reason in self.varied.binding.reasons)
        why = f"what may refuse it: {'; '.join(texts)}" if texts else ""
        return InputError(ARGUMENT, ", ".join(self.texts), "every draw is refused, as solve would refuse it", why)

    def blocks(self, shares: np.ndarray) -> Iterator[slice]:
        """Yield slices of draws that fit in memory, with a progress bar."""
        rows = max(1, POINTS // max(1, int(np.prod(self.sizes))))
        with loop(len(shares), POINTS) as advance:
            for first in range(0, len(shares), rows):
                last = min(first + rows, len(shares))
                yield slice(first, last)
                advance(last - first)

    def shaped(self, values: np.ndarray, draws: int) -> np.ndarray:
        """Broadcast an array over draws and axes."""
        shape = (draws, *self.sizes)
        values = np.asarray(values)
        return np.broadcast_to(values.reshape(values.shape[max(0, values.ndim - len(shape)) :]), shape)

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        """Arrays that vary along an axis, by input."""
        return {name: value for name, value in self.varied.binding.numbers.items() if np.ndim(value)}

    @property
    def _chosen(self) -> set[str]:
        """Inputs that depend on a choice."""
        dimensions = range(len(self.choices))
        values = self.varied.binding.values.items()
        return {
            name
            for name, value in values
            if any(np.shape(value)[dimension : dimension + 1] > (1,) for dimension in dimensions)
        }

    def _gathered(self, value: np.ndarray, chosen: Sequence[np.ndarray]) -> np.ndarray:
        """Convert values along the choices to values along the draws."""
        index = tuple(
            drawn_index if size > 1 else np.zeros(1, int)
            for drawn_index, size in zip(chosen, value.shape, strict=False)
        )
        return value[index] if index else value[np.newaxis]

    def _along(self, drawn: np.ndarray) -> np.ndarray:
        return drawn.reshape(-1, *(1 for _ in self.sizes))


def read_uncertain(
    model: DeclaredModel,
    arguments: Mapping[str, Any],
    distributions: Mapping[str, Distribution],
    outputs: Sequence[str],
    covariance: Any,
    logs: bool,
) -> Uncertain:
    """Read the uncertain inputs of a call.

    Parameters
    ----------
    model : DeclaredModel
        Model that computes the outputs.
    arguments : mapping
        Arguments of ``solve``, some of which may be axes.
    distributions : mapping
        Distribution per input.
    outputs : sequence of str
        Names of the outputs.
    covariance : mapping, pandas.DataFrame or xarray.DataArray, optional
        Covariance of further inputs.
    logs : bool
        The covariance is of their logarithms.

    Raises
    ------
    InputError
        If an input has two distributions, or an unsuitable one; and as ``sweep`` does.
    """
    choices = {name: distribution for name, distribution in distributions.items() if isinstance(distribution, Choice)}
    numbers = {name: distribution for name, distribution in distributions.items() if name not in choices}
    for name, distribution in numbers.items():
        variable = model.arguments.get(name)
        if name in model.arguments and (
            variable is None or variable.domain.kind == "choice" or variable.domain.is_flag
        ):
            raise InputError(f"{ARGUMENT}[{name!r}]", str(distribution), "is of a number; a choice is choice([...])")
    for name in distributions:
        if is_axis(arguments.get(name)):
            raise InputError(name, arguments[name], "is uncertain: give it no axis")
    correlated_names = named_matrix(covariance)[0] if covariance is not None else ()
    for name in correlated_names:
        if name in distributions:
            raise InputError(
                f"{ARGUMENT}[{name!r}]", str(distributions[name]), "is in the covariance too; give one of them"
            )
    fixed = {name: value for name, value in arguments.items() if name not in choices}
    typed = {**{name: list(choice.values) for name, choice in choices.items()}, **fixed}
    varied = Varied(model, typed, (*numbers, *correlated_names), outputs)
    values = varied.binding.values
    return Uncertain(
        varied,
        choices,
        tuple(placed(variable_of(name), distribution, values[name]) for name, distribution in numbers.items()),
        correlated(covariance, values, logs) if correlated_names else None,
    )


def refuse_size(uncertain_inputs: Uncertain, draws: int) -> None:
    """Refuse draws that do not fit in memory.

    Raises
    ------
    InputError
        If they do not fit.
    """
    points = draws * int(np.prod(uncertain_inputs.sizes, dtype=float))
    if points > LARGEST_GRID:
        allowed = f"draws times points of the grid are at most {LARGEST_GRID:,}; these are {points:,}"
        raise InputError("samples", draws, allowed)


def shares_of(inputs: int, samples: int, seed: Any) -> np.ndarray:
    """Draw points that fill the unit cube evenly: a scrambled Sobol' sequence.

    Parameters
    ----------
    inputs : int
        Number of columns.
    samples : int
        Number of rows; a power of two.
    seed : int
        Seed of the scrambling.
    """
    from scipy.stats import qmc

    return qmc.Sobol(inputs, scramble=True, rng=np.random.default_rng(seed)).random(samples)


def conditions_of(model: DeclaredModel, uncertain_inputs: Uncertain, texts: Sequence[Any]) -> list[Expression]:
    """Read conditions on the inputs and outputs of a call from text.

    Raises
    ------
    InputError
        If a text is no condition.
    """
    binding = uncertain_inputs.varied.binding
    known = [*(variable.name for variable in binding.system.variables), *binding.values]
    return [condition(text, model, known, "conditions") for text in texts]


def evaluated(
    uncertain_inputs: Uncertain, outputs: Sequence[str], shares: np.ndarray, conditions: Sequence[Expression] = ()
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Evaluate outputs and conditions at draws.

    Parameters
    ----------
    uncertain_inputs : Uncertain
        Uncertain inputs of the call.
    outputs : sequence of str
        Names of the outputs.
    shares : ndarray
        A row per draw.
    conditions : sequence of Expression
        Conditions to evaluate.

    Returns
    -------
    tuple
        Canonical values per output, over draws and axes, nan where a draw is refused; a mask of each condition, along a
        first axis of conditions; and a mask of the accepted draws.
    """
    size = (len(shares), *uncertain_inputs.sizes)
    values = {name: np.empty(size) for name in outputs}
    conditions_hold = np.zeros((len(conditions), *size), bool)
    allowed = np.empty(size, bool)
    named = tuple((f"condition_{index}", lower(expression.sympy)) for index, expression in enumerate(conditions))
    function = compiled(uncertain_inputs.varied.binding.system, None, "vector", named) if named else None
    for rows in uncertain_inputs.blocks(shares):
        inputs, count = uncertain_inputs.inputs(shares[rows]), rows.stop - rows.start
        allowed[rows] = accepted = uncertain_inputs.shaped(uncertain_inputs.varied.allowed(inputs), count)
        if outputs:
            for name, value in uncertain_inputs.varied.values(inputs).items():
                if name in values:
                    values[name][rows] = np.where(accepted, uncertain_inputs.shaped(value, count), np.nan)
        if function is not None:
            with np.errstate(all="ignore"):
                met = function({**uncertain_inputs.varied.binding.values, **inputs})
            for index, holds in enumerate(met.values()):
                conditions_hold[index, rows] = uncertain_inputs.shaped(np.asarray(holds, bool), count) & accepted
    return values, conditions_hold, allowed


def shares_that_hold(conditions_hold: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the share of accepted draws in which each condition holds, over the axes; nan if none is accepted."""
    count = allowed.sum(axis=0)
    return np.where(count > 0, conditions_hold.sum(axis=1) / np.maximum(count, 1), np.nan)
