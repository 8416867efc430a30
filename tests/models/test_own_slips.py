"""Slips in a model of one's own: each is an error of the library that names the class and the attribute."""

import re
from contextlib import nullcontext
from typing import ClassVar

import pytest
import sympy

from mlsysim import Q_, ExpertParallelModel, ServingModel
from mlsysim.book.examples import check_examples
from mlsysim.errors import FormulaError, InputError, MlsysimError, ModelError
from mlsysim.inputs.checks import check_arguments
from mlsysim.inputs.variant import Variant
from mlsysim.models import PerformanceModel, TrainingMemoryModel, every_model
from mlsysim.models.base import taken
from mlsysim.symbolic import Example, Formula, Requirement, Source, between, choice, label, nonnegative, variable

a = variable("slip_share", "a_{slip}", "", "A share.", between(0, 1))
b = variable("slip_amount", "b_{slip}", "GB", "An amount.")
y = variable("slip_answer", "y_{slip}", "GB", "An answer.")
f = Formula(y, b * (1 - a), title="An answer", source=Source("own"), no_example="a test")


def declared(**attributes):
    return type("Mine", (PerformanceModel,), {"__doc__": "Which?", "variants": {"v": (f,)}, **attributes})


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"variants": {"v": f}}, "Mine.variants['v']: must be a tuple of formulas, as in (formula,)"),
        ({"variants": (f,)}, "Mine.variants: must be a mapping from names"),
        ({"variants": {"v": ("y",)}}, "Mine.variants['v']: must be a tuple of formulas"),
        ({"variants": {"v": Variant(f)}}, "Mine.variants['v']: must be a tuple of formulas"),
        ({"variants": {}, "command": "mine"}, "Mine.variants: names no set of formulas"),
        ({"requirements": Requirement(a, a < 1, "")}, "Mine.requirements: must be a tuple of requirements"),
        ({"slots": {"hardware": 3}}, "Mine.slots['hardware']: must be a Slot"),
        ({"headline": 3}, "Mine.headline: must be a tuple of names"),
        ({"headline": ("nope",)}, "Mine.headline: unknown output of Mine 'nope'"),
        ({"headline": "slip_answer"}, "Mine.headline: must be a tuple of names"),
        ({"answer": "nope"}, "Mine.answer: unknown output of Mine 'nope'"),
        ({"defaults": {"nope": 3}}, "Mine.defaults: unknown input of Mine 'nope'"),
        ({"defaults": {"slip_share": 3}}, "Mine.defaults: slip_share=3: must be a finite number >= 0 and <= 1"),
        ({"defaults": {"slip_share": [3]}}, "Mine.defaults: slip_share=[3]"),
        ({"variants": {"v": Variant((f,), defaults={"slip_share": 3})}}, "Mine.variants['v'].defaults: slip_share=3"),
        ({"keywords": {"slip_share": 3}}, "Mine.defaults: slip_share=3: must be a finite number >= 0 and <= 1"),
        ({"keywords": {3: 3}}, "Mine.keywords: must be a tuple of names"),
        ({"example": {"nope": 3}}, "Mine.example: unknown argument of Mine 'nope'"),
        ({"example": {"variant": "w"}}, "Mine.example: unknown variant 'w'"),
        ({"variants": {"v": Variant((f,), example={"nope": 3})}}, "Mine.variants['v'].example: unknown argument of"),
        ({"example": 3}, "Mine.example: must be a mapping from names"),
    ],
)
def test_a_slip_in_a_class_names_the_class_and_the_attribute(attributes, said):
    with pytest.raises(ModelError, match=f"^{re.escape(said)}"):
        declared(**attributes)


def test_a_base_class_without_variants_is_allowed_and_says_so_when_it_is_used():
    base = type("Base", (PerformanceModel,), {})
    with pytest.raises(ModelError, match=r"Base\.variants: names no set of formulas"):
        base()


SMALL = (Requirement(y, y < 1, "must be small"),)


@pytest.mark.parametrize(
    "attributes", [{"requirements": SMALL}, {"variants": {"v": Variant((f,), requirements=SMALL)}}]
)
def test_a_requirement_on_what_is_computed_is_refused(attributes):
    said = "Mine, variant 'v': the requirement 'slip_answer must be small' is on slip_answer, which the formulas "
    with pytest.raises(ModelError, match=f"{said}compute; requirements are conditions on inputs"):
        declared(**attributes)


