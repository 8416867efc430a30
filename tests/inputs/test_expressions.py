"""Objectives and constraints as text: read as Python would read them, refused where they make no sense."""

import math
import random

import numpy as np
import pytest
import sympy
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim import DistributedModel, ServingCapacityModel
from mlsysim.backends import compiled, compiled_expression
from mlsysim.errors import InputError, MlsysimError, UnitError, UnknownNameError
from mlsysim.inputs.binding import bind
from mlsysim.inputs.expressions import bare_unit, canonical_unit, condition, quantity
from mlsysim.symbolic import lower, variable_of
from mlsysim.symbolic.dimensions import dimension_of

MODEL, SERVING = DistributedModel(), ServingCapacityModel()
KNOWN = [v.name for v in (*MODEL.inputs, *MODEL.outputs)]
SERVED = [v.name for v in (*SERVING.inputs, *SERVING.outputs)]


def read(text, model=MODEL):
    return quantity(text, model, KNOWN if model is MODEL else SERVED)


def asked(text, model=MODEL):
    return condition(text, model, KNOWN if model is MODEL else SERVED)


def worth(expression, **canonical):
    """With a number in place of every name, outputs too."""
    return compiled_expression(expression.sympy)(canonical)["value"]


def value(text, model=MODEL, **canonical):
    """What a quantity is worth."""
    return worth(read(text, model), **canonical)


def holds(text, model=MODEL, **canonical):
    """Whether a condition is met."""
    return bool(worth(asked(text, model), **canonical))


@pytest.mark.parametrize(
    "text",
    [
        "10 - 2 - 3",
        "2 ** 3 ** 2",
        "-2 ** 2",
        "2 ** -1",
        "7 // 2 * 2",
        "-7 // 2",
        "-7 % 3",
        "1 + 2 * 3 - 4 / 8",
        "(1 + 2) * 3",
        "- - 3",
        "max(1, 7, 3) - min(2, 5)",
        "abs(-3) + 1_000",
        "1.5e3 / .5",
        "64 / 4 / 2",
    ],
)
def test_arithmetic_binds_as_in_python(text):
    assert float(read(text).sympy) == eval(text)


@pytest.mark.parametrize(
    "text",
    [
        "tp_size < 4 or tp_size > 8 and pp_size == 2",
        "not tp_size < 4 and pp_size != 1",
        "not (tp_size < 4 or pp_size == 1)",
        "1 < tp_size <= 8 < pp_size * 5",
        "tp_size in (1, 8)",
        "tp_size not in [1, 8, 16]",
        "tp_size % 4 == 0 and pp_size + tp_size >= 10",
        "(tp_size < 4) == (pp_size < 4)",
        "(tp_size < 4) != True",
        "tp_size - pp_size * 2 ** 2 > -5",
    ],
)
def test_conditions_mean_what_python_means(text):
    for tp_size in (1, 3, 4, 8, 16):
        for pp_size in (1, 2, 3, 4):
            at = {"tp_size": tp_size, "pp_size": pp_size}
            assert holds(text, **at) is eval(text, {}, at), at


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("step_time <= 10 s", {"step_time": 10.0}, True),
        ("step_time <= 9999 ms", {"step_time": 10.0}, False),
        ("total_memory <= 70 GB", {"total_memory": 70e9}, True),
        ("total_memory > 70 GiB", {"total_memory": 70 * 2**30}, False),
        ("mfu >= 40 %", {"mfu": 0.4}, True),
        ("mfu >= 40% and mfu < 41 %", {"mfu": 0.4}, True),
        ("node_bandwidth >= 50 GB/s * tp_size", {"node_bandwidth": 4e11, "tp_size": 8.0}, True),
        ("node_bandwidth >= 400 GB / s / tp_size", {"node_bandwidth": 5e10, "tp_size": 8.0}, True),
        ("energy_per_token < 2.5 J/token", {"energy_per_token": 2.4}, True),
        ("bubble_time > 0", {"bubble_time": 0.0}, False),
        ("batch_size * seq_len == 4 * 1024 * 1024", {"batch_size": 1024.0, "seq_len": 4096.0}, True),
        ("seq_len % 128 == 0", {"seq_len": 4096.0}, True),
        ("max(tp_time, 2 ms) == 2 ms", {"tp_time": 0.001}, True),
        ("memory_capacity ** 2 > 3 GB**2", {"memory_capacity": 2e9}, True),
        ("sequence_parallel", {"sequence_parallel": 1.0}, True),
        ("2.5 $/h * step_time <= 1 USD", {"step_time": 1440.0}, True),
        ("2.5 $/h * step_time < 1 USD", {"step_time": 1450.0}, False),
    ],
)
def test_numbers_with_units(text, at, expected):
    assert holds(text, **at) is expected


