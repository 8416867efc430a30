"""Tutorial in a terminal: three questions, their tables, their formulas, and the exercises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlsysim import formatting, show
from mlsysim.cli import output
from mlsysim.cli.words import command_line
from mlsysim.models import (
    EconomicsModel,
    MoERoutingModel,
    PerformanceModel,
    ServingCapacityModel,
    TrainingMemoryModel,
)
from mlsysim.progress import looped
from mlsysim.study.results.display import as_text
from mlsysim.study.results.result import Result
from mlsysim.symbolic import variable_of

COMPONENTS = {
    "Weights": "weights",
    "Gradients": "gradients",
    "Optimizer": "optimizer_state",
    "Activations": "activations",
    "Buffers": "communication_buffers",
    "Total": "total_memory",
}
QUESTIONS = (
    "1. Why does training need much more memory than inference?",
    "2. How many replicas hold a QPS and a P99 target?",
    "3. How much does hot-expert imbalance change the communication cost?",
)
IMBALANCES = (1.0, 1.25, 1.5, 2.0)
LOADS = (20, 40, 80, 160, 320)
LEFT_OUT: tuple[tuple[type[PerformanceModel], str], ...] = (
    (TrainingMemoryModel, "activation_bytes"),
    (TrainingMemoryModel, "activations"),
    (ServingCapacityModel, "per_replica_qps_capacity"),
)


def run() -> None:
    """Print the whole tutorial, with every number computed now."""
    output.heading("Training memory, serving capacity and MoE routing: the tutorial, with the formulas behind it")
    output.paragraph("Its three questions are answered by first_order; under each table stands the measured variant.")
    parts = (
        training_memory,
        serving_capacity,
        moe_routing,
        zero_stages,
        more_output_tokens,
        left_out,
        measured_variants,
        from_fit_to_cost,
    )
    for part in looped(parts):
        part()


def training_memory() -> None:
    """Print question 1: memory of one model in training on one accelerator."""
    _question(QUESTIONS[0], TrainingMemoryModel)
    memory = memory_table()
    measured_beside(memory)
    _formulas(memory, (*COMPONENTS.values(), "feasible"))


def memory_table() -> Result:
    """Print the answer to question 1."""
    memory = TrainingMemoryModel.solve_example()
    show.table(["Component", "Per-GPU Memory"], [[label, memory[name]] for label, name in COMPONENTS.items()])
    print(f"Fits on H100: {memory.feasible}")
    return memory


def serving_capacity() -> None:
    """Print question 2: replicas for a request rate and a latency target."""
    _question(QUESTIONS[1], ServingCapacityModel)
    names = ("required_replicas", "qps_capacity", "utilization", "estimated_p99_latency", "bottleneck")
    capacity = capacity_table()
    measured_beside(capacity)
    _formulas(capacity, names)


def capacity_table() -> Result:
    """Print the answer to question 2."""
    capacity = ServingCapacityModel.solve_example()
    print(f"Required replicas: {capacity.required_replicas}")
    print(f"Capacity:          {capacity.qps_capacity:.1f} QPS")
    print(f"Utilization:       {capacity.utilization:.1%}")
    print(f"Estimated P99:     {capacity.estimated_p99_latency:~.1f}")
    print(f"Bottleneck:        {capacity.bottleneck}")
    return capacity


def moe_routing() -> None:
    """Print question 3: cost of unbalanced experts."""
    _question(QUESTIONS[2], MoERoutingModel)
    results = imbalance_table()
    explained = MoERoutingModel.example["routing_imbalance_factor"]
    measured_beside(results[explained])
    _formulas(
        results[explained],
        ("effective_active_experts", "token_dispatch_bytes", "all_to_all_latency"),
        f" of the row with imbalance {formatting.number(explained)}",
    )


def imbalance_table() -> dict[float, Result]:
    """Print the answer to question 3, by imbalance."""
    results = {gamma: MoERoutingModel.solve_example(routing_imbalance_factor=gamma) for gamma in IMBALANCES}
    rows = [
        [gamma, f"{routing.effective_active_experts:.2f}", routing.token_dispatch_bytes, routing.all_to_all_latency]
        for gamma, routing in results.items()
    ]
    show.table(["Imbalance", "Effective Experts", "Routed Bytes", "All-to-All"], rows)
    return results


def measured_beside(result: Result) -> None:
    """Print the measured variant's answer if the tutorial's is far off."""
    for note in result.notes:
        if note.startswith(f"{result.model.measured()},"):
            output.paragraph(note)


def zero_stages() -> None:
    """Print the exercise on ZeRO stages 0 to 3."""
    _heading("Exercise: ZeRO stage 0 to 3")
    stages = [TrainingMemoryModel.solve_example(zero_stage=stage) for stage in range(4)]
    rows = [[label, *(memory[name] for memory in stages)] for label, name in COMPONENTS.items()]
    show.table(["Component", *(f"ZeRO {memory.zero_stage}" for memory in stages)], rows)
    print()
    output.paragraph(_shrinking(stages))
    print()
    needed = stages[0].model.system.closure(["activations"]).inputs
    output.paragraph(
        "Weights, gradients and optimizer state are the same on every data-parallel rank, so each of the "
        f"{stages[0].dp_size} ranks can keep one share of them; the buffers are a share of the gradients. Activations "
        "belong to the sequences of one rank and no other rank has a copy that could be dropped. Their formula "
        f"depends on {', '.join(v.name for v in needed)}, and not on zero_stage."
    )


def more_output_tokens() -> None:
    """Print the exercise with twice the output tokens."""
    tokens = ServingCapacityModel.example["output_tokens"]
    before, after, further = (ServingCapacityModel.solve_example(output_tokens=factor * tokens) for factor in (1, 2, 4))
    _heading(f"Exercise: {tokens} output tokens become {2 * tokens}")
    both = (before, after)
    rows = [
        ["Required replicas", *(result.required_replicas for result in both)],
        ["Capacity", *(f"{result.qps_capacity:.1f} QPS" for result in both)],
        ["Utilization", *(f"{result.utilization:.1%}" for result in both)],
        ["Base latency", *(f"{result.base_request_latency:~.1f}" for result in both)],
        ["Queue wait, P99", *(f"{result.queue_wait_p99:~.1f}" for result in both)],
        ["Estimated P99", *(f"{result.estimated_p99_latency:~.1f}" for result in both)],
        ["Bottleneck", *(result.bottleneck for result in both)],
    ]
    show.table(["", *(f"{n} tokens" for n in (tokens, 2 * tokens))], rows)
    print()
    rates = [result.per_replica_qps_capacity for result in both]
    output.paragraph(
        f"Base latency, that of a request that does not queue, goes from {before.base_request_latency:~.1f} to "
        f"{after.base_request_latency:~.1f}: {tokens} more decode steps of {before.itl:~.2f} each, while the time to "
        f"the first token stays at {before.ttft:~.1f}. Replicas do not change it."
    )
    print()
    output.paragraph(
        f"Queueing latency depends on how close the arrivals come to the capacity. One replica completes "
        f"{rates[0]:.1f} requests per second at {tokens} tokens and {rates[1]:.1f} at {2 * tokens}. "
        + " ".join(_with_replicas(n, 2 * tokens) for n in dict.fromkeys(result.replicas for result in both))
    )
    print()
    output.paragraph(f"{_verdict(after)} {_verdict(further)}")
    print()
    output.paragraph(
        "The least whole number of replicas that leaves the wait enough of the target is not proportional to the "
        "tokens. By load:"
    )
    print()
    show.table(["QPS", *(f"{n} tokens" for n in (tokens, 2 * tokens)), "Ratio"], [_replicas(load) for load in LOADS])


def left_out() -> None:
    """List the omissions of the first-order forms, in the words of the formulas."""
    _heading("What the first-order form leaves out")
    for model, name in LEFT_OUT:
        formula = model().system[name]
        output.heading(f"{formula.title}  [{name}]")
        output.paragraph(formula.assumes, "  ")


def measured_variants() -> None:
    """Print the first two questions again, with variants that measurements confirm."""
    _heading("The same questions by the forms that measurements confirm")
    memory = {name: TrainingMemoryModel.solve_example(variant=name) for name in TrainingMemoryModel.variants}
    rows = [
        ["Activations", *(result.activations for result in memory.values())],
        ["Total", *(result.total_memory for result in memory.values())],
    ]
    show.table(["", *memory], rows)
    print()
    served = {name: ServingCapacityModel.solve_example(variant=name) for name in ServingCapacityModel.variants}
    rows = [
        ["One replica", *(f"{result.per_replica_qps_capacity:.1f} QPS" for result in served.values())],
        ["Required replicas", *(result.required_replicas for result in served.values())],
        ["Estimated P99", *(f"{result.estimated_p99_latency:~.1f}" for result in served.values())],
    ]
    show.table(["", *served], rows)
    print()
    output.paragraph(
        "How near each comes to what was measured: docs/validation.md. What they compute: formulas/variants.md."
    )


def from_fit_to_cost() -> None:
    """Print the tutorial's next step: memory, time and cost of a run as one system."""
    _question("From whether it fits to what it costs", EconomicsModel)
    found = EconomicsModel.solve_example()
    names = (
        "total_memory", "feasible", "step_time", "compute_time", "dp_time", "mfu", "duration", "energy", "total_cost",
        "cost_per_token",
    )  # fmt: skip
    show.table(["Output", "Value"], [[name, as_text(variable_of(name), found.canonical(name))] for name in names])
    _formulas(found, ("dp_time", "step_time", "duration", "total_cost"))


