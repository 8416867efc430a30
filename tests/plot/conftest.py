"""Axes without a window, and small sweeps."""

import pytest

from mlsysim import DistributedModel, ServingCapacityModel, TrainingMemoryModel


@pytest.fixture
def ax():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


@pytest.fixture(scope="session")
def memory():
    return TrainingMemoryModel().sweep(
        model="Llama3_8B",
        hardware=["A100_40GB", "H100", "H200"],
        batch_size=range(8, 129, 8),
        zero_stage=[0, 1, 2, 3],
        dp_size=8,
    )


@pytest.fixture(scope="session")
def masked():
    return TrainingMemoryModel().sweep(
        model="Llama3_8B", hardware="H100", batch_size=[1, 4, 16, 64], tp_size=[1, 2, 3, 4], refused="mask"
    )


@pytest.fixture(scope="session")
def serving():
    return ServingCapacityModel().sweep(
        model="Llama3_8B",
        hardware="H100",
        qps=[1, 3, 10, 30, 100, 300],
        target_p99_latency_ms=[500, 1000, 1200, 2000],
        seq_len=1024,
        output_tokens=64,
        max_batch_size=16,
        efficiency=0.35,
    )


@pytest.fixture(scope="session")
def layouts():
    return DistributedModel().sweep(
        model="Llama3_70B",
        hardware="H100",
        fleet_size=512,
        batch_size=1024,
        precision="bf16",
        tp_size=[1, 2, 4, 8],
        pp_size=[1, 2, 4, 8, 16],
        gradient_accumulation_steps=[4, 16],
        zero_stage=1,
        fabric_bandwidth="50 GB/s",
        fabric_latency="10 us",
        refused="mask",
    )
