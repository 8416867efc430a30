"""Models whose type has no layout: measured on their class in transformers, or refused with the reason."""

import json
import subprocess
from pathlib import Path

import pytest

from mlsysim import ParameterCountModel, ServingCapacityModel, ServingModel, TrainingMemoryModel
from mlsysim.catalog import TransformerWorkload, measured
from mlsysim.errors import CatalogError, InputError

CONFIGS = Path(__file__).parent / "configs"
#: GPT-J 6B (EleutherAI/gpt-j-6b, config.json), without what transformers leaves out of its shape.
GPT_J = {"model_type": "gpt-sw3", "n_layer": 28, "n_embd": 4096, "n_head": 16, "rotary_dim": 64, "vocab_size": 50400}
#: What transformers 5.23 shows of it: one layer has 4 * 4096**2 + 8 * 4096**2 matrix elements and attends with 2 * 2 *
#: 4096 FLOPs a pair, its head 50,400 * 4096 of them; vectors are biases and norms.
LAYER = 12 * 4096**2
PAIR = 4 * 4096
LENGTHS = [128, 192, 256]
FOUND = {
    "version": "5.23.0", "unknown": [], "unstated": [], "part": "", "hidden": 4096, "layers": 28, "heads": 16,
    "positions": 2048, "vocab": 50400, "tied": False, "parameters": 6050882784,
    "matrices": 28 * LAYER + 50400 * 4096, "other": 0, "experts": None,
    "picked": 0, "added": 0, "latent": None, "chunked": False,
    "cache": [{"kept": [16, 256, 256], "window": 0, "state": []}] * 28, "lengths": LENGTHS,
    "work": [2 * (28 * LAYER + 50400 * 4096) * s + 28 * PAIR * s**2 for s in LENGTHS],
    "layer_work": [[2 * LAYER * s + PAIR * s**2 for s in LENGTHS]] * 28,
}  # fmt: skip
DEPLOYED = {"hardware": "H100", "qps": 1, "target_p99_latency_ms": 10_000}


@pytest.fixture(autouse=True)
def forgotten():
    measured._measurements.cache_clear()


@pytest.fixture
def write(tmp_path):
    def written(**changes):
        content = {name: value for name, value in {**GPT_J, **changes}.items() if value is not None}
        (tmp_path / "config.json").write_text(json.dumps(content))
        return tmp_path

    return written


@pytest.fixture
def process(monkeypatch):
    """A process that prints what is given, ends with a code, or never ends."""

    def replaced(found=None, code=0, error=None):
        def run(*_, timeout, **__):
            if error:
                raise error
            return subprocess.CompletedProcess([], code, "\n" if found is None else f"noise\n{json.dumps(found)}\n")

        monkeypatch.setattr(measured, "measurable", lambda model_type: True)
        monkeypatch.setattr(subprocess, "run", run)

    return replaced


@pytest.fixture
def model(write, process):
    process(FOUND)
    return TransformerWorkload.from_hf(write(), name="GPT-J")


