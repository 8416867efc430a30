"""The catalog that comes along: every value with provenance, and checked against an independent derivation."""

import datetime
import re
import tomllib
from importlib import resources
from typing import get_args
from urllib.parse import urlsplit

import pytest

from mlsysim import Hardware, Models, Systems, TrainingMemoryModel, units
from mlsysim.catalog import (
    Accelerator,
    Choice,
    Fabric,
    Fleet,
    Node,
    SparseTransformerWorkload,
    TransformerWorkload,
    builtin,
)
from mlsysim.catalog.loader import _merged
from mlsysim.catalog.value import Kind
from mlsysim.errors import CatalogError
from mlsysim.formats import NUMBER_FORMATS, PRESETS
from mlsysim.references import bibliography
from mlsysim.symbolic import variable_of
from mlsysim.symbols.workload import precision

ENTRIES = {path: builtin().entry(path) for path in builtin().paths()}
DEVICES = {path: entry for path, entry in ENTRIES.items() if isinstance(entry, Accelerator)}
GIGABYTE = 1e9


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
class TestEveryValue:
    def test_has_a_kind_of_the_schema_and_is_not_a_callers(self, entry):
        for field, value in entry.values().items():
            assert value.kind in get_args(Kind)[:-1], field

    def test_is_of_the_kind_calibrated_where_its_text_says_so_and_nowhere_else(self, entry):
        for field, value in entry.values().items():
            texts = f"{value.note} {value.calibrated_on}".lower()
            assert "calibrat" not in texts, f"{field}: calibrated_on says on what it was, without the word"
            assert (value.kind == "calibrated") == bool(value.calibrated_on), field
            assert ("calibrated on " in str(value)) == (value.kind == "calibrated"), field

    def test_has_a_source_that_can_be_looked_up(self, entry):
        for field, value in entry.values().items():
            if value.source in bibliography():
                assert bibliography()[value.source].title, field
            else:
                address = urlsplit(value.source)
                assert address.scheme == "https", field
                assert "." in address.netloc, field
                assert (address.path + address.query).strip("/"), field

    def test_has_a_date_on_the_calendar_and_not_in_the_future(self, entry):
        for field, value in entry.values().items():
            day = datetime.date.fromisoformat(value.date if len(value.date) > 7 else f"{value.date}-01")
            assert datetime.date(1990, 1, 1) < day <= datetime.date.today(), field

    def test_has_a_unit_that_is_known(self, entry):
        for field, value in entry.values().items():
            if isinstance(value, Choice):
                assert not value.unit, field
                continue
            assert value.quantity.units == units.unit(value.unit), field
            assert value.canonical >= 0, field

    def test_says_how_it_was_derived(self, entry):
        for field, value in entry.values().items():
            assert value.note or value.kind != "derived", field


def test_values_of_a_stack_that_are_said_to_be_those_of_another_one_are():
    stacks = {path.rpartition(".")[2]: entry for path, entry in ENTRIES.items() if entry.what == "stack"}
    compared = 0
    for name, entry in stacks.items():
        for field, value in entry.values().items():
            said = re.match(r"(?:That of|Taken from) (\w+)[.;]", value.note)
            if said and said[1] in stacks:
                assert value.canonical == stacks[said[1]].values()[field].canonical, f"{name}.{field}"
                compared += 1
    assert compared > 10


def test_constants_of_stacks_are_calibrated_or_say_what_else_they_are():
    stacks = {path: entry for path, entry in ENTRIES.items() if entry.what == "stack"}
    calibrated = {path for path, entry in stacks.items() for v in entry.values().values() if v.kind == "calibrated"}
    assert calibrated == stacks.keys() - {
        "Stacks.Ideal",
        "Stacks.DeepSeek_H800",
        "Stacks.RCCL_MI300X",
        "Stacks.Neuron_Trn1",
        "Stacks.SGLang_2025",
        "Stacks.unsloth",
    }
    titan = ENTRIES["Stacks.torchtitan_H20"].efficiency
    assert str(titan).startswith("0.622 (calibrated on the run of issue 1624 without expert parallelism: 2,125 ")


@pytest.mark.parametrize("path", ENTRIES)
def test_what_is_assumed_says_what_it_rests_on(path):
    """In a note of its own, or for all of the entry at once."""
    for value in ENTRIES[path].values().values():
        if value.kind in ("assumed", "reported") and value.source != "mlsysim_registry":
            assert value.note or ENTRIES[path].description


