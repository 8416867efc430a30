"""Every variant of every model: what it takes, what it refuses, and that all verbs answer."""

import json
import pickle

import numpy as np
import pytest
from fuzz import rest_long

from mlsysim import (
    Q_,
    Models,
    MoERoutingModel,
    ParameterCountModel,
    ServingCapacityModel,
    Systems,
    TrainingMemoryModel,
)
from mlsysim.catalog import SparseTransformerWorkload, builtin
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.variant import Variant
from mlsysim.symbolic import System

MODELS = (TrainingMemoryModel, MoERoutingModel, ParameterCountModel, ServingCapacityModel)
EVERY = [(model, variant) for model in MODELS for variant in model.variants]
POINTS = {
    TrainingMemoryModel: {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 16, "dp_size": 8},
    MoERoutingModel: {"model": "Mixtral_8x7B", "fleet": "Research_256", "batch_size": 4, "ep_size": 8},
    ParameterCountModel: {"model": "Mixtral_8x7B"},
    ServingCapacityModel: {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000},
}
PER_OPERATOR, KORTHIKANTI = TrainingMemoryModel("per_operator"), TrainingMemoryModel("korthikanti")
PER_LAYER = MoERoutingModel("per_layer")
NEW = [(PER_OPERATOR, "total_memory"), (KORTHIKANTI, "total_memory"), (PER_LAYER, "step_all_to_all_time")]
NEW_IDS = [model.variant for model, _ in NEW]
LLAMA = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}


def point(model):
    return POINTS[type(model)]


def memory(variant="per_operator", **given):
    return TrainingMemoryModel(variant).solve(**{**LLAMA, **given})


def canonical(result, name):
    return result.canonical(name)


# --- what there is --------------------------------------------------------------------------------


def test_names():
    assert list(TrainingMemoryModel.variants) == ["first_order", "korthikanti", "per_operator"]
    assert list(MoERoutingModel.variants)[:2] == ["first_order", "per_layer"]
    assert list(ParameterCountModel.variants) == ["counted"]
    assert next(iter(ServingCapacityModel.variants)) == "first_order"


def test_the_first_variant_is_the_default():
    for model in MODELS:
        assert model().variant == next(iter(model.variants))
        assert model().system is model(next(iter(model.variants))).system


def test_an_unknown_variant_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"^unknown variant of TrainingMemoryModel 'per_op': did you mean per_"):
        TrainingMemoryModel("per_op")
    with pytest.raises(
        UnknownNameError, match=r"^unknown variant of MoERoutingModel 7: known: first_order, per_layer$"
    ):
        MoERoutingModel(7)


@pytest.mark.parametrize(("model", "variant"), EVERY)
def test_a_variant_solves_on_catalog_entries(model, variant):
    result = model(variant).solve(**POINTS[model])
    assert set(result.model.headline) <= set(result.outputs)
    assert all(np.isfinite(result.canonical(name)) for name in result.outputs)
    assert result.to_dict()["variant"] == variant
    assert str(result.explain())
    assert repr(result.model) == f"{model.__name__}(variant={variant!r})"


@pytest.mark.parametrize(("model", "variant"), EVERY)
def test_arguments_are_those_the_variant_uses(model, variant):
    found = model(variant)
    asked = {v.name for v in found.inputs} | {v.name for r in found.requirements for v in r.inputs}
    assert {name for name, v in found.arguments.items() if v is not None} == asked - {v.name for v in found.outputs}


@pytest.mark.parametrize(("model", "variant"), EVERY)
def test_every_name_a_variant_mentions_exists(model, variant):
    found = model(variant)
    assert set(found.headline) <= {v.name for v in found.outputs}
    assert set(found.defaults) <= set(model.arguments)
    assert len(set(found.headline)) == len(found.headline)


