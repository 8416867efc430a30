"""Choices in the formulas of an output, and the term of each that binds at every point."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from mlsysim.backends import compiled
from mlsysim.backends.ties import TIE
from mlsysim.study.chain import moved_by, value_at
from mlsysim.symbolic import Closed, Label, System, Variable, variable_of
from mlsysim.symbolic.printing import symbol_text, text

#: Position of a choice: the variable, and the indices of arguments from the root of its expression.
Position = tuple[Any, ...]
#: Code of a choice inside a term that does not bind.
INACTIVE = -1


@dataclass(frozen=True, eq=False)
class Choice:
    """A maximum, a minimum or a piecewise expression in the formula of a variable.

    Attributes
    ----------
    variable : Variable
        Variable defined by the formula.
    node : sympy.Basic
        The expression.
    shown : tuple of sympy.Basic
        Terms as printed, with constant case distinctions resolved.
    """

    variable: Variable
    node: Any
    shown: tuple[Any, ...] = ()

    @property
    def is_extreme(self) -> bool:
        """True for a maximum or a minimum, false for a piecewise expression."""
        return isinstance(self.node, sympy.Max | sympy.Min)

    def term(self, code: int) -> Any:
        """Return the argument or the case of a code."""
        return self.node.args[code] if self.is_extreme else self.node.args[code].expr

    def name(self, code: int) -> str:
        """Name a term: the label of a variable, else its expression or condition."""
        term, symbol = self.term(code), symbol_text(self.variable)
        if isinstance(term, Label):
            return term.text
        if self.is_extreme and all(arg.is_Symbol for arg in self.node.args):
            return variable_of(term.name).label
        if self.is_extreme:
            return f"{symbol}: {text(self.shown[code])}"
        condition = self.node.args[code].cond
        if condition == True and code == 1:  # noqa: E712
            condition = sympy.Not(self.node.args[0].cond)
        return f"{symbol}: {'otherwise' if condition == True else text(condition)}"  # noqa: E712


class Paths:
    """Choices that depend on some inputs, in the formulas of one output.

    Parameters
    ----------
    system : System
        Formulas of the output.
    output : str
        Name of the output.
    moving : collection of str
        Inputs that vary.
    by : collection of str, optional
        Variables whose choices are examined; by default all.
    """

    def __init__(self, system: System, output: str, moving: Collection[str], by: Collection[str] | None = None) -> None:
        self.system = system
        self.output = output
        self.by = by
        self.choices: dict[Position, Choice] = {}
        self.moved = {variable_of(name).symbol for name in (*moving, *moved_by(system, tuple(moving)))}

    def values(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Evaluate every variable at canonical values of the inputs."""
        return {**inputs, **compiled(self.system, (self.output,), "vector")(inputs)}

    def codes(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> dict[Position, np.ndarray]:
        """Return the code of the binding term per choice; ``INACTIVE`` inside terms that do not bind."""
        walk = _Traversal(self, values, shape, {self.output: np.ones(shape, bool)})
        with np.errstate(all="ignore"):
            for formula in reversed(self.system.formulas):
                mask = walk.active.get(formula.name)
                if mask is not None:
                    walk.follow(formula.expression, mask, formula.variable, (formula.name,))
        return walk.codes


@dataclass
class _Traversal:
    """One traversal of the formulas, from the output to the inputs, along the binding terms."""

    paths: Paths
    values: Mapping[str, Any]
    shape: tuple[int, ...]
    active: dict[str, np.ndarray]
    codes: dict[Position, np.ndarray] = field(default_factory=dict)

    def number(self, expression: Any) -> np.ndarray:
        """Evaluate an expression at every point."""
        return np.broadcast_to(np.asarray(value_at(expression, self.values), float), self.shape)

    def follow(self, node: Any, mask: np.ndarray, variable: Variable, position: Position) -> None:
        """Follow an expression at the points of a mask."""
        if not self.paths.moved & node.free_symbols:
            return
        if node.is_Symbol:
            known = self.active.get(node.name)
            self.active[node.name] = mask if known is None else known | mask
        elif isinstance(node, sympy.Max | sympy.Min | sympy.Piecewise):
            code = self._cases(node) if isinstance(node, sympy.Piecewise) else self._extreme(node)
            self._note(node, np.where(mask, code, INACTIVE), variable, position)
            for index, arg in enumerate(node.args):
                binding = mask & (code == index)
                if binding.any():
                    term = arg.args[0] if isinstance(node, sympy.Piecewise) else arg
                    self.follow(term, binding, variable, (*position, index))
        elif isinstance(node, Closed):
            for symbol in node.free_symbols:
                self.follow(symbol, mask, variable, position)
        else:
            for index, arg in enumerate(node.args):
                self.follow(arg, mask, variable, (*position, index))

    def _note(self, node: Any, code: np.ndarray, variable: Variable, position: Position) -> None:
        by = self.paths.by
        if by is None or variable.name in by:
            if position not in self.paths.choices:
                shown = () if isinstance(node, sympy.Piecewise) else tuple(map(self._decided, node.args))
                self.paths.choices[position] = Choice(variable, node, shown)
            self.codes[position] = code

    def _decided(self, node: Any) -> Any:
        """Replace case distinctions that do not vary by the case that holds."""
        if isinstance(node, sympy.Piecewise) and not any(c.free_symbols & self.paths.moved for _, c in node.args):  # type: ignore[misc, union-attr]
            return self._decided(node.args[int(self._cases(node).flat[0])].args[0])
        if not node.args or isinstance(node, Closed):
            return node
        return node.func(*map(self._decided, node.args))

    def _extreme(self, node: Any) -> np.ndarray:
        """Return the index of the first argument that ties with the largest or smallest."""
        numbers = np.stack([self.number(arg) for arg in node.args])
        if isinstance(node, sympy.Min):
            numbers = -numbers
        numbers = np.where(np.isnan(numbers), -np.inf, numbers)
        best = numbers.max(axis=0)
        return np.argmax(numbers >= best - TIE * np.where(np.isfinite(best), np.abs(best), 0.0), axis=0)

    def _cases(self, node: Any) -> np.ndarray:
        """Return the index of the first case whose condition holds."""
        conditions = [
            np.ones(self.shape, bool) if condition == True else self.number(condition) != 0  # noqa: E712
            for _, condition in node.args
        ]
        return np.argmax(np.stack(conditions), axis=0)


class Partition:
    """Partition of points into regimes: points at which the same terms bind.

    Parameters
    ----------
    codes : mapping
        Code of the binding term per choice, at the accepted points of a grid.
    choices : mapping
        The choices by position.
    """

    def __init__(self, codes: Mapping[Position, np.ndarray], choices: Mapping[Position, Choice]) -> None:
        flat = {position: code.ravel() for position, code in codes.items()}
        flat = {position: code for position, code in flat.items() if code.size and (code != code[0]).any()}
        self.choices = [choices[position] for position in flat]
        self.positions = list(flat)
        if not flat:
            self.numbers, self.terms = np.zeros(0, int), np.zeros((0, 1), int)
            return
        stack = np.stack(list(flat.values()))
        terms, numbers, counts = np.unique(stack, axis=1, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        #: Regime of every point, 0 for the most frequent; and code of the binding term per choice and regime.
        self.numbers, self.terms = ranks[np.reshape(numbers, -1)], terms[:, order]

    @property
    def count(self) -> int:
        """Number of regimes."""
        return self.terms.shape[1]

    def number_of(self, codes: Mapping[Position, np.ndarray], size: int) -> np.ndarray:
        """Return the regime of other points; -1 if their binding terms occur nowhere on the grid."""
        if not self.positions:
            return np.zeros(size, int)
        absent = np.full(size, INACTIVE)
        stack = np.stack([np.broadcast_to(codes.get(position, absent), (size,)) for position in self.positions])
        regimes = np.full(size, -1)
        for number, terms in enumerate(self.terms.T):
            regimes[(stack == terms[:, None]).all(axis=0)] = number
        return regimes

    def names(self, only_name: str) -> list[str]:
        """Name each regime by the terms that distinguish it; a single regime is called ``only_name``."""
        if not self.positions:
            return [only_name]
        distinguishing = self._distinguishing_choices()
        names = [self._name(terms, distinguishing) for terms in self.terms.T]
        return [name if names.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(names)]

    def _distinguishing_choices(self) -> list[int]:
        """Return the choices that distinguish the regimes, those nearest to the output first."""
        distinguishing: list[int] = []
        kinds = 1
        for choice in range(len(self.positions)):
            distinct = np.unique(self.terms[[*distinguishing, choice]], axis=1).shape[1]
            if distinct > kinds:
                kinds = distinct
                distinguishing.append(choice)
        return distinguishing

    def _name(self, terms: np.ndarray, distinguishing: Sequence[int]) -> str:
        words = [
            self.choices[choice].name(int(terms[choice])) for choice in distinguishing if terms[choice] != INACTIVE
        ]
        return "; ".join(dict.fromkeys(words)) or "neither"

    def changed(self, before: int, after: int) -> list[tuple[Choice, tuple[int, int]]]:
        """Return the choices whose binding term differs between two regimes, with both terms; extremes first."""
        pairs = zip(self.choices, self.terms[:, before].tolist(), self.terms[:, after].tolist(), strict=True)
        differing = [(choice, (a, b)) for choice, a, b in pairs if a != b and INACTIVE not in (a, b)]
        return sorted(differing, key=lambda item: not item[0].is_extreme)
