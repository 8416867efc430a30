"""Small real transformer layers in bf16, and the bytes that one of them keeps for the backward pass.

`measure("llama", b=1, s=128, h=256, heads=8, kv_heads=2, f=896)` returns a `Measured`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from counted.saved_tensors import LiveBytes, Saved, count_saved
from torch import nn
from torch.autograd.graph import get_gradient_edge
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from transformers import DeepseekV3Config, LlamaConfig, MixtralConfig, Qwen3Config
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
from transformers.models.llama import modeling_llama as llama
from transformers.models.mixtral import modeling_mixtral as mixtral
from transformers.models.qwen3 import modeling_qwen3 as qwen3

BF16 = torch.bfloat16


@dataclass(frozen=True)
class Shape:
    """Sizes of one layer and what it is built of; each kind reads the fields it needs."""

    b: int = 1
    s: int = 128
    h: int = 256
    heads: int = 8
    kv_heads: int = 2
    head_dim: int | None = None
    f: int = 896
    norm: str = "eager"
    mlp: str = "eager"
    attention: str = "flash"
    dropout: float = 0.0
    attention_dropout: float = 0.0
    mask_bytes: int = 2
    experts: int = 8
    top_k: int = 2
    f_expert: int = 128
    ranks: int = 1
    skew: float = 0.0
    shared: int = 0
    score: str = "output"
    experts_implementation: str = "grouped_mm"
    q_rank: int = 96
    kv_rank: int = 64
    nope: int = 32
    rope: int = 16
    v_dim: int = 32
    moe: bool = True

    @property
    def tokens(self) -> int:
        return self.b * self.s

    @property
    def d(self) -> int:
        return self.head_dim or self.h // self.heads


@dataclass(frozen=True)
class Measured:
    """Bytes one layer keeps: `bytes` alone counts the activations; `live` is the independent count of the same."""

    shape: Shape
    bytes: int
    live: int
    peak: int | None
    saved: Saved
    layer: nn.Module

    @property
    def per_token(self) -> float:
        return self.bytes / self.shape.tokens

    @property
    def per_token_and_width(self) -> float:
        return self.per_token / self.shape.h


# Operators that real training code fuses, written to keep what Liger and Apex keep.


def chunks(x: torch.Tensor) -> list[torch.Tensor]:
    """Views of a few rows each, so that temporaries stay small, as inside a kernel."""
    return list(x.flatten(0, -2).split(32))


class FusedRMSNormFunction(torch.autograd.Function):
    """Keeps its input and one fp32 number per row."""

    @staticmethod
    def forward(ctx, x, weight, eps):
        rstd = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
        ctx.save_for_backward(x, weight, rstd)
        return weight * (x.float() * rstd).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, weight, rstd = ctx.saved_tensors
        dx, dweight = torch.empty_like(x), torch.zeros_like(weight, dtype=torch.float32)
        for dx_, x_, rstd_, gradient_ in zip(*map(chunks, (dx, x, rstd, gradient)), strict=True):
            normalised = x_.float() * rstd_
            inner = gradient_.float() * weight.float()
            dx_.copy_(rstd_ * (inner - normalised * (inner * normalised).mean(-1, keepdim=True)))
            dweight += (gradient_.float() * normalised).sum(0)
        return dx, dweight.to(weight.dtype), None


class FusedRMSNorm(nn.Module):
    def __init__(self, weight: nn.Parameter, eps: float):
        super().__init__()
        self.weight, self.eps = weight, eps

    def forward(self, x):
        return FusedRMSNormFunction.apply(x, self.weight, self.eps)


class FusedSwiGLUFunction(torch.autograd.Function):
    """Keeps gate and up, and recomputes silu(gate)."""

    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return F.silu(gate) * up

    @staticmethod
    def backward(ctx, gradient):
        gate, up = ctx.saved_tensors
        dgate, dup = torch.empty_like(gate), torch.empty_like(up)
        for dgate_, dup_, gate_, up_, gradient_ in zip(*map(chunks, (dgate, dup, gate, up, gradient)), strict=True):
            sigmoid = torch.sigmoid(gate_)
            silu = gate_ * sigmoid
            dgate_.copy_(gradient_ * up_ * (sigmoid + silu * (1 - sigmoid)))
            dup_.copy_(gradient_ * silu)
        return dgate, dup


class FlashFunction(torch.autograd.Function):
    """Causal attention that keeps q, k, v, the output and its log-sum-exp, whatever the head sizes."""

    @staticmethod
    def forward(ctx, q, k, v, scale):
        scores = FlashFunction.scores(q, k, scale)
        lse = scores.logsumexp(-1)
        groups = q.shape[1] // k.shape[1]
        out = torch.matmul((scores - lse[..., None]).exp().to(v.dtype), v.repeat_interleave(groups, 1))
        out = out.transpose(1, 2).contiguous()
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.scale = scale
        return out

    @staticmethod
    def scores(q, k, scale):
        scores = torch.matmul(q, k.repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(2, 3)).float() * scale
        s = q.shape[2]
        return scores.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), float("-inf"))

    @staticmethod
    def backward(ctx, gradient):
        q, k, v, _, _ = ctx.saved_tensors
        with torch.enable_grad():
            q, k, v = (tensor.detach().requires_grad_() for tensor in (q, k, v))
            weights = FlashFunction.scores(q, k, ctx.scale).softmax(-1).to(v.dtype)
            out = torch.matmul(weights, v.repeat_interleave(q.shape[1] // v.shape[1], 1))
            return *torch.autograd.grad(out, (q, k, v), gradient.transpose(1, 2)), None


def flash_attention(module, query, key, value, attention_mask, scaling=None, **_):
    """For transformers layers whose value heads differ from the query heads, which no CPU flash kernel takes."""
    return FlashFunction.apply(query, key, value, scaling), None


def checkpointed(core: Callable) -> Callable:
    """An attention core that keeps only q, k and v and is computed again in the backward pass."""

    def attention(module, query, key, value, attention_mask, **kwargs):
        def run(q, k, v):
            return core(module, q, k, v, attention_mask, **kwargs)[0]

        return checkpoint(run, query, key, value, use_reentrant=False), None

    return attention


CORES = {
    "flash": ALL_ATTENTION_FUNCTIONS["sdpa"],
    "eager": llama.eager_attention_forward,
    "any_flash": flash_attention,
}
for name, core in CORES.items():
    ALL_ATTENTION_FUNCTIONS.register(f"counted_{name}", core)
    ALL_ATTENTION_FUNCTIONS.register(f"counted_{name}_checkpointed", checkpointed(core))


def dropout(x: torch.Tensor, p: float, mask_bytes: int) -> torch.Tensor:
    """CPU dropout keeps a mask in the dtype of its input; `native_dropout` one byte, as CUDA does."""
    if not p:
        return x
    return torch.native_dropout(x, p, True)[0] if mask_bytes == 1 else F.dropout(x, p)


class GPTLayer(nn.Module):
    """LayerNorm, one qkv projection, attention, GELU; biases, as GPT-2 and GPT-3 have them."""

    def __init__(self, shape: Shape, checkpoint_core: bool):
        super().__init__()
        self.shape, self.checkpoint_core = shape, checkpoint_core
        inner = shape.heads * shape.d
        self.norm_1, self.norm_2 = nn.LayerNorm(shape.h), nn.LayerNorm(shape.h)
        self.qkv, self.out = nn.Linear(shape.h, 3 * inner), nn.Linear(inner, shape.h)
        self.up, self.down = nn.Linear(shape.h, shape.f), nn.Linear(shape.f, shape.h)

    def core(self, q, k, v):
        if self.shape.attention == "flash":
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        s = self.shape.s
        scores = (q @ k.transpose(2, 3)) * self.shape.d**-0.5
        scores = scores + torch.full((s, s), float("-inf"), dtype=scores.dtype).triu(1)
        dtype = torch.float32 if self.shape.attention == "eager" else scores.dtype
        weights = torch.softmax(scores, -1, dtype=dtype).to(q.dtype)
        return dropout(weights, self.shape.attention_dropout, self.shape.mask_bytes) @ v

    def forward(self, x):
        b, s, _ = x.shape
        qkv = self.qkv(self.norm_1(x)).view(b, s, 3, self.shape.heads, self.shape.d)
        q, k, v = (part.transpose(1, 2) for part in qkv.unbind(2))
        core = partial(checkpoint, self.core, use_reentrant=False) if self.checkpoint_core else self.core
        attended = core(q, k, v).transpose(1, 2).reshape(b, s, -1)
        x = x + dropout(self.out(attended), self.shape.dropout, self.shape.mask_bytes)
        inner = F.gelu(self.up(self.norm_2(x)))
        return x + dropout(self.down(inner), self.shape.dropout, self.shape.mask_bytes)


class TitanMoE(nn.Module):
    """As torchtitan: softmax router, tokens sorted by expert, a loop over experts, scatter-add, scores in fp32."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.gate = nn.Linear(shape.h, shape.experts, bias=False)
        size = (shape.experts, shape.f_expert, shape.h)
        self.w1, self.w3 = nn.Parameter(torch.empty(size)), nn.Parameter(torch.empty(size))
        self.w2 = nn.Parameter(torch.empty(shape.experts, shape.h, shape.f_expert))
        if shape.shared:
            config = LlamaConfig(hidden_size=shape.h, intermediate_size=shape.shared * shape.f_expert)
            self.shared = llama.LlamaMLP(config)

    def swiglu(self, gate, up):
        return FusedSwiGLUFunction.apply(gate, up) if self.shape.mlp == "fused" else F.silu(gate) * up

    def weigh(self, x, scores):
        if self.shape.score.endswith("bf16"):
            return x * scores[:, None].to(x.dtype)
        return (x.float() * scores[:, None]).to(x.dtype)

    def choose(self, flat):
        return self.gate(flat).float().softmax(-1).topk(self.shape.top_k, dim=-1)

    def experts(self, routed, counts):
        parts = [
            self.swiglu(part @ w1.T, part @ w3.T) @ w2.T
            for part, w1, w2, w3 in zip(routed.split(counts), self.w1, self.w2, self.w3, strict=True)
        ]
        return torch.cat(parts)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        scores, chosen = self.choose(flat)
        scores = scores / scores.sum(-1, keepdim=True)
        order = chosen.reshape(-1).argsort(stable=True)
        counts = torch.bincount(chosen.reshape(-1), minlength=self.shape.experts).tolist()
        scores = scores.reshape(-1)[order]
        index = (order // self.shape.top_k)[:, None].expand(-1, flat.shape[-1])
        routed = flat.gather(0, index)
        if self.shape.score.startswith("input"):
            routed = self.weigh(routed, scores)
        routed = self.experts(routed, counts)
        if self.shape.score.startswith("output"):
            routed = self.weigh(routed, scores)
        start = self.shared(flat) if self.shape.shared else torch.zeros_like(flat)
        return start.scatter_add(0, index, routed).view_as(x)


#: Mixtures of experts that take the place of a feed-forward block.
MIXTURES: dict[str, type[nn.Module]] = {"titan_moe": TitanMoE}


def llama_config(shape: Shape, cls: type = LlamaConfig, **more: Any) -> Any:
    return cls(
        hidden_size=shape.h,
        intermediate_size=shape.f,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.d,
        attention_dropout=shape.attention_dropout,
        num_hidden_layers=1,
        **more,
    )


def fuse(layer: nn.Module, shape: Shape) -> None:
    """Put the fused operators in the place of the eager ones, sharing their weights."""
    for module in list(layer.modules()):
        for name, child in list(module.named_children()):
            if shape.norm == "fused" and type(child).__name__.endswith("RMSNorm"):
                setattr(module, name, FusedRMSNorm(child.weight, child.variance_epsilon))
        if shape.mlp == "fused" and hasattr(module, "gate_proj") and hasattr(module, "act_fn"):
            module.forward = partial(fused_mlp, module)
        if shape.mlp == "fused" and hasattr(module, "_apply_gate"):
            module._apply_gate = lambda both: FusedSwiGLUFunction.apply(*both.chunk(2, dim=-1))


def fused_mlp(module, x):
    return module.down_proj(FusedSwiGLUFunction.apply(module.gate_proj(x), module.up_proj(x)))


def build(kind: str, shape: Shape, checkpoint_core: bool = False) -> tuple[nn.Module, Callable, list[torch.Tensor]]:
    """The layer, the function that runs it on hidden states, and its rotary tables."""
    if kind == "gpt":
        layer = GPTLayer(shape, checkpoint_core)
        return finish(layer, shape), layer, []
    core = "any_flash" if kind == "deepseek" and shape.attention == "flash" else shape.attention
    if kind == "llama" or kind in MIXTURES:
        config = llama_config(shape)
        layer, rotary = llama.LlamaDecoderLayer(config, 0), llama.LlamaRotaryEmbedding(config)
        if kind in MIXTURES:
            layer.mlp = MIXTURES[kind](shape)
    elif kind == "qwen3":
        config = llama_config(shape, Qwen3Config)
        layer, rotary = qwen3.Qwen3DecoderLayer(config, 0), qwen3.Qwen3RotaryEmbedding(config)
    elif kind == "mixtral":
        sizes = {"num_local_experts": shape.experts, "num_experts_per_tok": shape.top_k}
        config = llama_config(shape, MixtralConfig, **sizes)
        config.intermediate_size = shape.f_expert
        layer, rotary = mixtral.MixtralDecoderLayer(config, 0), mixtral.MixtralRotaryEmbedding(config)
    elif kind == "deepseek":
        config = DeepseekV3Config(
            hidden_size=shape.h,
            intermediate_size=shape.f,
            moe_intermediate_size=shape.f_expert,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.heads,
            q_lora_rank=shape.q_rank,
            kv_lora_rank=shape.kv_rank,
            qk_nope_head_dim=shape.nope,
            qk_rope_head_dim=shape.rope,
            v_head_dim=shape.v_dim,
            n_routed_experts=shape.experts,
            num_experts_per_tok=shape.top_k,
            n_shared_experts=shape.shared,
            n_group=1,
            topk_group=1,
            first_k_dense_replace=0 if shape.moe else 1,
            num_hidden_layers=1,
        )
        layer, rotary = deepseek.DeepseekV3DecoderLayer(config, 0), deepseek.DeepseekV3RotaryEmbedding(config)
    else:
        raise ValueError(f"no layer of kind {kind!r}")
    config._attn_implementation = f"counted_{core}" + ("_checkpointed" if checkpoint_core else "")
    config._experts_implementation = shape.experts_implementation
    finish(layer, shape)
    fuse(layer, shape)
    tables = [table.contiguous() for table in rotary(torch.empty(1, dtype=BF16), torch.arange(shape.s)[None])]
    mask = None
    if shape.attention == "eager":
        mask = torch.full((shape.s, shape.s), float("-inf"), dtype=BF16).triu(1)[None, None]
    return layer, partial(layer, position_embeddings=tuple(tables), attention_mask=mask), tables


def finish(layer: nn.Module, shape: Shape) -> nn.Module:
    for parameter in layer.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    return layer.to(BF16).train()


def torchtitan_contexts():
    """torchtitan's `op` policy: keep every second matrix product and the attention's results, recompute the rest."""
    counts = {"forward": 0, "recompute": 0}
    kept = {
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
        torch.ops.aten._scaled_dot_product_flash_attention.default,
    }

    def policy(context, operator, *args, **kwargs):
        if operator is torch.ops.aten.mm.default:
            mode = "recompute" if context.is_recompute else "forward"
            counts[mode] += 1
            keep = counts[mode] % 2 == 1
        else:
            keep = operator in kept
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def measure(kind: str, *, checkpointing: str = "none", peak: bool = False, **sizes: Any) -> Measured:
    """Bytes that one layer keeps for backward.

    `kind` is gpt, llama, qwen3, titan_moe, mixtral or deepseek; `checkpointing` is none, full, attention (the core
    q, k, v to output) or torchtitan_op. With `peak`, the backward runs too and its most live bytes are noted.
    """
    torch.manual_seed(0)
    shape = Shape(**{"kv_heads": sizes.get("heads", Shape.heads), **sizes} if kind == "gpt" else sizes)
    layer, run, tables = build(kind, shape, checkpoint_core=checkpointing == "attention")
    if checkpointing == "full":
        run = partial(checkpoint, run, use_reentrant=False)
    elif checkpointing == "torchtitan_op":
        run = partial(checkpoint, run, use_reentrant=False, context_fn=torchtitan_contexts)
    elif checkpointing not in ("none", "attention"):
        raise ValueError(f"no checkpointing {checkpointing!r}")
    leaf = torch.randn(shape.b, shape.s, shape.h, dtype=BF16, requires_grad=True)
    parameters = list(layer.parameters())
    saved = count_saved(
        lambda: run(leaf.clone()), parameters, tables, shape.tokens, name_savers=checkpointing == "none"
    )
    live = LiveBytes(skip=[leaf, *parameters, *tables])
    with live:
        output = run(leaf.clone())
        after = live.now() - output.untyped_storage().nbytes()
        if peak:
            for parameter in parameters:
                parameter.register_post_accumulate_grad_hook(drop_gradient)
            gradient, edge, live.peak = torch.ones_like(output), get_gradient_edge(output), 0
            del output
            torch.autograd.backward(edge, gradient)
    # Under op-level checkpointing the kept results sit in a cache that no pack hook sees.
    total = after if checkpointing == "torchtitan_op" else saved.total
    return Measured(shape, total, after, live.peak if peak else None, saved, layer)


def drop_gradient(parameter: torch.Tensor) -> None:
    parameter.grad = None


@dataclass(frozen=True)
class MeasuredLoss:
    """Bytes of a causal language model's logits and loss: kept, and most live in forward and backward."""

    tokens: int
    vocab: int
    bytes: int
    peak_forward: int
    peak_backward: int
    saved: Saved


def measure_loss(*, b: int = 1, s: int = 128, h: int = 32, vocab: int = 4096, keep_logits: bool = True) -> MeasuredLoss:
    """The head of transformers' `LlamaForCausalLM`: bf16 logits, `float()`, `cross_entropy`; hidden states given."""
    torch.manual_seed(0)
    head = nn.Linear(h, vocab, bias=False, dtype=BF16)
    leaf = torch.randn(b, s, h, dtype=BF16, requires_grad=True)
    labels = torch.randint(vocab, (b, s))

    def loss(logits):
        return ForCausalLMLoss(logits, labels, vocab)

    saved = count_saved(lambda: loss(head(leaf)), [head.weight], tokens=b * s)
    live = LiveBytes(skip=[leaf, head.weight, labels])
    head.weight.register_post_accumulate_grad_hook(drop_gradient)
    with live:
        logits = head(leaf)
        value = loss(logits)
        forward, live.peak = live.peak, 0
        if not keep_logits:
            del logits
        value.backward()
    return MeasuredLoss(b * s, vocab, saved.total, forward, live.peak, saved)
