"""``mlsysim simulate``: simulation of a deployment, request by request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mlsysim.cli.options import Ignored, Json, OwnCatalog, Question, Variants, answered_by

HELP = """A deployment served request by request, beside what its law says.

\b
mlsysim simulate serve model=Llama3_3_70B hardware=H100 tp_size=4 \\
    precision=w8a8 request_rate=20 isl=1024 osl=256 --requests 100000 \\
    --csv requests.csv

\b
mlsysim simulate serve model=Llama3_3_70B hardware=H100 tp_size=4 \\
    precision=w8a8 concurrency=32 isl=1024 osl=256 --num-rounds 10 \\
    --variant chunked

\b
mlsysim simulate serve model=Llama3_3_70B hardware=H100 tp_size=4 \\
    precision=w8a8 num_replicas=2 --trace AzureLLMInferenceTrace_code.csv

Columns of a trace are found by their headers, or named: --prompt-tokens ContextTokens.
"""

Column = str | None


@answered_by("mlsysim.cli.verbs.simulate_answer")
def simulate(
    ctx: typer.Context,
    question: Question,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE...", help="Arguments of the question, one value each.")
    ] = None,
    requests: Annotated[int, typer.Option(metavar="NUMBER", help="How many are drawn.")] = 10_000,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same one gives the same run.")] = 0,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a row per request.")] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Requests of a CSV or JSONL file in place of drawn ones.")
    ] = None,
    prompt_tokens: Annotated[Column, typer.Option(metavar="COLUMN", help="Tokens of prompts in the trace.")] = None,
    output_tokens: Annotated[Column, typer.Option(metavar="COLUMN", help="Tokens of answers in the trace.")] = None,
    arrival: Annotated[Column, typer.Option(metavar="COLUMN", help="When requests came, in the trace.")] = None,
    arrival_unit: Annotated[Column, typer.Option(metavar="UNIT", help="Of these times: s, ms, us or ns.")] = None,
    session: Annotated[
        Column, typer.Option(metavar="COLUMN", help="What names a session: its turns follow each other.")
    ] = None,
    priority: Annotated[Column, typer.Option(metavar="COLUMN", help="A number of which the lowest goes first.")] = None,
    num_rounds: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Requests are so many times the concurrency, and all count.")
    ] = None,
    turns: Annotated[int, typer.Option(metavar="NUMBER", help="Requests of a session that is drawn.")] = 1,
    think_time: Annotated[
        str, typer.Option(metavar="TIME", help="From an answer to the next turn of its session.")
    ] = "0 s",
    warm_up: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Of the requests, left out at the start; half of it at the end."),
    ] = None,
    variant: Variants = None,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
    as_json: Json = False,
) -> None:
    """Simulate a deployment."""
