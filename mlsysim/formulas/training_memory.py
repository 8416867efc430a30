"""Training memory

Bytes resident on one accelerator in training: weights, gradients, optimizer state, activations kept for the backward
pass, and buffers of the collectives. ZeRO shards the first three over the data-parallel ranks, one more with each
stage; it never shards activations, because each data-parallel rank has its own sequences.
"""

from __future__ import annotations

from typing import Any

from sympy import Eq, Le, Piecewise, Rational, ceiling, log

from mlsysim.formulas import (
    activations as activation_formulas,
)
from mlsysim.formulas import (
    mixers,
    moe_routing,
    number_formats,
    optimizer_states,
    parameter_counts,
    rank_parameters,
    routed_activations,
    step_moments,
    trained_parameters,
)
from mlsysim.formulas.optimizer_states import per_parameter
from mlsysim.symbolic import (
    Example,
    Formula,
    Max,
    Min,
    NormalCDF,
    Source,
    System,
    by_label,
    byte,
    label,
    sharded,
    swapped,
    token,
    when,
)
from mlsysim.symbols.formats import q_a, q_w
from mlsysim.symbols.fsdp import M_report, M_usable
from mlsysim.symbols.hardware import M_cap
from mlsysim.symbols.iteration import M_drv
from mlsysim.symbols.training import (
    A,
    C_buf,
    G,
    M,
    M_ctx,
    O,
    P_r,
    W,
    Z,
    b,
    bucket,
    c_act,
    checkpointing,
    d,
    e,
    ell,
    f,
    feasible,
    fit,
    fit_probability,
    g,
    m,
    memory_margin,
    memory_reading,
    memory_spread,
    memory_utilization,
    o,
    optimizer,
    p,
    q_g,
    r_pool,
    t,
)
from mlsysim.symbols.workload import L, P, h, q, s


def _read(each: str) -> Any:
    """Condition that users of the stack read this memory figure."""
    return Eq(memory_reading, label(memory_reading, each))


#: Memory that the driver gives to programs; all that it shows where that is not known.
DRIVER_MEMORY = when(M_drv > 0, M_drv, M_cap)

ZERO = Source("rajbhandari2020", "section 5")
TUTORIAL = Source("mlsysim_tutorial", "section 1")
RANK = "The rank that holds the most; GB = 1e9 bytes."

parameters_per_rank = Formula(
    P_r,
    P / (t * p * e),
    title="Parameters per rank",
    source=TUTORIAL,
    variant="first_order",
    assumes="Parameters split evenly over tensor, pipeline and expert ranks; with experts this also "
    "divides the dense weights by e, which is too low (Mixtral 8x7B at e = 8: 5.84e9 against 7.24e9, 19% low).",
    convention=RANK,
    example=Example({P: 46.7e9, t: 2, p: 4, e: 8}, "7.297e8", derived="46.7e9 / (2 * 4 * 8)"),
)

weights = Formula(
    W,
    q * P_r / sharded(Z >= 3, d),
    title="Weights held by one rank",
    source=ZERO,
    variant="first_order",
    assumes="One copy in the training precision; the fp32 master copy counts as optimizer state.",
    convention=RANK,
    example=Example({P_r: 8.03e9, q: 2, d: 8, Z: 2}, "16.06 GB", TUTORIAL),
)

gradients = Formula(
    G,
    q * f * P_r / sharded(Z >= 2, d),
    title="Gradients held by one rank",
    source=ZERO,
    variant="first_order",
    assumes="Gradients are kept in the training precision, for trained parameters only.",
    convention=RANK,
    example=Example({P_r: 8.03e9, q: 2, f: 1, d: 8, Z: 2}, "2.01 GB", TUTORIAL),
)

stored_weights = Formula(
    W,
    q_w * P_r / sharded(Z >= 3, d),
    title="Weights held by one rank, in the format they are kept in",
    source=ZERO,
    variant="korthikanti",
    convention=RANK,
    example=Example({P_r: 8.03e9, q_w: 2, d: 8, Z: 2}, "16.06 GB", TUTORIAL),
)

stored_gradients = Formula(
    G,
    q_g * f * P_r / sharded(Z >= 2, d),
    title="Gradients held by one rank, in the format they are kept in",
    source=Source("korthikanti2023", "section 4"),
    variant="korthikanti",
    assumes="Megatron-LM keeps gradients in 32 bit: 18 bytes per parameter with weights and Adam, not 16.",
    convention=RANK,
    example=Example({P_r: 8.03e9, q_g: 4, f: 1, d: 8, Z: 2}, "4.015 GB", derived="4 * 8.03e9 / 8 / 1e9"),
)

