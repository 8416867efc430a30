"""The measuring code, the layers and the models as fixtures; their modules need torch and transformers."""

from importlib import import_module

import pytest


@pytest.fixture(scope="session")
def one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def saved_tensors(one_thread):
    return import_module("counted.saved_tensors")


@pytest.fixture(scope="session")
def layers(saved_tensors):
    """`layers.measure(kind, ...)`: bytes that a real layer keeps for backward."""
    pytest.importorskip("transformers")
    return import_module("counted.layers")


@pytest.fixture(scope="session")
def models(one_thread):
    """Whole models of transformers, with the same shapes in the words of the library."""
    pytest.importorskip("transformers")
    return import_module("counted.models")
