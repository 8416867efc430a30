"""Shapes of models from the ``config.json`` of a Hugging Face repository on disk.

``layouts.toml`` says how the files of each ``model_type`` spell a shape, ``class_defaults.toml`` what the class of a
type takes where its file is silent. Each field of a file is read, known to leave the costs alone, or must have the one
value that the formulas can count; any other is refused, never passed over.
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
#: Sizes that a file of one model states itself; only a part of a larger file leaves them to the class.
STATED = ("layers", "hidden_dim", "heads", "ffn_dim", "vocab_size")
EXPERTS = (
    "experts", "active_experts_per_token", "expert_ffn_dim", "expert_input_dim", "shared_ffn_dim", "router_bias",
    "expert_bias",
)  # fmt: skip
#: Sizes without which there is no model.
POSITIVE = ("layers", "hidden_dim", "heads", "kv_heads", "head_dim", "vocab_size", "max_position_embeddings")
#: What a file may leave out: flags are off, and the others follow from the rest.
OPTIONAL = FLAGS | {"kv_heads", "head_dim", "max_position_embeddings", "moe_layer_interval"}
#: Fields of ours that a layout says by a line, but for those of experts.
SHAPE = frozenset(TransformerWorkload.model_fields)
#: Fields of a part that a model may lack, by the number of layers that have it.
PARTS = {
    "sliding_layers": ("sliding_heads", "sliding_kv_heads", "sliding_head_dim", "sliding_v_head_dim"),
    "state_layers": ("state_", "conv_", "delta_"),
    "index_layers": ("index_",),
    "moe_layers": EXPERTS,
}
LATER = "cannot be counted yet"
#: Where modelopt writes formats, beside a file that may not have them.
BESIDE = "hf_quant_config.json"
#: Values that switch a field off.
OFF: tuple[Any, ...] = (False, 0, "", [], {})
LATER_TOKENS = ("num_nextn_predict_layers", "num_mtp_layers", "num_mtp_modules", "mtp_num_hidden_layers")


@cache
def tables() -> dict[str, Any]:
    """Content of ``layouts.toml``."""
    return tomllib.loads((resources.files("mlsysim.catalog") / "layouts.toml").read_text("utf-8"))


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """Values that the class of each type takes where a file leaves a field out."""
    return tomllib.loads((resources.files("mlsysim.catalog") / "class_defaults.toml").read_text("utf-8"))


def known_types() -> list[str]:
    """Every ``model_type`` that has a layout."""
    return [*tables()["types"], *tables()["parts"]]


@cache
def layout(model_type: str) -> dict[str, Any]:
    """The lines of a type, over those of the type that it is like and those of all types."""
    own = tables()["types"].get(model_type) or tables()["stacks"][model_type]
    base = layout(own["like"]) if "like" in own else tables()["common"]
    mixer = tables()["recurrent"][own["recurrent"]] if "recurrent" in own else {}
    if mixer and "recurrent" in base:
        base = {name: line for name, line in base.items() if name not in tables()["recurrent"][base["recurrent"]]}
    return {**base, **mixer, **own, "only": {**base["only"], **own.get("only", {})}}


@cache
def encoder(model_type: str) -> dict[str, Any]:
    """The lines of the encoder of a type that has a decoder as well."""
    lines = layout(model_type)
    return {**lines, **tables()["encoder"], **lines["stack"]}


@cache
def _choices(line: str) -> tuple[list[str], list[str]]:
    """Names of fields in a line, and the products, sums and numbers behind them."""
    choices = line.split(" | ")
    names = [each for each in choices if each.replace(".*", "").replace(".", "_").isidentifier()]
    return names, [each for each in choices if each not in names]


@cache
def _stated(model_type: str) -> frozenset[str]:
    """Fields that a file of one model states itself, under all of their names."""
    lines = layout(model_type)
    return frozenset(name for field in (*STATED, "max_position_embeddings") for name in _choices(str(lines[field]))[0])


@cache
def _harmless(more: tuple[str, ...]) -> re.Pattern[str]:
    """Names of fields that leave the shape alone, some of them those of a type."""
    return re.compile("|".join(map(translate, (*tables()["harmless"], *more))))


class Config:
    """The fields of a file, which remembers what was asked of it.

    Parameters
    ----------
    content : mapping
        Field to value, without the fields that the caller ignores.
    defaults : mapping
        What the class takes where a field is left out; ``null`` is a value.
    """

    def __init__(self, content: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self.content = content
        self.defaults = defaults
        self.asked: set[str] = set()
        #: Our fields, as far as they are read.
        self.ours: dict[str, Any] = {}
        #: Kinds of layers by the words that the type has for them, and by those of kinds that are refused.
        self.words, self.refused = WORDS, dict[str, str]()

    def get(self, name: str) -> Any:
        """The value of a field, else that of the class; None where it has neither, or is ``null`` or left to the class.

        A name with a dot is a field of a table; behind ``*.`` that of all tables in one, where they agree.
        """
        outer, *inner = name.split(".")
        self.asked.add(outer)
        found = self.content[outer] if outer in self.content else self.defaults.get(name)
        for each in inner if outer in self.content else ():
            if each == "*" and isinstance(found, dict) and found:
                alike = [table for table in found.values() if isinstance(table, dict)]
                field = inner[-1]
                if len(alike) < len(found) or any(table.get(field) != alike[0].get(field) for table in alike):
                    raise CatalogError(f"{name}: all tables must have the same {field}")
                found = alike[0]
            else:
                found = found.get(each) if isinstance(found, dict) else None
        return None if found == "auto" else found

    def whole(self, name: str, otherwise: int) -> int:
        """A whole number, which a list may give of each layer alike, or another where there is none."""
        value = self.get(name)
        if isinstance(value, list) and len(value) == self.ours.get("layers") and value.count(value[0]) == len(value):
            value = value[0]
        if value is None:
            return otherwise
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise CatalogError(f"{name}={quoted(value)} must be a whole number from 0")
        return value

    def every(self, name: str, otherwise: int) -> int:
        """A number of layers after which something comes again, or another where there is none; at least 1."""
        value = self.whole(name, otherwise)
        if value < 1 and self.get(name) is not None:
            raise CatalogError(f"{name}={value} must be a whole number from 1")
        return max(value, 1)

    def yes(self, name: str, *, default: bool) -> bool:
        """A yes or no, or another where there is none."""
        value = self.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise CatalogError(f"{name}={quoted(value)} must be true or false")
        return value

    def first(self, field: str, line: Any) -> Any:
        """Read a field as a line of a layout says it: a value, or text such as ``"n_inner | 4 * n_embd"``.

        Names are fields of a file, of which the first that the file has counts, then the first that the class has a
        default for; behind them, a product, sum or number for files without. A table says what words of a field mean.
        """
        if isinstance(line, dict):
            return self._meaning(line)
        if not isinstance(line, str):
            return line
        names, sums = _choices(line)
        given = {name: self._one(field, name) for name in names if self._given(name)}
        if field in POSITIVE and 0 in given.values():
            raise CatalogError(f"{next(name for name in given if not given[name])}=0 must be a whole number from 1")
        self.asked.update(name.partition(".")[0] for name in names)
        if len(set(given.values())) > 1:
            raise CatalogError(" and ".join(f"{name}={value}" for name, value in given.items()) + " must be the same")
        if given:
            return next(iter(given.values()))
        if field in FLAGS or self.content.keys().isdisjoint(names):
            for name in names:
                if name in self.defaults:
                    return self.defaults[name]
        found = next((found for each in sums if (found := self.computed(each)) is not None), None)
        return bool(found) if field in FLAGS and found is not None else found

    def _meaning(self, line: Mapping[str, Mapping[str, Any]]) -> Any:
        """The value that a word of a file stands for."""
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
        """A number, or a sum of products of numbers, fields of ours and of the file; None where one has no value.

        A flag counts as 0 or 1, ``#name`` is the length of a list, ``#name=word`` how often it has a word; ``//``
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
            name, _, each = word[1:].partition("=")
            listed = self.get(name)
            if each:
                return listed.count(each) if isinstance(listed, list) else None
            return len(listed) if isinstance(listed, list | str | dict) else None
        if self.ours.get(word) is not None:
            return int(self.ours[word])
        if isinstance(self.defaults.get(word), bool):
            return int(self.yes(word, default=False))
        found = self.whole(word, -1)
        if found >= 0:
            return found
        implied = tables()["implied"].get(word)
        return None if implied is None else self.computed(implied)


