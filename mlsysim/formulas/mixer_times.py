"""Times of recurrent mixers

A scan over a whole sequence takes about ten times longer than its arithmetic at the rate of attention, because its
kernels reach less than a third of the memory bandwidth. Its bytes are counted per pass over memory, at 16 bits with
fp32 matrices and states; the share of the bandwidth and the minimum time per chunk come with the stack. A decode step
reads and writes each request's state as fast as a cache.
"""

from __future__ import annotations

from typing import Any

from mlsysim.symbolic import Example, Formula, Max, Source, byte, token, when
from mlsysim.symbols.hardware import B_mem
from mlsysim.symbols.mixers import (
    D_st,
    H_k,
    H_st,
    L_st,
    N_st,
    Q_st,
    delta,
    eta_scan,
    n_st,
    t_each,
    tau_scan,
    x_scan,
)
from mlsysim.symbols.training import t

DELTA = Source("yang2024", "section 3")
HELD_OUT = (
    "Median errors on shapes that the fits had not seen: gated delta net 18.9% (H200), KDA 8.5% and Mamba-2 13.9% "
    "(B200, with their own shares of 0.25 and 0.27 of the bandwidth, and Mamba-2 with bytes of another count). Fitted "
    "outside of this repository to operator tables of aiconfigurator (h200_sxm, b200_sxm), which it does not hold."
)
DECODED = (
    "Of states: gated delta net within a median of 10.1% on H200 and KDA of 5.5% on B200 (2.8% and 2.4% above 20 µs), "
    "at 0.84 and 0.66 of the bandwidth; Mamba-2 by the same law, against no table."
)


def _chunks(numbers: Any) -> Any:
    """Bytes per token and head of a state that is moved once per chunk, at these bytes per number."""
    return when(Q_st > 0, numbers * N_st * D_st * token / Max(token, Q_st))


#: A delta net writes and reads the matrix of a chunk and its inverse, keys, values and what it solves for, and states.
_delta_net = 12 * Q_st / token + 12 * N_st + when(n_st < 2, 8 * N_st) + 14 * D_st + _chunks(4)
#: Without a delta rule inputs are read twice, outputs written once; states are written, passed on and read.
_others = H_st * (6 * D_st + _chunks(12)) + 8 * H_k * N_st

scan_traffic = Formula(
    x_scan,
    L_st * byte * when(delta > 0, H_st * _delta_net, _others) / token,
    title="Bytes that scans move, per token",
    source=DELTA,
    assumes="Triton kernels that pass over memory several times, as in vLLM and SGLang. A delta net whose heads have "
    "one number a token, a step size, has a decay for each row of its state (KDA), and moves that as well. Keys of "
    "other mixers are read once for the heads that share them (Mamba-2); one without chunks reads its inputs and "
    "writes its outputs.",
    convention="All layers, one replica.",
    accuracy=HELD_OUT,
    example=Example(
        {L_st: 36, delta: 1, n_st: 2, Q_st: 64, N_st: 128, H_st: 32, D_st: 128, H_k: 16},
        "5898240 byte/token",
        derived="36 * 32 * (768 + 2 * (6 * 128 + 7 * 128) + 4 * 128 * 128 / 64)",
    ),
)


def _timed(ranks: Any) -> Any:
    """Scan time per token if heads are split over this many ranks."""
    return Max(x_scan / (ranks * eta_scan * B_mem), when(Q_st > 0, L_st * tau_scan / Max(token, Q_st)))


scan_time_per_token = Formula(
    t_each,
    _timed(t),
    title="Scans per token on one rank",
    source=DELTA,
    variant="per_rank",
    assumes="Heads are split. Chunks of a sequence follow each other, and each takes a while however few heads it has; "
    "sequences follow each other as well, which matters with one head a rank alone.",
    accuracy=HELD_OUT,
    example=Example(
        {x_scan: 5898240, t: 2, eta_scan: 0.3, B_mem: 4800, L_st: 36, Q_st: 64, tau_scan: 0.2},
        "2.048 µs/token",
        derived="5898240 / (2 * 0.3 * 4800e9) * 1e6",
    ),
)

scan_time_on_one_accelerator = Formula(
    t_each,
    _timed(1),
    title="Scans per token on one accelerator",
    source=DELTA,
    variant="one_accelerator",
    accuracy=HELD_OUT,
    example=Example(
        {x_scan: 5898240, eta_scan: 0.3, B_mem: 4800, L_st: 36, Q_st: 64, tau_scan: 0.2},
        "4.096 µs/token",
        derived="5898240 / (0.3 * 4800e9) * 1e6",
    ),
)

FORMULAS = (scan_traffic, scan_time_per_token, scan_time_on_one_accelerator)
#: Of a rank, and of a replica that is one accelerator.
SHARDED, WHOLE = FORMULAS[:2], (scan_traffic, scan_time_on_one_accelerator)
