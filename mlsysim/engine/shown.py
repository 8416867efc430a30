"""What a data set holds of an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sympy


@dataclass(frozen=True)
class Shown:
    """An output as a data set shows it.

    Attributes
    ----------
    name : str
        Of the variable.
    scale : float
        Canonical amount of the unit it is shown in.
    kind : {"number", "label", "truth"}
        float64, int8 or bool; where refused nan, -1 or False.
    """

    name: str
    scale: float = 1.0
    kind: Literal["number", "label", "truth"] = "number"


@dataclass(frozen=True)
class Refused:
    """The reason code of a grid: 0 for a point that is allowed.

    Attributes
    ----------
    name : str
        Under which the codes are returned.
    code : sympy.Expr
        In inputs and variables of the system.
    """

    name: str
    code: sympy.Basic
