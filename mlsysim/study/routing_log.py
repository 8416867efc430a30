"""The imbalance factor out of a routing log."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsysim.errors import InputError
from mlsysim.inputs.convert import refuse_masked


def routing_imbalance(counts: Any, *, ep_size: int, placement: Any = None) -> Any:
    """Load of the busiest expert-parallel rank over the mean load: what ``routing_imbalance_factor`` takes.

    Parameters
    ----------
    counts : array_like
        Tokens routed to each expert, experts along the last axis; further axes (layers, steps) are kept.
    ep_size : int
        Ranks the experts are spread over.
    placement : array_like of int, optional
        Rank of each expert; consecutive experts share a rank where left out.

    Returns
    -------
    float or ndarray
        One factor per layer or step, at least 1; a float for a single row of counts.

    Raises
    ------
    InputError
        If counts are negative, not finite or all zero, or the experts do not fit the ranks.

    Examples
    --------
    >>> routing_imbalance([10, 10, 10, 50], ep_size=2)
    1.5
    """
    loads = _counts(counts)
    ranks = _placement(loads.shape[-1], ep_size, placement)
    per_rank = np.stack([loads[..., ranks == rank].sum(axis=-1) for rank in range(ep_size)], axis=-1)
    factor = per_rank.max(axis=-1) / per_rank.mean(axis=-1)
    return float(factor) if factor.ndim == 0 else factor


def _counts(counts: Any) -> np.ndarray:
    refuse_masked("counts", counts)
    try:
        loads = np.asarray(counts)
        if loads.dtype.kind == "b":
            raise TypeError
        loads = loads.astype(float)
    except (TypeError, ValueError):
        raise InputError("counts", counts, "must be numbers, experts along the last axis") from None
    if loads.ndim == 0 or not loads.shape[-1]:
        raise InputError("counts", counts, "must have one number per expert")
    if not np.isfinite(loads).all() or (loads < 0).any():
        raise InputError("counts", counts, "must be finite and not negative")
    if (loads.sum(axis=-1) == 0).any():
        raise InputError("counts", counts, "must have at least one token in every row")
    # A power of two, which changes no ratio, keeps sums of the largest counts finite.
    return np.ldexp(loads, -int(np.frexp(loads.max())[1]))


def _placement(experts: int, ep_size: int, placement: Any) -> np.ndarray:
    if isinstance(ep_size, bool) or not isinstance(ep_size, int | np.integer) or ep_size < 1:
        raise InputError("ep_size", ep_size, "must be a whole number >= 1")
    if placement is None:
        if experts % ep_size:
            raise InputError("ep_size", ep_size, f"must divide experts={experts}, or give placement=...")
        return np.arange(experts) // (experts // ep_size)
    refuse_masked("placement", placement)
    try:
        ranks = np.asarray(placement)
    except ValueError:
        ranks = np.empty(0)
    if ranks.shape != (experts,) or ranks.dtype.kind not in "iu":
        raise InputError("placement", placement, f"must be one whole rank for each of {experts} experts")
    if (ranks < 0).any() or (ranks >= ep_size).any():
        raise InputError("placement", placement, f"must be ranks from 0 to {ep_size - 1}")
    return ranks
