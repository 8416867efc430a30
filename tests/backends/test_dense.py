"""Streaming search: equal to holding the grid, however it is tiled and however many tie."""

import math
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest
import sympy
from fuzz import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from mlsysim.backends import dense as module
from mlsysim.backends.dense import DenseSearch, Scan
from mlsysim.backends.tiling import Tiling
from mlsysim.inputs.binding import bind
from mlsysim.models import ServingCapacityModel, TrainingMemoryModel
from mlsysim.symbolic import variable_of

NAMES = ("u", "v", "w", "x")


def smallest(*question, k=1, **options):
    """The answer of a search of all tiles."""
    search = DenseSearch(*question, **options)
    return search.resolve(search.scan(0, search.runs, k), k)


@pytest.fixture(scope="module")
def toy(pure, system_of):
    """A small system with a ceiling, a branch and a table over two axes."""
    u, v, w, x, table = (pure(f"dense_{name}") for name in (*NAMES, "table"))
    steps, total = pure("dense_steps"), pure("dense_total")
    system = system_of({
        steps: sympy.ceiling(u / v) * table,
        total: steps + sympy.Piecewise((w / x, w > 2), (x, True)),
    })  # fmt: skip
    return system, total, dict(zip(NAMES, (u, v, w, x), strict=True)) | {"table": table}


def axis_shaped(values):
    """Name to one-dimensional values, as inputs over a grid of all combinations."""
    sizes = [len(found) for found in values.values()]
    return {
        name: np.asarray(found, float).reshape([-1 if a == place else 1 for a in range(len(sizes))])
        for place, (name, found) in enumerate(values.items())
    }, tuple(sizes)


def by_hand(values, sizes):
    """The toy in plain NumPy, on the whole grid."""
    u, v, w, x, table = (np.broadcast_to(values[f"dense_{n}"], sizes) for n in (*NAMES, "table"))
    return np.ceil(u / v) * table + np.where(w > 2, w / x, x)


def chosen(objective, allowed, k):
    """The k best of a whole grid, written from the definition."""
    flat = np.where(allowed, objective, np.inf).ravel()
    flat = np.where(np.isnan(flat), np.inf, flat)
    order = [int(i) for i in np.lexsort((np.arange(flat.size), flat)) if flat[i] < np.inf]
    if not order:
        return [], []
    last = flat[order[min(k, len(order)) - 1]]
    margin = 1e-9 * abs(last)
    strict = [i for i in order if flat[i] < last - margin]
    tied = sorted(i for i in order if abs(flat[i] - last) <= margin)
    best = strict + tied[: min(k, len(order)) - len(strict)]
    best.sort(key=lambda i: flat[i])
    runs: list[list[int]] = []
    for i in best:
        if runs and flat[i] <= flat[runs[-1][0]] * (1 + 1e-9):
            runs[-1].append(i)
        else:
            runs.append([i])
    best = [i for run in runs for i in sorted(run)]
    return [flat[i] for i in best], best


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 7), min_size=4, max_size=4))
    number = st.integers(1, 12)
    values = {f"dense_{n}": draw(st.lists(number, min_size=s, max_size=s)) for n, s in zip(NAMES, sizes, strict=True)}
    widths = [draw(st.integers(1, size)) for size in sizes]
    cut_axis = draw(st.integers(0, 3))
    widths = [
        w if axis == cut_axis else draw(st.sampled_from([1, n]))
        for axis, (w, n) in enumerate(zip(widths, sizes, strict=True))
    ]
    over = draw(st.sets(st.integers(0, 3), max_size=2))
    limit = draw(st.floats(0, 60))
    return (
        values,
        widths,
        sorted(over),
        limit,
        draw(st.integers(1, 9)),
        draw(st.booleans()),
        draw(st.integers(0, 2**20)),
    )


def test_equals_holding_the_grid_however_it_is_cut(toy, monkeypatch):
    system, total, _ = toy

    @fuzzing(60, quick=4)
    @given(problems())
    def check(problem):
        typed, widths, over, limit, k, count, seed = problem
        values, sizes = axis_shaped(typed)
        table = np.random.default_rng(seed).integers(1, 4, [n if a in over else 1 for a, n in enumerate(sizes)])
        values["dense_table"] = table.astype(float)
        with monkeypatch.context() as patch:
            patch.setattr(module, "tiled", lambda *_: Tiling(sizes, tuple(widths)))
            found = smallest(system, total, [total <= limit], values, sizes, k=k, count=count)
        objective = by_hand(values, sizes)
        best, where = chosen(objective, objective <= limit, k)
        np.testing.assert_allclose(found.values, best, rtol=1e-12)
        assert found.indices.tolist() == where
        assert found.feasible == (int((objective <= limit).sum()) if count else None)
        assert found.points == objective.size

    check()


