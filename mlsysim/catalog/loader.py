"""Read and check catalog files in TOML, the built-in ones and a user's own."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from mlsysim.catalog import hub
from mlsysim.catalog.entries import (
    Accelerator,
    Entry,
    Fabric,
    Fleet,
    Grid,
    MemoryDesign,
    MemoryKind,
    Node,
    Rent,
    SparseTransformerWorkload,
    TransformerWorkload,
)
from mlsysim.catalog.failures import Failures, Storage
from mlsysim.catalog.files import content_of
from mlsysim.catalog.recipes import Recipe
from mlsysim.catalog.stacks import Engine, Stack
from mlsysim.catalog.traffic import Traffic
from mlsysim.errors import CatalogError, InputError, MlsysimError, UnknownNameError, nearest, printable
from mlsysim.names import known_as
from mlsysim.tracebacks import at_the_call

#: Fields that a value takes over from its entry if it does not set them itself.
_PROVENANCE = ("source", "date", "kind")
#: Tables of a file whose entries stand in no group; all tables.
_FLAT: dict[str, type[Entry]] = {"Stacks": Stack, "Recipes": Recipe}
_TABLES = ("Hardware", "Models", "Systems", *_FLAT)
_FREE_TEXT = ("name", "description", "architecture", "variants", "unsettled", "evidence")
#: Header of an entry in a built-in file, or of a table in it.
_HEADER = re.compile(rf"^\[((?:{'|'.join(_FLAT)}|\w+\.\w+)\.\w+)", re.MULTILINE)


def _run_of(file: str) -> Entry:
    """Read a training run from the file of a framework; the reader is imported on first use."""
    from mlsysim.catalog.run_configs import from_file

    return from_file(file)


#: Readers by kind of entry and file extension.
_READ_BY: dict[str, dict[str, Callable[..., Entry]]] = {
    "traffic": dict.fromkeys((".csv", ".jsonl"), Traffic.from_trace),
    "model": {".json": TransformerWorkload.from_hf},
    "recipe": dict.fromkeys((".yaml", ".yml", ".sh", ".toml", ".json"), _run_of),
}
_READ_FROM = {
    "traffic": "traffic is read from a CSV or JSONL file of a trace",
    "model": "a model is read from a Hugging Face config.json, or from the folder that holds it",
    "recipe": "a run is read from Megatron-LM's YAML or command line, torchtitan's TOML, or the JSON of a Trainer",
}
_REFERENCES = {
    "node": "Systems.Nodes",
    "fabric": "Systems.Fabrics",
    "accelerator": "Hardware",
    "local_memory": "Systems.Memories",
    "remote_memory": "Systems.Memories",
    "model": "Models",
    "hardware": "Hardware",
    "fleet": "Systems.Clusters",
    "stack": "Stacks",
    "devices": "Hardware",
    "engine": "Systems.Engines",
    "expert_models": "Models",
}


class _Unread(Mapping[str, Any]):
    """Fields of a built-in entry: a mapping that is parsed on first access."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text

    @cached_property
    def _fields(self) -> dict[str, Any]:
        content = tomllib.loads(self._text)
        for name in self._path.split("."):
            content = content[name]
        return content

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


class Group:
    """A branch of the catalog such as ``Hardware.Cloud``. Supports attributes, ``dir()``, iteration and ``[]``."""

    def __init__(self, catalog: Catalog, path: str) -> None:
        self._catalog = catalog
        self._path = path

    def _names(self) -> list[str]:
        return self._catalog._children(self._path)

    @at_the_call
    def __getattr__(self, name: str) -> Any:
        if isinstance(name, str) and name.startswith("__"):
            raise AttributeError(name)
        path = f"{self._path}.{name}" if isinstance(name, str) else ""
        if path not in self._catalog._raw and (not path or name not in self._names()):
            within = [full.removeprefix(f"{self._path}.") for full in self._catalog._under(self._path)]
            raise UnknownNameError(f"entry of {self._path}", name, [*self._names(), *within])
        return self._catalog._at(path)

    __getitem__ = __getattr__

    def __dir__(self) -> list[str]:
        return self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()

    def __repr__(self) -> str:
        return f"<{self._path}: {', '.join(self._names())}>"


