"""Millions of points against hand-written loops over the same formulas, in turn and in one run."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
import time
from statistics import median

import jax
import jax.numpy as jnp
import numba
import numpy as np
from benchmarks.by_hand import BUFFERS, BYTES, CAPACITY, HIDDEN, KEPT, LAYERS, STATE, P, memory

from mlsysim import ServingCapacityModel, TrainingMemoryModel
from mlsysim.backends import OutputSpec, evaluate_outputs
from mlsysim.backends.dense import DenseSearch
from mlsysim.inputs.binding import bind
from mlsysim.symbolic import variable_of

#: 16.8 million layouts.
AXES = {
    "batch_size": np.arange(1, 33) * 8.0,
    "seq_len": np.arange(1, 33) * 512.0,
    "dp_size": np.arange(1, 33.0),
    "zero_stage": np.arange(4.0),
    "tp_size": 2.0 ** np.arange(8),
    "pp_size": 2.0 ** np.arange(4),
    "gradient_accumulation_steps": 2.0 ** np.arange(4),
}
SIZES = tuple(map(len, AXES.values()))
POINTS = math.prod(SIZES)
#: Bytes that a layout may take.
LIMIT = 0.9 * CAPACITY
HEADLINE = [
    *(OutputSpec(name, 1e9) for name in ("weights", "gradients", "optimizer_state", "activations")),
    *(OutputSpec(name, 1e9) for name in ("communication_buffers", "total_memory")),
    OutputSpec("memory_utilization"),
    OutputSpec("feasible", kind="truth"),
]


def shaped(axes):
    return {
        name: axis.reshape([-1 if a == place else 1 for a in range(len(axes))])
        for place, (name, axis) in enumerate(axes.items())
    }


def inputs():
    fixed = {"parameters": P, "layers": 80, "hidden_dim": 8192, "memory_capacity": "80 GB"}
    binding = bind(TrainingMemoryModel(), {"model": "Llama3_70B", "hardware": "H100", "batch_size": 8, **fixed})
    return binding.system, {**binding.values, **shaped(AXES)}


#: Calls after which a side is warm, and no thread of the other one still spins.
SETTLED = 5


def numpy_search():
    """In chunks of one batch size and 8 lengths, which fit the memory of a laptop."""
    axes = shaped(AXES)
    rest = [axes[name] for name in list(AXES)[2:]]
    best, where, count = math.inf, -1, 0
    size = POINTS // 128
    for number in range(128):
        i, j = divmod(number, 4)
        b, s = axes["batch_size"][i : i + 1], axes["seq_len"][:, 8 * j : 8 * j + 8]
        total = memory(np, b, s, *rest)[-1]
        cost = total * rest[0] * rest[2] * rest[3] / (b * s)
        allowed = total <= LIMIT
        count += int(allowed.sum())
        cost = np.where(allowed, cost, np.inf)
        at = int(cost.argmin())
        if cost.flat[at] < best:
            best, where = float(cost.flat[at]), number * size + at
    return best, where, count


@numba.njit(parallel=True, fastmath={"nnan", "nsz", "reassoc"}, error_model="numpy")
def numba_lowest(bs, ss, states, each, ranks, shares):
    """Least cost per batch size and length: what depends on neither lies in one vector that stays in the cache."""
    lowest = np.empty((bs.size, ss.size))
    for i in numba.prange(bs.size):
        held = each * np.ceil(bs[i] / shares)
        for j in range(ss.size):
            best = np.inf
            for k in range(states.size):
                total = states[k] + held[k] * ss[j]
                best = min(best, total * ranks[k] if total <= LIMIT else np.inf)
            lowest[i, j] = best / (bs[i] * ss[j])
    return lowest


def numba_search():
    """Everything that can be hoisted by hand, then the place on the slice that won."""
    d, z, t, p, g = (grid.ravel() for grid in np.meshgrid(*list(AXES.values())[2:], indexing="ij"))
    rank = P / (t * p)
    sharing = BYTES / np.where(z >= 3, d, 1) + BYTES * (1 + BUFFERS) / np.where(z >= 2, d, 1)
    states = (sharing + STATE / np.where(z >= 1, d, 1)) * rank
    each = KEPT / 2 * BYTES * HIDDEN * np.ceil(LAYERS / p) + np.where(p > 1, 2 * BYTES * HIDDEN, 0)
    bs, ss = AXES["batch_size"], AXES["seq_len"]
    lowest = numba_lowest(bs, ss, states, each, d * t * p, d * g)
    i, j = np.unravel_index(int(np.argmin(lowest)), lowest.shape)
    total = states + each * np.ceil(bs[i] / (d * g)) * ss[j]
    at = int(np.argmin(np.where(total <= LIMIT, total * d * t * p, np.inf)))
    return lowest[i, j], (i * ss.size + j) * d.size + at


def question(count=True):
    system, values = inputs()
    memory, b, s, d, t, p = (
        variable_of(name).symbol for name in ("total_memory", "batch_size", "seq_len", "dp_size", "tp_size", "pp_size")
    )
    return DenseSearch(system, memory * d * t * p / (b * s), [memory <= LIMIT], values, SIZES, count=count)


def answer(search):
    found = search.resolve(search.scan(0, search.runs))
    return found.values[0], int(found.indices[0]), found.feasible


def test_search_against_numpy(in_turn):
    search = question()
    ours, theirs = answer(search), numpy_search()
    assert math.isclose(ours[0], theirs[0], rel_tol=1e-9)
    assert ours[2] == theirs[2]
    title = "constrained search of 16.8 M points with their count, against chunked NumPy"
    in_turn(title, 1 / 5, lambda: answer(search), numpy_search)


def test_search_against_numba(in_turn):
    search = question(count=False)
    ours, theirs = answer(search), numba_search()
    assert math.isclose(ours[0], theirs[0], rel_tol=1e-9)
    title = "constrained search of 16.8 M points, against a hoisted parallel numba loop"
    in_turn(title, 1 / 0.9, lambda: answer(search), numba_search, rounds=25, settled=SETTLED)


def jitted(number):
    """Outputs by a fused ``jax.jit``, with the tolerant ceiling of the library."""
    from mlsysim.backends import arrays

    @jax.jit
    def run(axes):
        outputs = [output / 1e9 for output in memory(jnp, *axes, ceil=arrays.namespace()["ceil"])]
        use = outputs[-1] / 80
        whole = [jnp.broadcast_to(output, SIZES) for output in (*outputs, use, use <= 1)]
        return whole[5:6] if number == 1 else whole

    def call():
        with jax.enable_x64(True):
            return [np.asarray(array) for array in run(list(shaped(AXES).values()))]

    return call


def test_sweep_against_numpy(in_turn):
    system, values = inputs()
    outputs, axes = [OutputSpec("total_memory", 1e9)], list(shaped(AXES).values())
    np.testing.assert_allclose(
        evaluate_outputs(system, outputs, values, SIZES)["total_memory"], memory(np, *axes)[-1] / 1e9, rtol=1e-12
    )
    title = "one output of 16.8 M points in memory, against a NumPy broadcast"
    in_turn(
        title,
        1 / 2,
        lambda: evaluate_outputs(system, outputs, values, SIZES),
        lambda: memory(np, *axes)[-1] / 1e9,
    )


def test_sweep_against_jit(in_turn):
    system, values = inputs()
    outputs, theirs = [OutputSpec("total_memory", 1e9)], jitted(1)
    title = "one output of 16.8 M points in memory, against a fused jax.jit"
    in_turn(title, 1.1, lambda: evaluate_outputs(system, outputs, values, SIZES), theirs, rounds=15)


def test_sweep_of_every_output_against_jit(in_turn):
    system, values = inputs()
    theirs = jitted(len(HEADLINE))
    for ours, hand in zip(evaluate_outputs(system, HEADLINE, values, SIZES).values(), theirs(), strict=True):
        np.testing.assert_allclose(ours, hand, rtol=1e-12)
    title = "eight outputs of 16.8 M points in memory, against a fused jax.jit"
    in_turn(title, 1.1, lambda: evaluate_outputs(system, HEADLINE, values, SIZES), theirs, rounds=5)


GROWTH = """
    import json, sys, time
    import numpy as np
    sys.path.insert(0, sys.argv[1])
    from benchmarks.test_dense import AXES, P, inputs, shaped
    from mlsysim.backends.dense import DenseSearch
    from mlsysim.symbolic import variable_of

    system, values = inputs()
    memory, b, s, d = (variable_of(n).symbol for n in ("total_memory", "batch_size", "seq_len", "dp_size"))
    seconds = []
    for lengths in ((200, 192), (2000, 192)):
        axes = dict(AXES, batch_size=np.arange(1.0, lengths[0] + 1), seq_len=np.arange(1, lengths[1] + 1) * 64.0)
        axes["dp_size"], axes["zero_stage"] = 2.0 ** np.arange(6), np.arange(4.0)
        asked = {**values, **shaped(axes)}
        sizes = [len(axis) for axis in axes.values()]
        for _ in range(2):
            start = time.perf_counter()
            search = DenseSearch(system, memory * d / (b * s), [memory <= 72e9], asked, sizes)
            found = search.resolve(search.scan(0, search.runs))
            taken = time.perf_counter() - start
        seconds.append(taken)
    assert found.points == 2000 * 192 * 6 * 4 * 8 * 4 * 4
    # The peak that getrusage tells is that of the process we were started from, if that was larger.
    status = open("/proc/self/status").read()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))
