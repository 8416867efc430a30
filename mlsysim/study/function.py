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
        Whether every call checks the values that are not traced.
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
        """Everything but compiled code, which is compiled again when it is called."""
        return {name: value for name, value in self.__dict__.items() if name != "_pure"}

    @cached_property
    def _pure(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        return pure_function(self._system, self.outputs)

    @at_the_call
    def __call__(self, x: Mapping[str, Any] | None = None) -> Any:
        """Evaluate in the dtype of ``x``; in float32 at most, unless under ``jax.enable_x64``.

        A call in which JAX follows no value takes as long as ``solve``.

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
        given = self._given(x)
        if self.checks and not any(is_traced(value) for value in given.values()):
            self.check(given)
        values = {**self.inputs, **given}
        if any(is_traced(value) for value in values.values()):
            of_few = self._of_few(given)
            found = of_few(given) if of_few else self._pure(values)
        else:
            found = concrete_function(self._system, self.outputs)({**self._held, **values})
        return found[self.outputs[0]] if self._single else found

    def check(self, x: Mapping[str, Any] | None = None) -> None:
        """Refuse values that ``solve`` would refuse. For concrete values: within ``jit`` there are none.

        Parameters
        ----------
        x : mapping, optional
            As for a call; each value a number or an array.

        Raises
        ------
        InputError
            If a value is outside the domain of its input or in less than 32 bits, values do not fit each other, or
            one is traced.
        UnknownNameError
            If ``x`` names something the outputs do not depend on.
        """
        given = self._given(x)
        for name, value in given.items():
            if is_traced(value):
                raise InputError(
                    name, "a traced value", "is known when the function runs: check outside of jit and grad"
                )
            try:
                given[name] = np.asarray(value, np.float64)
            except (TypeError, ValueError):
                raise InputError(name, value, "must be a canonical number, or an array of them") from None
            narrow = getattr(value, "dtype", None)
            if narrow is not None and narrow.kind in "fV" and narrow.itemsize < 4:
                raise InputError(name, str(narrow), "must be float32 or float64", "bytes and FLOPs exceed its range")
            variable = variable_of(name)
            held = inside(variable, given[name])
            if not held.all():
                first = float(given[name][~held].flat[0]) if given[name].ndim else float(given[name])
                shown = float(units.from_canonical(first, variable.unit))
                unit = f" {variable.unit}" if variable.unit not in ("", "count") else ""
                many = f"{int((~held).sum())} of {held.size} values are refused" if held.size > 1 else ""
                raise InputError(name, f"{shown:g}{unit}", f"must be {allowed(variable)}", many)
        refuse(self._reasons, self._system, {**self._held, **given})

    @property
    def dtype(self) -> np.dtype:
        """In which it runs where ``x`` brings no arrays of another: float32, and float64 under ``jax.enable_x64``."""
        return default_dtype()

    def _of_few(self, given: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
        """The function of what is given alone, where JAX follows it and that is faster."""
        if not has_known(given) or any(is_traced(each) or np.shape(each) for each in self.inputs.values()):
            return None
        held = tuple((name, float(value)) for name, value in self.inputs.items() if name not in given)
        return known_function(self._system, self.outputs, held)

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
    """The values of an input, which are codes where it has labels."""
    labels = variable.domain.labels
    return f"the code of a label, from 0 to {len(labels) - 1}" if labels else variable.domain.describe()


def function(
    model: DeclaredModel, /, outputs: str | Iterable[str], *entries: Any, check: bool = False, **inputs: Any
) -> PureFunction:
    """The outputs as a pure JAX function, for a user's own ``jit``, ``grad`` and ``vmap``.

    Parameters
    ----------
    outputs : str or iterable of str
        One name, or several.
    check : bool
        Whether to check the values of every call as ``solve`` does, as far as they are not traced.

    Returns
    -------
    PureFunction
        ``f(x)`` with ``x`` a dict of canonical inputs (byte, second, FLOP); those left out of
        ``x`` keep the values bound here. One output gives its value, nan where it has none, several a dict.

    Raises
    ------
    InputError
        As for ``solve``.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> memory = TrainingMemoryModel("first_order")
    >>> held = memory.function("activations", "Llama3_8B", "H100", seq_len=2048, batch_size=8)
    >>> print(f"{float(held({'batch_size': 16.0})) / float(held({})):.1f}")
    2.0
    """
    return PureFunction(model, outputs, model.named_arguments(entries, inputs), check=check)
