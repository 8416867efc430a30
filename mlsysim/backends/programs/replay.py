"""What was recorded, done again in NumPy on arrays of any shape; roots are found in loops over what moves in them.

Where most inputs are the same at all points of a grid, most of a compiled function is done once while it is recorded:
what has numbers alone is a number, of a case that is decided one side is left, and what stands there twice is one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy

from mlsysim.backends.operations import COSTS as COSTS_OF
from mlsysim.backends.operations import DIVISION
from mlsysim.backends.operations import TRIES as TRIES_OF
from mlsysim.backends.programs.recording import Operand, Recorder, Value, as_operand
from mlsysim.symbolic import ErlangC, NormalCDF, NormalQuantile, Root, SlotsBusy

#: Operations of an element by name, where they are more than one.
COSTED = {"exp": sympy.exp, "log": sympy.log, "normal_cdf": NormalCDF, "normal_quantile": NormalQuantile,
          "remainder": sympy.Mod, "erlang_c": ErlangC, "slots_busy": SlotsBusy}  # fmt: skip
COSTS = {"divide": DIVISION, "power": 20, **{name: COSTS_OF[kind] for name, kind in COSTED.items()}}
#: Operations that a root does besides evaluating its function.
CHOOSING = 60

#: A function of arrays, what it is applied to, and the place of its result; and places that are not read after it.
Done = tuple[Callable[..., Any], tuple[Operand, ...], int]
Step = tuple[Callable[..., Any], tuple[Operand, ...], int, tuple[int, ...]]
#: The same with the name of the function.
Named = tuple[str, tuple[Operand, ...], int]
Find = Callable[[Callable[..., Any], Any, Any, tuple[Any, ...], float], Any]


@dataclass(frozen=True)
class Body:
    """What a root does at every number that is tried.

    Attributes
    ----------
    unknown : int
        Place of the number.
    given : tuple of int
        Places of what it reads besides.
    steps : list of Step
        What is done.
    result : Value or float
        The function whose root is looked for.
    """

    unknown: int
    given: tuple[int, ...]
    steps: list[Step]
    result: Operand

    def __call__(self, x: Any, *given: Any) -> Any:
        """The function at a number."""
        held: dict[int, Any] = {self.unknown: x, **dict(zip(self.given, given, strict=True))}
        _replayed(self.steps, held)
        return _at(held, self.result)


@dataclass(frozen=True)
class Prepared:
    """A replay on a grid, of which is done what depends on few axes.

    Attributes
    ----------
    known : dict
        What is done, by place, over the axes that it depends on.
    steps : list of Step
        What is left.
    outputs : list
        What is computed.
    """

    known: dict[int, Any]
    steps: list[Step]
    outputs: list[Operand]

    def __call__(self, at: Callable[[Any], Any]) -> list[Any]:
        """Do what is left; ``at`` takes what is known to the points that are asked for."""
        held = {place: at(value) for place, value in self.known.items()}
        with np.errstate(all="ignore"):
            _replayed(self.steps, held)
        return [_at(held, output) for output in self.outputs]


class Replay:
    """Operations that were recorded, as far as some outputs need them.

    Parameters
    ----------
    recorder : Recorder
        The operations.
    outputs : sequence of Value or float
        What is computed.
    find : callable
        Finds a root: of a function, between two ends, given what it reads, to so many digits.
    functions : mapping, optional
        What operations do, by name, where they are not done in NumPy.
    """

    def __init__(
        self,
        recorder: Recorder,
        outputs: Sequence[Any],
        find: Find,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._recorder, self._operations, self._find = recorder, recorder.operations, find
        self._functions = {**recorder.functions, "power": operator.pow, **(functions or {})}
        self._outputs = [as_operand(output) for output in outputs]
        self._needed = self._alive()
        self._unknowns = self._inside()
        self._steps = self._level(None, [output.place for output in self._outputs if isinstance(output, Value)])

    def __len__(self) -> int:
        return len(self._needed)

    @property
    def operations(self) -> float:
        """Operations of a point at which all inputs differ."""
        return sum(self._operations_of(place) for place in self._needed if self._unknowns[place] is None)

    def operations_on(self, shapes: Sequence[tuple[int, ...]], most: int) -> float:
        """Operations of a point of a grid after :meth:`prepared`, and its share of those of that."""
        found, points = self._shapes(shapes), math.prod(np.broadcast_shapes(*shapes))
        cells = {place: math.prod(shape) for place, shape in found.items()}
        return sum(
            self._operations_of(place) * (cells[place] / points if cells[place] <= most else 1.0)
            for place in self._needed
            if self._unknowns[place] is None
        )

    def prepared(self, inputs: Sequence[np.ndarray], most: int) -> Prepared:
        """Do what has at most so many values on a grid.

        Parameters
        ----------
        inputs : sequence of ndarray
            In the order in which they were recorded, with one dimension per axis.
        most : int
            Most values.
        """
        known, late = self._split(inputs, lambda shape: math.prod(shape) <= most)
        asked = [output.place for output in self._outputs if isinstance(output, Value)]
        return Prepared(known, _freeing(late, asked), self._outputs)

    def split(
        self, inputs: Sequence[np.ndarray], early: Callable[[tuple[int, ...]], bool]
    ) -> tuple[dict[int, Any], list[Named], list[Operand]]:
        """Do what has values of some shapes on a grid.

        Parameters
        ----------
        inputs : sequence of ndarray
            As for :meth:`prepared`.
        early : callable
            Whether what has values of a shape is done now.

        Returns
        -------
        tuple of dict, list and list
            What is done, by place; the operations that are left, by name; and what is computed.
        """
        known, late = self._split(inputs, early)
        return known, [(self._operations[place][0], operands, place) for _, operands, place in late], self._outputs

    def _split(
        self, inputs: Sequence[np.ndarray], early: Callable[[tuple[int, ...]], bool]
    ) -> tuple[dict[int, Any], list[Done]]:
        """What is done now, by place, and what is left."""
        shapes = self._shapes([x.shape for x in inputs])
        steps = [step[:3] for step in self._steps if early(shapes[step[2]])]
        now = {step[2] for step in steps}
        late = [step[:3] for step in self._steps if step[2] not in now]
        asked = [output.place for output in self._outputs if isinstance(output, Value)]
        wanted = {*asked, *(x for step in late for x in _read(step[1]))}
        held: dict[int, Any] = dict(enumerate(inputs))
        with np.errstate(all="ignore"):
            _replayed(_freeing(steps, wanted), held)
        return {x: held[x] for x in sorted(wanted) if x in held}, late

    def _shapes(self, shapes: Sequence[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
        """The shape of the result of each operation on a grid."""
        found: dict[int, tuple[int, ...]] = dict(enumerate(shapes))
        for place in self._needed:
            name, operands = self._operations[place]
            if name != "input":
                found[place] = np.broadcast_shapes(*(found[x] for x in _read(operands)))
        return found

    @property
    def iterates(self) -> bool:
        """Whether there is a root, or a function that has no instruction."""
        return any(self._operations[place][0].startswith(("root", "call ")) for place in self._needed)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Do it.

        Parameters
        ----------
        inputs : sequence of ndarray
            In the order in which they were recorded; they broadcast against each other.

        Returns
        -------
        list
            Array or number per output.
        """
        held: dict[int, Any] = dict(enumerate(inputs))
        with np.errstate(all="ignore"):
            _replayed(self._steps, held)
        return [_at(held, output) for output in self._outputs]

    def _alive(self) -> list[int]:
        wanted = {output.place for output in self._outputs if isinstance(output, Value)}
        for place in range(len(self._operations) - 1, -1, -1):
            if place in wanted:
                wanted.update(_read(self._operations[place][1]))
        return sorted(wanted)

    def _inside(self) -> dict[int, int | None]:
        """For each operation the unknown of the innermost root whose loop it stands in."""
        moved: dict[int, frozenset[int]] = {}
        for place in self._needed:
            name, operands = self._operations[place]
            if name == "unknown":
                moved[place] = frozenset({place})
                continue
            of = frozenset[int]().union(*(moved[x] for x in _read(operands)))
            moved[place] = of - {operands[0].place} if name == "root" and isinstance(operands[0], Value) else of
        # The unknown of a root within another is recorded after that of the other.
        return {place: max(of, default=None) for place, of in moved.items()}

    def _operations_of(self, place: int) -> float:
        """Operations of one result; of a root with all that it tries."""
        name, operands = self._operations[place]
        if name in ("input", "unknown"):
            return 0.0
        if name == "root" and isinstance(operands[0], Value):
            unknown = operands[0].place
            inside = sum(self._operations_of(x) for x in self._needed if self._unknowns[x] == unknown)
            return TRIES_OF[Root] * (CHOOSING + inside)
        return self._recorder.costs.get(name, COSTS.get(name, 1))

    def _level(self, unknown: int | None, kept: Iterable[int]) -> list[Step]:
        """The operations of one loop, or of none, in order."""
        own = [place for place in self._needed if self._unknowns[place] == unknown]
        steps: list[Done] = []
        for place in own:
            name, operands = self._operations[place]
            if name in ("input", "unknown"):
                continue
            if name == "root":
                steps.append(self._root(operands, place))
            else:
                steps.append((self._functions[name], operands, place))
        return _freeing(steps, kept)

    def _root(self, operands: tuple[Operand, ...], place: int) -> Done:
        unknown, found, lower, upper, within = operands
        assert isinstance(unknown, Value)
        assert isinstance(within, float)
        kept = [found.place] if isinstance(found, Value) else []
        steps = self._level(unknown.place, kept)
        own = {step[2] for step in steps} | {unknown.place}
        read = {x: None for step in steps for x in _read(step[1]) if x not in own}
        read.update(dict.fromkeys(x for x in kept if x not in own))
        given = tuple(read)
        values = tuple(Value(self._recorder, each) for each in given)
        body = Body(unknown.place, given, steps, found)
        return partial(_found, self._find, body, within), (lower, upper, *values), place


def _freeing(steps: Sequence[Done], kept: Iterable[int]) -> list[Step]:
    """Steps that drop what is not read after them, but what is kept."""
    last: dict[int, int] = {}
    for at, (_, operands, place) in enumerate(steps):
        last.update(dict.fromkeys((place, *_read(operands)), at))
    for place in kept:
        last.pop(place, None)
    freed: list[list[int]] = [[] for _ in steps]
    for place, at in last.items():
        freed[at].append(place)
    return [(*step, tuple(places)) for step, places in zip(steps, freed, strict=True)]


def _found(find: Find, body: Body, within: float, lower: Any, upper: Any, *given: Any) -> Any:
    return find(body, lower, upper, given, within)


def _replayed(steps: list[Step], held: dict[int, Any]) -> None:
    """Do some steps on what is held by place."""
    for function, operands, place, freed in steps:
        held[place] = function(*(held[x.place] if type(x) is Value else x for x in operands))
        for each in freed:
            del held[each]


def _read(operands: Iterable[Operand]) -> list[int]:
    return [x.place for x in operands if isinstance(x, Value)]


def _at(held: Mapping[int, Any], operand: Operand) -> Any:
    return held[operand.place] if isinstance(operand, Value) else operand
