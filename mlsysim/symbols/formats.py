"""Symbols of what numbers are stored, sent and multiplied in."""

from typing import Any

from mlsysim.formats import (
    ACTIVATION_FORMATS,
    COMPUTE_FORMATS,
    GRADIENT_FORMATS,
    KV_CACHE_FORMATS,
    SAVED_FORMATS,
    WEIGHT_FORMATS,
)
from mlsysim.symbolic import choice, nonnegative, positive, variable

#: The label that leaves a format to ``precision``.
AS_PRECISION = "as_precision"

weight_dtype = variable(
    "weight_dtype",
    r"\mathrm{weights\ in}",
    "",
    "Format weights are stored in; embedding and head have at least 16 bit.",
    choice(AS_PRECISION, *WEIGHT_FORMATS),
)
compute_dtype = variable(
    "compute_dtype",
    r"\mathrm{products\ in}",
    "",
    "Format of the products with weights, which chooses the peak rate.",
    choice(AS_PRECISION, *COMPUTE_FORMATS),
)
activation_dtype = variable(
    "activation_dtype",
    r"\mathrm{activations\ in}",
    "",
    "Format of hidden states and of activations that are no input of a product.",
    choice(AS_PRECISION, *ACTIVATION_FORMATS),
)
saved_dtype = variable(
    "saved_dtype",
    r"\mathrm{saved\ in}",
    "",
    "Format in which the inputs of a recomputed activation function and the output of attention are kept.",
    choice(AS_PRECISION, *SAVED_FORMATS),
)
gradient_dtype = variable(
    "gradient_dtype",
    r"\mathrm{gradients\ in}",
    "",
    "Format of stored weight gradients; both: as computed, with an additional fp32 copy.",
    choice(AS_PRECISION, *GRADIENT_FORMATS, "both"),
)
reduce_dtype = variable(
    "reduce_dtype",
    r"\mathrm{reduction\ in}",
    "",
    "Format of gradients on the wire; as_gradients: the one they are kept in, unless the precision says otherwise.",
    choice("as_gradients", *ACTIVATION_FORMATS),
)
kv_cache_dtype = variable(
    "kv_cache_dtype",
    r"\mathrm{cache\ in}",
    "",
    "Format of the keys and values that a replica keeps.",
    choice(AS_PRECISION, *KV_CACHE_FORMATS),
)
dispatch_dtype = variable(
    "dispatch_dtype",
    r"\mathrm{dispatch\ in}",
    "",
    "Format of tokens on their way to experts.",
    choice(AS_PRECISION, *KV_CACHE_FORMATS),
)
combine_dtype = variable(
    "combine_dtype",
    r"\mathrm{combine\ in}",
    "",
    "Format of tokens on their way back from experts.",
    choice(AS_PRECISION, *ACTIVATION_FORMATS),
)

q_u = variable("gathered_weight_bytes", r"q_{\mathrm{u}}", "byte", "Bytes of a weight as it is gathered.", positive())
q_w = variable("weight_bytes", r"q_{\mathrm{w}}", "byte", "Bytes of one weight as it is stored.", positive())
q_e = variable(
    "embedding_bytes",
    r"q_{\mathrm{e}}",
    "byte",
    "Bytes of one weight of the embedding or the head.",
    positive(),
    not_below=q_w,
)


def _stored(role: str, letter: str, what: str) -> Any:
    """Bytes of one number in the matrices of a part of the model."""
    return variable(
        f"{role}_bytes",
        rf"q_{{\mathrm{{{letter}}}}}",
        "byte",
        f"Bytes of one weight of {what}, scales included; 0: as weight_dtype says.",
        nonnegative(),
    )


q_mix = _stored("mixer", "mix", "the mixers")
q_ffn = _stored("dense", "ffn", "dense feed-forward blocks")
q_exp = _stored("expert", "exp", "routed experts")
q_sh = _stored("shared_expert", "sh", "shared experts")
q_head = _stored("head", "hd", "an output head of its own")
q_er = variable(
    "expert_weight_bytes",
    r"q_{\mathrm{er}}",
    "byte",
    "Bytes of one parameter of a routed expert as it is stored, mean over matrices and biases.",
    nonnegative(),
)
q_den = variable(
    "passed_weight_bytes",
    r"q_{\mathrm{den}}",
    "byte",
    "Bytes of one weight that every token passes through, mean over them.",
    nonnegative(),
)
q_x = variable(
    "widening_bytes",
    r"q_{\mathrm{x}}",
    "byte",
    "Bytes that are read in the time that widening one weight for its product takes, mean over those that every token "
    "passes through.",
    nonnegative(),
)
M_mix = variable(
    "mixer_matrix_elements",
    r"M_{\mathrm{mix}}",
    "count",
    "Elements of the matrices of all mixers, which a checkpoint may store in few bits.",
    nonnegative(),
)
q_l = variable("logit_weight_bytes", r"q_{\mathrm{l}}", "byte", "Bytes of one weight that gives logits.", positive())
q_a = variable(
    "hidden_bytes",
    r"q_{\mathrm{a}}",
    "byte",
    "Bytes of one hidden state, or of another activation that is no input of a product.",
    positive(),
)
q_c = variable(
    "product_bytes", r"q_{\mathrm{c}}", "byte", "Bytes of one number in the format of the products.", positive()
)
q_in = variable(
    "product_input_bytes",
    r"q_{\mathrm{in}}",
    "byte",
    "Bytes of one input that a product keeps for its backward pass.",
    positive(),
)
q_s = variable(
    "saved_bytes",
    r"q_{\mathrm{s}}",
    "byte",
    "Bytes of one input that a recomputed activation function keeps.",
    positive(),
)
q_o = variable(
    "attention_output_bytes",
    r"q_{\mathrm{o}}",
    "byte",
    "Bytes of one number that attention gives, as it is kept.",
    positive(),
)
q_kv = variable("kv_cache_bytes", r"q_{\mathrm{kv}}", "byte", "Bytes of one number of the KV cache.", positive())
q_disp = variable(
    "dispatch_element_bytes",
    r"q_{\mathrm{disp}}",
    "byte",
    "Bytes of one number (an element of a token, not the token) on its way to an expert.",
    positive(),
)
q_comb = variable(
    "combine_element_bytes",
    r"q_{\mathrm{comb}}",
    "byte",
    "Bytes of one number (an element of a token, not the token) on its way back from an expert.",
    positive(),
)
