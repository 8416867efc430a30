"""Search: the exact optimum or Pareto front of a grid, by branch and bound or by streaming."""

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
from mlsysim.study.searches.problem import Problem, read_problem
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
#: Most points at which iterations are done in NumPy: compiling them takes minutes, and all values stay in memory.
LARGEST_HELD = 10**8
#: Share of a time limit spent on a bound over all points.
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

    The grid is never held in memory. Bounds derived from the formulas rule out whole regions of it, so its size hardly
    matters; where bounds do not prune, the grid is streamed.

    Parameters
    ----------
    minimize, maximize : str or sympy.Expr
        Exactly one of them: an output, or an expression of outputs and inputs such as ``"step_time / batch_size"``.
    subject_to : str or sequence of str
        Constraints, such as ``"total_memory <= 0.9 * memory_capacity"`` or ``"step_time <= 10 s"``.
    allow_infeasible : bool
        Also accept designs whose output ``feasible`` is False, such as those that exceed memory. By default
        ``feasible`` is one of the constraints wherever the model computes it, for which it needs a device.
    top : int
        Number of designs.
    method : {"auto", "bounds", "dense"}
        ``"bounds"`` is branch and bound, ``"dense"`` evaluates every point. ``"auto"`` begins with branch and bound and
        switches to every point if that takes fewer operations, but not under a time limit. Where a point takes
        iterations, as the root of a deployment does, it evaluates every point of grids of up to 1e8.
    time_limit : float, optional
        Seconds after which to answer with what is known: with bounds, how much better a design may exist; with
        streaming, the best of the points evaluated, to resume from the checkpoint.
    checkpoint : path, optional
        File with the state of streaming, from which the same call resumes; one call uses it at a time.
    certificate : path, optional
        JSON file for the question, the answer and the regions of the grid that were ruled out, which ``mlsysim.verify``
        checks without this search.
    client : dask.distributed.Client, optional
        Cluster that streams the grid.
    progress : bool, optional
        Show progress; by default on a terminal.

    Returns
    -------
    Designs
        The best designs as results, as a table, and the certificate. Combinations that the model refuses are no
        designs; the number of infeasible designs left out is reported. Values within a relative 1e-9 count as equal,
        and the first of them wins.

    Raises
    ------
    InputError
        As for ``solve``, or if objective, constraint or unit does not fit the model.
    StoreError
        If a file cannot be written.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> layouts = dict(batch_size=range(8, 257), dp_size=[1, 2, 4, 8], zero_stage=[0, 1, 2, 3])
    >>> found = memory.search("Llama3_8B", "H100", seq_len=2048, **layouts, maximize="batch_size / dp_size")
    >>> found.best.batch_size, found.best.dp_size, found.best.zero_stage
    (200, 8, 3)
    >>> found.certificate.proven
    True
    """
    started = time.perf_counter()
    _checked(method, time_limit)
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= 10_000:
        raise InputError("top", top, "must be a whole number from 1 to 10,000")
    if method == "bounds" and (checkpoint is not None or client is not None):
        raise InputError("method", method, "a checkpoint or a cluster is for streaming", "use method='dense'")
    problem = read_problem(
        model, model.named_arguments(entries, axes), minimize, maximize, subject_to, allow_infeasible
    )
    if len(problem.objectives) != 1:
        raise InputError("minimize", minimize, "takes one objective", "use pareto() for several")
    return _SearchRun(problem, top, started, method, time_limit, checkpoint, client, progress).run(certificate)


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
    """Find the exact Pareto front of several objectives: the designs that no other dominates.

    Parameters
    ----------
    minimize, maximize : sequence of str or sympy.Expr
        Objectives, together at least two.
    subject_to, allow_infeasible, method, client, progress
        As for ``search``.
    time_limit : float, optional
        Seconds after which bounds answer with the front of the points evaluated. The gap of the certificate then bounds
        how much better than this front any design may be: at most by that share in every objective.
    certificate : path, optional
        JSON file for the question, the front and the regions of the grid that were ruled out, which ``mlsysim.verify``
        checks without this search. If every point was evaluated, nothing was ruled out; verification then evaluates
        them again if that takes a minute or two. A front from ``method="bounds"`` can be verified at any size.

    Returns
    -------
    Designs
        Sorted by the first objective. Objectives are compared to 30 binary digits; of designs equal in all of them only
        the first on the axes is listed.

    Raises
    ------
    InputError
        As for ``search``.
    StoreError
        If a file cannot be written.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> layouts = dict(batch_size=64, dp_size=[8, 16, 32, 64], zero_stage=[0, 1, 2, 3])
    >>> front = memory.pareto(["total_memory", "dp_size"], "Llama3_8B", "H100", seq_len=2048, **layouts)
    >>> [(design.dp_size, design.zero_stage) for design in front]
    [(64, 3), (32, 3), (16, 3), (8, 3)]
    """
    started = time.perf_counter()
    _checked(method, time_limit)
    problem = read_problem(
        model, model.named_arguments(entries, axes), minimize, maximize, subject_to, allow_infeasible
    )
    if len(problem.objectives) < 2:
        raise InputError("minimize", minimize, "takes at least two objectives together with maximize", "use search()")
    if client is not None and (method == "bounds" or time_limit is not None):
        raise InputError("client", client, "a cluster looks at every point", "leave out method and time_limit")
    if method == "dense" and time_limit is not None:
        raise InputError("time_limit", time_limit, "only bounds end early", "leave it out, or method")
    return _SearchRun(problem, None, started, method, time_limit, None, client, progress).run(certificate)


def _checked(method: Any, time_limit: Any) -> None:
    """Refuse an unknown method or a time limit that is not positive."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError("method", method, f"must be one of {', '.join(METHODS)}")
    if time_limit is not None and (
        isinstance(time_limit, bool) or not (isinstance(time_limit, int | float) and time_limit > 0)
    ):
        raise InputError("time_limit", time_limit, "must be a number of seconds > 0")


