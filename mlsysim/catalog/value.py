"""Catalog values: a number or word with unit, source, date and kind."""

from __future__ import annotations

import datetime
import math
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self

import pydantic

from mlsysim import units
from mlsysim.errors import CatalogError, MlsysimError, printable, quoted
from mlsysim.references import bibliography

Kind = Literal["datasheet", "paper", "measured", "calibrated", "derived", "reported", "assumed", "user"]

#: Source of a value the caller typed in; needs no citation.
CALLER = "given by the caller"
#: Source of what someone measured and has not published, for a catalog of one's own.
OWN = "own measurement"
#: Prefix of the source of an overhead measured on a class of the package; the version follows.
MEASURED = "transformers "


def problems(error: pydantic.ValidationError) -> str:
    """List pydantic's complaints, field by field, on one line."""
    complaints = []
    for item in error.errors():
        field = ".".join(map(str, item["loc"]))
        complaints.append(f"{field}: {item['msg']}" if field else item["msg"])
    return "; ".join(text.replace("Value error, ", "") for text in complaints)


#: Text that is printed, whoever wrote it; and a name, which has one line.
Text = Annotated[str, pydantic.AfterValidator(printable)]
Name = Annotated[str, pydantic.AfterValidator(partial(printable, lines=False))]


class Sourced(pydantic.BaseModel):
    """Catalog value with its provenance; a :class:`Value` or a :class:`Choice`.

    Parameters
    ----------
    value : object
        The number or word.
    unit : str
        Unit; empty for a pure number or a word.
    source : str
        URL, citation key of the bibliography, or ``"own measurement"``.
    date : str
        Date on which the source was published or read, ``YYYY-MM`` or ``YYYY-MM-DD``.
    kind : str
        ``datasheet``, ``paper``, ``measured``, ``calibrated`` (a constant of ours, fitted so that our formulas
        reproduce a measurement), ``derived``, ``reported`` (quoted second hand), ``assumed`` or ``user``.
    calibrated_on : str
        Data used for calibration, such as ``"16 rows of DeepEP's normal kernels"``; required for a calibrated value.
    note : str
        Caveats on its use.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    value: Any
    unit: str = ""
    source: Text
    date: Text
    kind: Kind
    calibrated_on: Text = ""
    note: Text = ""

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            raise CatalogError(problems(error)) from None

    @pydantic.field_validator("date", mode="before")
    @classmethod
    def _calendar(cls, date: Any) -> Any:
        text = date.isoformat() if isinstance(date, datetime.date) else date
        if isinstance(text, str) and text:
            try:
                datetime.datetime.strptime(text if len(text) > 7 else f"{text}-01", "%Y-%m-%d")
            except ValueError:
                raise ValueError(f"{text!r} must be YYYY-MM or YYYY-MM-DD") from None
        return text

    @pydantic.model_validator(mode="after")
    def _calibrated(self) -> Self:
        if self.kind == "calibrated" and not self.calibrated_on:
            raise ValueError("calibrated_on is missing: say on what it was calibrated")
        if self.calibrated_on and self.kind != "calibrated":
            raise ValueError(f"kind {self.kind!r} has calibrated_on, which is of kind 'calibrated'")
        return self

    @pydantic.model_validator(mode="after")
    def _has_provenance(self) -> Self:
        if self.kind == "user":
            return self
        if not self.date:
            raise ValueError("date is missing")
        if not self.source.startswith(("https://", "http://", MEASURED)) and self.source not in (OWN, *bibliography()):
            raise ValueError(f"source {self.source!r} is neither a URL nor a key of the bibliography nor {OWN!r}")
        return self

    def text(self, digits: int = 6) -> str:
        """Format the value alone, without provenance.

        Parameters
        ----------
        digits : int
            Digits to show.

        Returns
        -------
        str
        """
        return str(self.value)

    @property
    def standing(self) -> str:
        """Kind in words; a calibrated value also names its calibration data."""
        return f"calibrated on {self.calibrated_on}" if self.calibrated_on else self.kind

    def __str__(self) -> str:
        return f"{self.text()} ({self.standing}: {self.source}{', ' + self.date if self.date else ''})"


class Choice(Sourced):
    """A word with provenance: a label of an argument, or yes or no; parameters as for :class:`Sourced`."""

    value: Text

    @pydantic.model_validator(mode="after")
    def _word(self) -> Choice:
        if self.unit or not self.value:
            raise ValueError("a word has no unit" if self.unit else "must not be empty")
        return self


class Value(Sourced):
    """A number with unit and provenance; parameters as for :class:`Sourced`.

    Parameters
    ----------
    value : float
        Magnitude.
    low, high : float, optional
        Range stated by the source, in the value's unit; both or none.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @pydantic.field_validator("value", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError(f"{value!r} is not a number")
        return value

    @pydantic.field_validator("value")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not math.isfinite(value):
            raise ValueError("must be a finite number")
        return value

    @pydantic.model_validator(mode="after")
    def _range(self) -> Self:
        if self.low is None and self.high is None:
            return self
        if self.low is None or self.high is None:
            raise ValueError("a range has both ends, low and high")
        if not (self.low <= self.value <= self.high and self.low < self.high < math.inf and self.low > -math.inf):
            raise ValueError(f"the range from {self.low:g} to {self.high:g} must hold the value {self.value:g}")
        return self

    @pydantic.field_validator("unit")
    @classmethod
    def _known_unit(cls, text: str) -> str:
        units.check(text)
        return text

    @classmethod
    def of(cls, given: Any, unit: str = "", kind: Kind = "user", source: str = CALLER) -> Value:
        """Build a value from what a caller typed: a number, a quantity of any pint registry, or ``"80 GB"``.

        Parameters
        ----------
        given : number, str or quantity
            Number, quantity or text.
        unit : str
            Unit of a bare number.
        kind : str
            Kind of the provenance.
        source : str
            Citation key, URL or words.

        Returns
        -------
        Value
        """
        if isinstance(given, Value):
            return given
        try:
            if isinstance(given, str):
                given = units.parsed(given)
            if units.is_quantity(given):
                quantity = units.own(given)
                return cls(
                    value=float(quantity.magnitude), unit=f"{quantity.units:~C}", source=source, date="", kind=kind
                )
        except MlsysimError:
            raise
        except Exception as error:
            raise CatalogError(f"{quoted(given)} is not a quantity: {error}") from None
        return cls(value=given, unit=unit, source=source, date="", kind=kind)

    @property
    def quantity(self) -> Any:
        """Value as a pint quantity."""
        return units.Q_(self.value, units.unit(self.unit))

    @cached_property
    def canonical(self) -> float:
        """Value in canonical units (byte, second, FLOP, ...)."""
        return float(units.to_canonical(self.value, self.unit))

    @property
    def range(self) -> tuple[Any, Any] | None:
        """Range stated by the source, as quantities; None if it states none."""
        if self.low is None or self.high is None:
            return None
        unit = units.unit(self.unit)
        return units.Q_(self.low, unit), units.Q_(self.high, unit)

    def text(self, digits: int = 6) -> str:
        """See :meth:`Sourced.text`."""
        return f"{self.value:.{digits}g} {self.unit}".strip()
