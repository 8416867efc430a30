"""What do hot experts cost?"""

from __future__ import annotations

from sympy import Eq, Mod

from mlsysim.catalog import Fleet, SparseTransformerWorkload
from mlsysim.formulas import collectives, moe_routing, number_formats
from mlsysim.models.base import PerformanceModel
from mlsysim.models.binding import Slot
from mlsysim.symbolic import Requirement
from mlsysim.symbols.training import e
from mlsysim.symbols.workload import E, k


class MoERoutingModel(PerformanceModel):
    """Active work, routed bytes and all-to-all latency of mixture-of-experts layers under imbalance.

    Without a fleet (and without ``fabric_bandwidth`` and ``fabric_latency``) the latency is left out.
    """

    variants = {"first_order": number_formats.FORMULAS + collectives.FORMULAS + moe_routing.FORMULAS}
    slots = {
        "model": Slot(
            SparseTransformerWorkload,
            ("active_parameters", "hidden_dim", "experts", "active_experts_per_token"),
            needs="a mixture-of-experts model (SparseTransformerWorkload); this one is dense",
        ),
        "fleet": Slot(Fleet, ("fabric_bandwidth", "fabric_latency", "oversubscription"), optional=True),
    }
    keywords = ("batch_size", "seq_len", "precision", "ep_size", "routing_imbalance_factor")
    defaults = {
        "seq_len": 2048,
        "precision": "fp16",
        "ep_size": 1,
        "routing_imbalance_factor": 1.0,
        "oversubscription": 1,
    }
    requirements = (
        Requirement(e, Eq(Mod(E, e), 0), "must divide {experts}"),
        Requirement(k, k <= E, "must be at most {experts}"),
    )
    headline = (
        "effective_active_experts",
        "active_parameter_multiplier",
        "effective_active_parameters",
        "token_dispatch_bytes",
        "all_to_all_latency",
    )