def test_a_variant_may_be_its_formulas_alone():
    formulas = TrainingMemoryModel().formulas
    plain = Variant.of(formulas)
    assert plain == Variant(formulas)
    assert (plain.requirements, dict(plain.defaults), plain.headline) == ((), {}, ())
    assert Variant.of(plain) is plain


def test_a_variant_adds_to_its_model_and_leaves_the_others_alone():
    first = TrainingMemoryModel()
    assert len(PER_OPERATOR.requirements) > len(KORTHIKANTI.requirements) > len(first.requirements)
    shared = TrainingMemoryModel.requirements
    for model in (first, KORTHIKANTI, PER_OPERATOR):
        assert model.requirements[: len(shared)] == shared
    assert KORTHIKANTI.headline == first.headline == TrainingMemoryModel.headline
    assert "gathered_weights" in PER_OPERATOR.headline


def test_defaults_of_a_variant_replace_those_of_the_model():
    class Careful(TrainingMemoryModel):
        variants = {
            **TrainingMemoryModel.variants,
            "sharded": Variant(TrainingMemoryModel().formulas, defaults={"zero_stage": 3}),
        }

    given = {**LLAMA, "dp_size": 8}
    usual, careful = Careful().solve(**given), Careful("sharded").solve(**given)
    assert (usual.zero_stage, careful.zero_stage) == (0, 3)
    assert careful.weights == usual.weights / 8
    assert careful.source("zero_stage") == "default"
    assert Careful.defaults["zero_stage"] == 0
    assert Careful("sharded").solve(**given, zero_stage=0).weights == usual.weights


def test_formulas_shared_by_variants_are_the_same_objects():
    first, other = TrainingMemoryModel().system, PER_OPERATOR.system
    assert first["local_micro_batch"] is other["local_micro_batch"]
    assert first["activations"] is not other["activations"]
    assert System(PER_OPERATOR.formulas).formulas == PER_OPERATOR.formulas


# --- arguments of other variants, and computed ones -----------------------------------------------

