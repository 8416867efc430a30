"""Every error a user can meet.

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

#: Letters of a mistyped name that are compared, the share of them that may be wrong, and how alike names must be.
LONGEST_NAME, FAR, ALIKE = 80, 0.45, 0.5
#: Letters of a word and of a whole message that are shown; a fifth of them are those at the end.
LONGEST_WORD, LONGEST_MESSAGE = 400, 1500
#: Characters that a terminal obeys, that turn the order of letters round, that nobody sees, or that cannot be written.
UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
#: Names of so many letters are near others of the same length and first letter.
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
        """The message as it is safe to show; ``args`` has all of it."""
        return legible(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the way back from a worker process, whatever the constructor takes."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def legible(message: str) -> str:
    """A message with nothing in it that a terminal obeys; long words, and the whole, are shortened."""
    words = re.sub(r"\S+", lambda word: _shortened(word[0], LONGEST_WORD), printable(message))
    return _shortened(words, LONGEST_MESSAGE)


def _shortened(text: str, most: int) -> str:
    end = most // 5
    return text if len(text) <= most else f"{text[: most - end - 3]}...{text[-end:]}"


def printable(text: str, *, lines: bool = True) -> str:
    """Text that may come from anywhere, as it is safe to show: control and invisible characters as escapes.

    Parameters
    ----------
    text : str
        A name of a file, an entry, a field or a column, or a message with such names.
    lines : bool
        Whether line ends and tabs may stay.
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
    """An argument the library refuses, before any number is computed.

    Parameters
    ----------
    argument : str
        Name of the argument, as the user typed it.
    value : object
        The refused value.
    allowed : str
        What would have been accepted.
    hint : str, optional
        How to mend it.
    """

    def __init__(self, argument: str, value: object, allowed: str, hint: str = "") -> None:
        self.argument = argument
        self.value = value
        self.allowed = allowed
        self.hint = hint
        super().__init__(f"{argument}={quoted(value)}: {allowed}" + (f"; {hint}" if hint else ""))


class UnknownNameError(InputError, AttributeError):
    """A name nothing goes by: a catalog entry, a label, an input or an output.

    Parameters
    ----------
    what : str
        Kind of thing looked for (``"hardware"``, ``"output of ServingCapacityModel"``).
    name : object
        The unknown name.
    known : iterable of str
        Names that exist; the nearest are suggested.
    hint : str, optional
        Where else the name is known.
    close : list of str, optional
        What is suggested; the nearest of the known names where left out.
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
    """A required argument that nothing provides."""

    def __init__(self, model: str, argument: str, how: str) -> None:
        MlsysimError.__init__(self, f"{model} needs {argument}: {how}")
        self.argument = argument
        self.value = None
        self.allowed = how
        self.hint = ""


class ArgumentsError(MlsysimError, TypeError, ValueError):
    """Arguments that no call takes: too many without a name, or one that is given twice."""


class InfeasibleError(MlsysimError, ValueError):
    """The best design was asked of an answer that has none: names the constraint, and how near it can be met."""


class NotMeasuredError(MlsysimError, ValueError):
    """No error is known of an output, since nothing like it was measured.

    Parameters
    ----------
    output : str
        The output.
    reason : str
        What was not measured.
    hint : str, optional
        What was.
    """

    def __init__(self, output: str, reason: str, hint: str = "") -> None:
        self.output = output
        self.reason = reason
        self.hint = hint
        super().__init__(f"expected error of {output}: {reason}" + (f"; {hint}" if hint else ""))


class UnitError(MlsysimError, ValueError):
    """Two dimensions that do not agree: in a formula when declared, or in an argument."""


class FormulaError(MlsysimError, ValueError):
    """A formula, or a system of them, that is not well formed."""


class DuplicateError(FormulaError):
    """Two formulas for one variable, or two variables of one name."""


class CycleError(FormulaError):
    """Formulas that need each other."""


class UndefinedError(MlsysimError, ValueError):
    """A formula that has no value at a point, as where it divides zero by zero."""


class CatalogError(MlsysimError, ValueError):
    """A catalog file that cannot be read as declared: names file, entry and field."""


class ModelError(MlsysimError, ValueError):
    """Models of one's own that cannot be used: names the file, module or package, and what is wrong."""


class MissingPackageError(MlsysimError, ModuleNotFoundError):
    """A package that only some questions need is not installed.

    Parameters
    ----------
    what : str
        What needs it, as the message begins.
    package : str
        The package.
    extra : str
        The extra of mlsysim that has it.
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
        Of the file.
    problem : str
        What is wrong.
    remedy : str
        What is kept, and how to go on.
    """

    def __init__(self, path: PurePath, problem: str, remedy: str) -> None:
        self.path = path
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{quoted(path)}: {problem}; {remedy}")


class CertificateError(MlsysimError, ValueError):
    """A saved certificate that does not hold.

    Parameters
    ----------
    path : path
        Of the file.
    where : str
        Which part of it does not.
    problem : str
        What is wrong with it.
    """

    def __init__(self, path: PurePath, where: str, problem: str) -> None:
        self.path = path
        self.where = where
        self.problem = problem
        super().__init__(f"{quoted(path)} does not hold: {where}: {problem}")


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names closest to a mistyped one, best first.

    Parameters
    ----------
    name : str
        What was typed.
    known : iterable of str
        Names that exist.
    count : int
        At most so many.

    Returns
    -------
    list of str
        Empty when nothing is near.
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
    """Distance of a name from what was typed: by letters, or word by word where that is nearer."""
    words, others = (re.split(r"[^a-z0-9]+", text) for text in (typed, key))
    alike = difflib.SequenceMatcher(None, key, typed).ratio() >= ALIKE
    by_letter = _edits(typed, key) if alike else math.inf
    if len(others) < 2 and len(words) < 2:
        return by_letter
    by_word = sum(min(len(word), *(_of_word(word, other) for other in others)) for word in words)
    longer = max(0, len(others) - len(words))
    return min(by_letter, by_word + (1 + 0.25 * longer if longer else 0))


def _of_word(typed: str, word: str) -> float:
    """Distance of a word from what was typed; its beginning is half a letter away."""
    return 0.5 if len(typed) > 1 and word != typed and word.startswith(typed) else _edits(typed, word)


def _edits(one: str, other: str) -> int:
    """Letters to put in, leave out, exchange, or swap with the next, to make one text of another."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        older, before = before, row
        row = [place]
        for column, found in enumerate(other, start=1):
            cost = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != found))
            if place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == found:
                cost = min(cost, older[column - 2] + 1)
            row.append(cost)
    return row[-1]


def quoted(value: object, limit: int = 60) -> str:
    """A value as an error message shows it: its repr, shortened where long; a path is whole."""
    if isinstance(value, PurePath):
        return repr(str(value))
    try:
        text = repr(value)
    except Exception:  # a foreign __repr__ may fail; the message must not
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."
