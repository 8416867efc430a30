"""Layouts that a plan proposes: a table, the commands that launch each, and why there is none better."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlsysim import show
from mlsysim.catalog import Accelerator, Entry, Fleet, Node, builtin
from mlsysim.catalog.launchers import launchers
from mlsysim.errors import InputError, NotMeasuredError, UnknownNameError
from mlsysim.inputs.convert import is_axis
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.results.result import Result
from mlsysim.study.searches.certificate import Certificate
from mlsysim.study.searches.designs import Designs
from mlsysim.tracebacks import at_the_call

#: What the commands of two pools are of.
ROLES = ("prefill", "decode", "router")
#: Most designs of a search among which layouts are told apart.
LISTED = 10_000


@dataclass(frozen=True)
class Layout:
    """A layout with its answer and the commands that launch it.

    Attributes
    ----------
    mode : str
        How prompts are scheduled (``"colocated"``, ``"chunked"`` or ``"pools"``), or ``"training"``.
    settings : mapping
        Arguments that were chosen.
    result : Result
        All outputs at these arguments.
    row : mapping
        Cells of the table by header.
    binds : str
        The limit that is nearest, with the share of it that is used.
    error : float or None
        Median error of the outputs that rank layouts, as a share; None where nothing of the kind was measured.
    commands : mapping
        Commands by engine or framework; text where it has no options for the layout, which says why.
    proven : bool
        Whether it is proven that no other batch, chunk or number of workers is better in this layout, and that no
        layout that is left out is better.
    """

    mode: str
    settings: Mapping[str, Any]
    result: Result
    row: Mapping[str, Any]
    binds: str
    error: float | None
    commands: Mapping[str, tuple[str, ...] | str]
    proven: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        headline = [name for name in self.result.model.headline if name in {*self.result}]
        outputs = self.result.to_dict()["outputs"]
        return {
            "mode": self.mode,
            "settings": dict(self.settings),
            "binds": self.binds,
            "error": self.error,
            "proven": self.proven,
            "outputs": {name: outputs[name] for name in headline},
            "commands": {
                name: list(said) if isinstance(said, tuple) else {"not_possible": said}
                for name, said in self.commands.items()
            },
        }


class Plans(JsonAnswer):
    """Layouts in order, best first; prints as a table.

    Attributes
    ----------
    layouts : tuple of Layout
        The best ones; empty where none meets the targets.
    certificates : mapping
        Certificate of each search, by the way in which prompts are scheduled.
    shortfall : tuple of str
        Why there is no layout, and what would meet the targets.

    Examples
    --------
    >>> from mlsysim import plan
    >>> load = dict(request_rate=2, isl=1024, osl=128, ttft_slo="1 s", tpot_slo="50 ms", precision="fp8")
    >>> plans = plan("Llama3_8B", "H100", accelerators=2, modes=["colocated"], top=1, **load)
    >>> sorted(plans.to_dict())[:3]
    ['certificates', 'layouts', 'ranked']
    """

    def __init__(
        self,
        title: str,
        ranked: str,
        layouts: Sequence[Layout],
        certificates: Mapping[str, Certificate],
        shortfall: Sequence[str] = (),
    ) -> None:
        self._title, self._ranked = title, ranked
        self.layouts = tuple(layouts)
        self.certificates = dict(certificates)
        self.shortfall = tuple(shortfall)

    def __len__(self) -> int:
        return len(self.layouts)

    def __iter__(self) -> Iterator[Layout]:
        return iter(self.layouts)

    def __getitem__(self, place: int) -> Layout:
        """A layout, the best one first."""
        return self.layouts[place]

    @at_the_call
    def show(self, number: int = 1) -> str:
        """The commands that launch a layout.

        Parameters
        ----------
        number : int
            Of the layout in the table, from 1.

        Raises
        ------
        InputError
            If there is no such layout.
        """
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self):
            raise InputError("number", number, f"must be a layout of the table, from 1 to {len(self)}")
        lines = [f"Layout {number}"]
        for name, said in self.layouts[number - 1].commands.items():
            lines += ["", f"# {launchers()[name].name}"]
            if isinstance(said, str):
                lines.append(textwrap.fill(f"none: {said}", show.width(), initial_indent="# ", subsequent_indent="# "))
                continue
            for role, command in zip(ROLES if len(said) == len(ROLES) else ("",), said, strict=True):
                lines += [*[f"# {role}"] * bool(role), _on_lines(command, show.width())]
        return "\n".join(lines)

    def text(self, width: int | None = None) -> str:
        """The table, with what was proven.

        Parameters
        ----------
        width : int, optional
            Columns to write in; those of the terminal by default.

        Returns
        -------
        str
        """
        width = show.width() if width is None else width
        if not self.layouts:
            return "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in self.shortfall)
        headers = ["", *self.layouts[0].row]
        rows = [[str(number), *layout.row.values()] for number, layout in enumerate(self, start=1)]
        said = [self._title, "", show.fitted(headers, rows, width), "", self._ranked, self.proof]
        return "\n".join(textwrap.fill(line, width) if "\n" not in line else line for line in said)

    @property
    def proof(self) -> str:
        """Summary of what the searches prove."""
        counts = ", ".join(f"{each.accepted[1]:,} {mode}" for mode, each in self.certificates.items())
        looked = f"{counts} layouts with their settings"
        if all(each.proven for each in self.certificates.values()):
            return f"Proven best of {looked}: every row, of all in its layout and of all layouts below it."
        return f"Not proven best of {looked}: the time was too short."

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        searched = {
            mode: {"points": each.points, "proven": each.proven, "method": each.method}
            for mode, each in self.certificates.items()
        }
        return {
            "ranked": self._ranked,
            "layouts": [each.to_dict() for each in self],
            "shortfall": list(self.shortfall),
            "certificates": searched,
        }

    def __repr__(self) -> str:
        return "\n\n".join([self.text(), *([self.show()] if self.layouts else [])])


def _on_lines(command: str, width: int) -> str:
    """A command that continues on further lines, as a shell reads them."""
    first, *options = re.split(r" (?=--)", command)
    lines = [first]
    for option in options:
        if len(lines[-1]) + len(option) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"    {option}")
        else:
            lines[-1] += f" {option}"
    return "\n".join(lines)


def first_of_each(
    designs: Designs,
    told_by: Sequence[str],
    most: int,
    accepts: Callable[[Mapping[str, Any]], bool],
    held: Mapping[str, Any],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the best design of each layout, best layout first.

    Parameters
    ----------
    designs : Designs
        In order.
    told_by : sequence of str
        Swept arguments that make a layout.
    most : int
        How many layouts.
    accepts : callable
        Whether a design counts.
    held : mapping
        Arguments with one value each, which belong to the settings of every layout.
    """
    seen: set[tuple[Any, ...]] = set()
    for place, layout in enumerate(map(tuple, designs.indices(told_by))):
        if layout in seen:
            continue
        settings = {**held, **designs.settings(place)}
        if not accepts(settings):
            continue
        seen.add(layout)
        yield place, settings
        if len(seen) == most:
            return


