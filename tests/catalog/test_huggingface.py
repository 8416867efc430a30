"""Shapes from a config.json: the same as the catalog's, and what is missing, unknown or wrong is named."""

import contextlib
import json
from pathlib import Path

import pytest
from fuzz import rest_long

from mlsysim import TrainingMemoryModel
from mlsysim.catalog import SparseTransformerWorkload, TransformerWorkload, builtin
from mlsysim.catalog.huggingface import known_types
from mlsysim.errors import CatalogError, InputError
from mlsysim.formats import WEIGHT_PARTS

CONFIGS = Path(__file__).parent / "configs"
SAME = {
    "llama3_1_8b": "Llama3_1_8B",
    "mixtral_8x7b": "Mixtral_8x7B",
    "deepseek_v3": "DeepSeek_V3",
    "qwen3_30b_a3b": "Qwen3_30B_A3B",
    "gpt2_xl": "GPT2_XL",
    "opt_13b": "OPT_13B",
    "llama4_maverick": "Llama4_Maverick",
    "kimi_k2": "Kimi_K2",
    "qwen3_4b": "Qwen3_4B",
    "qwen2_5_14b": "Qwen2_5_14B",
    "mistral_7b": "Mistral_7B",
    "gemma2_2b": "Gemma2_2B",
    "gemma3_1b": "Gemma3_1B",
    "gemma3_12b": "Gemma3_12B",
    "gpt_oss_20b": "gpt_oss_20B",
}
SHAPE = [
    field
    for field in SparseTransformerWorkload.model_fields
    if field not in ("name", "description", "architecture", "image_patches", *WEIGHT_PARTS)
    and "parameters" not in field
]


def shape(model):
    """Every field of the shape; what is left out and has no value of its own is none of it."""
    found = {field: model.value_of(field, "fp16") for field in SHAPE}
    return {field: 0 if value is None else value.value for field, value in found.items()}


@pytest.mark.parametrize("name", SAME)
def test_the_shape_is_that_of_the_catalog(name):
    model = TransformerWorkload.from_hf(CONFIGS / f"{name}.json")
    entry = builtin().find("model", SAME[name])
    assert type(model) is type(entry)
    assert shape(model) == shape(entry)
    assert model.parameters is None


def test_every_config_is_compared():
    assert {file.stem for file in CONFIGS.iterdir()} == set(SAME)


@pytest.fixture
def write(tmp_path):
    def put(content, name="config.json"):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return file

    return put


def config(name="llama3_1_8b", **changes):
    content = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8")) | changes
    return {field: value for field, value in content.items() if value != "drop"}


class TestWhereItComesFrom:
    def test_a_folder_and_its_file_are_the_same(self, write):
        file = write(config())
        assert shape(TransformerWorkload.from_hf(file.parent)) == shape(TransformerWorkload.from_hf(str(file)))

    def test_values_have_the_file_as_their_source(self, write):
        file = write(config())
        value = TransformerWorkload.from_hf(file).layers
        assert (value.value, value.source, value.kind) == (32, str(file), "user")
        assert str(value) == f"32 (user: {file})"

    @pytest.mark.parametrize(
        ("content", "file", "name"),
        [
            (config(_name_or_path="meta-llama/Llama-3.1-8B"), "config.json", "meta-llama/Llama-3.1-8B"),
            (config(), "tiny.json", "tiny"),
            (config(_name_or_path=""), "tiny.json", "tiny"),
        ],
    )
    def test_its_name(self, write, content, file, name):
        assert TransformerWorkload.from_hf(write(content, file)).name == name

    def test_the_name_of_the_folder(self, write):
        file = write(config())
        assert TransformerWorkload.from_hf(file.parent).name == file.parent.name

    def test_layers_that_predict_further_tokens_are_left_out(self):
        model = TransformerWorkload.from_hf(CONFIGS / "deepseek_v3.json")
        assert (model.layers.value, model.layers.note) == (61, "Without the layers that predict further tokens.")
        assert TransformerWorkload.from_hf(CONFIGS / "opt_13b.json").layers.note == ""


