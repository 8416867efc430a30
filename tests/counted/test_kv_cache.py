"""KV bytes against the tensors that real models leave in their cache."""

import pytest

from mlsysim import ServingCapacityModel

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
AS_WIDE_AS_H_OVER_A = ("gpt2", "opt", "llama", "mistral", "qwen2", "mixtral", "llama4")
LATENT = ("deepseek_v3", "deepseek_v3_plain_query")
OF_THEIR_OWN_WIDTH = ("qwen3", "qwen3_moe", "qwen3_moe_interleaved")
TOKENS = 12


def filled(models, name, precision, cache=None):
    """The cache after a prompt and two more tokens, 12 in all."""
    model = models.SMALL[name].build("cpu").to(DTYPES[precision]).eval()
    with torch.no_grad():
        found = model(input_ids=torch.randint(2, 90, (1, TOKENS - 2)), use_cache=True, past_key_values=cache)
        for _ in range(2):
            cache = found.past_key_values
            found = model(input_ids=torch.randint(2, 90, (1, 1)), use_cache=True, past_key_values=cache)
    return found.past_key_values


def said(models, name, precision, variant="first_order", **more):
    spec = models.SMALL[name]
    parameters = models.count(models.tensors(spec.build()).values())
    model = ServingCapacityModel(variant=variant)
    workload = spec.workload(parameters=parameters)
    return model.solve(
        model=workload, hardware="H100", qps=1, target_p99_latency_ms=10_000, precision=precision, **more
    )


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("name", AS_WIDE_AS_H_OVER_A + LATENT)
def test_kv_bytes_per_token(models, name, precision):
    """Transformers keeps what multi-head latent attention compressed, and the shared rotary key, per token."""
    cache = filled(models, name, precision)
    assert cache.get_seq_length() == TOKENS
    assert models.size(models.caches(cache)) == TOKENS * said(models, name, precision).canonical("kv_bytes_per_token")


@pytest.mark.parametrize("name", LATENT)
def test_the_latent_cache_is_what_the_compressing_product_puts_out(models, name):
    """Counted at the product itself, whatever a release of transformers keeps in its cache."""
    model = models.SMALL[name].build("cpu").to(torch.bfloat16).eval()
    outputs = []
    for module in model.modules():
        if hasattr(module, "kv_a_proj_with_mqa"):
            module.kv_a_proj_with_mqa.register_forward_hook(lambda _, __, output: outputs.append(output))
    with torch.no_grad():
        model(input_ids=torch.randint(2, 90, (1, TOKENS)), use_cache=False)
    assert len(outputs) == 4
    assert models.size(outputs) == TOKENS * said(models, name, "bf16").canonical("kv_bytes_per_token")


@pytest.mark.parametrize("name", ["gpt2", "llama", "mixtral"])
def test_a_cache_in_whole_pages_is_one_request(models, name):
    """Sixteen places are held for twelve tokens."""
    from transformers import StaticCache

    room = StaticCache(config=models.SMALL[name].configuration(), max_cache_len=16)
    cache = filled(models, name, "bf16", room)
    request = said(models, name, "bf16", seq_len=TOKENS, kv_page_size=16)
    assert models.size(models.caches(cache)) == request.canonical("kv_bytes_per_request")


@pytest.mark.parametrize("name", OF_THEIR_OWN_WIDTH)
def test_the_first_order_width_is_not_that_of_every_model(models, name):
    """Heads of width 16 where h / a is 8: half the cache."""
    cache = models.size(models.caches(filled(models, name, "bf16")))
    assert cache == 2 * TOKENS * said(models, name, "bf16").canonical("kv_bytes_per_token")


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("name", AS_WIDE_AS_H_OVER_A + LATENT + OF_THEIR_OWN_WIDTH)
def test_kv_bytes_per_token_by_the_width_of_a_head(models, name, precision):
    cache = filled(models, name, precision)
    per_token = said(models, name, precision, variant="prefill_aware").canonical("kv_bytes_per_token")
    assert models.size(models.caches(cache)) == TOKENS * per_token
