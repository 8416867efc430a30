"""The private pint registry, with information, operations, tokens, requests and currency as dimensions.

``ureg`` is the registry and ``Q_`` its quantity class. Compiled functions run on bare float64 in
canonical units: second, byte, FLOP, token, request, USD, watt. This module converts at the border.

Units that the library itself writes, and some that users often type, are looked up in a table (``units.json``, by
``python -m mlsysim.models.unit_table``), so that pint is loaded where a user meets a quantity and not before.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from importlib import resources
from threading import Lock
from typing import TYPE_CHECKING, Any

from mlsysim.errors import UnitError, nearest, quoted
from mlsysim.scaling import in_unit, into_canonical

if TYPE_CHECKING:
    import pint

    ureg: pint.UnitRegistry
    Q_: Any

__all__ = [
    "Q_",
    "canonical",
    "dimension",
    "factor",
    "fitting",
    "from_canonical",
    "is_quantity",
    "own",
    "parsed",
    "to_canonical",
    "unit",
    "ureg",
]

#: File that defines the units, and table of those that the library writes.
DEFINITIONS, TABLE = (resources.files("mlsysim") / name for name in ("units.txt", "units.json"))


#: Quantities of two registries cannot be added, so threads must share one registry.
_one_registry = Lock()


def _registry() -> pint.UnitRegistry:
    with _one_registry:
        return _built()


@cache
def _built() -> pint.UnitRegistry:
    import pint

    registry: pint.UnitRegistry = pint.UnitRegistry(str(DEFINITIONS))
    registry.formatter.default_format = "~P"
    registry.separate_format_defaults = True
    # Pickled by unit name: pint would look the units up in the default registry of the reading process.
    kind: Any = registry.Quantity
    kind.__reduce__ = lambda self: (_quantity, (self.magnitude, f"{self.units:C}"))
    registry.Unit.__reduce__ = lambda self: (unit, (f"{self:C}",))  # pyright: ignore[reportAttributeAccessIssue]
    return registry


def __getattr__(name: str) -> Any:
    if name not in ("ureg", "Q_"):
        raise AttributeError(f"module 'mlsysim.units' has no attribute {name!r}")
    globals().update(ureg=_registry(), Q_=_registry().Quantity)
    return globals()[name]


def _quantity(magnitude: Any, units: str) -> Any:
    return _registry().Quantity(magnitude, units)


@cache
def _table() -> dict[str, dict[str, Any]]:
    """Canonical amount, dimension and printed form of each unit in the table."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


