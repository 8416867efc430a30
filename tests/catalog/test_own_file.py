"""A user's own TOML file: what loads, what inherits, and what each mistake says."""

import re
from typing import ClassVar

import pytest

from mlsysim import (
    Hardware,
    IterationModel,
    MoERoutingModel,
    ServingCapacityModel,
    Systems,
    TrainingMemoryModel,
    load_catalog,
)
from mlsysim.catalog import Accelerator, Fleet, SparseTransformerWorkload, TransformerWorkload, Value, builtin
from mlsysim.catalog.value import OWN
from mlsysim.errors import CatalogError, InputError, UnknownNameError

CHIP = """
[Hardware.Mine.Chip]
name = "My chip"
source = "https://example.org/chip"
date = "2025-05"
kind = "measured"
memory_capacity = "48 GiB"
memory_bandwidth = { value = 1.5, unit = "TB/s", kind = "assumed", note = "Not measured yet." }
tdp = { value = 300, unit = "W", source = "kwon2023", date = "2024-01-31", kind = "paper" }
[Hardware.Mine.Chip.peak_flops]
fp16 = "200 TFLOP/s"
fp8 = { value = 400, unit = "TFLOP/s", kind = "derived", note = "Twice fp16." }
"""
MODEL = """
[Models.Mine.Small]
name = "Small"
source = "https://example.org/small"
date = "2025-05"
kind = "measured"
parameters = 1e9
layers = 16
hidden_dim = 2048
heads = 16
"""
CLUSTER = """
[Systems.Nodes.Box]
name = "Box"
source = "https://example.org/box"
date = "2025-05"
kind = "assumed"
accelerator = "Hardware.Cloud.H100"
accelerators_per_node = 4

[Systems.Clusters.Lab]
name = "Lab"
source = "https://example.org/box"
date = "2025-05"
kind = "assumed"
node = "Systems.Nodes.Box"
count = 2
fabric = "Systems.Fabrics.Ethernet_100G_TCP"
"""


@pytest.fixture
def load(tmp_path):
    def read(text):
        file = tmp_path / "mine.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_catalog(file)

    return read


def test_entries_load_with_their_classes(load):
    own = load(CHIP + MODEL + CLUSTER)
    assert isinstance(own.Hardware.Mine.Chip, Accelerator)
    assert type(own.Models.Mine.Small) is TransformerWorkload
    assert isinstance(own.Systems.Clusters.Lab, Fleet)
    assert own.paths() == ("Hardware.Mine.Chip", "Models.Mine.Small", "Systems.Nodes.Box", "Systems.Clusters.Lab")


def test_a_path_may_be_text_or_a_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(CHIP, encoding="utf-8")
    assert load_catalog(str(file)).Hardware.Mine.Chip == load_catalog(file).Hardware.Mine.Chip


def test_an_empty_file_is_an_empty_catalog(load):
    own = load("")
    assert own.paths() == ()
    assert list(own.Hardware) == []


class TestProvenance:
    """A value inherits source, date and kind from its entry, and may say otherwise."""

    def test_inherited_whole(self, load):
        value = load(CHIP).Hardware.Mine.Chip.memory_capacity
        assert (value.source, value.date, value.kind, value.note) == (
            "https://example.org/chip",
            "2025-05",
            "measured",
            "",
        )

    def test_inherited_in_part(self, load):
        value = load(CHIP).Hardware.Mine.Chip.memory_bandwidth
        assert (value.source, value.date, value.kind) == ("https://example.org/chip", "2025-05", "assumed")
        assert value.note == "Not measured yet."

    def test_its_own(self, load):
        value = load(CHIP).Hardware.Mine.Chip.tdp
        assert (value.source, value.date, value.kind) == ("kwon2023", "2024-01-31", "paper")

    def test_inherited_inside_a_table(self, load):
        rates = load(CHIP).Hardware.Mine.Chip.peak_flops
        assert (rates["fp16"].kind, rates["fp8"].kind) == ("measured", "derived")
        assert rates["fp8"].date == "2025-05"

    def test_a_reference_keeps_the_provenance_of_what_it_refers_to(self, load):
        box = load(CLUSTER).Systems.Nodes.Box
        assert box.accelerators_per_node.kind == "assumed"
        assert box.accelerator.memory_bandwidth.kind == "datasheet"

    def test_a_bare_number_is_a_pure_number(self, load):
        assert load(MODEL).Models.Mine.Small.layers.unit == ""

    @pytest.mark.parametrize("date", ["2025-05-31", '"2025-05-31"', '"2025-05"'])
    def test_dates_as_text_or_as_toml_has_them(self, load, date):
        own = load(CHIP.replace('date = "2025-05"', f"date = {date}"))
        assert own.Hardware.Mine.Chip.memory_capacity.date.startswith("2025-05")


