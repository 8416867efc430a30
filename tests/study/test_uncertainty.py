"""What uncertain inputs make of the outputs: against distributions in closed form, and against solve draw by draw."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import mlsysim
from mlsysim import (
    Formula,
    KernelModel,
    PerformanceModel,
    ServingCapacityModel,
    TrainingMemoryModel,
    distributions,
    variable,
)
from mlsysim.errors import InputError, UnitError, UnknownNameError
from mlsysim.symbolic import Domain

PRODUCT = {
    "hardware": "H100",
    "stack": "cuBLAS_H100",
    "product_rows": 4096,
    "product_columns": 8192,
    "product_inner": 8192,
}
MEMORY = {"model": "Llama3_8B", "hardware": "H100", "dp_size": 8, "batch_size": 64}
ANY = Domain()

x = [variable(f"unc_x{place}", f"x_{{{place}}}", "", "An input.", ANY) for place in range(1, 5)]
y = variable("unc_y", r"y_{\mathrm{U}}", "", "An output.", ANY)


def model_of(expression, inputs):
    """A model of a user's own with one formula."""
    formula = Formula(
        y, expression, title="A test function", source=mlsysim.Source("own"), no_example="A test function."
    )

    class Own(PerformanceModel):
        """What is y?"""

        variants = {"only": (formula,)}

    return Own(), [f"unc_x{place}" for place in range(1, inputs + 1)]


class TestAgainstClosedForms:
    def test_a_sum_of_normals(self):
        model, names = model_of(3 * x[0] - 2 * x[1] + 5, 2)
        found = model.uncertainty("unc_y", distributions={names[0]: "normal(1, 0.5)", names[1]: "normal(-2, 0.25)"})
        sd = math.hypot(3 * 0.5, 2 * 0.25)
        assert found.unc_y.mean == pytest.approx(12, abs=1e-3 * sd)
        assert found.unc_y.sd == pytest.approx(sd, rel=1e-3)
        for level, value in found.unc_y.quantiles.items():
            assert value == pytest.approx(stats.norm(12, sd).ppf(level), abs=1e-2 * sd)
        assert found.probability("unc_y <= 12.5") == pytest.approx(stats.norm(12, sd).cdf(12.5), abs=2e-3)
        assert found.unc_y.first_order == pytest.approx(sd, rel=1e-12)
        assert found.unc_y.ratio == pytest.approx(1, rel=1e-3)
        assert found.unc_y.parts == pytest.approx({names[0]: 0.9, names[1]: 0.1})

    def test_a_product_of_lognormals(self):
        model, names = model_of(x[0] / x[1], 2)
        given = {names[0]: "lognormal(8, 1.2)", names[1]: "lognormal(2, 1.1)"}
        found = model.uncertainty("unc_y", distributions=given, quantiles=[0.1, 0.9])
        expected = stats.lognorm(math.hypot(math.log(1.2), math.log(1.1)), scale=4)
        assert found.unc_y.interval == pytest.approx((expected.ppf(0.1), expected.ppf(0.9)), rel=2e-3)
        assert found.unc_y.mean == pytest.approx(expected.mean(), rel=1e-3)
        assert found.unc_y.sd == pytest.approx(expected.std(), rel=5e-3)

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("uniform(2, 6)", stats.uniform(2, 4)),
            (distributions.Triangular(1, 2, 5), stats.triang(0.25, 1, 4)),
            ("relative(0.1)", stats.norm(4, 0.4)),
            (stats.gamma(3, scale=2), stats.gamma(3, scale=2)),
        ],
    )
    def test_an_input_comes_out_as_it_went_in(self, given, expected):
        model, names = model_of(x[0], 1)
        found = model.uncertainty("unc_y", distributions={names[0]: given}, first_order=False, unc_x1=4.0)
        assert found.unc_y.mean == pytest.approx(expected.mean(), rel=1e-3)
        assert found.unc_y.sd == pytest.approx(expected.std(), rel=5e-3)
        assert stats.kstest(found.draws("unc_y"), expected.cdf).statistic < 2e-3

    def test_inputs_that_belong_together(self):
        model, names = model_of(x[0] + 2 * x[1], 2)
        covariance = np.array([[0.04, 0.03], [0.03, 0.09]])
        named = {row: dict(zip(names, line, strict=True)) for row, line in zip(names, covariance, strict=True)}
        found = model.uncertainty("unc_y", covariance=named, unc_x1=1.0, unc_x2=2.0)
        sd = math.sqrt(0.04 + 4 * 0.03 + 4 * 0.09)
        assert found.unc_y.sd == pytest.approx(sd, rel=2e-3)
        assert found.unc_y.first_order == pytest.approx(sd, rel=1e-12)
        assert sum(found.unc_y.parts.values()) == pytest.approx(1)
        assert "Inputs are correlated: shares of variance may be negative" in repr(found)
        drawn = np.cov(found.draws("unc_x1"), found.draws("unc_x2"))
        assert drawn == pytest.approx(covariance, rel=0.01)

    def test_logarithms_that_belong_together_in_every_form(self):
        import pandas
        import xarray

        model, names = model_of(x[0] * x[1], 2)
        frame = pandas.DataFrame([[0.01, -0.008], [-0.008, 0.01]], index=names, columns=names)
        array = xarray.DataArray(frame.to_numpy(), dims=("row", "column"), coords={"row": names, "column": names})
        answers = [
            model.uncertainty("unc_y", covariance=each, logs=True, unc_x1=3.0, unc_x2=2.0) for each in (frame, array)
        ]
        assert answers[0].unc_y.sd == answers[1].unc_y.sd
        expected = stats.lognorm(math.sqrt(0.004), scale=6)
        assert answers[0].unc_y.sd == pytest.approx(expected.std(), rel=5e-3)
        assert answers[0].unc_y.quantiles[0.5] == pytest.approx(6, rel=1e-3)


