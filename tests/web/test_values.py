"""Printed formulas run by Node give the numbers of NumPy, in every variant."""

from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from fuzz import is_long
from study.points import POINTS
from web.drawn import drawn
from web.node import evaluated, has_node, run

import mlsysim
from mlsysim import ServingCapacityModel
from mlsysim.backends import compiled
from mlsysim.backends.javascript import Functions
from mlsysim.models import every_model
from mlsysim.symbolic import LeastInteger, Root
from mlsysim.web.formulas import PrintedModel

RUNTIME = (Path(mlsysim.__file__).parent / "web" / "runtime.js").read_text(encoding="utf-8")
#: Points of a variant: without queues and roots, and with them.
QUICK, LONG = (40, 8), (400, 60)
#: What may differ, as a share of a number; and over how far NumPy's own number moves by its rounding.
SAME, UNSURE = 1e-12, 16
#: Below the least normal number digits are lost.
TINY = np.finfo(float).tiny
#: Ways in which exponentials and logarithms are rounded: all up, all down, by turns.
ROUNDINGS = ((np.inf,), (-np.inf,), (np.inf, -np.inf), (-np.inf, np.inf))


@pytest.fixture(scope="module")
def functions():
    if reason := has_node():
        pytest.skip(reason)
    return Functions()


def rounded(function, towards):
    """A compiled function whose exponentials and logarithms are rounded to the next number, towards each of some."""
    space, turns = dict(function.raw.__globals__), cycle(towards)
    for name in ("exp", "log", "normal_cdf", "normal_quantile"):
        space[name] = lambda x, exact=space[name]: float(np.nextafter(exact(x), next(turns)))
    raw = function.on(space)
    return lambda values: dict(zip(function.outputs, raw(*(values[name] for name in function.inputs)), strict=True))


def counted(kind):
    """A model of many formulas, or with many roots, takes long to draw and print."""
    marks = [pytest.mark.long] if kind.__name__ in ("EconomicsModel", "MemoryExpansionModel", "ServingModel") else []
    return pytest.param(kind, marks=marks, id=kind.__name__)


@pytest.mark.parametrize("kind", [counted(kind) for kind in every_model()])
def test_javascript_gives_the_numbers_of_numpy(kind, functions, tmp_path):
    printed = PrintedModel(kind, functions)
    rng = np.random.default_rng(20261123)
    chosen, cases = [], []
    for variant, places in printed.variants.items():
        model = kind(variant)
        slow = any(formula.expression.has(Root, LeastInteger) for formula in model.system)
        system, points = drawn(model, (LONG if is_long() else QUICK)[slow], rng)
        here = [(place, formula) for place, formula in zip(places, model.system, strict=True) if formula.name in system]
        chosen.append((variant, system, points, [formula for _, formula in here]))
        cases.append(([place for place, _ in here], points))
    answers = evaluated(RUNTIME + printed.script(), cases, tmp_path)
    for (variant, system, points, formulas), found in zip(chosen, answers, strict=True):
        function = compiled(system)
        for row, answer in enumerate(found):
            values = {name: float(array[row]) for name, array in points.items()}
            wanted = numbers(function, values, formulas)
            off = ~alike(answer, wanted, SAME * np.abs(wanted) + TINY)
            if off.any():
                moved = [numbers(rounded(function, towards), values, formulas) for towards in ROUNDINGS]
                off &= ~alike(answer, wanted, SAME * np.abs(wanted) + UNSURE * largest(moved, wanted))
            wrong = [f"{f.name}: {a} for {w}" for f, a, w, o in zip(formulas, answer, wanted, off, strict=True) if o]
            assert not wrong, f"{variant} at {values}"


def numbers(function, values, formulas):
    given = function(values)
    return np.array([float(given[formula.name]) for formula in formulas])


def alike(found, wanted, within):
    """Equal, both no number, or near; whole numbers, truth values and infinities are never near."""
    with np.errstate(invalid="ignore"):
        return (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | (np.abs(found - wanted) <= within)


def largest(moved, wanted):
    """How far a number moves at most."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.fmax.reduce([np.abs(each - wanted) for each in moved]), posinf=np.inf)


def test_the_source_of_a_whole_model_runs(functions, tmp_path):
    model = ServingCapacityModel("prefill_aware")
    result = model.solve(**POINTS["ServingCapacityModel", "prefill_aware"])
    given = ", ".join(repr(result.canonical(v.name)) for v in model.inputs)
    answer = run(f"{RUNTIME}{model.source_code('javascript')}console.log(compiled({given}).join())", tmp_path)
    wanted = [result.canonical(formula.name) for formula in model.formulas]
    found = [{"true": 1, "false": 0}.get(text, text) for text in answer.strip().split(",")]
    np.testing.assert_allclose(np.array(found, float), wanted, rtol=SAME)
