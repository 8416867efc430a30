"""Batches of fixed lengths and single requests that engines were timed with, each by the stack that is named for it."""

import json
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from validation.checks import Check, Group, Spread

from mlsysim import IterationModel

#: A sample of two tables, drawn by a hash, and a third one; the whole stands beside the project where it is developed.
SAMPLE: dict[str, Any] = json.loads(Path(__file__).with_name("batches.json").read_text(encoding="utf-8"))
WHOLE = Path(__file__).parents[3] / "shared" / "validation" / "data"
ITERATION, STATIC = IterationModel(), IterationModel("static")

DEVICES = {
    "4080 16GB": "RTX_4080", "3090 24GB": "RTX_3090", "4090 24GB": "RTX_4090", "RTX A6000 48GB": "RTX_A6000",
    "RTX 6000 Ada 48GB": "RTX_6000_Ada", "A40 48GB": "A40", "L40S 48GB": "L40S", "A100 SXM 80GB": "A100",
    "H100 PCIe 80GB": "H100_PCIe", "M1 Max 32‑Core GPU 64GB": "M1_Max", "M2 Ultra 76-Core GPU 192GB": "M2_Ultra",
    "M3 Max 40‑Core GPU 64GB": "M3_Max",
}  # fmt: skip
ADA, AMPERE = ("RTX_4080", "RTX_4090", "RTX_6000_Ada", "L40S"), ("RTX_3090", "RTX_A6000", "A40")
STACKS = {**dict.fromkeys(ADA, "llama_cpp_2024_Ada"), **dict.fromkeys(AMPERE, "llama_cpp_2024_Ampere")}
#: Columns of tokens per second while so many are generated from an empty context.
GENERATED = {"published": 512, "aux_tg1024": 1024, "aux_tg4096": 4096, "aux_tg8192": 8192}
#: Bytes of four bits in groups of 32 with a scale and a zero of 16 bits.
WEIGHTS: dict[str, dict[str, Any]] = {
    "bf16": {}, "int8": {"weight_dtype": "int8", "head_bytes": 1},
    "int4": dict.fromkeys(("mixer_bytes", "dense_bytes", "head_bytes"), 0.625),
}  # fmt: skip


def used(*row: Any) -> bool:
    """Tell whether the constants of the stack were fitted on a row: on half of them, by a hash."""
    return int(sha256(" ".join(map(str, row)).encode()).hexdigest(), 16) % 2 == 0


def llamacpp_rows(whole: bool) -> list[tuple[Any, ...]]:
    """Device, number of them, model, precision, tokens that are generated, and how many a second."""
    if not whole:
        return [tuple(row) for row in SAMPLE["llamacpp"]]
    found = []
    for row in json.loads((WHOLE / "llamacpp_decode.json").read_text(encoding="utf-8"))[0]["rows"]:
        device, _, several = row["device"].partition(" * ")
        if device in DEVICES:
            size, stored = row["model"].split()[1:]
            precision = {"F16": "fp16"}.get(stored, stored.lower())
            found += [(DEVICES[device], int(several or 1), f"Llama3_{size}", precision, tokens, row[column])
                      for column, tokens in GENERATED.items() if row[column]]  # fmt: skip
    return found


@cache
def llamacpp(whole: bool) -> list[Check]:
    """Tokens a second of one request, in the mean of the contexts that it passes."""
    found = []
    for device, several, model, precision, tokens, theirs in llamacpp_rows(whole):
        stack = STACKS.get(device, "Generic")
        asked = {"model": model, "hardware": device, "pp_size": several, "precision": precision, "decode_requests": 1,
                 "context_tokens": tokens / 2}  # fmt: skip
        ours, default = (
            1 / ITERATION.solve(**asked, stack=each).canonical("iteration_time") for each in (stack, "Generic")
        )
        calibrated = stack != "Generic" and used(device, several, model, precision, f"tg{tokens}")
        devices = f"{several} {device}" if several > 1 else device
        found.append(Check(f"{devices}: {model} {precision}, {tokens} tokens", theirs, ours, 0.17, "token/s", default,
                           calibrated=calibrated))  # fmt: skip
    return found


def of_devices(checks: list[Check], devices: tuple[str, ...]) -> list[float]:
    """Errors on some devices, of rows that nothing was fitted on."""
    return [each.error for each in checks
            if not each.calibrated and each.what.partition(":")[0].split()[-1] in devices]  # fmt: skip


def consumer(whole: bool) -> list[Check]:
    """Rows on devices that a stack is for."""
    return [each for each in llamacpp(whole) if each.what.partition(":")[0].split()[-1] in STACKS]


BUSY = (
    "the host and its kernels bind on these: 8B in F16 is read at 0.87 TB/s of 2.0, and no faster than on an RTX 4090"
)
APPLE = "kernels of four bits reach half of the rate of 16 bits there, by what they compute and not by what they read"


def llamacpp_spreads(whole: bool) -> list[Spread]:
    """Errors by devices, with a stack and without one."""
    rows = llamacpp(whole)
    return [
        Spread("Left out, Ada", of_devices(rows, ADA), 0.05, 0.17),
        Spread("Left out, Ampere", of_devices(rows, AMPERE), 0.05, 0.17),
        Spread("A100 and H100, by library defaults", of_devices(rows, ("A100", "H100_PCIe")), 0.15, missed=BUSY),
        Spread("Apple, by library defaults", of_devices(rows, ("M1_Max", "M2_Ultra", "M3_Max")), 0.12, missed=APPLE),
    ]


