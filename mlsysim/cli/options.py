"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from mlsysim.cli.exits import Exit
from mlsysim.cli.ignored import keep_ignored
from mlsysim.cli.theme import keep_theme


def _questions(ctx: typer.Context, incomplete: str) -> list[str]:
    return [command for command in ctx.find_root().obj.commands if command.startswith(incomplete)]


def _words(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the question's arguments, then an argument's values, also after a comma."""
    from mlsysim.cli.forms import form

    registry = ctx.find_root().obj
    question_form = form(registry.listed(ctx.params["question"]), registry)
    name, equals, text = incomplete.partition("=")
    if not equals:
        return [f"{argument}=" for argument in question_form.arguments if argument.startswith(incomplete)]
    before, comma, last = text.rpartition(",")
    start = f"{name}={before}{comma}"
    return [f"{start}{value}" for value in question_form.offered(name.replace("-", "_")) if value.startswith(last)]


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Question = Annotated[
    str,
    typer.Argument(
        metavar="QUESTION",
        help="The command of a model, such as memory; `mlsysim --help` lists them.",
        autocompletion=_questions,
    ),
]
Words = Annotated[
    list[str], typer.Argument(metavar="NAME=VALUES...", help="Arguments of the question.", autocompletion=_words)
]
Variants = Annotated[str | None, typer.Option("--variant", metavar="NAME", help="Set of formulas.")]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help=f"Exit with code {int(Exit.INFEASIBLE)} if the answer is infeasible, or there is none."
    ),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(metavar="CONDITION", help="Such as 'total_memory <= 0.9 * memory_capacity'; may be repeated."),
]
AllowInfeasible = Annotated[
    bool, typer.Option("--allow-infeasible", help="Keep what does not fit or misses its targets; by default left out.")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="auto, bounds (branch and bound, but for grids of a fraction of a second) or dense (every point).",
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Answer after so long, and say what is not known.")
]
Certificate = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Saves the answer with its proof, for `mlsysim verify`.")
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it into a .png, .pdf or .svg.")]
Theme = Annotated[
    str | None,
    typer.Option(
        "--theme", metavar="light|dark", help="Colours of the figure.", callback=keep_theme, expose_value=False
    ),
]
OwnCatalog = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="FILE", help="A catalog of your own (TOML); names are looked up there first."),
]

Ignored = Annotated[
    str | None,
    typer.Option(
        "--ignore",
        metavar="FIELDS",
        help="Fields of a Hugging Face config.json that leave the shape alone (a,b).",
        callback=keep_ignored,
        expose_value=False,
    ),
]
OwnModels = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="FILE_OR_MODULE",
        help="Models of your own, from a Python file or a module; may be repeated, and stand anywhere.",
    ),
]


def answered_by(module: str, name: str = "answer") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command to run a function on the model and all other options; its module is imported on call."""

    def answering(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(ctx: typer.Context, question: str, words: list[str] | None = None, **options: Any) -> None:
            for hidden_option in ("ignore", "theme"):  # for whoever reads a file or draws
                options.pop(hidden_option, None)
            answer = getattr(import_module(module), name)
            answer(ctx.obj.model(question, options.get("variant")), words or (), **options)

        return run

    return answering