class TestSobol:
    def test_ishigami(self):
        """Its sines are inputs with the distribution of a sine, so that the indices are those of the textbook."""
        a, b = 7, 0.1
        model, names = model_of(x[0] + a * x[1] ** 2 + b * x[2] ** 4 * x[0], 3)
        sine = stats.arcsine(-1, 2)
        given = {names[0]: sine, names[1]: sine, names[2]: distributions.Uniform(-math.pi, math.pi)}
        found = model.uncertainty("unc_y", distributions=given, sobol=True, samples=8192, first_order=False).sobol[
            "unc_y"
        ]
        whole = a**2 / 8 + b * math.pi**4 / 5 + b**2 * math.pi**8 / 18 + 0.5
        alone = 0.5 * (1 + b * math.pi**4 / 5) ** 2
        both = b**2 * math.pi**8 * (1 / 18 - 1 / 50)
        first = [alone / whole, a**2 / 8 / whole, 0]
        total = [(alone + both) / whole, a**2 / 8 / whole, both / whole]
        assert [found[name].first for name in names] == pytest.approx(first, abs=0.01)
        assert [found[name].total for name in names] == pytest.approx(total, abs=0.01)
        assert all(abs(found[n].total - t) <= 2 * found[n].total_error for n, t in zip(names, total, strict=True))

    def test_g_function(self):
        from sympy import Abs, prod

        weights = [0, 1, 4.5, 9]
        model, names = model_of(prod((Abs(4 * v - 2) + w) / (1 + w) for v, w in zip(x, weights, strict=True)), 4)
        given = dict.fromkeys(names, "uniform(0, 1)")
        found = model.uncertainty("unc_y", distributions=given, sobol=True, samples=8192, first_order=False).sobol[
            "unc_y"
        ]
        parts = [1 / (3 * (1 + w) ** 2) for w in weights]
        whole = math.prod(1 + each for each in parts) - 1
        total = [each * math.prod(1 + other for other in parts if other is not each) / whole for each in parts]
        assert [found[name].first for name in names] == pytest.approx([each / whole for each in parts], abs=0.01)
        assert [found[name].total for name in names] == pytest.approx(total, abs=0.01)
        assert [row.name for row in found] == names

    def test_it_needs_independent_inputs_and_every_draw(self):
        model, names = model_of(x[0] + x[1], 2)
        with pytest.raises(InputError, match="needs independent inputs"):
            model.uncertainty("unc_y", covariance={names[0]: {names[0]: 1.0}}, sobol=True, unc_x1=1.0, unc_x2=1.0)
        with pytest.raises(InputError, match="are refused"):
            TrainingMemoryModel().uncertainty(
                "total_memory", distributions={"tp_size": "choice(1, 2, 3)"}, sobol=True, **MEMORY
            )


