"""Symbols of one kernel: what it computes and moves, and the ceilings it meets."""

from mlsysim.symbolic import at_least, between, choice, flag, integer, nonnegative, positive, variable

m_k = variable(
    "product_rows", r"m_{\mathrm{k}}", "count", "Rows of the left factor: tokens, summed over groups.", integer(1)
)
n_k = variable("product_columns", r"n_{\mathrm{k}}", "count", "Columns of the right factor: outputs.", integer(1))
k_k = variable("product_inner", r"k_{\mathrm{k}}", "count", "Inner width of a product: inputs.", integer(1))
E_k = variable(
    "product_groups",
    r"E_{\mathrm{k}}",
    "count",
    "Groups of rows in one launch, each with a right factor of its own: products of a batch, or experts.",
    integer(1),
)
gamma_k = variable(
    "group_imbalance",
    r"\gamma_{\mathrm{k}}",
    "count",
    "Rows of the largest group relative to the mean; 1 if all are equal.",
    at_least(1),
)
E_got = variable(
    "groups_with_rows",
    r"E_{\mathrm{got}}",
    "count",
    "Groups that have a row, whose right factors are read.",
    positive(),
)
x_max = variable(
    "largest_group_tiles",
    r"x_{\max}",
    "count",
    "Tiles that the rows of the largest group fill, the last in part.",
    positive(),
)
x_min = variable("smallest_group_tiles", r"x_{\min}", "count", "The same of the smallest group.", nonnegative())
N_r = variable("row_tiles", r"N_{\mathrm{r}}", "count", "Tiles that the rows of all groups fill or begin.", positive())
q_out = variable("output_bytes", r"q_{\mathrm{out}}", "byte", "Bytes of one number of the result.", positive())
dynamic = variable(
    "dynamic_quantization",
    r"z_{\mathrm{q}}",
    "count",
    "True if a product below 16 bits quantises its activations in a separate kernel with measured scales.",
    flag(),
)
S_mp = variable(
    "multiprocessors",
    r"S_{\mathrm{mp}}",
    "count",
    "Multiprocessors of one accelerator, which take the tiles of a product in waves.",
    integer(1),
)
e_flop = variable(
    "flop_energy",
    "e_0",
    "pJ/FLOP",
    "Energy of one operation of a product, at 8 bit and more; at 4 bit it is half.",
    nonnegative(),
)
tau_launch = variable(
    "launch_time", r"\tau_{\mathrm{k}}", "µs", "Launch of a kernel, its fill and its drain.", nonnegative()
)
tau_quant = variable(
    "quantization_time", r"\tau_{\mathrm{q}}", "µs", "Launches that quantising the activations takes.", nonnegative()
)
W_k = variable("kernel_flops", r"W_{\mathrm{k}}", "GFLOP", "Arithmetic of a kernel.", positive())
Q_k = variable("kernel_bytes", r"Q_{\mathrm{k}}", "MB", "Memory traffic of a kernel.", positive())
O_k = variable(
    "computed_outputs", r"O_{\mathrm{k}}", "count", "Outputs computed, those that fill tiles and waves too.", positive()
)
eta_tile = variable(
    "tile_efficiency",
    r"\eta_{\mathrm{tile}}",
    "count",
    "Outputs asked for over outputs computed.",
    positive(),
)
eta_max = variable(
    "ceiling_efficiency",
    r"\eta_{\max}",
    "count",
    "Share of the peak arithmetic rate that a large product reaches on the power of the accelerator.",
    between(0, 1, open_lower=True),
)
t_c = variable("arithmetic_time", r"t_{\mathrm{c}}", "ms", "Arithmetic time of a kernel, at its ceiling.", positive())
t_m = variable("memory_time", r"t_{\mathrm{m}}", "ms", "Memory time of a kernel, at its ceiling.", positive())
t_q = variable("activation_quantization_time", r"t_{\mathrm{q}}", "ms", "Quantising the activations.", nonnegative())
I_k = variable("arithmetic_intensity", "I", "FLOP/byte", "Arithmetic per byte of memory traffic.", positive())
I_0 = variable("ridge_point", r"I_0", "FLOP/byte", "Intensity at which both ceilings bind.", positive())
R_k = variable("attainable_rate", r"R_{\mathrm{k}}", "TFLOP/s", "Rate that the lower ceiling allows.", positive())
R_got = variable("kernel_rate", r"R_{\mathrm{got}}", "TFLOP/s", "Arithmetic of a kernel over its time.", positive())
T_k = variable("kernel_time", r"T_{\mathrm{k}}", "ms", "One kernel, its launch included.", positive())
t_af = variable(
    "attention_forward_time",
    r"t_{\mathrm{a,f}}",
    "ms",
    "Core attention of a batch in one layer, forward.",
    nonnegative(),
)
t_ab = variable("attention_backward_time", r"t_{\mathrm{a,b}}", "ms", "The same of its backward pass.", nonnegative())
kernel_bound = variable(
    "kernel_bottleneck",
    r"\mathrm{binds}_{\mathrm{k}}",
    "",
    "Bottleneck of a kernel.",
    choice("Arithmetic", "Memory bandwidth", "Launch"),
)