def median_error(result: Result, outputs: Sequence[str]) -> float | None:
    """Largest median error of some outputs; None where that of one is not known."""
    try:
        return max(float(result.expected_error(name)) for name in outputs)
    except NotMeasuredError:
        return None


def entry_of(what: str, given: Any) -> Any:
    """An entry of the catalog by name; an entry as it is.

    Raises
    ------
    InputError
        If it is neither.
    """
    entry = builtin().find(what, given) if isinstance(given, str) else given
    if not isinstance(entry, Entry):
        raise InputError(what, given, "must be an entry of the catalog, or the name of one")
    return entry


def check_lists(given: Mapping[str, Any], chosen: Sequence[str]) -> None:
    """Refuse several values of what a plan does not choose.

    Raises
    ------
    InputError
        If there are.
    """
    for name, value in given.items():
        if is_axis(value) and name not in chosen:
            raise InputError(name, value, f"has one value in a plan, which chooses {', '.join(chosen)}")


def scalars(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Arguments among some that a call holds to one value."""
    return {name: given[name] for name in names if isinstance(given.get(name), int | str)}


def machines_of(given: Any) -> tuple[str, Accelerator | Node | Fleet, Accelerator]:
    """The argument of a model that takes some machines, the machines, and what computes in them.

    Raises
    ------
    InputError
        If it is none.
    """
    entry: Any = given
    if isinstance(given, str):
        try:
            entry = builtin().find("fleet", given)
        except UnknownNameError:
            entry = builtin().find("hardware", given)
    if not isinstance(entry, Accelerator | Node | Fleet):
        raise InputError("hardware", given, "must be an accelerator, a node or a fleet, or the name of one")
    node = entry.node if isinstance(entry, Fleet) else entry
    device = node.accelerator if isinstance(node, Node) else node
    argument = {Fleet: "fleet", Node: "node"}.get(type(entry), "hardware")
    return argument, entry, device  # pyright: ignore[reportReturnType]


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, ... up to a number."""
    return [2**exponent for exponent in range(max(1, most).bit_length())]


def whole(argument: str, value: Any, least: int = 1) -> int:
    """A whole number of a call.

    Raises
    ------
    InputError
        If it is none, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(argument, value, f"must be a whole number of at least {least}")
    return value
