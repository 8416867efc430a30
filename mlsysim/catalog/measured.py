"""Model shapes for a ``model_type`` without a layout, measured on the class in transformers.

A class is built on the meta device, which holds no weights, and takes some tokens there: its tensors, what it keeps of
the tokens and its arithmetic say what its parts cost, not what they are. That happens in a process of its own, with
bounds on time and memory; no code of a repository is run and nothing is asked of a network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from mlsysim.catalog.value import MEASURED
from mlsysim.errors import CatalogError, quoted

#: Limits of time and memory of a measurement.
SECONDS, BYTES = 60, 8 * 2**30
#: Tokens of a chunk by default, and at most.
CHUNK, LONGEST = 64, 1024
#: Fields that select code, kernels or formats and affect no count.
DROPPED = ("model_type", "auto_map", "quantization_config", "attn_implementation", "experts_implementation", "dtype")
OFFLINE = {"HF_HUB_OFFLINE": "1", "USE_HUB_KERNELS": "0", "CUDA_VISIBLE_DEVICES": "", "TRANSFORMERS_VERBOSITY": "error"}
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def measurable(model_type: Any) -> bool:
    """Tell whether transformers is installed, with torch, and has a class of its own for a type."""
    spec = find_spec("transformers") if find_spec("torch") is not None else None
    if spec is None or not isinstance(model_type, str) or not spec.submodule_search_locations:
        return False
    folder = Path(next(iter(spec.submodule_search_locations)), "models", "auto")
    tables = (folder / name for name in ("auto_mappings.py", "configuration_auto.py"))
    return any(f'("{model_type}", ' in table.read_text("utf-8") for table in tables if table.is_file())


def shape(content: Mapping[str, Any]) -> tuple[dict[str, Any], str, list[str], list[str]]:
    """Derive a shape with the costs of a model's class in transformers.

    Returns
    -------
    tuple
        Our fields; the package that measured them, with its version; sentences on what they leave out or take from the
        class; fields of the file that the class does not know.

    Raises
    ------
    CatalogError
        If it cannot be measured, or no shape of ours has its costs.
    """
    try:
        costs = _measurements(json.dumps(content, sort_keys=True))
        notes = [f"Without what stands beside its {costs['part']}: the language model alone."] if costs["part"] else []
        notes += [f"Its class gives {', '.join(costs['unstated'])}."] if costs["unstated"] else []
        return fitted(costs), MEASURED + costs["version"], notes, costs["unknown"]
    except CatalogError as error:
        subject = f"model_type={quoted(content['model_type'])} has no layout, and its class in transformers"
        raise CatalogError(f"{subject} {error}") from None


@lru_cache(maxsize=32)
def _measurements(config: str) -> dict[str, Any]:
    """Measure a configuration in a separate process; results are named as in ``_measure``."""
    command = [sys.executable, "-m", "mlsysim.catalog.measured"]
    environment = {**os.environ, **OFFLINE, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        run = subprocess.run(
            command, input=config, capture_output=True, encoding="utf-8", timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise CatalogError(f"takes more than {SECONDS} s to measure") from None
    except OSError as error:
        raise CatalogError(f"cannot be measured here: {error}") from None
    if run.returncode or not run.stdout:
        raise CatalogError(f"cannot be measured: its process ended with {run.returncode}")
    costs = json.loads(run.stdout.splitlines()[-1])
    if "error" in costs:
        raise CatalogError(f"cannot be measured: {costs['error']}")
    return costs


def fitted(costs: Mapping[str, Any]) -> dict[str, Any]:
    """Fit entry fields to a measured model: tensors, arithmetic, cache and state agree exactly.

    Attention is as wide as what it keeps and has as many heads as its work needs; a state has one head, as what it is
    made of cannot be seen. Matrices beside those are further matrices, all other tensors further vectors.
    """
    width, layers, table = costs["hidden"], costs["layers"], costs["vocab"] * costs["hidden"]
    shape = {
        "layers": layers,
        "hidden_dim": width,
        "vocab_size": costs["vocab"],
        "tied_embeddings": costs["tied"],
    }
    # No layer has a dense block, whose width must be some number all the same.
    shape |= {"ffn_dim": 1, "gated": True, "parameters": costs["parameters"]}
    shape |= {"max_position_embeddings": costs["positions"]} if costs["positions"] else {}
    mixers = _attention(costs, shape) + _states(costs, shape)
    experts, idle = _experts(costs, shape)
    passed = costs["matrices"] + costs["picked"]
    beyond = _work(costs["work"], costs["lengths"])[0] - 2 * passed
    if elements := shape.get("state_layers", 0) * shape.get("state_key_dim", 0):
        convolved = 2 * shape["state_layers"] * shape["conv_channels"] * shape["conv_kernel"]
        shape["state_operations"] = max(0, beyond - convolved) / elements
    elif beyond > 2 * costs["other"]:
        raise CatalogError("passes a token through some weights more than once, or through all of its experts")
    else:
        passed += beyond // 2
    shape["blockless_layers"] = layers - shape.get("moe_layers", 0)
    # Our formulas multiply by biases of experts as well.
    shape["further_matrices"] = passed + costs["added"] - table - mixers - experts + idle
    shape["further_vectors"] = costs["parameters"] - table * (2 - costs["tied"]) - mixers - experts
    shape["further_vectors"] -= shape["further_matrices"] + width * (layers + 1)
    shape["block_norms"] = 2 if shape["further_vectors"] >= width * layers else 1
    shape["further_vectors"] -= width * layers * (shape["block_norms"] - 1)
    for name in ("further_matrices", "further_vectors"):
        if shape[name] < 0:
            raise CatalogError(f"has fewer {name[8:]} than attention, norms and experts of such costs")
    return shape


def _work(flops: list[int], lengths: list[int]) -> tuple[int, int]:
    """Split arithmetic into a part per token and one per pair of tokens, from three equally spaced lengths."""
    step = lengths[1] - lengths[0]
    pair = round((flops[2] - 2 * flops[1] + flops[0]) / (2 * step**2))
    token = round((flops[1] - flops[0]) / step - pair * (lengths[0] + lengths[1]))
    if abs(flops[0] - (token + pair * lengths[0]) * lengths[0]) > 0.01 * flops[0]:
        raise CatalogError("does work that does not grow as tokens and pairs of tokens do")
    return token, pair


def _attention(costs: Mapping[str, Any], shape: dict[str, Any]) -> int:
    """Add attention to a shape, with heads and windows; return the elements of its tensors."""
    works = [_work(flops, costs["lengths"])[1] for flops in costs["layer_work"]]
    number = sum(bool(layer["kept"]) for layer in costs["cache"])
    if len(works) != len(costs["cache"]):
        works = [_work(costs["work"], costs["lengths"])[1] // max(1, number)] * len(costs["cache"])
    pairs = zip(costs["cache"], works, strict=True)
    kinds = Counter((layer["window"], *layer["kept"], work) for layer, work in pairs if layer["kept"])
    if len({window > 0 for window, *_ in kinds}) < len(kinds):
        raise CatalogError("has attention of more shapes than one with a window and one without")
    if not kinds:
        shape |= {"heads": 1, "kv_heads": 1, "head_dim": 1}
    elements = 0
    for (window, *kept, work), layers in sorted(kinds.items()):
        latent = costs["latent"] and kept == [
            1,
            costs["latent"]["kv_lora_rank"],
            costs["latent"]["qk_rope_head_dim"],
        ]
        if latent and len(kinds) > 1:
            raise CatalogError("has latent attention of several shapes")
        sizes, layer_elements = _latent(costs, work) if latent else _heads(costs, kept, work)
        elements += layers * layer_elements
        near = {f"sliding_{name}": size for name, size in sizes.items() if size != shape.get(name)}
        shape |= near if "heads" in shape else sizes
        if window:
            shape |= {"sliding_layers": layers, "sliding_window": window, "chunked_attention": costs["chunked"]}
    return elements


def _heads(costs: Mapping[str, Any], kept: list[int], work: int) -> tuple[dict[str, int], int]:
    """Find the heads with this cache and this work, and the elements of one layer."""
    kv_heads, keys, values = kept
    heads, rest = divmod(work, 2 * (keys + values))
    if rest or not heads or heads % kv_heads:
        raise CatalogError(f"has attention whose work is that of {work / 2 / (keys + values):g} heads to {kv_heads}")
    sizes = {"heads": heads, "kv_heads": kv_heads, "head_dim": keys, "v_head_dim": values}
    return sizes, costs["hidden"] * (heads + kv_heads) * (keys + values)


def _latent(costs: Mapping[str, Any], work: int) -> tuple[dict[str, int], int]:
    """Check latent attention of the configured ranks against its work; return fields, and elements of one layer."""
    query, rank, nope, rope, values = (costs["latent"][name] or 0 for name in LATENT)
    heads, width = costs["heads"], costs["hidden"]
    if work != 2 * heads * (nope + rope + values):
        raise CatalogError("has latent attention whose work is not that of its ranks")
    sizes = {"heads": heads, **dict(zip(LATENT, (query, rank, nope, rope, values), strict=True))}
    query_elements = query * (width + 1 + heads * (nope + rope)) if query else width * heads * (nope + rope)
    return sizes, query_elements + width * (rank + rope) + rank * (1 + heads * (nope + values)) + heads * values * width


def _states(costs: Mapping[str, Any], shape: dict[str, Any]) -> int:
    """Add recurrent states, and layers without a mixer, to a shape; return the elements of the recurrent mixers."""
    states = [layer["state"] for layer in costs["cache"] if layer["state"]]
    if len({tuple(state) for state in states}) > 1:
        raise CatalogError("keeps states of several shapes")
    both = sum(bool(layer["kept"]) and bool(layer["state"]) for layer in costs["cache"])
    mixers = len(states) + sum(bool(layer["kept"]) for layer in costs["cache"]) - both
    if not 0 < mixers <= costs["layers"]:
        raise CatalogError(f"has {costs['layers']} layers, of which {mixers} keep something of a token")
    shape |= {"mixerless_layers": costs["layers"] - mixers, "state_layers": len(states), "parallel_layers": both}
    if not states:
        return 0
    channels, taps, elements, size = states[0]
    shape |= {"state_heads": 1, "state_key_dim": elements, "state_value_dim": 1, "state_element_bytes": size}
    shape |= {"conv_channels": channels, "conv_kernel": taps}
    return len(states) * (2 * costs["hidden"] + channels * taps)


def _experts(costs: Mapping[str, Any], shape: dict[str, Any]) -> tuple[int, int]:
    """Add experts to a shape; return elements of experts and routers, and those that a token does not use."""
    if not costs["experts"]:
        return 0, 0
    count, picked, layers, matrices, biases = costs["experts"]
    width = costs["hidden"]
    gated = matrices % (3 * width) == 0
    inner, rest = divmod(matrices, (2 + gated) * width)
    if rest or biases not in (0, (1 + gated) * inner + width):
        raise CatalogError(f"has experts of {matrices + biases:,} elements, which is no block of its width")
    shape |= {"experts": count, "active_experts_per_token": picked, "moe_layers": layers, "expert_ffn_dim": inner}
    shape |= {"gated": gated, "expert_bias": biases > 0, "shared_ffn_dim": 0, "router_bias": False}
    idle = layers * (count - picked) * (matrices + biases)
    shape["active_parameters"] = costs["parameters"] - idle
    return layers * count * (width + matrices + biases), idle


def _measure(content: Mapping[str, Any]) -> dict[str, Any]:
    """Measure a class: its tensors, its cache, and its arithmetic at three lengths."""
    import torch
    import transformers
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode

    picks: dict[int, int] = {}

    class Picks(TorchDispatchMode):
        """Record how many of how many numbers each top-k picks; the last pick of a router is the one among experts."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.overloadpacket is torch.ops.aten.topk:
                picks[args[0].shape[args[2] if len(args) > 2 else -1]] = args[1]
            return func(*args, **(kwargs or {}))

    kind: Any = transformers.models.auto.configuration_auto.CONFIG_MAPPING[content["model_type"]]
    own_fields = {name: value for name, value in content.items() if name not in DROPPED and not name.startswith("_")}
    whole = kind(**own_fields)
    config = whole.get_text_config(decoder=True)
    fields = [(own_fields, kind)]
    if config is not whole:
        config.tie_word_embeddings = whole.tie_word_embeddings
        texts = [table for table in own_fields.values() if isinstance(table, dict)]
        fields += [(table, type(config)) for table in texts if table.get("model_type") == config.model_type]
    config._experts_implementation = "batched_mm"
    read = _AttributeRecorder(type(config))
    with read, torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, trust_remote_code=False, dtype=torch.bfloat16)
    chunks = [value for name, value in config.to_dict().items() if "chunk" in name and isinstance(value, int)]
    positions = getattr(config, "max_position_embeddings", None) or 0
    step = max((value for value in chunks if CHUNK < value <= LONGEST), default=CHUNK)
    step = min(step, positions // 4) if positions else step
    lengths, caches, works = [2 * step, 3 * step, 4 * step], [], []
    for tokens in lengths:
        prompt = torch.zeros(1, tokens, dtype=torch.long, device="meta")
        with read, torch.no_grad(), FlopCounterMode(display=False) as flops, Picks():
            out = model.eval()(input_ids=prompt, use_cache=True)
        caches.append(_cache(out, config.num_hidden_layers))
        works.append({name: sum(counts.values()) for name, counts in flops.flop_counts.items()})
    kept_by_layer = [_kept(passes, lengths) for passes in zip(*caches, strict=True)]
    stack = max(_lists(model, config.num_hidden_layers), key=_size, default=None)
    names = [f"{type(model).__name__}.{name}" for name, module in model.named_modules() if module is stack]
    blocks = [f"{names[0]}.{layer}" for layer in range(config.num_hidden_layers)] if names else []
    experts, expert_tensors = _blocks_picked(model, picks, stack)
    table = model.get_output_embeddings().weight
    looked_up = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)} - {
        id(table)
    }
    rest = [tensor for tensor in model.parameters() if id(tensor) not in expert_tensors | looked_up]
    if any(tensor.dim() == 3 and min(tensor.shape) > 1 for tensor in rest):
        raise CatalogError("has stacks of matrices, which may be experts, but nothing that picks among them was seen")
    stored = model.state_dict()
    return {
        "version": transformers.__version__,
        "unknown": [
            name
            for part, of in fields
            for name, value in part.items()
            if value is not None and name not in {*DROPPED, *signature(of).parameters, *of.attribute_map, *read.names}
        ],
        "unstated": [
            name for name in SIZES if not any({name, of.attribute_map.get(name)} & part.keys() for part, of in fields)
        ],
        "part": "" if config is whole else config.model_type,
        "hidden": config.hidden_size,
        "layers": config.num_hidden_layers,
        "heads": getattr(config, "num_attention_heads", 0),
        "positions": positions,
        "vocab": table.shape[0],
        "tied": table is model.get_input_embeddings().weight,
        "parameters": _size(model) + sum(buffer.numel() for name, buffer in model.named_buffers() if name in stored),
        "matrices": sum(tensor.numel() for tensor in rest if tensor.dim() == 2),
        "other": sum(tensor.numel() for tensor in rest if tensor.dim() > 2),
        "experts": experts,
        "picked": experts[1] * experts[2] * experts[3] if experts else 0,
        "added": experts[1] * experts[2] * experts[4] if experts else 0,
        "latent": {name: getattr(config, name) for name in LATENT} if getattr(config, "kv_lora_rank", 0) else None,
        "chunked": "chunked_attention" in (getattr(config, "layer_types", None) or ()),
        "cache": kept_by_layer,
        "lengths": lengths,
        "work": [work["Global"] for work in works],
        "layer_work": [[work.get(name, 0) for work in works] for name in blocks],
    }


