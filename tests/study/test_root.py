"""Roots of equations where a user meets them: results, grids, explanations, sensitivities, searches."""

import numpy as np
import pytest
import sympy

from mlsysim import Q_, PerformanceModel, Root, evaluated_at, variable
from mlsysim.errors import InputError
from mlsysim.symbolic import Formula, NormalCDF, NormalQuantile, Source, nonnegative, positive, when

SOURCE = {"title": "test", "source": Source("own"), "no_example": "a test"}
number = variable("loop_number", "n", "count", "Requests inside.", nonnegative())
rate = variable("loop_rate", r"\lambda", "1/s", "Arrivals.", positive())
least = variable("loop_least", r"t_{0}", "s", "Time of one alone.", positive())
slope = variable("loop_slope", "a", "s", "Time that one more adds.", positive())
slots = variable("loop_slots", "s", "count", "Most inside.", positive())
spent = variable("loop_time", "t", "s", "Time inside.", nonnegative())
late = variable("loop_late", "p", "count", "Share that is late.", nonnegative())
spread = variable("loop_spread", "z", "count", "Spread of the share.", positive())

time = Formula(spent, sympy.Max(least, slope * (1 + number)), **SOURCE)


class LoopModel(PerformanceModel):
    """How many are inside?"""

    variants = {
        "one": (
            Formula(
                number, Root(number, number / evaluated_at(spent, {number: number}, [time]), rate, 0, slots), **SOURCE
            ),
            time,
            Formula(
                late, when(number > 0, NormalCDF(NormalQuantile(sympy.Rational(1, 10)) + number / spread), 0), **SOURCE
            ),
        )
    }


MODEL = LoopModel()
BENT = {"loop_rate": 4.0, "loop_least": 0.5, "loop_slope": 0.2, "loop_slots": 50, "loop_spread": 8}


def inside(rate, least, slope, slots):
    """In closed form: one case where the time does not depend on the number, and one where it does."""
    flat = rate * least
    if flat > least / slope - 1:
        flat = rate * slope / (1 - rate * slope) if rate * slope < 1 else np.inf
    return min(flat, slots)


def arguments(**given):
    return {name.removeprefix("loop_"): value for name, value in given.items() if name != "loop_spread"}


def test_a_result_and_why():
    found = MODEL.solve(**BENT)
    assert found.loop_number == pytest.approx(4)
    assert found.loop_time.to("s").magnitude == pytest.approx(1)
    text = " ".join(str(found.explain()).split())
    assert "n = {n in [0, s] : n/t(n) = λ} = 4.00 n = 4.00, where both sides are 4.00 1/s" in text
    assert "p = {Φ(n/z + Φ⁻¹(1/10)) if n > 0; 0 otherwise} = Φ(4.00/8.00 + Φ⁻¹(1/10))" in text


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"loop_rate": 9.0}, "n = 50.00, the upper end: n/t(n) = 4.90 1/s is less than 9.00 1/s there"),
        ({"loop_rate": 1.0}, "n = 0.500, where both sides are 1.000 1/s"),
    ],
)
def test_an_explanation_says_where_the_root_lies(changed, says):
    assert says in " ".join(str(MODEL.solve(**BENT | changed).explain()).split())


def test_a_grid_is_that_of_the_closed_form():
    rates, slopes = np.linspace(0.5, 12, 24), np.array([0.01, 0.1, 0.3])
    grid = MODEL.sweep(**BENT | {"loop_rate": rates, "loop_slope": slopes}, outputs="loop_number")
    expected = [[inside(**arguments(**BENT | {"loop_rate": r, "loop_slope": a})) for a in slopes] for r in rates]
    np.testing.assert_allclose(grid.loop_number, expected, rtol=1e-12)


def test_sensitivities_are_those_of_the_closed_form():
    table = MODEL.sensitivity("loop_number", **BENT)
    gradient = {row.name: row.gradient for row in table.rows}
    assert gradient["loop_slope"].magnitude == pytest.approx(4 / (1 - 0.8) ** 2, rel=1e-9)
    assert gradient["loop_rate"].to("s").magnitude == pytest.approx(0.2 / (1 - 0.8) ** 2, rel=1e-9)
    assert gradient.get("loop_least", Q_(0, "1/s")).magnitude == 0


def test_a_derivative_in_closed_form_is_refused():
    with pytest.raises(InputError) as refused:
        MODEL.derivative("loop_time", "loop_rate")
    assert "loop_number has no derivative by it in closed form" in str(refused.value)
    assert MODEL.derivative("loop_time", "loop_spread").expression == 0


def test_an_input_is_solved_for():
    found = MODEL.solve_for("loop_rate", loop_number=9, **{k: v for k, v in BENT.items() if k != "loop_rate"})
    assert float(found.value.to("1/s").magnitude) == pytest.approx(4.5, rel=1e-9)


def test_regimes_are_those_of_the_time():
    found = MODEL.regimes("loop_rate", output="loop_time", **BENT | {"loop_rate": np.linspace(0.5, 4.9, 45)})
    assert [part.split()[-1] for part in str(found).splitlines()[3:5]] == ["3.00", "4.90"]


@pytest.mark.parametrize(
    "goal", [{"minimize": "loop_number + 3 / loop_slots"}, {"maximize": "loop_number / loop_spread"}]
)
def test_a_search_finds_what_a_grid_has(goal):
    axes = {"loop_rate": [1, 2, 4, 6], "loop_slope": [0.05, 0.1, 0.2], "loop_slots": [2, 8, 50], "loop_spread": [3, 7]}
    limits = ["loop_number >= 1.5", "loop_late <= 0.9"]
    found = MODEL.search(**BENT | axes, **goal, subject_to=limits)
    grid = MODEL.sweep(**BENT | axes)
    kept = (grid.loop_number >= 1.5) & (grid.loop_late <= 0.9)
    value = (grid.loop_number + 3 / grid.loop_slots) if "minimize" in goal else -grid.loop_number / grid.loop_spread
    best = float(value.where(kept).min())
    assert found.objectives[0][0] == pytest.approx(best if "minimize" in goal else -best, rel=1e-9)