def workload(path: str | Path, *, ignore: str | Iterable[str] = (), **fields: Any) -> TransformerWorkload:
    """A model of the shape a ``config.json`` gives.

    Parameters
    ----------
    path : str or Path
        The file, or the folder that holds it.
    ignore : str or iterable of str
        Fields of the file that are known to leave the shape alone; they are read as if they were not there.
    **fields
        Fields of the entry that the file does not give (``parameters=8.03e9``), or gives otherwise (``name=...``).

    Returns
    -------
    TransformerWorkload
        A :class:`SparseTransformerWorkload` where the model has experts.

    Raises
    ------
    CatalogError
        If the file cannot be read or is too large, its ``model_type`` is not known, or a field is missing, wrong,
        unknown, or of a shape that the formulas cannot count.
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
        said = {"source": str(file), "date": "", "kind": "user"}
        kinds, sparse = shape.pop("kinds", []), shape.pop("sparse", [])
        stack = {name: {"value": value, **said} for name, value in shape.pop("source_stack", {}).items()}
        given: dict[str, Any] = {name: {"value": value, **said} for name, value in shape.items()}
        table, source, more = _formats(content, file)
        notes += more
        if table is not None and "quantization_config" not in ignored:
            stored, more = _stored(content, table, shape, kinds, sparse)
            given |= {name: {**each, **said, "source": source} for name, each in stored.items()}
            notes += more
        given["layers"]["note"] = " ".join(notes)
        kind = SparseTransformerWorkload if "experts" in given else TransformerWorkload
        name = _name(content, file)
        if stack:
            given["source_stack"] = TransformerWorkload(**{"name": f"what reads the source of {name}", **stack})
        return kind(**{"name": name, **given, **fields})
    except CatalogError as error:
        raise CatalogError(f"{file}: {error}") from None


def _without_layout(content: Mapping[str, Any]) -> bool:
    """Tell whether a file is of a type that no layout reads or refuses by name."""
    named = {*known_types(), *" ".join(tables()["refused"].values()).split()}
    return isinstance(content.get("model_type"), str) and content["model_type"] not in named


def _measured(
    content: Mapping[str, Any], file: Path, ignored: Iterable[str], fields: Mapping[str, Any]
) -> TransformerWorkload:
    """A model whose class in transformers says what its file does not say in words of ours."""
    shape, by, notes, unknown = measured.shape({name: value for name, value in content.items() if name not in ignored})
    harmless = _harmless(())
    _refuse_unknown([name for name in unknown if not harmless.match(name)], content["model_type"])
    said = {"source": f"{by} on the meta device, {file}", "date": datetime.date.today(), "kind": "measured"}
    given = {name: {"value": value, **said} for name, value in shape.items()}
    notes.insert(0, "Measured: totals are those of its class, parts and heads those of a shape with the same costs.")
    if _formats(content, file)[0] is not None:
        notes.append("Formats of quantization_config are not read.")
    given["layers"]["note"] = " ".join(notes)
    kind = SparseTransformerWorkload if "experts" in given else TransformerWorkload
    return kind(**{"name": _name(content, file), "measured_by": by, **given, **fields})


def _refuse_unknown(names: list[str], model_type: Any) -> None:
    """Refuse fields that nobody knows."""
    if names:
        raise CatalogError(
            f"{', '.join(names)} may change the shape of a {model_type}; where not, "
            f"TransformerWorkload.from_hf(path, ignore={tuple(names)!r}) reads it"
        )


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A file, and the language model in it."""
    return [part for part in (content, *map(content.get, tables()["within"])) if isinstance(part, dict)]


