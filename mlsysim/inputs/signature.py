"""Signatures and help of a model's verbs, generated from what the model declares."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from mlsysim.errors import InputError, UnknownNameError, nearest
from mlsysim.inputs.axes import Linked
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.inputs.recipe import as_run
from mlsysim.inputs.variant import Variant
from mlsysim.names import ELSEWHERE, SPELLINGS
from mlsysim.symbolic import Variable
from mlsysim.symbolic.family import families_among
from mlsysim.tracebacks import at_the_call

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: How a verb calls the keyword arguments that say what outputs shall be; no input can be called so.
TARGETS = "targets"
_SECTIONS = ("Parameters", "Returns", "Raises")
#: Parameters that stand for the arguments of any model, where those of one follow.
_OF_ANY = re.compile(r"^\*\*?(?:entries|inputs|axes|held) *(?::.*)?\n(?:    .*\n)+", re.M)


def _refuse_misspelt(verb: str, name: str, own: Sequence[str], others: Sequence[str]) -> None:
    """Refuse a keyword that is spelled nearly as one of the verb itself, and is no other name and nearer to none."""
    close = [] if name in others else nearest(name, [*own, *others])
    if close and close[0] in own:
        raise UnknownNameError(f"argument of {verb}", name, own, close=close)


def annotation(variable: Variable) -> str:
    """Describe the allowed values and unit of an argument, as signatures and help show them."""
    unit = f" [{variable.unit}]" if variable.unit not in ("", "count") else ""
    return f"{variable.domain.describe()}{unit}"


def with_signature(cls: type[DeclaredModel], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a verb of :class:`DeclaredModel` with the arguments of one model in signature and help.

    Parameters
    ----------
    cls : type
        The model.
    plain : callable
        The verb as the base class defines it.

    Returns
    -------
    callable
    """
    own = [p.name for p in inspect.signature(plain).parameters.values() if p.kind in _BY_NAME]
    known = {*own, *cls.arguments, *families_among(cls.arguments), *SPELLINGS, *ELSEWHERE}

    @at_the_call
    @wraps(plain)
    def verb(self: DeclaredModel, *args: Any, **kwargs: Any) -> Any:
        if "variant" in kwargs and "variant" not in own:
            chosen = kwargs["variant"]
            known_one = isinstance(chosen, str) and chosen in cls.variants
            hint = f"use {cls.__name__}({chosen!r})" if known_one else f"there are {', '.join(cls.variants)}"
            raise InputError("variant", chosen, "the set of formulas is chosen where the model is made", hint)
        for name in kwargs.keys() - known if own else ():
            if not isinstance(kwargs[name], Linked):
                others = [*self.arguments, *(v.name for v in self.outputs)]
                _refuse_misspelt(f"{cls.__name__}.{plain.__name__}", name, own, others)
        return plain(as_run(self, kwargs), *args, **kwargs)

    verb.__qualname__ = f"{cls.__qualname__}.{plain.__name__}"
    verb.__module__ = cls.__module__
    verb.__signature__ = _signature(cls, plain)  # type: ignore[attr-defined]
    verb.__doc__ = _with_parameters(inspect.cleandoc(plain.__doc__ or ""), parameters_help(cls))
    return verb


def parameters_help(cls: type[DeclaredModel]) -> str:
    """Arguments of a model, in the form of a numpydoc ``Parameters`` section."""
    known, lines = _defaults(cls), []
    for name, slot in cls.slots.items():
        default = f"default {slot.default!r}" if slot.default else "optional"
        lines += [f"{name} : {slot.entry.__name__} or str, {default}", f"    Gives {slot.described}."]
    for name, variable in cls.arguments.items():
        if variable is None:
            continue
        if name in cls.keywords:
            default = f", default {known[name]!r}" if name in known else ""
        else:
            default = ", default from " + " or ".join(a for a, s in cls.slots.items() if name in s.gives)
        only = only_in(cls, name)
        lines += [f"{name} : {annotation(variable)}{default}", f"    {variable.description}{only and f' {only}.'}"]
    return "\n".join(lines)


def _defaults(cls: type[DeclaredModel]) -> dict[str, Any]:
    """Values of keywords left out: of the model, else of the first variant that has one."""
    defaults: dict[str, Any] = {}
    for chosen in list(cls.variants.values())[::-1]:
        defaults |= Variant.of(chosen).defaults
    return defaults | dict(cls.defaults)


def only_in(cls: type[DeclaredModel], name: str) -> str:
    """Variants that take an argument, in words; empty if the first one does."""
    using = cls.variants_using(name)
    if not cls.variants or next(iter(cls.variants)) in using:
        return ""
    return f"Only variant{'s' if len(using) > 1 else ''} {' and '.join(using)}"


def _signature(cls: type[DeclaredModel], plain: Callable[..., Any]) -> inspect.Signature:
    kind = inspect.Parameter
    own = [
        p for p in inspect.signature(plain).parameters.values() if p.kind not in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD)
    ]
    bound = kind("self", kind.POSITIONAL_ONLY)
    positional = [bound, *(p for p in own if p.kind is kind.POSITIONAL_OR_KEYWORD)]
    keyword = [p for p in own if p.kind is kind.KEYWORD_ONLY]
    entries = [
        kind(name, kind.POSITIONAL_OR_KEYWORD, default=None, annotation=cls.slots[name].entry.__name__)
        for name in cls.positional()
    ]
    inputs, known = [], _defaults(cls)
    for name, slot in cls.slots.items():
        if slot.by_name:
            default = slot.default or None
            inputs.append(kind(name, kind.KEYWORD_ONLY, default=default, annotation=slot.entry.__name__))
    for name, variable in cls.arguments.items():
        if variable is not None:
            required = name in cls.keywords and name not in known
            default = kind.empty if required else known.get(name)
            inputs.append(kind(name, kind.KEYWORD_ONLY, default=default, annotation=annotation(variable)))
    more = [p for p in inspect.signature(plain).parameters.values() if p.kind is kind.VAR_KEYWORD and p.name == TARGETS]
    return inspect.Signature([*positional, *entries, *keyword, *inputs, *more])


def _with_parameters(doc: str, parameters: str) -> str:
    """A docstring with parameters added to its ``Parameters`` section, or with that section."""
    heading, doc = "Parameters\n----------", _OF_ANY.sub("", doc)
    after = next((doc.index(title) for s in _SECTIONS[1:] if (title := f"\n{s}\n{'-' * len(s)}\n") in doc), len(doc))
    before = doc[:after].rstrip()
    if heading not in before:
        before += f"\n\n{heading}"
    return f"{before}\n{parameters}\n{doc[after:]}"
