"""Memory in two tiers against what Heo et al. simulated and what DeepSpeed prints and measured."""

from functools import cache
from typing import Any

from validation.cases import CASES
from validation.checks import Check, Group

from mlsysim import MemoryDesign, MemoryExpansionModel
from mlsysim.backends import compiled
from mlsysim.formulas import offloaded_training
from mlsysim.symbolic import System

GIB = 2**30
STUDY = CASES["memory_expansion"]
#: The designs in the order of the paper.
DESIGNS = ("Per_Node", "Per_GPU", "Integrated_CPU_Links", "Integrated_GPU_Links")
POLICIES = ("conservative", "aggressive")


@cache
def bars() -> dict[tuple[int, str], Any]:
    """Every bar of figure 2, by number of the design and policy."""
    return {
        (number, policy): MemoryExpansionModel(policy=policy, design=design).solve("DeepSpeedMoE_24B_MoE_128")
        for number, design in enumerate(DESIGNS, 1)
        for policy in POLICIES
    }


def capacities() -> list[Check]:
    """Table II."""
    printed, found = STUDY["measured"], []
    near = {policy: bars()[1, policy].canonical("local_memory") / 1e9 for policy in POLICIES}
    for policy in POLICIES:
        local, remote = printed[f"{policy}_GB"]
        far = bars()[1, policy].canonical("remote_memory") / 1e9
        found += [
            Check(f"{policy}, HBM", local, near[policy], 0.015, "GB"),
            Check(f"{policy}, remote memory", remote, far, 0.015, "GB"),
        ]
    reduction = 100 * (1 - near["aggressive"] / near["conservative"])
    theirs = printed["hbm_reduction_pct"]
    return [*found, Check("HBM saved by aggressive", theirs, reduction, 0.5 / theirs, "%")]


def time(number: int, policy: str) -> float:
    """Seconds of one bar."""
    return bars()[number, policy].canonical("step_time")


def slowdowns() -> list[Check]:
    """The two ratios of figure 2 that the text quotes."""
    printed = STUDY["measured"]
    return [
        Check(
            f"design {number}, aggressive over conservative",
            printed[key],
            time(number, "aggressive") / time(number, "conservative"),
            0.01,
        )
        for number, key in ((1, "aggressive_slowdown_design1"), (4, "aggressive_vs_conservative_design4"))
    ]


EXACTLY = "at exactly 512 GB/s ours leaves 23.6 ms of remote memory and 22.2 ms of communication exposed"


def claims() -> list[Check]:
    """Orderings the text states: 1 where they hold."""

    def exposed(number: int, part: str) -> float:
        return bars()[number, "conservative"].canonical(f"exposed_{part}_time")

    said = {
        "conservative: design 4 is the fastest": time(4, POLICIES[0]) < min(time(n, POLICIES[0]) for n in (1, 2, 3)),
        "conservative: design 2 before design 3": time(2, POLICIES[0]) < time(3, POLICIES[0]),
        "conservative: remote memory is the bottleneck of design 1": (
            bars()[1, POLICIES[0]]["longest_segment"] == "Remote memory"
        ),
        "conservative: communication above remote memory, design 3": exposed(3, "link") > exposed(3, "remote"),
        "conservative: communication above remote memory, design 4": exposed(4, "link") > exposed(4, "remote"),
        "conservative: communication above remote memory, design 2": exposed(2, "link") > exposed(2, "remote"),
        "aggressive: design 3 before design 2": time(3, POLICIES[1]) < time(2, POLICIES[1]),
        "aggressive: design 4 is the fastest": time(4, POLICIES[1]) < min(time(n, POLICIES[1]) for n in (1, 2, 3)),
    }
    return [
        Check(claim, 1, float(holds), 0, missed=EXACTLY if claim.endswith("memory, design 2") else "")
        for claim, holds in said.items()
    ]


#: DeepSpeed's estimators ask for half as much again, for the start.
START = 1.5


def host_memory() -> list[Check]:
    """Host memory of ZeRO-3 as DeepSpeed's estimators give it, T5-3B on eight GPUs of one host."""
    case = CASES["deepspeed_estimators_t5_3b"]
    size, ranks = case["config"]["params"], case["config"]["gpus"]
    held = compiled(System([offloaded_training.remote_memory]))
    found = []
    for what, key, weights in (
        ("optimizer", "zero3 opt cpu, zero_init", 0.0),
        ("optimizer and weights", "zero3 opt+param cpu, zero_init", 1.0),
    ):
        each = held(
            {
                "weights": 2 * size / ranks,
                "gradients": 4 * size / ranks,
                "optimizer_state": 12 * size / ranks,
                "activations": 0.0,
                "weights_offload": weights,
                "gradients_offload": 1.0,
                "optimizer_offload": 1.0,
                "checkpoints_offload": 0.0,
            }
        )["remote_memory"]
        found.append(Check(f"ZeRO-3, {what} on the host", case["measured"][key]["cpu"], START * ranks * each / GIB,
                           0.001, "GiB"))  # fmt: skip
    return found


