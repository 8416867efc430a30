"""``recipe=`` as an argument: what it gives, what wins over it, and what is said of it."""

import numpy as np
import pytest

from mlsysim import DistributedModel, EconomicsModel, Models, Recipe, Recipes, TrainingMemoryModel, derived, linked
from mlsysim.errors import InputError, MlsysimError, UnitError, UnknownNameError

STEP, MEMORY = DistributedModel(), TrainingMemoryModel("per_operator")
TITAN, V3 = {"recipe": "torchtitan_issue_1624"}, {"recipe": "DeepSeek_V3_2048_H800"}
ROWS = ["Megatron_DeepSeek_V3_GB200_bf16", "Megatron_DeepSeek_V3_GB200_fp8"]


def spelled(key):
    """A recipe as arguments that are typed."""
    recipe = Recipes[key]
    return {**recipe.entries, **{name: value.value for name, value in recipe.values().items()},
            **{name: value for name, value in recipe.values().items() if value.unit},
            **{name: True for name, value in recipe.values().items() if value.value == "yes"}}  # fmt: skip


@pytest.mark.parametrize("key", ["torchtitan_issue_1624", "DeepSeek_V3_2048_H800"])
def test_it_is_its_arguments_typed(key):
    found = STEP.solve(recipe=key)
    typed = {name: value for name, value in spelled(key).items() if name not in found.left_out}
    assert found.outputs == STEP.solve(**typed).outputs


class TestWhatWins:
    def test_what_is_given(self):
        found = STEP.solve(**TITAN, ep_size=2)
        assert (found.ep_size, found.origin("ep_size")) == (2, "given")
        assert found.step_time > STEP.solve(**TITAN).step_time

    def test_nothing_given_is_not_given(self):
        assert STEP.solve(**TITAN, ep_size=None).ep_size == 1

    def test_the_recipe_over_defaults(self):
        assert STEP.defaults["activation_checkpointing"] == "none"
        assert STEP.solve(**TITAN).activation_checkpointing == "full"

    def test_the_recipe_over_entries_it_names(self):
        """The rack has 72 devices, of which the run takes 64, and its stack captures no operations."""
        found = STEP.solve(recipe=ROWS[0])
        assert (found.accelerators_per_segment, found.captured_share) == (64, 0.3)

    def test_a_given_entry_over_what_the_recipe_says_of_its_own(self):
        """Mixtral predicts no further token, and another stack captures nothing."""
        assert STEP.solve(**V3).mtp_layers == 1
        other = {"model": "Mixtral_8x7B", "pp_size": 1, "ep_size": 8, "pipeline_schedule": "1f1b", "batch_size": 2**14}
        found = STEP.solve(**V3, **other, gradient_accumulation_steps=8, recompute_mla_up_proj=False)
        assert found.mtp_layers == 0
        assert STEP.solve(recipe=ROWS[0], stack="Generic").captured_share == 0

    def test_a_given_fleet_over_the_devices_of_the_recipe(self):
        found = STEP.solve(**TITAN, fleet="Research_256", batch_size=256)
        assert (found.fleet_size, found.canonical("memory_capacity")) == (256, 81559 * 2**20)
        assert set(found.entries) == {"recipe", "model", "fleet", "stack"}

    def test_given_hardware_within_the_fleet_of_the_recipe(self):
        found = STEP.solve(**V3, hardware="H100")
        assert found.canonical("node_bandwidth") == 450e9
        assert (found.fleet_size, found.canonical("fabric_bandwidth")) == (2048, 50e9)


