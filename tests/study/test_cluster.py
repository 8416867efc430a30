"""Blocks on a cluster: the same bits as here, with a worker lost on the way."""

import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")

from distributed import Client, LocalCluster
from fuzz import is_long

from mlsysim import extras
from mlsysim.backends import OutputSpec
from mlsysim.errors import InputError, MissingPackageError
from mlsysim.inputs.binding import bind
from mlsysim.models import ServingCapacityModel, TrainingMemoryModel
from mlsysim.study.grids import cluster as module
from mlsysim.study.grids.cluster import map_items
from mlsysim.study.grids.grid import Grid
from mlsysim.study.grids.stream import write
from mlsysim.study.grids.template import Template
from mlsysim.study.searches.streamed import pareto, smallest
from mlsysim.symbolic import variable_of

# Sockets and files of a killed worker are closed by the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
AXES = {
    "qps": np.linspace(1, 300, 30),
    "max_batch_size": np.arange(1.0, 25),
    "seq_len": np.array([256.0, 1024, 4096]),
}
SIZES = tuple(map(len, AXES.values()))


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers: processes with ``--long``, else threads, which import nothing anew."""
    place = str(tmp_path_factory.mktemp("workers"))
    two = {"n_workers": 2, "threads_per_worker": 1, "processes": is_long()}
    with LocalCluster(**two, dashboard_address=None, local_directory=place) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def grid():
    binding = bind(
        ServingCapacityModel(), {"model": "Llama3_8B", "hardware": "H100", "qps": 10, "target_p99_latency_ms": 4000}
    )
    values = dict(binding.values)
    for place, (name, axis) in enumerate(AXES.items()):
        values[name] = axis.reshape([-1 if a == place else 1 for a in range(3)])
    outputs = (
        OutputSpec("estimated_p99_latency", 1e-3),
        OutputSpec("required_replicas"),
        OutputSpec("feasible", kind="truth"),
    )
    return Grid(binding.system, values, SIZES, outputs)


@pytest.fixture(scope="module")
def template(grid):
    return Template(tuple(AXES), SIZES, grid.dtypes, coords={name: (name, axis) for name, axis in AXES.items()})


def slowly(shared, item):
    """A task long enough to be lost half-way."""
    time.sleep(0.3)
    return shared + item, os.getpid()


def assert_same(found, wanted):
    for name in wanted:
        assert found[name].values.tobytes() == wanted[name].values.tobytes(), name


@pytest.mark.long
def test_a_store_has_the_same_bits(client, grid, template, tmp_path):
    with (
        write(grid, template, tmp_path / "here.nc", block_points=100) as here,
        write(grid, template, tmp_path / "there.nc", block_points=100, client=client) as there,
    ):
        assert_same(there, here)


def assert_same_points(found, wanted):
    assert found.values.tobytes() == wanted.values.tobytes()
    assert found.indices.tolist() == wanted.indices.tolist()
    assert (found.feasible, found.points) == (wanted.feasible, wanted.points)


@pytest.mark.long
def test_a_front_has_the_same_bits(client, grid):
    asked = [variable_of("required_replicas").symbol, -variable_of("qps").symbol]
    assert_same_points(pareto(grid, asked, client=client, block_points=100), pareto(grid, asked, block_points=100))


@pytest.mark.long
def test_a_search_over_many_tiles_has_the_same_bits(client):
    binding = bind(TrainingMemoryModel(), {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8})
    axes = {"batch_size": np.arange(1, 101.0), "seq_len": np.arange(1, 101) * 128.0, "dp_size": np.arange(1, 51.0)}
    values = dict(binding.values)
    for place, (name, axis) in enumerate(axes.items()):
        values[name] = axis.reshape([-1 if a == place else 1 for a in range(3)])
    layouts = Grid(binding.system, values, (100, 100, 50))
    memory, d = variable_of("total_memory").symbol, variable_of("dp_size").symbol
    found = smallest(layouts, memory * d, [memory > 1e11], 7, client=client)
    assert_same_points(found, smallest(layouts, memory * d, [memory > 1e11], 7))
    assert found.points == 500_000


@pytest.mark.long
def test_a_worker_killed_on_the_way_changes_nothing(client, grid, template, tmp_path):
    victim = next(iter(client.run(os.getpid).values()))
    killed = threading.Event()

    def kill():
        path = tmp_path / "there.zarr" / "required_replicas" / "c"
        while not path.exists() or not any(path.iterdir()):
            time.sleep(0.005)
        os.kill(victim, signal.SIGKILL)
        killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    there = write(grid, template, tmp_path / "there.zarr", block_points=40, client=client)
    thread.join(timeout=30)
    assert killed.is_set()
    here = write(grid, template, tmp_path / "here.zarr", block_points=40)
    assert_same(there.load(), here.load())
    client.wait_for_workers(2, timeout=60)


@pytest.mark.long
def test_results_come_in_order_and_lost_tasks_again(client):
    client.wait_for_workers(2, timeout=60)
    found, killed = [], None
    for item, (result, pid) in map_items(slowly, 100, range(12), client):
        found.append((item, result))
        if killed is None:
            killed = pid
            os.kill(pid, signal.SIGKILL)
    assert found == [(n, 100 + n) for n in range(12)]
    client.wait_for_workers(2, timeout=60)


def test_what_is_large_is_sent_once(client, monkeypatch):
    monkeypatch.setattr(module, "SENT", 10)
    shared = np.arange(100.0)
    assert [float(r) for _, r in map_items(total, shared, range(3), client)] == [4950.0, 4951.0, 4952.0]


def total(shared, item):
    return shared.sum() + item


def test_an_error_of_a_task_reaches_the_caller(client):
    with pytest.raises(InputError, match="item=1: nothing is allowed"):
        list(map_items(refuse, None, [1], client))


def refuse(shared, item):
    raise InputError("item", item, "nothing is allowed")


@pytest.mark.parametrize("client", ["tcp://127.0.0.1:8786", 3])
def test_only_a_client_is_one(client):
    with pytest.raises(InputError, match="client"):
        list(map_items(total, 1, [1], client))


def test_without_distributed_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r'a cluster needs distributed: pip install -e "\.\[cluster\]"'):
        list(map_items(total, 1, [1], "anything"))
