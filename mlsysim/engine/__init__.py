"""The compiler: a System as one function, on NumPy scalars or on JAX arrays."""

from mlsysim.engine.compiled import CompiledFunction, compiled, compiled_expression
from mlsysim.engine.grid import evaluate, pure_function, slopes

__all__ = ["CompiledFunction", "compiled", "compiled_expression", "evaluate", "pure_function", "slopes"]
