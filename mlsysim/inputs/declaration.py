"""Declaration of a model: a System with named variants, and how catalog entries and keywords become its inputs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from string import Formatter
from typing import Any, ClassVar, Self

from mlsysim.backends import compiled
from mlsysim.backends.javascript import source
from mlsysim.catalog import Engine, Value, builtin
from mlsysim.errors import ArgumentsError, InputError, ModelError, UnknownNameError
from mlsysim.inputs import convert
from mlsysim.inputs.checks import check_inputs_only, check_kinds, check_names, premises
from mlsysim.inputs.families import by_member
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.spellings import own_name
from mlsysim.inputs.variant import Variant
from mlsysim.names import SPELLINGS, known_as
from mlsysim.symbolic import Formula, Requirement, System, Variable, variable_of
from mlsysim.symbolic.family import families_among, members_among, several
from mlsysim.symbolic.printing.nomenclature import in_order, nomenclature
from mlsysim.symbolic.variable import declaration_order
from mlsysim.tracebacks import at_the_call


@dataclass(frozen=True)
class Better:
    """The variant that a result of another one is held against.

    Parameters
    ----------
    variant : str
        Its name.
    decides : str
        The output that must agree.
    shows : str
        The output shown where it does not.
    """

    variant: str
    decides: str
    shows: str


@dataclass(frozen=True)
class Foundation:
    """The model that outputs of another one follow from, and whose measured errors they take over.

    Parameters
    ----------
    model : type
        The model that was measured.
    variant : str
        Its variant.
    outputs : mapping
        For an output of the model that stands on it, the output whose error it takes over.
    variants : tuple of str
        Variants of the model that stands on it; all where left out.
    """

    model: type[DeclaredModel]
    variant: str
    outputs: Mapping[str, str]
    variants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Room:
    """Test of whether the memory of an engine holds a request, and the ranks that would make room.

    Parameters
    ----------
    held : str
        The output that counts the requests with room.
    shards : tuple of str
        Two arguments for numbers of ranks that share one copy of the weights, the nearer ranks first.
    copies : str
        The argument or output for the number of such copies.
    near : str
        The input that the first of them exceeds only where nothing else has room.
    what : str
        What has no room then.
    ranks : tuple of str
        What the two numbers are, where other arguments decide as well; the arguments themselves where left out.
    variant : str
        The variant that counts them, where others do not.
    """

    held: str
    shards: tuple[str, str]
    copies: str
    near: str
    what: str = "a request"
    ranks: tuple[str, str] = ("", "")
    variant: str = ""


@dataclass(frozen=True)
class Alone:
    """A load so light that a request meets no other, and the targets that it must meet even then.

    Parameters
    ----------
    load : dict
        Arguments of such a load.
    targets : dict
        For each argument that is a target, the output that must not exceed it, by the share of requests for which.
    share : str
        The argument for the share of requests that must meet them.
    """

    load: Mapping[str, float]
    targets: Mapping[str, Mapping[float, str]]
    share: str


@dataclass(frozen=True)
class Caveat:
    """Note on a result where a condition holds.

    Parameters
    ----------
    where : sympy condition
        On inputs and outputs; it does not hold where a result has not all of them, and of the text.
    said : str
        What is to be known, with values of inputs and outputs in braces, by name.
    variants : tuple of str
        The variants that it concerns; all where left out.
    stored : bool
        Whether entries are asked for what no argument of the variant takes.
    """

    where: Any
    said: str
    variants: tuple[str, ...] = ()
    stored: bool = False

    @property
    def told(self) -> set[str]:
        """Names of the values in the text."""
        return {name for _, name, _, _ in Formatter().parse(self.said) if name}


class DeclaredModel:
    """A System with named variants, and the arguments its inputs come from.

    A subclass declares what stands below; signatures, help and command lines are generated from it.

    Parameters
    ----------
    variant : str, optional
        Name of the set of formulas to use; the first one declared by default.

    Attributes
    ----------
    command : str
        Its command, also the word for it in ``mlsysim sweep``. The first line of the docstring is the question it
        answers.
    example : dict
        Arguments of ``solve`` that give an answer worth showing; with ``variant`` where it is not the first.
    answer : str
        The output that answers the question; the first of the headline where left out, or where a variant has none
        by this name.
    variants : dict
        For each name a :class:`Variant`, or only its formulas.
    slots : dict
        Arguments that take catalog entries.
    keywords : tuple of str or dict
        Inputs a user types, in the order of the signature; in a dict each with its default, or ``...`` for none. Inputs
        of the formulas that no catalog entry gives and that are not listed come behind.
    defaults : dict
        For each other input that may be left out, its value in its unit.
    requirements : tuple of Requirement
        Conditions on the inputs.
    common : tuple of str
        Inputs that help shows first, beside those of the example and those without a default.
    without_calculator : tuple of str
        Variants that the calculator of the model leaves out, so that its page stays small.
    automatic : dict
        For each argument that the model finds by itself where it has a certain value, that value.
    headline : tuple of str
        Outputs shown first, and computed by ``sweep``; all of them where left out.
    parts : dict
        For each total among them, the outputs of the headline that add up to it, shown in its unit. Those that a
        variant does not compute are no part of its total.
    better : Better, optional
        The variant that measurements confirm, which the command line asks first, and the output on which the others
        must agree with it.
    foundations : tuple of Foundation
        Models that outputs follow from, in the order in which their errors are looked for.
    room : tuple of Room
        Engines whose memory may hold no request, and the ranks that would make room.
    alone : Alone, optional
        The load at which a target that is not met cannot be met at all.
    caveats : tuple of Caveat
        What a reader must know of results.
    savings : dict
        For each argument that costs something to save something: its value without, and the output it lowers.
    effective_with : dict
        For each argument that has an effect only beside others: what these must be, in words.
    uncrossed : dict
        For each input that says how fast links are, conditions under which nothing crosses them, so that it needs no
        value. A condition is of the variants that take all its arguments.
    follows : dict
        For an input that is another one unless it is given, that other one, where a call gives it.
    givers : dict
        For each input that catalog entries give, the arguments that take one, and their slots.
    prefixes : tuple of str
        Beginnings of the names of inputs that have number formats of their own, an empty one first.
    engine : str
        The inference engine that the command line takes where a call names none; its variant is then asked first.
    assumed : str
        Of an instance, that engine where none was named.
    is_chosen : bool
        Of an instance, whether a variant was named; a recipe or an engine names one where it was not.
    arguments : dict
        For each argument its variable, or None if it takes a catalog entry. An instance has the arguments that its
        variant uses.
    """

    command: ClassVar[str] = ""
    example: Mapping[str, Any] = {}
    variants: ClassVar[Mapping[str, Variant | tuple[Formula, ...]]] = {}
    slots: ClassVar[dict[str, Slot]] = {}
    keywords: ClassVar[tuple[str, ...] | Mapping[str, Any]] = ()
    _keywords_follow: ClassVar[bool] = True
    better: ClassVar[Better | None] = None
    engine: ClassVar[str] = ""
    assumed: str = ""
    foundations: ClassVar[tuple[Foundation, ...]] = ()
    room: ClassVar[tuple[Room, ...]] = ()
    alone: ClassVar[Alone | None] = None
    caveats: ClassVar[tuple[Caveat, ...]] = ()
    savings: ClassVar[Mapping[str, tuple[Any, str]]] = {}
    effective_with: ClassVar[Mapping[str, str]] = {}
    uncrossed: ClassVar[Mapping[str, tuple[Requirement, ...]]] = {}
    follows: ClassVar[Mapping[str, str]] = {}
    givers: ClassVar[Mapping[str, tuple[tuple[str, Slot], ...]]] = {}
    prefixes: ClassVar[tuple[str, ...]] = ("",)
    defaults: Mapping[str, Any] = {}
    requirements: tuple[Requirement, ...] = ()
    common: ClassVar[tuple[str, ...]] = ()
    without_calculator: ClassVar[tuple[str, ...]] = ()
    automatic: ClassVar[Mapping[str, float]] = {}
    headline: tuple[str, ...] = ()
    answer: str = ""
    parts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    arguments: Mapping[str, Variable | None] = {}

    @at_the_call
    def __init__(self, variant: str | None = None) -> None:
        if not self.variants:
            raise ModelError(f"{type(self).__name__}.variants: names no set of formulas")
        self.is_chosen = variant is not None
        variant = next(iter(self.variants)) if variant is None else variant
        known = variant if isinstance(variant, str) and variant in self.variants else known_as(variant, self.variants)
        if known is None:
            raise UnknownNameError(f"variant of {type(self).__name__}", variant, self.variants)
        self.variant = variant = known
        chosen = Variant.of(self.variants[variant])
        self._take_formulas()
        self.defaults = {**type(self).defaults, **chosen.defaults}
        self.headline = chosen.headline or type(self).headline or tuple(v.name for v in self.system.variables)
        self.answer = self.answer if self.answer in self.system else self.headline[0]
        used = _uses(type(self), variant)
        self.arguments = {
            name: v for name, v in type(self).arguments.items() if name in used or self._takes(name, used)
        }
        shared = {name: value for name, value in type(self).example.items() if name in self.arguments}
        self.example = chosen.example or shared

    def __getstate__(self) -> dict[str, Any]:
        """Everything but its formulas, which class and variant give; sympy would simplify each of them again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("system", "requirements")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._take_formulas()

    def _take_formulas(self) -> None:
        self.system = _system(type(self), self.variant)
        self.requirements = tuple(
            requirement.among(self.variants) for requirement in _requirements(type(self), self.variant)
        )

    @classmethod
    def _takes(cls, name: str, used: frozenset[str]) -> bool:
        """Tell whether it takes an entry by this name; a strict one, or one with a default, only where needed."""
        slot = cls.slots.get(name)
        return slot is not None and not ((slot.default or slot.strict) and used.isdisjoint(slot.asks or slot.gives))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_kinds(cls)
        provided = [name for slot in cls.slots.values() for name in slot.gives]
        cls._keywords_follow = cls._keywords_follow and "keywords" not in vars(cls)
        if isinstance(cls.keywords, Mapping):
            cls.defaults = {**cls.defaults, **{name: value for name, value in cls.keywords.items() if value is not ...}}
        listed = () if cls._keywords_follow else cls.keywords
        used = {name for variant in cls.variants for name in _uses(cls, variant)}.difference(provided, listed)
        cls.keywords = (*listed, *sorted(used, key=declaration_order().__getitem__))
        cls.givers = {
            name: tuple((argument, slot) for argument, slot in cls.slots.items() if name in slot.gives)
            for name in dict.fromkeys(provided)
        }
        cls.prefixes = tuple(dict.fromkeys(("", *(slot.prefix for slot in cls.slots.values()))))
        cls.arguments = {
            **dict.fromkeys(cls.slots),
            **{name: variable_of(name) for name in (*cls.keywords, *provided)},
        }
        if cls.variants:
            check_names(cls, {variant: _system(cls, variant) for variant in cls.variants})

    @classmethod
    def measured(cls) -> str:
        """The variant that measurements confirm, or the one of its engine, where one is declared; else the first."""
        named = cls.better.variant if cls.better else ""
        if cls.engine:
            engine = builtin().find(Engine.what, cls.engine)
            named = engine.variant.value if isinstance(engine, Engine) else named
        return named if named in cls.variants else next(iter(cls.variants))

    @classmethod
    @at_the_call
    def asked(cls, variant: str | None = None) -> Self:
        """An instance as the command line asks it: by the variant that measurements confirm, or by its engine.

        Parameters
        ----------
        variant : str, optional
            Name of a variant; the measured one where left out.

        Returns
        -------
        DeclaredModel
        """
        instance = cls(cls.measured() if variant is None else variant)
        instance.is_chosen, instance.assumed = variant is not None, cls.engine
        return instance

    def in_variant(self, variant: str) -> Self:
        """An instance of another variant, which takes the same engine where a call names none.

        Parameters
        ----------
        variant : str
            Name of a variant.

        Returns
        -------
        DeclaredModel
        """
        instance = type(self)(variant)
        instance.assumed = self.assumed
        return instance

    @classmethod
    def positional(cls) -> tuple[str, ...]:
        """Arguments that can be given without a name: catalog entries without a default, but recipes."""
        return tuple(name for name, slot in cls.slots.items() if not slot.by_name)

    @classmethod
    def question(cls) -> str:
        """The question it answers: the first line of its docstring."""
        return inspect.cleandoc(vars(cls).get("__doc__") or "").partition("\n")[0]

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas in order of evaluation."""
        return self.system.formulas

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """Inputs that the formulas need from outside."""
        return self.system.inputs

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The headline outputs, then every intermediate."""
        first = [variable_of(name) for name in self.headline]
        return (*first, *(v for v in self.system.variables if v.name not in self.headline))

    def parts_of(self, name: str) -> tuple[str, ...]:
        """The outputs that add up to an output; empty where it is no total.

        Parameters
        ----------
        name : str
            Name of an output.

        Returns
        -------
        tuple of str
        """
        return tuple(part for part in self.parts.get(name, ()) if part in self.system)

    @at_the_call
    def latex(self, output: str | None = None, *, units: bool = False) -> str:
        """All formulas, or the ones that one output needs, as an ``align*`` block.

        Parameters
        ----------
        output : str, optional
            Name of an output; all formulas where left out.
        units : bool
            Whether constants show their units.

        Returns
        -------
        str
        """
        system = self.system if output is None else self.system.closure(self._named(output))
        rows = [formula.latex(units=units, aligned=True) for formula in system.printed]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"

    @at_the_call
    def symbols(self, output: str | None = None) -> tuple[Variable, ...]:
        """Variables of all formulas, or of those that one output needs, in the order of their symbols.

        Parameters
        ----------
        output : str, optional
            Name of the output; all formulas of the variant if left out.

        Returns
        -------
        tuple of Variable

        Raises
        ------
        UnknownNameError
            If the variant has no such output.
        """
        system = self.system if output is None else self.system.closure(self._named(output))
        return in_order(v for formula in system.printed for v in (formula.variable, *formula.inputs))

    @at_the_call
    def nomenclature(self, output: str | None = None) -> str:
        """Symbols with meaning and unit as a LaTeX ``longtable``: all, or those that one output needs.

        Parameters
        ----------
        output : str, optional
            Name of the output; all formulas of the variant if left out.

        Returns
        -------
        str

        Raises
        ------
        UnknownNameError
            If the variant has no such output.
        """
        return nomenclature(self.symbols(output))

    @at_the_call
    def source_code(self, backend: str = "numpy") -> str:
        """The generated source, for plain floats (``"numpy"``), ``"jax"`` or ``"javascript"``.

        It has one line per formula; one that is equal to another has none, and the other is returned in its place.

        Parameters
        ----------
        backend : {"numpy", "jax", "javascript"}
            Language of the source.

        Returns
        -------
        str
        """
        if not isinstance(backend, str) or backend not in ("numpy", "jax", "javascript"):
            raise UnknownNameError("backend", backend, ("numpy", "jax", "javascript"))
        if backend == "javascript":
            return source(self.system)
        return compiled(self.system, None, backend).source  # type: ignore[arg-type]

    @at_the_call
    def output(self, name: str) -> Variable:
        """The variable of an output.

        Parameters
        ----------
        name : str
            Name of an output.

        Returns
        -------
        Variable

        Raises
        ------
        UnknownNameError
            If the model has no output of that name.
        InputError
            If it names a family of outputs, where one is asked for.
        """
        if isinstance(name, str) and name in self.system:
            return variable_of(name)
        if isinstance(name, str) and (members := members_among(name, self.system)):
            raise InputError("output", name, several(name), f"name one of {', '.join(members.values())}")
        known = [v.name for v in self.outputs]
        raise self.unknown_output(name, known)

    def unknown_output(self, name: Any, known: Iterable[str]) -> UnknownNameError:
        """The refusal of an output, which names another variant that has it.

        Parameters
        ----------
        name : object
            What was given as a name.
        known : iterable of str
            Names of outputs to choose from.

        Returns
        -------
        UnknownNameError
        """
        kind = type(self)
        having = [variant for variant in self.variants if isinstance(name, str) and name in _system(kind, variant)]
        hint = f"{kind.__name__}({having[0]!r}) has it" if having else ""
        names = list(known)
        return UnknownNameError(f"output of {kind.__name__}", name, [*names, *families_among(names)], hint)

    @at_the_call
    def named_outputs(self, outputs: Any) -> tuple[str, ...]:
        """Names of outputs, from one name or several; the name of a family stands for its members that are outputs.

        Parameters
        ----------
        outputs : str or iterable of str
            Names of outputs or families.

        Returns
        -------
        tuple of str

        Raises
        ------
        InputError
            If no output is named.
        UnknownNameError
            If the model has no output of a name.
        """
        try:
            names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        except TypeError:
            names = ()
        if not names:
            raise InputError("outputs", outputs, "name at least one output")
        return tuple(dict.fromkeys(output for name in names for output in self._named(name)))

    def _named(self, name: Any) -> tuple[str, ...]:
        members = members_among(name, self.system) if isinstance(name, str) and name not in self.system else {}
        return tuple(members.values()) or (self.output(name).name,)

    def canonical_default(self, name: str) -> float:
        """The value of a keyword if it is left out, in canonical units.

        Parameters
        ----------
        name : str
            Name of a keyword with a default.

        Returns
        -------
        float
        """
        return _canonical(name, self.defaults[name])

    @classmethod
    def part(cls, name: str) -> str:
        """The prefix of an input of a second part of the model, which has number formats of its own; else empty.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        str
        """
        return next((slot.prefix for _, slot in cls.givers.get(name, ()) if slot.part(name)), "")

    def fallback(self, name: str, precision: str) -> Value | None:
        """The value of an input from the default entry of a slot; None without one.

        Parameters
        ----------
        name : str
            Name of an input.
        precision : str
            Number format at which a rate is looked up.

        Returns
        -------
        Value or None
        """
        givers = self.givers.get(name, ())
        fallbacks = (slot.fallback(name, precision) for argument, slot in givers if argument in self.arguments)
        return next((value for value in fallbacks if value is not None), None)

    @classmethod
    def variants_using(cls, name: str) -> tuple[str, ...]:
        """Names of the variants that take an argument.

        Parameters
        ----------
        name : str
            Name of an argument.

        Returns
        -------
        tuple of str
        """
        uses = ((variant, _uses(cls, variant)) for variant in cls.variants)
        return tuple(variant for variant, used in uses if name in used or cls._takes(name, used))

    def unused(self, argument: str, name: str, value: Any) -> InputError:
        """The refusal of an argument that another variant takes, or none.

        Parameters
        ----------
        argument : str
            Argument of the verb that the error blames.
        name : str
            Name of the model's argument.
        value : object
            What was given.

        Returns
        -------
        InputError
        """
        others = " or ".join(self.variants_using(name))
        if not others:
            return InputError(argument, value, f"no variant of {type(self).__name__} uses it")
        return InputError(argument, value, f"the variant {self.variant} does not use it", f"variant={others} does")

    def without(self, missing: frozenset[str]) -> System:
        """The part of the system that can be evaluated when some inputs are missing.

        Parameters
        ----------
        missing : frozenset of str
            Names of inputs that have no value.

        Returns
        -------
        System
        """
        return _without(self.system, missing)

    def how_to_give(self, name: str) -> str:
        """Ways to give a missing input, for an error message.

        Parameters
        ----------
        name : str
            Name of an input.

        Returns
        -------
        str
        """
        ways = [f"{argument}=..." for argument, slot in self.slots.items() if name in slot.gives]
        return "give " + " or ".join([*ways, f"{name}=..."])

    def named_arguments(self, entries: tuple[Any, ...], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name, including those given by position and the members of families of inputs.

        Parameters
        ----------
        entries : tuple
            Entries without a name, in order.
        inputs : mapping
            Arguments by name.

        Returns
        -------
        dict

        Raises
        ------
        ArgumentsError
            If there are too many, or one is given twice.
        InputError
            If a family of inputs is not given as a mapping of its members.
        """
        inputs = by_member(self._respelled(inputs), self.arguments)
        if not entries:
            return inputs
        names = self.positional()
        if len(entries) > len(names):
            raise ArgumentsError(f"{type(self).__name__}: only {', '.join(names)} can be given without a name")
        positional = dict(zip(names, entries, strict=False))
        for name in positional:
            if name in inputs:
                raise ArgumentsError(f"{type(self).__name__}: {name} is given twice")
        return {**positional, **inputs}

    def _respelled(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments with other spellings replaced by the names of the arguments."""
        respelled = ((typed, own_name(typed, self.arguments)) for typed in SPELLINGS if typed in inputs)
        other = {typed: name for typed, name in respelled if name != typed}
        for spelling, name in other.items():
            if name in inputs:
                raise InputError(name, inputs[name], "is given twice", f"once as {spelling}")
        return {other.get(name, name): value for name, value in inputs.items()} if other else inputs

    def __repr__(self) -> str:
        return f"{type(self).__name__}(variant={self.variant!r})"

    def _repr_latex_(self) -> str:
        return f"$${self.latex().replace('align*', 'aligned')}$$"


#: Where models stand that declare all that their formulas rest on, which a test holds: proving it takes a tenth of a
#: first answer.
_OURS = "mlsysim.models."


@cache
def _system(model: type[DeclaredModel], variant: str) -> System:
    return System(Variant.of(model.variants[variant]).formulas)


@cache
def _requirements(model: type[DeclaredModel], variant: str) -> tuple[Requirement, ...]:
    """Requirements of a model, of a variant of it and of the formulas of that."""
    own = Variant.of(model.variants[variant]).requirements
    if model.__module__.startswith(_OURS):
        return (*model.requirements, *own)
    return (*model.requirements, *own, *premises(model, variant, _system(model, variant)))


@cache
def _uses(model: type[DeclaredModel], variant: str) -> frozenset[str]:
    """Inputs a variant needs, for its formulas or its requirements."""
    system = _system(model, variant)
    check_inputs_only(model, variant, system)
    used = (*system.inputs, *(v for requirement in _requirements(model, variant) for v in requirement.inputs))
    return frozenset(v.name for v in used)


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
