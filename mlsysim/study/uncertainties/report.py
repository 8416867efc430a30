"""Uncertainty report: outputs of one point as distributions, in numbers and tables."""

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

#: Truncated share of a distribution that is not reported.
NEGLIGIBLE = 1e-6
#: Share of refused draws above which a warning precedes the tables.
MOST = 0.5


@dataclass(frozen=True)
class Spread:
    """Distribution of one output over the draws.

    Attributes
    ----------
    name : str
        Name of the output.
    mean, sd : quantity or number
        Mean and standard deviation over the accepted draws; None for a label.
    quantiles : dict
        Value by level.
    first_order : quantity or number
        Standard deviation from the gradient at the means of the inputs; None if no input is continuous.
    ratio : float
        ``sd`` over ``first_order``: near 1 if the formulas are almost linear over the distributions.
    parts : dict
        Share of the first-order variance by input.
    infinite : float
        Share of the draws in which the output is infinite.
    shares : dict
        For a label or a truth value, the share of each value.
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
        """The lowest and the highest of the requested quantiles."""
        return self.quantiles[min(self.quantiles)], self.quantiles[max(self.quantiles)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, numbers in the unit of the output."""
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
        Model that was evaluated.
    inputs : dict
        Distribution of every uncertain input, as text.
    samples : int
        Number of draws.
    refused : float
        Share of the draws that ``solve`` would refuse; they are ignored.
    outside : dict
        Truncated share, for each input whose distribution exceeds its domain.
    probabilities : dict
        Probability of each condition.
    sobol : dict
        Sobol' indices by output, if requested.
    """

    def __init__(
        self,
        model: DeclaredModel,
        uncertain_inputs: Uncertain,
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
        self._asked, self._shares = uncertain_inputs, shares
        read_conditions = conditions_of(model, uncertain_inputs, conditions)
        self._values, conditions_hold, self._allowed = evaluated(uncertain_inputs, outputs, shares, read_conditions)
        if not self._allowed.any():
            raise uncertain_inputs.refused()
        self.refused = float(1 - self._allowed.mean())
        self.outside = {
            number.variable.name: number.outside for number in uncertain_inputs.numbers if number.outside > NEGLIGIBLE
        }
        probabilities = map(float, shares_that_hold(conditions_hold, self._allowed))
        self.probabilities = dict(
            zip((read_condition.text for read_condition in read_conditions), probabilities, strict=True)
        )
        numbers = [name for name in outputs if statistics.is_number(name)]
        parts = statistics.first_order(uncertain_inputs, numbers) if first_order else {}
        self._spreads = {name: _spread(name, self._values[name], levels, parts.get(name, {})) for name in outputs}

    @property
    def inputs(self) -> dict[str, str]:
        """Distribution of every uncertain input, as text."""
        texts = {name: str(choice) for name, choice in self._asked.choices.items()}
        texts |= {number.variable.name: str(number.distribution) for number in self._asked.numbers}
        joint_names = self._asked.joint.names if self._asked.joint else ()
        return texts | {name: _joint_text(self._asked, name) for name in joint_names}

    @at_the_call
    def __getitem__(self, name: str) -> Spread:
        """Return the distribution of an output over the draws."""
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
        """Return every draw of an output or of an uncertain numeric input.

        Parameters
        ----------
        name : str
            Name of the output or input.

        Returns
        -------
        pint.Quantity or ndarray
            Values in its unit, without refused draws.
        """
        if name in self._values:
            canonical = self._values[name][self._allowed]
        elif name in self._asked.names and name in (inputs := self._asked.inputs(self._shares)):
            canonical = self._asked.shaped(inputs[name], self.samples)[self._allowed]
        else:
            raise UnknownNameError("output or uncertain input", name, (*self._values, *self._asked.names))
        return amounts(variable_of(name), canonical)

    def plot(self, output: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the distribution of an output over the draws.

        Parameters
        ----------
        output : str, optional
            Name of a numeric output; the first one by default.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return drawn("spread", self, output, ax=ax)

    @at_the_call
    def probability(self, condition: Any) -> float:
        """Return the probability that a condition holds, among the accepted draws.

        Parameters
        ----------
        condition : str or sympy Boolean
            Condition on inputs and outputs, such as ``"total_memory <= 0.9 * memory_capacity"``.
        """
        read_conditions = conditions_of(self.model, self._asked, [condition])
        _, conditions_hold, allowed = evaluated(self._asked, (), self._shares, read_conditions)
        return float(shares_that_hold(conditions_hold, allowed)[0])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: model, distributions, and the distribution of each output."""
        data: dict[str, Any] = {
            "model": type(self.model).__name__,
            "variant": self.model.variant,
            "samples": self.samples,
            "refused": self.refused,
            "distributions": self.inputs,
            "outside_domain": self.outside,
            "outputs": {name: spread.to_dict() for name, spread in self._spreads.items()},
        }
        if self.probabilities:
            data["probabilities"] = self.probabilities
        if self.sobol:
            data["sobol"] = {name: indices.to_dict() for name, indices in self.sobol.items()}
        return data

    def __repr__(self) -> str:
        tables = [line for table in self._tables() for line in ("", show.fitted(*table))]
        remarks = self._remarks()
        return "\n".join([*self._head(), *tables, *([""] if remarks else []), *remarks])

    def _head(self) -> list[str]:
        """Title, and a warning that precedes the tables."""
        warning = [f"Warning: {self._refused_text()}"] if self.refused > MOST else []
        return [f"Uncertainty of {self.model!r}, {self.samples:,} draws", *warning]

    def _refused_text(self) -> str:
        return f"{self.refused:.2%} of the draws are refused as by solve, and count for nothing"

    def _repr_html_(self) -> str:
        head, remarks = (
            "".join(f"<p>{html.escape(line)}</p>" for line in lines) for lines in (self._head(), self._remarks())
        )
        return f"{head}{''.join(show.html_table(*table) for table in self._tables())}{remarks}"

    def _tables(self) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Yield the tables that have rows: outputs, labels, probabilities, inputs and Sobol' indices."""
        numbers = [spread for spread in self if not spread.shares]
        if numbers:
            headers = ["Output", "Mean", "Deviation", *(f"{100 * level:g}%" for level in numbers[0].quantiles)]
            headers += ["First order"] * any(spread.first_order is not None for spread in numbers)
            rows = [self._cells(spread)[: len(headers)] for spread in numbers]
            if show.extent(show.render(headers, rows)) > show.width():
                headers.insert(1, "Unit")
                rows = [self._cells(spread, apart=True)[: len(headers)] for spread in numbers]
            yield headers, rows
        labels = [
            [spread.name, str(label), f"{share:.1%}"]
            for spread in self
            for label, share in spread.shares.items()
            if share
        ]
        if labels:
            yield ["Output", "Is", "Share"], labels
        if self.probabilities:
            yield (
                ["Condition", "Probability"],
                [[text, f"{probability:.2%}"] for text, probability in self.probabilities.items()],
            )
        heads = numbers[:1]
        shares = {name: f"{share:.1%}" for name, share in heads[0].parts.items()} if heads else {}
        first = f"Variance of {heads[0].name}, first order" if shares else ""
        rows = [[name, text, *([shares.get(name, "")] if first else [])] for name, text in self.inputs.items()]
        yield ["Input", "Distribution", *([first] if first else [])], rows
        for indices in self.sobol.values():
            headers, rows = indices.table()
            yield [f"Sobol' indices of {indices.output}", *headers[1:]], rows

    def _cells(self, spread: Spread, *, apart: bool = False) -> list[str]:
        """Cells of a row of the table of numbers, with the unit in its own cell if the table is too wide."""
        shown = [spread.mean, spread.sd, *spread.quantiles.values(), spread.first_order]
        if apart:
            shown = [None if value is None else _plain(value) for value in shown]
        ratio = "" if spread.ratio is None else f" (x {spread.ratio:.2f})"
        texts = ["-" if value is None else formatting.amount(value) for value in shown]
        unit = [variable_of(spread.name).unit.replace("count", "")] if apart else []
        return [spread.name, *unit, *texts[:-1], f"{texts[-1]}{ratio}"]

    def _remarks(self) -> list[str]:
        remarks = [
            f"{name}: {share:.2%} of the distribution is outside of what is allowed, and cut off"
            for name, share in self.outside.items()
        ]
        if 0 < self.refused <= MOST:
            remarks.append(self._refused_text())
        remarks += [
            f"{spread.name} is infinite in {spread.infinite:.2%} of the draws" for spread in self if spread.infinite
        ]
        steps = [
            name for name in self._asked.names if name in self._asked.choices or variable_of(name).domain.kind != "real"
        ]
        if steps and any(spread.parts for spread in self):
            remarks.append(f"First order leaves out {', '.join(steps)}: no gradient")
        joint = self._asked.joint
        correlated = joint is not None and np.count_nonzero(joint.covariance) > len(joint.names)
        if correlated and any(spread.parts for spread in self):
            remarks.append(
                "Inputs are correlated: shares of variance may be negative or above 100%, and add up to 100%"
            )
        return remarks