"""


def test_a_billion_points(benchmark):
    """1.2e9 points after 1.2e8: seconds grow as points do, memory does not."""
    found = {}

    def once():
        tests = str(__import__("pathlib").Path(__file__).parents[1])
        run = [sys.executable, "-c", textwrap.dedent(GROWTH), tests]
        found.update(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))

    benchmark.pedantic(once, rounds=1)
    assert found["peak"] < 1.5e9
    small, large = found["seconds"]
    benchmark.extra_info.update(
        title=f"search of 1.2e9 points, against ten times 1.2e8; at most {found['peak'] / 1e9:.2f} GB",
        target=1.2,
        ours=large,
        theirs=10 * small,
        ratio=large / (10 * small),
    )


SERVING = {"model": "Llama3_8B", "hardware": "H100", "target_p99_latency_ms": 2000, "seq_len": 1024,
           "output_tokens": 64, "efficiency": 0.35}  # fmt: skip
RATES = {"qps": np.linspace(1, 2000, 2000), "max_batch_size": np.arange(1.0, 65)}


def serving_inputs():
    binding = bind(ServingCapacityModel(), {**SERVING, "qps": 10})
    return binding.system, {**binding.values, **shaped(RATES)}, (2000, 64)


def replicas():
    system, values, sizes = serving_inputs()
    return evaluate_outputs(system, [OutputSpec("required_replicas")], values, sizes)["required_replicas"]


def test_serving_against_solve(benchmark):
    model, some = ServingCapacityModel(), 300
    points = [(RATES["qps"][7 * i % 2000], int(RATES["max_batch_size"][i % 64])) for i in range(some)]
    pairs = []

    def once():
        start = time.perf_counter()
        replicas()
        middle = time.perf_counter()
        for qps, batch in points:
            model.solve(**SERVING, qps=qps, max_batch_size=batch)
        pairs.append(((middle - start) / 128_000, (time.perf_counter() - middle) / some))

    once(), pairs.clear()
    benchmark.pedantic(once, rounds=5)
    benchmark.extra_info.update(
        title="serving grid of 128,000 points with the replica search, per point, against a loop over solve",
        target=1 / 100,
        ours=median(a for a, _ in pairs),
        theirs=median(b for _, b in pairs),
        ratio=median(a / b for a, b in pairs),
    )


def test_a_replica_search(benchmark, against):
    taken = []

    def once():
        start = time.perf_counter()
        taken.append((replicas().size, time.perf_counter() - start))

    benchmark.pedantic(once, rounds=5, warmup_rounds=1)
    each = [seconds / points for points, seconds in taken]
    against("serving grid of 128,000 points with the replica search, per point", 2e-6, each)


def wait_probability(servers, load):
    """Erlang C of arrays by the usual recursion, stopped where every element is done."""
    blocking = np.ones_like(load)
    for n in range(1, int(servers.max()) + 1):
        going = n <= servers
        blocking = np.where(going, load * blocking / (n + load * blocking), blocking)
    return np.where(load < servers, servers * blocking / (servers - load * (1 - blocking)), 1.0)


def numpy_replicas():
    """Replicas by bisection on arrays, from the service times and rates the model gives per batch size."""
    system, values, _ = serving_inputs()
    given = [OutputSpec("base_request_latency"), OutputSpec("per_replica_qps_capacity")]
    found = evaluate_outputs(system, given, {**values, "qps": 1.0}, (1, 64))
    seconds, rate = found["base_request_latency"], found["per_replica_qps_capacity"]
    load = np.broadcast_to(RATES["qps"][:, None] / rate, (2000, 64))
    low, high = np.zeros_like(load), np.full_like(load, 1024.0)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        waiting = wait_probability(middle, load)
        drained = np.maximum(middle - load, 1e-300) * rate
        wait = np.where(waiting > 0.01, np.log(np.maximum(waiting, 1e-300) / 0.01) / drained, 0.0)
        good = (load < middle) & (seconds + wait <= 2.0)
        high, low = np.where(good, middle, high), np.where(good, low, middle)
    return high


def test_serving_against_numpy(in_turn):
    np.testing.assert_array_equal(np.minimum(replicas(), 1024), numpy_replicas())
    title = "serving grid of 128,000 points with the replica search, against NumPy with a bisection of its own"
    in_turn(title, 1 / 5, replicas, numpy_replicas, rounds=3)
