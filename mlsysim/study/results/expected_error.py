"""Expected error of an output, as it was held against what others measured, counted or simulated."""

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

#: The stack of a result that names none.
NO_STACK = "Generic"
#: Why no error is known where something of the kind was measured.
UNLIKE = "what was measured is unlike this result"
#: Begins of the differences between a result and an area, that of the area nearest to it first.
NEAREST = ("at ", "on devices as ", "by the values ", "on ", "by the stack ")
#: Numbers of devices, which a fleet has beside the constants of its devices.
COUNTS = ("fleet_size", "accelerators_per_node", "accelerators_per_segment", "accelerators_per_pod")


@dataclass(frozen=True)
class ExpectedError:
    """Errors of an output, as shares without sign, over rows that nothing was calibrated on.

    Attributes
    ----------
    output : str
        The output.
    median, tail, worst : float
        Half of the rows, nine tenths of them, and all of them are no further off.
    rows : int
        How many rows.
    about : str
        Which rows.
    source : str
        Who published, counted or simulated them.
    section : str
        Heading of their table.
    page : str
        Page on which it stands.
    follows : str
        The output and the model that it was measured of, where the output follows from that one.

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
        """The errors and their rows, in words; of a count, that they are those of what it follows from."""
        is_count = variable_of(self.output).domain.kind == "integer"
        told = "not of the count but of " if is_count else "by "
        by = f"{told}{self.follows}, " if self.follows else ""
        return (
            f"{by}{self.median:.1%} in the median, {self.tail:.1%} for nine rows of ten, {self.worst:.1%} at worst, "
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
    """Measured areas: errors, and the results that they speak of."""
    text = resources.files("mlsysim.study.results").joinpath("accuracy.toml").read_text(encoding="utf-8")
    return tuple({**group, **area} for group in tomllib.loads(text)["group"] for area in group.pop("area"))


def expected_error(result: Any, output: str) -> ExpectedError:
    """Expected error of an output, whether the result has it or not: the errors of the area that it belongs to.

    Parameters
    ----------
    result : Result
        Whose output it is.
    output : str
        Name of an output.

    Returns
    -------
    ExpectedError
        With its source; as a number it is the median. Where several areas fit, the one that asks most of a result;
        where none does, that of the model that the output follows from.

    Raises
    ------
    NotMeasuredError
        If nothing of the kind was measured; says what was.
    """
    last = NotMeasuredError(output, f"no error of {output} was measured")
    for follows, below, kind, name in standing(type(result.model), result.model.variant, output):
        try:
            found = _of_areas(result, below, kind, name)
        except NotMeasuredError as missing:
            last = missing
        else:
            return replace(found, output=output, follows=follows)
    raise last


def standing(
    model: type[DeclaredModel], variant: str, output: str, follows: str = ""
) -> Iterator[tuple[str, str, type[DeclaredModel], str]]:
    """An output with its model and variant, then those that it follows from, each with its name in words.

    Yields
    ------
    tuple
        ``follows`` of the error (empty for the output itself), output, model and variant.
    """
    yield follows, output, model, variant
    for each in model.foundations:
        if output in each.outputs and (not each.variants or variant in each.variants):
            below = each.outputs[output]
            yield from standing(each.model, each.variant, below, f"{below} of {each.model.__name__}")


def areas_of(model: type[DeclaredModel], variant: str, output: str) -> list[dict[str, Any]]:
    """The areas that speak of an output of a variant."""
    name = model.__name__
    return [
        area for area in areas()
        if area["model"] == name and output in area["outputs"] and variant in area["variants"]
    ]  # fmt: skip


def _of_areas(result: Any, output: str, model: type[DeclaredModel], variant: str) -> ExpectedError:
    """The error of an output that was measured itself."""
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
        told: dict[str, str] = {}
        for area, why in sorted(
            reasons, key=lambda each: next(i for i, how in enumerate(NEAREST) if each[1].startswith(how))
        ):
            told.setdefault(area["about"], why)
        raise NotMeasuredError(output, UNLIKE, "; ".join(f"{about}: {why}" for about, why in told.items()))
    return error_of(max(fitting, key=asked), output)


def asked(area: dict[str, Any]) -> tuple[bool, int, int]:
    """Rank of an area by how much it asks of a result; of several that fit, the highest is taken."""
    return bool(area["stacks"]), len(area["where"]), area["rows"]


def error_of(area: dict[str, Any], output: str, follows: str = "") -> ExpectedError:
    """The errors of an area as those of an output."""
    fields = {name: area[name] for name in ("median", "tail", "worst", "rows", "about", "source", "section", "page")}
    return ExpectedError(output, **fields, follows=follows)


def _unlike(result: Any, area: dict[str, Any], output: str) -> str:
    """Difference between a result and those of an area in words; empty where there is none."""
    entry = next((entry for entry in result.entries.values() if isinstance(entry, Stack)), None)
    stack, known = (NO_STACK, []) if entry is None else (entry.key or entry.name, list(map(device_of, entry.devices)))
    if area["stacks"]:
        if stack not in area["stacks"]:
            return f"by the stack {' or '.join(area['stacks'])}, not {stack}"
        if typed := _typed(result, output, Stack):
            return f"by the values of the stack, not one that was given ({', '.join(typed)})"
    if area["devices"]:
        found = _devices(result)
        if not found or not {*found} <= {*area["devices"]}:
            return f"on {', '.join(area['devices'])}, not {' and '.join(found) or 'a device without a name'}"
        if typed := _typed(result, output, Accelerator, Node, Fleet):
            return f"on devices as the catalog has them, not with a value that was given ({', '.join(typed)})"
    if known and area["stacks"] != [stack] and not {*_devices(result)} <= {*known}:
        return f"on {' and '.join(known)}, of which {stack} is a stack, not {' and '.join(_devices(result))}"
    for name, allowed in area["where"].items():
        if name in result.input_names and not _within(result, name, allowed):
            return f"at {name} {_words(allowed)}, not {result[name]}"
    return ""


def _typed(result: Any, output: str, *kinds: type[Entry]) -> list[str]:
    """Inputs of an output that entries of a kind give, and that were typed; not how many devices there are."""
    model, needed = result.model, {*result.input_names}
    if output in model.system:
        needed = {variable.name for variable in model.system.closure([output]).inputs}
        needed |= {model.follows[name] for name in needed if name in model.follows}
    names = [name for slot in result.model.slots.values() if issubclass(slot.entry, kinds) for name in slot.gives]
    typed = [name for name in dict.fromkeys(names) if name in result.input_names and result.origin(name) == GIVEN]
    return [name for name in typed if name not in COUNTS and name in needed]


def _devices(result: Any) -> list[str]:
    """Catalog keys of the accelerators of a result."""
    found = filter(None, map(device_of, result.entries.values()))
    return list(dict.fromkeys(found))


def device_of(entry: Entry) -> str:
    """Catalog key of the accelerator of an entry; empty where it has none."""
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
