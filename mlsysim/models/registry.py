"""Every model there is: ours, those of one's own files, and those of installed packages.

Ours are listed by reading the text of their modules, so that a list of commands with their questions costs no
import of sympy. The classes are the only place in which a command and a question are written down.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from mlsysim.collector import paused
from mlsysim.errors import InputError, ModelError, UnknownNameError
from mlsysim.names import known_as

if TYPE_CHECKING:
    from mlsysim.models.base import PerformanceModel

#: Modules of our own models, in the order of the book and of the command line. The first of several with one command
#: answers where no variant is named.
OURS = (
    "parameter_count",
    "training_memory",
    "serving",
    "serving_capacity",
    "iteration",
    "moe_routing",
    "distributed",
    "post_training",
    "run",
    "expert_parallel",
    "economics",
    "memory_expansion",
    "kernel",
    "collective",
)
#: Entry points of this group name models of installed packages: ``command = "module:Class"``.
GROUP = "mlsysim.models"
_COMMAND = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Listed:
    """A model as it is listed before its formulas are loaded.

    Parameters
    ----------
    command : str
        Its command, also the word for it in ``mlsysim sweep``.
    question : str
        What it answers.
    name : str
        Its class.
    origin : str
        Where it comes from, for errors: ``mlsysim``, a file, a module or a package.
    load : callable
        Gives the class.
    variants : tuple of str
        Names of its sets of formulas, where they are read from its text.
    """

    command: str
    question: str
    name: str
    origin: str
    load: Callable[[], type[PerformanceModel]]
    variants: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Name of the model in a shell: see :func:`words_for`."""
        return _words(self.command, self.name, self.variants)


class Registry:
    """Models by command: ours, those of installed packages, and those of files and modules.

    A command of ours may ask several models; the variant says which one, and their variants have names of their own.

    Parameters
    ----------
    own : iterable of str
        Files (``speculative.py``) and modules (``mypackage.models``) that bring models.
    taken : iterable of str
        Commands that no model may have.

    Raises
    ------
    ModelError
        If a file or module does not exist, does not import or brings no model, or two commands are one.
    """

    def __init__(self, own: Iterable[str | Path] = (), *, taken: Iterable[str] = ()) -> None:
        brought = tuple(listed for where in dict.fromkeys(map(str, own)) for listed in _brought_by(where))
        self._own = brought
        self.commands: dict[str, tuple[Listed, ...]] = {}
        taken = set(taken)
        for listed in (*ours(), *installed(), *brought):
            if listed.command in taken:
                raise _second(listed, "mlsysim itself")
            known = self.commands.get(listed.command, ())
            if not known or listed in ours():
                self.commands[listed.command] = (*known, listed)
            elif all(other.load() is not listed.load() for other in known):
                raise _second(listed, f"{known[0].name} of {known[0].origin}")

    def model(self, command: str, variant: str | None = None) -> type[PerformanceModel]:
        """The model of a command: see :meth:`listed`."""
        return self.listed(command, variant).load()

    def listed(self, command: str, variant: str | None = None) -> Listed:
        """The model of a command, before its formulas are loaded.

        Parameters
        ----------
        command : str
            Its command.
        variant : str, optional
            Names of sets of formulas with commas between, of one model of the command; of the first where left out.

        Raises
        ------
        UnknownNameError
            If no model has the command, or none of several has the variant.
        InputError
            If the variants are of several models.
        """
        if command not in self.commands:
            raise UnknownNameError("question", command, self.commands)
        asked = self.commands[command]
        if len(asked) == 1 or not variant:
            return asked[0]
        having = {name: model for model in asked for name in model.variants}
        names = [known_as(name, having) or name.strip() for name in variant.split(",")]
        for name in names:
            if name not in having:
                raise UnknownNameError(f"variant of {command}", name, having)
        found = {having[name].name: having[name] for name in names}
        if len(found) > 1:
            raise InputError("variant", variant, f"these are of {' and '.join(found)}", "choose those of one model")
        return found.popitem()[1]

    def beside(self, listed: Listed) -> tuple[Listed, ...]:
        """The other models of the command of a model."""
        return tuple(other for other in self.commands[listed.command] if other.name != listed.name)

    def program(self, command: str) -> str:
        """Program that a shell runs for a command: with its file, where a file brings it."""
        listed = self.commands[command][0]
        return f"mlsysim --with {shlex.quote(listed.origin)}" if listed in self._own else "mlsysim"

    def own(self) -> tuple[type[PerformanceModel], ...]:
        """The models of one's own files and modules."""
        return tuple(listed.load() for listed in self._own)

    def others(self) -> tuple[type[PerformanceModel], ...]:
        """Every model but ours: of one's own, and of installed packages."""
        known = ours()
        return tuple(entry.load() for listed in self.commands.values() for entry in listed if entry not in known)


