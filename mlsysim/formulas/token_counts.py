"""Token counts

Cost of host synchronisation on the number of tokens per expert, in every forward pass through an MoE layer, before an
exchange can be sized. The device waits meanwhile, and the host cannot run ahead across the read. So the slower of
device and host sets the pace between two reads, and not only over a whole step.
"""

from __future__ import annotations

from sympy import And, Piecewise

from mlsysim.formulas.data_parallel_traffic import OVERLAP, beside_traffic
from mlsysim.formulas.exchange_overlap import BOTH, DUALPIPE, EXECUTED, alone, hidden
from mlsysim.formulas.step_time import waited
from mlsysim.symbolic import Example, Formula, Max, Min, Source, when
from mlsysim.symbols.break_even import t_count
from mlsysim.symbols.fsdp import T_sync, t_dev_b, t_dev_f, t_lag, w_bwd, w_fwd
from mlsysim.symbols.groups import t_x
from mlsysim.symbols.layers import (
    T_fill,
    ell_rest,
    ell_s,
    ell_s_moe,
    phi_ep,
    phi_fill,
    s_fwd,
    t_dev,
    t_exp,
    t_head,
    t_host,
    t_host_d,
    t_host_e,
    t_rest,
    t_wait,
    two,
    x_bwd,
    x_fwd,
)
from mlsysim.symbols.routing import n_exchanges, pad
from mlsysim.symbols.step import rho_attn, t_comp, t_cp, t_ep, t_free, t_slow, t_tp
from mlsysim.symbols.training import e, n_mb, p
from mlsysim.symbols.workload import L_moe

REPORT = Source("torchtitan_issue_1624")
#: What passes leave exposed that run alone: of two micro-batches at a time the first forward and the last backward.
_alone_f, _alone_b = (when(two > 0, BOTH, each) for each in (x_fwd, x_bwd))

forward_layers = Formula(
    t_dev_f,
    s_fwd * Max(0, t_comp - t_head) + ell_s_moe * _alone_f + 2 / n_exchanges * t_tp + t_cp / (3 + rho_attn),
    title="Layers of a forward pass on the device",
    source=Source("kaplan2020", "section 2.1"),
    assumes="With no other micro-batch beside it.",
    example=Example(
        {two: 0, t_x["dispatch"]: 0.6, t_x["combine"]: 0.9,
         s_fwd: 0.25, t_comp: 3807, t_head: 250, ell_s_moe: 48, x_fwd: 1.5, n_exchanges: 6, t_tp: 60, t_cp: 0,
         rho_attn: 1},
        "981.25 ms",
        derived="0.25 * (3807 - 250) + 48 * 1.5 + 60 / 3",
    ),
)  # fmt: skip

#: Half of what may run beside exchanges of its own micro-batch.
_own = when(two > 0, 0, phi_ep / 2)

expert_lag = Formula(
    t_lag,
    Max(0, (1 - _own) * (t_host_e - t_exp) + _own * (t_host_d - t_rest)),
    title="How far launches of experts fall behind",
    source=REPORT,
    assumes="Experts are launched first behind a read, with half of what may run beside exchanges.",
    convention="One layer, one micro-batch.",
    example=Example(
        {two: 0, phi_ep: 0.5, t_host_e: 20, t_exp: 12, t_host_d: 5, t_rest: 21},
        "2 ms",
        derived="0.75 * (20 - 12) + 0.25 * (5 - 21)",
    ),
)

#: The host reads counts where tokens leave their rank, unless all experts are padded to their capacity.
_reads = And(e > 1, L_moe > 0, pad < 1)

forward_wait = Formula(
    w_fwd,
    Max(0, ell_s_moe * (s_fwd * t_lag - _alone_f / 2), waited(t_dev_f, s_fwd * ell_s * t_host)),
    title="Waiting for launches in a forward pass",
    source=REPORT,
    assumes="From one read to the next the slower of device and host sets the pace, and experts wait for their "
    "launches. Layers without experts are few, or lie between others.",
    accuracy=EXECUTED,
    example=Example(
        {
            two: 0,
            t_x["dispatch"]: 0.6,
            t_x["combine"]: 0.9,
            ell_s_moe: 48,
            s_fwd: 0.25,
            t_lag: 8,
            x_fwd: 1.5,
            ell_s: 48,
            t_host: 25,
            t_dev_f: 250,
        },
        "81.018 ms",
        derived="max(48 * (8 / 4 - 1.5 / 2), (250**4 + 300**4) ** 0.25 - 250)",
    ),
)

backward_layers = Formula(
    t_dev_b,
    Max(0, t_dev - t_ep + ell_s_moe * ((n_exchanges / 2 - 1) * _alone_f + _alone_b) - t_dev_f),
    title="Layers of a backward pass on the device",
    source=Source("kaplan2020", "section 2.1"),
    assumes="With no other micro-batch beside it.",
    example=Example(
        {two: 0, t_x["dispatch"]: 0.6, t_x["combine"]: 0.9, t_dev: 1000, t_ep: 192, t_dev_f: 250, n_exchanges: 6,
         ell_s_moe: 48, x_fwd: 1.5, x_bwd: 1},
        "750 ms",
        derived="1000 - 192 + 48 * (2 * 1.5 + 1) - 250",
    ),
)  # fmt: skip

