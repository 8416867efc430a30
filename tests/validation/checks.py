"""What a validation table is made of: numbers of ours beside numbers that share no code with us."""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

#: Equal but for the last bits of a float64.
ROUNDING = 1e-12
#: What stands for the allowed error of rows that count for nothing.
LEFT_OUT = {"calibrated": "calibrated on it", "solved": "solved for", "bound": "a bound"}


@dataclass(frozen=True)
class Check:
    """One number of ours against one of theirs.

    Parameters
    ----------
    what : str
        Case and quantity.
    theirs, ours : float
        In ``unit``.
    tolerance : float
        Largest relative error; 0 asks for equality.
    unit : str
        Of both.
    first_order : float, optional
        What the first-order form gives.
    missed : str
        Why the error is larger than the tolerance. The test fails when it is not.
    calibrated : bool
        Whether a constant was calibrated on this row, which then counts for nothing.
    solved : bool
        Whether an input was solved from what is compared, which then counts for nothing.
    bound : str
        ``">"`` or ``"<"`` where theirs is a bound of ours, which has no error.
    read, assumed : str
        What of the source was read, and what is taken of inputs that it leaves out.
    """

    what: str
    theirs: float
    ours: float
    tolerance: float
    unit: str = ""
    first_order: float | None = None
    missed: str = ""
    calibrated: bool = False
    solved: bool = False
    bound: str = ""
    read: str = ""
    assumed: str = ""

    @property
    def counts(self) -> bool:
        """True if its error says something of ours."""
        return not (self.calibrated or self.solved or self.bound)

    @property
    def error(self) -> float:
        """Relative error of ours."""
        return relative(self.ours, self.theirs)

    @property
    def holds(self) -> bool:
        """Within the tolerance, or outside it where a miss is declared."""
        if self.calibrated:
            return True
        within = self.inside if self.bound else abs(self.error) <= self.tolerance + ROUNDING
        return within != bool(self.missed)

    @property
    def inside(self) -> bool:
        """True if ours is on its side of a bound."""
        return self.ours > self.theirs if self.bound == ">" else self.ours < self.theirs


def spread(errors: Iterable[float]) -> tuple[float, float, float]:
    """Median, 90th percentile and largest of the sizes of errors."""
    sizes = sorted(abs(float(error)) for error in errors)
    return statistics.median(sizes), sizes[math.ceil(0.9 * len(sizes)) - 1], sizes[-1]


@dataclass(frozen=True)
class Spread:
    """The errors of many rows together.

    Parameters
    ----------
    what : str
        Which rows, by which constants.
    errors : iterable of float
        Relative, without sign.
    allowed : float
        Largest median.
    worst : float, optional
        Largest error.
    missed : str
        Why the errors are larger than allowed. The test fails when they are not.
    """

    what: str
    errors: Iterable[float]
    allowed: float
    worst: float = math.inf
    missed: str = ""

    @property
    def median(self) -> float:
        """Of the sizes of the errors."""
        return spread(self.errors)[0]

    @property
    def largest(self) -> float:
        """Of the sizes of the errors."""
        return spread(self.errors)[2]

    @property
    def holds(self) -> bool:
        """Whether median and worst are allowed, or one is not where a miss is declared."""
        return (self.median <= self.allowed and self.largest <= self.worst) != bool(self.missed)

    def cells(self) -> list[str]:
        """A row of the table."""
        errors = list(self.errors)
        shown = [f"{100 * value:.1f}%" for value in (*spread(errors), self.allowed)]
        if math.isfinite(self.worst):
            shown[-1] += f", worst {100 * self.worst:.0f}%"
        return [self.what, str(len(errors)), *shown]


@dataclass(frozen=True)
class Group:
    """Checks with one source.

    Parameters
    ----------
    name : str
        Of the test.
    title : str
        Heading in the docs.
    about : str or callable
        What is compared with what, and how far apart they may be; a callable computes it.
    source : str
        Who published, counted or simulated theirs.
    checks : callable
        Computes them.
    needs : tuple of str
        Packages without which it cannot run. With torch among them it is long, see tests/README.md.
    long : bool
        Whether it is long for another reason.
    beside_project : bool
        Whether its rows stand beside the project where it is developed, and not in it.
    summary : bool
        Whether median, 90th percentile and worst error stand under the table.
    beside : str
        What stands beside ours where checks have it.
    spreads : callable, optional
        Computes the errors of all its rows together.
    """

    name: str
    title: str
    about: str | Callable[[], str]
    source: str
    checks: Callable[[], list[Check]]
    needs: tuple[str, ...] = ()
    long: bool = False
    beside_project: bool = False
    summary: bool = False
    beside: str = "First order"
    spreads: Callable[[], list[Spread]] | None = None


