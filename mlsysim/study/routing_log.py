"""Imbalance of expert loads, from a routing log or drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.convert import refuse_masked
from mlsysim.tracebacks import at_the_call

#: Distributions of expert loads.
DISTRIBUTIONS = ("uniform", "zipf", "log_normal")


@at_the_call
def routing_imbalance(
    counts: Any,
    *,
    ep_size: int,
    placement: Any = None,
    redundant_experts: int = 0,
    capacity_factor: float = 0.0,
) -> Any:
    """Compute the load of the busiest expert-parallel rank over the mean load, for ``routing_imbalance_factor``.

    Parameters
    ----------
    counts : array_like
        Tokens routed to each expert, experts along the last axis; further axes (layers, steps) are kept.
    ep_size : int
        Number of ranks that hold the experts.
    placement : array_like of int, optional
        Rank of each expert; by default consecutive experts share a rank.
    redundant_experts : int, optional
        Number of copies of busy experts, which share their tokens. Each copy goes to the expert with the highest load
        per copy; all are spread over the ranks from the busiest on, equally many on each.
    capacity_factor : float, optional
        Most tokens that an expert accepts over the mean of all experts, as in :func:`dropped_tokens`; 0 drops none.

    Returns
    -------
    float or ndarray
        One factor per layer or step, a float for a single row of counts. At least 1 if nothing is dropped; else the
        tokens that the busiest rank keeps over the mean of all routed tokens. Models with ``capacity_factor`` take the
        factor before dropping and bound it by the capacity.

    Raises
    ------
    InputError
        If counts are negative, not finite or all zero, or the experts do not fit the ranks.

    Notes
    -----
    Copies are placed as by DeepSeek's expert-parallel load balancer (deepseek2024, section 3.4.1), without node groups.

    Examples
    --------
    >>> from mlsysim import routing_imbalance
    >>> routing_imbalance([10, 10, 10, 50], ep_size=2)
    1.5
    >>> routing_imbalance([10, 10, 10, 50], ep_size=2, capacity_factor=1.25)
    0.875
    """
    loads, scale = _counts(counts)
    _whole("redundant_experts", redundant_experts, 0)
    room = _room(loads, scale, capacity_factor, redundant_experts)
    if redundant_experts:
        per_rank = _with_copies(loads, ep_size, placement, redundant_experts, room)
    else:
        ranks, kept = _placement(loads.shape[-1], ep_size, placement), np.minimum(loads, room)
        per_rank = np.stack([kept[..., ranks == rank].sum(axis=-1) for rank in range(ep_size)], axis=-1)
    return _plain(per_rank.max(axis=-1) / (loads.sum(axis=-1) / ep_size))


@at_the_call
def dropped_tokens(counts: Any, *, capacity_factor: float, redundant_experts: int = 0) -> Any:
    """Compute the share of routed tokens that is dropped if experts have a limited capacity.

    Parameters
    ----------
    counts : array_like
        Tokens routed to each expert, experts along the last axis, or their shares; further axes (layers, steps, or
        ranks with their own capacity) are kept.
    capacity_factor : float
        Most tokens that an expert accepts over the mean of all experts; 0 drops none.
    redundant_experts : int, optional
        Copies of busy experts, as in :func:`routing_imbalance`; each accepts as many tokens as an expert.

    Returns
    -------
    float or ndarray
        One share per row of counts; a float for a single row.

    Raises
    ------
    InputError
        If counts are negative, not finite or all zero, or another argument is invalid.

    Notes
    -----
    A token that goes to several experts counts once for each. With whole counts the capacity is rounded up to whole
    tokens, as in Megatron-LM and DeepSpeed; with shares it is not rounded.

    Examples
    --------
    >>> from mlsysim import dropped_tokens
    >>> dropped_tokens([10, 10, 10, 50], capacity_factor=1.25)
    0.3125
    """
    loads, scale = _counts(counts)
    _whole("redundant_experts", redundant_experts, 0)
    room = _room(loads, scale, capacity_factor, redundant_experts)
    copies = np.apply_along_axis(_copies, -1, loads, redundant_experts)
    left = np.maximum(0, loads - copies * room)
    return _plain(left.sum(axis=-1) / loads.sum(axis=-1))


@at_the_call
def expert_loads(distribution: str, experts: int, *, spread: float = 1.0, layers: int = 1, seed: int = 0) -> np.ndarray:
    """Draw the shares of tokens that experts receive, in random order, for :func:`routing_imbalance`.

    Parameters
    ----------
    distribution : {"uniform", "zipf", "log_normal"}
        Equal loads, as left by a router with a balancing bias; loads proportional to the rank to the power of
        ``-spread``; or log-normal loads with ``spread`` as the standard deviation of the logarithm.
    experts : int
        Routed experts of a layer.
    spread : float, optional
        Dispersion of the loads; without effect on a uniform distribution.
    layers : int, optional
        Layers to draw.
    seed : int, optional
        Seed of the random order, and of log-normal loads.

    Returns
    -------
    ndarray, shape (layers, experts)
        Shares per layer, which sum to one.

    Raises
    ------
    InputError
        If the distribution is unknown or a number is invalid.

    Examples
    --------
    >>> from mlsysim import expert_loads, routing_imbalance
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
        powers = spread * random.standard_normal((layers, experts))
        loads = np.exp(powers - powers.max(axis=1, keepdims=True))
    else:
        power = spread if distribution == "zipf" else 0.0
        loads = random.permuted(np.tile(np.arange(1.0, experts + 1) ** -power, (layers, 1)), axis=1)
    return loads / loads.sum(axis=1, keepdims=True)


