"""Conditions on fewer axes that follow from conditions on whole quotients, to rule out boxes before they are small.

Where ``fleet / (tp * pp)`` is whole, so is ``fleet / pp``, whatever ``tp`` is. Where ``batch / (d * g)`` is whole, too,
with ``d`` the first quotient, then their product is, in which the fleet cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from mlsysim.bounds.forms import Condition, Forms, Term

#: Most pairs of values for which a condition is tabulated.
LARGEST_PAIRS = 1 << 20
#: Most axes of which every choice is left out of a condition.
MOST_LEFT_OUT = 4
#: Largest distance of a quotient from a whole number that still counts as whole, so that no accepted point is dropped.
ROUNDING = 1e-6
#: Largest relative distance of the quotient of two values of an axis from a whole number that still counts as whole.
EXACT = 1e-9


def implied(forms: Forms, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Derive conditions on fewer axes.

    Parameters
    ----------
    forms : Forms
        Builds conditions.
    conditions : tuple of Condition
        Conditions that hold.

    Returns
    -------
    tuple of Condition
        Tables of truth values over two axes, and whole quotients of three or more. Every point that meets the
        conditions meets them.
    """
    quotients = [c.args[0] for c in conditions if c.relation == "multiple"]
    products = [forms.multiply(a, b) for a, b in combinations(quotients, 2)]
    plain = [q.terms[0] for q in (*quotients, *products) if len(q.terms) == 1 and not q.terms[0].atoms]
    derived = [condition for term in plain for condition in _of_pairs(forms, term)]
    derived += [condition for term in plain[: len(quotients)] for condition in _of_fewer(forms, term)]
    return tuple(dict.fromkeys(c for c in derived if c is not forms.true and c not in conditions))


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


def _of_fewer(forms: Forms, quotient: Term) -> Iterator[Condition]:
    """Quotients that stay whole whatever the values of some axes are, if more than two axes are left."""
    whole = [table for table in quotient.tables if _divides(table.values)][:MOST_LEFT_OUT]
    for count in range(1, min(len(whole), len(quotient.tables) - 3) + 1):
        for out in combinations(whole, count):
            others = tuple(table for table in quotient.tables if table not in out)
            scale = float(np.prod([table.values.max() for table in out]))
            yield forms.condition("multiple", forms.one(Term(quotient.number * scale, others, ())))


def _divides(values: np.ndarray) -> bool:
    """True if the greatest of some values is a whole multiple of each."""
    if not (np.isfinite(values).all() and (values > 0).all()):
        return False
    times = values.max() / values
    return bool((np.abs(times - np.rint(times)) <= EXACT * times).all())
