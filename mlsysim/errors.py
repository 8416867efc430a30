"""Errors that mlsysim raises.

All of them derive from :class:`MlsysimError`, so one ``except`` catches whatever the library refuses.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from pathlib import PurePath

__all__ = [
    "ArgumentsError",
    "CatalogError",
    "CertificateError",
    "CycleError",
    "DuplicateError",
    "FormulaError",
    "InfeasibleError",
    "InputError",
    "MissingInputError",
    "MissingPackageError",
    "MlsysimError",
    "ModelError",
    "NotMeasuredError",
    "StoreError",
    "UndefinedError",
    "UnitError",
    "UnknownNameError",
]

#: Letters of a mistyped name that are compared, largest share of wrong ones, and least similarity of a suggestion.
LONGEST_NAME, FAR, ALIKE = 80, 0.45, 0.5
#: Letters shown of a word and of a whole message; a fifth of them come from the end.
LONGEST_WORD, LONGEST_MESSAGE = 400, 1500
#: Control characters, characters that reverse text, invisible ones, and those that cannot be encoded.
UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
#: Length up to which names match others of the same length and first letter.
SHORT = 8


class MlsysimError(Exception):
    """Base class of every error raised on purpose by mlsysim.

    Examples
    --------
    >>> from mlsysim import TrainingMemoryModel
    >>> from mlsysim.errors import MlsysimError
    >>> try:
    ...     TrainingMemoryModel.solve_example(hardware="H999")
    ... except MlsysimError as error:
    ...     print(error)
    unknown hardware 'H999': did you mean H100, H200, H800?
    """

    def __str__(self) -> str:
        """Message that is safe to print; ``args`` has it in full."""
        return legible(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling from a worker process, whatever the constructor takes."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def legible(message: str) -> str:
    """Escape control characters in a message; shorten long words, and the whole."""
    words = re.sub(r"\S+", lambda word: _shortened(word[0], LONGEST_WORD), printable(message))
    return _shortened(words, LONGEST_MESSAGE)


def _shortened(text: str, most: int) -> str:
    end = most // 5
    return text if len(text) <= most else f"{text[: most - end - 3]}...{text[-end:]}"


def printable(text: str, *, lines: bool = True) -> str:
    """Escape control and invisible characters in text of any origin.

    Parameters
    ----------
    text : str
        Name of a file, entry, field or column, or a message with such names.
    lines : bool
        True to keep line ends and tabs.
    """
    shown = UNSEEN.sub(_escaped, text)
    return shown if lines else re.sub(r"[\n\t]", _escaped, shown)


def _escaped(character: re.Match[str]) -> str:
    return character[0].encode("unicode_escape").decode()


def _rebuilt(kind: type[MlsysimError], args: tuple[object, ...], state: dict[str, object]) -> MlsysimError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(MlsysimError, ValueError):
    """An argument that the library refuses before it computes anything.

    Parameters
    ----------
    argument : str
        Name of the argument as the user typed it.
    value : object
        Refused value.
    allowed : str
        Description of accepted values.
    hint : str, optional
        Remedy.
    """

    def __init__(self, argument: str, value: object, allowed: str, hint: str = "") -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.hint = hint
        super().__init__(f"{argument}={quoted(value)}: {allowed}" + (f"; {hint}" if hint else ""))


class UnknownNameError(InputError, AttributeError):
    """A name that does not exist: a catalog entry, a label, an input or an output.

    Parameters
    ----------
    what : str
        Kind of the named thing (``"hardware"``, ``"output of ServingCapacityModel"``).
    name : object
        Unknown name.
    known : iterable of str
        Existing names; the nearest are suggested.
    hint : str, optional
        Another place where the name exists.
    close : list of str, optional
        Suggested names; by default the nearest existing ones.
    """

    def __init__(
        self, what: str, name: object, known: Iterable[str], hint: str = "", close: list[str] | None = None
    ) -> None:
        names = list(dict.fromkeys(known))
        typed = name if isinstance(name, str) else quoted(name)
        close = nearest(typed, names) if close is None else close
        if close:
            allowed = f"did you mean {', '.join(close)}?"
        elif len(names) <= 12:
            allowed = f"known: {', '.join(names) or 'none'}"
        else:
            allowed = f"known: {', '.join(names[:12])}, ... ({len(names)} in all)"
        MlsysimError.__init__(self, f"unknown {what} {quoted(name)}: {allowed}" + (f"; {hint}" if hint else ""))
        self.argument = what
        self.value = name
        self.allowed = allowed
        self.hint = hint
        self.name = typed
        self.suggestions = close


class MissingInputError(InputError, TypeError):
    """A required argument that is missing."""

    def __init__(self, model: str, argument: str, how: str) -> None:
        MlsysimError.__init__(self, f"{model} needs {argument}: {how}")
        self.argument = argument
        self.value = None
        self.allowed = how
        self.hint = ""


class ArgumentsError(MlsysimError, TypeError, ValueError):
    """Arguments that no call accepts: too many positional ones, or one given twice."""


class InfeasibleError(MlsysimError, ValueError):
    """An answer without a feasible design was asked for its best; names the constraint and how nearly it can be met."""


class NotMeasuredError(MlsysimError, ValueError):
    """An output has no known error, because nothing comparable was measured.

    Parameters
    ----------
    output : str
        Name of the output.
    reason : str
        Reason why there is no error.
    hint : str, optional
        Nearest thing that was measured.
    """

    def __init__(self, output: str, reason: str, hint: str = "") -> None:
        self.output = output
        self.reason = reason
        self.hint = hint
        super().__init__(f"expected error of {output}: {reason}" + (f"; {hint}" if hint else ""))


class UnitError(MlsysimError, ValueError):
    """Two dimensions that disagree, in a declared formula or in an argument."""


class FormulaError(MlsysimError, ValueError):
    """A malformed formula or system of formulas."""


class DuplicateError(FormulaError):
    """Two formulas for one variable, or two variables with one name."""


class CycleError(FormulaError):
    """Formulas that depend on each other in a cycle."""


class UndefinedError(MlsysimError, ValueError):
    """A formula without a value at a point, for example because it divides zero by zero."""


class CatalogError(MlsysimError, ValueError):
    """A catalog file that breaks its format; names file, entry and field."""


class ModelError(MlsysimError, ValueError):
    """User-defined models that cannot be used; names the file, module or package, and the problem."""


class MissingPackageError(MlsysimError, ModuleNotFoundError):
    """An optional package that is not installed.

    Parameters
    ----------
    what : str
        Feature that needs it, at the beginning of the message.
    package : str
        Name of the package.
    extra : str
        Extra of mlsysim that installs it.
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f'{what} needs {package}: pip install -e ".[{extra}]" in the folder of mlsysim')


