"""Measures products, batched and grouped ones, attention and copies on one CUDA device, and writes a JSON list of rows.

``python tests/validation/measure_kernels.py ROWS.json`` needs PyTorch with CUDA and ``nvidia-ml-py``, and
nothing of mlsysim. A burst is the median of 20 runs with the caches flushed.
A run of a second says what the power limit leaves.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import pynvml
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import linear, scaled_dot_product_attention

DEVICE = torch.device("cuda")
#: Larger than every second-level cache.
FLUSHED = 256 * 2**20
#: Dense shapes of products: tokens, outputs, inputs.
PRODUCTS = (
    *((m, 8192, 8192) for m in (1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)),
    *((m, 28672, 4096) for m in (64, 512, 4096, 16384)),
    *((m, 4096, 14336) for m in (64, 512, 4096, 16384)),
    *((m, 1536, 2048) for m in (64, 512, 4096, 16384)),
    (4096, 128256, 4096),
)
#: Products of a batch, as of heads and of experts: products, rows, columns, inner width.
BATCHES = (
    *((512, s, s, 128) for s in (256, 1024, 2048)),
    *((512, s, 128, s) for s in (256, 1024, 2048)),
    (512, 1024, 1024, 64), (512, 1, 2048, 128), (64, 4096, 4096, 128), (32, 1024, 1024, 1024),
    *((128, m, 512, 128) for m in (16, 256, 4096)),
    *((8, m, 28672, 4096) for m in (16, 256, 4096)),
    *((32, m, 4096, 7168) for m in (16, 64, 256, 1024)),
    *((128, m, 1536, 2048) for m in (16, 64, 256, 1024)),
)  # fmt: skip
#: Experts of Mixtral, DeepSeek-V3, GPT-OSS 20B and Qwen3-30B: groups, columns, inner width.
EXPERTS = (
    (8, 28672, 4096), (8, 4096, 14336), (32, 4096, 7168), (32, 7168, 2048), (32, 5760, 2880), (32, 2880, 2880),
    (128, 1536, 2048), (128, 2048, 768),
)  # fmt: skip
#: Rows of the largest expert over the mean, with rows that lie evenly around it.
SPREADS = (1.0, 1.5, 2.0, 4.0)
#: Attention: batch, tokens, heads, heads of keys, head dimension.
SCORES = (
    *((16384 // s, s, 32, 32, 128) for s in (512, 1024, 2048, 4096, 8192, 16384)),
    *((16384 // s, s, 32, 32, 64) for s in (512, 2048, 8192, 16384)),
    *((16384 // s, s, 32, 8, 128) for s in (2048, 8192)),
)
#: Weights of a 7B model's layers, read by one to 32 tokens: outputs, inputs.
READ = ((12288, 4096), (4096, 4096), (22016, 4096), (4096, 11008))


def burst(call):
    """Median time of one call in seconds, with the caches flushed before each."""
    flushed = torch.empty(FLUSHED, dtype=torch.int8, device=DEVICE)
    for _ in range(3):
        call()
    times = []
    for _ in range(20):
        flushed.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times)


def sustained(call, once, seconds=1.0):
    """Mean time of one call, mean power in W and clock in MHz over a run of so many seconds."""
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    calls, spent, powers, clocks = max(1, int(0.05 / once)), [], [], []
    begun = time.perf_counter()
    while (passed := time.perf_counter() - begun) < seconds:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        if passed > seconds / 2:
            spent.append((time.perf_counter() - start) / calls)
            powers.append(pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3)
            clocks.append(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))
    return {
        "sustained_s": statistics.mean(spent),
        "power_w": statistics.mean(powers),
        "clock_mhz": statistics.mean(clocks),
    }


def graphed(calls):
    """Mean time of one of many calls in seconds, replayed as one captured graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for call in calls:
            call()
    for _ in range(2):
        graph.replay()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(10):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e4 / len(calls)


def products():
    """Dense products at 16 and 8 bit, on random numbers."""
    for precision in ("bf16", "fp8"):
        for m, n, k in PRODUCTS:
            left, right = torch.randn(m, k, device=DEVICE), torch.randn(n, k, device=DEVICE)
            if precision == "bf16":
                left, right = left.bfloat16(), right.bfloat16()

                def call(left=left, right=right):
                    return left @ right.T
            elif m % 16:
                continue
            else:
                left, right = left.to(torch.float8_e4m3fn), right.to(torch.float8_e4m3fn)
                one = torch.ones((), device=DEVICE)

                def call(left=left, right=right, one=one):
                    return torch._scaled_mm(left, right.T, one, one, out_dtype=torch.bfloat16)

            once = burst(call)
            row = {"kernel": "product", "precision": precision, "m": m, "n": n, "k": k, "burst_s": once}
            yield row | (sustained(call, once) if m * n * k >= 2**36 else {})


def batches():
    """Equal products in one launch."""
    for b, m, n, k in BATCHES:
        left = torch.randn(b, m, k, device=DEVICE, dtype=torch.bfloat16)
        right = torch.randn(b, n, k, device=DEVICE, dtype=torch.bfloat16).mT
        once = burst(partial(torch.bmm, left, right))
        yield {"kernel": "batch", "groups": b, "m": m, "n": n, "k": k, "burst_s": once}