@pytest.mark.parametrize("path", ENTRIES)
def test_every_entry_has_a_name(path):
    assert ENTRIES[path].name.strip() == ENTRIES[path].name != ""


def test_names_are_not_shared():
    names = [entry.name for entry in ENTRIES.values()]
    assert len(set(names)) == len(names)
    last = [path.rpartition(".")[2] for path in ENTRIES]
    assert len(set(last)) == len(last)


def test_the_entries_the_tutorial_needs_are_there():
    assert isinstance(Hardware.Cloud.H100, Accelerator)
    assert isinstance(Models.Language.Llama3_8B, TransformerWorkload)
    assert isinstance(Systems.Clusters.Research_256, Fleet)
    assert isinstance(Systems.Nodes.DGX_H100, Node)
    assert isinstance(Systems.Fabrics.Ethernet_100G_TCP, Fabric)
    assert isinstance(Models.Language.Mixtral_8x7B, SparseTransformerWorkload)


def test_the_cluster_has_the_256_accelerators_of_its_name():
    fleet = Systems.Clusters.Research_256
    assert fleet.count.value * fleet.node.accelerators_per_node.value == 256
    assert fleet.node.accelerator is Hardware.Cloud.H100
    assert fleet.fabric.bandwidth.canonical == 12.5e9
    assert fleet.fabric.latency.canonical == pytest.approx(50e-6, rel=1e-15)


def rates(device):
    return {name: value.canonical for name, value in device.peak_flops.items()}


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
class TestEveryDevice:
    def test_rates_are_for_formats_the_formulas_know(self, device):
        assert set(device.peak_flops) <= set(NUMBER_FORMATS)
        assert set(variable_of(precision).domain.labels) == set(PRESETS)
        assert {"bf16", "fp16"} & set(device.peak_flops)

    def test_fewer_bits_are_no_slower(self, device):
        listed = [rates(device)[name] for name in ("fp32", "tf32", "fp16", "fp8") if name in device.peak_flops]
        assert listed == sorted(listed)

    def test_numbers_are_of_the_right_size(self, device):
        assert 7.9 * 2**30 <= device.memory_capacity.canonical <= 512 * 2**30
        assert 0.1e12 < device.memory_bandwidth.canonical <= 8e12
        assert device.tdp is None or 20 < device.tdp.canonical <= 1400
        assert device.price is None or 1e3 < device.price.canonical < 1e5

    def test_a_driver_shows_nearly_the_number_of_the_data_sheet_in_binary_units(self, device):
        """ECC in GDDR6 takes a sixteenth of it, the system of a TPU up to a twenty-fifth, a driver less than that."""
        sold, shown = device.datasheet_memory, device.memory_capacity
        assert sold is not None, "give datasheet_memory too, as the maker prints it, in GB or GiB"
        assert sold.unit in ("GB", "GiB")
        assert 0.93 < shown.canonical / (sold.value * 2**30) < 1.01
        assert shown.unit in ("MiB", "GiB"), "memory_capacity is what a driver shows, in MiB or GiB"

    def test_what_a_driver_shows_has_a_source_of_its_own_or_is_assumed(self, device):
        shown = device.memory_capacity
        assert shown.kind == "assumed" or shown.source != device.datasheet_memory.source
        assert re.search(r"show|name|print|That of|driver", shown.note)

    def test_memory_is_slower_than_arithmetic(self, device):
        """The ridge point: operations per byte that keep the chip busy, a few hundred on most of these.

        Fewer on those without matrix units, more where LPDDR feeds them.
        """
        known = rates(device)
        narrowest = known.pop("fp4", 0)
        best = max(known.values())
        assert 25 < best / device.memory_bandwidth.canonical < 2000
        assert narrowest < 3.2 * best


NVIDIA = {path: device for path, device in DEVICES.items() if device.name.startswith("NVIDIA")}
EARLIER = re.compile("V100|P100|T4|Jetson")
SINCE_A100 = {path: device for path, device in NVIDIA.items() if not EARLIER.search(path)}


