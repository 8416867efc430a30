"""Parameter counts added up tensor by tensor in plain Python, which share nothing with the formulas."""

import pytest

from mlsysim.catalog import SparseTransformerWorkload


def tensors(model, experts):
    """Sizes of everything stored, or of what one token passes through where ``experts`` are those it picks."""

    def number(field, otherwise=0):
        value = getattr(model, field, None)
        return otherwise if value is None else int(value.value)

    width, heads, vocabulary = number("hidden_dim"), number("heads"), number("vocab_size")
    layers, sparse = number("layers"), number("moe_layers")
    norm = width * (1 + number("norm_bias"))
    matrices = 2 + number("gated")
    yield vocabulary * width
    if not number("tied_embeddings"):
        yield vocabulary * width
    yield number("learned_positions") * width
    yield norm
    for layer in range(layers):
        yield (4 if number("sandwich_norm") else 2) * norm
        if number("kv_lora_rank"):
            nope, rope, value = number("qk_nope_head_dim"), number("qk_rope_head_dim"), number("v_head_dim")
            query, cache = number("q_lora_rank"), number("kv_lora_rank")
            if query:
                yield width * query + query
            yield (query or width) * heads * (nope + rope)
            yield width * (cache + rope) + cache + cache * heads * (nope + value)
            yield heads * value * width
        else:
            head, groups = number("head_dim", width // heads), number("kv_heads", heads)
            projected = (heads + 2 * groups) * head
            yield width * projected + number("qkv_bias") * projected
            yield heads * head * width + number("attention_output_bias") * width
            yield 2 * head * number("qk_norm")
            yield heads * number("attention_sinks")
        # Which layers have experts does not matter to the sum, only how many.
        if layer < sparse:
            yield width * number("experts") + number("router_bias") * number("experts")
            inner = number("expert_ffn_dim")
            yield matrices * width * (experts * inner + number("shared_ffn_dim"))
            yield experts * number("expert_bias") * ((matrices - 1) * inner + width)
        else:
            inner = number("ffn_dim")
            yield matrices * width * inner + number("mlp_bias") * ((matrices - 1) * inner + width)


@pytest.fixture(scope="session")
def total():
    """Count of all tensors of a model."""

    def count(model):
        sparse = isinstance(model, SparseTransformerWorkload)
        return sum(tensors(model, int(model.experts.value) if sparse else 0))

    return count


@pytest.fixture(scope="session")
def active():
    """Count of the tensors one token passes through, embedding and head included."""
    return lambda model: sum(tensors(model, int(model.active_experts_per_token.value)))
