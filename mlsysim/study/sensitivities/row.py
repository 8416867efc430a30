"""Response of an output to one input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlsysim import formatting

#: Relative change of an output up to which it counts as unchanged.
UNCHANGED = 1e-12


@dataclass(frozen=True)
class Step:
    """The next value of an input at which an output jumps, or may jump.

    Attributes
    ----------
    at : object
        Value of the input: the next allowed value of a whole number, or the first value of a continuous input beyond
        the jump.
    distance : object
        Distance to that value.
    change : object or None
        Change of the output from the point to there. None if the output is infinite at both.
    jump : object or None
        Change of the output across the jump alone, for a continuous input. None if the output is infinite on both
        sides.
    variables : tuple of str
        Variables that jump there, for a continuous input.
    """

    at: Any
    distance: Any
    change: Any
    jump: Any = None
    variables: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        data = {"at": number(self.at), "distance": number(self.distance), "change": number(self.change)}
        jump = {"jump": number(self.jump), "variables": list(self.variables)}
        return {**data, **jump} if self.variables else data

    @property
    def brought(self) -> Any:
        """Change of the output caused by the step alone."""
        return self.jump if self.variables else self.change

    def __str__(self) -> str:
        return f"{shown(self.brought)} at {shown(self.at, signed=False)}"


@dataclass(frozen=True)
class Row:
    """Response of an output to one input.

    Attributes
    ----------
    name : str
        Name of the input.
    kind : str
        ``"continuous"``, ``"step"`` (whole numbers), ``"relaxed"`` (whole numbers with a derivative) or ``"label"``.
    value : str
        Value of the input at the point.
    rank : int or None
        Rank of the input by the size of the elasticity, 1 the strongest; None without an elasticity, or if it is zero.
    gradient : pint.Quantity or None
        Output per input; None for steps and labels, and if the output is infinite.
    elasticity : float or None
        Percent of output per percent of input; None if the output is zero or infinite.
    arc_elasticity : float or None
        Elasticity of a whole number, between the point and its next allowed value.
    up, down : Step or None
        The next larger and the next smaller value at which the output jumps, or may jump; None if there is none.
    labels : dict
        Change of the output for every other label; None if the model refuses the label, or the output is infinite at
        both.
    through : tuple of str
        Variables between input and output that jump, and count as constant in a gradient.
    effect : float
        Largest relative change of the output by steps and labels.
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
        """Change of the output if a whole number grows to its next allowed value."""
        return self.up.change if self.up and self.kind == "step" else None

    @property
    def increment(self) -> int:
        """Growth of the whole number to its next allowed value; 0 if there is none."""
        return int(number(self.up.distance) or 0) if self.up and self.kind == "step" else 0

    @property
    def strength(self) -> float:
        """Size of the elasticity, for a whole number of the arc elasticity; 0 without."""
        elasticity = self.arc_elasticity if self.elasticity is None else self.elasticity
        return abs(elasticity) if elasticity is not None else 0.0

    @property
    def matters(self) -> bool:
        """True if the output responds to the input, here or at its next step."""
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
    """Return the magnitude of an amount; None for None."""
    return None if amount is None else float(getattr(amount, "magnitude", amount))


def shown(amount: Any, *, signed: bool = True) -> str:
    """Format an amount; a change with its sign."""
    if amount is None:
        return "-"
    text = formatting.amount(amount)
    value = number(amount)
    return f"+{text}" if signed and value is not None and value > 0 and not math.isnan(value) else text
