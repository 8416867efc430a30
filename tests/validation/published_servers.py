"""Whole servers that others timed: closed loops of requests, iterations that mix prompts in, prefill beside decode."""

from collections.abc import Callable

from validation.cases import CASES
from validation.checks import Check, Group
from validation.published_iterations import ENGINES, SATURATED, closed_loop, milliseconds

#: The stack for Hopper and Blackwell, and the defaults.
STACKS = ("TensorRT_LLM_H100", "Generic")


def both(quantity: Callable[[str], float]) -> tuple[float, float]:
    """A quantity with the stack, and by library defaults."""
    by_stack, by_default = map(quantity, STACKS)
    return by_stack, by_default


def loop_rate(running: int, first: float, between: float, answer: int) -> float:
    """Tokens per second of so many requests in flight."""
    return 1e3 * running * answer / (first + (answer - 1) * between)


def nim() -> list[Check]:
    """First token of one request alone, and the tokens per second of all in flight."""
    given = {"model": "Llama3_3_70B", "hardware": "H100", "precision": "w8a8", "tp_size": 2}
    room = {"kv_memory_fraction": 0.9, "seq_len": 5000, "output_tokens": 500}
    page = ENGINES["nim"]

    def first(stack: str) -> float:
        return milliseconds(**given, stack=stack, prompts=1, seq_len=5000)

    def tokens(flying: int) -> Callable[[str], float]:
        def rate(stack: str) -> float:
            full = SATURATED.solve(**given, **room, stack=stack)
            if flying >= full.canonical("decode_requests"):
                return full.canonical("output_tokens_per_second")
            return loop_rate(flying, *closed_loop(flying, 5000, 500, stack=stack, **given), 500)

        return rate

    ours, default = both(first)
    found = [Check("1 in flight, first token", page["ttft_ms"][0], ours, 0.2, "ms", default)]
    for flying, theirs in zip(page["concurrency"], page["tokens_per_second"], strict=True):
        ours, default = both(tokens(flying))
        found.append(Check(f"{flying} in flight", theirs, ours, 0.2, "token/s", default, calibrated=flying == 1))
    return found


CACHED = "theirs is of 1.8 prefills, the queue for one and the hand-over, which one iteration has not"


FAST = "the reciprocal of the prefill, which ours has a sixth too fast; theirs carries a discount of its own"
APART = "ours prefills a sixth faster and decodes a tenth slower than theirs, and the quotient has both"


def aiconfigurator() -> list[Check]:
    """Qwen3-32B on H200: 3,500 new tokens of 4,000, 500 answered; two prefill workers feed one of decoding."""
    case = CASES["aiconfigurator_qwen3_32b_h200"]["measured"]
    apart, together = case["disaggregated"], case["aggregated"]
    given = {"model": "Qwen3_32B", "hardware": "H200", "precision": "w8a8"}

    def prefill(stack: str) -> float:
        return milliseconds(**given, stack=stack, tp_size=2, prompts=1, seq_len=3500)

    def matched(stack: str) -> float:
        """Two workers of two devices at nine tenths, over eight devices."""
        return 2 * 0.9 / (prefill(stack) / 1e3) * 500 / 8

    def loop(stack: str) -> tuple[float, float]:
        return closed_loop(16, 3500, 500, stack=stack, tp_size=4, **given)

    def keeps_up(stack: str) -> float:
        """Whether 68 requests at 0.92 of the rate answer as many as their two prefill workers start."""
        step = milliseconds(**given, stack=stack, tp_size=4, decode_requests=68, context_tokens=4250)
        return float(0.92 * 68 / (500 * step) >= 2 * 0.9 / apart["prefill_ms"])

    rows = (
        ("prefill, two devices", apart["prefill_ms"], "ms", prefill, 0.2, ""),
        ("first token, two devices", apart["ttft_ms"], "ms", prefill, 0.2, CACHED),
        ("prefill apart from decoding", apart["tokens_per_second_per_gpu"], "token/s/GPU", matched, 0.2, FAST),
        ("68 requests on four devices keep up with their prefill", 1, "", keeps_up, 0, ""),
        (
            "together, batch of 16 on four devices", together["tokens_per_second_per_gpu"], "token/s/GPU",
            lambda stack: loop_rate(16, *loop(stack), 500) / 4, 0.2, "",
        ),
        (
            "together, one request", together["tokens_per_second_per_user"], "token/s",
            lambda stack: 1e3 / loop(stack)[1], 0.2, "",
        ),
        (
            "apart over together", apart["tokens_per_second_per_gpu"] / together["tokens_per_second_per_gpu"], "",
            lambda stack: matched(stack) / (loop_rate(16, *loop(stack), 500) / 4), 0.15, APART,
        ),
    )  # fmt: skip
    found = []
    for what, theirs, unit, quantity, allowed, missed in rows:
        ours, default = both(quantity)
        found.append(Check(what, theirs, ours, allowed, unit, default, missed))
    return found


#: Tokens of prompts that an iteration takes in, and the quantile that is printed.
BUDGET, LATE = 8192, 0.01


OTHER = "ours is of another model, whose layers all have attention, with another engine's time per layer"


