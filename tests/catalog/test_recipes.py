"""Recipes: published runs in the catalog, and of one's own."""

import pickle
import re

import pytest
from validation.step_rows import RECIPES, ROWS, name, seconds, stack_of

from mlsysim import Q_, DistributedModel, ExpertParallelModel, Models, Recipe, Recipes, TrainingMemoryModel
from mlsysim.catalog import Choice, Value, builtin, load_catalog
from mlsysim.errors import CatalogError, InputError, UnknownNameError

STEP, MEMORY = DistributedModel(), TrainingMemoryModel("per_operator")
MINE = """
[Recipes.Night]
name = "A night on two nodes"
source = "https://example.org/run"
date = 2026-01-01
kind = "measured"
model = "Models.Language.Llama3_8B"
fleet = "Systems.Clusters.SuperPOD_H100"
fleet_size = 16
batch_size = { value = 32, note = "Two on each." }
seq_len = 4096
precision = "bf16"
zero_stage = 3
master_weights = true
fabric_latency = "8 µs"
"""
#: What rows do not know, and steps follow from.
KEPT = ("weight_dtype", "layers_last_stage")


def load(tmp_path, text=MINE):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return load_catalog(file)


@pytest.mark.parametrize("key", RECIPES)
def test_a_recipe_is_the_row_that_was_published(key):
    """The rows know neither what is kept nor biases and norms of queries, of which those of experts take time."""
    row = next(row for row in ROWS if name(row) == RECIPES[key])
    kept = {name: word.value for name, word in Recipes[key].values().items() if name in KEPT}
    ours = STEP.solve(recipe=key)
    theirs = seconds(row, stack=stack_of(row), **kept, expert_bias=bool(ours.expert_bias))
    assert ours.canonical("step_time") == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("key", list(Recipes))
def test_every_recipe_answers_both_questions_with_one_memory(key):
    step, memory = STEP.solve(recipe=key), MEMORY.solve(recipe=key)
    assert set(step.left_out) <= {"fsdp_prefetch"}, "streams are those of ExpertParallelModel"
    assert memory.canonical("total_memory") == step.canonical("total_memory")
    assert memory.dp_size == step.dp_size
    assert "stack" not in memory.left_out


@pytest.mark.parametrize("key", list(Recipes))
def test_a_run_fits_the_devices_that_ran_it(key):
    assert MEMORY.solve(recipe=key).feasible


@pytest.mark.parametrize(
    ("key", "published", "within"), [("Megatron_Mixtral_8x7B_H100", 468e12, 0.15), ("DeepSeek_V3_2048_H800", 0, 0.3)]
)
def test_what_was_published_of_runs_that_calibrate_nothing(key, published, within):
    """FLOP/s of a device by the count of causal products, and DeepSeek's tokens per second."""
    found = STEP.solve(recipe=key)
    if published:
        ours = found.canonical("model_flops") / found.canonical("step_time") / found.fleet_size
        assert ours == pytest.approx(published, rel=within)
    else:
        assert found.canonical("tokens_per_second_per_accelerator") == pytest.approx(1543, rel=within)


def test_the_run_of_the_issue_needs_what_was_reported():
    """Under FSDP without expert parallelism, where nothing is fitted."""
    found = ExpertParallelModel().solve(recipe="torchtitan_issue_1624")
    assert found.canonical("total_memory") / 2**30 == pytest.approx(84.57, rel=0.01)
    assert found.left_out == ()


def test_a_recipe_of_ones_own(tmp_path):
    night = load(tmp_path).Recipes.Night
    assert night.model is Models.Language.Llama3_8B
    assert isinstance(night.values()["seq_len"], Value)
    assert night.values()["precision"] == Choice(
        value="bf16", source="https://example.org/run", date="2026-01-01", kind="measured"
    )
    assert night.values()["batch_size"].note == "Two on each."
    assert night.values()["fabric_latency"].canonical == pytest.approx(8e-6)
    assert night.text("master_weights") == "yes"
    assert str(night) == (
        "<Recipe A night on two nodes: model=Llama3_8B, fleet=SuperPOD_H100, fleet_size=16, batch_size=32, "
        "seq_len=4096, precision=bf16, zero_stage=3, master_weights=yes, fabric_latency=8 µs>"
    )
    assert STEP.solve(recipe=night).fleet_size == 16
    assert MEMORY.solve(recipe=night).dp_size == 16


def test_it_falls_back_on_the_built_in_ones(tmp_path):
    assert load(tmp_path).find("recipe", "DeepSpeed_MoE") is Recipes.DeepSpeed_MoE


def test_a_recipe_made_by_hand():
    made = Recipe(name="Mine", model=Models.Language.Llama3_8B, arguments={"batch_size": 8, "precision": "bf16"})
    assert made.values()["batch_size"].kind == "user"
    found = MEMORY.solve(recipe=made, hardware="H100")
    assert str(found.origin("batch_size")) == "recipe Mine: 8 (user: given by the caller)"
    port = Recipe(name="Mine", arguments={"fabric_bandwidth": Q_(400, "Gbit/s"), "fabric_latency": "8 µs"}).values()
    assert (port["fabric_bandwidth"].canonical, port["fabric_latency"].canonical) == pytest.approx((50e9, 8e-6))


def test_copies_pickle_with_their_words():
    again = pickle.loads(pickle.dumps(Recipes.DeepSeek_V3_2048_H800))
    assert again == Recipes.DeepSeek_V3_2048_H800
    assert again.values()["precision"].value == "fp8_deepseek"
    assert len({again, Recipes.DeepSeek_V3_2048_H800}) == 1