backward_wait = Formula(
    w_bwd,
    Max(
        0,
        waited(t_dev_b, (1 - s_fwd) * ell_s * t_host),
        when(n_exchanges > 4, ell_s_moe * ((1 - s_fwd) * t_lag - x_fwd - x_bwd / 2)),
    ),
    title="Waiting for launches in a backward pass",
    source=REPORT,
    assumes="The host reads the loss, to see that it is a number, and nothing in the backward pass, so it runs ahead "
    "there; where a forward pass is repeated, it reads in each layer.",
    accuracy=EXECUTED,
    example=Example(
        {s_fwd: 0.25, ell_s: 48, t_host: 25, t_dev_b: 750, n_exchanges: 6, ell_s_moe: 48, t_lag: 8, x_fwd: 1.5,
         x_bwd: 1},
        "243.055 ms",
        derived="max((750**4 + 900**4) ** 0.25 - 750, 48 * (0.75 * 8 - 1.5 - 0.5))",
    ),
)  # fmt: skip

#: What the host needs longer than the device, on this stage and on one with more layers.
_here, _elsewhere = ell_s * t_host - t_dev, ell_rest * t_host - t_dev - t_head
_behind = ell_s_moe * (t_lag - x_fwd - x_bwd)
_host_ahead = Max(_here, _elsewhere, _behind)
_paced = waited(t_dev, ell_s * t_host)

counting_wait = Formula(
    t_wait,
    Piecewise(
        (((n_mb - 1) * Max(_paced, _behind) + w_fwd + w_bwd) / n_mb, And(_reads, two > 0)),
        (w_fwd + w_bwd, _reads),
        (_paced, True),
    ),
    title="Time of one micro-batch in which the device waits for a host that reads counts",
    source=REPORT,
    variant="fsdp",
    assumes="With two micro-batches at a time there is one read in each pair of layers, but in the passes that run "
    "alone: a mean. Where no tokens leave their rank nothing is read, and the host runs ahead.",
    accuracy=EXECUTED,
    example=Example(
        {n_mb: 4, pad: 0, e: 4, L_moe: 48, two: 0, ell_s: 48, t_host: 25, t_dev: 1000, ell_s_moe: 48, t_lag: 8,
         x_fwd: 1.5, x_bwd: 1, w_fwd: 60, w_bwd: 192},
        "252 ms",
        derived="60 + 192",
    ),
)  # fmt: skip

fill_time = Formula(
    T_fill,
    alone(Max(0, hidden())),
    title="Exchanges with no other micro-batch beside them, where the host reads counts",
    source=DUALPIPE,
    variant="fsdp",
    assumes="The first forward and the last backward pass of a step run alone; in a pipeline also those that fill and "
    "drain it.",
    accuracy=EXECUTED,
    example=Example(
        {
            two: 1,
            p: 4,
            phi_fill: 0.5,
            ell_s_moe: 15,
            n_exchanges: 4,
            t_x["dispatch"]: 0.4,
            t_x["combine"]: 0.7,
            t_ep: 5,
        },
        "70 ms",
        derived="(1 + 3 * 0.5) * (15 * 2 * 1.1 - 5)",
    ),
)  # fmt: skip

_beyond = Max(0, t_x["dispatch"] - s_fwd * Max(t_rest, t_host_d))

host_sync = Formula(
    T_sync,
    ell_s_moe * n_mb * t_count
    - when(two > 0, (n_mb - 1) * Min(ell_s_moe * Min(t_count, _beyond), Max(0, -_host_ahead))),
    title="Waiting for counts of tokens",
    source=REPORT,
    assumes="With two micro-batches at a time, what the other one dispatches beyond the attention beside it hides it, "
    "as far as the device is behind the host.",
    accuracy=EXECUTED,
    example=Example(
        {
            n_mb: 3,
            ell_s_moe: 48,
            t_count: 2,
            two: 1,
            t_x["dispatch"]: 6.5,
            s_fwd: 0.25,
            t_rest: 20,
            t_host_d: 5,
            ell_s: 48,
            ell_rest: 0,
            t_host: 10,
            t_dev: 1000,
            t_head: 20,
            t_lag: 0,
            x_fwd: 0.5,
            x_bwd: 1.5,
        },
        "144 ms",
        derived="48 * (3 * 2 - 2 * 1.5)",
    ),
)

free_links = Formula(
    t_free,
    beside_traffic(t_wait + T_sync / n_mb),
    title="Time of one micro-batch beside which traffic of weights may run, where the host reads counts",
    source=OVERLAP,
    variant="fsdp",
    assumes="Computing, and waiting for another stage or the host, its reads among it. Not exchanges of tokens, "
    "exposed or hidden, which take the same links.",
    example=Example(
        {t_comp: 400, t_wait: 46, t_slow: 0, T_sync: 24, n_mb: 4, ell_s_moe: 15, n_exchanges: 4,
         t_x["dispatch"]: 0.4, t_x["combine"]: 0.7, t_ep: 5},
        "424 ms",
        derived="400 + 46 + 24 / 4 - (15 * 2 * 1.1 - 5)",
    ),
)  # fmt: skip

FORMULAS = (
    forward_layers,
    expert_lag,
    forward_wait,
    backward_layers,
    backward_wait,
    counting_wait,
    fill_time,
    host_sync,
    free_links,
)