class Catalog:
    """Entries read from TOML, checked when first used (or all at once by :func:`load_catalog`).

    Parameters
    ----------
    content : mapping
        Parsed TOML: ``Hardware``, ``Models`` and ``Systems`` tables of groups of entries; ``Stacks`` and ``Recipes``
        tables of entries.
    origin : str
        File name used in errors.
    base : Catalog, optional
        Catalog in which references to entries not defined here are looked up.

    Examples
    --------
    >>> from mlsysim.catalog import builtin
    >>> builtin().find("hardware", "h100").name
    'NVIDIA H100 SXM5 80 GB'
    """

    def __init__(self, content: Mapping[str, Any], origin: str, base: Catalog | None = None) -> None:
        self._raw: dict[str, Mapping[str, Any]] = {}
        self._origin = origin
        self._base = base
        self._built: dict[str, Entry] = {}
        self._found: dict[tuple[str, str], Entry] = {}
        self._ignored: tuple[str, ...] = ()
        for top, groups in content.items():
            if top not in _TABLES:
                raise CatalogError(f"{origin}: {UnknownNameError('table', top, _TABLES)}")
            if top in _FLAT:
                self._raw |= {f"{top}.{name}": fields for name, fields in _tables(groups, f"{origin}: {top}").items()}
                continue
            for group, entries in _tables(groups, f"{origin}: {top}").items():
                for name, fields in _tables(entries, f"{origin}: {top}.{group}").items():
                    self._raw[f"{top}.{group}.{name}"] = fields

    @property
    def Hardware(self) -> Group:  # noqa: N802
        """Accelerators."""
        return Group(self, "Hardware")

    @property
    def Models(self) -> Group:  # noqa: N802
        """Machine-learning models."""
        return Group(self, "Models")

    @property
    def Systems(self) -> Group:  # noqa: N802
        """Nodes, fabrics, fleets, memory designs and kinds, rents, grids, engines, traffic, failures, storages."""
        return Group(self, "Systems")

    @property
    def Stacks(self) -> Group:  # noqa: N802
        """Software stacks."""
        return Group(self, "Stacks")

    @property
    def Recipes(self) -> Group:  # noqa: N802
        """Training runs."""
        return Group(self, "Recipes")

    def paths(self) -> tuple[str, ...]:
        """Full names of all entries, in file order."""
        return tuple(self._raw)

    @at_the_call
    def find(self, what: str, name: str) -> Entry:
        """Find an entry by its full name or the last part of it, in any case, or read it from a file.

        Parameters
        ----------
        what : str
            Kind of entry wanted: ``hardware``, ``model``, ``fleet``, ``node``, ``fabric``, ``design``,
            ``memory``, ``rent``, ``grid``, ``engine``, ``traffic``, ``failures``, ``storage``, ``stack`` or ``recipe``.
        name : str
            ``"H100"``, ``"Cloud.H100"`` or ``"Hardware.Cloud.H100"``. A model may also be a Hugging Face
            ``config.json``, the folder that holds it, or a Hub id whose file is in the local cache; traffic may also be
            a CSV or JSONL trace file.

        Raises
        ------
        CatalogError
            If a file cannot be read.
        UnknownNameError
            If no entry of that kind has the name; the error suggests the nearest names.
        """
        if isinstance(name, str) and (what, name) in self._found:
            return self._found[what, name]
        known: list[str] = []
        others: list[tuple[str, Catalog]] = []
        for catalog in (self, self._base):
            if catalog is None:
                continue
            candidates = [path for path in catalog._raw if _class_of(path).what == what]
            for path in candidates:
                if isinstance(name, str) and (path == name or path.endswith(f".{name}")):
                    entry = self._found[what, name] = catalog.entry(path)
                    return entry
            known += [path.rpartition(".")[2] for path in candidates]
            others += [(path, catalog) for path in candidates]
        alike = known_as(name, known)
        named = {str(catalog._raw[path].get("name")): path for path, catalog in others}
        if alike is None:
            alike = named.get(known_as(name, named) or "")
        if alike is not None:
            entry = self._found[what, name] = self.find(what, alike)
            return entry
        if what in _READ_BY and isinstance(name, str):
            readers = _READ_BY[what]
            folder = what == "model" and os.path.isdir(name)
            extension = next((extension for extension in readers if folder or name.endswith(extension)), "")
            if extension:
                return readers[extension](name, ignore=self._ignored) if what == "model" else readers[extension](name)
            if os.path.isfile(name):
                extensions = " or ".join(readers)
                raise InputError(what, name, f"is a file, but its name does not end in {extensions}", _READ_FROM[what])
        typed = name if isinstance(name, str) else ""
        hint, on_hub = "", hub.short_name(typed) if what == "model" else ""
        if on_hub:
            cached = hub.cached_model(typed, self._ignored)
            if cached is not None:
                return cached
            typed, hint = on_hub, hub.how_to_get(typed)
        elif other := self._kind_of(typed):
            hint = f"it is an entry for {other}"
        close = nearest(typed, known) or [named[full_name].rpartition(".")[2] for full_name in nearest(typed, named)]
        raise UnknownNameError(what, name, known, hint, close)

    def ignoring(self, fields: tuple[str, ...]) -> Catalog:
        """Copy the catalog, with model fields to ignore: they do not affect the shape.

        Parameters
        ----------
        fields : tuple of str
            Fields to skip in a model's file.

        Returns
        -------
        Catalog
        """
        if not fields:
            return self
        catalog = copy(self)
        catalog._ignored, catalog._found = fields, {}
        return catalog

    def _kind_of(self, name: str) -> str:
        """Return the kind of the entry with this name; empty if no kind or several kinds have one."""
        kinds = {
            _class_of(path).what
            for catalog in (self, self._base)
            if catalog is not None
            for path in catalog._raw
            if path == name or path.endswith(f".{name}")
        }
        return kinds.pop() if len(kinds) == 1 else ""

    @at_the_call
    def entry(self, path: str) -> Entry:
        """Return an entry by its full name; it is built and checked on first use.

        Parameters
        ----------
        path : str
            Full name, such as ``"Hardware.Cloud.H100"``.

        Returns
        -------
        Entry

        Raises
        ------
        CatalogError
            If its fields are not as declared.
        UnknownNameError
            If there is no such entry.
        """
        if not isinstance(path, str) or path not in self._raw:
            raise UnknownNameError("entry", path, self._raw)
        if path not in self._built:
            self._built[path] = self._build(path)
        return self._built[path]

    def named(self, path: str) -> tuple[str, str]:
        """Return kind and name of an entry by its full name, without building it.

        Parameters
        ----------
        path : str
            Full name.

        Returns
        -------
        tuple of (str, str)
        """
        return _class_of(path).what, self._built[path].name if path in self._built else self._raw[path]["name"]

    def _children(self, path: str) -> list[str]:
        depth = path.count(".") + 1
        return list(dict.fromkeys(full.split(".")[depth] for full in self._under(path)))

    def _under(self, path: str) -> list[str]:
        return [full for full in self._raw if full.startswith(f"{path}.")]

    def _at(self, path: str) -> Group | Entry:
        return self.entry(path) if path in self._raw else Group(self, path)

    def _build(self, path: str) -> Entry:
        fields = dict(self._raw[path])
        inherited = {key: fields.pop(key) for key in _PROVENANCE if key in fields}
        where = f"{self._origin}: {path}"
        try:
            kind = _class_of(path)
            if kind is TransformerWorkload and "experts" in fields:
                kind = SparseTransformerWorkload
            for field, content in fields.items():
                refers = field in _REFERENCES and field in kind.model_fields
                if refers and isinstance(content, str):
                    fields[field] = self._referred(content, field)
                elif refers and isinstance(content, list):
                    fields[field] = tuple(self._referred(item, field) for item in content)
                elif field == "source_stack" and isinstance(content, dict):
                    fields[field] = _stack(content, inherited, fields["name"])
                elif field not in _FREE_TEXT:
                    fields[field] = _with_provenance(content, inherited)
            if kind is Recipe:
                arguments = [name for name in fields if name not in (*_FREE_TEXT, *_REFERENCES)]
                fields["arguments"] = {name: fields.pop(name) for name in arguments}
            entry = kind(**fields)
        except MlsysimError as error:
            raise CatalogError(f"{where}: {error}") from None
        entry._key = path.rpartition(".")[2]
        return entry

    def _referred(self, path: str, field: str) -> Entry:
        known = [*self._raw, *(self._base._raw if self._base is not None else ())]
        within = [name for name in known if name.startswith(f"{_REFERENCES[field]}.")]
        for catalog in (self, self._base):
            if catalog is not None and path in catalog._raw and path in within:
                return catalog.entry(path)
        raise UnknownNameError(field, path, within)

    def __repr__(self) -> str:
        return f"<catalog {self._origin}: {len(self._raw)} entries>"