class TestAsSolve:
    def test_draws_are_those_of_solve(self):
        model = KernelModel()
        given = {
            "memory_efficiency": "uniform(0.8, 0.95)",
            "peak_flops": "relative(0.05)",
            "precision": "choice(bf16, fp8)",
        }
        found = model.uncertainty(
            ["kernel_time", "ridge_point"], distributions=given, samples=16, first_order=False, **PRODUCT
        )
        shares, rates = found.draws("memory_efficiency"), found.draws("peak_flops")
        times = {round(float(each), 12) for each in found.draws("kernel_time").to("s").magnitude}
        solved = set()
        for share, rate in zip(shares, rates, strict=True):
            for precision in ("bf16", "fp8"):
                at = {**PRODUCT, "memory_efficiency": float(share), "peak_flops": rate, "precision": precision}
                solved.add(round(model.solve(**at).canonical("kernel_time"), 12))
        assert times <= solved

    def test_entries_and_labels_with_weights(self):
        model = KernelModel()
        chosen = distributions.Choice(["A100", "H100"], weights=[1, 3])
        found = model.uncertainty("kernel_time", distributions={"hardware": chosen}, **PRODUCT)
        at = [model.solve(**{**PRODUCT, "hardware": name}).kernel_time.to("ms").magnitude for name in ("A100", "H100")]
        assert found.kernel_time.mean.to("ms").magnitude == pytest.approx(0.25 * at[0] + 0.75 * at[1], rel=1e-3)
        assert found.kernel_time.quantiles[0.5].to("ms").magnitude == pytest.approx(at[1], rel=1e-12)
        assert found.kernel_time.first_order is None

    def test_whole_numbers_are_equally_likely(self):
        found = TrainingMemoryModel().uncertainty(
            "total_memory",
            distributions={"batch_size": "uniform(1, 4)"},
            **{**MEMORY, "batch_size": None, "dp_size": 1},
        )
        drawn = np.unique(found.draws("batch_size"), return_counts=True)
        assert drawn[0].tolist() == [1, 2, 3, 4]
        assert np.ptp(drawn[1]) <= 2

    def test_draws_that_solve_refuses_count_for_nothing(self):
        found = TrainingMemoryModel().uncertainty(
            "total_memory", distributions={"tp_size": "choice(1, 2, 3, 4)"}, **MEMORY
        )
        assert found.refused == pytest.approx(0.25, abs=1e-3)
        assert "25.00% of the draws are refused" in repr(found)
        assert np.isfinite(found.total_memory.mean.magnitude)

    def test_where_most_draws_are_refused_it_is_said_first(self):
        found = TrainingMemoryModel().uncertainty(
            "total_memory", distributions={"tp_size": "choice(1, 3, 5, 7)"}, **MEMORY
        )
        assert repr(found).splitlines()[1].startswith(f"Warning: {found.refused:.2%} of the draws are refused")
        assert repr(found).count("are refused") == found._repr_html_().count("are refused") == 1

    def test_an_infinite_output_is_an_answer(self):
        given = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "max_replicas": 2}
        found = ServingCapacityModel().uncertainty(
            "estimated_p99_latency",
            distributions={"qps": "uniform(1, 200)"},
            conditions=["feasible"],
            first_order=False,
            **given,
        )
        spread = found.estimated_p99_latency
        assert 0 < spread.infinite < 1
        assert math.isinf(spread.mean.magnitude)
        assert math.isinf(spread.quantiles[0.95].magnitude)
        assert math.isfinite(spread.quantiles[0.05].magnitude)
        assert 0 < found.probabilities["feasible"] < 1

    def test_labels_and_truth_values_are_shares(self):
        found = TrainingMemoryModel().uncertainty(
            ["feasible", "total_memory"], distributions={"batch_size": "uniform(1, 512)"}, **{**MEMORY, "dp_size": 1}
        )
        shares = found.feasible.shares
        assert shares[True] == pytest.approx(found.probability("total_memory <= memory_capacity"))
        assert sum(shares.values()) == pytest.approx(1)

    def test_a_recipe_gives_what_is_held(self):
        model = mlsysim.DistributedModel()
        name = "DeepSeek_V3_2048_H800"
        solved = model.solve(recipe=name)
        found = model.uncertainty(
            "step_time", distributions={"peak_flops": "relative(0.001)"}, first_order=False, recipe=name
        )
        assert found.model.variant == solved.model.variant
        assert found.step_time.mean.to("s").magnitude == pytest.approx(solved.step_time.to("s").magnitude, rel=1e-3)


