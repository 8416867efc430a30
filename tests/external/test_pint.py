"""How pint treats quantities of two registries; why ``units.own`` rebuilds them name by name."""

import pint
import pytest

from mlsysim import units

foreign = pint.UnitRegistry()


def test_operations_across_registries_are_refused():
    for operation in (lambda a, b: a + b, lambda a, b: a * b):
        with pytest.raises(ValueError, match="different registries"):
            operation(units.Q_(3, "second"), foreign.Quantity(2, "second"))


def test_wrapping_a_foreign_quantity_hides_it_in_a_pure_number():
    # Q_(quantity) looks like a conversion and is none: the unit ends up inside the magnitude.
    wrapped = units.Q_(foreign.Quantity(2, "second"))
    assert wrapped.unitless
    assert isinstance(wrapped.magnitude, pint.Quantity)


def test_quantities_of_every_registry_share_a_base_class_but_not_a_class():
    # units.is_quantity relies on the first, units.own on the second.
    quantity = foreign.Quantity(2, "second")
    assert isinstance(quantity, pint.Quantity)
    assert not isinstance(quantity, units.Q_)


def test_units_can_be_taken_apart_by_name():
    assert dict(foreign.Quantity(2, "kilobyte / second ** 2").unit_items()) == {"kilobyte": 1, "second": -2}


def test_pints_own_registry_counts_information_in_bits_without_a_dimension():
    # Why mlsysim has a registry of its own: there a byte is 8 and can be added to a plain number.
    assert foreign.Quantity(1, "byte").to_base_units().magnitude == 8
    assert foreign.Quantity(1, "byte").dimensionless
    assert (foreign.Quantity(1, "byte") + 1).to("").magnitude == 9


def test_pint_evaluates_any_expression_given_as_text():
    # Why units.parsed and units.unit check the shape of a text first.
    assert foreign.Quantity("80 000 GB").magnitude == 0
