"""Symbols of one kernel under two ceilings."""

from mlsysim.symbolic import integer, positive, variable

m_k = variable("product_rows", r"m_{\mathrm{k}}", "count", "Rows of the left factor: tokens.", integer(1))
n_k = variable("product_columns", r"n_{\mathrm{k}}", "count", "Columns of the right factor: outputs.", integer(1))
k_k = variable("product_inner", r"k_{\mathrm{k}}", "count", "Inner width of a product: inputs.", integer(1))
q_out = variable("output_bytes", r"q_{\mathrm{out}}", "byte", "Bytes of one number of the result.", positive())
W_k = variable("kernel_flops", r"W_{\mathrm{k}}", "GFLOP", "Arithmetic of a kernel.", positive())
Q_k = variable("kernel_bytes", r"Q_{\mathrm{k}}", "MB", "Memory traffic of a kernel.", positive())
I_k = variable("arithmetic_intensity", "I", "FLOP/byte", "Arithmetic per byte of memory traffic.", positive())
I_0 = variable("ridge_point", r"I_0", "FLOP/byte", "Intensity at which both ceilings bind.", positive())
R_k = variable("attainable_rate", r"R_{\mathrm{k}}", "TFLOP/s", "Rate that the lower ceiling allows.", positive())
T_k = variable("kernel_time", r"T_{\mathrm{k}}", "ms", "One kernel, its launch included.", positive())
