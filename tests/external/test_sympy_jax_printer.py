"""Why ``engine.printer`` exists: what sympy 1.14's own JAX printer does today.

Each test asserts an upstream trap. When one fails, sympy has mended it: drop the test, and once all
are gone ask whether ``engine.printer.CodePrinter`` can become a subclass of ``JaxPrinter``.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.numpy import JaxPrinter

x, y = sympy.symbols("x y", real=True)
GRID = jnp.array([1.0, 2.0, 3.0])
COLUMN = jnp.array([[1.0], [2.0]])


def by_sympy(arguments, expression):
    return sympy.lambdify(arguments, expression, modules="jax")


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        (sympy.loggamma(x), "math.lgamma(x)"),
        (sympy.gamma(x), "math.gamma(x)"),
        (sympy.erf(x), "math.erf(x)"),
        (sympy.factorial(x), "math.factorial(x)"),
    ],
)
def test_special_functions_print_as_math_and_break_on_arrays(expression, printed):
    # When mended: functions beyond our rules could be let through instead of refused with FormulaError.
    assert JaxPrinter().doprint(expression) == printed
    with pytest.raises(TypeError, match="scalar arrays can be converted"):
        by_sympy([x], expression)(GRID)


def test_the_incomplete_gamma_function_is_refused():
    # When mended: Erlang B could be written with uppergamma; ErlangC keeps its own stable sum.
    with pytest.raises(PrintMethodNotImplementedError, match="uppergamma"):
        JaxPrinter().doprint(sympy.uppergamma(x, y))


@pytest.mark.parametrize("logic", [sympy.And, sympy.Or])
def test_logic_stacks_its_operands_so_axes_do_not_broadcast(logic):
    # When mended: our & and | are still shorter to read; nothing to do.
    function = by_sympy([x, y], logic(x > 0, y > 0))
    assert function(GRID, GRID).tolist() == [True, True, True]
    with pytest.raises(TypeError, match="different numbers of dimensions"):
        function(GRID, COLUMN)


def test_whole_numbers_beyond_32_bits_overflow():
    # When mended: CodePrinter._print_Integer can print every whole number as it stands.
    with pytest.raises(OverflowError):
        by_sympy([x], 2**40 * x)(GRID)


def test_an_untaken_branch_makes_the_derivative_not_a_number():
    # When mended (by sympy or by JAX): engine.guards can go.
    function = by_sympy([x], sympy.Piecewise((1 / x, x > 0), (3 * x, True)))
    assert function(jnp.asarray(0.0)) == 0.0
    assert jnp.isnan(jax.grad(function)(0.0))


def test_a_rational_factor_prints_as_a_product_with_a_rounded_number():
    # One rounding more than x/75. Our printer does the same; engine's ceil and floor allow for it.
    assert JaxPrinter().doprint(sympy.ceiling(x / 75)) == "jax.numpy.ceil((1/75)*x)"
    assert np.ceil((1 / 75) * 525.0) == 8
