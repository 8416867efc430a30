"""``mlsysim plan``: the best layouts of a deployment or of a training run, with the commands that launch them."""

from __future__ import annotations

from typing import Annotated

import typer

from mlsysim.cli.options import Ignored, Json, OwnCatalog, Strict

HELP = """The best layouts of a deployment or of a training run, with the commands that launch them.

\b
mlsysim plan model=Llama3_3_70B hardware=H100 precision=fp8 --accelerators 8 \\
    request_rate=10 isl=1024 osl=256 ttft_slo="1 s" tpot_slo="50 ms"

\b
mlsysim plan train model=Llama3_70B hardware=H100 --accelerators 64 \\
    batch_size=256 seq_len=8192 training_tokens=1T rental_price=2

NAME=VALUE is an argument of `mlsysim serve`, or of `mlsysim train`. One that a plan
chooses, such as tp_size or max_num_seqs, holds it to that value or list.
"""

#: Questions that a plan answers.
QUESTIONS = ("serve", "train")


def plan(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="[serve|train] NAME=VALUE...", help="Arguments of the question.")
    ],
    accelerators: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="How many there are; 8 of a deployment if left out.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="vllm, sglang or trtllm, which must be able to launch the layouts.")
    ] = "",
    modes: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Ways to schedule prompts: chunked,colocated,pools.")
    ] = None,
    framework: Annotated[
        str | None, typer.Option(metavar="NAME", help="Megatron_LM (if left out) or torchtitan, for training.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Least probability that a training run fits.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="NUMBER", help="How many layouts.")] = 5,
    show: Annotated[int, typer.Option(metavar="NUMBER", help="Layout whose commands are printed.")] = 1,
    as_json: Json = False,
    strict: Strict = False,
    catalog: OwnCatalog = None,
    ignore: Ignored = None,
) -> None:
    """Find the best layouts."""
    from mlsysim.cli.verbs.plan_answer import answer

    options = {"engine": engine or None, "modes": modes, "framework": framework, "confidence": confidence}
    answer(words, accelerators, options, top=top, show=show, as_json=as_json, strict=strict, catalog=catalog)
