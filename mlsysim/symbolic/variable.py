"""Variables: entries of the nomenclature, each with name, symbol, unit, description and domain."""

from __future__ import annotations

import contextlib
import importlib
import keyword
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import sympy

from mlsysim import units
from mlsysim.errors import DuplicateError, FormulaError, UnknownNameError
from mlsysim.names import known_as
from mlsysim.symbolic.labels import from_name
from mlsysim.symbolic.tex import slip_in
from mlsysim.tracebacks import at_the_call

Kind = Literal["real", "integer", "choice", "boolean"]


@dataclass(frozen=True, slots=True)
class Domain:
    """Allowed values of a variable, in its unit.

    Build one with :func:`positive`, :func:`nonnegative`, :func:`between`, :func:`integer`,
    :func:`flag`, :func:`choice` or :func:`boolean`.
    """

    kind: Kind = "real"
    lower: float = -math.inf
    upper: float = math.inf
    open_lower: bool = False
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            allowed = "has no label" if self.kind == "choice" else f"has no value from {self.lower:g} to {self.upper:g}"
            raise FormulaError(f"domain: {allowed}")
        if len(set(self.labels)) < len(self.labels):
            raise FormulaError(f"domain: {', '.join(self.labels)} has a label twice")

    @property
    def is_flag(self) -> bool:
        """True for yes-or-no domains."""
        return self.kind == "boolean" or (self.kind == "integer" and self.lower == 0 and self.upper == 1)

    def describe(self) -> str:
        """Describe the allowed values in words, as in an error message."""
        if self.is_flag:
            return "True or False"
        if self.kind == "choice":
            return "one of " + ", ".join(self.labels)
        noun = "a whole number" if self.kind == "integer" else "a finite number"
        bounds = []
        if self.lower > -math.inf:
            bounds.append(f"{'>' if self.open_lower else '>='} {_bound(self.lower)}")
        if self.upper < math.inf:
            bounds.append(f"<= {_bound(self.upper)}")
        return " ".join([noun, " and ".join(bounds)]).strip()

    def contains(self, other: Domain) -> bool:
        """Tell whether this domain contains every value of the other.

        Parameters
        ----------
        other : Domain
            Another domain.

        Returns
        -------
        bool
        """
        if self.kind in ("choice", "boolean") or other.kind in ("choice", "boolean"):
            return self == other
        if self.kind == "integer" and other.kind != "integer":
            return False
        above = self.lower < other.lower or (self.lower == other.lower and self.open_lower <= other.open_lower)
        return above and other.upper <= self.upper

    def spans(self, value: object) -> bool:
        """Tell whether a label, or a number in the variable's unit, lies within the bounds, ends included.

        Parameters
        ----------
        value : str or float
            Label, or number in the variable's unit.

        Returns
        -------
        bool
        """
        if self.kind == "choice" or isinstance(value, str):
            return value in self.labels
        if not isinstance(value, int | float) or not self.lower <= value <= self.upper:
            return False
        return math.isfinite(value) and (self.kind == "real" or value == int(value))

    def latex(self) -> str:
        """Format the allowed values as a textbook does."""
        if self.kind == "boolean":
            return r"\{\text{false}, \text{true}\}"
        if self.kind == "choice":
            return r"\{" + ", ".join(map(words_latex, self.labels)) + r"\}"
        if self.is_flag:
            return r"\{0, 1\}"
        if self.kind == "integer":
            if self.upper < math.inf:
                return rf"\{{{_bound(self.lower)}, \dots, {_bound(self.upper).replace(',', '{,}')}\}}"
            return r"\mathbb{N}_{\ge " + f"{self.lower:g}" + "}" if self.lower > -math.inf else r"\mathbb{Z}"
        if self.lower == -math.inf and self.upper == math.inf:
            return r"\mathbb{R}"
        left = "(" if self.open_lower or self.lower == -math.inf else "["
        right = r"\infty)" if self.upper == math.inf else f"{self.upper:g}]"
        return f"{left}{self.lower:g}, {right}"