class TestWhatTheCallerAdds:
    def test_a_count_and_a_name(self):
        model = TransformerWorkload.from_hf(CONFIGS / "llama3_1_8b.json", parameters=8.03e9, name="Llama")
        assert (model.parameters.value, model.name) == (8.03e9, "Llama")
        assert TrainingMemoryModel().solve(model, "H100", batch_size=1).canonical("parameters") == 8.03e9

    def test_without_a_count_the_shape_is_counted(self):
        model = TransformerWorkload.from_hf(CONFIGS / "llama3_1_8b.json")
        found = TrainingMemoryModel().solve(model, "H100", batch_size=1)
        assert found.canonical("parameters") == 8_030_261_248
        given = TrainingMemoryModel().solve(model, "H100", batch_size=1, parameters=8.03e9)
        assert given.canonical("parameters") == 8.03e9

    def test_a_field_nobody_knows(self):
        with pytest.raises(CatalogError, match=r"llama3_1_8b.json: llama3_1_8b: colour: Extra inputs"):
            TransformerWorkload.from_hf(CONFIGS / "llama3_1_8b.json", colour="red")

    def test_the_sparse_class_takes_sparse_models_only(self):
        assert type(SparseTransformerWorkload.from_hf(CONFIGS / "mixtral_8x7b.json")) is SparseTransformerWorkload
        with pytest.raises(CatalogError, match=r"has no experts; use TransformerWorkload\.from_hf"):
            SparseTransformerWorkload.from_hf(CONFIGS / "opt_13b.json")


CHANGES = {
    "a head width of its own": ("llama3_1_8b", {"head_dim": 64}, {"head_dim": 64}),
    "no head width": ("llama3_1_8b", {"head_dim": None}, {"head_dim": 128}),
    "no grouped keys": ("llama3_1_8b", {"num_key_value_heads": "drop"}, {"kv_heads": 32}),
    "biases": ("llama3_1_8b", {"attention_bias": True}, {"qkv_bias": 1, "attention_output_bias": 1}),
    "biases of the feed-forward blocks": ("llama3_1_8b", {"mlp_bias": True}, {"mlp_bias": 1, "qkv_bias": 0}),
    "silence about ties": ("llama3_1_8b", {"tie_word_embeddings": "drop"}, {"tied_embeddings": 0}),
    "ties": ("llama3_1_8b", {"tie_word_embeddings": True}, {"tied_embeddings": 1}),
    "GPT-2 ties unless told": ("gpt2_xl", {"tie_word_embeddings": False}, {"tied_embeddings": 0}),
    "GPT-2 with a width of its own": ("gpt2_xl", {"n_inner": 3200}, {"ffn_dim": 3200}),
    "OPT without biases": ("opt_13b", {"enable_bias": False}, {"mlp_bias": 0, "qkv_bias": 0, "norm_bias": 1}),
    "queries that are not compressed": ("deepseek_v3", {"q_lora_rank": None}, {"q_lora_rank": 0}),
    "two shared experts": ("deepseek_v3", {"n_shared_experts": 2}, {"shared_ffn_dim": 4096}),
    "no shared expert": ("deepseek_v3", {"n_shared_experts": None}, {"shared_ffn_dim": 0}),
    "no dense layer": ("deepseek_v3", {"first_k_dense_replace": 0}, {"moe_layers": 61, "ffn_dim": 0}),
    "experts in every other layer": ("deepseek_v3", {"moe_layer_freq": 2}, {"moe_layers": 29, "moe_layer_interval": 2}),
    "Qwen: every other layer": ("qwen3_30b_a3b", {"decoder_sparse_step": 2}, {"moe_layers": 24, "ffn_dim": 6144}),
    "Qwen: layers without experts": ("qwen3_30b_a3b", {"mlp_only_layers": [0, 5]}, {"moe_layers": 46}),
    "Qwen: layers that had none anyway": (
        "qwen3_30b_a3b",
        {"decoder_sparse_step": 2, "mlp_only_layers": [0, 1, 2]},
        {"moe_layers": 23},
    ),
    "Mistral without a window": ("mistral_7b", {"sliding_window": None}, {"sliding_window": 0, "sliding_layers": 0}),
    "Qwen: windows behind the first layers": (
        "qwen2_5_14b",
        {"use_sliding_window": True, "max_window_layers": 40},
        {"sliding_window": 131_072, "sliding_layers": 8},
    ),
    "Qwen: windows in as many layers as listed": (
        "qwen3_4b",
        {"sliding_window": 512, "layer_types": ["sliding_attention"] * 3 + ["full_attention"] * 33},
        {"sliding_window": 512, "sliding_layers": 3},
    ),
    "Gemma 3: another pattern": ("gemma3_1b", {"sliding_window_pattern": 2}, {"sliding_layers": 13}),
    "gpt-oss without biases": ("gpt_oss_20b", {"attention_bias": False}, {"qkv_bias": 0, "expert_bias": 1}),
    "the other name of the experts": (
        "qwen3_30b_a3b",
        {"num_experts": "drop", "num_local_experts": 64},
        {"experts": 64},
    ),
}