@pytest.mark.parametrize(
    ("text", "canonical", "expected"),
    [
        ("target_p99_latency_ms <= 500", 0.5, True),
        ("target_p99_latency_ms <= 499", 0.5, False),
        ("target_p99_latency_ms <= 0.5 s", 0.5, True),
        ("2 * target_p99_latency_ms - 100 <= 900", 0.5, True),
        ("-target_p99_latency_ms / 2 >= -250", 0.5, True),
        ("abs(target_p99_latency_ms - 400) > 99", 0.5, True),
        ("min(target_p99_latency_ms, 300) == 300", 0.5, True),
    ],
)
def test_a_bare_number_is_in_the_unit_a_name_says(text, canonical, expected):
    assert holds(text, SERVING, target_p99_latency_ms=canonical) is expected


def test_a_unit_of_the_name_of_an_input_is_a_unit_behind_a_number():
    assert holds("qps <= 20 qps", SERVING, qps=20.0)
    assert value("40 QPS / qps", SERVING, qps=20.0) == 2


@pytest.mark.parametrize(
    "text", ["precision == fp8", "precision == 'fp8'", '"fp8" == precision', "precision in (fp8,bf16)"]
)
def test_labels(text):
    code = variable_of("precision").code
    assert holds(text, precision=code("fp8"))
    assert not holds(text, precision=code("fp16"))


def test_a_label_keeps_its_name_until_it_is_lowered():
    found = asked("step_bottleneck == 'Arithmetic'")
    assert str(found.sympy) == "Eq(step_bottleneck, step_bottleneck.Arithmetic)"
    assert lower(found.sympy).rhs == variable_of("step_bottleneck").code("Arithmetic")


def test_flags_and_truth_values_are_conditions():
    assert holds("sequence_parallel == 1", sequence_parallel=1.0)
    assert asked("sequence_parallel").sympy == asked("sequence_parallel == True").sympy
    assert asked("feasible").sympy == asked("feasible == True").sympy == variable_of("feasible").symbol
    assert asked("not feasible").sympy == asked("feasible == False").sympy


@pytest.mark.parametrize(
    ("text", "dimension", "unit"),
    [
        ("tokens_per_second / fleet_size", {"[token]": 1, "[time]": -1}, "token/s"),
        ("total_memory", {"[information]": 1}, "GB"),
        ("total_memory + 2 GB", {"[information]": 1}, "GB"),
        ("total_memory / step_time", {"[information]": 1, "[time]": -1}, "byte/s"),
        ("mfu", {}, ""),
        ("1 / step_time", {"[time]": -1}, "1/s"),
        ("energy_per_token * tokens_per_second", variable_of("tdp").dimension, "W"),
        ("0", {}, ""),
    ],
)
def test_dimension_and_unit(text, dimension, unit):
    found = read(text)
    assert (dict(found.dimension), found.unit) == (dimension, unit)


@pytest.mark.parametrize(
    "text", ["tokens_per_second / fleet_size", "step_time * 2.5 $/h", "seq_len + 3", "max(tp_time, 3 ms)"]
)
def test_dimensions_of_what_was_read_agree(text):
    assert dimension_of(read(text).sympy) == dict(read(text).dimension)


def test_names_used():
    assert asked("total_memory <= 0.9 * memory_capacity and precision == fp8").names == (
        "memory_capacity",
        "precision",
        "total_memory",
    )


def test_sympy_expressions_of_the_model():
    memory, capacity = variable_of("total_memory").symbol, variable_of("memory_capacity").symbol
    assert asked(memory <= capacity).sympy == (memory <= capacity)
    assert read(memory / capacity).dimension == {}
    with pytest.raises(UnitError, match="step_time is time but total_memory is information"):
        read(memory + variable_of("step_time").symbol)
    with pytest.raises(UnknownNameError, match="unknown input or output of DistributedModel 'qps'"):
        read(variable_of("qps").symbol)
    with pytest.raises(InputError, match="tp_size is not the symbol the model has for that name"):
        read(sympy.Symbol("tp_size"))


