"""Number formats, and the presets of formats that a precision stands for.

Here the catalog, the inputs and the formulas can all import them. A device lists its peak rate per number format; what
is stored or sent has a storage format, which may carry scales; ``precision`` names a preset of storage formats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

#: Formats of matrix products for which devices have a peak rate; widest first.
NUMBER_FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int4", "fp4")


#: Bits of a stored number, without scales; widest first.
BITS = {
    "fp32": 32,
    "tf32": 32,
    "bf16": 16,
    "fp16": 16,
    # Twelve bits for what attention gives (DeepSeek-V3).
    "e5m6": 12,
    "fp8": 8,
    "int8": 8,
    "int8_b2048": 8,
    "fp8_block": 8,
    "mxfp8": 8,
    "int4": 4,
    "int4_g128": 4,
    "nf4": 4,
    "mxfp4": 4,
    "nvfp4": 4,
    "q8_0": 8,
    "q6_k": 6,
    "q5_k_m": 5,
    "q4_k_m": 4,
    "q4_0": 4,
}
#: Scales of block formats: numbers per block, and bytes of scales per block.
SCALES = {
    # Blocks of 2048 numbers with an fp32 scale (8-bit optimizers).
    "int8_b2048": (2048, Fraction(4)),
    # Tiles of 128 numbers with an fp32 scale (DeepSeek-V3).
    "fp8_block": (128, Fraction(4)),
    # Blocks of 32 with a scale of one byte (OCP MX), of 16 (NVFP4).
    "mxfp8": (32, Fraction(1)),
    "mxfp4": (32, Fraction(1)),
    "nvfp4": (16, Fraction(1)),
    # Groups of 128 with an fp16 scale and a zero point of four bits (GPTQ, AWQ).
    "int4_g128": (128, Fraction(5, 2)),
    # Blocks of 64 with a scale of one byte, itself scaled once in 256 blocks in fp32 (QLoRA).
    "nf4": (64, 1 + Fraction(4, 256)),
    # Blocks of 32 with an fp16 scale, and of 256 with 16 scales of a byte and one of fp16 (ggml-common.h of llama.cpp).
    "q8_0": (32, Fraction(2)),
    "q4_0": (32, Fraction(2)),
    "q6_k": (256, Fraction(18)),
    # Blocks of 256 that take 144 and 176 bytes, and 210 for half of the values and of the second matrices of blocks
    # (llama-quant.cpp): 0.144 of the weights of Llama 3 8B and 0.142 of 70B.
    "q5_k_m": (256, 16 + Fraction(144, 1000) * (210 - 176)),
    "q4_k_m": (256, 16 + Fraction(144, 1000) * (210 - 144)),
}
#: Formats of llama.cpp's files, which store embedding and head no wider; those with heads stored in six bits.
GGUF = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0")
GGUF_MIXED = GGUF[1:]


def with_scales(bits: int, block: int = 1, scales: int | Fraction = 0) -> Fraction:
    """Compute the bytes of a stored number, including its part of the block's scales."""
    return Fraction(bits, 8) + Fraction(scales) / block


#: Bytes of a stored number, scales included.
STORED = {name: with_scales(bits, *SCALES.get(name, (1, Fraction(0)))) for name, bits in BITS.items()}
#: Bytes of a stored weight: DeepSeek-V3 scales blocks of 128 by 128.
STORED_WEIGHT = {**STORED, "fp8_block": 1 + Fraction(4, 128**2)}
#: Format whose peak rate applies to products in another format.
RATE_OF = {"fp8_block": "fp8", "mxfp8": "fp8", "mxfp4": "fp4", "nvfp4": "fp4"}

_WIDE = ("fp32", "bf16", "fp16")
_BYTE = ("fp8", "int8", "fp8_block", "mxfp8")
#: Formats that each argument accepts.
WEIGHT_FORMATS = (*_WIDE, *_BYTE, "int4", "int4_g128", "nf4", "mxfp4", "nvfp4", *GGUF)
COMPUTE_FORMATS = ("fp32", "tf32", "bf16", "fp16", *_BYTE, "int4", "mxfp4", "nvfp4")
ACTIVATION_FORMATS = (*_WIDE, *_BYTE)
#: Formats of the input of a recomputed activation function, and of the output of attention.
SAVED_FORMATS = (*_WIDE, "e5m6", *_BYTE)
GRADIENT_FORMATS = _WIDE
KV_CACHE_FORMATS = (*_WIDE, *_BYTE, "int4", "nvfp4")
#: Inputs for the bytes of a weight, by the part of a model.
WEIGHT_PARTS = ("mixer_bytes", "dense_bytes", "expert_bytes", "shared_expert_bytes", "head_bytes")


class Preset(NamedTuple):
    """Number formats that a precision stands for.

    Attributes
    ----------
    compute : str
        Format of products with weights, and of their inputs saved for the backward pass.
    served, trained : str
        Formats of weights in a serving replica and in a training step.
    activation : str
        Format of hidden states and of all activations that are not inputs of a product.
    saved, attention : str
        Formats of the saved input of a recomputed activation function, and of the saved output of attention.
    gradient, reduce : str
        Formats of accumulated weight gradients, and of gradients on the wire.
    kv_cache : str
        Format of a replica's keys and values.
    dispatch, combine : str
        Formats of tokens sent to experts and back.
    """

    compute: str
    served: str
    trained: str
    activation: str
    saved: str
    attention: str
    gradient: str
    reduce: str
    kv_cache: str
    dispatch: str
    combine: str


def _uniform(name: str) -> Preset:
    return Preset(*[name] * len(Preset._fields))


def _narrow(compute: str, served: str, kv_cache: str = "bf16") -> Preset:
    """Build a preset of narrow serving weights; training as in Transformer Engine: 16-bit weights, narrow products."""
    return _uniform("bf16")._replace(compute=compute, served=served, gradient="fp32", reduce="fp32", kv_cache=kv_cache)


def _weight_only(served: str, wide: str = "bf16") -> Preset:
    """Build a preset of narrow weights that are widened for 16-bit products; training is at 16 bits."""
    return _uniform(wide)._replace(served=served)


#: Presets, widest first; a choice variable numbers its labels in this order.
PRESETS = {
    "fp32": _uniform("fp32"),
    "tf32": _uniform("fp32")._replace(compute="tf32"),
    "bf16": _uniform("bf16"),
    "fp16": _uniform("fp16"),
    "fp8": _narrow("fp8", "fp8"),
    "int8": _narrow("int8", "int8"),
    "w8a8": _narrow("fp8", "fp8", kv_cache="fp8"),
    "fp8_deepseek": Preset(
        compute="fp8_block",
        served="fp8_block",
        trained="fp8_block",
        activation="bf16",
        saved="fp8_block",
        attention="e5m6",
        gradient="fp32",
        reduce="bf16",
        kv_cache="bf16",
        dispatch="fp8_block",
        combine="bf16",
    ),
    "int4": _narrow("int4", "int4"),
    "w4a16": _weight_only("int4_g128"),
    "mxfp4": _weight_only("mxfp4"),
    "nvfp4": _narrow("nvfp4", "nvfp4"),
    **{name: _weight_only(name, "fp16") for name in GGUF},
}  # fmt: skip


def rate_format(precision: str, compute_dtype: str = "as_precision") -> str:
    """Return the number format whose peak rate products have; other names are returned unchanged."""
    compute = PRESETS[precision].compute if compute_dtype == "as_precision" and precision in PRESETS else compute_dtype
    if compute == "as_precision":
        return precision
    return RATE_OF.get(compute, compute)
