"""Errors: what they say, what they are, and that they survive a worker process."""

import copy
import pickle
from pathlib import PurePath

import pytest

from mlsysim import Hardware, ServingCapacityModel, TrainingMemoryModel, errors
from mlsysim.errors import (
    ArgumentsError,
    CatalogError,
    CertificateError,
    CycleError,
    DuplicateError,
    FormulaError,
    InfeasibleError,
    InputError,
    MissingInputError,
    MissingPackageError,
    MlsysimError,
    ModelError,
    NotMeasuredError,
    StoreError,
    UndefinedError,
    UnitError,
    UnknownNameError,
    nearest,
    quoted,
)

EVERY = [
    InputError("batch_size", -1, "must be a whole number >= 1", "nearest: 1"),
    UnknownNameError("hardware", "H999", ["H100", "H200"]),
    MissingInputError("TrainingMemoryModel", "batch_size", "give batch_size=..."),
    ArgumentsError("TrainingMemoryModel: batch_size is given twice"),
    UnitError("memory_capacity='8 s': s is not a unit of GB"),
    InfeasibleError("No design meets the constraints. total_memory <= 80 GB: nearest 101.4 GB against 80.00 GB"),
    NotMeasuredError("step_time", "none was measured by first_order", "but by per_operator"),
    FormulaError("formula for x: x stands on both sides"),
    DuplicateError("two formulas define x"),
    CycleError("formulas need each other: a -> b -> a"),
    StoreError(PurePath("grid.zarr"), "cannot be written: No space left on device", "2 of 3 blocks are kept"),
    CertificateError(PurePath("best.json"), "design 1", "step_time is 2.1 s, and 2.0 s in the file"),
    CatalogError("mine.toml: Hardware.Mine.X: X: name: Field required"),
    ModelError("mine.py: has no model"),
    UndefinedError("tokens = (1 − a²)/(1 − a) is not a number at a=1"),
    MissingPackageError("a figure", "matplotlib", "plot"),
]


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
class TestEveryError:
    def test_is_a_library_error(self, error):
        assert isinstance(error, MlsysimError)

    def test_is_an_error_of_python_too(self, error):
        assert isinstance(error, ModuleNotFoundError if isinstance(error, MissingPackageError) else ValueError)

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_survives_pickling(self, error, protocol):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)

    def test_survives_copying(self, error):
        assert str(copy.deepcopy(error)) == str(error)


def test_every_error_class_is_in_the_list_above():
    classes = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, MlsysimError)}
    assert classes - {MlsysimError} == {type(error) for error in EVERY}


def test_an_input_error_says_argument_value_and_what_is_allowed():
    error = InputError("batch_size", -1, "must be a whole number >= 1")
    assert str(error) == "batch_size=-1: must be a whole number >= 1"
    assert (error.argument, error.value, error.allowed, error.hint) == (
        "batch_size",
        -1,
        "must be a whole number >= 1",
        "",
    )


def test_an_input_error_adds_its_hint():
    assert str(InputError("b", 2.5, "must be whole", "nearest: 2, 3")) == "b=2.5: must be whole; nearest: 2, 3"


def test_an_unknown_name_suggests_the_nearest():
    error = UnknownNameError("hardware", "H999", ["A100", "H100", "H200"])
    assert str(error) == "unknown hardware 'H999': did you mean H100, H200?"
    assert error.suggestions == ["H100", "H200"]
    assert error.name == "H999"


OUTPUTS = ["total_memory", "live_memory", "optimizer_state", "step_time", "tokens_per_second", "mfu", "weights",
           "weight_dtype", "tp_latency", "ep_exposed_time", "gradients"]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("total_memry", ["total_memory"]),
        ("memory", ["live_memory", "total_memory"]),
        ("tokens_per_sec", ["tokens_per_second"]),
        ("wieghts", ["weights"]),
        ("weight", ["weights", "weight_dtype"]),
        ("mfuu", ["mfu"]),
        ("exposed_ep", ["ep_exposed_time"]),
        ("optim", ["optimizer_state"]),
        ("throughput", []),
        ("q", []),
    ],
)
def test_hints_are_near_by_letters_or_by_words(typed, meant):
    """Nothing far off is offered beside what is near."""
    assert nearest(typed, OUTPUTS) == meant


def test_an_unknown_name_far_from_all_lists_what_there_is():
    assert str(UnknownNameError("variant", "zzzz", ["first_order"])) == "unknown variant 'zzzz': known: first_order"


def test_a_long_list_is_cut_and_counted():
    known = [f"entry_{number}" for number in range(20)]
    assert str(UnknownNameError("thing", "zzzz", known)) == (
        "unknown thing 'zzzz': known: " + ", ".join(known[:12]) + ", ... (20 in all)"
    )


def test_a_missing_input_says_how_to_give_it():
    error = MissingInputError("TrainingMemoryModel", "batch_size", "give batch_size=...")
    assert str(error) == "TrainingMemoryModel needs batch_size: give batch_size=..."
    assert error.argument == "batch_size"


def test_errors_are_what_python_expects_where_they_are_raised():
    """A wrong attribute is an AttributeError, a missing argument a TypeError, a wrong value a ValueError."""
    assert not hasattr(Hardware.Cloud, "H999")
    assert getattr(TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=1), "wieghts", 7) == 7
    with pytest.raises(TypeError):
        TrainingMemoryModel().solve("Llama3_8B", "H100")
    with pytest.raises(ValueError, match="batch_size"):
        TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=-1)


def test_an_error_raised_by_the_library_survives_pickling():
    with pytest.raises(MlsysimError) as caught:
        ServingCapacityModel().solve("Llama3_8B", "H999", qps=1, target_p99_latency_ms=100)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("typed", "known", "found"),
    [
        ("h100", ["A100", "H100"], ["H100"]),
        ("LLAMA3_8b", ["Llama3_8B", "Llama3_70B"], ["Llama3_8B"]),
        ("batch_sise", ["batch_size", "heads"], ["batch_size"]),
        ("H999", ["A100", "H100", "H200"], ["H100", "H200"]),
        ("zzz", ["A100", "H100"], []),
        ("", ["A100", "H100"], []),
        ("H100", [], []),
    ],
)
def test_nearest_names(typed, known, found):
    assert nearest(typed, known) == found


def test_nearest_names_are_best_first_and_few():
    assert nearest("weight", ["weights", "weightss", "weigh", "freight", "height"], count=2) == ["weights", "weigh"]


def test_quoted_shortens_long_values():
    assert quoted("x") == "'x'"
    assert quoted([0] * 100) == "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,..."
    assert len(quoted("y" * 500)) == 60
    assert quoted(PurePath("y" * 500)) == repr("y" * 500)


def test_shown_survives_a_broken_repr():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    assert quoted(Broken()) == "<Broken>"
    with pytest.raises(InputError, match=r"^batch_size=<Broken>: must be a whole number >= 1$"):
        TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=Broken())
