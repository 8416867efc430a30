"""Every group of checks, in the order the docs print them."""

from validation import (
    counted_activations,
    counted_operators,
    counted_routing,
    counted_tensors,
    published_collectives,
    published_counts,
    published_exchanges,
    published_finetuning,
    published_flops,
    published_iterations,
    published_kernels,
    published_memory,
    published_memory_expansion,
    published_one_pass,
    published_servers,
    published_serving,
    published_steps,
    simulated_queue,
)
from validation.checks import Group

GROUPS: tuple[Group, ...] = (
    *published_one_pass.GROUPS,
    *published_counts.GROUPS,
    *published_memory.GROUPS,
    *counted_tensors.GROUPS,
    *counted_activations.GROUPS,
    *counted_operators.GROUPS,
    *published_serving.GROUPS,
    *simulated_queue.GROUPS,
    *counted_routing.GROUPS,
    *published_kernels.GROUPS,
    *published_collectives.GROUPS,
    *published_exchanges.GROUPS,
    *published_flops.GROUPS,
    *published_iterations.GROUPS,
    *published_servers.GROUPS,
    *published_steps.GROUPS,
    *published_finetuning.GROUPS,
    *published_memory_expansion.GROUPS,
)
