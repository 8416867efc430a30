"""Simulation of a deployment request by request."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf
from numbers import Real
from typing import Any

import numpy as np

from mlsysim.backends import compiled
from mlsysim.catalog import Trace, Traffic, read_trace
from mlsysim.errors import InfeasibleError, InputError, MissingInputError, MlsysimError
from mlsysim.inputs import convert
from mlsysim.inputs.binding import Binding, bind
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.progress import looped
from mlsysim.simulation import load as loads
from mlsysim.simulation.engine import Rules
from mlsysim.simulation.load import Load
from mlsysim.simulation.outcome import Question, Simulation, Table
from mlsysim.simulation.run import Run, run
from mlsysim.simulation.steps import cache_use, tabulated
from mlsysim.study.solve import solve
from mlsysim.symbolic import variable_of

#: Variants whose engines are simulated, and whether prompts share iterations with decoding requests.
ENGINES = {"colocated": False, "chunked": True, "chunked_estimate": True}
#: Most requests of one run.
MOST = 10_000_000
#: Share of drawn requests left out at the start, while the engine fills; half of it is left out at the end.
WARM_UP = 0.1
#: Share of the cache that vLLM keeps free when it admits a prompt.
WATERMARK = 0.01
#: Seconds until a client sends its next request, so that the time is not zero.
MISSED = 1e-9
#: Tables are as long as the longest request, rounded up, so that they serve for further runs.
GRAIN = 1024


def simulate(
    model: DeclaredModel,
    /,
    *entries: Any,
    requests: int = 10_000,
    seed: int = 0,
    trace: Any = None,
    prompt_tokens: str = "",
    output_tokens: str = "",
    arrival: str = "",
    arrival_unit: str = "",
    session: str = "",
    priority: str = "",
    turns: int = 1,
    think_time: Any = 0.0,
    warm_up: float | None = None,
    **inputs: Any,
) -> Simulation:
    """Simulate a deployment: serve requests one by one, in iterations timed by the model of an iteration.

    Arrivals are Poisson at ``request_rate``, or in bursts if ``burstiness`` is below 1; or ``concurrency`` requests are
    in flight, all sent at the start. Without ``num_replicas`` there are as many replicas as ``solve`` deploys. Requests
    go to replicas at random. If the KV cache is full, the request that came last is preempted and prefilled again.

    Parameters
    ----------
    *entries : Entry or str
        As for ``solve``.
    requests : int
        Number of requests to draw; a trace, or the rounds of a closed loop, set their own number.
    seed : int
        Seed of the random numbers.
    trace : path, DataFrame or mapping, optional
        Requests to replay instead of drawn ones: a CSV or JSONL file, a table or columns by name.
    prompt_tokens, output_tokens, arrival, arrival_unit : str
        Columns of the trace, and the unit of its times, as :meth:`Traffic.from_trace` takes them. Without times
        requests come at ``request_rate``, or follow each other in the order of the rows by ``concurrency``.
    session : str
        Column with the session: a turn waits for the one before, and reuses its tokens while they are cached.
    priority : str
        Column of numeric priorities; the lowest goes first.
    turns : int
        Requests of a drawn session. The first prompt has ``isl`` tokens, each further one these and all tokens of the
        turns before; think time passes in between.
    think_time : float or quantity
        Seconds from an answer to the next turn.
    warm_up : float, optional
        Share of the requests of each replica to leave out at the start, and half of it at the end; by default 0.1, and
        0 for a trace or rounds.
    **inputs
        Inputs as for ``solve``.

    Returns
    -------
    Simulation
        Means, quantiles and rates with standard errors, the requests one by one, and notes on where the law at the same
        arguments leaves its range.

    Raises
    ------
    InputError
        If an argument is refused.
    CatalogError
        If the trace cannot be read.
    InfeasibleError
        If not even one request fits.

    Examples
    --------
    >>> from mlsysim import ServingModel
    >>> engine = dict(stack="TensorRT_LLM_H100", precision="w8a8", tp_size=4, isl=1024, osl=64)
    >>> served = ServingModel("colocated").simulate("Llama3_3_70B", "H100", **engine, request_rate=5, requests=200)
    >>> served.requests.arrival.shape
    (200,)
    >>> served.ttft_mean > served.tpot_mean
    True
    """
    chunked = _chunked(model)
    for name, value, least in (("requests", requests, 1), ("turns", turns, 1)):
        _check_whole(name, value, least, MOST)
    _check_whole("seed", seed, 0, 2**32 - 1)
    pause = _seconds("think_time", think_time)
    arguments = dict(model.named_arguments(entries, inputs))
    burstiness = arguments.pop("burstiness", None) if "burstiness" not in model.arguments else None
    rows = None
    columns = {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens, "arrival": arrival}
    columns |= {"arrival_unit": arrival_unit, "session": session, "priority": priority}
    if pause and turns == 1 and not session:
        raise InputError("think_time", think_time, "is of sessions", "give turns, or a trace with sessions")
    if trace is not None:
        rows = read_trace(trace, **columns)
        arguments = _of_trace(arguments, rows)
        if turns > 1:
            raise InputError("turns", turns, "must be left out with a trace", "a column of sessions says what follows")
    elif columns_given := [name for name, column in columns.items() if column]:
        raise InputError(columns_given[0], columns[columns_given[0]], "is of a trace")
    binding = bind(model, arguments)
    known = binding.values
    if known.get("prefix_cache_memory"):
        allowed = "must be 0: give prefix_hit_rate, turns, or a trace with sessions"
        raise InputError("prefix_cache_memory", arguments.get("prefix_cache_memory"), allowed)
    if chunked and known.get("num_loras"):
        raise InputError("num_loras", arguments.get("num_loras"), "must be 0 where prompts are prefilled in chunks")
    if chunked and known.get("dp_attention_size", 1) > 1:
        typed = arguments.get("dp_attention_size")
        raise InputError("dp_attention_size", typed, "must be 1 where prompts are prefilled in chunks")
    bursts = known.get("burstiness", 1.0)
    if burstiness is not None:
        bursts = convert.scalar(variable_of("burstiness"), burstiness)
    if rows is not None and rows.times:
        bursts = float(arguments["traffic"].burstiness.value)
    rate, in_flight = float(known["request_rate"]), int(known["concurrency"])
    if in_flight != known["concurrency"]:
        raise InputError("concurrency", arguments.get("concurrency"), "must be a whole number of requests in flight")
    if in_flight or (rows is not None and rows.times):
        rate = 0.0
    elif not rate:
        raise MissingInputError(type(model).__name__, "request_rate", "give request_rate=, concurrency= or a trace")
    num_rounds = int(known.get("num_rounds", 0))
    if num_rounds:
        if rows is not None:
            raise InputError("num_rounds", num_rounds, "must be left out with a trace")
        requests = num_rounds * in_flight
        _check_whole("num_rounds", num_rounds, 0, MOST // in_flight)
    whole = rows is not None or num_rounds > 0
    left_out = (0.0 if whole else WARM_UP) if warm_up is None else _share("warm_up", warm_up)
    replicas, by_law = _replicas(model, arguments, binding)
    if 0 < in_flight < replicas:
        raise InputError("concurrency", in_flight, f"must be at least {replicas}, a request for each replica")
    if rows is None:
        cv = (float(known.get("isl_cv", 0.0)), float(known.get("osl_cv", 0.0)))
        mean = (float(known["isl"]), float(known["osl"]))
        load = loads.drawn(int(requests), int(turns), mean, cv, rate, bursts, int(seed))
    else:
        load = loads.of_trace(rows, rate, bursts, int(seed))
        if in_flight:
            load = load._replace(arrival=np.zeros(len(load.prompt)))
    if drafted := int(known.get("num_speculative_tokens", 0)):
        load = loads.with_drafts(load, drafted, float(known["acceptance_rate"]), int(seed))
    draft = compiled(binding.system.closure(["draft_time"]))(known)["draft_time"] if drafted else 0.0
    deployed = _Deployment(model, chunked, known, float(draft))
    table, runs, error = deployed.serve(load, replicas, in_flight, pause, left_out, int(seed), rows)
    question = Question(
        model=model,
        arguments={**arguments, "num_replicas": replicas},
        binding=binding,
        replicas=replicas,
        by_law=by_law,
        in_flight=in_flight,
        rate=rate,
        burstiness=bursts,
        trace=rows.origin if rows is not None else "",
        prioritised=rows is not None and bool(rows.priorities),
        in_sessions=bool((load.next >= 0).any()),
        turns=int(turns),
        seed=int(seed),
        left_out=left_out,
        step_error=error,
    )
    return Simulation(question, table, runs)


class _Deployment:
    """Replicas of one engine."""

    def __init__(self, model: DeclaredModel, chunked: bool, known: Mapping[str, Any], draft_time: float) -> None:
        self.chunked, self.known, self.draft_time = chunked, known, draft_time
        self.fixed_front = known.get("frontend_time", 0.0)
        self.token_front = known.get("frontend_token_time", 0.0)
        foundations = {foundation.variant: foundation.model for foundation in model.foundations}
        self.iteration, self.saturated = foundations["iteration"], foundations["saturated"]("saturated")

    def serve(
        self, load: Load, replicas: int, in_flight: int, pause: float, left_out: float, seed: int, rows: Trace | None
    ) -> tuple[Table, list[Run], float]:
        """Serve requests by independent replicas."""
        total = load.prompt + load.answer
        cache, fixed, per_token = cache_use(self.saturated, self.known, float(load.prompt.min()), float(total.max()))
        if cache <= 0:
            raise InfeasibleError("no request has room: weights leave nothing for keys and values; give more ranks")
        loads.refuse_large(load, cache, fixed, per_token, rows.origin if rows is not None else "")
        slots, step_tokens = int(self.known["max_num_seqs"]), 1 + int(self.known.get("num_speculative_tokens", 0))
        budget = int(self.known.get("max_num_batched_tokens", 0)) if self.chunked else 0
        share = float(self.known.get("prefix_hit_rate", 0.0))
        fitting = cache / max(1e-12, fixed + per_token * float(load.prompt.min()))
        most = int(max(1, min(slots, len(load.prompt), in_flight or inf, fitting + 1)))
        longest = GRAIN * ceil(int(total.max()) / GRAIN)
        values = tuple((name, float(value)) for name, value in self.known.items())
        times, error = tabulated(self.iteration, values, self.chunked, budget, most, longest)
        missed = MISSED if self.known.get("num_rounds") else 0.0
        poll, wait = (int(self.known.get(name, 0)) for name in ("poll_interval", "batch_wait"))
        rules = Rules(
            self.chunked, budget, slots, cache, fixed, per_token, WATERMARK, share, 0, pause, step_tokens,
            self.draft_time, missed, max(1, poll), bool(self.known.get("whole_prompts")), wait,
        )  # fmt: skip
        shares = loads.split(load, replicas, seed)
        runs: list[Run] = []
        for replica, indices in enumerate(looped(shares)):
            requests = loads.requests_of(load, indices, self.fixed_front + self.token_front * load.prompt[indices])
            own = in_flight // replicas + (replica < in_flight % replicas) if in_flight else 0
            count = len(indices)
            opens, closes = int(left_out * count), count - int(left_out / 2 * count)
            runs.append(run(requests, times, rules._replace(in_flight=own), opens, closes))
        return Table.of(load, shares, runs, left_out), runs, error


def _chunked(model: DeclaredModel) -> bool:
    if model.variant not in ENGINES:
        raise InputError("variant", model.variant, f"is not simulated: {', '.join(ENGINES)} are")
    return ENGINES[model.variant]


def _of_trace(arguments: dict[str, Any], rows: Trace) -> dict[str, Any]:
    """Add the traffic of a trace to arguments, which must not repeat what it sets."""
    set_by_trace = ("traffic", "isl", "osl", "isl_cv", "osl_cv", *(("request_rate",) if rows.times else ()))
    for name in set_by_trace:
        if arguments.get(name) is not None:
            raise InputError(name, arguments[name], "must be left out: the trace says it")
    # A closed loop has no rate, and no more have requests that all come at once.
    without_rate = arguments.get("concurrency") not in (None, 0) or len({*rows.times}) == 1
    summarised = rows._replace(times=[] if without_rate else rows.times, sessions=[], priorities=[])
    return {**arguments, "traffic": Traffic.of_requests(summarised)}


def _replicas(model: DeclaredModel, arguments: Mapping[str, Any], binding: Binding) -> tuple[int, bool]:
    """Return the number of replicas, and whether ``solve`` determined it."""
    replicas = int(binding.values.get("num_replicas", 0))
    if replicas:
        return replicas, False
    if binding.values["concurrency"]:
        return 1, False
    deployed = solve(model, **arguments).canonical("deployed_replicas")
    if not np.isfinite(deployed):
        raise InfeasibleError("no number of replicas meets the targets, as solve says; give num_replicas")
    return max(1, int(deployed)), True


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(name, value, f"must be a whole number from {least} to {most:,}")


def _seconds(name: str, value: Any) -> float:
    try:
        plain = isinstance(value, Real) and not isinstance(value, bool)
        plain = plain or (isinstance(value, str) and value.replace(".", "", 1).isdecimal())
        return convert.scalar(variable_of("ttft_slo"), f"{float(value)} s" if plain else value)
    except MlsysimError:
        raise InputError(name, value, "must be a time from 0 on, as in 2.5 or '2.5 s'") from None


def _share(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 0.5:
        raise InputError(name, value, "must be a number from 0 to 0.5")
    return float(value)
