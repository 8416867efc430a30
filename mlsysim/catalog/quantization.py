"""Formats in which a checkpoint stores its weights and a replica its cache, as the ``config.json`` says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from mlsysim.errors import CatalogError, quoted
from mlsysim.formats import KV_CACHE_FORMATS, STORED_WEIGHT, WEIGHT_FORMATS, with_scales

#: Formats by the names that ``quant_algo`` has for them.
ALGORITHMS = {
    "FP8": "fp8",
    "NVFP4": "nvfp4",
    "MXFP4": "mxfp4",
    "FP8_PB_WO": "fp8_block",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
}
#: Methods that widen weights for their products, whose groups have an fp16 scale and, of whole numbers, a zero point.
GROUPED = ("gptq", "awq", "auto-round", "autoround")
#: Our formats of whole numbers.
GROUPS = ("int4", "int4_g128", "int8")
#: Matrices of a layer by their role, as checkpoints name them.
ROLES = {
    "attention": ("self_attn.q_proj", "self_attn.o_proj"),
    "shared experts": ("mlp.shared_experts.up_proj",),
    "experts": ("mlp.experts.0.up_proj", "mlp.experts.gate_up_proj"),
    "dense blocks": ("mlp.up_proj",),
}
PREFIXES = ("model.layers.", "model.language_model.layers.", "language_model.model.layers.")
#: Lists of what is not quantised, by the names of transformers, compressed-tensors, vLLM, modelopt and bitsandbytes.
LEFT_WIDE = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules")
#: Repetitions without end in an expression, which may take for ever where one stands in another or there are many.
_ENDLESS, _NESTED, MOST_ENDLESS = re.compile(r"[*+]|\{\d+,\}"), re.compile(r"\)\s*[*+{]"), 4
#: A format is the one of a checkpoint where a weight takes the same bytes, but for this share.
SAME = Fraction(1, 100)


def weights(table: Any, layers: int, roles: Iterable[str]) -> tuple[str, str]:
    """The format of ``quantization_config``, empty where it is none of ours, and what differs from it.

    Parameters
    ----------
    table : object
        Content of the field.
    layers : int
        Of the model, of which the first, the middle and the last stand for all.
    roles : iterable of str
        Keys of ``ROLES`` that the model has.

    Returns
    -------
    tuple of str
        A name of ``WEIGHT_FORMATS``, and words on what is stored otherwise.
    """
    if not isinstance(table, Mapping):
        raise CatalogError(f"quantization_config={quoted(table)} must be an object")
    stored, patterns = _formats(table), _left_wide(table)
    size = stored[0] if len(stored) == 1 else ""
    if isinstance(size, str) and size not in WEIGHT_FORMATS:
        return "", f"{' and '.join(map(str, stored)) or table.get('quant_method') or 'an unknown format'}"
    seen, wide = {0, layers // 2, layers - 1}, []
    for role in roles:
        found = sum(_stays_wide(patterns, ROLES[role], layer) for layer in seen)
        wide += [role if found == len(seen) else f"{role} of some layers"] if found else []
    said = f"{' and '.join(wide)} at 16 bit" if wide else ""
    if isinstance(size, str):
        return size, said
    nearest = min(GROUPS, key=lambda name: abs(STORED_WEIGHT[name] - size))
    off = f"{float(size):.4g} B in the file, {float(size / STORED_WEIGHT[nearest]):.2f} times as much"
    return nearest, "; ".join(filter(None, (off, said)))


def cache(table: Mapping[str, Any]) -> str:
    """The format of ``kv_cache_scheme``; empty where a file has none."""
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


def _formats(table: Mapping[str, Any]) -> list[str | Fraction]:
    """Formats of the weights, each once; bytes where these are of none of ours."""
    method, bits = str(table.get("quant_method", "")).lower(), table.get("bits")
    layered, groups = table.get("quantized_layers"), table.get("config_groups")
    if isinstance(layered, Mapping) and layered:
        found = [_algorithm(str(each.get("quant_algo"))) for each in layered.values() if isinstance(each, Mapping)]
        return list(dict.fromkeys(found))
    if isinstance(groups, Mapping) and groups:
        schemes = [each.get("weights") for each in groups.values() if isinstance(each, Mapping)]
        packed = "mxfp4" in str(table.get("format"))
        return list(
            dict.fromkeys("mxfp4" if packed else _numbers(each) for each in schemes if isinstance(each, Mapping))
        )
    if table.get("quant_algo"):
        return [_algorithm(str(table["quant_algo"]))]
    if method in GROUPED:
        if table.get("dynamic"):
            return [f"{method} with other bits in some modules"]
        if type(bits) is not int or not 2 <= bits <= 8:
            raise CatalogError(f"quantization_config: bits={quoted(bits)} must be a whole number from 2 to 8")
        return [_grouped(bits, table.get("group_size"), symmetric=False)]
    if method == "bitsandbytes":
        flags = [table.get(name, False) for name in ("load_in_4bit", "load_in_8bit")]
        if sorted(map(repr, flags)) != ["False", "True"]:
            raise CatalogError("quantization_config: one of load_in_4bit and load_in_8bit must be true")
        return ["nf4" if flags[0] else "int8"]
    if method in ("fp8", "fbgemm_fp8"):
        return ["fp8" if table.get("weight_block_size") is None else _block(table["weight_block_size"])]
    return [method]


def _algorithm(name: str) -> str:
    return ALGORITHMS.get(name.upper(), name)


def _numbers(scheme: Mapping[str, Any]) -> str | Fraction:
    """The format of a scheme of bits, kind and group."""
    bits, real, group = scheme.get("num_bits"), scheme.get("type") == "float", scheme.get("group_size")
    if type(bits) is not int:
        return ""
    if bits == 8:
        return _block(scheme.get("block_structure")) if scheme.get("block_structure") else "fp8" if real else "int8"
    if bits == 4 and real:
        return "nvfp4" if group == 16 else "mxfp4" if group == 32 else ""
    return _grouped(bits, group, symmetric=bool(scheme.get("symmetric", True)))


def _grouped(bits: int, group: Any, *, symmetric: bool) -> str | Fraction:
    """Whole numbers in groups with an fp16 scale, and a zero point where they are not symmetric."""
    if group not in (None, -1) and (type(group) is not int or group < 1):
        raise CatalogError(f"quantization_config: group_size={quoted(group)} must be a whole number, or -1 for none")
    shared = 2**16 if group in (None, -1) else group
    size = with_scales(bits, shared, 2 + (0 if symmetric else with_scales(bits)))
    near = (name for name in GROUPS if abs(STORED_WEIGHT[name] / size - 1) < SAME)
    return next(near, size)


def _block(sides: Any) -> str:
    """Squares of numbers with an fp32 scale."""
    if not isinstance(sides, list) or len(sides) != 2 or not all(type(side) is int and side > 0 for side in sides):
        raise CatalogError(f"quantization_config: {quoted(sides)} must be two sides of a block, as in [128, 128]")
    return "fp8_block" if sides == [128, 128] else f"fp8 in blocks of {sides[0]} by {sides[1]}"


def _left_wide(table: Mapping[str, Any]) -> list[str]:
    """Patterns of what is not quantised."""
    found = []
    for name in LEFT_WIDE:
        listed = table.get(name) or []
        if not isinstance(listed, list) or not all(isinstance(pattern, str) for pattern in listed):
            raise CatalogError(f"quantization_config: {name}={quoted(listed)} must be a list of names")
        found += listed
    for pattern in found:
        if pattern.startswith("re:"):
            _checked(pattern[3:])
    return found


def _checked(expression: str) -> None:
    """Refuse a regular expression that is none, or that may take for ever."""
    endless = len(_ENDLESS.findall(expression.replace("\\*", "").replace("\\+", "")))
    if endless > MOST_ENDLESS or _NESTED.search(expression):
        raise CatalogError(f"quantization_config: {quoted(expression)} repeats too much to be looked for")
    try:
        re.compile(expression)
    except re.error as error:
        raise CatalogError(f"quantization_config: {quoted(expression)} is no regular expression: {error}") from None


def _stays_wide(patterns: Iterable[str], names: Iterable[str], layer: int) -> bool:
    """Tell whether some pattern names a matrix of a layer under any of its names."""
    full = [f"{prefix}{layer}.{name}" for prefix in PREFIXES for name in names]
    return any(_matches(pattern, name) for pattern in patterns for name in full)


def _matches(pattern: str, name: str) -> bool:
    """Match as compressed-tensors (``re:``), modelopt (``*``) and fp8 (part of a name) do."""
    if pattern.startswith("re:"):
        return re.match(pattern[3:], name) is not None
    if "*" in pattern:
        return any(fnmatchcase(name, f"{pattern}{end}") for end in ("", ".*"))
    return f".{pattern}." in f".{name}." or name.startswith(f"{pattern}.")
