"""The exact optimum of a grid: by bounds where they prune, by streaming where they do not."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlsysim.backends.blocks import cores
from mlsysim.backends.budget import Budget, abandon, abandonable
from mlsysim.backends.front import Front
from mlsysim.backends.ties import band, in_order
from mlsysim.bounds import Best, BranchTree, Incumbent, Nondominated, Points, Progress
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
from mlsysim.study.searches.streamed import pareto as streamed_front
from mlsysim.study.searches.streamed import smallest

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
    return _Run(asked, top, started, method, time_limit, checkpoint, client, progress).saved(certificate)


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
    return _Run(asked, None, started, method, time_limit, None, client, progress).saved(certificate)


def _checked(method: Any, time_limit: Any) -> None:
    """Refuse a method or a limit that is none."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError("method", method, f"must be one of {', '.join(METHODS)}")
    if time_limit is not None and (
        isinstance(time_limit, bool) or not (isinstance(time_limit, int | float) and time_limit > 0)
    ):
        raise InputError("time_limit", time_limit, "must be a number of seconds > 0")


@dataclass
class _Run:
    """A search for the best designs, or for a front where ``top`` is None, and how it is done."""

    asked: Problem
    top: int | None
    started: float
    method: str = "auto"
    time_limit: float | None = None
    checkpoint: Any = None
    client: Any = None
    progress: bool | None = None
    cuts: BranchTree | None = None

    @property
    def deadline(self) -> float:
        return math.inf if self.time_limit is None else self.started + self.time_limit

    def saved(self, certificate: Any) -> Designs:
        """The answer, which is saved with its proof where a file is named."""
        file = None if certificate is None else Saved(certificate, self.asked, self.top)
        self.cuts = BranchTree() if file else None
        found = self.front() if self.top is None else self.best(self.top)
        if file and self.cuts is not None:
            file.write(found, self.cuts)
        return found

    def best(self, top: int) -> Designs:
        """The best designs, by the method that was asked for."""
        automatic, budget = self.method == "auto", Budget(deadline=self.deadline)
        if self.method == "dense" or self.checkpoint is not None or self.client is not None:
            return self.dense(top)
        if automatic and _iterates(self.asked):
            return self.looked_through(top, budget)
        found = self.bounds(top, automatic and self.time_limit is None, budget)
        return self.dense(top) if found is None else found

    def front(self) -> Designs:
        """The front, by the method that was asked for."""
        asked, (in_numpy, streamed) = self.asked, _operations(self.asked)
        every = _iterates(asked) or in_numpy <= COMPILING * len(asked.binding.system)
        may_bound = self.client is None and self.method != "dense"
        if may_bound and (self.method == "bounds" or self.time_limit is not None or not every):
            if asked.grid.points > LARGEST:
                raise InputError("axes", tuple(asked.binding.axes), f"a front is of at most {LARGEST:,} points")
            budget = Budget(deadline=self.deadline)
            may_stream = self.method == "auto" and self.time_limit is None and asked.grid.points <= LARGEST_STREAM
            if may_stream:
                budget.narrow(BOUNDS_SHARE * min(in_numpy, streamed))
            known = Nondominated(asked.grid.sizes, len(asked.objectives))
            seen = self.by_bounds(known, budget, lambda _: f"{len(known.values):,} on the front")
            if seen.proven or not may_stream:
                return self.front_of("bounds", known, seen)
        _refuse_stream(asked)
        if may_bound and every:
            return self.front_of("enumeration", *_enumerated_front(asked, self.progress))
        front = streamed_front(asked.grid, asked.goals, asked.conditions, client=self.client, progress=self.progress)
        return self.front_of("dense", front, _every_point(asked, front.feasible))

    def front_of(self, method: str, front: Front | Nondominated, seen: Progress) -> Designs:
        order = np.lexsort((front.indices, *front.values.T[::-1]))
        places = _places(front.indices[order], self.asked.grid.sizes)
        return self.designs(method, seen, places, gap=0.0 if seen.proven else -seen.bound)

    def dense(self, top: int) -> Designs:
        """The best of all points, streamed; or of those looked at in time."""
        asked, grid = self.asked, self.asked.grid
        _refuse_stream(asked)
        found = smallest(
            grid,
            asked.goals[0],
            asked.conditions,
            top,
            checkpoint=self.checkpoint,
            client=self.client,
            deadline=self.deadline,
            progress=self.progress,
        )
        sign, feasible = asked.objectives[0][1], int(found.feasible or 0)
        bound = sign * float(found.values[0]) if len(found.values) else math.nan
        designs = self.designs("dense", _every_point(asked, feasible), _places(found.indices, grid.sizes), bound)
        if found.points < grid.points:
            certificate = designs.certificate
            designs.certificate = replace(
                certificate,
                proven=False,
                first=False,
                bound=-sign * math.inf,
                gap=math.inf,
                evaluated=found.points,
                feasible=(feasible, feasible + grid.points - found.points),
                undefined=None if asked.constraints else (0, certificate.accepted[1] - feasible),
            )
        return designs

    @paused()
    def by_bounds(self, found: Incumbent, budget: Budget, told: Callable[[Progress], str]) -> Progress:
        """Branch and bound, with a line on how far it is."""
        title = "search" if self.top else "pareto"
        with solver(self.asked, budget) as bounding, watched(title, self.progress) as line:

            def report(seen: Progress) -> None:
                if line is not None:
                    line.say(f"{seen.boxes:,} boxes, {seen.points:,} points, {told(seen)}")

            return bounding.run(found, budget, report, self.cuts)

    @paused()
    def bounds(self, top: int, may_stream: bool, budget: Budget) -> Designs | None:
        """Branch and bound; None if streaming the grid takes fewer operations."""
        asked, (in_numpy, streamed) = self.asked, _operations(self.asked)
        if in_numpy <= AT_ONCE:
            return self.answer("enumeration", *_enumerated(asked, top, budget, False))
        may_stream = may_stream and asked.grid.points <= LARGEST_STREAM
        if may_stream:
            budget.narrow(BOUNDS_SHARE * min(in_numpy, streamed))
        best = Best(top)

        def told(seen: Progress) -> str:
            value = f"{best.values[0]:.6g}" if len(best.values) else "none yet"
            return f"best {value}, bound {seen.bound:.6g}"

        seen = self.by_bounds(best, budget, told)
        if not seen.proven and may_stream:
            if in_numpy > streamed:
                return None
            return self.answer("enumeration", *_enumerated(asked, top, Budget(), self.progress))
        return self.answer("bounds", best, seen)

    def looked_through(self, top: int, budget: Budget) -> Designs:
        """Every point; or those that were reached in time, and a bound of all."""
        bound = -math.inf
        if math.isfinite(budget.deadline):
            share = BOUND_SHARE * (budget.deadline - self.started)
            bound = _bound(self.asked, Budget(deadline=self.started + share))
        best, seen = _enumerated(self.asked, top, budget, self.progress)
        if not seen.proven:
            seen.bound = bound
        return self.answer("enumeration", best, seen)

    def answer(self, method: str, best: Best, seen: Progress) -> Designs:
        sign, known = self.asked.objectives[0][1], len(best.values)
        value = float(best.values[-1]) if known else math.inf
        gap = 0.0 if seen.proven else math.inf
        if not seen.proven and math.isfinite(value) and math.isfinite(seen.bound):
            gap = (value - seen.bound) / abs(value) if value else math.inf
        bound = sign * (float(best.values.min()) if seen.proven and known else seen.bound)
        places = np.empty((len(self.asked.grid.sizes), 0), np.int64)
        if known:
            first = np.lexsort(best.points[::-1])
            _, order = in_order(best.values[first], np.arange(known))
            places = best.points[:, first[order]]
        return self.designs(method, seen, places, bound, gap)

    def designs(
        self, method: str, seen: Progress, places: np.ndarray, bound: float = math.nan, gap: float = 0.0
    ) -> Designs:
        """The designs at some points, an index per axis (rows) each, and the certificate."""
        asked, count = self.asked, places.shape[1]
        accepted, refusals = refused(asked)
        most = min(asked.grid.points - seen.infeasible, accepted[1]) if count or not seen.proven else 0
        feasible = max(seen.feasible, count), most
        certificate = Certificate(
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
            seconds=time.perf_counter() - self.started,
            undefined=undefined(bool(asked.constraints), accepted, feasible),
        )
        return Designs(asked, places.T, certificate, _first_of)


