"""Model shapes from the ``config.json`` of a Hugging Face repository on disk.

``layouts.toml`` maps the fields of each ``model_type`` to a shape; ``class_defaults.toml`` holds the defaults of the
type's class for fields that a file leaves out. Every field of a file is read, known not to affect costs, or required to
have the one value that the formulas support. Any other field is refused, never ignored.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from mlsysim.catalog import measured
from mlsysim.catalog.entries import SparseTransformerWorkload, TransformerWorkload
from mlsysim.catalog.files import content_of
from mlsysim.catalog.patterns import (
    BLOCKS,
    BOTH,
    CHUNK,
    COMPRESSED,
    FULL,
    MIXERS,
    MOST,
    NONE,
    PICKED,
    STATE,
    UNCOUNTED,
    WINDOW,
    WORDS,
    layer_types,
)
from mlsysim.catalog.quantization import by_part, weights
from mlsysim.catalog.quantization import cache as cache_format
from mlsysim.errors import CatalogError, InputError, UnknownNameError, quoted

FLAGS = TransformerWorkload.flags | SparseTransformerWorkload.flags
#: Sizes that a model's own file always states; only a nested part of a larger file leaves them to the class.
STATED = ("layers", "hidden_dim", "heads", "ffn_dim", "vocab_size")
EXPERTS = (
    "experts", "active_experts_per_token", "expert_ffn_dim", "expert_input_dim", "shared_ffn_dim", "router_bias",
    "expert_bias",
)  # fmt: skip
#: Sizes that must be positive.
POSITIVE = ("layers", "hidden_dim", "heads", "kv_heads", "head_dim", "vocab_size", "max_position_embeddings")
#: Fields that a file may leave out: flags are then off, and the others are derived.
OPTIONAL = FLAGS | {"kv_heads", "head_dim", "max_position_embeddings", "moe_layer_interval"}
#: Entry fields that a line of a layout sets, except those of experts.
SHAPE = frozenset(TransformerWorkload.model_fields)
#: Prefixes of the fields of an optional part, by the field that counts the layers with that part.
PARTS = {
    "sliding_layers": ("sliding_heads", "sliding_kv_heads", "sliding_head_dim", "sliding_v_head_dim"),
    "state_layers": ("state_", "conv_", "delta_"),
    "index_layers": ("index_",),
    "moe_layers": EXPERTS,
}
LATER = "cannot be counted yet"
#: File in which modelopt writes formats, next to a config that may lack them.
BESIDE = "hf_quant_config.json"
#: Values that switch a feature off.
OFF: tuple[Any, ...] = (False, 0, "", [], {})
LATER_TOKENS = ("num_nextn_predict_layers", "num_mtp_layers", "num_mtp_modules", "mtp_num_hidden_layers")


@cache
def tables() -> dict[str, Any]:
    """Content of ``layouts.toml``."""
    return tomllib.loads((resources.files("mlsysim.catalog") / "layouts.toml").read_text("utf-8"))


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """Defaults of each type's class, for fields that a file leaves out."""
    return tomllib.loads((resources.files("mlsysim.catalog") / "class_defaults.toml").read_text("utf-8"))


def known_types() -> list[str]:
    """List every ``model_type`` that has a layout."""
    return [*tables()["types"], *tables()["parts"]]


@cache
def layout(model_type: str) -> dict[str, Any]:
    """Return the lines of a type, on top of those of the type it resembles and those common to all types."""
    own = tables()["types"].get(model_type) or tables()["stacks"][model_type]
    base = layout(own["like"]) if "like" in own else tables()["common"]
    mixer = tables()["recurrent"][own["recurrent"]] if "recurrent" in own else {}
    if mixer and "recurrent" in base:
        base = {name: line for name, line in base.items() if name not in tables()["recurrent"][base["recurrent"]]}
    return {**base, **mixer, **own, "only": {**base["only"], **own.get("only", {})}}


