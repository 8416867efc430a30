"""Results of a run: means, quantiles and rates with their standard errors, and the requests one by one."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan, nan, sqrt
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mlsysim import formatting, units
from mlsysim.errors import MlsysimError, StoreError, UnknownNameError
from mlsysim.files import replacing
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.jsontext import JsonAnswer
from mlsysim.simulation.load import Load
from mlsysim.simulation.run import Run
from mlsysim.study.results.result import Result
from mlsysim.study.solve import solve
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

#: Parts of a run, one after the other, whose spread gives standard errors.
PARTS = 20
#: From here on a mean of the law is said to differ: a share, and standard errors.
APART, SURE = 0.15, 3
#: From here on waits are said to grow: seconds a second.
DRIFT = 0.02
TIMES = ("ttft", "tpot", "e2e")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
#: Unit and meaning of what no model computes.
OWN = {
    "requests_per_second": ("request/s", "Requests completed per second."),
    "busy_share": ("count", "Share of the time in which a replica works."),
    "preemptions": ("count", "Times that a request was put back and prefilled again."),
    "cached_share": ("count", "Share of the tokens of prompts that were found in a cache."),
}


@dataclass(frozen=True)
class Question:
    """The deployment that was simulated.

    Attributes
    ----------
    model : DeclaredModel
        The model.
    arguments : dict
        As ``solve`` takes them.
    binding : Binding
        Inputs of the model.
    replicas : int
        Replicas.
    by_law : bool
        Whether the law found how many.
    in_flight : int
        Requests of a closed loop, 0 for arrivals.
    rate, burstiness : float
        Arrivals that were drawn.
    trace : str
        Where requests are from; empty where they were drawn.
    prioritised, in_sessions : bool
        Whether some go first, and whether some follow others.
    turns, seed : int
        As given.
    left_out : float
        Share of the requests at the start that counts for nothing.
    step_error : float
        Largest difference of a step time from that of the model, as a share.
    """

    model: DeclaredModel
    arguments: dict[str, Any]
    binding: Binding
    replicas: int
    by_law: bool
    in_flight: int
    rate: float
    burstiness: float
    trace: str
    prioritised: bool
    in_sessions: bool
    turns: int
    seed: int
    left_out: float
    step_error: float


class Table(NamedTuple):
    """Requests in the order in which they came to their replica, replica by replica; times in seconds."""

    request: Any
    replica: Any
    session: Any
    priority: Any
    prompt_tokens: Any
    output_tokens: Any
    cached_tokens: Any
    arrival: Any
    prefill_start: Any
    first_token: Any
    finish: Any
    preemptions: Any
    counts: Any
    """True where it is among those that count."""

    @classmethod
    def of(cls, load: Load, parts: list[Any], runs: list[Run], left_out: float) -> Table:
        """Put together what replicas have seen."""
        columns: list[tuple[Any, ...]] = []
        for number, (places, run) in enumerate(zip(parts, runs, strict=True)):
            seen, count = run.seen, len(places)
            order = np.argsort(seen.arrival, kind="stable")
            middle = np.zeros(count, bool)
            middle[int(left_out * count) : count - int(left_out / 2 * count)] = True
            own = (places, np.full(count, number), load.session[places], load.rank[places], load.prompt[places],
                   load.answer[places], seen.cached, seen.arrival, seen.admitted, seen.first, seen.finish,
                   seen.preemptions)  # fmt: skip
            columns.append((*(column[order] for column in own), middle))
        return cls(*(np.concatenate(each) for each in zip(*columns, strict=True)))

    @property
    def ttft(self) -> Any:
        """Seconds to the first token."""
        return self.first_token - self.arrival

    @property
    def tpot(self) -> Any:
        """Seconds per further token; none where there is none."""
        further = self.output_tokens - 1
        return np.where(further > 0, (self.finish - self.first_token) / np.maximum(further, 1), np.nan)

    @property
    def e2e(self) -> Any:
        """Seconds to the last token."""
        return self.finish - self.arrival


class Simulation(JsonAnswer):
    """Requests that were served one by one.

    Means, quantiles and rates are attributes, as they are of a result: ``found.ttft_p99``, ``found["tpot_mean"]``.

    Attributes
    ----------
    requests : Table
        The requests one by one, in columns.

    Examples
    --------
    >>> from mlsysim import ServingModel
    >>> engine = dict(stack="TensorRT_LLM_H100", precision="w8a8", tp_size=4, isl=1024, osl=64)
    >>> served = ServingModel("colocated").simulate("Llama3_3_70B", "H100", **engine, request_rate=5, requests=200)
    >>> "ttft_mean" in served.keys()
    True
    """

    requests: Table

    def __init__(self, asked: Question, table: Table, runs: list[Run]) -> None:
        self._asked, self.requests, self._runs = asked, table, runs
        self._known = dict(self._measured())

    @property
    def model(self) -> DeclaredModel:
        """The model whose deployment was simulated."""
        return self._asked.model

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as ``solve`` takes them, with the traffic of a trace and the number of replicas."""
        return dict(self._asked.arguments)

    @property
    def step_error(self) -> float:
        """Largest difference of a step time from that of the model of an iteration, as a share."""
        return self._asked.step_error

    def _measured(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Values and standard errors by name, in canonical units."""
        table, asked = self.requests, self._asked
        middle = np.flatnonzero(table.counts)
        middle = middle[np.argsort(table.arrival[middle], kind="stable")]
        for name in TIMES:
            values = getattr(table, name)[middle]
            values = values[~np.isnan(values)]
            yield f"{name}_mean", _with_error(values)
            levels = list(QUANTILES.values())
            found = np.quantile(values, levels) if len(values) else np.full(len(levels), nan)
            parts = np.quantile(_parts(values), levels, axis=1) if len(values) >= 2 * PARTS else [[]] * len(levels)
            for short, value, own in zip(QUANTILES, found, parts, strict=True):
                yield f"{name}_{short}", (float(value), _error(own))
        rates = [run.finished / run.elapsed for run in self._runs if run.elapsed > 0]
        rate = float(sum(rates))
        decoding, error = _with_error((table.finish - table.first_token)[middle])
        yield "decode_batch", (decoding * rate / asked.replicas, error * rate / asked.replicas)
        tokens = float(table.output_tokens[middle].mean())
        finished = np.sort(table.finish[middle])
        edges = finished[:: max(1, len(finished) // PARTS)]
        paces = np.diff(edges) if len(finished) >= 2 * PARTS else np.zeros(0)
        spread = _error(paces) / float(paces.mean()) if len(paces) and paces.mean() > 0 else nan
        yield "tokens_per_second", (rate * tokens, rate * tokens * spread)
        yield "requests_per_second", (rate, rate * spread)
        shares = [run.busy / run.elapsed for run in self._runs if run.elapsed > 0]
        yield "busy_share", (float(np.mean(shares)) if shares else nan, nan)
        yield "preemptions", (float(table.preemptions.sum()), nan)
        cached = table.cached_tokens[middle].sum() / table.prompt_tokens[middle].sum()
        yield "cached_share", (float(cached), nan)
        promised = {name: float(asked.binding.values.get(f"{name}_slo", 0.0)) for name in TIMES}
        if any(promised.values()):
            kept = np.ones(len(middle), bool)
            for name, slo in promised.items():
                kept &= ~(getattr(table, name)[middle] > slo) if slo else True
            yield "slo_attainment", _with_error(kept.astype(float))

    def keys(self) -> tuple[str, ...]:
        """Names of what is measured.

        Returns
        -------
        tuple of str
        """
        return tuple(self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    @at_the_call
    def __getitem__(self, name: str) -> Any:
        return self._shown(name, self._pair(name)[0])

    @at_the_call
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    @at_the_call
    def standard_error(self, name: str) -> Any:
        """Standard error of a value, from the spread over parts of the run; nan where it is not known.

        Parameters
        ----------
        name : str
            One of :meth:`keys`.

        Returns
        -------
        Quantity or float
        """
        return self._shown(name, self._pair(name)[1])

    def _pair(self, name: Any) -> tuple[float, float]:
        if name not in self._known:
            raise UnknownNameError("value of this simulation", name, self._known)
        return self._known[name]

    def _shown(self, name: str, canonical: float) -> Any:
        unit = _unit(name)
        amount = float(units.from_canonical(canonical, unit))
        return amount if unit == "count" else units.Q_(amount, units.unit(unit))

    @cached_property
    def law(self) -> Result | None:
        """The result of ``solve`` at the same arguments; None where it has no answer.

        A trace is its means and spreads to it; sessions are the mean prompt, and the share of it that was cached.
        """
        asked, table = self._asked, self.requests
        arguments = dict(asked.arguments)
        if asked.in_sessions:
            arguments["prefix_hit_rate"] = min(0.999, self._known["cached_share"][0])
            if not asked.trace:
                arguments["isl"] = round(float(table.prompt_tokens.mean()))
        try:
            return solve(asked.model, **arguments)
        except MlsysimError:
            return None

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences on where the law of the same arguments leaves its range."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        asked, known, variant = self._asked, self._known, self._asked.model.variant
        if asked.by_law:
            yield f"num_replicas is left out: {asked.replicas}, as solve says"
        traffic = asked.arguments.get("traffic") if asked.trace else None
        if traffic is not None and traffic.not_read:
            yield f"of {asked.trace} is not read: {', '.join(traffic.not_read)}"
        if known["preemptions"][0]:
            count = int((self.requests.preemptions > 0).sum())
            yield (
                f"{count:,} requests were preempted, as keys and values no longer fit: the law keeps room for whole "
                "answers and preempts none"
            )
        if not asked.in_flight and (growing := self._drift()) > DRIFT:
            yield (
                f"waits grow by {growing:.2g} s a second: requests come about as fast as they are completed, or "
                "faster; the law has waits up to a load of 1, and these depend on the length of the run"
            )
        if asked.burstiness != 1 and "burstiness" not in asked.model.arguments and not asked.in_flight:
            yield f"burstiness is {asked.burstiness:.3g}: the law of {variant} has Poisson's arrivals"
        if asked.in_sessions:
            yield (
                f"the law knows no sessions: {known['cached_share'][0]:.0%} of the tokens of prompts were kept from "
                "turns before, which prefix_hit_rate says to it"
            )
        if asked.prioritised:
            yield "the law serves requests in the order in which they come, whatever their priority"
        values = asked.binding.values
        if any(values.get(name, 1) > 1 for name in ("pp_size", "dp_attention_size")):
            yield "a prompt stops all stages and attention ranks here; in the law only its own"
        if asked.in_flight > 1 and any(values.get(name) for name in ("isl_cv", "osl_cv")):
            yield "lengths vary in a closed loop: all quantiles of the law are its means"
        elif asked.in_flight > 1 and "max_num_batched_tokens" in asked.model.arguments:
            yield "lengths are alike in a closed loop, and requests stay in step: the law spreads their prompts evenly"
        law = self.law
        if law is None:
            yield "the law has no answer to these arguments"
            return
        for name in (f"{each}_mean" for each in TIMES):
            theirs, (mine, error) = self._of_law(name), known[name]
            if theirs is None or isnan(mine):
                continue
            if not isfinite(theirs):
                yield f"{name} is infinite by the law, which takes requests to come without end"
            elif abs(theirs - mine) > max(APART * mine, SURE * (0.0 if isnan(error) else error)):
                yield f"{name} is {theirs / mine - 1:+.0%} by the law: {_text(name, theirs)} for {_text(name, mine)}"

    def _drift(self) -> float:
        """Seconds by which the wait for a prefill grows in a second."""
        table = self.requests
        if len(table.arrival) < 2 * PARTS or np.ptp(table.arrival) == 0:
            return 0.0
        late = table.arrival >= np.quantile(table.arrival, 0.2)
        waits, arrival = (table.prefill_start - table.arrival)[late], table.arrival[late]
        return float(np.polyfit(arrival - arrival.mean(), waits, 1)[0])

    def _of_law(self, name: str) -> float | None:
        return self.law.canonical(name) if self.law is not None and name in self.law else None

    def describe(self) -> str:
        """Say in words what was simulated.

        Returns
        -------
        str
        """
        asked, table = self._asked, self.requests
        how = f"{asked.in_flight} in flight" if asked.in_flight else ""
        if asked.rate:
            how = f"{asked.rate:.4g} request/s"
            how += f" with a burstiness of {asked.burstiness:.3g}" if asked.burstiness != 1 else ""
        if asked.trace:
            how = ", ".join(filter(None, (f"from {asked.trace}", how)))
        left = f", {asked.left_out:.0%} left out at the start" if asked.left_out else ", all counted"
        several = f"{asked.replicas} replica{'s' if asked.replicas > 1 else ''}"
        sessions = f", sessions of {asked.turns}" if asked.turns > 1 else ""
        prompts, answers = table.prompt_tokens.mean(), table.output_tokens.mean()
        return (
            f"{len(table.request):,} requests, {how}{sessions}, on {several}; prompts of {prompts:,.0f} and answers of "
            f"{answers:,.0f} tokens, mean{left}; seed {asked.seed}"
        )

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a row per request.

        Parameters
        ----------
        path : path
            A file, which is replaced.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        try:
            with replacing(Path(path)) as beside, beside.open("w", newline="", encoding="utf-8") as opened:
                written = csv.writer(opened, lineterminator="\n")
                columns = self._columns()
                written.writerow(columns)
                written.writerows(zip(*columns.values(), strict=True))
        except OSError as error:
            raise StoreError(Path(path), f"cannot be written: {error.strerror or error}", "give another path") from None

    def _columns(self) -> dict[str, list[Any]]:
        """Columns of the requests by name, in the order in which they came."""
        table = self.requests
        order = np.argsort(table.arrival, kind="stable")
        found = {}
        for name in Table._fields:
            column = getattr(table, name)[order]
            found[name] = column.astype(int).tolist() if column.dtype == bool else column.tolist()
        for name in TIMES:
            column = getattr(table, name)[order].tolist()
            found[name] = ["" if isnan(each) else each for each in column]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data: model, variant, what was simulated, values with standard errors and those of the law, notes.

        Returns
        -------
        dict
        """
        return {
            "model": type(self.model).__name__,
            "variant": self.model.variant,
            "simulated": self.describe(),
            "step_error": self.step_error,
            "values": {name: self._plain(name) for name in self},
            "notes": list(self.notes),
        }

    def _plain(self, name: str) -> dict[str, Any]:
        unit = _unit(name)
        value, error = (float(units.from_canonical(each, unit)) for each in self._known[name])
        theirs = self._of_law(name)
        law = None if theirs is None else float(units.from_canonical(theirs, unit))
        found = {"value": value, "unit": "" if unit == "count" else unit, "standard_error": error, "law": law}
        return {key: None if isinstance(each, float) and isnan(each) else each for key, each in found.items()}

    def text(self) -> str:
        """The values with their standard errors, and those of the law beside them.

        Returns
        -------
        str
        """
        rows = [("", "simulated", "+-", "law")]
        for name, (value, error) in self._known.items():
            theirs = self._of_law(name)
            told = "" if isnan(error) else _text(name, error)
            rows.append((name, _text(name, value), told, "" if theirs is None else _text(name, theirs)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        said = [f"  {line}" for line in lines]
        return "\n".join([self.describe(), *said, *(f"  Note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"<Simulation of {self.model!r}>\n{self.text()}"


def _parts(values: Any) -> Any:
    """Values in parts of one size, one after the other; a few of the last are left out."""
    size = len(values) // PARTS
    return values[: size * PARTS].reshape(PARTS, size)


def _error(parts: Any) -> float:
    """Standard error of what each part says."""
    return float(np.std(parts, ddof=1) / sqrt(len(parts))) if len(parts) > 1 else nan


def _with_error(values: Any) -> tuple[float, float]:
    """A mean and its standard error."""
    if not len(values):
        return nan, nan
    return float(values.mean()), _error(_parts(values).mean(axis=1) if len(values) >= 2 * PARTS else [])


def _unit(name: str) -> str:
    return OWN[name][0] if name in OWN else variable_of(name).unit


def _text(name: str, canonical: float) -> str:
    unit = _unit(name)
    amount = float(units.from_canonical(canonical, unit))
    return formatting.number(amount) if unit == "count" else formatting.with_unit(amount, unit)
