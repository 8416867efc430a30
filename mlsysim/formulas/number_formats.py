"""Number formats

Bytes per number, by its use. A precision is a preset of formats for products, weights, activations, gradients, tokens
on the wire, and keys and values; each format can also be set directly. Formats with scales include them: a block of g
numbers with scales of b bytes takes b / g more per number.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sympy import And, Eq, Or, Piecewise, Rational, Symbol

from mlsysim.formats import (
    ACTIVATION_FORMATS,
    BITS,
    GGUF,
    GGUF_MIXED,
    GRADIENT_FORMATS,
    PRESETS,
    STORED,
    STORED_WEIGHT,
)
from mlsysim.formulas.mixers import elements, summed
from mlsysim.formulas.parameter_counts import block_matrices
from mlsysim.symbolic import Example, Formula, Max, Min, Source, by_label, byte, label, variable_of, when
from mlsysim.symbols.formats import (
    AS_PRECISION,
    activation_dtype,
    combine_dtype,
    compute_dtype,
    dispatch_dtype,
    gradient_dtype,
    kv_cache_dtype,
    q_a,
    q_c,
    q_comb,
    q_disp,
    q_e,
    q_er,
    q_exp,
    q_head,
    q_in,
    q_kv,
    q_l,
    q_o,
    q_s,
    q_u,
    q_w,
    reduce_dtype,
    saved_dtype,
    weight_dtype,
)
from mlsysim.symbols.parameters import P_exp
from mlsysim.symbols.step import q_red
from mlsysim.symbols.trained import finetuning, q_full
from mlsysim.symbols.training import q_g
from mlsysim.symbols.workload import d_e, gated, h_e, precision, q

MICIKEVICIUS = Source("micikevicius2018", "section 3")
DEEPSEEK = Source("deepseek2024", "section 3.3")


def _bytes(name: str, stored: Mapping[str, Fraction] = STORED) -> Any:
    """Bytes per number in a storage format."""
    found = stored[name]
    return Rational(found.numerator, found.denominator) * byte


def _by_preset(part: str, stored: Mapping[str, Fraction] = STORED) -> Any:
    """Bytes per number in each preset's format."""
    return by_label(precision, {name: _bytes(getattr(preset, part), stored) for name, preset in PRESETS.items()})


def _unless_given(dtype: Symbol, otherwise: Any, stored: Mapping[str, Fraction] = STORED) -> Any:
    """Bytes per number in the given format, or else in another."""
    named = {name: _bytes(name, stored) for name in variable_of(dtype).domain.labels if name != AS_PRECISION}
    return by_label(dtype, {AS_PRECISION: otherwise, **named})


def _as_given(dtype: Symbol, part: str, stored: Mapping[str, Fraction] = STORED) -> Any:
    """Bytes per number in the given format, or else in the preset's."""
    return _unless_given(dtype, _by_preset(part, stored), stored)


def _gradient(dtype: Symbol) -> Any:
    """Bytes per accumulated weight gradient."""
    return by_label(
        dtype,
        {
            AS_PRECISION: _by_preset("gradient"),
            **{name: _bytes(name) for name in GRADIENT_FORMATS},
            "both": q_a + 4 * byte,
        },
    )


def _reduced(dtype: Symbol) -> Any:
    """Bytes per weight gradient on the wire."""
    own = ((preset.reduce, name) for name, preset in PRESETS.items() if preset.reduce != preset.gradient)
    unless_given: Any = Eq(gradient_dtype, label(gradient_dtype, AS_PRECISION))
    cases: list[Any] = [(_bytes(name), Eq(dtype, label(dtype, name))) for name in ACTIVATION_FORMATS]
    for kind, name in own:
        chosen: Any = Eq(precision, label(precision, name))
        cases.append((_bytes(kind), And(chosen, unless_given)))
    return Piecewise(*cases, (q_a, Eq(gradient_dtype, label(gradient_dtype, "both"))), (q_g, True))


