"""Designs of memory in two tiers: the table they come from, and what one may build by hand."""

import pytest

from mlsysim import Hardware, MemoryDesign, MemoryKind, Systems, load_catalog
from mlsysim.errors import CatalogError, InputError

#: TFLOP/s, then GB/s of local memory, remote memory and links, as table 1 of Heo et al. prints them.
TABLE = {
    "Per_Node": (2048, 4096, 128, 900),
    "Per_GPU": (2048, 4096, 512, 900),
    "Integrated_CPU_Links": (2048, 4096, 900, 512),
    "Integrated_GPU_Links": (2048, 4096, 900, 900),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_four_designs_are_those_of_the_table(name):
    design = Systems.Designs[name]
    inputs = ("peak_flops", "memory_bandwidth", "remote_bandwidth", "link_bandwidth")
    scales = (1e12, 1e9, 1e9, 1e9)
    found = tuple(design.value_of(key, "fp16").canonical / scale for key, scale in zip(inputs, scales, strict=True))
    assert found == TABLE[name]
    assert design.value_of("memory_capacity", "fp16") is None
    assert design.remote_bandwidth.source == "heo2023"


@pytest.mark.parametrize("name", [name for name in Systems.Designs if name not in TABLE])
def test_a_real_system_has_all_a_step_needs(name):
    design = Systems.Designs[name]
    for key in ("peak_flops", "memory_bandwidth", "memory_capacity", "remote_bandwidth", "remote_capacity",
                "link_bandwidth", "node_bandwidth", "local_price", "remote_price"):  # fmt: skip
        assert design.value_of(key, "bf16") is not None, key
    assert design.remote_bandwidth.canonical <= design.value_of("memory_bandwidth", "bf16").canonical


def test_a_design_takes_from_its_accelerator_what_it_leaves_out():
    design = Systems.Designs.DGX_H100_PCIe
    assert design.value_of("peak_flops", "bf16") is Hardware.Cloud.H100.peak_flops["bf16"]
    assert design.value_of("memory_capacity", "bf16") is Hardware.Cloud.H100.memory_capacity
    assert design.value_of("node_bandwidth", "bf16") is Hardware.Cloud.H100.link_bandwidth
    assert design.value_of("remote_price", "bf16") is Systems.Memories.DDR5.price


def test_one_memory_for_both_tiers():
    apu = Systems.Designs.MI300A
    assert apu.unified.value == 1
    assert apu.value_of("remote_bandwidth", "bf16").canonical == apu.memory_bandwidth.canonical


def test_stacked_memory_is_the_dearest_and_a_controller_costs():
    prices = {name: Systems.Memories[name].price.canonical * 1e9 for name in Systems.Memories}
    assert prices["HBM"] / prices["DDR5"] == pytest.approx(5)
    assert prices["DDR5"] < prices["CXL_DDR5"] < prices["HBM"]
    assert all(Systems.Memories[name].price.kind == "assumed" for name in Systems.Memories)


def test_a_design_by_hand():
    mine = MemoryDesign(
        name="mine", accelerator=Hardware.Cloud.H100, remote_bandwidth="100 GB/s", remote_sharers=2,
        remote_memory=MemoryKind(name="flash", price="0.1 USD/GB"),
    )  # fmt: skip
    assert mine.value_of("memory_bandwidth", "bf16").canonical == 3.35e12
    assert mine.value_of("remote_price", "bf16").canonical == pytest.approx(1e-10)
    with pytest.raises(InputError, match="has no rate for it"):
        MemoryDesign(name="x", memory_bandwidth=1, peak_flops={"fp16": 1}, remote_bandwidth=1).value_of(
            "peak_flops", "int4"
        )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"remote_bandwidth": 1}, "give peak_flops and memory_bandwidth, or an accelerator that has them"),
        ({"remote_bandwidth": "1 GB"}, "remote_bandwidth: 1 GB is not in a unit of GB/s"),
        ({"remote_bandwidth": 1, "remote_sharers": 1.5}, "remote_sharers=1.5 must be a whole number >= 1"),
        ({"remote_bandwidth": 1, "remote_sharers": 0}, "remote_sharers=0 must be a whole number >= 1"),
        ({"remote_bandwidth": 1, "unified": 2}, "2 is neither true nor false"),
        ({"remote_bandwidth": 1, "peak_flops": {"fp17": 1}}, "unknown number format 'fp17'"),
    ],
)
def test_what_is_refused(fields, message):
    with pytest.raises(CatalogError) as refused:
        MemoryDesign(name="bad", **{"accelerator": Hardware.Cloud.H100, **fields} if len(fields) > 1 else fields)
    assert message in str(refused.value)


def test_a_price_is_a_price():
    with pytest.raises(CatalogError, match="is not in a unit of USD/GB"):
        MemoryKind(name="bad", price="3 USD")


LAB = """
[Systems.Memories.Optane]
name = "Optane"
source = "https://example.org/x"
date = "2020-01"
kind = "assumed"
price = { value = 2, unit = "USD/GB", note = "a guess" }
[Systems.Designs.Lab]
name = "Lab"
source = "https://example.org/x"
date = "2020-01"
kind = "measured"
accelerator = "Hardware.Cloud.A100"
remote_bandwidth = "20 GB/s"
remote_memory = "Systems.Memories.Optane"
"""


def test_a_file_of_ones_own_refers_to_memories_and_accelerators(tmp_path):
    file = tmp_path / "lab.toml"
    file.write_text(LAB, encoding="utf-8")
    lab = load_catalog(file).Systems.Designs.Lab
    assert lab.value_of("remote_price", "bf16").canonical == pytest.approx(2e-9)
    assert lab.accelerator is Hardware.Cloud.A100
    file.write_text(LAB.replace('"Systems.Memories.Optane"', '"Systems.Memories.Optan"'), encoding="utf-8")
    with pytest.raises(CatalogError, match=r"did you mean Systems\.Memories\.Optane"):
        load_catalog(file)
