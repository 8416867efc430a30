"""Models measured on their class in transformers, against the same ones counted from their layout, and known counts."""

import contextlib
import json
import subprocess
from pathlib import Path

import pytest

from mlsysim import ParameterCountModel, ServingCapacityModel
from mlsysim.catalog import TransformerWorkload, huggingface, measured
from mlsysim.errors import CatalogError

pytest.importorskip("torch")
pytest.importorskip("transformers")

CONFIGS = Path(__file__).parents[1] / "catalog" / "configs"
COUNT, CAPACITY = ParameterCountModel(), ServingCapacityModel("prefill_aware")
DEPLOYED = {"hardware": "H100", "qps": 1, "target_p99_latency_ms": 1e9, "kv_page_size": 1, "output_tokens": 1}
ROOM = {"memory_capacity": "1e6 GB"}


@pytest.fixture
def measure(monkeypatch):
    """A model of any type, measured in this process, which has imported transformers."""

    def run(command, input, **_):
        return subprocess.CompletedProcess(command, 0, measured.answer(input))

    measured._measurements.cache_clear()
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(huggingface, "_without_layout", lambda content: True)
    return TransformerWorkload.from_hf


@pytest.fixture
def write(tmp_path):
    def written(content):
        (tmp_path / "config.json").write_text(json.dumps(content))
        return tmp_path

    return written


def request(model, tokens):
    """Bytes of a request of so many tokens, and FLOPs of its prefill per token."""
    said = CAPACITY.solve(model=model, seq_len=tokens - 1, **DEPLOYED, **ROOM)
    work = sum(said.canonical(part) for part in ("product_flops", "score_flops", "logit_flops"))
    return said.canonical("kv_bytes_per_request"), work


#: Fields of these files that say what their classes do anyway.
LIKE_THE_CLASS = ("moe_layer_freq", "experts_per_token", "topk_method", "sliding_window_size", "ep_size")
READ = (
    "llama3_1_8b",
    "qwen3_4b",
    "qwen3_30b_a3b",
    "mixtral_8x7b",
    "mistral_7b",
    "gemma2_2b",
    "gpt_oss_20b",
    "deepseek_v3",
)


@pytest.mark.parametrize("name", READ)
def test_measured_is_counted(measure, name, monkeypatch):
    file = CONFIGS / f"{name}.json"
    found = measure(file, ignore=LIKE_THE_CLASS)
    monkeypatch.undo()
    read = TransformerWorkload.from_hf(file)
    assert found.measured_by.startswith("transformers ")
    counted, said = COUNT.solve(model=read), COUNT.solve(model=found)
    for count in ("parameters", "active_parameters"):
        assert said.canonical(count) == counted.canonical(count)
        assert found.value_of(count, "").value == counted.canonical(count)
    for tokens in (61, 4096, 8192):
        cache, work = request(found, tokens)
        own_cache, own_work = request(read, tokens)
        assert cache == own_cache
        assert work == pytest.approx(own_work, rel=1e-3)


#: Type, fields beside the defaults of its class, and what it has: parameters, active ones, bytes of a request of 61 and
#: of 4,096 tokens at 16 bit with fp32 states. Published: the cards of EleutherAI/gpt-j-6b, bigscience/bloom and
#: Qwen/Qwen3-Next-80B-A3B; otherwise counted on the class of transformers 5.23 layer by layer.
KNOWN = {
    "gptj": ({}, 6050882784, 6050882784, 61 * 458752, 4096 * 458752),
    "bloom": (
        {"n_layer": 70, "hidden_size": 14336, "n_head": 112, "vocab_size": 250880},
        176247271424, 176247271424, 61 * 4014080, 4096 * 4014080,
    ),
    "mpt": ({}, 1311213568, 1311213568, 61 * 196608, 4096 * 196608),
    "qwen3_next": ({}, 79674391296, 3874929408, 61 * 24576 + 77856768, 4096 * 24576 + 77856768),
    "kimi_linear": ({}, 49133081120, 3494859296, 46526208, 74416128),
    "axk1": ({}, 518983063808, 32779344128, 61 * 70272, 4096 * 70272),
}  # fmt: skip


@pytest.mark.parametrize("model_type", KNOWN)
def test_a_known_model(measure, write, model_type):
    fields, parameters, active, *requests = KNOWN[model_type]
    model = measure(write({"model_type": model_type, **fields}))
    said = COUNT.solve(model=model)
    assert (said.canonical("parameters"), said.canonical("active_parameters")) == (parameters, active)
    assert [request(model, tokens)[0] for tokens in (61, 4096)] == requests


UNMEASURED = {
    "an encoder": ("electra", "keeps nothing of a token that is named by layer: it may be an encoder"),
    "an indexer": ("axk2", "keeps indexer_keys of each token beside keys and values"),
    "layers that are passed again": ("hrm_text", "passes a token through some weights more than once"),
    "no language model": ("vit", "Unrecognized configuration class"),
    "what only data can say": ("jetmoe", "NotImplementedError: Cannot copy out of meta tensor"),
    "experts that are not told from others": ("zaya", "has stacks of matrices, which may be experts"),
    "prompts of its own": ("cpmant", "keeps 160 of 128 tokens in a layer"),
}


@pytest.mark.parametrize(("model_type", "message"), UNMEASURED.values(), ids=UNMEASURED)
def test_what_cannot_be_measured(measure, write, model_type, message):
    with pytest.raises(CatalogError, match=f"model_type='{model_type}' has no layout, and its class .*{message}"):
        measure(write({"model_type": model_type}))


#: In place of a field; more layers than can be built take too long, as another test shows.
TOKENS = (None, True, -1, 0, 3, 2.5, float("nan"), "", "x", [], ["a"], {}, {"a": 1})


@pytest.mark.parametrize("field", ["n_layer", "n_embd", "n_head", "vocab_size", "n_positions", "rotary_dim", "n_inner"])
def test_a_file_with_any_one_field_changed_is_measured_or_refused(measure, write, field):
    small = {"model_type": "gptj", "n_layer": 2, "n_embd": 64, "n_head": 4, "rotary_dim": 8, "vocab_size": 96}
    for token in TOKENS:
        with contextlib.suppress(CatalogError):
            assert measure(write({**small, field: token})).layers.value > 0


def test_a_process_of_its_own(write):
    """No network, no code of a repository: a file that names some is read as if it did not."""
    code = {"auto_map": {"AutoModelForCausalLM": "none--code.Model"}, "_attn_implementation": "kernels-community/none"}
    model = TransformerWorkload.from_hf(write({"model_type": "gptj", **code}))
    assert model.parameters.value == 6050882784
    assert "Its class gives hidden_size, num_hidden_layers, num_attention_heads, vocab_size." in model.layers.note
    with pytest.raises(CatalogError, match="depth_of_thought may change the shape of a gptj; where not"):
        TransformerWorkload.from_hf(write({"model_type": "gptj", "depth_of_thought": 3}))


def test_the_time_is_bounded(write, monkeypatch):
    monkeypatch.setattr(measured, "SECONDS", 0.2)
    measured._measurements.cache_clear()
    with pytest.raises(CatalogError, match=r"takes more than 0\.2 s to measure"):
        TransformerWorkload.from_hf(write({"model_type": "gptj"}))