optimizer_bytes = Formula(
    o,
    per_parameter(4 * byte, 4 * byte),
    title="Optimizer state per trained parameter",
    source=Source("rajbhandari2020", "section 3.1"),
    variant="first_order",
    assumes="Mixed precision: an fp32 master copy, and for Adam two fp32 moments.",
    example=Example({optimizer: "adam"}, "12 byte", Source("rajbhandari2020", "section 3.1")),
)

optimizer_state = Formula(
    O,
    o * f * P_r / sharded(Z >= 1, d),
    title="Optimizer state held by one rank",
    source=ZERO,
    variant="first_order",
    convention=RANK,
    example=Example({P_r: 7.5e9, o: 12, f: 1, d: 64, Z: 1}, "1.4 GB", Source("rajbhandari2020", "figure 1: 31.4 - 30")),
)

local_micro_batch = Formula(
    m,
    ceiling(b / (d * g)),
    title="Sequences one rank holds at once",
    source=TUTORIAL,
    assumes="A global batch that does not divide is rounded up, never dropped; at least one, as b >= 1.",
    convention="The rank that holds the most.",
    example=Example({b: 8, d: 8, g: 1}, "1", TUTORIAL),
)

layers_per_stage = Formula(
    ell,
    ceiling(L / p),
    title="Layers of the fullest pipeline stage",
    source=TUTORIAL,
    variant="first_order",
    convention="The stage that holds the most.",
    example=Example({L: 32, p: 1}, "32", TUTORIAL),
)

activation_bytes = Formula(
    c_act,
    by_label(
        checkpointing,
        {"none": 34 * byte / token, "selective": 10 * byte / token, "full": 2 * byte / token},
    ),
    title="Activation bytes per layer, token and unit of width",
    source=TUTORIAL,
    variant="first_order",
    assumes="34 leaves out the attention matrices (5 a s / h more) and 10 for selective has no published "
    "derivation: Korthikanti et al. (2023, table 2) keep 34 after recomputing attention, "
    "3.4 times as much.",
    convention="At 16 bit; scaled by q / 2 bytes elsewhere.",
    no_example="a table of labels; the activations formula carries the example",
)

activations = Formula(
    A,
    c_act * (q / (2 * byte)) * ell * m * s * h,
    title="Activations kept for the backward pass",
    source=TUTORIAL,
    variant="first_order",
    assumes="Every layer keeps the same; logits, embeddings and in-flight micro-batches of a pipeline "
    "are not counted; tensor parallelism does not shard them.",
    convention=RANK,
    example=Example({c_act: 10, q: 2, ell: 32, m: 1, s: 2048, h: 4096}, "2.68 GB", TUTORIAL),
)

communication_buffers = Formula(
    C_buf,
    bucket * G + when(p > 1, 2 * m * (s / token) * h * q),
    title="Buffers of the collectives",
    source=TUTORIAL,
    variant="first_order",
    assumes="The gradient bucket is a fixed share of the gradients; a pipeline stage keeps one send and one "
    "receive buffer of hidden states.",
    convention=RANK,
    example=Example({bucket: 0.05, G: 2.0075, p: 1, m: 1, s: 2048, h: 4096, q: 2}, "0.100 GB", TUTORIAL),
)

hidden_buffers = Formula(
    C_buf,
    bucket * G + when(p > 1, 2 * m * (s / token) * h * q_a),
    title="Buffers of the collectives, in the format of hidden states",
    source=TUTORIAL,
    variant="korthikanti",
    convention=RANK,
    example=Example({bucket: 0.05, G: 2.0075, p: 1, m: 1, s: 2048, h: 4096, q_a: 2}, "0.100 GB", TUTORIAL),
)

total_memory = Formula(
    M,
    W + G + O + A + C_buf,
    title="Training memory of one rank",
    source=TUTORIAL,
    variant="first_order",
    assumes="No allocator reserve, no fragmentation, no framework context.",
    convention=RANK,
    example=Example({W: 16.06, G: 2.0075, O: 12.045, A: 2.684354560, C_buf: 0.100375}, "32.90 GB", TUTORIAL),
)

utilization_of_memory = Formula(
    memory_utilization,
    M / M_cap,
    title="Share of the memory used",
    source=TUTORIAL,
    variant="training_memory",
    convention="Capacity as the data sheet prints it: H100 80 GB is 80 GiB of HBM here.",
    example=Example({M: 32.90, M_cap: 85.899}, "0.3830", derived="32.90 / 85.899"),
)

fits = Formula(
    feasible,
    Le(M, M_cap),
    title="Whether it fits",
    source=TUTORIAL,
    variant="training_memory",
    example=Example({M: 32.90, M_cap: 85.899}, "True", TUTORIAL),
)

