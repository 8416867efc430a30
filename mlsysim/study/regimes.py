"""Regimes of an output over one or two axes, and where the binding term changes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.binding import Binding, bind_grid
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.study.binding_terms.boundaries import Boundary, Solver
from mlsysim.study.binding_terms.regions import Interval, Regimes
from mlsysim.study.binding_terms.terms import Partition, Paths
from mlsysim.study.bisection import bisected
from mlsysim.study.grids.dataset import attributes, coordinates, described, displayed, flags
from mlsysim.study.sweep import refuse_size
from mlsysim.study.varied import accepted, closure
from mlsysim.symbolic import Variable, variable_of

#: Most regimes on one map.
MOST = 100


def regimes(
    model: DeclaredModel,
    /,
    x: str | None = None,
    y: str | None = None,
    output: str | None = None,
    *entries: Any,
    by: str | Iterable[str] | None = None,
    **axes: Any,
) -> Regimes:
    """Find where the bottleneck changes: the argument that binds in each maximum and minimum, and the case that holds.

    Only choices that the output depends on count, and of those only the ones that change over the axes.

    Parameters
    ----------
    x, y : str, optional
        Arguments given as lists, such as ``batch_size=range(1, 257)``; two of them give a map. By default all
        arguments given as lists, in their order.
    output : str, optional
        Name of an output. By default the first label of the headline, such as ``step_bottleneck``, if the model has
        one, else the answer of the model. The regimes of a label are its values.
    by : str or iterable of str, optional
        Variables whose maxima, minima and cases are examined; by default all that the output depends on.

    Returns
    -------
    Regimes
        A labelled map, or intervals along one axis. Boundaries are formulas where the terms are rational in an axis,
        else traced points; ``plot()`` draws it.

    Raises
    ------
    InputError
        If ``x`` and ``y`` are not exactly the arguments given as lists, or an argument is refused.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> shape = dict(product_rows=range(1, 2049), product_columns=8192, product_inner=8192)
    >>> found = KernelModel("roofline").regimes(hardware="H100", **shape)
    >>> found.at(product_rows=64), found.at(product_rows=1024)
    ('Memory bandwidth', 'Arithmetic')
    """
    wanted = model.output(output) if output is not None else _says_what_binds(model)
    if wanted.domain.kind == "choice" and by is None:
        by = wanted.name
    if y is not None and x == y:
        raise InputError("y", y, "must be another argument than x")
    arguments = model.named_arguments(entries, axes)
    named = [name for name in (x, y) if name is not None]
    first = {name: arguments[name] for name in named if name in arguments}
    binding = bind_grid(model, {**first, **arguments})
    _check_axes(model, binding, named or list(binding.axes))
    refuse_size([binding])
    binding.require(wanted.name)
    system = closure(binding.system, (wanted.name,))
    moving = [name for name, value in binding.values.items() if np.ndim(value)]
    return _RegimeGrid(model, binding, Paths(system, wanted.name, moving, _chosen(system, by)), wanted).answer()


def _says_what_binds(model: DeclaredModel) -> Variable:
    """Return the output whose regimes are shown if none is named."""
    heads = [model.output(name) for name in model.headline]
    labels = [variable for variable in heads if variable.domain.kind == "choice"]
    return labels[0] if labels else model.output(model.answer or model.headline[0])


def _check_axes(model: DeclaredModel, binding: Binding, names: list[str]) -> None:
    example = "as in regimes('batch_size', batch_size=range(1, 257), ...)"
    if not names:
        raise InputError("x", None, "must be an argument that is given as a list", example)
    for parameter, name in zip("xy", names, strict=False):
        if name in binding.axes and binding.axes[name].members:
            raise InputError(parameter, name, "must be one argument, and not several that are linked")
        if name not in model.arguments:
            raise UnknownNameError(f"argument of {type(model).__name__}", name, model.arguments)
        if name not in binding.axes:
            raise InputError(parameter, name, "must be an argument that is given as a list", f"as in {name}=[...]")
    if rest := [name for name in binding.axes if name not in names[:2]]:
        allowed = f"only x and y are axes, and those are {' and '.join(names[:2])}"
        raise InputError(rest[0], "a list", allowed, "give it one value")


def _chosen(system: Any, by: str | Iterable[str] | None) -> frozenset[str] | None:
    if by is None:
        return None
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if name not in system:
            raise UnknownNameError("variable on the way to the output", name, [v.name for v in system.variables])
    return frozenset(names)


def _mean(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (low + high) / 2


class _RegimeGrid:
    """The grid of a question about regimes."""

    def __init__(self, model: DeclaredModel, binding: Binding, paths: Paths, output: Variable) -> None:
        self.model = model
        self.binding = binding
        self.paths = paths
        self.output = output
        self.shape = binding.sizes
        self.accepted = np.broadcast_to(accepted(binding, binding.numbers), self.shape)
        if not self.accepted.any():
            binding.refuse()
        self.values = paths.values(binding.values)
        self.value = np.broadcast_to(np.asarray(self.values[output.name], float), self.shape)
        kept = {key: code[self.accepted] for key, code in paths.codes(self.values, self.shape).items()}
        self.partition = Partition(kept, paths.choices)
        if self.partition.count > MOST:
            choices = ", ".join(dict.fromkeys(choice.variable.name for choice in self.partition.choices))
            allowed = f"{self.partition.count} regimes on one map are too many to read"
            raise InputError("by", None, allowed, f"name some of {choices}")
        self.numbers = np.full(self.shape, -1)
        self.numbers[self.accepted] = self.partition.numbers if self.partition.positions else 0
        self.names = self.partition.names(self._alone())

    def _alone(self) -> str:
        """Name the only regime if it holds everywhere."""
        if self.output.domain.kind != "choice":
            return f"{self.output.label}: no other term binds"
        return self.output.domain.labels[int(self.value[self.accepted][0])]

    def numeric(self) -> list[str]:
        """Return the numeric axes, along which there are boundaries."""
        return [
            name for name in self.binding.axes
            if name not in self.binding.entries and variable_of(name).domain.kind != "choice"
            and not variable_of(name).domain.is_flag
        ]  # fmt: skip

    def answer(self) -> Regimes:
        """Build the map with its boundaries."""
        import xarray

        dims = tuple(self.binding.axes)
        value = np.where(self.accepted, self.value, np.nan)
        code = self.numbers.astype(np.int8)
        meaning = flags("Which term binds", self.names)
        data = {"regime": (dims, code, meaning | {"regimes": "; ".join(self.names)})}
        if self.output.domain.kind == "real":
            data[self.output.name] = (dims, displayed(self.output, value), attributes(self.output))
        dataset = xarray.Dataset(data, coords=coordinates(self.binding), attrs=described([self.model], [self.binding]))
        dataset.attrs["output"] = self.output.name
        boundaries = self._boundaries()
        intervals = self._intervals() if len(dims) == 1 and self.numeric() else ()
        return Regimes(self.output, dataset, tuple(self.names), tuple(boundaries), tuple(intervals))

    @cached_property
    def _scales(self) -> dict[str, float]:
        """Canonical size of the unit of each numeric axis."""
        return {name: units.factor(self.binding.axes[name].unit or variable_of(name).unit) for name in self.numeric()}

    @cached_property
    def _crossings(self) -> tuple[np.ndarray, np.ndarray]:
        """Canonical points on both sides of every change, a row per axis, and the regimes there."""
        axes = list(self.binding.axes)
        grids = np.meshgrid(*(axis.canonical.astype(float) for axis in self.binding.axes.values()), indexing="ij")
        lows, highs, pairs = [], [], []
        for index, name in enumerate(axes):
            if name not in self.numeric():
                continue
            order = np.argsort(self.binding.axes[name].canonical)
            codes = np.moveaxis(np.take(self.numbers, order, axis=index), index, -1)
            sides = [np.moveaxis(np.take(grid, order, axis=index), index, -1) for grid in grids]
            # A refused point lies between others: a change is looked for from one accepted point to the next.
            last = np.maximum.accumulate(np.where(codes >= 0, np.arange(codes.shape[-1]), -1), axis=-1)[..., :-1]
            before = np.take_along_axis(codes, np.maximum(last, 0), axis=-1)
            edge = (last >= 0) & (codes[..., 1:] >= 0) & (before != codes[..., 1:])
            earlier = [np.take_along_axis(side, np.maximum(last, 0), axis=-1) for side in sides]
            lows.append(np.stack([side[edge] for side in earlier]))
            highs.append(np.stack([side[..., 1:][edge] for side in sides]))
            pairs.append(np.stack([before[edge], codes[..., 1:][edge]]))
        if not any(pair.size for pair in pairs):
            return np.zeros((2, len(axes), 0)), np.zeros((2, 0), int)
        low, high, pair = (np.concatenate(pieces, axis=1) for pieces in (lows, highs, pairs))
        return np.stack(bisected(lambda at: self._regime_of(at) == pair[0], low, high, 1e-12, _mean)), pair

    def _at(self, points: np.ndarray) -> dict[str, Any]:
        flat = {name: value for name, value in self.binding.values.items() if np.ndim(value) == 0}
        flat |= dict(zip(self.binding.axes, points, strict=True))
        return flat | self._along_entries(points)

    def _along_entries(self, points: np.ndarray) -> dict[str, Any]:
        """Return the inputs set by a catalog entry on an axis, at points of that axis."""
        values = {}
        for dimension, axis in enumerate(self.binding.axes.values()):
            indices = None
            for name, value in self.binding.values.items():
                if np.ndim(value) and name not in self.binding.axes and np.shape(value)[dimension] > 1:
                    if indices is None:
                        order = np.argsort(axis.canonical)
                        indices = order[
                            np.searchsorted(axis.canonical[order], points[dimension]).clip(0, len(axis) - 1)
                        ]
                    values[name] = np.ravel(np.take(value, indices, axis=dimension))
        return values

    def _regime_of(self, points: np.ndarray) -> np.ndarray:
        size = points.shape[1]
        return self.partition.number_of(self.paths.codes(self.paths.values(self._at(points)), (size,)), size)

    def _boundaries(self) -> list[Boundary]:
        (before, after), pairs = self._crossings
        axes = list(self.binding.axes)
        numeric = [variable_of(name) for name in self.numeric()]
        constants = {name: float(value) for name, value in self.values.items() if np.ndim(value) == 0}
        solver = Solver(self.paths.system, constants, numeric, self._scales)
        boundaries = []
        for pair in sorted({(min(regimes), max(regimes)) for regimes in pairs.T.tolist()}):
            mine = (np.sort(pairs, axis=0) == np.array(pair)[:, None]).all(axis=0)
            sides = before[:, mine], after[:, mine]
            shown = np.stack([row / self._scales.get(name, 1.0) for name, row in zip(axes, sides[1], strict=True)])
            solved = self._solved(solver, pair, sides) if len(numeric) == len(axes) else None
            boundaries.append(Boundary((self.names[pair[0]], self.names[pair[1]]), shown, *(solved or ())))
        return boundaries

    def _solved(self, solver: Solver, pair: tuple[int, int], sides: tuple[np.ndarray, np.ndarray]) -> Any:
        """Solve for a boundary: axis, formula and formula with numbers; None without a closed form."""
        points = dict(zip(self.binding.axes, sides[1], strict=True))
        for choice, codes in self.partition.changed(*pair):
            for side in sides:
                middle = side[:, [side.shape[1] // 2]]
                at = {name: float(np.reshape(v, -1)[0]) for name, v in self.paths.values(self._at(middle)).items()}
                solution = solver.solved(choice, codes, at, points)
                if solution is not None:
                    return solution
        return None

    def _intervals(self) -> list[Interval]:
        """Split the axis into intervals at the points where the regime changes."""
        ((name, axis),) = self.binding.axes.items()
        points = self._crossings[0][1]
        order = np.argsort(axis.canonical)
        order = order[self.numbers[order] >= 0]
        codes, typed = self.numbers[order], axis.coordinates[order]
        edges = np.flatnonzero(np.diff(codes)) + 1
        crossed = sorted((points[0] / self._scales[name]).tolist())
        ends = [float(typed[0]), *crossed, float(typed[-1])]
        return [
            Interval(self.names[codes[first]], ends[index], ends[index + 1], typed[first], typed[after - 1])
            for index, (first, after) in enumerate(pairwise([0, *edges.tolist(), len(codes)]))
        ]