def _formats(content: Mapping[str, Any], file: Path) -> tuple[Any, str, list[str]]:
    """The ``quantization_config`` of a file, else that of ``BESIDE`` in its folder or None; its file and a sentence."""
    own = next((part["quantization_config"] for part in _parts(content) if part.get("quantization_config")), None)
    beside = file.with_name(BESIDE)
    if not os.path.lexists(beside):
        return own, str(file), []
    found = content_of(beside, "JSON", json.loads)
    table = found.get("quantization") if isinstance(found, dict) else None
    if not isinstance(table, dict):
        raise CatalogError(f'{beside}: must have an object, as in {{"quantization": {{"quant_algo": "FP8"}}}}')
    if own is None:
        return table, str(beside), [f"Formats are those of {BESIDE} beside it."]
    return own, str(file), [f"Its quantization_config wins over {BESIDE} beside it."]


def _stored(
    content: Mapping[str, Any], table: Any, shape: Mapping[str, Any], kinds: list[str], sparse: list[bool]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Formats of weights and cache that a table gives, with what is stored otherwise, and sentences on what is left."""
    narrow = next((part["expert_dtype"] for part in _parts(content) if part.get("expert_dtype")), None)
    table = {"expert_dtype": narrow, **table} if isinstance(table, dict) else table
    model_type = next((str(part["model_type"]) for part in reversed(_parts(content)) if part.get("model_type")), "")
    sizes, unknown = by_part(table, shape, model_type, kinds, sparse)
    word, note = weights(table, sizes)
    found: dict[str, dict[str, Any]] = {name: {"value": float(size), "unit": "byte"} for name, size in sizes.items()}
    notes = []
    if word:
        found["weight_format"] = {"value": word, "note": note}
    elif note and not sizes:
        notes.append(
            f"Its file stores weights as {note}, which precision does not name: they are counted as weight_dtype says."
        )
    if unknown:
        shown = ", ".join(map(quoted, unknown[:3])) + ", ..." * (len(unknown) > 3)
        notes.append(f"{len(unknown)} names in its quantization_config are of no part that is known: {shown}.")
    if cached := cache_format(table):
        found["kv_cache_format"] = {"value": cached}
    return found, notes


def _sum(*numbers: int | None) -> int | None:
    """A sum, or None where a number is not known."""
    return None if None in numbers else sum(number or 0 for number in numbers)


def _name(content: Mapping[str, Any], file: Path) -> str:
    said = content.get("_name_or_path")
    if isinstance(said, str) and said:
        return said
    folder = file.absolute().parent.name
    return folder if file.name == "config.json" and folder else file.stem


def _read(content: Mapping[str, Any], ignored: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """The shape of a file whose every field is accounted for, and what it leaves out, in sentences."""
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
    """A sentence on a part of a file that is left out."""
    return f"Without what {name} describes: the language model alone."


def _tower(
    content: Mapping[str, Any], tower: Mapping[str, Any], joined: Mapping[str, Any], width: int
) -> dict[str, Any]:
    """Our fields of the tower of a model of several parts, with what joins it to a language model of this width."""
    named = tower.get("model_type")
    if isinstance(named, str) and named in tables()["stacks"]:
        kind = named
    elif named in (None, "", content["model_type"]):
        kind = joined["tower"]
    else:
        raise CatalogError(f"vision_config: model_type={quoted(named)} is not known")
    # Sizes that a tower gives for height and width are those of a square.
    sizes = {name: tower[name][0] for name in ("image_size", "patch_size") if _square(tower.get(name))}
    parts = {**tower, **sizes, "outer": content, "text_width": width}
    shape = _shape(parts, kind, (), nested=True, joined=joined)[0]
    if min(shape["further_matrices"], shape["further_vectors"]) < 0:
        raise CatalogError("vision_config: an image has fewer patches than tokens")
    return shape


def _square(sizes: Any) -> bool:
    return isinstance(sizes, list) and len(sizes) == 2 and sizes[0] == sizes[1]


def _text(content: Mapping[str, Any], ignored: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """The same of the language model alone."""
    model_type = content.get("model_type")
    part = tables()["parts"].get(model_type) if isinstance(model_type, str) else None
    if part is None:
        known = _known(model_type)
        shape, notes = _shape(content, known, ignored)
        if "stack" in layout(known):
            shape["source_stack"] = _shape(content, known, ignored, lines=encoder(known))[0]
        return shape, notes + layout(known).get("notes", [])
    within = next((name for name in tables()["within"] if name in content), None)
    if within is None and "hidden_size" in content:
        return _shape(content, part, ignored)
    within = within or tables()["within"][0]
    text = content.get(within)
    if not isinstance(text, dict):
        raise CatalogError(f"{within}={quoted(text)} must be an object")
    outer = Config({name: value for name, value in content.items() if name not in (within, *ignored)}, {})
    outer.asked |= {"hidden_size", "tie_word_embeddings", "vocab_size"}
    notes = _account(outer, {**tables()["common"], "harmless": tables()["joints"]})
    tied = {name: content[name] for name in ("tie_word_embeddings",) if content.get(name) is not None}
    named = text.get("model_type")
    if part in tables()["parts"]:
        shape, more = _read({**text, **tied, "model_type": named or part}, ignored)
        return shape, notes + more
    inner = part if named in (None, "", model_type) else _known(named)
    shape, more = _shape({**text, **tied}, inner, ignored, nested=True)
    return shape, notes + more


def _known(model_type: Any) -> str:
    """A type that has a layout."""
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
    """Our fields of one model, or of a stack with what joins it to a model, and what they leave out."""
    lines, defaults = lines or layout(model_type), class_defaults().get(model_type, {})
    lines = {**lines, "only": {**lines["only"], **joined.get("only", {})}}
    left = {*ignored, *(() if nested or model_type.endswith("_text") else _stated(model_type))}
    content = {name: value for name, value in content.items() if name not in ignored}
    defaults = {name: value for name, value in defaults.items() if name not in left}
    config = Config(content, defaults)
    for flag, other in lines.get("without", {}).items():
        if not config.yes(flag, default=False):
            return _shape(content, other, ignored, nested=nested)
    # Keys and values of latent attention come from the compressed vector: what a file says of their heads is not used.
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
    lacked = tuple(prefix for count, prefixes in PARTS.items() if not shape.get(count) for prefix in prefixes)
    shape = {name: value for name, value in shape.items() if not lacked or not name.startswith(lacked)}
    shape = {name: value for name, value in shape.items() if value or name not in counts}
    _refuse_missing(config, lines, shape)
    norms = config.computed(str(lines["norms"]))
    shape["sandwich_norm"] = norms == 4 or None
    shape["block_norms"] = 1 if norms == 1 else None
    fields = SHAPE | SparseTransformerWorkload.model_fields.keys() | {"kinds", "sparse"}
    given = {name: value for name, value in shape.items() if value is not None and name in fields}
    return given, _account(config, lines)


def _plan(names: Iterable[str], table: Mapping[str, Any], config: Config, layers: int) -> tuple[str, Any]:
    """The first of several patterns that the file gives, each perhaps with a number of its own, and what it says."""
    found = {}
    for each in names:
        name, _, number = each.partition(":")
        found[name] = table[name](config, layers, int(number or 0))
    answer = next((name for name in found if found[name] is not None), None)
    if answer is None:
        raise CatalogError(f"missing {' or '.join(found)}")
    return answer, found[answer]


def _has(lines: Mapping[str, Any], word: str, kind: str) -> bool:
    """Tell whether a type has layers of a word."""
    if kind == CHUNK:
        return any(name.startswith("no_rope_layers") for name in lines["mixers"])
    if kind == WINDOW:
        return bool(lines["mixers"])
    return kind == FULL or (kind == "picked" and "indexers" in lines) or word in lines.get("words", ())


def _counts(config: Config, lines: Mapping[str, Any], layers: int) -> dict[str, Any]:
    """Numbers of layers with each kind of mixer and block, and the reach of their attention."""
    config.words = {word: kind for word, kind in WORDS.items() if _has(lines, word, kind)}
    uncounted = [kind for kind, (_, line) in UNCOUNTED.items() if line not in lines]
    config.refused = {word: kind for word, kind in WORDS.items() if kind in uncounted}
    # Types whose layers are all alike may list them, but not as mixers of another kind.
    listed = ("layer_types", layer_types(config, layers, 0))
    pattern, kinds = _plan(lines["mixers"], MIXERS, config, layers) if lines["mixers"] else listed
    found = Counter([FULL] * layers if kinds is None else kinds)
    chunk = config.whole("attention_chunk_size", 0) if found[CHUNK] else 0
    for kind, (said, line) in UNCOUNTED.items():
        if found[kind] and line not in lines:
            raise CatalogError(f"{pattern}: {found[kind]} of {layers} layers have {said}, which {LATER}")
    window = config.first("sliding_window", lines["window"]) if lines["mixers"] else 0
    if chunk and window and found[WINDOW]:
        raise CatalogError(f"{pattern}: layers with windows beside layers with chunks, which {LATER}")
    if found[WINDOW] and not window and any(name.startswith("sliding_") for name in lines):
        raise CatalogError(f"missing {lines['window']}, of layers whose attention has a shape of its own")
    near = found[CHUNK] if chunk else found[WINDOW] if window and "compressed" not in lines else 0
    attention = layers - found[STATE] - found[NONE]
    # The last layers read the keys and values of others.
    later = config.first("shared", lines["shared"]) or 0
    shared = Counter(kinds[-later:]) if kinds and later else Counter()
    counts = {
        "sliding_layers": near, "sliding_window": (near or "compressed" in lines) and (chunk or window),
        "chunked_attention": chunk > 0,
        "attention_layers": attention, "full_layers": attention - near, "mixerless_layers": found[NONE],
        "state_layers": found[STATE] + found[BOTH], "parallel_layers": found[BOTH],
        "heavily_compressed_layers": found[COMPRESSED],
        "shared_cache_layers": shared.total() - shared[WINDOW] * (near > 0),
        "sliding_shared_layers": shared[WINDOW] * (near > 0), "kinds": kinds,
    }  # fmt: skip
    if "compressed" in lines:
        counts |= {"compressed_layers": attention, "index_layers": found[PICKED]}
    if lines["blocks"]:
        _, (sparse, every) = _plan(lines["blocks"], BLOCKS, config, layers)
        counts |= {"moe_layers": sum(sparse), "moe_layer_interval": every if any(sparse) else 0, "sparse": sparse}
    if "indexers" in lines:
        counts["index_layers"] = sum(_plan(lines["indexers"], BLOCKS, config, layers)[1][0])
    return counts


def _refuse_missing(config: Config, lines: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    """Refuse a file that leaves out a size, or whose heads do not share the width of the model."""
    left_out = [str(lines.get(name, name)) for name, value in shape.items() if value is None and name not in OPTIONAL]
    # Sums have no value where another field has none.
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
    """Refuse what our shape cannot express, and what may change it unseen; say what it leaves out."""
    content = {name: value for name, value in config.content.items() if value is not None}
    model_type = content.get("model_type", "model")
    for name, value in lines["only"].items():
        if (found := config.get(name)) not in (None, value):
            reason = tables()["uncounted"].get(name)
            refusal = f": {reason}, which {LATER}" if reason else f" is a shape that is not known, only {value} is"
            raise CatalogError(f"{name}={quoted(found)}{refusal}")
    for name, other in lines["equal"].items():
        stated = name.strip("#").partition(".")[0] in content
        found = None if not stated else config.computed(name) if name.startswith("#") else config.get(name)
        if found is not None and found != config.computed(other):
            raise CatalogError(f"{name}={quoted(found)} is a shape that is not known, only that of {other} is")
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
