"""Conditions on two axes that conditions of whole quotients imply, so that a box is ruled out before it is small.

Where ``fleet / (tp * pp)`` is whole, so is ``fleet / pp``, whatever ``tp`` is. Where ``batch / (d * g)`` is whole, too,
with ``d`` the first quotient, then their product is, in which the fleet cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from mlsysim.engine.bounds.forms import Condition, Forms, Term

#: Most pairs of values for which a condition is tabulated.
LARGEST_PAIRS = 1 << 20
#: How far from a whole number a quotient may be and still count as one, to be sure to drop no point that is accepted.
ROUNDING = 1e-6


def implied(forms: Forms, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """What some conditions imply for pairs of axes.

    Parameters
    ----------
    forms : Forms
        Where conditions are built.
    conditions : tuple of Condition
        What holds.

    Returns
    -------
    tuple of Condition
        Tables of truth values over two axes. Every point that meets the conditions meets them.
    """
    quotients = [c.args[0] for c in conditions if c.relation == "multiple"]
    products = [forms.multiply(a, b) for a, b in combinations(quotients, 2)]
    found = [
        condition
        for quotient in (*quotients, *products)
        if len(quotient.terms) == 1 and not quotient.terms[0].atoms
        for condition in _of_pairs(forms, quotient.terms[0])
    ]
    return tuple(dict.fromkeys(c for c in found if c is not forms.true and c not in conditions))


def _of_pairs(forms: Forms, quotient: Term) -> Iterator[Condition]:
    tables = {table.axis: table.values for table in quotient.tables}
    whole = {axis for axis, values in tables.items() if _divides(values)}
    for first, second in combinations(sorted(tables), 2):
        a, b = tables[first], tables[second]
        if not set(tables) - {first, second} <= whole or a.size * b.size > LARGEST_PAIRS:
            continue
        # A whole quotient stays whole when it is multiplied by what makes the table of another axis constant.
        scale = quotient.number * np.prod([tables[axis].max() for axis in tables if axis not in (first, second)])
        values = scale * a[:, None] * b[None, :]
        mask = np.abs(values - np.rint(values)) <= ROUNDING * np.maximum(1.0, np.abs(values))
        yield forms.pairs(first, second, mask)


def _divides(values: np.ndarray) -> bool:
    """Whether the greatest of some values is a whole multiple of each."""
    if not (np.isfinite(values).all() and (values > 0).all()):
        return False
    times = values.max() / values
    return bool((np.abs(times - np.rint(times)) <= 1e-9 * times).all())