def words_latex(words: str) -> str:
    r"""Format words as LaTeX; characters special to TeX go outside ``\text``, where all renderers read them alike.

    Parameters
    ----------
    words : str
        Plain text.

    Returns
    -------
    str

    Examples
    --------
    >>> from mlsysim.symbolic import words_latex
    >>> print(words_latex("80 GB"))
    \text{80 GB}
    """
    tokens = re.split(r"([\\_&%#${}^~])", words)
    return "".join(_SIGNS.get(token, f"\\text{{{token}}}") for token in tokens if token)


_SIGNS = {sign: "\\" + sign for sign in "_&%#${}"} | {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}


def _bound(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) and value == int(value) else f"{value:g}"


@at_the_call
def positive() -> Domain:
    """Finite numbers above zero.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import positive
    >>> positive().describe()
    'a finite number > 0'
    """
    return Domain(lower=0.0, open_lower=True)


@at_the_call
def nonnegative() -> Domain:
    """Finite numbers from zero.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import nonnegative
    >>> nonnegative().describe()
    'a finite number >= 0'
    """
    return Domain(lower=0.0)


@at_the_call
def at_least(lower: float) -> Domain:
    """Finite numbers from ``lower``.

    Parameters
    ----------
    lower : float
        Smallest value, in the variable's unit.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import at_least
    >>> at_least(1.0).describe()
    'a finite number >= 1'
    """
    return Domain(lower=lower)


@at_the_call
def between(lower: float, upper: float, *, open_lower: bool = False) -> Domain:
    """Real numbers from ``lower`` (excluded if ``open_lower``) to ``upper``.

    Parameters
    ----------
    lower, upper : float
        Ends of the interval, in the variable's unit.
    open_lower : bool
        True to exclude ``lower`` itself.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import between
    >>> between(0, 1, open_lower=True).describe()
    'a finite number > 0 and <= 1'
    """
    return Domain(lower=lower, upper=upper, open_lower=open_lower)


@at_the_call
def integer(lower: float = 1, upper: float = math.inf) -> Domain:
    """Integers from ``lower`` to ``upper``.

    Parameters
    ----------
    lower, upper : float
        Smallest and largest value.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import integer
    >>> integer(1, 8).describe()
    'a whole number >= 1 and <= 8'
    """
    return Domain(kind="integer", lower=lower, upper=upper)


@at_the_call
def flag() -> Domain:
    """Zero or one, entered as ``False`` or ``True``; usable as a factor in formulas.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import flag
    >>> flag().describe()
    'True or False'
    """
    return Domain(kind="integer", lower=0, upper=1)


@at_the_call
def choice(*labels: str) -> Domain:
    """One of several names; compiled code uses their positions.

    Parameters
    ----------
    *labels : str
        Names that a user types, in the order of their codes.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import choice
    >>> choice("ring", "tree").describe()
    'one of ring, tree'
    """
    return Domain(kind="choice", lower=0, upper=len(labels) - 1, labels=labels)


@at_the_call
def boolean() -> Domain:
    """Truth values.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from mlsysim import boolean
    >>> boolean().describe()
    'True or False'
    """
    return Domain(kind="boolean", lower=0, upper=1)


