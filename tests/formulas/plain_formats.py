"""Bytes per number, written out: what the plain implementations take for each precision and each format."""

STORED = {
    "fp32": 4, "bf16": 2, "fp16": 2, "tf32": 4, "fp8": 1, "int8": 1, "int4": 0.5, "fp8_block": 1 + 4 / 128,
    "mxfp8": 1 + 1 / 32, "int4_g128": 0.5 + 2.5 / 128, "nf4": 0.5 + (1 + 4 / 256) / 64, "mxfp4": 0.5 + 1 / 32,
    "nvfp4": 0.5 + 1 / 16, "e5m6": 1.5,
}  # fmt: skip
_FP8, _W4, _SQUARES = STORED["fp8_block"], STORED["int4_g128"], 1 + 4 / 128**2
PARTS = (
    "served",
    "trained",
    "hidden",
    "product",
    "gradient",
    "reduced",
    "cache",
    "dispatch",
    "combine",
    "saved",
    "attention",
)
#: In the order of PARTS.
PRESETS = {
    "fp32": (4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4),
    "tf32": (4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4),
    "bf16": (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    "fp16": (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    "fp8": (1, 2, 2, 1, 4, 4, 2, 2, 2, 2, 2),
    "int8": (1, 2, 2, 1, 4, 4, 2, 2, 2, 2, 2),
    "fp8_deepseek": (_SQUARES, _SQUARES, 2, _FP8, 4, 2, 2, _FP8, 2, _FP8, 1.5),
    "w8a8": (1, 2, 2, 1, 4, 4, 1, 2, 2, 2, 2),
    "int4": (0.5, 2, 2, 0.5, 4, 4, 2, 2, 2, 2, 2),
    "w4a16": (_W4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    "mxfp4": (STORED["mxfp4"], 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    "nvfp4": (STORED["nvfp4"], 2, 2, STORED["nvfp4"], 4, 4, 2, 2, 2, 2, 2),
}
WEIGHTS = ("fp32", "bf16", "fp16", "fp8", "int8", "fp8_block", "mxfp8", "int4", "int4_g128", "nf4", "mxfp4", "nvfp4")
PRODUCTS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp8_block", "mxfp8", "int4", "mxfp4", "nvfp4")
HIDDEN = WEIGHTS[:7]
CACHED = (*HIDDEN, "int4", "nvfp4")
#: Inputs for parts of a model that a checkpoint stores in formats of their own.
STORED_PARTS = ("mixer_bytes", "dense_bytes", "expert_bytes", "shared_expert_bytes", "head_bytes")
#: For each argument, the part of a preset it stands in for and the formats it may name.
ARGUMENTS = {
    "weight_dtype": WEIGHTS, "compute_dtype": PRODUCTS, "activation_dtype": HIDDEN, "gradient_dtype": HIDDEN[:3],
    "kv_cache_dtype": CACHED, "saved_dtype": (*HIDDEN, "e5m6"), "dispatch_dtype": CACHED, "combine_dtype": HIDDEN,
}  # fmt: skip


def bytes_of(x, part, argument):
    """Bytes of one number at a point: in the format that is given, or in that of the preset."""
    given = x.get(argument, "as_precision")
    if given == "fp8_block" and argument == "weight_dtype":
        return _SQUARES
    return STORED[given] if given != "as_precision" else PRESETS[x["precision"]][PARTS.index(part)]


def draw(r, *arguments):
    """Formats at random, mostly those of the preset."""
    return {name: r.choice(["as_precision"] * 4 + list(ARGUMENTS[name])) for name in arguments}
