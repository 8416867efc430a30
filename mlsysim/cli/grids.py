"""Answers of ``mlsysim sweep``, ``search`` and ``pareto``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from mlsysim.cli import axes
from mlsysim.cli.exits import Exit
from mlsysim.cli.files import replaced, written
from mlsysim.cli.foot import print_basis, with_basis
from mlsysim.cli.summary import accepted, as_records, cell_text, print_sweep, write_csv
from mlsysim.cli.theme import THEME
from mlsysim.cli.words import as_choices, in_options, or_first, shelf_of
from mlsysim.errors import InputError, MlsysimError
from mlsysim.extras import require
from mlsysim.inputs.recipe import as_run
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import words_for
from mlsysim.study.results.basis import Basis, at_point, of_result
from mlsysim.study.searches.designs import Designs

FIGURES, STORES = (".png", ".pdf", ".svg"), (".nc", ".zarr")
#: Most panels of a figure, one per value of a third axis.
PANELS = 6
OPTIONS = ("minimize", "maximize", "subject_to", "top", "method", "time_limit", "checkpoint", "certificate",
           "outputs", "refused", "output", "plot")  # fmt: skip
VERBS = "sweep", "search", "pareto"
_in_words = partial(
    in_options,
    OPTIONS,
    ("refused", "method"),
    {
        r"^store=": "--output ",
        r"\b(minimize|maximize)=\.\.\.": r"--\1 ...",
        r"\bstore='([\w.]+)'": r"--output \1",
        rf"\b({'|'.join(VERBS)})\(\)": r"mlsysim \1",
    },
)


@contextmanager
def _resumable(file: Path | None) -> Iterator[None]:
    """Say how to resume after an interrupt, if finished work is kept."""
    try:
        yield
    except KeyboardInterrupt as stop:
        notes = getattr(stop, "__notes__", [])
        if file is None:
            notes = []
        elif not notes:
            notes = [f"what is finished stays in {file}; the same call goes on from there"]
        stop.__notes__ = [note.replace("same call", "same command") for note in notes[:1]]
        raise


@_in_words()
def sweep(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    outputs: str | None,
    refused: str,
    variant: str | None,
    catalog: Path | None,
    file: Path | None,
    plot: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Evaluate a grid, print it, and write or plot it."""
    if as_json and as_csv:
        raise MlsysimError("--json and --csv: choose one")
    variants = [name.strip() for name in (variant or "").split(",")]
    arguments = axes.arguments(kind, words, shelf_of(catalog))
    if not axes.swept(arguments, 0) and len(variants) == 1:
        raise _one_point(kind, words)
    model = as_run(kind.asked(variants[0] or None), arguments)
    named = model.named_outputs([name.strip() for name in outputs.split(",")]) if outputs else ()
    long = (["variant"] if len(variants) > 1 else []) + axes.swept(arguments)
    _writable("output", file, (*STORES, ".csv"))
    if plot is not None:
        drawable(plot)
        _refuse_dimensions(arguments, long)
    # A heat map outlines the feasible region and the bottlenecks.
    outlined = [name for name in model.headline if plot and (name == "feasible" or name.endswith("bottleneck"))]
    wanted = list(dict.fromkeys([*named, *outlined])) if named else None
    stored = file is not None and file.suffix in STORES
    with or_first(kind, variant, arguments), _resumable(file if stored else None):
        ds = model.sweep(
            outputs=wanted,
            refused=refused,
            variant=variants if len(variants) > 1 else None,
            store=file if stored else None,
            **arguments,
        )
    first = named[0] if named else kind.answer if kind.answer in ds else next(iter(ds.data_vars))
    basis = at_point(model, arguments, named or (first,), places=accepted(ds), variants=variants[1:])
    if as_json:
        print(with_basis(as_records(ds), basis))
    elif as_csv:
        write_csv(ds, sys.stdout)
    else:
        print_sweep(ds, first, named)
        print_basis(basis)
    if file is not None and not stored:
        with replaced(file) as temporary:
            write_csv(ds, temporary)
    if plot is not None:
        with _themed():
            _draw(ds, first, long, plot)
    files = [path for path in (file, plot) if path is not None]
    if files and not (as_json or as_csv):
        written(*files)


