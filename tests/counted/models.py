"""Models of transformers, whole or split as Megatron and ZeRO split them, and their tensors counted one by one.

Nothing here comes from the library but the two classes that hold a shape; each shape is written down twice,
in the words of transformers and in those of the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn

from mlsysim import SparseTransformerWorkload, TrainingMemoryModel, TransformerWorkload

CLASSES = {
    "gpt2": (hf.GPT2Config, hf.GPT2LMHeadModel),
    "opt": (hf.OPTConfig, hf.OPTForCausalLM),
    "llama": (hf.LlamaConfig, hf.LlamaForCausalLM),
    "mistral": (hf.MistralConfig, hf.MistralForCausalLM),
    "mixtral": (hf.MixtralConfig, hf.MixtralForCausalLM),
    "qwen2": (hf.Qwen2Config, hf.Qwen2ForCausalLM),
    "qwen3": (hf.Qwen3Config, hf.Qwen3ForCausalLM),
    "qwen3_moe": (hf.Qwen3MoeConfig, hf.Qwen3MoeForCausalLM),
    "deepseek_v3": (hf.DeepseekV3Config, hf.DeepseekV3ForCausalLM),
    "llama4": (hf.Llama4TextConfig, hf.Llama4ForCausalLM),
}


@dataclass(frozen=True)
class Spec:
    """One shape, twice: `config` for transformers, `shape` for the library."""

    family: str
    config: Mapping[str, Any]
    shape: Mapping[str, Any] = field(hash=False)

    def configuration(self) -> Any:
        return CLASSES[self.family][0](**self.config)

    def build(self, device: str = "meta") -> nn.Module:
        torch.manual_seed(0)
        with torch.device(device):
            return CLASSES[self.family][1](self.configuration())

    def workload(self, **changes: Any) -> TransformerWorkload:
        shape = {**self.shape, **changes}
        kind = SparseTransformerWorkload if "experts" in shape else TransformerWorkload
        return kind(name=self.family, **shape)


def gpt2(layers, h, heads, vocab, positions):
    return Spec(
        "gpt2",
        {"n_layer": layers, "n_embd": h, "n_head": heads, "vocab_size": vocab, "n_positions": positions,
         "bos_token_id": 0, "eos_token_id": 0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
        {"layers": layers, "hidden_dim": h, "heads": heads, "vocab_size": vocab, "learned_positions": positions,
         "ffn_dim": 4 * h, "gated": False, "tied_embeddings": True, "qkv_bias": True,
         "attention_output_bias": True, "mlp_bias": True, "norm_bias": True},
    )  # fmt: skip


def opt(layers, h, heads, vocab, positions, *, tied=True):
    return Spec(
        "opt",
        {"num_hidden_layers": layers, "hidden_size": h, "word_embed_proj_dim": h, "num_attention_heads": heads,
         "ffn_dim": 4 * h, "vocab_size": vocab, "max_position_embeddings": positions, "tie_word_embeddings": tied,
         "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2, "dropout": 0.0},
        {"layers": layers, "hidden_dim": h, "heads": heads, "vocab_size": vocab, "learned_positions": positions + 2,
         "ffn_dim": 4 * h, "gated": False, "tied_embeddings": tied, "qkv_bias": True,
         "attention_output_bias": True, "mlp_bias": True, "norm_bias": True},
    )  # fmt: skip


def decoder(family, layers, h, heads, kv_heads, ffn, vocab, *, head_dim=None, tied=False, config=(), shape=()):
    """What Llama and those built like it have in common."""
    width = {} if head_dim is None else {"head_dim": head_dim}
    return Spec(
        family,
        {"num_hidden_layers": layers, "hidden_size": h, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
         "intermediate_size": ffn, "vocab_size": vocab, "tie_word_embeddings": tied, "pad_token_id": 0,
         "bos_token_id": 0, "eos_token_id": 0, **width, **dict(config)},
        {"layers": layers, "hidden_dim": h, "heads": heads, "kv_heads": kv_heads, "ffn_dim": ffn, "gated": True,
         "vocab_size": vocab, "tied_embeddings": tied, **width, **dict(shape)},
    )  # fmt: skip


def llama(layers, h, heads, kv_heads, ffn, vocab, *, bias=False, tied=False):
    return decoder(
        "llama", layers, h, heads, kv_heads, ffn, vocab, tied=tied,
        config={"attention_bias": bias, "mlp_bias": bias},
        shape=dict.fromkeys(("qkv_bias", "attention_output_bias", "mlp_bias"), bias),
    )  # fmt: skip


def mixtral(layers, h, heads, kv_heads, ffn, vocab, experts, top):
    return decoder(
        "mixtral", layers, h, heads, kv_heads, ffn, vocab,
        config={"num_local_experts": experts, "num_experts_per_tok": top},
        shape={"ffn_dim": 0, "experts": experts, "active_experts_per_token": top, "expert_ffn_dim": ffn,
               "moe_layers": layers},
    )  # fmt: skip


def qwen3_moe(layers, h, heads, kv_heads, head_dim, ffn, expert, vocab, experts, top, *, interval=1):
    moe = layers // interval
    return decoder(
        "qwen3_moe", layers, h, heads, kv_heads, ffn, vocab, head_dim=head_dim,
        config={"moe_intermediate_size": expert, "num_experts": experts, "num_experts_per_tok": top,
                "decoder_sparse_step": interval},
        shape={"ffn_dim": ffn if moe < layers else 0, "experts": experts, "active_experts_per_token": top,
               "expert_ffn_dim": expert, "moe_layers": moe, "moe_layer_interval": interval, "qk_norm": True},
    )  # fmt: skip


def deepseek_v3(layers, h, heads, q_rank, kv_rank, nope, rope, v, ffn, expert, vocab, experts, top, dense, shared=1):
    latent = {"q_lora_rank": q_rank, "kv_lora_rank": kv_rank, "qk_nope_head_dim": nope, "qk_rope_head_dim": rope,
              "v_head_dim": v}  # fmt: skip
    return Spec(
        "deepseek_v3",
        {"num_hidden_layers": layers, "hidden_size": h, "num_attention_heads": heads, "num_key_value_heads": heads,
         "intermediate_size": ffn, "moe_intermediate_size": expert, "vocab_size": vocab, "n_routed_experts": experts,
         "num_experts_per_tok": top, "first_k_dense_replace": dense, "n_shared_experts": shared, "n_group": 1,
         "topk_group": 1, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0, **latent},
        {"layers": layers, "hidden_dim": h, "heads": heads, "vocab_size": vocab, "ffn_dim": ffn, "gated": True,
         "experts": experts, "active_experts_per_token": top, "expert_ffn_dim": expert,
         "shared_ffn_dim": shared * expert, "moe_layers": layers - dense, "router_bias": True,
         **latent, "q_lora_rank": q_rank or 0},
    )  # fmt: skip


def llama4(layers, h, heads, kv_heads, head_dim, ffn, expert, vocab, experts, interval):
    return decoder(
        "llama4", layers, h, heads, kv_heads, expert, vocab, head_dim=head_dim,
        config={"intermediate_size_mlp": ffn, "num_local_experts": experts, "num_experts_per_tok": 1,
                "interleave_moe_layer_step": interval},
        shape={"ffn_dim": ffn, "experts": experts, "active_experts_per_token": 1, "expert_ffn_dim": expert,
               "shared_ffn_dim": expert, "moe_layers": layers // interval, "moe_layer_interval": interval},
    )  # fmt: skip


SMALL = {
    "gpt2": gpt2(4, 32, 4, 96, 16),
    "opt": opt(4, 32, 4, 96, 30),
    "opt_untied": opt(4, 32, 4, 96, 30, tied=False),
    "llama": llama(4, 32, 4, 2, 64, 96),
    "llama_biases": llama(4, 32, 4, 2, 64, 96, bias=True),
    "llama_tied": llama(4, 32, 4, 2, 64, 96, tied=True),
    "mistral": decoder("mistral", 4, 32, 4, 2, 64, 96),
    "qwen2": decoder("qwen2", 4, 32, 4, 2, 64, 96, shape={"qkv_bias": True}),
    "qwen3": decoder("qwen3", 4, 32, 4, 2, 64, 96, head_dim=16, shape={"qk_norm": True}),
    "mixtral": mixtral(4, 32, 4, 2, 16, 96, 8, 2),
    "qwen3_moe": qwen3_moe(4, 32, 4, 2, 16, 64, 16, 96, 8, 2),
    "qwen3_moe_interleaved": qwen3_moe(4, 32, 4, 2, 16, 16, 16, 96, 8, 2, interval=2),
    "deepseek_v3": deepseek_v3(4, 32, 4, 16, 16, 8, 8, 16, 32, 16, 96, 8, 2, 1),
    "deepseek_v3_plain_query": deepseek_v3(4, 32, 4, None, 16, 8, 8, 16, 32, 16, 96, 8, 2, 1, shared=2),
    "llama4": llama4(4, 32, 4, 2, 8, 32, 16, 96, 8, 2),
}

#: The shapes as published.
PUBLISHED = {
    "GPT-2 XL": gpt2(48, 1600, 25, 50257, 1024),
    "OPT-13B": opt(40, 5120, 40, 50272, 2048),
    "Llama 3 8B": llama(32, 4096, 32, 8, 14336, 128256),
    "Llama 3.1 405B": llama(126, 16384, 128, 8, 53248, 128256),
    "Mistral 7B": decoder("mistral", 32, 4096, 32, 8, 14336, 32000),
    "Mixtral 8x7B": mixtral(32, 4096, 32, 8, 14336, 32000, 8, 2),
    "Qwen2 7B": decoder("qwen2", 28, 3584, 28, 4, 18944, 152064, shape={"qkv_bias": True}),
    "Qwen3 0.6B": decoder("qwen3", 28, 1024, 16, 8, 3072, 151936, head_dim=128, tied=True, shape={"qk_norm": True}),
    "Qwen3 8B": decoder("qwen3", 36, 4096, 32, 8, 12288, 151936, head_dim=128, shape={"qk_norm": True}),
    "Qwen3 30B-A3B": qwen3_moe(48, 2048, 32, 4, 128, 6144, 768, 151936, 128, 8),
    "DeepSeek-V3": deepseek_v3(61, 7168, 128, 1536, 512, 128, 64, 128, 18432, 2048, 129280, 256, 8, 3),
    "Llama 4 Maverick": llama4(48, 5120, 40, 8, 128, 16384, 8192, 202048, 128, 2),
}


def spec(name: str) -> Spec:
    return SMALL[name] if name in SMALL else PUBLISHED[name]


def tensors(model: nn.Module) -> dict[str, Tensor]:
    """What a checkpoint stores, tied tensors once: parameters, and the buffers that are saved with them.

    DeepSeek-V3's correction of the router scores is such a buffer; rotary tables are not saved.
    """
    found = dict(model.named_parameters())
    stored = model.state_dict().keys()
    return found | {name: buffer for name, buffer in model.named_buffers() if name in stored}


#: Which part of a model a tensor belongs to; the first that matches.
PARTS = (
    ("router", r"mlp\.gate\.|feed_forward\.router\."),
    ("shared", r"shared_expert"),
    ("experts", r"\.experts\."),
    ("attention", r"attn\."),
    ("ffn", r"\.mlp\.|\.feed_forward\.|\.fc[12]\."),
    ("norm", r"norm|ln_[12f]\."),
    ("head", r"^lm_head\."),
    ("embedding", r"embed|wte|wpe"),
)


def part(name: str) -> str:
    """The norms inside attention are part of it; those around it are norms."""
    return next(part for part, pattern in PARTS if re.search(pattern, name))


def layer(name: str) -> int | None:
    found = re.search(r"\.(?:h|layers)\.(\d+)\.", name)
    return int(found[1]) if found else None


# How Megatron splits: which dimension of a tensor is cut over the tensor-parallel ranks, and what is cut first into
# blocks along it (a fused product of queries, keys and values; a gate beside its input matrix).
WHOLE, HEADS = "whole", "heads"
PLAN: tuple[tuple[str, Any], ...] = (
    (r"wte\.|embed_tokens\.|lm_head\.", (0, 1)),
    (r"wpe\.|embed_positions\.", WHOLE),
    (r"mlp\.gate\.|feed_forward\.router\.", WHOLE),
    (r"mlp\.experts\.gate_up_proj", (1, 2)),
    (r"mlp\.experts\.down_proj", (2, 1)),
    (r"feed_forward\.experts\.gate_up_proj", (2, 2)),
    (r"feed_forward\.experts\.down_proj", (1, 1)),
    (r"(q_a|kv_a)_(proj|layernorm)", WHOLE),
    (r"(q_b|kv_b)_proj\.", (0, 1)),
    (r"attn\.c_attn\.weight", (1, 3)),
    (r"attn\.c_attn\.bias", (0, 3)),
    (r"mlp\.c_fc\.weight", (1, 1)),
    (r"mlp\.c_fc\.bias", (0, 1)),
    (r"c_proj\.weight", (0, 1)),
    (r"(gate|up)_proj\.|fc1\.|q_proj\.", (0, 1)),
    (r"[kv]_proj\.", HEADS),
    (r"(o|down|out)_proj\.weight|fc2\.weight", (1, 1)),
    (r"(c|o|down|out)_proj\.bias|fc2\.bias", WHOLE),
    (r"norm\.|ln_[12f]\.", WHOLE),
)


def split(name: str, tensor: Tensor, kv_heads: int, tp: int, rank: int = 0) -> Tensor:
    """What one tensor-parallel rank holds of a tensor; it may hold a copy of a head that others hold too."""
    rule = next(rule for pattern, rule in PLAN if re.search(pattern, name))
    if rule == WHOLE:
        return tensor
    if rule == HEADS:
        heads = tensor.unflatten(0, (kv_heads, -1))
        return heads.chunk(tp)[rank] if tp <= kv_heads else heads[rank * kv_heads // tp].unsqueeze(0)
    dim, blocks = rule
    return tensor.unflatten(dim, (blocks, -1)).chunk(tp, dim + 1)[rank]


@dataclass(frozen=True)
class Layout:
    """Sizes of the groups; experts are laid out over the same ranks anew, cut over ``etp`` of them (0: over ``tp``)."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    zero: int = 0
    etp: int = 0

    @property
    def cut(self) -> dict[str, int]:
        """Ranks that a tensor of each kind is cut over."""
        return {"dense": self.tp, "experts": self.etp or self.tp}

    @property
    def copies(self) -> dict[str, int]:
        """Ranks of one stage that hold the same part of a tensor of each kind."""
        return {"dense": self.dp, "experts": self.tp * self.dp // (self.cut["experts"] * self.ep)}

    def arguments(self) -> dict[str, int]:
        return {
            "tp_size": self.tp,
            "pp_size": self.pp,
            "dp_size": self.dp,
            "ep_size": self.ep,
            "etp_size": self.etp,
            "zero_stage": self.zero,
        }


def stages(named: Mapping[str, Any], layout: Layout) -> list[set[str]]:
    """Names per pipeline stage: embeddings first, last norm and head last, where a tied head is a copy."""
    count = 1 + max(index for name in named if (index := layer(name)) is not None)
    blocks = [set(block.tolist()) for block in torch.arange(count).tensor_split(layout.pp)]
    found = [{name for name in named if layer(name) in block} for block in blocks]
    edges = {name for name in named if layer(name) is None}
    first = {name for name in edges if part(name) == "embedding"}
    found[0] |= first
    found[-1] |= edges - first
    if not any(part(name) == "head" for name in edges):
        found[-1] |= {name for name in first if re.search("wte|embed_tokens", name)}
    return found


def held(named: Mapping[str, Tensor], spec: Spec, layout: Layout, rank: int = 0) -> list[dict[str, list[Tensor]]]:
    """Per stage, the dense tensors and the expert tensors that one rank works on."""
    kv_heads = spec.shape.get("kv_heads", spec.shape["heads"])
    found = []
    for names in stages(named, layout):
        stage: dict[str, list[Tensor]] = {"dense": [], "experts": []}
        for name in sorted(names):
            kind = "experts" if part(name) == "experts" else "dense"
            tensor = named[name].chunk(layout.ep)[0] if kind == "experts" else named[name]
            cut = layout.cut[kind]
            stage[kind].append(split(name, tensor, kv_heads, cut, rank % cut))
        found.append(stage)
    return found


def count(some: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in some)


def size(some: Iterable[Tensor]) -> int:
    return sum(tensor.nbytes for tensor in some)


def most_parameters(named: Mapping[str, Tensor], spec: Spec, layout: Layout, rank: int = 0) -> int:
    """Parameters of the stage that holds the most."""
    return max(count(stage["dense"] + stage["experts"]) for stage in held(named, spec, layout, rank))


def shard(some: list[Tensor], ranks: int) -> int:
    """Bytes one rank holds of one flat buffer cut evenly; the shapes are chosen so that nothing is padded."""
    total = 0
    for kind in sorted({tensor.dtype for tensor in some}, key=str):
        flat = torch.cat([tensor.reshape(-1) for tensor in some if tensor.dtype == kind])
        assert flat.numel() % ranks == 0, "does not divide"
        total += flat.chunk(ranks)[0].numel() * flat.element_size()
    return total


def most_bytes(kept: Mapping[str, list[Tensor]], spec: Spec, layout: Layout, sharded_from: int) -> int:
    """Bytes of one state on the stage that holds the most, cut over its group from a ZeRO stage on."""
    groups = {kind: ranks if layout.zero >= sharded_from else 1 for kind, ranks in layout.copies.items()}
    depth = max(map(len, kept.values()), default=0)
    copies = [{name: tensors[i] for name, tensors in kept.items()} for i in range(depth)]
    per_copy = [held(named, spec, layout) for named in copies]
    sums = [
        sum(shard(stage[kind], groups[kind]) for stage in same for kind in groups)
        for same in zip(*per_copy, strict=True)
    ]
    return max(sums, default=0)


@dataclass(frozen=True)
class States:
    """Every tensor there is after a step, by the name of the parameter it belongs to."""

    weights: dict[str, list[Tensor]]
    gradients: dict[str, list[Tensor]]
    optimizer: dict[str, list[Tensor]]


class MixedPrecision:
    """An optimizer on 32-bit copies of 16-bit weights; `accumulate` keeps gradients in 32 bit beside them."""

    def __init__(self, named: Mapping[str, nn.Parameter], optimizer: str) -> None:
        self.named = named
        self.master = {name: nn.Parameter(weight.detach().float()) for name, weight in named.items()}
        self.inner = _torch_optimizer(self.master.values(), optimizer)

    def accumulate(self) -> None:
        for name, weight in self.named.items():
            self.master[name].grad = weight.grad.float()

    def step(self) -> None:
        self.inner.step()
        with torch.no_grad():
            for name, weight in self.named.items():
                weight.copy_(self.master[name])


def _torch_optimizer(weights: Iterable[Tensor], name: str) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(weights, lr=1e-3)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name](weights, lr=1e-3)


