"""``mlsysim what-fits``: models that fit a device, or devices that hold a model."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import Json, OwnCatalog

HELP = """What fits my accelerator? Models that fit a device, or devices that hold a model.

\b
mlsysim what-fits RTX_4090
mlsysim what-fits --memory 21GB --context 32k
mlsysim what-fits Llama3_1_70B
mlsysim what-fits H100 Llama3_1_8B,Qwen3_32B --training-stack unsloth \\
    lora_rank=32

A cell is the longest context that one device holds, or the largest batch at --context; else how
many devices it takes. Models are served at 16, 8 and 4 bit, and fine-tuned by LoRA, QLoRA (a
frozen model of 4 bit) and in full, with whole layers recomputed.
"""

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME...",
        help="A device and models, or a model and devices (A,B); NAME=VALUE sets an argument of iterate or memory.",
    ),
]


def what_fits(
    names: Names = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Free memory instead of a device, such as 21GB.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="TOKENS", help="Ask for the largest batch at this context, such as 32k.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Requests in flight, or sequences of a training step.")
    ] = None,
    formats: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Precisions to serve in; by default bf16,fp8,w4a16.")
    ] = None,
    finetuning: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Ways to fine-tune; by default lora,qlora,full.")
    ] = None,
    serving_stack: Annotated[str, typer.Option(metavar="NAME", help="Engine whose memory counts.")] = "Generic",
    training_stack: Annotated[
        str, typer.Option(metavar="NAME", help="Framework whose memory counts, such as unsloth.")
    ] = "HF_Trainer",
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="size, name, or a way such as bf16 or qlora.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All rows, also those that fit in no way.")] = False,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table with a row per cell instead of text.")] = False,
    catalog: OwnCatalog = None,
) -> None:
    """Print a table of what fits."""
    from mlsysim.cli.verbs.what_fits_answer import answer

    answer(
        names or [], memory=memory, context=context, batch=batch, formats=formats, finetuning=finetuning,
        serving_stack=serving_stack, training_stack=training_stack, sort=sort, everything=everything,
        as_json=as_json, as_csv=as_csv, catalog=catalog,
    )  # fmt: skip
