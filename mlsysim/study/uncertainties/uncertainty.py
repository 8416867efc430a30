"""Uncertainty of the outputs: many draws of the inputs through the compiled function."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mlsysim.catalog import Value
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.binding import bind_grid
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.recipe import FromRecipe
from mlsysim.inputs.spellings import own_name
from mlsysim.study.uncertainties.distributions import ARGUMENT, Distribution, FromCatalog, Uniform, read
from mlsysim.study.uncertainties.draws import read_uncertain, refuse_size, shares_of
from mlsysim.study.uncertainties.on_grid import on_grid
from mlsysim.study.uncertainties.report import Uncertainty
from mlsysim.study.uncertainties.sobol import indices
from mlsysim.study.uncertainties.statistics import is_number

#: Most and fewest draws.
MOST, FEWEST = 1 << 24, 16


def uncertainty(
    model: DeclaredModel,
    /,
    outputs: str | Iterable[str],
    *entries: Any,
    distributions: Any = None,
    covariance: Any = None,
    logs: bool = False,
    conditions: str | Iterable[str] = (),
    samples: int = 8192,
    seed: int = 0,
    quantiles: Iterable[float] = (0.05, 0.5, 0.95),
    first_order: bool = True,
    sobol: bool = False,
    **inputs: Any,
) -> Any:
    """Propagate distributions of inputs to the outputs, at a point or on a grid.

    Draws are those of a scrambled Sobol' sequence, which fills the space evenly; each is evaluated by the formulas. A
    distribution is truncated at the domain of its input, and the result reports the share cut off. Draws that ``solve``
    would refuse for another reason (sizes that do not divide) are ignored; their share is ``refused``.

    Parameters
    ----------
    outputs : str or iterable of str
        Names of outputs.
    distributions : mapping or "catalog"
        Distribution per input: one of ``mlsysim.distributions``, or its text: ``uniform(0.3, 0.5)``, ``normal(mean,
        sd)``, ``lognormal(median, factor)``, ``triangular(low, mode, high)``, ``relative(0.1)`` of the value in the
        call, ``choice(bf16, fp8)`` of labels, entries or whole numbers, ``catalog`` for the range that the source of a
        catalog value states; or a frozen distribution of scipy. The word ``"catalog"`` alone uses every such range. A
        calibration stands for its values with their covariance.
    covariance : mapping of mappings, pandas.DataFrame or xarray.DataArray, optional
        Covariance of jointly normal inputs, by names; in their units, around their values in the call.
    logs : bool
        The covariance is of the logarithms.
    conditions : str or iterable of str
        Conditions such as ``"total_memory <= memory_capacity"``, whose probabilities are computed.
    samples : int
        Number of draws, rounded up to a power of two.
    seed : int
        Seed of the draws.
    quantiles : iterable of float
        Levels between 0 and 1.
    first_order : bool
        Also compute the deviation to first order, from the gradient at the means.
    sobol : bool
        Also compute Sobol' indices (by SALib): the share of the variance due to each input.

    Returns
    -------
    Uncertainty or xarray.Dataset
        At a point: mean, deviation and quantiles of every output, and the deviation to first order. On a grid: a data
        set with a dimension ``quantile``.

    Raises
    ------
    InputError
        If a distribution does not fit its input, or an argument is refused.

    Examples
    --------
    >>> from mlsysim import KernelModel
    >>> shape = dict(product_rows=4096, product_columns=8192, product_inner=8192)
    >>> reached = {"efficiency": "uniform(0.7, 0.9)"}
    >>> found = KernelModel("roofline").uncertainty("kernel_time", "H100", **shape, distributions=reached)
    >>> print(f"{found['kernel_time'].mean:.3f}")
    0.702 ms
    """
    levels = _levels(quantiles)
    draws = _power_of_two(samples)
    _check_seed(seed)
    names = list(model.named_outputs(outputs))
    arguments = model.named_arguments(entries, inputs)
    if distributions is not None and hasattr(distributions, "covariance"):
        if covariance is not None:
            raise InputError("covariance", covariance, "is that of the calibration; give one of them")
        covariance, logs = distributions.covariance, bool(getattr(distributions, "logs", logs))
        arguments, distributions = {**arguments, **distributions.values}, None
    input_distributions = _read_distributions(model, arguments, distributions, names)
    if not input_distributions and covariance is None:
        raise InputError(ARGUMENT, distributions, "give the distribution of at least one input",
                         "as in distributions={'efficiency': 'uniform(0.3, 0.5)'}")  # fmt: skip
    uncertain_inputs = read_uncertain(model, arguments, input_distributions, names, covariance, logs)
    refuse_size(uncertain_inputs, draws)
    uncertain_inputs.refuse_others()
    texts = [conditions] if isinstance(conditions, str) else list(conditions)
    shares = shares_of(len(uncertain_inputs.names), draws, seed)
    if uncertain_inputs.sizes:
        if sobol:
            raise InputError(
                "sobol", True, f"is asked at one point: give one value of {', '.join(uncertain_inputs.axes)}"
            )
        return on_grid(model, uncertain_inputs, names, shares, levels, texts, first_order=first_order)
    sobol_indices = indices(uncertain_inputs, [name for name in names if is_number(name)], draws, seed) if sobol else {}
    return Uncertainty(model, uncertain_inputs, names, shares, levels, texts, sobol_indices, first_order=first_order)


def _read_distributions(
    model: DeclaredModel, arguments: Mapping[str, Any], distributions: Any, outputs: list[str]
) -> dict[str, Distribution]:
    """Read the distribution of each input; look up those of the catalog."""
    if distributions is None:
        return {}
    if isinstance(distributions, str):
        if distributions.strip() != "catalog":
            raise InputError(ARGUMENT, distributions, "must be a mapping from inputs to distributions, or 'catalog'")
        ranges = _ranges(model, arguments, outputs)
        if not ranges:
            raise InputError(ARGUMENT, distributions, "no input of this call has a range in the catalog")
        return dict(ranges)
    if not isinstance(distributions, Mapping):
        raise InputError(ARGUMENT, distributions, "must be a mapping from inputs to distributions, or 'catalog'")
    distributions = {own_name(name, type(model).arguments): typed for name, typed in distributions.items()}
    for name in distributions:
        if name not in model.arguments and name not in type(model).arguments:
            raise UnknownNameError(f"argument of {type(model).__name__}", name, model.arguments)
    read_distributions = {name: read(name, typed) for name, typed in distributions.items()}
    from_catalog = [name for name, distribution in read_distributions.items() if isinstance(distribution, FromCatalog)]
    if from_catalog:
        ranges = _ranges(model, arguments, outputs)
        for name in from_catalog:
            if name not in ranges:
                allowed = "has no range in the catalog"
                known = f"those with one: {', '.join(ranges)}" if ranges else "no input of this call has one"
                raise InputError(f"{ARGUMENT}[{name!r}]", "catalog", allowed, known)
            read_distributions[name] = ranges[name]
    return read_distributions


def _ranges(model: DeclaredModel, arguments: Mapping[str, Any], outputs: list[str]) -> dict[str, Distribution]:
    """Return the ranges that the catalog states for inputs that the outputs depend on."""
    binding = bind_grid(model, arguments)
    needed = {variable.name for variable in binding.system.closure(outputs).inputs}
    ranges: dict[str, Distribution] = {}
    for name, origin in binding.origins.items():
        value = origin.origin if isinstance(origin, FromRecipe) else origin
        if name in needed and isinstance(value, Value) and value.range is not None:
            ranges[name] = Uniform(*value.range)
    return ranges


def _levels(quantiles: Any) -> tuple[float, ...]:
    try:
        levels = tuple(sorted({float(level) for level in quantiles}))
    except (TypeError, ValueError):
        levels = ()
    if not levels or not all(0 <= level <= 1 for level in levels):
        raise InputError("quantiles", quantiles, "must be numbers between 0 and 1", "as in (0.05, 0.5, 0.95)")
    return levels


def _power_of_two(samples: Any) -> int:
    whole = isinstance(samples, int | np.integer) and not isinstance(samples, bool)
    if not whole or not FEWEST <= samples <= MOST:
        raise InputError("samples", samples, f"must be a whole number from {FEWEST} to {MOST:,}")
    return 1 << math.ceil(math.log2(int(samples)))


def _check_seed(seed: Any) -> None:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < 2**32:
        raise InputError("seed", seed, "must be a whole number from 0 below 2**32")