class TestReferences:
    def test_to_built_in_entries(self, load):
        own = load(CLUSTER)
        assert own.Systems.Nodes.Box.accelerator is Hardware.Cloud.H100

    def test_to_entries_of_the_same_file(self, load):
        own = load(CHIP + CLUSTER.replace("Hardware.Cloud.H100", "Hardware.Mine.Chip"))
        assert own.Systems.Clusters.Lab.node.accelerator is own.Hardware.Mine.Chip

    def test_forward_in_the_file(self, load):
        own = load(CLUSTER.replace("Hardware.Cloud.H100", "Hardware.Mine.Chip") + CHIP)
        assert own.Systems.Clusters.Lab.node.accelerator.name == "My chip"

    def test_an_own_entry_hides_the_built_in_one_of_the_same_name(self, load):
        own = load(CHIP.replace("Mine.Chip", "Cloud.H100") + CLUSTER)
        assert own.Systems.Nodes.Box.accelerator.name == "My chip"
        assert Hardware.Cloud.H100.name == "NVIDIA H100 SXM5 80 GB"

    def test_lookups_by_name_fall_back_on_the_built_in_catalog(self, load):
        own = load(CHIP)
        assert own.find("hardware", "Chip") is own.Hardware.Mine.Chip
        assert own.find("hardware", "H100") is Hardware.Cloud.H100
        with pytest.raises(UnknownNameError, match=r"^unknown hardware 'Chop': did you mean Chip"):
            own.find("hardware", "Chop")


def test_entries_work_in_the_models(load):
    own = load(CHIP + MODEL + CLUSTER)
    chip, small = own.Hardware.Mine.Chip, own.Models.Mine.Small
    assert TrainingMemoryModel().solve(small, chip, batch_size=1).feasible is True
    assert (
        ServingCapacityModel().solve(small, chip, qps=1, target_p99_latency_ms=9000, precision="fp8").feasible is True
    )
    found = MoERoutingModel().solve("Mixtral_8x7B", own.Systems.Clusters.Lab, batch_size=1, ep_size=2)
    assert found.to_dict()["entries"]["fleet"] == "Lab"


def test_experts_make_a_model_sparse(load):
    own = load(MODEL + "experts = 8\nactive_experts_per_token = 2\nactive_parameters = 3e8\n")
    assert type(own.Models.Mine.Small) is SparseTransformerWorkload


def test_a_model_without_a_count_needs_the_whole_shape(load):
    shape = "vocab_size = 32000\nffn_dim = 8192\ngated = true\n"
    small = load(swap(MODEL, "parameters = 1e9\n", shape)).Models.Mine.Small
    assert small.parameters is None
    assert small.value_of("parameters", "fp16") is None
    counted = TrainingMemoryModel().solve(small, "H100", batch_size=1).canonical("parameters")
    layer = 4 * 2048 * 2048 + 3 * 2048 * 8192 + 2 * 2048
    assert counted == 16 * layer + 2 * 32000 * 2048 + 2048
    with pytest.raises(CatalogError, match=r"give parameters, or vocab_size, ffn_dim, gated to count from"):
        load(swap(MODEL, "parameters = 1e9\n", ""))
    assert TrainingMemoryModel().solve(small, "H100", batch_size=1, parameters=1e9).canonical("parameters") == 1e9


@pytest.mark.parametrize(("given", "value"), [("true", 1), ("false", 0), ("1", 1), ("0", 0), ("{ value = true }", 1)])
def test_yes_and_no(load, given, value):
    small = load(MODEL + f"tied_embeddings = {given}\n").Models.Mine.Small
    assert small.tied_embeddings.value == value
    assert f"tied_embeddings={'yes' if value else 'no'}" in repr(small)