def _spread(name: str, values: np.ndarray, levels: Sequence[float], parts: Mapping[str, np.ndarray]) -> Spread:
    variable = variable_of(name)
    if not statistics.is_number(name):
        labels = variable.domain.labels or (False, True)
        shares = map(float, statistics.shares_of_codes(values, len(labels)))
        return Spread(name, shares=dict(zip(labels, shares, strict=True)))
    mean, sd = statistics.mean_and_sd(values)
    quantiles = statistics.quantiles_of(values, levels)
    variance = float(sum(parts.values())) if parts else np.nan  # type: ignore[arg-type]
    linear_sd = float(np.sqrt(variance)) if variance >= 0 else np.nan
    known = np.isfinite(linear_sd)
    return Spread(
        name,
        amounts(variable, float(mean)),
        amounts(variable, float(sd)),
        {level: amounts(variable, float(value)) for level, value in zip(levels, quantiles, strict=True)},
        amounts(variable, linear_sd) if known else None,
        float(sd / linear_sd) if known and linear_sd > 0 and np.isfinite(sd) else None,
        {by: float(variance_part / variance) for by, variance_part in parts.items()} if known and variance > 0 else {},
        float(statistics.infinite_share(values)),
    )


def _joint_text(uncertain_inputs: Uncertain, name: str) -> str:
    """Describe a correlated input."""
    joint = uncertain_inputs.joint
    assert joint is not None
    index = joint.names.index(name)
    variable, sd = variable_of(name), float(np.sqrt(joint.covariance[index, index]))
    center = as_text(variable, joint.mean[index])
    if joint.logs:
        return f"lognormal({center}, {np.exp(sd):.4g}), together"
    return f"normal({center}, {as_text(variable, sd)}), together"


def _plain(value: Any) -> float | None:
    return None if value is None else float(units.magnitude(value))