usable_memory = Formula(
    M_usable,
    Max(0, DRIVER_MEMORY - M_ctx),
    title="Memory that the allocator can have",
    source=Source("pytorch_allocator", "memory management"),
    variant="per_operator",
    assumes="What the driver gives to programs, less contexts.",
    convention="GB = 1e9 bytes.",
    example=Example({M_cap: 85.52, M_drv: 85.06, M_ctx: 0.5}, "84.56 GB", derived="85.06 - 0.5"),
)

utilization_of_usable = Formula(
    memory_utilization,
    M / M_usable,
    title="Share of the memory used, of what programs can have",
    source=TUTORIAL,
    variant="per_operator",
    example=Example({M: 32.90, M_usable: 84.56}, "0.3891", derived="32.90 / 84.56"),
)

fits_usable = Formula(
    feasible,
    Le(M, M_usable),
    title="Whether it fits what programs can have",
    source=TUTORIAL,
    variant="per_operator",
    example=Example({M: 32.90, M_usable: 84.56}, "True", derived="32.90 <= 84.56"),
)

reported_memory = Formula(
    M_report,
    Min(
        M * (1 + when(_read("allocated"), 0, r_pool)) + when(_read("device"), M_ctx, 0),
        DRIVER_MEMORY - when(_read("device"), 0, M_ctx),
    ),
    title="Memory that users of the stack read",
    source=Source("pytorch_allocator", "memory management"),
    variant="per_operator",
    assumes="PyTorch reports what lives and what its allocator has reserved; nvidia-smi shows contexts beside.",
    convention="Megatron-LM, Hugging Face and torchtune print what is allocated, torchtitan what is reserved; users of "
    "DeepSpeed read the device.",
    example=Example(
        {M: 24.2, memory_reading: "device", r_pool: 0, M_ctx: 1.75, M_drv: 0, M_cap: 34.09},
        "25.95 GB",
        derived="24.2 + 1.75",
    ),
)

#: A verdict is wrong once in so many times at most.
_DOUBT = Rational(1, 20)

room_left = Formula(
    memory_margin,
    M_usable - M,
    title="Memory that is left",
    source=TUTORIAL,
    convention=RANK,
    example=Example({M_usable: 85.899, M: 32.90}, "53.00 GB", derived="85.899 - 32.90"),
)

probability_of_fit = Formula(
    fit_probability,
    when(memory_spread > 0, NormalCDF(log(M_usable / M) / memory_spread), when(M_usable >= M, 1)),
    title="Probability that a run fits",
    source=Source("jcgm2008", "section 7"),
    assumes="Logarithms of measured over computed memory are normal around zero; their spread is that of the stack's "
    "residuals, on the runs it was measured with.",
    example=Example(
        {M_usable: 80, M: 75, memory_spread: 0.05}, "0.9016", derived="(1 + erf(log(80 / 75) / (0.05 * sqrt(2)))) / 2"
    ),
)

verdict = Formula(
    fit,
    Piecewise(
        (label(fit, "fits"), fit_probability >= 1 - _DOUBT),
        (label(fit, "does not fit"), fit_probability <= _DOUBT),
        (label(fit, "too close to call"), True),
    ),
    title="Whether a run fits, or is too close to call",
    source=Source("jcgm2008", "section 7"),
    assumes="A verdict is given where it is wrong one time in twenty at most.",
    example=Example({fit_probability: 0.90}, "too close to call", derived="0.05 < 0.90 < 0.95"),
)

FIRST_ORDER = (
    parameters_per_rank,
    weights,
    gradients,
    optimizer_bytes,
    optimizer_state,
    local_micro_batch,
    layers_per_stage,
    activation_bytes,
    activations,
    communication_buffers,
    total_memory,
    utilization_of_memory,
    fits,
)
STORED = (stored_weights, stored_gradients, hidden_buffers)
VERDICT = (usable_memory, utilization_of_usable, fits_usable, reported_memory, room_left, probability_of_fit, verdict)
FORMULAS = (*FIRST_ORDER, *STORED, *VERDICT)

#: Memory of a rank, operator by operator.
PER_OPERATOR = System(
    swapped(
        number_formats.FIRST_ORDER + FIRST_ORDER,
        (
            *number_formats.TRAINING,
            *mixers.STORED,
            *mixers.SHARDED,
            *mixers.ADAPTED,
            *mixers.SAVED,
            *parameter_counts.FORMULAS,
            *rank_parameters.FORMULAS,
            *trained_parameters.FORMULAS,
            *optimizer_states.FORMULAS,
            *moe_routing.CAPACITIES,
            *routed_activations.FORMULAS,
            *activation_formulas.PER_OPERATOR_FORMULAS,
            *VERDICT,
            *step_moments.FORMULAS,
        ),
        dropped=("activation_bytes", "bytes_per_element"),
    )
)
