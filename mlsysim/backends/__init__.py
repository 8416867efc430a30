"""The compiler: a System as one function, on plain floats, NumPy arrays or JAX arrays.

What a scalar answer does without is imported from its own module: :mod:`.dense`, :mod:`.front`,
:mod:`.refused` and :mod:`.staged`.
"""

from mlsysim.backends.compiled import CompiledFunction, compiled, compiled_expression, graph_of, of_graph
from mlsysim.backends.output_spec import OutputSpec, ReasonCode
from mlsysim.backends.pure import concrete_function, default_dtype, is_traced, iterates, pure_function
from mlsysim.backends.slopes import derivatives, slopes
from mlsysim.backends.sweep import evaluate_outputs

__all__ = [
    "CompiledFunction",
    "OutputSpec",
    "ReasonCode",
    "compiled",
    "compiled_expression",
    "concrete_function",
    "default_dtype",
    "derivatives",
    "evaluate_outputs",
    "graph_of",
    "is_traced",
    "iterates",
    "of_graph",
    "pure_function",
    "slopes",
]