@cache
def encoder(model_type: str) -> dict[str, Any]:
    """Return the lines for the encoder of an encoder-decoder type."""
    lines = layout(model_type)
    return {**lines, **tables()["encoder"], **lines["stack"]}


@cache
def _choices(line: str) -> tuple[list[str], list[str]]:
    """Split a line into field names, and the products, sums and numbers that follow them."""
    choices = line.split(" | ")
    names = [choice for choice in choices if choice.replace(".*", "").replace(".", "_").isidentifier()]
    return names, [choice for choice in choices if choice not in names]


@cache
def _stated(model_type: str) -> frozenset[str]:
    """Fields that a model's own file always states, under all of their names."""
    lines = layout(model_type)
    return frozenset(name for field in (*STATED, "max_position_embeddings") for name in _choices(str(lines[field]))[0])


@cache
def _harmless(more: tuple[str, ...]) -> re.Pattern[str]:
    """Compile a pattern of the field names that do not affect the shape, those of one type included."""
    return re.compile("|".join(map(translate, (*tables()["harmless"], *more))))


class Config:
    """Fields of a file; remembers which of them were read.

    Parameters
    ----------
    content : mapping
        Value by field, without the fields that the caller ignores.
    defaults : mapping
        The class's defaults for fields left out; ``null`` is a value.
    """

    def __init__(self, content: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self.content = content
        self.defaults = defaults
        self.asked: set[str] = set()
        #: Entry fields read so far.
        self.ours: dict[str, Any] = {}
        #: Kinds of layers by the type's words for them, and by words of kinds that are refused.
        self.words, self.refused = WORDS, dict[str, str]()

    def get(self, name: str) -> Any:
        """Return a field, or the class's default; None if there is neither, or if it is ``null`` or ``auto``.

        A dotted name is a field of a nested table; ``*.`` stands for all tables in one, which must agree.
        """
        outer, *inner = name.split(".")
        self.asked.add(outer)
        value = self.content[outer] if outer in self.content else self.defaults.get(name)
        for key in inner if outer in self.content else ():
            if key == "*" and isinstance(value, dict) and value:
                nested = [table for table in value.values() if isinstance(table, dict)]
                field = inner[-1]
                if len(nested) < len(value) or any(table.get(field) != nested[0].get(field) for table in nested):
                    raise CatalogError(f"{name}: all tables must have the same {field}")
                value = nested[0]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        return None if value == "auto" else value

    def whole(self, name: str, otherwise: int) -> int:
        """Return a whole number, which may be a list of equal numbers per layer, or the fallback."""
        value = self.get(name)
        if isinstance(value, list) and len(value) == self.ours.get("layers") and value.count(value[0]) == len(value):
            value = value[0]
        if value is None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise CatalogError(f"{name}={quoted(value)} must be a whole number from 0")
        return value

    def every(self, name: str, otherwise: int) -> int:
        """Return an interval in layers, at least 1, or the fallback."""
        value = self.whole(name, otherwise)
        if value < 1 and self.get(name) is not None:
            raise CatalogError(f"{name}={value} must be a whole number from 1")
        return max(value, 1)

    def yes(self, name: str, *, default: bool) -> bool:
        """Return a yes or no, or the default."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise CatalogError(f"{name}={quoted(value)} must be true or false")
        return value

    def first(self, field: str, line: Any) -> Any:
        """Read an entry field as its layout line says: a value, or text such as ``"n_inner | 4 * n_embd"``.

        The line lists alternative fields: the first in the file wins, then the first with a default in the class. A
        product, sum or number at the end is the fallback. A table maps the words of a field to values.
        """
        if isinstance(line, dict):
            return self._meaning(line)
        if not isinstance(line, str):
            return line
        names, expressions = _choices(line)
        stated = {name: self._one(field, name) for name in names if self._given(name)}
        if field in POSITIVE and 0 in stated.values():
            raise CatalogError(f"{next(name for name in stated if not stated[name])}=0 must be a whole number from 1")
        self.asked.update(name.partition(".")[0] for name in names)
        if len(set(stated.values())) > 1:
            raise CatalogError(" and ".join(f"{name}={value}" for name, value in stated.items()) + " must be the same")
        if stated:
            return next(iter(stated.values()))
        if field in FLAGS or self.content.keys().isdisjoint(names):
            for name in names:
                if name in self.defaults:
                    return self.defaults[name]
        result = next((result for expression in expressions if (result := self.computed(expression)) is not None), None)
        return bool(result) if field in FLAGS and result is not None else result

    def _meaning(self, line: Mapping[str, Mapping[str, Any]]) -> Any:
        """Translate a word of a file to the value it stands for."""
        ((name, words),) = line.items()
        word = self.get(name) or ""
        if not isinstance(word, str) or word not in words:
            raise CatalogError(f"{name}={quoted(word)} is a shape that is not known, only {', '.join(words)} are")
        return words[word]

    def _given(self, name: str) -> bool:
        return name.partition(".")[0] in self.content and self.get(name) is not None

    def _one(self, field: str, name: str) -> Any:
        return self.yes(name, default=False) if field in FLAGS else self.whole(name, 0)

    def computed(self, text: str) -> int | None:
        """Evaluate a sum of products of numbers, entry fields and file fields; None if an operand has no value.

        A flag counts as 0 or 1, ``#name`` is the length of a list, and ``#name=word`` counts a word in it. ``//``
        divides and rounds down, ``/`` rounds up.
        """
        total = 0
        for term in text.split(" + "):
            word, *rest = term.split()
            product = self._number(word)
            for sign, word in zip(rest[::2], rest[1::2], strict=True):
                number = self._number(word)
                if product is None or number is None:
                    return None
                if sign == "*":
                    product *= number
                elif not number:
                    raise CatalogError(f"{word}=0 must be above 0")
                else:
                    product = product // number if sign == "//" else -(-product // number)
            if product is None:
                return None
            total += product
        return total

    def _number(self, word: str) -> int | None:
        if word.lstrip("-").isdigit():
            return int(word)
        if word.startswith("#"):
            name, _, item = word[1:].partition("=")
            sequence = self.get(name)
            if item:
                return sequence.count(item) if isinstance(sequence, list) else None
            return len(sequence) if isinstance(sequence, list | str | dict) else None
        if self.ours.get(word) is not None:
            return int(self.ours[word])
        if isinstance(self.defaults.get(word), bool):
            return int(self.yes(word, default=False))
        number = self.whole(word, -1)
        if number >= 0:
            return number
        implied = tables()["implied"].get(word)
        return None if implied is None else self.computed(implied)


def workload(path: str | Path, *, ignore: str | Iterable[str] = (), **fields: Any) -> TransformerWorkload:
    """Read a model from a ``config.json``.

    Parameters
    ----------
    path : str or Path
        The file, or the folder that contains it.
    ignore : str or iterable of str
        Fields of the file that do not affect the shape; they are ignored.
    **fields
        Fields of the entry that the file lacks (``parameters=8.03e9``) or that replace its own (``name=...``).

    Returns
    -------
    TransformerWorkload
        A :class:`SparseTransformerWorkload` if the model has experts.

    Raises
    ------
    CatalogError
        If the file cannot be read or is too large, its ``model_type`` is not known, or a field is missing, wrong,
        unknown, or describes a shape that the formulas do not support.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "must be the path of a config.json, or of the folder that holds it")
    file = Path(path) / "config.json" if os.path.isdir(path) else Path(path)
    content = content_of(file, "JSON", json.loads)
    if not isinstance(content, dict):
        raise CatalogError(f'{file}: must be an object, as in {{"model_type": "llama"}}')
    ignored = (ignore,) if isinstance(ignore, str) else ignore
    if not isinstance(ignored, list | tuple | set | frozenset) or not all(isinstance(n, str) for n in ignored):
        raise InputError("ignore", ignore, "must be names of fields")
    try:
        if _without_layout(content) and measured.measurable(content["model_type"]):
            return _measured(content, file, ignored, fields)
        shape, notes = _read(content, ignored)
        provenance = {"source": str(file), "date": "", "kind": "user"}
        kinds, sparse = shape.pop("kinds", []), shape.pop("sparse", [])
        stack = {name: {"value": value, **provenance} for name, value in shape.pop("source_stack", {}).items()}
        arguments: dict[str, Any] = {name: {"value": value, **provenance} for name, value in shape.items()}
        table, source, format_notes = _formats(content, file)
        notes += format_notes
        if table is not None and "quantization_config" not in ignored:
            stored, format_notes = _stored(content, table, shape, kinds, sparse)
            arguments |= {name: {**entry, **provenance, "source": source} for name, entry in stored.items()}
            notes += format_notes
        arguments["layers"]["note"] = " ".join(notes)
        kind = SparseTransformerWorkload if "experts" in arguments else TransformerWorkload
        name = _name(content, file)
        if stack:
            arguments["source_stack"] = TransformerWorkload(**{"name": f"what reads the source of {name}", **stack})
        return kind(**{"name": name, **arguments, **fields})
    except CatalogError as error:
        raise CatalogError(f"{file}: {error}") from None


