"""Whole servers that others timed: closed loops of requests, iterations that mix prompts in, prefill beside decode."""

from collections.abc import Callable
from typing import Any

from validation.cases import CASES
from validation.checks import Check, Group
from validation.published_iterations import CHUNKED, ENGINES, in_flight

from mlsysim import ServingModel

POOLS = ServingModel("disaggregated")
#: The stack for Hopper and Blackwell, and the defaults.
STACKS = ("TensorRT_LLM_H100", "Generic")


def both(quantity: Callable[[str], float]) -> tuple[float, float]:
    """A quantity with the stack, and by library defaults."""
    by_stack, by_default = map(quantity, STACKS)
    return by_stack, by_default


ALONE = "a loaded server tokenises, transports and lets prompts wait for each other; ours has its iterations alone"

FULL = "ours has room for 94 requests, where the printed rates say 85: fewer wait, and not as long"


def nim() -> list[Check]:
    """Tokens per second and first tokens of all in flight."""
    page, found = ENGINES["nim"], []
    for flying, theirs in zip(page["concurrency"], page["tokens_per_second"], strict=True):
        ours, default = both(lambda stack, n=flying: in_flight(n, stack).canonical("tokens_per_second"))
        found.append(Check(f"{flying} in flight", theirs, ours, 0.2, "token/s", default, calibrated=flying == 1))
    for flying, theirs in zip(page["concurrency"], page["ttft_ms"], strict=True):
        ours, default = both(lambda stack, n=flying: 1e3 * in_flight(n, stack).canonical("ttft_mean"))
        missed = {1: "", 100: FULL, 250: ""}.get(flying, ALONE)
        found.append(Check(f"{flying} in flight, first token", theirs, ours, 0.2, "ms", default, missed))
    return found


QUEUED = "theirs is 1.8 prefills whatever the load; ours is a prefill and the wait at the rate they serve"
BESIDE = "theirs has more than the prefill of a prompt beside fifteen requests"
APART = "theirs leaves a tenth of the prefill and 8% of the decoding unused, ours nothing"


def aiconfigurator() -> list[Check]:
    """Qwen3-32B on H200: 500 tokens of 4,000 cached, 500 answered; two prefill workers feed one of decoding."""
    case = CASES["aiconfigurator_qwen3_32b_h200"]["measured"]
    apart, together = case["disaggregated"], case["aggregated"]
    given = {"model": "Qwen3_32B", "hardware": "H200", "precision": "w8a8", "isl": 4000, "osl": 500,
             "prefix_hit_rate": 500 / 4000, "tp_size": 4}  # fmt: skip
    rate = apart["tokens_per_second_per_gpu"] * 8 / 500

    def pools(stack: str) -> Any:
        return POOLS.solve(**given, stack=stack, prefill_tp_size=2, prefill_workers=2, max_num_seqs=68,
                           request_rate=rate, num_replicas=1)  # fmt: skip

    def engine(stack: str) -> Any:
        return CHUNKED.solve(**given, stack=stack, concurrency=16)

    def most(stack: str) -> float:
        """Tokens of an accelerator where either pool is full."""
        found = pools(stack)
        return found.canonical("replica_capacity") * 500 / found.canonical("accelerators_per_replica")

    def prefilled(stack: str) -> float:
        """Tokens of an accelerator where two workers prefill nine tenths of the time: their rule with our prefill."""
        return 0.9 * 2 / pools(stack).canonical("prompt_interval") * 500 / 8

    def whole(stack: str) -> float:
        return engine(stack).canonical("tokens_per_second_per_accelerator")

    rows = (
        ("prefill, two devices", apart["prefill_ms"], "ms",
         lambda stack: 1e3 * pools(stack).canonical("prompt_time"), 0.2, ""),
        ("first token, two devices", apart["ttft_ms"], "ms",
         lambda stack: 1e3 * pools(stack).canonical("ttft_mean"), 0.2, QUEUED),
        ("prefill apart from decoding", apart["tokens_per_second_per_gpu"], "token/s/GPU", most, 0.2, ""),
        ("nine tenths of what both prefill", apart["tokens_per_second_per_gpu"], "token/s/GPU", prefilled, 0.2, ""),
        ("together, batch of 16 on four devices", together["tokens_per_second_per_gpu"], "token/s/GPU", whole, 0.2, ""),
        ("together, one request", together["tokens_per_second_per_user"], "token/s",
         lambda stack: 1 / engine(stack).canonical("tpot_mean"), 0.2, ""),
        ("together, first token", together["ttft_ms"], "ms",
         lambda stack: 1e3 * engine(stack).canonical("ttft_mean"), 0.2, BESIDE),
        ("apart over together", apart["tokens_per_second_per_gpu"] / together["tokens_per_second_per_gpu"], "",
         lambda stack: most(stack) / whole(stack), 0.15, APART),
    )  # fmt: skip
    found = []
    for what, theirs, unit, quantity, allowed, missed in rows:
        ours, default = both(quantity)
        found.append(Check(what, theirs, ours, allowed, unit, default, missed))
    return found