@pytest.mark.long
def test_a_tie_goes_to_the_first_point_in_c_order(toy):
    system, _, symbols = toy
    values, sizes = axis_shaped(
        {"dense_u": np.arange(1, 9), "dense_v": np.arange(1, 301), "dense_w": np.arange(1, 301)}
    )
    values |= {"dense_x": 1.0, "dense_table": 1.0}
    u, v = symbols["u"], symbols["v"]
    for k in (1, 3, 700):
        found = smallest(system, sympy.Mod(u, 2) + 0 * v, [], values, sizes, k=k)
        assert found.indices.tolist() == list(range(90_000, 90_000 + k))
        assert found.feasible == 720_000


def test_values_closer_than_a_billionth_are_equal(toy):
    system, _, symbols = toy
    v = symbols["v"]
    values, sizes = axis_shaped({"dense_v": [3.0, 2.0 * (1 + 1e-10), 2.0, 5.0, 2.0 * (1 + 1e-8)]})
    found = smallest(system, v, [], values, sizes)
    assert (found.indices.tolist(), found.values.tolist()) == ([1], [2.0 * (1 + 1e-10)])
    found = smallest(system, v, [], values, sizes, k=3)
    assert found.indices.tolist() == [1, 2, 4]


def test_undefined_and_infinite_points_are_out(toy):
    system, _, symbols = toy
    u = symbols["u"]
    values, sizes = axis_shaped({"dense_u": [0.0, -1.0, 4.0, 1.0]})
    found = smallest(system, sympy.log(u), [], values, sizes, k=9)
    assert found.indices.tolist() == [3, 2]
    found = smallest(system, 1 / u, [], values, sizes, k=9)
    assert found.indices.tolist() == [1, 2, 3]
    assert found.feasible == 3


@pytest.mark.long
def test_nothing_feasible_is_an_answer(toy):
    system, _, symbols = toy
    values, sizes = axis_shaped({"dense_u": np.arange(100.0)})
    found = smallest(system, symbols["u"], [symbols["u"] < 0], values, sizes, k=2)
    assert (found.values.size, found.indices.size, found.feasible, found.points) == (0, 0, 0, 100)
    assert smallest(system, symbols["u"], [sympy.false], values, sizes).feasible == 0
    assert smallest(system, symbols["u"], [sympy.true], values, sizes).feasible == 100


@pytest.mark.long
def test_an_axis_longer_than_a_slice_is_cut(toy):
    system, _, symbols = toy
    length = 100_003
    values, sizes = axis_shaped({"dense_u": np.arange(length, dtype=float)})
    search = DenseSearch(system, (symbols["u"] - 99_999.5) ** 2, [], values, sizes)
    assert search.tiling.overhang == 0
    found = search.resolve(search.scan(0, search.runs, 4), 4)
    assert found.indices.tolist() == [99_999, 100_000, 99_998, 100_001]
    assert (found.feasible, found.points) == (length, length)


@pytest.mark.long
def test_parts_join_to_the_whole_in_any_order(toy, monkeypatch):
    monkeypatch.setattr("mlsysim.backends.tiling.RUN", 1)
    system, total, _ = toy
    values, sizes = axis_shaped(
        {"dense_u": np.arange(1, 200), "dense_v": np.arange(1, 200), "dense_w": np.arange(1, 10)}
    )
    values |= {"dense_x": 3.0, "dense_table": 1.0}
    search = DenseSearch(system, total, [total > 5], values, sizes)
    whole = search.resolve(search.scan(0, search.runs, 5), 5)
    some = [search.scan(n, n + 1, 5) for n in range(search.runs)]
    assert len(some) > 3
    joined = Scan()
    for part in some[::-1]:
        joined = joined.joined(part, 5)
    again = search.resolve(joined, 5)
    assert again.values.tobytes() == whole.values.tobytes()
    assert again.indices.tolist() == whole.indices.tolist()
    assert (again.feasible, again.points) == (whole.feasible, whole.points)


MEMORY_AXES = {
    "batch_size": np.arange(1, 17) * 8.0, "seq_len": np.arange(1, 17) * 512.0, "dp_size": np.arange(1, 17.0),
    "zero_stage": np.arange(4.0), "tp_size": 2.0 ** np.arange(4), "pp_size": 2.0 ** np.arange(3),
}  # fmt: skip