def _without_layout(content: Mapping[str, Any]) -> bool:
    """Tell whether a file's type is neither read by a layout nor refused by name."""
    named = {*known_types(), *" ".join(tables()["refused"].values()).split()}
    return isinstance(content.get("model_type"), str) and content["model_type"] not in named


def _measured(
    content: Mapping[str, Any], file: Path, ignored: Iterable[str], fields: Mapping[str, Any]
) -> TransformerWorkload:
    """Build a model whose shape is measured on its class in transformers."""
    shape, by, notes, unknown = measured.shape({name: value for name, value in content.items() if name not in ignored})
    harmless = _harmless(())
    _refuse_unknown([name for name in unknown if not harmless.match(name)], content["model_type"])
    provenance = {"source": f"{by} on the meta device, {file}", "date": datetime.date.today(), "kind": "measured"}
    arguments = {name: {"value": value, **provenance} for name, value in shape.items()}
    notes.insert(0, "Measured: totals are those of its class, parts and heads those of a shape with the same costs.")
    if _formats(content, file)[0] is not None:
        notes.append("Formats of quantization_config are not read.")
    arguments["layers"]["note"] = " ".join(notes)
    kind = SparseTransformerWorkload if "experts" in arguments else TransformerWorkload
    return kind(**{"name": _name(content, file), "measured_by": by, **arguments, **fields})


