"""Conditions between inputs."""

import pytest
import sympy

from mlsysim.errors import UnknownNameError
from mlsysim.symbolic import Requirement, byte, label, variable_of
from mlsysim.symbols.mixers import a
from mlsysim.symbols.training import t
from mlsysim.symbols.workload import L, precision, q


def test_it_knows_whom_to_blame_and_what_it_needs():
    requirement = Requirement(t, sympy.Eq(sympy.Mod(a, t), 0), "must divide {heads}")
    assert requirement.variable is variable_of("tp_size")
    assert [v.name for v in requirement.inputs] == ["heads", "tp_size"]


def test_units_and_labels_are_no_inputs():
    condition = sympy.Or(sympy.Eq(precision, label(precision, "fp16")), q > 2 * byte, L > 1)
    assert [v.name for v in Requirement(L, condition, "").inputs] == ["bytes_per_element", "layers", "precision"]


def test_an_undeclared_name_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown variable 'layer': did you mean layers"):
        _ = Requirement(L, sympy.Symbol("layer") > L, "").inputs
