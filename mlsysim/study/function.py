"""Outputs of a model as a pure JAX function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from mlsysim.engine import pure_function
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.binding import bind
from mlsysim.inputs.declaration import DeclaredModel


class PureFunction:
    """Outputs as a function of a dict of canonical inputs, traceable by JAX.

    Attributes
    ----------
    inputs : dict
        Canonical value (byte, second, FLOP, label code) of every input, as bound.
    outputs : tuple of str
        Names returned.
    """

    def __init__(self, model: DeclaredModel, outputs: str | Iterable[str], arguments: Mapping[str, Any]) -> None:
        self._single = isinstance(outputs, str)
        self.outputs = model.named_outputs(outputs)
        binding = bind(model, arguments)
        for name in self.outputs:
            binding.require(name)
        self._system = binding.system
        needed = {variable.name for variable in binding.system.closure(self.outputs).inputs}
        self.inputs: dict[str, float] = {name: float(v) for name, v in binding.values.items() if name in needed}

    def __getstate__(self) -> dict[str, Any]:
        """Everything but compiled code, which is compiled again when it is called."""
        return {name: value for name, value in self.__dict__.items() if name != "_pure"}

    @cached_property
    def _pure(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        return pure_function(self._system, self.outputs)

    def __call__(self, x: Mapping[str, Any] | None = None) -> Any:
        """Evaluate in the dtype of ``x``.

        Parameters
        ----------
        x : mapping, optional
            Canonical value per input name; inputs left out keep their bound value.

        Returns
        -------
        array, or dict of arrays
            Canonical units; a dict when several outputs were asked for.

        Raises
        ------
        UnknownNameError
            If ``x`` names something the outputs do not depend on.
        """
        if x is not None and not isinstance(x, Mapping):
            raise InputError("x", x, "must be a dict of canonical inputs by name")
        given = dict(x or {})
        for name in given:
            if name not in self.inputs:
                raise UnknownNameError("input of this function", name, self.inputs)
        found = self._pure({**self.inputs, **given})
        return found[self.outputs[0]] if self._single else found

    def __repr__(self) -> str:
        return f"<PureFunction {', '.join(self.outputs)} of {', '.join(self.inputs)}>"


def function(model: DeclaredModel, /, outputs: str | Iterable[str], *entries: Any, **inputs: Any) -> PureFunction:
    """The outputs as a pure JAX function, for a user's own ``jit``, ``grad`` and ``vmap``.

    Parameters
    ----------
    outputs : str or iterable of str
        One name, or several.

    Returns
    -------
    PureFunction
        ``f(x)`` with ``x`` a dict of canonical inputs (byte, second, FLOP); those left out of
        ``x`` keep the values bound here. One output gives its value, several a dict.
    """
    return PureFunction(model, outputs, model.named_arguments(entries, inputs))
