"""Uncertainty of the outputs of one point, as numbers and as tables."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsysim import formatting, show, units
from mlsysim.errors import UnknownNameError
from mlsysim.figures import drawn
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.jsontext import JsonAnswer
from mlsysim.study.results.display import amounts, as_text
from mlsysim.study.uncertainties import statistics
from mlsysim.study.uncertainties.draws import Uncertain, conditions_of, evaluated, shares_that_hold
from mlsysim.study.uncertainties.sobol import Indices
from mlsysim.symbolic import variable_of
from mlsysim.tracebacks import at_the_call

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Shares of a distribution that are cut off and not worth a word.
NEGLIGIBLE = 1e-6
#: Share of refused draws above which a warning stands before the tables.
MOST = 0.5


@dataclass(frozen=True)
class Spread:
    """Distribution of one output over the draws.

    Attributes
    ----------
    name : str
        The output.
    mean, sd : quantity or number
        Over the draws that were not refused; None for a label.
    quantiles : dict
        Value by level.
    first_order : quantity or number
        Standard deviation by the gradient at the means of the inputs; None where no input is continuous.
    ratio : float
        ``sd`` over ``first_order``: near 1 where the formulas are almost straight over the distributions.
    parts : dict
        Share of the first-order variance by input.
    infinite : float
        Share of the draws in which the output is infinite.
    shares : dict
        For a label or a truth value, the share of each.
    """

    name: str
    mean: Any = None
    sd: Any = None
    quantiles: dict[float, Any] = field(default_factory=dict)
    first_order: Any = None
    ratio: float | None = None
    parts: dict[str, float] = field(default_factory=dict)
    infinite: float = 0.0
    shares: dict[Any, float] = field(default_factory=dict)

    @property
    def interval(self) -> tuple[Any, Any]:
        """The lowest and the highest quantile that were asked for."""
        return self.quantiles[min(self.quantiles)], self.quantiles[max(self.quantiles)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, numbers in the unit of the output."""
        if self.shares:
            return {"shares": {str(label): share for label, share in self.shares.items()}}
        variable = variable_of(self.name)
        return {
            "unit": "" if variable.unit == "count" else variable.unit,
            "mean": _plain(self.mean),
            "sd": _plain(self.sd),
            "quantiles": {f"{level:g}": _plain(value) for level, value in self.quantiles.items()},
            "first_order": _plain(self.first_order),
            "ratio": self.ratio,
            "first_order_parts": self.parts,
            "infinite": self.infinite,
        }


