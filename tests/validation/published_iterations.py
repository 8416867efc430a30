"""Iterations of inference engines that others timed, and throughputs that follow from them."""

import json
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from validation.checks import Check, Group

from mlsysim import IterationModel, ServingModel

ENGINES: dict[str, Any] = json.loads(Path(__file__).with_name("engines.json").read_text(encoding="utf-8"))
ITERATION, SATURATED, CHUNKED = IterationModel(), IterationModel("saturated"), ServingModel("chunked")
#: Llama 3.3 70B on two H100, with the share of free memory that TensorRT-LLM takes for its cache.
NIM = {"model": "Llama3_3_70B", "hardware": "H100", "precision": "w8a8", "tp_size": 2, "kv_memory_fraction": 0.9,
       "isl": 5000, "osl": 500}  # fmt: skip

CATALOG = {
    "Llama-3.1-8B": "Llama3_1_8B",
    "Llama-3.3-70B": "Llama3_3_70B",
    "Llama-3.1-405B": "Llama3_1_405B",
    "Qwen3-235B-A22B": "Qwen3_235B_A22B",
    "facebook/opt-13b": "OPT_13B",
    "facebook/opt-66b": "OPT_66B",
}
#: Decode steps and prefills that the coefficients of DistServe are evaluated at.
BATCHES, CONTEXTS, PROMPTS = (1, 16, 64, 192), (256, 768), (128, 512, 2048)
#: Requests over which decoding has coefficients of its own.
LARGE = 95
#: Where the coefficients reach beyond the tokens of cache that there is room for.
NARROW, ROOM = "OPT-66B, 2 A100", 5_000

LAUNCH = "a short prompt pays launches that no layer of a decode step has"
WIDE = "products cut eight ways are narrow and reach less of the peak"
TWO = "a small model on several devices takes longer than layers, latencies and all-reduces give"
EAGER = "what eager Python and its workers cost at more devices does not follow from one and four"
SLOTS = "the batch leans on the room for caches; what activations take of it is not printed"
EXPERTS = "which sharding of the experts was used is not printed; long prompts of it are slower"
#: Why a row is further off than allowed. A row that comes within its tolerance must leave this table.
MISSED = {
    "Llama-3.1-405B, H200 TP8, 128/2048": SLOTS,
    "Llama-3.1-405B, H200 TP8, 128/4096": SLOTS,
    "Llama-3.1-405B, H200 TP8, 1000/2000": SLOTS,
    "Llama-3.1-405B, H100 TP8, 128/4096": SLOTS,
    "Llama-3.1-405B, H100 TP8, 1000/2000": SLOTS,
    "Llama-3.1-405B, H100 TP8, 20000/2000": SLOTS,
    "Qwen3-235B-A22B, H200 TP8, 128/2048": EXPERTS,
    "Qwen3-235B-A22B, H200 TP8, 2048/128": EXPERTS,
    "Qwen3-235B-A22B, H200 TP8, 5000/500": EXPERTS,
    "Qwen3-235B-A22B, H200 TP8, 20000/2000": EXPERTS,
    "distserve: OPT-13B, 2 A100, decode 192 of 256": TWO,
    "distserve: OPT-13B, 2 A100, decode 192 of 768": TWO,
    "distserve: OPT-13B, 2 A100, prefill of 128": TWO,
    "distserve: OPT-13B, 4 A100, decode 192 of 256": TWO,
    "distserve: OPT-13B, 4 A100, decode 192 of 768": TWO,
    "distserve: OPT-66B, 8 A100, decode 192 of 256": WIDE,
    "distserve: OPT-66B, 8 A100, decode 192 of 768": WIDE,
    "distserve: OPT-66B, 8 A100, prefill of 128": WIDE,
    "distserve: OPT-66B, 8 A100, prefill of 512": WIDE,
    "vllm: OPT-13B, 2 A100, decode 1 of 256": EAGER,
    "vllm: OPT-13B, 2 A100, decode 1 of 768": EAGER,
    "vllm: OPT-13B, 2 A100, decode 16 of 256": EAGER,
    "vllm: OPT-13B, 2 A100, decode 16 of 768": EAGER,
    "vllm: OPT-13B, 2 A100, decode 192 of 768": EAGER,
    "vllm: OPT-66B, 2 A100, prefill of 2048": EAGER,
    "vllm: OPT-66B, 3 A100, decode 1 of 256": EAGER,
    "vllm: OPT-66B, 3 A100, decode 1 of 768": EAGER,
    "vllm: OPT-66B, 3 A100, decode 192 of 768": EAGER,
    "vllm: OPT-66B, 4 A100, decode 1 of 256": EAGER,
    "vllm: OPT-66B, 4 A100, decode 1 of 768": EAGER,
    "vllm: OPT-66B, 4 A100, prefill of 2048": EAGER,
    "vllm: OPT-66B, 8 A100, decode 1 of 256": EAGER,
    "vllm: OPT-66B, 8 A100, decode 1 of 768": EAGER,
    "vllm: OPT-66B, 8 A100, decode 16 of 256": EAGER,
    "vllm: OPT-66B, 8 A100, decode 16 of 768": EAGER,
    "vllm: OPT-66B, 8 A100, decode 64 of 256": EAGER,
    "vllm: OPT-66B, 8 A100, decode 192 of 256": EAGER,
    "vllm: OPT-66B, 8 A100, decode 192 of 768": EAGER,
    "vllm: OPT-66B, 8 A100, prefill of 512": WIDE,
    "vllm: OPT-66B, 8 A100, prefill of 2048": WIDE,
}


