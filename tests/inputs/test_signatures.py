"""What ``help()`` and an editor show of every model: names, defaults, units, order."""

import inspect

import pytest

from mlsysim import (
    MoERoutingModel,
    ParameterCountModel,
    PerformanceModel,
    ServingCapacityModel,
    TrainingMemoryModel,
)
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.formats import WEIGHT_PARTS
from mlsysim.inputs.signature import only_in

REQUIRED = inspect.Parameter.empty
#: The shape of a transformer, tensor by tensor, in the order of the signatures.
TENSORS = {
    **dict.fromkeys(("layers", "hidden_dim", "heads", "kv_heads", "head_dim", "vocab_size")),
    "embedding_dim": 0,
    **dict.fromkeys(("ffn_dim", "gated")),
    **dict.fromkeys(("experts", "active_experts_per_token"), 1),
    **dict.fromkeys(("moe_layers", "expert_ffn_dim", "expert_input_dim", "shared_ffn_dim"), 0),
    "router_bias": False,
    "tied_embeddings": False,
    "lookup_parameters": 0,
    "learned_positions": 0,
    "qkv_bias": False,
    "attention_output_bias": False,
    "mlp_bias": False,
    "norm_bias": False,
    "norm_scale": True,
    "qk_norm": False,
    "q_lora_rank": 0,
    "kv_lora_rank": 0,
    "qk_nope_head_dim": 0,
    "qk_rope_head_dim": 0,
    "v_head_dim": 0,
    "attention_sinks": False,
    "gate_width": 0,
    "block_norms": 2,
    "sandwich_norm": False,
    "expert_bias": False,
    "mtp_layers": 0,
    **dict.fromkeys(("sliding_layers", "sliding_heads", "sliding_kv_heads", "sliding_head_dim"), 0),
    "sliding_v_head_dim": 0,
    "value_projections": True,
    **dict.fromkeys(("shared_cache_layers", "sliding_shared_layers"), 0),
    **dict.fromkeys(("mixerless_layers", "blockless_layers", "state_layers", "parallel_layers"), 0),
    **dict.fromkeys(("state_key_heads", "state_key_dim", "state_heads", "state_value_dim", "state_gates"), 0),
    **dict.fromkeys(("state_scalars", "conv_channels", "conv_kernel", "state_matrices", "state_vectors"), 0),
    **dict.fromkeys(("index_layers", "index_heads", "index_head_dim"), 0),
    **dict.fromkeys(("compressed_layers", "heavily_compressed_layers", "index_compression", "heavy_compression"), 0),
    **dict.fromkeys(("o_lora_rank", "o_groups", "further_matrices", "further_vectors", "reused_parameters"), 0),
    **dict.fromkeys(("cross_layers", "source_hidden_dim", "source_parameters"), 0),
}

NO_PRODUCTS = (
    "learned_positions", "norm_scale", "block_norms", "sandwich_norm", "further_vectors", "reused_parameters"
)  # fmt: skip

