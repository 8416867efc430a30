"""Commands that launch a layout: options of inference engines and training frameworks, from ``launchers.toml``."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from mlsysim.catalog.entries import Accelerator, SparseTransformerWorkload, TransformerWorkload
from mlsysim.catalog.loader import builtin
from mlsysim.catalog.stacks import Stack
from mlsysim.catalog.value import Sourced, Value
from mlsysim.errors import MlsysimError, UnknownNameError

#: Layers that no option of Megatron-LM describes.
_UNUSUAL = ("sliding_layers", "state_layers", "index_layers", "compressed_layers", "cross_layers", "gate_width")
#: Precisions whose weights an engine quantizes while it loads them; any other is that of a checkpoint.
_LOADED_AS = {"bf16": "as_stored", "fp16": "as_stored", "fp8": "fp8", "w8a8": "fp8"}


class NotLaunchableError(MlsysimError):
    """A layout that an engine has no options for."""


@dataclass(frozen=True)
class Flag:
    """An option of a command.

    Parameters
    ----------
    flag : str
        As it is typed, without its value.
    sets : str
        Argument that it sets.
    default : object
        Value at which it is left out; the name of another argument for the value of that one.
    words : mapping
        What stands for each value; empty where none has to.
    switch : bool
        Whether it stands alone.
    only : str
        Argument that the value must equal, unless it is the default.
    file : bool
        Whether it is a line of a configuration file and no option.
    end : str
        What follows the value.
    """

    flag: str
    sets: str
    default: Any = None
    words: Mapping[str, str] = field(default_factory=dict)
    switch: bool = False
    only: str = ""
    file: bool = False
    end: str = ""

    def text(self, values: Mapping[str, Any]) -> str:
        """The option with its value; empty where it is left out.

        Raises
        ------
        NotLaunchableError
            If no option has the value.
        """
        value = values.get(self.sets)
        default = values.get(self.default, self.default) if isinstance(self.default, str) else self.default
        if value is None or value == default:
            return ""
        if self.only and value != values[self.only]:
            raise NotLaunchableError(f"{self.sets} is 1 or all {values[self.only]} ranks of an engine, not {value}")
        if self.switch:
            return self.flag if value else ""
        word = self.words.get(str(value)) if self.words else str(value)
        if word is None:
            raise NotLaunchableError(f"{self.sets} is {' or '.join(self.words)}, not {value}")
        return f"{self.flag}{'' if self.file else ' '}{word}{self.end}" if word else ""


@dataclass(frozen=True)
class Launcher:
    """An engine or framework with the options that set a layout.

    Parameters
    ----------
    key, name, version : str
        Its name in the catalog and in words, and the version whose documentation was read.
    source, date : str
        Address of the documentation, and when it was read.
    command : str
        What the command begins with.
    note : str
        What a reader must know of its options.
    unmixed : str
        Why it has no way to prefill whole prompts by turns.
    flags, shape : tuple of Flag
        Options of a layout, and of the shape of a model.
    fixed : str
        Options of every run.
    modes : mapping
        Ways to schedule prompts, with the options of each.
    pools : mapping
        Options of engines that prefill and that decode, a line of their files, and what routes between them.
    axes : mapping
        Values that a search may choose.
    stacks : tuple of str
        How names of the stacks begin whose times it has, the first that knows a device before others.
    """

    key: str
    name: str
    version: str
    source: str
    date: str
    command: str
    note: str = ""
    unmixed: str = ""
    flags: tuple[Flag, ...] = ()
    shape: tuple[Flag, ...] = ()
    fixed: str = ""
    modes: Mapping[str, str] = field(default_factory=dict)
    pools: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    stacks: tuple[str, ...] = ()

    def stack_for(self, device: Accelerator) -> Stack:
        """The stack whose times are taken on a device: one that was measured on it, else one of any device."""
        stacks = [getattr(builtin().Stacks, name) for name in builtin().Stacks]
        own = [stack for start in self.stacks for stack in stacks if stack.key.startswith(start)]
        return next((stack for stack in own if device.name in [known.name for known in stack.devices]), own[-1])

    def options(self, values: Mapping[str, Any]) -> str:
        """Options of a training run, without what the command begins with."""
        return " ".join(filter(None, [self.fixed, *(flag.text(values) for flag in (*self.shape, *self.flags))]))

    def training(self, values: Mapping[str, Any]) -> str:
        """The command of a training run."""
        return f"{self.command.format(**values)} {self.options(values)}"

    def serving(self, values: Mapping[str, Any], mode: str) -> tuple[str, ...]:
        """Commands that serve a layout: one, or those of a pool that prefills, of one that decodes, and of a router.

        Parameters
        ----------
        values : mapping
            Arguments of the layout.
        mode : {"colocated", "chunked", "pools"}
            How prompts are scheduled.

        Raises
        ------
        NotLaunchableError
            If it has no options for them.
        """
        if mode != "pools":
            if mode not in self.modes:
                raise NotLaunchableError(self.unmixed)
            return (self._server(values, self.modes[mode]),)
        own = {name.removeprefix("prefill_"): value for name, value in values.items() if name.startswith("prefill_")}
        prefill = {**values, **{name: value for name, value in own.items() if value}}
        file = self.pools.get("file", "")
        return (
            self._server(prefill, self.pools["prefill"], file),
            self._server(values, self.pools["decode"], file),
            self.pools["router"],
        )

    def _server(self, layout: Mapping[str, Any], mode: str, line: str = "") -> str:
        values = {**layout, **_of_engine(layout)}
        texts = [(flag.file, flag.text(values)) for flag in self.flags]
        lines = [line, *(text for file, text in texts if file)]
        said = ", ".join(filter(None, lines))
        words = [self.command.format(**values), *(text for file, text in texts if not file), mode]
        return " ".join(filter(None, words)) + (f" --config FILE  # FILE: {said}" if said else "")


@cache
def launchers() -> dict[str, Launcher]:
    """Every engine and framework, by name."""
    text = (resources.files("mlsysim.catalog") / "launchers.toml").read_text("utf-8")
    return {key: Launcher(key=key, **_fields(content)) for key, content in tomllib.loads(text).items()}


def launcher(key: str, what: str = "engine") -> Launcher:
    """An engine or framework by its name.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    trains = what == "framework"
    known = {name: entry for name, entry in launchers().items() if bool(entry.axes) == trains}
    if key not in known:
        raise UnknownNameError(what, key, known)
    return known[key]


