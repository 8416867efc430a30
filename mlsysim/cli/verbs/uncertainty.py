"""``mlsysim uncertainty``: uncertainty of an answer."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import Ignored, Json, OwnCatalog, Plot, Question, Theme, Variants, Words, answered_by

HELP = """Uncertainty of an answer whose arguments are known by distributions.

\b
mlsysim uncertainty kernel hardware=H100 stack=cuBLAS_H100 product_rows=4096 \\
    product_columns=8192 product_inner=8192 flop_energy=catalog \\
    "memory_efficiency=uniform(0.85, 0.95)" "peak_flops=relative(5 %)" \\
    --output kernel_time --probability "kernel_time < 0.8 ms"

\b
NAME=DISTRIBUTION is one of:
  uniform(LOW, HIGH)         any value between; whole ones of a whole number
  normal(MEAN, DEVIATION)
  lognormal(MEDIAN, FACTOR)  two thirds of it within the factor
  triangular(LOW, MOST LIKELY, HIGH)
  relative(SHARE)            normal around the value that the argument has
  choice(A, B, ...)          labels, entries of the catalog or whole numbers
  catalog                    the range stated by the source of a catalog value
"""


@answered_by("mlsysim.cli.verbs.uncertainty_answer")
def uncertainty(
    ctx: typer.Context,
    question: Question,
    words: Words,
    output: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Outputs (a,b); by default the answer of the question.")
    ] = None,
    probability: Annotated[
        list[str] | None, typer.Option(metavar="CONDITION", help="How likely it holds; may be repeated.")
    ] = None,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Take every range that the catalog states for an argument.")
    ] = False,
    samples: Annotated[int, typer.Option(metavar="NUMBER", help="Draws.")] = 8192,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the draws.")] = 0,
    quantiles: Annotated[str, typer.Option(metavar="NUMBERS", help="Between 0 and 1.")] = "0.05,0.5,0.95",
    sobol: Annotated[bool, typer.Option("--sobol", help="Also the share of the variance of each argument.")] = False,
    plot: Plot = None,
    theme: Theme = None,
    variant: Variants = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
) -> None:
    """Sample the arguments and compute the distribution of the outputs."""
