"""Outcome of a simulation: means, quantiles and rates with standard errors, and the requests one by one."""

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

#: Batches of consecutive requests, whose spread gives standard errors.
PARTS = 20
#: Relative difference, and number of standard errors, from which a mean of the law counts as different.
APART, SURE = 0.15, 3
#: Growth of waits in seconds per second from which it is reported.
DRIFT = 0.02
TIMES = ("ttft", "tpot", "e2e")
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
#: Unit and meaning of quantities that only a simulation measures.
OWN = {
    "requests_per_second": ("request/s", "Requests completed per second."),
    "busy_share": ("count", "Share of the time in which a replica works."),
    "preemptions": ("count", "Times that a request was put back and prefilled again."),
    "cached_share": ("count", "Share of the tokens of prompts that were found in a cache."),
}


@dataclass(frozen=True)
class Question:
    """The simulated deployment.

    Attributes
    ----------
    model : DeclaredModel
        Model of the deployment.
    arguments : dict
        Arguments as ``solve`` takes them.
    binding : Binding
        Bound inputs of the model.
    replicas : int
        Number of replicas.
    by_law : bool
        True if the law determined the number of replicas.
    in_flight : int
        Requests in flight of a closed loop; 0 for open arrivals.
    rate, burstiness : float
        Rate and burstiness of drawn arrivals.
    trace : str
        Source of the requests; empty if they were drawn.
    prioritised, in_sessions : bool
        True if requests have priorities, and if requests belong to sessions.
    turns, seed : int
        Turns per session and seed, as given.
    left_out : float
        Share of the requests left out at the start.
    step_error : float
        Largest relative difference between tabulated step times and the model.
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
    """Requests in order of arrival, replica by replica; times in seconds."""

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
    """True if the request counts in the statistics."""

    @classmethod
    def of(cls, load: Load, parts: list[Any], runs: list[Run], left_out: float) -> Table:
        """Collect the requests of all replicas."""
        columns: list[tuple[Any, ...]] = []
        for replica, (indices, run) in enumerate(zip(parts, runs, strict=True)):
            seen, count = run.seen, len(indices)
            order = np.argsort(seen.arrival, kind="stable")
            middle = np.zeros(count, bool)
            middle[int(left_out * count) : count - int(left_out / 2 * count)] = True
            own = (indices, np.full(count, replica), load.session[indices], load.rank[indices], load.prompt[indices],
                   load.answer[indices], seen.cached, seen.arrival, seen.admitted, seen.first, seen.finish,
                   seen.preemptions)  # fmt: skip
            columns.append((*(column[order] for column in own), middle))
        return cls(*(np.concatenate(column_parts) for column_parts in zip(*columns, strict=True)))

    @property
    def ttft(self) -> Any:
        """Time to first token in seconds."""
        return self.first_token - self.arrival

    @property
    def tpot(self) -> Any:
        """Time per output token in seconds; nan for answers of one token."""
        further = self.output_tokens - 1
        return np.where(further > 0, (self.finish - self.first_token) / np.maximum(further, 1), np.nan)

    @property
    def e2e(self) -> Any:
        """End-to-end latency in seconds."""
        return self.finish - self.arrival


class Simulation(JsonAnswer):
    """Measurements of a simulated deployment.

    Means, quantiles and rates are attributes, as in a result: ``simulation.ttft_p99``, ``simulation["tpot_mean"]``.

    Attributes
    ----------
    requests : Table
        Requests one by one, in columns.

    Examples
    --------
    >>> from mlsysim import ServingModel
    >>> engine = dict(stack="TensorRT_LLM_H100", precision="w8a8", tp_size=4, isl=1024, osl=64)
    >>> served = ServingModel("colocated").simulate("Llama3_3_70B", "H100", **engine, request_rate=5, requests=200)
    >>> "ttft_mean" in served.keys()
    True
    """

    requests: Table

    def __init__(self, question: Question, table: Table, runs: list[Run]) -> None:
        self._asked, self.requests, self._runs = question, table, runs
        self._known = dict(self._measured())

    @property
    def model(self) -> DeclaredModel:
        """Model of the simulated deployment."""
        return self._asked.model

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments as ``solve`` takes them, with the traffic of a trace and the number of replicas."""
        return dict(self._asked.arguments)

    @property
    def step_error(self) -> float:
        """Largest relative difference between tabulated step times and the model of an iteration."""
        return self._asked.step_error

    def _measured(self) -> Iterator[tuple[str, tuple[float, float]]]:
        """Yield values and standard errors by name, in canonical units."""
        table, question = self.requests, self._asked
        middle = np.flatnonzero(table.counts)
        middle = middle[np.argsort(table.arrival[middle], kind="stable")]
        for name in TIMES:
            values = getattr(table, name)[middle]
            values = values[~np.isnan(values)]
            yield f"{name}_mean", _with_error(values)
            levels = list(QUANTILES.values())
            quantiles = np.quantile(values, levels) if len(values) else np.full(len(levels), nan)
            by_batch = np.quantile(_batches(values), levels, axis=1) if len(values) >= 2 * PARTS else [[]] * len(levels)
            for short, value, spread_values in zip(QUANTILES, quantiles, by_batch, strict=True):
                yield f"{name}_{short}", (float(value), _error(spread_values))
        rates = [run.finished / run.elapsed for run in self._runs if run.elapsed > 0]
        rate = float(sum(rates))
        decoding, error = _with_error((table.finish - table.first_token)[middle])
        yield "decode_batch", (decoding * rate / question.replicas, error * rate / question.replicas)
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
        targets = {name: float(question.binding.values.get(f"{name}_slo", 0.0)) for name in TIMES}
        if any(targets.values()):
            meets_targets = np.ones(len(middle), bool)
            for name, slo in targets.items():
                meets_targets &= ~(getattr(table, name)[middle] > slo) if slo else True
            yield "slo_attainment", _with_error(meets_targets.astype(float))

    def keys(self) -> tuple[str, ...]:
        """Names of the measured quantities.

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
        """Return the standard error of a value, from the spread over batches of the run; nan if unknown.

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
        """Result of ``solve`` at the same arguments; None if it has no answer.

        The law sees a trace by its means and spreads, and sessions by the mean prompt and the cached share of it.
        """
        question, table = self._asked, self.requests
        arguments = dict(question.arguments)
        if question.in_sessions:
            arguments["prefix_hit_rate"] = min(0.999, self._known["cached_share"][0])
            if not question.trace:
                arguments["isl"] = round(float(table.prompt_tokens.mean()))
        try:
            return solve(question.model, **arguments)
        except MlsysimError:
            return None

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on where the law at the same arguments leaves its range."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        question, known, variant = self._asked, self._known, self._asked.model.variant
        if question.by_law:
            yield f"num_replicas is left out: {question.replicas}, as solve says"
        traffic = question.arguments.get("traffic") if question.trace else None
        if traffic is not None and traffic.not_read:
            yield f"of {question.trace} is not read: {', '.join(traffic.not_read)}"
        if known["preemptions"][0]:
            count = int((self.requests.preemptions > 0).sum())
            yield (
                f"{count:,} requests were preempted, as keys and values no longer fit: the law keeps room for whole "
                "answers and preempts none"
            )
        if not question.in_flight and (growing := self._drift()) > DRIFT:
            yield (
                f"waits grow by {growing:.2g} s a second: requests come about as fast as they are completed, or "
                "faster; the law has waits up to a load of 1, and these depend on the length of the run"
            )
        if question.burstiness != 1 and "burstiness" not in question.model.arguments and not question.in_flight:
            yield f"burstiness is {question.burstiness:.3g}: the law of {variant} has Poisson's arrivals"
        if question.in_sessions:
            yield (
                f"the law knows no sessions: {known['cached_share'][0]:.0%} of the tokens of prompts were kept from "
                "turns before, which prefix_hit_rate says to it"
            )
        if question.prioritised:
            yield "the law serves requests in the order in which they come, whatever their priority"
        values = question.binding.values
        if any(values.get(name, 1) > 1 for name in ("pp_size", "dp_attention_size")):
            yield "a prompt stops all stages and attention ranks here; in the law only its own"
        if question.in_flight > 1 and any(values.get(name) for name in ("isl_cv", "osl_cv")):
            yield "lengths vary in a closed loop: all quantiles of the law are its means"
        elif question.in_flight > 1 and "max_num_batched_tokens" in question.model.arguments:
            yield "lengths are alike in a closed loop, and requests stay in step: the law spreads their prompts evenly"
        law = self.law
        if law is None:
            yield "the law has no answer to these arguments"
            return
        for name in (f"{metric}_mean" for metric in TIMES):
            by_law, (simulated, error) = self._of_law(name), known[name]
            if by_law is None or isnan(simulated):
                continue
            if not isfinite(by_law):
                yield f"{name} is infinite by the law, which takes requests to come without end"
            elif abs(by_law - simulated) > max(APART * simulated, SURE * (0.0 if isnan(error) else error)):
                values = f"{_text(name, by_law)} for {_text(name, simulated)}"
                yield f"{name} is {by_law / simulated - 1:+.0%} by the law: {values}"

    def _drift(self) -> float:
        """Fit the growth of the wait for a prefill, in seconds per second."""
        table = self.requests
        if len(table.arrival) < 2 * PARTS or np.ptp(table.arrival) == 0:
            return 0.0
        late = table.arrival >= np.quantile(table.arrival, 0.2)
        waits, arrival = (table.prefill_start - table.arrival)[late], table.arrival[late]
        return float(np.polyfit(arrival - arrival.mean(), waits, 1)[0])

    def _of_law(self, name: str) -> float | None:
        return self.law.canonical(name) if self.law is not None and name in self.law else None

    def describe(self) -> str:
        """Describe what was simulated.

        Returns
        -------
        str
        """
        question, table = self._asked, self.requests
        how = f"{question.in_flight} in flight" if question.in_flight else ""
        if question.rate:
            how = f"{question.rate:.4g} request/s"
            how += f" with a burstiness of {question.burstiness:.3g}" if question.burstiness != 1 else ""
        if question.trace:
            how = ", ".join(filter(None, (f"from {question.trace}", how)))
        left = f", {question.left_out:.0%} left out at the start" if question.left_out else ", all counted"
        several = f"{question.replicas} replica{'s' if question.replicas > 1 else ''}"
        sessions = f", sessions of {question.turns}" if question.turns > 1 else ""
        prompts, answers = table.prompt_tokens.mean(), table.output_tokens.mean()
        return (
            f"{len(table.request):,} requests, {how}{sessions}, on {several}; prompts of {prompts:,.0f} and answers of "
            f"{answers:,.0f} tokens, mean{left}; seed {question.seed}"
        )

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the requests to a CSV file, one per row.

        Parameters
        ----------
        path : path
            File to write; an existing one is replaced.

        Raises
        ------
        StoreError
            If the file cannot be written.
        """
        try:
            with replacing(Path(path)) as temporary, temporary.open("w", newline="", encoding="utf-8") as opened:
                written = csv.writer(opened, lineterminator="\n")
                columns = self._columns()
                written.writerow(columns)
                written.writerows(zip(*columns.values(), strict=True))
        except OSError as error:
            raise StoreError(Path(path), f"cannot be written: {error.strerror or error}", "give another path") from None

    def _columns(self) -> dict[str, list[Any]]:
        """Columns of the requests by name, in order of arrival."""
        table = self.requests
        order = np.argsort(table.arrival, kind="stable")
        columns = {}
        for name in Table._fields:
            column = getattr(table, name)[order]
            columns[name] = column.astype(int).tolist() if column.dtype == bool else column.tolist()
        for name in TIMES:
            column = getattr(table, name)[order].tolist()
            columns[name] = ["" if isnan(value) else value for value in column]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: model, variant, description, values with standard errors and those of the law, notes.

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
        value, error = (float(units.from_canonical(amount, unit)) for amount in self._known[name])
        by_law = self._of_law(name)
        law = None if by_law is None else float(units.from_canonical(by_law, unit))
        data = {"value": value, "unit": "" if unit == "count" else unit, "standard_error": error, "law": law}
        return {key: None if isinstance(value, float) and isnan(value) else value for key, value in data.items()}

    def text(self) -> str:
        """Format the values with standard errors beside those of the law.

        Returns
        -------
        str
        """
        rows = [("", "simulated", "+-", "law")]
        for name, (value, error) in self._known.items():
            by_law = self._of_law(name)
            error_text = "" if isnan(error) else _text(name, error)
            rows.append((name, _text(name, value), error_text, "" if by_law is None else _text(name, by_law)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        table = [f"  {line}" for line in lines]
        return "\n".join([self.describe(), *table, *(f"  Note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"<Simulation of {self.model!r}>\n{self.text()}"


def _batches(values: Any) -> Any:
    """Split values into consecutive batches of equal size; a few at the end are dropped."""
    size = len(values) // PARTS
    return values[: size * PARTS].reshape(PARTS, size)


def _error(batch_values: Any) -> float:
    """Return the standard error of the mean of batch values."""
    return float(np.std(batch_values, ddof=1) / sqrt(len(batch_values))) if len(batch_values) > 1 else nan


def _with_error(values: Any) -> tuple[float, float]:
    """Return a mean and its standard error."""
    if not len(values):
        return nan, nan
    return float(values.mean()), _error(_batches(values).mean(axis=1) if len(values) >= 2 * PARTS else [])


def _unit(name: str) -> str:
    return OWN[name][0] if name in OWN else variable_of(name).unit


def _text(name: str, canonical: float) -> str:
    unit = _unit(name)
    amount = float(units.from_canonical(canonical, unit))
    return formatting.number(amount) if unit == "count" else formatting.with_unit(amount, unit)