def milliseconds(**inputs: Any) -> float:
    """One iteration."""
    return 1e3 * ITERATION.solve(**inputs).canonical("iteration_time")


def throughput(table: str) -> list[Check]:
    """Output tokens per second of one column of TensorRT-LLM's page."""
    name, _, hardware, ranks = table.split()
    rows = zip(ENGINES["trtllm_max_throughput"]["io"], ENGINES["trtllm_max_throughput"]["tables"][table], strict=True)
    found = []
    for lengths, theirs in rows:
        prompt, answer = map(int, lengths.split("/"))
        given = {"model": CATALOG[name], "hardware": hardware, "precision": "w8a8", "seq_len": prompt,
                 "tp_size": int(ranks.removeprefix("TP")), "output_tokens": answer}  # fmt: skip
        ours, default = (
            SATURATED.solve(**given, stack=stack).canonical("output_tokens_per_second")
            for stack in ("TensorRT_LLM_H100", "Generic")
        )
        what = f"{name}, {hardware} {ranks}, {lengths}"
        used = table == "Llama-3.3-70B FP8 H100 TP2"
        found.append(Check(what, theirs, ours, 0.15, "token/s", default, "" if used else MISSED.get(what, ""), used))
    return found


def dense() -> list[Check]:
    """Every dense column."""
    tables = (table for table in ENGINES["trtllm_max_throughput"]["tables"] if "Qwen" not in table)
    return [check for table in tables for check in throughput(table)]


def experts() -> list[Check]:
    """The column of a mixture of experts."""
    return throughput("Qwen3-235B-A22B FP8 H200 TP8")


def engine(which: str, stack: str, calibrated: set[tuple[str, str]]) -> list[Check]:
    """Decode steps and prefills of one engine on A100, from the coefficients its authors fitted."""
    found = []
    for model, by_ranks in ENGINES["distserve"]["measured"][which].items():
        for ranks, fit in by_ranks.items():
            given = {"model": CATALOG[model], "hardware": "A100", "precision": "fp16", "tp_size": int(ranks),
                     "stack": stack}  # fmt: skip
            short = f"{model.removeprefix('facebook/').upper()}, {ranks} A100"
            rows = []
            for batch, context in product(BATCHES, CONTEXTS):
                base, each, more = fit["decoding_smallbs" if batch < LARGE else "decoding_largebs"]
                theirs = base + each * batch * context + more * batch
                if short != NARROW or batch * context <= ROOM:
                    decoding = {"decode_requests": batch, "context_tokens": context}
                    rows.append((f"{short}, decode {batch} of {context}", theirs, decoding))
            for tokens in PROMPTS:
                base, each, square = fit["prefill"]
                theirs = base + each * tokens + square * tokens**2
                rows.append((f"{short}, prefill of {tokens}", theirs, {"prompts": 1, "seq_len": tokens}))
            used = (model, ranks) in calibrated
            for what, theirs, asked in rows:
                missed = "" if used else MISSED.get(f"{which}: {what}", "")
                ours, default = (milliseconds(**{**given, **asked, "stack": one}) for one in (stack, "Generic"))
                found.append(Check(what, theirs, ours, 0.15, "ms", default, missed, used))
    return found


def in_flight(requests: int, stack: str) -> Any:
    """NVIDIA's closed loop of equal requests."""
    return CHUNKED.solve(**NIM, concurrency=requests, stack=stack)


def nim() -> list[Check]:
    """Time between tokens of Llama 3.3 70B on two H100, so many requests in flight; prompts stop the others."""

    def between(flying: int, stack: str) -> float:
        return 1e3 * in_flight(flying, stack).canonical("tpot_mean")

    return [
        Check(
            f"{flying} in flight", theirs, between(flying, "TensorRT_LLM_H100"), 0.2, "ms", between(flying, "Generic"),
            calibrated=flying == 1,
        )
        for flying, theirs in zip(ENGINES["nim"]["concurrency"], ENGINES["nim"]["itl_ms"], strict=True)
    ]  # fmt: skip