class TestTruncation:
    def test_what_is_outside_is_cut_off_and_said(self):
        found = KernelModel().uncertainty(
            "kernel_time", distributions={"efficiency": "normal(0.95, 0.05)"}, first_order=False, **PRODUCT
        )
        outside = stats.norm(0.95, 0.05).sf(1)
        assert found.outside == {"efficiency": pytest.approx(outside)}
        assert found.refused == 0
        assert found.draws("efficiency").max() <= 1
        kept = stats.truncnorm(-np.inf, 1, 0.95, 0.05)
        assert found.draws("efficiency").mean() == pytest.approx(kept.mean(), abs=1e-4)
        assert "15.87% of the distribution is outside" in repr(found)

    def test_correlated_draws_outside_are_left_out(self):
        covariance = {"efficiency": {"efficiency": 0.05**2}}
        found = KernelModel().uncertainty(
            "kernel_time", covariance=covariance, efficiency=0.95, first_order=False, **PRODUCT
        )
        assert found.refused == pytest.approx(stats.norm(0.95, 0.05).sf(1), abs=2e-3)
        assert found.draws("efficiency").max() <= 1


class TestCatalog:
    def test_ranges_of_the_catalog(self):
        found = KernelModel().uncertainty("kernel_time", distributions="catalog", first_order=False, **PRODUCT)
        assert found.inputs["flop_energy"] == "uniform(0.185 pJ/FLOP, 0.223 pJ/FLOP)"
        one = KernelModel().uncertainty(
            "kernel_time", distributions={"flop_energy": "catalog"}, first_order=False, **PRODUCT
        )
        assert [*one.inputs] == ["flop_energy"]
        assert one.draws("flop_energy").to("pJ/FLOP").magnitude.min() >= 0.185

    def test_what_has_no_range(self):
        with pytest.raises(InputError, match="has no range in the catalog; those with one: flop_energy"):
            KernelModel().uncertainty("kernel_time", distributions={"peak_flops": "catalog"}, **PRODUCT)
        with pytest.raises(InputError, match="no input of this call has a range"):
            TrainingMemoryModel().uncertainty("total_memory", distributions="catalog", **MEMORY)


def test_a_calibration_stands_for_its_values_and_their_covariance():
    model = KernelModel()
    given = {"hardware": "H100", "product_columns": 8192, "product_inner": 8192}
    measured = ((16, 0.049), (64, 0.05), (128, 0.052), (512, 0.105), (1024, 0.19), (4096, 0.74))
    rows = [{"product_rows": size, "kernel_time": f"{time} ms"} for size, time in measured]
    found = model.calibrate(["flop_energy", "memory_efficiency"], rows, **given)
    answer = model.uncertainty("kernel_time", distributions=found, product_rows=2048, first_order=False, **given)
    drawn = answer.draws("flop_energy")
    assert float(drawn.mean() / found.values["flop_energy"]) == pytest.approx(1, abs=1e-3)
    assert float(drawn.std() / found.errors["flop_energy"]) == pytest.approx(1, rel=0.01)


