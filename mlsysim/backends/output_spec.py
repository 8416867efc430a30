"""The unit and type in which a grid returns an output, and the code of why it refuses a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import sympy

from mlsysim.scaling import in_unit, into_canonical

#: Type of each kind of output, and its value at a point that is refused.
FORMS: dict[str, tuple[Any, Any]] = {
    "number": (np.float64, np.nan),
    "label": (np.int8, -1),
    "truth": (np.bool_, False),
}


@dataclass(frozen=True)
class OutputSpec:
    """The unit and type in which a grid returns an output.

    Attributes
    ----------
    name : str
        Name of the variable.
    scale : float
        What the unit it is returned in is worth in canonical units: 1e9 for GB.
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
        """Its value at a point that is refused."""
        return FORMS[self.kind][1]

    def formed(self, value: Any) -> Any:
        """Canonical values in this unit and type, on a JAX array."""
        import jax.numpy as jnp

        found = jnp.asarray(value, self.dtype)
        return in_unit(found, self.scale) if self.kind == "number" else found

    def write(self, value: Any, target: np.ndarray) -> None:
        """Write canonical values in this unit into an array of this type, to which they are broadcast."""
        if self.kind != "number" or np.shape(value) != target.shape:
            target[...] = in_unit(value, self.scale) if self.kind == "number" else value
            return
        way, factor = into_canonical(self.scale)
        (np.multiply if way == "/" else np.divide)(value, factor, out=target)


@dataclass(frozen=True)
class ReasonCode:
    """Why each point of a grid is refused: 0 for a point that is allowed.

    Attributes
    ----------
    name : str
        Name under which the codes are returned.
    code : sympy.Expr
        In inputs and variables of the system.
    """

    name: str
    code: sympy.Basic