def test_keywords_may_stand_beside_their_defaults():
    model = declared(keywords={"slip_amount": ..., "slip_share": 0.25}, defaults={"slip_amount": 3})
    assert model.keywords == ("slip_amount", "slip_share")
    assert model.defaults == {"slip_amount": 3, "slip_share": 0.25}
    assert model().solve().slip_answer == Q_(2.25, "GB")


def test_a_requirement_on_an_output_is_refused_where_keywords_are_named_too():
    with pytest.raises(ModelError, match="requirements are conditions on inputs"):
        declared(keywords=("slip_share", "slip_amount"), requirements=(Requirement(a, a < y, "must be small"),))()


@pytest.mark.parametrize("name", ["method", "store", "top", "variant", "minimize", "maximize", "outputs", "refused",
                                  "subject_to", "client", "time_limit", "progress", "self", "output", "json", "help",
                                  "explain", "strict", "catalog", "block_points", "by"])  # fmt: skip
def test_an_input_called_like_a_word_of_the_verbs_is_refused(name):
    word = variable(name, "w", "GB", "A word.")
    other = Formula(y, word * (1 - a), title="An answer", source=Source("own"), no_example="a test")
    with pytest.raises(ModelError, match=f"Mine: no input can be called '{name}'"):
        declared(variants={"v": (other,)})


def test_no_argument_of_ours_is_such_a_word():
    assert not taken() & set(TrainingMemoryModel.arguments)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Requirement("slip_share", a < 1, ""), "'slip_share' is not the symbol"),
        (lambda: Requirement(a, True, ""), "True is not a condition"),
        (lambda: Requirement(a, a + 1, ""), "is not a condition"),
        (lambda: Requirement(b, a < 1, ""), "does not depend on it"),
        (lambda: Requirement(a, a < 1, "beside {slip_amount}"), "{slip_amount} in its text is no input"),
        (lambda: between(2, 1), "has no value from 2 to 1"),
        (lambda: between(0, float("nan")), "has no value from 0 to nan"),
        (lambda: choice(), "has no label"),
        (lambda: choice("x", "x"), "has a label twice"),
        (lambda: variable("slip_new", "", "GB", "New."), "latex='' must be a text"),
        (lambda: variable("slip_new", "n", "GB", " "), "description=' ' must be a text"),
        (lambda: Formula(y, b * sympy.Integer(2), title="", source=Source("own"), no_example="a test"), "title=''"),
    ],
)
def test_a_slip_in_what_a_model_is_made_of_is_an_error_of_the_library(make, said):
    with pytest.raises(FormulaError, match=re.escape(said)):
        make()
    assert issubclass(FormulaError, MlsysimError)


def worked(inputs, result, derived="1", symbol=y, right=None):
    example = Example(inputs, result, derived=derived)
    return Formula(
        symbol, b * (1 - a) if right is None else right, title="An answer", source=Source("own"), example=example
    )


@pytest.mark.parametrize(
    ("inputs", "result", "said"),
    [
        ({b: 3}, "3 GB", "its example gives slip_amount, but slip_answer needs slip_amount, slip_share"),
        ({b: 3, a: 0, y: 3}, "3 GB", "its example gives slip_amount, slip_answer, slip_share, but"),
        ({b: 3, a: 2}, "3 GB", "its example has slip_share=2, which must be a finite number >= 0 and <= 1"),
        ({b: 3, a: "0"}, "3 GB", "its example has slip_share='0', which must be"),
        ({b: 3, a: 0}, "3", "its example prints '3', but slip_answer is declared in GB"),
        ({b: 3, a: 0}, "3 s", "its example prints '3 s', but slip_answer is declared in GB"),
        ({b: 3, a: 0}, "3 nope", "nope"),
        ({b: 3, a: 0}, "three", "is not a number with a unit"),
    ],
)
def test_an_example_that_cannot_be_one_is_refused_where_it_is_declared(inputs, result, said):
    with pytest.raises(FormulaError, match=r"^formula for slip_answer: ") as refused:
        worked(inputs, result)
    assert said in str(refused.value)


def test_a_label_that_is_none_is_refused_as_a_result():
    kind = variable("slip_kind", "k_{slip}", "", "A kind.", choice("x", "y"))
    right = sympy.Piecewise((label(kind, "x"), a < 1), (label(kind, "y"), True))
    worked({a: 0}, "x", "0 < 1", kind, right)
    with pytest.raises(FormulaError, match="its example prints 'z', which must be one of x, y"):
        worked({a: 0}, "z", "0 < 1", kind, right)


