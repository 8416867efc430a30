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
        found.append(Check(what, worst.theirs, worst.ours, 0.2, "TFLOP/s", calibrated=True))
    return found


def spreads() -> list[Spread]:
    """All bars, and those of each width, pass and kernel."""

    def of(words: str, which: Any) -> Spread:
        return Spread(words, [bar.error for bar in bars() if which(bar)], 0.07)

    return [
        of("all, calibrated here", lambda bar: True),
        of("from 2,048 tokens", lambda bar: bar.tokens >= 2048),
        *(of(f"heads of {width}", lambda bar, width=width: bar.width == width) for width in (64, 128, 256)),
        *(of(way, lambda bar, way=way: bar.way == way) for way in ("forward", "backward")),
        *(of(name, lambda bar, name=name: bar.software == name) for name in ("fa2", "fa3", "cudnn", "triton")),
    ]


GROUPS: tuple[Group, ...] = (
    Group(
        "attention_h100",
        "Kernels: attention on H100, by FlashAttention 3",
        "168 speeds of four kernels at 16,384 tokens, 512 to 16,384 in a sequence. The shares and exponentials of "
        "kernels on Hopper were **calibrated on** them, so that they count for nothing: the independent rows are those "
        "of H200. Numbers are those printed above the bars, as programs that read images found them (two of them for "
        "six of eight tables, of which one took the larger of two wrong). Below 2,048 tokens kernels of Hopper start "
        "and end slower than the law says, and FlashAttention 3 gains less by wide heads under a mask. The worst "
        "length of each kernel, 20%.",
        "Shah et al. (2024), FlashAttention-3, figures 5 and 6",
        figures,
        spreads=spreads,
    ),
)