INFERENCE = CASES["zero_inference_offload"]
BLOOM = {
    "layers": 70, "hidden_dim": 14336, "heads": 112, "kv_heads": 112, "head_dim": 128, "gated": False, "experts": 1,
    "active_experts_per_token": 1, "moe_layers": 0, "expert_ffn_dim": 0, "vocab_size": 250880, "ffn_dim": 57344,
    "shared_ffn_dim": 0, "router_bias": False,
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "OPT-30B": {"model": "OPT_30B"},
    "OPT-175B": {"model": "OPT_175B"},
    "BLOOM-176B": BLOOM,
}


def tokens_per_second(name: str, bandwidth: float) -> float:
    """A replica of one V100 that reads all weights from the remote tier, at its full batch."""
    count = INFERENCE["measured"]["weights_GB"][name] * 1e9 / 2
    host: dict[str, Any] = {
        "peak_flops": {"fp16": 125}, "memory_bandwidth": 900, "memory_capacity": "32 GiB",
        "remote_bandwidth": bandwidth, "remote_capacity": "1500 GB",
    }  # fmt: skip
    design = MemoryDesign(name="host of a V100", **host)
    batch = INFERENCE["config"]["batch"][name]
    found = MemoryExpansionModel("serving", design=design).solve(
        **SHAPES[name], parameters=count, weights_offload=1, max_num_seqs=batch, num_replicas=1, precision="fp16",
        isl=10, osl=10, kv_page_size=1, layer_tax=0, node_bandwidth=150,
    )  # fmt: skip
    assert found["engine_slots"].magnitude == batch
    # A full engine takes the prompts of its batch, and then a decode step for each further token of it.
    answers = batch / found.canonical("replica_capacity") - batch * found.canonical("prompt_interval")
    return batch / (answers / found["answer_steps"])


#: Calibrated on OPT, one GPU: GB/s that weights arrive at from host memory and from NVMe.
ARRIVING = {"CPU": 10.2, "NVMe": 8.2}
SHARED = "GPUs share the ports and the memory of their host, which n times one GPU leaves out"
FASTER = "from NVMe this model came faster than OPT did"
COUNTED = "the page counts 328 and 335 GB, but 175 and 176 billion numbers of 16 bits are 349 and 353 GB"


def zero_inference() -> list[Check]:
    """Tokens per second with all weights on the host or on NVMe."""
    found = []
    for row, theirs in INFERENCE["measured"]["table4"].items():
        name, tier = row.split()
        one = tokens_per_second(name, ARRIVING[tier])
        for ranks, value in zip((1, 2, 4), theirs, strict=True):
            alone = FASTER if row == "BLOOM-176B NVMe" else "" if name == "OPT-30B" else COUNTED
            missed = SHARED if ranks > 1 else alone
            gpus = "1 GPU" if ranks == 1 else f"{ranks} GPUs"
            found.append(Check(f"{row}, {gpus}", value, ranks * one, 0.03, "token/s", None, missed))
    return found


PAPER = "Heo et al., Exploring Memory Expansion Designs for Training Mixture-of-Experts Models"
GROUPS = (
    Group(
        "memory_expansion_capacity",
        "Memory expansion: capacities",
        "Memory of one GPU by tier, DeepSpeed-MoE 1T on 256 GPUs. What was chosen knowing these numbers stands in "
        "[memory_expansion.md](../memory_expansion.md).",
        f"{PAPER}, table II",
        capacities,
    ),
    Group(
        "memory_expansion_slowdowns",
        "Memory expansion: slowdowns",
        "The two ratios the text quotes of eight simulated bars.",
        f"{PAPER}, section V",
        slowdowns,
    ),
    Group(
        "memory_expansion_claims",
        "Memory expansion: stated orderings",
        "1 where a statement of the text holds. Communication is said to exceed remote memory in most cases above "
        "512 GB/s; design 2 has exactly that.",
        f"{PAPER}, section V",
        claims,
    ),
    Group(
        "offloaded_host_memory",
        "Host memory of ZeRO-3 offload",
        "State on the host, times the 1.5 its estimators add for the start. Those of ZeRO-2 ask for four bytes per "
        "parameter and process while the model is built, which is no state of training.",
        "DeepSpeed's estimators (estimate_zero3_model_states_mem_needs)",
        host_memory,
    ),
    Group(
        "zero_inference",
        "ZeRO-Inference",
        "Tokens per second with all weights remote, V100 of 32 GB. One bandwidth per tier is calibrated on the two OPT "
        "models on one GPU, by the bytes that the page counts: 10.2 GB/s from host memory, 8.2 GB/s from NVMe. The "
        "other rows are checks; n GPUs are taken as n times one.",
        INFERENCE["source"],
        zero_inference,
    ),
)