def mixed_iterations() -> list[Check]:
    """How far the slowest hundredth of the times between tokens stands above their mean."""
    case = CASES["mixed_iterations_itl"]
    given = {"model": "Qwen3_30B_A3B", "hardware": "B200", "precision": "w8a8", "tp_size": 2}
    prompt, answer = 2048, 512

    def share(flying: int) -> float:
        """Of the iterations, those that take prompts in."""
        full = SATURATED.solve(**given, seq_len=prompt, output_tokens=answer, max_batch_size=flying)
        return full.canonical("prompts") * prompt / BUDGET

    def jump(flying: int) -> Callable[[str], float]:
        def over(stack: str) -> float:
            decoding = {"decode_requests": flying, "context_tokens": prompt + answer / 2, "stack": stack}
            plain = milliseconds(**given, **decoding)
            mixed = milliseconds(**given, **decoding, prompts=BUDGET / prompt, seq_len=prompt)
            return (mixed if share(flying) > LATE else plain) / (plain + share(flying) * (mixed - plain))

        return over

    found = []
    for flying, mean, late in zip(
        case["config"]["concurrency"], case["measured"]["tpot_ms"], case["measured"]["itl_p99_ms"], strict=True
    ):
        # A mixed iteration takes several times as long as one that only decodes.
        theirs = float(late > 3 * mean)
        found.append(Check(f"{flying} in flight, the 99th percentile is mixed", theirs, share(flying) > LATE, 0))
        ours, default = both(jump(flying))
        missed = "" if flying < 64 else OTHER
        found.append(Check(f"{flying} in flight, it over the mean", late / mean, ours, 0.25, "", default, missed))
    return found


#: DeepSeek's units: a copy of attention on every accelerator, experts over all of them and 32 held twice.
UNIT = {"model": "DeepSeek_V3", "fleet": "DeepSeek_H800_2048", "precision": "fp8_deepseek", "two_batch_overlap": True,
        "num_redundant_experts": 32, "node_limit": 4}  # fmt: skip
A_DAY = "ours prefills without a pause; theirs is the mean of a day, at the prompts that came"


def deepseek() -> list[Check]:
    """Tokens per second of a node of eight; by Little's law 88 requests on each device decode."""
    case = CASES["deepseek_v3_r1_serving"]["measured"]
    context, (slow, fast) = case["avg_kv_len"], case["user_tok_s"]
    requests = round(case["decode_tok_s_node"] / 8 / ((slow + fast) / 2))
    # A prompt and half an answer are the mean context, in the proportion of all tokens.
    prompt = round(context / (1 + case["output_tokens"] / case["input_tokens"] / 2))

    def decoded(stack: str) -> float:
        wide = {"ep_size": 144, "dp_attention_size": 144, "decode_requests": 144 * requests, "context_tokens": context}
        return 8 * requests / milliseconds(**UNIT, **wide, stack=stack) * 1e3

    def prefilled(stack: str) -> float:
        wide = {"ep_size": 32, "dp_attention_size": 32, "prompts": 64, "seq_len": prompt,
                "prefix_hit_rate": case["cache_hit"] / case["input_tokens"]}  # fmt: skip
        return 8 / 32 * 64 * prompt / milliseconds(**UNIT, **wide, stack=stack) * 1e3

    found = []
    for what, theirs, quantity, missed in (
        ("decoding over 144 H800", case["decode_tok_s_node"], decoded, ""),
        ("prefill over 32 H800, cached prompts counted", case["prefill_tok_s_node"], prefilled, A_DAY),
    ):
        ours, default = both(quantity)
        found.append(Check(what, theirs, ours, 0.25, "token/s/node", default, missed))
    return found


GROUPS: tuple[Group, ...] = (
    Group(
        "servers_nim", "Servers: NIM, tokens per second in a closed loop",
        "Llama 3.3 70B on two H100, prompts of 5,000, answers of 500, 20%. From the iterations above: stack "
        "`TensorRT_LLM_H100`, and defaults. More in flight than there are slots is the engine at full load.",
        ENGINES["nim"]["source"], nim, beside="Defaults",
    ),
    Group(
        "servers_aiconfigurator", "Servers: prefill beside decode, Qwen3-32B on H200",
        "Theirs is a composition of measured kernels, not a measured server. Prompts of 4,000 of which 500 are cached "
        "count as 3,500 tokens; ours knows no cached prefix. Their discounts (0.9 and 0.92) are theirs. Stack "
        "`TensorRT_LLM_H100`; nothing is calibrated on these rows. 20%, the ratio 15%.",
        CASES["aiconfigurator_qwen3_32b_h200"]["source"], aiconfigurator, beside="Defaults",
    ),
    Group(
        "servers_mixed", "Servers: iterations that take prompts in",
        "The jump, not the value: prompts of 2,048 with answers of 512 come in by iterations of 8,192 tokens, which "
        "are under a hundredth of all at 16 in flight and over it at 64. Theirs is Nemotron 3 Nano, most of whose "
        "layers are state-space models, which no shape of ours describes; Qwen3 30B-A3B stands in.",
        CASES["mixed_iterations_itl"]["source"], mixed_iterations, beside="Defaults",
    ),
    Group(
        "servers_deepseek", "Servers: DeepSeek-V3 and R1 over 144 and 32 ranks",
        "Means of a day. Experts over all ranks of a unit, attention on each, two micro-batches, perfectly balanced. "
        "Requests per device are by Little's law from what is printed. Stack `TensorRT_LLM_H100`, calibrated on other "
        "models without exchanges; those are by DeepEP's constants. 25%.",
        CASES["deepseek_v3_r1_serving"]["source"], deepseek, beside="Defaults",
    ),
)  # fmt: skip