@at_the_call
def load_catalog(path: str | Path) -> Catalog:
    """Read a catalog file of your own and check every entry in it.

    Parameters
    ----------
    path : str or Path
        A TOML file laid out like the built-in ones; it may refer to built-in entries by their full names.

    Returns
    -------
    Catalog
        With ``.Hardware``, ``.Models``, ``.Systems``, ``.Stacks`` and ``.Recipes``.

    Raises
    ------
    CatalogError
        If the file cannot be read or is too large, or an entry is wrong; the error names file, entry and field.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlsysim import load_catalog
    >>> grid = ['[Systems.Grids.Mine]', 'name = "Mine"', 'source = "own"', 'date = "2026-01"', 'kind = "measured"',
    ...         'grid_carbon = "0.1 kg/kWh"']
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.toml")
    ...     size = file.write_text(chr(10).join(grid))
    ...     mine = load_catalog(file)
    >>> mine.Systems.Grids.Mine.text("grid_carbon")
    '0.1 kg/kWh'
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError("path", path, "must be the path of a TOML file")
    file = Path(path)
    content = content_of(file, "TOML", tomllib.loads)
    catalog = Catalog(content, str(file), base=builtin())
    for name in catalog.paths():
        catalog.entry(name)
    return catalog


@cache
def builtin() -> Catalog:
    """Return the built-in catalog, read on first use.

    Returns
    -------
    Catalog

    Examples
    --------
    >>> from mlsysim.catalog import builtin
    >>> builtin().entry("Hardware.Cloud.H100").name
    'NVIDIA H100 SXM5 80 GB'
    """
    files = [file for file in (resources.files("mlsysim.catalog") / "data").iterdir() if file.name.endswith(".toml")]
    return Catalog(_merged(sorted(files, key=_listed_as)), "mlsysim")


@cache
def stacks_of(engine: str) -> tuple[Stack, ...]:
    """Return an engine's stacks in the built-in catalog, the newest first.

    Parameters
    ----------
    engine : str
        Name of an engine.

    Returns
    -------
    tuple of Stack

    Examples
    --------
    >>> from mlsysim.catalog import stacks_of
    >>> [stack.engine.name for stack in stacks_of("vLLM")[:1]]
    ['vLLM']
    """
    raw = builtin()._raw
    named = (path for path, fields in raw.items() if _class_of(path) is Stack and "engine" in fields)
    newest = sorted(named, key=lambda path: str(raw[path]["date"]), reverse=True)
    stacks = [entry for path in newest if isinstance(entry := builtin().entry(path), Stack)]
    return tuple(stack for stack in stacks if stack.engine is not None and stack.engine.name == engine)


def _merged(files: Iterable[Traversable]) -> dict[str, Any]:
    """Merge files that share groups; an entry must be in one file only."""
    content: dict[str, Any] = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        headers = list(_HEADER.finditer(text))
        own: dict[str, str] = {}
        for header, end in zip(headers, [*(header.start() for header in headers[1:]), len(text)], strict=True):
            own[header[1]] = own.get(header[1], "") + text[header.start() : end]
        for path, fields in own.items():
            *groups, name = path.split(".")
            known = content
            for group in groups:
                known = known.setdefault(group, {})
            if name in known:
                raise CatalogError(f"{file.name}: {path} is in another file too")
            known[name] = _Unread(path, fields)
    return content


def _listed_as(file: Traversable) -> tuple[int, str]:
    """Sort key of a file: the tutorial's entries come first."""
    first = ("hardware_nvidia.toml", "models_llama.toml")
    return (first.index(file.name) if file.name in first else len(first), file.name)