@pytest.mark.parametrize(("name", "changes", "found"), CHANGES.values(), ids=CHANGES)
def test_what_a_field_does(write, name, changes, found):
    model = shape(TransformerWorkload.from_hf(write(config(name, **changes))))
    assert {field: model[field] for field in found} == found


@pytest.mark.parametrize(
    ("given", "chunks", "tokens"),
    [
        ({}, 36, 8192),
        ({"no_rope_layers": [0, 1, 1, 1, 1, 1] * 8}, 40, 8192),
        ({"no_rope_layer_interval": 2, "attention_chunk_size": 512}, 24, 512),
        ({"layer_types": ["chunked_attention"] * 5 + ["full_attention"] * 43}, 5, 8192),
        ({"attention_chunk_size": None}, 0, 0),
    ],
)
def test_chunks_of_llama_4(write, given, chunks, tokens):
    found = shape(TransformerWorkload.from_hf(write({**config("llama4_maverick")["text_config"], **given})))
    assert (found["sliding_layers"], found["sliding_window"]) == (chunks, tokens)
    assert found["chunked_attention"] == (chunks > 0)


def test_layers_of_llama_4_by_number(write):
    content = config("llama4_maverick")
    content["text_config"] |= {"moe_layers": [3, 7, 11], "interleave_moe_layer_step": 4}
    model = TransformerWorkload.from_hf(write(content))
    assert (model.moe_layers.value, model.moe_layer_interval.value) == (3, 4)


def test_the_text_part_of_llama_4_alone(write):
    content = config("llama4_maverick")["text_config"]
    model = TransformerWorkload.from_hf(write(content))
    assert shape(model) == shape(builtin().find("model", "Llama4_Maverick"))


class TestUnknownFields:
    def test_are_named_with_the_way_on(self, write):
        file = write(config(mystery_layers=3, extra=[1]))
        with pytest.raises(CatalogError) as caught:
            TransformerWorkload.from_hf(file)
        assert str(caught.value) == (
            f"{file}: mystery_layers, extra may change the shape of a llama; "
            "where not, TransformerWorkload.from_hf(path, ignore=('mystery_layers', 'extra')) reads it"
        )
        assert TransformerWorkload.from_hf(file, ignore=("mystery_layers", "extra")).layers.value == 32

    def test_one_may_be_given_as_text(self, write):
        file = write(config(mystery=3))
        with pytest.raises(CatalogError, match=r"ignore=\('mystery',\)\) reads it"):
            TransformerWorkload.from_hf(file)
        assert TransformerWorkload.from_hf(file, ignore="mystery").layers.value == 32

    def test_without_a_value_they_do_no_harm(self, write):
        assert TransformerWorkload.from_hf(write(config(mystery=None))).layers.value == 32

    def test_in_the_outer_part(self, write):
        with pytest.raises(CatalogError, match=r"audio_config may change the shape of a llama4; "):
            TransformerWorkload.from_hf(write(config("llama4_maverick", audio_config={})))


