"""Conditions on the inputs of a system, beyond each input's own domain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from string import Formatter

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean

from mlsysim.errors import FormulaError, quoted
from mlsysim.symbolic.constants import Label, UnitSymbol
from mlsysim.symbolic.indexed import written_out
from mlsysim.symbolic.variable import Variable, variable_of
from mlsysim.tracebacks import at_the_call


@at_the_call
@dataclass(frozen=True, eq=False)
class Requirement:
    """A condition on one argument that involves others.

    Parameters
    ----------
    argument : sympy.Symbol
        Argument that the error names.
    condition : sympy Boolean
        Condition in input symbols; sums over an index are expanded.
    allowed : str
        Condition in words; ``{name}`` shows the value of an input.
    unless : tuple of str
        A variant without the requirement, and its remedy; a model that lacks the variant does not mention it.

    Raises
    ------
    FormulaError
        If an indexed quantity occurs outside a sum, which cannot be an input, or if the condition is no condition or
        does not depend on the argument.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> TrainingMemoryModel("per_operator").requirements[0].reason
    'tp_size must divide heads'
    """

    argument: sympy.Symbol
    condition: sympy.Basic
    allowed: str
    unless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.argument, sympy.Symbol):
            raise FormulaError(f"requirement: {quoted(self.argument)} is not the symbol that variable() gave")
        if not isinstance(self.condition, Boolean) or self.condition in (sympy.true, sympy.false):
            raise FormulaError(
                f"requirement of {self.argument.name}: {quoted(self.condition)} is not a condition on inputs"
            )
        object.__setattr__(self, "condition", written_out(f"requirement of {self.argument.name}", self.condition))
        needed = {symbol.name for symbol in self.condition.free_symbols}  # type: ignore[attr-defined]
        if self.argument.name not in needed:
            raise FormulaError(f"requirement of {self.argument.name}: its condition does not depend on it")
        if not isinstance(self.allowed, str):
            raise FormulaError(f"requirement of {self.argument.name}: {quoted(self.allowed)} is not a text")
        for _, shown, *_ in Formatter().parse(self.allowed):
            if shown is not None and shown not in needed:
                raise FormulaError(
                    f"requirement of {self.argument.name}: {{{shown}}} in its text is no input of its condition"
                )

    @property
    def variable(self) -> Variable:
        """Argument that an error names."""
        return variable_of(self.argument)

    @property
    def template(self) -> str:
        """Condition in words, with the variant that does not need it; ``{name}`` stands for an input."""
        return self.allowed + (f"; variant={self.unless[0]!r} {self.unless[1]}" if self.unless else "")

    def text(self, texts: Mapping[str, str]) -> str:
        """Phrase the condition, with the inputs that it names as text.

        Parameters
        ----------
        texts : mapping
            Text of inputs by name.

        Returns
        -------
        str
        """
        return self.template.format(**texts)

    @property
    def reason(self) -> str:
        """Reason for refusing a point, without its values."""
        return f"{self.variable.name} {self.text({v.name: v.name for v in self.inputs})}"

    def among(self, variants: Collection[str]) -> Requirement:
        """Adapt the requirement to a model with these variants.

        Parameters
        ----------
        variants : iterable of str
            Names of the variants of a model.

        Returns
        -------
        Requirement
        """
        return _alone(self) if self.unless and self.unless[0] not in variants else self

    @cached_property
    def inputs(self) -> tuple[Variable, ...]:
        """Variables in the condition, by name."""
        plain = [s for s in self.condition.free_symbols if not isinstance(s, UnitSymbol | Label)]
        symbols = sorted(plain, key=lambda s: s.name)  # type: ignore[attr-defined]
        return tuple(variable_of(symbol) for symbol in symbols)  # type: ignore[arg-type]


def reason_code(conditions: Iterable[tuple[int, sympy.Basic]]) -> sympy.Basic:
    """Build the reason code of a point as a formula: 0 if allowed, else that of the first condition not met.

    Parameters
    ----------
    conditions : iterable of (int, sympy Boolean)
        A code from 1 up, and what must hold.

    Returns
    -------
    sympy.Piecewise

    Examples
    --------
    >>> import sympy
    >>> from mlsysim.symbolic import reason_code
    >>> b, d = sympy.symbols("b d", positive=True)
    >>> reason_code([(1, b >= d)]).subs({b: 2, d: 4}).doit()
    1
    """
    refused = [(sympy.Integer(code), sympy.Not(condition)) for code, condition in conditions]
    cases = (*refused, (sympy.S.Zero, sympy.true))
    # Kept as written: sympy would merge the cases inside each condition.
    return sympy.Basic.__new__(sympy.Piecewise, *(sympy.Tuple.__new__(ExprCondPair, *case) for case in cases))


@cache
def _alone(requirement: Requirement) -> Requirement:
    """Drop the mention of a variant that does not need the requirement."""
    return replace(requirement, unless=())
