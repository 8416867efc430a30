"""Launches and element-wise bytes of a layer against the operators that PyTorch dispatches for a real one."""

from collections.abc import Iterator
from typing import Any

from validation.checks import Check, Group
from validation.counted_activations import SHAPES, inputs_of

from mlsysim import DistributedModel

STEP = DistributedModel()
FUSED = {"norm": "fused", "mlp": "fused"}
ALONE = {"peak_flops": "1 PFLOP/s", "attention_peak_flops": "1 PFLOP/s",
         "memory_bandwidth": "1 TB/s", "fleet_size": 1, "fabric_bandwidth": "1 GB/s",
         "fabric_latency": "1 us", "node_bandwidth": "1 GB/s"}  # fmt: skip

PROFILE = (
    "the default is counted from a profile of Megatron-Bridge, which casts and keeps books beside the operators of a "
    "layer; one kernel each for norm, gate and rotation leave few"
)
HEADS = "norms of queries and keys, one operator after the other, are in no count of ours"
LAYER_NORM = "PyTorch has LayerNorm as one operator"
LOOP = "transformers loops over experts with an index and a scatter for each"
JOINED = (
    "queries and keys of latent attention are three and a half times as wide as the model, and put together by copies"
)
ROTATION = "a GPT layer rotates nothing, and ours counts two norms, two sums and rotations for every layer"

#: Layers: kind, what it is called, how it is computed, why launches and bytes are further off than allowed.
LAYERS: tuple[tuple[str, str, dict[str, Any], str, str], ...] = (
    ("llama", "Llama, one operator after the other", {}, "", ""),
    ("llama", "Llama, norms, gate and rotation fused", FUSED, PROFILE, ""),
    ("qwen3", "Qwen3, one operator after the other", {}, HEADS, HEADS),
    ("qwen3", "Qwen3, norms, gate and rotation fused", FUSED, PROFILE, ""),
    ("gpt", "GPT", {}, LAYER_NORM, ROTATION),
    ("deepseek", "DeepSeek-V3 dense, one operator after the other", {"moe": False}, HEADS, JOINED),
    ("deepseek", "DeepSeek-V3 dense, norms and gate fused", {"moe": False, **FUSED}, PROFILE, JOINED),
)
#: The proportions of DeepSeek-V3, a sixteenth as wide.
LATENT = {"b": 1, "s": 64, "h": 448, "heads": 8, "kv_heads": 8, "f": 1152, "q_rank": 96, "kv_rank": 32, "nope": 128,
          "rope": 64, "v_dim": 128}  # fmt: skip
#: Layers of a whole model.
MODEL = 32
#: Experts of torchtitan, as its loop computes them.
EXPERTS = {"h": 256, "heads": 4, "kv_heads": 2, "f": 896, "f_expert": 128, "s": 128}
IN_ONE = {**FUSED, "score": "output_bf16"}


def ours(kind: str, sizes: dict[str, Any], how: dict[str, Any], **given: Any) -> Any:
    """The same layer by the public model, alone on one rank."""
    inputs = inputs_of(kind, {"b": 1, "experts": 8, "top_k": 2, "f_expert": 128, **sizes}, how)
    return STEP.solve(**{**inputs, **ALONE, "host_operation_time": "1 us", **given})


def launched(found: Any) -> float:
    """Operators of a layer both ways, a microsecond each."""
    return found.canonical("layer_launch_time") * 1e6


def sizes_of(kind: str, place: int) -> dict[str, Any]:
    """What the counting code needs to build a layer."""
    if kind == "deepseek":
        return dict(LATENT)
    found = {**SHAPES[place], "b": 1}
    if kind == "gpt":
        found |= {"kv_heads": found["heads"], "f": 4 * found["h"]}
    return found