class TestWhatIsLeftOut:
    def test_a_head_is_as_wide_as_its_share(self, load):
        small = load(MODEL).Models.Mine.Small
        assert small.value_of("head_dim", "fp16").value == 128
        assert small.value_of("head_dim", "fp16").kind == "derived"
        assert small.value_of("kv_heads", "fp16") is small.heads

    def test_no_share_where_it_does_not_divide(self, load):
        assert load(swap(MODEL, "heads = 16", "heads = 15")).Models.Mine.Small.value_of("head_dim", "fp16") is None

    def test_latent_attention_has_keys_of_two_parts(self, load):
        latent = "kv_lora_rank = 64\nqk_nope_head_dim = 32\nqk_rope_head_dim = 16\nv_head_dim = 32\n"
        assert load(MODEL + latent).Models.Mine.Small.value_of("head_dim", "fp16").value == 48

    def test_a_dense_model_has_no_experts(self, load):
        small = load(MODEL).Models.Mine.Small
        assert small.value_of("experts", "fp16").value == 1
        assert small.value_of("moe_layers", "fp16").value == 0

    def test_a_sparse_model_says_how_many_layers_have_experts(self, load):
        sparse = load(MODEL + "experts = 8\nactive_experts_per_token = 2\nactive_parameters = 3e8\n").Models.Mine.Small
        assert sparse.value_of("moe_layers", "fp16") is None
        assert sparse.value_of("moe_layer_interval", "fp16").value == 1


