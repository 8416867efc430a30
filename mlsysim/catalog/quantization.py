"""Storage formats of a checkpoint's weights and of the KV cache, from the ``config.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from mlsysim.errors import CatalogError, quoted
from mlsysim.formats import KV_CACHE_FORMATS, STORED_WEIGHT, WEIGHT_FORMATS, with_scales

#: Formats by their ``quant_algo`` names.
ALGORITHMS = {
    "FP8": "fp8",
    "NVFP4": "nvfp4",
    "MXFP4": "mxfp4",
    "FP8_PB_WO": "fp8_block",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "W4A16_NVFP4": "nvfp4",
    "W4A16_AWQ": "int4_g128",
}
#: Methods that widen weights for products; their groups have an fp16 scale and, for integers, a zero point.
GROUPED = ("gptq", "awq", "auto-round", "autoround")
#: Integer formats of the library.
GROUPS = ("int4", "int4_g128", "int8")
Matrices = tuple[tuple[str, ...], ...]
Rule = tuple[frozenset[str] | None, str | Fraction]


def _named(blocks: str, *matrices: str) -> Matrices:
    """Join names of matrices, each of which may have several names and occur in several blocks."""
    return tuple(tuple(f"{block}.{name}" for block in blocks.split() for name in names.split()) for names in matrices)


#: Matrices of a layer by the part of the model, with their names in checkpoints.
ATTENTION = _named("self_attn mixer", "q_proj qkv_proj", "k_proj qkv_proj", "v_proj qkv_proj", "o_proj")
LATENT = _named("self_attn", "q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")
STATE = _named(
    "linear_attn mixer mamba self_attn",
    "in_proj_qkv in_proj_qkvz in_proj q_proj",
    "in_proj_z in_proj_qkvz in_proj k_proj v_proj",
    "out_proj o_proj",
)
BLOCK = ("gate_proj w1 gate_up_proj", "up_proj w3 gate_up_proj", "down_proj w2")
DENSE = _named("mlp feed_forward mixer", *BLOCK)
SHARED = _named("mlp.shared_experts mlp.shared_expert feed_forward.shared_expert mixer.shared_experts", *BLOCK)
EXPERTS = _named("mlp.experts.0 mlp.experts feed_forward.experts block_sparse_moe.experts.0 mixer.experts.0", *BLOCK)
#: Experts beside a dense block instead of in it, and types that have such.
BESIDE = _named("experts.0 experts", *BLOCK)
APART = ("gemma4", "gemma4_text")
#: Inputs for the parts, with a description of each.
PARTS = {
    "mixer_bytes": "attention",
    "shared_expert_bytes": "shared experts",
    "expert_bytes": "experts",
    "dense_bytes": "dense blocks",
    "head_bytes": "the head",
}
#: Names of what is never stored in few bits, and of what is not counted.
ELSEWHERE = re.compile(
    r"norm|router|gate\b|bias|visual|vision|audio|tower|projector|embed|mtp|head|eh_proj|conv1d|indexer|in_proj_[ab]|latent_proj"
)
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)(?:\.|$|(\*))")
#: Bytes of an unquantised weight.
WIDE = Fraction(2)
PREFIXES = ("model.layers.", "model.language_model.layers.", "language_model.model.layers.", "backbone.layers.")
#: Keys for lists of unquantised modules in transformers, compressed-tensors, vLLM, modelopt and bitsandbytes.
LEFT_WIDE = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules")
#: Unbounded repetitions in a regular expression, which can take forever if nested or numerous.
_ENDLESS, _NESTED, MOST_ENDLESS = re.compile(r"[*+]|\{\d+,\}"), re.compile(r"\)\s*[*+{]"), 4
#: Relative tolerance in bytes per weight for recognising a checkpoint's format.
SAME = Fraction(1, 100)
#: Most layers that are examined one by one, and most patterns that match none of them.
MOST_LAYERS, MOST_PATTERNS = 1000, 1000
#: Block sizes other than those of DeepSeek-V3.
_BLOCKS = re.compile(r"fp8 in blocks of (\d+) by (\d+)")


def weights(table: Any, parts: Mapping[str, Fraction]) -> tuple[str, str]:
    """Return the format of a ``quantization_config``, empty if unsupported, and a note on exceptions.

    Parameters
    ----------
    table : mapping
        Content of ``quantization_config``.
    parts : mapping
        Bytes per weight by part, as from :func:`by_part`.

    Returns
    -------
    tuple of str
        Name from ``WEIGHT_FORMATS``, and a description of exceptions.
    """
    stored = list(dict.fromkeys(size for _, size in _rules(table)))
    if not stored:
        return "", ""
    size = stored[0] if len(stored) == 1 else ""
    if isinstance(size, str) and size not in WEIGHT_FORMATS:
        return "", " and ".join(map(str, stored)) or str(table.get("quant_method") or "an unknown format")
    wide = [words if parts[name] == WIDE else f"{words} of some layers"
            for name, words in PARTS.items() if name in parts and parts[name] > (_size(size) or WIDE)]  # fmt: skip
    said = f"{' and '.join(wide)} at 16 bit" if wide else ""
    if isinstance(size, str):
        return size, said
    nearest = min(GROUPS, key=lambda name: abs(STORED_WEIGHT[name] - size))
    off = f"{float(size):.4g} B in the file, {float(size / STORED_WEIGHT[nearest]):.2f} times as much"
    return nearest, "; ".join(filter(None, (off, said)))


def by_part(
    table: Any,
    shape: Mapping[str, Any],
    model_type: str = "",
    kinds: Sequence[str] = (),
    sparse: Sequence[bool] = (),
) -> tuple[dict[str, Fraction], list[str]]:
    """Compute bytes per weight by part of the model, and list names in the table that match no part.

    Parameters
    ----------
    table : object
        Content of ``quantization_config``.
    shape : mapping
        Fields of the entry.
    model_type : str
        Type named by the file.
    kinds : sequence of str
        Kind of each layer's mixer; empty if all are attention.
    sparse : sequence of bool
        True for layers with experts; empty if the shape gives their number and interval.

    Returns
    -------
    dict, list
        Mean bytes by input, empty if a format is unknown; and the unmatched names.
    """
    if not isinstance(table, Mapping):
        raise CatalogError(f"quantization_config={quoted(table)} must be an object")
    rules, wide = _rules(table), _left_wide(table)
    if not rules or any(_size(size) is None for _, size in rules):
        return {}, []
    named = {name: _size(size) or WIDE for names, size in rules for name in names or ()} | dict.fromkeys(wide, WIDE)
    otherwise = next((_size(size) or WIDE for names, size in rules if names is None), WIDE)
    layers = min(shape["layers"], MOST_LAYERS)
    patterns = _Patterns(named, otherwise, layers)
    by_part_name: dict[str, list[Fraction]] = {}
    for layer in range(layers):
        for part, matrices in _matrices(layer, shape, model_type, kinds, sparse).items():
            by_part_name.setdefault(part, []).extend(patterns.sizes(layer, matrices))
    parts = {part: sum(sizes, Fraction(0)) / len(sizes) for part, sizes in by_part_name.items()}
    of_head = max((size for name, size in named.items() if _matches(name, "lm_head")), default=WIDE)
    if of_head < WIDE and not shape.get("tied_embeddings"):
        parts["head_bytes"] = of_head
    return parts, [name for name in patterns.unmatched() if not ELSEWHERE.search(name)]


class _Patterns:
    """Names and patterns of a table, with the bytes per weight that they set.

    Parameters
    ----------
    named : mapping
        Bytes by name.
    otherwise : Fraction
        Bytes per weight that no name covers.
    layers : int
        Layers of the model; further ones predict further tokens.
    """

    def __init__(self, named: Mapping[str, Fraction], otherwise: Fraction, layers: int) -> None:
        self.named, self.otherwise = named, otherwise
        self.everywhere: list[str] = []
        self.of_layer: dict[int, list[tuple[str, str]]] = {}
        self.matched: set[str] = set()
        self.known: dict[Any, list[str]] = {}
        for name in named:
            number = None if name.startswith("re:") else _LAYER.search(name)
            if number is None:
                self.everywhere.append(name)
                continue
            if ELSEWHERE.search(name[: number.start()]):
                continue
            repeated = (n for n in range(layers) if str(n).startswith(number[1])) if number[2] else ()
            for layer in {int(number[1]), *repeated}:
                self.of_layer.setdefault(layer, []).append((name[number.end() :] or "*", name))
            if int(number[1]) >= layers:
                self.matched.add(name)
        if len(self.everywhere) > MOST_PATTERNS:
            many = f"{len(self.everywhere)} patterns name no layer, {MOST_PATTERNS} at most may"
            raise CatalogError(f"quantization_config: {many}")
        #: True if one of them may distinguish layers.
        self.apart = any("layers" in name for name in self.everywhere)

    def sizes(self, layer: int, matrices: Matrices) -> list[Fraction]:
        """Compute bytes per weight for each matrix of a layer."""
        return [self._size(layer, names) for names in matrices]

    def unmatched(self) -> list[str]:
        """List the names and patterns that matched no layer."""
        return [name for name in self.named if name not in self.matched]

    def _size(self, layer: int, names: tuple[str, ...]) -> Fraction:
        own = self.of_layer.get(layer, [])
        matching = [name for tail, name in own if any(_matches(tail, matrix_name) for matrix_name in names)]
        matching += self._hit(layer if self.apart else 0, names)
        self.matched.update(matching)
        return max((self.named[name] for name in matching), default=self.otherwise)

    def _hit(self, layer: int, names: tuple[str, ...]) -> list[str]:
        """List the patterns for no layer that name a matrix."""
        if (layer, names) not in self.known:
            full = [f"{prefix}{layer}.{name}" for prefix in PREFIXES for name in names]
            self.known[layer, names] = [
                pattern for pattern in self.everywhere if any(_matches(pattern, name) for name in full)
            ]
        return self.known[layer, names]


def _matrices(
    layer: int, shape: Mapping[str, Any], model_type: str, kinds: Sequence[str], sparse: Sequence[bool]
) -> dict[str, Matrices]:
    """Group the matrices of a layer by the input for their part."""
    kind = kinds[layer] if kinds else ""
    mixer = STATE if kind == "recurrent" else LATENT if shape.get("kv_lora_rank") else ATTENTION
    matrices: dict[str, Matrices] = {} if kind == "none" else {"mixer_bytes": mixer}
    if matrices and shape.get("mixerless_layers"):
        return matrices  # a layer is a mixer or a block
    first = 0 if shape.get("gated", True) else 1
    every, many = shape.get("moe_layer_interval") or 1, shape.get("moe_layers") or 0
    last = (layer + 1) % every == 0 if every > 1 else layer >= shape["layers"] - many
    if sparse[layer] if sparse else many and last:
        apart = model_type in APART
        matrices["expert_bytes"] = (BESIDE if apart else EXPERTS)[first:]
        if shape.get("shared_ffn_dim"):
            matrices["shared_expert_bytes"] = (DENSE if apart else SHARED)[first:]
    elif shape.get("ffn_dim"):
        matrices["dense_bytes"] = DENSE[first:]
    return matrices


def _size(stored: str | Fraction) -> Fraction | None:
    """Compute bytes per weight in a format; None if unsupported."""
    if not isinstance(stored, str):
        return stored
    sides = _BLOCKS.fullmatch(stored)
    return with_scales(8, int(sides[1]) * int(sides[2]), 4) if sides else STORED_WEIGHT.get(stored)


def cache(table: Mapping[str, Any]) -> str:
    """Return the format of ``kv_cache_scheme``; empty if the file has none."""
    scheme = table.get("kv_cache_scheme") or table.get("kv_cache_quant_algo")
    if not scheme:
        return ""
    if isinstance(scheme, str):
        name = ALGORITHMS.get(scheme.upper(), "")
    else:
        name = str(_numbers(scheme)) if isinstance(scheme, Mapping) else ""
    if name not in KV_CACHE_FORMATS:
        raise CatalogError(f"kv_cache_scheme={quoted(scheme)} is not known, only {', '.join(KV_CACHE_FORMATS)} are")
    return name


def _rules(table: Mapping[str, Any]) -> list[Rule]:
    """List the formats of weights, each with the names it applies to, or none if it applies to all others.

    Formats are bytes where they are none of ours.
    """
    method, bits = str(table.get("quant_method", "")).lower(), table.get("bits")
    layered, groups = table.get("quantized_layers"), table.get("config_groups")
    if isinstance(layered, Mapping) and layered:
        names: dict[str, set[str]] = {}
        for name, group in layered.items():
            if isinstance(group, Mapping):
                names.setdefault(_algorithm(str(group.get("quant_algo"))), set()).add(name)
        return [(frozenset(own), stored) for stored, own in names.items()]
    if isinstance(groups, Mapping) and groups:
        packed = "mxfp4" in str(table.get("format"))
        groups_found = [(_targets(group), group["weights"]) for group in groups.values()
                 if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping)]  # fmt: skip
        return [(own, "mxfp4" if packed else _numbers(scheme)) for own, scheme in groups_found]
    if table.get("quant_algo"):
        return [(None, _algorithm(str(table["quant_algo"])))]
    if "quant_algo" in table:
        return []
    if method in GROUPED:
        if table.get("dynamic"):
            return [(None, f"{method} with other bits in some modules")]
        if type(bits) is not int or not 2 <= bits <= 8:
            raise CatalogError(f"quantization_config: bits={quoted(bits)} must be a whole number from 2 to 8")
        return [(None, _grouped(bits, table.get("group_size"), symmetric=False))]
    if method == "bitsandbytes":
        flags = [table.get(name, False) for name in ("load_in_4bit", "load_in_8bit")]
        if sorted(map(repr, flags)) != ["False", "True"]:
            raise CatalogError("quantization_config: one of load_in_4bit and load_in_8bit must be true")
        return [(None, "nf4" if flags[0] else "int8")]
    if method in ("fp8", "fbgemm_fp8"):
        narrow = table.get("expert_dtype") or "fp8"
        if narrow not in ("fp8", "fp4"):
            raise CatalogError(f"expert_dtype={quoted(narrow)} is not known, only fp8 and fp4 are")
        own: list[Rule] = [(frozenset({r"re:.*\.experts\."}), "mxfp4")] if narrow == "fp4" else []
        return [*own, (None, "fp8" if table.get("weight_block_size") is None else _block(table["weight_block_size"]))]
    # Its reader in transformers narrows experts alone.
    return [(frozenset({"experts"}) if method == "mxfp4" else None, method)]


def _targets(group: Mapping[str, Any]) -> frozenset[str] | None:
    """List the names that a group of compressed-tensors applies to; None for classes, such as Linear."""
    listed = group.get("targets")
    names = [target for target in listed if isinstance(target, str)] if isinstance(listed, list) else []
    for name in names:
        if name.startswith("re:"):
            _checked(name[3:])
    return frozenset(names) if any("." in name or name == "lm_head" for name in names) else None


def _algorithm(name: str) -> str:
    return ALGORITHMS.get(name.upper(), name)


def _numbers(scheme: Mapping[str, Any]) -> str | Fraction:
    """Return the format of a scheme of bits, kind and group."""
    bits, real, group = scheme.get("num_bits"), scheme.get("type") == "float", scheme.get("group_size")
    if type(bits) is not int:
        return ""
    if bits == 8 and (real or group in (None, -1)):
        return _block(scheme.get("block_structure")) if scheme.get("block_structure") else "fp8" if real else "int8"
    if bits == 4 and real:
        return "nvfp4" if group == 16 else "mxfp4" if group == 32 else ""
    return _grouped(bits, group, symmetric=bool(scheme.get("symmetric", True)))


def _grouped(bits: int, group: Any, *, symmetric: bool) -> str | Fraction:
    """Describe integers in groups with an fp16 scale, and a zero point unless symmetric."""
    if group not in (None, -1) and (type(group) is not int or group < 1):
        raise CatalogError(f"quantization_config: group_size={quoted(group)} must be a whole number, or -1 for none")
    shared = 2**16 if group in (None, -1) else group
    size = with_scales(bits, shared, 2 + (0 if symmetric else with_scales(bits)))
    near = (name for name in GROUPS if abs(STORED_WEIGHT[name] / size - 1) < SAME)
    return next(near, size)


def _block(sides: Any) -> str:
    """Describe square blocks of numbers with an fp32 scale."""
    if not isinstance(sides, list) or len(sides) != 2 or not all(type(side) is int and side > 0 for side in sides):
        raise CatalogError(f"quantization_config: {quoted(sides)} must be two sides of a block, as in [128, 128]")
    return "fp8_block" if sides == [128, 128] else f"fp8 in blocks of {sides[0]} by {sides[1]}"


def _left_wide(table: Mapping[str, Any]) -> list[str]:
    """List the patterns of unquantised modules."""
    patterns = []
    for name in LEFT_WIDE:
        listed = table.get(name) or []
        if not isinstance(listed, list) or not all(isinstance(pattern, str) for pattern in listed):
            raise CatalogError(f"quantization_config: {name}={quoted(listed)} must be a list of names")
        patterns += listed
    for pattern in patterns:
        if pattern.startswith("re:"):
            _checked(pattern[3:])
    return patterns


def _checked(expression: str) -> None:
    """Refuse an invalid regular expression, or one that could take forever."""
    endless = len(_ENDLESS.findall(expression.replace("\\*", "").replace("\\+", "")))
    if endless > MOST_ENDLESS or _NESTED.search(expression):
        raise CatalogError(f"quantization_config: {quoted(expression)} repeats too much to be looked for")
    try:
        re.compile(expression)
    except re.error as error:
        raise CatalogError(f"quantization_config: {quoted(expression)} is no regular expression: {error}") from None


def _matches(pattern: str, name: str) -> bool:
    """Match as compressed-tensors (``re:``), modelopt (``*``) and fp8 (part of a name) do."""
    if pattern.startswith("re:"):
        return re.match(pattern[3:], name) is not None
    if "*" in pattern:
        return any(fnmatchcase(name, f"{pattern}{end}") for end in ("", ".*"))
    return f".{pattern}." in f".{name}." or name.startswith(f"{pattern}.")