class Uncertainty(JsonAnswer):
    """Uncertainty of outputs at one point; prints as tables.

    Attributes
    ----------
    model : DeclaredModel
        The model that was asked.
    inputs : dict
        The distribution of every uncertain input, as text.
    samples : int
        Number of draws.
    refused : float
        Share of the draws that ``solve`` would refuse; they count for nothing.
    outside : dict
        For each input whose distribution was cut off at its domain, the share that was.
    probabilities : dict
        By condition that was asked for.
    sobol : dict
        By output, its Sobol' indices where they were asked for.
    """

    def __init__(
        self,
        model: DeclaredModel,
        asked: Uncertain,
        outputs: Sequence[str],
        shares: np.ndarray,
        levels: Sequence[float],
        conditions: Sequence[Any],
        sobol: Mapping[str, Indices],
        *,
        first_order: bool,
    ) -> None:
        self.model = model
        self.samples = len(shares)
        self.sobol = dict(sobol)
        self._asked, self._shares = asked, shares
        read = conditions_of(model, asked, conditions)
        self._values, held, self._allowed = evaluated(asked, outputs, shares, read)
        if not self._allowed.any():
            raise asked.refused()
        self.refused = float(1 - self._allowed.mean())
        self.outside = {each.variable.name: each.outside for each in asked.numbers if each.outside > NEGLIGIBLE}
        likely = map(float, shares_that_hold(held, self._allowed))
        self.probabilities = dict(zip((each.text for each in read), likely, strict=True))
        numbers = [name for name in outputs if statistics.is_number(name)]
        parts = statistics.first_order(asked, numbers) if first_order else {}
        self._spreads = {name: _spread(name, self._values[name], levels, parts.get(name, {})) for name in outputs}

    @property
    def inputs(self) -> dict[str, str]:
        """The distribution of every uncertain input, as text."""
        found = {name: str(each) for name, each in self._asked.choices.items()}
        found |= {each.variable.name: str(each.distribution) for each in self._asked.numbers}
        together = self._asked.joint.names if self._asked.joint else ()
        return found | {name: _joint_text(self._asked, name) for name in together}

    @at_the_call
    def __getitem__(self, name: str) -> Spread:
        """Distribution of an output over the draws."""
        if name not in self._spreads:
            raise UnknownNameError("output of this answer", name, self._spreads)
        return self._spreads[name]

    @at_the_call
    def __getattr__(self, name: str) -> Spread:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[Spread]:
        return iter(self._spreads.values())

    def __len__(self) -> int:
        return len(self._spreads)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._spreads]

    @at_the_call
    def draws(self, name: str) -> Any:
        """Every draw of an output or of an uncertain input that is a number.

        Parameters
        ----------
        name : str
            Of the output or input.

        Returns
        -------
        pint.Quantity or ndarray
            In its unit, the refused ones left out.
        """
        if name in self._values:
            canonical = self._values[name][self._allowed]
        elif name in self._asked.names and name in (given := self._asked.inputs(self._shares)):
            canonical = self._asked.shaped(given[name], self.samples)[self._allowed]
        else:
            raise UnknownNameError("output or uncertain input", name, (*self._values, *self._asked.names))
        return amounts(variable_of(name), canonical)

    def plot(self, output: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw how the draws of an output are spread.

        Parameters
        ----------
        output : str, optional
            A number; the first one by default.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("spread", self, output, ax=ax)

    @at_the_call
    def probability(self, condition: Any) -> float:
        """Probability that a condition holds, among the draws that are not refused.

        Parameters
        ----------
        condition : str or sympy Boolean
            On inputs and outputs, such as ``"total_memory <= 0.9 * memory_capacity"``.
        """
        read = conditions_of(self.model, self._asked, [condition])
        _, held, allowed = evaluated(self._asked, (), self._shares, read)
        return float(shares_that_hold(held, allowed)[0])

    def to_dict(self) -> dict[str, Any]:
        """Plain data: model, distributions, and what the draws make of each output."""
        found: dict[str, Any] = {
            "model": type(self.model).__name__,
            "variant": self.model.variant,
            "samples": self.samples,
            "refused": self.refused,
            "distributions": self.inputs,
            "outside_domain": self.outside,
            "outputs": {name: spread.to_dict() for name, spread in self._spreads.items()},
        }
        if self.probabilities:
            found["probabilities"] = self.probabilities
        if self.sobol:
            found["sobol"] = {name: each.to_dict() for name, each in self.sobol.items()}
        return found

    def __repr__(self) -> str:
        tables = [line for table in self._tables() for line in ("", show.fitted(*table))]
        remarks = self._remarks()
        return "\n".join([*self._head(), *tables, *([""] if remarks else []), *remarks])

    def _head(self) -> list[str]:
        """The title, and a warning before the tables."""
        warned = [f"Warning: {self._refused_text()}"] if self.refused > MOST else []
        return [f"Uncertainty of {self.model!r}, {self.samples:,} draws", *warned]

    def _refused_text(self) -> str:
        return f"{self.refused:.2%} of the draws are refused as by solve, and count for nothing"

    def _repr_html_(self) -> str:
        head, remarks = (
            "".join(f"<p>{html.escape(each)}</p>" for each in some) for some in (self._head(), self._remarks())
        )
        return f"{head}{''.join(show.html_table(*table) for table in self._tables())}{remarks}"

    def _tables(self) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Outputs, inputs, labels, probabilities and Sobol' indices, as far as there are any."""
        numbers = [each for each in self if not each.shares]
        if numbers:
            headers = ["Output", "Mean", "Deviation", *(f"{100 * level:g}%" for level in numbers[0].quantiles)]
            headers += ["First order"] * any(each.first_order is not None for each in numbers)
            rows = [self._cells(each)[: len(headers)] for each in numbers]
            if show.extent(show.render(headers, rows)) > show.width():
                headers.insert(1, "Unit")
                rows = [self._cells(each, apart=True)[: len(headers)] for each in numbers]
            yield headers, rows
        labels = [
            [each.name, str(label), f"{share:.1%}"] for each in self for label, share in each.shares.items() if share
        ]
        if labels:
            yield ["Output", "Is", "Share"], labels
        if self.probabilities:
            yield ["Condition", "Probability"], [[text, f"{each:.2%}"] for text, each in self.probabilities.items()]
        heads = numbers[:1]
        shares = {name: f"{part:.1%}" for name, part in heads[0].parts.items()} if heads else {}
        first = f"Variance of {heads[0].name}, first order" if shares else ""
        rows = [[name, text, *([shares.get(name, "")] if first else [])] for name, text in self.inputs.items()]
        yield ["Input", "Distribution", *([first] if first else [])], rows
        for each in self.sobol.values():
            headers, rows = each.table()
            yield [f"Sobol' indices of {each.output}", *headers[1:]], rows

    def _cells(self, spread: Spread, *, apart: bool = False) -> list[str]:
        """A row of the table of numbers; with the unit in a cell of its own where it is long."""
        shown = [spread.mean, spread.sd, *spread.quantiles.values(), spread.first_order]
        if apart:
            shown = [None if value is None else _plain(value) for value in shown]
        ratio = "" if spread.ratio is None else f" (x {spread.ratio:.2f})"
        texts = ["-" if value is None else formatting.amount(value) for value in shown]
        unit = [variable_of(spread.name).unit.replace("count", "")] if apart else []
        return [spread.name, *unit, *texts[:-1], f"{texts[-1]}{ratio}"]

    def _remarks(self) -> list[str]:
        found = [
            f"{name}: {share:.2%} of the distribution is outside of what is allowed, and cut off"
            for name, share in self.outside.items()
        ]
        if 0 < self.refused <= MOST:
            found.append(self._refused_text())
        found += [f"{each.name} is infinite in {each.infinite:.2%} of the draws" for each in self if each.infinite]
        steps = [n for n in self._asked.names if n in self._asked.choices or variable_of(n).domain.kind != "real"]
        if steps and any(each.parts for each in self):
            found.append(f"First order leaves out {', '.join(steps)}: no gradient")
        joint = self._asked.joint
        correlated = joint is not None and np.count_nonzero(joint.covariance) > len(joint.names)
        if correlated and any(each.parts for each in self):
            found.append("Inputs are correlated: shares of variance may be negative or above 100%, and add up to 100%")
        return found


def _spread(name: str, values: np.ndarray, levels: Sequence[float], parts: Mapping[str, np.ndarray]) -> Spread:
    variable = variable_of(name)
    if not statistics.is_number(name):
        labels = variable.domain.labels or (False, True)
        shares = map(float, statistics.shares_of_codes(values, len(labels)))
        return Spread(name, shares=dict(zip(labels, shares, strict=True)))
    mean, sd = statistics.mean_and_sd(values)
    found = statistics.quantiles_of(values, levels)
    variance = float(sum(parts.values())) if parts else np.nan  # type: ignore[arg-type]
    straight = float(np.sqrt(variance)) if variance >= 0 else np.nan
    known = np.isfinite(straight)
    return Spread(
        name,
        amounts(variable, float(mean)),
        amounts(variable, float(sd)),
        {level: amounts(variable, float(value)) for level, value in zip(levels, found, strict=True)},
        amounts(variable, straight) if known else None,
        float(sd / straight) if known and straight > 0 and np.isfinite(sd) else None,
        {by: float(part / variance) for by, part in parts.items()} if known and variance > 0 else {},
        float(statistics.infinite_share(values)),
    )


def _joint_text(asked: Uncertain, name: str) -> str:
    """Description of an input that belongs to others."""
    joint = asked.joint
    assert joint is not None
    place = joint.names.index(name)
    variable, sd = variable_of(name), float(np.sqrt(joint.covariance[place, place]))
    middle = as_text(variable, joint.mean[place])
    if joint.logs:
        return f"lognormal({middle}, {np.exp(sd):.4g}), together"
    return f"normal({middle}, {as_text(variable, sd)}), together"


def _plain(value: Any) -> float | None:
    return None if value is None else float(units.magnitude(value))
