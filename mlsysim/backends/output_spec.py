"""Unit and type in which a grid returns an output, and the code of the reason why it refuses a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import sympy

#: Type of each kind of output, and its value at a point that is refused.
FORMS: dict[str, tuple[Any, Any]] = {
    "number": (np.float64, np.nan),
    "label": (np.int8, -1),
    "truth": (np.bool_, False),
}


@dataclass(frozen=True)
class OutputSpec:
    """Unit and type in which a grid returns an output.

    Attributes
    ----------
    name : str
        Name of the variable.
    scale : float
        Size of the unit it is returned in, in canonical units: 1e9 for GB.
    kind : {"number", "label", "truth"}
        float64, int8 or bool; nan, -1 or False at a point that is refused.
    """

    name: str
    scale: float = 1.0
    kind: Literal["number", "label", "truth"] = "number"

    @property
    def dtype(self) -> np.dtype:
        """Type of its array."""
        return np.dtype(FORMS[self.kind][0])

    @property
    def missing(self) -> Any:
        """Value at a point that is refused."""
        return FORMS[self.kind][1]


@dataclass(frozen=True)
class ReasonCode:
    """Code of the reason why a point of a grid is refused: 0 for a point that is allowed.

    Attributes
    ----------
    name : str
        Name under which the codes are returned.
    code : sympy.Expr
        In inputs and variables of the system.
    """

    name: str
    code: sympy.Basic