def swap(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


FIRST = 'source = "https://example.org/chip"\n'
MISTAKES = {
    "no source": (swap(CHIP, FIRST, ""), "Hardware.Mine.Chip: My chip: memory_capacity: source: Field required"),
    "no date": (
        swap(CHIP, 'date = "2025-05"\n', ""),
        "Hardware.Mine.Chip: My chip: memory_capacity: date: Field required",
    ),
    "no kind": (
        swap(CHIP, 'kind = "measured"\n', ""),
        "Hardware.Mine.Chip: My chip: memory_capacity: kind: Field required",
    ),
    "no kind in a table": (
        swap(CHIP, 'kind = "measured"\n', ""),
        "peak_flops.fp16: kind: Field required",
    ),
    "no unit": (
        swap(CHIP, '"48 GiB"', "48"),
        "Hardware.Mine.Chip: My chip: memory_capacity: 48 is not in a unit of GB",
    ),
    "no name": (swap(CHIP, 'name = "My chip"\n', ""), "Hardware.Mine.Chip: Accelerator: name: Field required"),
    "no field": (
        swap(CHIP, 'memory_capacity = "48 GiB"\n', ""),
        "Hardware.Mine.Chip: My chip: memory_capacity: Field required",
    ),
    "no heads": (swap(MODEL, "heads = 16\n", ""), "Models.Mine.Small: Small: heads: Field required"),
    "an unknown field": (swap(CHIP, "tdp", "tpd"), "Hardware.Mine.Chip: My chip: tpd: Extra inputs are not permitted"),
    "an unknown unit": (
        swap(CHIP, "48 GiB", "48 GiX"),
        "Hardware.Mine.Chip: My chip: memory_capacity: unit: unknown unit 'GiX'",
    ),
    "an unknown kind": (
        swap(CHIP, '"measured"', '"guessed"'),
        "memory_capacity: kind: Input should be 'datasheet', 'paper', ",
    ),
    "an empty source": (
        swap(CHIP, FIRST, 'source = ""\n'),
        "memory_capacity: source '' is neither a URL nor a key of the bib",
    ),
    "an unknown source": (
        swap(CHIP, FIRST, 'source = "nobody2020"\n'),
        "memory_capacity: source 'nobody2020' is neither a URL nor a key of the bibliography nor 'own measurement'",
    ),
    "an empty date": (swap(CHIP, '"2025-05"', '""'), "Hardware.Mine.Chip: My chip: memory_capacity: date is missing"),
    "a year alone": (swap(CHIP, '"2025-05"', '"2025"'), "date: '2025' must be YYYY-MM or YYYY-MM-DD"),
    "a date of another form": (swap(CHIP, '"2025-05"', '"20250531"'), "date: '20250531' must be YYYY-MM or YYYY-MM-DD"),
    "a time of day": (swap(CHIP, '"2025-05"', "2025-05-31T12:00:00"), "must be YYYY-MM or YYYY-MM-DD"),
    "a month 13": (swap(CHIP, '"2025-05"', '"2025-13"'), "date: '2025-13' must be YYYY-MM or YYYY-MM-DD"),
    "the wrong dimension": (
        swap(CHIP, "48 GiB", "48 s"),
        "Hardware.Mine.Chip: My chip: memory_capacity: 48 s is not in a unit of GB",
    ),
    "a rate for a size": (swap(CHIP, "48 GiB", "48 GB/s"), "memory_capacity: 48 GB/s is not in a unit of GB"),
    "bytes for a count": (swap(MODEL, "layers = 16", 'layers = "16 GB"'), "Small: layers: 16 GB is not a pure number"),
    "not a number": (
        swap(CHIP, '"48 GiB"', "nan"),
        "Hardware.Mine.Chip: My chip: memory_capacity: value: must be a finite",
    ),
    "infinite": (
        swap(CHIP, "48 GiB", "inf GiB"),
        "Hardware.Mine.Chip: My chip: memory_capacity: value: must be a finite",
    ),
    "too long for a float": (swap(CHIP, "48 GiB", "1e999 GiB"), "memory_capacity: value: must be a finite number"),
    "negative": (swap(CHIP, "48 GiB", "-48 GiB"), "Hardware.Mine.Chip: My chip: memory_capacity: -48 is negative"),
    "a truth value": (swap(CHIP, '"48 GiB"', "true"), "memory_capacity: value: True is not a number"),
    "a truth value for a count": (swap(MODEL, "layers = 16", "layers = true"), "layers: value: True is not a number"),
    "a list": (swap(CHIP, '"48 GiB"', "[48]"), "memory_capacity: value: Input should be a valid number"),
    "a word": (swap(CHIP, "48 GiB", "many GiB"), "memory_capacity: value: Input should be a valid number"),
    "a comma": (swap(CHIP, "48 GiB", "48,5 GiB"), "memory_capacity: value: Input should be a valid number"),
    "no blank": (swap(CHIP, "48 GiB", "48GiB"), "memory_capacity: value: Input should be a valid number"),
    "half a layer": (swap(MODEL, "layers = 16", "layers = 16.5"), "Small: layers=16.5 must be a whole number >= 1"),
    "no layer": (swap(MODEL, "layers = 16", "layers = 0"), "Small: layers=0 must be a whole number >= 1"),
    "more active than there are": (
        MODEL + "experts = 2\nactive_experts_per_token = 4\nactive_parameters = 3e8\n",
        "Models.Mine.Small: Small: active_experts_per_token=4 is more than experts=2",
    ),
    "more active parameters than all": (
        MODEL + "experts = 8\nactive_experts_per_token = 4\nactive_parameters = 3e9\n",
        "active_parameters=3e+09 is more than parameters=1e+09",
    ),
    "experts without the active ones": (
        MODEL + "experts = 8\n",
        "Small: active_experts_per_token: Field required",
    ),
    "experts without any count of what is active": (
        MODEL + "experts = 8\nactive_experts_per_token = 2\n",
        "Small: give active_parameters, or vocab_size, ffn_dim, gated, expert_ffn_dim, moe_layers to count from",
    ),
    "neither parameters nor the shape": (
        swap(MODEL, "parameters = 1e9\n", "gated = true\nffn_dim = 8192\n"),
        "Models.Mine.Small: Small: give parameters, or vocab_size to count from",
    ),
    "a feed-forward block of unknown kind": (
        MODEL + "ffn_dim = 8192\n",
        "Small: ffn_dim needs gated = true or false beside it",
    ),
    "experts of unknown kind": (
        MODEL + "experts = 8\nactive_experts_per_token = 2\nactive_parameters = 3e8\nexpert_ffn_dim = 512\n",
        "Small: expert_ffn_dim needs gated = true or false beside it",
    ),
    "more layers with experts than layers": (
        MODEL + "experts = 8\nactive_experts_per_token = 2\nactive_parameters = 3e8\nmoe_layers = 17\n",
        "Small: moe_layers=17 is more than layers=16",
    ),
    "neither yes nor no": (MODEL + "qk_norm = 2\n", "Small: qk_norm: 2 is neither true nor false"),
    "a yes in words": (MODEL + 'qk_norm = "yes"\n', "Small: qk_norm: "),
    "an unknown number format": (
        swap(CHIP, "fp16 =", "fp61 ="),
        "My chip: peak_flops: unknown number format 'fp61': did you mean fp16",
    ),
    "an unknown table": ("[Hardwar.Mine.Chip]\na = 1", "unknown table 'Hardwar': did you mean Hardware?"),
    "a value at the top": ("x = 1", "unknown table 'x': known: Hardware, Models, Systems"),
    "a value for a table": ("Hardware = 3", "Hardware: must hold tables only, as in [Hardware.Cloud.H100]"),
    "a value for a group": ("[Hardware]\nCloud = 3", "Hardware: must hold tables only, as in [Hardware.Cloud.H100]"),
    "a value for an entry": ("[Hardware.Cloud]\nH100 = 3", "Hardware.Cloud: must hold tables only, as in [Hardware"),
    "an unknown group": ("[Systems.Node.Box]\nname = 'Box'", "unknown group of Systems 'Node': did you mean Nodes?"),
    "a name with a dot": (
        swap(CHIP, "[Hardware.Mine.Chip]", '[Hardware.Mine."Chip.2"]'),
        "Hardware.Mine: the name 'Chip.2' is empty, or has a dot",
    ),
    "an empty name": ('[Hardware."".Chip]\na = 1', "Hardware: the name '' is empty, or has a dot"),
    "an unknown reference": (
        swap(CLUSTER, "Hardware.Cloud.H100", "Hardware.Cloud.H10"),
        "Systems.Nodes.Box: unknown accelerator 'Hardware.Cloud.H10': did you mean Hardware.Cloud.H100",
    ),
    "a reference to another kind": (
        swap(CLUSTER, "Hardware.Cloud.H100", "Models.Language.Llama3_8B"),
        "Systems.Nodes.Box: unknown accelerator 'Models.Language.Llama3_8B': ",
    ),
    "a reference to itself": (
        swap(CLUSTER, "Hardware.Cloud.H100", "Systems.Nodes.Box"),
        "Systems.Nodes.Box: unknown accelerator 'Systems.Nodes.Box': ",
    ),
    "a node that refers to itself": (
        swap(CLUSTER, 'accelerator = "Hardware', 'node = "Systems.Nodes.Box"\naccelerator = "Hardware'),
        "Systems.Nodes.Box: Box: node: ",
    ),
    "a fabric that is a node": (
        swap(CLUSTER, "Systems.Fabrics.Ethernet_100G_TCP", "Systems.Nodes.Box"),
        "Systems.Clusters.Lab: unknown fabric 'Systems.Nodes.Box': did you mean Systems.Fabrics.RoCE_400G",
    ),
    "not TOML": ("{", "not TOML: "),
    "the same table twice": (CHIP + CHIP, "not TOML: "),
    "not text": (b"\xff\xfe", "not TOML: 'utf-8' codec can't decode byte 0xff"),
    "too deep": ("a = " + "[" * 20_000, "not TOML: "),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_names_file_entry_and_field(load, tmp_path, text, message):
    with pytest.raises(CatalogError) as caught:
        load(text)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'mine.toml'}: ")
    assert message in said
    assert "\n" not in said


def test_every_field_at_fault_is_listed_at_once(load):
    with pytest.raises(CatalogError) as caught:
        load(CHIP.replace("48 GiB", "-48 GiB").replace("200 TFLOP/s", "200 GB/s"))
    assert re.search(
        r"memory_capacity: -48 is negative; peak_flops\.fp16: 200 GB/s is not in a unit of TFLOP/s", str(caught.value)
    )


class TestFiles:
    def test_missing(self, tmp_path):
        with pytest.raises(CatalogError) as caught:
            load_catalog(tmp_path / "none.toml")
        assert str(caught.value) == f"{tmp_path / 'none.toml'}: cannot be read: No such file or directory"

    def test_a_folder(self, tmp_path):
        with pytest.raises(CatalogError, match=r": cannot be read: "):
            load_catalog(tmp_path)

    def test_a_name_no_file_can_have(self):
        with pytest.raises(CatalogError, match=r"null"):
            load_catalog("a\0b")

    @pytest.mark.parametrize("path", [None, 3, ["mine.toml"], {}, 1.5])
    def test_not_a_path(self, path):
        with pytest.raises(InputError) as caught:
            load_catalog(path)
        assert str(caught.value) == f"path={path!r}: must be the path of a TOML file"


class TestByHand:
    """The same classes are built in code; bare numbers are in the unit of the field."""

    def test_an_accelerator(self):
        chip = Accelerator(name="x", memory_capacity=80, memory_bandwidth="3 TB/s", peak_flops={"fp16": 100})
        assert chip.memory_capacity.canonical == 80e9
        assert chip.memory_bandwidth.canonical == 3e12
        assert chip.peak_flops["fp16"].canonical == 100e12
        assert (chip.memory_capacity.kind, chip.memory_capacity.source) == ("user", "given by the caller")

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"memory_capacity": "80"}, "x: memory_capacity: 80 is not in a unit of GB"),
            (
                {"memory_capacity": "80,5 GB"},
                "x: memory_capacity: '80,5 GB' is not a number with a unit, as in '80 GB'",
            ),
            ({"memory_capacity": "80 gb"}, "x: memory_capacity: unknown unit 'gb'"),
            ({"memory_capacity": -80}, "x: memory_capacity: -80 is negative"),
            ({"memory_capacity": float("nan")}, "x: memory_capacity: value: must be a finite number"),
            ({"memory_capacity": True}, "x: memory_capacity: value: True is not a number"),
            ({"memory_capacity": None}, "x: memory_capacity: value: Input should be a valid number"),
            ({"peak_flops": 5}, "x: peak_flops: Input should be a valid dictionary"),
            ({"peak_flops": {"fp16": "5 GB"}}, "x: peak_flops.fp16: 5 GB is not in a unit of TFLOP/s"),
            ({"colour": "red"}, "x: colour: Extra inputs are not permitted"),
            ({"name": None}, "Accelerator: name: Input should be a valid string"),
        ],
    )
    def test_what_is_refused(self, fields, message):
        good = {"name": "x", "memory_capacity": 80, "memory_bandwidth": 3000, "peak_flops": {"fp16": 100}}
        with pytest.raises(CatalogError) as caught:
            Accelerator(**{**good, **fields})
        assert str(caught.value).startswith(message)