class TestWhatIsSaid:
    def test_inputs_say_that_the_recipe_gave_them(self):
        found = STEP.solve(**TITAN)
        assert str(found.source("zero_stage")).startswith(
            "recipe torchtitan_issue_1624: 3 (reported: https://github.com"
        )
        assert found.source("precision").startswith("recipe torchtitan_issue_1624: bf16 (reported: ")
        assert found.source("layers").startswith("recipe torchtitan_issue_1624, model: 48 (derived: ")
        assert found.source("peak_flops").startswith("recipe torchtitan_issue_1624, hardware: 148 TFLOP/s (")
        assert found.source("congestion_factor") == "default"
        inputs = found.explain().given()
        assert "zero_stage  [recipe torchtitan_issue_1624; reported: github.com, 2025-08]" in inputs
        assert "layers  [recipe torchtitan_issue_1624, model; derived: github.com, 2025-08]" in inputs
        table = found.to_dict()
        assert table["entries"]["recipe"] == "torchtitan, issue 1624"
        assert table["inputs"]["zero_stage"]["source"] == found.source("zero_stage")
        assert "github.com/pytorch/torchtitan/issues/1624" in "".join(map(str, found.references()))

    def test_a_call_like_an_earlier_one_says_the_same(self):
        """The second call binds only what was typed; the third types what the recipe gave the others."""
        first, second, third = (STEP.solve(**TITAN, **given) for given in ({}, {}, {"ep_size": 1}))
        assert {name: first.origin(name) for name in first.inputs} == {
            name: second.origin(name) for name in second.inputs
        }
        assert (first.outputs, first.by_recipe) == (second.outputs, second.by_recipe)
        assert third.outputs == first.outputs
        assert [name for name in first.inputs if first.source(name) != third.source(name)] == ["ep_size"]
        other = STEP.solve(**TITAN, model="torchtitan_llama4_3bx128e")
        assert other.source("layers").startswith("48 (derived: ")
        assert MEMORY.solve(**V3).left_out == MEMORY.solve(**V3).left_out != ()

    def test_a_model_says_what_it_leaves_out(self):
        found = MEMORY.solve(**V3)
        said = "TrainingMemoryModel (per_operator) takes no node_limit, which the recipe gives"
        assert found.left_out == ("node_limit",)
        assert said in found.notes
        assert said in str(found.explain().given())
        assert found.to_dict()["left_out"] == ["node_limit"]
        assert MEMORY.sweep(**V3, ep_size=[32, 64], outputs=["weights"]).attrs["left_out"] == "node_limit"
        assert "left_out" not in STEP.sweep(**V3, ep_size=[32, 64], outputs=["weights"]).attrs
        assert STEP.solve(**V3).left_out == ()
        assert "left_out" not in STEP.solve(**V3).to_dict()

    def test_a_variant_leaves_out_what_only_others_take(self):
        found = TrainingMemoryModel().solve(**TITAN)
        assert "elementwise_kernels" in found.left_out
        assert found.ep_size == 1

    def test_a_question_asked_again_has_the_recipe(self):
        """Beside kernels that keep no scores, selective recomputation saves next to nothing."""
        found = STEP.solve(**V3, activation_checkpointing="selective")
        assert found.notes[-1].startswith("activation_checkpointing=selective saves 0.141 GB of 74.58 GB total_memory")

    def test_help_has_it(self):
        assert "recipe : Recipe or str, optional" in STEP.solve.__doc__
        assert "recipe" in STEP.solve.__signature__.parameters


class TestDevices:
    """A model that asks for data-parallel ranks gets the accelerators over the other ranks."""

    def test_alone_and_with_other_ranks(self):
        assert MEMORY.solve(**V3).dp_size == 128
        assert MEMORY.solve(**V3, pp_size=8).dp_size == 256
        assert MEMORY.solve(**V3, dp_size=64).dp_size == 64
        assert MEMORY.solve(**V3).source("dp_size") == (
            "recipe DeepSeek_V3_2048_H800: derived: 2048 / (tp_size * pp_size * cp_size)"
        )

    def test_along_an_axis(self):
        found = MEMORY.sweep(**V3, layout=linked(pp_size=[8, 16], ep_size=[32, 64]), outputs=["weights"])
        assert found.dp_size.values.tolist() == [256, 128]
        followed = MEMORY.solve(**V3, pp_size=derived("ep_size / 8"))
        assert (followed.pp_size, followed.dp_size) == (8, 256)

    def test_ranks_that_do_not_divide(self):
        with pytest.raises(InputError, match=r"dp_size=409\.6: must be a whole number >= 1; it is 2048 / \(tp_size"):
            MEMORY.solve(**V3, pp_size=5)