def _refuse_unknown(names: list[str], model_type: Any) -> None:
    """Refuse fields that are not known."""
    if names:
        raise CatalogError(
            f"{', '.join(names)} may change the shape of a {model_type}; where not, "
            f"TransformerWorkload.from_hf(path, ignore={tuple(names)!r}) reads it"
        )


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List a file's configuration and that of the language model in it."""
    return [part for part in (content, *map(content.get, tables()["within"])) if isinstance(part, dict)]


def _formats(content: Mapping[str, Any], file: Path) -> tuple[Any, str, list[str]]:
    """Return a model's ``quantization_config``, or else that of ``BESIDE`` in its folder; its file; and notes."""
    own = next((part["quantization_config"] for part in _parts(content) if part.get("quantization_config")), None)
    separate = file.with_name(BESIDE)
    if not os.path.lexists(separate):
        return own, str(file), []
    found = content_of(separate, "JSON", json.loads)
    table = found.get("quantization") if isinstance(found, dict) else None
    if not isinstance(table, dict):
        raise CatalogError(f'{separate}: must have an object, as in {{"quantization": {{"quant_algo": "FP8"}}}}')
    if own is None:
        return table, str(separate), [f"Formats are those of {BESIDE} beside it."]
    return own, str(file), [f"Its quantization_config wins over {BESIDE} beside it."]


