"""The exact optimum of a grid: by bounds where they prune, by streaming where they do not."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mlsysim.backends.blocks import cores
from mlsysim.backends.budget import Budget, abandon, abandonable
from mlsysim.backends.front import Front, nondominated
from mlsysim.backends.ties import band, in_order, rounded
from mlsysim.bounds import Best, Cuts, Incumbent, Nondominated, Points, Progress
from mlsysim.collector import paused
from mlsysim.errors import InputError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.progress import bar, watched
from mlsysim.study.proofs.saved import Saved
from mlsysim.study.searches.certificate import Certificate, undefined
from mlsysim.study.searches.designs import Designs
from mlsysim.study.searches.problem import Problem, problem
from mlsysim.study.searches.refused import refused
from mlsysim.study.searches.solver import LARGEST, solver
from mlsysim.study.searches.streamed_front import pareto as streamed_front
from mlsysim.study.searches.streamed_search import smallest

METHODS = ("auto", "bounds", "dense")

#: What streaming a grid costs: operations to compile a formula, and how many times faster than NumPy it is then.
COMPILING, FASTER = 2.5e7, 8.0
#: Share of the operations of streaming that bounds may take before streaming takes over.
BOUNDS_SHARE = 0.2
#: Most operations of a grid that is enumerated at once.
AT_ONCE = 2e8
#: Most points for which streaming takes over from bounds, and most that are streamed at all: more would take days.
LARGEST_STREAM, REFUSED_STREAM = 10**11, 10**13
#: Most points of which iterations are done in NumPy: compiling them takes minutes, and what is found is held.
LARGEST_HELD = 10**8
#: Share of a time limit in which a bound of all points is looked for.
BOUND_SHARE = 0.25
#: Operations for each problem that is solved to explain an empty answer: half a minute.
BESIDES = 3e10


def search(
    model: DeclaredModel,
    /,
    *entries: Any,
    minimize: Any = None,
    maximize: Any = None,
    subject_to: Any = (),
    allow_infeasible: bool = False,
    top: int = 1,
    method: str = "auto",
    time_limit: float | None = None,
    checkpoint: Any = None,
    certificate: Any = None,
    client: Any = None,
    progress: bool | None = None,
    **axes: Any,
) -> Any:
    """Find the best designs on the grid of all combinations of the arguments that are lists.

    The grid is never held. Bounds derived from the formulas rule out whole parts of it, so that its
    size hardly matters; where they do not, it is streamed.

    Parameters
    ----------
    minimize, maximize : str or sympy.Expr
        One of them: an output, or an expression of outputs and inputs such as
        ``"step_time / batch_size"``.
    subject_to : str or sequence of str
        Constraints, such as ``"total_memory <= 0.9 * memory_capacity"`` or ``"step_time <= 10 s"``.
    allow_infeasible : bool
        Whether a design may be one whose output ``feasible`` is False, as where memory does not suffice. By default
        ``feasible`` is one of the constraints wherever the model computes it, for which it needs a device.
    top : int
        How many designs.
    method : {"auto", "bounds", "dense"}
        ``"bounds"`` is branch and bound, ``"dense"`` looks at every point. ``"auto"`` begins with branch and
        bound and goes over to every point if that takes fewer operations; with a time limit it does not go over.
        Where a point takes iterations, as the root of a deployment does, it looks at every point of up to 1e8.
    time_limit : float, optional
        Seconds after which to answer with what is known: by bounds, how much better a design may
        exist; by streaming, the best of the points looked at, to go on from the checkpoint.
    checkpoint : path, optional
        File that keeps what streaming has found, to go on from; one call uses it at a time.
    certificate : path, optional
        File (JSON) in which the question, the answer and the parts of the grid that were ruled out are saved, for
        ``mlsysim.verify`` to check without this search.
    client : dask.distributed.Client, optional
        Of a cluster that streams the grid.
    progress : bool, optional
        Whether to show progress; by default on a terminal.

    Returns
    -------
    Designs
        The best designs as results, as a table, and the certificate. Combinations that the model refuses
        are no designs; the answer says how many infeasible ones were left out. Values within a relative 1e-9
        count as equal; of equal ones the first wins.

    Raises
    ------
    InputError
        As for ``solve``, or if objective, constraint or unit does not fit the model.
    StoreError
        If a file cannot be written.
    """
    started = time.perf_counter()
    _checked(method, time_limit)
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= 10_000:
        raise InputError("top", top, "must be a whole number from 1 to 10,000")
    if method == "bounds" and (checkpoint is not None or client is not None):
        raise InputError("method", method, "a checkpoint or a cluster is for streaming", "use method='dense'")
    asked = problem(model, model.named_arguments(entries, axes), minimize, maximize, subject_to, allow_infeasible)
    if len(asked.objectives) != 1:
        raise InputError("minimize", minimize, "takes one objective", "use pareto() for several")
    deadline = math.inf if time_limit is None else started + time_limit
    run = partial(_searched, asked, top, started, deadline, method, checkpoint, client, progress)
    return run() if certificate is None else _saved(Saved(certificate, asked, top), run)


def _searched(
    asked: Problem,
    top: int,
    started: float,
    deadline: float,
    method: str,
    checkpoint: Any,
    client: Any,
    progress: bool | None,
    cuts: Cuts | None = None,
) -> Designs:
    """The best designs, by the method that was asked for."""
    if method == "dense" or checkpoint is not None or client is not None:
        return _dense(asked, top, started, deadline, checkpoint, client, progress)
    automatic = method == "auto"
    if automatic and _iterates(asked):
        return _looked_through(asked, top, started, Budget(deadline=deadline), progress)
    found = _bounds(asked, top, started, automatic and deadline == math.inf, Budget(deadline=deadline), progress, cuts)
    return _dense(asked, top, started, deadline, None, None, progress) if found is None else found


def pareto(
    model: DeclaredModel,
    /,
    minimize: Any,
    *entries: Any,
    maximize: Any = (),
    subject_to: Any = (),
    allow_infeasible: bool = False,
    method: str = "auto",
    time_limit: float | None = None,
    certificate: Any = None,
    client: Any = None,
    progress: bool | None = None,
    **axes: Any,
) -> Any:
    """The exact Pareto front of several objectives: designs no other one beats in all of them.

    Parameters
    ----------
    minimize, maximize : sequence of str or sympy.Expr
        Objectives, together at least two.
    subject_to, allow_infeasible, method, client, progress
        As for ``search``.
    time_limit : float, optional
        Seconds after which bounds answer with the front of the points looked at. The gap of the certificate then says
        how far from it any design may be: by no more than this share better in every objective.
    certificate : path, optional
        File (JSON) in which the question, the front and the parts of the grid that were ruled out are saved, for
        ``mlsysim.verify`` to check without this search. Where every point was looked at, nothing was
        ruled out, and they are evaluated again if that takes a minute or two; what ``method="bounds"`` finds can be
        verified whatever the size.

    Returns
    -------
    Designs
        By the first objective. Objectives are compared to 30 binary digits; of designs alike in every one the
        first on the axes.

    Raises
    ------
    InputError
        As for ``search``.
    StoreError
        If a file cannot be written.
    """
    started = time.perf_counter()
    _checked(method, time_limit)
    asked = problem(model, model.named_arguments(entries, axes), minimize, maximize, subject_to, allow_infeasible)
    if len(asked.objectives) < 2:
        raise InputError("minimize", minimize, "takes at least two objectives together with maximize", "use search()")
    if client is not None and (method == "bounds" or time_limit is not None):
        raise InputError("client", client, "a cluster looks at every point", "leave out method and time_limit")
    if method == "dense" and time_limit is not None:
        raise InputError("time_limit", time_limit, "only bounds end early", "leave it out, or method")
    run = partial(_front_of, asked, started, method, time_limit, client, progress)
    return run() if certificate is None else _saved(Saved(certificate, asked, None), run)


def _saved(file: Saved, run: Callable[..., Designs]) -> Designs:
    """Save what a search or a front finds, with its proof, in a file."""
    found = run(cuts := Cuts())
    file.write(found, cuts)
    return found


def _front_of(
    asked: Problem,
    started: float,
    method: str,
    time_limit: float | None,
    client: Any,
    progress: bool | None,
    cuts: Cuts | None = None,
) -> Designs:
    """The front, by the method that was asked for."""
    in_numpy, streamed = _operations(asked)
    every = _iterates(asked) or in_numpy <= COMPILING * len(asked.binding.system)
    if client is None and method != "dense" and (method == "bounds" or time_limit is not None or not every):
        if asked.grid.points > LARGEST:
            raise InputError("axes", tuple(asked.binding.axes), f"a front is of at most {LARGEST:,} points")
        budget = Budget(deadline=math.inf if time_limit is None else started + time_limit)
        may_stream = method == "auto" and time_limit is None and asked.grid.points <= LARGEST_STREAM
        if may_stream:
            budget.narrow(BOUNDS_SHARE * min(in_numpy, streamed))
        known = Nondominated(asked.grid.sizes, len(asked.objectives))
        seen = _by_bounds(asked, known, budget, progress, cuts, lambda _: f"{len(known.values):,} on the front")
        if seen.proven or not may_stream:
            return _front(asked, "bounds", known, seen, started)
    _refuse_stream(asked)
    if client is None and method != "dense" and every:
        method, front = "enumeration", _enumerated_front(asked, progress)
    else:
        method = "dense"
        front = streamed_front(asked.grid, asked.goals, asked.conditions, client=client, progress=progress)
    return _front(asked, method, front, _every_point(asked, front.feasible), started)


def _front(asked: Problem, method: str, front: Front | Nondominated, seen: Progress, started: float) -> Designs:
    order = np.lexsort((front.indices, *front.values.T[::-1]))
    places = np.array(np.unravel_index(front.indices[order], asked.grid.sizes), dtype=np.int64)
    gap = 0.0 if seen.proven else -seen.bound
    certificate = _certificate(asked, method, seen, len(order), math.nan, gap, started)
    return Designs(asked, places.T, certificate, _first_of)


def _checked(method: Any, time_limit: Any) -> None:
    """Refuse a method or a limit that is none."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError("method", method, f"must be one of {', '.join(METHODS)}")
    if time_limit is not None and (
        isinstance(time_limit, bool) or not (isinstance(time_limit, int | float) and time_limit > 0)
    ):
        raise InputError("time_limit", time_limit, "must be a number of seconds > 0")


