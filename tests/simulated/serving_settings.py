"""The settings on which the laws of serving are compared with the simulation, and their simulation.

A setting is what a user would type into the serving model, but for the rate of requests, which follows from a load.
What an iteration takes is tabulated from the model of one iteration; how iterations follow each other is the
simulation's own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from simulated.inference_engine import Engine, Pools, saturated_rate
from simulated.serving.iteration_time import Clock, IterationTime, line
from simulated.serving.load import Drafts, Load, fixed_or_log_normal, poisson, requests
from simulated.serving.outcome import Outcome

from mlsysim import IterationModel

#: Tables reach so far: beyond it products and messages are bound by arithmetic and bandwidth, and lines are straight.
TABLED = 1 << 15
#: Keywords that say which engine it is, and with it what an iteration takes.
ENGINE = ("model", "hardware", "precision", "tp_size", "stack")
#: Requests that show the capacity.
SATURATING = 60_000
#: Requests per seed, by the highest load: p99 of two seeds differ by a few percent. Random lengths take more of them.
REQUESTS = {0.55: 100_000, 0.75: 200_000, 0.85: 400_000, 1.0: 800_000}
RANDOM = 4


@dataclass(frozen=True)
class Setting:
    """Keywords of ``ServingModel(variant).solve``, and a load instead of its ``request_rate``."""

    variant: str
    load: float
    """Share of the rate at which requests are completed while others always wait."""
    keywords: dict[str, Any] = field(hash=False)

    @property
    def name(self) -> str:
        """Every number of it."""
        said = " ".join(f"{key}={value}" for key, value in self.keywords.items())
        return f"{self.variant} {said} load={self.load}"

    @property
    def requests(self) -> int:
        """Requests to simulate per seed."""
        fixed = next(count for load, count in REQUESTS.items() if self.load <= load)
        return fixed * (RANDOM if self.keywords["isl_cv"] and self.load > 0.55 else 1)


def simulate(
    setting: Setting,
    request_rate: float = 0.0,
    seed: int = 1,
    count: int | None = None,
    *,
    concurrency: int = 0,
    ttft_slo: float = math.inf,
    tpot_slo: float = math.inf,
    e2e_slo: float = math.inf,
) -> Outcome:
    """Serve Poisson arrivals of so many requests per second, or so many requests in flight; times in seconds."""
    load = drawn(setting, request_rate, seed, setting.requests if count is None else count, concurrency)
    return engine_of(setting).run(load).outcome(ttft_slo=ttft_slo, tpot_slo=tpot_slo, e2e_slo=e2e_slo)


def request_rate(setting: Setting) -> float:
    """Requests per second at the load of the setting."""
    return setting.load * capacity(setting)


def capacity(setting: Setting) -> float:
    """Requests completed per second while others always wait."""
    return saturated_rate(engine_of(setting), drawn(setting, 1.0, 0, SATURATING))


def drawn(setting: Setting, rate: float, seed: int, count: int, concurrency: int = 0) -> Load:
    """Draw the requests of a setting: Poisson arrivals, or so many requests in flight."""
    asked, rng = setting.keywords, np.random.default_rng(seed)
    return requests(
        concurrency or poisson(rate, count, rng),
        fixed_or_log_normal(asked["isl"], asked.get("isl_cv", 0), count, rng),
        fixed_or_log_normal(asked["osl"], asked.get("osl_cv", 0), count, rng),
        cached_share=asked.get("prefix_hit_rate", 0.0),
        drafts=_drafts(setting),
        seed=seed,
    )


def engine_of(setting: Setting) -> Engine | Pools:
    """What serves the requests of a setting."""
    asked = setting.keywords
    named = engine_keywords(setting)
    times, drafts, slots = iteration_time(**named), _drafts(setting), asked["max_num_seqs"]
    kv_tokens, bytes_per_token = kv_cache(**named)
    if setting.variant != "disaggregated":
        # Without a token budget prompts stop all decoding.
        return Engine(times, asked.get("max_num_batched_tokens"), slots, kv_tokens, drafts=drafts)
    return Pools(
        times,
        times,
        asked["prefill_workers"],
        asked["decode_workers"],
        slots,
        links=asked["prefill_workers"],
        bytes_per_token=bytes_per_token,
        bandwidth=_amount(asked["kv_transfer_bandwidth"], {"GB/s": 1e9}),
        latency=_amount(asked.get("kv_transfer_latency", "0 ms"), {"ms": 1e-3}),
        drafts=drafts,
    )


def engine_keywords(setting: Setting) -> dict[str, Any]:
    """The keywords of a setting that the model of an iteration takes."""
    return {key: value for key, value in setting.keywords.items() if key in ENGINE}


@cache
def iteration_time(**engine: Any) -> IterationTime:
    """Tabulate what an iteration of an engine takes from the model of one iteration; its layers have no windows."""
    model, alone = IterationModel(), {"context_tokens": 0.0, "prompts": 0.0}
    by_tokens = ("dense_product_time", "expert_product_time", "activation_time", "allreduce_time")
    sweep = model.sweep(
        **engine, **alone, decode_requests=np.arange(TABLED + 1.0), outputs=(*by_tokens, "head_time", "host_time")
    )
    swept = {name: sweep[name].values * {"ms": 1e-3}[sweep[name].attrs["units"]] for name in sweep.data_vars}
    # One decoding request and one prompt show what is paid per token of context, per pair, and beside.
    context, prompt = 1e5, 1000
    point = model.solve(**engine, decode_requests=1, context_tokens=context, prompts=1, seq_len=prompt)

    def told(name: str) -> float:
        return getattr(point, name).to("s").magnitude

    gaps = point.layers * told("layer_tax")
    beside = told("iteration_time") - max(told("device_time"), told("host_time"))
    sampling = told("sequence_overhead")
    beside -= 2 * sampling
    device = Clock(
        sum(swept[name] for name in by_tokens) + gaps + beside,
        swept["head_time"] + sampling * np.arange(TABLED + 1),
        told("decode_attention_time") / context,
        told("prefill_attention_time") / (prompt**2 / 2),
    )
    return IterationTime(device, Clock(line(told("host_time") + beside), line(0.0, sampling), 0.0, 0.0))


@cache
def kv_cache(**engine: Any) -> tuple[int, float]:
    """Tokens whose keys and values fit, and bytes of one."""
    point = IterationModel("saturated").solve(**engine)
    tokens = int(point.kv_cache_tokens.to("token").magnitude)
    return tokens, point.kv_bytes_per_token.to("byte/token").magnitude


def _drafts(setting: Setting) -> Drafts:
    asked = setting.keywords
    return Drafts(asked.get("num_speculative_tokens", 0), asked.get("acceptance_rate", 0.0))


def _amount(text: str, units: dict[str, float]) -> float:
    number, unit = text.split()
    return float(number) * units[unit]


ENGINES = {
    "8B": {"model": "Llama3_1_8B", "hardware": "H100", "precision": "bf16", "tp_size": 1},
    "8B A100": {"model": "Llama3_1_8B", "hardware": "A100", "precision": "bf16", "tp_size": 1},
    "70B tp2": {"model": "Llama3_1_70B", "hardware": "H100", "precision": "w8a8", "tp_size": 2},
    "70B tp4": {"model": "Llama3_1_70B", "hardware": "H100", "precision": "w8a8", "tp_size": 4},
    "70B tp8": {"model": "Llama3_1_70B", "hardware": "H100", "precision": "w8a8", "tp_size": 8},
    # 141 GB of weights leave room for forty thousand tokens.
    "70B full": {"model": "Llama3_1_70B", "hardware": "H100", "precision": "bf16", "tp_size": 2},
    "Mixtral": {"model": "Mixtral_8x7B", "hardware": "H100", "precision": "bf16", "tp_size": 2},
    "Qwen3": {"model": "Qwen3_30B_A3B", "hardware": "H200", "precision": "bf16", "tp_size": 1},
    "DeepSeek": {"model": "DeepSeek_V3", "hardware": "H200", "precision": "fp8", "tp_size": 8},
}


def _setting(variant: str, engine: str, isl: int, osl: int, cv: float, load: float, **more: Any) -> Setting:
    lengths = {"isl": isl, "osl": osl, "isl_cv": cv, "osl_cv": cv}
    return Setting(variant, load, ENGINES[engine] | lengths | {"max_num_seqs": 256} | more)


def _chunked(engine: str, isl: int, osl: int, cv: float, load: float, budget: int, **more: Any) -> Setting:
    return _setting("chunked", engine, isl, osl, cv, load, max_num_batched_tokens=budget, **more)


def pools(engine: str, isl: int, osl: int, cv: float, load: float, x: int, y: int, **more: Any) -> Setting:
    pools = {"prefill_workers": x, "decode_workers": y, "kv_transfer_bandwidth": "50 GB/s"}
    return _setting("disaggregated", engine, isl, osl, cv, load, **(pools | more))


_DRAFTS = {"num_speculative_tokens": 3, "acceptance_rate": 0.7}

CHUNKED = (
    _chunked("8B", 128, 16, 0, 0.5, 512),
    _chunked("8B", 512, 256, 1, 0.7, 2048),
    _chunked("8B", 1024, 64, 0, 0.8, 512),
    _chunked("8B", 2048, 128, 1, 0.5, 2048),
    _chunked("8B", 2048, 512, 0, 0.9, 2048),
    _chunked("8B", 8192, 128, 0, 0.7, 8192),
    _chunked("8B A100", 1024, 1024, 1, 0.7, 512),
    _chunked("70B tp2", 1024, 128, 0, 0.7, 2048),
    _chunked("70B tp2", 4096, 256, 1, 0.5, 2048),
    _chunked("70B tp4", 512, 512, 0, 0.8, 512),
    _chunked("70B tp4", 4096, 64, 0, 0.9, 8192),
    _chunked("70B tp8", 1024, 256, 1, 0.2, 2048),
    _chunked("70B tp8", 8192, 1024, 0, 0.5, 8192),
    _chunked("Mixtral", 1024, 128, 0, 0.7, 2048),
    _chunked("Qwen3", 512, 256, 1, 0.5, 2048),
    _chunked("DeepSeek", 2048, 256, 0, 0.5, 8192),
    _chunked("8B", 1024, 256, 0, 0.7, 2048, max_num_seqs=16),
    _chunked("70B full", 1024, 512, 0, 0.8, 2048),
    _chunked("70B tp2", 4096, 128, 0, 0.7, 2048, prefix_hit_rate=0.6),
    _chunked("8B", 1024, 256, 1, 0.5, 2048, **_DRAFTS),
)
COLOCATED = (
    _setting("colocated", "8B", 128, 1024, 0, 0.5),
    _setting("colocated", "8B", 512, 128, 1, 0.7),
    _setting("colocated", "8B", 1024, 64, 0, 0.8),
    _setting("colocated", "8B", 2048, 64, 0, 0.9),
    _setting("colocated", "8B", 2048, 256, 1, 0.5),
    _setting("colocated", "8B", 8192, 16, 0, 0.7),
    _setting("colocated", "8B A100", 1024, 256, 0, 0.7),
    _setting("colocated", "70B tp2", 1024, 128, 1, 0.5),
    _setting("colocated", "70B tp2", 4096, 128, 0, 0.8),
    _setting("colocated", "70B tp4", 512, 512, 1, 0.8),
    _setting("colocated", "70B tp4", 2048, 256, 0, 0.2),
    _setting("colocated", "70B tp8", 8192, 256, 0, 0.5),
    _setting("colocated", "70B tp8", 1024, 1024, 1, 0.7),
    _setting("colocated", "Mixtral", 1024, 256, 0, 0.5),
    _setting("colocated", "Qwen3", 512, 256, 0, 0.7),
    _setting("colocated", "DeepSeek", 1024, 256, 1, 0.3),
    _setting("colocated", "8B", 2048, 64, 0, 0.7, max_num_seqs=16),
    _setting("colocated", "70B full", 1024, 512, 0, 0.7),
    _setting("colocated", "70B tp2", 4096, 128, 1, 0.7, prefix_hit_rate=0.5),
    _setting("colocated", "8B", 512, 256, 0, 0.7, **_DRAFTS),
)
DISAGGREGATED = (
    pools("8B", 1024, 64, 0, 0.5, 1, 1),
    pools("8B", 1024, 64, 0, 0.8, 1, 1),
    pools("8B", 512, 256, 1, 0.7, 1, 1),
    pools("8B", 2048, 256, 0, 0.7, 2, 1),
    pools("8B", 8192, 128, 0, 0.7, 3, 1),
    pools("8B", 128, 1024, 1, 0.5, 1, 3),
    pools("8B A100", 1024, 256, 0, 0.7, 1, 2),
    pools("70B tp2", 1024, 128, 0, 0.5, 1, 1),
    pools("70B tp2", 4096, 256, 1, 0.7, 2, 1),
    pools("70B tp2", 4096, 128, 0, 0.9, 3, 1),
    pools("70B tp4", 2048, 512, 0, 0.8, 2, 2),
    pools("70B tp4", 4096, 1024, 1, 0.5, 4, 3),
    pools("70B tp8", 8192, 256, 0, 0.2, 2, 1),
    pools("Mixtral", 1024, 256, 0, 0.7, 2, 2),
    pools("Qwen3", 1024, 512, 1, 0.5, 1, 2),
    pools("DeepSeek", 4096, 256, 0, 0.7, 4, 3),
    pools("8B", 2048, 128, 0, 0.7, 2, 1, kv_transfer_bandwidth="4 GB/s", kv_transfer_latency="1 ms"),
    pools("70B tp2", 1024, 256, 0, 0.7, 1, 2, max_num_seqs=24),
    pools("70B tp2", 4096, 128, 0, 0.7, 2, 1, prefix_hit_rate=0.6),
    pools("8B", 1024, 256, 1, 0.5, 1, 1, **_DRAFTS),
)
SETTINGS = (*CHUNKED, *COLOCATED, *DISAGGREGATED)
#: Engines that prefill prompts whole, with lengths that vary by half their mean, or only those of prompts or answers.
VARIED = (
    _setting("colocated", "8B", 1024, 256, 0.5, 0.7),
    _setting("colocated", "70B tp2", 4096, 128, 0.5, 0.5),
    _setting("colocated", "70B tp4", 1024, 256, 0.5, 0.8),
    _setting("colocated", "Mixtral", 512, 512, 0.5, 0.5),
    _setting("colocated", "8B", 2048, 128, 1, 0.6, osl_cv=0.0),
    _setting("colocated", "8B", 1024, 512, 1, 0.6, isl_cv=0.0),
    pools("8B", 2048, 128, 0.5, 0.7, 2, 1),
    pools("70B tp2", 1024, 256, 0.5, 0.5, 1, 1),
    pools("70B tp4", 4096, 256, 0.5, 0.8, 2, 1),
    pools("Qwen3", 512, 512, 0.5, 0.7, 1, 2),
    pools("8B", 4096, 128, 1, 0.6, 2, 1, osl_cv=0.0),
    pools("8B", 1024, 512, 1, 0.6, 1, 1, isl_cv=0.0),
)
