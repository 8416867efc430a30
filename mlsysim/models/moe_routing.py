"""The model of routing in mixtures of experts."""

from __future__ import annotations

from mlsysim.catalog import Fleet, SparseTransformerWorkload
from mlsysim.formulas import collectives, expert_exchange, moe_routing, number_formats, parameter_counts, rank_groups
from mlsysim.inputs.declaration import Better
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.shape import COUNTED, NODE, SEGMENT, divides, fills_nodes
from mlsysim.models.stack import stack_slot
from mlsysim.models.training_memory import CAPACITY, ROOM, ROUTED
from mlsysim.symbolic import Requirement
from mlsysim.symbols.hardware import n_fleet
from mlsysim.symbols.training import e
from mlsysim.symbols.workload import E, L, L_moe, k


class MoERoutingModel(PerformanceModel):
    """What do hot experts cost?

    Active work, routed bytes and all-to-all latency of mixture-of-experts layers under imbalance.

    Without a fleet (and without ``fabric_bandwidth`` and ``fabric_latency``) the latency is left out.
    """

    command = "moe"
    example = {
        "model": "Mixtral_8x7B",
        "active_parameters": "8e9",
        "fleet": "Research_256",
        "batch_size": 4,
        "seq_len": 2048,
        "ep_size": 8,
        "routing_imbalance_factor": 2.0,
    }
    answer = "token_dispatch_bytes"
    better = Better("per_layer", decides="token_dispatch_bytes", shows="token_dispatch_bytes")
    variants = {
        "first_order": Variant(
            (
                *number_formats.FIRST_ORDER,
                collectives.link_bandwidth,
                parameter_counts.expert_width,
                *moe_routing.FIRST_ORDER,
            ),
            about="The tutorial's form: one exchange of the whole batch over the fabric, and bytes that grow with the "
            "imbalance, by as much as the imbalance too many.",
        ),
        "per_layer": Variant(
            (
                *number_formats.EXCHANGED,
                collectives.fabric_reached,
                expert_exchange.exchange_links_reached,
                expert_exchange.distinct_nodes,
                parameter_counts.expert_width,
                parameter_counts.expert_parameters,
                rank_groups.ranks_per_node.only(("ep",)),
                *rank_groups.EXCHANGE,
                *moe_routing.PER_LAYER,
            ),
            about="Measured to be right: bytes stay, and the hot rank sets the time; every exchange of every layer, "
            "by the law of a training step. Bytes within 1% of tokens counted at a router; times of exchanges off by "
            "5.2% in the median on a configuration left out.",
            requirements=(
                SEGMENT,
                *fills_nodes(e, e),
                Requirement(L_moe, L_moe <= L, "must be at most {layers}"),
                CAPACITY,
                ROOM,
            ),
            headline=(
                "effective_active_experts",
                "active_parameter_multiplier",
                "effective_active_parameters",
                "token_dispatch_bytes",
                "hot_rank_bytes",
                "least_dropped_share",
                "dispatch_time",
                "combine_time",
                "all_to_all_latency",
                "step_dispatch_bytes",
                "step_all_to_all_time",
            ),
        ),
    }
    slots = {
        "model": Slot(
            SparseTransformerWorkload,
            (
                "active_parameters",
                "layers",
                "hidden_dim",
                "gated",
                "experts",
                "active_experts_per_token",
                "moe_layers",
                "expert_ffn_dim",
                "expert_bias",
                "expert_input_dim",
            ),
            needs="a mixture-of-experts model (SparseTransformerWorkload); this one is dense",
            counted=COUNTED,
        ),
        "fleet": Slot(
            Fleet,
            (
                "fabric_bandwidth",
                "fabric_latency",
                "oversubscription",
                *NODE,
                "node_bandwidth",
                "direct_mesh",
                "torus_axes",
                "accelerators_per_pod",
                "fleet_size",
            ),
            optional=True,
        ),
        "stack": stack_slot(("fabric_efficiency", "exchange_link_efficiency", "exchange_latency")),
    }
    keywords = {
        "batch_size": ...,
        "seq_len": 2048,
        "precision": "fp16",
        "dispatch_dtype": "as_precision",
        "combine_dtype": "as_precision",
        "ep_size": 1,
        **ROUTED,
        "node_limit": 0,
        "congestion_factor": 1.0,
        "activation_checkpointing": "selective",
    }
    defaults = {
        "oversubscription": 1,
        "accelerators_per_segment": 0,
        "direct_mesh": 0,
        "torus_axes": 0,
        "accelerators_per_pod": 0,
        "expert_bias": False,
        "expert_input_dim": 0,
    }
    requirements = (
        divides(e, E),
        Requirement(k, k <= E, "must be at most {experts}"),
        Requirement(e, e <= n_fleet, "must be at most {fleet_size}"),
    )
    common = ("precision",)
    headline = (
        "effective_active_experts",
        "active_parameter_multiplier",
        "effective_active_parameters",
        "token_dispatch_bytes",
        "all_to_all_latency",
    )