def _refuse_stream(asked: Problem) -> None:
    if asked.grid.points > REFUSED_STREAM:
        allowed = (
            f"every point of a grid is looked at up to {REFUSED_STREAM:,} of them; these are {asked.grid.points:,}"
        )
        raise InputError("axes", tuple(asked.binding.axes), allowed, "search(method='bounds') takes any size")


def _dense(
    asked: Problem,
    top: int,
    started: float,
    deadline: float,
    checkpoint: Any,
    client: Any,
    progress: bool | None,
) -> Designs:
    _refuse_stream(asked)
    (goal,) = asked.goals
    found = smallest(
        asked.grid,
        goal,
        asked.conditions,
        top,
        checkpoint=checkpoint,
        client=client,
        deadline=deadline,
        progress=progress,
    )
    places = np.array(np.unravel_index(found.indices, asked.grid.sizes), dtype=np.int64)
    sign, feasible = asked.objectives[0][1], int(found.feasible or 0)
    bound = sign * float(found.values[0]) if len(found.values) else math.nan
    seen = _every_point(asked, feasible)
    certificate = _certificate(asked, "dense", seen, len(found.values), bound, 0.0, started)
    if found.points < asked.grid.points:
        certificate = replace(
            certificate,
            proven=False,
            first=False,
            bound=-sign * math.inf,
            gap=math.inf,
            evaluated=found.points,
            feasible=(feasible, feasible + asked.grid.points - found.points),
            undefined=None if asked.constraints else (0, certificate.accepted[1] - feasible),
        )
    return Designs(asked, places.T, certificate, _first_of)


