"""Traffic: rates and lengths of requests, given or estimated from a trace."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import pydantic

from mlsysim.catalog.entries import Count, Entry, _in
from mlsysim.catalog.value import Value
from mlsysim.errors import CatalogError, InputError, UnknownNameError, quoted
from mlsysim.tracebacks import at_the_call

Tokens = Annotated[Value, _in("token")]
Requests = Annotated[Value, _in("request")]
RequestsPerSecond = Annotated[Value, _in("request/s")]
#: Headers of published traces, without case, blanks and underscores.
_KNOWN = {
    "prompt": ("contexttokens", "prompttokens", "inputtokens", "requesttokens", "inputlength", "promptlen", "isl"),
    "answer": (
        "generatedtokens", "outputtokens", "completiontokens", "responsetokens", "outputlength", "outputlen", "osl",
    ),
    "arrival": ("timestamp", "arrivaltime", "arrivedat", "arrival", "time"),
    "session": ("session", "sessionid", "conversation", "conversationid"),
    "priority": ("priority",),
}  # fmt: skip
#: Optional columns of a trace.
_OPTIONAL = ("arrival", "session", "priority")
#: Headers of formats with another time unit than seconds: Mooncake's.
_TIMED_IN = {frozenset({"timestamp", "inputlength", "outputlength", "hashids"}): "ms"}
#: Headers of formats in which an answer without tokens is a failed request: BurstGPT's.
_OR_FAILED = ("responsetokens",)

#: The least and the largest burstiness: no law is known beyond, and none is needed for what is more even.
_BURSTIEST, _EVENEST = 0.01, 100.0
#: Units of times that are numbers, in seconds, and from where on a number is one of them: years from 1973 to 5138.
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SINCE_1970 = {"ns": 1e17, "us": 1e14, "ms": 1e11}
#: Kinds of times.
_NUMBER, _DATE, _ZONED = "a number", "a date without a time zone", "a date with a time zone"
#: Counts and times beyond are not exact, or no times; no two requests come closer on average.
LARGEST_INTEGER, LARGEST_TIME, SHORTEST_TIME = 2**53, 1e30, 1e-30


def _unsaid(value: float) -> Value:
    """Build the default value of a field of traffic."""
    source = "own"
    return Value(value=value, unit="", source=source, date="2026-11", kind="assumed")


class Traffic(Entry):
    """Requests that a deployment receives. Inter-arrival times are gamma-distributed, and lengths are log-normal.

    Parameters
    ----------
    request_rate : Value, optional
        Requests per second.
    isl, osl : Value
        Mean tokens of prompts and of outputs, as whole numbers.
    isl_cv, osl_cv : Value
        Coefficients of variation of prompt and output tokens; 0 if all are equal.
    burstiness : Value
        Shape of the gamma distribution of inter-arrival times: 1 for Poisson arrivals, below 1 in bursts.
    concurrency, num_rounds : Value, optional
        Requests in flight in a closed loop, and number of rounds of a benchmark.
    prefix_hit_rate : Value, optional
        Share of prompt tokens found in a prefix cache.
    not_read : tuple of str
        Columns of the trace that no argument expresses.

    Examples
    --------
    >>> from mlsysim import Traffic
    >>> served = Traffic(name="Chat", isl=512, osl=128, request_rate=4)
    >>> served.text("isl")
    '512 token'
    """

    what: ClassVar[str] = "traffic"

    request_rate: RequestsPerSecond | None = None
    isl: Tokens
    osl: Tokens
    isl_cv: Count = _unsaid(0.0)
    osl_cv: Count = _unsaid(0.0)
    burstiness: Count = _unsaid(1.0)
    concurrency: Requests | None = None
    num_rounds: Count | None = None
    prefix_hit_rate: Count | None = None
    not_read: tuple[str, ...] = ()

    @pydantic.field_validator("isl", "osl", "concurrency", "num_rounds")
    @classmethod
    def _whole(cls, value: Value | None) -> Value | None:
        if value is not None and (value.value != round(value.value) or value.value < 1):
            raise ValueError(f"{value.value:g} is not a whole number" + f" of {value.unit}s" * bool(value.unit))
        return value

    @classmethod
    @at_the_call
    def from_trace(
        cls,
        trace: Any,
        *,
        prompt_tokens: str = "",
        output_tokens: str = "",
        arrival: str = "",
        arrival_unit: str = "",
        name: str = "",
    ) -> Self:
        """Estimate traffic from a trace: a row per request with prompt tokens, output tokens and arrival time.

        Parameters
        ----------
        trace : path or DataFrame
            A CSV file with a header, a JSONL file with one object per line, or a table.
        prompt_tokens, output_tokens : str
            Columns of the tokens; by default found by the headers of published traces: ``ContextTokens`` and
            ``GeneratedTokens`` of Azure's, ``input_length`` and ``output_length`` of Mooncake's, ``Request tokens`` and
            ``Response tokens`` of BurstGPT, in which an answer of 0 tokens is a failed request and is dropped.
        arrival : str
            Column of the arrival times: numbers, or dates with times. Dates without a time zone are UTC, whatever the
            machine's zone. Without such a column there is no rate.
        arrival_unit : str
            Unit of numeric times: s, ms, us or ns. By default seconds, but milliseconds in Mooncake's format and from
            1e11, microseconds from 1e14 and nanoseconds from 1e17, as in times since 1970.
        name : str
            Name of the entry; by default that of the file.

        Returns
        -------
        Traffic
            Means rounded to whole tokens, and coefficients of variation. The burstiness is one over the squared
            coefficient of variation of inter-arrival times, from 0.01 to 100; a slowly changing rate counts as bursts.

        Raises
        ------
        CatalogError
            If the file cannot be read, or a row is malformed; names file, line, column and value.
        UnknownNameError
            If a named column does not exist.
        InputError
            If the trace is neither a path nor a table, or the unit is unknown.
        """
        columns = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens, "arrival": arrival}
        return cls.of_requests(read_trace(trace, **columns, arrival_unit=arrival_unit), name)

    @classmethod
    def of_requests(cls, requests: Trace, name: str = "") -> Self:
        """Estimate traffic from the requests of a trace, as :meth:`from_trace` does.

        Parameters
        ----------
        requests : Trace
            Requests of the trace.
        name : str
            Name of the traffic.

        Returns
        -------
        Traffic
        """
        count = len(requests.prompts)
        described = f"{count:,} requests of {requests.origin}"

        def described_value(number: float, unit: str = "") -> Value:
            return Value.of(number, unit, source=described)

        fields: dict[str, Any] = {}
        for tokens, short in ((requests.prompts, "isl"), (requests.answers, "osl")):
            total, squares = sum(tokens), sum(length**2 for length in tokens)
            fields[short] = described_value(max(1, round(total / count)), "token")
            fields[f"{short}_cv"] = described_value(math.sqrt(max(0, count * squares - total**2)) / total)
        if requests.times:
            unit = requests.unit
            rate, spread = _arrivals(requests.origin, requests.column, requests.times)
            fields["request_rate"] = described_value(rate / _UNITS[unit], "request/s")
            fields["burstiness"] = described_value(max(_BURSTIEST, min(_EVENEST, spread**-2)) if spread else _EVENEST)
            described += f"; times are in {unit}" if unit != "s" else ""
            described += f"; the time between two of them has a coefficient of variation of {spread:.2f}"
        described += f"; {requests.failed:,} more have no answer and are left out" if requests.failed else ""
        of_simulations = ("session",) * bool(requests.sessions) + ("priority",) * bool(requests.priorities)
        fields["not_read"] = (*requests.unused, *of_simulations)
        return cls(name=name or Path(requests.origin).stem, description=described, **fields)


class Trace(NamedTuple):
    """Requests of a trace, with one member per column.

    Attributes
    ----------
    origin : str
        Path of the file, or a name for a table.
    prompts, answers : list of int
        Tokens of prompts and of answers.
    times : list of float
        Arrival times in ``unit``; empty without such a column.
    column, unit : str
        Header and unit of the times.
    sessions : list
        Session identifiers; empty without such a column.
    priorities : list of float
        Priorities, the lowest first; empty without such a column.
    unused : tuple of str
        Headers of the other columns.
    failed : int
        Number of requests without an answer, which are dropped.
    """

    origin: str
    prompts: list[int]
    answers: list[int]
    times: list[float]
    column: str
    unit: str
    sessions: list[str]
    priorities: list[float]
    unused: tuple[str, ...] = ()
    failed: int = 0

    @property
    def seconds(self) -> float:
        """Length of the time unit in seconds."""
        return _UNITS[self.unit]


def read_trace(
    trace: Any,
    *,
    prompt_tokens: str = "",
    output_tokens: str = "",
    arrival: str = "",
    arrival_unit: str = "",
    session: str = "",
    priority: str = "",
) -> Trace:
    """Read the requests of a trace, as :meth:`Traffic.from_trace` does.

    Parameters
    ----------
    trace : path, DataFrame or mapping
        A CSV file with a header, a JSONL file, a table, or columns by name.
    prompt_tokens, output_tokens, arrival, arrival_unit : str
        Columns and unit as in :meth:`Traffic.from_trace`.
    session, priority : str
        Columns of the session and of the priority (the lowest goes first); optional, and by default found by their
        headers.

    Returns
    -------
    Trace

    Raises
    ------
    CatalogError, UnknownNameError, InputError
        As in :meth:`Traffic.from_trace`.

    Examples
    --------
    >>> from mlsysim.catalog import read_trace
    >>> columns = {"prompt_tokens": [512, 2048], "output_tokens": [128, 64], "arrival": [0.0, 0.5]}
    >>> trace = read_trace(columns, arrival_unit="s")
    >>> trace.prompts
    [512, 2048]
    """
    if arrival_unit and arrival_unit not in _UNITS:
        raise InputError("arrival_unit", arrival_unit, f"must be one of {', '.join(_UNITS)}")
    origin, headers, rows = _opened(trace)
    wanted = {"prompt": prompt_tokens, "answer": output_tokens, "arrival": arrival}
    wanted |= {"session": session, "priority": priority}
    columns = {what: _place(origin, headers, what, column) for what, column in wanted.items()}
    tokens: dict[str, list[int]] = {"prompt": [], "answer": []}
    times: list[float] = []
    sessions: list[str] = []
    priorities: list[float] = []
    kinds: dict[str, int] = {}
    failed, may_fail = 0, _plain(headers[columns["answer"] or 0]) in _OR_FAILED
    for line, cells in rows:
        if len(cells) != len(headers):
            raise CatalogError(f"{origin}: line {line}: has {len(cells)} cells and the header {len(headers)}")
        if may_fail and str(cells[columns["answer"] or 0]).strip() in ("0", "0.0"):
            failed += 1
            continue
        for what, lengths in tokens.items():
            lengths.append(_tokens(origin, line, headers, columns[what], cells))
        if (index := columns["arrival"]) is not None:
            time, kind = _time(origin, line, headers[index], cells[index], arrival_unit)
            times.append(time)
            kinds.setdefault(kind, line)
        if (index := columns["session"]) is not None:
            sessions.append(str(cells[index]).strip())
        if (index := columns["priority"]) is not None:
            priorities.append(_priority(origin, line, headers[index], cells[index]))
    column = headers[columns["arrival"] or 0]
    if len(kinds) > 1:
        told = ", ".join(f"line {line} is {kind}" for kind, line in kinds.items())
        raise CatalogError(f"{origin}: {column}: all times must be of one kind; {told}")
    if not tokens["prompt"]:
        raise CatalogError(f"{origin}: has no row below its header")
    known = _SINCE_1970 if _NUMBER in kinds else {}
    usual = _TIMED_IN.get(frozenset(map(_plain, headers)), "s") if known else "s"
    unit = arrival_unit or next((unit for unit, least in known.items() if max(times) >= least), usual)
    unused = tuple(header for index, header in enumerate(headers) if index not in columns.values())
    return Trace(origin, tokens["prompt"], tokens["answer"], times, column, unit, sessions, priorities, unused, failed)


def _opened(trace: Any) -> tuple[str, list[str], Iterable[tuple[int, list[Any]]]]:
    """Return the name of a trace, its headers, and its rows with line numbers."""
    if hasattr(trace, "columns") and hasattr(trace, "iloc"):
        columns = [trace.iloc[:, index].tolist() for index in range(len(trace.columns))]
        return "the table", [str(header_) for header_ in trace.columns], _numbered(zip(*columns, strict=True))
    if isinstance(trace, Mapping):
        if len({len(column) for column in trace.values()}) > 1:
            raise InputError("trace", [*trace], "must have columns of one length")
        return "the table", [str(header_) for header_ in trace], _numbered(zip(*trace.values(), strict=True))
    if not isinstance(trace, str | os.PathLike):
        raise InputError("trace", trace, "must be the path of a CSV or JSONL file, a DataFrame, or columns by name")
    file = Path(trace)
    rows = _read_objects(file) if file.suffix == ".jsonl" else _read(file)
    _, headers = next(rows, (1, []))
    if not headers:
        raise CatalogError(f"{file}: line 1: must name the columns")
    return str(file), [str(header_).strip() for header_ in headers], rows


def _numbered(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, list[Any]]]:
    for index, cells in enumerate(rows):
        yield index + 1, list(cells)


def _require_file(file: Path) -> None:
    if not os.path.isfile(file):
        raise CatalogError(f"{file}: {'must be a' if os.path.exists(file) else 'there is no such'} CSV or JSONL file")


def _read_objects(file: Path) -> Iterator[tuple[int, list[Any]]]:
    """Read headers and rows of a file with one object per line; all have the fields of the first."""
    headers: list[str] = []
    try:
        _require_file(file)
        with file.open(encoding="utf-8-sig") as opened:
            for line, text in enumerate(opened, start=1):
                if not text.strip():
                    continue
                row = json.loads(text)
                if not isinstance(row, dict):
                    raise CatalogError(f'{file}: line {line}: must be an object, as in {{"input_length": 6955}}')
                if not headers:
                    headers = [*row]
                    yield line, headers
                if lost := [name for name in headers if name not in row]:
                    raise CatalogError(f"{file}: line {line}: has no {', '.join(lost)}, which line 1 has")
                yield line, [row[name] for name in headers]
    except OSError as error:
        raise CatalogError(f"{file}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise CatalogError(f"{file}: not JSONL: {error}") from None


def _read(file: Path) -> Iterator[tuple[int, list[Any]]]:
    try:
        _require_file(file)
        with file.open(newline="", encoding="utf-8-sig") as opened:
            lines = csv.reader(opened)
            for cells in lines:
                if cells:
                    yield lines.line_num, cells
    except OSError as error:
        raise CatalogError(f"{file}: cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CatalogError(f"{file}: not CSV: {error}") from None


def _plain(header: str) -> str:
    """Fold a header: without case, blanks and punctuation."""
    return "".join(letter for letter in header.lower() if letter.isalnum())


def _place(origin: str, headers: list[str], what: str, column: str) -> int | None:
    if column:
        if column not in headers:
            raise UnknownNameError(f"column of {origin}", column, headers)
        return headers.index(column)
    columns = [index for index, header in enumerate(headers) if _plain(header) in _KNOWN[what]]
    if len(columns) == 1:
        return columns[0]
    if not columns and what in _OPTIONAL:
        return None
    argument = {"prompt": "prompt_tokens", "answer": "output_tokens"}.get(what, what)
    several = (
        "no column is known to hold" if not columns else f"{' and '.join(headers[index] for index in columns)} may hold"
    )
    words = {
        "prompt": "the tokens of prompts",
        "answer": "the tokens of answers",
        "arrival": "when requests came",
        "session": "the session of requests",
        "priority": "the priority of requests",
    }[what]
    raise CatalogError(f"{origin}: {several} {words}; give {argument}=, one of: {', '.join(headers)}")


def _tokens(origin: str, line: int, headers: list[str], index: int | None, cells: list[Any]) -> int:
    cell = cells[index or 0]
    try:
        number = float(cell)
        if isinstance(cell, bool) or number != int(number) or not 1 <= number < LARGEST_INTEGER:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        column = headers[index or 0]
        raise CatalogError(
            f"{origin}: line {line}: {column}={quoted(cell)}: must be a whole number of tokens >= 1, below 2**53"
        ) from None
    return int(number)


def _priority(origin: str, line: int, column: str, cell: Any) -> float:
    try:
        number = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise CatalogError(f"{origin}: line {line}: {column}={quoted(cell)}: must be a number; the lowest goes first")
    return number


def _time(origin: str, line: int, column: str, cell: Any, unit: str) -> tuple[float, str]:
    """Parse a number, or a date as seconds since 1970; also return which kind of time it is."""
    try:
        number = math.nan if isinstance(cell, datetime) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if abs(number) <= LARGEST_TIME:
        return number, _NUMBER
    try:
        date = cell if isinstance(cell, datetime) else datetime.fromisoformat(str(cell).strip())
        kind = _DATE if date.tzinfo is None else _ZONED
        seconds = (date.replace(tzinfo=UTC) if kind == _DATE else date).timestamp()
    except (ValueError, OverflowError):  # pandas has a date that is none
        raise CatalogError(
            f"{origin}: line {line}: {column}={quoted(cell)}: must be seconds, or a date and time as in "
            "2023-11-16 18:15:46.680590"
        ) from None
    if unit:
        raise CatalogError(f"{origin}: line {line}: {column}={quoted(cell)}: is a date; leave out arrival_unit")
    return seconds, kind


def _arrivals(origin: str, column: str, times: list[float]) -> tuple[float, float]:
    """Return requests per second, and the coefficient of variation of inter-arrival times."""
    ordered = sorted(times)
    span = ordered[-1] - ordered[0]
    if span / len(times) < SHORTEST_TIME:
        raise CatalogError(f"{origin}: {column}: must hold two different times at least")
    gaps = [later - earlier for earlier, later in pairwise(ordered)]
    mean = span / len(gaps)
    variance = math.fsum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    return 1 / mean, math.sqrt(variance) / mean