@pytest.mark.parametrize("device", SINCE_A100.values(), ids=SINCE_A100)
class TestNvidiaSinceAmpere:
    def test_both_formats_of_sixteen_bits_are_as_fast(self, device):
        assert rates(device)["bf16"] == rates(device)["fp16"]

    def test_tf32_is_half_as_fast(self, device):
        if "GeForce" not in device.name:
            assert rates(device)["tf32"] == pytest.approx(rates(device)["bf16"] / 2, rel=0.025)
        else:
            assert rates(device)["tf32"] == rates(device)["bf16"] / 2


#: int8 over bf16 (or fp16) where it is not two: no gain, a rate given up, or a bf16 rate halved by fp32 accumulation.
INT8_GAIN = {"TPU_v4": 1, "MI250X": 1, "MI210": 1, "B300": 1 / 12, "GB300": 1 / 15}


@pytest.mark.parametrize("path", [path for path, device in DEVICES.items() if "int8" in device.peak_flops])
def test_int8_is_twice_as_fast_as_sixteen_bits(path):
    found = rates(DEVICES[path])
    gain = INT8_GAIN.get(path.rpartition(".")[2], 4 if "GeForce" in DEVICES[path].name else 2)
    assert found["int8"] == pytest.approx(gain * found.get("bf16", found.get("fp16")), rel=0.025)


APPLE = ("M1_Max", "M1_Ultra", "M2_Max", "M2_Ultra", "M3_Max", "M3_Ultra", "M4_Max")


def test_devices_without_int8():
    without = {path.rpartition(".")[2] for path, device in DEVICES.items() if "int8" not in device.peak_flops}
    assert without == {
        "V100", "V100_16GB", "P100", "GB10", "Jetson_Thor", "Gaudi2", "Gaudi3", "Trainium2", "Trainium3",
        "TPU7x", *APPLE,
    }  # fmt: skip


#: Which devices have fp8, and how much faster than bf16 it is.
FP8_GAIN = {
    "H100": 2, "H200": 2, "H100_PCIe": 2, "H100_NVL": 2, "H20": 2, "B200": 2, "GB200": 2, "L4": 2, "L40S": 2,
    "RTX_4090": 2, "MI300X": 2, "MI325X": 2, "MI355X": 2, "H800": 2, "H20_141GB": 2, "B300": 2, "GB300": 2,
    "Trainium2": 1.95, "Gaudi2": 2, "Gaudi3": 1, "TPU_v5p": 1, "GH200_96GB": 2, "GH200_144GB": 2, "L20": 2, "L2": 2,
    "GB10": 2, "Jetson_Thor": 2, "MI300A_128GB": 2, "TPU7x": 2, "Trainium1": 1, "Trainium3": 3.75, "Inferentia2": 1,
    **{path.rpartition(".")[2]: 2 for path in DEVICES if re.search(r"RTX_([45]0|6000|PRO)", path)},
}  # fmt: skip


def test_fp8_came_with_hopper_and_ada():
    gains = {
        path.rpartition(".")[2]: rates(device)["fp8"] / rates(device)["bf16"]
        for path, device in DEVICES.items()
        if "fp8" in device.peak_flops
    }
    assert gains == {name: pytest.approx(gain, rel=0.025) for name, gain in FP8_GAIN.items()}


def note(entry):
    """What is said of the links of a device or a node."""
    link = getattr(entry, "link_bandwidth", None)
    return link.note if link is not None else ""


#: GB/s of one accelerator, both directions together, as NVIDIA prints each generation.
NVLINK = {
    "V100": 300, "V100_16GB": 300, "A100": 600, "A100_40GB": 600, "H100": 900, "H200": 900, "H20": 900, "B200": 1800,
    "GB200": 1800, "H800": 400, "H20_141GB": 900, "B300": 1800, "GB300": 1800, "H100_PCIe": 600, "H100_NVL": 600,
    "A30": 200, "A40": 112.5, "A800": 400, "GH200_96GB": 900, "GH200_144GB": 900, "RTX_3090": 112.5,
    "RTX_3090_Ti": 112.5, "RTX_A6000": 112.5,
}  # fmt: skip


def test_links_count_one_direction():
    for name, both in NVLINK.items():
        assert builtin().find("hardware", name).link_bandwidth.canonical == both / 2 * GIGABYTE
    linked = {path.rpartition(".")[2] for path, device in DEVICES.items() if note(device).startswith("NVLink")}
    assert linked == set(NVLINK)


