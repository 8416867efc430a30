"""HTML page of a result in a notebook: the question, the headline with bars, inputs, and the rest folded."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from mlsysim.inputs.binding import DEFAULT, GIVEN
from mlsysim.study.results.display import INFINITE, endless, listed

#: Colours of a bar, readable on light and dark pages.
FILLED, EMPTY = "#4c78a8", "rgba(128, 128, 128, 0.2)"
LEFT = "style='text-align:left'"


def page(result: Any) -> str:
    """Render a result as HTML.

    Parameters
    ----------
    result : mlsysim.study.results.result.Result
        Result to render.
    """
    model = result.model
    computed = {*result}
    answers = [name for name in model.headline if name in computed]
    infinite = endless(result, answers)
    heads = [name for name in answers if name not in infinite]
    others = [name for name in result if name not in answers and not result.is_zero_member(name)]
    entries = ", ".join(f"{argument}: {entry.name}" for argument, entry in result.entries.items())
    lines = [
        f"<strong>{html.escape(model.question())}</strong>",
        *map(html.escape, filter(None, (repr(model), entries))),
    ]
    title = "".join(f"<p>{line}</p>" for line in lines)
    title += f"<p><strong>{html.escape(result.obstacle)}</strong></p>" if result.obstacle else ""
    lines = [INFINITE.format(", ".join(infinite))] if infinite else []
    lines += [note for note in result.notes if note != result.obstacle]
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in lines)
    rest = f"<details><summary>{len(others)} values on the way</summary>{_table(result, others)}</details>"
    return f"<div>{title}{_table(result, heads)}{_inputs(result)}{notes}{rest if others else ''}</div>"


def _table(result: Any, names: Sequence[str]) -> str:
    shares = _shares(result, names)
    rows = []
    for name, text, meaning in listed(result.model, names, {name: result.canonical(name) for name in names}):
        part = name.lstrip()
        bar = _bar(shares[part]) if part in shares else ""
        rows.append(
            f"<tr><td {LEFT}>{'&emsp;' * (name != part)}<code>{html.escape(part)}</code></td>"
            f"<td style='text-align:right;white-space:nowrap'>{html.escape(text)}</td><td>{bar}</td>"
            f"<td {LEFT}>{html.escape(meaning)}</td></tr>"
        )
    head = f"<tr><th {LEFT}>output</th><th>value</th><th></th><th {LEFT}>meaning</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _shares(result: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the share of each output in the total of which it is declared or written as a part."""
    shares = {}
    for name in names:
        expression = result.model.system[name].expression
        addends = [str(part) for part in expression.args if part.is_Symbol] if expression.is_Add else []
        whole = result.canonical(name)
        if math.isfinite(whole) and whole > 0:
            parts = result.model.parts_of(name) or addends
            shares |= {part: result.canonical(part) / whole for part in parts if part in names}
    return shares


def _bar(share: float) -> str:
    """Draw a share of a total as a bar."""
    filled = 100 * min(1.0, max(0.0, share)) if math.isfinite(share) else 0.0
    colours = f"linear-gradient(to right, {FILLED} {filled:.1f}%, {EMPTY} {filled:.1f}%)"
    shape = "display:inline-block;width:8em;height:0.7em"
    return f"<span role='img' aria-label='{filled:.0f}%' style='{shape};background:{colours}'></span>"


def _inputs(result: Any) -> str:
    """Table of the given inputs and, folded, of the defaults."""
    blocks = []
    for title, origin in (("Given", GIVEN), ("Assumed", DEFAULT)):
        texts = ", ".join(f"{name}={text}" for name, text in result.inputs_as(origin).items())
        if texts:
            is_open = " open" if origin == GIVEN else ""
            blocks.append(f"<details{is_open}><summary>{title}</summary>{html.escape(texts)}</details>")
    return "".join(blocks)