EXPECTED = {
    TrainingMemoryModel: (
        {"model": None, "hardware": None},
        {
            "stack": "Generic",
            "recipe": None,
            "batch_size": REQUIRED,
            "seq_len": 2048,
            "precision": "fp16",
            "weight_dtype": "as_precision",
            "compute_dtype": "as_precision",
            "activation_dtype": "as_precision",
            "saved_dtype": "as_precision",
            "gradient_dtype": "as_precision",
            "optimizer": "adam",
            "master_weights": True,
            "finetuning": "full",
            "lora_rank": 16,
            "lora_target_modules": "all_linear",
            "adapter_dtype": "as_precision",
            "activation_checkpointing": "selective",
            "zero_stage": 0,
            "dp_size": 1,
            "tp_size": 1,
            "pp_size": 1,
            "cp_size": 1,
            "ep_size": 1,
            "etp_size": 0,
            "dp_replicate_size": 1,
            "gradient_accumulation_steps": 1,
            "trainable_fraction": 1.0,
            "communication_buffer_fraction": 0.05,
            "sequence_parallel": False,
            "interleaved_stages": 1,
            "pipeline_schedule": "1f1b",
            "two_batch_overlap": False,
            "attention_kernel": "flash",
            "elementwise_kernels": "fused",
            "selective_policy": "core_attention",
            "recompute_layernorm": False,
            "recompute_mla_up_proj": False,
            "recompute_activation_func": False,
            "dropout_mask_bytes": 0.0,
            "routing_imbalance_factor": 1.0,
            "capacity_factor": 0.0,
            "pad_to_capacity": False,
            "routing_weights": "after",
            "expert_row_padding": 0,
            "gathered_layers": 2,
            "reserved_memory": 0.0,
            "peak_rank": "fullest",
            "loss_kernel": "eager",
            "loss_chunks": 8,
            "vocab_multiple": 1,
            "gradients_at_loss": True,
            "update_buffer": "none",
            "optimizer_in_backward": False,
            "optimizer_device": "accelerator",
            "activation_offload": False,
            "residual_dtype": "as_precision",
            "workspace": 0.0,
            "token_dispatcher": "alltoall",
            "loaded_mask": False,
            "deferred_head_gradients": 0,
            "layers_first_stage": 0,
            "layers_last_stage": 0,
            "microbatch_group": 0,
            "memory_spread": 0.08,
            "memory_reading": "allocated",
            "context_memory": 0.0,
            "pool_share": 0.0,
            "parameters": None,
            **TENSORS,
            "state_chunk": 0,
            "state_matrix_width": 0,
            "moe_layer_interval": 1,
            "memory_capacity": None,
            "driver_memory": 0,
        },
    ),
    ServingCapacityModel: (
        {"model": None, "hardware": None},
        {
            "stack": "Generic",
            "qps": REQUIRED,
            "target_p99_latency_ms": REQUIRED,
            "seq_len": 2048,
            "output_tokens": 128,
            "max_batch_size": 32,
            "precision": "fp16",
            "weight_dtype": "as_precision",
            "compute_dtype": "as_precision",
            "kv_cache_dtype": "as_precision",
            "max_replicas": 1024,
            "service_time_cv": 1.0,
            "kv_page_size": 16,
            "attention_mask": "causal",
            "images": 0,
            "parameters": None,
            **{name: value for name, value in TENSORS.items() if name not in NO_PRODUCTS},
            "gated": False,
            "sliding_window": 0,
            "chunked_attention": False,
            "index_topk": 0,
            "state_operations": 0,
            "state_chunk": 0,
            "delta_rule": False,
            "bidirectional": False,
            "state_element_bytes": 4,
            **dict.fromkeys(WEIGHT_PARTS, 0.0),
            **dict.fromkeys(("source_tokens", "image_patches", "source_token_flops", "source_pair_flops"), 0),
            "memory_capacity": None,
            "driver_memory": 0,
            "memory_bandwidth": None,
            "peak_flops": None,
            "efficiency": 0.5,
            **dict.fromkeys(
                (
                    "memory_efficiency",
                    "kv_read_efficiency",
                    "scan_efficiency",
                    "scan_chunk_time",
                    "dispatch_tax",
                    "layer_tax",
                )
            ),
            "gpu_memory_utilization": None,
            "kv_memory_fraction": None,
            "workspace_memory": None,
            "runtime_memory": None,
            "sampled_requests": None,
            "sampling_bytes": None,
            "expert_hidden_multiple": None,
            "expert_width_multiple": None,
        },
    ),
    MoERoutingModel: (
        {"model": None, "fleet": None},
        {
            "stack": "Generic",
            "batch_size": REQUIRED,
            "seq_len": 2048,
            "precision": "fp16",
            "dispatch_dtype": "as_precision",
            "combine_dtype": "as_precision",
            "ep_size": 1,
            "routing_imbalance_factor": 1.0,
            "capacity_factor": 0.0,
            "pad_to_capacity": False,
            "node_limit": 0,
            "congestion_factor": 1.0,
            "activation_checkpointing": "selective",
            "active_parameters": None,
            "layers": None,
            "hidden_dim": None,
            "gated": None,
            "experts": None,
            "active_experts_per_token": None,
            "moe_layers": None,
            "expert_ffn_dim": None,
            "expert_bias": False,
            "expert_input_dim": 0,
            "fabric_bandwidth": None,
            "fabric_latency": None,
            "oversubscription": 1,
            "accelerators_per_node": None,
            "accelerators_per_segment": 0,
            "node_bandwidth": None,
            "direct_mesh": 0,
            "torus_axes": 0,
            "accelerators_per_pod": 0,
            "fleet_size": None,
            **dict.fromkeys(("fabric_efficiency", "exchange_link_efficiency", "exchange_latency")),
        },
    ),
    ParameterCountModel: ({"model": None}, TENSORS),
}
FIRST = {"solve": [], "sweep": [], "sensitivity": ["output"], "function": ["outputs"]}
VERBS = [(model, verb) for model in EXPECTED for verb in FIRST]
UNITS = {
    "seq_len": "token",
    **dict.fromkeys(("sliding_window", "index_topk", "state_chunk", "source_tokens", "image_patches"), "token"),
    "source_token_flops": "FLOP/token",
    "source_pair_flops": "FLOP/token^2",
    "state_operations": "FLOP/token",
    "state_element_bytes": "byte",
    **dict.fromkeys(WEIGHT_PARTS, "byte"),
    "scan_chunk_time": "µs",
    "expert_row_padding": "token",
    "memory_capacity": "GB",
    "memory_bandwidth": "GB/s",
    "peak_flops": "TFLOP/s",
    "qps": "QPS",
    "exchange_latency": "µs",
    "target_p99_latency_ms": "ms",
    "output_tokens": "token",
    "max_batch_size": "request",
    "kv_page_size": "token",
    "dispatch_tax": "ms",
    "layer_tax": "ms",
    "fabric_bandwidth": "GB/s",
    "fabric_latency": "µs",
    "node_bandwidth": "GB/s",
    "node_latency": "µs",
    "dropout_mask_bytes": "byte",
    "reserved_memory": "GB",
    "context_memory": "GB",
    "workspace": "GB",
    "workspace_memory": "GB",
    "driver_memory": "GB",
    "runtime_memory": "GB",
    "sampling_bytes": "byte",
}