REFUSED = [
    ("total_memory <= 70", UnitError, "total_memory is information, so 70 needs a unit, as in '70 GB'"),
    ("step_time + 3 > 4 s", UnitError, "step_time is time, so 3 needs a unit, as in '3 s'"),
    ("total_memory <= 80 TFLOP", UnitError, ": TFLOP is not a unit of GB"),
    ("80 TFLOP >= total_memory", UnitError, ": TFLOP is not a unit of GB"),
    ("tp_size <= 3 GB", UnitError, ": GB is not a unit of count"),
    ("80 TFLOP >= 8 GB", UnitError, ": TFLOP is not a unit of GB"),
    ("step_time <= total_memory", UnitError, "step_time is time but total_memory is information"),
    ("step_time <= tp_size", UnitError, "step_time is time but tp_size is a pure number"),
    ("log(step_time) > 1", UnitError, "step_time is time, not a pure number"),
    ("floor(step_time) > 1 s", UnitError, "rounds time, which is not a count"),
    ("2 ** step_time > 1", UnitError, "exponent step_time is time"),
    ("total_mem <= 70 GB", UnknownNameError, "unknown input or output of DistributedModel 'total_mem': did you mean"),
    ("precision == fp9", UnknownNameError, "unknown precision 'fp9': did you mean fp8"),
    ("foo(3) > 1", UnknownNameError, "unknown function 'foo': did you mean floor?"),
    ("__import__('os')", UnknownNameError, "unknown function '__import__'"),
    ("9**9**9 > tp_size", InputError, "an exponent is at most 64"),
    ("((1e300 * tp_size) ** 64) ** 64 > 1", InputError, "holds a number too large or too small"),
    ("1e999 > tp_size", InputError, "1e999 is too large or too small"),
    ("1e-999 > tp_size", InputError, "1e-999 is too large or too small"),
    ("1/0 > tp_size", InputError, "divides by zero"),
    ("tp_size % 0 > 1", InputError, "divides by zero"),
    ("(-1) ** 0.5 > tp_size", InputError, "is not a real number"),
    ("step_time", InputError, "step_time is no condition; compare it, as in total_memory <= 70 GB"),
    ("tp_size = 2", InputError, "'=' does not compare; write =="),
    ("tp_size ^ 2 > 1", InputError, "'^' is no power; write **"),
    ("precision < fp8", InputError, "precision is a label: compare it with == to one of fp32"),
    ("precision == 3", InputError, "precision is compared with one of fp32"),
    ("precision == optimizer", InputError, "precision is compared with one of fp32"),
    ("feasible + 1 > 2", InputError, "feasible is a condition, not a number"),
    ("'a' == 3", InputError, "'a' is a label: compare it with == to what has it"),
    ("2 batch_size > 1", InputError, "'batch_size' is no unit; a product needs *, as in 2 * batch_size"),
    ("step_time < 3 sek", InputError, "'sek' is no unit"),
    ("tp_size.real > 1", InputError, "cannot be read at '.real > 1'"),
    ("lambda: 3", InputError, "cannot be read at ': 3'"),
    ("[1, 2]", InputError, "cannot be read at '['"),
    ("tp_size >", InputError, "cannot be read to its end"),
    ("", InputError, "cannot be read to its end"),
    ("(tp_size > 1", InputError, "cannot be read to its end"),
    ("tp_size > 1)", InputError, "cannot be read at ')'"),
    ("max(1) > 0", InputError, "max() takes two numbers or more"),
    ("log(1, 2) > 0", InputError, "log() takes one number"),
    ("tp_size in 3", InputError, "'in' takes a list in brackets"),
    ("(" * 50 + "1" + ")" * 50, InputError, "is nested more than 40 deep"),
    ("-" * 50 + "1", InputError, "is nested more than 40 deep"),
    ("1 +" * 1000 + "1", InputError, "must be text of at most 2000 characters"),
    (3, InputError, "must be text of at most 2000 characters, or a sympy expression of the model"),
    (None, InputError, "must be text of at most 2000 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "message"), REFUSED, ids=[str(text)[:30] for text, *_ in REFUSED])
def test_refused(text, kind, message):
    with pytest.raises(kind) as caught:
        condition(text, MODEL, KNOWN, "subject_to")
    assert message in str(caught.value)
    assert kind is UnknownNameError or str(caught.value).startswith("subject_to=")


def test_a_condition_is_no_quantity():
    with pytest.raises(InputError, match="tp_size <= 8 is a condition, not a number"):
        read("tp_size <= 8")
    with pytest.raises(InputError, match="precision is a label"):
        read("precision")


PIECES = """
tp_size step_time total_memory precision feasible fp8 'fp8' 1 2.5 70 GB s ms % ( ) [ ] , + - * / // ** < <= == !=
and or not in max min ceil log abs sqrt 0 1e300 .5 = ^ . $ True
"""


@fuzzing(400)
@given(st.one_of(st.lists(st.sampled_from(PIECES.split()), max_size=14).map(" ".join), st.text(max_size=20)))
def test_whatever_is_typed_is_read_or_refused(text):
    for reading in (read, asked):
        try:
            found = reading(text)
        except MlsysimError:
            continue
        compiled(MODEL.system, None, "vector", (("value", found.sympy),))


BACKENDS = [
    "total_memory <= 0.9 * memory_capacity",
    "step_time <= 10 s and (feasible or tp_size > 1)",
    "not feasible",
    "feasible == (pp_size > 1)",
    "step_bottleneck == Arithmetic",
    "step_bottleneck in (Arithmetic, Pipeline) and precision != fp8",
    "tp_size * pp_size == 8",
    "batch_size % (tp_size * 3) == 0",
]
QUANTITIES = [
    "tokens_per_second / fleet_size",
    "max(compute_time, tp_time, 5 ms) + abs(step_time - 1 s)",
    "ceil(batch_size / 7) * floor(pp_size / 3) + batch_size // 5",
    "log(tp_size + 1) ** 2 + sqrt(mfu)",
    "min(pp_size, 3) - tp_size % 3",
]


@pytest.mark.long
def test_every_backend_gives_the_same():
    import jax

    layouts = [(t, p) for t in (1, 2, 4, 8) for p in (1, 2, 4, 8)]
    run = {"model": "Llama3_8B", "hardware": "H100", "fleet_size": 64, "batch_size": 256, "fabric_bandwidth": "50 GB/s",
           "fabric_latency": "10 us", "gradient_accumulation_steps": 4}  # fmt: skip
    bound = [bind(MODEL, {**run, "tp_size": t, "pp_size": p}).values for t, p in layouts]
    values = {name: np.array([at[name] for at in bound]) for name in bound[0]}
    system = bind(MODEL, {**run}).system
    known = [*values, *(v.name for v in system.variables)]
    texts = [(condition, text) for text in BACKENDS] + [(quantity, text) for text in QUANTITIES]
    expressions = tuple((f"x{n}", reading(text, MODEL, known).sympy) for n, (reading, text) in enumerate(texts))
    scalar = [compiled(system, None, "numpy", expressions)(at) for at in bound]
    several = compiled(system, None, "vector", expressions)(values)
    function = compiled(system, None, "jax", expressions)
    with jax.enable_x64(True):
        found = jax.jit(function.raw)(*[values[name] for name in function.inputs])
    grids = dict(zip(function.outputs, map(np.asarray, found), strict=True))
    for name, (_, text) in zip(several, texts, strict=True):
        one_by_one = np.array([at[name] for at in scalar])
        assert len(set(one_by_one.tolist())) > 1 or text in BACKENDS, text
        for other in (several[name], grids[name]):
            np.testing.assert_allclose(np.asarray(other, float), one_by_one.astype(float), rtol=1e-12, err_msg=text)
        assert (one_by_one.dtype == bool) is (text in BACKENDS)


def test_every_backend_agrees_with_python_on_outputs():
    """The same texts, run by Python on numbers taken from results."""
    run = {"model": "Llama3_8B", "hardware": "H100", "fleet_size": 64, "batch_size": 256, "fabric_bandwidth": "50 GB/s",
           "fabric_latency": "10 us", "gradient_accumulation_steps": 4}  # fmt: skip
    rng = random.Random(1)
    for _ in range(5):
        solved = MODEL.solve(**run, tp_size=rng.choice([1, 2, 4]), pp_size=rng.choice([1, 2]))
        at = {**{name: solved.canonical(name) for name in (*solved.inputs, *solved.outputs)}, "ceil": math.ceil}
        for text in (
            "total_memory <= 0.9 * memory_capacity",
            "batch_size % (tp_size * 3) == 0",
            "tp_size*pp_size == 4",
        ):
            assert bool(value_of(solved, asked(text))) is eval(text, {}, at), text
        for text in ("tokens_per_second / fleet_size", "ceil(batch_size / 7) + batch_size // 5"):
            assert value_of(solved, read(text)) == pytest.approx(eval(text, {}, at), rel=1e-13), text


def value_of(solved, expression):
    inputs = {name: solved.canonical(name) for name in solved.inputs}
    return compiled(MODEL.system, None, "numpy", (("value", expression.sympy),))(inputs)["value"]


def test_units_of_bare_numbers():
    token, rate = {"[token]": 1}, {"[request]": 1, "[time]": -1}
    assert bare_unit(token, "") == "token"
    assert bare_unit({"[request]": 2}, "") == bare_unit(rate, "") == bare_unit({"[time]": 1}, "QPS") == ""
    assert bare_unit(rate, "QPS") == "QPS"
    assert canonical_unit({"[token]": 2, "[time]": -1}) == "token**2/s"
    assert canonical_unit({}) == ""


def test_an_inverse_unit_reads_as_the_message_writes_it():
    model = ServingCapacityModel()
    asked = condition("replica_arrival_rate <= 24.25 1/s", model, ["replica_arrival_rate"])
    assert lower(asked.sympy) == (variable_of("replica_arrival_rate").symbol <= sympy.Rational(97, 4))
    with pytest.raises(UnitError, match=r"needs a unit, as in '24\.25 1/s'"):
        condition("replica_arrival_rate <= 24.25", model, ["replica_arrival_rate"])


#: Shares whose quotients by a tenth are whole but for rounding, and some that are not.
TENTHS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.05, 0.25, 0.65, 0.999]


@pytest.mark.parametrize("step", ["0.1", "(0.1 * tp_size)", "memory_efficiency"])
def test_a_remainder_is_what_the_floor_of_the_quotient_leaves(step):
    """On every backend: a quotient that is whole but for rounding leaves nothing."""
    import jax

    texts = [f"efficiency // {step} * {step} + efficiency % {step}", f"efficiency % {step}",
             f"ceil(efficiency / {step}) - floor(efficiency / {step})"]  # fmt: skip
    asked_of = [read(text).sympy for text in texts] + [asked(f"efficiency % {step} == 0").sympy]
    named = tuple((f"x{place}", expression) for place, expression in enumerate(asked_of))
    system = MODEL.system
    inputs = {v.name: 1.0 for v in system.inputs} | {"memory_efficiency": 0.1, "tp_size": 1.0}
    scalar = [compiled(system, None, "numpy", named)({**inputs, "efficiency": x}) for x in TENTHS]
    several = compiled(system, None, "vector", named)({**inputs, "efficiency": np.array(TENTHS)})
    function = compiled(system, None, "jax", named)
    given_to = {**inputs, "efficiency": np.array(TENTHS)}
    with jax.enable_x64(True):
        found = jax.jit(function.raw)(*[given_to[name] for name in function.inputs])
    for back, rest, between, divides in (
        [np.array([at[name] for at in scalar]) for name, _ in named],
        [several[name] for name, _ in named],
        found,
    ):
        np.testing.assert_allclose(back, TENTHS, rtol=1e-15)
        whole = np.array([round(10 * x, 9) == round(10 * x) for x in TENTHS])
        assert (np.asarray(divides) == whole).all()
        assert (np.asarray(rest)[whole] == 0).all()
        assert (np.asarray(rest)[~whole] > 0.04).all()
        assert (np.asarray(between) == ~whole).all()


def test_a_remainder_of_whole_numbers_is_exact():
    assert value("batch_size % 2", batch_size=2.0**53 - 1) == 1


def test_a_search_finds_all_that_a_divisor_divides():
    run = {"model": "Llama3_8B", "hardware": "H100", "fleet_size": 8, "batch_size": 64, "fabric_bandwidth": "50 GB/s",
           "fabric_latency": "10 us"}  # fmt: skip
    for method in ("dense", "bounds"):
        found = MODEL.search(**run, efficiency=TENTHS, minimize="step_time", subject_to="efficiency % 0.1 == 0",
                             method=method, allow_infeasible=True)  # fmt: skip
        assert found.best.inputs["efficiency"] == 0.7
        assert "7 of them meeting" in str(found.certificate)