@dataclass(frozen=True, eq=False, repr=False)
class Variable:
    """An entry of the nomenclature.

    Parameters
    ----------
    name : str
        Python name; also the name of the symbol and of the keyword argument.
    latex : str
        Symbol used in the field, as LaTeX.
    unit : str
        Unit of a bare number, and of the value shown. Compiled code uses canonical units (byte, second, ...).
    description : str
        One sentence.
    domain : Domain
        Allowed values, in ``unit``.
    named_unit : bool
        True if the name states the unit (``qps``, ``target_p99_latency_ms``); results then give a plain number in that
        unit instead of a quantity.
    label : str
        Short title for axes and tables, such as "Data-parallel size"; derived from the name if left out.
    not_above, not_below : sympy.Symbol, optional
        Another variable that it never exceeds, or never falls below. Its formulas are checked for that, and a model
        that takes it as an input must require it.

    Attributes
    ----------
    symbol : sympy.Symbol
        Symbol to use in formulas.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel.arguments["memory_capacity"]
    >>> memory.unit, memory.domain.describe()
    ('GB', 'a finite number > 0')
    """

    name: str
    latex: str
    unit: str
    description: str
    domain: Domain
    named_unit: bool = False
    label: str = ""
    not_above: sympy.Symbol | None = None
    not_below: sympy.Symbol | None = None
    symbol: sympy.Symbol = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise FormulaError(f"variable name {self.name!r} is not a Python identifier")
        for part in ("latex", "description"):
            if not isinstance(getattr(self, part), str) or not getattr(self, part).strip():
                raise FormulaError(f"variable {self.name}: {part}={getattr(self, part)!r} must be a text")
        if slip := slip_in(self.latex):
            raise FormulaError(f"variable {self.name}: latex={self.latex!r}: {slip}")
        units.check(self.unit)
        object.__setattr__(self, "label", self.label or from_name(self.name))
        object.__setattr__(self, "symbol", sympy.Symbol(self.name, **self._assumptions()))

    def _assumptions(self) -> dict[str, bool]:
        domain = self.domain
        facts = {"integer": True} if domain.kind in ("integer", "choice") else {"real": True}
        if domain.kind == "boolean":
            return {}
        if domain.lower > 0 or (domain.lower == 0 and domain.open_lower):
            facts["positive"] = True
        elif domain.lower >= 0:
            facts["nonnegative"] = True
        return facts

    @property
    def dimension(self) -> dict[str, int]:
        """Exponent per base dimension."""
        return units.dimension(self.unit)

    @property
    def orders(self) -> tuple[tuple[sympy.Symbol, sympy.Symbol], ...]:
        """Pairs of symbols, this variable's among them, of which the first never exceeds the second."""
        above = ((self.symbol, self.not_above),) if self.not_above is not None else ()
        return above + (((self.not_below, self.symbol),) if self.not_below is not None else ())

    def code(self, label: str) -> int:
        """Return the number that compiled code uses for a label, in any case.

        Parameters
        ----------
        label : str
            Label of the choice variable.

        Returns
        -------
        int

        Raises
        ------
        UnknownNameError
            If the variable has no such label.
        """
        labels = self.domain.labels
        known = label if label in labels else known_as(label, labels)
        if known is None:
            raise UnknownNameError(self.name, label, labels)
        return labels.index(known)

    def __repr__(self) -> str:
        unit = f" [{self.unit}]" if self.unit not in ("", "count") else ""
        return f"<Variable {self.name}{unit}: {self.domain.describe()}>"

    def signature(self) -> tuple[object, ...]:
        """Properties on which two declarations of one name must agree."""
        limits = (self.not_above, self.not_below)
        return (self.latex, self.unit, self.description, self.domain, self.named_unit, self.label, *limits)

    def __reduce__(self) -> tuple[object, ...]:
        declared, module = _DECLARED.get(self.name, (None, ""))
        fields = (self.name, *self.signature())
        return _restored, (module if declared is self else "", fields)


_DECLARED: dict[str, tuple[Variable, str]] = {}
#: Functions to call when a name is declared again, because cached results may no longer hold.
WHEN_REDECLARED: list[Callable[[], None]] = []
#: Pairs of symbols of which the first never exceeds the second.
_LIMITS: set[tuple[sympy.Basic, sympy.Basic]] = set()


