"""Distributions of inputs, truncated at their domains: from cumulative shares to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.errors import InputError
from mlsysim.study.uncertainties.distributions import Distribution, Relative
from mlsysim.symbolic import Variable, variable_of

#: Cumulative shares at which mean and deviation of a truncated distribution are computed.
SHARES = (np.arange(1 << 14) + 0.5) / (1 << 14)
#: Smallest distance of a draw from the ends of a distribution, as a share.
TINY = 2.0**-53
#: Most negative eigenvalue, per input, of a correlation matrix that still counts as positive semidefinite.
NEGATIVE = -1e-9


@dataclass(frozen=True)
class Placed:
    """Truncated distribution of one numeric input.

    Attributes
    ----------
    variable : Variable
        Variable of the input.
    distribution : Distribution
        Distribution as given.
    frozen : object
        Frozen distribution of scipy, in the unit of the variable.
    below, above : float
        Shares of it below and above the domain of the variable, which are cut off.
    mean, sd : float
        Mean and standard deviation of the truncated distribution, in canonical units.
    factor : bool
        True if it multiplies a value that varies over a grid; mean and deviation are then of the factor.
    """

    variable: Variable
    distribution: Distribution
    frozen: Any = field(repr=False)
    below: float
    above: float
    mean: float = 0.0
    sd: float = 0.0
    factor: bool = False

    @property
    def outside(self) -> float:
        """Share of the distribution outside the domain, which is cut off."""
        return self.below + self.above

    def at(self, shares: np.ndarray) -> np.ndarray:
        """Return the canonical values at cumulative shares of the distribution."""
        cumulative = np.clip(self.below + shares * (1 - self.below - self.above), TINY, 1 - TINY)
        values = np.asarray(self.frozen.ppf(cumulative), float)
        return values if self.factor else np.asarray(units.to_canonical(values, self.variable.unit))


def placed(variable: Variable, distribution: Distribution, current: Any) -> Placed:
    """Truncate a distribution at the domain of a variable.

    Parameters
    ----------
    variable : Variable
        Variable whose values it describes.
    distribution : Distribution
        Distribution as given.
    current : float or ndarray
        Value in the call, in canonical units; nan without one, several along an axis.

    Raises
    ------
    InputError
        If most of it lies outside the domain, or it has no finite mean or deviation.
    """
    if np.ndim(current) and isinstance(distribution, Relative):
        frozen = distribution.frozen(variable, 1.0)
        return Placed(variable, distribution, frozen, float(frozen.cdf(0)), 0.0, 1.0, float(frozen.std()), factor=True)
    current = np.nan if np.ndim(current) else current
    frozen = distribution.frozen(variable, units.from_canonical(current, variable.unit))
    domain = variable.domain
    if domain.kind == "integer" and not (distribution.whole or hasattr(frozen.dist, "pmf")):
        raise distribution.refused(variable, "is no distribution of a whole number: give choice or uniform")
    lowest = domain.lower - 1 if domain.kind == "integer" else domain.lower
    below, above = float(frozen.cdf(lowest)), float(1 - frozen.cdf(domain.upper))
    if not below + above <= 0.5:
        raise distribution.refused(variable, f"lies mostly outside of what is allowed: {domain.describe()}")
    truncated = Placed(variable, distribution, frozen, below, above)
    if below + above > 0:
        values = truncated.at(SHARES)
        mean, sd = float(np.mean(values)), float(np.std(values))
    else:
        mean, sd = (float(units.to_canonical(float(moment), variable.unit)) for moment in (frozen.mean(), frozen.std()))
    if not (np.isfinite(mean) and np.isfinite(sd) and np.isfinite(truncated.at(np.array([TINY, 1 - TINY]))).all()):
        raise distribution.refused(variable, "has no finite mean and deviation")
    return Placed(variable, distribution, frozen, below, above, mean, sd)


@dataclass(frozen=True)
class Correlated:
    """Jointly normal inputs, or inputs whose logarithms are jointly normal.

    Attributes
    ----------
    names : tuple of str
        Names of the inputs.
    centre : ndarray
        Their means in canonical units; for logarithms, the logarithms of their medians.
    covariance : ndarray
        Covariance in canonical units, or of the logarithms.
    logs : bool
        True if the logarithms are normal.
    """

    names: tuple[str, ...]
    centre: np.ndarray
    covariance: np.ndarray
    logs: bool

    def at(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """Compute canonical values per input from cumulative shares of independent normals, a column each."""
        from scipy import stats

        values, vectors = np.linalg.eigh(self._correlations)
        root = vectors * np.sqrt(np.clip(values, 0, None))
        drawn = self.centre + (stats.norm.ppf(np.clip(shares, TINY, 1 - TINY)) @ root.T) * self._sd
        return dict(zip(self.names, (np.exp(drawn) if self.logs else drawn).T, strict=True))

    @property
    def _sd(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))

    @property
    def _correlations(self) -> np.ndarray:
        """Correlation matrix, since variances in canonical units may differ by many powers of ten."""
        return self.covariance / np.outer(self._sd, self._sd)

    @property
    def mean(self) -> np.ndarray:
        """Values at the centre, in canonical units."""
        return np.exp(self.centre) if self.logs else self.centre

    @property
    def spread(self) -> np.ndarray:
        """Covariance of the values to first order, in canonical units."""
        return self.covariance * np.outer(self.mean, self.mean) if self.logs else self.covariance


def correlated(covariance: Any, current: Mapping[str, Any], logs: bool) -> Correlated:
    """Read jointly normal inputs from a covariance.

    Parameters
    ----------
    covariance : mapping of mappings, pandas.DataFrame or xarray.DataArray
        Covariance by the names of two inputs; in the units of the inputs, or of their logarithms.
    current : mapping
        Canonical value of each input, the centre.
    logs : bool
        The covariance is of logarithms.

    Raises
    ------
    InputError
        If the matrix is no covariance.
    """
    names, matrix = named_matrix(covariance)
    missing = [name for name in names if not (np.ndim(current.get(name, np.nan)) == 0 and np.isfinite(current[name]))]
    if missing:
        raise InputError("covariance", missing[0], "needs one value of this input to stand around")
    for name in names:
        if variable_of(name).domain.kind != "real":
            raise InputError("covariance", name, "is no continuous input")
    centre = np.array([float(current[name]) for name in names])
    if logs:
        if not (centre > 0).all():
            raise InputError("covariance", names[int(np.argmin(centre))], "of logarithms needs values above zero")
        return Correlated(names, np.log(centre), matrix, logs)
    scale = np.array([units.factor(variable_of(name).unit) for name in names])
    return Correlated(names, centre, matrix * np.outer(scale, scale), logs)


def named_matrix(covariance: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """Check a covariance; return its names and numbers."""
    if hasattr(covariance, "to_pandas"):
        covariance = covariance.to_pandas()
    try:
        if hasattr(covariance, "columns"):
            names = tuple(covariance.columns)
            matrix = np.asarray(covariance.loc[list(names), list(names)], float)
        else:
            names = tuple(covariance)
            matrix = np.array([[covariance[row][column] for column in names] for row in names], float)
    except (TypeError, KeyError, ValueError, IndexError):
        raise InputError("covariance", covariance, "must hold a number per pair of inputs, by their names") from None
    is_symmetric = bool(names) and np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-6, atol=0)
    if not is_symmetric or not (np.diag(matrix) > 0).all():
        raise InputError("covariance", covariance, "must be symmetric, finite, and above zero on its diagonal")
    sd = np.sqrt(np.diag(matrix))
    if np.linalg.eigvalsh(matrix / np.outer(sd, sd)).min() < NEGATIVE * len(names):
        raise InputError("covariance", covariance, "is no covariance: a combination of inputs has a negative variance")
    return names, matrix