def relative(ours: float, theirs: float) -> float:
    """Relative error; zero where both are infinite or both zero."""
    if ours == theirs:
        return 0.0
    return ours / theirs - 1 if theirs and math.isfinite(theirs) else math.inf


def render(group: Group, checks: list[Check]) -> str:
    """The section of a group in ``docs/validation/``."""
    compared = any(check.first_order is not None for check in checks)
    told = any(check.read for check in checks)
    head = ["Case", "Theirs", "Ours", "Error", "Allowed"] + ([group.beside, "Its error"] if compared else [])
    head += ["Text", "Assumed"] if told else []
    about = group.about() if callable(group.about) else group.about
    lines = [f"## {group.title}", "", about, "", f"Theirs: {group.source}.", ""]
    misses: list[str] = []

    def mark(missed: str) -> str:
        """The number of the reason of a miss."""
        if missed and missed not in misses:
            misses.append(missed)
        return f" [{misses.index(missed) + 1}]" if missed else ""

    if group.spreads:
        lines += [_row(["Errors of", "Rows", "Median", "90%", "Worst", "Median allowed"])]
        lines += [_row(["---", *["---:"] * 5])]
        for each in group.spreads():
            what, *cells = each.cells()
            lines.append(_row([what + mark(each.missed), *cells]))
        lines.append("")
    lines.append(_row(head))
    lines.append(_row([{"Case": "---", "Text": "---", "Assumed": "---"}.get(each, "---:") for each in head]))
    for check in checks:
        cells = [
            check.what,
            f"{check.bound} {number(check.theirs)} {check.unit}".strip(),
            number(check.ours),
            (("holds" if check.inside else "fails") if check.bound else percent(check.error)) + mark(check.missed),
            _allowed(check),
        ]
        if compared:
            first = check.first_order
            cells += ["", ""] if first is None else [number(first), percent(relative(first, check.theirs))]
        cells += [check.read, check.assumed] if told else []
        lines.append(_row(cells))
    if group.summary:
        lines += ["", summary(checks)]
        if group.beside == "Defaults":
            lines += ["", defaults(checks)]
    if misses:
        lines += ["", *(f"{place}. Missed: {why}." for place, why in enumerate(misses, 1))]
    return "\n".join(lines) + "\n"


def _allowed(check: Check) -> str:
    if not check.counts:
        return LEFT_OUT["calibrated" if check.calibrated else "solved" if check.solved else "bound"]
    return percent(check.tolerance).lstrip("+") if check.tolerance else "equal"


def summary(checks: list[Check]) -> str:
    """Median, 90th percentile and worst error of the rows that nothing was calibrated on."""
    errors = [check.error for check in checks if check.counts]
    median, tail, worst = spread(errors)
    return (
        f"Of {len(errors)} rows that nothing was calibrated on: median {100 * median:.1f}%, "
        f"90th percentile {100 * tail:.0f}%, worst {100 * worst:.0f}%."
    )


def defaults(checks: list[Check]) -> str:
    """The same of what library defaults give; nothing was calibrated for them."""
    errors = [relative(check.first_order, check.theirs) for check in checks if check.first_order is not None]
    median, tail, worst = spread(errors)
    return (
        f"By library defaults all {len(errors)} rows: median {100 * median:.1f}%, "
        f"90th percentile {100 * tail:.0f}%, worst {100 * worst:.0f}%."
    )


def number(value: float) -> str:
    """A number with four digits, all of them where it is whole."""
    if math.isinf(value):
        return "infinite"
    if value == round(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(value: float) -> str:
    """A relative error; none at all prints as 0."""
    if abs(value) < ROUNDING:
        return "0"
    if math.isinf(value):
        return "infinite"
    return f"{100 * value:+.2g}%" if abs(value) < 0.1 else f"{100 * value:+.0f}%"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