class StoreError(MlsysimError, OSError, ValueError):
    """A file of a long computation that cannot be read or written, or has changed.

    Parameters
    ----------
    path : path
        Path of the file.
    problem : str
        Problem.
    remedy : str
        What is kept, and how to resume.
    """

    def __init__(self, path: PurePath, problem: str, remedy: str) -> None:
        self.path = path
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{quoted(path)}: {problem}; {remedy}")


class CertificateError(MlsysimError, ValueError):
    """A saved certificate that does not verify.

    Parameters
    ----------
    path : path
        Path of the file.
    where : str
        Part of the certificate that fails.
    problem : str
        Problem with that part.
    """

    def __init__(self, path: PurePath, where: str, problem: str) -> None:
        self.path = path
        self.where = where
        self.problem = problem
        super().__init__(f"{quoted(path)} does not hold: {where}: {problem}")


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Find the known names closest to a mistyped one, best first.

    Parameters
    ----------
    name : str
        Typed name.
    known : iterable of str
        Existing names.
    count : int
        Most names to return.

    Returns
    -------
    list of str
        Empty if no name is close.
    """
    by_fold: dict[str, str] = {}
    for candidate in known:
        by_fold.setdefault(candidate.casefold(), candidate)
    folded = name.casefold()[:LONGEST_NAME]
    if folded in by_fold:
        return [by_fold[folded]]
    far = {key: _apart(folded, key) for key in by_fold}
    most = min(max(2.0, FAR * len(folded)), len(folded) - 1)
    limit = min([*(distance + 1.5 for distance in far.values()), most])
    close = [key for key, distance in far.items() if distance <= limit]
    if not close and 0 < len(folded) <= SHORT:
        close = [key for key in by_fold if key[:1] == folded[:1] and len(key) == len(folded)]
    close.sort(key=lambda key: (far[key], -difflib.SequenceMatcher(None, key, folded).ratio()))
    return [by_fold[key] for key in close[:count]]


def _apart(typed: str, key: str) -> float:
    """Distance between typed text and a name: by letters, or word by word if that is smaller."""
    words, others = (re.split(r"[^a-z0-9]+", text) for text in (typed, key))
    alike = difflib.SequenceMatcher(None, key, typed).ratio() >= ALIKE
    by_letter = _edits(typed, key) if alike else math.inf
    if len(others) < 2 and len(words) < 2:
        return by_letter
    by_word = sum(min(len(word), *(_of_word(word, other) for other in others)) for word in words)
    longer = max(0, len(others) - len(words))
    return min(by_letter, by_word + (1 + 0.25 * longer if longer else 0))


def _of_word(typed: str, word: str) -> float:
    """Distance between typed text and a word; a prefix of the word is half a letter away."""
    return 0.5 if len(typed) > 1 and word != typed and word.startswith(typed) else _edits(typed, word)


def _edits(one: str, other: str) -> int:
    """Count the insertions, deletions, substitutions and swaps of neighbours between two texts."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row_number, letter in enumerate(one, start=1):
        older, before = before, row
        row = [row_number]
        for column, character in enumerate(other, start=1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != character))
            if row_number > 1 and column > 1 and letter == other[column - 2] and one[row_number - 2] == character:
                cost = min(cost, older[column - 2] + 1)
            row.append(cost)
    return row[-1]


def quoted(value: object, limit: int = 60) -> str:
    """Format a value for an error: its repr, shortened if long; a path is given in full."""
    if isinstance(value, PurePath):
        return repr(str(value))
    try:
        text = repr(value)
    except Exception:  # a foreign __repr__ may fail; the message must not
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."
