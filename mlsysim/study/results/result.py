"""Results: the values of one solved point, with units and sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlsysim.catalog import Entry, Sourced, Stack
from mlsysim.errors import UnknownNameError
from mlsysim.figures import drawn
from mlsysim.inputs.axes import Typed
from mlsysim.inputs.binding import Binding
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.recipe import FromRecipe, Origin
from mlsysim.inputs.recurring import Answer
from mlsysim.jsontext import JsonAnswer
from mlsysim.references import Reference, bibliography, reference
from mlsysim.study.results.display import INFINITE, as_text, endless, listed, plain, presented
from mlsysim.study.results.infeasible import obstacle, shortfall
from mlsysim.study.results.notes import left_out, notes
from mlsysim.symbolic import Variable, variable_of, words_latex
from mlsysim.symbolic.family import members_among
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlsysim.study.results.expected_error import ExpectedError
    from mlsysim.study.results.explanation import Explanation


class Result(JsonAnswer):
    """Values of a model at one point.

    Every output, intermediate and input is an attribute: a pint quantity if it has a unit, a plain number if it is a
    count or its name says the unit (``qps_capacity``), ``True`` or ``False``, or a label. A quantity with an index is a
    dict by member: ``result["group_time"]["tp"]`` is ``result.tp_time``.

    Attributes
    ----------
    model : DeclaredModel
        Model that was solved.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> result = TrainingMemoryModel.solve_example()
    >>> print(f"{result.total_memory:.2f}, {result['total_memory']:.2f}")
    32.90 GB, 32.90 GB
    >>> result.source("zero_stage")
    'given'
    >>> print(result.explain("gradients"))
    Inputs
      precision       fp16             precision  [default]
      Z               2                zero_stage  [given]
      d               8                dp_size  [given]
      t               1                tp_size  [default]
      p               1                pp_size  [default]
      e               1                ep_size  [default]
      f               1.00             trainable_fraction  [default]
      P               8.03e9           parameters  [paper: huggingface.co, 2024-04]
    <BLANKLINE>
    Bytes per number  [micikevicius2018, section 3]
      q = {4 if precision in {fp32, tf32}; 2 if precision in {bf16, fp16}; 1 if precision in {fp8,
          fp8_deepseek, int8, w8a8}; 1/2 if precision in {int4, mxfp4, nvfp4, w4a16}; 1 if precision =
          q8_0; 3/4 if precision = q6_k; 5/8 if precision = q5_k_m; 1/2 otherwise}
        = 2.00 B
          case: precision in {bf16, fp16}  (precision = fp16)
    <BLANKLINE>
    Parameters per rank  [mlsysim_tutorial, section 1]
      P_r = P/(t·p·e)
          = 8.03e9/(1·1·1)
          = 8.03e9
    <BLANKLINE>
    Gradients held by one rank  [rajbhandari2020, section 5]
      G = q·f·P_r/{d if Z ≥ 2; 1 otherwise}
        = 2.00 B·1.00·8.03e9/8
        = 2.01 GB
          case: Z ≥ 2  (Z = 2)
    """

    model: DeclaredModel
    _answer: Answer

    def __init__(self, model: DeclaredModel, binding: Binding, values: dict[str, Any]) -> None:
        self.__dict__.update(model=model, _binding=binding, _computed=values)

    @classmethod
    def _of(cls, model: DeclaredModel, answer: Answer) -> Result:
        """Build the result of a recurring call; inputs, sources and values are assembled on access."""
        result = cls.__new__(cls)
        result.__dict__.update(model=model, _answer=answer)
        return result

    @cached_property
    def _binding(self) -> Binding:
        return self._answer.binding(self.model)

    @cached_property
    def _computed(self) -> dict[str, Any]:
        return self._answer.computed()

    @cached_property
    def _values(self) -> dict[str, Any]:
        return {**self._binding.values, **self._computed}

    def __getstate__(self) -> dict[str, Any]:
        """Return inputs and values, without the cached answer of a recurring call."""
        return {"model": self.model, "_binding": self._binding, "_computed": self._computed}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a result cannot be changed: {name} is what the model says of its inputs")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @at_the_call
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    @at_the_call
    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str) or name not in self._values:
            if isinstance(name, str) and name in self.model.system:
                raise UnknownNameError(
                    f"output of this {type(self.model).__name__} result "
                    f"(it needs {', '.join(self.missing_for(name))}=...)",
                    name,
                    self._values,
                )
            if isinstance(name, str) and (members := members_among(name, self._values)):
                return {member: self[member_name] for member, member_name in members.items()}
            raise self.model.unknown_output(name, self._values)
        return presented(variable_of(name), self._values[name])

    def __contains__(self, name: object) -> bool:
        """Tell whether ``result[name]`` has a value: an output, an input or a quantity with an index."""
        return isinstance(name, str) and (name in self._values or bool(members_among(name, self._values)))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the outputs, headline outputs first.

        Yields
        ------
        str
            A name; ``result[name]`` is its value.
        """
        return iter(self.keys())

    def keys(self) -> tuple[str, ...]:
        """Names of the outputs, headline outputs first, for ``dict(result)``.

        Returns
        -------
        tuple of str
        """
        return tuple(variable.name for variable in self.model.outputs if variable.name in self._computed)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def missing_for(self, output: str) -> list[str]:
        """Return the arguments that an output still needs: catalog entries, or inputs that the entries do not give.

        Parameters
        ----------
        output : str
            Name of an output that the result lacks.

        Returns
        -------
        list of str
        """
        needed = self.model.system.closure([output]).inputs
        missing = [variable.name for variable in needed if variable.name not in self._binding.values]
        slots = self.model.slots.items()
        entries = [name for name, slot in slots if slot.optional and {*slot.gives} & {*missing}]
        return entries or missing

    @property
    def outputs(self) -> dict[str, Any]:
        """Every computed value by name, headline outputs first."""
        return {name: self[name] for name in self}

    @property
    def inputs(self) -> dict[str, Any]:
        """Every input by name."""
        return {name: self[name] for name in self.input_names}

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self._binding.values)

    @at_the_call
    def canonical(self, name: str) -> float:
        """Return a value as the plain float that the formulas use, in canonical units.

        Parameters
        ----------
        name : str
            Name of an input or output.

        Returns
        -------
        float
        """
        if not isinstance(name, str) or name not in self._values:
            self[name]
        return float(self._values[name])

    @at_the_call
    def source(self, name: str) -> str:
        """Return the source of an input: a catalog value or a recipe with its citation, ``"given"`` or ``"default"``.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        str

        Raises
        ------
        UnknownNameError
            If there is no such input.
        """
        origins = self._binding.origins
        if not isinstance(name, str) or name not in origins:
            raise UnknownNameError("input", name, origins)
        return str(origins[name])

    def origin(self, name: str) -> Origin:
        """Return the origin of an input: a catalog value, a recipe, ``"given"`` or ``"default"``.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        Value, Choice or str
        """
        return self._binding.origins[name]

    def inputs_as(self, origin: Origin) -> dict[str, str]:
        """Return the inputs of one origin (``"given"`` or ``"default"``), as text with units.

        Parameters
        ----------
        origin : str
            ``"given"`` or ``"default"``.

        Returns
        -------
        dict
        """
        names = (name for name in self._binding.values if self._binding.origins[name] == origin)
        return {name: self._text(variable_of(name)) for name in names}

    def by_default_entry(self, names: Iterable[str]) -> dict[tuple[str, str], list[str]]:
        """Return the inputs set by default entries, by argument and entry; those of a stack are part of its basis.

        Parameters
        ----------
        names : iterable of str
            Names of inputs.

        Returns
        -------
        dict
        """
        inputs: dict[tuple[str, str], list[str]] = {}
        slots = {argument: slot for argument, slot in self.model.slots.items() if slot.default}
        for argument, slot in slots.items():
            if issubclass(slot.entry, Stack) or getattr(self.entries.get(argument), "key", "") == slot.default:
                continue
            for name in filter({*names}.__contains__, slot.gives):
                if name in self.input_names and self.origin(name) == slot.fallback(name, ""):
                    inputs.setdefault((argument, slot.default), []).append(name)
        return inputs

    @property
    def entries(self) -> dict[str, Entry]:
        """Catalog entries by argument; also those named by a recipe."""
        return dict(self._binding.entries)

    @property
    def by_recipe(self) -> tuple[str, ...]:
        """Arguments set by a recipe."""
        return self._binding.by_recipe

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names that the recipe sets and the model has no argument for."""
        return self._binding.left_out

    @cached_property
    def obstacle(self) -> str:
        """Reason why no request fits or meets a target, with the nearest layout where one fits; empty if one does."""
        return obstacle(self)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes: why the point is infeasible, unused settings, better variants, savings without effect."""
        short = "" if self.obstacle else shortfall(self)
        return (short, *notes(self)) if short else notes(self)

    def references(self) -> tuple[Reference, ...]:
        """Return the works and pages cited by the formulas and catalog values used, each once."""
        sources = [formula.source for formula in self._binding.system if not isinstance(formula.source, Typed)]
        works = {source.key: source.work for source in sources}
        pages: dict[str, list[str]] = {}
        for name, value_origin in self._binding.origins.items():
            origin = value_origin.origin if isinstance(value_origin, FromRecipe) else value_origin
            if isinstance(origin, Sourced) and origin.source in bibliography():
                works[origin.source] = reference(origin.source)
            elif isinstance(origin, Sourced) and origin.kind != "user":
                pages.setdefault(origin.source, []).append(f"{name} ({origin.standing}, {origin.date})")
        cited = [Reference.page(address, ", ".join(what)) for address, what in pages.items()]
        return (*works.values(), *cited)

    @at_the_call
    def expected_error(self, output: str) -> ExpectedError:
        """Return the expected error of an output: the errors of its area of ``docs/validation.md``.

        Parameters
        ----------
        output : str
            Name of an output.

        Returns
        -------
        ExpectedError
            Median, 90th percentile and worst error, as shares, with their source; as a number it is the median.

        Raises
        ------
        NotMeasuredError
            If nothing of the kind was measured; the message says what was.
        UnknownNameError
            If the result has no such output.
        """
        from mlsysim.study.results.expected_error import expected_error

        self[output]
        return expected_error(self, output)

    @at_the_call
    def explain(self, *outputs: str) -> Explanation:
        """Explain how the values follow: formula, substituted numbers, value, source, and the term that binds.

        Parameters
        ----------
        *outputs : str
            Outputs to explain with all they need, all members of a family included; everything by default.

        Returns
        -------
        Explanation
            Prints as text.
        """
        from mlsysim.study.results.explanation import Explanation

        system = self._binding.system
        if outputs:
            names = [member for name in outputs for member in members_among(name, system).values() or (name,)]
            system = system.closure([self._binding.require(name).name for name in names])
        return Explanation(system, self._values, self._binding.origins, left_out(self))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw memory per rank over a training step, and which phase and rank bind.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InputError
            If the result has no phases of a training step.
        """
        return drawn("moments", self, ax=ax)

    def latex(self) -> str:
        """Return the formulas as an ``align*`` block, each followed by its value, or the value of each member."""
        rows = []
        for formula in self._binding.system.printed:
            values = [words_latex(self._text(member.variable)) for member in formula.members]
            if formula.index is None:
                rows.append(f"{formula.latex(aligned=True)} = {values[0]}")
            else:
                rows.append(formula.latex(aligned=True))
                rows += [
                    f"{member.variable.latex} &= {value}" for member, value in zip(formula.members, values, strict=True)
                ]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: model, variant, inputs with sources, outputs with units, and notes."""
        return {**self._plain(), **({"notes": list(self.notes)} if self.notes else {})}

    def _plain(self) -> dict[str, Any]:
        """Return plain data without notes, which may need another solution."""
        return {
            "model": type(self.model).__name__,
            "variant": self.model.variant,
            "entries": {name: entry.name for name, entry in self._binding.entries.items()},
            **({"left_out": list(self.left_out)} if self.left_out else {}),
            "inputs": {
                name: {**plain(variable_of(name), value), "source": self.source(name)}
                for name, value in self._binding.values.items()
            },
            "outputs": {name: plain(variable_of(name), self._computed[name]) for name in self},
        }

    def _text(self, variable: Variable) -> str:
        return as_text(variable, self._values[variable.name])

    def is_zero_member(self, name: str) -> bool:
        """Tell whether a variable is zero and belongs to a family that one indexed formula computes.

        Parameters
        ----------
        name : str
            Name of an output.

        Returns
        -------
        bool
        """
        system = self._binding.system
        return name in system and bool(system[name].member) and self._values[name] == 0

    def __repr__(self) -> str:
        heads = [name for name in self.model.headline if name in self._computed]
        infinite = endless(self, heads)
        finite = [name for name in heads if name not in infinite]
        lines = [f"  {name:<28} {text}" for name, text, _ in listed(self.model, finite, self._values)]
        if self.obstacle:
            lines = [f"  {self.obstacle}", *lines]
        if infinite:
            lines.append(f"  {INFINITE.format(', '.join(infinite))}")
        lines += [f"  Note: {note}" for note in self.notes if note != self.obstacle]
        return "\n".join([f"<Result of {self.model!r}>", *lines])

    def _repr_html_(self) -> str:
        from mlsysim.study.results.result_page import page

        return page(self)