@at_the_call
def variable(
    name: str,
    latex: str,
    unit: str,
    description: str,
    domain: Domain | None = None,
    *,
    named_unit: bool = False,
    label: str = "",
    not_above: sympy.Symbol | None = None,
    not_below: sympy.Symbol | None = None,
) -> sympy.Symbol:
    """Declare a :class:`Variable` and return its symbol, for use in formulas.

    Parameters
    ----------
    name, latex, unit, description, domain, named_unit, label, not_above, not_below
        Fields of :class:`Variable`; without a domain it is any real number.

    Returns
    -------
    sympy.Symbol

    Raises
    ------
    DuplicateError
        If another module declared the name differently.

    Examples
    --------
    >>> from mlsysim import positive, variable
    >>> latency = variable("disk_latency_of_examples", "l_d", "ms", "Latency of a disk.", positive())
    >>> latency.name
    'disk_latency_of_examples'
    """
    entry = Variable(name, latex, unit, description, domain or Domain(), named_unit, label, not_above, not_below)
    return declared(entry, caller())


def declared(entry: Variable, module: str) -> sympy.Symbol:
    """Register a variable under its declaring module, and return its symbol.

    Raises
    ------
    DuplicateError
        If another module declared the name differently.
    """
    known = _DECLARED.get(entry.name)
    if known is not None and known[0].signature() != entry.signature() and known[1] != module:
        raise DuplicateError(
            f"variable {entry.name!r} is declared in {known[1]} and, with another meaning, in {module}"
        )
    if known is not None and known[0].signature() == entry.signature():
        return known[0].symbol
    _DECLARED[entry.name] = (entry, module)
    for forget in WHEN_REDECLARED if known else ():
        forget()
    _LIMITS.difference_update({pair for pair in _LIMITS if entry.symbol in pair} if known else ())
    _LIMITS.update(entry.orders)
    return entry.symbol


def never_above(low: sympy.Basic, high: sympy.Basic) -> bool:
    """Tell whether the first of two symbols is declared never to exceed the second."""
    return (low, high) in _LIMITS


def caller(*inside: str) -> str:
    """Return the name of the module that called the asking function, skipping modules in ``inside``."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") in (at_the_call.__module__, *inside) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def named_by(latex: str) -> tuple[str, ...]:
    """List the declared variables that print as this LaTeX."""
    return tuple(entry.name for entry, _ in _DECLARED.values() if entry.latex == latex)


def declared_by(package: str) -> tuple[Variable, ...]:
    """List the variables declared by modules of a package."""
    return tuple(entry for entry, module in _DECLARED.values() if f"{module}.".startswith(f"{package}."))


def _restored(module: str, fields: tuple[Any, ...]) -> Variable:
    """Restore a variable from a pickle, declaring it in this process; imports its module first, to keep the order."""
    if module and module != "__main__" and fields[0] not in _DECLARED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    entry = Variable(*fields)
    if not module:
        return entry
    known, where = _DECLARED.setdefault(entry.name, (entry, module))
    if known.signature() != entry.signature():
        raise DuplicateError(f"variable {entry.name!r} is declared in {where} and, with another meaning, in a pickle")
    return known


def variable_of(symbol: sympy.Symbol | str) -> Variable:
    """Look up the variable of a symbol or name.

    Parameters
    ----------
    symbol : sympy.Symbol or str
        Symbol or name of a declared variable.

    Returns
    -------
    Variable

    Raises
    ------
    UnknownNameError
        If no variable of that name is declared.

    Examples
    --------
    >>> import mlsysim.symbols
    >>> from mlsysim.symbolic import variable_of
    >>> variable_of("batch_size").description
    'Sequences per step, over all ranks.'
    """
    name = symbol.name if isinstance(symbol, sympy.Symbol) else symbol
    if not isinstance(name, str) or name not in _DECLARED:
        raise UnknownNameError("variable", name, _DECLARED)
    return _DECLARED[name][0]


def is_declared(name: str) -> bool:
    """Tell whether a variable of that name is declared.

    Parameters
    ----------
    name : str
        Python name of a variable.

    Returns
    -------
    bool

    Examples
    --------
    >>> import mlsysim.symbols.training
    >>> from mlsysim.symbolic import is_declared
    >>> is_declared("batch_size"), is_declared("batches")
    (True, False)
    """
    return name in _DECLARED


def declaration_order() -> dict[str, int]:
    """Position of every declared name, which determines the printing order."""
    return {name: position for position, name in enumerate(_DECLARED)}