OTHER = (
    "ours is of another model, whose layers all have attention, with another engine's time per layer, and its prompts "
    "come in one by one"
)


def mixed_iterations() -> list[Check]:
    """How far the slowest hundredth of the times between tokens stands above their mean."""
    case = CASES["mixed_iterations_itl"]
    given = {"model": "Qwen3_30B_A3B", "hardware": "B200", "precision": "w8a8", "tp_size": 2, "isl": 2048, "osl": 512}

    def jump(flying: int) -> Callable[[str], float]:
        def over(stack: str) -> float:
            found = CHUNKED.solve(**given, concurrency=flying, stack=stack)
            return found.canonical("itl_p99") / found.canonical("tpot_mean")

        return over

    found = []
    for flying, mean, late in zip(
        case["config"]["concurrency"], case["measured"]["tpot_ms"], case["measured"]["itl_p99_ms"], strict=True
    ):
        ours, default = both(jump(flying))
        # A mixed iteration takes several times as long as one that only decodes, which is shorter than the mean.
        found.append(
            Check(f"{flying} in flight, the 99th percentile is mixed", float(late > 3 * mean), float(ours > 1), 0)
        )
        missed = "" if flying < 64 else OTHER
        found.append(Check(f"{flying} in flight, it over the mean", late / mean, ours, 0.25, "", default, missed))
    return found


#: DeepSeek's units: a copy of attention on every accelerator, experts over all of them and 32 held twice.
UNIT = {"model": "DeepSeek_V3", "fleet": "DeepSeek_H800_2048", "precision": "fp8_deepseek", "two_batch_overlap": True,
        "num_redundant_experts": 32, "node_limit": 4, "ep_size": 144, "dp_attention_size": 144, "prefill_ep_size": 32,
        "prefill_dp_attention_size": 32, "kv_transfer_bandwidth": "10 TB/s", "num_replicas": 1}  # fmt: skip
A_DAY = "ours prefills without a pause; theirs is the mean of a day, at the prompts that came"


def deepseek() -> list[Check]:
    """Tokens per second of a node of eight; by Little's law 88 requests on each device decode."""
    case = CASES["deepseek_v3_r1_serving"]["measured"]
    context, (slow, fast) = case["avg_kv_len"], case["user_tok_s"]
    each = case["output_tokens"] / case["input_tokens"]
    # A prompt and half an answer are the mean context, in the proportion of all tokens.
    prompt = round(context / (1 + each / 2))
    given = {**UNIT, "isl": prompt, "osl": round(prompt * each), "request_rate": 1,
             "max_num_seqs": round(case["decode_tok_s_node"] / 8 / ((slow + fast) / 2)),
             "prefix_hit_rate": case["cache_hit"] / case["input_tokens"]}  # fmt: skip

    def pools(stack: str) -> Any:
        return POOLS.solve(**given, stack=stack)

    def decoded(stack: str) -> float:
        return pools(stack).canonical("decode_rate_limit") * given["osl"] * 8 / 144

    def prefilled(stack: str) -> float:
        return pools(stack).canonical("prefill_rate_limit") * prompt * 8 / 32

    def nodes(stack: str) -> float:
        return pools(stack).canonical("prefill_decode_ratio") * 32 / 144

    printed = case["input_tokens"] / case["prefill_tok_s_node"] / (case["output_tokens"] / case["decode_tok_s_node"])
    found = []
    for what, theirs, unit, quantity, missed in (
        ("decoding over 144 H800", case["decode_tok_s_node"], "token/s/node", decoded, ""),
        ("prefill over 32 H800, cached prompts counted", case["prefill_tok_s_node"], "token/s/node", prefilled, A_DAY),
        ("nodes that prefill over those that decode", printed, "", nodes, A_DAY),
    ):
        ours, default = both(quantity)
        found.append(Check(what, theirs, ours, 0.25, unit, default, missed))
    return found


def drafted() -> list[Check]:
    """Tokens per second of one request with a token drafted for each, over those without."""
    case = CASES["deepseek_v3_mtp"]["measured"]

    def faster(accepted: float) -> Callable[[str], float]:
        def quotient(stack: str) -> float:
            given = {**UNIT, "stack": stack, "isl": 4096, "osl": 1024, "request_rate": 0}
            drafts = {"num_speculative_tokens": 1, "acceptance_rate": accepted}
            steps = (POOLS.solve(**given), POOLS.solve(**given, **drafts))
            plain, drafting = (step.canonical("step_time_per_token") for step in steps)
            return plain / drafting

        return quotient

    found = []
    for accepted in case["acceptance"]:
        ours, default = both(faster(accepted))
        found.append(Check(f"{accepted:.0%} accepted", case["speedup"], ours, 0.05, "", default))
    return found


