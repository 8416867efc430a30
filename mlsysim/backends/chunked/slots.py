"""Wait for a slot, if the number of requests served at once is limited."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr

from mlsysim.graph.floats import FLOATS
from mlsysim.graph.operations.erlang import erlang_c

#: Most slots that count as few.
FEW = 16.0
#: Standard deviations between the mean of the slots that are taken and all of many from which on nobody waits.
FARTHEST = 6.0
#: Probability below which nobody waits for one of few.
LEAST = 1e-9


@dataclass(frozen=True)
class SlotWait:
    """Zero but for some requests, whose wait is exponential.

    Attributes
    ----------
    probability : float
        That a request finds every slot taken.
    mean : float
        Seconds that it then waits.
    """

    probability: float = 0.0
    mean: float = 0.0


def many_slots(slots: float, taken: float, variance: float, variation: float, spare: float) -> SlotWait:
    """The law of many servers (Halfin and Whitt), with the spread of the requests as it is.

    Parameters
    ----------
    slots : float
        Requests that are served at once at most.
    taken : float
        Mean number that is; a whole number, so that half of one more counts as all.
    variance : float
        Of that number.
    variation : float
        Coefficient of variation of the time that a slot is held: alike, requests wait half as long as exponential ones.
    spare : float
        Rate of requests that could be served beyond those that come, in 1/s.
    """
    room = max(slots - taken - 0.5, 0.0) / math.sqrt(variance) if variance > 0.0 else math.inf
    if not room < FARTHEST:
        return SlotWait()
    probability = 1.0 / (1.0 + room * float(ndtr(room)) * math.sqrt(2.0 * math.pi) * math.exp(room**2 / 2.0))
    return SlotWait(probability, (1.0 + variation**2) / (2.0 * spare))


def few_slots(slots: float, request_rate: float, capacity: float, variation: float) -> SlotWait:
    """The law of as many servers as slots, each as fast as where all are taken (Erlang, Cosmetatos).

    Parameters
    ----------
    slots : float
        Requests that are served at once at most.
    request_rate : float
        That arrive, in 1/s.
    capacity : float
        Requests that all slots complete, in 1/s.
    variation : float
        Coefficient of variation of what a request takes of the slots: alike, requests wait about half as long as
        exponential ones.
    """
    load = request_rate / capacity
    probability = float(erlang_c(FLOATS, float(slots), float(slots * load))) if 0.0 < load < 1.0 else 0.0
    if not probability >= LEAST:
        return SlotWait()
    several = (1.0 - load) * (slots - 1.0) * (math.sqrt(4.0 + 5.0 * slots) - 2.0) / (16.0 * load * slots)
    fixed_share = (1.0 + min(1.0, several)) / 2.0
    return SlotWait(probability, (fixed_share + variation**2 * (1.0 - fixed_share)) / (capacity - request_rate))
