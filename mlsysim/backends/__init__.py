"""The compiler: a System as one function, on NumPy scalars or on JAX arrays.

What a scalar answer does without is imported from its own module: :mod:`.dense`, :mod:`.folded`, :mod:`.front` and
:mod:`.refused`.
"""

from mlsysim.backends.compiled import CompiledFunction, compiled, compiled_expression
from mlsysim.backends.grid import (
    concrete_function,
    default_dtype,
    evaluate,
    evaluate_outputs,
    is_traced,
    iterates,
    pure_function,
)
from mlsysim.backends.output_spec import OutputSpec, ReasonCode
from mlsysim.backends.plain import PlainFunction, plain_function
from mlsysim.backends.slopes import derivatives, slopes

__all__ = [
    "CompiledFunction",
    "OutputSpec",
    "PlainFunction",
    "ReasonCode",
    "compiled",
    "compiled_expression",
    "concrete_function",
    "default_dtype",
    "derivatives",
    "evaluate",
    "evaluate_outputs",
    "is_traced",
    "iterates",
    "plain_function",
    "pure_function",
    "slopes",
]
