"""A table in an explanation: one row for each member of a family, with what its formula needs and what bound."""

from __future__ import annotations

from collections.abc import Callable

from mlsysim.symbolic import Formula, family_of
from mlsysim.symbolic.indexed import tables
from mlsysim.symbolic.printing import latex_to_text, symbol_text
from mlsysim.symbolic.variable import declaration_order


def member_table(
    formula: Formula,
    value: Callable[[str], str],
    is_zero: Callable[[str], bool],
    inserted: Callable[[Formula], str],
    bound: Callable[[Formula], str],
) -> list[str]:
    """The members of a formula with an index, as lines of text; those that are zero share one line.

    Parameters
    ----------
    formula : Formula
        One with an index.
    value : callable
        Text of a variable's value, by name.
    is_zero : callable
        Whether a variable is zero, by name.
    inserted : callable
        A member's right side with numbers put in.
    bound : callable
        Which case held and which argument of a maximum or minimum bound, for a member.

    Returns
    -------
    list of str
    """
    assert formula.index is not None
    members = [each for each in formula.members if not is_zero(each.name)]
    none = [each.member for each in formula.members if is_zero(each.name)]
    place = declaration_order()
    names = sorted((variable.name for variable in formula.inputs), key=place.__getitem__)
    families = [found for found in map(family_of, names) if found]
    header = [latex_to_text(formula.index.letter), symbol_text(formula.variable)]
    rows = [[each.member, value(each.name)] for each in members]
    if any(tables(formula.expression)):
        header.append("")
        rows = [[*row, inserted(each)] for row, each in zip(rows, members, strict=True)]
    else:
        header += [symbol_text(found.variable) for found in families]
        rows = [
            [*row, *(value(found[each.member].name) for found in families)]
            for row, each in zip(rows, members, strict=True)
        ]
    notes = [bound(each) for each in members]
    if any(notes):
        header.append("binds")
        rows = [[*row, note] for row, note in zip(rows, notes, strict=True)]
    lines = _aligned([header, *rows]) if rows else []
    return [*lines, f"zero for {', '.join(none)}"] if none else lines


def _aligned(rows: list[list[str]]) -> list[str]:
    """Cells below one another, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
