"""Ceilings and floors of exact quotients are exact, on every backend and however a grid is laid out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from fuzz import rest_long
from on_jax import evaluate

from mlsysim.backends import compiled, pure_function
from mlsysim.formulas.training_memory import local_micro_batch
from mlsysim.symbolic import System

#: Divisors whose rounded inverse, times a multiple of them, passes the whole number.
DIVISORS = (49, 75, 77, 91, 93, 98, 99, 103, 105, 117, 123, 150, 154, 187, 197)


@pytest.fixture(scope="module")
def micro_batch():
    return System([local_micro_batch])


@pytest.fixture(scope="module")
def multiples():
    """Batches that divide exactly, the two divisors, and the quotient."""
    cases = [(k * d * g, d, g, k) for d in DIVISORS for g in (1, 3, 7) for k in range(1, 60)]
    return np.array(cases, float).T


def test_some_cases_are_off_by_one_when_multiplied_by_inverses(multiples):
    """Else the tests below would prove nothing."""
    batch, d, g, quotient = multiples
    assert (np.ceil(batch * (1 / d) * (1 / g)) != quotient).sum() > 100
    assert (np.ceil(batch * (1 / (d * g))) != quotient).sum() > 50


def test_source_divides_once_by_the_product(micro_batch):
    for backend in ("numpy", "vector", "jax"):
        source = compiled(micro_batch, None, backend).source
        assert "ceil(batch_size / (dp_size * gradient_accumulation_steps))" in source


def test_scalars(micro_batch, multiples):
    function = compiled(micro_batch)
    for batch, d, g, quotient in multiples.T:
        point = {"batch_size": batch, "dp_size": d, "gradient_accumulation_steps": g}
        assert function(point)["local_micro_batch"] == quotient
        assert function({**point, "batch_size": batch + 1})["local_micro_batch"] == quotient + 1


def test_columns(micro_batch, multiples):
    batch, d, g, quotient = multiples
    values = {"batch_size": batch, "dp_size": d, "gradient_accumulation_steps": g}
    np.testing.assert_array_equal(evaluate(micro_batch, ["local_micro_batch"], values)["local_micro_batch"], quotient)


@pytest.mark.parametrize("scalar_divisor", [True, False])
@pytest.mark.parametrize("d", DIVISORS)
def test_one_divisor_beside_an_axis(micro_batch, d, scalar_divisor):
    """XLA turns division by a broadcast number into multiplication by its inverse."""
    quotient = np.arange(1, 2000.0)
    values = {
        "batch_size": quotient * d,
        "dp_size": float(d) if scalar_divisor else np.array([float(d)]),
        "gradient_accumulation_steps": 1.0,
    }
    found = evaluate(micro_batch, ["local_micro_batch"], values)["local_micro_batch"]
    np.testing.assert_array_equal(found, quotient)
    above = evaluate(micro_batch, ["local_micro_batch"], {**values, "batch_size": quotient * d + 1})
    np.testing.assert_array_equal(above["local_micro_batch"], quotient + 1)


def test_two_axes(micro_batch):
    quotient = np.arange(1, 300.0)
    divisors = np.array(DIVISORS, float)
    for d in divisors:
        values = {"batch_size": (quotient * d)[:, None], "dp_size": divisors, "gradient_accumulation_steps": 1.0}
        found = evaluate(micro_batch, ["local_micro_batch"], values)["local_micro_batch"]
        expected = -(-(quotient * d)[:, None].astype(int) // divisors.astype(int))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("d", rest_long(DIVISORS, quick=3))
def test_a_divisor_bound_as_a_constant_of_a_users_jit(micro_batch, d):
    pure = pure_function(micro_batch, ("local_micro_batch",))

    @jax.jit
    def micro(batch):
        return pure({"batch_size": batch, "dp_size": float(d), "gradient_accumulation_steps": 1.0})

    quotient = np.arange(1, 1000.0)
    with jax.enable_x64(True):
        found = micro(jnp.asarray(quotient * d))["local_micro_batch"]
    np.testing.assert_array_equal(found, quotient)
    with jax.enable_x64(False):
        found = micro(jnp.asarray(quotient * d, jnp.float32))["local_micro_batch"]
    assert found.dtype == jnp.float32
    np.testing.assert_array_equal(found, quotient)


@pytest.mark.parametrize("rounding", [sympy.ceiling, sympy.floor])
@pytest.mark.parametrize("d", rest_long(DIVISORS, quick=3))
def test_a_divisor_written_into_the_formula(pure, system_of, rounding, d):
    """Printed as a product with a rational number, so one rounding more than a division."""
    x, steps = pure("step_x"), pure("step_count")
    system = system_of({steps: rounding(x / d)})
    quotient = np.arange(1, 500.0)
    found = evaluate(system, ["step_count"], {"step_x": quotient * d})["step_count"]
    np.testing.assert_array_equal(found, quotient)
    function = compiled(system)
    assert [function({"step_x": q * d})["step_count"] for q in quotient] == quotient.tolist()


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_only_a_quotient_at_a_rounding_of_a_whole_number_counts_as_whole(pure, system_of, backend):
    x, up, down = pure("step_x"), pure("step_up"), pure("step_down")
    system = system_of({up: sympy.ceiling(x), down: sympy.floor(x)})
    values = np.array(
        [0.0, -0.0, 1e-300, -1e-300, 2.0, 2 + 1e-14, 2 - 1e-14, -2.5, 1e15 + 0.5, 2.0**53, np.inf, -np.inf]
    )
    if backend == "jax":
        found = evaluate(system, ["step_up", "step_down"], {"step_x": values})
    else:
        rows = [compiled(system)({"step_x": value}) for value in values]
        found = {name: np.array([row[name] for row in rows]) for name in ("step_up", "step_down")}
    np.testing.assert_array_equal(found["step_up"], np.ceil(values))
    np.testing.assert_array_equal(found["step_down"], np.floor(values))