def _first_of(asked: Problem) -> tuple[Sequence[int] | None, bool]:
    """The best point of a problem that is solved to explain an empty answer, and whether that is proven."""
    run = _Run(asked, 1, time.perf_counter(), progress=False)
    if _iterates(asked):
        found = run.looked_through(1, Budget(BESIDES))
    else:
        _, streamed = _operations(asked)
        found = run.bounds(1, streamed <= BESIDES, Budget(BESIDES))
    if found is None:
        found = run.dense(1)
    return (found.places[0].tolist() if len(found) else None), found.certificate.proven


def _refuse_stream(asked: Problem) -> None:
    if asked.grid.points > REFUSED_STREAM:
        allowed = (
            f"every point of a grid is looked at up to {REFUSED_STREAM:,} of them; these are {asked.grid.points:,}"
        )
        raise InputError("axes", tuple(asked.binding.axes), allowed, "search(method='bounds') takes any size")


def _every_point(asked: Problem, feasible: int) -> Progress:
    """The progress of a search that looked at every point."""
    total = asked.grid.points
    return Progress(points=total, proven=True, first=True, feasible=feasible, infeasible=total - feasible)


def _iterates(asked: Problem) -> bool:
    """Tell whether every point is looked at in NumPy, since a bound takes longer than thousands of them."""
    return asked.points.iterates and asked.grid.points <= LARGEST_HELD


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


