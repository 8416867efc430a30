"""Symbols of what a model reads beside its text: a second stack of layers, an encoder or a tower."""

from mlsysim.symbolic import flag, integer, nonnegative, variable

bidirectional = variable(
    "bidirectional",
    r"\beta_{\mathrm{bi}}",
    "count",
    "True if tokens also attend to later ones: encoders, vision towers and diffusion transformers, which decode "
    "nothing.",
    flag(),
)
L_x = variable(
    "cross_layers",
    r"L_{\mathrm{x}}",
    "count",
    "Layers with cross-attention to a source besides their own mixer, by heads of the same shape; 0 without.",
    integer(0),
)
h_src = variable(
    "source_hidden_dim",
    r"h_{\mathrm{src}}",
    "count",
    "Width of the source that layers with cross-attention read; 0 if it is the hidden size.",
    integer(0),
    label="Width of the source",
)
P_src = variable(
    "source_parameters",
    r"P_{\mathrm{src}}",
    "count",
    "Parameters of the stack that reads a source: an encoder, or a vision tower with its projector; 0 without.",
    integer(0),
)
w_src = variable(
    "source_token_flops",
    r"w_{\mathrm{src}}",
    "FLOP/token",
    "Forward arithmetic of the stack that reads a source, per source token.",
    nonnegative(),
)
c_src = variable(
    "source_pair_flops",
    r"c_{\mathrm{src}}",
    "FLOP/token^2",
    "Forward arithmetic of the stack that reads a source, per pair of its tokens.",
    nonnegative(),
)
s_src = variable(
    "source_tokens",
    r"s_{\mathrm{src}}",
    "token",
    "Tokens that the encoder of a request reads; 0 without an encoder.",
    integer(0),
)
n_im = variable("images", r"n_{\mathrm{im}}", "count", "Images of a request, which a tower reads.", nonnegative())
s_im = variable(
    "image_patches",
    r"s_{\mathrm{im}}",
    "token",
    "Patches of an image as its tower reads them, before any are merged.",
    integer(0),
)
P_xs = variable(
    "source_projections",
    r"P_{\mathrm{x,src}}",
    "count",
    "Elements of the matrices that make keys and values of a source, in all layers that attend to it.",
    integer(0),
)
w_x = variable(
    "cross_attention_flops",
    r"w_{\mathrm{x}}",
    "FLOP/token^2",
    "Arithmetic of cross-attention per pair of a token and one of the source, all layers.",
    nonnegative(),
)
s_all = variable(
    "source_tokens_per_request",
    r"S_{\mathrm{src}}",
    "token/request",
    "Tokens of the sources of one request: of its encoder, and patches of its images.",
    nonnegative(),
)
phi_src = variable(
    "source_flops",
    r"\Phi_{\mathrm{src}}",
    "TFLOP/request",
    "Arithmetic to read the sources of one request.",
    nonnegative(),
)
kappa_x = variable(
    "source_cache_per_request",
    r"\kappa_{\mathrm{x}}",
    "MB/request",
    "Keys and values of the sources of one request, in all layers that attend to them.",
    nonnegative(),
)
t_src = variable(
    "source_time",
    r"t_{\mathrm{src}}",
    "ms",
    "Encoders and towers of the prompts of an iteration, and their attention to what these read.",
    nonnegative(),
)