LINKED = {path: entry for path, entry in ENTRIES.items() if " GB/s both directions together" in note(entry)}


@pytest.mark.parametrize("path", LINKED)
def test_a_link_is_half_of_what_is_printed_for_both_directions(path):
    printed = re.search(r"([\d,.]+) GB/s both directions together", note(LINKED[path])).group(1)
    if path != "Hardware.Cloud.MI250X":  # eight links printed, seven counted
        assert 2 * LINKED[path].link_bandwidth.value == float(printed.replace(",", ""))
    else:
        assert LINKED[path].link_bandwidth.value / 7 == float(printed) / 2 / 8 == 50


#: Cores, 16-bit multiply-adds per clock in each, clock in GHz; memory bus in bits, Gbit/s per pin.
MADE_OF = {
    "V100": (80, 8 * 64, 1.53, 4096, 1.752),
    "V100_16GB": (80, 8 * 64, 1.53, 4096, 1.752),
    "A100": (108, 4 * 256, 1.41, 5120, 3.186),
    "A100_40GB": (108, 4 * 256, 1.41, 5120, 2.43),
    "A10": (72, 4 * 128, 1.695, 384, 12.5),
    "H100": (132, 4 * 512, 1.83, 5120, 5.23),
    "H100_PCIe": (None, None, None, 5120, 3.2),
    "H100_NVL": (None, None, None, 6016, 5.23),
    "H200": (132, 4 * 512, 1.83, 6144, 6.25),
    "H20": (None, None, None, 6144, 5.23),
    "H800": (132, 4 * 512, 1.83, 5120, 5.23),
    "H20_141GB": (None, None, None, 6144, 6.25),
    "B200": (None, None, None, 7680, 7.992),
    "B300": (None, None, None, None, None),
    "GB300": (None, None, None, 8192, 8.0),
    "GB200": (None, None, None, 8192, 8.0),
    "L4": (58, 4 * 128, 2.04, 192, 12.5),
    "L40S": (None, None, None, 384, 18),
    "RTX_4090": (128, 4 * 64, 2.52, 384, 21),
    "Jetson_AGX_Orin": (16, 4 * 256, 1.3, 256, 6.4),
    "MI250X": (220, 512, 1.7, 8192, 3.2),
    "MI300X": (304, 1024, 2.1, 8192, 5.2),
    "MI325X": (304, 1024, 2.1, 8192, 6.0),
    "MI355X": (256, 2048, 2.4, 8192, 8.0),
    "Trainium2": (None, None, None, 4096, 5.6),
    "TPU_v4": (8, 128 * 128, 1.05, None, None),
    "TPU_v5e": (4, 128 * 128, 1.5, None, None),
    "TPU_v5p": (8, 128 * 128, 1.75, None, None),
    "TPU_v6e": (4, 256 * 256, 1.75, None, None),
    "Gaudi2": (2, 256 * 256, 1.65, 6144, 3.2),
    "Gaudi3": (8, 256 * 256, 1.75, 8192, 3.6),
    "A2": (None, None, None, 128, 12.5),
    "A30": (56, 4 * 256, 1.44, 3072, 2.43),
    "A40": (84, 4 * 128, 1.74, 384, 14.5),
    "A800": (108, 4 * 256, 1.41, 5120, 3.186),
    "T4": (40, 8 * 64, 1.59, 256, 10),
    "P100": (56, 128, 1.303, 4096, 1.43),
    "L20": (None, None, None, 384, 18),
    "L2": (46, 4 * 128, 2.05, 192, 12.5),
    "GH200_96GB": (132, 4 * 512, 1.83, 6144, 5.2),
    "GH200_144GB": (132, 4 * 512, 1.83, 6144, 6.4),
    "GB10": (None, None, None, 256, 8.533),
    "Jetson_Orin_Nano": (8, 4 * 256, 1.02, 128, 6.4),
    "Jetson_Thor": (None, None, None, 256, 8.533),
    "MI210": (104, 512, 1.7, 4096, 3.2),
    "MI300A_128GB": (228, 1024, 2.1, 8192, 5.2),
    "Trainium1": (None, None, None, None, None),
    "Trainium3": (None, None, None, None, None),
    "Inferentia2": (None, None, None, None, None),
    "TPU7x": (None, None, None, None, None),
    "RTX_A6000": (84, 4 * 128, 1.8, 384, 16),
    "RTX_6000_Ada": (142, 4 * 128, 2.505, 384, 20),
    "RTX_PRO_6000": (None, None, None, 512, 28),
    "M1_Max": (32, 128, 1.27, 512, 6.4),
    "M1_Ultra": (64, 128, 1.27, 1024, 6.4),
    "M2_Max": (38, 128, 1.398, 512, 6.4),
    "M2_Ultra": (76, 128, 1.398, 1024, 6.4),
    "M3_Max": (40, 128, 1.398, 512, 6.4),
    "M3_Ultra": (80, 128, 1.398, 1024, 6.4),
    "M4_Max": (40, 128, 1.678, 512, 8.533),
    "RTX_3060": (28, 4 * 64, 1.78, 192, 15),
    "RTX_3060_Ti": (38, 4 * 64, 1.67, 256, 14),
    "RTX_3070": (46, 4 * 64, 1.73, 256, 14),
    "RTX_3080": (68, 4 * 64, 1.71, 320, 19),
    "RTX_3080_Ti": (80, 4 * 64, 1.67, 384, 19),
    "RTX_3090": (82, 4 * 64, 1.695, 384, 19.5),
    "RTX_3090_Ti": (84, 4 * 64, 1.86, 384, 21),
    "RTX_4060": (24, 4 * 64, 2.46, 128, 17),
    "RTX_4060_Ti_16GB": (34, 4 * 64, 2.54, 128, 18),
    "RTX_4070": (46, 4 * 64, 2.48, 192, 21),
    "RTX_4070_Super": (56, 4 * 64, 2.48, 192, 21),
    "RTX_4070_Ti": (60, 4 * 64, 2.61, 192, 21),
    "RTX_4070_Ti_Super": (66, 4 * 64, 2.61, 256, 21),
    "RTX_4080": (76, 4 * 64, 2.505, 256, 22.4),
    "RTX_4080_Super": (80, 4 * 64, 2.55, 256, 23),
    "RTX_5060_Ti_16GB": (36, 4 * 64, 2.57, 128, 28),
    "RTX_5070": (48, 4 * 64, 2.51, 192, 28),
    "RTX_5070_Ti": (70, 4 * 64, 2.45, 256, 28),
    "RTX_5080": (84, 4 * 64, 2.617, 256, 30),
    "RTX_5090": (170, 4 * 64, 2.407, 512, 28),
}


