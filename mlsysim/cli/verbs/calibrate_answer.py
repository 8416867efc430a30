"""Answer of ``mlsysim calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mlsysim.catalog import Catalog
from mlsysim.cli import axes
from mlsysim.cli.foot import print_basis, with_basis
from mlsysim.cli.ignored import IGNORED
from mlsysim.cli.words import in_options, shelf_of
from mlsysim.errors import InputError, printable
from mlsysim.inputs.recipe import as_run
from mlsysim.models import PerformanceModel
from mlsysim.study.calibration.calibration import Calibration
from mlsysim.study.calibration.residuals import Residuals
from mlsysim.study.calibration.table import Table, read_table

#: Options of the command that are arguments of the method.
OPTIONS = ("free", "outputs", "ignore", "space", "save", "name", "source")


@in_options(
    OPTIONS,
    ("space",),
    {r"\b(ignore|outputs)=\['(\w+)'\]": r"--\1 \2", r"^observations=": ""},
)
def answer(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    table: Path,
    free: str,
    outputs: str | None,
    space: str,
    predict: Path | None,
    rows: bool,
    save: Path | None,
    name: str,
    source: str,
    variant: str | None,
    catalog: Path | None,
    as_json: bool,
) -> None:
    """Print the estimates, predict other rows, and save the values."""
    if (save is None) != (not name):
        raise InputError("save", str(save or ""), "a stack is saved under a name", "--save own.toml --name Ours_H100")
    shelf = shelf_of(catalog)
    arguments = axes.arguments(kind, words, shelf)
    model = as_run(kind.asked(variant), arguments)
    carried = _names(",".join(IGNORED.get()))
    calibration = model.calibrate(
        _names(free),
        _read(kind, table, shelf),
        outputs=_names(outputs) or None,
        ignore=[name for name in carried if name in _columns(table)],
        space=space,
        **arguments,
    )
    _ = calibration.leave_one_out
    others = None
    if predict is not None:
        ignored = [name for name in carried if name in _columns(predict)]
        others = calibration.predict(_read(kind, predict, shelf), ignore=ignored)
    if save is not None:
        calibration.save(save, name, source=source)
    _show(calibration, others, rows, as_json)
    if save is not None and not as_json:
        print(printable(f"Written: {save}. Use it: --catalog {save} --stack {name}"))


def _show(calibration: Calibration, others: Residuals | None, rows: bool, as_json: bool) -> None:
    if as_json:
        more = {"predicted": others.to_dict()} if others is not None else {}
        print(with_basis({**calibration.to_dict(), **more}, calibration.basis))
        return
    print(calibration)
    if rows:
        print(f"\n{calibration.residuals}")
    if others is not None:
        print(f"\nOther rows. {others}")
    print_basis(calibration.basis)


def _names(text: str | None) -> list[str]:
    return [name.strip().replace("-", "_") for name in text.split(",")] if text else []


def _columns(table: Path) -> set[str]:
    return {column.name for column in read_table(table).columns}


def _read(kind: type[PerformanceModel], file: Path, shelf: Catalog) -> Table:
    """Replace names in a table by entries of the user's own catalog, where it has them."""
    table = read_table(file)
    columns = []
    for column in table.columns:
        slot = kind.slots.get(column.name)
        if slot is not None:
            cells = (shelf.find(slot.entry.what, cell) if isinstance(cell, str) else cell for cell in column.cells)
            column = replace(column, cells=tuple(cells))
        columns.append(column)
    return replace(table, columns=tuple(columns))
