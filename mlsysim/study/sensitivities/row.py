"""Response of an output to one input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlsysim import formatting

#: Relative changes of an output up to which it counts as unchanged.
UNCHANGED = 1e-12


@dataclass(frozen=True)
class Step:
    """The next value of an input at which an output jumps, or may.

    Attributes
    ----------
    at : object
        Value of the input there: of a whole number its next allowed value, of a continuous input the first one
        behind the jump.
    distance : object
        How far away that is.
    change : object or None
        Change of the output from here to there. None where the output is infinite here and there.
    jump : object or None
        Change of the output across the jump alone, for a continuous input. None where the output is infinite on both
        sides of it.
    variables : tuple of str
        What jumps there, for a continuous input.
    """

    at: Any
    distance: Any
    change: Any
    jump: Any = None
    variables: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = {"at": number(self.at), "distance": number(self.distance), "change": number(self.change)}
        more = {"jump": number(self.jump), "variables": list(self.variables)}
        return {**found, **more} if self.variables else found

    @property
    def brought(self) -> Any:
        """Change of the output that the step alone brings."""
        return self.jump if self.variables else self.change

    def __str__(self) -> str:
        return f"{shown(self.brought)} at {shown(self.at, signed=False)}"


@dataclass(frozen=True)
class Row:
    """Response of an output to one input.

    Attributes
    ----------
    name : str
        The input.
    kind : str
        ``"continuous"``, ``"step"`` (whole numbers), ``"relaxed"`` (whole numbers with a derivative) or ``"label"``.
    value : str
        Value of the input at which it was computed.
    rank : int or None
        Place among the inputs by the size of the elasticity, 1 the strongest; None where it has none, or is zero.
    gradient : pint.Quantity or None
        Output per input; None for steps and labels, and where the output is infinite.
    elasticity : float or None
        Percent of output per percent of input; None where the output is zero or infinite.
    arc_elasticity : float or None
        The same for a whole number, between here and its next allowed value.
    up, down : Step or None
        The next larger and the next smaller value at which the output jumps, or may; None where there is none.
    labels : dict
        Change of the output for every other label; None where the model refuses it, or the output is infinite on
        both sides.
    through : tuple of str
        Variables between input and output that jump, and count as constant in a gradient.
    effect : float
        Largest relative change of the output that steps and labels bring.
    """

    name: str
    kind: str
    value: str
    rank: int | None = None
    gradient: Any = None
    elasticity: float | None = None
    arc_elasticity: float | None = None
    up: Step | None = None
    down: Step | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    through: tuple[str, ...] = ()
    effect: float = 0.0

    @property
    def step(self) -> Any:
        """Change of the output when a whole number grows to its next allowed value."""
        return self.up.change if self.up and self.kind == "step" else None

    @property
    def increment(self) -> int:
        """Growth of the whole number to its next value; 0 where it cannot grow."""
        return int(number(self.up.distance) or 0) if self.up and self.kind == "step" else 0

    @property
    def strength(self) -> float:
        """Size of the elasticity, of a whole number that to its next value; 0 without."""
        found = self.arc_elasticity if self.elasticity is None else self.elasticity
        return abs(found) if found is not None else 0.0

    @property
    def matters(self) -> bool:
        """True if the output answers to it at all, here or at its next step."""
        slope = number(self.gradient)
        return bool(self.strength or self.effect > UNCHANGED or slope)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "rank": self.rank,
            "gradient": number(self.gradient),
            "gradient_unit": None if self.gradient is None else f"{self.gradient.units:~P}",
            "elasticity": self.elasticity,
            "arc_elasticity": self.arc_elasticity,
            "step": number(self.step),
            "up": self.up and self.up.to_dict(),
            "down": self.down and self.down.to_dict(),
            "labels": {label: number(change) for label, change in self.labels.items()},
            "through": list(self.through),
        }


def number(amount: Any) -> float | None:
    """The magnitude of an amount; None of none."""
    return None if amount is None else float(getattr(amount, "magnitude", amount))


def shown(amount: Any, *, signed: bool = True) -> str:
    """An amount as text; a change with its sign."""
    if amount is None:
        return "-"
    text = formatting.amount(amount)
    value = number(amount)
    return f"+{text}" if signed and value is not None and value > 0 and not math.isnan(value) else text
