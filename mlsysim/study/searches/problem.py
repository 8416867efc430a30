"""A search problem: axes, objectives and constraints in the model's own names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from mlsysim.bounds import Limited, Points, inputs_of, split_limits
from mlsysim.errors import InputError, MissingInputError
from mlsysim.inputs.binding import Binding, bind_grid
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.expressions import Expression, condition, quantity
from mlsysim.study.grids.grid import Grid
from mlsysim.study.searches.constraints import Comparison, comparisons, feasibility

#: Most values of the inputs of a problem whose results are cached for the next one: tables take several times as much.
LARGEST_KEPT = 1 << 17


@dataclass(frozen=True)
class Problem:
    """Objectives and constraints over a grid that is never held in memory.

    Attributes
    ----------
    model : DeclaredModel
        Model whose designs are searched.
    typed : mapping
        Arguments as typed.
    binding : Binding
        Bound inputs, of which some are axes.
    objectives : tuple of (Expression, int)
        Each objective with 1 if it is minimised, and -1 if it is maximised.
    constraints : tuple of Expression
        Conditions that must all hold.
    leaves_out : bool
        True if the last of them is the default condition that a design is feasible.
    """

    model: DeclaredModel
    typed: Mapping[str, Any]
    binding: Binding
    objectives: tuple[tuple[Expression, int], ...]
    constraints: tuple[Expression, ...]
    leaves_out: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields; code is compiled again when it is needed."""
        return Problem, (self.model, self.typed, self.binding, self.objectives, self.constraints, self.leaves_out)

    @property
    def goals(self) -> tuple[sympy.Basic, ...]:
        """The objectives as sympy, all to be minimised."""
        return tuple(expression.sympy * sign for expression, sign in self.objectives)  # type: ignore[operator]

    @property
    def conditions(self) -> tuple[sympy.Basic, ...]:
        """The constraints as sympy."""
        return tuple(constraint.sympy for constraint in self.constraints)

    @property
    def required(self) -> tuple[sympy.Basic, ...]:
        """The constraints, and the conditions under which the model accepts a point."""
        return (*self.conditions, *self.binding.conditions)

    @cached_property
    def parted(self) -> tuple[tuple[sympy.Basic, ...], dict[Limited, float]]:
        """Requirements other than limits; and quantities that are limited by a number, with that number."""
        values = {name: np.asarray(value, float) for name, value in self.binding.numbers.items()}
        return split_limits(self.binding.system, self.required, values)

    @cached_property
    def points(self) -> Points:
        """Evaluator of objectives and all conditions at points."""
        others, limits = self.parted
        return Points(self.binding.system, self.goals, others, self.binding.numbers, limits)

    @cached_property
    def grid(self) -> Grid:
        """The grid, without outputs, and the conditions under which the model accepts a point."""
        binding = self.binding
        return Grid(
            binding.system,
            binding.numbers,
            binding.sizes,
            conditions=tuple((1, condition) for condition in binding.conditions),
        )

    @cached_property
    def grid_key(self) -> tuple[Any, ...]:
        """The system and its inputs by value: a key that all problems over one grid share."""
        return self._key(self.binding.numbers)

    def key_of(self, expressions: Iterable[sympy.Basic]) -> tuple[Any, ...]:
        """The system and the inputs by value that some expressions depend on, as a key."""
        return self._key(inputs_of(self.binding.system, expressions) & set(self.binding.numbers))

    def _key(self, names: Iterable[str]) -> tuple[Any, ...]:
        numbers = {name: np.asarray(self.binding.numbers[name], float) for name in sorted(names)}
        key = tuple((name, value.shape, value.tobytes()) for name, value in numbers.items())
        return self.binding.system, self.binding.sizes, key

    @property
    def is_small(self) -> bool:
        """True if its inputs have so few values that results may be cached."""
        return sum(map(np.size, self.binding.numbers.values())) <= LARGEST_KEPT

    @property
    def known(self) -> list[str]:
        """Names that objectives and constraints may use."""
        return [*(v.name for v in self.binding.system.variables), *self.binding.values]

    def quantity(self, text: Any) -> Expression:
        """Read an expression of inputs and outputs."""
        return quantity(text, self.model, self.known)

    def condition(self, text: Any) -> Expression:
        """Read a condition on inputs and outputs."""
        return condition(text, self.model, self.known)

    def comparisons(self, constraint: Expression) -> list[Comparison]:
        """Return the comparisons of a constraint."""
        return comparisons(constraint, self.binding.system, self.quantity)

    def at(self, position: Iterable[int]) -> dict[str, Any]:
        """Return all arguments at a point, as ``solve`` takes them.

        Parameters
        ----------
        position : iterable of int
            Index along every axis.
        """
        return self.binding.at(self.typed, position)

    def swept(self, position: Iterable[int]) -> dict[str, Any]:
        """Return the swept arguments at a point."""
        return self.binding.swept(position)


def read_problem(
    model: DeclaredModel,
    arguments: Mapping[str, Any],
    minimize: Any,
    maximize: Any,
    subject_to: Any,
    allow_infeasible: Any = False,
) -> Problem:
    """Read a search problem.

    Parameters
    ----------
    model : DeclaredModel
        Model whose designs are searched.
    arguments : mapping
        Arguments of ``solve``; those that are lists are axes.
    minimize, maximize : str, sympy expression or sequence of them, or None
        Objectives.
    subject_to : str, sympy Boolean or sequence of them
        Constraints.
    allow_infeasible : bool
        Allow infeasible designs, if no constraint is on feasibility.

    Returns
    -------
    Problem

    Raises
    ------
    InputError
        If there is no objective or no axis, or a name, value or unit does not fit.
    """
    binding = bind_grid(model, arguments)
    if not binding.axes:
        raise InputError("axes", dict(arguments), "give at least one argument as a list", "use solve() for one point")
    known = [*(v.name for v in binding.system.variables), *binding.values]
    objectives = [
        (quantity(text, model, known, argument), sign)
        for argument, typed, sign in (("minimize", minimize, 1), ("maximize", maximize, -1))
        for text in _several(typed)
    ]
    if not objectives:
        raise MissingInputError(
            "a search",
            "an objective",
            "give minimize=... or maximize=..., an output or an expression of outputs and inputs",
        )
    own = tuple(condition(text, model, known, "subject_to") for text in _several(subject_to))
    assumed = feasibility(model, binding.system, own, allow_infeasible)
    return Problem(model, dict(arguments), binding, tuple(objectives), (*own, *assumed), bool(assumed))


def _several(typed: Any) -> list[Any]:
    if typed is None:
        return []
    return list(typed) if isinstance(typed, list | tuple | set | frozenset) else [typed]