def test_every_device_has_been_derived():
    assert set(MADE_OF) == {path.rpartition(".")[2] for path in DEVICES}


@pytest.mark.parametrize("name", MADE_OF)
def test_rate_and_bandwidth_follow_from_the_chip(name):
    """Dense rate from cores and clock within half a percent; bandwidth from pins within the rounding of TB/s."""
    cores, multiply_adds, clock, pins, gigabits = MADE_OF[name]
    device = builtin().find("hardware", name)
    if cores is not None:
        made = 2 * cores * multiply_adds * clock * GIGABYTE
        assert rates(device).get("bf16", rates(device).get("fp16")) == pytest.approx(made, rel=5e-3)
    if pins is not None:
        assert device.memory_bandwidth.canonical == pytest.approx(pins * gigabits * GIGABYTE / 8, rel=0.025)


def test_eighty_gigabytes_are_what_the_driver_shows_to_every_room():
    device = Hardware.Cloud.H100
    assert (device.datasheet_memory.text(), device.memory_capacity.text()) == ("80 GB", "81559 MiB")
    found = TrainingMemoryModel().solve("Llama3_8B", device, batch_size=8)
    assert found.canonical("memory_capacity") == 85_520_809_984


def test_two_entries_of_one_release_agree_but_for_their_context():
    for size in ("8B", "70B"):
        old, new = Models.Language[f"Llama3_{size}"], Models.Language[f"Llama3_1_{size}"]
        old, new = ({name: value.value for name, value in each.values().items()} for each in (old, new))
        assert (old.pop("max_position_embeddings"), new.pop("max_position_embeddings")) == (8192, 131072)
        assert old == new


def test_deepseek_keeps_one_compressed_vector():
    entry = Models.Language.DeepSeek_V3
    assert (entry.kv_lora_rank.value, entry.qk_rope_head_dim.value) == (512, 64)
    assert entry.value_of("head_dim", "fp16").value == 128 + 64


