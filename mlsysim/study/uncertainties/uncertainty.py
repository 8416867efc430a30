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
from mlsysim.study.uncertainties.draws import refuse_size, shares_of, uncertain
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

    Draws are those of a scrambled Sobol' sequence, which fills the space evenly. Each goes through the formulas.
    A distribution is cut off at the domain of its input, and the result says which share of it. Draws that ``solve``
    would refuse for another reason (sizes that do not divide) count for nothing; their share is ``refused``.

    Parameters
    ----------
    outputs : str or iterable of str
        Names of outputs.
    distributions : mapping or "catalog"
        Per input a distribution of ``mlsysim.distributions`` or its text: ``uniform(0.3, 0.5)``, ``normal(mean, sd)``,
        ``lognormal(median, factor)``, ``triangular(low, mode, high)``, ``relative(0.1)`` of the value held,
        ``choice(bf16, fp8)`` of labels, entries or whole numbers, ``catalog`` for the range that the source of a
        catalog value states; or a frozen distribution of scipy. The word ``"catalog"`` alone takes every such range.
        A calibration stands for its values with their covariance.
    covariance : mapping of mappings, pandas.DataFrame or xarray.DataArray, optional
        Of inputs that are normal together, by names; in their units, around the values held.
    logs : bool
        Whether it is the covariance of the logarithms.
    conditions : str or iterable of str
        Such as ``"total_memory <= memory_capacity"``: the probability of each is part of the answer.
    samples : int
        Number of draws, rounded up to a power of two.
    seed : int
        The same one gives the same draws.
    quantiles : iterable of float
        Between 0 and 1.
    first_order : bool
        Whether to set beside it what the gradient at the means gives.
    sobol : bool
        Whether to compute Sobol' indices as well (by SALib): the share of the variance that each input has.

    Returns
    -------
    Uncertainty or xarray.Dataset
        At a point, mean, deviation and quantiles of every output, beside the deviation to first order;
        on a grid a data set with a dimension ``quantile``.

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
    given = _given(model, arguments, distributions, names)
    if not given and covariance is None:
        raise InputError(ARGUMENT, distributions, "give the distribution of at least one input",
                         "as in distributions={'efficiency': 'uniform(0.3, 0.5)'}")  # fmt: skip
    asked = uncertain(model, arguments, given, names, covariance, logs)
    refuse_size(asked, draws)
    asked.refuse_others()
    texts = [conditions] if isinstance(conditions, str) else list(conditions)
    shares = shares_of(len(asked.names), draws, seed)
    if asked.sizes:
        if sobol:
            raise InputError("sobol", True, f"is asked at one point: give one value of {', '.join(asked.axes)}")
        return on_grid(model, asked, names, shares, levels, texts, first_order=first_order)
    found = indices(asked, [name for name in names if is_number(name)], draws, seed) if sobol else {}
    return Uncertainty(model, asked, names, shares, levels, texts, found, first_order=first_order)


def _given(
    model: DeclaredModel, arguments: Mapping[str, Any], distributions: Any, outputs: list[str]
) -> dict[str, Distribution]:
    """Distributions by input, with those of the catalog looked up."""
    if distributions is None:
        return {}
    if isinstance(distributions, str):
        if distributions.strip() != "catalog":
            raise InputError(ARGUMENT, distributions, "must be a mapping from inputs to distributions, or 'catalog'")
        found = _ranges(model, arguments, outputs)
        if not found:
            raise InputError(ARGUMENT, distributions, "no input of this call has a range in the catalog")
        return dict(found)
    if not isinstance(distributions, Mapping):
        raise InputError(ARGUMENT, distributions, "must be a mapping from inputs to distributions, or 'catalog'")
    distributions = {own_name(name, type(model).arguments): each for name, each in distributions.items()}
    for name in distributions:
        if name not in model.arguments and name not in type(model).arguments:
            raise UnknownNameError(f"argument of {type(model).__name__}", name, model.arguments)
    given = {name: read(name, each) for name, each in distributions.items()}
    asked = [name for name, each in given.items() if isinstance(each, FromCatalog)]
    if asked:
        ranges = _ranges(model, arguments, outputs)
        for name in asked:
            if name not in ranges:
                allowed = "has no range in the catalog"
                known = f"those with one: {', '.join(ranges)}" if ranges else "no input of this call has one"
                raise InputError(f"{ARGUMENT}[{name!r}]", "catalog", allowed, known)
            given[name] = ranges[name]
    return given


def _ranges(model: DeclaredModel, arguments: Mapping[str, Any], outputs: list[str]) -> dict[str, Distribution]:
    """The ranges that the catalog states of inputs which outputs depend on."""
    binding = bind_grid(model, arguments)
    needed = {variable.name for variable in binding.system.closure(outputs).inputs}
    found: dict[str, Distribution] = {}
    for name, origin in binding.origins.items():
        value = origin.origin if isinstance(origin, FromRecipe) else origin
        if name in needed and isinstance(value, Value) and value.range is not None:
            found[name] = Uniform(*value.range)
    return found


def _levels(quantiles: Any) -> tuple[float, ...]:
    try:
        found = tuple(sorted({float(each) for each in quantiles}))
    except (TypeError, ValueError):
        found = ()
    if not found or not all(0 <= each <= 1 for each in found):
        raise InputError("quantiles", quantiles, "must be numbers between 0 and 1", "as in (0.05, 0.5, 0.95)")
    return found


def _power_of_two(samples: Any) -> int:
    whole = isinstance(samples, int | np.integer) and not isinstance(samples, bool)
    if not whole or not FEWEST <= samples <= MOST:
        raise InputError("samples", samples, f"must be a whole number from {FEWEST} to {MOST:,}")
    return 1 << math.ceil(math.log2(int(samples)))


def _check_seed(seed: Any) -> None:
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < 2**32:
        raise InputError("seed", seed, "must be a whole number from 0 below 2**32")