def static_batches() -> list[Check]:
    """LLaMA 7B on one A100: a batch is prefilled, then decoded to its end."""
    given = {"model": "Llama2_7B", "hardware": "A100", "precision": "fp16"}
    page, found = ENGINES["trtllm_a100"], []

    def tokens(batch: int, prompt: int, answer: int, stack: str) -> float:
        first = milliseconds(**given, stack=stack, prompts=batch, seq_len=prompt)
        step = milliseconds(**given, stack=stack, decode_requests=batch, context_tokens=prompt + answer / 2)
        return 1e3 * batch * answer / (first + (answer - 1) * step)

    stacks = ("TensorRT_LLM_A100", "Generic")
    for batch, prompt, answer, theirs in page["throughput"]:
        ours, default = (tokens(batch, prompt, answer, stack) for stack in stacks)
        found.append(Check(f"batch {batch}, {prompt}/{answer}", theirs, ours, 0.15, "token/s", default))
    for length, theirs in page["first_token_ms"].items():
        ours, default = (milliseconds(**given, stack=stack, prompts=1, seq_len=int(length)) for stack in stacks)
        used = length == "2048"
        found.append(Check(f"first token of {length}", theirs, ours, 0.15, "ms", default, "" if used else LAUNCH, used))
    return found


#: DeepSeek-V3 decodes with latent attention, absorbed.
def arithmetic() -> list[Check]:
    """What FlashMLA's intensity and the definition of causal attention give."""
    deepseek = ITERATION.solve(model="DeepSeek_V3", hardware="H100", precision="w8a8", decode_requests=1,
                               context_tokens=4989)  # fmt: skip
    return [
        Check(
            "DeepSeek-V3, attention of a token at a context of 4,989",
            85.0, deepseek.canonical("decode_attention_flops") * 4989 / 1e9, 0.01, "GFLOP",
        ),
    ]  # fmt: skip


SOURCE = ENGINES["distserve"]["source"]
ON_OPT = {("facebook/opt-13b", "1")}
GROUPS: tuple[Group, ...] = (
    Group(
        "iterations_trtllm", "Engines: TensorRT-LLM, dense models at full load",
        "Output tokens per second, whole instance, 15%. Stack `TensorRT_LLM_H100`, calibrated on one column and on the "
        "time between tokens of one request of another page.", ENGINES["trtllm_max_throughput"]["source"], dense,
        summary=True, beside="Defaults",
    ),
    Group(
        "iterations_trtllm_moe", "Engines: TensorRT-LLM, a mixture of experts at full load",
        "The same for Qwen3-235B-A22B; nothing is calibrated on experts.", ENGINES["trtllm_max_throughput"]["source"],
        experts, summary=True, beside="Defaults",
    ),
    Group(
        "iterations_nim", "Engines: NIM, time between tokens in a closed loop",
        "Milliseconds between tokens, prompts of 5,000, answers of 500, 20%. "
        '`ServingModel("chunked").solve(concurrency=...)`.', ENGINES["nim"]["source"], nim,
        beside="Defaults", summary=True,
    ),
    Group(
        "iterations_trtllm_a100", "Engines: TensorRT-LLM of 2023 on A100",
        "LLaMA 7B in static batches, 15%. Stack `TensorRT_LLM_A100`.", ENGINES["trtllm_a100"]["source"], static_batches,
        summary=True, beside="Defaults",
    ),
    Group(
        "iterations_distserve", "Engines: DistServe on A100",
        "Milliseconds, from the coefficients that its authors fitted to their measurements, 15%. Stack "
        "`DistServe_A100`, calibrated on OPT-13B on one A100 alone.", SOURCE,
        partial(engine, "distserve", "DistServe_A100", ON_OPT), summary=True, beside="Defaults",
    ),
    Group(
        "iterations_vllm", "Engines: vLLM of 2023 on A100",
        "The same for vLLM as DistServe's authors measured it. Stack `vLLM_2023_A100`, calibrated on OPT-13B on one "
        "and on four A100.", SOURCE,
        partial(engine, "vllm", "vLLM_2023_A100", {*ON_OPT, ("facebook/opt-13b", "4")}), summary=True,
        beside="Defaults",
    ),
    Group(
        "iterations_arithmetic", "Engines: arithmetic of latent attention", "1%.",
        "FlashMLA: two heads' width of FLOPs a byte of cache, by hand", arithmetic,
    ),
)  # fmt: skip
