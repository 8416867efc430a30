"""Behaviour of JAX and XLA that the compiler works around."""

import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest


def test_the_float64_context_does_not_reach_other_threads():
    # Why engine enters it around every call. When this changes nothing breaks; see engine.grid.
    seen = {}

    def work():
        seen["inside"] = jnp.asarray(1.0).dtype

    with jax.enable_x64(True):
        assert jnp.asarray(1.0).dtype == jnp.float64
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert jnp.asarray(1.0).dtype == jnp.float64
    assert seen["inside"] == jnp.float32
    assert jnp.asarray(1.0).dtype == jnp.float32


def test_double_numbers_become_single_with_only_a_warning_outside_the_context():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert jnp.asarray(1.0, dtype=np.float64).dtype == jnp.float32
    assert "float64" in str(seen[0].message)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert jnp.asarray(np.array([1.0])).dtype == jnp.float32
    assert not seen


DIVIDED = jax.jit(lambda a, b: a / b)


@pytest.mark.parametrize("divisor", ["a number", "an axis of one"])
def test_xla_multiplies_by_the_inverse_of_a_divisor_that_is_one_number(divisor):
    # Why engine's ceil and floor take a quotient within two roundings of a whole number as that
    # number: ceil(525 / 75) would be 8 on a grid and 7 for a scalar. When this fails, they can be plain.
    with jax.enable_x64(True):
        b = jnp.float64(75) if divisor == "a number" else jnp.array([75.0])
        assert DIVIDED(jnp.array([525.0, 150.0]), b)[0] > 7
        assert DIVIDED(jnp.float64(525), jnp.float64(75)) == 7
        assert DIVIDED(jnp.array([525.0, 150.0]), jnp.array([75.0, 75.0]))[0] == 7


def test_xla_multiplies_by_the_inverse_of_a_constant():
    with jax.enable_x64(True):
        assert jax.jit(lambda a: a / 75.0)(525.0) > 7


def test_a_loop_of_unknown_length_has_no_reverse_mode():
    # Why Erlang C has a custom derivative and a least integer holds its inputs constant.
    def doubled(x):
        return jax.lax.while_loop(lambda v: v < 100, lambda v: 2 * v, x)

    assert jax.jvp(doubled, (3.0,), (1.0,))[1] == 64
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax.grad(doubled)(3.0)


def test_truth_values_and_whole_numbers_have_a_tangent_without_a_type():
    # Why engine.slopes turns outputs into floats first: float0 arrays can be used for nothing.
    for step in (lambda x: x > 1, lambda x: jnp.where(x > 1, 12, 4)):
        assert jax.jvp(step, (3.0,), (1.0,))[1].dtype == jax.dtypes.float0
