"""Statistics over draws, at every point of a grid; refused draws are nan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlsysim.study.uncertainties.draws import Uncertain
from mlsysim.symbolic import variable_of

#: Deviations below this share of the mean are due to rounding.
ROUNDING = 1e-13


def mean_and_sd(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute mean and standard deviation over the first axis; infinite if a draw is."""
    accepted = ~np.isnan(values)
    count = np.maximum(accepted.sum(axis=0), 1)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.where(accepted, values, 0.0).sum(axis=0) / count
        variance = np.where(accepted, (values - mean) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    finite = np.isfinite(mean)
    mean = np.where(accepted.any(axis=0), mean, np.nan)
    sd = np.sqrt(np.where(finite, variance, 0.0))
    sd = np.where(sd > ROUNDING * np.abs(mean), sd, 0.0)
    return mean, np.where(finite, sd, np.where(np.isnan(mean), np.nan, np.inf))


def quantiles_of(values: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Compute quantiles over the first axis by linear interpolation; infinite if a neighbour is."""
    ordered = np.sort(values, axis=0)
    last = np.maximum((~np.isnan(values)).sum(axis=0) - 1, 0)
    quantiles = []
    for level in levels:
        position = level * last
        low = np.floor(position).astype(int)
        below = np.take_along_axis(ordered, low[np.newaxis], 0)[0]
        above = np.take_along_axis(ordered, np.minimum(low + 1, last)[np.newaxis], 0)[0]
        with np.errstate(invalid="ignore"):
            interpolated = below + (above - below) * (position - low)
        quantiles.append(np.where((below == above) | (position == low), below, interpolated))
    return np.stack(quantiles)


def infinite_share(values: np.ndarray) -> np.ndarray:
    """Return the share of accepted draws in which an output is infinite."""
    return np.isinf(values).sum(axis=0) / np.maximum((~np.isnan(values)).sum(axis=0), 1)


def shares_of_codes(values: np.ndarray, codes: int) -> np.ndarray:
    """Return the share of accepted draws with each code of a label, along a first axis of codes."""
    accepted = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    return np.stack([(values == code).sum(axis=0) / accepted for code in range(codes)])


def first_order(uncertain_inputs: Uncertain, outputs: Sequence[str]) -> Mapping[str, dict[str, np.ndarray]]:
    """Compute the variance that each continuous input adds to each output, from the gradient at the means.

    Returns
    -------
    mapping
        Arrays over the axes per output and input, in canonical units squared. Correlated inputs share what their
        covariance adds. Empty if no input is continuous; nan where an output is not finite.
    """
    numbers = [number for number in uncertain_inputs.numbers if number.variable.domain.kind == "real"]
    if not (numbers or uncertain_inputs.joint) or not outputs:
        return {name: {} for name in outputs}
    centre = uncertain_inputs.central()
    values = uncertain_inputs.varied.values(centre)
    slopes = uncertain_inputs.varied.slopes(centre)
    variances: dict[str, dict[str, np.ndarray]] = {}
    for name in outputs:
        parts: dict[str, np.ndarray] = {}
        for number in numbers:
            by = number.variable.name
            sd = centre[by] * number.sd / number.mean if number.factor else number.sd
            parts[by] = (slopes[by][name] * sd) ** 2
        if uncertain_inputs.joint:
            gradient = [slopes[by][name] for by in uncertain_inputs.joint.names]
            for row, by in enumerate(uncertain_inputs.joint.names):
                terms = zip(uncertain_inputs.joint.spread[row], gradient, strict=True)
                parts[by] = gradient[row] * np.sum([c * other for c, other in terms], axis=0)
        finite = np.isfinite(values[name])
        variances[name] = {
            by: uncertain_inputs.shaped(np.where(finite, variance, np.nan), 1)[0] for by, variance in parts.items()
        }
    return variances


def is_number(name: str) -> bool:
    """Tell whether a variable is a number rather than a label or a truth value."""
    return variable_of(name).domain.kind not in ("choice", "boolean")