def parameters(model, verb):
    return inspect.signature(getattr(model(), verb)).parameters


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_entries_come_first_then_keywords_in_order(model, verb):
    entries, keywords = EXPECTED[model]
    in_blocks = ["store", "block_points", "client", "progress"]
    extra = {
        "sweep": ["outputs", "refused", "variant", *in_blocks],
        "sensitivity": ["second", "relax"],
        "function": ["check"],
    }
    assert list(parameters(model, verb)) == [*FIRST[verb], *entries, *extra.get(verb, []), *keywords]


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_defaults(model, verb):
    entries, keywords = EXPECTED[model]
    found = {name: p.default for name, p in parameters(model, verb).items() if name in {**entries, **keywords}}
    assert found == {**entries, **keywords}


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_only_catalog_entries_may_be_given_without_a_name(model, verb):
    found = parameters(model, verb)
    places = {p.name for p in found.values() if p.kind is p.POSITIONAL_OR_KEYWORD}
    assert places == {*FIRST[verb], *EXPECTED[model][0]}
    assert all(p.kind is p.KEYWORD_ONLY for name, p in found.items() if name not in places)


@pytest.mark.parametrize("model", EXPECTED)
def test_the_signature_of_the_class_has_self(model):
    assert next(iter(inspect.signature(model.solve).parameters)) == "self"


@pytest.mark.parametrize("model", EXPECTED)
def test_annotations_give_domain_and_unit(model):
    found = parameters(model, "solve")
    for name in EXPECTED[model][1]:
        if name in model.slots:
            assert found[name].annotation == model.slots[name].entry.__name__
            continue
        unit = f" [{UNITS[name]}]" if name in UNITS else ""
        assert found[name].annotation == model.arguments[name].domain.describe() + unit


def test_annotations_of_a_few_arguments_in_full():
    found = parameters(TrainingMemoryModel, "solve")
    assert found["model"].annotation == "TransformerWorkload"
    assert found["hardware"].annotation == "Accelerator"
    assert found["batch_size"].annotation == "a whole number >= 1"
    assert found["seq_len"].annotation == "a whole number >= 1 [token]"
    assert (
        found["optimizer"].annotation
        == "one of adam, adamw, adam_fp32, adam_8bit, adam_bf16, muon, adafactor, sgd, none"
    )
    assert found["trainable_fraction"].annotation == "a finite number >= 0 and <= 1"
    assert found["memory_capacity"].annotation == "a finite number > 0 [GB]"


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_help_describes_every_argument_with_its_default(model, verb):
    lines = inspect.getdoc(getattr(model, verb)).splitlines()
    entries, keywords = EXPECTED[model]
    for name in entries:
        assert any(line.startswith(f"{name} : ") and line.endswith(" or str, optional") for line in lines)
    for name, default in keywords.items():
        start = next(place for place, line in enumerate(lines) if line.startswith(f"{name} : "))
        annotation = f"{name} : {parameters(model, verb)[name].annotation}"
        if name in model.slots:
            assert lines[start] == f"{annotation} or str, {f'default {default!r}' if default else 'optional'}"
            continue
        if default is REQUIRED:
            assert lines[start] == annotation
        elif name in model.keywords:
            assert lines[start] == f"{annotation}, default {default!r}"
        else:
            slots = [slot for slot, gives in model.slots.items() if name in gives.provides]
            assert lines[start] == f"{annotation}, default from {' or '.join(slots)}"
        only = f" {only_in(model, name)}." if only_in(model, name) else ""
        assert lines[start + 1] == f"    {model.arguments[name].description}{only}"