class TestEveryVerb:
    def test_sweep(self):
        found = STEP.sweep(**TITAN, ep_size=[1, 2, 4, 8])
        assert found.step_time.values.tolist() == [
            STEP.solve(**TITAN, ep_size=e).canonical("step_time") for e in (1, 2, 4, 8)
        ]
        assert "torchtitan, issue 1624" in found.attrs["entries"]

    def test_search(self):
        assert STEP.search(**TITAN, ep_size=[1, 2, 4, 8], minimize="step_time").best["ep_size"] == 1

    @pytest.mark.long
    def test_pareto(self):
        front = STEP.pareto(**TITAN, ep_size=[1, 2, 4, 8], minimize=["step_time", "gathered_weights"])
        assert len(front) >= 1

    def test_function(self):
        model = TrainingMemoryModel()
        function = model.function("weights", **TITAN)
        assert float(function()) == pytest.approx(model.solve(**TITAN).canonical("weights"), rel=1e-6)

    @pytest.mark.long
    def test_sensitivity(self):
        assert "hidden_dim" in str(TrainingMemoryModel().sensitivity("activations", **TITAN))


class TestStores:
    OUTPUTS = ("total_memory",)

    def swept(self, path, recipe, **given):
        return MEMORY.sweep(recipe=recipe, **given, ep_size=[1, 2, 4], outputs=self.OUTPUTS, store=path)

    @pytest.mark.long
    def test_a_store_names_the_recipe_and_goes_on_with_it(self, tmp_path):
        path = tmp_path / "sweep.zarr"
        with self.swept(path, **TITAN) as first, self.swept(path, **TITAN) as again:
            assert again.attrs["entries"] == first.attrs["entries"]
            assert '"recipe": "torchtitan, issue 1624"' in again.attrs["entries"]
            assert np.array_equal(
                again.total_memory, MEMORY.sweep(**TITAN, ep_size=[1, 2, 4], outputs=self.OUTPUTS).total_memory
            )

    @pytest.mark.parametrize("given", [{"seq_len": 4096}, {"recipe": "Megatron_Qwen3_30B_A3B_H100"}])
    def test_a_store_of_another_run_is_refused(self, tmp_path, given):
        path = tmp_path / "sweep.zarr"
        self.swept(path, **TITAN).close()
        with pytest.raises(InputError, match="store"):
            self.swept(path, **{**TITAN, **given})

    def test_a_recipe_that_says_something_else_since(self, tmp_path):
        path, recipe = tmp_path / "sweep.zarr", Recipes.torchtitan_issue_1624
        self.swept(path, **TITAN).close()
        changed = Recipe(name="x", arguments={**recipe.arguments, "seq_len": 4096})
        with pytest.raises(InputError, match="store"):
            self.swept(path, recipe.model_copy(update={"arguments": changed.arguments}))


