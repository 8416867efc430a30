"""Collectives

Time of an exchange between ranks in the alpha-beta model: a latency per message and a bandwidth
per byte.
"""

from __future__ import annotations

from typing import Any

from mlsysim.symbolic import Formula, Source
from mlsysim.symbols.hardware import beta, beta_fabric, oversubscription

TUTORIAL = Source("mlsysim_tutorial", "section 3")


def all_to_all(ranks: Any, message: Any, bandwidth: Any, latency: Any) -> Any:
    """Pairwise all-to-all of ``message`` bytes per rank: each rank sends all but its own share."""
    return (ranks - 1) / ranks * message / bandwidth + (ranks - 1) * latency


link_bandwidth = Formula(
    beta,
    beta_fabric / oversubscription,
    title="Bandwidth left by an oversubscribed fabric",
    source=TUTORIAL,
    assumes="All ranks send at once through the tapered level.",
    convention="One accelerator, one direction.",
    no_example="the tutorial prints only the exchange time it leads to",
)

FORMULAS = (link_bandwidth,)
