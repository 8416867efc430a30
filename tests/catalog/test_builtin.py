"""The catalog that comes along: every value with provenance, and checked against an independent derivation."""

import datetime
from urllib.parse import urlsplit

import pytest

from mlsysim import Hardware, Models, Systems, units
from mlsysim.catalog import (
    Accelerator,
    Fabric,
    Fleet,
    Node,
    SparseTransformerWorkload,
    TransformerWorkload,
    builtin,
)
from mlsysim.references import bibliography
from mlsysim.symbolic import variable_of
from mlsysim.symbols.workload import precision

ENTRIES = {path: builtin().entry(path) for path in builtin().paths()}
VALUES = {f"{path}.{field}": value for path, entry in ENTRIES.items() for field, value in entry.values().items()}
DEVICES = {path: entry for path, entry in ENTRIES.items() if isinstance(entry, Accelerator)}
WORKLOADS = {path: entry for path, entry in ENTRIES.items() if isinstance(entry, TransformerWorkload)}
GIGABYTE, TERAFLOP = 1e9, 1e12


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
class TestEveryValue:
    def test_has_a_kind_of_the_schema_and_is_not_a_callers(self, value):
        assert value.kind in ("datasheet", "paper", "measured", "derived", "assumed")

    def test_has_a_source_that_can_be_looked_up(self, value):
        if value.source in bibliography():
            assert bibliography()[value.source].title
        else:
            address = urlsplit(value.source)
            assert address.scheme == "https"
            assert "." in address.netloc
            assert address.path.strip("/")

    def test_has_a_date_on_the_calendar_and_not_in_the_future(self, value):
        day = datetime.date.fromisoformat(value.date if len(value.date) > 7 else f"{value.date}-01")
        assert datetime.date(1990, 1, 1) < day <= datetime.date.today()

    def test_has_a_unit_that_is_known(self, value):
        assert value.quantity.units == units.unit(value.unit)
        assert value.canonical >= 0

    def test_says_how_it_was_derived_or_why_it_was_assumed(self, value):
        if value.kind == "derived":
            assert value.note


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


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
class TestEveryDevice:
    def test_rates_are_for_formats_the_formulas_know(self, device):
        assert set(device.peak_flops) <= set(variable_of(precision).domain.labels)
        assert "fp16" in device.peak_flops

    def test_half_the_bits_is_at_least_the_rate(self, device):
        rates = {name: value.canonical for name, value in device.peak_flops.items()}
        assert rates["fp32"] <= rates["tf32"] <= rates["fp16"] == rates["bf16"] <= rates["int8"]
        assert rates.get("fp8", rates["int8"]) == rates["int8"]

    def test_numbers_are_of_the_right_size(self, device):
        assert 10e9 < device.memory_capacity.canonical < 1e12
        assert 0.5e12 < device.memory_bandwidth.canonical < 20e12
        assert 50 < device.tdp.canonical < 2000


#: Multiprocessors, tensor-core FMAs per clock, boost clock in GHz, memory bus in bits, Gbit/s per pin.
MADE_OF = {
    "Hardware.Cloud.A100": (108, 4 * 256, 1.41, 5120, 3.186),
    "Hardware.Cloud.A100_40GB": (108, 4 * 256, 1.41, 5120, 2.43),
    "Hardware.Cloud.H100": (132, 4 * 512, 1.83, 5120, 5.23),
    "Hardware.Cloud.H200": (132, 4 * 512, 1.83, 6144, 6.25),
    "Hardware.Cloud.MI300X": (304, 1024, 2.1, 8192, 5.2),
}


@pytest.mark.parametrize("path", MADE_OF)
def test_rate_and_bandwidth_follow_from_the_chip(path):
    """Dense fp16 rate from multiprocessors and clock, bandwidth from pins: within half a percent of the data sheet."""
    units_, fmas, clock, pins, gigabits = MADE_OF[path]
    device = ENTRIES[path]
    assert device.peak_flops["fp16"].canonical == pytest.approx(2 * units_ * fmas * clock * 1e9, rel=5e-3)
    assert device.memory_bandwidth.canonical == pytest.approx(pins * gigabits * 1e9 / 8, rel=5e-3)


def test_every_device_has_been_derived():
    assert set(MADE_OF) == set(DEVICES)


@pytest.mark.parametrize("path", ["Hardware.Cloud.A100", "Hardware.Cloud.H100"])
def test_eighty_gigabytes_of_stacked_memory_are_gibibytes(path):
    """Five stacks of 16 GiB, which the tutorial's feasibility rests on."""
    assert ENTRIES[path].memory_capacity.canonical == 5 * 16 * 2**30