class TestValue:
    good = {"value": 80, "unit": "GB", "source": "https://example.org/x", "date": "2024-01", "kind": "paper"}

    def test_in_words(self):
        value = Value(**self.good)
        assert str(value) == "80 GB (paper: https://example.org/x, 2024-01)"
        assert value.canonical == 80e9
        assert f"{value.quantity:~}" == "80.0 GB"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"value": None}, "value: Input should be a valid number"),
            ({"value": True}, "value: True is not a number"),
            ({"value": float("inf")}, "value: must be a finite number"),
            ({"unit": "GX"}, "unit: unknown unit 'GX'"),
            ({"unit": 5}, "unit: Input should be a valid string"),
            ({"source": "nobody2020"}, "source 'nobody2020' is neither a URL nor a key of the bibliography"),
            ({"date": ""}, "date is missing"),
            ({"date": "last year"}, "date: 'last year' must be YYYY-MM or YYYY-MM-DD"),
            ({"kind": "guess"}, "kind: Input should be 'datasheet', "),
            ({"kind": "calibrated"}, "calibrated_on is missing: say on what it was calibrated"),
            ({"calibrated_on": "a run"}, "kind 'paper' has calibrated_on, which is of kind 'calibrated'"),
            ({"colour": "red"}, "colour: Extra inputs are not permitted"),
        ],
    )
    def test_what_is_refused(self, change, message):
        with pytest.raises(CatalogError) as caught:
            Value(**{**self.good, **change})
        assert str(caught.value).startswith(message)
        assert "\n" not in str(caught.value)

    def test_what_is_missing_is_listed(self):
        with pytest.raises(CatalogError) as caught:
            Value()
        assert str(caught.value) == "; ".join(f"{name}: Field required" for name in ("value", "source", "date", "kind"))

    def test_a_calibrated_one_says_on_what(self):
        made = Value(**{**self.good, "kind": "calibrated", "calibrated_on": "two runs"})
        assert str(made) == "80 GB (calibrated on two runs: https://example.org/x, 2024-01)"
        assert made.standing == "calibrated on two runs"
        assert Value(**self.good).standing == "paper"

    def test_the_callers_own_needs_no_citation(self):
        assert Value.of("80 GB").canonical == 80e9
        assert Value.of(80, "GB").canonical == 80e9
        assert Value.of(Value.of(80)).value == 80

    @pytest.mark.parametrize("given", [None, "many", "80,5 GB", [80], True, 1j, object()])
    def test_what_the_caller_cannot_mean(self, given):
        with pytest.raises(ValueError, match=r".") as caught:
            Value.of(given)
        assert isinstance(caught.value, InputError | CatalogError) or "unit" in str(caught.value)


