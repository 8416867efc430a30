"""Latencies of an engine with chunked prefill, as a node of the formula language."""

from __future__ import annotations

from typing import Any

import sympy
from sympy.core.symbol import Str

from mlsysim.errors import FormulaError, UnknownNameError
from mlsysim.symbolic.functions import Closed

#: Arguments of the law besides the iteration time, with units and defaults.
ARGUMENTS: dict[str, tuple[str, Any]] = {
    "request_rate": ("request/s", None),
    "isl": ("token", None),
    "osl": ("token", None),
    "isl_cv": ("count", sympy.S.Zero),
    "osl_cv": ("count", sympy.S.Zero),
    "token_budget": ("token", None),
    "pair_time": ("s/token^2", sympy.S.Zero),
    "max_num_seqs": ("request", sympy.oo),
    "decode_tokens": ("count", sympy.S.One),
    "tokens_per_step": ("count", sympy.S.One),
    "ttft_slo": ("s", sympy.oo),
    "tpot_slo": ("s", sympy.oo),
    "e2e_slo": ("s", sympy.oo),
}
#: Outputs of the law, with units: means, shares and quantiles of times.
OUTPUTS = {
    "batch_size": "request",
    "batch_variance": "request^2",
    "iteration_time": "s",
    "slot_wait_probability": "count",
    "slot_wait_mean": "s",
    "ttft_mean": "s",
    "ttft": "s",
    "tpot_mean": "s",
    "tpot": "s",
    "itl_p99": "s",
    "e2e_mean": "s",
    "e2e": "s",
    "ttft_attainment": "count",
    "tpot_attainment": "count",
    "e2e_attainment": "count",
    "slo_attainment": "count",
}
#: Outputs that are quantiles and take a share.
QUANTILES = ("ttft", "tpot", "e2e")
#: Relative accuracy to which the law is solved; searches in it cannot be more accurate.
PRECISION = 1e-6


class ChunkedPrefill(Closed):
    r"""A latency or rate under chunked prefill: :math:`\mathrm{Chunked}_{\mathrm{ttft}}(\dots)`.

    An iteration takes one token of every decoding request and, up to a budget, tokens of the waiting prompts, first
    come first served. Build it with :func:`chunked_prefill`. Nodes with the same arguments share a law, which compiled
    code solves once for all of them.
    """

    is_real = True
    is_nonnegative = True

    @property
    def output(self) -> str:
        """Name of the output, one of :data:`OUTPUTS`."""
        return str(self.args[0])

    @property
    def share(self) -> sympy.Expr:
        """Share of requests below a quantile; zero for other outputs."""
        return self.args[1]  # type: ignore[return-value]

    @property
    def law(self) -> tuple[sympy.Basic, ...]:
        """Arguments shared by nodes that are solved together."""
        return self.args[2:]

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """Bound symbols: decoding requests and prompt tokens of an iteration."""
        return list(self.args[2].args)  # type: ignore[arg-type]

    @property
    def tau(self) -> sympy.Expr:
        """Iteration time, in the bound symbols."""
        return self.args[3]  # type: ignore[return-value]

    @property
    def arguments(self) -> dict[str, sympy.Expr]:
        """Further arguments, by name."""
        return dict(zip(ARGUMENTS, self.args[4].args, strict=True))  # type: ignore[arg-type]

    @property
    def said(self) -> dict[str, sympy.Expr]:
        """Arguments that differ from their defaults, by name in words."""
        changed = {name: value for name, value in self.arguments.items() if value != ARGUMENTS[name][1]}
        return {name.replace("_", " "): value for name, value in changed.items()}

    @property
    def free_symbols(self) -> set[sympy.Basic]:
        """Symbols of the iteration time and the arguments, without the bound ones."""
        return (self.tau.free_symbols - {*self.bound_symbols}) | self.args[4].free_symbols

    def _eval_subs(self, old: Any, new: Any) -> Any:
        return self if old in self.bound_symbols else None

    def _eval_derivative(self, symbol: sympy.Symbol) -> sympy.Expr:
        return sympy.Derivative(self, symbol) if symbol in self.free_symbols else sympy.S.Zero


def chunked_prefill(
    output: str,
    iteration: tuple[sympy.Dummy, sympy.Dummy, sympy.Expr],
    share: Any = 0,
    **arguments: Any,
) -> ChunkedPrefill:
    """Build a latency or rate under chunked prefill.

    Parameters
    ----------
    output : str
        Name of the output, one of :data:`OUTPUTS`.
    iteration : tuple of (sympy.Dummy, sympy.Dummy, sympy.Expr)
        Decoding requests, prompt tokens, and the iteration time in terms of both; pure numbers. The time must not
        decrease in either.
    share : sympy.Expr, optional
        Share of requests below the output, if that is a quantile.
    **arguments
        Arguments from :data:`ARGUMENTS`: Poisson arrivals, mean lengths of prompts and answers and their coefficients
        of variation, tokens per iteration, time per prompt token and preceding token, most concurrent requests, tokens
        that a decoding request takes of an iteration and gets from it, and objectives.

    Returns
    -------
    ChunkedPrefill

    Raises
    ------
    UnknownNameError
        If an output or argument does not exist.
    FormulaError
        If an argument is missing, or a share is missing or not allowed.

    Examples
    --------
    >>> from mlsysim import ServingModel
    >>> from mlsysim.symbolic import ChunkedPrefill
    >>> formulas = ServingModel("chunked").formulas
    >>> any(formula.expression.atoms(ChunkedPrefill) for formula in formulas)
    True
    """
    decoding, prompts, tau = iteration
    for kind, name, known in (
        ("output", output, OUTPUTS),
        *(("argument", argument, ARGUMENTS) for argument in arguments),
    ):
        if name not in known:
            raise UnknownNameError(f"{kind} of chunked_prefill", name, known)
    values = {name: arguments.get(name, default) for name, (_, default) in ARGUMENTS.items()}
    missing = [name for name, value in values.items() if value is None]
    if missing:
        raise FormulaError(f"chunked_prefill needs {', '.join(missing)}")
    if (output in QUANTILES) != (sympy.sympify(share) != 0):
        raise FormulaError(f"chunked_prefill: share={share} with {output}; only {', '.join(QUANTILES)} take one")
    return ChunkedPrefill(
        Str(output),
        sympy.sympify(share),
        sympy.Tuple(decoding, prompts),
        sympy.sympify(tau, strict=True),
        sympy.Tuple(*(sympy.sympify(value, strict=True) for value in values.values())),
    )