def test_models_released_in_narrow_formats_say_so():
    models = {path.rpartition(".")[2]: each for path, each in ENTRIES.items() if isinstance(each, TransformerWorkload)}
    narrow = {name: each.weight_format.value for name, each in models.items() if each.weight_format is not None}
    assert narrow == {
        **dict.fromkeys(("DeepSeek_V3", "DeepSeek_R1", "DeepSeek_V3_1", "DeepSeek_V3_2", "Kimi_K2"), "fp8_block"),
        **dict.fromkeys(("DeepSeek_V4_Pro", "DeepSeek_V4_Flash"), "fp8_block"),
        **dict.fromkeys(("MiniMax_M2_5", "MiMo_V2_Flash"), "fp8_block"),
        **dict.fromkeys(("gpt_oss_20B", "gpt_oss_120B"), "mxfp4"),
        "Kimi_K2_5": "int4_g128",
    }


NODES = {path: entry for path, entry in ENTRIES.items() if isinstance(entry, Node)}
FLEETS = {path: entry for path, entry in ENTRIES.items() if isinstance(entry, Fleet)}


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
class TestEveryNode:
    def test_its_links_are_those_of_its_accelerators(self, node):
        assert node.link_bandwidth.canonical == node.accelerator.link_bandwidth.canonical
        assert node.value_of("node_bandwidth", "fp16") is node.link_bandwidth

    def test_the_fabric_is_slower_than_the_links(self, node):
        if node.nics is not None:
            each = node.nics.value * node.nic_bandwidth.canonical / node.accelerators_per_node.value
            assert 6.25e9 <= each <= 100e9
            assert each <= node.link_bandwidth.canonical / 4


#: Accelerators in all.
SIZES = {
    "Research_256": 256, "SuperPOD_A100": 160, "SuperPOD_H100": 256, "SuperPOD_GB200": 576, "Llama3_16K": 16_384,
    "Meta_24K": 24_576,
    "DeepSeek_H800_2048": 2_048, "A3_Mega_16": 16,
}  # fmt: skip


def test_fleets_have_as_many_accelerators_as_their_names_say():
    found = {path: fleet.count.value * fleet.node.accelerators_per_node.value for path, fleet in FLEETS.items()}
    assert {path.rpartition(".")[2]: size for path, size in found.items()} == SIZES


@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
def test_a_fabric_is_no_faster_than_the_ports_of_its_nodes(fleet):
    ports = fleet.node.nics.value * fleet.node.nic_bandwidth.canonical / fleet.node.accelerators_per_node.value
    assert fleet.fabric.bandwidth.canonical <= ports
    assert fleet.value_of("fabric_bandwidth", "fp16") is fleet.fabric.bandwidth
    assert fleet.value_of("accelerators_per_node", "fp16") is fleet.node.accelerators_per_node


class TestFiles:
    """The data is in several files, joined group by group."""

    def files(self, tmp_path, *texts):
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.toml").write_text(text, encoding="utf-8")
        return sorted(tmp_path.iterdir())

    def test_groups_are_joined(self, tmp_path):
        files = self.files(
            tmp_path, "[Hardware.A.x]\nname = 'x'\n[Hardware.B.y]\nname = 'y'", "[Hardware.A.z]\nname = 'z'"
        )
        assert _merged(files) == {
            "Hardware": {"A": {"x": {"name": "x"}, "z": {"name": "z"}}, "B": {"y": {"name": "y"}}}
        }

    def test_an_entry_in_two_files_is_refused(self, tmp_path):
        files = self.files(tmp_path, "[Hardware.A.x]\nname = 'x'", "[Hardware.A.x]\nname = 'y'")
        with pytest.raises(CatalogError, match=r"^1\.toml: Hardware\.A\.x is in another file too$"):
            _merged(files)

    def test_the_entries_of_the_tutorial_come_first(self):
        assert next(iter(Hardware.Cloud)) == "H100"
        assert next(iter(Models.Language)) == "Llama3_8B"

    def test_entries_of_ours_are_what_their_files_hold(self):
        """Each is parsed alone, when it is first asked for."""
        folder = resources.files("mlsysim.catalog") / "data"
        for file in (each for each in folder.iterdir() if each.name.endswith(".toml")):
            whole = tomllib.loads(file.read_text(encoding="utf-8"))
            assert _merged([file]) == whole != {}, file.name