def swap(old, new):
    return MINE.replace(old, new)


MISTAKES = {
    "a model that is none": (swap("Models.Language.Llama3_8B", "Hardware.Cloud.H100"), "unknown model 'Hardware."),
    "a model by half its name": (swap("Models.Language.Llama3_8B", "Llama3_8B"), "did you mean Models.Language.Llama3"),
    "a fleet that is a node": (swap("Clusters.SuperPOD_H100", "Nodes.DGX_H100"), "unknown fleet 'Systems.Nodes"),
    "no name": (swap('name = "A night on two nodes"\n', ""), "Recipe: name: Field required"),
    "no source": (swap('source = "https://example.org/run"\n', ""), "source: Field required"),
    "an empty word": (swap('"bf16"', '""'), "must not be empty"),
    "a word with a unit": (swap('"bf16"', '{ value = "bf16", unit = "GB" }'), "a word has no unit"),
    "an unknown unit": (swap("8 µs", "8 fortnites"), "fortnites"),
    "a table": (swap("seq_len = 4096", "arguments = { seq_len = 4096 }"), "arguments.arguments: "),
    "a list": (swap("= 16", "= [16, 32]"), "fleet_size"),
    "not a number": (swap("= 16", "= nan"), "must be a finite number"),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_names_the_recipe(tmp_path, text, message):
    with pytest.raises(CatalogError, match=r"mine\.toml: Recipes\.Night: ") as caught:
        load(tmp_path, text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_nearest_name_is_suggested():
    with pytest.raises(
        UnknownNameError, match=r"^unknown recipe 'torchtitan_1624': did you mean torchtitan_issue_1624"
    ):
        STEP.solve(recipe="torchtitan_1624")
    with pytest.raises(UnknownNameError, match=r"^unknown recipe 'H100': "):
        builtin().find("recipe", "H100")


class TestVariant:
    """A recipe names the variant that describes the run."""

    RUN = "DeepSeek_V3_2048_H800"

    @pytest.mark.parametrize("key", list(Recipes))
    def test_every_recipe_is_answered_by_default(self, key):
        found = ExpertParallelModel().solve(recipe=key)
        assert found.model.variant == Recipes[key].variants.get("ep", "fsdp")
        assert found.feasible

    def test_what_was_chosen_stays(self):
        found = ExpertParallelModel("fsdp").solve(recipe="Megatron_Qwen3_30B_A3B_GB200")
        assert found.model.variant == "fsdp"
        (note,) = (each for each in found.notes if each.startswith("per_operator"))
        assert "Megatron_Qwen3_30B_A3B_GB200 was run: " in note

    def test_a_result_says_that_it_was_taken(self):
        found = ExpertParallelModel().solve(recipe=Recipes[self.RUN])
        assert f"ExpertParallelModel answers by per_operator, as {self.RUN} was run" in found.notes
        assert found.canonical("step_time") == STEP.solve(recipe=self.RUN).canonical("step_time")
        assert not any("was run" in note for note in STEP.solve(recipe=self.RUN).notes)

    @pytest.mark.long
    def test_grids_and_searches_take_it_too(self):
        model = ExpertParallelModel()
        grid = model.sweep(recipe=self.RUN, ep_size=[32, 64])
        assert grid.attrs["variant"] == "per_operator"
        assert (
            model.search(recipe=self.RUN, ep_size=[32, 64], minimize="step_time").best.model.variant == "per_operator"
        )
        several = model.sweep(recipe=["Megatron_Mixtral_8x7B_H100", "DeepSpeed_MoE"], outputs=["step_time"])
        assert several.attrs["variant"] == "per_operator"

    SEVERAL = ("torchtitan_issue_1624", "Megatron_Mixtral_8x7B_H100")

    @pytest.mark.parametrize(("verb", "asked"), [("sweep", {}), ("search", {"minimize": "step_time"})])
    def test_recipes_of_several_variants_are_refused(self, verb, asked):
        message = (
            "fsdp describes torchtitan_issue_1624; per_operator describes Megatron_Mixtral_8x7B_H100; "
            'ExpertParallelModel("fsdp") or ExpertParallelModel("per_operator") asks all by one'
        )
        with pytest.raises(InputError, match=re.escape(message)):
            getattr(ExpertParallelModel(), verb)(recipe=list(self.SEVERAL), **asked)

    def test_recipes_of_several_variants_are_asked_by_the_one_chosen(self):
        given = {"recipe": list(self.SEVERAL), "outputs": ["step_time"]}
        assert ExpertParallelModel("fsdp").sweep(**given).attrs["variant"] == "fsdp"
        grid = ExpertParallelModel("per_operator").sweep(**given)
        theirs = ExpertParallelModel().solve(recipe=self.SEVERAL[1]).canonical("step_time")
        assert grid.step_time.values[1] == pytest.approx(theirs, rel=1e-12)
        assert ExpertParallelModel().sweep(**given, variant=["fsdp", "per_operator"]).sizes["variant"] == 2

    def test_the_one_that_was_named_is_kept(self):
        model = ExpertParallelModel()
        model.solve(recipe=self.RUN)
        assert model.variant == "fsdp"
        grid = model.sweep(recipe="DeepSpeed_MoE", ep_size=[64, 128], variant="fsdp", outputs=["step_time"])
        assert grid.attrs["variant"] == "fsdp"

    def test_an_unknown_one_is_refused(self):
        with pytest.raises(UnknownNameError, match="variant of ExpertParallelModel"):
            ExpertParallelModel().solve(recipe=Recipe(name="Mine", variants={"ep": "exact"}))
