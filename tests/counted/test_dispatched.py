"""The code that counts operators: what is one, what it moves, and what a layer of known operators has."""

from importlib import import_module

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional
BF16 = torch.bfloat16


@pytest.fixture(scope="module")
def dispatched(layers):
    return import_module("counted.dispatched")


@pytest.fixture
def x():
    return torch.ones(4, 8, 16, dtype=BF16)


def recorded(dispatched, function):
    with dispatched.Dispatched() as mode:
        function()
    return mode.now


@pytest.mark.parametrize(
    ("operator", "launches", "vectors"),
    [
        (lambda x: x + x, 1, 3),
        (lambda x: x * 3, 1, 2),
        (lambda x: x.float(), 1, 3),
        (lambda x: x.transpose(0, 1), 0, 0),
        (lambda x: x.view(32, 16)[:4], 0, 0),
        (lambda x: x.transpose(0, 1).contiguous(), 1, 2),
        (lambda x: x.clone().add_(x), 2, 2 + 3),
        (lambda x: torch.empty_like(x), 0, 0),
        (lambda x: torch.zeros_like(x), 1, 2),
        (lambda x: torch.cat([x, x]), 1, 4),
        (lambda x: F.silu(x) * x, 2, 2 + 3),
    ],
    ids=["add", "scale", "cast", "transpose", "slice", "copy", "in_place", "empty", "zeros", "cat", "gate"],
)
def test_bytes_of_one_operator(dispatched, x, operator, launches, vectors):
    found = recorded(dispatched, lambda: operator(x))
    assert found.launches == launches
    assert found.bytes == vectors * x.nbytes


def test_a_product_is_launched_and_moves_nothing_element_wise(dispatched, x):
    found = recorded(dispatched, lambda: torch.nn.Linear(16, 32, bias=False, dtype=BF16)(x))
    assert found.products == 1
    assert "mm" in found.operators


def test_a_fused_kernel_is_one_operator_each_way(dispatched, layers, x):
    weight = torch.ones(16, dtype=BF16, requires_grad=True)
    x.requires_grad_()
    mode = dispatched.Dispatched()
    with mode, mode.one_kernel(layers.FusedRMSNormFunction):
        out = layers.FusedRMSNormFunction.apply(x, weight, 1e-6)
        forward, mode.now = mode.now, dispatched.Pass()
        out.backward(x.detach())
    assert forward.operators == {"FusedRMSNormFunction": 1}
    assert forward.bytes == 2 * x.nbytes + weight.nbytes
    assert mode.now.operators["FusedRMSNormFunction"] == 1


def test_a_rotation_by_one_kernel_has_the_gradient_of_the_plain_one(dispatched, layers):
    torch.manual_seed(0)
    q, k = (torch.randn(1, heads, 8, 16, requires_grad=True) for heads in (4, 2))
    angles = torch.randn(1, 8, 8).repeat(1, 1, 2)
    tables = angles.cos(), angles.sin()
    weights = torch.randn(1, 4, 8, 16), torch.randn(1, 2, 8, 16)
    found = []
    for rotate in (dispatched.ROTATE, dispatched.FusedRotaryFunction.apply):
        out = rotate(q, k, *tables)
        found.append(
            [*out, *torch.autograd.grad(sum((o * w).sum() for o, w in zip(out, weights, strict=True)), (q, k))]
        )
    for plain, fused in zip(*found, strict=True):
        torch.testing.assert_close(plain, fused)


def test_operators_of_a_llama_layer(dispatched):
    """Seven products with weights and attention; norms in six operators, one of them a cast each way."""
    found = dispatched.count("llama")
    assert found.forward.products == 8
    # Two for each weight, and attention.
    assert found.backward.products == 15
    assert found.forward.operators["rsqrt"] == 2
    assert found.forward.operators["silu"] == 1
    # A product writes no more the more tokens: bytes per token do not depend on them.
    once, twice = (dispatched.count_per_token("llama", b=b) for b in (1, 2))
    assert once == pytest.approx(twice, rel=1e-12)


def test_a_model_is_its_layers_and_the_same_beside_them(dispatched):
    two, four, six = (dispatched.count_model(number, s=32, h=64, heads=4, f=128) for number in (2, 4, 6))
    launches = [found.forward.launches + found.backward.launches for found in (two, four, six)]
    layer = dispatched.count("llama", s=32, h=64, heads=4, f=128)
    assert launches[2] - launches[1] == launches[1] - launches[0]
    assert launches[1] - launches[0] == 2 * (layer.forward.launches + layer.backward.launches)
