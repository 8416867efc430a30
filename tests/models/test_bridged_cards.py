"""Cards that a bridge joins in pairs: what is larger than a pair goes over the fabric of the server."""

import pytest

from mlsysim import CollectiveModel, DistributedModel, Hardware, IterationModel, ServingModel, Systems, load_catalog
from mlsysim.catalog import Accelerator, Node, builtin
from mlsysim.errors import CatalogError

DEVICES = [builtin().entry(path) for path in builtin().paths() if path.startswith("Hardware.")]
STEP = {"model": "Llama3_1_70B", "precision": "bf16", "decode_requests": 32, "context_tokens": 2048}
MESSAGE = {"collective_ranks": 8, "message_bytes": "256 MiB"}
BRIDGED = ("H100_PCIe", "H100_NVL", "A30", "A40", "RTX_3090", "RTX_3090_Ti", "RTX_A6000")
PCIE = (Systems.Fabrics.PCIe_4_x16, Systems.Fabrics.PCIe_5_x16)


def test_every_card_with_a_bridge_says_how_many_it_joins():
    said = {device.key for device in DEVICES if device.link_bandwidth and "bridge" in device.link_bandwidth.note}
    assert said == {device.key for device in DEVICES if device.link_domain is not None} == {*BRIDGED, "MI210"}
    assert all(device.fabric in PCIE for device in DEVICES if device.link_domain is not None)


@pytest.mark.parametrize("device", BRIDGED)
def test_eight_of_them_are_not_eight_on_fast_links(device):
    found = IterationModel().solve(hardware=device, tp_size=8, **STEP)
    assert found.accelerators_per_node == 2
    assert found.fabric_bandwidth == builtin().find("hardware", device).fabric.bandwidth.quantity
    assert (
        "tensor parallelism over 8 ranks leaves a node of 2: each of its collectives goes over the fabric"
        in found.notes
    )
    as_before = IterationModel().solve(hardware=device, tp_size=8, accelerators_per_node=8, **STEP)
    faster = 1.5 if device.startswith("H100") else 1.0
    assert found.allreduce_time > faster * as_before.allreduce_time
    assert not [note for note in as_before.notes if "leaves a node" in note]
    pair = IterationModel().solve(hardware=device, tp_size=2, **STEP)
    assert (
        pair.allreduce_time
        == IterationModel().solve(hardware=device, tp_size=2, accelerators_per_node=8, **STEP).allreduce_time
    )


def test_eight_reach_no_more_than_their_ports():
    """A ring through pairs has two ports of each pair, 128 GB/s at line rate."""
    found = CollectiveModel("all_gather").solve(hardware="H100_PCIe", **MESSAGE)
    assert found.bus_bandwidth.to("GB/s").magnitude < 2 * 64
    assert CollectiveModel("all_gather").solve(hardware="H100", **MESSAGE).bus_bandwidth.to("GB/s").magnitude > 300


def test_training_and_serving_know_it_too():
    run = {
        "model": "Llama3_8B",
        "fleet_size": 8,
        "batch_size": 64,
        "fabric_bandwidth": "64 GB/s",
        "fabric_latency": "5 us",
    }
    slow = DistributedModel().solve(hardware="H100_PCIe", tp_size=8, **run)
    assert slow.accelerators_per_node == 2
    assert slow.step_time > DistributedModel().solve(hardware="H100_PCIe", tp_size=2, **run).step_time
    assert [note for note in slow.notes if "leaves a node of 2" in note]
    served = {"model": "Llama3_1_70B", "precision": "bf16", "isl": 512, "osl": 64, "request_rate": 2, "tp_size": 8}
    assert [note for note in ServingModel("colocated").solve(hardware="H100_NVL", **served).notes if "leaves a" in note]


def test_what_a_call_gives_wins():
    found = IterationModel().solve(hardware="H100_PCIe", tp_size=8, fabric="Ethernet_100G_TCP", **STEP)
    assert found.fabric_bandwidth.to("Gbit/s").magnitude == pytest.approx(100)
    assert (
        IterationModel().solve(hardware="H100_PCIe", fabric_latency="9 us", **STEP).canonical("fabric_latency") == 9e-6
    )


def test_along_devices_each_has_its_own():
    devices, sizes = ["H100", "H100_PCIe", "A100"], [2, 8]
    outputs = ["allreduce_time"]
    grid = IterationModel().sweep(hardware=devices, tp_size=sizes, **STEP, outputs=outputs)
    assert grid.allreduce_time.dims == ("hardware", "tp_size")
    for place, device in enumerate(devices):
        alone = [IterationModel().solve(hardware=device, tp_size=size, **STEP).allreduce_time for size in sizes]
        assert grid.allreduce_time.values[place].tolist() == pytest.approx(
            [each.magnitude for each in alone], rel=1e-12
        )
    given = {"hardware": ["H100_PCIe", "H100_NVL"], "tp_size": [2, 4, 8], **STEP}
    best = IterationModel().search(**given, minimize="allreduce_time").best
    assert best.tp_size == 2
    assert best.fabric_bandwidth.to("GB/s").magnitude == 64


def test_of_devices_without_a_bridge_nothing_varies():
    grid = IterationModel().sweep(hardware=["H100", "A100"], **STEP, outputs=["iteration_time"])
    assert "'accelerators_per_node': '8'" in str(grid.attrs["fixed_inputs"]).replace('"', "'")


def test_a_server_of_eight_is_four_pairs_unless_it_has_switches():
    node = Node(name="Eight cards", accelerator=Hardware.Cloud.H100_PCIe, accelerators_per_node=8)
    assert IterationModel().solve(node=node, tp_size=8, **STEP).accelerators_per_node == 2
    switched = node.changed(link_bandwidth="300 GB/s")
    assert IterationModel().solve(node=switched, tp_size=8, **STEP).accelerators_per_node == 8


def test_so_it_is_for_a_device_of_ones_own(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        '[Hardware.Lab.Card]\nname = "Card"\nsource = "own measurement"\ndate = "2026-01"\nkind = "measured"\n'
        'memory_capacity = "96 GiB"\nmemory_bandwidth = "4 TB/s"\npeak_flops = { bf16 = "800 TFLOP/s" }\n'
        'link_bandwidth = "200 GB/s"\nlink_domain = 4\nfabric = "Systems.Fabrics.PCIe_5_x16"\n'
    )
    card = load_catalog(file).Hardware.Lab.Card
    found = IterationModel().solve(hardware=card, tp_size=8, **STEP)
    assert (found.accelerators_per_node, found.fabric_bandwidth.to("GB/s").magnitude) == (4, 64)
    with pytest.raises(CatalogError, match=r"link_domain=1\.5 must be a whole number >= 1"):
        card.changed(link_domain=1.5)
    with pytest.raises(CatalogError, match="link_domain=0 must be a whole number >= 1"):
        Accelerator(name="x", memory_capacity=80, memory_bandwidth=1, peak_flops={"bf16": 1}, link_domain=0)
