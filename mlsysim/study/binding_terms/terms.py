"""The choices on the way to an output, and which of their terms binds at every point."""

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

#: Where a choice stands: the variable, and the places of arguments on the way.
Place = tuple[Any, ...]
#: What a choice has no part in: it stands in a term that does not bind.
INACTIVE = -1


@dataclass(frozen=True, eq=False)
class Choice:
    """A maximum, a minimum or a case distinction in the formula of a variable.

    Attributes
    ----------
    variable : Variable
        Whose formula it stands in.
    node : sympy.Basic
        The expression.
    shown : tuple of sympy.Basic
        Its terms; cases within them that do not change are decided.
    """

    variable: Variable
    node: Any
    shown: tuple[Any, ...] = ()

    @property
    def is_extreme(self) -> bool:
        """True if it is a maximum or a minimum, and no case distinction."""
        return isinstance(self.node, sympy.Max | sympy.Min)

    def term(self, code: int) -> Any:
        """The argument or the case with a number."""
        return self.node.args[code] if self.is_extreme else self.node.args[code].expr

    def name(self, code: int) -> str:
        """The term in the words of a user: the label of a variable, else what is computed, or when."""
        term, whose = self.term(code), symbol_text(self.variable)
        if isinstance(term, Label):
            return term.text
        if self.is_extreme and all(arg.is_Symbol for arg in self.node.args):
            return variable_of(term.name).label
        if self.is_extreme:
            return f"{whose}: {text(self.shown[code])}"
        condition = self.node.args[code].cond
        if condition == True and code == 1:  # noqa: E712
            condition = sympy.Not(self.node.args[0].cond)
        return f"{whose}: {'otherwise' if condition == True else text(condition)}"  # noqa: E712


