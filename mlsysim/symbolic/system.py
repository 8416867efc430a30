"""Systems: formulas with distinct left sides, and the acyclic graph from inputs to outputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import sympy

from mlsysim.errors import CycleError, DuplicateError, FormulaError, UnknownNameError, quoted
from mlsysim.symbolic.formula import Formula
from mlsysim.symbolic.functions import STEPS, Definition, EvaluatedAt, LeastInteger, evaluated_by
from mlsysim.symbolic.variable import Variable
from mlsysim.tracebacks import at_the_call

Node = TypeVar("Node", bound=Hashable)


class System:
    """A set of formulas that each define one variable, in an order in which they can be evaluated.

    Parameters
    ----------
    formulas : iterable of Formula
        Formulas in any order; an indexed formula stands for its members.

    Raises
    ------
    DuplicateError
        If two formulas define the same variable.
    CycleError
        If formulas depend on each other in a cycle.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> system = KernelModel("roofline").system
    >>> [variable.name for variable in system.closure(["ridge_point"]).inputs]
    ['efficiency', 'memory_bandwidth', 'memory_efficiency', 'peak_flops']
    """

    @at_the_call
    def __init__(self, formulas: Iterable[Formula]) -> None:
        self._by_name: dict[str, Formula] = {}
        for formula in _plain(formulas):
            if formula.name in self._by_name:
                raise DuplicateError(
                    f"two formulas define {formula.name}: {self._by_name[formula.name].id} and {formula.id}; "
                    "use replace() to swap one for the other"
                )
            self._by_name[formula.name] = formula
        needs = {name: [v.name for v in formula.inputs] for name, formula in self._by_name.items()}
        self._order = _topological(needs)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Formulas in order of evaluation."""
        return tuple(self._by_name[name] for name in self._order)

    @cached_property
    def printed(self) -> tuple[Formula, ...]:
        """Formulas as they are printed: an indexed one once, for the members in this system."""
        grouped: dict[Formula, list[Formula]] = {}
        for formula in reversed(self.formulas):
            grouped.setdefault(formula.printed, []).append(formula)
        last = dict(reversed(grouped.items()))
        printed_of = {member.name: formula for formula, members in last.items() for member in members}
        needs = {
            formula: [
                printed_of[v.name]
                for member in members
                for v in member.inputs
                if printed_of.get(v.name, formula) is not formula
            ]
            for formula, members in last.items()
        }
        try:
            order = _topological(needs)
        except CycleError:  # members of two families may need each other by turns: then by the last member
            order = list(last)
        return tuple(formula.only(member.member for member in last[formula]) for formula in order)

    def __iter__(self) -> Iterator[Formula]:
        return iter(self.formulas)

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Formula:
        """Return the formula of a variable.

        Raises
        ------
        UnknownNameError
            If no formula defines it.
        """
        if not isinstance(name, str) or name not in self._by_name:
            raise UnknownNameError("formula", name, self._by_name)
        return self._by_name[name]

    @cached_property
    def inputs(self) -> tuple[Variable, ...]:
        """Variables that no formula defines, by name."""
        by_name = {v.name: v for formula in self for v in formula.inputs if v.name not in self._by_name}
        return tuple(by_name[name] for name in sorted(by_name))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Variables that the formulas define, in order of evaluation."""
        return tuple(formula.variable for formula in self)

    @cached_property
    def outputs(self) -> tuple[Variable, ...]:
        """Defined variables that no other formula uses."""
        used = {v.name for formula in self for v in formula.inputs}
        return tuple(v for v in self.variables if v.name not in used)

    def closure(self, outputs: Iterable[str]) -> System:
        """Restrict the system to the formulas that the given outputs need.

        Parameters
        ----------
        outputs : iterable of str
            Names of defined variables.

        Returns
        -------
        System

        Raises
        ------
        UnknownNameError
            If an output is not defined in this system.
        """
        wanted: set[str] = set()
        stack = [self[name].name for name in outputs]
        while stack:
            name = stack.pop()
            if name not in wanted:
                wanted.add(name)
                stack.extend(v.name for v in self._by_name[name].inputs if v.name in self._by_name)
        return System(formula for formula in self if formula.name in wanted)

    def replace(self, *formulas: Formula) -> System:
        """Replace the formulas of variables that the system defines; calls that follow replacements change too.

        Parameters
        ----------
        *formulas : Formula
            Formulas of variables that the system defines.

        Returns
        -------
        System

        Raises
        ------
        UnknownNameError
            If a formula defines a new variable; use :meth:`extend` for that.
        """
        new = {self[formula.name].name: formula for formula in _plain(formulas)}
        replacements: dict[Definition, Definition] = {self._by_name[name]: formula for name, formula in new.items()}
        changed = self._by_name | new
        for name in self._by_name.keys() - new.keys():
            expression = evaluated_by(self._by_name[name].expression, replacements)
            if expression != self._by_name[name].expression:
                changed[name] = replace(self._by_name[name], expression=expression)
        return System(changed.values())

    def extend(self, *formulas: Formula) -> System:
        """Add formulas for further variables.

        Parameters
        ----------
        *formulas : Formula
            Formulas of further variables.

        Returns
        -------
        System

        Raises
        ------
        DuplicateError
            If a variable is already defined; use :meth:`replace` for that.
        """
        return System([*self.formulas, *formulas])

    def expand(self, output: str) -> sympy.Basic:
        """Express an output in terms of the inputs alone.

        Parameters
        ----------
        output : str
            Name of a variable that the system defines.

        Returns
        -------
        sympy.Expr

        Raises
        ------
        FormulaError
            If a formula evaluates a variable at other inputs, where no substitution applies.
        """
        expression = self[output].expression
        for formula in self.closure([output]):
            if formula.expression.has(EvaluatedAt):
                raise FormulaError(f"{output} cannot be expanded: {formula.name} tries values of another variable")
        for formula in reversed(self.closure([output]).formulas[:-1]):
            expression = expression.xreplace({formula.variable.symbol: formula.expression})
        return expression

    def relax(self) -> System:
        """Drop every ceiling and floor, so that derivatives see through them.

        A least integer has no continuous form and stays; :meth:`steps` lists what is left.
        """
        changed = ((formula, relaxed(formula.expression)) for formula in self)
        return System(formula if same == formula.expression else formula.relaxed(same) for formula, same in changed)

    def steps(self, output: str | None = None) -> tuple[str, ...]:
        """List the variables whose formula jumps: ceiling, floor or least integer.

        Parameters
        ----------
        output : str, optional
            List only those on which this output depends.
        """
        system = self.closure([output]) if output is not None else self
        return tuple(f.name for f in system if f.expression.has(*STEPS))

    def __repr__(self) -> str:
        return f"<System of {len(self)} formulas: {', '.join(v.name for v in self.outputs)}>"


def relaxed(expression: sympy.Basic) -> sympy.Basic:
    """Drop ceilings and floors from an expression; least integers stay."""
    if isinstance(expression, LeastInteger) or not expression.args:
        return expression
    args = [relaxed(arg) for arg in expression.args]
    if isinstance(expression, sympy.ceiling | sympy.floor):
        return args[0]
    return expression.func(*args)


@at_the_call
def swapped(
    system: Iterable[Formula], formulas: Iterable[Formula], dropped: tuple[str, ...] = ()
) -> tuple[Formula, ...]:
    """Swap some formulas of a system for others of the same variable, and add some.

    Parameters
    ----------
    system : System, or iterable of Formula
        Formulas to start from.
    formulas : iterable of Formula
        New formulas; one that defines a variable of the system replaces its formula.
    dropped : tuple of str
        Names of variables to drop.

    Returns
    -------
    tuple of Formula

    Raises
    ------
    FormulaError
        If an item is not a formula.

    Examples
    --------
    >>> from mlsysim import KernelModel, swapped
    >>> formulas = KernelModel("roofline").formulas
    >>> len(swapped(formulas, [], dropped=("ridge_point",))) - len(formulas)
    -1
    """
    remaining = System(formula for formula in _plain(system) if formula.name not in dropped)
    known, new = [], []
    for formula in _plain(formulas):
        (known if formula.name in remaining else new).append(formula)
    return remaining.replace(*known).extend(*new).formulas


def _plain(formulas: Iterable[Formula]) -> Iterator[Formula]:
    """Yield the formulas, with indexed ones expanded to their members."""
    for formula in formulas:
        if not isinstance(formula, Formula):
            raise FormulaError(f"a system is made of formulas, not of {quoted(formula)}")
        yield from formula.members


def _topological(needs: Mapping[Node, Iterable[Node]]) -> list[Node]:
    """Sort nodes topologically, each after those it needs."""
    order: list[Node] = []
    state: dict[Node, str] = {}

    def visit(node: Node, trail: list[Node]) -> None:
        if state.get(node) == "done":
            return
        if state.get(node) == "open":
            loop = [*trail[trail.index(node) :], node]
            raise CycleError(f"formulas need each other: {' -> '.join(map(str, loop))}")
        state[node] = "open"
        for needed in needs[node]:
            if needed in needs:
                visit(needed, [*trail, node])
        state[node] = "done"
        order.append(node)

    for node in needs:
        visit(node, [])
    return order
