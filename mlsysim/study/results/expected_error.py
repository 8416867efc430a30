"""Expected error of an output, from comparison with published measurements, counts and simulations."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from mlsysim.catalog import Accelerator, Entry, Fleet, Node, Stack
from mlsysim.errors import NotMeasuredError
from mlsysim.inputs.binding import GIVEN
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.symbolic import variable_of

#: Stack of a result that names none.
NO_STACK = "Generic"
#: Reason if something of the kind was measured, but under other conditions.
UNLIKE = "what was measured is unlike this result"
#: Beginnings of the differences between a result and an area, the nearest area first.
NEAREST = ("at ", "on devices as ", "by the values ", "on ", "by the stack ")
#: Device counts, which a fleet has beside the constants of its devices.
COUNTS = ("fleet_size", "accelerators_per_node", "accelerators_per_segment", "accelerators_per_pod")


@dataclass(frozen=True)
class ExpectedError:
    """Relative errors of an output, without sign, over rows that were not used for calibration.

    Attributes
    ----------
    output : str
        Name of the output.
    median, tail, worst : float
        Errors that half of the rows, 90% of them, and all of them stay within.
    rows : int
        Number of rows.
    about : str
        Description of the rows.
    source : str
        Origin of the measurements, counts or simulations.
    section : str
        Heading of their table.
    page : str
        Page of the table.
    follows : str
        Output and model that were measured, if the output follows from them.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> error = TrainingMemoryModel.solve_example(variant="per_operator").expected_error("total_memory")
    >>> 0 < error.median < error.worst
    True
    """

    output: str
    median: float
    tail: float
    worst: float
    rows: int
    about: str
    source: str
    section: str
    page: str
    follows: str = ""

    @property
    def shares(self) -> str:
        """Errors and rows as text; for a count, those of the quantity it follows from."""
        is_count = variable_of(self.output).domain.kind == "integer"
        prefix = "not of the count but of " if is_count else "by "
        via = f"{prefix}{self.follows}, " if self.follows else ""
        return (
            f"{via}{self.median:.1%} in the median, {self.tail:.1%} for nine rows of ten, {self.worst:.1%} at worst, "
            f"of {self.rows} rows"
        )

    def __float__(self) -> float:
        return self.median

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        return f"{self.output}: {self.shares} ({self.about}; {self.source}; {self.page}, {self.section!r})"

    def __repr__(self) -> str:
        return f"<ExpectedError of {self}>"


@cache
def areas() -> tuple[dict[str, Any], ...]:
    """Return the measured areas: errors, and the results to which they apply."""
    text = resources.files("mlsysim.study.results").joinpath("accuracy.toml").read_text(encoding="utf-8")
    return tuple({**group, **area} for group in tomllib.loads(text)["group"] for area in group.pop("area"))


def expected_error(result: Any, output: str) -> ExpectedError:
    """Find the expected error of an output: the errors of the area it belongs to.

    Parameters
    ----------
    result : Result
        Result with the output; the output itself may be absent.
    output : str
        Name of an output.

    Returns
    -------
    ExpectedError
        With its source; as a number it is the median. If several areas fit, the most specific one; if none does, the
        area of the model that the output follows from.

    Raises
    ------
    NotMeasuredError
        If nothing of the kind was measured; the message says what was.
    """
    last = NotMeasuredError(output, f"no error of {output} was measured")
    for follows, below, kind, name in standing(type(result.model), result.model.variant, output):
        try:
            error = _of_areas(result, below, kind, name)
        except NotMeasuredError as missing:
            last = missing
        else:
            return replace(error, output=output, follows=follows)
    raise last


def standing(
    model: type[DeclaredModel], variant: str, output: str, follows: str = ""
) -> Iterator[tuple[str, str, type[DeclaredModel], str]]:
    """Yield an output with its model and variant, then those it follows from, each with a description.

    Yields
    ------
    tuple
        ``follows`` of the error (empty for the output itself), output, model and variant.
    """
    yield follows, output, model, variant
    for foundation in model.foundations:
        if output in foundation.outputs and (not foundation.variants or variant in foundation.variants):
            below = foundation.outputs[output]
            yield from standing(foundation.model, foundation.variant, below, f"{below} of {foundation.model.__name__}")


def areas_of(model: type[DeclaredModel], variant: str, output: str) -> list[dict[str, Any]]:
    """Return the areas that cover an output of a variant."""
    name = model.__name__
    return [
        area for area in areas()
        if area["model"] == name and output in area["outputs"] and variant in area["variants"]
    ]  # fmt: skip


def _of_areas(result: Any, output: str, model: type[DeclaredModel], variant: str) -> ExpectedError:
    """Find the error of an output that was measured itself."""
    own = [area for area in areas() if area["model"] == model.__name__]
    of_output = [area for area in own if output in area["outputs"]]
    if not of_output:
        known = sorted({name for area in own for name in area["outputs"]})
        wanted = f"of {model.__name__} there are errors of {', '.join(known)}" if known else ""
        raise NotMeasuredError(output, f"no error of {output} was measured", wanted)
    of_variant = areas_of(model, variant, output)
    if not of_variant:
        known = sorted({variant for area in of_output for variant in area["variants"]})
        raise NotMeasuredError(output, f"none was measured by {variant}", f"but by {', '.join(known)}")
    reasons = [(area, _unlike(result, area, output)) for area in of_variant]
    fitting = [area for area, why in reasons if not why]
    if not fitting:
        reason_by_area: dict[str, str] = {}
        for area, why in sorted(
            reasons, key=lambda item: next(i for i, how in enumerate(NEAREST) if item[1].startswith(how))
        ):
            reason_by_area.setdefault(area["about"], why)
        raise NotMeasuredError(output, UNLIKE, "; ".join(f"{about}: {why}" for about, why in reason_by_area.items()))
    return error_of(max(fitting, key=specificity), output)


def specificity(area: dict[str, Any]) -> tuple[bool, int, int]:
    """Rank an area by how specific it is; of several that fit, the highest is used."""
    return bool(area["stacks"]), len(area["where"]), area["rows"]


def error_of(area: dict[str, Any], output: str, follows: str = "") -> ExpectedError:
    """Build the error of an output from an area."""
    fields = {name: area[name] for name in ("median", "tail", "worst", "rows", "about", "source", "section", "page")}
    return ExpectedError(output, **fields, follows=follows)


def _unlike(result: Any, area: dict[str, Any], output: str) -> str:
    """Describe how a result differs from those of an area; empty if it does not."""
    entry = next((entry for entry in result.entries.values() if isinstance(entry, Stack)), None)
    stack, known = (NO_STACK, []) if entry is None else (entry.key or entry.name, list(map(device_of, entry.devices)))
    if area["stacks"]:
        if stack not in area["stacks"]:
            return f"by the stack {' or '.join(area['stacks'])}, not {stack}"
        if typed := _typed(result, output, Stack):
            return f"by the values of the stack, not one that was given ({', '.join(typed)})"
    if area["devices"]:
        devices = _devices(result)
        if not devices or not {*devices} <= {*area["devices"]}:
            return f"on {', '.join(area['devices'])}, not {' and '.join(devices) or 'a device without a name'}"
        if typed := _typed(result, output, Accelerator, Node, Fleet):
            return f"on devices as the catalog has them, not with a value that was given ({', '.join(typed)})"
    if known and area["stacks"] != [stack] and not {*_devices(result)} <= {*known}:
        return f"on {' and '.join(known)}, of which {stack} is a stack, not {' and '.join(_devices(result))}"
    for name, allowed in area["where"].items():
        if name in result.input_names and not _within(result, name, allowed):
            return f"at {name} {_words(allowed)}, not {result[name]}"
    return ""


def _typed(result: Any, output: str, *kinds: type[Entry]) -> list[str]:
    """Return inputs of an output that an entry of a kind would set and that were typed, other than device counts."""
    model, needed = result.model, {*result.input_names}
    if output in model.system:
        needed = {variable.name for variable in model.system.closure([output]).inputs}
        needed |= {model.follows[name] for name in needed if name in model.follows}
    names = [name for slot in result.model.slots.values() if issubclass(slot.entry, kinds) for name in slot.gives]
    typed = [name for name in dict.fromkeys(names) if name in result.input_names and result.origin(name) == GIVEN]
    return [name for name in typed if name not in COUNTS and name in needed]


def _devices(result: Any) -> list[str]:
    """Return the catalog keys of the accelerators of a result."""
    keys = filter(None, map(device_of, result.entries.values()))
    return list(dict.fromkeys(keys))


def device_of(entry: Entry) -> str:
    """Return the catalog key of the accelerator of an entry; empty if it has none."""
    node = entry.node if isinstance(entry, Fleet) else entry
    device = node.accelerator if isinstance(node, Node) else node
    return (device.key or device.name) if isinstance(device, Accelerator) else ""


def _within(result: Any, name: str, allowed: list[Any]) -> bool:
    if variable_of(name).domain.kind == "choice":
        return result[name] in allowed
    least, most = allowed
    value = result[name]
    return bool(least <= getattr(value, "magnitude", value) <= most)


def _words(allowed: list[Any]) -> str:
    if isinstance(allowed[0], str):
        return " or ".join(allowed)
    return str(allowed[0]) if allowed[0] == allowed[1] else f"{allowed[0]} to {allowed[1]}"