class Paths:
    """The choices that depend on some inputs, on the way to one output.

    Parameters
    ----------
    system : System
        The formulas of the output.
    output : str
        Its name.
    moving : collection of str
        Inputs that move.
    by : collection of str, optional
        Variables whose choices are looked at; all by default.
    """

    def __init__(self, system: System, output: str, moving: Collection[str], by: Collection[str] | None = None) -> None:
        self.system = system
        self.output = output
        self.by = by
        self.choices: dict[Place, Choice] = {}
        self.moved = {variable_of(name).symbol for name in (*moving, *moved_by(system, tuple(moving)))}

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every input and variable at canonical values of the inputs."""
        return {**given, **compiled(self.system, (self.output,), "vector")(given)}

    def codes(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> dict[Place, np.ndarray]:
        """Code of the binding term of each choice, by place of the choice; ``INACTIVE`` where it has no part."""
        walk = _Walk(self, values, shape, {self.output: np.ones(shape, bool)})
        with np.errstate(all="ignore"):
            for formula in reversed(self.system.formulas):
                mask = walk.active.get(formula.name)
                if mask is not None:
                    walk.into(formula.expression, mask, formula.variable, (formula.name,))
        return walk.codes


@dataclass
class _Walk:
    """One way through the formulas, from the output to the inputs, along the terms that bind."""

    paths: Paths
    values: Mapping[str, Any]
    shape: tuple[int, ...]
    active: dict[str, np.ndarray]
    codes: dict[Place, np.ndarray] = field(default_factory=dict)

    def number(self, expression: Any) -> np.ndarray:
        """The value of an expression at every point."""
        return np.broadcast_to(np.asarray(value_at(expression, self.values), float), self.shape)

    def into(self, node: Any, mask: np.ndarray, variable: Variable, place: Place) -> None:
        """Follow an expression where it counts."""
        if not self.paths.moved & node.free_symbols:
            return
        if node.is_Symbol:
            known = self.active.get(node.name)
            self.active[node.name] = mask if known is None else known | mask
        elif isinstance(node, sympy.Max | sympy.Min | sympy.Piecewise):
            code = self._cases(node) if isinstance(node, sympy.Piecewise) else self._extreme(node)
            self._note(node, np.where(mask, code, INACTIVE), variable, place)
            for number, arg in enumerate(node.args):
                chosen = mask & (code == number)
                if chosen.any():
                    term = arg.args[0] if isinstance(node, sympy.Piecewise) else arg
                    self.into(term, chosen, variable, (*place, number))
        elif isinstance(node, Closed):
            for symbol in node.free_symbols:
                self.into(symbol, mask, variable, place)
        else:
            for number, arg in enumerate(node.args):
                self.into(arg, mask, variable, (*place, number))

    def _note(self, node: Any, code: np.ndarray, variable: Variable, place: Place) -> None:
        by = self.paths.by
        if by is None or variable.name in by:
            if place not in self.paths.choices:
                shown = () if isinstance(node, sympy.Piecewise) else tuple(map(self._decided, node.args))
                self.paths.choices[place] = Choice(variable, node, shown)
            self.codes[place] = code

    def _decided(self, node: Any) -> Any:
        """An expression with the case that holds in place of every case distinction that does not move."""
        if isinstance(node, sympy.Piecewise) and not any(c.free_symbols & self.paths.moved for _, c in node.args):  # type: ignore[misc, union-attr]
            return self._decided(node.args[int(self._cases(node).flat[0])].args[0])
        if not node.args or isinstance(node, Closed):
            return node
        return node.func(*map(self._decided, node.args))

    def _extreme(self, node: Any) -> np.ndarray:
        """The first argument that counts as equal to the largest or smallest."""
        numbers = np.stack([self.number(arg) for arg in node.args])
        if isinstance(node, sympy.Min):
            numbers = -numbers
        numbers = np.where(np.isnan(numbers), -np.inf, numbers)
        best = numbers.max(axis=0)
        return np.argmax(numbers >= best - TIE * np.where(np.isfinite(best), np.abs(best), 0.0), axis=0)

    def _cases(self, node: Any) -> np.ndarray:
        """The first case whose condition holds."""
        held = [
            np.ones(self.shape, bool) if condition == True else self.number(condition) != 0  # noqa: E712
            for _, condition in node.args
        ]
        return np.argmax(np.stack(held), axis=0)


class Alike:
    """Points at which the same terms bind.

    Parameters
    ----------
    codes : mapping
        Which term binds, per choice, at the points of a grid that are accepted.
    choices : mapping
        The choices.
    """

    def __init__(self, codes: Mapping[Place, np.ndarray], choices: Mapping[Place, Choice]) -> None:
        flat = {place: code.ravel() for place, code in codes.items()}
        flat = {place: code for place, code in flat.items() if code.size and (code != code[0]).any()}
        self.choices = [choices[place] for place in flat]
        self.places = list(flat)
        if not flat:
            self.numbers, self.terms = np.zeros(0, int), np.zeros((0, 1), int)
            return
        stack = np.stack(list(flat.values()))
        terms, numbers, counts = np.unique(stack, axis=1, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        #: The regime of every point, 0 that of most points; and which term binds per choice and regime.
        self.numbers, self.terms = ranks[np.reshape(numbers, -1)], terms[:, order]

    @property
    def count(self) -> int:
        """Number of regimes."""
        return self.terms.shape[1]

    def number_of(self, codes: Mapping[Place, np.ndarray], size: int) -> np.ndarray:
        """The regime of other points; -1 where other terms bind than anywhere on the grid."""
        if not self.places:
            return np.zeros(size, int)
        absent = np.full(size, INACTIVE)
        stack = np.stack([np.broadcast_to(codes.get(place, absent), (size,)) for place in self.places])
        found = np.full(size, -1)
        for number, terms in enumerate(self.terms.T):
            found[(stack == terms[:, None]).all(axis=0)] = number
        return found

    def names(self, whole: str) -> list[str]:
        """A name per regime, each another: the terms that tell it apart; one alone is called ``whole``."""
        if not self.places:
            return [whole]
        telling = self._telling()
        found = [self._name(terms, telling) for terms in self.terms.T]
        return [name if found.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(found)]

    def _telling(self) -> list[int]:
        """Choices that tell the regimes apart, those nearest to the output first."""
        found: list[int] = []
        kinds = 1
        for place in range(len(self.places)):
            more = np.unique(self.terms[[*found, place]], axis=1).shape[1]
            if more > kinds:
                kinds = more
                found.append(place)
        return found

    def _name(self, terms: np.ndarray, telling: Sequence[int]) -> str:
        words = [self.choices[place].name(int(terms[place])) for place in telling if terms[place] != INACTIVE]
        return "; ".join(dict.fromkeys(words)) or "neither"

    def changed(self, before: int, after: int) -> list[tuple[Choice, tuple[int, int]]]:
        """The choices that go from one term to another between two regimes, and the terms; extremes first."""
        pairs = zip(self.choices, self.terms[:, before].tolist(), self.terms[:, after].tolist(), strict=True)
        found = [(choice, (a, b)) for choice, a, b in pairs if a != b and INACTIVE not in (a, b)]
        return sorted(found, key=lambda each: not each[0].is_extreme)