def launches() -> list[Check]:
    """Operators that are no views, forward and backward, per layer, per expert, and for latent attention."""
    from counted.dispatched import count, count_model

    def operators(kind: str, sizes: dict[str, Any], how: dict[str, Any]) -> int:
        counted = count(kind, **sizes, **how)
        return counted.forward.launches + counted.backward.launches

    found, theirs = [], {}
    for kind, what, how, missed, _ in LAYERS:
        sizes = sizes_of(kind, 0)
        theirs[kind, bool(how.get("norm"))] = operators(kind, sizes, how)
        mine = launched(ours(kind, sizes, how))
        found.append(Check(what, theirs[kind, bool(how.get("norm"))], mine, 0.1, "operators", None, missed))
    heads, latent = (launched(ours(kind, sizes_of(kind, 0), {**FUSED, "moe": False})) for kind in ("llama", "deepseek"))
    sizes = sizes_of("llama", 0)
    whole = count_model(MODEL, **sizes)
    mine = 1e6 * ours("llama", sizes, {}, layers=MODEL).canonical("micro_batch_launch_time")
    theirs_whole = whole.forward.launches + whole.backward.launches
    found.append(
        Check(f"a Llama of {MODEL} layers with embedding, head and loss", theirs_whole, mine, 0.1, "operators")
    )
    # Attention alone: the rotation of DeepSeek-V3 stands apart from that of Llama.
    extra = theirs["deepseek", True] - operators("llama", sizes_of("llama", 0), {"mlp": "fused", **UNROTATED})
    found.append(Check("latent attention beyond heads, fused", extra, latent - heads, 0.1, "operators"))
    for what, kind, how, grouped, missed in (
        ("torchtitan's loop, gate fused", "titan_moe", IN_ONE, False, ""),
        ("torchtitan's loop, one operator after the other", "titan_moe", {}, False, GATES),
        ("transformers' loop over experts", "mixtral", {"experts_implementation": "eager"}, False, LOOP),
        ("one kernel for all experts", "mixtral", {}, True, ""),
    ):
        few, many = (operators(kind, {**EXPERTS, "experts": experts}, how) for experts in (8, 16))
        mine = [
            launched(ours(kind, {**EXPERTS, "experts": experts}, how, grouped_experts=grouped)) for experts in (8, 16)
        ]
        each = (mine[1] - mine[0]) / 8
        found.append(Check(f"each expert more: {what}", (many - few) / 8, each, 0.1, "operators", None, missed))
    return found


GATES = "silu and the product with it are operators of their own, forward and backward"
#: Norms as one kernel, rotation not.
UNROTATED = {"norm": "fused", "rotation": "eager"}


def rows_of_traffic() -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any], str]]:
    """What a row is called, its kind of layer, sizes, how it is computed, and why it is further off than allowed."""
    for kind, what, how, _, missed in LAYERS:
        for place in (0,) if kind == "deepseek" else (0, 1, 2):
            sizes = sizes_of(kind, place)
            yield f"{what}, h = {sizes['h']}", kind, sizes, how, missed
    for what, how in (("one operator after the other", {}), ("norms and gate fused", IN_ONE)):
        for chosen in (1, 2, 4):
            yield f"{chosen} of 8 experts, {what}", "titan_moe", {**EXPERTS, "experts": 8, "top_k": chosen}, how, ""


def moved(kind: str, sizes: dict[str, Any], how: dict[str, Any]) -> float:
    """Our bytes per token, forward and twice as much backward."""
    return 3 * ours(kind, sizes, how).canonical("elementwise_traffic")


def traffic() -> list[Check]:
    """Bytes read and written by all but products, per token, forward and backward."""
    from counted.dispatched import count_per_token

    return [
        Check(what, sum(count_per_token(kind, **sizes, **how)), moved(kind, sizes, how), 0.2, "B/token", None, missed)
        for what, kind, sizes, how, missed in rows_of_traffic()
    ]


GROUPS: tuple[Group, ...] = (
    Group(
        "counted_launches", "Operators: launches of a layer",
        "Operators that a real layer dispatches on the CPU, forward and backward, counted by a hook; a view is none, "
        "and what training code fuses is one. Ours is `layer_launch_time` at a microsecond an operation, by library "
        "defaults, which are the same for every layer. 10%.",
        "PyTorch 2.13 and transformers", launches, ("torch", "transformers"), summary=True,
    ),
    Group(
        "counted_traffic", "Operators: bytes of element-wise work",
        "Bytes that every operator but products and the core of attention is given and returns, per token, as they "
        "grow with tokens, forward and backward. Ours is three times `elementwise_traffic`: backward is twice the "
        "forward. DeepSeek-V3 in its own proportions, a sixteenth as wide. 20%.",
        "PyTorch 2.13 and transformers", traffic, ("torch", "transformers"), summary=True,
    ),
)  # fmt: skip