def _every_point(asked: Problem, feasible: int) -> Progress:
    """The progress of a search that looked at every point."""
    total = asked.grid.points
    return Progress(points=total, proven=True, first=True, feasible=feasible, infeasible=total - feasible)


def _certificate(
    asked: Problem, method: str, seen: Progress, designs: int, bound: float, gap: float, started: float
) -> Certificate:
    """The certificate of an answer of so many designs."""
    accepted, refusals = refused(asked)
    most = min(asked.grid.points - seen.infeasible, accepted[1]) if designs or not seen.proven else 0
    feasible = max(seen.feasible, designs), most
    return Certificate(
        method=method,
        points=asked.grid.points,
        accepted=accepted,
        refused=refusals,
        proven=seen.proven,
        first=seen.first,
        bound=bound,
        gap=gap,
        boxes=seen.boxes,
        evaluated=seen.points,
        feasible=feasible,
        seconds=time.perf_counter() - started,
        undefined=undefined(bool(asked.constraints), accepted, feasible),
    )


@paused()
def _by_bounds(
    asked: Problem,
    found: Incumbent,
    budget: Budget,
    progress: bool | None,
    cuts: Cuts | None,
    told: Callable[[Progress], str],
) -> Progress:
    """Branch and bound, with a line on how far it is."""
    with solver(asked, budget) as bounding, watched("pareto" if asked.goals[1:] else "search", progress) as line:

        def report(seen: Progress) -> None:
            if line is not None:
                line.say(f"{seen.boxes:,} boxes, {seen.points:,} points, {told(seen)}")

        return bounding.run(found, budget, report, cuts)


