"""LaTeX and generated source of whole models."""

import ast

import pytest

from mlsysim import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import UnknownNameError

MODELS = (TrainingMemoryModel(), ServingCapacityModel(), MoERoutingModel())
EVERY = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@EVERY
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_source_has_one_line_per_formula_in_order(model, backend):
    """And others, of what several share and of functions that are searched, which begin with an underscore.

    A formula that says no more than another one's name has no line; the other is returned in its place.
    """
    (function,) = ast.parse(model.source_code(backend)).body
    *lines, returned = function.body
    assert function.name == "compiled"
    assert [arg.arg for arg in function.args.args] == [v.name for v in model.inputs]
    names = [line.targets[0].id for line in lines if isinstance(line, ast.Assign)]
    same = {formula.name: formula.members[0].expression for formula in model.formulas}
    same = {name: value.name for name, value in same.items() if value.is_Symbol}
    assert [name for name in names if not name.startswith("_")] == [
        formula.name for formula in model.formulas if formula.name not in same
    ]
    assert [name.id for name in returned.value.elts] == [
        same.get(formula.name, formula.name) for formula in model.formulas
    ]


@EVERY
def test_source_names_only_what_stands_before(model):
    (function,) = ast.parse(model.source_code()).body
    known = {arg.arg for arg in function.args.args}
    neutral = {
        "maximum", "minimum", "ceil", "floor", "exp", "log", "erlang_c", "least_integer", "inf", "nan", "divided",
        "power", "lawful",
    }  # fmt: skip
    for line in function.body[:-1]:
        used = {node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        if isinstance(line, ast.FunctionDef):
            own = {node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            assert used - neutral <= own | {arg.arg for arg in line.args.args}
            known.add(line.name)
        else:
            assert used - neutral <= known
            known.add(line.targets[0].id)


def test_source_runs_by_itself():
    """What is printed is what is computed."""
    import numpy as np

    model = MoERoutingModel()
    space = {"minimum": min, "divided": lambda a, b: a / b}
    exec(model.source_code(), space)
    found = model.solve("Mixtral_8x7B", "Research_256", batch_size=4, ep_size=8, routing_imbalance_factor=1.25)
    values = space["compiled"](**{v.name: found.canonical(v.name) for v in model.inputs})
    np.testing.assert_allclose(values, [found.canonical(formula.name) for formula in model.formulas], rtol=1e-15)


@pytest.mark.parametrize("backend", ["torch", "", None, ["numpy"]])
def test_an_unknown_backend_is_refused(backend):
    with pytest.raises(UnknownNameError, match=r"^unknown backend "):
        TrainingMemoryModel().source_code(backend)


def test_latex_of_a_model_in_full():
    assert MoERoutingModel().latex("token_dispatch_bytes").splitlines()[2:] == [
        r"h_{\mathrm{e}} &= \begin{cases} r_{\mathrm{moe}} & \text{if}\ r_{\mathrm{moe}} > 0 \\ "
        r"h & \text{otherwise} \end{cases} \\",
        r"k_{\mathrm{eff}} &= \min\left(E, k \gamma\right) \\",
        r"M_{\mathrm{rt}} &= h_{\mathrm{e}} s q b k_{\mathrm{eff}} \\",
        r"M_{\mathrm{disp}} &= \frac{M_{\mathrm{rt}} \left(e - 1\right)}{e}",
        r"\end{align*}",
    ]


@EVERY
@pytest.mark.parametrize("units", [False, True])
def test_latex_has_one_aligned_row_per_formula(model, units):
    rows = model.latex(units=units).splitlines()
    assert (rows[0], rows[-1]) == (r"\begin{align*}", r"\end{align*}")
    assert len(rows) - 2 == len(model.formulas)
    for row, formula in zip(rows[1:-1], model.formulas, strict=True):
        assert row.startswith(f"{formula.variable.latex} &= ")
        assert row.endswith(r" \\") is (formula is not model.formulas[-1])
        assert row.count("{") == row.count("}")


def test_latex_with_units_prints_them():
    assert r"\,\mathrm{byte}" in TrainingMemoryModel().latex(units=True)
    assert "mathrm{byte}" not in TrainingMemoryModel().latex()


@EVERY
def test_latex_of_one_output_has_only_what_it_needs(model):
    output = model.headline[0]
    needed = model.system.closure([output])
    assert len(model.latex(output).splitlines()) - 2 == len(needed)


@EVERY
def test_latex_for_a_notebook(model):
    text = model._repr_latex_()
    assert text.startswith(r"$$\begin{aligned}")
    assert text.endswith(r"\end{aligned}$$")


@pytest.mark.parametrize("name", ["nonsense", None, 3, ["weights"]])
def test_latex_of_an_unknown_output_is_refused(name):
    if name is None:
        assert TrainingMemoryModel().latex(None) == TrainingMemoryModel().latex()
        return
    with pytest.raises(UnknownNameError, match=r"^unknown output of TrainingMemoryModel "):
        TrainingMemoryModel().latex(name)
