"""The front door: a System, and how catalog entries and keywords become its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar

from mlsysim.engine import compiled
from mlsysim.errors import InputError, MissingInputError, UnknownNameError
from mlsysim.models import convert
from mlsysim.models.binding import Binding, Slot, bind
from mlsysim.models.result import Result
from mlsysim.models.signature import with_signature
from mlsysim.models.variant import Variant
from mlsysim.symbolic import Formula, Requirement, System, Variable, variable_of


class PerformanceModel:
    """Base of every model: a System with named variants, and a ``solve`` with a real signature.

    A subclass declares what stands below; signatures and help are generated from it.

    Parameters
    ----------
    variant : str, optional
        Name of the set of formulas to use; the first one declared by default.

    Attributes
    ----------
    variants : dict
        Per name a :class:`Variant`, or its formulas alone.
    slots : dict
        Arguments that take catalog entries.
    keywords : tuple of str
        Inputs a user types, in the order of the signature.
    defaults : dict
        Value of a keyword left out, in its unit.
    requirements : tuple of Requirement
        Conditions on the inputs.
    headline : tuple of str
        Outputs shown first, and computed by ``sweep``; all of them where left out.
    arguments : dict
        Variable per argument, None for a catalog entry; of an instance, those its variant uses.
    """

    variants: ClassVar[Mapping[str, Variant | tuple[Formula, ...]]] = {}
    slots: ClassVar[dict[str, Slot]] = {}
    keywords: ClassVar[tuple[str, ...]] = ()
    defaults: Mapping[str, Any] = {}
    requirements: tuple[Requirement, ...] = ()
    headline: tuple[str, ...] = ()
    arguments: Mapping[str, Variable | None] = {}

    def __init__(self, variant: str | None = None) -> None:
        variant = next(iter(self.variants), "") if variant is None else variant
        if not isinstance(variant, str) or variant not in self.variants:
            raise UnknownNameError(f"variant of {type(self).__name__}", variant, self.variants)
        self.variant = variant
        chosen = Variant.of(self.variants[variant])
        self.system = _system(type(self), variant)
        self.requirements = (*type(self).requirements, *chosen.requirements)
        self.defaults = {**type(self).defaults, **chosen.defaults}
        self.headline = chosen.headline or type(self).headline or tuple(v.name for v in self.system.variables)
        used = _uses(type(self), variant)
        self.arguments = {name: v for name, v in type(self).arguments.items() if v is None or name in used}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        provided = [name for slot in cls.slots.values() for name in slot.gives]
        cls.arguments = {
            **dict.fromkeys(cls.slots),
            **{name: variable_of(name) for name in (*cls.keywords, *provided)},
        }
        for verb in ("solve", "sweep", "search", "pareto", "function", "sensitivity"):
            setattr(cls, verb, with_signature(cls, getattr(PerformanceModel, verb)))

    def solve(self, *entries: Any, **inputs: Any) -> Result:
        """Evaluate the model at one point.

        Returns
        -------
        Result
            Every output and intermediate with its unit; ``explain()`` shows how each came about.

        Raises
        ------
        InputError
            If an argument is unknown, missing, outside its domain or does not fit the others.
        UnitError
            If a quantity has the wrong dimension.
        """
        binding = self.bind(entries, inputs)
        function = compiled(binding.system)
        return Result(self, binding, function(binding.values))

    def sweep(
        self,
        *entries: Any,
        outputs: Iterable[str] | None = None,
        refused: str = "raise",
        variant: str | Sequence[str] | None = None,
        store: Any = None,
        block_points: int | None = None,
        client: Any = None,
        progress: bool | None = None,
        **axes: Any,
    ) -> Any:
        """Evaluate the model on the grid of all combinations of the arguments that are lists.

        Several arguments along one axis: ``layout=mlsysim.linked(tp_size=[1, 2], pp_size=[8, 4])``;
        one that follows from others: ``dp_size=mlsysim.derived("512 / (tp_size * pp_size)")``.

        Parameters
        ----------
        outputs : iterable of str, optional
            Names to compute; the headline outputs by default.
        refused : {"raise", "mask"}
            What becomes of combinations that do not fit (sizes that do not divide, a device without
            a rate for the format): an error before anything is computed, or missing values, with the
            reason per point in ``refused`` and their number, in all and by reason, in ``attrs``.
        variant : str or sequence of str, optional
            Another variant than the model's; several become a dimension, with the outputs they share.
        store : path, optional
            A Zarr group (``.zarr``) or NetCDF file (``.nc``) that is filled block by block, for grids
            of any size. Interrupted, the same call goes on where it stopped.
        block_points : int, optional
            Most points held at once; four million by default.
        client : dask.distributed.Client, optional
            Of a cluster that computes the blocks.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal, for what is computed in blocks.

        Returns
        -------
        xarray.Dataset
            One dimension per swept argument, units in ``attrs``; labels as flag codes with their
            meanings, -1 where refused (CF convention).

        Raises
        ------
        InputError
            As for ``solve``.
        """
        from mlsysim.study.sweep import sweep

        arguments = self._positional(entries, axes)
        if store is None and block_points is None and client is None:
            return sweep(self, arguments, outputs, refused, variant)
        from mlsysim.study.stored import stored_sweep

        return stored_sweep(
            self,
            arguments,
            outputs,
            refused,
            variant,
            store=store,
            block_points=block_points,
            client=client,
            progress=progress,
        )

    def search(
        self,
        *entries: Any,
        minimize: Any = None,
        maximize: Any = None,
        subject_to: Any = (),
        top: int = 1,
        method: str = "auto",
        time_limit: float | None = None,
        checkpoint: Any = None,
        client: Any = None,
        progress: bool | None = None,
        **axes: Any,
    ) -> Any:
        """Find the best designs on the grid of all combinations of the arguments that are lists.

        The grid is never held. Bounds derived from the formulas rule out whole parts of it, so that its
        size hardly matters; where they do not, it is streamed.

        Parameters
        ----------
        minimize, maximize : str or sympy.Expr
            One of them: an output, or an expression of outputs and inputs such as
            ``"step_time / batch_size"``.
        subject_to : str or sequence of str
            Constraints, such as ``"total_memory <= 0.9 * memory_capacity"`` or ``"step_time <= 10 s"``.
        top : int
            How many designs.
        method : {"auto", "bounds", "dense"}
            Branch and bound until streaming would be quicker; branch and bound to the end or the time
            limit; or every point.
        time_limit : float, optional
            Seconds for branch and bound. Cut short, the answer says how much better a design may exist.
        checkpoint : path, optional
            File that keeps what streaming has found, to go on from.
        client : dask.distributed.Client, optional
            Of a cluster that streams the grid.
        progress : bool, optional
            Whether to show progress; by default on a terminal.

        Returns
        -------
        Designs
            The best designs as results, as a table, and the certificate. Combinations that do not fit
            are no designs. Values within a relative 1e-9 count as equal; of equal ones the first wins.

        Raises
        ------
        InputError
            As for ``solve``, or if objective, constraint or unit does not fit the model.
        """
        from mlsysim.study.search import search

        return search(
            self,
            self._positional(entries, axes),
            minimize=minimize,
            maximize=maximize,
            subject_to=subject_to,
            top=top,
            method=method,
            time_limit=time_limit,
            checkpoint=checkpoint,
            client=client,
            progress=progress,
        )

    def pareto(
        self,
        minimize: Any,
        *entries: Any,
        maximize: Any = (),
        subject_to: Any = (),
        client: Any = None,
        progress: bool | None = None,
        **axes: Any,
    ) -> Any:
        """The exact Pareto front of several objectives: designs no other one beats in all of them.

        Parameters
        ----------
        minimize, maximize : sequence of str or sympy.Expr
            Objectives, together at least two.
        subject_to, client, progress
            As for ``search``.

        Returns
        -------
        Designs
            By the first objective. Of designs alike in every objective the first on the axes.

        Raises
        ------
        InputError
            As for ``search``.
        """
        from mlsysim.study.search import pareto

        return pareto(
            self,
            self._positional(entries, axes),
            minimize=minimize,
            maximize=maximize,
            subject_to=subject_to,
            client=client,
            progress=progress,
        )

    def sensitivity(self, output: str, *entries: Any, **inputs: Any) -> Any:
        """Gradient and elasticity of one output with respect to every input, at a point or on a grid.

        Continuous inputs are differentiated automatically; whole numbers and labels are steps and
        get the change to the next value instead.

        Parameters
        ----------
        output : str
            Name of an output.

        Returns
        -------
        Sensitivity
            A table at a point, an ``xarray.Dataset`` on a grid.
        """
        from mlsysim.study.sensitivity import sensitivity

        return sensitivity(self, output, self._positional(entries, inputs))

    def function(self, outputs: str | Iterable[str], *entries: Any, **inputs: Any) -> Any:
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
        from mlsysim.models.function import PureFunction

        return PureFunction(self, outputs, self._positional(entries, inputs))

    def derivative(self, output: str, by: str, *, relax: bool = False) -> Any:
        """The derivative of an output with respect to an input, in closed form.

        Parameters
        ----------
        output, by : str
            Names.
        relax : bool
            Drop ceilings and floors first, so that the derivative sees through them.

        Returns
        -------
        Derivative
            Prints as LaTeX and text; names the steps it cannot see through.
        """
        from mlsysim.models.derivative import Derivative

        return Derivative(self, output, by, relax=relax)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas in order of evaluation."""
        return self.system.formulas

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """What the formulas need from outside."""
        return self.system.inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The headline outputs, then every intermediate."""
        first = [variable_of(name) for name in self.headline]
        return (*first, *(v for v in self.system.variables if v.name not in self.headline))

    def latex(self, output: str | None = None, *, units: bool = False) -> str:
        """All formulas, or those one output needs, as an ``align*`` block."""
        system = self.system if output is None else self.system.closure([self.output(output).name])
        rows = [formula.latex(units=units).replace(" = ", " &= ", 1) for formula in system]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"

    def source_code(self, backend: str = "numpy") -> str:
        """The generated source: one line per formula, for ``"numpy"`` scalars or ``"jax"`` arrays."""
        if not isinstance(backend, str) or backend not in ("numpy", "jax"):
            raise UnknownNameError("backend", backend, ("numpy", "jax"))
        return compiled(self.system, None, backend).source  # type: ignore[arg-type]

    def output(self, name: str) -> Variable:
        """The variable of an output.

        Raises
        ------
        UnknownNameError
            If the model has no output of that name.
        """
        if not isinstance(name, str) or name not in self.system:
            raise UnknownNameError(f"output of {type(self).__name__}", name, [v.name for v in self.outputs])
        return variable_of(name)

    def named_outputs(self, outputs: Any) -> tuple[str, ...]:
        """One output name, or several, each known.

        Raises
        ------
        InputError
            If there is none.
        UnknownNameError
            If the model has no output of a name.
        """
        try:
            names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        except TypeError:
            names = ()
        if not names:
            raise InputError("outputs", outputs, "name at least one output")
        return tuple(self.output(name).name for name in names)

    def require(self, name: str, binding: Binding) -> Variable:
        """The variable of an output that can be computed from these inputs.

        Raises
        ------
        UnknownNameError
            If the model has no output of that name.
        MissingInputError
            If it needs an input that was not given.
        """
        derived = any(entry.variable.name == name for entry in binding.derived)
        variable = variable_of(name) if derived else self.output(name)
        if name not in binding.system:
            missing = next(v.name for v in self.system.closure([name]).inputs if v.name not in binding.values)
            raise MissingInputError(type(self).__name__, f"{missing} for {name}", self.how_to_give(missing))
        return variable

    def canonical_default(self, name: str) -> float:
        """The value of a keyword left out, in canonical units."""
        return _canonical(name, self.defaults[name])

    @classmethod
    def variants_using(cls, name: str) -> tuple[str, ...]:
        """Names of the variants that take an argument."""
        return tuple(variant for variant in cls.variants if name in _uses(cls, variant))

    def bind(
        self,
        entries: tuple[Any, ...],
        inputs: Mapping[str, Any],
        *,
        sweep: bool = False,
        mask: bool = False,
        lazy: bool = False,
    ) -> Binding:
        """Arguments as canonical inputs; see :func:`mlsysim.models.binding.bind`."""
        return bind(self, self._positional(entries, inputs), sweep=sweep, mask=mask, lazy=lazy)

    def without(self, missing: frozenset[str]) -> System:
        """The part of the system that can be evaluated when some inputs are missing."""
        return _without(self.system, missing)

    def how_to_give(self, name: str) -> str:
        """How a missing input can be given, for an error message."""
        ways = [f"{argument}=..." for argument, slot in self.slots.items() if name in slot.gives]
        return "give " + " or ".join([*ways, f"{name}=..."])

    def _positional(self, entries: tuple[Any, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
        if not entries:
            return dict(inputs)
        names = list(self.slots)
        if len(entries) > len(names):
            raise TypeError(f"{type(self).__name__}: only {', '.join(names)} can be given without a name")
        given = dict(zip(names, entries, strict=False))
        for name in given:
            if name in inputs:
                raise TypeError(f"{type(self).__name__}: {name} is given twice")
        return {**given, **inputs}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(variant={self.variant!r})"

    def _repr_latex_(self) -> str:
        return f"$${self.latex().replace('align*', 'aligned')}$$"


@cache
def _system(model: type[PerformanceModel], variant: str) -> System:
    return System(Variant.of(model.variants[variant]).formulas)


@cache
def _uses(model: type[PerformanceModel], variant: str) -> frozenset[str]:
    """Inputs a variant needs, for its formulas or its requirements."""
    system = _system(model, variant)
    requirements = (*model.requirements, *Variant.of(model.variants[variant]).requirements)
    asked = (*system.inputs, *(v for requirement in requirements for v in requirement.inputs))
    return frozenset(v.name for v in asked if v.name not in system)


@cache
def _canonical(name: str, value: Any) -> float:
    return convert.scalar(variable_of(name), value)


@lru_cache(maxsize=64)
def _without(system: System, missing: frozenset[str]) -> System:
    lost = set(missing)
    kept = []
    for formula in system:
        if any(v.name in lost for v in formula.inputs):
            lost.add(formula.name)
        else:
            kept.append(formula)
    return System(kept)