@paused()
def _bounds(
    asked: Problem,
    top: int,
    started: float,
    may_stream: bool,
    budget: Budget,
    progress: bool | None,
    cuts: Cuts | None = None,
) -> Designs | None:
    """Branch and bound; None if streaming the grid takes fewer operations."""
    in_numpy, streamed = _operations(asked)
    if in_numpy <= AT_ONCE:
        return _answer(asked, "enumeration", *_enumerated(asked, top, budget, False), started)
    may_stream = may_stream and asked.grid.points <= LARGEST_STREAM
    if may_stream:
        budget.narrow(BOUNDS_SHARE * min(in_numpy, streamed))
    best = Best(top)

    def told(seen: Progress) -> str:
        value = f"{best.values[0]:.6g}" if len(best.values) else "none yet"
        return f"best {value}, bound {seen.bound:.6g}"

    seen = _by_bounds(asked, best, budget, progress, cuts, told)
    if not seen.proven and may_stream:
        if in_numpy > streamed:
            return None
        return _answer(asked, "enumeration", *_enumerated(asked, top, Budget(), progress), started)
    return _answer(asked, "bounds", best, seen, started)


def _iterates(asked: Problem) -> bool:
    """Tell whether every point is looked at in NumPy, since a bound takes longer than thousands of them."""
    return asked.points.iterates and asked.grid.points <= LARGEST_HELD


def _looked_through(asked: Problem, top: int, started: float, budget: Budget, progress: bool | None) -> Designs:
    """Every point; or those that were reached in time, and a bound of all."""
    bound = -math.inf
    if math.isfinite(budget.deadline):
        bound = _bound(asked, Budget(deadline=started + BOUND_SHARE * (budget.deadline - started)))
    best, seen = _enumerated(asked, top, budget, progress)
    if not seen.proven:
        seen.bound = bound
    return _answer(asked, "enumeration", best, seen, started)


def _bound(asked: Problem, budget: Budget) -> float:
    """A value that no feasible point betters; infinitely low if there was no time for one."""
    found, sizes = np.full(1, -math.inf), asked.binding.sizes
    with budget.running(), solver(asked, budget) as bounding:
        last = np.array(sizes, dtype=np.int64)[:, None] - 1
        found = bounding.bound(np.zeros_like(last), last)
    return float(found[0])


def _operations(asked: Problem) -> tuple[float, float]:
    """Operations of looking at every point, in NumPy and streamed."""
    in_numpy = asked.grid.points * asked.points.operations(asked.grid.sizes)
    return in_numpy, COMPILING * len(asked.binding.system) + in_numpy / FASTER