def experts():
    """Products of groups that differ in rows, in one launch."""
    for groups, n, k in EXPERTS:
        right = torch.randn(groups, n, k, device=DEVICE, dtype=torch.bfloat16).mT
        for mean in (16, 64, 256, 1024, 4096):
            for spread in SPREADS if mean in (64, 256, 1024) else (1.0,):
                busy = round(groups * min(1, 2 / spread))
                middles = (torch.arange(busy) + 0.5) / busy
                rows = (mean * (max(0, 2 - spread) + min(spread, 2 * spread - 2) * middles)).round().int()
                rows = torch.cat([rows, torch.zeros(groups - busy, dtype=torch.int32)])
                rows = rows[torch.randperm(groups, generator=torch.Generator().manual_seed(0))]
                ends, total = rows.cumsum(0).int().to(DEVICE), int(rows.sum())
                left = torch.randn(total, k, device=DEVICE, dtype=torch.bfloat16)
                once = burst(partial(torch._grouped_mm, left, right, offs=ends))
                yield {
                    "kernel": "experts", "groups": groups, "m": total, "n": n, "k": k, "imbalance": spread,
                    "burst_s": once,
                }  # fmt: skip


def attention():
    """Attention of prompts forward and back, by PyTorch's FlashAttention 2 and by cuDNN."""
    backends = {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    for name, backend in backends.items():
        for batch, tokens, heads, kv_heads, width in SCORES:
            for causal in (True, False):
                shape = {"device": DEVICE, "dtype": torch.bfloat16, "requires_grad": True}
                q = torch.randn(batch, heads, tokens, width, **shape)
                k, v = (torch.randn(batch, kv_heads, tokens, width, **shape) for _ in range(2))

                def forward(q=q, k=k, v=v, backend=backend, causal=causal, grouped=heads != kv_heads):
                    with sdpa_kernel(backend):
                        return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

                out = forward()
                upstream = torch.randn_like(out)

                def back(out=out, given=(q, k, v), upstream=upstream):
                    return torch.autograd.grad(out, given, upstream, retain_graph=True)

                yield {
                    "kernel": "attention", "software": name, "batch": batch, "tokens": tokens, "heads": heads,
                    "kv_heads": kv_heads, "head_dim": width, "causal": causal,
                    "forward_s": burst(forward), "backward_s": burst(back),
                }  # fmt: skip


def readings():
    """Weights of 7B read by few tokens at 16 and 4 bit, in a captured graph."""
    for tokens in (1, 4, 16):
        for n, k in READ:
            x = torch.randn(tokens, k, device=DEVICE, dtype=torch.bfloat16)
            number = max(2, 2**30 // (n * k))
            wide = [torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16) for _ in range(number)]
            packed = [torch.randint(0, 255, (n, k // 2), device=DEVICE, dtype=torch.uint8) for _ in range(number)]
            four = [torch.ops.aten._convert_weight_to_int4pack(w, 8) for w in packed]
            scales = torch.ones(k // 128, n, 2, device=DEVICE, dtype=torch.bfloat16)
            calls = {
                "bf16": [partial(linear, x, w) for w in wide],
                "int4": [partial(torch.ops.aten._weight_int4pack_mm, x, w, 128, scales) for w in four],
            }
            for precision, ones in calls.items():
                row = {"kernel": "reading", "precision": precision, "tokens": tokens, "n": n, "k": k}
                yield row | {"each_s": graphed(ones)}


def copies():
    """Element-wise passes over 2 GiB, and an idle device."""
    source = torch.randn(2**30, device=DEVICE, dtype=torch.bfloat16)
    target, handle = torch.empty_like(source), pynvml.nvmlDeviceGetHandleByIndex(0)
    for name, passes, call in (
        ("copy", 2, lambda: target.copy_(source)),
        ("add", 3, lambda: torch.add(source, target, out=target)),
    ):
        once = burst(call)
        yield {"kernel": name, "bytes": passes * source.nbytes, "burst_s": once} | sustained(call, once)
    small = torch.ones(8, device=DEVICE)
    begun = time.perf_counter()
    for _ in range(20_000):
        small.add_(1)
    yield {"kernel": "launch", "each_s": (time.perf_counter() - begun) / 20_000}
    torch.cuda.synchronize()
    time.sleep(2)
    yield {"kernel": "idle", "power_w": pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3}


def main(path):
    """Writes the rows after each of them, so that an interruption loses none."""
    pynvml.nvmlInit()
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda}
    rows = []
    for measured in (products, batches, experts, attention, copies, readings):
        try:
            for row in measured():
                rows.append(row)
                Path(path).write_text(json.dumps({"about": about, "rows": rows}))
        except Exception as error:
            rows.append({"kernel": measured.__name__, "error": repr(error)})
            Path(path).write_text(json.dumps({"about": about, "rows": rows}))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1])
