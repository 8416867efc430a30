"""Values on a command line: parsed from typed text, and written as a command."""

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

#: Words for yes and no on a command line, in any case; 1 and 0 work too.
YES, NO = ("true", "yes", "on"), ("false", "no", "off")


def shelf_of(catalog: Path | None) -> Catalog:
    """Return the catalog for names: the user's own file, or the built-in catalog."""
    return (load_catalog(catalog) if catalog else builtin()).ignoring(IGNORED.get())


def typed_text(variable: Variable | None, text: str) -> bool | int | float | str:
    """Convert typed text to a flag or number if it is one; else return the text."""
    if variable is not None and variable.domain.is_flag and text.lower() in (*YES, *NO):
        return text.lower() in YES
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def command_line(model: type[PerformanceModel], width: int = 96, program: str = "mlsysim", variant: str = "") -> str:
    """Write the command that answers a model's example.

    Parameters
    ----------
    model : type
        Model with an example.
    width : int
        Width at which the command continues on the next line.
    program : str
        Beginning of the command.
    variant : str
        Variant to name; omitted if the command or the example already names one.

    Returns
    -------
    str
    """
    words = words_for(model)
    has_variant = " --variant" in words or "variant" in model.example or not variant
    lines = [f"{program} {words}{'' if has_variant else f' --variant {variant}'}"]
    for argument, value in model.example.items():
        option = f"{option_name(argument)} {shlex.quote(str(value))}"
        if len(lines[-1]) + len(option) < width:
            lines[-1] += f" {option}"
        else:
            lines.append(f"    {option}")
    return " \\\n".join(lines)


@contextmanager
def or_first(model: type[PerformanceModel], variant: str | None, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Add a hint to an error: if the measured variant refuses arguments, the first variant accepts them."""
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
    options: Iterable[str], choices: Sequence[str] = (), replacements: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Rephrase the library's errors in the words of a command.

    Parameters
    ----------
    options : iterable of str
        Arguments with which an error may begin; each has an option of its name.
    choices : sequence of str
        Further arguments whose values are named in errors, besides the variant.
    replacements : mapping
        Further patterns, each with its replacement.
    """
    try:
        yield
    except MlsysimError as error:
        message = re.sub(rf"^({'|'.join(options)})=", lambda m: f"{option_name(m[1])} ", str(error))
        for pattern, words in replacements.items():
            message = re.sub(pattern, words, message)
        message = re.sub(r"\bvariant=(?=[\w ]+ (?:does|has \w+)$)", "--variant ", message)
        raise MlsysimError(as_choices(message, ("variant", *choices))) from None


def as_options(message: str, arguments: Iterable[str]) -> str:
    """Rewrite an error in the words of a command line: ``batch_size=0`` becomes ``--batch-size 0``."""
    names = "|".join(arguments)
    message = re.sub(r"; variant=(?=[\w ]+ (?:does|has \w+)$)", "; --variant ", message)
    message = as_choices(message, ("variant",))
    return re.sub(rf"^({names})=|\b({names})=(?=\.\.\.)", lambda m: f"{option_name(m[1] or m[2])} ", message)


def as_choices(message: str, names: Iterable[str]) -> str:
    """Rewrite ``variant='fsdp'`` as ``--variant fsdp``, for such options, flags and ``--ignore``."""
    message = message.replace("allow_infeasible=True", "--allow-infeasible")
    message = re.sub(r"TransformerWorkload\.from_hf\(path, ignore=\((.*?),?\)\) reads it", _as_ignored, message)
    message = re.sub(r'\b\w+Model\("(\w+)"\)', r"--variant \1", message)
    return re.sub(rf"\b({'|'.join(names)})='(\w+)'", r"--\1 \2", message)


def _as_ignored(fields: re.Match[str]) -> str:
    names = re.findall(r"'([^']*)'", fields[1])
    return f"give --ignore {shlex.quote(','.join(names))}"