def _enumerated(asked: Problem, top: int, budget: Budget, progress: bool | None) -> tuple[Best, Progress]:
    """The best of all points, in NumPy and chunk by chunk; or of the first chunks if the budget is used up."""
    points, sizes, total, done = asked.points, asked.grid.sizes, asked.grid.points, 0
    values = np.full(total, math.inf)
    with (
        bar("search", total, show=progress, step=points.chunk) as advance,
        budget.running(),
        closing(_looked_at(points, points, sizes)) as parts,
    ):
        for block, (found, good) in parts:
            values[block] = np.where(good, found, math.inf)
            done += len(block)
            advance(len(block))
    known = np.flatnonzero(values < math.inf)
    best = Best(top)
    if len(known) > top:
        most = np.partition(values[known], top - 1)[top - 1]
        near = known[values[known] <= band(most)[1]]
    else:
        near = known
    best.offer(values[None, near], np.array(np.unravel_index(near, sizes), dtype=np.int64).reshape(len(sizes), -1))
    whole = done == total
    bound = -math.inf if not whole else float(values.min()) if len(known) else math.inf
    return best, Progress(0, done, bound, whole, whole and not best.lossy, len(known), done - len(known))


def _looked_at(
    evaluate: Callable[[np.ndarray], Any], points: Points, sizes: tuple[int, ...]
) -> Generator[tuple[np.ndarray, Any], None, None]:
    """Yield the points of a grid in C order, chunk by chunk, and what they evaluate to; iterations on all cores."""
    total = math.prod(sizes)

    def block(start: int) -> tuple[np.ndarray, Any]:
        found = np.arange(start, min(start + points.chunk, total))
        return found, evaluate(np.array(np.unravel_index(found, sizes), dtype=np.int64))

    starts = range(0, total, points.chunk)
    lanes = cores() if points.iterates else 1
    if lanes == 1 or len(starts) == 1:
        yield from map(block, starts)
        return
    with ThreadPoolExecutor(lanes) as threads:
        ahead = deque[Any]()
        try:
            for start in starts:
                ahead.append(threads.submit(copy_context().run, block, start))
                if len(ahead) > lanes:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            if ahead:
                abandon()
            for each in ahead:
                each.cancel()


def _enumerated_front(asked: Problem, progress: bool | None) -> Front:
    """The front of a grid, in NumPy."""
    total, sizes = asked.grid.points, asked.grid.sizes
    values, indices, feasible = np.empty((0, len(asked.objectives))), np.empty(0, np.int64), 0
    with (
        bar("pareto", total, show=progress, step=asked.points.chunk) as advance,
        abandonable(),
        closing(_looked_at(asked.points.columns, asked.points, sizes)) as parts,
    ):
        for block, (found, good) in parts:
            feasible += int(good.sum())
            values, indices = (
                np.concatenate([values, rounded(found[:, good].T)]),
                np.concatenate([indices, block[good]]),
            )
            values, indices = nondominated(values, indices)
            advance(len(block))
    return Front(values, indices, feasible, total)


def _answer(asked: Problem, method: str, best: Best, seen: Progress, started: float) -> Designs:
    sign = asked.objectives[0][1]
    value = float(best.values[-1]) if len(best.values) else math.inf
    gap = 0.0 if seen.proven else math.inf
    if not seen.proven and math.isfinite(value) and math.isfinite(seen.bound):
        gap = (value - seen.bound) / abs(value) if value else math.inf
    bound = sign * (float(best.values.min()) if seen.proven and len(best.values) else seen.bound)
    certificate = _certificate(asked, method, seen, len(best.values), bound, gap, started)
    if not len(best.values):
        return Designs(asked, np.empty((0, len(asked.grid.sizes)), dtype=np.int64), certificate, _first_of)
    first = np.lexsort(best.points[::-1])
    _, order = in_order(best.values[first], np.arange(len(first)))
    return Designs(asked, best.points.T[first][order], certificate, _first_of)


def _first_of(asked: Problem) -> tuple[Sequence[int] | None, bool]:
    """The best point of a problem that is solved to explain an empty answer, and whether that is proven."""
    started = time.perf_counter()
    if _iterates(asked):
        found = _looked_through(asked, 1, started, Budget(BESIDES), False)
        return (found.places[0].tolist() if len(found) else None), found.certificate.proven
    _, streamed = _operations(asked)
    found = _bounds(asked, 1, started, streamed <= BESIDES, Budget(BESIDES), False)
    if found is None:
        found = _dense(asked, 1, started, math.inf, None, None, False)
    return (found.places[0].tolist() if len(found) else None), found.certificate.proven
