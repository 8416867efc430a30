"""Verification of a saved certificate without the search: the designs solved again, the boxes bounded again."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlsysim.backends.programs.lazily import without_programs
from mlsysim.bounds import CheckReport, Recheck
from mlsysim.bounds.branch_tree import EVALUATED, OPEN, volumes
from mlsysim.errors import CertificateError, InputError, MlsysimError, UnknownNameError
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.progress import looped
from mlsysim.study.proofs.claimed import Claimed, ClaimedBest, ClaimedFront, Wrong, is_close, plain_number
from mlsysim.study.proofs.saved import FRONT, KINDS, arguments_at, boxes_in, fingerprint
from mlsysim.study.proofs.written import Find, as_given
from mlsysim.study.results.basis import Basis, at_point, of_result
from mlsysim.study.searches.columns import value_of
from mlsysim.study.searches.problem import Problem, read_problem
from mlsysim.study.searches.refused import refused
from mlsysim.study.searches.solver import LARGEST
from mlsysim.study.solve import solve
from mlsysim.units import from_canonical
from mlsysim.version import __version__

#: Most operations to evaluate every point of a grid without saved boxes: a minute or two.
EVERY_POINT = 6e10
#: Most boxes in an attempt to verify a larger grid by bounds.
TRIED = 1 << 12
#: Methods of search, and the name of boxes about which nothing is claimed.
WAYS, UNCLAIMED = ("bounds", "dense", "enumeration"), "open"
#: Descriptions of how boxes were shown to hold nothing better, other than by a condition.
IN_WORDS = {
    "bound": "bounded by values that are no better",
    UNCLAIMED: "open when time was over: nothing is claimed",
}
#: Boxes bounded between two updates of the progress line.
STEP = 1024


@dataclass(frozen=True)
class Verification:
    """Verdict on a saved certificate.

    Attributes
    ----------
    path : path
        Path of the file.
    complete : bool
        True if all that the certificate claims was shown; else ``said`` tells what was not.
    designs : int
        Number of designs solved again.
    points : int
        Size of the grid.
    boxes : mapping of str to int
        Number of boxes by how they were shown to hold nothing better: by bounds on the objectives, or by a condition
        that cannot hold in them.
    evaluated : int
        Points evaluated again.
    said : tuple of str
        Findings, one sentence each.
    seconds : float
        Time it took.
    basis : Basis or None
        Stack, assumptions and expected errors of the best design, or of the first point if there is none.

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
        Content of the file.
    path : path
        Path of the file, for errors.
    model : DeclaredModel
        Model that the question asks about.
    find : callable
        Function that finds catalog entries by kind and name.

    Raises
    ------
    CertificateError
        If a claim does not hold; names the part and the reason.
    """
    started = time.perf_counter()

    def wrong(where: str, why: str) -> CertificateError:
        return CertificateError(path, where, why)

    with without_programs():
        problem = _question(content, model, find, wrong)
        _compare(content, problem, wrong)
        names = [(constraint.text, constraint.sympy) for constraint in problem.constraints]
        names += [(reason.text, reason.condition) for reason in problem.binding.reasons]
        checker = Recheck(problem.binding.system, problem.goals, names, problem.binding.numbers, problem.grid.sizes)
        values, places = _solved_again(content, problem, checker, wrong)
        kind = ClaimedFront if content["question"]["kind"] == FRONT else ClaimedBest
        claimed = kind(content, problem, values, places, wrong)
        shown, findings, complete = _grid_shown(content, problem, claimed, checker, wrong)
        _counts(content["certificate"], problem, shown, complete, wrong)
    return Verification(
        path=path,
        complete=complete,
        designs=places.shape[1],
        points=problem.grid.points,
        boxes=dict(shown.by),
        evaluated=shown.evaluated,
        said=(*claimed.said, *findings, *_version(content)),
        seconds=time.perf_counter() - started,
        basis=_basis(problem, places),
    )


def _basis(problem: Problem, places: np.ndarray) -> Basis | None:
    """Return the basis of the best design, or of the first point of the grid if there is none."""
    names = [name for expression, _ in problem.objectives for name in expression.names]
    if places.shape[1]:
        return of_result(solve(problem.model, **problem.at(places[:, 0].tolist())), names)
    return at_point(problem.model, problem.typed, names)


def _version(content: Mapping[str, Any]) -> list[str]:
    """Say which version wrote the file, if it was another."""
    written = content.get("mlsysim")
    return [] if written == __version__ else [f"It was written by mlsysim {written}, and read by {__version__}."]


def _question(content: Mapping[str, Any], model: DeclaredModel, find: Find, wrong: Wrong) -> Problem:
    """Read the question of the file again."""
    question = content["question"]
    try:
        arguments = {name: as_given(name, plain, find) for name, plain in question["arguments"].items()}
        # The file lists all constraints, so feasibility is among them if it was required.
        problem = read_problem(
            model, arguments, question["minimize"], question["maximize"], question["subject_to"], True
        )
    except UnknownNameError as error:
        raise wrong("question", f"{error}; an entry of a catalog of one's own needs that catalog (--catalog)") from None
    except MlsysimError as error:
        raise wrong("question", str(error)) from None
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise wrong("question", f"its arguments cannot be read: {error}") from None
    kind, top, count = question["kind"], question["top"], len(problem.objectives)
    if kind not in KINDS:
        raise wrong("question.kind", f"must be one of {', '.join(KINDS)}, and is {kind!r}")
    if kind == FRONT:
        if count < 2:
            raise wrong("question", "a front has two objectives or more, and this one has 1")
        if top is not None:
            raise wrong("question.top", f"a front has none, and it is {top!r}")
        if problem.grid.points > LARGEST:
            raise wrong("question", f"a front is of at most {LARGEST:,} points")
        return problem
    if count != 1:
        raise wrong("question", f"a search has one objective, and this one has {count}")
    if not top:
        raise wrong("question.top", f"must be a whole number >= 1, and is {top!r}")
    return problem


def _compare(content: Mapping[str, Any], problem: Problem, wrong: Wrong) -> None:
    """Refuse a file whose formulas, conditions or inputs differ from today's."""
    axes = dict(zip(problem.binding.axes, problem.grid.sizes, strict=True))
    if content["axes"] != axes:
        raise wrong("axes", f"the question has {axes}, and the file says {content['axes']}")
    fingerprints = content["fingerprint"]
    for part, here in fingerprint(problem).items():
        if (saved := fingerprints.get(part)) is None:
            raise wrong("fingerprint", f"{part} are missing")
        for name in {**here, **saved}:
            if name not in saved or name not in here:
                change = "is new since" if name in here else "is no longer there"
                raise wrong(part, f"{name} {change}: the search was of other {part}")
            if saved[name] != here[name]:
                values = ""
                if isinstance(here[name], float) and isinstance(saved[name], float):
                    values = f": {saved[name]:g} there, {here[name]:g} here, in canonical units"
                raise wrong(part, f"{name} is another than in the search{values}")