@dataclass
class _SearchRun:
    """One search: the question, and the limits and method it runs with. ``top`` is None for a Pareto front."""

    problem: Problem
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

    def run(self, certificate: Any) -> Designs:
        """Run the search; save the answer with its proof if a file is named."""
        file = None if certificate is None else Saved(certificate, self.problem, self.top)
        self.cuts = BranchTree() if file else None
        designs = self.front() if self.top is None else self.best(self.top)
        if file and self.cuts is not None:
            file.write(designs, self.cuts)
        return designs

    def best(self, top: int) -> Designs:
        """Find the best designs by the method that was asked for."""
        automatic, budget = self.method == "auto", Budget(deadline=self.deadline)
        if self.method == "dense" or self.checkpoint is not None or self.client is not None:
            return self.dense(top)
        if automatic and _iterates(self.problem):
            return self.looked_through(top, budget)
        designs = self.bounds(top, automatic and self.time_limit is None, budget)
        return self.dense(top) if designs is None else designs

    def front(self) -> Designs:
        """Find the Pareto front by the method that was asked for."""
        problem, (in_numpy, streamed) = self.problem, _operations(self.problem)
        enumerates = _iterates(problem) or in_numpy <= COMPILING * len(problem.binding.system)
        may_bound = self.client is None and self.method != "dense"
        if may_bound and (self.method == "bounds" or self.time_limit is not None or not enumerates):
            if problem.grid.points > LARGEST:
                raise InputError("axes", tuple(problem.binding.axes), f"a front is of at most {LARGEST:,} points")
            budget = Budget(deadline=self.deadline)
            may_stream = self.method == "auto" and self.time_limit is None and problem.grid.points <= LARGEST_STREAM
            if may_stream:
                budget.narrow(BOUNDS_SHARE * min(in_numpy, streamed))
            known = Nondominated(problem.grid.sizes, len(problem.objectives))
            seen = self.by_bounds(known, budget, lambda _: f"{len(known.values):,} on the front")
            if seen.proven or not may_stream:
                return self.front_of("bounds", known, seen)
        _refuse_stream(problem)
        if may_bound and enumerates:
            return self.front_of("enumeration", *_enumerated_front(problem, self.progress))
        front = streamed_front(
            problem.grid, problem.goals, problem.conditions, client=self.client, progress=self.progress
        )
        return self.front_of("dense", front, _every_point(problem, front.feasible))

    def front_of(self, method: str, front: Front | Nondominated, seen: Progress) -> Designs:
        order = np.lexsort((front.indices, *front.values.T[::-1]))
        positions = _positions(front.indices[order], self.problem.grid.sizes)
        return self.designs(method, seen, positions, gap=0.0 if seen.proven else -seen.bound)

    def dense(self, top: int) -> Designs:
        """Stream all points, or as many as time allows, and return the best."""
        problem, grid = self.problem, self.problem.grid
        _refuse_stream(problem)
        streamed = smallest(
            grid,
            problem.goals[0],
            problem.conditions,
            top,
            checkpoint=self.checkpoint,
            client=self.client,
            deadline=self.deadline,
            progress=self.progress,
        )
        sign, feasible = problem.objectives[0][1], int(streamed.feasible or 0)
        bound = sign * float(streamed.values[0]) if len(streamed.values) else math.nan
        designs = self.designs(
            "dense", _every_point(problem, feasible), _positions(streamed.indices, grid.sizes), bound
        )
        if streamed.points < grid.points:
            certificate = designs.certificate
            designs.certificate = replace(
                certificate,
                proven=False,
                first=False,
                bound=-sign * math.inf,
                gap=math.inf,
                evaluated=streamed.points,
                feasible=(feasible, feasible + grid.points - streamed.points),
                undefined=None if problem.constraints else (0, certificate.accepted[1] - feasible),
            )
        return designs

    @paused()
    def by_bounds(self, incumbent: Incumbent, budget: Budget, describe: Callable[[Progress], str]) -> Progress:
        """Run branch and bound, with a progress line."""
        title = "search" if self.top else "pareto"
        with solver(self.problem, budget) as branching, watched(title, self.progress) as line:

            def report(seen: Progress) -> None:
                if line is not None:
                    line.say(f"{seen.boxes:,} boxes, {seen.points:,} points, {describe(seen)}")

            return branching.run(incumbent, budget, report, self.cuts)

    @paused()
    def bounds(self, top: int, may_stream: bool, budget: Budget) -> Designs | None:
        """Run branch and bound; return None if streaming the grid takes fewer operations."""
        problem, (in_numpy, streamed) = self.problem, _operations(self.problem)
        if in_numpy <= AT_ONCE:
            return self.bounded("enumeration", *_enumerated(problem, top, budget, False))
        may_stream = may_stream and problem.grid.points <= LARGEST_STREAM
        if may_stream:
            budget.narrow(BOUNDS_SHARE * min(in_numpy, streamed))
        best = Best(top)

        def describe(seen: Progress) -> str:
            value = f"{best.values[0]:.6g}" if len(best.values) else "none yet"
            return f"best {value}, bound {seen.bound:.6g}"

        seen = self.by_bounds(best, budget, describe)
        if not seen.proven and may_stream:
            if in_numpy > streamed:
                return None
            return self.bounded("enumeration", *_enumerated(problem, top, Budget(), self.progress))
        return self.bounded("bounds", best, seen)

    def looked_through(self, top: int, budget: Budget) -> Designs:
        """Evaluate every point, or as many as time allows together with a bound over all points."""
        bound = -math.inf
        if math.isfinite(budget.deadline):
            share = BOUND_SHARE * (budget.deadline - self.started)
            bound = _bound(self.problem, Budget(deadline=self.started + share))
        best, seen = _enumerated(self.problem, top, budget, self.progress)
        if not seen.proven:
            seen.bound = bound
        return self.bounded("enumeration", best, seen)

    def bounded(self, method: str, best: Best, seen: Progress) -> Designs:
        sign, known = self.problem.objectives[0][1], len(best.values)
        value = float(best.values[-1]) if known else math.inf
        gap = 0.0 if seen.proven else math.inf
        if not seen.proven and math.isfinite(value) and math.isfinite(seen.bound):
            gap = (value - seen.bound) / abs(value) if value else math.inf
        bound = sign * (float(best.values.min()) if seen.proven and known else seen.bound)
        positions = np.empty((len(self.problem.grid.sizes), 0), np.int64)
        if known:
            first = np.lexsort(best.points[::-1])
            _, order = in_order(best.values[first], np.arange(known))
            positions = best.points[:, first[order]]
        return self.designs(method, seen, positions, bound, gap)

    def designs(
        self, method: str, seen: Progress, positions: np.ndarray, bound: float = math.nan, gap: float = 0.0
    ) -> Designs:
        """Build designs and certificate from positions: an index per axis (rows) for each design (columns)."""
        problem, count = self.problem, positions.shape[1]
        accepted, refusals = refused(problem)
        most = min(problem.grid.points - seen.infeasible, accepted[1]) if count or not seen.proven else 0
        feasible = max(seen.feasible, count), most
        certificate = Certificate(
            method=method,
            points=problem.grid.points,
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
            undefined=undefined(bool(problem.constraints), accepted, feasible),
        )
        return Designs(problem, positions.T, certificate, _best_point)


