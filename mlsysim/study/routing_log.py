"""The imbalance factor out of a routing log, or of loads that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.convert import refuse_masked

#: Distributions that loads are drawn from.
DISTRIBUTIONS = ("uniform", "zipf", "log_normal")


def routing_imbalance(counts: Any, *, ep_size: int, placement: Any = None, redundant_experts: int = 0) -> Any:
    """Load of the busiest expert-parallel rank over the mean load: what ``routing_imbalance_factor`` takes.

    Parameters
    ----------
    counts : array_like
        Tokens routed to each expert, experts along the last axis; further axes (layers, steps) are kept.
    ep_size : int
        Ranks the experts are spread over.
    placement : array_like of int, optional
        Rank of each expert; consecutive experts share a rank where left out.
    redundant_experts : int, optional
        Copies of busy experts, which share their tokens: each goes to the expert whose copies have the most to do, and
        all are spread over the ranks from the busiest on, as many on each.

    Returns
    -------
    float or ndarray
        One factor per layer or step, at least 1; a float for a single row of counts.

    Raises
    ------
    InputError
        If counts are negative, not finite or all zero, or the experts do not fit the ranks.

    Notes
    -----
    Copies as in DeepSeek's balancer of expert parallelism (deepseek2024, section 3.4.1), without groups of nodes.

    Examples
    --------
    >>> routing_imbalance([10, 10, 10, 50], ep_size=2)
    1.5
    """
    loads = _counts(counts)
    if redundant_experts:
        return _with_copies(loads, ep_size, placement, redundant_experts)
    ranks = _placement(loads.shape[-1], ep_size, placement)
    per_rank = np.stack([loads[..., ranks == rank].sum(axis=-1) for rank in range(ep_size)], axis=-1)
    return _factor(per_rank)


def expert_loads(distribution: str, experts: int, *, spread: float = 1.0, layers: int = 1, seed: int = 0) -> np.ndarray:
    """Shares of the tokens that experts get, in random order, for :func:`routing_imbalance`.

    Parameters
    ----------
    distribution : {"uniform", "zipf", "log_normal"}
        All alike, as a router with a balancing bias leaves them; the n-th busiest as n to the power of ``-spread``; or
        the exponential of a normal number with the standard deviation ``spread``.
    experts : int
        Routed experts of a layer.
    spread : float, optional
        How far loads are apart; a uniform distribution has none.
    layers : int, optional
        Layers to draw.
    seed : int, optional
        Of the random order, and of log-normal loads.

    Returns
    -------
    ndarray, shape (layers, experts)
        Shares of each layer, with the sum one.

    Raises
    ------
    InputError
        If the distribution is not known or a number is not allowed.

    Examples
    --------
    >>> loads = expert_loads("zipf", 128, spread=0.5, layers=200)
    >>> print(f"{routing_imbalance(loads, ep_size=8).mean():.2f}")
    1.30
    """
    if distribution not in DISTRIBUTIONS:
        raise UnknownNameError("distribution of loads", str(distribution), DISTRIBUTIONS)
    _whole("experts", experts, 1)
    _whole("layers", layers, 1)
    if not isinstance(spread, int | float) or isinstance(spread, bool) or not 0 <= spread < np.inf:
        raise InputError("spread", spread, "must be a finite number >= 0")
    random = np.random.default_rng(seed)
    if distribution == "log_normal":
        loads = np.exp(spread * random.standard_normal((layers, experts)))
    else:
        power = spread if distribution == "zipf" else 0.0
        loads = random.permuted(np.tile(np.arange(1.0, experts + 1) ** -power, (layers, 1)), axis=1)
    return loads / loads.sum(axis=1, keepdims=True)


def _factor(per_rank: np.ndarray) -> Any:
    factor = per_rank.max(axis=-1) / per_rank.mean(axis=-1)
    return float(factor) if factor.ndim == 0 else factor


def _with_copies(loads: np.ndarray, ep_size: int, placement: Any, redundant: int) -> Any:
    _whole("ep_size", ep_size, 1)
    _whole("redundant_experts", redundant, 0)
    if placement is not None:
        raise InputError("placement", placement, "must be left out with redundant_experts, which are placed by load")
    slots, left = divmod(loads.shape[-1] + redundant, ep_size)
    if left:
        raise InputError(
            "redundant_experts", redundant, f"must fill ep_size={ep_size} ranks evenly with {loads.shape[-1]} experts"
        )
    rows = [_spread_out(row, ep_size, slots, redundant) for row in loads.reshape(-1, loads.shape[-1])]
    return _factor(np.reshape(rows, (*loads.shape[:-1], ep_size)))


def _spread_out(loads: np.ndarray, ranks: int, slots: int, redundant: int) -> np.ndarray:
    """Load of each rank with the busiest experts copied and all copies spread from the busiest on."""
    copies = np.ones(len(loads))
    for _ in range(redundant):
        copies[np.argmax(loads / copies)] += 1
    each = np.repeat(loads / copies, copies.astype(int))
    total, held = np.zeros(ranks), np.zeros(ranks, int)
    for load in np.sort(each)[::-1]:
        rank = np.argmin(np.where(held < slots, total, np.inf))
        total[rank] += load
        held[rank] += 1
    return total


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(name, value, f"must be a whole number >= {least}")


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
    _whole("ep_size", ep_size, 1)
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