REFUSED = [
    (TrainingMemoryModel(), {"vocab_size": 3},
     "vocab_size=3: the variant first_order does not use it; variant=per_operator does"),
    (TrainingMemoryModel(), {"sequence_parallel": True},
     "sequence_parallel=True: the variant first_order does not use it; variant=korthikanti or per_operator does"),
    (KORTHIKANTI, {"kv_heads": 8},
     "kv_heads=8: the variant korthikanti does not use it; variant=per_operator does"),
    (KORTHIKANTI, {"reserved_memory": "1 GB"},
     "reserved_memory='1 GB': the variant korthikanti does not use it; variant=per_operator does"),
    (PER_OPERATOR, {"communication_buffer_fraction": 0.1},
     "communication_buffer_fraction=0.1: the variant per_operator does not use it; "
     "variant=first_order or korthikanti does"),
    (PER_OPERATOR, {"parameters": 1e9}, "parameters=1000000000.0: the variant per_operator computes it"),
    (MoERoutingModel(), {"activation_checkpointing": "full"},
     "activation_checkpointing='full': the variant first_order does not use it; variant=per_layer does"),
    (MoERoutingModel(), {"node_bandwidth": "450 GB/s"},
     "node_bandwidth='450 GB/s': the variant first_order does not use it; variant=per_layer does"),
    # Requirements.
    (PER_OPERATOR, {"ep_size": 8, "dp_size": 4},
     "ep_size=8: times dp_replicate_size=1 times the ranks of an expert (etp_size=0; 0: as tp_size=1) must divide the "
     "ranks of a stage: tp_size=1 times cp_size=1 times dp_size=4; nearest: 4"),
    (PER_OPERATOR, {"ep_size": 8, "dp_size": 12},
     "ep_size=8: times dp_replicate_size=1 times the ranks of an expert (etp_size=0; 0: as tp_size=1) must divide the "
     "ranks of a stage: tp_size=1 times cp_size=1 times dp_size=12; nearest: 6, 12"),
    (PER_OPERATOR, {"etp_size": 2}, "etp_size=2: must divide tp_size=1, or be 0 for as many; nearest: 1"),
    (PER_OPERATOR, {"ep_size": 3, "dp_size": 3},
     "ep_size=3: must divide experts=8 (1 for a dense model); nearest: 2, 4"),
    (PER_OPERATOR, {"interleaved_stages": 2},
     "interleaved_stages=2: must be 1 where pp_size=1; nearest: 1"),
    (KORTHIKANTI, {"interleaved_stages": 2},
     "interleaved_stages=2: must be 1 where pp_size=1; nearest: 1"),
    (PER_OPERATOR, {"selective_policy": "alternate_matmuls"},
     "selective_policy='alternate_matmuls': must be core_attention but for dense layers with a gate and without "
     "latent attention"),
    (PER_OPERATOR, {"model": "DeepSeek_V3", "qk_norm": True},
     "qk_norm=True: must be False with latent attention (kv_lora_rank=512)"),
    (PER_OPERATOR, {"model": "Llama3_8B", "ep_size": 1, "moe_layers": 4},
     "moe_layers=4: must be 0 where experts=1; nearest: 0"),
    (PER_OPERATOR, {"moe_layers": 40}, "moe_layers=40: must be at most layers=32; nearest: 32"),
    (PER_OPERATOR, {"q_lora_rank": 8}, "q_lora_rank=8: must be 0 where kv_lora_rank=0; nearest: 0"),
    (PER_OPERATOR, {"expert_ffn_dim": 0},
     "expert_ffn_dim=0: must be above 0 where moe_layers=32 have experts; nearest: 1"),
    (PER_OPERATOR, {"model": "Llama3_8B", "ep_size": 1, "ffn_dim": 0},
     "ffn_dim=0: must be above 0 where layers have no experts; nearest: 1"),
    (PER_OPERATOR, {"kv_heads": 64}, "kv_heads=64: must divide heads=32; nearest: 32"),
    (PER_OPERATOR, {"active_experts_per_token": 9}, "active_experts_per_token=9: must be at most experts=8; nearest: "),
    (PER_OPERATOR, {"tp_size": 8, "expert_ffn_dim": 12},
     "tp_size=8: must divide expert_ffn_dim=12 where etp_size=0; nearest: "),
    (PER_OPERATOR, {"tp_size": 8, "kv_heads": 12}, "tp_size=8: must divide kv_heads=12 or be a multiple of it; "),
    (PER_LAYER, {"model": "DeepSeek_V3", "ep_size": 64, "accelerators_per_node": 12},
     "ep_size=64: must be at most accelerators_per_node=12 or a multiple of it; nearest: "),
    (PER_LAYER, {"fleet_size": 4}, "ep_size=8: must be at most fleet_size=4; nearest: 4"),
    (PER_LAYER, {"moe_layers": 33}, "moe_layers=33: must be at most layers=32; nearest: 32"),
    (PER_LAYER, {"routing_imbalance_factor": 0.9}, "routing_imbalance_factor=0.9: must be a finite number >= 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "bad", "message"),
    REFUSED,
    ids=[f"{model.variant}-{'-'.join(bad)}-{place}" for place, (model, bad, _) in enumerate(REFUSED)],
)
def test_refused_by_every_verb(model, bad, message):
    given = {**point(model), **bad}
    output = "total_memory" if isinstance(model, TrainingMemoryModel) else "token_dispatch_bytes"
    for call in (
        lambda: model.solve(**given),
        lambda: model.function(output, **given),
        lambda: model.sensitivity(output, **given),
        lambda: model.sweep(**{**given, "seq_len": [512, 1024]}),
    ):
        with pytest.raises(InputError) as refused:
            call()
        assert str(refused.value).startswith(message)


def test_a_name_no_variant_has_is_unknown():
    with pytest.raises(
        UnknownNameError, match=r"^unknown argument of TrainingMemoryModel 'gathered_layer': did you me"
    ):
        memory(gathered_layer=2)
    with pytest.raises(UnknownNameError, match=r"^unknown argument of ParameterCountModel 'parameters': "):
        ParameterCountModel().solve("Llama3_8B", parameters=8e9)


def test_an_argument_of_another_variant_that_is_none_was_not_given():
    assert memory("first_order", vocab_size=None).to_dict() == memory("first_order").to_dict()
    assert memory(parameters=None).to_dict() == memory().to_dict()
    with pytest.raises(UnknownNameError, match=r"^unknown argument of TrainingMemoryModel 'vocabulary': "):
        memory(vocabulary=None)


def test_a_workload_without_its_whole_shape_is_named_by_what_it_lacks():
    bare = Models.Language.Mixtral_8x7B.model_copy(update={"expert_ffn_dim": None})
    assert isinstance(bare, SparseTransformerWorkload)
    with pytest.raises(InputError, match=r"^expert_ffn_dim=0: must be above 0 where moe_layers=32 have experts"):
        PER_OPERATOR.solve(**{**POINTS[TrainingMemoryModel], "model": bare})
    found = PER_OPERATOR.solve(**{**POINTS[TrainingMemoryModel], "model": bare, "expert_ffn_dim": 14336})
    assert found.total_memory == PER_OPERATOR.solve(**POINTS[TrainingMemoryModel]).total_memory


@pytest.mark.parametrize("policy", ["core_attention", "alternate_matmuls"])
@pytest.mark.parametrize("name", ["Llama3_8B", "Mixtral_8x7B", "DeepSeek_V3", "GPT3_175B"])
def test_selective_policy_is_for_gated_dense_layers_without_latent_attention(name, policy):
    given = {**LLAMA, "model": name, "selective_policy": policy}
    if policy == "core_attention" or name == "Llama3_8B":
        assert PER_OPERATOR.solve(**given).total_memory.magnitude > 0
    else:
        with pytest.raises(InputError, match=r"^selective_policy='alternate_matmuls': must be core_attention but for"):
            PER_OPERATOR.solve(**given)


COMPLETE = [
    path
    for path in builtin().paths()
    if path.startswith("Models.")
    and builtin().entry(path).source_stack is None
    and all(
        builtin().entry(path).value_of(name, "fp16") is not None
        for name in ("vocab_size", "ffn_dim", "gated", "kv_heads", "head_dim", "moe_layers", "expert_ffn_dim")
    )
]


@pytest.mark.parametrize("path", COMPLETE)
def test_every_whole_shape_of_the_catalog_has_a_memory(path):
    entry = builtin().entry(path)
    found = PER_OPERATOR.solve(entry, "H100", batch_size=1)
    assert found.parameters_per_rank == pytest.approx(found.parameters, rel=1e-12), "one rank holds every tensor"
    assert found.backward_buffer.magnitude > 0


def test_most_of_the_catalog_has_its_whole_shape():
    assert len(COMPLETE) >= 20


# --- flags ----------------------------------------------------------------------------------------

YES = [True, 1, 1.0, np.True_, np.int64(1), np.array(True), Q_(1, "count")]
NO = [False, 0, 0.0, np.False_, np.array(0), None]


def described(values):
    return [f"{type(value).__name__}-{value}" for value in values]


@pytest.mark.parametrize("value", YES, ids=described(YES))
def test_a_flag_is_on(value):
    assert memory(tp_size=2, sequence_parallel=value).sequence_shards == 2


@pytest.mark.parametrize("value", NO, ids=described(NO))
def test_a_flag_is_off(value):
    assert memory(tp_size=2, sequence_parallel=value).sequence_shards == 1


@pytest.mark.parametrize("value", [2, -1, 0.5, "yes", "true", "True", "1", "", b"1", 1j, float("nan"), [[1]]])
def test_anything_else_is_no_flag(value):
    """Text is for names and for numbers with units; a program has booleans."""
    if isinstance(value, list):
        with pytest.raises(InputError, match=r"^sequence_parallel="):
            memory(sequence_parallel=value)
        return
    with pytest.raises(InputError) as refused:
        memory(sequence_parallel=value)
    assert str(refused.value) == f"sequence_parallel={value!r}: must be True or False"


def test_a_whole_number_is_still_no_flag():
    with pytest.raises(InputError, match=r"^batch_size=True: must be a whole number >= 1$"):
        memory(batch_size=True)


@pytest.mark.parametrize("values", [[False, True], [0, 1], np.array([False, True]), np.array([0.0, 1.0]), (0, True)])
def test_a_flag_sweeps_and_is_selected_as_one(values):
    grid = PER_OPERATOR.sweep(**LLAMA, tp_size=2, sequence_parallel=values)
    assert grid.sequence_parallel.dtype == bool
    for value in (False, True):
        wanted = memory(tp_size=2, sequence_parallel=value).total_memory.magnitude
        assert grid.total_memory.sel(sequence_parallel=value).item() == pytest.approx(wanted, rel=1e-12)


def test_a_swept_flag_is_refused_as_one():
    with pytest.raises(InputError, match=r"^sequence_parallel=2: must be True or False$"):
        PER_OPERATOR.sweep(**LLAMA, sequence_parallel=[0, 1, 2])
    with pytest.raises(InputError, match=r"must be False with latent attention \(kv_lora_rank=512\); 1 of 2 points"):
        PER_OPERATOR.sweep(**{**LLAMA, "model": "DeepSeek_V3"}, qk_norm=[False, True])


# --- explanations ---------------------------------------------------------------------------------


def test_a_memory_explains_itself_operator_by_operator():
    text = str(
        PER_OPERATOR.solve(
            **{**POINTS[TrainingMemoryModel], "batch_size": 64},
            ep_size=8,
            tp_size=2,
            pp_size=4,
            gradient_accumulation_steps=8,
            sequence_parallel=True,
            interleaved_stages=2,
            zero_stage=3,
        ).explain("total_memory")
    )
    for line in (
        "β_sp            1                sequence_parallel  [given]",
        "V               32000            vocab_size  [paper: jiang2024, 2024-01]",
        "Expert parameters of one rank  [fedus2022, section 5.5]",
        "= 8·(0·(4096 + 14336·(1 + 1)/2) + 4096·14336·(1 + 2)/2)/8",
        "n_fly = min(n_mb, {{{(2·p + (v − 1)·min(n_mb, {g_mb if g_mb > 0; p otherwise}) + 1 − 2·{1 if",
        "= min(8, (2·4 + (2 − 1)·min(8, 4) − 1)/2)",
        "case: selective = core_attention  (selective = core_attention)",
        "Training memory of the fullest rank at its peak  [rajbhandari2020, section 3]",
        "M_r = max(M_loss, M_hd, M_lay, M_upd)",
    ):
        assert line in text
    for line in (
        "5.50, the smallest; micro-batches (n_mb) = 8",
        "binds: layer memory (M_lay) = 25.27 GB, the largest; update memory (M_upd) = 11.74 GB",
    ):
        assert line in " ".join(text.split())
    assert "Parameters, counted" not in text, "only what the total needs"


def test_an_exchange_explains_where_it_ran():
    near = str(PER_LAYER.solve(**POINTS[MoERoutingModel], routing_imbalance_factor=1.25).explain())
    for line in (
        "β_node          450.0 GB/s       node_bandwidth  [datasheet: ",
        "e > 1; X_l,dispatch/β_c,near = 0.057 ms",
        "case: checkpointing in {none, selective}  (checkpointing = selective)",
        "= 32·117.4 MB·4",
    ):
        assert line in near
    said = "binds: routing imbalance factor (γ) = 1.25, the smallest; E/k = 4, expert-parallel size (e) = 8"
    assert said in " ".join(near.split())
    far = str(PER_LAYER.solve("DeepSeek_V3", "Research_256", batch_size=64, ep_size=64).explain("all_to_all_latency"))
    assert "e > 1; X_x,dispatch/β_port = 12.19 ms" in far
    assert "exchanges_per_layer" not in far


# --- the other verbs ------------------------------------------------------------------------------

GRIDS = {
    "per_operator": {
        "zero_stage": [0, 2, 3],
        "activation_checkpointing": ["none", "selective", "full"],
        "elementwise_kernels": ["fused", "eager"],
        "sequence_parallel": [False, True],
    },
    "korthikanti": {"tp_size": [1, 4], "activation_checkpointing": ["none", "selective", "full"], "batch_size": [8, 9]},
    "per_layer": {"ep_size": [1, 2, 8], "routing_imbalance_factor": [1.0, 1.5, 9.0], "accelerators_per_node": [1, 4]},
}  # fmt: skip


@pytest.mark.parametrize(("model", "output"), NEW, ids=NEW_IDS)
def test_a_grid_equals_its_points(model, output):
    axes = GRIDS[model.variant]
    fixed = {name: value for name, value in point(model).items() if name not in axes}
    fixed |= {"tp_size": 2} if model is PER_OPERATOR else {}
    grid = model.sweep(**fixed, **axes)
    assert set(grid) == set(model.headline)
    stacked = grid.stack(place=list(axes))
    for index in range(stacked.sizes["place"]):
        at = stacked.isel(place=index)
        solved = model.solve(**fixed, **{name: at[name].item() for name in axes})
        for name in model.headline:
            value = solved[name]
            if isinstance(value, str):
                assert at[name].attrs["flag_meanings"].split()[at[name].item()] == value.replace(" ", "_")
                continue
            assert at[name].item() == pytest.approx(getattr(value, "magnitude", value), rel=1e-12), (name, index)


@pytest.mark.parametrize("entries", [["Llama3_8B", "Mixtral_8x7B", "DeepSeek_V3", "GPT3_175B", "Qwen3_30B_A3B"]])
def test_models_of_every_kind_share_a_grid(entries):
    grid = PER_OPERATOR.sweep(model=entries, hardware=["H100", "MI300X"], batch_size=8, zero_stage=[0, 3], dp_size=8)
    for entry in entries:
        for device in ("H100", "MI300X"):
            for stage in (0, 3):
                solved = PER_OPERATOR.solve(entry, device, batch_size=8, zero_stage=stage, dp_size=8)
                found = grid.total_memory.sel(model=entry, hardware=device, zero_stage=stage).item()
                assert found == pytest.approx(solved.total_memory.magnitude, rel=1e-12)


def test_points_that_do_not_fit_can_be_masked():
    grid = PER_OPERATOR.sweep(**LLAMA, ep_size=1, tp_size=[1, 3, 4], interleaved_stages=[1, 2], refused="mask")
    assert np.isfinite(grid.total_memory.values).tolist() == [[True, False], [False, False], [True, False]]
    reasons = grid.refused.attrs["flag_meanings"].split()
    code = grid.refused.sel(tp_size=1, interleaved_stages=2).item()
    assert reasons[code] == "interleaved_stages_must_be_1_where_pp_size"


@pytest.mark.parametrize(("model", "output"), rest_long(NEW, quick=1), ids=NEW_IDS)
def test_sensitivity_agrees_with_a_small_change(model, output):
    found = model.sensitivity(output, **point(model))
    name = "trainable_fraction" if isinstance(model, TrainingMemoryModel) else "node_bandwidth"
    base = {name: 0.5} if name == "trainable_fraction" else {name: 450.0}
    at = model.sensitivity(output, **{**point(model), **base})
    step = 1e-6 * base[name]
    above, below = (
        model.solve(**{**point(model), name: base[name] + sign * step})[output].magnitude for sign in (1, -1)
    )
    middle = model.solve(**{**point(model), **base})[output].magnitude
    elasticity = (above - below) / (2 * step) * base[name] / middle
    assert at[name].elasticity == pytest.approx(elasticity, rel=1e-5)
    assert output in str(found)


@pytest.mark.parametrize(("model", "output"), NEW, ids=NEW_IDS)
def test_a_pure_function_equals_solve(model, output):
    function = model.function(output, **point(model))
    assert float(function()) == pytest.approx(model.solve(**point(model)).canonical(output), rel=1e-5)


@pytest.mark.parametrize(
    ("model", "output", "by"),
    [
        (PER_OPERATOR, "total_memory", "reserved_memory"),
        (PER_OPERATOR, "gradients", "trainable_fraction"),
        (PER_OPERATOR, "moe_layer_activation", "routing_imbalance_factor"),
        (KORTHIKANTI, "activations", "hidden_dim"),
        (PER_LAYER, "all_to_all_latency", "node_bandwidth"),
        (PER_LAYER, "active_parameter_multiplier", "active_parameters"),
    ],
)
def test_a_derivative_in_closed_form_equals_the_change(model, output, by):
    found = model.derivative(output, by)
    slope = found.at(**point(model)).magnitude
    assert found.text()
    assert found.latex()
    result = model.solve(**point(model))
    start = getattr(result[by], "magnitude", result[by])
    step = max(abs(start), 1.0) * 1e-4
    if by == "hidden_dim":
        step = 32.0
    ends = (
        [start + step, start] if by in ("reserved_memory", "routing_imbalance_factor") else [start + step, start - step]
    )
    if by == "trainable_fraction":
        ends = [start, start - step]
    values = [model.solve(**{**point(model), by: type(start)(end)})[output] for end in ends]
    change = getattr(values[0], "magnitude", values[0]) - getattr(values[1], "magnitude", values[1])
    assert slope == pytest.approx(change / (ends[0] - ends[1]), rel=2e-3)


@pytest.mark.parametrize(("model", "variant"), EVERY)
def test_results_and_models_survive_a_pickle(model, variant):
    result = model(variant).solve(**POINTS[model])
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    assert again.model.variant == variant
    assert again.model.headline == result.model.headline
    assert again.model.solve(**POINTS[model]).to_dict() == result.to_dict()


def test_a_refusal_survives_a_pickle():
    with pytest.raises(InputError) as refused:
        memory("first_order", vocab_size=3)
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)
    assert again.hint == "variant=per_operator does"