MISTAKES = {
    "no type": (config(model_type="drop"), "missing model_type; known: gpt2, opt, albert, "),
    "a mistyped type": (
        config(model_type="lama"),
        "unknown model_type 'lama': did you mean llama, ",
    ),
    "an unknown type": (config(model_type="abacus"), "unknown model_type 'abacus': "),
    "a type that is no text": (config(model_type=5), "unknown model_type 5: known: gpt2, opt, albert"),
    "missing fields": (
        config(num_hidden_layers="drop", vocab_size=None),
        "missing num_hidden_layers, vocab_size",
    ),
    "text for a number": (config(hidden_size="4096"), "hidden_size='4096' must be a whole number"),
    "a fraction": (config(hidden_size=4096.5), "hidden_size=4096.5 must be a whole number"),
    "a truth value": (config(hidden_size=True), "hidden_size=True must be a whole number"),
    "a negative number": (config(hidden_size=-1), "hidden_size=-1 must be a whole number"),
    "too large": (config(hidden_size=10**400), "hidden_size=1000000"),
    "no layers": (config(num_hidden_layers=0), "num_hidden_layers=0 must be a whole number from 1"),
    "a number for yes or no": (config(tie_word_embeddings=1), "tie_word_embeddings=1 must be true or false"),
    "an encoder": (
        config(is_encoder_decoder=True),
        "is_encoder_decoder=True is a shape that is not known, only False is",
    ),
    "cross attention": (config("gpt2_xl", add_cross_attention=True), "add_cross_attention=True is a shape that is"),
    "norms after the blocks": (config("opt_13b", do_layer_norm_before=False), "do_layer_norm_before=False is a shape"),
    "a narrower embedding": (
        config("opt_13b", word_embed_proj_dim=512),
        "word_embed_proj_dim=512 is a shape that is not known, only that of hidden_size is",
    ),
    "biases of latent attention": (config("deepseek_v3", attention_bias=True), "attention_bias=True is a shape that"),
    "kinds of too few layers": (
        config("gpt_oss_20b", layer_types=["full_attention"]),
        "layer_types=['full_attention'] must be a list of as many names as layers",
    ),
    "attention to both sides": (config("gemma3_1b", use_bidirectional_attention=True), "use_bidirectional_attention=T"),
    "layers that are no list": (config("qwen3_30b_a3b", mlp_only_layers=3), "mlp_only_layers=3 must be a list of lay"),
    "layers that are no numbers": (config("qwen3_30b_a3b", mlp_only_layers=["a"]), "mlp_only_layers=['a'] must be a"),
    "more picked than there are": (
        config("mixtral_8x7b", num_experts_per_tok=9),
        "active_experts_per_token=9 is more than experts=8",
    ),
    "marks of too few layers": (
        config("llama4_maverick", text_config={**config("llama4_maverick")["text_config"], "no_rope_layers": [1, 0]}),
        "no_rope_layers=[1, 0] must be a list of as many 0 and 1 as layers",
    ),
    "no text part": (config("llama4_maverick", text_config=None), "text_config=None must be an object"),
    "a list": ("[]", 'must be an object, as in {"model_type": "llama"}'),
    "not JSON": ("{", "not JSON: "),
    "too deep": ("[" * 100_000, "not JSON: "),
}