def _solved_again(
    content: Mapping[str, Any], problem: Problem, checker: Recheck, wrong: Wrong
) -> tuple[np.ndarray, np.ndarray]:
    """Solve the designs again; return objectives (rows, to be minimised) and positions (rows) of designs (columns).

    Each is solved alone and by the compiled function that evaluates the points it is compared with; both must agree.
    """
    designs, sizes = content["designs"], problem.grid.sizes
    for number, design in enumerate(designs, start=1):
        where, place, arguments = f"design {number}", design["place"], design["arguments"]
        if len(place) != len(sizes) or any(at >= size for at, size in zip(place, sizes, strict=True)):
            raise wrong(where, f"place {place} is not on the grid")
        if arguments != (expected := arguments_at(problem, place)):
            other = next((name for name in expected if arguments.get(name) != expected[name]), "arguments")
            raise wrong(
                where, f"{other} is {expected.get(other)!r} at its place, and {arguments.get(other)!r} in the file"
            )
    positions = np.array([design["place"] for design in designs], np.int64).reshape(len(designs), len(sizes)).T
    values, feasible = checker.worth(positions)
    for number, design in enumerate(designs, start=1):
        where = f"design {number}"
        try:
            result = solve(problem.model, **problem.at(design["place"]))
        except InputError as error:
            raise wrong(where, f"is refused: {error}") from None
        if not feasible[number - 1]:
            raise wrong(where, "does not meet the constraints")
        for (expression, sign), compiled in zip(problem.objectives, values[:, number - 1].tolist(), strict=True):
            if (objective := design["objectives"].get(expression.text)) is None:
                raise wrong(where, f"it does not say what {expression.text} is")
            if objective["unit"] != expression.unit:
                raise wrong(
                    where, f"{expression.text} is in {expression.unit!r}, and in {objective['unit']!r} in the file"
                )
            claimed = objective["value"]
            for value in (value_of(expression, result), sign * compiled):
                computed = float(from_canonical(value, expression.unit))
                if not is_close(computed, plain_number(claimed)):
                    raise wrong(
                        where, f"{expression.text} is {computed!r} {expression.unit}, and {claimed!r} in the file"
                    )
    return values, positions