class TestEntry:
    def test_values_are_measured_by_the_package(self, model, tmp_path):
        assert model.measured_by == "transformers 5.23.0"
        for name in ("parameters", "layers", "heads", "further_matrices"):
            value = getattr(model, name)
            assert (value.kind, value.source) == (
                "measured", f"transformers 5.23.0 on the meta device, {tmp_path / 'config.json'}"
            )  # fmt: skip

    def test_heads_are_those_of_the_cache_and_the_work(self, model):
        assert (model.heads.value, model.kv_heads.value, model.head_dim.value) == (16, 16, 256)

    def test_what_it_has_is_counted_to_the_last_element(self, model):
        assert ParameterCountModel().solve(model=model).canonical("parameters") == 6050882784
        assert model.parameters.value == 6050882784

    def test_its_cache_and_work_are_those_measured(self, model):
        said = ServingCapacityModel("prefill_aware").solve(model=model, **DEPLOYED)
        assert said.canonical("kv_bytes_per_token") == 28 * 2 * 4096 * 2
        assert said.canonical("product_flops") + said.canonical("logit_flops") == 2 * (28 * LAYER + 50400 * 4096)
        assert said.canonical("attention_flops") == 28 * PAIR

    def test_fields_of_the_call_win(self, write, process):
        process(FOUND)
        assert TransformerWorkload.from_hf(write(), parameters=6.05e9).parameters.kind == "user"

    def test_a_result_says_that_parts_are_not_its_own(self, model):
        said = ParameterCountModel().solve(model=model).notes
        assert said == (
            "GPT-J: Measured: totals are those of its class, parts and heads those of a shape with the same costs.",
        )

    def test_sizes_of_the_class_are_named(self, write, process):
        process({**FOUND, "unstated": ["hidden_size", "vocab_size"]})
        assert "Its class gives hidden_size, vocab_size." in TransformerWorkload.from_hf(write()).layers.note

    def test_formats_are_not_read(self, write, process):
        process(FOUND)
        model = TransformerWorkload.from_hf(write(quantization_config={"quant_method": "fp8"}))
        assert model.weight_format is None
        assert model.layers.note.endswith("Formats of quantization_config are not read.")

    def test_a_part_of_a_larger_model_says_so(self, write, process):
        process({**FOUND, "part": "gpt-sw3_text"})
        assert "beside its gpt-sw3_text" in TransformerWorkload.from_hf(write()).layers.note

    def test_it_stays_measured_when_it_is_changed(self, model):
        assert model.changed(max_position_embeddings=4096).unanswered


class TestUnanswered:
    def test_ranks_that_split_matrices(self, model):
        deployed = {"hardware": "H100", "request_rate": 1, "isl": 100, "osl": 10}
        assert ServingModel().solve(model=model, **deployed).ttft_p50
        with pytest.raises(InputError, match=r"tp_size=2: must be 1: a measured model does not say which of its mat"):
            ServingModel().solve(model=model, tp_size=2, **deployed)
        with pytest.raises(InputError, match=r"pp_size=2: must be 1: a measured model does not say which layer holds"):
            ServingModel().solve(model=model, pp_size=2, **deployed)

    def test_adapters(self, model):
        with pytest.raises(InputError, match=r"num_loras=2: must be 0: a measured model does not say which of its mat"):
            ServingModel().solve(model=model, hardware="H100", request_rate=1, isl=100, osl=10, num_loras=2)

    def test_on_a_grid(self, model):
        deployed = {"hardware": "H100", "request_rate": 1, "isl": 100, "osl": 10}
        with pytest.raises(InputError, match=r"tp_size=2: must be 1: .*1 of 2 points are refused"):
            ServingModel().sweep(model=model, tp_size=[1, 2], **deployed)

    @pytest.mark.parametrize("variant", ["first_order", "per_operator"])
    def test_what_is_kept_for_the_backward_pass(self, model, variant):
        with pytest.raises(InputError, match="model='GPT-J': is measured, which does not say what its layers keep"):
            TrainingMemoryModel(variant).solve(model=model, hardware="H100", batch_size=1)
        with pytest.raises(InputError, match="model='GPT-J': is measured, which does not say what its layers keep"):
            TrainingMemoryModel(variant).sweep(model=[model, "Llama3_8B"], hardware="H100", batch_size=1)

    def test_a_model_that_was_read_is_asked_as_ever(self):
        assert TrainingMemoryModel("per_operator").solve(
            model=TransformerWorkload.from_hf(CONFIGS / "llama3_1_8b.json"), hardware="H100", batch_size=1, tp_size=2
        )


def changed(**changes):
    return {**FOUND, **changes}


def cache(*kinds):
    """Layers of two kinds, by turns."""
    return [kinds[layer % len(kinds)] for layer in range(28)]


