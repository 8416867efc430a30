"""Numbers that stand for many draws, at every point of a grid; draws that were refused are nan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlsysim.study.uncertainties.draws import Uncertain
from mlsysim.symbolic import variable_of

#: Deviations below this share of the mean are those of rounding.
ROUNDING = 1e-13


def mean_and_sd(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over the first axis; infinite where a draw is."""
    kept = ~np.isnan(values)
    count = np.maximum(kept.sum(axis=0), 1)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.where(kept, values, 0.0).sum(axis=0) / count
        variance = np.where(kept, (values - mean) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    finite = np.isfinite(mean)
    mean = np.where(kept.any(axis=0), mean, np.nan)
    sd = np.sqrt(np.where(finite, variance, 0.0))
    sd = np.where(sd > ROUNDING * np.abs(mean), sd, 0.0)
    return mean, np.where(finite, sd, np.where(np.isnan(mean), np.nan, np.inf))


def quantiles_of(values: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Quantiles over the first axis, between neighbours in proportion; infinite where a neighbour is."""
    ordered = np.sort(values, axis=0)
    last = np.maximum((~np.isnan(values)).sum(axis=0) - 1, 0)
    found = []
    for level in levels:
        place = level * last
        low = np.floor(place).astype(int)
        below = np.take_along_axis(ordered, low[np.newaxis], 0)[0]
        above = np.take_along_axis(ordered, np.minimum(low + 1, last)[np.newaxis], 0)[0]
        with np.errstate(invalid="ignore"):
            between = below + (above - below) * (place - low)
        found.append(np.where((below == above) | (place == low), below, between))
    return np.stack(found)


def infinite_share(values: np.ndarray) -> np.ndarray:
    """Share of the draws that were not refused in which an output is infinite."""
    return np.isinf(values).sum(axis=0) / np.maximum((~np.isnan(values)).sum(axis=0), 1)


def shares_of_codes(values: np.ndarray, codes: int) -> np.ndarray:
    """Share of the draws that were not refused with each code of a label, along a first axis of codes."""
    kept = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    return np.stack([(values == code).sum(axis=0) / kept for code in range(codes)])


def first_order(asked: Uncertain, outputs: Sequence[str]) -> Mapping[str, dict[str, np.ndarray]]:
    """Variance that each continuous input adds to each output, by the gradient at the means.

    Returns
    -------
    mapping
        Per output, per input: an array over the axes, in canonical units squared. Inputs that belong together share
        what their covariance adds. Empty where no input is continuous; nan where an output is not finite.
    """
    numbers = [each for each in asked.numbers if each.variable.domain.kind == "real"]
    if not (numbers or asked.joint) or not outputs:
        return {name: {} for name in outputs}
    centre = asked.central()
    values = asked.varied.values(centre)
    slopes = asked.varied.slopes(centre)
    found: dict[str, dict[str, np.ndarray]] = {}
    for name in outputs:
        parts: dict[str, np.ndarray] = {}
        for each in numbers:
            by = each.variable.name
            sd = centre[by] * each.sd / each.mean if each.factor else each.sd
            parts[by] = (slopes[by][name] * sd) ** 2
        if asked.joint:
            gradient = [slopes[by][name] for by in asked.joint.names]
            for row, by in enumerate(asked.joint.names):
                terms = zip(asked.joint.spread[row], gradient, strict=True)
                parts[by] = gradient[row] * np.sum([c * other for c, other in terms], axis=0)
        good = np.isfinite(values[name])
        found[name] = {by: asked.shaped(np.where(good, part, np.nan), 1)[0] for by, part in parts.items()}
    return found


def is_number(name: str) -> bool:
    """Tell whether a variable is a number, and no label or truth value."""
    return variable_of(name).domain.kind not in ("choice", "boolean")