class TestGrid:
    def test_a_grid_is_the_points_one_by_one(self):
        model = KernelModel()
        grid = {**PRODUCT, "hardware": ["A100", "H100"], "product_rows": [128, 4096]}
        given = {
            "peak_flops": "relative(0.1)",
            "precision": "choice(bf16, fp16)",
            "memory_efficiency": "uniform(0.7, 0.9)",
        }
        options = {"distributions": given, "samples": 256, "conditions": "kernel_time < 100 us"}
        ds = model.uncertainty(["kernel_time", "kernel_bottleneck"], **options, **grid)
        assert ds.kernel_time.dims == ("quantile", "hardware", "product_rows")
        assert ds.kernel_time.attrs["units"] == "ms"
        # The rate is below the line: a tenth of it either way makes the drawn deviation 1 to 4% larger.
        assert ds.kernel_time_first_order_sd.values == pytest.approx(ds.kernel_time_sd.values, rel=0.05)
        for place, name in enumerate(grid["hardware"]):
            one = model.uncertainty("kernel_time", first_order=False, **options, **{**PRODUCT, "hardware": name})
            at = ds.isel(hardware=place).sel(product_rows=4096)
            assert at.kernel_time.values == pytest.approx([v.magnitude for v in one.kernel_time.quantiles.values()])
            assert float(at.kernel_time_mean) == pytest.approx(one.kernel_time.mean.magnitude)
            assert float(at.kernel_time_sd) == pytest.approx(one.kernel_time.sd.magnitude, rel=1e-9)
            assert float(at.probability[0]) == one.probabilities["kernel_time < 100 us"]

    def test_refused_draws_of_a_grid(self):
        given = {**MEMORY, "model": ["GPT2_XL", "Llama3_8B"]}
        ds = TrainingMemoryModel().uncertainty("total_memory", distributions={"tp_size": "choice(1, 5)"}, **given)
        assert ds.refused_share.values == pytest.approx([0, 0.5], abs=1e-2)


class TestRefused:
    model = KernelModel()

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"eficiency": "uniform(0, 1)"}, "did you mean efficiency"),
            ({"efficiency": "unifrm(0, 1)"}, "did you mean uniform"),
            ({"efficiency": "uniform(0.5)"}, "takes uniform\\(low, high\\)"),
            ({"efficiency": "uniform(0.6, 0.5)"}, "from a lower value to a higher"),
            ({"efficiency": "uniform(nan, 0.5)"}, "from a lower value to a higher"),
            ({"efficiency": "normal(0.5, 0)"}, "deviation above zero"),
            ({"efficiency": "normal(5, 1)"}, "lies mostly outside of what is allowed"),
            ({"efficiency": "uniform(0, inf)"}, "lies mostly outside|no finite"),
            ({"efficiency": 0.5}, "must be one of uniform"),
            ({"efficiency": "0.5"}, "must read as one of"),
            ({"precision": "uniform(0, 1)"}, "a choice is choice"),
            ({"hardware": "normal(0, 1)"}, "a choice is choice"),
            ({"product_rows": "normal(100, 1)"}, "no distribution of a whole number"),
            ({"product_rows": "uniform(1.5, 2)"}, "from a whole number"),
            ({"precision": "choice(bf16, bf17)"}, "did you mean"),
            ({"precision": "choice()"}, "must be a list"),
            ({"precision": "choice([bf16, fp8], [0, 0])"}, "not all zero"),
            ({"kernel_time": "uniform(1 ms, 2 ms)"}, "unknown argument"),
            ({}, "give the distribution of at least one input"),
            (None, "give the distribution of at least one input"),
            ("catalogue", "or 'catalog'"),
            ([1], "must be a mapping"),
        ],
    )
    def test_a_distribution(self, given, said):
        with pytest.raises(InputError, match=said):
            self.model.uncertainty("kernel_time", distributions=given, **PRODUCT)

    def test_a_unit_of_another_dimension(self):
        with pytest.raises(UnitError, match="is not a unit of"):
            self.model.uncertainty("kernel_time", distributions={"memory_bandwidth": "uniform(1 GB, 2 GB)"}, **PRODUCT)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"samples": 3}, "samples=3"),
            ({"samples": True}, "samples=True"),
            ({"seed": -1}, "seed=-1"),
            ({"quantiles": [1.5]}, "between 0 and 1"),
            ({"quantiles": []}, "between 0 and 1"),
            ({"conditions": "kernel_time"}, "is no condition"),
            ({"conditions": "kernel_tim < 1 ms"}, "did you mean kernel_time"),
            ({"efficiency": [0.5, 0.6]}, "is uncertain: give it no axis"),
            ({"covariance": {"efficiency": {"efficiency": 1e-4}}}, "is in the covariance too"),
        ],
    )
    def test_an_option(self, options, said):
        given = {"distributions": {"efficiency": "uniform(0.5, 0.6)"}, **PRODUCT, **options}
        with pytest.raises(InputError, match=said):
            self.model.uncertainty("kernel_time", **given)

    @pytest.mark.parametrize(
        ("covariance", "said"),
        [
            ({"efficiency": {"efficiency": -1.0}}, "above zero on its diagonal"),
            ({"efficiency": 1.0}, "a number per pair"),
            (
                {row: {by: 1.0 if row == by else 2.0 for by in ("efficiency", "flop_energy")}
                 for row in ("efficiency", "flop_energy")},
                "negative variance",
            ),
            ({"product_rows": {"product_rows": 1.0}}, "no continuous input"),
        ],
    )  # fmt: skip
    def test_a_covariance(self, covariance, said):
        with pytest.raises(InputError, match=said):
            self.model.uncertainty("kernel_time", covariance=covariance, **PRODUCT)

    def test_every_draw(self):
        with pytest.raises(InputError, match=r"every draw is refused.*what may refuse it"):
            TrainingMemoryModel().uncertainty("total_memory", distributions={"tp_size": "choice(3, 5)"}, **MEMORY)

    def test_names(self):
        found = self.model.uncertainty("kernel_time", distributions="catalog", first_order=False, **PRODUCT)
        with pytest.raises(UnknownNameError):
            found["kernel_rate"]
        with pytest.raises(UnknownNameError):
            self.model.uncertainty("kernel_tim", distributions="catalog", **PRODUCT)