@_in_words()
def search(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    checkpoint: Path | None,
    certificate: Path | None,
    variant: str | None,
    catalog: Path | None,
    plot: Path | None,
    as_json: bool,
    strict: bool,
    **options: Any,
) -> None:
    """Print the best designs of a grid and the proof that none is better."""
    model, arguments = _asked(kind, words, variant, catalog)
    if plot is not None:
        drawable(plot)
    with or_first(kind, variant, arguments), _resumable(checkpoint):
        designs = model.search(checkpoint=checkpoint, certificate=certificate, **options, **arguments)
    if plot is not None and len(designs):
        draw(plot, designs.plot)
    basis = _basis(designs, model, arguments, [options["minimize"] or options["maximize"] or ""])
    _answer(designs, basis, as_json, strict, files=(certificate, plot if len(designs) else None))


@_in_words()
def pareto(
    kind: type[PerformanceModel],
    words: Sequence[str],
    *,
    minimize: Sequence[str] | None,
    maximize: Sequence[str] | None,
    certificate: Path | None,
    variant: str | None,
    catalog: Path | None,
    plot: Path | None,
    as_json: bool,
    strict: bool,
    **options: Any,
) -> None:
    """Print the designs that no other design beats in all objectives."""
    model, arguments = _asked(kind, words, variant, catalog)
    less, more = list(minimize or ()), list(maximize or ())
    objectives = [*less, *more]
    if plot is not None:
        drawable(plot)
        if len(objectives) != 2 or not all(name in model.system for name in objectives):
            raise InputError("plot", str(plot), "a front is drawn of two objectives that are outputs by name")
    with or_first(kind, variant, arguments):
        designs = model.pareto(less, maximize=more, certificate=certificate, **options, **arguments)
    if plot is not None and len(designs):
        labels = [name for name in arguments if name in axes.swept(arguments) and name in model.arguments]
        look = {"maximize": more, "feasible": None, "label": labels or None}
        draw(plot, partial(import_module("mlsysim.plot").pareto, designs.to_dataset(), *objectives, **look))
    basis = _basis(designs, model, arguments, objectives)
    _answer(designs, basis, as_json, strict, ranked=False, files=(certificate, plot if len(designs) else None))


def _answer(
    designs: Designs,
    basis: Basis | None,
    as_json: bool,
    strict: bool,
    *,
    ranked: bool = True,
    files: Sequence[Path | None],
) -> None:
    """Print designs, or why there are none; with ``strict``, fail if the best (or the whole front) is infeasible."""
    text = with_basis(designs.to_dict(), basis) if as_json else designs.text()
    print(as_choices(text, ("variant",)))
    if not as_json:
        print_basis(basis)
    written_files = [file for file in files if file is not None]
    if written_files and not as_json:
        written(*written_files)
    feasible = 0 not in designs.infeasible if ranked else len(designs.infeasible) < len(designs)
    if strict and not designs.certificate.proven:
        raise typer.Exit(Exit.UNPROVEN)
    if strict and not (len(designs) and feasible):
        raise typer.Exit(Exit.INFEASIBLE)


def _basis(
    designs: Designs, model: PerformanceModel, arguments: dict[str, Any], objectives: Sequence[str]
) -> Basis | None:
    """Return the basis of the first design, or of the grid's first point if there is no design."""
    return of_result(designs.best, objectives) if len(designs) else at_point(model, arguments, objectives)


def _asked(
    kind: type[PerformanceModel], words: Sequence[str], variant: str | None, catalog: Path | None
) -> tuple[PerformanceModel, dict[str, Any]]:
    arguments = axes.arguments(kind, words, shelf_of(catalog))
    if not axes.swept(arguments, 0):
        raise _one_point(kind, words)
    return as_run(kind.asked(variant), arguments), arguments


def _one_point(kind: type[PerformanceModel], words: Sequence[str]) -> InputError:
    """Build the error for arguments that all have one value, which is no grid."""
    integers = [v.name for v in kind.arguments.values() if v is not None and v.domain.kind == "integer"]
    example = f"as in {integers[0]}=1:8" if integers else "with commas between them"
    hint = f"give one of them several values, {example}; for one point there is mlsysim {words_for(kind)}"
    return InputError("arguments", " ".join(words), "each has one value", hint)