def _fields(content: Mapping[str, Any]) -> dict[str, Any]:
    made = {name: tuple(Flag(**line) for line in content.get(name, ())) for name in ("flags", "shape")}
    return {**content, **made}


def _of_engine(values: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes that options of engines count and no argument does."""
    groups = values.get("dp_attention_size", 1)
    sizes = {"ranks": values.get("tp_size", 1) * groups}
    for name, own in (("engine_requests", "max_num_seqs"), ("engine_tokens", "max_num_batched_tokens")):
        if own in values:
            sizes[name] = values[own] * groups
    return sizes


def repository(entry: TransformerWorkload) -> str:
    """Repository of the Hugging Face Hub that an entry cites, else its name in the catalog."""
    said = [value.source for value in _values(entry)]
    cited = (re.search(r"huggingface\.co/([\w.-]+/[\w.-]+)", text) for text in said)
    return next((match[1] for match in cited if match), entry.key or entry.name)


def weights_of(entry: TransformerWorkload, precision: str) -> str:
    """Format that an engine loads weights of a precision as; ``as_stored`` if it takes them as they are."""
    stored = entry.weight_format.value if entry.weight_format is not None else ""
    found = _LOADED_AS.get(precision, "as_stored")
    return "as_stored" if stored.startswith(found) else found


def _values(entry: TransformerWorkload) -> Iterator[Sourced]:
    return (value for name in type(entry).model_fields if isinstance(value := getattr(entry, name), Sourced))


def shape_of(entry: TransformerWorkload) -> dict[str, Any]:
    """Shape of a model as the options of Megatron-LM count it; empty where it has layers that none describes."""
    fields = {name: getattr(entry, name) for name in type(entry).model_fields}
    known = {name: value.value for name, value in fields.items() if isinstance(value, Value)}
    if any(known.get(name) for name in _UNUSUAL):
        return {}
    shape = {name: int(value) for name, value in known.items() if value == int(value)}
    layers, sparse = shape["layers"], isinstance(entry, SparseTransformerWorkload)
    dense = layers - shape.get("moe_layers", 0)
    biased = bool(shape.get("mlp_bias"))
    return {
        **shape,
        "head_dim": shape.get("head_dim", shape["hidden_dim"] // shape["heads"]),
        "tokens_known": shape["vocab_size"] - 1,
        "untied": not shape.get("tied_embeddings"),
        "rotary": not shape.get("learned_positions"),
        "positions": shape.get("learned_positions") or shape.get("max_position_embeddings"),
        "unbiased": not biased,
        "qkv_bias_alone": bool(shape.get("qkv_bias")) and not biased,
        "rms": not shape.get("norm_bias"),
        "sparse": sparse,
        "moe_pattern": shlex.quote(f"([0]*{dense}+[1]*{layers - dense})") if sparse and dense else "1",
    }
