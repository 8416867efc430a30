"""Outputs of a model as functions of some inputs, with the others held constant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from mlsysim.backends import OutputSpec, compiled, evaluate_outputs, slopes
from mlsysim.inputs.binding import Binding, bind_grid
from mlsysim.inputs.convert import inside
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.symbolic import System, variable_of


class Varied:
    """Outputs of a model as functions of its free inputs, in canonical units, through compiled functions.

    Parameters
    ----------
    model : DeclaredModel
        Model that computes the outputs.
    arguments : mapping
        Arguments of ``solve``, some of which may be axes. A free input may be left out.
    free : iterable of str
        Inputs that vary.
    outputs : iterable of str
        Names of the outputs, which are numbers.

    Attributes
    ----------
    arguments : dict
        As typed.
    binding : Binding
        The constant inputs, the axes, and the reasons why a point may be refused.

    Raises
    ------
    InputError
        As :meth:`solve` does, and if a free input is a label or an axis.
    """

    binding: Binding

    def __init__(
        self, model: DeclaredModel, arguments: Mapping[str, Any], free: Iterable[str], outputs: Iterable[str]
    ) -> None:
        self.model = model
        self.arguments = dict(arguments)
        self.free = tuple(free)
        self.outputs = tuple(outputs)
        self.binding = bind_grid(model, arguments, self.free)
        for name in self.outputs:
            self.binding.require(name)
        self._system = closure(self.binding.system, self.outputs)

    def values(self, free_values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Evaluate every output at values of the free inputs.

        Parameters
        ----------
        free_values : mapping
            Canonical number or array per free input. Arrays broadcast with those along the axes.

        Returns
        -------
        dict
            Array per output, of the broadcast shape.
        """
        known, shape = self._at(free_values)
        return evaluate_outputs(self._system, [OutputSpec(name) for name in self.outputs], known, shape)

    def slopes(self, free_values: Mapping[str, Any]) -> dict[str, dict[str, np.ndarray]]:
        """Differentiate every output by each free input, element by element: arrays per input, per output."""
        known, shape = self._at(free_values)
        gradients = slopes(self._system, self.outputs, self.free, known)
        return {
            by: {name: np.broadcast_to(value, shape) for name, value in outputs.items()}
            for by, outputs in gradients.items()
        }

    def allowed(self, free_values: Mapping[str, Any]) -> np.ndarray:
        """Tell whether the model accepts a point: the free inputs are in their domains and no reason refuses it."""
        known, shape = self._at({**self.binding.numbers, **free_values})
        is_allowed = np.ones(shape, bool) & accepted(self.binding, known)
        for name in self.free:
            is_allowed = is_allowed & inside(variable_of(name), known[name])
        return is_allowed

    def _at(self, free_values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Give every input as many dimensions as there are axes; also return the common shape."""
        known = {**self.binding.values, **{name: np.asarray(value, float) for name, value in free_values.items()}}
        most = max(np.ndim(value) for value in known.values())
        known = {name: _ranked(value, most) if np.ndim(value) else value for name, value in known.items()}
        return known, np.broadcast_shapes(*(np.shape(value) for value in known.values()))


def accepted(binding: Binding, known: Mapping[str, Any]) -> np.ndarray:
    """Tell where no reason refuses a point, at canonical values of the inputs."""
    conditions = tuple((f"condition_{n}", condition) for n, condition in enumerate(binding.conditions))
    is_accepted = np.ones((), bool)
    for met in compiled(binding.system, None, "vector", conditions)(known).values() if conditions else ():
        is_accepted = is_accepted & np.asarray(met, bool)
    return is_accepted


def _ranked(value: np.ndarray, dimensions: int) -> np.ndarray:
    """Reshape an array to this number of dimensions: grids are cut along each."""
    return value.reshape((1,) * (dimensions - value.ndim) + value.shape)


@lru_cache(maxsize=256)
def closure(system: System, outputs: tuple[str, ...], *, relax: bool = False) -> System:
    """Return the part of a system that outputs need: one object each, since compiled functions are cached by object."""
    return (system.relax() if relax else system).closure(outputs)