def _unscaled(name: str) -> Any:
    """Bytes per number without scales."""
    return Rational(BITS[name], 8) * byte


bytes_per_element = Formula(
    q,
    by_label(precision, {name: _unscaled(preset.served) for name, preset in PRESETS.items()}),
    title="Bytes per number",
    source=MICIKEVICIUS,
    variant="first_order",
    assumes="Everything is kept in one format, that of served weights. Scales and zero points are not counted.",
    convention="Memory footprint; the arithmetic rate of a format is a property of the device.",
    example=Example({precision: "fp16"}, "2 byte", Source("rajbhandari2020", "section 3.1")),
)

_trained = _as_given(weight_dtype, "trained", STORED_WEIGHT)
_quantised: Any = Eq(finetuning, label(finetuning, "qlora"))
_not_given: Any = Eq(weight_dtype, label(weight_dtype, AS_PRECISION))

trained_weight_bytes = Formula(
    q_w,
    _trained,
    title="Bytes of a weight in training",
    source=MICIKEVICIUS,
    variant="training",
    assumes="16 bit also where products are narrower: Transformer Engine casts weights for each product, and its casts "
    "are not counted. DeepSeek-V3 keeps 8 bits with scales beside fp32 masters.",
    example=Example(
        {weight_dtype: "as_precision", precision: "fp8"}, "2 byte", Source("micikevicius2022", "section 3")
    ),
)

full_weight_bytes = Formula(
    q_full,
    _trained,
    title="Bytes of a weight where all are trained",
    source=MICIKEVICIUS,
    example=Example({weight_dtype: "as_precision", precision: "bf16"}, "2 byte", derived="16 / 8"),
)

finetuned_weight_bytes = Formula(
    q_w,
    when(And(_quantised, _not_given), _bytes("nf4"), q_full),
    title="Bytes of a weight in training, frozen or not",
    source=Source("dettmers2023", "section 3"),
    variant="finetuning",
    assumes="QLoRA keeps frozen weights as nf4: blocks of 64 with a scale of one byte, itself scaled in fp32 once in "
    "256 blocks, 4.127 bits a weight; wide only for the product at work.",
    example=Example(
        {finetuning: "qlora", weight_dtype: "as_precision", q_full: 2},
        "0.515869140625 byte",
        derived="1 / 2 + (1 + 4 / 256) / 64",
    ),
)

served_weight_bytes = Formula(
    q_w,
    _as_given(weight_dtype, "served", STORED_WEIGHT),
    title="Bytes of a weight in a replica",
    source=Source("lin2024", "section 5.1"),
    variant="serving",
    assumes="As the checkpoint stores them: w4a16 in groups of 128 with an fp16 scale and a zero point of four bits, "
    "mxfp4 in blocks of 32 with a scale of one byte, 8-bit formats with one scale per tensor or channel.",
    example=Example(
        {weight_dtype: "as_precision", precision: "w4a16"}, "0.51953125 byte", derived="1 / 2 + (2 + 1 / 2) / 128"
    ),
)

embedding_bytes = Formula(
    q_e,
    Max(q_w, 2 * byte),
    title="Bytes of a weight of embedding or head",
    source=DEEPSEEK,
    variant="training",
    assumes="Quantised checkpoints and 8-bit training keep both at 16 bit.",
    example=Example({q_w: 0.51953125}, "2 byte", derived="max(0.51953125, 2)"),
)


def _served_as(name: str) -> Any:
    """Condition that weights are served in a format that is also a precision."""
    chosen: Any = Eq(precision, label(precision, name))
    given: Any = Eq(weight_dtype, label(weight_dtype, name))
    return Or(given, And(_not_given, chosen))


