"""All devices, and all models, of the catalog in one table each, which a reader sorts and filters in the page."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

from mlsysim import units
from mlsysim.book.markdown import joined, slug
from mlsysim.catalog import Entry, Value
from mlsysim.models import ParameterCountModel
from mlsysim.references import is_page, reference


@dataclass(frozen=True)
class Column:
    """A column of numbers.

    Parameters
    ----------
    key : str
        Its name in filters: ``memory>=80``.
    title : str
        Its heading.
    names : tuple of str
        Values that fill it; the first that an entry has.
    unit : str
        The unit of all its numbers.
    shown : str
        What a reader calls the unit, where that is another word.
    scale : float
        How many of the unit are one of the column.
    """

    key: str
    title: str
    names: tuple[str, ...]
    unit: str = ""
    shown: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class EntryTable:
    """A table of entries.

    Parameters
    ----------
    name : str
        Name of its page.
    title : str
        Its heading.
    branch : str
        Branch of the catalog whose entries it lists.
    kinds : mapping
        Names of the groups of the branch, as a column shows them.
    columns : tuple of Column
        What it shows of each.
    example : str
        A filter to begin with.
    note : str
        A sentence below its heading.
    """

    name: str
    title: str
    branch: str
    kinds: Mapping[str, str]
    columns: tuple[Column, ...]
    example: str
    note: str = ""


DEVICES = EntryTable(
    "devices", "Table of devices", "Hardware", {"Cloud": "cloud", "Workstation": "workstation", "Edge": "edge"},
    (
        Column("memory", "Memory", ("datasheet_memory", "memory_capacity"), "GB"),
        Column("bandwidth", "Memory bandwidth", ("memory_bandwidth",), "GB/s"),
        *(Column(key, f"{key} peak", (f"peak_flops.{key}",), "TFLOP/s") for key in ("fp32", "bf16", "fp8", "fp4")),
        Column("int8", "int8 peak", ("peak_flops.int8",), "TFLOP/s", "TOP/s"),
        Column("link", "Link, one way", ("link_bandwidth",), "GB/s"),
        Column("tdp", "TDP", ("tdp",), "W"),
    ),
    "h100 memory>=90",
)  # fmt: skip
MODELS = EntryTable(
    "models", "Table of models", "Models",
    {"Language": "language", "Encoders": "encoder", "EncoderDecoders": "encoder-decoder",
     "VisionLanguage": "vision-language", "Diffusion": "diffusion"},
    (
        Column("parameters", "Parameters", ("parameters", "counted_parameters"), "", "billions", 1e9),
        Column("active", "Active", ("active_parameters", "counted_active_parameters"), "", "billions", 1e9),
        Column("layers", "Layers", ("layers",)),
        Column("width", "Width", ("hidden_dim",)),
        Column("heads", "Heads", ("heads",)),
        Column("kv_heads", "KV heads", ("kv_heads",)),
        Column("experts", "Experts", ("experts",)),
        Column("per_token", "Experts per token", ("active_experts_per_token",)),
        Column("vocabulary", "Vocabulary", ("vocab_size",)),
        Column("context", "Context", ("max_position_embeddings",)),
    ),
    "qwen parameters<40",
    "Parameters that no source states are counted from the shape.",
)  # fmt: skip


def page(about: EntryTable, entries: Mapping[str, Entry]) -> str:
    """The page of a table; without a script the table stands as it is."""
    mine = {path: entry for path, entry in entries.items() if path.startswith(f"{about.branch}.")}
    intro = (
        f"{len(mine)} entries. A heading sorts; the filter takes words and bounds, such as `{about.example}`. "
        "The last column has source, date and kind of each value, and a cell has its own as its title. "
        f"{about.note}"
    )
    heads = [
        _head("name", "Name", "text"), _head("group", "Group", "text"), *map(_column_head, about.columns),
        _head("date", "Newest", "text"), "<th scope=\"col\">Sources</th>",
    ]  # fmt: skip
    rows = [_row(about, path, entry) for path, entry in mine.items()]
    lines = [
        f'<div class="entry-table" data-example="{html.escape(about.example)}">',
        '<link rel="stylesheet" href="../_static/entries.css">',
        '<div class="table-wrapper docutils container"><table class="docutils">',
        f"<caption>{about.title} of the catalog</caption>",
        f"<thead><tr>{''.join(heads)}</tr></thead>",
        "<tbody>", *rows, "</tbody></table></div>",
        '<script defer src="../_static/entries.js"></script></div>',
    ]  # fmt: skip
    return joined([f"# {about.title}", "", intro, "", *lines])


def _column_head(column: Column) -> str:
    shown = column.shown or column.unit
    return _head(column.key, f"{column.title}{f' [{shown}]' if shown else ''}", "number")


def _head(key: str, title: str, kind: str) -> str:
    return f'<th scope="col" data-key="{key}" data-kind="{kind}">{html.escape(title)}</th>'


def _row(about: EntryTable, path: str, entry: Entry) -> str:
    group = path.rpartition(".")[0]
    values = entry.values()
    link = f'<a class="reference internal" href="{group}.html#{slug(entry.name)}">{html.escape(entry.name)}</a>'
    cells = [
        f'<th scope="row" data-words="{html.escape(path)}">{link}</th>',
        f"<td>{about.kinds[group.partition('.')[2]]}</td>",
        *(_cell(column, entry) for column in about.columns),
        f"<td>{max((value.date for value in values.values()), default='–')}</td>", f"<td>{_sources(entry)}</td>",
    ]  # fmt: skip
    return f"<tr>{''.join(cells)}</tr>"


def _cell(column: Column, entry: Entry) -> str:
    value = _value(column, entry)
    if value is None:
        return '<td data-value="">–</td>'
    number = round(value.canonical / (units.factor(column.unit) * column.scale), 6)
    shown = f"{number:,.0f}" if number == int(number) else f"{number:,.4g}"
    stated = value.kind != "user"
    told = html.escape(f"{value.kind}, {value.date}, {cited(value.source)[0]}" if stated else value.source, quote=True)
    return f'<td data-value="{number:.10g}" title="{told}">{shown}</td>'


def _value(column: Column, entry: Entry) -> Value | None:
    """The first value that an entry has; parameters that nobody states are counted from the shape."""
    values = entry.values()
    found = next((value for name in column.names if isinstance(value := values.get(name), Value)), None)
    counted = ParameterCountModel.slots["model"].counted
    if found or not counted or column.names[0] not in counted.names:
        return found
    return counted.value(entry, column.names[0]) if column.key == "parameters" or "experts" in values else None


def _sources(entry: Entry) -> str:
    """Every value with kind, date and source, folded; a value that says more does so in its group's page."""
    values = entry.values()
    items = []
    for name, value in values.items():
        words, address = cited(value.source)
        shown = html.escape(words)
        cite = f'<a class="reference external" href="{html.escape(address)}">{shown}</a>' if address else shown
        items.append(f"<li>{name} {html.escape(entry.text(name))}: {value.kind}, {value.date}, {cite}</li>")
    return f"<details><summary>{len(values)} values</summary><ul>{''.join(items)}</ul></details>"


def cited(key: str) -> tuple[str, str]:
    """A source in a few words, and its address."""
    if is_page(key):
        shown = key.partition("//")[2].removeprefix("www.")
        return (f"{shown[:36]}{'…' if len(shown) > 36 else ''}", key)
    work = reference(key)
    return (work.anchor, work.link()) if work.link() else (work.text(), "")
