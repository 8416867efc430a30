"""Public names by task: which page of the reference each stands on, and how Sphinx documents it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Any

import mlsysim
from mlsysim.catalog.loader import Group
from mlsysim.models import PerformanceModel, every_model
from mlsysim.models.base import OWN_VERBS, VERBS

#: Modules whose names are public beside those of the package itself.
PUBLIC = ("plot", "catalog", "errors", "units", "symbolic", "models", "book", "web")
#: Names of verbs that only some models have.
OWN_VERB_NAMES = {verb: f"{module.removeprefix('mlsysim.')}.{verb}" for verb, module in OWN_VERBS.items()}
#: Names of all verbs.
VERB_NAMES = {verb: f"PerformanceModel.{verb}" for verb in (*VERBS, "derivative")} | OWN_VERB_NAMES


@dataclass(frozen=True)
class Task:
    """A page of the reference.

    Parameters
    ----------
    title : str
        Its heading, a task.
    about : str
        What the task is, in Markdown.
    names : tuple of str
        Names on it, below ``mlsysim``, in the order of the page; ``module.*`` stands for those that no page names.
    """

    title: str
    about: str
    names: tuple[str, ...]


TASKS = {
    "ask": Task(
        "Ask a model",
        "A model answers one question. [The page of a model](models.md) lists what its verbs take.",
        ("PerformanceModel.solve", "PerformanceModel.solve_example", "Result",
         "study.results.expected_error.ExpectedError", "PerformanceModel", "models.*"),
    ),
    "explain": Task(
        "Explain and compare answers",
        "The formulas behind a number, its slope by every input, what binds, and why two answers differ.",
        ("study.results.explanation.Explanation", "compare", "study.results.comparison.Comparison",
         "PerformanceModel.sensitivity", "study.sensitivities.table.Sensitivity", "PerformanceModel.derivative",
         "study.derivative.Derivative", "PerformanceModel.regimes", "study.binding_terms.regions.Regimes"),
    ),
    "sweep": Task(
        "Sweep a grid",
        "A model at every combination of arguments, as a labelled array, or as a pure function of your own loop.",
        ("PerformanceModel.sweep", "linked", "inputs.axes.Linked", "derived", "inputs.axes.Derived",
         "PerformanceModel.function", "study.function.PureFunction"),
    ),
    "search": Task(
        "Search for the best design",
        "The exact optimum or front of a grid that nobody could enumerate, with a proof that can be checked.",
        ("PerformanceModel.search", "PerformanceModel.pareto", "study.searches.designs.Designs",
         "study.searches.certificate.Certificate", "verify", "Verification"),
    ),
    "choose": Task(
        "Choose devices and layouts",
        "Questions that ask several models at once: what fits, and which layout to launch.",
        ("what_fits", "Fits", "plan", "plan_training", "Plans"),
    ),
    "invert": Task(
        "Find the input that meets a target",
        "The other way round: the batch, bandwidth or number of devices at which an output is what it must be.",
        ("PerformanceModel.solve_for", "Solution"),
    ),
    "uncertain": Task(
        "Propagate uncertainty",
        "Distributions of inputs, and what they make of the outputs.",
        ("PerformanceModel.uncertainty", "study.uncertainties.report.Uncertainty", "distributions",
         *(f"study.uncertainties.distributions.{name}" for name in (
             "Distribution", "Uniform", "Normal", "LogNormal", "Triangular", "Relative", "Choice", "FromCatalog",
             "FromScipy"))),
    ),
    "calibrate": Task(
        "Calibrate to measurements",
        "Inputs from your own measurements, and from the log of a router.",
        ("PerformanceModel.calibrate", "study.calibration.calibration.Calibration", "expert_loads",
         "routing_imbalance", "dropped_tokens"),
    ),
    "simulate": Task(
        "Simulate a deployment",
        "Requests served one by one, without any law of waiting.",
        (*OWN_VERB_NAMES.values(), "Simulation"),
    ),
    "plot": Task(
        "Plot",
        "Each function takes an answer and draws into the axes that it is given, or into a new figure.",
        ("plot.*",),
    ),
    "catalog": Task(
        "Read the catalog",
        "Entries, and values with unit, source, date and kind. [All of them](../catalog/index.md) as tables.",
        ("Hardware", "Models", "Systems", "Stacks", "Recipes", "load_catalog", "Catalog", "catalog.*"),
    ),
    "read": Task(
        "Read files of other tools",
        "Settings of a training framework, and traces of requests, as arguments.",
        ("from_megatron_config", "from_torchtitan_toml", "from_trainer_arguments", "catalog.read_trace",
         "catalog.Trace"),
    ),
    "declare": Task(
        "Write a formula or a model",
        "Variables, formulas and models of one's own. [A worked example](../docs/your_own_model.md).",
        ("variable", "symbolic.Variable", "positive", "nonnegative", "between", "at_least", "integer", "flag",
         "boolean", "choice", "symbolic.Domain", "Formula", "Source", "Example", "Requirement", "Reference",
         "add_reference", "System", "swapped", "Variant", "Slot", "inputs.declaration.DeclaredModel",
         "formulas.every_formula", "formulas.topic"),
    ),
    "expressions": Task(
        "Write an expression",
        "What sympy does not have: units, labels, sums over an index, least integers, roots and queues.",
        ("byte", "flop", "token", "request", "UnitSymbol", "label", "by_label", "when", "sharded", "family", "Index",
         "total", "symbolic.indexed.Total", "by_member", "symbolic.indexed.ByMember", "LeastInteger",
         "Root", "evaluated_at", "symbolic.*"),
    ),
    "units": Task(
        "Work with units",
        "Quantities of a registry of its own, in which bytes, FLOPs, tokens, requests and dollars are dimensions.",
        ("Q_", "ureg", "units.*"),
    ),
    "errors": Task(
        "Handle errors",
        "Every error is a `MlsysimError`. Bad input is refused before any number is computed.",
        ("errors.MlsysimError", "errors.*"),
    ),
    "print": Task(
        "Print the book and calculators",
        "Pages of formulas and calculators of models, your own among them.",
        ("book.*", "web.*"),
    ),
}  # fmt: skip

#: Names without a docstring of their own.
DATA = {
    "Q_": "A quantity: ``Q_(80, 'GB')`` or ``Q_('80 GB')``, of the registry ``ureg``.",
    "ureg": "The `pint <https://pint.readthedocs.io>`__ registry of all quantities that go in and come out.",
    "byte": "One byte in an expression: ``10 * byte``.",
    "flop": "One floating-point operation in an expression.",
    "token": "One token in an expression.",
    "request": "One request in an expression.",
    "distributions": "The module of the distributions below.",
    "symbolic.STEPS": "Functions that jump: ceilings, floors and least integers.",
    "models.Registry": "Every model there is: those here, of your own files and of installed packages.",
    "book.MARK": "A line near the top of every file of the book.",
}
#: Members of models that answer a user; the others serve verbs, and stand with the class that declares them.
MODEL_MEMBERS = (
    "question", "positional", "inputs", "outputs", "formulas", "output", "parts_of", "latex", "source_code",
    "measured", "asked", "in_variant", "variants_using",
)  # fmt: skip
#: What pydantic puts into entries, and kinds of members beside functions.
_NOT_OURS = "model_post_init"
_METHODS = (property, classmethod, staticmethod)


def by_page() -> dict[str, tuple[str, ...]]:
    """Names on each page; a name with a star stands for the names of a module that no page names."""
    named = {name for task in TASKS.values() for name in task.names}
    same = {id(lookup(name)) for name in named if "*" not in name and not isinstance(lookup(name), ModuleType)}

    def filled(name: str) -> Iterable[str]:
        if "*" not in name:
            return (name,)
        module = name.removesuffix(".*")
        return (each for each in public(module) if each not in named and id(lookup(each)) not in same)

    return {page: tuple(chain.from_iterable(map(filled, task.names))) for page, task in TASKS.items()}


def public(module: str = "") -> tuple[str, ...]:
    """List the public names of a module, or of the package, each by its shortest way; models have their own pages."""
    if not module:
        return tuple(name for name in mlsysim.__all__ if name != "__version__" and not is_model(name))
    room = import_module(f"mlsysim.{module}")
    names = (name if name in mlsysim.__all__ else f"{module}.{name}" for name in room.__all__)
    return tuple(name for name in names if not is_model(name))


def every_public() -> tuple[str, ...]:
    """Every public name: of the package, of its public modules, and verbs."""
    return (*public(), *chain.from_iterable(map(public, PUBLIC)), *VERB_NAMES.values())


def is_model(name: str) -> bool:
    """Tell whether a name is that of a model, which has a page of its own."""
    return lookup(name) in every_model() if inspect.isclass(lookup(name)) else False


def lookup(name: str) -> Any:
    """The object of a name below ``mlsysim``."""
    owner, _, last = name.rpartition(".")
    if owner == "PerformanceModel":
        return getattr(PerformanceModel, last)
    return getattr(import_module(f"mlsysim.{owner}") if owner else mlsysim, last)


def anchor(name: str) -> str:
    """The anchor of a name on its page."""
    return f"mlsysim.{name}"


def members(kind: type) -> list[str]:
    """Methods and properties of a class that a user calls; verbs stand for themselves."""
    if kind is PerformanceModel:
        return [*MODEL_MEMBERS]
    found = {name: value for name, value in vars(kind).items() if not name.startswith("_") and name != _NOT_OURS}
    methods = {name for name, value in found.items() if inspect.isroutine(value) or isinstance(value, _METHODS)}
    return [name for name in found if name in methods and inspect.getdoc(found[name])]


def short(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]


def directive(name: str, *, with_members: bool = True) -> list[str]:
    """How Sphinx documents a name."""
    what = lookup(name)
    if name in DATA or isinstance(what, Group):
        text = DATA.get(name) or f"The branch ``{name}`` of the catalog; attributes, ``dir()`` and ``[]`` work."
        return [f".. py:data:: {anchor(name)}", "", f"   {text}"]
    if name.startswith("PerformanceModel."):
        return [f".. automethod:: {anchor(name)}"]
    if not inspect.isclass(what):
        return [f".. autofunction:: {anchor(name)}"]
    listed = members(what) if with_members else []
    return [f".. autoclass:: {anchor(name)}", *([f"   :members: {', '.join(listed)}"] if listed else [])]
