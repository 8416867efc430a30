"""The measuring code itself: what single operators keep, and two independent counts of whole layers."""

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional
BF16 = torch.bfloat16


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(4, 8, 16, dtype=BF16, requires_grad=True)


def savers(saved):
    return {name for item in saved.items for name in item.savers}


def test_a_linear_keeps_its_input_and_its_weight_is_left_out(saved_tensors, x):
    linear = torch.nn.Linear(16, 64, dtype=BF16)
    saved = saved_tensors.count_saved(lambda: linear(x), linear.parameters(), tokens=32)
    assert [(item.nbytes, item.kind) for item in saved.items] == [(4 * 8 * 16 * 2, "activation")]
    assert saved.per_token == 16 * 2
    assert savers(saved) == {"AddmmBackward0.mat1"}
    assert saved_tensors.count_saved(lambda: linear(x)).total == saved.total + linear.weight.nbytes


@pytest.mark.parametrize(
    ("operator", "kept"),
    [
        (F.relu, 2),
        (F.gelu, 2),
        (F.silu, 2),
        (torch.exp, 2),
        (lambda x: x.softmax(-1), 2),
        (lambda x: x.softmax(-1, dtype=torch.float32), 4),
        (lambda x: F.dropout(x, 0.1), 2),
        (lambda x: torch.native_dropout(x, 0.1, True)[0], 1),
        (lambda x: x + x, 0),
        (lambda x: x * 3, 0),
        (lambda x: x.float(), 0),
        (lambda x: x.transpose(0, 1).contiguous(), 0),
    ],
    ids=[
        "relu",
        "gelu",
        "silu",
        "exp",
        "softmax",
        "fp32_softmax",
        "dropout",
        "fused_dropout",
        "add",
        "scale",
        "cast",
        "copy",
    ],
)
def test_bytes_per_element_of_one_operator(saved_tensors, x, operator, kept):
    assert saved_tensors.count_saved(lambda: operator(x)).total == kept * x.numel()


def test_a_storage_saved_by_two_operators_counts_once(saved_tensors, x):
    saved = saved_tensors.count_saved(lambda: x.exp().relu().sin())
    assert saved.total == 2 * x.nbytes
    assert savers(saved) == {"ExpBackward0.result", "ReluBackward0.result", "SinBackward0.self"}


def test_a_saved_view_counts_its_whole_storage_and_says_what_it_uses(saved_tensors, x):
    (item,) = saved_tensors.count_saved(lambda: (x * 1)[..., :4].sin()).items
    assert (item.nbytes, item.view_bytes) == (x.nbytes, x.nbytes // 4)


def test_an_expanded_view_counts_what_it_stores(saved_tensors, x):
    (item,) = saved_tensors.count_saved(lambda: (x * 1)[None].expand(5, 4, 8, 16).sin()).items
    assert (item.nbytes, item.view_bytes) == (x.nbytes, x.nbytes)


def test_indices_tables_and_copies_of_weights_are_listed_apart(saved_tensors, x):
    table, weight = torch.randn(16), torch.nn.Parameter(torch.randn(6, 16, dtype=BF16))
    index = torch.tensor([1, 0, 3, 2])

    def run():
        return F.linear((x * table)[index], weight.float())

    saved = saved_tensors.count_saved(run, [weight], [table])
    assert saved.bytes_of("table") == 16 * 4
    assert saved.bytes_of("index") == 4 * 8
    assert saved.bytes_of("weight") == 6 * 16 * 4
    assert saved.total == 4 * x.numel()
    assert "IndexBackward0.indices" in saved.table()


def test_what_a_node_off_the_path_saved_is_not_counted(saved_tensors, x):
    def run():
        x.exp().sin().detach()
        return x.relu()

    saved = saved_tensors.count_saved(run, name_savers=False)
    assert [item.nbytes for item in saved.items] == [x.nbytes]


def test_live_bytes_see_what_is_freed_and_the_peak(saved_tensors, x):
    live = saved_tensors.LiveBytes(skip=[x])
    with live:
        kept = (x * 2) + 1
        assert live.now() == kept.nbytes
    assert live.peak == 2 * kept.nbytes


def test_attention_without_a_mask_runs_the_flash_kernel(layers):
    for kind in ("gpt", "llama", "mixtral"):
        names = savers(layers.measure(kind, s=32, h=64, heads=4, f=128).saved)
        assert "ScaledDotProductFlashAttentionForCpuBackward0.logsumexp" in names, kind


@pytest.mark.parametrize("kind", ["gpt", "llama", "qwen3", "mixtral", "titan_moe", "deepseek"])
@pytest.mark.parametrize("checkpointing", ["none", "full", "attention"])
@pytest.mark.parametrize("attention", ["flash", "eager"])
def test_hooks_and_live_storages_count_the_same(layers, kind, checkpointing, attention):
    measured = layers.measure(
        kind, checkpointing=checkpointing, b=2, s=48, h=64, heads=4, kv_heads=2, f=160, attention=attention, shared=1
    )
    apart = measured.saved.bytes_of("index") + measured.saved.bytes_of("weight")
    assert measured.live == measured.bytes + apart
    if checkpointing == "full":
        assert measured.per_token == 2 * 64


@pytest.mark.parametrize("operator", ["norm", "mlp", "attention"])
def test_the_fused_operators_compute_what_the_eager_ones_do(layers, operator):
    torch.manual_seed(0)
    if operator == "norm":
        shapes = [(2, 3, 16), (16,)]

        def reference(x, weight):
            return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

        def fused(x, weight):
            return layers.FusedRMSNormFunction.apply(x, weight, 1e-6)
    elif operator == "mlp":
        shapes = [(2, 3, 16), (2, 3, 16)]

        def reference(gate, up):
            return F.silu(gate) * up

        fused = layers.FusedSwiGLUFunction.apply
    else:
        shapes = [(1, 4, 6, 8), (1, 2, 6, 8), (1, 2, 6, 8)]

        def reference(q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)

        def fused(q, k, v):
            return layers.FlashFunction.apply(q, k, v, 8**-0.5)

    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    expected, found = reference(*inputs), fused(*inputs)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn_like(expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, gradient), torch.autograd.grad(expected, inputs, gradient)
    )


def test_the_loss_keeps_one_fp32_copy_of_the_logits_and_peaks_at_fourteen_bytes(layers):
    measured = layers.measure_loss(s=64, h=8, vocab=2048)
    elements = measured.tokens * measured.vocab
    assert measured.bytes / elements == pytest.approx(4, rel=0.01)
    assert measured.peak_forward / elements == pytest.approx(10, rel=0.01)
    assert measured.peak_backward / elements == pytest.approx(14, rel=0.01)
    freed = layers.measure_loss(s=64, h=8, vocab=2048, keep_logits=False)
    assert freed.peak_backward / elements == pytest.approx(12, rel=0.01)