def test_ones_own_measurement_is_a_source_of_a_file_of_ones_own(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        '[Hardware.Lab.Mine]\nname = "Mine"\nsource = "own measurement"\ndate = "2026-01"\nkind = "measured"\n'
        'memory_capacity = "96 GB"\nmemory_bandwidth = "4 TB/s"\npeak_flops = { fp16 = "800 TFLOP/s" }\n'
    )
    assert str(load_catalog(file).Hardware.Lab.Mine.memory_capacity) == "96 GB (measured: own measurement, 2026-01)"
    ours = builtin()
    assert not [path for path in ours.paths() for value in ours.entry(path).values().values() if value.source == OWN]


class TestMemoryOfOnesOwnDevice:
    """80 GB as typed are 80e9 bytes; what a data sheet prints as 80 GB is read as the 80 GiB that are built."""

    OTHER: ClassVar = {"name": "Mine", "memory_bandwidth": 3350, "peak_flops": {"bf16": 989}, "link_bandwidth": 450}

    @pytest.mark.parametrize(
        ("given", "tokens", "note"),
        [
            (
                {"memory_capacity": "80 GB"},
                8545,
                "taken as typed, 80,000,000,000 bytes: of memory sold as 80 GB drivers show about 80 GiB (85.9 GB)",
            ),
            (
                {"datasheet_memory": "80 GB"},
                40951,
                "the data sheet's 80 GB in binary units, 80 GiB (85.9 GB): what its driver shows is not known",
            ),
            ({"memory_capacity": "80 GiB"}, 40951, None),
            ({"memory_capacity": "81559 MiB", "datasheet_memory": "80 GB"}, 38872, None),
        ],
    )
    def test_a_note_says_which_was_meant(self, given, tokens, note):
        run = {"model": "Llama3_1_70B", "precision": "bf16", "tp_size": 2}
        found = IterationModel("saturated").solve(hardware=Accelerator(**given, **self.OTHER), **run)
        assert round(found.kv_cache_tokens.magnitude) == tokens
        said = [each for each in found.notes if each.startswith("memory_capacity: ")]
        assert said == ([] if note is None else [f"memory_capacity: {note}"])

    def test_a_keyword_is_read_as_a_device_is(self):
        run = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
        (note,) = [
            each for each in TrainingMemoryModel().solve(**run, memory_capacity="96 GB").notes if "typed" in each
        ]
        assert note.startswith("memory_capacity: taken as typed, 96,000,000,000 bytes: ")
        assert not [
            each for each in TrainingMemoryModel().solve(**run, memory_capacity="96 GiB").notes if "typed" in each
        ]

    @pytest.mark.parametrize("typed", [80e9, "80e9 GB", "2 PB"])
    def test_bytes_taken_for_gigabytes_are_asked_for(self, typed):
        run = {"model": "Llama3_8B", "batch_size": 8}
        said = "taken as typed, 1 PB or more, which no device has. Were bytes meant? A bare number is in GB"
        own = Accelerator(memory_capacity=typed, **self.OTHER)
        for given in ({"hardware": "H100", "memory_capacity": typed}, {"hardware": own}):
            assert f"memory_capacity: {said}" in TrainingMemoryModel().solve(**run, **given).notes
        built_in = [entry for entry in map(builtin().entry, builtin().paths()) if isinstance(entry, Accelerator)]
        assert max(entry.memory_capacity.canonical for entry in built_in) < 1e12

    def test_a_file_may_give_either_and_an_old_one_stays_as_it_was(self, load):
        as_typed = load(CHIP.replace("48 GiB", "48 GB")).Hardware.Mine.Chip
        assert as_typed.memory_capacity.canonical == 48e9
        sold = load(CHIP.replace("memory_capacity", "datasheet_memory").replace("48 GiB", "48 GB")).Hardware.Mine.Chip
        assert (sold.memory_capacity.text(), sold.memory_capacity.kind) == ("48 GiB", "assumed")
        assert sold.datasheet_memory.kind == "measured"

    def test_of_a_memory_design_too(self):
        design = Systems.Designs.GH200.changed(datasheet_memory="144 GB")
        assert design.memory_capacity.canonical == 144 * 2**30

    def test_a_change_of_one_is_a_change_of_both(self):
        ours = Hardware.Cloud.H100
        assert ours.changed(datasheet_memory="96 GB").memory_capacity.canonical == 96 * 2**30
        assert ours.changed(memory_capacity="96 GB").datasheet_memory is None
        both = ours.changed(memory_capacity="97871 MiB", datasheet_memory="96 GB")
        assert (both.memory_capacity.text(), both.datasheet_memory.text()) == ("97871 MiB", "96 GB")

    def test_a_number_of_the_data_sheet_that_is_none_is_refused_by_its_name(self):
        with pytest.raises(CatalogError, match=r"^Mine: datasheet_memory: 80 s is not in a unit of GB$"):
            Accelerator(datasheet_memory="80 s", **self.OTHER)
        with pytest.raises(CatalogError, match=r"^Mine: memory_capacity: Field required$"):
            Accelerator(**self.OTHER)


