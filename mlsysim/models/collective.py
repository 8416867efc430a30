"""The model of one collective or exchange of experts."""

from __future__ import annotations

from mlsysim.catalog import Accelerator, Fabric, Fleet, Node
from mlsysim.formulas import collectives, expert_exchange, number_formats
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.shape import FABRIC, LINKS, NODE, PLACED, SEGMENT, divides_nodes, fills_nodes
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Requirement
from mlsysim.symbols.hardware import n_fleet
from mlsysim.symbols.network import delta_c, n_c
from mlsysim.symbols.routing import n_rank

_EXCHANGE = ("collective_time", "copy_bytes", "fabric_bytes", "link_bytes")
_RINGS = "Within a node median 5.1% on links that no constant but two latencies was fitted on; between nodes derived."
_FORWARDED = "One copy per node, sent on over its links: median 5.2% on a configuration left out of the fit."
_DIRECT = "Low latency: every copy by itself. Median 2.0% on a number of ranks left out of the fit."
_ABOUT = {
    "all_reduce": "A ring, two trees, or the switches of a node, whichever is fastest. " + _RINGS,
    "all_gather": _RINGS,
    "reduce_scatter": _RINGS,
    "all_to_all": "Within a node median 7.2%; between nodes derived.",
    "dispatch": _FORWARDED,
    "combine": _FORWARDED,
    "low_latency_dispatch": _DIRECT,
    "low_latency_combine": _DIRECT,
}


_BYTES = {"dispatch": number_formats.dispatch_element_bytes, "combine": number_formats.combine_element_bytes}
_KINDS = {
    **collectives.KINDS,
    **{
        kind: (_BYTES[kind.removeprefix("low_latency_")], *collectives.PORTS, *formulas)
        for kind, formulas in expert_exchange.KINDS.items()
    },
}
_EXCHANGED = {"fleet": "SuperPOD_H100", "collective_ranks": 16, "tokens_per_rank": 4096, "hidden_dim": 7168,
              "active_experts_per_token": 8}  # fmt: skip
#: Given tokens are some; a rank of a step may bring none.
_SOME_TOKENS = (Requirement(n_rank, n_rank > 0, "must be above 0"),)


class CollectiveModel(PerformanceModel):
    """How long does a collective take?

    All-reduce, all-gather, reduce-scatter, all-to-all and exchanges of experts among ranks of a node or of several.
    """

    command = "collective"
    example = {"fleet": "SuperPOD_H100", "stack": "NCCL_H100", "collective_ranks": 8, "message_bytes": "256 MiB"}
    answer = "collective_time"
    variants = {
        kind: Variant(
            formulas,
            requirements=_SOME_TOKENS if kind in expert_exchange.KINDS else (),
            headline=_EXCHANGE if kind in expert_exchange.KINDS else ("collective_time", "bus_bandwidth"),
            example=_EXCHANGED if kind in expert_exchange.KINDS else {},
            about=_ABOUT[kind],
        )
        for kind, formulas in _KINDS.items()
    }
    slots = {
        "hardware": Slot(Accelerator, LINKS),
        "node": Slot(Node, (*LINKS, *NODE)),
        "fleet": Slot(Fleet, (*LINKS, *NODE, *FABRIC), extras=("fleet_size",)),
        "fabric": Slot(Fabric, FABRIC, default="InfiniBand_NDR"),
        "stack": stack_slot(
            (
                "link_efficiency",
                "fabric_efficiency",
                "exchange_link_efficiency",
                "collective_latency",
                "node_latency",
                "all_to_all_start",
                "all_to_all_step",
                "switch_latency",
                "exchange_latency",
            )
        ),
    }
    common = ("congestion_factor",)
    keywords = {
        "collective_ranks": ...,
        "message_bytes": ...,
        "rank_stride": 1,
        "tokens_per_rank": ...,
        "hidden_dim": ...,
        "active_experts_per_token": ...,
        "node_limit": 0,
        "precision": "bf16",
        "dispatch_dtype": "as_precision",
        "combine_dtype": "as_precision",
        "congestion_factor": 1.0,
    }
    defaults = PLACED
    requirements = (
        SEGMENT,
        *fills_nodes(n_c, n_c * delta_c, "times {rank_stride} "),
        *divides_nodes(delta_c, delta_c, n_c * delta_c),
        Requirement(n_c, n_c * delta_c <= n_fleet, "times {rank_stride} must be at most {fleet_size}"),
    )
