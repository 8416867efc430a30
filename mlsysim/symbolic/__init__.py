"""The language formulas are written in: variables, formulas, systems, and how they print."""

from mlsysim.symbolic.chunked_prefill import ChunkedPrefill, chunked_prefill
from mlsysim.symbolic.constants import Label, UnitSymbol, byte, flop, label, lower, request, token
from mlsysim.symbolic.example import Example, Source
from mlsysim.symbolic.extremes import Max, Min, Mod
from mlsysim.symbolic.family import Family, Index, family, family_of
from mlsysim.symbolic.formula import Formula
from mlsysim.symbolic.functions import (
    ErlangC,
    EvaluatedAt,
    LeastInteger,
    NormalCDF,
    NormalQuantile,
    Root,
    SlotsBusy,
    by_label,
    evaluated_at,
    sharded,
    when,
)
from mlsysim.symbolic.indexed import by_member, total
from mlsysim.symbolic.requirement import Requirement, reason_code
from mlsysim.symbolic.system import System, swapped
from mlsysim.symbolic.variable import (
    Domain,
    Variable,
    at_least,
    between,
    boolean,
    choice,
    flag,
    integer,
    nonnegative,
    positive,
    variable,
    variable_of,
    words_latex,
)

__all__ = [
    "ChunkedPrefill",
    "Domain",
    "ErlangC",
    "EvaluatedAt",
    "Example",
    "Family",
    "Formula",
    "Index",
    "Label",
    "LeastInteger",
    "Max",
    "Min",
    "Mod",
    "NormalCDF",
    "NormalQuantile",
    "Requirement",
    "Root",
    "SlotsBusy",
    "Source",
    "System",
    "UnitSymbol",
    "Variable",
    "at_least",
    "between",
    "boolean",
    "by_label",
    "by_member",
    "byte",
    "choice",
    "chunked_prefill",
    "evaluated_at",
    "family",
    "family_of",
    "flag",
    "flop",
    "integer",
    "label",
    "lower",
    "nonnegative",
    "positive",
    "reason_code",
    "request",
    "sharded",
    "swapped",
    "token",
    "total",
    "variable",
    "variable_of",
    "when",
    "words_latex",
]
