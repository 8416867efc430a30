"""Smallest values of an expression on a grid that is never held in memory: tile by tile, in float64."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.blocks import cores
from mlsysim.backends.compiled import CompiledFunction, of_graph
from mlsysim.backends.staged import MOST, graph_of_expressions, on_jax
from mlsysim.backends.ties import band, in_order
from mlsysim.backends.tiling import CACHED, FLOODED, SPREAD, Tiling, tiled
from mlsysim.graph import Graph, copied
from mlsysim.graph.passes import cost, regrouped, stages
from mlsysim.graph.passes.regrouped import FLAT, INNER, OUTER, PERHAPS, SCALE, Magnitude
from mlsysim.symbolic import System

#: Most points of a chunk, which is computed in one call, and seconds it should take.
CHUNK_POINTS, CHUNK_SECONDS = 2**27, 0.25
#: Most tiles that are searched one by one for ties; more are searched by a function of their own.
FEW = 8
#: Points of a part of a tile, whose vectors stay in the nearest cache; operations of a point from which it is no use.
NEAREST, LONG = 2**12, 100
#: Largest share of the operations of a point that another order may leave to be worth it.
SPARED = 0.8
#: Operations of the first chunk, before it is known how long they take; about 20 ms.
FIRST = 2**28


@dataclass(frozen=True)
class Scan:
    """State of a search after some tiles of the grid.

    Attributes
    ----------
    tiles, lowest : ndarray
        Tiles that may hold one of the smallest values, and the smallest value of each.
    feasible : int
        Points that meet every condition; 0 if they are not counted.
    points : int
        Points evaluated.
    """

    tiles: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    lowest: np.ndarray = field(default_factory=lambda: np.empty(0))
    feasible: int = 0
    points: int = 0

    def joined(self, other: Scan, k: int) -> Scan:
        """Merge two scans; tiles that cannot hold one of the ``k`` smallest values are left out."""
        tiles = np.concatenate([self.tiles, other.tiles])
        lowest = np.concatenate([self.lowest, other.lowest])
        kept = np.isfinite(lowest)
        if kept.sum() > k:
            most = float(np.partition(lowest, k - 1)[k - 1])
            high = band(most)[1]
            # A little more, since the sums of a scan may be in another order than those of an answer.
            kept &= lowest <= high + (high - most) / 8
        order = np.argsort(tiles[kept], kind="stable")
        return Scan(tiles[kept][order], lowest[kept][order], self.feasible + other.feasible, self.points + other.points)


@dataclass(frozen=True)
class Smallest:
    """Smallest values of an expression on a grid.

    Attributes
    ----------
    values : ndarray
        Ascending; fewer than requested if fewer points are feasible.
    indices : ndarray of int
        C-order index of each in the grid.
    feasible : int or None
        Points that meet every condition; None if they were not counted.
    points : int
        Points evaluated.
    """

    values: np.ndarray
    indices: np.ndarray
    feasible: int | None
    points: int


class DenseSearch:
    """Exhaustive search of a grid, tile by tile, for the feasible points with the smallest objective.

    A point is feasible where every condition holds and the objective is neither infinite nor undefined.

    Parameters
    ----------
    system : System
        Formulas.
    objective : sympy.Expr
        In inputs and variables of the system.
    conditions : sequence of sympy Boolean
        All must hold.
    values : mapping
        Canonical value per input: a number, or an array with one dimension per axis.
    sizes : sequence of int
        Length of each axis.
    count : bool
        Count feasible points, which costs a quarter of the time.
    """

    def __init__(
        self,
        system: System,
        objective: sympy.Basic,
        conditions: Sequence[sympy.Basic],
        values: Mapping[str, Any],
        sizes: Sequence[int],
        *,
        count: bool = True,
    ) -> None:
        import jax

        self.count = count
        self.devices = jax.devices()
        # One loop runs on one core.
        self.lanes = len(self.devices) if len(self.devices) > 1 or self.devices[0].platform != "cpu" else cores()
        width = CACHED if self.devices[0].platform == "cpu" else FLOODED
        graph = graph_of_expressions(system, [objective, *conditions])
        self.tiling = tiled(graph, values, tuple(sizes), width)
        self.function, self._values = on_jax(graph, values, self._is_precomputed)
        self._prepare()
        self._plain, self._ordered = self._loops()
        self._last: tuple[int, Any] = (-1, None)

    def _is_precomputed(self, shape: tuple[int, ...]) -> bool:
        """Select shapes that are precomputed: few values, along axes of which none or all are walked."""
        axes = [axis for axis, size in enumerate(shape) if size > 1]
        flat, walked = (any(steps[axis] > 1 for axis in axes) for steps in (self.tiling.rows, self.tiling.widths))
        return math.prod(shape) <= MOST and not (flat and walked)

    @property
    def runs(self) -> int:
        """Number of runs the grid is walked in, of one or more tiles each."""
        return self.tiling.count // self.tiling.run

    def _prepare(self) -> None:
        """Sort the inputs by where they change: nowhere or within a tile, from tile to tile, or both."""
        fixed: dict[str, np.ndarray] = {}
        walked: dict[str, np.ndarray] = {}
        tables: dict[str, np.ndarray] = {}
        self._over: dict[str, np.ndarray] = {}
        needed = dict(self._values)
        if self.tiling.overhang is not None:
            axis = self.tiling.overhang
            inside = np.arange(self.tiling.rows[axis] * self.tiling.widths[axis]) < self.tiling.sizes[axis]
            needed[INSIDE] = inside.astype(float).reshape(
                [-1 if a == axis else 1 for a in range(len(self.tiling.sizes))]
            )
        for name, value in needed.items():
            if value.size == 1:
                fixed[name] = value.reshape(())
                continue
            table = self.tiling.table(value)
            if len(table) == 1:
                fixed[name] = np.ascontiguousarray(self.tiling.flat(table[0], np))
            elif table.size == len(table):
                walked[name] = table.reshape(-1)
            elif len(table) * self.tiling.width <= SPREAD:
                tables[name] = np.stack([self.tiling.flat(row, np) for row in table])
            else:
                tables[name] = table
            if len(table) > 1:
                self._over[name] = value
        self._fixed, self._walked, self._tables = fixed, walked, tables

    @property
    def reorders(self) -> bool:
        """True if sums are evaluated in the order of the loops, and not as they are written."""
        return self._ordered is not None

    @cached_property
    def _device_inputs(self) -> list[Any]:
        """Inputs that every call needs, on each device."""
        import jax

        with jax.enable_x64(True):
            return [jax.device_put((self._fixed, self._tables), device) for device in self.devices]

    def _chunk(self, run: int) -> int:
        """Number of runs of tiles that one thread computes in one call."""
        return max(1, min(CHUNK_POINTS // (self.tiling.width * run), -(-self.tiling.count // (run * self.lanes))))

    @cached_property
    def _axes(self) -> tuple[tuple[str, int], ...]:
        """Loops that change each input of the loop over tiles, as bits."""
        last, loops = self.tiling.order[-1], {}
        for name in (*self.function.inputs, *([INSIDE] if self.tiling.overhang is not None else [])):
            loops[name] = FLAT if name in self._tables or np.ndim(self._fixed.get(name, 0.0)) else 0
            if name in self._over:
                loops[name] |= INNER if self._over[name].shape[last] > 1 else OUTER
        return tuple(loops.items())

    @cached_property
    def _parts(self) -> int:
        """Number of parts of a tile that are walked one after the other in all tiles, to stay in a nearer cache."""
        width, flat = self.tiling.width, all(table[0].ndim == 1 for table in self._tables.values())
        if self.devices[0].platform != "cpu" or not flat or self._work > LONG:
            return 1
        return width // next((n for n in range(NEAREST, NEAREST // 4, -64) if width % n == 0), width)

    def _loops(self) -> tuple[Nest, Nest | None]:
        """Loop nests of the formulas as written and reordered; None for the latter if it saves nothing."""
        self._gap, self._work = 0.0, math.inf
        graph, over = self.function.graph, dict(self._axes)
        plain, work = _nest(graph, self._axes)
        if not any(bits & INNER for bits in over.values()):
            return plain, None
        changed, gaps = regrouped(graph, over, {name: magnitude_of(self._values[name]) for name in graph.inputs})
        ordered, less = _nest(changed, self._axes)
        self._work = max(1, min(work, less))
        if less > SPARED * work:
            return plain, None
        self._gap = gaps.get(self.function.outputs[0], 0.0)
        return plain, ordered

    def _call(self, kind: str, tiles: np.ndarray, run: int, *extra: Any, nest: Nest | None = None) -> list[Any]:
        """Call a function of :func:`_tile_loop` on runs of tiles, shared out to devices or cores."""
        part_count = self._parts if kind in ("lowest", "count") else 1
        chunk = self._chunk(run)
        function = _tile_loop(nest or self._plain, self.tiling, kind, (chunk, run), self._axes, part_count)

        def share(lane: int, tiles: np.ndarray) -> Any:
            """Compute a share in a thread of its own, where float64 has to be switched on as well."""
            import jax

            number = len(tiles)
            tiles = np.concatenate([tiles, np.broadcast_to(tiles[:1], (chunk - number, run))])
            with jax.enable_x64(True):
                fixed, tables = self._device_inputs[lane % len(self.devices)]
                arguments = (*self._walk(tiles), np.int64(number), extra)
                results = function(fixed, tables, *jax.device_put(arguments, self.devices[lane % len(self.devices)]))
                return jax.tree.map(lambda x: np.asarray(x)[:number].reshape(number * run, *x.shape[2:]), results)

        shares = [lane_tiles for lane_tiles in np.array_split(tiles.reshape(-1, run), self.lanes) if len(lane_tiles)]
        if len(shares) == 1:
            return [share(0, shares[0])]
        with ThreadPoolExecutor(len(shares)) as threads:
            return list(threads.map(share, range(len(shares)), shares))

    def _walk(self, tiles: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Values of the walked inputs, and rows of the tables: per tile, or per run where all its tiles share them."""
        last = self.tiling.order[-1]
        of_tiles, of_runs = self.tiling.places(tiles), self.tiling.places(tiles[:, 0])
        rows_by_input = {name: of_tiles if value.shape[last] > 1 else of_runs for name, value in self._over.items()}
        row_by_shape: dict[Any, np.ndarray] = {}
        rows = {}
        for name, tile_rows in rows_by_input.items():
            shape = self._over[name].shape
            if shape not in row_by_shape:
                row_by_shape[shape] = self.tiling.row(self._over[name], tile_rows)
            rows[name] = row_by_shape[shape]
        return {name: table[rows.pop(name)] for name, table in self._walked.items()}, rows

    def scans(self, start: int, stop: int, k: int = 1) -> Iterator[tuple[Scan, int]]:
        """Evaluate a range of runs, a chunk of a fraction of a second at a time.

        Parameters
        ----------
        start, stop : int
            First run, and the one after the last.
        k : int
            Number of smallest values wanted.

        Yields
        ------
        tuple of Scan and int
            One chunk, and the run that follows it.
        """
        run = self.tiling.run
        most = self._chunk(run) * self.lanes
        number = min(most, max(1, most // 16, int(FIRST / self._work) // (run * self.tiling.width)))
        while start < stop:
            following = min(start + number, stop)
            tiles = np.arange(start * run, following * run)
            began = time.perf_counter()
            lowest, feasible = self._evaluate_tiles(tiles)
            rate = CHUNK_SECONDS / max(time.perf_counter() - began, CHUNK_SECONDS / 16)
            number = int(np.clip((following - start) * rate, 1, most))
            start = following
            yield Scan().joined(Scan(tiles, lowest, int(feasible.sum()), self.tiling.points_of(tiles)), k), start

    def _evaluate_tiles(self, tiles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest value and number of feasible points of the tiles of some runs.

        If sums are reordered, tiles with points too near a limit are evaluated again as written.
        """
        kind, run = "count" if self.count else "lowest", self.tiling.run

        def called(tiles: np.ndarray, nest: Nest | None) -> tuple[np.ndarray, np.ndarray]:
            lowest, feasible = zip(*self._call(kind, tiles, run, nest=nest), strict=True)
            return np.concatenate(lowest), np.concatenate(feasible)

        lowest, feasible = called(tiles, self._ordered)
        again = np.flatnonzero(lowest == -math.inf)
        if len(again) <= FEW:
            for index in again:
                values, _ = self.tile(int(tiles[index]))
                lowest[index] = values.min(initial=math.inf)
                feasible[index] = len(values) if self.count else 0
            return lowest, feasible
        runs = np.unique(again // run)
        if len(runs) * run > len(tiles) // 4:
            self._ordered = None
        indices = (runs[:, None] * run + np.arange(run)).ravel()
        lowest[indices], feasible[indices] = called(tiles[indices], None)
        return lowest, feasible

    def scan(self, start: int, stop: int, k: int = 1) -> Scan:
        """Merge all chunks of :meth:`scans`."""
        merged = Scan()
        for part, _ in self.scans(start, stop, k):
            merged = merged.joined(part, k)
        return merged

    def resolve(self, scan: Scan, k: int = 1) -> Smallest:
        """Find the points with the smallest values in the tiles that a scan kept.

        Two values within a relative 1e-9 count as equal. Of the points equal to the last one returned, the first in C
        order are returned.

        Parameters
        ----------
        scan : Scan
            Scan of all tiles, or of the tiles in question.
        k : int
            Number of smallest values wanted.

        Returns
        -------
        Smallest
        """
        order = np.argsort(scan.lowest, kind="stable")
        values, indices = np.empty(0), np.empty(0, np.int64)
        searched = 0
        for index in order:
            if len(values) == k and scan.lowest[index] >= values[-1]:
                break
            values, indices = _least(*self._with_tile(values, indices, int(scan.tiles[index])), k)
            searched += 1
        sure = scan.lowest - self._gap * np.abs(scan.lowest)
        if searched < len(order):
            rest = order[searched:]
            for tile in self._improving(scan.tiles[rest[sure[rest] < values[-1]]], float(values[-1])):
                values, indices = _least(*self._with_tile(values, indices, int(tile)), k)
        if len(values):
            low, high = band(float(values[-1]))
            strict = values < low
            wanted = k - int(strict.sum())
            tied = self._tied(scan.tiles[sure <= high], low, high, wanted)
            values, indices = np.concatenate([values[strict], tied[0]]), np.concatenate([indices[strict], tied[1]])
            values, indices = in_order(values, indices)
        return Smallest(values, indices, scan.feasible if self.count else None, scan.points)

    def _improving(self, tiles: np.ndarray, value: float) -> np.ndarray:
        """Select tiles that hold a smaller value; all if they are few."""
        if len(tiles) <= FEW:
            return tiles
        chunk, below = self._chunk(1) * self.lanes, np.nextafter(value, -math.inf)
        band = (np.float64(-math.inf), np.float64(below), self.tiling.steps)
        chunks = (tiles[start : start + chunk] for start in range(0, len(tiles), chunk))
        hits = [offsets for batch in chunks for (offsets,) in self._call("tied", batch, 1, *band)]
        return tiles[np.concatenate(hits) < NOWHERE]

    def _with_tile(self, values: np.ndarray, indices: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Append values and indices of the feasible points of one more tile."""
        tile_values, tile_indices = self.tile(number)
        return np.concatenate([values, tile_values]), np.concatenate([indices, tile_indices])

    def tile(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Objective and C-order index of the feasible points of one tile; that of the last one is kept."""
        if self._last[0] == number:
            return self._last[1]
        chosen = np.array([number])
        ((values,),) = self._call("tile", chosen, 1)
        values = values.reshape(-1)
        kept = np.flatnonzero(values < math.inf)
        self._last = number, (values[kept], self.tiling.first(chosen)[0] + self.tiling.steps[kept])
        return self._last[1]

    def _tied(self, tiles: np.ndarray, low: float, high: float, wanted: int) -> tuple[np.ndarray, np.ndarray]:
        """First points, in C order, whose value lies in a band."""
        first = self.tiling.first(tiles)
        order = np.argsort(first, kind="stable")
        tiles, first = tiles[order], first[order]
        values, indices = np.empty(0), np.empty(0, np.int64)
        if len(tiles) > FEW + wanted:
            tiles, first = self._holding_ties(tiles, first, low, high, wanted)
        for number, at in zip(tiles, first, strict=True):
            if len(indices) == wanted and at > indices[-1]:
                break
            values, indices = self._with_tile(values, indices, int(number))
            inside = (values >= low) & (values <= high)
            order = np.argsort(indices[inside], kind="stable")[:wanted]
            values, indices = values[inside][order], indices[inside][order]
        return values, indices

    def _holding_ties(
        self, tiles: np.ndarray, first: np.ndarray, low: float, high: float, wanted: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Select, of tiles in C order, the few that hold the first points of a band."""
        best, kept = np.empty(0, np.int64), np.empty(0, np.int64)
        band = (np.float64(low), np.float64(high), self.tiling.steps)
        chunk = self._chunk(1) * self.lanes
        for start in range(0, len(tiles), chunk):
            if len(best) == wanted and first[start] > best.max():
                break
            batch = tiles[start : start + chunk]
            offsets = np.concatenate([hits for (hits,) in self._call("tied", batch, 1, *band)])
            first_tied = np.where(offsets < NOWHERE, first[start : start + chunk] + offsets, NOWHERE)
            best = np.concatenate([best, first_tied])
            kept = np.concatenate([kept, np.arange(start, start + len(batch))])
            order = np.argsort(best, kind="stable")[:wanted]
            order = order[best[order] < NOWHERE]
            best, kept = best[order], kept[order]
        kept = np.sort(kept)
        return tiles[kept], first[kept]


#: Name of the input that is one at a point of the grid, and zero past the end of an axis.
INSIDE = "_inside"
#: Name of the objective of a point.
PRICE = "|price"
NOWHERE = np.iinfo(np.int64).max
#: Results of a part of a tile that has no points.
NOTHING = {"lowest": math.inf, "count": math.inf, "tied": NOWHERE}


def _least(values: np.ndarray, indices: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``k`` smallest values, ascending."""
    if len(values) > k:
        near = values <= np.partition(values, k - 1)[k - 1]
        values, indices = values[near], indices[near]
    order = np.lexsort((indices, values))[:k]
    return values[order], indices[order]


def magnitude_of(values: np.ndarray) -> Magnitude | None:
    """Magnitude of some numbers; None if one is negative or not finite."""
    if not (np.isfinite(values).all() and (values >= 0).all()):
        return None
    above = values[values > 0]
    least, most = (float(above.min()), float(above.max())) if above.size else (1.0, 1.0)
    return Magnitude(least, most, above.size < values.size)


#: Loops that change each input, as bits; and functions of JAX arrays by loop. Each operation is hoisted to the
#: outermost loop that it can stand in, and the innermost returns the objective.
Axes = tuple[tuple[str, int], ...]
Nest = tuple[tuple[int, CompiledFunction], ...]


def _nest(graph: Graph, over: Axes) -> tuple[Nest, int]:
    """Loops that price the points of tiles, and the cost of a point in the innermost one."""
    graph, inputs = _priced(graph, INSIDE in dict(over)), dict(over)
    work = sum(cost_of_loop for bits, cost_of_loop in cost(graph, inputs).items() if bits & INNER and bits & FLAT)
    walked = {name: bits & (OUTER | INNER) for name, bits in over}
    *before, last = stages(graph, walked, lambda bits: None if bits & INNER else bits)
    loops = [(stage.axes, stage.graph) for stage in before] + [(INNER, last.graph)]
    return tuple((loop, of_graph(part, "jax")) for loop, part in loops), work


def _priced(graph: Graph, overhangs: bool) -> Graph:
    """Objective of a point, infinite if it is infeasible, and a factor to apply afterwards.

    The objective is minus infinity where rounding may decide if a point is feasible.
    """
    builder, copies = copied(graph)
    outputs = {name: copies[index] for name, index in graph.outputs.items()}
    make, number = builder.make, builder.number
    objective, *conditions = (name for name in outputs if not name.endswith((SCALE, PERHAPS)))
    price, scale = outputs[objective], outputs.get(objective + SCALE)
    surely = make("greater", builder.input(INSIDE), number(0.0)) if overhangs else number(True)
    if scale is None:
        above = make("greater", price, number(-math.inf))
        surely = make("both", surely, make("both", make("less", price, number(math.inf)), above))
    perhaps = surely
    for name in conditions:
        met = outputs[name] if builder.is_truth(outputs[name]) else make("truth", outputs[name])
        surely, perhaps = make("both", surely, met), make("both", perhaps, outputs.get(name + PERHAPS, met))
    out = number(math.inf) if perhaps == surely else make("where", perhaps, number(-math.inf), number(math.inf))
    return builder.graph({PRICE: make("where", surely, price, out)} | ({} if scale is None else {SCALE: scale}))


def _at(column: Any, i: Any, j: Any) -> Any:
    """Entry of a run, or of a tile of a run."""
    return column[i] if column.ndim == 1 else column[i, j]


@lru_cache(maxsize=64)
def _tile_loop(nest: Nest, tiling: Tiling, kind: str, tiles: tuple[int, int], loops: Axes, parts: int) -> Any:
    """Compile a loop over parts of tiles, runs, and the tiles of a run; at most so many runs of so many tiles."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    (length, run), width = tiles, tiling.width // parts
    lanes = next(n for n in range(64, 0, -1) if width % n == 0)

    def least(value: Any, lanes: int = 1) -> Any:
        # No value is undefined here, so that a comparison will do; the minimum of XLA takes several instructions.
        def pick(left: Any, right: Any) -> Any:
            return lax.select(lax.lt(left, right), left, right)

        minima = lax.reduce(value.reshape(-1, lanes), np.float64(math.inf), pick, (0,))
        return lax.reduce(minima, np.float64(math.inf), pick, (0,))

    def lowest(value: Any) -> tuple[Any, Any]:
        # Few rows of lanes are unrolled, and then read one place after the other.
        return least(value, lanes if width >= 64 * lanes else 1), jnp.int64(0)

    def count(value: Any) -> tuple[Any, Any]:
        # Computed once for both: XLA would fuse the whole expression into each of the two reductions.
        value = lax.optimization_barrier(value)
        finite = (value < jnp.inf).astype(jnp.int32).reshape(-1, lanes)
        return least(value), jnp.sum(jnp.sum(finite, 0, dtype=jnp.int32), dtype=jnp.int64)

    def whole(value: Any) -> tuple[Any]:
        return (value,)

    def tied(value: Any, low: Any, high: Any, steps: Any) -> tuple[Any]:
        return (jnp.min(jnp.where((value >= low) & (value <= high), steps, NOWHERE)),)

    reduce: Any = {"lowest": lowest, "count": count, "tile": whole, "tied": tied}[kind]

    @jax.jit
    def runs(fixed: Any, tables: Any, walked: Any, rows: Any, number: Any, extra: Any) -> Any:
        def done(loop: int, known: dict[str, Any], part: Any, i: Any = 0, j: Any = 0) -> dict[str, Any]:
            """Numbers known in a loop, from those known outside of it."""
            known = dict(known)
            for name in (name for name, bits in loops if bits & (OUTER | INNER) == loop):
                if name in walked:
                    known[name] = _at(walked[name], i, j)
                    continue
                value = fixed[name] if name in fixed else tables[name][_at(rows[name], i, j)]
                if value.ndim > 1:
                    value = tiling.flat(value, jnp)
                known[name] = value.reshape(parts, width)[part] if value.ndim else value
            for function in (function for stage, function in nest if stage == loop):
                known |= zip(function.outputs, function.raw(*[known[name] for name in function.inputs]), strict=True)
            return known

        def found(known: dict[str, Any]) -> tuple[Any, ...]:
            first, *others = reduce(jnp.broadcast_to(known[PRICE], (width,)), *extra)
            # The scale may be zero, and what is infinite stays so.
            return (jnp.where(jnp.isinf(first), first, first * known[SCALE]) if SCALE in known else first, *others)

        def one(part: Any) -> tuple[Any, ...]:
            known: dict[str, Any] = {}
            for loop in (0, OUTER, INNER):
                known = done(loop, known, part)
            return found(known)

        if kind == "tile":
            return jax.tree.map(lambda x: x[None, None], one(0))
        blank = jax.tree.map(lambda x: jnp.zeros((run, *x.shape), x.dtype), jax.eval_shape(one, 0))
        empty = jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), blank)
        empty = (jnp.full_like(empty[0], NOTHING[kind]), *empty[1:])

        def over(part: Any, results: Any) -> Any:
            outside = done(0, {}, part)

            def along(i: Any, results: Any) -> Any:
                outer = done(OUTER, outside, part, i)

                def step(j: Any, of_run: Any) -> Any:
                    return jax.tree.map(lambda all, x: all.at[j].set(x), of_run, found(done(INNER, outer, part, i, j)))

                first, *others = lax.fori_loop(0, run, step, blank)
                least, *sums = results
                return (least.at[i].min(first), *(a.at[i].add(b) for a, b in zip(sums, others, strict=True)))

            return lax.fori_loop(0, number, along, results)

        return lax.fori_loop(0, parts, over, empty)

    return runs
