"""Verification of a saved certificate: the answer solved again, its boxes bounded again, without the search."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlsysim.backends.programs.lazily import without_programs
from mlsysim.bounds import Recheck, Shown
from mlsysim.bounds.cuts import EVALUATED, OPEN, volumes
from mlsysim.errors import CertificateError, InputError, MlsysimError, UnknownNameError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.progress import looped
from mlsysim.study.proofs.claimed import Claimed, ClaimedBest, ClaimedFront, Wrong, alike, plain_number
from mlsysim.study.proofs.saved import FRONT, KINDS, arguments_at, boxes_in, fingerprint
from mlsysim.study.proofs.written import Find, as_given
from mlsysim.study.results.basis import Basis, at_point, of_result
from mlsysim.study.searches.columns import value_of
from mlsysim.study.searches.problem import Problem, problem
from mlsysim.study.searches.refused import refused
from mlsysim.study.searches.solver import LARGEST
from mlsysim.study.solve import solve
from mlsysim.units import from_canonical
from mlsysim.version import __version__

#: Operations of evaluating every point of a grid of which no boxes were saved: a minute or two.
EVERY_POINT = 6e10
#: Boxes of halvings in which such a grid of more points is tried to be shown by bounds.
TRIED = 1 << 12
#: How a grid may have been searched, and what is said of boxes that nothing is claimed of.
WAYS, UNCLAIMED = ("bounds", "dense", "enumeration"), "open"
#: How boxes were shown to hold nothing better, where no condition did.
IN_WORDS = {
    "bound": "bounded by values that are no better",
    UNCLAIMED: "open when time was over: nothing is claimed",
}
#: Boxes that are looked at between two steps of the line that says how far it is.
STEP = 1024


@dataclass(frozen=True)
class Verification:
    """Verdict on a saved certificate.

    Attributes
    ----------
    path : path
        Of the file.
    complete : bool
        Whether all that it claims was shown; else ``said`` says what was not.
    designs : int
        Designs that were solved again.
    points : int
        Size of the grid.
    boxes : mapping of str to int
        Boxes of the grid by how they were shown to hold nothing better: by bounds of the objectives, or by the
        condition that cannot hold in them.
    evaluated : int
        Points evaluated again.
    said : tuple of str
        Sentences.
    seconds : float
        Time it took.
    basis : Basis or None
        Stack, assumptions and expected errors of the best design, or of the first point where there is none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlsysim import TrainingMemoryModel, verify
    >>> memory = TrainingMemoryModel("first_order")
    >>> run = dict(seq_len=2048, batch_size=range(8, 65), dp_size=[1, 2, 4, 8], zero_stage=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "certificate.json")
    ...     asked = dict(minimize="total_memory", method="bounds", certificate=file)
    ...     found = memory.search("Llama3_8B", "H100", **run, **asked)
    ...     verdict = verify(file)
    >>> verdict.complete, verdict.designs
    (True, 1)
    """

    path: Path
    complete: bool
    designs: int
    points: int
    boxes: Mapping[str, int]
    evaluated: int
    said: tuple[str, ...]
    seconds: float
    basis: Basis | None

    def __str__(self) -> str:
        head = f"{self.path} holds" if self.complete else f"{self.path} does not contradict itself, but is not shown"
        return "\n".join([f"{head}, looked at in {self.seconds:.3g} s.", *self.said])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(replace(self, basis=None)) | {
            "path": str(self.path),
            "basis": self.basis and self.basis.to_dict(),
        }


def verified(content: Mapping[str, Any], path: Path, model: DeclaredModel, find: Find) -> Verification:
    """Verify a certificate.

    Parameters
    ----------
    content : mapping
        Of the file.
    path : path
        Of the file, for errors.
    model : DeclaredModel
        The model that the question asks.
    find : callable
        Finds entries of the catalog by kind and name.

    Raises
    ------
    CertificateError
        If something does not hold: which part, and why.
    """
    started = time.perf_counter()

    def wrong(where: str, why: str) -> CertificateError:
        return CertificateError(path, where, why)

    with without_programs():
        asked = _asked(content, model, find, wrong)
        _compare(content, asked, wrong)
        names = [(c.text, c.sympy) for c in asked.constraints]
        names += [(reason.text, reason.condition) for reason in asked.binding.reasons]
        checker = Recheck(asked.binding.system, asked.goals, names, asked.binding.numbers, asked.grid.sizes)
        values, places = _solved_again(content, asked, checker, wrong)
        kind = ClaimedFront if content["question"]["kind"] == FRONT else ClaimedBest
        claimed = kind(content, asked, values, places, wrong)
        shown, said, complete = _grid_shown(content, asked, claimed, checker, wrong)
        _counts(content["certificate"], asked, shown, complete, wrong)
    return Verification(
        path=path,
        complete=complete,
        designs=places.shape[1],
        points=asked.grid.points,
        boxes=dict(shown.by),
        evaluated=shown.evaluated,
        said=(*claimed.said, *said, *_version(content)),
        seconds=time.perf_counter() - started,
        basis=_basis(asked, places),
    )


def _basis(asked: Problem, places: np.ndarray) -> Basis | None:
    """Find what the best design rests on; where there is none, the first point of the grid."""
    names = [name for expression, _ in asked.objectives for name in expression.names]
    if places.shape[1]:
        return of_result(solve(asked.model, **asked.at(places[:, 0].tolist())), names)
    return at_point(asked.model, asked.typed, names)


def _version(content: Mapping[str, Any]) -> list[str]:
    """Version that wrote the file, where it was another one."""
    written = content.get("mlsysim")
    return [] if written == __version__ else [f"It was written by mlsysim {written}, and read by {__version__}."]


def _asked(content: Mapping[str, Any], model: DeclaredModel, find: Find, wrong: Wrong) -> Problem:
    """The question that the file asks, built afresh."""
    question = content["question"]
    try:
        arguments = {name: as_given(name, plain, find) for name, plain in question["arguments"].items()}
        # The conditions of the file are all there were: that designs are feasible is one of them where it was asked.
        asked = problem(model, arguments, question["minimize"], question["maximize"], question["subject_to"], True)
    except UnknownNameError as error:
        raise wrong("question", f"{error}; an entry of a catalog of one's own needs that catalog (--catalog)") from None
    except MlsysimError as error:
        raise wrong("question", str(error)) from None
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise wrong("question", f"its arguments cannot be read: {error}") from None
    kind, top, number = question["kind"], question["top"], len(asked.objectives)
    if kind not in KINDS:
        raise wrong("question.kind", f"must be one of {', '.join(KINDS)}, and is {kind!r}")
    if kind == FRONT:
        if number < 2:
            raise wrong("question", "a front has two objectives or more, and this one has 1")
        if top is not None:
            raise wrong("question.top", f"a front has none, and it is {top!r}")
        if asked.grid.points > LARGEST:
            raise wrong("question", f"a front is of at most {LARGEST:,} points")
        return asked
    if number != 1:
        raise wrong("question", f"a search has one objective, and this one has {number}")
    if not top:
        raise wrong("question.top", f"must be a whole number >= 1, and is {top!r}")
    return asked


def _compare(content: Mapping[str, Any], asked: Problem, wrong: Wrong) -> None:
    """Tell whether formulas, conditions and inputs are those of the search."""
    axes = dict(zip(asked.binding.axes, asked.grid.sizes, strict=True))
    if content["axes"] != axes:
        raise wrong("axes", f"the question has {axes}, and the file says {content['axes']}")
    there = content["fingerprint"]
    for part, here in fingerprint(asked).items():
        if (saved := there.get(part)) is None:
            raise wrong("fingerprint", f"{part} are missing")
        for name in {**here, **saved}:
            if name not in saved or name not in here:
                which = "is new since" if name in here else "is no longer there"
                raise wrong(part, f"{name} {which}: the search was of other {part}")
            if saved[name] != here[name]:
                told = ""
                if isinstance(here[name], float) and isinstance(saved[name], float):
                    told = f": {saved[name]:g} there, {here[name]:g} here, in canonical units"
                raise wrong(part, f"{name} is another than in the search{told}")


def _solved_again(
    content: Mapping[str, Any], asked: Problem, checker: Recheck, wrong: Wrong
) -> tuple[np.ndarray, np.ndarray]:
    """Objectives (rows, to be minimised) and places (rows) of the designs (columns): as the file says, and feasible.

    Each is solved by itself, and evaluated by the compiled function, as the points are that it is compared with.
    """
    designs, sizes = content["designs"], asked.grid.sizes
    for number, design in enumerate(designs, start=1):
        where, place, arguments = f"design {number}", design["place"], design["arguments"]
        if len(place) != len(sizes) or any(at >= size for at, size in zip(place, sizes, strict=True)):
            raise wrong(where, f"place {place} is not on the grid")
        if arguments != (here := arguments_at(asked, place)):
            other = next((name for name in here if arguments.get(name) != here[name]), "arguments")
            raise wrong(where, f"{other} is {here.get(other)!r} at its place, and {arguments.get(other)!r} in the file")
    places = np.array([design["place"] for design in designs], np.int64).reshape(len(designs), len(sizes)).T
    values, good = checker.worth(places)
    for number, design in enumerate(designs, start=1):
        where = f"design {number}"
        try:
            result = solve(asked.model, **asked.at(design["place"]))
        except InputError as error:
            raise wrong(where, f"is refused: {error}") from None
        if not good[number - 1]:
            raise wrong(where, "does not meet the constraints")
        for (expression, sign), compiled in zip(asked.objectives, values[:, number - 1].tolist(), strict=True):
            if (worth := design["objectives"].get(expression.text)) is None:
                raise wrong(where, f"it does not say what {expression.text} is")
            if worth["unit"] != expression.unit:
                raise wrong(where, f"{expression.text} is in {expression.unit!r}, and in {worth['unit']!r} in the file")
            said = worth["value"]
            for value in (value_of(expression, result), sign * compiled):
                own = float(from_canonical(value, expression.unit))
                if not alike(own, plain_number(said)):
                    raise wrong(where, f"{expression.text} is {own!r} {expression.unit}, and {said!r} in the file")
    return values, places


def _grid_shown(
    content: Mapping[str, Any], asked: Problem, claimed: Claimed, checker: Recheck, wrong: Wrong
) -> tuple[Shown, list[str], bool]:
    """Show that no point of the grid is against what the file says, or raise."""
    method, answer, rest = content["certificate"]["method"], claimed.answer, claimed.rest
    if method not in WAYS:
        raise wrong("certificate.method", f"must be one of {', '.join(WAYS)}, and is {method!r}")
    shown, total = Shown(), asked.grid.points
    try:
        boxes = boxes_in(content, asked.grid.sizes)
    except ValueError as error:
        raise wrong("boxes", str(error)) from None
    if (boxes is None) == (method == "bounds"):
        raise wrong(
            "boxes", f"the search is said to be by {method}, which {'has' if boxes is None else 'has no'} boxes"
        )
    if boxes is not None:
        low, high, fates = boxes
        if sum(volumes(low, high)) != total:
            raise wrong("boxes", f"they hold {sum(volumes(low, high)):,} points, and the grid has {total:,}")
        was_evaluated = fates == EVALUATED
        for part in looped(_parts(low[:, was_evaluated], high[:, was_evaluated])):
            checker.evaluate(*part, answer, shown)
            _refute(shown, asked, claimed, wrong)
        # Where no gap is claimed nothing is said of the boxes that were open when the time was over.
        unclaimed = (fates == OPEN) & (not math.isfinite(claimed.gap))
        if unclaimed.any():
            shown.by[UNCLAIMED] = int(unclaimed.sum())
        left = ~was_evaluated & ~unclaimed
        for part in looped(_parts(low[:, left], high[:, left])):
            checker.show(*part, rest, shown)
            _refute(shown, asked, claimed, wrong)
        tile = "1 box tiles" if fates.size == 1 else f"{fates.size:,} boxes tile"
        return shown, [f"{tile} the grid of {total:,} points:", *_ways(shown, int(was_evaluated.sum()))], True
    last_place = np.array(asked.grid.sizes, np.int64)[:, None] - 1
    whole = np.zeros_like(last_place), last_place
    operations = total * asked.points.operations(asked.grid.sizes)
    if not claimed.proven:
        return shown, ["It claims no proof, and has no boxes."], True
    if operations <= EVERY_POINT:
        checker.evaluate(*whole, answer, shown)
        _refute(shown, asked, claimed, wrong)
        return shown, [f"It has no boxes, as every point was looked at: all {total:,} were evaluated again."], True
    said = (
        f"It has no boxes, as every point was looked at, and to evaluate {total:,} points again takes too long. "
        "method='bounds' finds a proof that can be verified."
    )
    if asked.points.iterates:
        return shown, [said], False
    checker.show(*whole, rest, shown, TRIED)
    if shown.missed:
        shown.missed.clear()
        _refute(shown, asked, claimed, wrong)
        return shown, [said], False
    _refute(shown, asked, claimed, wrong)
    said = f"It has no boxes, as every point was looked at; bounds show the same of all {total:,}:"
    return shown, [said, *_ways(shown)], True


def _parts(low: np.ndarray, high: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(low[:, at : at + STEP], high[:, at : at + STEP]) for at in range(0, low.shape[1], STEP)]


def _refute(shown: Shown, asked: Problem, claimed: Claimed, wrong: Wrong) -> None:
    """Raise for a point that was found against the claim, or a box that was not shown to hold none."""
    if shown.better:
        values, place = min(shown.better)
        at = ", ".join(f"{name}={text}" for name, text in arguments_at(asked, place).items())
        raise wrong("designs", f"{_objectives(asked, values, 'is')} at {at}, {claimed.against}")
    if shown.missed:
        low, high, bounds = shown.missed[0]
        ends = ", ".join(
            f"{name} {a} to {b}" for name, a, b in zip(asked.binding.axes, low, high, strict=True) if a < b
        )
        bounded = _objectives(asked, bounds, "is bounded by")
        raise wrong("boxes", f"in the box {ends} (places on the axes), {bounded} only")


def _objectives(asked: Problem, values: Sequence[float], verb: str) -> str:
    """Objectives in words, of values that are to be minimised."""
    said = []
    for (expression, sign), value in zip(asked.objectives, values, strict=True):
        own = f"{float(from_canonical(sign * value, expression.unit)):.10g} {expression.unit}".strip()
        said.append(f"{expression.text} {verb} {own}")
    return " and ".join(said)


def _counts(claims: Mapping[str, Any], asked: Problem, shown: Shown, complete: bool, wrong: Wrong) -> None:
    """Tell whether the counts of the certificate agree with what is found here."""
    accepted, refusals = refused(asked)
    here = {"points": asked.grid.points, "accepted": list(accepted)}
    here["refused"] = {
        name: {"count": list(each.count), "entries": list(each.entries)} for name, each in refusals.items()
    }
    for name, value in here.items():
        if claims.get(name) != value:
            raise wrong("certificate", f"{name} is {value} here, and {claims.get(name)} in the file")
    feasible = claims["feasible"]
    if len(feasible) != 2 or not feasible[0] <= feasible[1] <= asked.grid.points:
        raise wrong("certificate", f"feasible must be the fewest and the most points, and is {feasible!r}")
    fewest, most = shown.feasible, asked.grid.points - shown.infeasible
    if complete and (feasible[1] < fewest or feasible[0] > most):
        raise wrong("certificate", f"{feasible} points are said to be feasible, and here {fewest} to {most}")


def _ways(shown: Shown, evaluated: int = 0) -> list[str]:
    """Ways in which boxes were shown to hold nothing better, a line each."""
    lines = [f"{evaluated:>10,}  evaluated again, {shown.evaluated:,} points"] * bool(shown.evaluated)
    for name, count in sorted(shown.by.items(), key=lambda each: -each[1]):
        what = IN_WORDS.get(name, f"{name}: cannot hold")
        lines.append(f"{count:>10,}  {what}")
    return [*lines, f"{shown.halved:>10,}  halved on the way"] if shown.halved else lines