class TestDevicesOfAStack:
    STACK = '[Stacks.Ours]\nname = "Ours"\nsource = "https://example.org/s"\ndate = "2025-05"\nkind = "measured"\n'

    def test_are_those_of_ones_own_file_or_of_ours_and_may_be_left_out(self, load):
        own = load(CHIP + self.STACK + 'devices = ["Hardware.Mine.Chip", "Hardware.Cloud.H100"]\nefficiency = 0.5\n')
        assert [each.name for each in own.Stacks.Ours.devices] == ["My chip", Hardware.Cloud.H100.name]
        assert load(self.STACK + "efficiency = 0.5\n").Stacks.Ours.devices == ()

    def test_that_are_none_are_refused(self, load):
        with pytest.raises(
            CatalogError, match=r"Stacks.Ours: unknown devices 'Hardware.Cloud.H10'.*Hardware.Cloud.H100"
        ):
            load(self.STACK + 'devices = ["Hardware.Cloud.H10"]\n')
        with pytest.raises(CatalogError, match=r"Stacks.Ours: unknown devices 3"):
            load(self.STACK + "devices = [3]\n")


class TestChangedByHand:
    def test_other_values_keep_their_sources(self):
        ours = Hardware.Cloud.H100
        mine = ours.changed(name="Mine", memory_capacity="96 GB", peak_flops={"fp16": "800 TFLOP/s"})
        assert mine.memory_capacity.source == "changed by hand, was 81559 MiB"
        assert mine.memory_capacity.kind == "user"
        assert mine.peak_flops["fp16"].source.startswith("changed by hand, was ")
        assert mine.peak_flops["bf16"] == ours.peak_flops["bf16"]
        assert mine.memory_bandwidth == ours.memory_bandwidth
        assert ours.memory_capacity.text() == "81559 MiB"

    def test_a_value_that_stays_is_not_called_changed(self):
        ours = Hardware.Cloud.H100
        assert ours.changed(memory_capacity=ours.memory_capacity).memory_capacity == ours.memory_capacity

    def test_what_is_wrong_is_refused(self):
        with pytest.raises(UnknownNameError, match="did you mean memory_capacity"):
            Hardware.Cloud.H100.changed(memory_capacty="96 GB")
        with pytest.raises(CatalogError, match="96 GB/s is not in a unit of GB"):
            Hardware.Cloud.H100.changed(memory_capacity="96 GB/s")