def _refuse_dimensions(arguments: dict[str, Any], long: Sequence[str]) -> None:
    """Refuse more axes than a figure can show, before anything is computed."""
    sizes = sorted(
        len(arguments[name]) if name in arguments and isinstance(arguments[name], list | range) else 2 for name in long
    )
    if not long or len(long) > 3 or (len(long) == 3 and sizes[0] > PANELS):
        allowed = f"a figure shows one or two axes, and one of at most {PANELS} values as panels"
        hint = f"give one value of the others, as in {long[-1]}=..." if long else "give one argument several values"
        raise InputError("plot", ", ".join(long), allowed, hint)


def _writable(option: str, file: Path | None, suffixes: Sequence[str]) -> None:
    if file is None:
        return
    if file.suffix not in suffixes:
        raise InputError(option, str(file), f"must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    if not os.path.isdir(file.absolute().parent):
        raise InputError(option, str(file), "must be in a folder that exists")
    if os.path.isdir(file) and file.suffix != ".zarr":
        raise InputError(option, file, "is a folder; name a file")


def drawable(plot: Path) -> None:
    """Refuse a figure that cannot be written, before anything is computed."""
    _writable("plot", plot, FIGURES)
    require("--plot", "matplotlib")
    with _themed():  # refuses an unknown theme
        pass


def draw(plot: Path, drawn: Callable[..., Any], quiet: bool = True) -> None:
    """Write a figure with one panel; report it unless only the answer is printed."""
    with _themed():
        figure, (panel,) = _figure(1)
        drawn(ax=panel)
        _save(figure, plot)
    if not quiet:
        written(plot)


def _themed() -> Any:
    return import_module("mlsysim.plot").themed(THEME.get())


def _figure(panels: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = min(panels, 3)
    rows = -(-panels // columns)
    figure = Figure(figsize=(6.4 * columns, 4.4 * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, position + 1) for position in range(panels)]


def _worded(ds: Any) -> Any:
    """Replace positions along linked axes by the values of their members."""
    for dim in ds.dims:
        members = [name for name, array in ds.coords.items() if array.dims == (dim,) and "derived" not in array.attrs]
        members = [name for name in members if name != dim]
        if members:
            texts = [[cell_text(ds[name], value) for value in ds[name].values] for name in members]
            words = [", ".join(row) for row in zip(*texts, strict=True)]
            ds = ds.drop_vars(members).assign_coords({dim: (dim, words, {"long_name": ", ".join(members)})})
    return ds


def _draw(ds: Any, name: str, long: Sequence[str], plot: Path) -> None:
    """Draw curves over one axis, a heat map over two, and a panel per value of a third."""
    plots = import_module("mlsysim.plot")
    by_size = sorted(long, key=lambda dim: ds.sizes[dim])
    panel_axis = by_size[0] if len(by_size) == 3 else None
    slices = [ds.isel({panel_axis: index}) for index in range(ds.sizes[panel_axis])] if panel_axis else [ds]
    figure, panels = _figure(len(slices))
    slices = [_worded(piece) for piece in slices]
    for piece, panel in zip(slices, panels, strict=True):
        if len(long) == 1:
            plots.lines(piece, name, ax=panel)
        else:
            plots.heatmap(piece, name, ax=panel)
    if len(panels) > 1:
        _one_legend(figure, panels)
    _save(figure, plot)


def _one_legend(figure: Any, panels: Sequence[Any]) -> None:
    """Merge the legends of all panels into one below them."""
    from mlsysim.plot.heatmap import WHOLE

    entries: dict[str, Any] = {}
    for panel in panels:
        legend, handles = panel.get_legend(), {}
        if legend is not None:
            words = [text.get_text() for text in legend.texts]
            handles = dict(zip(words, legend.legend_handles, strict=True))
            legend.remove()
        # A statement about the whole panel goes into its title, above the panel.
        statements = [word for word in WHOLE.values() if handles.pop(word, None) is not None]
        panel.set_title(", ".join([panel.get_title(loc="left"), *statements]), loc="left", fontsize="medium", pad=6)
        entries |= handles
    if entries:
        look = {"loc": "outside lower left", "ncols": 4, "frameon": False, "fontsize": "small"}
        figure.legend(list(entries.values()), list(entries), **look)


def _save(figure: Any, plot: Path) -> None:
    with replaced(plot) as temporary:
        figure.savefig(temporary, dpi=150)