def _best_point(problem: Problem) -> tuple[Sequence[int] | None, bool]:
    """Solve a problem that explains an empty answer: return its best point and whether that is proven."""
    run = _SearchRun(problem, 1, time.perf_counter(), progress=False)
    if _iterates(problem):
        designs = run.looked_through(1, Budget(BESIDES))
    else:
        _, streamed = _operations(problem)
        designs = run.bounds(1, streamed <= BESIDES, Budget(BESIDES))
    if designs is None:
        designs = run.dense(1)
    return (designs.places[0].tolist() if len(designs) else None), designs.certificate.proven


def _refuse_stream(problem: Problem) -> None:
    if problem.grid.points > REFUSED_STREAM:
        allowed = (
            f"every point of a grid is looked at up to {REFUSED_STREAM:,} of them; these are {problem.grid.points:,}"
        )
        raise InputError("axes", tuple(problem.binding.axes), allowed, "search(method='bounds') takes any size")


def _every_point(problem: Problem, feasible: int) -> Progress:
    """Progress of a search that evaluated every point."""
    total = problem.grid.points
    return Progress(points=total, proven=True, first=True, feasible=feasible, infeasible=total - feasible)


def _iterates(problem: Problem) -> bool:
    """Tell whether every point is evaluated in NumPy because one bound costs more than thousands of points."""
    return problem.points.iterates and problem.grid.points <= LARGEST_HELD


