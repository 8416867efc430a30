"""Options of engines and frameworks: what sets each argument, and what no option sets."""

from __future__ import annotations

import re

import pytest

from mlsysim.catalog import builtin
from mlsysim.catalog.launchers import NotLaunchableError, launcher, launchers, repository, shape_of, weights_of
from mlsysim.errors import UnknownNameError

LAYOUT = {"repository": "a/b", "tp_size": 2, "pp_size": 1, "ep_size": 8, "dp_attention_size": 4, "weights": "fp8",
          "max_num_seqs": 64, "max_num_batched_tokens": 2048, "kv_cache_dtype": "fp8"}  # fmt: skip


@pytest.mark.parametrize("key", launchers())
def test_each_says_its_version_and_documentation(key):
    each = launchers()[key]
    assert re.fullmatch(r"(core )?\d+\.\d+", each.version)
    assert each.source.startswith("https://")
    assert re.fullmatch(r"20\d\d-\d\d", each.date)
    assert each.command


def test_vllm():
    (said,) = launcher("vllm").serving(LAYOUT, "chunked")
    assert said == (
        "vllm serve a/b --tensor-parallel-size 2 --data-parallel-size 4 --enable-expert-parallel --max-num-seqs 64 "
        "--max-num-batched-tokens 2048 --quantization fp8 --kv-cache-dtype fp8 --enable-chunked-prefill"
    )
    with pytest.raises(NotLaunchableError, match="ep_size is 1 or all 8 ranks of an engine, not 4"):
        launcher("vllm").serving({**LAYOUT, "ep_size": 4}, "chunked")
    with pytest.raises(NotLaunchableError, match="prompts and decoding requests share its iterations"):
        launcher("vllm").serving(LAYOUT, "colocated")


def test_sglang_counts_all_attention_ranks():
    (said,) = launcher("sglang").serving(LAYOUT, "chunked")
    for option in ("--tp-size 8", "--dp-size 4 --enable-dp-attention", "--ep-size 8", "--max-running-requests 256",
                   "--chunked-prefill-size 8192", "--enable-mixed-chunk", "--kv-cache-dtype fp8_e4m3"):  # fmt: skip
        assert option in said
    (whole,) = launcher("sglang").serving({**LAYOUT, "dp_attention_size": 1}, "colocated")
    assert whole.endswith("--chunked-prefill-size -1") or "--chunked-prefill-size -1" in whole


def test_trtllm_has_a_file_and_copies_attention_to_all_ranks_or_none():
    (said,) = launcher("trtllm").serving({**LAYOUT, "tp_size": 1, "dp_attention_size": 8}, "chunked")
    assert said.endswith("--config FILE  # FILE: enable_attention_dp: true, kv_cache_config: {dtype: fp8}")
    assert "--tp_size 8 --ep_size 8 --max_batch_size 64 --max_num_tokens 2048" in said
    with pytest.raises(NotLaunchableError, match="dp_attention_size is 1 or all 8 ranks"):
        launcher("trtllm").serving(LAYOUT, "chunked")


@pytest.mark.parametrize("key", ["vllm", "sglang", "trtllm"])
def test_pools_are_two_commands_and_a_router(key):
    layout = {**LAYOUT, "ep_size": 1, "dp_attention_size": 1, "prefill_tp_size": 4, "prefill_pp_size": 0}
    prefill, decode, router = launcher(key).serving(layout, "pools")
    assert re.search(r"(size|tp_size) 4", prefill)
    assert re.search(r"(size|tp_size) 2", decode)
    assert router


def test_what_a_checkpoint_has_is_not_quantized_again():
    stored, plain = (builtin().find("model", name) for name in ("DeepSeek_V3", "Llama3_3_70B"))
    assert weights_of(stored, "fp8") == weights_of(plain, "bf16") == "as_stored"
    assert weights_of(plain, "w8a8") == "fp8"
    assert repository(stored) == "deepseek-ai/DeepSeek-V3"


def test_shapes_that_no_option_describes():
    assert shape_of(builtin().find("model", "Llama3_8B"))["tokens_known"] == 128255
    assert not shape_of(builtin().find("model", "DeepSeek_V3_2"))


@pytest.mark.parametrize(("key", "what"), [("Megatron", "framework"), ("vllm", "framework"), ("torchtitan", "engine")])
def test_unknown(key, what):
    with pytest.raises(UnknownNameError, match=f"unknown {what} '{key}'"):
        launcher(key, what)