class _AttributeRecorder:
    """Record the attribute names read from a class of configurations."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.names: set[str] = set()

    def __enter__(self) -> None:
        def asked(config: Any, name: str, get: Any = self.kind.__getattribute__) -> Any:
            self.names.add(name)
            return get(config, name)

        self.kind.__getattribute__ = asked  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        del self.kind.__getattribute__


def _size(module: Any) -> int:
    """Count the elements of a module's parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def _lists(model: Any, length: int) -> list[Any]:
    """List the module lists of this length."""
    return [module for module in model.modules() if type(module).__name__ == "ModuleList" and len(module) == length]


def _blocks_picked(model: Any, picks: Mapping[int, int], stack: Any) -> tuple[list[int] | None, set[int]]:
    """Find experts: number, picks per token, layers, matrix and vector elements of one; and their tensors.

    Experts are stacks along the axis that something was picked of, or lists of as many modules.
    """
    kinds: Counter[tuple[int, ...]] = Counter()
    seen: set[int] = set()
    for module in model.modules():
        own = list(module.parameters(recurse=False))
        listed = not own and type(module).__name__ == "ModuleList" and module is not stack
        own = list(module.parameters()) if listed else own
        stacks = [tensor for tensor in own if tensor.dim() == (2 if listed else 3)]
        count = len(module) if listed else stacks[0].shape[0] if stacks else 0
        if count not in picks or not stacks or "Conv" in type(module).__name__ or id(stacks[0]) in seen:
            continue
        matrices = sum(tensor.numel() for tensor in stacks)
        biases = sum(tensor.numel() for tensor in own) - matrices
        kinds[count, picks[count], matrices // count, biases // count] += 1
        seen |= {id(tensor) for tensor in own}
    if len(kinds) > 1:
        raise CatalogError("has experts of several shapes")
    for (count, picked, matrices, biases), layers in kinds.items():
        return [count, picked, layers, matrices, biases], seen
    return None, seen


def _cache(out: Any, layers: int) -> list[list[tuple[str, Any, int]]]:
    """List the cache after a pass, by layer: names, tensors and windows."""
    cache: Any = next(filter(None, (getattr(out, n, None) for n in ("past_key_values", "cache_params", "state"))), None)
    if hasattr(cache, "layers"):
        return [[(*named_tensor, getattr(layer, "sliding_window", None) or 0) for named_tensor in _tensors(layer)]
                for layer in cache.layers]  # fmt: skip
    tensors = [(*named_tensor, 0) for named_tensor in _tensors(cache)]
    if not tensors or len(tensors) % layers:
        raise CatalogError("keeps nothing of a token that is named by layer: it may be an encoder")
    size = len(tensors) // layers
    return [tensors[start : start + size] for start in range(0, len(tensors), size)]


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors inside an object, each with the name of its attribute."""
    if hasattr(value, "numel"):
        if value.dim() and value.is_floating_point():
            yield name, value
        return
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    if not members and hasattr(value, "__dict__"):
        members = [(key, member) for key, member in vars(value).items() if not key.startswith("_")]
    for key, member in members:
        yield from _tensors(member, key if isinstance(key, str) else name)


def _kept(passes: tuple[list[tuple[str, Any, int]], ...], lengths: list[int]) -> dict[str, Any]:
    """Derive a layer's key and value heads and widths, window and state from its caches at all lengths."""
    layer: dict[str, Any] = {"kept": [], "window": 0, "state": [0, 0, 0, 4]}
    for versions in zip(*passes, strict=True):
        (name, tensor, window), sizes = versions[0], [tensor.numel() for _, tensor, _ in versions]
        if name in ("keys", "values") and tensor.dim() == 4:
            layer["kept"] = [tensor.shape[1], *layer["kept"][1:], tensor.shape[3]]
            layer["window"] = window
            for (_, now, _), tokens in zip(versions, lengths, strict=True):
                if now.shape[2] != tokens and not (window and now.shape[2] == min(tokens, window - 1)):
                    raise CatalogError(f"keeps {now.shape[2]} of {tokens} tokens in a layer")
        elif len(set(sizes)) > 1:
            raise CatalogError(f"keeps {name} of each token beside keys and values")
        elif "conv" in name and tensor.dim() == 3:
            layer["state"][:2] = tensor.shape[1:]
        else:
            layer["state"][2] += tensor.numel()
            layer["state"][3] = tensor.element_size()
    if len(layer["kept"]) not in (0, 3):
        raise CatalogError("keeps keys without values")
    if not any(layer["state"][:3]):
        layer["state"] = []
    return layer


def answer(config: str) -> str:
    """Measure a configuration; return results, or the reason for failure, as JSON."""
    try:
        return json.dumps(_measure(json.loads(config)))
    except CatalogError as error:
        return json.dumps({"error": str(error)})
    except Exception as error:
        return json.dumps({"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"})


def main() -> None:
    """Answer standard input, with a memory limit if the system supports one."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    print(answer(sys.stdin.read()))


if __name__ == "__main__":
    main()