served_embedding_bytes = Formula(
    q_e,
    Piecewise((q_w, Or(*map(_served_as, GGUF))), (Max(q_w, 2 * byte), True)),
    title="Bytes of a weight of embedding or head in a replica",
    source=DEEPSEEK,
    variant="serving",
    assumes="Quantised checkpoints keep both at 16 bit; files of llama.cpp have the embedding as other weights.",
    example=Example({q_w: 0.5625, weight_dtype: "q4_0", precision: "bf16"}, "0.5625 byte", derived="0.5 + 2 / 32"),
)

_expert = summed(block_matrices(1, d_e, h_e), elements)

expert_weight_bytes = Formula(
    q_er,
    when(q_exp > 0, (q_exp * _expert + q_w * Max(0, P_exp - _expert)) / Max(1, P_exp), q_w),
    title="Bytes of a parameter of a routed expert",
    source=Source("openai2025", "section 2.1"),
    assumes="Matrices as the checkpoint stores them, biases as other weights.",
    example=Example(
        {q_w: 2, q_exp: 0.53125, h_e: 2880, d_e: 2880, gated: 1, P_exp: 24891840},
        "0.53176 byte",
        derived="(0.53125 * 3 * 2880**2 + 2 * 3 * 2880) / 24891840",
    ),
)

logit_weight_bytes = Formula(
    q_l,
    Piecewise((q_head, q_head > 0), (_bytes("q6_k"), Or(*map(_served_as, GGUF_MIXED))), (q_e, True)),
    title="Bytes of a weight that gives logits",
    source=DEEPSEEK,
    assumes="As the embedding, unless the checkpoint stores the head otherwise: mixed files of llama.cpp in six bits.",
    example=Example(
        {q_head: 0.5625, q_e: 2, weight_dtype: "as_precision", precision: "bf16"},
        "0.5625 byte",
        derived="1 / 2 + 1 / 16",
    ),
)

hidden_bytes = Formula(
    q_a,
    _as_given(activation_dtype, "activation"),
    title="Bytes of a hidden state",
    source=Source("micikevicius2022", "section 3"),
    example=Example(
        {activation_dtype: "as_precision", precision: "fp8"}, "2 byte", Source("deepseek2024", "section 3.3")
    ),
)

product_bytes = Formula(
    q_c,
    _as_given(compute_dtype, "compute"),
    title="Bytes of a number in the format of the products",
    source=DEEPSEEK,
    assumes="Tiles of 128 numbers with an fp32 scale where DeepSeek-V3 multiplies; one scale per tensor for fp8.",
    convention="The peak rate is that of this format, where the device has one.",
    example=Example({compute_dtype: "as_precision", precision: "fp8_deepseek"}, "1.03125 byte", derived="1 + 4 / 128"),
)

gathered_weight_bytes = Formula(
    q_u,
    Min(q_w, Max(q_c, 2 * byte)),
    title="Bytes of a weight as it is gathered",
    source=Source("zhao2023", "section 4.4"),
    assumes="Shards that are kept wider than products are computed are cast before they travel; 16 bit at least, "
    "unless they are kept narrower.",
    example=Example({q_w: 4, q_c: 2}, "2 byte", derived="min(4, max(2, 2))"),
)

product_input_bytes = Formula(
    q_in,
    Min(q_a, q_c),
    title="Bytes of an input that a product keeps",
    source=DEEPSEEK,
    assumes="What a narrow product reads is kept as it was read.",
    example=Example({q_a: 2, q_c: 1.03125}, "1.03125 byte", derived="min(2, 1.03125)"),
)

saved_bytes = Formula(
    q_s,
    _as_given(saved_dtype, "saved"),
    title="Bytes of an input that a recomputed activation function keeps",
    source=DEEPSEEK,
    assumes="As other activations, but for DeepSeek-V3: 8 bits with scales.",
    example=Example({saved_dtype: "as_precision", precision: "fp8_deepseek"}, "1.03125 byte", derived="1 + 4 / 128"),
)

