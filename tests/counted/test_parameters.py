"""Parameter counts against every tensor of real models, built on the meta device where they are large."""

from collections import Counter

import pytest

from mlsysim import Models, TrainingMemoryModel, TransformerWorkload

pytest.importorskip("torch")
pytest.importorskip("transformers")

SMALL = (
    "gpt2",
    "opt",
    "opt_untied",
    "llama",
    "llama_biases",
    "llama_tied",
    "mistral",
    "qwen2",
    "qwen3",
    "mixtral",
    "qwen3_moe",
    "qwen3_moe_interleaved",
    "deepseek_v3",
    "deepseek_v3_plain_query",
    "llama4",
)
#: Totals written down by hand, so that no release of transformers moves both sides.
PUBLISHED = {
    "GPT-2 XL": 1_557_611_200,
    "OPT-13B": 12_853_473_280,
    "Llama 3 8B": 8_030_261_248,
    "Llama 3.1 405B": 405_853_388_800,
    "Mistral 7B": 7_241_732_096,
    "Mixtral 8x7B": 46_702_792_704,
    "Qwen2 7B": 7_615_616_512,
    "Qwen3 0.6B": 596_049_920,
    "Qwen3 8B": 8_190_735_360,
    "Qwen3 30B-A3B": 30_532_122_624,
    "DeepSeek-V3": 671_026_419_200,
    "Llama 4 Maverick": 400_711_848_960,
}
CATALOG = {
    "GPT2_XL": "GPT-2 XL",
    "OPT_13B": "OPT-13B",
    "Llama3_8B": "Llama 3 8B",
    "Llama3_1_405B": "Llama 3.1 405B",
    "Mistral_7B": "Mistral 7B",
    "Mixtral_8x7B": "Mixtral 8x7B",
    "Qwen3_30B_A3B": "Qwen3 30B-A3B",
    "DeepSeek_V3": "DeepSeek-V3",
    "Llama4_Maverick": "Llama 4 Maverick",
}


def active(models, spec, named):
    """What one token passes through: of each stack of experts, as many as the router picks."""
    picked, experts = spec.shape.get("active_experts_per_token", 1), spec.shape.get("experts", 1)
    return sum(
        tensor.numel() * picked // experts if models.part(name) == "experts" else tensor.numel()
        for name, tensor in named.items()
    )


def test_the_lists_of_this_file_are_those_of_the_models(models):
    assert (*models.SMALL, *models.PUBLISHED) == (*SMALL, *PUBLISHED)


@pytest.mark.parametrize("name", [*SMALL, *PUBLISHED])
def test_every_tensor_is_in_the_count(models, name):
    spec = models.spec(name)
    named = models.tensors(spec.build())
    result = models.solve(spec.workload())
    assert result.canonical("parameters") == models.count(named.values())
    assert result.canonical("active_parameters") == active(models, spec, named)


@pytest.mark.parametrize(("name", "total"), PUBLISHED.items())
def test_the_count_of_a_release(models, name, total):
    assert models.solve(models.spec(name).workload()).canonical("parameters") == total


@pytest.mark.parametrize("name", [*SMALL, *PUBLISHED])
def test_every_part_of_every_layer(models, name):
    """Attention, feed-forward, experts, shared experts, router and norms of each layer; embedding, head, last norm."""
    spec = models.spec(name)
    found = {}
    for key, tensor in models.tensors(spec.build()).items():
        found.setdefault(models.layer(key), Counter())[models.part(key)] += tensor.numel()
    said = models.solve(spec.workload())
    edges, layers = found.pop(None), found
    assert len(layers) == spec.shape["layers"]
    assert sum("experts" in parts for parts in layers.values()) == spec.shape.get("moe_layers", 0)
    assert edges["embedding"] == said["embedding_parameters"]
    assert edges["head"] == said["head_parameters"]
    assert edges["norm"] == said["norm_parameters"]
    assert set(edges) <= {"embedding", "head", "norm"}
    for parts in layers.values():
        assert parts.pop("attention") == said["attention_parameters"]
        assert parts.pop("norm") == 2 * said["norm_parameters"]
        if "experts" in parts:
            assert parts.pop("experts") == said["experts"] * said["expert_parameters"]
            assert parts.pop("router") == said["router_parameters"]
            assert parts.pop("shared", 0) == said["shared_expert_parameters"]
        else:
            assert parts.pop("ffn") == said["ffn_parameters"]
        assert not parts


@pytest.mark.parametrize("name", [*SMALL, *PUBLISHED])
def test_a_config_that_transformers_wrote_is_read_to_the_same_count(models, name, tmp_path):
    spec = models.spec(name)
    spec.configuration().save_pretrained(tmp_path)
    # Llama 4 attends in chunks, which no formula counts yet.
    said = models.solve(TransformerWorkload.from_hf(tmp_path, ignore="attention_chunk_size"))
    assert said.canonical("parameters") == models.count(models.tensors(spec.build()).values())


@pytest.mark.parametrize("key", CATALOG)
def test_the_shape_in_the_catalog_is_that_of_the_model(models, key):
    spec = models.spec(CATALOG[key])
    named = models.tensors(spec.build())
    entry = getattr(Models.Language, key)
    said = models.solve(entry)
    assert said.canonical("parameters") == models.count(named.values())
    if entry.counted_parameters is not None:
        assert entry.counted_parameters.value == models.count(named.values())
    if getattr(entry, "counted_active_parameters", None) is not None:
        assert entry.counted_active_parameters.value == active(models, spec, named)


def test_the_correction_of_router_scores_is_a_buffer_that_is_stored(models):
    """Transformers does not train it; `router_bias` says that it is there."""
    spec = models.SMALL["deepseek_v3"]
    model = spec.build()
    buffers = models.tensors(model).keys() - dict(model.named_parameters()).keys()
    assert len(buffers) == 3
    assert all(name.endswith("mlp.gate.e_score_correction_bias") for name in buffers)
    trained = models.solve(spec.workload(router_bias=False))
    assert trained.canonical("parameters") == models.count(model.parameters())


def test_the_shape_can_be_given_by_keywords(models):
    spec = models.SMALL["llama_biases"]
    shape = {"experts": 1, "active_experts_per_token": 1, "moe_layers": 0, "moe_layer_interval": 1,
             "expert_ffn_dim": 0, "shared_ffn_dim": 0, "router_bias": False, "head_dim": 8}  # fmt: skip
    model = TrainingMemoryModel(variant="per_operator")
    said = model.solve(hardware="H100", batch_size=1, **spec.shape, **shape)
    assert said.canonical("parameters") == models.count(spec.build().parameters())
