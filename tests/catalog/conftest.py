"""Parameter counts added up tensor by tensor in plain Python, which share nothing with the formulas."""

import pytest

from mlsysim.catalog import SparseTransformerWorkload


def tensors(model, experts):
    """Sizes of everything stored, or of what one token passes through where ``experts`` are those it picks."""

    def number(field, otherwise=0):
        value = getattr(model, field, None)
        return otherwise if value is None else int(value.value)

    width, heads, vocabulary = number("hidden_dim"), number("heads"), number("vocab_size")
    layers, sparse, windowed = number("layers"), number("moe_layers"), number("sliding_layers")
    without_mixer, recurrent, beside = number("mixerless_layers"), number("state_layers"), number("parallel_layers")
    norm = width * (1 + number("norm_bias"))
    matrices = 2 + number("gated")
    yield vocabulary * width
    if not number("tied_embeddings"):
        yield vocabulary * width
    yield number("learned_positions") * width
    yield norm
    yield number("further_matrices") + number("further_vectors") + number("lookup_parameters")
    if model.source_stack is not None:
        yield from tensors(model.source_stack, 0)
    # Which layers have what does not matter to the sum, only how many.
    for layer in range(layers):
        yield number("block_norms", 2) * (1 + number("sandwich_norm")) * norm
        if layer < sparse:
            yield width * number("experts") + number("router_bias") * number("experts")
            inner, narrow = number("expert_ffn_dim"), number("expert_input_dim")
            yield matrices * (experts * inner * (narrow or width) + width * number("shared_ffn_dim"))
            yield 2 * width * narrow
            yield experts * number("expert_bias") * ((matrices - 1) * inner + (narrow or width))
        elif layer < layers - number("blockless_layers"):
            inner = number("ffn_dim")
            yield matrices * width * inner + number("mlp_bias") * ((matrices - 1) * inner + width)
    for _ in range(number("index_layers")):
        indexers, dim = number("index_heads"), number("index_head_dim")
        yield (number("q_lora_rank") or width) * indexers * dim + width * dim + width * indexers + 2 * dim
    for _ in range(recurrent):
        writers, rows = number("state_key_heads"), number("state_key_dim")
        columns = number("state_heads") * number("state_value_dim")
        yield 2 * width * writers * rows + width * number("state_scalars") * number("state_heads")
        yield width * columns * (1 + number("state_gates")) + columns * width
        yield number("conv_channels") * number("conv_kernel") + number("state_matrices") + number("state_vectors")
    for layer in range(layers - without_mixer - recurrent + beside):
        if number("kv_lora_rank"):
            nope, rope, value = number("qk_nope_head_dim"), number("qk_rope_head_dim"), number("v_head_dim")
            query, cache = number("q_lora_rank"), number("kv_lora_rank")
            if query:
                yield width * query + query
            yield (query or width) * heads * (nope + rope)
            yield width * (cache + rope) + cache + cache * heads * (nope + value)
            yield heads * value * width
            continue
        head, groups = number("head_dim", width // heads), number("kv_heads", heads)
        value, projections = number("v_head_dim", head), 1 if layer < windowed else number("value_projections", 1)
        queries, gate = heads, number("gate_width")
        if layer < windowed:
            queries = number("sliding_heads", heads)
            gate = gate * queries // heads
            head, groups = number("sliding_head_dim", head), number("sliding_kv_heads", groups)
            value = number("sliding_v_head_dim", number("v_head_dim", head))
        # Shared keys and values are those of another layer.
        shared = layer < number("sliding_shared_layers") or 0 <= layer - windowed < number("shared_cache_layers")
        groups = 0 if shared else groups
        projected = (queries + groups) * head + projections * groups * value
        yield width * (projected + gate) + number("qkv_bias") * projected
        yield queries * value * width + number("attention_output_bias") * width
        yield (1 if shared else 2) * head * number("qk_norm")
        yield queries * number("attention_sinks")
    for _ in range(number("cross_layers")):
        head, groups = number("head_dim", width // heads), number("kv_heads", heads)
        read = number("source_hidden_dim") or width
        yield 2 * width * heads * head + 2 * read * groups * head + norm
        yield number("qkv_bias") * (heads + 2 * groups) * head + number("attention_output_bias") * width


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