def _tables(content: Any, where: str) -> dict[str, Any]:
    for name in content if isinstance(content, dict) else ():
        if not name or "." in name or printable(name, lines=False) != name:
            raise CatalogError(f"{where}: the name {name!r} is empty, or has a dot or a character that is not shown")
    if not isinstance(content, dict) or not all(isinstance(table, Mapping) for table in content.values()):
        raise CatalogError(f"{where}: must hold tables only, as in [Hardware.Cloud.H100]")
    return content


def _class_of(path: str) -> type[Entry]:
    top, group, *_ = path.split(".")
    if top in _FLAT:
        return _FLAT[top]
    if top == "Hardware":
        return Accelerator
    if top == "Models":
        return TransformerWorkload
    classes: dict[str, type[Entry]] = {
        "Nodes": Node,
        "Fabrics": Fabric,
        "Clusters": Fleet,
        "Designs": MemoryDesign,
        "Memories": MemoryKind,
        "Rents": Rent,
        "Grids": Grid,
        "Engines": Engine,
        "Traffic": Traffic,
        "Failures": Failures,
        "Storages": Storage,
    }
    if group not in classes:
        raise CatalogError(f"{path}: {UnknownNameError('group of Systems', group, classes)}")
    return classes[group]


def _stack(content: Mapping[str, Any], inherited: Mapping[str, Any], name: str) -> TransformerWorkload:
    """Build the stack that reads the source of the named model."""
    texts = {"name": f"what reads the source of {name}"} | {key: content[key] for key in _FREE_TEXT if key in content}
    own = {key: content[key] for key in _PROVENANCE if key in content}
    values = {key: value for key, value in content.items() if key not in texts and key not in own}
    return TransformerWorkload(**texts, **_with_provenance(values, {**inherited, **own}))


def _with_provenance(content: Any, inherited: Mapping[str, Any]) -> Any:
    if isinstance(content, str):
        number, _, unit = content.strip().partition(" ")
        content = {"value": number, "unit": unit.strip()}
    elif not isinstance(content, dict):
        content = {"value": content}
    if "value" in content:
        return {**inherited, **content}
    return {key: _with_provenance(item, inherited) for key, item in content.items()}
