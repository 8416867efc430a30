"""A function that knows most inputs has the values and slopes of the whole function."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fuzz import is_long, rest_long
from study.points import DEPLOYMENTS, POINTS

import mlsysim
from mlsysim.backends import derivatives
from mlsysim.backends.pure import known_function
from mlsysim.models import ours
from mlsysim.symbolic import variable_of

#: The example of every model, where layouts of one rank and sharding of nothing make cases meet, and a point of every
#: variant. Those of deployments have roots, which JAX takes a minute for at every call unless it is given all at once.
EXAMPLES = {listed.name: (listed.name, None) for listed in ours()}
PLACES = EXAMPLES | {f"{name}[{variant}]": (name, variant) for name, variant in POINTS}
LOOPS = [key for key, place in PLACES.items() if place in DEPLOYMENTS or key == "ServingModel"]
QUICK = ["TrainingMemoryModel", "ServingCapacityModel", "MoERoutingModel", "DistributedModel"]
OTHERS = [*QUICK, *(key for key in PLACES if key not in (*LOOPS, *QUICK))]


def drawn(key, draws):
    """Functions of an output of the headline, each with one to four inputs, numbers, of which it knows the others."""
    name, variant = PLACES[key]
    given = dict(POINTS[name, variant] if variant else getattr(mlsysim, name).example)
    model = getattr(mlsysim, name)(given.pop("variant", variant))
    rng = np.random.default_rng(len(key))
    known = [each for each in model.solve(**given).outputs if each in model.headline]
    for output in rng.permutation([each for each in known if variable_of(each).domain.kind == "real"])[:draws]:
        function = model.function(str(output), **given)
        numbers = [n for n in function.inputs if variable_of(n).domain.kind in ("real", "integer")]
        some = rng.permutation(numbers)[: rng.integers(1, 5)]
        while len(some) and not knows_rest(function, some):
            some = some[:-1]
        if len(some):
            yield function, {str(n): function.inputs[str(n)] for n in some}


def knows_rest(function, names):
    held = tuple(each for each in function.inputs.items() if each[0] not in names)
    return known_function(function._system, function.outputs, held) is not None


def whole(function):
    """The function as it is, of all inputs."""
    return lambda x: function._pure({**function.inputs, **x})[function.outputs[0]]


def assert_same(found, expected, near, noise):
    """Equal where numbers are expected; beside a case that is not taken there may be a slope that JAX has none of."""
    if np.isfinite(expected):
        assert float(found) == pytest.approx(float(expected), rel=near, abs=noise)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("key", rest_long(OTHERS, quick=3))
def test_values_and_slopes_are_those_of_the_whole_function(key):
    checked = 0
    for function, x in drawn(key, 3 if is_long() else 1):
        with jax.enable_x64(True):
            value, slopes = jax.value_and_grad(function)(x)
            expected, by_jax = jax.value_and_grad(whole(function))(x)
        assert value.dtype == np.float64
        assert_same(value, expected, 1e-12, 0.0)
        for name, slope in slopes.items():
            assert_same(slope, by_jax[name], 1e-9, 1e-14 * abs(float(expected)) / max(abs(x[name]), 1e-30))
        checked += len(x)
    assert checked


@pytest.mark.long
@pytest.mark.parametrize("key", LOOPS)
def test_values_and_slopes_of_deployments_are_those_that_numpy_carries(key):
    """Roots are found to some digits, and chains to fewer, on each backend for itself."""
    for function, x in drawn(key, 1):
        with jax.enable_x64(True):
            value, slopes = jax.value_and_grad(function)(x)
        (output,) = function.outputs
        found = derivatives(function._system, [output], list(x), function.inputs)[output]
        expected = float(found[()].item())
        assert_same(value, expected, 1e-9, 0.0)
        for name, slope in slopes.items():
            by_numpy = found.get((name,), np.zeros(1)).item()
            assert_same(slope, by_numpy, 1e-5, 1e-9 * abs(expected) / max(abs(x[name]), 1e-30))


def kernel(outputs):
    return mlsysim.KernelModel("smooth").function(outputs, **POINTS["KernelModel", "smooth"])


@pytest.fixture(scope="module")
def function():
    return kernel("kernel_time")


@pytest.fixture(scope="module")
def x(function):
    """Some of its inputs, by which it is made."""
    found = {name: function.inputs[name] for name in ("efficiency", "memory_bandwidth", "product_rows")}
    assert knows_rest(function, found)
    return found


class TestTransformations:
    """Each of JAX, of a function that knows the others, against the same of the whole function."""

    @pytest.mark.long(quick=2)
    @pytest.mark.parametrize(
        "way",
        [jax.jit, jax.grad, jax.jacfwd, lambda f: jax.jit(jax.grad(f)), lambda f: jax.grad(jax.jit(f)), jax.hessian],
        ids=["jit", "grad", "jacfwd", "jit of grad", "grad of jit", "hessian"],
    )
    def test_of_numbers(self, way, function, x):
        with jax.enable_x64(True):
            found, expected = way(function)(x), jax.jit(way(whole(function)))(x)
        jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9), found, expected)

    def test_vmap_of_grad(self, function):
        rows = np.array([16.0, 100.0, 1000.0])
        with jax.enable_x64(True):
            found, expected = (
                jax.jit(jax.vmap(jax.grad(lambda n, f=f: f({"product_rows": n}))))(rows)
                for f in (function, whole(function))
            )
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    @pytest.mark.long
    def test_single_precision(self, function, x):
        found = jax.grad(function)({name: jnp.float32(value) for name, value in x.items()})
        expected = jax.grad(whole(function))({name: jnp.float32(value) for name, value in x.items()})
        for name, slope in found.items():
            assert slope.dtype == np.float32
            assert float(slope) == pytest.approx(float(expected[name]), rel=1e-5)
        with jax.enable_x64(True):
            assert jax.grad(function)({"efficiency": jnp.float32(0.5)})["efficiency"].dtype == np.float32

    def test_an_input_that_was_changed_is_read_again(self):
        function = kernel("kernel_time")
        first = jax.grad(function)({"efficiency": 0.5})["efficiency"]
        function.inputs["product_columns"] *= 2
        assert jax.grad(function)({"efficiency": 0.5})["efficiency"] < first

    def test_outputs_that_do_not_depend_on_it_stay(self):
        function = kernel(["kernel_time", "arithmetic_intensity"])
        values, slopes = jax.jvp(lambda rate: function({"efficiency": rate}), (0.5,), (1.0,))
        assert float(values["arithmetic_intensity"]) == pytest.approx(float(function()["arithmetic_intensity"]))
        assert float(slopes["arithmetic_intensity"]) == 0.0
        assert float(slopes["kernel_time"]) != 0.0


class TestWhole:
    """Where shapes, whole numbers or time would be lost."""

    def test_arrays_keep_their_shape(self, function):
        traced = jax.eval_shape(function, {"product_rows": jnp.ones(3), "efficiency": jnp.ones((2, 1)) / 2})
        assert traced.shape == (2, 3)

    def test_labels_stay_whole_numbers(self):
        function = kernel("kernel_bottleneck")
        assert jnp.issubdtype(jax.eval_shape(lambda rows: function({"product_rows": rows}), 8.0).dtype, jnp.integer)

    def test_whole_numbers_are_taken(self, function):
        found = jax.jit(function)({"product_rows": 1000})
        assert float(found) == pytest.approx(float(function({"product_rows": 1000.0})), rel=1e-6)

    def test_more_operations_than_xla_compiles_quickly(self, monkeypatch, function):
        known_function.cache_clear()
        assert knows_rest(function, ["efficiency"])
        known_function.cache_clear()
        monkeypatch.setattr(sys.modules["mlsysim.backends.pure"], "LARGEST", 1)
        assert not knows_rest(function, ["efficiency"])
        known_function.cache_clear()
