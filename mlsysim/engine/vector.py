"""The functions compiled code calls on NumPy arrays: a few thousand points at once, without XLA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mlsysim.engine import functions, scalar
from mlsysim.engine.budget import look_at_the_clock
from mlsysim.engine.functions import State


class Arrays:
    """The arithmetic of NumPy arrays; see :class:`mlsysim.engine.functions.Arithmetic`."""

    where = staticmethod(np.where)
    minimum = staticmethod(np.minimum)
    maximum = staticmethod(np.maximum)
    floor = staticmethod(np.floor)
    nearest = staticmethod(np.rint)
    log = staticmethod(np.log)
    power = staticmethod(np.power)
    precision = staticmethod(scalar.Floats.precision)
    largest = staticmethod(scalar.Floats.largest)

    @staticmethod
    def together(*values: Any) -> tuple[Any, ...]:
        """Broadcast against each other."""
        return tuple(np.broadcast_arrays(*(np.asarray(value, float) for value in values)))

    @staticmethod
    def constant(value: float, x: Any) -> Any:
        """The number at every point."""
        return np.full(np.shape(x), value)

    @staticmethod
    def alike(truth: Any, x: Any) -> Any:
        """A truth value at every point."""
        return np.broadcast_to(truth, np.shape(x))

    @staticmethod
    def iterate(step: Callable[..., State], state: State, fixed: State) -> State:
        """Take steps at the points that are going; those that have stopped are dropped once they are half of all."""
        shape = np.shape(state[0])
        ends = [np.array(value).reshape(-1) for value in state]
        place = np.flatnonzero(ends[0])
        now, read = ([np.reshape(value, -1)[place] for value in values] for values in (ends, fixed))
        going = now[0]
        while place.size:
            look_at_the_clock()
            now = list(step(*now, *read))
            stopped = going & ~now[0]
            if stopped.any():
                for end, value in zip(ends, now, strict=True):
                    end[place[stopped]] = value[stopped]
                going = going & now[0]
                if 2 * np.count_nonzero(going) <= place.size:
                    place = place[going]
                    now, read = ([value[going] for value in values] for values in (now, read))
                    going = now[0]
        return tuple(end.reshape(shape) for end in ends)


ARRAYS = Arrays()

erlang_c = np.errstate(all="ignore")(partial(functions.erlang_c, ARRAYS))
least_integer = partial(functions.least_integer, ARRAYS)
slots_busy = np.errstate(all="ignore")(partial(functions.slots_busy, ARRAYS))
slots_busy_slope = np.errstate(all="ignore")(partial(functions.slots_busy_slope, ARRAYS))
beside = partial(functions.beside, ARRAYS)
ceil = partial(functions.ceil, ARRAYS)
floor = partial(functions.floor, ARRAYS)

NAMESPACE: dict[str, Any] = {
    **scalar.NAMESPACE,
    "beside": beside,
    "ceil": ceil,
    "erlang_c": erlang_c,
    "floor": floor,
    "least_integer": least_integer,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "slots_busy": slots_busy,
    "slots_busy_slope": slots_busy_slope,
    "where": np.where,
}
