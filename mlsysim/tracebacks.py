"""Cutting of tracebacks: a refusal ends at the line of the user that asked, not fifteen frames below it.

``MLSYSIM_TRACEBACK=full`` in the environment keeps every frame. Errors that are bugs always keep theirs.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable
from functools import cache, wraps
from types import TracebackType
from typing import Any, TypeVar

from mlsysim.errors import MlsysimError

#: The environment variable, and its value that keeps every frame.
SWITCH, FULL = "MLSYSIM_TRACEBACK", "full"
_OURS = f"{__package__}."

Door = TypeVar("Door", bound=Callable[..., Any])


def at_the_call(door: Door) -> Door:
    """Let the errors of mlsysim that leave a function end at the line that called it; of a class, its constructor.

    Parameters
    ----------
    door : function or class
        What a user calls.

    Returns
    -------
    function or class
        The same class, or a function with the same name, signature and help.
    """
    if isinstance(door, type):
        setattr(door, "__init__", at_the_call(door.__init__))  # noqa: B010  # pyright knows no such attribute
        return door  # pyright: ignore[reportReturnType]

    @wraps(door)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return door(*args, **kwargs)
        except MlsysimError as error:
            shorten(error)
            raise  # a bare raise adds no frame of its own

    return called  # type: ignore[return-value]


def shorten(error: BaseException) -> None:
    """Leave out the frames of mlsysim and of libraries, also of errors it comes from; those of a user's code stay."""
    if os.environ.get(SWITCH) == FULL:
        return
    context = error.__context__
    while context is not None and _is_ours(context.__traceback__):
        context = context.__context__
    error.__traceback__ = _of_user(error.__traceback__)
    if error.__cause__ is not None:
        error.__cause__.__traceback__ = _of_user(error.__cause__.__traceback__)
    elif not error.__suppress_context__:
        error.__context__ = context


def _is_ours(trace: TracebackType | None) -> bool:
    """Tell whether an error was raised and caught within mlsysim."""
    return trace is not None and _module(trace).startswith(_OURS)


def _of_user(trace: TracebackType | None) -> TracebackType | None:
    """The frames that are of neither mlsysim nor a library, as of a function that a user passed."""
    if trace is None:
        return None
    below, file = _of_user(trace.tb_next), trace.tb_frame.f_code.co_filename
    if _module(trace).startswith(_OURS) or file.startswith(_libraries()):
        return below
    return TracebackType(below, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _module(trace: TracebackType) -> str:
    """Module of a frame; a constructor that a data class writes has no file."""
    return f"{trace.tb_frame.f_globals.get('__name__', '')}."


@cache
def _libraries() -> tuple[str, ...]:
    """Folders of the standard library and of what is installed; and code that is generated, which is in no file."""
    folders = {sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    return ("<compiled", *(f"{folder}{os.sep}" for folder in sorted(folders)))
