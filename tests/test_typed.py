"""The type stub says what is declared; ``make types`` checks what it says on tests/typed/use.py."""

from type_stubs import STUB, stub


def test_the_stub_is_that_of_the_declared_models_and_the_catalog():
    """``python tests/type_stubs.py`` writes it."""
    assert STUB.read_text(encoding="utf-8") == stub()
