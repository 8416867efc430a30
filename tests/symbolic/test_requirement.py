"""Conditions between inputs."""

import pytest
import sympy

from mlsysim.backends import compiled
from mlsysim.errors import UnknownNameError
from mlsysim.symbolic import Requirement, System, byte, label, reason_code, sharded, variable_of
from mlsysim.symbols.mixers import a
from mlsysim.symbols.training import Z, t
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


def test_conditions_stand_in_the_reason_code_as_they_are(declare, formula):
    code, condition = declare("why_not"), sympy.Eq(sympy.Mod(a, sharded(Z >= 3, t)), 0)
    reasons = reason_code([(1, condition), (2, L > 1)])
    assert reasons.args[0].args == (1, sympy.Not(condition))
    system = System([formula(code, reasons)])
    for stage, layers, found in ((3, 2, 1), (2, 2, 0), (2, 1, 2)):
        given = {"heads": 3, "tp_size": 2, "zero_stage": stage, "layers": layers}
        assert compiled(system)(given)["why_not"] == found