@pytest.mark.parametrize(("content", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(write, content, message):
    file = write(content)
    with pytest.raises(CatalogError) as caught:
        TransformerWorkload.from_hf(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)


TOKENS = (
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    10**30,
    2.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    [],
    [1],
    ["a"],
    {},
    {"a": 1},
)


@pytest.mark.parametrize("name", rest_long(SAME, quick=4))
def test_a_file_with_any_one_field_changed_loads_or_is_refused(write, name):
    content = config(name)
    part = content.get("text_config", content)
    loaded = 0
    fields = [(field, value) for field, value in part.items() if field != "model_type"]
    for field, value in fields:
        for token in TOKENS:
            part[field] = token
            file = write(content)
            with contextlib.suppress(CatalogError):
                loaded += TransformerWorkload.from_hf(file).layers.value > 0
        part[field] = value
    assert loaded >= 5 * len(fields)


class TestTheFile:
    def test_not_there(self, tmp_path):
        with pytest.raises(CatalogError, match=r"none: cannot be read: No such file"):
            TransformerWorkload.from_hf(tmp_path / "none")

    def test_a_folder_without_one(self, tmp_path):
        with pytest.raises(CatalogError, match=r"config\.json: cannot be read: No such file"):
            TransformerWorkload.from_hf(tmp_path)

    def test_not_text(self, tmp_path):
        (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(CatalogError, match=r"not JSON: "):
            TransformerWorkload.from_hf(tmp_path)

    @pytest.mark.parametrize("path", [None, 3, ["config.json"], {}])
    def test_not_a_path(self, path):
        with pytest.raises(InputError, match=r"must be the path of a config\.json"):
            TransformerWorkload.from_hf(path)


#: Class of transformers and the sizes given to it, small ones that differ from each other.
WRITTEN = {
    "gpt2": ("GPT2Config", {"n_layer": 3, "n_embd": 48, "n_head": 4, "vocab_size": 101, "n_positions": 33}),
    "opt": (
        "OPTConfig",
        {"num_hidden_layers": 3, "hidden_size": 48, "num_attention_heads": 4, "ffn_dim": 80, "vocab_size": 101,
         "max_position_embeddings": 33, "word_embed_proj_dim": 48},
    ),
    "llama": ("LlamaConfig", {"attention_bias": True, "mlp_bias": True, "head_dim": 16}),
    "mistral": ("MistralConfig", {"head_dim": 16, "sliding_window": 8}),
    "mixtral": ("MixtralConfig", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2": ("Qwen2Config", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3Config", {"head_dim": 16}),
    "qwen3_moe": (
        "Qwen3MoeConfig",
        {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "decoder_sparse_step": 2,
         "mlp_only_layers": [1]},
    ),
    "deepseek_v3": (
        "DeepseekV3Config",
        {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_shared_experts": 2,
         "first_k_dense_replace": 1, "q_lora_rank": 20, "kv_lora_rank": 12, "qk_nope_head_dim": 8,
         "qk_rope_head_dim": 4, "v_head_dim": 10, "num_key_value_heads": 4, "n_group": 2, "topk_group": 1},
    ),
    "deepseek_v2": (
        "DeepseekV2Config",
        {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "n_shared_experts": 2,
         "first_k_dense_replace": 1, "q_lora_rank": None, "kv_lora_rank": 12, "qk_nope_head_dim": 8,
         "qk_rope_head_dim": 4, "v_head_dim": 10, "num_key_value_heads": 4},
    ),
    "gemma2": ("Gemma2Config", {"head_dim": 16, "sliding_window": 8}),
    "gemma3_text": ("Gemma3TextConfig", {"head_dim": 16, "sliding_window": 8}),
    "gpt_oss": ("GptOssConfig", {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16}),
    "llama4_text": (
        "Llama4TextConfig",
        {"num_local_experts": 4, "intermediate_size_mlp": 72, "interleave_moe_layer_step": 2, "head_dim": 16},
    ),
}  # fmt: skip
DECODER = {
    "num_hidden_layers": 4, "hidden_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64, "vocab_size": 101, "max_position_embeddings": 33,
}  # fmt: skip


def stored(model):
    """Numbers the modules of transformers store, without buffers, and the biases its routers keep as buffers."""
    biases = sum(b.numel() for name, b in model.named_buffers() if name.endswith("e_score_correction_bias"))
    return sum(p.numel() for p in model.parameters()) + biases


@pytest.mark.long
@pytest.mark.parametrize("model_type", WRITTEN)
def test_what_transformers_writes_counts_as_what_it_builds(model_type, tmp_path, total):
    """The file of a tiny model gives a shape whose tensors, added up in plain Python, are those of its modules."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")

    kind, sizes = WRITTEN[model_type]
    given = sizes if model_type in ("gpt2", "opt") else DECODER | sizes
    made = getattr(transformers, kind)(**given)
    made.save_pretrained(tmp_path)
    with torch.device("meta"):
        built = transformers.AutoModelForCausalLM.from_config(made)
    model = TransformerWorkload.from_hf(tmp_path)
    assert total(model) == stored(built)


def test_every_type_that_is_written_has_a_layout():
    assert {*WRITTEN, "llama4", "kimi_k2", "gemma3"} <= set(known_types())


def test_a_model_is_read_from_a_file_wherever_its_name_is_taken():
    file = CONFIGS / "llama3_1_8b.json"
    found = TrainingMemoryModel().solve(model=str(file), hardware="H100", batch_size=1)
    assert (
        found.to_dict()
        == TrainingMemoryModel().solve(TransformerWorkload.from_hf(file), "H100", batch_size=1).to_dict()
    )
    with pytest.raises(CatalogError, match="nowhere"):
        TrainingMemoryModel().solve(model="nowhere/config.json", hardware="H100", batch_size=1)


def test_a_period_of_no_layers_is_refused(tmp_path):
    content = json.loads((CONFIGS / "qwen3_30b_a3b.json").read_text()) | {"decoder_sparse_step": 0}
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(CatalogError, match="decoder_sparse_step=0 must be a whole number from 1"):
        TransformerWorkload.from_hf(tmp_path)


def test_a_mark_of_utf_8_is_no_part_of_the_file(write):
    plain = TransformerWorkload.from_hf(write(config()))
    assert TransformerWorkload.from_hf(write("\ufeff" + json.dumps(config()))).layers.value == plain.layers.value