def _bound(problem: Problem, budget: Budget) -> float:
    """Return a value that no feasible point improves on; minus infinity if time ran out first."""
    bounds, sizes = np.full(1, -math.inf), problem.binding.sizes
    with budget.running(), solver(problem, budget) as branching:
        last = np.array(sizes, dtype=np.int64)[:, None] - 1
        bounds = branching.bound(np.zeros_like(last), last)
    return float(bounds[0])


def _operations(problem: Problem) -> tuple[float, float]:
    """Count the operations of evaluating every point, in NumPy and streamed."""
    in_numpy = problem.grid.points * problem.points.operations(problem.grid.sizes)
    return in_numpy, COMPILING * len(problem.binding.system) + in_numpy / FASTER


def _positions(indices: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Index per axis (rows) of points, from their index in C order."""
    return np.array(np.unravel_index(indices, sizes), dtype=np.int64).reshape(len(sizes), -1)


def _enumerated(problem: Problem, top: int, budget: Budget, progress: bool | None) -> tuple[Best, Progress]:
    """Evaluate all points chunk by chunk in NumPy and keep the best; stop when the budget is used up."""
    points, sizes, total, evaluated = problem.points, problem.grid.sizes, problem.grid.points, 0
    values = np.full(total, math.inf)
    with (
        bar("search", total, show=progress, step=points.chunk) as advance,
        budget.running(),
        closing(_evaluated_chunks(points, sizes)) as chunks,
    ):
        for block, ((objective,), feasible) in chunks:
            values[block] = np.where(feasible, objective, math.inf)
            evaluated += len(block)
            advance(len(block))
    known = np.flatnonzero(values < math.inf)
    best = Best(top)
    near = known
    if len(known) > top:
        most = np.partition(values[known], top - 1)[top - 1]
        near = known[values[known] <= band(most)[1]]
    best.offer(values[None, near], _positions(near, sizes))
    whole = evaluated == total
    bound = -math.inf if not whole else float(values.min()) if len(known) else math.inf
    return best, Progress(0, evaluated, bound, whole, whole and not best.lossy, len(known), evaluated - len(known))


def _enumerated_front(problem: Problem, progress: bool | None) -> tuple[Nondominated, Progress]:
    """Evaluate all points chunk by chunk in NumPy and keep the front."""
    points, sizes, feasible = problem.points, problem.grid.sizes, 0
    front = Nondominated(sizes, len(problem.objectives))
    with (
        bar("pareto", problem.grid.points, show=progress, step=points.chunk) as advance,
        abandonable(),
        closing(_evaluated_chunks(points, sizes)) as chunks,
    ):
        for block, (objectives, accepted) in chunks:
            feasible += int(accepted.sum())
            front.offer(objectives[:, accepted], _positions(block[accepted], sizes))
            advance(len(block))
    return front, _every_point(problem, feasible)


def _evaluated_chunks(points: Points, sizes: tuple[int, ...]) -> Generator[tuple[np.ndarray, Any], None, None]:
    """Yield the points of a grid in C order, chunk by chunk, with their objectives; iterations use all cores."""
    total = math.prod(sizes)

    def block(start: int) -> tuple[np.ndarray, Any]:
        indices = np.arange(start, min(start + points.chunk, total))
        return indices, points.columns(_positions(indices, sizes))

    starts = range(0, total, points.chunk)
    lanes = cores() if points.iterates else 1
    if lanes == 1 or len(starts) == 1:
        yield from map(block, starts)
        return
    with ThreadPoolExecutor(lanes) as threads:
        pending = deque[Any]()
        try:
            for start in starts:
                pending.append(threads.submit(copy_context().run, block, start))
                if len(pending) > lanes:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            if pending:
                abandon()
            for future in pending:
                future.cancel()
