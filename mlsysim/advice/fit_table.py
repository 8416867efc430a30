"""Tables of what fits: one row per model or device, one column per way to use it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mlsysim import show
from mlsysim.errors import UnknownNameError
from mlsysim.jsontext import JsonAnswer
from mlsysim.names import known_as

#: Most rows printed; the object holds all.
ROWS = 30
#: Most rows for which the missing memory is printed.
FEW = 3
#: Headers of columns that are not format names.
HEADS = {"w4a16": "4 bit", "lora": "LoRA", "qlora": "QLoRA", "full": "full"}
#: Cells for a refused combination, and for one that needs more devices than were tried.
REFUSED, TOO_LARGE = "–", "none"


@dataclass(frozen=True)
class Fit:
    """One way to use a model on a device.

    Attributes
    ----------
    use : str
        ``"serve"`` or ``"tune"``.
    way : str
        Precision of serving, or method of fine-tuning.
    value : int or None
        Longest context in tokens, or largest batch, on one device; None if it does not fit.
    devices : int or None
        Fewest devices that hold it, by powers of two; None if 512 do not suffice.
    limited : bool
        True if the model supports no longer context although memory suffices.
    missing : float
        Bytes that one device lacks: for a whole training step, or for the weights when serving.
    refused : str
        Reason why the model refuses; empty if it does not.
    """

    use: str
    way: str
    value: int | None = None
    devices: int | None = None
    limited: bool = False
    missing: float = 0.0
    refused: str = ""

    @property
    def text(self) -> str:
        """Cell of a table."""
        if self.refused:
            return REFUSED
        if self.value is None:
            return TOO_LARGE if self.devices is None else f"{self.devices} dev"
        return short(self.value) + ("*" if self.limited else "")


@dataclass(frozen=True)
class Row:
    """A model on a device, in every way of use.

    Attributes
    ----------
    model, device : str
        Names in the catalog; the device is empty if a memory was given.
    parameters : float
        Number of parameters of the model.
    memory : float
        Bytes that the driver gives to programs.
    fits : tuple of Fit
        Fits, one per way.
    """

    model: str
    device: str
    parameters: float
    memory: float
    fits: tuple[Fit, ...] = ()

    @property
    def fitting(self) -> bool:
        """True if one device is enough for some use."""
        return any(fit.value is not None for fit in self.fits)

    @property
    def counted(self) -> bool:
        """True if the model accepts some use."""
        return not all(fit.refused for fit in self.fits)


@dataclass(frozen=True)
class Fits(JsonAnswer):
    """Models that fit a device, or devices that hold a model; prints as a table.

    Attributes
    ----------
    rows : tuple of Row
        Rows in the order of the catalog.
    ways : tuple of (str, str)
        Use and way of each column.
    context : int
        Context in tokens at which the batch is maximised; 0 if the answer is the longest context.
    batch : int
        Number of sequences at which the context is maximised.
    stacks : tuple of str
        Software for serving and for training.
    listed : bool
        True if the rows are all entries of the catalog, of which a table shows the most relevant.

    Examples
    --------
    >>> from mlsysim import what_fits
    >>> fits = what_fits("H100", "Llama3_8B", formats=["bf16"], finetuning=[])
    >>> sorted(fits.records()[0])[:3]
    ['context', 'device', 'devices']
    """

    rows: tuple[Row, ...]
    ways: tuple[tuple[str, str], ...]
    context: int
    batch: int
    stacks: tuple[str, ...]
    listed: bool = False

    @property
    def by_device(self) -> bool:
        """True if rows are devices."""
        return len({row.device for row in self.rows}) > 1

    @property
    def answer(self) -> str:
        """``"context"`` or ``"batch"``."""
        return "batch" if self.context else "context"

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary per cell, for :class:`pandas.DataFrame`; memory in bytes."""
        return [
            {
                "model": row.model, "device": row.device or None, "use": fit.use, "way": fit.way,
                self.answer: fit.value, "limited_by_model": fit.limited, "devices": fit.devices,
                "missing": fit.missing, "refused": fit.refused or None,
            }
            for row in self.rows
            for fit in row.fits
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        fixed = {"context": self.context} if self.context else {"batch": self.batch}
        stacks = dict(zip(("serving", "training"), self.stacks, strict=True))
        return {"answer": self.answer, **fixed, "stacks": stacks, "rows": [asdict(row) for row in self.rows]}

    def sorted(self, by: str | None = None) -> list[Row]:
        """Sort the rows that fit in some way: the largest models, or the smallest devices, first by default.

        Parameters
        ----------
        by : str, optional
            ``"size"``, ``"name"`` or a way, whose largest values come first.
        """
        rows = [row for row in self.rows if row.counted]
        names = [way for _, way in self.ways]
        by = known_as(by or "size", ["size", "name", *names]) or by
        if by == "name":
            return sorted(rows, key=lambda row: (row.model, row.device))
        if by == "size" or by is None:
            return sorted(rows, key=lambda row: row.memory if self.by_device else -row.parameters)
        if by not in names:
            raise UnknownNameError("column to sort by", by, ["size", "name", *names])
        column = names.index(by)
        return sorted(rows, key=lambda row: -(row.fits[column].value or 0))

    def cells(self, by: str | None = None, top: int | None = ROWS) -> tuple[list[str], list[list[str]], list[str]]:
        """Build headers, rows and notes of a table.

        Parameters
        ----------
        by : str, optional
            Sort order, as for :meth:`sorted`.
        top : int or None
            Most rows; None for all, including those that never fit.
        """
        rows = self.sorted(by)
        fitting = [row for row in rows if row.fitting] or rows
        shown = fitting[:top] if self.listed and top is not None else rows
        headers = ["Device" if self.by_device else "Model"]
        headers += [f"{use}\n{HEADS.get(way, way)}" for use, way in self.ways]
        cells = [[row.device if self.by_device else row.model, *(fit.text for fit in row.fits)] for row in shown]
        return headers, cells, [*self._legend(shown), *self._short_of(shown), *self._left_out(rows, fitting, shown, by)]

    def _legend(self, shown: Sequence[Row]) -> list[str]:
        """Explain the cells, and name the software whose memory counts."""
        texts = {fit.text for row in shown for fit in row.fits}
        several = min((fit.devices or 1 for row in shown for fit in row.fits if fit.text.endswith("dev")), default=0)
        notes = []
        if any(text.endswith("*") for text in texts):
            notes.append("* The model is made for no longer context; memory has room for more.")
        if several:
            notes.append(f"{several} dev: one device is too small, {several} hold it.")
        if TOO_LARGE in texts:
            notes.append("none: 512 devices do not hold it either.")
        if REFUSED in texts:
            notes.append("–: not asked; --json says why.")
        uses = {use for use, _ in self.ways}
        software = zip(("serve", "tune"), self.stacks, strict=True)
        return [*notes, f"Software: {', '.join(f'{stack} ({use})' for use, stack in software if use in uses)}."]

    def _short_of(self, shown: Sequence[Row]) -> list[str]:
        """List the memory that one device lacks, if a few rows were asked for by name."""
        notes = []
        for row in shown if len(shown) <= FEW and not self.listed else ():
            lacks = [f"{HEADS.get(fit.way, fit.way)} {fit.missing / 1e9:,.1f} GB" for fit in row.fits if fit.missing]
            notes += (
                [f"{row.device if self.by_device else row.model} lacks on one: {', '.join(lacks)}."] if lacks else []
            )
        return notes

    def _left_out(self, rows: Sequence[Row], fitting: Sequence[Row], shown: Sequence[Row], by: str | None) -> list[str]:
        """Count the rows that are not shown, and say why."""
        what, notes = ("device" if self.by_device else "model"), []
        if more := len(fitting) - len(shown) if len(shown) < len(fitting) else 0:
            order = ("larger " if self.by_device else "smaller ") if by in (None, "size") else ""
            notes.append(f"{_count(more, f'{order}{what}')} fit too: --all lists them.")
        if (never := len(rows) - len(fitting)) and len(shown) <= len(fitting):
            notes.append(f"{_count(never, what)} left out: one device is too small for every use.")
        if uncounted := [row for row in self.rows if not row.counted]:
            notes.append(f"{_count(len(uncounted), what)} not asked: {uncounted[0].fits[0].refused}.")
        return notes

    def title(self) -> list[str]:
        """Return the question in two lines."""
        first = self.rows[0]
        memory = f"{first.memory / 1e9:.1f} GB"
        subject = first.model if self.by_device else f"{first.device} ({memory})" if first.device else memory
        line = f"Devices that hold {subject}" if self.by_device else f"Models that fit {subject}"
        if self.context:
            return [line, f"largest batch at a context of {self.context:,} tokens; else the devices it takes"]
        many = f"{self.batch} at a time" if self.batch > 1 else "one at a time"
        return [line, f"longest context in tokens, {many}; else the devices it takes"]

    def text(self, by: str | None = None, top: int | None = ROWS) -> str:
        """Render the table as text.

        Parameters
        ----------
        by, top
            As for :meth:`cells`.
        """
        headers, rows, notes = self.cells(by, top)
        above, below = (_wrapped(lines) for lines in (self.title(), notes))
        return "\n".join([*above, "", show.fitted(headers, rows), "", *below])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        headers, rows, notes = self.cells()
        heads = [header.replace("\n", " ") for header in headers]
        return show.html_table(heads, rows, "\n".join(self.title()), notes)


def _wrapped(lines: Sequence[str]) -> list[str]:
    return [wrapped_line for line in lines for wrapped_line in textwrap.wrap(line, show.width())]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"


def short(number: int) -> str:
    """Format a count with three digits: ``950``, ``12.3k``, ``131k``, ``1.05M``."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{letter}"
    return str(number)
