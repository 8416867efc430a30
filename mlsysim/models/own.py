"""Modules that bring models of one's own: a file by its path, or a module by its name."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from mlsysim.errors import ModelError


def module_of(where: str) -> ModuleType:
    """The module of a file or of a name, imported.

    Parameters
    ----------
    where : str
        ``speculative.py``, or ``mypackage.models``.

    Raises
    ------
    ModelError
        If there is none, or it does not import.
    """
    path = Path(where)
    named = all(part.isidentifier() for part in where.split("."))
    if path.suffix == ".py" or (os.path.exists(path) and not named):
        return _of_file(where, path.resolve())
    try:
        return import_module(where)
    except ModuleNotFoundError as error:
        if error.name and f"{where}.".startswith(f"{error.name}."):
            lack = "is no module that Python finds; put its folder on PYTHONPATH" if os.path.exists(path) else ""
            raise ModelError(f"{where}: {lack or 'there is no such file and no such module'}") from None
        raise ModelError(f"{where}: does not import: {error}") from error
    except (Exception, SystemExit) as error:
        raise ModelError(f"{where}: does not import: {type(error).__name__}: {error}") from error


def _of_file(where: str, path: Path) -> ModuleType:
    """A file as the module of its name, with the files beside it in reach, as ``python FILE`` has them."""
    if not os.path.exists(path):
        raise ModelError(f"{where}: there is no such file")
    if path.suffix != ".py" or not os.path.isfile(path):
        raise ModelError(f"{where}: must be a file that ends in .py, or the name of a module")
    if path.stem in sys.stdlib_module_names:
        raise ModelError(f"{where}: the name is that of a module of Python; rename the file")
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    if known is not None or not path.stem.isidentifier() or _is_elsewhere(path):
        raise ModelError(f"{where}: the name must be that of no other module; rename the file")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[path.stem]
        raise ModelError(f"{where}{_line(error, path)}: does not import: {type(error).__name__}: {error}") from error
    return module


def _is_elsewhere(path: Path) -> bool:
    """Tell whether another file is what ``import`` finds by this name."""
    found = find_spec(path.stem)
    return found is not None and found.origin != str(path)


def _line(error: BaseException, path: Path) -> str:
    """The line of a file at which an error arose."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}" if error.lineno else ""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""