def _grid_shown(
    content: Mapping[str, Any], problem: Problem, claimed: Claimed, checker: Recheck, wrong: Wrong
) -> tuple[CheckReport, list[str], bool]:
    """Show that no point of the grid violates the claims of the file, or raise."""
    method, answer, rest = content["certificate"]["method"], claimed.answer, claimed.rest
    if method not in WAYS:
        raise wrong("certificate.method", f"must be one of {', '.join(WAYS)}, and is {method!r}")
    shown, total = CheckReport(), problem.grid.points
    try:
        boxes = boxes_in(content, problem.grid.sizes)
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
        for tile in looped(_batches(low[:, was_evaluated], high[:, was_evaluated])):
            checker.evaluate(*tile, answer, shown)
            _refute(shown, problem, claimed, wrong)
        # If no gap is claimed, nothing is claimed about boxes that were open when time ran out.
        unclaimed = (fates == OPEN) & (not math.isfinite(claimed.gap))
        if unclaimed.any():
            shown.by[UNCLAIMED] = int(unclaimed.sum())
        left = ~was_evaluated & ~unclaimed
        for tile in looped(_batches(low[:, left], high[:, left])):
            checker.show(*tile, rest, shown)
            _refute(shown, problem, claimed, wrong)
        subject = "1 box tiles" if fates.size == 1 else f"{fates.size:,} boxes tile"
        return shown, [f"{subject} the grid of {total:,} points:", *_ways(shown, int(was_evaluated.sum()))], True
    last_place = np.array(problem.grid.sizes, np.int64)[:, None] - 1
    whole = np.zeros_like(last_place), last_place
    operations = total * problem.points.operations(problem.grid.sizes)
    if not claimed.proven:
        return shown, ["It claims no proof, and has no boxes."], True
    if operations <= EVERY_POINT:
        checker.evaluate(*whole, answer, shown)
        _refute(shown, problem, claimed, wrong)
        return shown, [f"It has no boxes, as every point was looked at: all {total:,} were evaluated again."], True
    finding = (
        f"It has no boxes, as every point was looked at, and to evaluate {total:,} points again takes too long. "
        "method='bounds' finds a proof that can be verified."
    )
    if problem.points.iterates:
        return shown, [finding], False
    checker.show(*whole, rest, shown, TRIED)
    if shown.missed:
        shown.missed.clear()
        _refute(shown, problem, claimed, wrong)
        return shown, [finding], False
    _refute(shown, problem, claimed, wrong)
    finding = f"It has no boxes, as every point was looked at; bounds show the same of all {total:,}:"
    return shown, [finding, *_ways(shown)], True


def _batches(low: np.ndarray, high: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(low[:, at : at + STEP], high[:, at : at + STEP]) for at in range(0, low.shape[1], STEP)]


def _refute(shown: CheckReport, problem: Problem, claimed: Claimed, wrong: Wrong) -> None:
    """Raise for a point that violates the claim, or for a box not shown to be free of such points."""
    if shown.better:
        values, position = min(shown.better)
        at = ", ".join(f"{name}={text}" for name, text in arguments_at(problem, position).items())
        raise wrong("designs", f"{_objectives(problem, values, 'is')} at {at}, {claimed.against}")
    if shown.missed:
        low, high, bounds = shown.missed[0]
        ends = ", ".join(
            f"{name} {a} to {b}" for name, a, b in zip(problem.binding.axes, low, high, strict=True) if a < b
        )
        bounded = _objectives(problem, bounds, "is bounded by")
        raise wrong("boxes", f"in the box {ends} (places on the axes), {bounded} only")


def _objectives(problem: Problem, values: Sequence[float], verb: str) -> str:
    """Describe the values of objectives, given as values to be minimised."""
    descriptions = []
    for (expression, sign), value in zip(problem.objectives, values, strict=True):
        amount = f"{float(from_canonical(sign * value, expression.unit)):.10g} {expression.unit}".strip()
        descriptions.append(f"{expression.text} {verb} {amount}")
    return " and ".join(descriptions)


def _counts(claims: Mapping[str, Any], problem: Problem, shown: CheckReport, complete: bool, wrong: Wrong) -> None:
    """Refuse counts of the certificate that differ from those computed here."""
    accepted, refusals = refused(problem)
    expected = {"points": problem.grid.points, "accepted": list(accepted)}
    expected["refused"] = {
        name: {"count": list(refusal.count), "entries": list(refusal.entries)} for name, refusal in refusals.items()
    }
    for name, value in expected.items():
        if claims.get(name) != value:
            raise wrong("certificate", f"{name} is {value} here, and {claims.get(name)} in the file")
    feasible = claims["feasible"]
    if len(feasible) != 2 or not feasible[0] <= feasible[1] <= problem.grid.points:
        raise wrong("certificate", f"feasible must be the fewest and the most points, and is {feasible!r}")
    fewest, most = shown.feasible, problem.grid.points - shown.infeasible
    if complete and (feasible[1] < fewest or feasible[0] > most):
        raise wrong("certificate", f"{feasible} points are said to be feasible, and here {fewest} to {most}")


def _ways(shown: CheckReport, evaluated: int = 0) -> list[str]:
    """List the ways in which boxes were shown to hold nothing better, one line each."""
    lines = [f"{evaluated:>10,}  evaluated again, {shown.evaluated:,} points"] * bool(shown.evaluated)
    for name, count in sorted(shown.by.items(), key=lambda item: -item[1]):
        way = IN_WORDS.get(name, f"{name}: cannot hold")
        lines.append(f"{count:>10,}  {way}")
    return [*lines, f"{shown.halved:>10,}  halved on the way"] if shown.halved else lines