STATE = {"kept": [], "window": 0, "state": [8192, 4, 524288, 4]}
REFUSED = {
    "work that grows otherwise": (changed(work=[s**3 for s in LENGTHS]), "does not grow as tokens and pairs"),
    "weights used twice": (changed(work=[2 * w for w in FOUND["work"]]), "passes a token through some weights more"),
    "three shapes": (
        changed(cache=cache({"kept": [16, 256, 256], "window": 0, "state": []}, {"kept": [8, 256, 256], "window": 0,
                                                                               "state": []})),
        "has attention of more shapes than one with a window and one without",
    ),
    "heads that do not share": (
        changed(cache=cache({"kept": [5, 256, 256], "window": 0, "state": []})),
        "has attention whose work is that of 16 heads to 5",
    ),
    "states of two shapes": (
        changed(cache=cache(STATE, {**STATE, "state": [0, 0, 1, 4]})), "keeps states of several shapes"
    ),
    "nothing kept": (changed(cache=cache({"kept": [], "window": 0, "state": []})), "of which 0 keep something of a"),
    "experts of another width": (changed(experts=[8, 2, 28, 4096 * 3 + 1, 0]), "which is no block of its width"),
    "latent attention of another work": (
        changed(cache=cache({"kept": [1, 512, 64], "window": 0, "state": []}),
                latent=dict(zip(measured.LATENT, (1536, 512, 128, 64, 128), strict=True))),
        "has latent attention whose work is not that of its ranks",
    ),
    "few matrices": (changed(matrices=4096, work=[28 * PAIR * s**2 + 8192 * s for s in LENGTHS]), "has fewer matrices"),
    "few vectors": (changed(parameters=6050882784 - 10**6), "has fewer vectors than attention, norms and experts"),
    "a class that fails": ({"error": "KeyError: 'full_attention'"}, "cannot be measured: KeyError: 'full_attention'"),
}  # fmt: skip


class TestRefused:
    @pytest.mark.parametrize(("found", "message"), REFUSED.values(), ids=REFUSED)
    def test_by_the_reason(self, write, process, found, message):
        process(found)
        file = write() / "config.json"
        with pytest.raises(CatalogError) as caught:
            TransformerWorkload.from_hf(file)
        said = f"{file}: model_type='gpt-sw3' has no layout, and its class in transformers "
        assert str(caught.value).startswith(said)
        assert message in str(caught.value)

    def test_a_class_that_takes_too_long(self, write, process):
        process(error=subprocess.TimeoutExpired([], 60))
        with pytest.raises(CatalogError, match="takes more than 60 s to measure"):
            TransformerWorkload.from_hf(write())

    def test_no_process(self, write, process):
        process(error=OSError("not here"))
        with pytest.raises(CatalogError, match="cannot be measured here: not here"):
            TransformerWorkload.from_hf(write())

    def test_a_process_that_dies(self, write, process):
        process(code=-9)
        with pytest.raises(CatalogError, match="its process ended with -9"):
            TransformerWorkload.from_hf(write())

    def test_fields_that_the_class_does_not_know(self, write, process):
        process({**FOUND, "unknown": ["mystery", "attn_pdrop"]})
        with pytest.raises(
            CatalogError, match=r"mystery may change the shape of a gpt-sw3; where not, .*ignore=\('myste"
        ):
            TransformerWorkload.from_hf(write())

    @pytest.mark.parametrize("missing", ["transformers", "torch"])
    def test_without_the_packages_the_nearest_types_are_named(self, write, monkeypatch, missing):
        real = measured.find_spec
        monkeypatch.setattr(measured, "find_spec", lambda name: None if name == missing else real(name))
        with pytest.raises(CatalogError, match=r"unknown model_type 'gpt-sw3': did you mean gpt_oss, .*field by field"):
            TransformerWorkload.from_hf(write())

    @pytest.mark.parametrize("model_type", ["abacus", "lama"])
    def test_a_type_that_transformers_does_not_know_needs_code_of_others(self, write, model_type):
        with pytest.raises(CatalogError, match=f"unknown model_type '{model_type}': "):
            TransformerWorkload.from_hf(write(model_type=model_type, auto_map={"AutoConfig": "code.Config"}))

    def test_a_type_with_a_layout_or_a_reason_is_not_measured(self, write, process):
        process(error=AssertionError("measured"))
        with pytest.raises(CatalogError, match="cross-attention that only"):
            TransformerWorkload.from_hf(write(model_type="mllama"))
        assert TransformerWorkload.from_hf(CONFIGS / "llama3_1_8b.json").measured_by == ""
