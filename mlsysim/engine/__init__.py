"""The compiler: a System as one function, on NumPy scalars or on JAX arrays."""

from mlsysim.engine.compiled import CompiledFunction, compiled, compiled_expression
from mlsysim.engine.dense import DenseSearch, Scan, Smallest, smallest
from mlsysim.engine.folded import folded, is_foldable
from mlsysim.engine.front import Front, front_of, joined_fronts, nondominated
from mlsysim.engine.grid import default_dtype, evaluate, evaluate_outputs, is_traced, iterates, pure_function
from mlsysim.engine.output_spec import OutputSpec, ReasonCode
from mlsysim.engine.plain import PlainFunction, plain_function
from mlsysim.engine.refused import Refusals, RefusedBy
from mlsysim.engine.slopes import derivatives, slopes

__all__ = [
    "CompiledFunction",
    "DenseSearch",
    "Front",
    "OutputSpec",
    "PlainFunction",
    "ReasonCode",
    "Refusals",
    "RefusedBy",
    "Scan",
    "Smallest",
    "compiled",
    "compiled_expression",
    "default_dtype",
    "derivatives",
    "evaluate",
    "evaluate_outputs",
    "folded",
    "front_of",
    "is_foldable",
    "is_traced",
    "iterates",
    "joined_fronts",
    "nondominated",
    "plain_function",
    "pure_function",
    "slopes",
    "smallest",
]