def handed_over() -> list[Check]:
    """Keys and values of one prompt, and the bandwidth that ten prompts a second take."""
    case = CASES["distserve_kv_transfer"]
    found = POOLS.solve(**{name: case["config"][name] for name in ("model", "isl", "request_rate")}, hardware="A100",
                        precision="fp16", tp_size=4, num_replicas=1)  # fmt: skip
    held = found.canonical("kv_transfer_time") * found.canonical("kv_transfer_bandwidth")
    return [
        Check("cache of a prompt of 512 tokens", case["measured"]["kv_gib"], held / 2**30, 0.01, "GiB"),
        Check("ten of them a second", case["measured"]["gbit_per_s"], 10 * held / 2**30 * 8, 0.01, "Gbit/s"),
    ]


def apart_on_six() -> list[Check]:
    """Gaps between tokens of engines that mix prompts in, over those of pools on as many devices."""
    case = CASES["gpustack_pd_qwen3_32b"]
    asked, (least, most) = case["config"], case["measured"]["itl_p99_ratio"]
    given = {"model": "Qwen3_32B", "hardware": "H100", "precision": "bf16", "tp_size": 2,
             "concurrency": asked["concurrency"], "isl": asked["assumed_isl"], "osl": asked["assumed_osl"]}  # fmt: skip

    def both_ways(stack: str) -> tuple[Any, Any]:
        mixed = CHUNKED.solve(**given, stack=stack, num_replicas=3)
        return mixed, POOLS.solve(**given, stack=stack, prefill_workers=1, decode_workers=2, num_replicas=1)

    def smoother(stack: str) -> float:
        mixed, apart = both_ways(stack)
        return mixed.canonical("itl_p99") / apart.canonical("itl_p99")

    def later(stack: str) -> float:
        mixed, apart = both_ways(stack)
        return apart.canonical("ttft_mean") / mixed.canonical("ttft_mean")

    ours, default = both(smoother)
    return [
        Check("longest hundredth of the gaps, mixed over apart", (least + most) / 2, ours, 0.25, "", default),
        Check("first tokens are later apart", 1.0, float(later("TensorRT_LLM_H100") > 1), 0),
    ]


GROUPS: tuple[Group, ...] = (
    Group(
        "servers_nim", "Servers: NIM, tokens per second in a closed loop",
        "Llama 3.3 70B on two H100, prompts of 5,000, answers of 500, 20%. `ServingModel(\"chunked\")` with "
        "`concurrency`, stack `TensorRT_LLM_H100`, and defaults.",
        ENGINES["nim"]["source"], nim, beside="Defaults",
    ),
    Group(
        "servers_aiconfigurator", "Servers: prefill beside decode, Qwen3-32B on H200",
        "Theirs is a composition of measured kernels, not a measured server. Prompts of 4,000 of which 500 are cached. "
        "Their discounts (0.9 of the prefill, 0.92 of the decoding) are theirs. `ServingModel`, stack "
        "`TensorRT_LLM_H100`; nothing is calibrated on these rows. 20%, the ratio 15%.",
        CASES["aiconfigurator_qwen3_32b_h200"]["source"], aiconfigurator, beside="Defaults",
    ),
    Group(
        "servers_mixed", "Servers: iterations that take prompts in",
        "The jump, not the value: prompts of 2,048 with answers of 512 come in by iterations that are under a "
        "hundredth of all at 16 in flight and over it at 64. Theirs is Nemotron 3 Nano, most of whose "
        "layers are state-space models, which no shape of ours describes; Qwen3 30B-A3B stands in.",
        CASES["mixed_iterations_itl"]["source"], mixed_iterations, beside="Defaults",
    ),
    Group(
        "servers_apart", "Servers: gaps between tokens with prefill apart, Qwen3-32B on six H100",
        "Sixteen in flight, \"long\" prompts. What is not printed is assumed: prompts of 8,192, answers of 256, two "
        "devices to an engine (the page deploys one that prefills and two that decode), 16 bits, 8,192 tokens at most. "
        "The length decides: prompts of 4,096 give 15, of 16,384 give 36, so that only the size of the effect is held. "
        "25% of the middle of 25.6 to 27.8.",
        CASES["gpustack_pd_qwen3_32b"]["source"], apart_on_six, beside="Defaults",
    ),
    Group(
        "servers_deepseek", "Servers: DeepSeek-V3 and R1 over 144 and 32 ranks",
        "Means of a day. Experts over all ranks of a unit, attention on each, two micro-batches, perfectly balanced. "
        "Requests per device are by Little's law from what is printed. Stack `TensorRT_LLM_H100`, calibrated on other "
        "models without exchanges; those are by DeepEP's constants. 25%.",
        CASES["deepseek_v3_r1_serving"]["source"], deepseek, beside="Defaults",
    ),
    Group(
        "servers_drafts", "Servers: a drafted token, DeepSeek-V3",
        "Tokens per second with multi-token prediction over those without it, at little load. The time of the draft is "
        "not printed and left out. 5%.", CASES["deepseek_v3_mtp"]["source"], drafted, beside="Defaults",
    ),
    Group(
        "servers_hand_over", "Servers: the cache that pools hand over, OPT-66B", "1%.",
        CASES["distserve_kv_transfer"]["source"], handed_over,
    ),
)  # fmt: skip
