"""Launch commands for a layout: options of inference engines and training frameworks, from ``launchers.toml``."""

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
#: Precisions whose weights an engine quantizes on loading; other precisions are those of a checkpoint.
_LOADED_AS = {"bf16": "as_stored", "fp16": "as_stored", "fp8": "fp8", "w8a8": "fp8"}


class NotLaunchableError(MlsysimError):
    """A layout for which an engine has no options."""


@dataclass(frozen=True)
class Flag:
    """An option of a command.

    Parameters
    ----------
    flag : str
        Option as typed, without its value.
    sets : str
        Argument that it sets.
    default : object
        Value at which the option is omitted; the name of another argument stands for that argument's value.
    words : mapping
        Spellings of values; empty if they need no translation.
    switch : bool
        True if the option takes no value.
    only : str
        Argument that the value must equal, unless it is the default.
    file : bool
        True if it is a line of a configuration file.
    end : str
        Text after the value.
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
        """Format the option with its value; empty if it is omitted.

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
        Name in the catalog and in words, and version of the documentation.
    source, date : str
        URL of the documentation, and date of reading.
    command : str
        Beginning of the command.
    note : str
        Caveats of its options.
    unmixed : str
        Reason why it cannot prefill whole prompts in turn.
    flags, shape : tuple of Flag
        Options of a layout, and of a model's shape.
    fixed : str
        Options of every run.
    modes : mapping
        Scheduling modes of prompts, with the options of each.
    pools : mapping
        Options of prefill and decode engines, a line of their files, and the router.
    axes : mapping
        Values among which a search may choose.
    stacks : tuple of str
        Prefixes of the names of stacks with its times; the first that covers a device wins.
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
        """Return the stack with times for a device: one measured on it, else one for any device."""
        stacks = [getattr(builtin().Stacks, name) for name in builtin().Stacks]
        own = [stack for start in self.stacks for stack in stacks if stack.key.startswith(start)]
        return next((stack for stack in own if device.name in [known.name for known in stack.devices]), own[-1])

    def options(self, values: Mapping[str, Any]) -> str:
        """Format the options of a training run, without the beginning of the command."""
        return " ".join(filter(None, [self.fixed, *(flag.text(values) for flag in (*self.shape, *self.flags))]))

    def training(self, values: Mapping[str, Any]) -> str:
        """Format the command of a training run."""
        return f"{self.command.format(**values)} {self.options(values)}"

    def serving(self, values: Mapping[str, Any], mode: str) -> tuple[str, ...]:
        """Format the commands that serve a layout: one, or those of a prefill pool, a decode pool and a router.

        Parameters
        ----------
        values : mapping
            Arguments of the layout.
        mode : {"colocated", "chunked", "pools"}
            Scheduling of prompts.

        Raises
        ------
        NotLaunchableError
            If the engine has no options for them.
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
    """Engines and frameworks by name."""
    text = (resources.files("mlsysim.catalog") / "launchers.toml").read_text("utf-8")
    return {key: Launcher(key=key, **_fields(content)) for key, content in tomllib.loads(text).items()}


def launcher(key: str, what: str = "engine") -> Launcher:
    """Look up an engine or framework by name.

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
    """Compute sizes that options of engines need and no argument gives."""
    groups = values.get("dp_attention_size", 1)
    sizes = {"ranks": values.get("tp_size", 1) * groups}
    for name, own in (("engine_requests", "max_num_seqs"), ("engine_tokens", "max_num_batched_tokens")):
        if own in values:
            sizes[name] = values[own] * groups
    return sizes


def repository(entry: TransformerWorkload) -> str:
    """Return the Hub repository that an entry cites, else its name in the catalog."""
    said = [value.source for value in _values(entry)]
    cited = (re.search(r"huggingface\.co/([\w.-]+/[\w.-]+)", text) for text in said)
    return next((match[1] for match in cited if match), entry.key or entry.name)


def weights_of(entry: TransformerWorkload, precision: str) -> str:
    """Return the format in which an engine loads weights of a precision; ``as_stored`` if unchanged."""
    stored = entry.weight_format.value if entry.weight_format is not None else ""
    found = _LOADED_AS.get(precision, "as_stored")
    return "as_stored" if stored.startswith(found) else found


def _values(entry: TransformerWorkload) -> Iterator[Sourced]:
    return (value for name in type(entry).model_fields if isinstance(value := getattr(entry, name), Sourced))


def shape_of(entry: TransformerWorkload) -> dict[str, Any]:
    """Format a model's shape as options of Megatron-LM; empty if it has layers that they cannot describe."""
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