def _places(indices: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Index per axis (rows) of points, from their C-order index."""
    return np.array(np.unravel_index(indices, sizes), dtype=np.int64).reshape(len(sizes), -1)


def _enumerated(asked: Problem, top: int, budget: Budget, progress: bool | None) -> tuple[Best, Progress]:
    """The best of all points, in NumPy and chunk by chunk; or of the first chunks if the budget is used up."""
    points, sizes, total, done = asked.points, asked.grid.sizes, asked.grid.points, 0
    values = np.full(total, math.inf)
    with (
        bar("search", total, show=progress, step=points.chunk) as advance,
        budget.running(),
        closing(_looked_at(points, sizes)) as parts,
    ):
        for block, ((found,), good) in parts:
            values[block] = np.where(good, found, math.inf)
            done += len(block)
            advance(len(block))
    known = np.flatnonzero(values < math.inf)
    best = Best(top)
    near = known
    if len(known) > top:
        most = np.partition(values[known], top - 1)[top - 1]
        near = known[values[known] <= band(most)[1]]
    best.offer(values[None, near], _places(near, sizes))
    whole = done == total
    bound = -math.inf if not whole else float(values.min()) if len(known) else math.inf
    return best, Progress(0, done, bound, whole, whole and not best.lossy, len(known), done - len(known))


def _enumerated_front(asked: Problem, progress: bool | None) -> tuple[Nondominated, Progress]:
    """The front of a grid, in NumPy and chunk by chunk."""
    points, sizes, feasible = asked.points, asked.grid.sizes, 0
    front = Nondominated(sizes, len(asked.objectives))
    with (
        bar("pareto", asked.grid.points, show=progress, step=points.chunk) as advance,
        abandonable(),
        closing(_looked_at(points, sizes)) as parts,
    ):
        for block, (found, good) in parts:
            feasible += int(good.sum())
            front.offer(found[:, good], _places(block[good], sizes))
            advance(len(block))
    return front, _every_point(asked, feasible)


def _looked_at(points: Points, sizes: tuple[int, ...]) -> Generator[tuple[np.ndarray, Any], None, None]:
    """Yield the points of a grid in C order, chunk by chunk, and their objectives; iterations on all cores."""
    total = math.prod(sizes)

    def block(start: int) -> tuple[np.ndarray, Any]:
        found = np.arange(start, min(start + points.chunk, total))
        return found, points.columns(_places(found, sizes))

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