attention_output_bytes = Formula(
    q_o,
    _as_given(saved_dtype, "attention"),
    title="Bytes of a number that attention gives, as it is kept",
    source=DEEPSEEK,
    assumes="As other activations, but for DeepSeek-V3: twelve bits, whose scales are not counted.",
    example=Example({saved_dtype: "as_precision", precision: "fp8_deepseek"}, "1.5 byte", derived="12 / 8"),
)

gradient_bytes = Formula(
    q_g,
    _gradient(gradient_dtype),
    title="Bytes of one gradient",
    source=Source("korthikanti2023", "section 4"),
    assumes="Megatron-LM accumulates in 32 bit, and so does 8-bit training; DeepSpeed keeps a 32-bit copy beside the "
    "16-bit gradients.",
    example=Example({gradient_dtype: "both", q_a: 2, precision: "bf16"}, "6 byte", derived="2 + 4"),
)

reduced_bytes = Formula(
    q_red,
    _reduced(reduce_dtype),
    title="Bytes of a gradient on the wire",
    source=Source("narayanan2021", "section 3.3"),
    assumes="The format they are kept in, of two the narrower. DeepSeek-V3 reduces in bf16 what it keeps in fp32.",
    example=Example(
        {reduce_dtype: "as_gradients", gradient_dtype: "fp32", precision: "bf16", q_a: 2, q_g: 4},
        "4 byte",
        derived="32 / 8",
    ),
)

kv_cache_bytes = Formula(
    q_kv,
    _as_given(kv_cache_dtype, "kv_cache"),
    title="Bytes of a number of the KV cache",
    source=Source("kwon2023", "section 3"),
    assumes="16 bit beside narrow weights but for w8a8, which caches in fp8 too.",
    example=Example({kv_cache_dtype: "fp8", precision: "bf16"}, "1 byte", derived="8 / 8"),
)

dispatch_element_bytes = Formula(
    q_disp,
    _as_given(dispatch_dtype, "dispatch"),
    title="Bytes of a number sent to an expert",
    source=Source("deepseek2024", "section 3.3.3"),
    example=Example({dispatch_dtype: "as_precision", precision: "fp8_deepseek"}, "1.03125 byte", derived="1 + 4 / 128"),
)

combine_element_bytes = Formula(
    q_comb,
    _as_given(combine_dtype, "combine"),
    title="Bytes of a number sent back from an expert",
    source=Source("deepseek2024", "section 3.3.3"),
    example=Example(
        {combine_dtype: "as_precision", precision: "fp8_deepseek"}, "2 byte", Source("deepseek2024", "section 3.3.3")
    ),
)

FIRST_ORDER = (bytes_per_element,)
EXCHANGED = (dispatch_element_bytes, combine_element_bytes)
FACTORS = (served_weight_bytes, hidden_bytes, product_bytes, product_input_bytes)
KEPT = (trained_weight_bytes, hidden_bytes, gradient_bytes)
TRAINING = (
    full_weight_bytes,
    finetuned_weight_bytes,
    embedding_bytes,
    hidden_bytes,
    product_bytes,
    gathered_weight_bytes,
    product_input_bytes,
    saved_bytes,
    attention_output_bytes,
    gradient_bytes,
)
SERVING = (
    served_weight_bytes,
    served_embedding_bytes,
    expert_weight_bytes,
    logit_weight_bytes,
    product_bytes,
    kv_cache_bytes,
)
FORMULAS = (
    *FIRST_ORDER,
    trained_weight_bytes,
    full_weight_bytes,
    finetuned_weight_bytes,
    served_weight_bytes,
    embedding_bytes,
    served_embedding_bytes,
    expert_weight_bytes,
    logit_weight_bytes,
    hidden_bytes,
    product_bytes,
    gathered_weight_bytes,
    product_input_bytes,
    saved_bytes,
    attention_output_bytes,
    gradient_bytes,
    reduced_bytes,
    kv_cache_bytes,
    *EXCHANGED,
)