class TestShown:
    found = KernelModel().uncertainty(
        ["kernel_time", "kernel_bottleneck"], distributions="catalog", sobol=True, samples=64, **PRODUCT
    )

    def test_text_fits_the_page(self):
        assert max(map(len, repr(self.found).splitlines())) <= 100
        assert "Sobol' indices of kernel_time" in repr(self.found)
        assert self.found._repr_html_().count("<table>") == 4

    def test_long_units_stand_apart(self):
        given = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000, "qps": 20, "tdp": 700}
        options = {"distributions": {"price": "uniform(20000, 40000)"}, "quantiles": [0.01, 0.05, 0.5, 0.95, 0.99]}
        found = mlsysim.EconomicsModel("owned_serving").uncertainty(
            "cost_per_token", first_order=False, **options, **given
        )
        assert max(map(len, repr(found).splitlines())) <= 100
        assert "USD/Mtoken" in repr(found)

    def test_plain_data(self):
        plain = json.loads(self.found.to_json())
        assert plain["outputs"]["kernel_time"]["unit"] == "ms"
        assert plain["sobol"]["kernel_time"]["flop_energy"]["total"] > 0.9

    def test_the_same_seed_gives_the_same_draws(self):
        again = KernelModel().uncertainty("kernel_time", distributions="catalog", samples=64, **PRODUCT)
        other = KernelModel().uncertainty("kernel_time", distributions="catalog", samples=64, seed=1, **PRODUCT)
        assert again.kernel_time == self.found.kernel_time
        assert other.kernel_time.mean != self.found.kernel_time.mean

    def test_figures(self):
        pytest.importorskip("matplotlib")
        from mlsysim import plot

        for kind in ("histogram", "cumulative"):
            assert plot.spread(self.found, kind=kind).get_xlabel() == "Kernel time [ms]"
        with pytest.raises(InputError, match="is no number"):
            plot.spread(self.found, "kernel_bottleneck")