class TestSeveral:
    def test_sweep_over_recipes(self):
        found = STEP.sweep(recipe=ROWS, routing_imbalance_factor=[1, 1.2])
        assert found.sizes == {"recipe": 2, "routing_imbalance_factor": 2}
        assert found.recipe.values.tolist() == ROWS
        assert set(found.coords) == {"recipe", "routing_imbalance_factor"}
        for row, key in enumerate(ROWS):
            alone = STEP.solve(recipe=key, routing_imbalance_factor=1.2).canonical("step_time")
            assert found.step_time.values[row, 1] == pytest.approx(alone, rel=1e-12)

    def test_what_one_leaves_to_its_entries(self):
        """The second one names no split of its layers, no schedule and no stack."""
        keys = ["Megatron_Mixtral_8x7B_H100", "DeepSpeed_MoE"]
        found = STEP.sweep(recipe=keys, accelerators_per_node=8)
        assert found.step_time.values.tolist() == [STEP.solve(recipe=key).canonical("step_time") for key in keys]
        memory = MEMORY.sweep(recipe=keys).gathered_weights.values.tolist()
        assert memory == [MEMORY.solve(recipe=key).gathered_weights.to("GB").magnitude for key in keys]

    def test_what_any_of_them_gives_in_vain(self):
        left_out = MEMORY.sweep(recipe=[*ROWS, "DeepSpeed_MoE"]).attrs["left_out"]
        assert left_out == "pipeline_split, captured_share"

    def test_peak_rates_by_recipe_and_device(self):
        given = {"recipe": ROWS, "hardware": ["GB200", "B200"], "compute_dtype": ["as_precision", "bf16"]}
        found = STEP.sweep(**given, outputs=["product_time"]).product_time
        for key in ROWS:
            for device in ("GB200", "B200"):
                one = STEP.solve(recipe=key, hardware=device, compute_dtype="bf16").canonical("product_time")
                here = found.sel(recipe=key, hardware=device, compute_dtype="bf16").item()
                assert here / 1000 == pytest.approx(one, rel=1e-12)

    def test_search_over_recipes(self):
        found = STEP.search(recipe=ROWS, minimize="step_time")
        assert found.best.entries["recipe"] is Recipes[ROWS[1]]
        assert found.best.origin("pp_size").recipe == ROWS[1]

    @pytest.mark.parametrize("changed", [{}, {"hardware": "H100"}, {"node_bandwidth": "100 GB/s"}])
    def test_fleets_beside_devices(self, changed):
        """Two name a fleet, two a device and what joins its nodes."""
        keys = ["torchtitan_issue_1624", "DeepSeek_V3_2048_H800", "Megatron_DeepSeek_V3_B200_fp8", "DeepSpeed_MoE"]
        found = STEP.sweep(recipe=keys, **changed, outputs=["step_time", "total_memory"])
        for row, key in enumerate(keys):
            one = STEP.solve(recipe=key, **changed)
            assert found.step_time.values[row] == pytest.approx(one.canonical("step_time"), rel=1e-12)
            assert found.total_memory.values[row] == pytest.approx(one.total_memory.to("GB").magnitude, rel=1e-12)

    def test_one_that_gives_less(self):
        bare = Recipes["torchtitan_issue_1624"].model_copy(update={"arguments": {}})
        with pytest.raises(InputError, match=r"gives no fleet_size, which others do; give fleet_size="):
            STEP.sweep(recipe=[bare, "DeepSpeed_MoE"])

    def test_solve_takes_one(self):
        with pytest.raises(InputError, match=r"solve\(\) takes one value"):
            STEP.solve(recipe=ROWS)

    @pytest.mark.parametrize("keys", [[], [ROWS[0], ROWS[0]]])
    def test_none_and_twice(self, keys):
        with pytest.raises(InputError, match="each once"):
            STEP.sweep(recipe=keys)

    def test_linked_with_others(self):
        with pytest.raises(InputError, match="is not linked with others"):
            STEP.sweep(run=linked(recipe=ROWS, ep_size=[32, 64]))


def test_a_run_has_its_price():
    """The report says 2.664 million device hours for 14.8 trillion tokens, at 2 USD each; ours is a quarter faster."""
    rented = EconomicsModel("rented_training").solve(**V3, training_tokens=14.8e12, tdp=700, rental_price="2 USD/hour")
    assert rented.total_cost.to("USD").magnitude == pytest.approx(5.328e6, rel=0.25)
    assert rented.source("pp_size").startswith("recipe DeepSeek_V3_2048_H800: 16 ")


def test_a_variant_that_trains_nothing_takes_no_recipe():
    with pytest.raises(
        InputError, match="owned_serving does not use it; variant=owned_training or rented_training or owned_run or "
    ):
        EconomicsModel("owned_serving").solve(**V3)


@pytest.mark.parametrize("given", [3, None, "Llama3_8B", Models.Language.Llama3_8B, np.array([1.0])])
def test_what_is_no_recipe(given):
    with pytest.raises(MlsysimError) as caught:
        STEP.solve(recipe=given)
    assert "recipe" in str(caught.value) or given is None


def test_an_argument_that_no_model_has():
    made = Recipe(name="Mine", arguments={"ep_sise": 2})
    with pytest.raises(UnknownNameError, match=r"^unknown argument in the recipe Mine 'ep_sise': did you mean ep_size"):
        STEP.solve(recipe=made)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"precision": "bf61"}, r"^precision='bf61': must be one of .*did you mean"),
        ({"ep_size": 1.5}, r"^ep_size=1\.5: must be a whole number"),
        ({"zero_stage": 4}, r"^zero_stage=4"),
        ({"sequence_parallel": "perhaps"}, r"^sequence_parallel='perhaps'"),
        ({"fabric_bandwidth": "3 s"}, r"^fabric_bandwidth="),
    ],
)
def test_a_value_that_is_not_allowed(setting, message):
    made = Recipes.torchtitan_issue_1624.model_copy(
        update={
            "arguments": Recipe(name="Mine", arguments={**Recipes.torchtitan_issue_1624.arguments, **setting}).arguments
        }
    )
    with pytest.raises((InputError, UnitError), match=message):
        STEP.solve(recipe=made)