@pytest.mark.parametrize(("model", "variant"), EVERY)
def test_latex_and_sources_of_every_variant(model, variant):
    found = model(variant)
    assert found.latex().count("&=") == len(found.system.printed)
    assert found.source_code("numpy").count("\n") >= len(found.formulas)
    assert found.source_code("jax")
    assert json.loads(found.solve(**POINTS[model]).to_json())["outputs"]


def test_without_a_fleet_the_times_alone_are_left_out():
    found = PER_LAYER.solve("Mixtral_8x7B", batch_size=4, ep_size=8)
    assert set(PER_LAYER.headline) - set(found.outputs) == {
        "dispatch_time", "combine_time", "all_to_all_latency", "step_all_to_all_time",
    }  # fmt: skip
    assert found.step_dispatch_bytes.to("MB").magnitude == pytest.approx(4 * 32 * 117.440512)


def test_a_fleet_has_the_links_of_its_nodes():
    fleet = Systems.Clusters.Research_256
    found = PER_LAYER.solve("Mixtral_8x7B", fleet, batch_size=4, ep_size=8)
    assert found.node_bandwidth == fleet.node.accelerator.link_bandwidth.quantity.to("GB/s")
    assert found.accelerators_per_node == 8
    assert found.exchange_latency.to("us").magnitude == pytest.approx(30)
    assert found.source("direct_mesh") == "default"
    assert "fleet_size" not in found.outputs
