"""Bytes of the weights of each part, as tables of released checkpoints say them."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from mlsysim import ServingCapacityModel, TransformerWorkload
from mlsysim.catalog.quantization import by_part
from mlsysim.errors import CatalogError
from mlsysim.formats import WEIGHT_PARTS

CONFIGS = Path(__file__).parent / "configs"
REPLICA = ServingCapacityModel("prefill_aware")
ASKED = {"hardware": "H100", "qps": 1, "target_p99_latency_ms": 10_000}
NVFP4, MXFP4, FP8, WIDE = Fraction(9, 16), Fraction(17, 32), 1 + Fraction(4, 128**2), Fraction(2)
LLAMA = {
    "model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "max_position_embeddings": 8192,
}  # fmt: skip
DENSE = {"layers": 4, "ffn_dim": 8}
SPARSE = {"layers": 4, "ffn_dim": 8, "experts": 8, "moe_layers": 3, "shared_ffn_dim": 8}
LATENT = {**SPARSE, "kv_lora_rank": 512}
#: Tables of the kind that makers ship, with fewer layers: shape, type, kinds of mixers, table, and the bytes by part.
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
GROUP_32 = {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}
RELEASED = {
    "DeepSeek-V3": (LATENT, "deepseek_v3", {"quant_method": "fp8", "weight_block_size": [128, 128]},
                    {"mixer": FP8, "dense": FP8, "expert": FP8, "shared_expert": FP8}),
    "Qwen3-30B-A3B-FP8": (
        {"layers": 4, "experts": 8, "moe_layers": 4}, "qwen3_moe",
        {"quant_method": "fp8", "weight_block_size": [128, 128], "modules_to_not_convert": [
            "lm_head", *(f"model.layers.{n}.{name}" for n in range(4) for name in ("input_layernorm", "mlp.gate"))]},
        {"mixer": FP8, "expert": FP8},
    ),
    "gpt-oss": (
        {"layers": 4, "experts": 8, "moe_layers": 4}, "gpt_oss",
        {"quant_method": "mxfp4", "modules_to_not_convert": [
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]},
        {"mixer": WIDE, "expert": MXFP4},
    ),
    "Kimi K2.5": (
        LATENT, "kimi_k25",
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
                                                                             "weights": GROUP_32}},
         "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
                    r"re:.*mlp\.(gate|up|gate_up|down)_proj.*"]},
        {"mixer": WIDE, "dense": WIDE, "expert": Fraction(1, 2) + Fraction(2, 32), "shared_expert": WIDE},
    ),
    "GLM-5.1-NVFP4": (
        LATENT, "glm_moe_dsa",
        {**MODELOPT, "ignore": ["lm_head", "model.layers.0*", "model.layers.4*", *(
            f"model.layers.{n}.{name}*" for n in (1, 2, 3) for name in ("self_attn", "mlp.shared_experts"))]},
        {"mixer": WIDE, "dense": WIDE, "expert": NVFP4, "shared_expert": WIDE},
    ),
    "Gemma 4 NVFP4": (
        {"layers": 4, "experts": 8, "moe_layers": 4, "shared_ffn_dim": 8}, "gemma4_text",
        {**MODELOPT, "ignore": ["lm_head", "model.embed_vision*", "model.vision_tower*", *(
            f"model.language_model.layers.{n}.{name}*" for n in range(4) for name in ("mlp", "router", "self_attn"))]},
        {"mixer": WIDE, "expert": NVFP4, "shared_expert": WIDE},
    ),
    "Qwen3.6 NVFP4": (
        {"layers": 4, "ffn_dim": 8}, "qwen3_5",
        {**MODELOPT, "quant_algo": "MIXED_PRECISION", "ignore": ["mtp*", "mtp.layers.0*"], "quantized_layers": {
            **{f"model.language_model.layers.{n}.linear_attn.{name}": {"quant_algo": "FP8"}
               for n in range(3) for name in ("in_proj_qkv", "in_proj_z", "out_proj")},
            **{f"model.language_model.layers.3.self_attn.{name}_proj": {"quant_algo": "FP8"} for name in "qkvo"},
            **{f"model.language_model.layers.{n}.mlp.{name}_proj": {"quant_algo": "W4A16_NVFP4"}
               for n in range(4) for name in ("gate", "up", "down")},
            "lm_head": {"quant_algo": "W4A16_NVFP4"}}},
        {"mixer": Fraction(1), "dense": NVFP4, "head": NVFP4},
    ),
    "first and last layers wide": (
        DENSE, "llama", {**MODELOPT, "exclude_modules": ["lm_head", "model.layers.0.*", "model.layers.3.*"]},
        {"mixer": (WIDE + NVFP4) / 2, "dense": (WIDE + NVFP4) / 2},
    ),
    "blocks of other sides": (
        DENSE, "llama", {"quant_method": "fp8", "weight_block_size": [1, 32]},
        {"mixer": 1 + Fraction(4, 32), "dense": 1 + Fraction(4, 32)},
    ),
    "whole numbers in groups": (
        DENSE, "llama",
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],
                                                                             "weights": {**GROUP_32, "num_bits": 8}}},
         "ignore": ["lm_head"]},
        {"mixer": 1 + Fraction(2, 32), "dense": 1 + Fraction(2, 32)},
    ),
}  # fmt: skip
KINDS = {"Qwen3.6 NVFP4": ["recurrent"] * 3 + ["full"]}


@pytest.mark.parametrize("case", RELEASED)
def test_bytes_by_part(case):
    shape, model_type, table, expected = RELEASED[case]
    found, unknown = by_part(table, shape, model_type, KINDS.get(case, ()))
    assert {name.removesuffix("_bytes"): size for name, size in found.items()} == expected
    assert not unknown


def test_a_name_of_no_part_is_said(tmp_path):
    fields = json.loads((CONFIGS / "llama3_1_8b.json").read_text("utf-8"))
    table = {**MODELOPT, "ignore": ["lm_head", "model.layers.0.mlp.gizmo", "re:.*attentoin.*", "model.norm"]}
    (tmp_path / "config.json").write_text(json.dumps({**fields, "quantization_config": table}), "utf-8")
    model = TransformerWorkload.from_hf(tmp_path)
    said = "2 names in its quantization_config are of no part that is known: 'model.layers.0.mlp.gizmo', 're:.*attent"
    assert model.layers.note.startswith(said)
    assert any(said in note for note in REPLICA.solve(model, **ASKED).notes)


def test_too_many_patterns_are_refused():
    table = {**MODELOPT, "ignore": [f"*{n}*" for n in range(1001)]}
    with pytest.raises(CatalogError, match="1001 patterns name no layer, 1000 at most may"):
        by_part(table, DENSE)


class TestWeightBytes:
    """Sizes of released checkpoints: OpenAI's card prints 12.8 and 60.8 GiB, DeepSeek-V3's index 688.587 GB."""

    def test_gpt_oss_20b_to_the_byte(self):
        found = REPLICA.solve(TransformerWorkload.from_hf(CONFIGS / "gpt_oss_20b.json"), **ASKED)
        assert found.canonical("served_weights") == 13_761_264_768
        assert found["feasible"]

    def test_gpt_oss_120b_to_the_byte(self, tmp_path):
        fields = json.loads((CONFIGS / "gpt_oss_20b.json").read_text("utf-8"))
        fields |= {"num_hidden_layers": 36, "num_local_experts": 128, "layer_types": fields["layer_types"][:12] * 3}
        (tmp_path / "config.json").write_text(json.dumps(fields), "utf-8")
        found = REPLICA.solve(TransformerWorkload.from_hf(tmp_path), **ASKED)
        assert found.canonical("served_weights") == 65_248_815_744
        assert found["feasible"]

    def test_deepseek_v3_with_the_layer_that_predicts(self):
        """Its checkpoint holds embedding and head once more beside that layer."""
        more = {"mtp_layers": 1, "further_vectors": 2 * 129280 * 7168}
        model = TransformerWorkload.from_hf(CONFIGS / "deepseek_v3.json", **more)
        assert REPLICA.solve(model, **ASKED).canonical("served_weights") == pytest.approx(688.587e9, rel=2e-5)

    def test_an_fp8_checkpoint_is_half_of_bf16(self, tmp_path):
        fields = json.loads((CONFIGS / "qwen3_30b_a3b.json").read_text("utf-8"))
        (tmp_path / "config.json").write_text(
            json.dumps({**fields, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})
        )
        wide = REPLICA.solve(TransformerWorkload.from_hf(CONFIGS / "qwen3_30b_a3b.json"), **ASKED)
        half = REPLICA.solve(TransformerWorkload.from_hf(tmp_path), **ASKED)
        assert half.canonical("served_weights") / wide.canonical("served_weights") == pytest.approx(0.5, abs=0.012)


def test_inputs_for_parts_are_fields_of_an_entry_with_experts():
    model = TransformerWorkload.from_hf(CONFIGS / "gpt_oss_20b.json")
    assert set(WEIGHT_PARTS) <= set(type(model).model_fields)


@pytest.fixture
def beside(tmp_path):
    """A config.json out of these fields, with a table of modelopt beside it."""

    def read(table, fields=LLAMA, **more):
        (tmp_path / "hf_quant_config.json").write_text(table if isinstance(table, str) else json.dumps(table))
        (tmp_path / "config.json").write_text(json.dumps(fields))
        return TransformerWorkload.from_hf(tmp_path, **more)

    return read


class TestModelopt:
    """Older checkpoints of modelopt have their formats in a file beside."""

    TABLE = {
        "producer": {"name": "modelopt", "version": "0.29.0"},
        "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
                         "exclude_modules": ["lm_head", "model.layers.*.self_attn*"]},
    }  # fmt: skip

    def test_what_it_says_is_what_the_config_would_say(self, beside, tmp_path):
        found = beside(self.TABLE)
        file = tmp_path / "own" / "config.json"
        file.parent.mkdir()
        file.write_text(json.dumps({**LLAMA, "quantization_config": self.TABLE["quantization"]}))
        own = TransformerWorkload.from_hf(file)
        for field in ("mixer_bytes", "dense_bytes", "head_bytes", "weight_format", "kv_cache_format"):
            ours, theirs = getattr(found, field), getattr(own, field)
            assert (ours and ours.value) == (theirs and theirs.value)
        assert found.mixer_bytes.value == 2
        assert found.dense_bytes.value == 9 / 16
        assert found.dense_bytes.source == str(tmp_path / "hf_quant_config.json")
        assert found.layers.note == "Formats are those of hf_quant_config.json beside it."
        assert REPLICA.solve(found, **ASKED).served_weights == REPLICA.solve(own, **ASKED).served_weights

    def test_the_config_wins(self, beside):
        found = beside(self.TABLE, {**LLAMA, "quantization_config": {"quant_method": "fp8"}})
        assert found.dense_bytes.value == 1
        assert found.layers.note == "Its quantization_config wins over hf_quant_config.json beside it."

    def test_layers_of_their_own_formats(self, beside):
        layers = {f"model.layers.{n}.mlp.{name}_proj": {"quant_algo": "FP8" if n % 2 else "NVFP4"}
                  for n in range(16) for name in ("gate", "up", "down")}  # fmt: skip
        found = beside({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}})
        assert found.dense_bytes.value == (1 + 9 / 16) / 2
        assert found.mixer_bytes.value == 2

    def test_a_cache_alone(self, beside):
        found = beside({"quantization": {"quant_algo": None, "kv_cache_quant_algo": "FP8"}})
        assert (found.weight_format, found.dense_bytes, found.kv_cache_format.value) == (None, None, "fp8")

    def test_blocks_between_mixers(self, beside):
        """Each layer of Nemotron 3 Super is a mixer or a block: experts in four bits, mixers in eight."""
        fields = {
            "model_type": "nemotron_h", "hybrid_override_pattern": "ME*E-", "num_hidden_layers": 5, "hidden_size": 4096,
            "num_attention_heads": 32, "intermediate_size": 2688, "vocab_size": 131072, "moe_latent_size": 1024,
        }  # fmt: skip
        layers = {
            "backbone.layers.0.mixer.in_proj": "FP8", "backbone.layers.0.mixer.out_proj": "FP8",
            **{f"backbone.layers.{n}.mixer.experts.0.{name}_proj": "NVFP4" for n in (1, 3) for name in ("up", "down")},
            **{f"backbone.layers.2.mixer.{name}_proj": "FP8" for name in "qkvo"},
        }  # fmt: skip
        table = {name: {"quant_algo": algorithm} for name, algorithm in layers.items()}
        found = beside({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": table}}, fields)
        sizes = [getattr(found, f"{part}_bytes") for part in ("mixer", "expert", "shared_expert", "dense")]
        assert [size.value for size in sizes] == [1, 9 / 16, 2, 2]
        assert "of no part" not in found.layers.note

    def test_ignored(self, beside):
        assert beside(self.TABLE, ignore="quantization_config").dense_bytes is None

    @pytest.mark.parametrize("table", ["{", "[]", "{}", '{"quantization": "FP8"}', '{"quantization": null}'])
    def test_a_bad_file_is_refused(self, beside, table):
        with pytest.raises(CatalogError, match=r"hf_quant_config\.json: (not JSON|must have an object, as in)"):
            beside(table)
