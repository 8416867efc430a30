"""The catalog: every entry, and every value with its unit, source, date and kind."""

from __future__ import annotations

from collections import defaultdict

from mlsysim.book.markdown import code, joined, prose, table
from mlsysim.catalog import Entry, builtin
from website import entry_tables
from website.entry_tables import DEVICES, MODELS, cited
from website.knowledge import Knowledge
from website.markup import boxed

#: What a group of the catalog holds.
TITLES = {
    "Hardware.Cloud": "Accelerators",
    "Hardware.Workstation": "Accelerators of workstations",
    "Hardware.Edge": "Accelerators at the edge",
    "Models.Language": "Language models",
    "Models.Encoders": "Encoders",
    "Models.EncoderDecoders": "Encoder-decoders",
    "Models.VisionLanguage": "Vision-language models",
    "Models.Diffusion": "Diffusion transformers",
    "Stacks": "Software stacks",
    "Recipes": "Recipes of published runs",
    "Systems.Nodes": "Nodes",
    "Systems.Rents": "Rents",
    "Systems.Designs": "Designs with two tiers of memory",
    "Systems.Clusters": "Fleets",
    "Systems.Fabrics": "Fabrics",
    "Systems.Memories": "Kinds of memory",
    "Systems.Engines": "Inference engines",
    "Systems.Grids": "Electricity grids",
    "Systems.Traffic": "Traffic of benchmarks and of others",
    "Systems.Failures": "Failures of published runs",
    "Systems.Storages": "Storage of published runs",
}


def pages(known: Knowledge) -> dict[str, str]:
    """A page per group, and one that lists them."""
    catalog, groups = builtin(), defaultdict(dict)
    for path in catalog.paths():
        groups[path.rpartition(".")[0]][path] = catalog.entry(path)
    found = {f"catalog/{group}.md": _group(group, groups[group]) for group in TITLES}
    every = {path: entry for entries in groups.values() for path, entry in entries.items()}
    found |= {f"catalog/{about.name}.md": entry_tables.page(about, every) for about in (DEVICES, MODELS)}
    count = sum(len(entry.values()) for entries in groups.values() for entry in entries.values())
    rows = [(f"[{TITLES[group]}]({group}.md)", code(group), str(len(groups[group]))) for group in TITLES]
    found["catalog/index.md"] = joined([
        "# Catalog", "",
        f"{sum(map(len, groups.values()))} entries with {count} values. Each value has a unit, a source, a date and a "
        "kind; [what the kinds mean, and entries of your own](../docs/catalog.md).",
        "", f"- [{DEVICES.title}]({DEVICES.name}.md) in one table, to sort and filter",
        f"- [{MODELS.title}]({MODELS.name}.md) in one table, to sort and filter",
        "", *table(("Group", "In Python", "Entries"), rows),
    ])  # fmt: skip
    assert set(groups) == set(TITLES), "name the groups of the catalog"
    return found


def _group(group: str, entries: dict[str, Entry]) -> str:
    lines = [f"# {TITLES[group]}", "", f"{len(entries)} entries of {code(group)}.", ""]
    for path, entry in entries.items():
        lines += [
            f"## {prose(entry.name)}",
            "",
            f"{code(path)}{': ' + prose(entry.description) if entry.description else ''}",
            "",
        ]
        lines += [*_parts(entry), *_values(entry), ""]
    return joined(lines)


def _parts(entry: Entry) -> list[str]:
    """The entries that an entry is made of."""
    parts = {name: part for name in type(entry).model_fields if isinstance(part := getattr(entry, name), Entry)}
    return [", ".join(f"{code(name)} is {prose(part.name)}" for name, part in parts.items()) + ".", ""] if parts else []


def _values(entry: Entry) -> list[str]:
    rows = []
    for name, value in entry.values().items():
        low = getattr(value, "low", None)
        within = f" ({low:g} to {value.high:g})" if low is not None else ""
        on = f"Calibrated on {value.calibrated_on}." if value.calibrated_on else ""
        rows.append((
            code(name), prose(entry.text(name)) + within, value.kind, value.date, _source(value.source),
            prose(" ".join(filter(None, (on, value.note)))),
        ))  # fmt: skip
    return boxed("values", table(("Name", "Value", "Kind", "Date", "Source", "Note"), rows)) if rows else []


def _source(key: str) -> str:
    """Where a value comes from, as a link where there is one."""
    shown, address = cited(key)
    return f"[{shown}](<{address}>)" if address else prose(shown)