def _stored(
    content: Mapping[str, Any], table: Any, shape: Mapping[str, Any], kinds: list[str], sparse: list[bool]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the stored formats of weights and cache, and notes on what is not supported."""
    narrow = next((part["expert_dtype"] for part in _parts(content) if part.get("expert_dtype")), None)
    table = {"expert_dtype": narrow, **table} if isinstance(table, dict) else table
    model_type = next((str(part["model_type"]) for part in reversed(_parts(content)) if part.get("model_type")), "")
    sizes, unknown = by_part(table, shape, model_type, kinds, sparse)
    word, note = weights(table, sizes)
    formats: dict[str, dict[str, Any]] = {name: {"value": float(size), "unit": "byte"} for name, size in sizes.items()}
    notes = []
    if word:
        formats["weight_format"] = {"value": word, "note": note}
    elif note and not sizes:
        notes.append(
            f"Its file stores weights as {note}, which precision does not name: they are counted as weight_dtype says."
        )
    if unknown:
        examples = ", ".join(map(quoted, unknown[:3])) + ", ..." * (len(unknown) > 3)
        notes.append(f"{len(unknown)} names in its quantization_config are of no part that is known: {examples}.")
    if cached := cache_format(table):
        formats["kv_cache_format"] = {"value": cached}
    return formats, notes


def _sum(*numbers: int | None) -> int | None:
    """Sum the numbers; None if one of them is unknown."""
    return None if None in numbers else sum(number or 0 for number in numbers)


def _name(content: Mapping[str, Any], file: Path) -> str:
    stated = content.get("_name_or_path")
    if isinstance(stated, str) and stated:
        return stated
    folder = file.absolute().parent.name
    return folder if file.name == "config.json" and folder else file.stem


def _read(content: Mapping[str, Any], ignored: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Read a shape, accounting for every field of the file, and notes on what is left out."""
    shape, notes = _text(content, ignored)
    joined, tower = tables()["joined"].get(content.get("model_type")), content.get("vision_config")
    if joined is None or "vision_config" in ignored:
        return shape, notes
    if not tower or not isinstance(tower, dict):
        return shape, [*notes, "Its file describes no tower, which its type has: the language model alone."]
    without = _without("vision_config")
    try:
        stack = _tower(content, tower, joined, shape["hidden_dim"])
    except CatalogError as error:
        return shape, [f"{without} {error}." if note == without else note for note in notes]
    if "image_patches" in stack:
        shape["image_patches"] = stack.pop("image_patches")
    return {**shape, "source_stack": stack}, [note for note in notes if note != without]


def _without(name: str) -> str:
    """Write the note on a part of a file that is left out."""
    return f"Without what {name} describes: the language model alone."


def _tower(
    content: Mapping[str, Any], tower: Mapping[str, Any], joined: Mapping[str, Any], width: int
) -> dict[str, Any]:
    """Read the fields of a vision tower, with the projector that joins it to a language model of the given width."""
    tower_type = tower.get("model_type")
    if isinstance(tower_type, str) and tower_type in tables()["stacks"]:
        kind = tower_type
    elif tower_type in (None, "", content["model_type"]):
        kind = joined["tower"]
    else:
        raise CatalogError(f"vision_config: model_type={quoted(tower_type)} is not known")
    # A tower that gives sizes as height and width must be square.
    sizes = {name: tower[name][0] for name in ("image_size", "patch_size") if _square(tower.get(name))}
    parts = {**tower, **sizes, "outer": content, "text_width": width}
    shape = _shape(parts, kind, (), nested=True, joined=joined)[0]
    if min(shape["further_matrices"], shape["further_vectors"]) < 0:
        raise CatalogError("vision_config: an image has fewer patches than tokens")
    return shape


def _square(sizes: Any) -> bool:
    return isinstance(sizes, list) and len(sizes) == 2 and sizes[0] == sizes[1]


def _text(content: Mapping[str, Any], ignored: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Read the language model alone, as :func:`_read`."""
    model_type = content.get("model_type")
    part = tables()["parts"].get(model_type) if isinstance(model_type, str) else None
    if part is None:
        known_type = _known(model_type)
        shape, notes = _shape(content, known_type, ignored)
        if "stack" in layout(known_type):
            shape["source_stack"] = _shape(content, known_type, ignored, lines=encoder(known_type))[0]
        return shape, notes + layout(known_type).get("notes", [])
    field = next((name for name in tables()["within"] if name in content), None)
    if field is None and "hidden_size" in content:
        return _shape(content, part, ignored)
    field = field or tables()["within"][0]
    text = content.get(field)
    if not isinstance(text, dict):
        raise CatalogError(f"{field}={quoted(text)} must be an object")
    outer = Config({name: value for name, value in content.items() if name not in (field, *ignored)}, {})
    outer.asked |= {"hidden_size", "tie_word_embeddings", "vocab_size"}
    notes = _account(outer, {**tables()["common"], "harmless": tables()["joints"]})
    tied = {name: content[name] for name in ("tie_word_embeddings",) if content.get(name) is not None}
    text_type = text.get("model_type")
    if part in tables()["parts"]:
        shape, more = _read({**text, **tied, "model_type": text_type or part}, ignored)
        return shape, notes + more
    inner = part if text_type in (None, "", model_type) else _known(text_type)
    shape, more = _shape({**text, **tied}, inner, ignored, nested=True)
    return shape, notes + more


def _known(model_type: Any) -> str:
    """Check that a type has a layout."""
    if model_type is None:
        raise CatalogError(f"missing model_type; known: {', '.join(known_types())}")
    for reason, names in tables()["refused"].items():
        if model_type in names.split():
            raise CatalogError(f"model_type={quoted(model_type)}: {reason}, which {LATER}")
    if isinstance(model_type, str) and model_type in tables()["types"]:
        return model_type
    unknown = UnknownNameError("model_type", model_type, known_types())
    known = f" known: {', '.join(known_types())}" if unknown.suggestions else ""
    raise CatalogError(f"{unknown}{known}; any other shape can be given to TransformerWorkload(...) field by field")


def _shape(
    content: Mapping[str, Any],
    model_type: str,
    ignored: Iterable[str],
    *,
    nested: bool = False,
    lines: Mapping[str, Any] | None = None,
    joined: Mapping[str, Any] = {},
) -> tuple[dict[str, Any], list[str]]:
    """Read the entry fields of one model, or of a stack with its joint to a model, and notes on what is left out."""
    lines, defaults = lines or layout(model_type), class_defaults().get(model_type, {})
    lines = {**lines, "only": {**lines["only"], **joined.get("only", {})}}
    left = {*ignored, *(() if nested or model_type.endswith("_text") else _stated(model_type))}
    content = {name: value for name, value in content.items() if name not in ignored}
    defaults = {name: value for name, value in defaults.items() if name not in left}
    config = Config(content, defaults)
    for flag, other in lines.get("without", {}).items():
        if not config.yes(flag, default=False):
            return _shape(content, other, ignored, nested=nested)
    # Latent attention takes keys and values from the compressed vector, so the file's head sizes for them are unused.
    unused = ("kv_heads", "head_dim") if "kv_lora_rank" in lines else ()
    for name in unused:
        config.whole(lines[name], 0)
    shape = config.ours
    shape["layers"] = config.first("layers", lines["layers"])
    layers = shape["layers"] or 0
    if layers > MOST:
        raise CatalogError(f"layers={layers} must be at most {MOST:,}")
    counts = _counts(config, lines, layers) if layers else {}
    shape |= counts
    for name, line in lines.items():
        if (name in SHAPE or (name in EXPERTS and lines["blocks"])) and name not in (*unused, "layers"):
            shape[name] = config.first(name, line)
    for name in ("matrices", "vectors") if "matrices" in joined else ():
        shape[name] = config.first(name, joined[name])
        shape[f"further_{name}"] = _sum(shape.get(f"further_{name}", 0), shape[name])
    if layers and counts.get("moe_layers") == layers:
        shape["ffn_dim"] = 0
    absent = tuple(prefix for count, prefixes in PARTS.items() if not shape.get(count) for prefix in prefixes)
    shape = {name: value for name, value in shape.items() if not absent or not name.startswith(absent)}
    shape = {name: value for name, value in shape.items() if value or name not in counts}
    _refuse_missing(config, lines, shape)
    norms = config.computed(str(lines["norms"]))
    shape["sandwich_norm"] = norms == 4 or None
    shape["block_norms"] = 1 if norms == 1 else None
    fields = SHAPE | SparseTransformerWorkload.model_fields.keys() | {"kinds", "sparse"}
    stated = {name: value for name, value in shape.items() if value is not None and name in fields}
    return stated, _account(config, lines)


def _plan(names: Iterable[str], table: Mapping[str, Any], config: Config, layers: int) -> tuple[str, Any]:
    """Return the first of several patterns that the file defines, each perhaps with a parameter, and its result."""
    results = {}
    for spec in names:
        name, _, number = spec.partition(":")
        results[name] = table[name](config, layers, int(number or 0))
    chosen = next((name for name in results if results[name] is not None), None)
    if chosen is None:
        raise CatalogError(f"missing {' or '.join(results)}")
    return chosen, results[chosen]


def _has(lines: Mapping[str, Any], word: str, kind: str) -> bool:
    """Tell whether a type has layers of the kind that a word stands for."""
    if kind == CHUNK:
        return any(name.startswith("no_rope_layers") for name in lines["mixers"])
    if kind == WINDOW:
        return bool(lines["mixers"])
    return kind == FULL or (kind == "picked" and "indexers" in lines) or word in lines.get("words", ())


def _counts(config: Config, lines: Mapping[str, Any], layers: int) -> dict[str, Any]:
    """Count layers by kind of mixer and block, and set the reach of their attention."""
    config.words = {word: kind for word, kind in WORDS.items() if _has(lines, word, kind)}
    uncounted = [kind for kind, (_, line) in UNCOUNTED.items() if line not in lines]
    config.refused = {word: kind for word, kind in WORDS.items() if kind in uncounted}
    # Types whose layers are all alike may list them, but may not name another kind.
    listed = ("layer_types", layer_types(config, layers, 0))
    pattern, kinds = _plan(lines["mixers"], MIXERS, config, layers) if lines["mixers"] else listed
    counted = Counter([FULL] * layers if kinds is None else kinds)
    chunk = config.whole("attention_chunk_size", 0) if counted[CHUNK] else 0
    for kind, (description, line) in UNCOUNTED.items():
        if counted[kind] and line not in lines:
            raise CatalogError(f"{pattern}: {counted[kind]} of {layers} layers have {description}, which {LATER}")
    window = config.first("sliding_window", lines["window"]) if lines["mixers"] else 0
    if chunk and window and counted[WINDOW]:
        raise CatalogError(f"{pattern}: layers with windows beside layers with chunks, which {LATER}")
    if counted[WINDOW] and not window and any(name.startswith("sliding_") for name in lines):
        raise CatalogError(f"missing {lines['window']}, of layers whose attention has a shape of its own")
    local = counted[CHUNK] if chunk else counted[WINDOW] if window and "compressed" not in lines else 0
    attention = layers - counted[STATE] - counted[NONE]
    # The last layers reuse the keys and values of earlier ones.
    reusing = config.first("shared", lines["shared"]) or 0
    shared = Counter(kinds[-reusing:]) if kinds and reusing else Counter()
    counts = {
        "sliding_layers": local, "sliding_window": (local or "compressed" in lines) and (chunk or window),
        "chunked_attention": chunk > 0,
        "attention_layers": attention, "full_layers": attention - local, "mixerless_layers": counted[NONE],
        "state_layers": counted[STATE] + counted[BOTH], "parallel_layers": counted[BOTH],
        "heavily_compressed_layers": counted[COMPRESSED],
        "shared_cache_layers": shared.total() - shared[WINDOW] * (local > 0),
        "sliding_shared_layers": shared[WINDOW] * (local > 0), "kinds": kinds,
    }  # fmt: skip
    if "compressed" in lines:
        counts |= {"compressed_layers": attention, "index_layers": counted[PICKED]}
    if lines["blocks"]:
        _, (sparse, interval) = _plan(lines["blocks"], BLOCKS, config, layers)
        counts |= {"moe_layers": sum(sparse), "moe_layer_interval": interval if any(sparse) else 0, "sparse": sparse}
    if "indexers" in lines:
        counts["index_layers"] = sum(_plan(lines["indexers"], BLOCKS, config, layers)[1][0])
    return counts


def _refuse_missing(config: Config, lines: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    """Refuse a file that lacks a size, or whose heads do not divide the hidden size."""
    left_out = [str(lines.get(name, name)) for name, value in shape.items() if value is None and name not in OPTIONAL]
    # Sums have no value if one of their fields has none.
    missing = [names[0] for line in left_out if (names := _choices(line)[0])] or left_out
    if missing:
        raise CatalogError(f"missing {', '.join(dict.fromkeys(missing))}")
    heads, kv_heads, width = shape["heads"], shape.get("kv_heads"), shape["hidden_dim"]
    if kv_heads and heads % kv_heads and config.content.keys().isdisjoint(_choices(lines["kv_heads"])[0]):
        raise CatalogError(
            f"{heads} heads are not a multiple of {kv_heads} heads of keys and values, those of the class"
        )
    if not shape.get("kv_lora_rank") and shape.get("head_dim") is None and heads and width % heads:
        raise CatalogError(f"hidden width {width} is not a multiple of {heads} heads; give head_dim")


def _account(config: Config, lines: Mapping[str, Any]) -> list[str]:
    """Refuse fields that the entry cannot express or that may change the shape; note what is left out."""
    content = {name: value for name, value in config.content.items() if value is not None}
    model_type = content.get("model_type", "model")
    for name, supported in lines["only"].items():
        if (value := config.get(name)) not in (None, supported):
            reason = tables()["uncounted"].get(name)
            refusal = f": {reason}, which {LATER}" if reason else f" is a shape that is not known, only {supported} is"
            raise CatalogError(f"{name}={quoted(value)}{refusal}")
    for name, expression in lines["equal"].items():
        stated = name.strip("#").partition(".")[0] in content
        value = None if not stated else config.computed(name) if name.startswith("#") else config.get(name)
        if value is not None and value != config.computed(expression):
            raise CatalogError(f"{name}={quoted(value)} is a shape that is not known, only that of {expression} is")
    unknown, towers, harmless = [], [], _harmless(tuple(lines["harmless"]))
    for name, value in content.items():
        if name in config.asked or harmless.match(name):
            continue
        if name in tables()["switches"] and value in OFF:
            continue
        if name in tables()["towers"] and model_type in (tables()["towers"][name] or tables()["parts"]):
            towers.append(name)
        elif name in tables()["uncounted"]:
            raise CatalogError(f"{name}={quoted(value)}: {tables()['uncounted'][name]}, which {LATER}")
        else:
            unknown.append(name)
    _refuse_unknown(unknown, model_type)
    notes = [_without(name) for name in towers]
    if any(config.whole(name, 0) for name in LATER_TOKENS if name in content):
        notes.append("Without the layers that predict further tokens.")
    return notes