def _moments(optimizer: torch.optim.Optimizer, weight: Tensor) -> list[Tensor]:
    """All an optimizer keeps for a weight but the number of its step, one scalar."""
    return [kept for key, kept in sorted(optimizer.state[weight].items()) if key != "step"]


@cache
def trained(name: str, precision: str, optimizer: str, gradients: str = "as_precision") -> States:
    """The states of a small model after one real step."""
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    spec = SMALL[name]
    model = spec.build("cpu").to(dtype).train()
    ids = torch.randint(2, 90, (2, 8))
    logits = model(input_ids=ids, use_cache=False).logits.float()
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
    named = dict(model.named_parameters())
    if precision == "fp32":
        plain = _torch_optimizer(named.values(), optimizer)
        plain.step()
        state = {key: _moments(plain, weight) for key, weight in named.items()}
        kept = {key: [weight.grad] for key, weight in named.items()}
    else:
        mixed = MixedPrecision(named, optimizer)
        mixed.accumulate()
        mixed.step()
        state = {key: [master, *_moments(mixed.inner, master)] for key, master in mixed.master.items()}
        both = {key: [weight.grad, mixed.master[key].grad] for key, weight in named.items()}
        which = {"as_precision": slice(0, 1), "fp32": slice(1, 2), "both": slice(0, 2)}[gradients]
        kept = {key: pair[which] for key, pair in both.items()}
    assert all(tensor.shape == named[key].shape for key in named for tensor in (*kept[key], *state[key]))
    return States({key: [weight] for key, weight in named.items()}, kept, state)


def solve(workload: TransformerWorkload, layout: Layout | None = None, **more: Any) -> Any:
    """What the library says; buffers of routers are no parameters, so a spec may turn them off."""
    layout = layout or Layout()
    model = TrainingMemoryModel(variant="per_operator")
    return model.solve(model=workload, hardware="H100", batch_size=layout.dp, **layout.arguments(), **more)


def caches(found: Any) -> Iterator[Tensor]:
    """Every tensor of a `past_key_values`."""
    for level in found.layers:
        yield from (level.keys, level.values)