def lmdeploy_rows(whole: bool) -> list[tuple[Any, ...]]:
    """Requests, tokens of prompts and answers, tokens a second, and seconds to the first one in the mean."""
    if not whole:
        return [tuple(row) for row in SAMPLE["lmdeploy"]]
    rows = json.loads((WHOLE / "lmdeploy_static.json").read_text(encoding="utf-8"))[0]["rows"]
    columns = ("batch", "prompt", "output", "published", "aux_first_token_s_avg")
    return [tuple(row[column] for column in columns) for row in rows]


OUTLIER = "a first token of 0.7 s is among those of its table"
SHORT = "answers of 128 tokens to prompts of 2,048 wait for prompts that their client sends later"
SENT = "64 requests of one token come over several iterations"
LMDEPLOY_MISSED = {(32, 1, 128): OUTLIER, (64, 1, 128): SENT}


@cache
def lmdeploy(whole: bool) -> tuple[list[Check], list[float], list[float]]:
    """Throughputs, and errors of first tokens of short prompts and of long ones."""
    checks = []
    short: list[float] = []
    long: list[float] = []
    for batch, prompt, answer, theirs, first in lmdeploy_rows(whole):
        asked = {"model": "Llama2_7B", "hardware": "A100", "precision": "fp16", "decode_requests": batch,
                 "seq_len": prompt, "output_tokens": answer, "sent_one_by_one": True}  # fmt: skip
        ours, default = (STATIC.solve(**asked, stack=stack) for stack in ("LMDeploy_2024_A100", "Generic"))
        rate, plain = (each.canonical("output_tokens_per_second") for each in (ours, default))
        fitted = (batch, prompt, answer) != (64, 2048, 2048) and used("lmdeploy", batch, prompt, answer)
        missed = "" if fitted else LMDEPLOY_MISSED.get((batch, prompt, answer), "")
        checks.append(Check(f"{batch} of {prompt} + {answer}", theirs, rate, 0.2, "token/s", plain, missed, fitted))
        (short if prompt < 2048 else long).append(ours.canonical("ttft_mean") / first - 1)
    return checks, short, long


def lmdeploy_spreads(whole: bool) -> list[Spread]:
    """Errors of throughputs that were left out, and of first tokens."""
    checks, short, long = lmdeploy(whole)
    return [
        Spread("Left out, throughput", [each.error for each in checks if not each.calibrated], 0.05),
        Spread("First tokens, prompts up to 128", short, 0.35),
        Spread("First tokens, prompts of 2,048", long, 0.35, missed="" if not whole else SHORT),
    ]


def gpt_fast() -> list[Check]:
    """One request, by weights and tensor-parallel ranks."""
    found = []
    for model, stored, ranks, theirs in SAMPLE["gpt_fast"]:
        asked = {"model": model, "hardware": "A100", "precision": "bf16", **WEIGHTS[stored], "tp_size": ranks,
                 "decode_requests": 1, "context_tokens": 105}  # fmt: skip
        ours, default = (
            1 / ITERATION.solve(**asked, stack=stack).canonical("iteration_time")
            for stack in ("GPT_fast_A100", "Generic")
        )
        what = f"{model} {stored}, TP{ranks}"
        found.append(
            Check(what, theirs, ours, 0.06, "token/s", default, calibrated=used("gpt-fast", model, stored, ranks))
        )
    return found


LLAMACPP = "XiongjieDai/GPU-Benchmarks-on-LLM-Inference README.md @aa72e0ec (May 2024)"
LMDEPLOY = "InternLM/lmdeploy docs/en/benchmark/a100_fp16.md @1263d5cd (0.2.0)"
ABOUT_LLAMACPP = (
    "One request that generates tokens from an empty context, by the stacks `llama_cpp_2024_Ada` and "
    "`llama_cpp_2024_Ampere`; layers are split over several devices (`pp_size`), which makes no request faster. "
    "Constants were fitted on half of the rows of a generation. Beside: library defaults. Its prompts are not "
    "calibrated: cards that accumulate in 16 bits are not told apart."
)
ABOUT_LMDEPLOY = (
    'Llama 2 7B on one A100, `IterationModel("static")` with `sent_one_by_one=True` and the stack '
    "`LMDeploy_2024_A100`; constants were fitted on half of the throughputs. Beside: library defaults. The 64 requests "
    "of 2,048 and 2,048 tokens do not fit, as a note says: their first tokens come after 39 s, by ours 5."
)


def _group(name: str, title: str, about: str, source: str, checks: Any, spreads: Any, whole: bool) -> Group:
    return Group(
        f"{name}_whole" if whole else name, f"{title}: {'all rows' if whole else 'a sample'}", about, source,
        partial(checks, whole), spreads=partial(spreads, whole), beside_project=whole, long=whole, beside="By defaults",
    )  # fmt: skip


def lmdeploy_checks(whole: bool) -> list[Check]:
    """Throughputs."""
    return lmdeploy(whole)[0]


GROUPS = (
    *(
        _group(*each, whole)
        for whole in (False, True)
        for each in (
            ("llamacpp_decode", "Engines: llama.cpp, one request", ABOUT_LLAMACPP, LLAMACPP, consumer,
             llamacpp_spreads),
            ("lmdeploy_static", "Engines: LMDeploy, batches of fixed lengths", ABOUT_LMDEPLOY, LMDEPLOY,
             lmdeploy_checks, lmdeploy_spreads),
        )
    ),
    Group(
        "gpt_fast", "Engines: GPT-fast, one request",
        "Llama 2 on A100, weights of 16, 8 and 4 bits, by the stack `GPT_fast_A100`, which was fitted on seven of the "
        "rows. Beside: library defaults.",
        "pytorch-labs/gpt-fast README.md @0f925b5d", gpt_fast, summary=True, beside="By defaults",
    ),
)  # fmt: skip
