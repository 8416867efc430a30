"""Spare nodes of a run

Spare nodes replace nodes in repair: the number that covers the failures of one repair time with a given probability,
and the wait of a job if they do not suffice. The two are different questions.
"""

from __future__ import annotations

from typing import Any

from sympy import Dummy, Rational, sqrt

from mlsysim.symbolic import Example, Formula, LeastInteger, NormalCDF, SlotsBusy, Source
from mlsysim.symbols.runs import (
    S_need,
    S_sp,
    a_rep,
    lam_w,
    p_cov,
    s_wait,
    sigma_r,
    t_rep,
)

HILFERTY = Source("wilson1931")

#: More spares than any job holds.
_MOST = 10**6

nodes_away = Formula(
    a_rep,
    lam_w * (1 - sigma_r) * t_rep,
    title="Nodes in repair",
    source=Source("kokolis2025", "failure model"),
    assumes="What a restart of processes cures takes no node away.",
    example=Example({lam_w: 2, sigma_r: 0, t_rep: 3}, "6", derived="2 * 3"),
)

_n = Dummy("n", integer=True, positive=True)
_third = Rational(1, 3)

spares_needed = Formula(
    S_need,
    LeastInteger(
        _n, NormalCDF(3 * sqrt(_n) * (1 - 1 / (9 * _n) - (a_rep / _n) ** _third)) >= p_cov, _MOST
    )
    - 1,
    title="Fewest spares that cover the failures of a repair",
    source=HILFERTY,
    assumes="Failures are independent, so that their number is Poisson's, here by the cube root of a chi-square: off by"
    " 0.010 at most. Losses that come together, as with a switch, need more.",
    example=Example({a_rep: 6, p_cov: 0.99}, "12", derived="12"),
)  # fmt: skip

_lost: Any = SlotsBusy(S_sp + 1, a_rep, 0, 1, 1)

waiting = Formula(
    s_wait,
    _lost,
    title="Share of the time in which a job waits for a node",
    source=Source("erlang1917"),
    assumes="Erlang B: a repair starts at the failure, and a job that waits does not fail, so that nodes which are away"
    " are calls that find a server or are lost. Holds for any law of repair times. Waits are shorter where "
    "recoveries are long against the time between failures, by a quarter at a tenth.",
    example=Example(
        {S_sp: 4, a_rep: 6},
        "0.36040",
        derived="(6**5/120) / (1 + 6 + 36/2 + 216/6 + 1296/24 + 7776/120)",
    ),
)

#: Of a job that waits for no node.
COVERED = (nodes_away, spares_needed)
FORMULAS = (*COVERED, waiting)
