"""Every formula, one with an index as its members, and the topic of each."""

import numpy as np
import pytest

from mlsysim.formulas import every_formula
from mlsysim.symbolic import ChunkedPrefill

#: As compiled: one with an index for each of its members.
WRITTEN = [(name, member) for name, formula in every_formula() for member in formula.members]
#: A chain is solved for arguments that belong together, not drawn one by one: see tests/backends/test_laws.py. So is a
#: model within another one, with all that describes a transformer: see tests/models/test_post_training.py.
WHOLE = 20
PLACED = [
    (name, member)
    for name, member in WRITTEN
    if not member.expression.has(ChunkedPrefill) and (name != "post_training" or len(member.inputs) < WHOLE)
]
FORMULAS = [member for _, member in PLACED]
#: Roots around roots.
GOODPUTS = {"replica_goodput", "colocated_goodput_per_accelerator"}
#: Results that are zero in no model (tests/property/test_domains.py), though no range shows it: drawn above zero.
POSITIVE = {
    "answer_steps", "bunch_size", "clock_time", "decode_iteration_time", "dense_weights_per_rank", "hot_rank_factor",
    "kv_bytes_per_request", "closed_context", "loop_step",
    "kv_read_stretch", "mean_compute_time", "saturated_iteration_time", "step_time", "usable_memory",
    "weights_read_stretch",
}  # fmt: skip
POSITIVE |= {"half_split_rollout_work", "half_split_update_work", "overlapped_time"}
every = pytest.mark.parametrize("formula", FORMULAS, ids=[formula.id for formula in FORMULAS])
written = pytest.mark.parametrize("formula", [f for _, f in WRITTEN], ids=[f.id for _, f in WRITTEN])


def formula_of(name):
    """The formula of an id, or the first-order one of a variable."""
    return next(formula for formula in FORMULAS if formula.id in (name, f"{name}[first_order]"))


def as_columns(points):
    return {name: np.array([point[name] for point in points]) for name in points[0]}


TOPIC = {member.id: name for name, member in PLACED}
#: Topics that a quick run compiles formula by formula: those of the tutorial. A long run compiles all.
QUICK_TOPICS = {"training_memory", "serving_capacity", "queueing", "moe_routing"}


def quick_first(formulas):
    """The formulas as parameters; long, but for those of quick topics."""
    marks = {True: (), False: pytest.mark.long}
    return [pytest.param(f, id=f.id, marks=marks[TOPIC[f.id] in QUICK_TOPICS]) for f in formulas]


def continuous(formula):
    return tuple(v.name for v in formula.inputs if v.domain.kind in ("real", "integer"))


#: Roots, and a hundred directions through them, which XLA takes minutes to optimise and to fuse.
UNFUSED = {"xla_backend_optimization_level": 0, "xla_disable_hlo_passes": "fusion"}
