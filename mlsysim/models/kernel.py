"""The model of one kernel."""

from __future__ import annotations

from sympy import And, Not, Or

from mlsysim.catalog import Accelerator
from mlsysim.formulas import attention_core, mixers, number_formats, roofline, transformer_flops
from mlsysim.inputs.declaration import Caveat
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Min, Requirement
from mlsysim.symbols.activations import attention_kernel
from mlsysim.symbols.hardware import f_clk, n_cc, n_exp
from mlsysim.symbols.roofline import E_k, gamma_k, m_k

_GROUPS = (
    Requirement(gamma_k, gamma_k <= E_k, "must be at most {product_groups}: one group has all rows then"),
    Requirement(
        E_k,
        E_k * Min(1, 2 / gamma_k) <= m_k,
        "must be at most {product_rows} where {group_imbalance}: each has a row that imbalance does not empty",
    ),
)
#: What a reader must know where a kernel of attention is named that has no figures on the device.
KERNEL_ELSEWHERE = Caveat(
    Or(
        And(n_cc > 0, attention_core.named("splash")),
        And(n_cc > 0, Not(attention_core.HOPPER), attention_core.named("fa3")),
        And(n_cc > 0, Not(attention_core.BLACKWELL), attention_core.named("fa4")),
    ),
    "no figures of {attention_kernel} are known at a compute capability of {compute_capability}: its time is that of "
    "FlashAttention 2 below 9, and of the kernels written for the device from there on",
)


class KernelModel(PerformanceModel):
    """How long does a kernel take?

    A matrix product below the ceilings of arithmetic, power and memory, in whole tiles and whole waves; or those of a
    batch or of experts in one launch.
    """

    command = "kernel"
    example = {
        "hardware": "H100",
        "stack": "cuBLAS_H100",
        "product_rows": 4096,
        "product_columns": 8192,
        "product_inner": 8192,
        "precision": "bf16",
    }
    answer = "kernel_time"
    variants = {
        "waves": Variant(
            (*number_formats.FACTORS, *roofline.PRODUCT),
            about="Whole tiles, whole waves, a ceiling that follows from power, and a rounded roof: median 7.4% on "
            "products of a device that no constant was fitted on.",
            requirements=_GROUPS,
        ),
        "smooth": Variant(
            (*number_formats.FACTORS, *roofline.SMOOTH),
            about="Without the steps of tiles and waves, for a search or a gradient: median 8.5% on a device left out.",
            requirements=_GROUPS,
        ),
        "roofline": Variant(
            (*number_formats.FACTORS, *roofline.ROOFLINE),
            headline=(
                "kernel_time",
                "arithmetic_intensity",
                "ridge_point",
                "attainable_rate",
                "kernel_rate",
                "kernel_bottleneck",
            ),
            about="The higher of two times at shares of the peaks that are given: median 12% with the best ones, 45% "
            "at 8 bit.",
            requirements=_GROUPS,
        ),
        "elementwise": Variant(
            roofline.ELEMENTWISE,
            headline=("kernel_time", "memory_time"),
            example={"hardware": "H100", "stack": "cuBLAS_H100", "kernel_bytes": "100 MB"},
            about="A kernel without products, by the bytes it moves.",
        ),
        "attention": Variant(
            (transformer_flops.scores, *mixers.ALONE, *attention_core.ALONE),
            headline=("attention_forward_time", "attention_backward_time"),
            example={"hardware": "H100", "batch_size": 2, "heads": 32, "head_dim": 128, "seq_len": 4096},
            about="The core of attention of one layer, by its products and exponentials.",
            requirements=(
                *(
                    Requirement(rate, rate > 0, "must be above 0: attention is bound by exponentials, too")
                    for rate in (f_clk, n_exp)
                ),
                Requirement(
                    attention_kernel, mixers.FLASH, "must be one kernel; eager and unfused attention take several"
                ),
            ),
        ),
    }
    slots = {
        "hardware": Slot(
            Accelerator,
            (
                "memory_bandwidth",
                "peak_flops",
                "attention_peak_flops",
                "multiprocessors",
                "tdp",
                "clock",
                "exponentials_per_clock",
                "compute_capability",
            ),
        ),
        "stack": stack_slot(("memory_efficiency", "flop_energy", "launch_time", "quantization_time")),
    }
    keywords = {
        "product_rows": ...,
        "product_columns": ...,
        "product_inner": ...,
        "product_groups": 1,
        "group_imbalance": 1,
        "precision": "bf16",
        "weight_dtype": "as_precision",
        "compute_dtype": "as_precision",
        "activation_dtype": "as_precision",
        "output_bytes": 2,
        "dynamic_quantization": True,
        "efficiency": 1.0,
        "kernel_bytes": ...,
        "batch_size": 1,
        "seq_len": ...,
        "heads": ...,
        "head_dim": ...,
        "bidirectional": False,
        "attention_mask": "causal",
        "attention_kernel": "flash",
        "flash_kernel": "cudnn",
    }
    defaults = {"exponentials_per_clock": 16, "compute_capability": 0}
    caveats = (KERNEL_ELSEWHERE,)
    common = ("weight_dtype", "efficiency")
    headline = (
        "kernel_time",
        "kernel_rate",
        "arithmetic_intensity",
        "ridge_point",
        "ceiling_efficiency",
        "tile_efficiency",
        "kernel_bottleneck",
    )