def _heading(text: str) -> None:
    print()
    output.heading(text)
    print()


def _question(text: str, model: type[PerformanceModel]) -> None:
    _heading(text)
    print(command_line(model, variant=next(iter(model.variants))))
    print()


def _formulas(result: Result, outputs: Sequence[str], which: str = "") -> None:
    _heading(f"Formulas{which}, with the numbers put in")
    output.block(str(result.explain(*outputs)))


def _shrinking(stages: Sequence[Result]) -> str:
    """Describe the stage from which each component shrinks."""
    first: dict[int, list[str]] = {}
    for label, name in COMPONENTS.items():
        values = [memory.canonical(name) for memory in stages]
        falls = [stage for stage in range(1, len(stages)) if values[stage] < values[stage - 1]]
        first.setdefault(falls[0] if falls else 0, []).append(label)
    never = first.pop(0, [])
    falling = "; ".join(f"{', '.join(first[stage])} from stage {stage}" for stage in sorted(first))
    return f"Shrinking: {falling}. Unchanged: {', '.join(never)}."


def _with_replicas(replicas: int, tokens: int) -> str:
    """Describe the queue with this number of replicas."""
    result = ServingCapacityModel.solve_example(output_tokens=tokens, max_replicas=replicas)
    return (
        f"With {_count(replicas)} the utilization at {tokens} tokens is {result.utilization:.1%} and "
        f"99% wait less than {result.queue_wait_p99:~.1f}: a P99 of {result.estimated_p99_latency:~.1f}, "
        f"{'within' if result.feasible else 'above'} the target of {result.target_p99_latency_ms:.0f} ms."
    )


def _verdict(result: Result) -> str:
    """Tell whether any number of replicas meets the target."""
    at = f"At {result.output_tokens:~.0f}s"
    base = f"base latency {result.base_request_latency:~.1f}"
    if result.feasible:
        return f"{at} ({base}) {_count(result.required_replicas)} will do."
    return (
        f"{at} ({base}) no number of replicas up to {result.max_replicas} meets the target of "
        f"{result.target_p99_latency_ms:.0f} ms; the bottleneck is {result.bottleneck}."
    )


def _replicas(load: float) -> list[Any]:
    tokens = ServingCapacityModel.example["output_tokens"]
    needed = [
        ServingCapacityModel.solve_example(qps=load, output_tokens=factor * tokens).required_replicas
        for factor in (1, 2)
    ]
    return [load, *needed, needed[1] / needed[0]]


def _count(replicas: int) -> str:
    return f"{replicas} replica{'' if replicas == 1 else 's'}"