def _plain(values: np.ndarray) -> Any:
    return float(values) if values.ndim == 0 else values


def _room(loads: np.ndarray, scale: int | None, factor: Any, redundant: int) -> np.ndarray:
    """Return the capacity of each expert of a row, in the scale of the loads."""
    if not isinstance(factor, int | float | np.number) or isinstance(factor, bool) or not 0 <= factor < np.inf:
        raise InputError("capacity_factor", factor, "must be a finite number >= 0")
    if not factor:
        return np.full((*loads.shape[:-1], 1), np.inf)
    room = loads.sum(axis=-1, keepdims=True) / (loads.shape[-1] + redundant) * float(factor)
    return room if scale is None else np.ldexp(np.ceil(np.ldexp(room, scale)), -scale)


def _with_copies(loads: np.ndarray, ep_size: int, placement: Any, redundant: int, room: np.ndarray) -> np.ndarray:
    _whole("ep_size", ep_size, 1)
    if placement is not None:
        raise InputError("placement", placement, "must be left out with redundant_experts, which are placed by load")
    slots, left = divmod(loads.shape[-1] + redundant, ep_size)
    if left:
        raise InputError(
            "redundant_experts", redundant, f"must fill ep_size={ep_size} ranks evenly with {loads.shape[-1]} experts"
        )
    rows = zip(loads.reshape(-1, loads.shape[-1]), room.reshape(-1), strict=True)
    spread = [_spread_out(row, ep_size, slots, redundant, most) for row, most in rows]
    return np.reshape(spread, (*loads.shape[:-1], ep_size))


def _copies(loads: np.ndarray, redundant: int) -> np.ndarray:
    """Count the copies of each expert: one, and each further one for the expert with the highest load per copy."""
    copies = np.ones(len(loads))
    for _ in range(redundant):
        copies[np.argmax(loads / copies)] += 1
    return copies


def _spread_out(loads: np.ndarray, ranks: int, slots: int, redundant: int, most: float) -> np.ndarray:
    """Return the load of each rank with the busiest experts copied, and all copies spread from the busiest on."""
    copies = _copies(loads, redundant)
    loads_of_copies = np.repeat(loads / copies, copies.astype(int))
    total, taken, copies_held = np.zeros(ranks), np.zeros(ranks), np.zeros(ranks, int)
    for load in np.sort(loads_of_copies)[::-1]:
        rank = np.argmin(np.where(copies_held < slots, total, np.inf))
        total[rank] += load
        taken[rank] += min(load, most)
        copies_held[rank] += 1
    return taken


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(name, value, f"must be a whole number >= {least}")


def _counts(counts: Any) -> tuple[np.ndarray, int | None]:
    """Scale loads by a power of two, to keep sums finite; also return the power if the counts are whole tokens."""
    refuse_masked("counts", counts)
    try:
        loads = np.asarray(counts)
        if loads.dtype.kind == "b":
            raise TypeError
        whole = loads.dtype.kind in "iu"
        loads = loads.astype(float)
    except (TypeError, ValueError):
        raise InputError("counts", counts, "must be numbers, experts along the last axis") from None
    if loads.ndim == 0 or not loads.shape[-1]:
        raise InputError("counts", counts, "must have one number per expert")
    if not np.isfinite(loads).all() or (loads < 0).any():
        raise InputError("counts", counts, "must be finite and not negative")
    if (loads.sum(axis=-1) == 0).any():
        raise InputError("counts", counts, "must have at least one token in every row")
    scale = int(np.frexp(loads.max())[1])
    return np.ldexp(loads, -scale), scale if whole else None


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
