"""What PyTorch executes: operators that a layer dispatches, forward and backward, and the bytes that each must move.

`count("llama", h=256, ...)` returns a `Counted`. A view moves nothing and is no operator; a kernel that training code
fuses is one, with what it is given and what it returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from counted import layers
from counted.layers import BF16, Shape, build, llama, qwen3
from counted.saved_tensors import view_bytes
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

#: Kernels that training code fuses, by the code that keeps what they keep.
FUSED: tuple[type[torch.autograd.Function], ...] = (
    layers.FusedRMSNormFunction,
    layers.FusedSwiGLUFunction,
    layers.FlashFunction,
)
ROTATING = (llama, qwen3)
#: Operators that multiply matrices, or attend; what they move is not element-wise.
PRODUCTS = ("mm", "bmm", "addmm", "matmul", "linear", "_grouped_mm", "flash_attention", "FlashFunction")
#: Operators that reserve memory and write nothing.
RESERVED = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided")


class FusedRotaryFunction(torch.autograd.Function):
    """Queries and keys rotated by one kernel; the way back is the rotation the other way."""

    @staticmethod
    def forward(ctx, q, k, cos, sin):
        ctx.save_for_backward(cos, sin)
        return ROTATE(q, k, cos, sin)

    @staticmethod
    def backward(ctx, q, k):
        cos, sin = ctx.saved_tensors
        return *ROTATE(q, k, cos, -sin), None, None


ROTATE = llama.apply_rotary_pos_emb


@dataclass
class Pass:
    """Operators of one direction, and the bytes of those that are no products."""

    operators: Counter[str] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)

    @property
    def launches(self) -> int:
        """Operators, products among them."""
        return self.operators.total()

    @property
    def products(self) -> int:
        """Operators that multiply matrices."""
        return sum(times for name, times in self.operators.items() if is_product(name))

    @property
    def bytes(self) -> int:
        """Read and written by all but products."""
        return sum(moved for name, moved in self.moved.items() if not is_product(name))


@dataclass(frozen=True)
class Counted:
    """What one layer executes."""

    shape: Shape
    forward: Pass
    backward: Pass


def is_product(name: str) -> bool:
    """Whether an operator multiplies matrices."""
    return any(name == product or (len(product) > 6 and product in name) for product in PRODUCTS)


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


class Dispatched(TorchDispatchMode):
    """Records every operator into `now`, while none of a fused kernel is at work."""

    def __init__(self) -> None:
        super().__init__()
        self.now = Pass()
        self.fused = 0

    def record(self, name: str, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        self.now.operators[name] += 1
        self.now.moved[name] += sum(map(view_bytes, given)) + sum(map(view_bytes, made))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        name = func._schema.name.partition("::")[2]
        if self.fused or name in RESERVED:
            return made
        given, results = tensors((args, kwargs)), tensors(made)
        held = {tensor.untyped_storage()._cdata for tensor in given}
        aliased = results and all(tensor.untyped_storage()._cdata in held for tensor in results)
        if aliased and not func._schema.is_mutable:
            return made
        if func._schema.is_mutable and name in ("copy_", "fill_", "zero_"):
            given = given[1:]
        self.record(name.rstrip("_") if func._schema.is_mutable else name, given, results)
        return made

    @contextmanager
    def one_kernel(self, function: type[torch.autograd.Function]) -> Iterator[None]:
        """Count a fused kernel as one operator each way."""
        forward, backward = function.forward, function.backward

        def run(ctx, *args):
            self.fused += 1
            made = forward(ctx, *args)
            self.fused -= 1
            if not self.fused:
                self.record(function.__name__, tensors(args), tensors(made))
            return made

        def run_back(ctx, *gradients):
            self.fused += 1
            made = backward(ctx, *gradients)
            self.fused -= 1
            if not self.fused:
                self.record(function.__name__, [*ctx.saved_tensors, *tensors(gradients)], tensors(made))
            return made

        function.forward, function.backward = staticmethod(run), staticmethod(run_back)
        try:
            yield
        finally:
            function.forward, function.backward = staticmethod(forward), staticmethod(backward)


@contextmanager
def rotated_by_one_kernel() -> Iterator[None]:
    """Layers of Llama and Qwen3 rotate as kernels of training code do."""
    for module in ROTATING:
        module.apply_rotary_pos_emb = FusedRotaryFunction.apply
    try:
        yield
    finally:
        for module in ROTATING:
            module.apply_rotary_pos_emb = ROTATE


def count(kind: str, *, rotation: str = "as_norm", **sizes: Any) -> Counted:
    """Operators and bytes of one layer, forward and backward, its parameters without gradients yet.

    With ``norm="fused"`` queries and keys are rotated by one kernel too, unless ``rotation`` is eager.
    """
    torch.manual_seed(0)
    shape = Shape(**{"kv_heads": sizes.get("heads", Shape.heads), **sizes} if kind == "gpt" else sizes)
    _, run, _ = build(kind, shape)
    leaf = torch.randn(shape.b, shape.s, shape.h, dtype=BF16, requires_grad=True)
    mode = Dispatched()
    with ExitStack() as kernels:
        for function in (*FUSED, FusedRotaryFunction):
            kernels.enter_context(mode.one_kernel(function))
        if shape.norm == "fused" and rotation != "eager":
            kernels.enter_context(rotated_by_one_kernel())
        with mode:
            output = run(leaf)
        forward, gradient, mode.now = mode.now, torch.ones_like(output), Pass()
        with mode:
            output.backward(gradient)
    return Counted(shape, forward, mode.now)


def count_per_token(kind: str, **sizes: Any) -> tuple[float, float]:
    """Bytes of all but products that grow with tokens, forward and backward: of twice the tokens less of once."""
    few, many = (count(kind, **{**sizes, "b": sizes.get("b", 1) * times}) for times in (1, 2))
    tokens = many.shape.tokens - few.shape.tokens
    return (many.forward.bytes - few.forward.bytes) / tokens, (many.backward.bytes - few.backward.bytes) / tokens


def count_model(number: int, **sizes: Any) -> Counted:
    """Operators of a whole Llama of so many layers: embedding, layers, head and loss, forward and backward."""
    torch.manual_seed(0)
    shape = Shape(**sizes)
    config = layers.llama_config(shape, vocab_size=512, use_cache=False)
    config.num_hidden_layers = number
    model = llama.LlamaForCausalLM(config).to(BF16).train()
    tokens = torch.randint(512, (shape.b, shape.s))
    mode = Dispatched()
    with mode:
        loss = model(input_ids=tokens, labels=tokens).loss
    forward, mode.now = mode.now, Pass()
    with mode:
        loss.backward()
    return Counted(shape, forward, mode.now)
