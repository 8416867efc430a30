"""Values as a shell has them: read from what was typed, and written as a command to type."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mlsysim.catalog import Catalog, builtin, load_catalog
from mlsysim.cli.ignored import IGNORED
from mlsysim.errors import MlsysimError
from mlsysim.inputs.binding import bind_grid
from mlsysim.inputs.recipe import as_run
from mlsysim.inputs.spellings import option_name
from mlsysim.models import PerformanceModel
from mlsysim.models.registry import words_for
from mlsysim.symbolic import Variable

#: What says yes or no on a command line, in any case, besides 1 and 0.
YES, NO = ("true", "yes", "on"), ("false", "no", "off")


def shelf_of(catalog: Path | None) -> Catalog:
    """The catalog in which names are looked up: a file of the user's own, or ours."""
    return (load_catalog(catalog) if catalog else builtin()).ignoring(IGNORED.get())


def typed_text(variable: Variable | None, text: str) -> bool | int | float | str:
    """A value as typed: a flag, a number, or else the text."""
    if variable is not None and variable.domain.is_flag and text.lower() in (*YES, *NO):
        return text.lower() in YES
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def command_line(model: type[PerformanceModel], width: int = 96, program: str = "mlsysim", variant: str = "") -> str:
    """The command that answers the example of a model.

    Parameters
    ----------
    model : type
        One that has an example.
    width : int
        Longer lines continue on the next, as a shell reads them.
    program : str
        With what the command begins.
    variant : str
        The variant that it names; left out where the words for the model or its example name one.

    Returns
    -------
    str
    """
    words = words_for(model)
    named = " --variant" in words or "variant" in model.example or not variant
    lines = [f"{program} {words}{'' if named else f' --variant {variant}'}"]
    for argument, value in model.example.items():
        option = f"{option_name(argument)} {shlex.quote(str(value))}"
        if len(lines[-1]) + len(option) < width:
            lines[-1] += f" {option}"
        else:
            lines.append(f"    {option}")
    return " \\\n".join(lines)


@contextmanager
def or_first(model: type[PerformanceModel], variant: str | None, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Say of arguments that the measured variant refuses, where none was named, that the first one takes them."""
    try:
        yield
    except MlsysimError as error:
        first, asked = next(iter(model.variants)), as_run(model.asked(), arguments)
        if variant is None and first != asked.variant and _takes(model(first), arguments):
            taken = _takes(asked, arguments)
            error.args = error.args if taken else (f"{error}; variant='{first}' takes them",)
        raise


def _takes(model: PerformanceModel, arguments: Mapping[str, Any]) -> bool:
    try:
        bind_grid(model, arguments)
    except MlsysimError:
        return False
    return True


@contextmanager
def in_options(
    options: Iterable[str], choices: Sequence[str] = (), said: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Put the errors of the library in the words of a command.

    Parameters
    ----------
    options : iterable of str
        Arguments that an error begins with; the option of each has its name.
    choices : sequence of str
        Arguments beside the variant whose words are named in errors.
    said : mapping
        Further patterns, and what stands in the place of each.
    """
    try:
        yield
    except MlsysimError as error:
        message = re.sub(rf"^({'|'.join(options)})=", lambda m: f"{option_name(m[1])} ", str(error))
        for pattern, words in said.items():
            message = re.sub(pattern, words, message)
        message = re.sub(r"\bvariant=(?=[\w ]+ (?:does|has \w+)$)", "--variant ", message)
        raise MlsysimError(as_choices(message, ("variant", *choices))) from None


def as_options(message: str, arguments: Iterable[str]) -> str:
    """An error message in the words of a command line: ``batch_size=0`` becomes ``--batch-size 0``."""
    names = "|".join(arguments)
    message = re.sub(r"; variant=(?=[\w ]+ (?:does|has \w+)$)", "; --variant ", message)
    message = as_choices(message, ("variant",))
    return re.sub(rf"^({names})=|\b({names})=(?=\.\.\.)", lambda m: f"{option_name(m[1] or m[2])} ", message)


def as_choices(message: str, names: Iterable[str]) -> str:
    """A message in which ``variant='fsdp'`` becomes ``--variant fsdp``, for such options, flags and ``--ignore``."""
    message = message.replace("allow_infeasible=True", "--allow-infeasible")
    message = re.sub(r"TransformerWorkload\.from_hf\(path, ignore=\((.*?),?\)\) reads it", _as_ignored, message)
    message = re.sub(r'\b\w+Model\("(\w+)"\)', r"--variant \1", message)
    return re.sub(rf"\b({'|'.join(names)})='(\w+)'", r"--\1 \2", message)


def _as_ignored(fields: re.Match[str]) -> str:
    names = re.findall(r"'([^']*)'", fields[1])
    return f"give --ignore {shlex.quote(','.join(names))}"