def test_a_model_against_its_own_grid():
    model = TrainingMemoryModel()
    binding = bind(model, {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8})
    over, sizes = axis_shaped(MEMORY_AXES)
    memory, capacity, d = (variable_of(n).symbol for n in ("total_memory", "memory_capacity", "dp_size"))
    found = smallest(binding.system, memory * d, [memory <= 0.5 * capacity], {**binding.values, **over}, sizes, k=20)
    swept = model.sweep(model="Llama3_8B", hardware="H100", outputs=["total_memory"], **MEMORY_AXES)
    held = swept.total_memory.values * 1e9
    limit = 0.5 * model.solve(model="Llama3_8B", hardware="H100", batch_size=8)["memory_capacity"].to("byte").magnitude
    best, where = chosen(held * swept.dp_size.values[:, None, None, None], held <= limit, 20)
    np.testing.assert_allclose(found.values, best, rtol=1e-12)
    assert found.indices.tolist() == where
    assert found.feasible == int((held <= limit).sum())


@pytest.mark.long
def test_a_model_with_searches_inside():
    model = ServingCapacityModel()
    fixed = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 4000}
    axes = {
        "qps": np.linspace(1, 400, 61),
        "max_batch_size": np.arange(1.0, 33),
        "seq_len": np.array([512.0, 2048, 8192]),
    }
    binding = bind(model, {**fixed, "qps": 10})
    over, sizes = axis_shaped(axes)
    replicas, qps = variable_of("required_replicas").symbol, variable_of("qps").symbol
    found = smallest(binding.system, replicas / qps, [qps >= 50], {**binding.values, **over}, sizes, k=5)
    swept = model.sweep(**fixed, **axes, outputs=["required_replicas"])
    held = swept.required_replicas.values / swept.qps.values[:, None, None]
    allowed = np.broadcast_to(swept.qps.values[:, None, None] >= 50, held.shape)
    best, where = chosen(held, allowed, 5)
    np.testing.assert_allclose(found.values, best, rtol=1e-12)
    assert found.indices.tolist() == where


@pytest.mark.long
def test_several_devices_find_the_same(tmp_path):
    """The same problem on one device here and on four in a process of their own."""
    code = textwrap.dedent("""
        import sys
        import jax, numpy as np
        from mlsysim.backends import evaluate_outputs, OutputSpec
        from mlsysim.backends.dense import DenseSearch
        from mlsysim.inputs.binding import bind
        from mlsysim.models import TrainingMemoryModel
        from mlsysim.symbolic import variable_of

        def asked():
            binding = bind(TrainingMemoryModel(), {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8})
            axes = {"batch_size": np.arange(1, 65.0), "seq_len": np.arange(128.0, 8193, 128)}
            axes["dp_size"] = np.arange(1, 513.0)
            values = dict(binding.values)
            for place, (name, axis) in enumerate(axes.items()):
                values[name] = axis.reshape([-1 if a == place else 1 for a in range(3)])
            memory, d = variable_of("total_memory").symbol, variable_of("dp_size").symbol
            search = DenseSearch(binding.system, memory * d, [memory > 1e11], values, (64, 64, 512))
            found = search.resolve(search.scan(0, search.runs, 7), 7)
            shown = evaluate_outputs(binding.system, [OutputSpec("total_memory", 1e9)], values, (64, 64, 512))
            return found.values, found.indices, np.array([found.feasible, found.points]), shown["total_memory"]

        if __name__ == "__main__":
            assert len(jax.devices()) == 4
            np.savez(sys.argv[1], *asked())
    """)
    script = tmp_path / "asked.py"
    script.write_text(code)
    environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu", "PATH": "/usr/bin"}
    subprocess.run([sys.executable, str(script), str(tmp_path / "four.npz")], check=True, env=environment)
    found: dict = {"__name__": "asked"}
    exec(compile(code, "asked", "exec"), found)
    with np.load(tmp_path / "four.npz") as four:
        for name, here in zip(four.files, found["asked"](), strict=True):
            assert four[name].tobytes() == np.ascontiguousarray(here).tobytes(), name


def test_the_global_flag_stays_as_it_was(toy):
    system, total, _ = toy
    values, sizes = axis_shaped({"dense_u": [1, 2], "dense_v": [1, 2], "dense_w": [1, 3]})
    smallest(system, total, [], values | {"dense_x": 1.0, "dense_table": 1.0}, sizes)
    assert not jax.config.jax_enable_x64
    assert math.isfinite(float(jax.numpy.asarray(1.0)))