def test_help_names_the_variants_of_what_the_first_one_does_not_take():
    lines = inspect.getdoc(TrainingMemoryModel.solve).splitlines()

    def meaning(name):
        return lines[next(place for place, line in enumerate(lines) if line.startswith(f"{name} : ")) + 1]

    assert meaning("gathered_layers").endswith(" prefetched ones. Only variant per_operator.")
    assert meaning("sequence_parallel").endswith(" along the sequence. Only variants korthikanti and per_operator.")
    assert meaning("communication_buffer_fraction").endswith(" share of the gradients.")
    assert "Only variant" not in inspect.getdoc(ParameterCountModel.solve)
    found = inspect.getdoc(MoERoutingModel.solve)
    assert found.count("Only variant per_layer.") == found.count("Only variant") == 21


def test_only_in_is_said_of_every_argument_the_first_variant_lacks():
    for model in EXPECTED:
        first = model()
        for name, variable in model.arguments.items():
            if variable is not None:
                assert bool(only_in(model, name)) == (name not in first.arguments)


@pytest.mark.parametrize("model", EXPECTED)
def test_the_signature_is_the_union_of_those_of_the_variants(model):
    """The class has one signature; an instance knows which of its arguments it uses."""
    union = {name for variant in model.variants for name in model(variant).arguments}
    assert union == set(model.arguments)
    for variant in model.variants:
        assert list(inspect.signature(model(variant).solve).parameters) == list(parameters(model, "solve"))
        own = list(model(variant).arguments)
        assert own == [name for name in model.arguments if name in own]


@pytest.mark.parametrize("model", EXPECTED)
def test_help_of_the_class_starts_with_its_question(model):
    first, second, *_ = inspect.getdoc(model).splitlines()
    assert first == model.question()
    assert first.endswith("?")
    assert not second


@pytest.mark.parametrize(("model", "verb"), VERBS)
def test_verbs_carry_their_own_names(model, verb):
    method = getattr(model, verb)
    assert method.__name__ == verb
    assert method.__qualname__ == f"{model.__name__}.{verb}"
    assert method.__module__ == model.__module__


@pytest.mark.parametrize("model", EXPECTED)
def test_a_model_names_its_parts(model):
    found = model()
    assert isinstance(found, PerformanceModel)
    assert repr(found) == f"{model.__name__}(variant={next(iter(model.variants))!r})"
    defined = [formula.name for formula in found.formulas]
    assert len(set(defined)) == len(defined)
    assert [v.name for v in found.outputs][: len(model.headline)] == list(model.headline)
    assert {v.name for v in found.outputs} == set(defined)
    assert {v.name for v in found.inputs} <= set(model.arguments)
    assert not {v.name for v in found.inputs} & set(defined)


@pytest.mark.parametrize("model", EXPECTED)
def test_formulas_stand_after_what_they_need(model):
    seen = {v.name for v in model().inputs}
    for formula in model().formulas:
        assert {v.name for v in formula.inputs} <= seen
        seen.add(formula.name)


BOARD = {"model": "Llama3_8B", "hardware": "H100"}


@pytest.mark.parametrize(
    ("verb", "typed", "meant"),
    [
        ("search", "minimise", "minimize"),
        ("search", "subjectto", "subject_to"),
        ("pareto", "minimise", "minimize"),
        ("sweep", "output", "outputs"),
        ("solve_for", "whch", "which"),
        ("sensitivity", "outputs", "output"),
        ("uncertainty", "n_samples", "samples"),
        ("calibrate", "observation", "observations"),
    ],
)
def test_a_misspelt_keyword_of_a_verb_is_told_the_right_one(verb, typed, meant):
    with pytest.raises(UnknownNameError) as refused:
        getattr(TrainingMemoryModel(), verb)(**{typed: "x"}, **BOARD)
    said = f"unknown argument of TrainingMemoryModel.{verb} {typed!r}: did you mean {meant}?"
    assert str(refused.value) == said


def test_a_misspelt_argument_of_the_model_is_still_told_its_own():
    with pytest.raises(UnknownNameError, match="did you mean batch_size"):
        TrainingMemoryModel().search(minimize="dp_size", batchsize=[1, 2], **BOARD)


@pytest.mark.parametrize("verb", ["solve", "search", "solve_for", "function"])
def test_a_variant_beside_the_arguments_is_told_where_it_belongs(verb):
    with pytest.raises(InputError) as refused:
        getattr(TrainingMemoryModel(), verb)(variant="per_operator", **BOARD)
    assert str(refused.value).endswith(" where the model is made; use TrainingMemoryModel('per_operator')")
    both = TrainingMemoryModel().sweep(variant=["first_order", "per_operator"], batch_size=[1], **BOARD)
    assert both.sizes["variant"] == 2