@pytest.mark.parametrize(
    ("result", "derived", "said"),
    [
        ("1.6 GB", "3 * 0.5", "its example prints 1.6 GB, but the formula gives 1.5 GB"),
        ("1.5 GB", "3 * 0.6", "its example prints 1.5 GB, but '3 * 0.6' gives 1.79"),
        ("1.5 GB", "3 half", "but '3 half' is no arithmetic of plain numbers"),
        ("1.5 GB", "open('x')", "is no arithmetic of plain numbers"),
        ("1500 MB", "3000 * 0.5", ""),
        ("1.5 GB", "3 * 0.5", ""),
    ],
)
def test_the_book_tells_an_example_that_gives_something_else(result, derived, said):
    formula = worked({b: 3, a: 0.5}, result, derived)
    with pytest.raises(FormulaError) if said else nullcontext() as refused:
        check_examples([formula])
    assert said in str(refused and refused.value)


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.__name__)
def test_ours_have_no_argument_that_is_a_word_of_the_verbs(model):
    """What is checked of a model of one's own when its class is made."""
    check_arguments(model, taken())


#: What a model of one's own adds to one of ours.
ADDED = variable("own_reserve", r"M_{\mathrm{own}}", "GB", "Memory for something else.", nonnegative())
DOUBLED = variable("own_reserve_twice", r"M_{\mathrm{own},2}", "GB", "Twice that.", nonnegative())
TWICE = Formula(DOUBLED, 2 * ADDED, title="Twice", source=Source("own"), no_example="a test")


class OwnMemoryModel(TrainingMemoryModel):
    """What does training need with a reserve?"""

    variants = {"reserved": Variant((*TrainingMemoryModel().formulas, TWICE),
                                    requirements=TrainingMemoryModel.variants["first_order"].requirements)}  # fmt: skip


class OwnServingModel(ServingModel):
    """What does a deployment with a reserve give?"""

    variants = {**ServingModel.variants, "reserved": (*ServingModel("chunked_estimate").formulas, TWICE)}


class TestExtended:
    """A model that extends one of ours takes what its formulas need, and is told of no variant that it lacks."""

    given: ClassVar = {"model": "Llama3_8B", "hardware": "H100"}

    @pytest.mark.long(quick=1)
    @pytest.mark.parametrize(
        ("model", "given"), [(OwnMemoryModel(), {"batch_size": 8}), (OwnServingModel("reserved"), {"request_rate": 1})]
    )
    def test_an_input_of_its_formulas_is_an_argument(self, model, given):
        found = model.solve(**self.given, **given, own_reserve="3 GB")
        assert found.own_reserve_twice == Q_(6, "GB")
        assert "per_operator" not in " ".join(found.notes)
        with pytest.raises(InputError, match=r"needs own_reserve: give own_reserve=\.\.\.$"):
            model.solve(**self.given, **given)

    def test_another_variant_is_told_which_one_takes_it(self):
        with pytest.raises(InputError, match=r"the variant colocated does not use it; variant=reserved does$"):
            OwnServingModel().solve(**self.given, own_reserve=1)

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"lora_rank": 8}, "lora_rank=8: no variant of OwnMemoryModel uses it"),
            ({"ep_size": 4, "dp_size": 4, "model": "Mixtral_8x7B"}, "ep_size=4: must be 1 in this variant; nearest: 1"),
            ({"own_reserves": 1}, "unknown argument of OwnMemoryModel 'own_reserves': did you mean own_reserve?"),
        ],
    )
    def test_a_refusal_names_no_variant_that_it_lacks(self, changed, said):
        with pytest.raises(InputError) as caught:
            OwnMemoryModel().solve(**{**self.given, "batch_size": 8, "own_reserve": 1, **changed})
        assert str(caught.value) == said

    def test_an_unknown_that_no_variant_takes(self):
        with pytest.raises(InputError, match="unknown='lora_rank': no variant of OwnMemoryModel uses it"):
            OwnMemoryModel().solve_for("lora_rank", total_memory="80 GB", **self.given, batch_size=8)

    def test_a_recipe_that_was_run_by_another_variant_is_asked_by_its_own(self):
        recipe = "Megatron_DeepSeek_V3_B200_fp8"
        assert ExpertParallelModel().solve(recipe=recipe).model.variant == "per_operator"
        own = type("Own", (ExpertParallelModel,), {"variants": {"mine": ExpertParallelModel.variants["fsdp"]}})
        with pytest.raises(InputError) as caught:
            own().solve(recipe=recipe, pipeline_schedule="dualpipe")
        assert "per_operator" not in str(caught.value)
