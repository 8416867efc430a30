"""Plans: proposed layouts as a table, the commands that launch each, and proof that none is better."""

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

#: Roles of the commands for two pools.
ROLES = ("prefill", "decode", "router")
#: Most designs of a search from which layouts are selected.
LISTED = 10_000


@dataclass(frozen=True)
class Layout:
    """A layout with its answer and the commands that launch it.

    Attributes
    ----------
    mode : str
        Scheduling of prompts (``"colocated"``, ``"chunked"`` or ``"pools"``), or ``"training"``.
    settings : mapping
        Arguments chosen by the plan.
    result : Result
        All outputs at these arguments.
    row : mapping
        Cells of the table by header.
    binds : str
        Nearest limit, with the fraction of it that is used.
    error : float or None
        Largest median error of the ranked outputs, as a share; None if nothing comparable was measured.
    commands : mapping
        Commands by engine or framework; a text that says why, if it has no options for the layout.
    proven : bool
        True if it is proven that no other batch, chunk or number of workers is better in this layout, and that no
        omitted layout is better.
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
        """Return plain data."""
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
                name: list(command) if isinstance(command, tuple) else {"not_possible": command}
                for name, command in self.commands.items()
            },
        }


class Plans(JsonAnswer):
    """Layouts in order, best first; prints as a table.

    Attributes
    ----------
    layouts : tuple of Layout
        The best layouts; empty if none meets the targets.
    certificates : mapping
        Certificate of each search, by scheduling mode.
    shortfall : tuple of str
        Reasons why there is no layout, and what would meet the targets.

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

    def __getitem__(self, index: int) -> Layout:
        """Return a layout, the best one first."""
        return self.layouts[index]

    @at_the_call
    def show(self, number: int = 1) -> str:
        """Return the commands that launch a layout.

        Parameters
        ----------
        number : int
            Number of the layout in the table, from 1.

        Raises
        ------
        InputError
            If there is no such layout.
        """
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self):
            raise InputError("number", number, f"must be a layout of the table, from 1 to {len(self)}")
        lines = [f"Layout {number}"]
        for name, commands in self.layouts[number - 1].commands.items():
            lines += ["", f"# {launchers()[name].name} {launchers()[name].version}"]
            if isinstance(commands, str):
                lines.append(
                    textwrap.fill(f"none: {commands}", show.width(), initial_indent="# ", subsequent_indent="# ")
                )
                continue
            for role, command in zip(ROLES if len(commands) == len(ROLES) else ("",), commands, strict=True):
                lines += [*[f"# {role}"] * bool(role), _on_lines(command, show.width())]
        return "\n".join(lines)

    def text(self, width: int | None = None) -> str:
        """Render the table, with what was proven.

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
        lines = [self._title, "", show.fitted(headers, rows, width), "", self._ranked, self.proof]
        return "\n".join(textwrap.fill(line, width) if "\n" not in line else line for line in lines)

    @property
    def proof(self) -> str:
        """Summary of what the searches prove."""
        counts = ", ".join(f"{certificate.accepted[1]:,} {mode}" for mode, certificate in self.certificates.items())
        searched = f"{counts} layouts with their settings"
        if all(certificate.proven for certificate in self.certificates.values()):
            return f"Proven best of {searched}: every row, of all in its layout and of all layouts below it."
        return f"Not proven best of {searched}: the time was too short."

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        searched = {
            mode: {"points": certificate.points, "proven": certificate.proven, "method": certificate.method}
            for mode, certificate in self.certificates.items()
        }
        return {
            "ranked": self._ranked,
            "layouts": [layout.to_dict() for layout in self],
            "shortfall": list(self.shortfall),
            "certificates": searched,
        }

    def __repr__(self) -> str:
        return "\n\n".join([self.text(), *([self.show()] if self.layouts else [])])


def _on_lines(command: str, width: int) -> str:
    """Break a command over several lines with shell continuations."""
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
    layout_arguments: Sequence[str],
    most: int,
    accepts: Callable[[Mapping[str, Any]], bool],
    constants: Mapping[str, Any],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the best design of each layout, best layout first.

    Parameters
    ----------
    designs : Designs
        Designs in order, best first.
    layout_arguments : sequence of str
        Swept arguments that define a layout.
    most : int
        Number of layouts.
    accepts : callable
        Function that tells whether the settings of a design are acceptable.
    constants : mapping
        Arguments with one value, which belong to the settings of every layout.
    """
    seen: set[tuple[Any, ...]] = set()
    for index, layout in enumerate(map(tuple, designs.indices(layout_arguments))):
        if layout in seen:
            continue
        settings = {**constants, **designs.settings(index)}
        if not accepts(settings):
            continue
        seen.add(layout)
        yield index, settings
        if len(seen) == most:
            return


def median_error(result: Result, outputs: Sequence[str]) -> float | None:
    """Return the largest median error of some outputs; None if one is unknown."""
    try:
        return max(float(result.expected_error(name)) for name in outputs)
    except NotMeasuredError:
        return None


def entry_of(kind: str, typed: Any) -> Any:
    """Look up a catalog entry by name; return an entry unchanged.

    Raises
    ------
    InputError
        If the argument is neither an entry nor a name.
    """
    entry = builtin().find(kind, typed) if isinstance(typed, str) else typed
    if not isinstance(entry, Entry):
        raise InputError(kind, typed, "must be an entry of the catalog, or the name of one")
    return entry


def check_lists(given: Mapping[str, Any], chosen: Sequence[str]) -> None:
    """Refuse lists for arguments that a plan does not choose.

    Raises
    ------
    InputError
        If there is one.
    """
    for name, value in given.items():
        if is_axis(value) and name not in chosen:
            raise InputError(name, value, f"has one value in a plan, which chooses {', '.join(chosen)}")


def scalars(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return those of some arguments that a call fixes to one value."""
    return {name: given[name] for name in names if isinstance(given.get(name), int | str)}


def machines_of(typed: Any) -> tuple[str, Accelerator | Node | Fleet, Accelerator]:
    """Return the argument of a model for some hardware, the entry, and its accelerator.

    Raises
    ------
    InputError
        If it is no hardware.
    """
    entry: Any = typed
    if isinstance(typed, str):
        try:
            entry = builtin().find("fleet", typed)
        except UnknownNameError:
            entry = builtin().find("hardware", typed)
    if not isinstance(entry, Accelerator | Node | Fleet):
        raise InputError("hardware", typed, "must be an accelerator, a node or a fleet, or the name of one")
    node = entry.node if isinstance(entry, Fleet) else entry
    device = node.accelerator if isinstance(node, Node) else node
    argument = {Fleet: "fleet", Node: "node"}.get(type(entry), "hardware")
    return argument, entry, device  # pyright: ignore[reportReturnType]


def powers_of_two(most: int) -> list[int]:
    """Return 1, 2, 4, ... up to a limit."""
    return [2**exponent for exponent in range(max(1, most).bit_length())]


def whole(argument: str, value: Any, least: int = 1) -> int:
    """Check a whole number of a call.

    Raises
    ------
    InputError
        If it is no whole number, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(argument, value, f"must be a whole number of at least {least}")
    return value
