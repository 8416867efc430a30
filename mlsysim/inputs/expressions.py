"""Objectives, constraints and derived inputs as text: ``total_memory <= 0.9 * memory_capacity``.

Read by a parser of our own, never run: names of the model, numbers with units, a few functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean

from mlsysim import units
from mlsysim.errors import FormulaError, InputError, UnitError, UnknownNameError, quoted
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.spellings import names_for
from mlsysim.inputs.tokens import LONGEST, Token, tokens
from mlsysim.symbolic import Label, Mod, UnitSymbol, Variable, label, variable_of
from mlsysim.symbolic.dimensions import describe, dimension_of
from mlsysim.symbolic.family import families_among, members_among, several
from mlsysim.symbolic.indexed import written_out
from mlsysim.units import COUNTABLE

#: Most brackets, signs and powers inside one another, so that no text exhausts the stack.
DEEPEST = 40
#: Largest exponent and number; larger ones could fill the memory with digits.
LARGEST_EXPONENT, MOST_BITS = 64, 1100


@dataclass(frozen=True, eq=False)
class Expression:
    """A quantity or a condition over the inputs and outputs of a model.

    Attributes
    ----------
    text : str
        As typed.
    sympy : sympy.Basic
        In symbols of variables, labels and units; :func:`mlsysim.symbolic.lower` puts canonical
        numbers in, and compiled code sees those.
    dimension : mapping
        Exponent per base dimension; empty for a pure number and for a condition.
    unit : str
        Unit in which a value is printed: that of its variable, or a canonical unit.
    """

    text: str
    sympy: sympy.Basic
    dimension: Mapping[str, Any]
    unit: str

    @property
    def names(self) -> tuple[str, ...]:
        """Inputs and outputs it needs, sorted."""
        return tuple(sorted(symbol.name for symbol in _variables(self.sympy)))


def quantity(text: Any, model: DeclaredModel, known: Collection[str], argument: str = "expression") -> Expression:
    """Parse a number with a unit, from text or from a sympy expression.

    Parameters
    ----------
    text : str or sympy.Expr
        Such as ``"tokens_per_second / fleet_size"``.
    model : DeclaredModel
        Model whose names the text uses.
    known : collection of str
        Names that can be used.
    argument : str
        Name of the argument it was given for, which errors name.

    Returns
    -------
    Expression

    Raises
    ------
    InputError
        If the text does not read as a quantity.
    UnknownNameError
        If it names something the model does not have.
    UnitError
        If its parts cannot be added or compared.
    """
    reader = _Reader(text, model, known, argument)
    return reader.quantity()


def condition(text: Any, model: DeclaredModel, known: Collection[str], argument: str = "expression") -> Expression:
    """Parse a condition from text or from a sympy Boolean; parameters and errors are those of :func:`quantity`.

    Comparisons, ``and``, ``or``, ``not``, truth values such as ``feasible``, labels such as
    ``precision == fp8``. A bare number beside a quantity with a unit is refused, unless it is
    zero, counts tokens or requests, or the name says the unit (``qps``).
    """
    reader = _Reader(text, model, known, argument)
    return reader.condition()


@dataclass(frozen=True)
class _Word:
    """Word that is no name of a variable, and may be a label."""

    text: str
    quoted: bool


@dataclass(frozen=True)
class _Term:
    """Parsed part, with the unit of bare numbers beside it."""

    expression: Any
    named: str = ""


_BINDING = {"or": 1, "and": 2, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "in": 4, "not in": 4}
_BINDING |= {"+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "**": 8}
_NOT, _SIGN = 3, 7
_ORDER = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge}
_ROUNDED: dict[str, Callable[..., Any]] = {"ceil": sympy.ceiling, "floor": sympy.floor}
_PURE: dict[str, Callable[..., Any]] = {"log": sympy.log, "sqrt": sympy.sqrt}
_SEVERAL: dict[str, Callable[..., Any]] = {"max": sympy.Max, "min": sympy.Min}
FUNCTIONS = ("abs", *_ROUNDED, *_PURE, *_SEVERAL)


class _Reader:
    def __init__(self, text: Any, model: DeclaredModel, known: Collection[str], argument: str) -> None:
        self.text, self.model, self.known, self.argument = text, model, known, argument
        self.ahead: list[Token] = []
        self.depth = 0

    def quantity(self) -> Expression:
        term = self._read()
        number = self._number(term)
        dimension = self._dimension(number)
        named = term.named if isinstance(term, _Term) else ""
        return Expression(str(self.text), number, dimension, named or _unit(number, dimension))

    def condition(self) -> Expression:
        return Expression(str(self.text), self._truth(self._read()), {}, "")

    def refused(self, allowed: str, hint: str = "") -> InputError:
        return InputError(self.argument, self.text, allowed, hint)

    def _read(self) -> _Term | _Word:
        if isinstance(self.text, sympy.Basic):
            return self._from_sympy(self.text)
        if not isinstance(self.text, str) or len(self.text) > LONGEST:
            raise self.refused(f"must be text of at most {LONGEST} characters, or a sympy expression of the model")
        self.ahead = tokens(self.text, self.known, FUNCTIONS, self.refused)[::-1]
        parsed = self._expression(0)
        if self.ahead[-1].kind != "end":
            raise self._unexpected()
        return parsed

    def _from_sympy(self, expression: sympy.Basic) -> _Term:
        """Check a sympy expression of the model's own symbols, and write out sums over an index."""
        try:
            expression = written_out("it", expression)
        except FormulaError as error:
            raise self.refused(str(error)) from None
        for symbol in _variables(expression):
            if symbol.name not in self.known:
                raise self._unknown(symbol.name)
            if variable_of(symbol.name).symbol != symbol:
                raise self.refused(f"{symbol.name} is not the symbol the model has for that name")
        self._dimension(expression)
        return _Term(expression)

    def _next(self) -> Token:
        return self.ahead.pop()

    def _take(self, text: str) -> bool:
        """Step over an operator if it comes next; True if it did."""
        if self.ahead[-1].kind == "operator" and self.ahead[-1].text == text:
            self._next()
            return True
        return False

    def _unexpected(self) -> InputError:
        token = self.ahead[-1]
        if token.text == "=":
            return self.refused("'=' does not compare", "write ==")
        if token.text == "^":
            return self.refused("'^' is no power", "write **")
        return self.refused(f"cannot be read {'to its end' if token.kind == 'end' else f'at {token.text!r}'}")

    def _unknown(self, name: str) -> UnknownNameError:
        known = [*self.known, *families_among(self.known)]
        what = f"input or output of {type(self.model).__name__}"
        return UnknownNameError(what, name, known, close=names_for(name, known))

    def _expression(self, above: int) -> _Term | _Word:
        """Read up to the next operator that does not bind tighter than ``above``."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refused(f"is nested more than {DEEPEST} deep")
        left = self._first()
        while (operator := self._operator()) and _BINDING[operator] > above:
            if _BINDING[operator] == _BINDING["<"]:
                left = self._comparisons(left)
            else:
                self._next()
                right = self._expression(_SIGN - 1 if operator == "**" else _BINDING[operator])
                left = self._combined(operator, left, right)
        self.depth -= 1
        return left

    def _operator(self) -> str:
        token = self.ahead[-1]
        return token.text if token.kind == "operator" and token.text in _BINDING else ""

    def _first(self) -> _Term | _Word:
        token = self.ahead[-1]
        if self._take("not"):
            return _Term(sympy.Not(self._truth(self._expression(_NOT))))
        if self._take("-") or self._take("+"):
            operand = self._expression(_SIGN)
            number, named = self._number(operand), getattr(operand, "named", "")
            return _Term(self._sound(-number if token.text == "-" else number), named)
        if self._take("("):
            inner = self._expression(0)
            if not self._take(")"):
                raise self._unexpected()
            return inner
        if token.kind == "number":
            self._next()
            number = sympy.Rational(token.text)
            return _Term(number * UnitSymbol(token.unit) if token.unit else number)
        if token.kind == "text":
            self._next()
            return _Word(token.text, quoted=True)
        if token.kind == "name":
            return self._name(self._next().text)
        raise self._unexpected()

    def _name(self, name: str) -> _Term | _Word:
        if self._take("("):
            return self._call(name)
        if name in ("True", "False"):
            return _Term(sympy.true if name == "True" else sympy.false)
        if name not in self.known and (members := members_among(name, self.known)):
            name = self._member(name, members)
        if name not in self.known:
            if self.ahead[-1].text == "[":
                raise self._unknown(name)
            return _Word(name, quoted=False)
        variable = variable_of(name)
        return _Term(variable.symbol, variable.unit if variable.named_unit else "")

    def _member(self, family: str, members: Mapping[str, str]) -> str:
        """Variable that a name in brackets after a family means."""
        if not self._take("["):
            one = next(iter(members))
            raise self.refused(several(family), f"write {family}[{one!r}], or {members[one]}")
        token = self._next()
        if token.kind not in ("name", "text") or token.text not in members:
            raise UnknownNameError(f"member of {family}", token.text, members)
        if not self._take("]"):
            raise self._unexpected()
        return members[token.text]

    def _call(self, name: str) -> _Term:
        if name not in FUNCTIONS:
            raise UnknownNameError("function", name, FUNCTIONS)
        arguments = self._list(")")
        if name in _SEVERAL and len(arguments) >= 2:
            numbers, named = self._of_one_dimension(*arguments)
            return _Term(self._sound(_SEVERAL[name](*numbers)), named)
        if name in _SEVERAL or len(arguments) != 1:
            raise self.refused(f"{name}() takes {'two numbers or more' if name in _SEVERAL else 'one number'}")
        number, named = self._number(arguments[0]), getattr(arguments[0], "named", "")
        if name == "abs":
            return _Term(sympy.Abs(number), named)
        function = {**_ROUNDED, **_PURE}[name]
        value = self._sound(function(number))
        if name != "sqrt":
            self._dimension(function(number, evaluate=False))
        return _Term(value, named if name in _ROUNDED else "")

    def _list(self, closing: str) -> list[_Term | _Word]:
        """Read parts between commas, up to a closing bracket."""
        items = [self._expression(0)]
        while self._take(","):
            items.append(self._expression(0))
        if not self._take(closing):
            raise self._unexpected()
        return items

    def _combined(self, operator: str, left: _Term | _Word, right: _Term | _Word) -> _Term:
        if operator in ("and", "or"):
            both = (self._truth(left), self._truth(right))
            return _Term(sympy.And(*both) if operator == "and" else sympy.Or(*both))
        if operator in ("+", "-", "%", "//"):
            (x, y), named = self._of_one_dimension(left, right)
            if operator == "+" or operator == "-":
                return _Term(self._sound(x + y if operator == "+" else x - y), named)
            if y == 0:
                raise self.refused("divides by zero")
            self._dimension(sympy.Mod(x, y, evaluate=False))
            return _Term(self._sound(Mod(x, y)), named) if operator == "%" else _Term(sympy.floor(x / y))
        x, y = self._number(left), self._number(right)
        if operator == "**":
            return _Term(self._power(x, y))
        product = self._sound(x * y if operator == "*" else x / y)
        named = getattr(left, "named", "") if not self._dimension(y) else ""
        if operator == "*" and not self._dimension(x):
            named = getattr(right, "named", "")
        return _Term(product, named)

    def _power(self, base: Any, exponent: Any) -> Any:
        self._dimension(sympy.Pow(base, exponent, evaluate=False))
        if exponent.is_number and not abs(exponent) <= LARGEST_EXPONENT:
            raise self.refused(f"an exponent is at most {LARGEST_EXPONENT}")
        return self._sound(base**exponent)

    def _comparisons(self, left: _Term | _Word) -> _Term:
        """Parse a chain of comparisons such as ``1 <= tp_size <= 8``, each of two neighbours."""
        comparisons = []
        while (operator := self._operator()) and _BINDING[operator] == _BINDING["<"]:
            self._next()
            if operator in ("in", "not in"):
                closing = ")" if self._take("(") else "]" if self._take("[") else ""
                if not closing:
                    raise self.refused("'in' takes a list in brackets, as in precision in (fp8, bf16)")
                among = sympy.Or(*(self._equal(left, item) for item in self._list(closing)))
                comparisons.append(among if operator == "in" else sympy.Not(among))
                break
            right = self._expression(_BINDING["<"])
            comparisons.append(self._compared(operator, left, right))
            left = right
        return _Term(sympy.And(*comparisons))

    def _compared(self, operator: str, left: _Term | _Word, right: _Term | _Word) -> Any:
        if operator in _ORDER:
            (x, y), _ = self._of_one_dimension(left, right)
            return _ORDER[operator](x, y)
        equal = self._equal(left, right)
        return equal if operator == "==" else sympy.Not(equal)

    def _equal(self, left: _Term | _Word, right: _Term | _Word) -> Any:
        for choice, other in ((left, right), (right, left)):
            if variable := _choice(choice):
                return sympy.Eq(variable.symbol, self._label(variable, other))
        if _is_truth(left) or _is_truth(right):
            x, y = self._truth(left), self._truth(right)
            return sympy.Or(sympy.And(x, y), sympy.And(sympy.Not(x), sympy.Not(y)))
        (x, y), _ = self._of_one_dimension(left, right)
        return sympy.Eq(x, y)

    def _label(self, variable: Variable, other: _Term | _Word) -> Any:
        """Other side of a comparison with a label: one of the labels, or a variable with the same labels."""
        if isinstance(other, _Word):
            return label(variable.symbol, other.text)
        beside = _choice(other)
        if beside is None or beside.domain.labels != variable.domain.labels:
            raise self.refused(f"{variable.name} is compared with {variable.domain.describe()}")
        return beside.symbol

    def _truth(self, part: _Term | _Word) -> Any:
        if _is_truth(part):
            return part.expression  # type: ignore[union-attr]
        number = self._number(part)
        if isinstance(number, sympy.Symbol) and variable_of(number).domain.is_flag:
            return sympy.Eq(number, 1)
        raise self.refused(f"{number} is no condition", "compare it, as in total_memory <= 70 GB")

    def _number(self, part: _Term | _Word) -> Any:
        if isinstance(part, _Word):
            if part.quoted:
                raise self.refused(f"{part.text!r} is a label: compare it with == to what has it")
            raise self._unknown(part.text)
        if variable := _choice(part):
            raise self.refused(f"{variable.name} is a label: compare it with == to {variable.domain.describe()}")
        if _is_truth(part):
            raise self.refused(f"{part.expression} is a condition, not a number")
        return part.expression

    def _of_one_dimension(self, *terms: _Term | _Word) -> tuple[list[Any], str]:
        """Bring numbers that are added or compared to one dimension; return also the unit of bare numbers."""
        numbers = [self._number(term) for term in terms]
        dimensions = [self._dimension(number) for number in numbers]
        if any(_variables(n) and units.counts(d) for n, d in zip(numbers, dimensions, strict=True)):
            numbers = [_billions(number) for number in numbers]
            dimensions = [self._dimension(number) for number in numbers]
        named = next((term.named for term in terms if isinstance(term, _Term) and term.named), "")
        beside = next((n for n, d in zip(numbers, dimensions, strict=True) if d), None)
        if beside is None:
            return numbers, named
        dimension = self._dimension(beside)
        converted = []
        for number, own in zip(numbers, dimensions, strict=True):
            if number.is_zero or own == dimension:
                converted.append(number)
                continue
            unit = bare_unit(dimension, named)
            if own or number.free_symbols or not unit:
                raise self._dimension_error(beside, dimension, number, own)
            converted.append(number * UnitSymbol(unit))
        return converted, named

    def _dimension_error(self, beside: Any, dimension: Any, number: Any, own: Any) -> UnitError:
        prefix = f"{self.argument}={quoted(self.text)}:"
        problem = f"{prefix} {beside} is {describe(dimension)}"
        constant, other = (number, beside) if _variables(beside) else (beside, number)
        if constant.free_symbols and not _variables(constant):
            beside, unit = own if other is number else dimension, _written_unit(constant)
            meant = units.capital(f"{constant.as_coeff_Mul()[0]}{unit}") if units.counts(beside) else ""
            hint = f": did you mean {meant}?" if meant else ""
            return UnitError(f"{prefix} {unit} is not a unit of {_unit_beside(other, beside)}{hint}")
        if own or number.free_symbols:
            return UnitError(f"{problem} but {number} is {describe(own)}")
        name = next((v for v in _variables(beside) if self._dimension(v) == dimension), None)
        unit = variable_of(name).unit if name is not None else canonical_unit(dimension)
        return UnitError(f"{problem}, so {number} needs a unit, as in '{float(number):g} {unit}'")

    def _dimension(self, expression: Any) -> Any:
        """Exponent per base dimension of an expression; no exponents for zero, which fits every dimension."""
        try:
            dimension = dimension_of(expression)
        except UnitError as error:
            raise UnitError(f"{self.argument}={quoted(self.text)}: {error}") from None
        return dimension if isinstance(dimension, dict) else {}

    def _sound(self, expression: Any) -> Any:
        """Check that an expression is a real number of bounded size."""
        if expression.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise self.refused("divides by zero")
        if expression.has(sympy.I):
            raise self.refused("is not a real number")
        for number in expression.atoms(sympy.Rational):
            if max(int(number.p).bit_length(), int(number.q).bit_length()) > MOST_BITS:
                raise self.refused("holds a number too large or too small")
        return expression


def _billions(number: Any) -> Any:
    """Number of B, which is a byte elsewhere, beside a count; anything else as it is."""
    byte = UnitSymbol("B")
    count = number.coeff(byte)
    return count * 10 ** units.THOUSANDS["B"] if count.is_number and number == count * byte else number


def bare_unit(dimension: Mapping[str, Any], named: str) -> str:
    """Unit of a bare number beside a quantity of some dimension; empty if it needs a unit of its own."""
    if named and units.dimension(named) == dimension:
        return named
    (only, power), *more = [*dimension.items(), ("", 0)]
    return only.strip("[]") if power == 1 and only in COUNTABLE and len(more) == 1 else ""


def canonical_unit(dimension: Mapping[str, Any]) -> str:
    """Canonical unit of a dimension, as text."""
    for unit in ("W", "J"):
        if units.dimension(unit) == dimension:
            return unit
    names = {"[time]": "s", "[information]": "byte", "[operation]": "FLOP", "[currency]": "USD", "[mass]": "kg"}
    names |= {"[length]": "m", "[token]": "token", "[request]": "request"}
    above = [_powered(names[name], power) for name, power in dimension.items() if power > 0]
    below = [_powered(names[name], -power) for name, power in dimension.items() if power < 0]
    return reduce(lambda text, unit: f"{text}/{unit}", below, "*".join(above) or ("1" if below else ""))


def _powered(name: str, power: Any) -> str:
    return name if power == 1 else f"{name}**{float(power):g}"


def _unit(expression: Any, dimension: Mapping[str, Any]) -> str:
    """Unit to print a value in: that of the only variable with its dimension, else the canonical one."""
    shared = {v.unit for v in map(variable_of, _variables(expression)) if v.dimension and v.dimension == dimension}
    return shared.pop() if len(shared) == 1 else canonical_unit(dimension)


def _written_unit(constant: Any) -> str:
    """Unit of a number as it was typed, else the canonical one."""
    written = [symbol.name for symbol in constant.free_symbols]
    dimension: Any = dimension_of(constant)
    return written[0] if len(written) == 1 else canonical_unit(dimension)


def _unit_beside(expression: Any, dimension: Mapping[str, Any]) -> str:
    """Unit that a number beside an expression has, in words."""
    if expression.free_symbols and not _variables(expression):
        return _written_unit(expression)
    alone = variable_of(expression.name).unit if isinstance(expression, sympy.Symbol) else ""
    return alone or _unit(expression, dimension) or "a pure number"


def _variables(expression: Any) -> list[sympy.Symbol]:
    plain = (symbol for symbol in expression.free_symbols if not isinstance(symbol, UnitSymbol | Label))
    return sorted(plain, key=lambda symbol: symbol.name)


def _choice(part: _Term | _Word) -> Variable | None:
    """Variable of a part whose values are labels; None for other parts."""
    if isinstance(part, _Word) or not isinstance(part.expression, sympy.Symbol):
        return None
    if isinstance(part.expression, UnitSymbol | Label):
        return None
    variable = variable_of(part.expression)
    return variable if variable.domain.kind == "choice" else None


def _is_truth(part: _Term | _Word) -> bool:
    if isinstance(part, _Word):
        return False
    if isinstance(part.expression, UnitSymbol | Label):
        return False
    if isinstance(part.expression, sympy.Symbol):
        return variable_of(part.expression).domain.kind == "boolean"
    return isinstance(part.expression, Boolean)