def dense(vocabulary, width, feed_forward, layers, kv_width, feed_forward_matrices=3, experts=1):
    """Tensors of a Llama-shaped transformer added up; embedding and head are separate."""
    attention = 2 * width * width + 2 * width * kv_width
    router = width * experts if experts > 1 else 0
    block = attention + experts * feed_forward_matrices * width * feed_forward + router + 2 * width
    return 2 * vocabulary * width + layers * block + width


COUNTED = {
    "Models.Language.Llama3_8B": dense(128_256, 4096, 14_336, 32, 8 * 128),
    "Models.Language.Llama3_70B": dense(128_256, 8192, 28_672, 80, 8 * 128),
    "Models.Language.Mixtral_8x7B": dense(32_000, 4096, 14_336, 32, 8 * 128, experts=8),
}


@pytest.mark.parametrize("path", COUNTED)
def test_exact_counts_add_up_from_the_architecture(path):
    assert ENTRIES[path].counted_parameters.value == COUNTED[path]


def test_every_exact_count_has_been_derived():
    assert set(COUNTED) == {path for path, entry in WORKLOADS.items() if entry.counted_parameters is not None}


@pytest.mark.parametrize("path", COUNTED)
def test_published_counts_are_the_exact_ones_rounded(path):
    entry = ENTRIES[path]
    assert entry.parameters.value != entry.counted_parameters.value
    assert float(f"{entry.counted_parameters.value:.3g}") == entry.parameters.value
    assert entry.counted().parameters is entry.counted_parameters
    assert entry.counted().layers is entry.layers
    assert entry.counted_parameters.kind == "derived"


def gpt(vocabulary, context, width, layers):
    """GPT-2's shape: tied embedding, learned positions, two-matrix feed-forward of four widths, biases."""
    return (vocabulary + context) * width + layers * (12 * width**2 + 13 * width) + 2 * width


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("Models.Language.GPT3_175B", gpt(50_257, 2048, 12_288, 96)),
        ("Models.Language.OPT_13B", gpt(50_272, 2050, 5120, 40)),
    ],
)
def test_rounded_counts_fit_the_architecture(path, count):
    """Published as 175 and 13 billion: right to the last digit printed."""
    published = ENTRIES[path].parameters.value
    assert round(count / 1e9) == round(published / 1e9)


def deepseek(experts):
    """DeepSeek-V3 with so many routed experts per token: latent attention, three dense layers, one shared expert."""
    width, heads, rank, query_rank, nope, rope, value = 7168, 128, 512, 1536, 128, 64, 128
    attention = (
        width * query_rank
        + query_rank * heads * (nope + rope)
        + width * (rank + rope)
        + rank * heads * (nope + value)
        + heads * value * width
        + query_rank
        + rank
    )
    dense_layer = attention + 3 * width * 18_432 + 2 * width
    sparse_layer = attention + (experts + 1) * 3 * width * 2048 + 256 * width + 2 * width
    return 2 * 129_280 * width + 3 * dense_layer + 58 * sparse_layer + width


def test_deepseek_adds_up():
    entry = Models.Language.DeepSeek_V3
    assert round(deepseek(256) / 1e9) == entry.parameters.value / 1e9
    # The paper rounds 37.55 billion down; without the embedding's lookup table it is 36.6.
    assert deepseek(8) == pytest.approx(entry.active_parameters.value, rel=0.02)
    assert (entry.kv_lora_rank.value, entry.qk_rope_head_dim.value) == (512, 64)


def test_mixtral_activates_two_experts():
    entry = Models.Language.Mixtral_8x7B
    block = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 2 * 3 * 4096 * 14_336 + 8 * 4096 + 2 * 4096
    active = 2 * 32_000 * 4096 + 32 * block + 4096
    assert round(active / 1e9, 1) == entry.active_parameters.value / 1e9


@pytest.mark.parametrize("entry", WORKLOADS.values(), ids=WORKLOADS)
class TestEveryWorkload:
    def test_heads_divide_the_width(self, entry):
        if entry.kv_lora_rank is None:
            assert entry.hidden_dim.value % entry.heads.value == 0
            assert entry.hidden_dim.value / entry.heads.value in (64, 128)

    def test_key_value_heads_divide_the_heads(self, entry):
        assert entry.heads.value % (entry.kv_heads or entry.heads).value == 0

    def test_twelve_width_squared_per_layer_is_the_right_order(self, entry):
        """Kaplan's count of a dense transformer; gated and grouped ones stay within a third."""
        if not isinstance(entry, SparseTransformerWorkload):
            count = 12 * entry.layers.value * entry.hidden_dim.value**2
            assert 2 / 3 < entry.parameters.value / count < 4 / 3