def _second(listed: Listed, first: str) -> ModelError:
    said = f"{listed.name} has the command {listed.command!r}, which {first} has"
    return ModelError(f"{listed.origin}: {said}; choose another command")


@cache
def ours() -> tuple[Listed, ...]:
    """The models that come with the library, in the order of the book."""
    return tuple(_ours())


def words_for(model: type[PerformanceModel]) -> str:
    """Name of a model in a shell: its command, with a variant where another model answers without one."""
    return _words(model.command, model.__name__, tuple(model.variants))


def _words(command: str, name: str, variants: tuple[str, ...]) -> str:
    first = next((listed for listed in ours() if listed.command == command), None)
    return f"{command} --variant {variants[0]}" if first is not None and first.name != name else command


def home_of(name: str) -> str:
    """The module of ours that declares a class; empty where none does."""
    return next((module for module in OURS if f"\nclass {name}(PerformanceModel):\n" in _text(module)), "")


def _text(module: str) -> str:
    return Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")


def _ours() -> Iterator[Listed]:
    for module in OURS:
        for name, command, question, variants in declared_in(_text(module)):
            load = _importer(module, name)
            yield Listed(command, question, name, "mlsysim", load, variants)


def _importer(module: str, name: str) -> Callable[[], type[PerformanceModel]]:
    return lambda: loaded(module, name)


def loaded(module: str, name: str) -> type[PerformanceModel]:
    """A class of one of our modules; a tenth of its first import would go into looking for cycles."""
    where = f"mlsysim.models.{module}"
    if where not in sys.modules:
        with paused(settled=True):
            import_module(where)
    return getattr(import_module(where), name)


def declared_in(text: str) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Class, command, question and names of variants of every model in the text of a module, which is not run."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            said = {ast.unparse(line.targets[0]): line.value for line in node.body if isinstance(line, ast.Assign)}
            if "command" in said:
                question = (ast.get_docstring(node) or "").partition("\n")[0]
                yield node.name, ast.literal_eval(said["command"]), question, _keys(said.get("variants"))


def _keys(written: ast.expr | None) -> tuple[str, ...]:
    keys = written.keys if isinstance(written, ast.Dict) else ()
    return tuple(key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


@cache
def installed() -> tuple[Listed, ...]:
    """The models of installed packages, by their entry points; a package is imported when its model is asked."""
    points = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(Listed(entry.name, _question(entry), entry.attr, _package(entry), _loader(entry)) for entry in points)


def _package(entry: EntryPoint) -> str:
    return f"the package {entry.dist.name}" if entry.dist else f"the module {entry.module}"


def _question(entry: EntryPoint) -> str:
    """Question that the model of a package answers, read from its file beside the package's metadata."""
    path = entry.dist and Path(str(entry.dist.locate_file(entry.module.replace(".", "/") + ".py")))
    declared = declared_in(path.read_text(encoding="utf-8")) if path and path.is_file() else ()
    said = [question for name, _, question, _ in declared if name == entry.attr]
    return said[0] if said else f"A model of {_package(entry)}."


def _loader(entry: EntryPoint) -> Callable[[], type[PerformanceModel]]:
    def load() -> type[PerformanceModel]:
        try:
            model = entry.load()
        except Exception as error:
            raise ModelError(
                f"{_package(entry)}: {entry.value} does not import: {type(error).__name__}: {error}"
            ) from error
        if not _is_model(model) or model.command != entry.name:
            allowed = f"the entry point {entry.name!r} must name a model with that command"
            raise ModelError(f"{_package(entry)}: {allowed}, and {entry.value} is none")
        return model

    return load


def _is_model(value: object) -> bool:
    from mlsysim.models.base import PerformanceModel

    return isinstance(value, type) and issubclass(value, PerformanceModel) and bool(value.variants)


def _brought_by(where: str) -> list[Listed]:
    """Models that a file or module defines itself, in order of definition."""
    from mlsysim.models.own import module_of

    module = module_of(where)
    models = [
        value
        for value in vars(module).values()
        if _is_model(value) and f"{value.__module__}.".startswith(f"{module.__name__}.")
    ]
    if not models:
        raise ModelError(f"{where}: brings no model; a model is a class of PerformanceModel with variants")
    for model in models:
        if not isinstance(model.command, str) or not _COMMAND.fullmatch(model.command):
            allowed = "must be a word of small letters, such as command = 'memory'"
            raise ModelError(f"{where}: the command {model.command!r} of {model.__name__} {allowed}")
        if not model.question():
            raise ModelError(f"{where}: {model.__name__} has no docstring; its first line is the question it answers")
    return [Listed(model.command, model.question(), model.__name__, where, lambda m=model: m) for model in models]
