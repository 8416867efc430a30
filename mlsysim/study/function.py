"""Outputs of a model as a pure JAX function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from mlsysim import units
from mlsysim.backends import concrete_function, default_dtype, is_traced, pure_function
from mlsysim.backends.pure import has_known, known_function
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.binding import bind
from mlsysim.inputs.convert import inside
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.refusal import refuse
from mlsysim.symbolic import Variable, variable_of
from mlsysim.tracebacks import at_the_call


class PureFunction:
    """Outputs as a function of a dict of canonical inputs, traceable by JAX.

    Attributes
    ----------
    inputs : dict
        Canonical value (byte, second, FLOP, label code) of every input, as bound.
    outputs : tuple of str
        Names returned.
    checks : bool
        Check, at every call, the values that are not traced.
    """

    def __init__(
        self, model: DeclaredModel, outputs: str | Iterable[str], arguments: Mapping[str, Any], *, check: bool = False
    ) -> None:
        self.checks = check
        self._single = isinstance(outputs, str)
        self.outputs = model.named_outputs(outputs)
        binding = bind(model, arguments)
        for name in self.outputs:
            binding.require(name)
        self._system = binding.system
        needed = {variable.name for variable in binding.system.closure(self.outputs).inputs}
        self.inputs: dict[str, float] = {name: float(v) for name, v in binding.values.items() if name in needed}
        self._held = binding.values
        self._reasons = [reason for reason in binding.reasons if needed.intersection(reason.inputs)]

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the compiled code, which is compiled again on the first call."""
        return {name: value for name, value in self.__dict__.items() if name != "_pure"}

    @cached_property
    def _pure(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        return pure_function(self._system, self.outputs)

    @at_the_call
    def __call__(self, x: Mapping[str, Any] | None = None) -> Any:
        """Evaluate in the dtype of ``x``; in float32 at most, unless under ``jax.enable_x64``.

        A call in which JAX traces no value takes as long as ``solve``.

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
        arguments = self._given(x)
        if self.checks and not any(is_traced(value) for value in arguments.values()):
            self.check(arguments)
        values = {**self.inputs, **arguments}
        if any(is_traced(value) for value in values.values()):
            partial_function = self._of_few(arguments)
            results = partial_function(arguments) if partial_function else self._pure(values)
        else:
            results = concrete_function(self._system, self.outputs)({**self._held, **values})
        return results[self.outputs[0]] if self._single else results

    def check(self, x: Mapping[str, Any] | None = None) -> None:
        """Refuse values that ``solve`` would refuse. Values must be concrete: within ``jit`` there are none.

        Parameters
        ----------
        x : mapping, optional
            Values by input name, as for a call; each a number or an array.

        Raises
        ------
        InputError
            If a value is outside the domain of its input or in less than 32 bits, values do not fit each other, or
            one is traced.
        UnknownNameError
            If ``x`` names something the outputs do not depend on.
        """
        arguments = self._given(x)
        for name, value in arguments.items():
            if is_traced(value):
                raise InputError(
                    name, "a traced value", "is known when the function runs: check outside of jit and grad"
                )
            try:
                arguments[name] = np.asarray(value, np.float64)
            except (TypeError, ValueError):
                raise InputError(name, value, "must be a canonical number, or an array of them") from None
            narrow = getattr(value, "dtype", None)
            if narrow is not None and narrow.kind in "fV" and narrow.itemsize < 4:
                raise InputError(name, str(narrow), "must be float32 or float64", "bytes and FLOPs exceed its range")
            variable = variable_of(name)
            is_inside = inside(variable, arguments[name])
            if not is_inside.all():
                first = float(arguments[name][~is_inside].flat[0]) if arguments[name].ndim else float(arguments[name])
                shown = float(units.from_canonical(first, variable.unit))
                unit = f" {variable.unit}" if variable.unit not in ("", "count") else ""
                count = (
                    f"{int((~is_inside).sum())} of {is_inside.size} values are refused" if is_inside.size > 1 else ""
                )
                raise InputError(name, f"{shown:g}{unit}", f"must be {allowed(variable)}", count)
        refuse(self._reasons, self._system, {**self._held, **arguments})

    @property
    def dtype(self) -> np.dtype:
        """Dtype of a call without arrays of another: float32, or float64 under ``jax.enable_x64``."""
        return default_dtype()

    def _of_few(self, arguments: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
        """Return the function specialised to the other inputs, if JAX traces the call and that is faster."""
        if not has_known(arguments) or any(is_traced(value) or np.shape(value) for value in self.inputs.values()):
            return None
        constants = tuple((name, float(value)) for name, value in self.inputs.items() if name not in arguments)
        return known_function(self._system, self.outputs, constants)

    def _given(self, x: Any) -> dict[str, Any]:
        if x is not None and not isinstance(x, Mapping):
            raise InputError("x", x, "must be a dict of canonical inputs by name")
        for name in x or {}:
            if name not in self.inputs:
                raise UnknownNameError("input of this function", name, self.inputs)
        return dict(x or {})

    def __repr__(self) -> str:
        return f"<PureFunction {', '.join(self.outputs)} of {', '.join(self.inputs)}, in {self.dtype}>"


def allowed(variable: Variable) -> str:
    """Describe the allowed values of an input, which are codes if it has labels."""
    labels = variable.domain.labels
    return f"the code of a label, from 0 to {len(labels) - 1}" if labels else variable.domain.describe()


def function(
    model: DeclaredModel, /, outputs: str | Iterable[str], *entries: Any, check: bool = False, **inputs: Any
) -> PureFunction:
    """Return outputs as a pure JAX function, for a user's own ``jit``, ``grad`` and ``vmap``.

    Parameters
    ----------
    outputs : str or iterable of str
        One name, or several.
    check : bool
        Check the values of every call as ``solve`` does, except those that are traced.

    Returns
    -------
    PureFunction
        ``f(x)`` with ``x`` a dict of canonical inputs (byte, second, FLOP). Inputs left out of ``x`` keep the values
        bound here. One output gives its value, nan if undefined; several give a dict.

    Raises
    ------
    InputError
        As for ``solve``.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> activations = memory.function("activations", "Llama3_8B", "H100", seq_len=2048, batch_size=8)
    >>> print(f"{float(activations({'batch_size': 16.0})) / float(activations({})):.1f}")
    2.0
    """
    return PureFunction(model, outputs, model.named_arguments(entries, inputs), check=check)
