"""Speeds of attention that FlashAttention 3 published for H100, on which the constants of kernels were fitted."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from validation.checks import Check, Group, Spread

from mlsysim import KernelModel

FIGURES: dict[str, Any] = json.loads(Path(__file__).with_name("attention_shah2024.json").read_text(encoding="utf-8"))
#: Tokens of all sequences, and heads times their width.
TOKENS, HIDDEN = 16384, 2048
WIDE = "no kernel speeds up with heads of 256 as the law says, but for FlashAttention 3 without a mask"
SHORT = "below 2,048 tokens kernels of Hopper start and end slower than the law says"
TRITON = "Triton has the constants of FlashAttention 2, and hides its exponentials better"


class Bar(NamedTuple):
    """One speed, theirs and ours in TFLOP/s."""

    software: str
    way: str
    width: int
    causal: bool
    tokens: int
    theirs: float
    ours: float

    @property
    def fitted(self) -> bool:
        """Whether constants were fitted on it."""
        return self.width < 256 and self.software != "triton"

    @property
    def error(self) -> float:
        """Relative error of ours."""
        return self.ours / self.theirs - 1


@cache
def bars() -> tuple[Bar, ...]:
    """All of figures 5 and 6; arithmetic is counted as the paper counts it."""
    model, found = KernelModel("attention"), []
    for table in FIGURES["tables"]:
        way, width, causal = table["way"], table["head_dim"], table["causal"]
        for software, speeds in table["tflops"].items():
            for tokens, theirs in zip(FIGURES["about"]["tokens"], speeds, strict=True):
                solved = model.solve(
                    hardware="H100", seq_len=tokens, batch_size=TOKENS // tokens, heads=HIDDEN // width,
                    head_dim=width, attention_kernel=software, attention_mask="causal" if causal else "full",
                )  # fmt: skip
                work = 4 * tokens * TOKENS * HIDDEN * (0.5 if causal else 1) * (1 if way == "forward" else 2.5)
                ours = work / solved.canonical(f"attention_{way}_time") / 1e12
                found.append(Bar(software, way, width, causal, tokens, theirs, ours))
    return tuple(found)


def figures() -> list[Check]:
    """The worst length of each kernel, width, pass and mask."""
    found = []
    for software, way, width, causal in dict.fromkeys(bar[:4] for bar in bars()):
        both = [bar for bar in bars() if bar[:4] == (software, way, width, causal)]
        worst = max(both, key=lambda bar: abs(bar.error))
        median = np.median([abs(bar.error) for bar in both])
        mask = "causal" if causal else "full"
        what = f"{software}, {way}, heads of {width}, {mask}: median {median:.1%}, worst {worst.tokens} tokens"
        why = ""
        if abs(worst.error) > 0.2:
            why = WIDE if width == 256 and worst.tokens > 512 else TRITON if software == "triton" else SHORT
        found.append(Check(what, worst.theirs, worst.ours, 0.2, "TFLOP/s", None, why, worst.fitted))
    return found


def spreads() -> list[Spread]:
    """All bars, those that constants were fitted on, and the others."""

    def of(words: str, which: Any, allowed: float, missed: str = "") -> Spread:
        return Spread(words, [bar.error for bar in bars() if which(bar)], allowed, missed=missed)

    return [
        of("all", lambda bar: True, 0.07),
        of("fitted on: heads of 64 and 128", lambda bar: bar.fitted, 0.07),
        of("the same, from 2,048 tokens", lambda bar: bar.fitted and bar.tokens >= 2048, 0.07),
        of("not fitted on: heads of 256", lambda bar: bar.width == 256, 0.07, WIDE),
        of("not fitted on: Triton", lambda bar: bar.software == "triton", 0.07, TRITON),
    ]


GROUPS: tuple[Group, ...] = (
    Group(
        "attention_h100",
        "Kernels: attention on H100, by FlashAttention 3",
        "168 speeds of four kernels at 16,384 tokens, 512 to 16,384 in a sequence. The shares and exponentials of "
        "kernels on Hopper were **calibrated on** the 108 of FlashAttention 2, FlashAttention 3 and cuDNN with heads "
        "of 64 and 128, which count for nothing: the independent rows are those of H200. Triton and heads of 256 were "
        "not fitted on. Numbers are those printed above the bars, as a reader of images found them, and fit the "
        "errors that were noted when the constants were fitted. The worst length of each kernel, 20%.",
        "Shah et al. (2024), FlashAttention-3, figures 5 and 6",
        figures,
        spreads=spreads,
    ),
)