def table_of(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Build the table of units from pint."""
    return {
        text: {"factor": _factor(text), "dimension": _dimension(text), "printed": f"{unit(text):~P}"}
        for text in sorted({*texts})
    }


def check(text: str) -> None:
    """Refuse text that is not a unit; see :func:`unit`."""
    if not isinstance(text, str) or text not in _table():
        unit(text)


def printed(text: str) -> str:
    """Format a unit for tables and sentences."""
    known = _table().get(text)
    return known["printed"] if known else f"{unit(text):~P}"


#: Dimensions whose canonical amount is a count, so that floor and ceiling make sense.
COUNTABLE = frozenset({"[token]", "[request]"})

#: Units that are left out behind a number; a bare percentage would be ambiguous.
PURE = frozenset({"", "count"})

#: A number, then a unit of names, products, quotients and small powers. Pint would evaluate
#: any expression: "80,5 GB" as 805 GB, "80 000 GB" as 0 GB, "9**9**9" for ever.
_DIGITS = r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = rf"\s*({_DIGITS}|[+-]?(?:inf|nan)\b)\s*"
_NAME = r"(?:[^\W\d_]\w*|%|1)(?:\s*(?:\^|\*\*)\s*-?\d{1,2}(?:\.\d+)?)?"
_UNIT = rf"(?:1\s*/\s*)?{_NAME}(?:\s*[*/·]\s*{_NAME}|\s+{_NAME})*"
_TEXT = rf"{_NUMBER}({_UNIT})?\s*"
#: Units of indivisible things, with prefixes that would divide them.
_PARTS = re.compile(r"(?:pico|nano|micro|milli)(?:byte|bit|bps|Bps|FLOP|FLOPS|OP|token|request|QPS|dollar|count)")


def unit(text: str) -> Any:
    """Parse a unit.

    Parameters
    ----------
    text : str
        Unit expression such as ``"GB/s"``; ``""`` is a pure number.

    Returns
    -------
    pint.Unit

    Raises
    ------
    UnitError
        If a name in the expression is not a known unit.

    Examples
    --------
    >>> from mlsysim import units
    >>> print(units.unit("GB/s"))
    GB/s
    """
    if not isinstance(text, str):
        raise UnitError(f"unknown unit {quoted(text)}: a unit is written as text, as in 'GB/s'")
    return _unit(text)


@cache
def _unit(text: str) -> Any:
    if not text:
        return _registry().Unit("")
    if not re.fullmatch(rf"\s*{_UNIT}\s*", text):
        raise UnitError(f"unknown unit {quoted(text)}: write names with *, / and powers, as in 'GB/s'")
    try:
        parsed_unit = _registry().Unit(text)
    except Exception as error:
        raise UnitError(f"unknown unit {quoted(text)}: {_meant(text) or error}") from None
    _refuse_parts(parsed_unit._units, text)
    return parsed_unit


@cache
def _refuse_parts(names: Any, text: str = "") -> None:
    """Refuse fractions of indivisible units; ``mB`` is a slip for ``MB``."""
    part = next((name for name in names if _PARTS.fullmatch(name)), "")
    if part:
        text = text or f"{_registry().Unit(names):~C}"
        raise UnitError(f"unit {quoted(text)}: there is no {part}; {_meant(text)}".rstrip("; "))


def _meant(text: str) -> str:
    close = near(text)
    return f"did you mean {', '.join(close)}?" if close else ""


def near(text: str) -> list[str]:
    """Find units spelled like an unknown one; only those that differ in case, if there are any."""
    names = "B", "bit", "bps", "FLOP", "FLOPS", "token"
    return nearest(text, [*filter(None, _table()), *(prefix + name for name in names for prefix in "kMGTPE"), "bytes"])


def parsed(text: str) -> Any:
    """Parse a quantity such as ``"80 GB"``.

    Parameters
    ----------
    text : str
        Number followed by a unit.

    Returns
    -------
    pint.Quantity

    Raises
    ------
    UnitError
        If the text is not a number followed by a unit, or the unit is unknown.

    Examples
    --------
    >>> from mlsysim import units
    >>> print(units.parsed("80 GB").to("GiB").round(2))
    74.51 GiB
    """
    match = re.fullmatch(_TEXT, text)
    if not match:
        raise UnitError(f"{quoted(text)} is not a number with a unit, as in '80 GB'")
    number = float(match[1])
    exact = number.is_integer() and abs(number) < 2**53
    return _registry().Quantity(int(number) if exact else number, unit(match[2] or ""))


#: Suffixes for powers of ten of tokens, requests and parameters: ``2T``. For other quantities, B is a byte.
THOUSANDS = {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12}
_COUNT = re.compile(rf"\s*({_DIGITS})\s*([kKMBT])(\s+\S.*)?\s*")


def spelled_out(text: str, into: str) -> str:
    """Write out a count such as ``"2T"``, or a rate of counts such as ``"2k"``; other text is unchanged.

    Parameters
    ----------
    text : str
        Typed text.
    into : str
        Unit of the resulting number.
    """
    match = _COUNT.fullmatch(text)
    if not match or not counts(dimension(into), into):
        return text
    digits = f"{Decimal(match[1].replace('_', '')).scaleb(THOUSANDS[match[2]]):f}"
    return digits + (match[3] or f" {into if into not in PURE else ''}").rstrip()


def counts(powers: Mapping[str, Any], text: str = "") -> bool:
    """Tell whether a dimension is a count, tokens or requests, or so many of them per something else."""
    above = [(name, power) for name, power in powers.items() if power > 0]
    return text != "%" and (not powers or (len(above) == 1 and above[0][0] in COUNTABLE and above[0][1] == 1))


def capital(text: str) -> str:
    """Capitalise the suffix of a number such as ``"70b"``; empty if it has no lower-case suffix."""
    match = re.fullmatch(rf"{_NUMBER}([mbt])\s*", text)
    return f"{match[1]}{match[2].upper()}" if match else ""


def number_in(text: str, into: str) -> float | None:
    """Convert text such as ``"80 GB"`` to a number of a unit.

    Parameters
    ----------
    text : str
        Number followed by a unit.
    into : str
        Unit of the result.

    Returns
    -------
    float or None
        What pint would say; None where pint has to be asked, as a unit is not in the table or does not fit, or the text
        is no number with a unit.
    """
    match = re.fullmatch(_TEXT, text)
    if not match:
        return None
    name = match[2] or ""
    if not {name, into} <= _table().keys() or dimension(name) != dimension(into) or not (name or into in PURE):
        return None
    return from_canonical(to_canonical(float(match[1]), name), into)


def per(above: str, below: str) -> tuple[float, Any]:
    """Return factor and unit that convert a canonical quotient to ``above`` per ``below``; counts cancel."""
    quotient = unit("" if above == "count" else above) / unit("" if below == "count" else below)
    return factor(below) / factor(above), quotient


def dimension(text: str) -> dict[str, Any]:
    """Return the exponent per base dimension of a unit, e.g. ``{"[information]": 1, "[time]": -1}``.

    Parameters
    ----------
    text : str
        Name of the unit.

    Returns
    -------
    dict

    Examples
    --------
    >>> from mlsysim import units
    >>> units.dimension("GB/s")
    {'[information]': 1, '[time]': -1}
    """
    known = _table().get(text)
    return known["dimension"] if known else _dimension(text)


@cache
def _dimension(text: str) -> dict[str, Any]:
    powers = {name: power for name, power in dict(unit(text).dimensionality).items() if power != 0}
    return {name: int(power) if power == int(power) else power for name, power in powers.items()}


def factor(text: str) -> float:
    """Return the canonical amount of a unit: ``factor("GB") == 1e9`` (bytes).

    Parameters
    ----------
    text : str
        Name of the unit.

    Returns
    -------
    float

    Examples
    --------
    >>> from mlsysim import units
    >>> units.factor("GiB")
    1073741824.0
    """
    known = _table().get(text)
    return known["factor"] if known else _factor(text)


@cache
def _factor(text: str) -> float:
    return float(_registry().Quantity(1, unit(text)).to_base_units().magnitude)


def from_canonical(value: Any, text: str) -> Any:
    """Convert a canonical float or array to a number of the given unit.

    Divides by whole factors and multiplies by whole inverses, so decimal units lose no digit.

    Parameters
    ----------
    value : float or array
        Value of any shape, in canonical units.
    text : str
        Unit of the result.

    Returns
    -------
    float or array
        Same shape as the value.

    Examples
    --------
    >>> from mlsysim import units
    >>> units.from_canonical(80e9, "GB")
    80.0
    """
    return in_unit(value, factor(text))


def to_canonical(value: Any, text: str) -> Any:
    """Convert a number or array of the given unit to canonical units; inverse of :func:`from_canonical`.

    Parameters
    ----------
    value : float or array
        Value of any shape, in ``text``.
    text : str
        Unit of the value.

    Returns
    -------
    float or array
        Same shape as the value.

    Examples
    --------
    >>> from mlsysim import units
    >>> units.to_canonical(2.5, "ms")
    0.0025
    """
    return _scaled(value, factor(text))


def _scaled(value: Any, scale: float) -> Any:
    operator, amount = into_canonical(scale)
    return value / amount if operator == "/" else value * amount


@cache
def _amount(of: Any) -> float:
    return float(_registry().Quantity(1, of).to_base_units().magnitude)


def is_quantity(value: object) -> bool:
    """Tell whether a value is a pint quantity, of this registry or of a foreign one.

    Parameters
    ----------
    value : object
        Any object.

    Returns
    -------
    bool

    Examples
    --------
    >>> from mlsysim import Q_, units
    >>> units.is_quantity(Q_("80 GB")), units.is_quantity(80e9)
    (True, False)
    """
    # While another thread loads pint it has no quantities, and nobody has one.
    quantity = getattr(sys.modules.get("pint"), "Quantity", None)
    return quantity is not None and isinstance(value, quantity)


def magnitude(value: Any) -> Any:
    """Return the number of a quantity in its own unit; return other values unchanged."""
    return value.magnitude if is_quantity(value) else value


def own(value: Any) -> Any:
    """Convert a quantity of any pint registry to this registry, unit name by unit name.

    Parameters
    ----------
    value : pint.Quantity
        Scalar or array quantity.

    Returns
    -------
    pint.Quantity
        Quantity of this registry with the same magnitude and unit names.

    Raises
    ------
    UnitError
        If this registry lacks a unit of the foreign one.

    Examples
    --------
    >>> import pint
    >>> from mlsysim import units
    >>> print(units.own(pint.UnitRegistry().Quantity(2.0, "s")))
    2.0 s
    """
    registry = _registry()
    if isinstance(value, registry.Quantity):
        _refuse_parts(value._units)
        return value
    try:
        units = registry.Unit("")
        for name, power in value.unit_items():
            units = units * registry.Unit(name) ** power
    except Exception as error:
        raise UnitError(f"{quoted(value)} comes from another registry and its unit is unknown here: {error}") from None
    return own(registry.Quantity(value.magnitude, units))


def canonical(value: Any, text: str, argument: str) -> Any:
    """Return the magnitude of a quantity in the canonical unit of ``text``.

    Parameters
    ----------
    value : pint.Quantity
        Quantity of any registry.
    text : str
        Unit of the expected dimension.
    argument : str
        Name of the argument for the error.

    Returns
    -------
    float or ndarray

    Raises
    ------
    UnitError
        If the dimensions differ.

    Examples
    --------
    >>> from mlsysim import Q_, units
    >>> units.canonical(Q_(80, "GB"), "GiB", "memory_capacity")
    80000000000.0
    """
    quantity = own(value)
    if dict(quantity.dimensionality) != dict(unit(text).dimensionality):
        actual = f"{quantity.units:~P}" or "a pure number"
        wanted = text or "a pure number"
        raise UnitError(f"{argument}={quoted(str(value))}: {actual} is not a unit of {wanted}")
    return _scaled(quantity.magnitude, _amount(quantity.units))


def fitting(value: float, text: str) -> str:
    """Choose the prefixed form of a unit in which a canonical value reads best.

    Parameters
    ----------
    value : float
        Value in canonical units.
    text : str
        Unit whose decimal prefix may change (``"GB"``, ``"TFLOP/s"``, ``"ms"``).

    Returns
    -------
    str
        ``text`` itself if the unit takes no prefixes, such as days and hours.

    Examples
    --------
    >>> from mlsysim import units
    >>> units.fitting(2.5e9, "MB")
    'GB'
    """
    if text in CALENDAR:
        return text
    for ladder in LADDERS:
        if dimension(ladder[0]) == dimension(text):
            fits = [name for name in ladder if abs(value) >= factor(name)]
            return fits[-1] if fits else ladder[0]
    return text


#: Units of time that take no prefix.
CALENDAR = ("d", "day", "h", "hour")
#: Prefixed forms of a unit, in increasing order.
LADDERS: tuple[tuple[str, ...], ...] = (
    ("B", "kB", "MB", "GB", "TB", "PB", "EB"),
    ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"),
    ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"),
    ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s"),
    ("ns", "µs", "ms", "s"),
    ("W", "kW", "MW", "GW"),
)
