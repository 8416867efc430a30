"""A quick run takes some of many parameters, always the same ones."""

from fuzz import FEW, ONE_IN, a_few, sampled

NAMES = [f"test[{number}]" for number in range(FEW + 10 * ONE_IN)]


def test_a_few_of_many_in_any_order():
    few = a_few(NAMES)
    assert len(few) == FEW + 10
    assert a_few(reversed(NAMES)) == few
    assert {*few} < {*NAMES}


def test_all_of_a_few():
    assert {*a_few(NAMES[:FEW])} == {*NAMES[:FEW]}


def test_a_sample_does_not_hang_on_what_stands_beside_it():
    found = sampled(NAMES, str)
    assert found == [name for name in NAMES if name in sampled([name], str)] != []
