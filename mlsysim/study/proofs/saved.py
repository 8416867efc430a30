"""Saved certificates: the question, the answer, and the boxes that were ruled out.

The file holds all that a reader needs who does not trust the search: the question, a digest of every formula and the
value of every input, the designs with their objectives, and the tree of halvings
(:mod:`mlsysim.bounds.branch_tree`) whose leaves tile the grid.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from mlsysim.bounds.branch_tree import BOUND, EVALUATED, INFEASIBLE, OPEN, BranchTree, leaves
from mlsysim.errors import CertificateError, InputError
from mlsysim.files import read_bytes, replacing
from mlsysim.inputs.expressions import Expression
from mlsysim.jsontext import json_text
from mlsysim.study.grids.checkpoint import reason_of, storage_errors
from mlsysim.study.proofs.saved_types import wrong_in
from mlsysim.study.proofs.written import as_plain
from mlsysim.study.searches.designs import Designs
from mlsysim.study.searches.problem import Problem
from mlsysim.version import __version__

KIND = "mlsysim certificate"
#: Version of the format; a file of another version is refused.
FORMAT = f"{KIND} 3"
#: Kinds of question: the best designs, or a front.
SEARCH, FRONT = KINDS = "search", "front"
#: Outcomes of a box, as named in the file.
FATES = {"bound": BOUND, "infeasible": INFEASIBLE, "evaluated": EVALUATED, "open": OPEN}
#: Most bytes of a file, and of the tree in it.
LARGEST, LARGEST_TREE = 1 << 30, 1 << 29
#: Letters of a digest.
DIGITS = 24


class Saved:
    """Writer of a certificate, created before the search and used after it.

    Parameters
    ----------
    path : path
        Path of the file.
    problem : Problem
        Problem to search.
    top : int, optional
        Number of designs; None for a front.

    Raises
    ------
    InputError
        If the path is invalid or cannot be written, or an argument of the question cannot be serialised.
    """

    def __init__(self, path: Any, problem: Problem, top: int | None) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise InputError("certificate", path, "must be a path", "as in certificate='best.json'") from None
        try:
            _refuse_unwritable(self.path, str(path))
        except InputError:
            raise
        except (OSError, ValueError) as error:
            raise InputError("certificate", str(path), f"cannot be written: {reason_of(error)}") from None
        self._problem, self._question = problem, question_of(problem, top)
        for argument, expression in _not_reproduced_by_text(problem):
            hint = "give it as text, as in 'total_memory <= 80 GB'"
            raise InputError(argument, expression.text, "a certificate holds texts, and this one says less", hint)

    def write(self, designs: Designs, cuts: BranchTree) -> None:
        """Write the file; an existing file is replaced, or kept if writing fails.

        Parameters
        ----------
        designs : Designs
            Answer of the search.
        cuts : BranchTree
            Tree of boxes and their outcomes, if bounds ruled them out.
        """
        problem, claims = self._problem, asdict(designs.certificate)
        if self._question["kind"] == FRONT:
            claims["bound"] = None
        content = {
            "format": FORMAT,
            "mlsysim": __version__,
            "question": self._question,
            "fingerprint": fingerprint(problem),
            "axes": dict(zip(problem.binding.axes, problem.grid.sizes, strict=True)),
            "designs": [
                {"place": position.tolist(), "arguments": arguments_at(problem, position), "objectives": objectives}
                for position, objectives in zip(designs.places, designs.objectives_by_text, strict=True)
            ],
            "certificate": claims,
            "boxes": _boxes(cuts, problem.grid.sizes) if claims["method"] == "bounds" else None,
        }
        text = json_text(content, 1) + "\n"
        kept = storage_errors(self.path, "cannot be written", lambda: "what it held before is kept")
        with kept, replacing(self.path) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")


def _not_reproduced_by_text(problem: Problem) -> Iterator[tuple[str, Expression]]:
    """Yield the expressions of a question, by argument, whose text does not reproduce them."""
    expressions = [("minimize" if sign > 0 else "maximize", e, problem.quantity) for e, sign in problem.objectives]
    expressions += [("subject_to", constraint, problem.condition) for constraint in problem.constraints]
    for argument, expression, reader in expressions:
        try:
            same = reader(expression.text).sympy == expression.sympy
        except InputError:
            same = False
        if not same:
            yield argument, expression


def _refuse_unwritable(file: Path, named: str) -> None:
    """Refuse, before the search, a path that cannot be written after it."""
    if not file.name or (file.exists() and not file.is_file()):
        raise InputError("certificate", named, "must be the path of a file", "as in certificate='best.json'")
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        raise InputError("certificate", named, "must be in a folder that exists")
    with tempfile.TemporaryFile(dir=folder):
        pass


def question_of(problem: Problem, top: int | None) -> dict[str, Any]:
    """Return the question as plain data; without ``top`` it asks for a front."""
    model = problem.model
    texts = {sign: [expression.text for expression, s in problem.objectives if s == sign] for sign in (1, -1)}
    return {
        "kind": FRONT if top is None else SEARCH,
        "command": type(model).command,
        "model": type(model).__name__,
        "variant": model.variant,
        "arguments": {name: as_plain(name, value) for name, value in problem.typed.items()},
        "minimize": texts[1],
        "maximize": texts[-1],
        "subject_to": [constraint.text for constraint in problem.constraints],
        "top": top,
    }


def fingerprint(problem: Problem) -> dict[str, dict[str, Any]]:
    """Fingerprint a question by name: digests of formulas and conditions, and the values of inputs."""
    binding = problem.binding
    conditions = {reason.text: reason.condition for reason in binding.reasons}
    conditions |= {constraint.text: constraint.sympy for constraint in problem.constraints}
    return {
        "formulas": {formula.name: _digest(formula.expression) for formula in binding.system},
        "objectives": {e.text: _digest(goal) for (e, _), goal in zip(problem.objectives, problem.goals, strict=True)},
        "conditions": {name: _digest(condition) for name, condition in conditions.items()},
        "inputs": {name: _value(value) for name, value in sorted(binding.numbers.items())},
    }


def arguments_at(problem: Problem, position: Any) -> dict[str, Any]:
    """Return the swept arguments at a point as plain data."""
    return {name: as_plain(name, value) for name, value in problem.swept(position).items()}


def read(path: Any) -> dict[str, Any]:
    """Read a file and check that all its parts are there.

    Parameters
    ----------
    path : path
        Path of the file.

    Raises
    ------
    InputError
        If the file cannot be read, or is no certificate.
    CertificateError
        If a part is missing, or of another type.
    """

    def refused(why: str) -> InputError:
        return InputError(
            "certificate", str(path), why, "search(certificate=...) and pareto(certificate=...) write one"
        )

    try:
        file = Path(path)
        content = json.loads(read_bytes(file, LARGEST).decode("utf-8"))
    except OSError as error:
        raise refused(f"cannot be read: {reason_of(error)}") from None
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise refused("is no certificate of mlsysim, or is damaged: it is no JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        version = content.get("format") if isinstance(content, dict) else None
        other = f"is {version!r}, of another version than {FORMAT!r}" if str(version).startswith(KIND) else ""
        raise refused(other or f"is no certificate of mlsysim: its format is not {FORMAT!r}")
    for where, why in wrong_in({"boxes": None, **content}):
        raise CertificateError(file, where, why)
    return content


def boxes_in(content: Mapping[str, Any], sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return first and last indices of the boxes of a file, and the outcome of each; None without boxes.

    Raises
    ------
    ValueError
        If they do not tile the grid, or their number differs from what the file says.
    """
    boxes = content.get("boxes")
    if boxes is None:
        return None
    try:
        unpacking = zlib.decompressobj()
        tree = unpacking.decompress(base64.b64decode(boxes["tree"], validate=True), LARGEST_TREE)
        counts = {name: int(boxes[name]) for name in FATES}
    except (KeyError, zlib.error, binascii.Error) as error:
        raise ValueError(f"the tree cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise ValueError("the tree cannot be unpacked: it is cut off, or too long")
    low, high, fates = leaves(tree, sizes)
    for name, fate in FATES.items():
        if counts[name] != (in_tree := int((fates == fate).sum())):
            raise ValueError(f"{counts[name]:,} boxes are said to be {name}, and the tree has {in_tree:,}")
    return low, high, fates


def _boxes(cuts: BranchTree, sizes: tuple[int, ...]) -> dict[str, Any]:
    tree = cuts.encode(sizes)
    _, _, fates = leaves(tree, sizes)
    counts = {name: int((fates == fate).sum()) for name, fate in FATES.items()}
    return {**counts, "tree": base64.b64encode(zlib.compress(tree, 9)).decode()}


def _value(value: Any) -> Any:
    """Return a number as it is, an array by its shape and digest."""
    array = np.ascontiguousarray(value, float)
    if array.size == 1:
        return float(array.ravel()[0])
    return {"shape": list(array.shape), "digest": _digest_of(array.tobytes())}


@lru_cache(maxsize=4096)
def _digest(expression: sympy.Basic) -> str:
    """Digest an expression as printed; cached because it takes a third of the check of a small grid."""
    return _digest_of(str(expression).encode())


def _digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]
