"""What one solved point says about itself."""

import copy
import json
import math
import pickle
from html.parser import HTMLParser

import pytest

from mlsysim import (
    Q_,
    DistributedModel,
    Example,
    Formula,
    MoERoutingModel,
    PerformanceModel,
    ServingCapacityModel,
    Source,
    TrainingMemoryModel,
    variable,
)
from mlsysim.errors import UnknownNameError
from mlsysim.references import bibliography

RESULTS = {
    "memory": TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8, dp_size=8, zero_stage=2),
    "capacity": ServingCapacityModel().solve("Llama3_8B", "H100", qps=20, target_p99_latency_ms=4000),
    "too big": ServingCapacityModel().solve("GPT3_175B", "H100", qps=20, target_p99_latency_ms=4000),
    "routing": MoERoutingModel().solve("Mixtral_8x7B", "Research_256", batch_size=4, ep_size=8),
    "no fleet": MoERoutingModel().solve("Mixtral_8x7B", batch_size=4, ep_size=8),
}
EVERY = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
MEMORY, CAPACITY, TOO_BIG = RESULTS["memory"], RESULTS["capacity"], RESULTS["too big"]


class TestNames:
    """What there is, by name, as of a dictionary."""

    @EVERY
    def test_iteration_is_over_outputs(self, result):
        assert list(result) == list(result.keys()) == list(result.outputs)
        assert {name: str(value) for name, value in dict(result).items()} == {
            name: str(value) for name, value in result.outputs.items()
        }

    @EVERY
    def test_what_it_contains_can_be_asked(self, result):
        for name in [*result, *result.inputs]:
            assert name in result
            assert result[name] is not None

    def test_what_has_an_index_is_contained(self):
        step = DistributedModel.solve_example()
        assert "group_time" in step
        assert step["group_time"]["tp"] == step.tp_time

    @pytest.mark.parametrize("name", ["steptime", "model", "notes", 0, None, ["weights"]])
    def test_what_it_has_not_is_not_contained(self, name):
        assert name not in MEMORY
        with pytest.raises(UnknownNameError):
            MEMORY[name]

    def test_what_was_left_out_is_not_contained(self):
        result = RESULTS["no fleet"]
        lost = [name for name in result.model.headline if name not in result]
        assert lost
        assert not set(lost) & set(result)


class TestKinds:
    """A quantity where there is a unit, a bare number where the name says it, a truth value, a label."""

    def test_quantities(self):
        assert MEMORY.weights.to("byte").magnitude == pytest.approx(16.06e9, rel=1e-15)
        assert f"{MEMORY.total_memory:~.2f}" == "32.90 GB"
        assert f"{MEMORY.weights.units:~}" == "GB"
        assert CAPACITY.ttft.check("[time]")
        assert CAPACITY.kv_bytes_per_token.check("[information] / [token]")

    def test_counts_are_whole_numbers(self):
        assert type(CAPACITY.required_replicas) is int
        assert type(MEMORY.local_micro_batch) is int
        assert MEMORY.layers_per_stage == 32

    def test_whole_quantities_have_whole_magnitudes(self):
        assert Q_(32, "request") == CAPACITY.active_batch_size
        assert type(CAPACITY.active_batch_size.magnitude) is int

    def test_shares_are_floats(self):
        assert type(MEMORY.memory_utilization) is float
        assert type(CAPACITY.utilization) is float

    def test_named_units_are_bare_floats(self):
        assert type(CAPACITY.qps_capacity) is float
        assert type(CAPACITY.qps) is float
        assert CAPACITY.target_p99_latency_ms == 4000.0

    def test_truth_values(self):
        assert MEMORY.feasible is True
        assert TOO_BIG.feasible is False

    def test_labels(self):
        assert CAPACITY.bottleneck == "Feasible"
        assert MEMORY.precision == "fp16"
        assert MEMORY.activation_checkpointing == "selective"

    def test_an_infinite_count_is_a_float(self):
        assert TOO_BIG.required_replicas == math.inf
        assert Q_(math.inf, "ms") == TOO_BIG.estimated_p99_latency


@EVERY
class TestEveryResult:
    def test_inputs_intermediates_and_outputs_are_attributes(self, result):
        names = [*result.inputs, *result.outputs]
        assert len(set(names)) == len(names)
        for name in names:
            assert getattr(result, name) is not None
            assert result[name] == getattr(result, name)

    def test_inputs_and_outputs_are_those_of_the_formulas(self, result):
        computed = {v.name for v in result.model.outputs}
        assert set(result.outputs) <= computed
        assert not set(result.inputs) & computed

    def test_headline_outputs_come_first(self, result):
        heads = [name for name in result.model.headline if name in result.outputs]
        assert list(result.outputs)[: len(heads)] == heads

    def test_dir_lists_them(self, result):
        assert {*result.inputs, *result.outputs, "explain", "to_dict", "inputs", "outputs"} <= set(dir(result))

    def test_every_output_is_what_its_formula_says(self, result):
        """Shown value times unit is the canonical value the compiled function returned."""
        for variable_ in result.model.outputs:
            if variable_.name in result.outputs and variable_.domain.kind in ("real", "integer"):
                shown = result[variable_.name]
                amount = shown.to_base_units().magnitude if hasattr(shown, "magnitude") else shown
                if variable_.named_unit:
                    amount = Q_(shown, variable_.unit).to_base_units().magnitude
                assert amount == pytest.approx(result.canonical(variable_.name), rel=1e-15)

    def test_dictionary_and_json_agree(self, result):
        found = json.loads(result.to_json())
        for values in (found["inputs"], found["outputs"]):
            for entry in values.values():
                if entry.pop("infinite", "") == "positive":
                    assert entry["value"] is None
                    entry["value"] = math.inf
        assert found == result.to_dict()
        assert json.loads(result.to_json(indent=None)) == json.loads(result.to_json())
        assert "\n" not in result.to_json(indent=None)

    def test_the_dictionary_gives_every_value_with_its_unit(self, result):
        found = result.to_dict()
        assert (found["model"], found["variant"]) == (type(result.model).__name__, "first_order")
        assert list(found["inputs"]) == list(result.inputs)
        assert list(found["outputs"]) == list(result.outputs)
        for name, entry in {**found["inputs"], **found["outputs"]}.items():
            value = entry["value"]
            expected = result[name]
            if hasattr(expected, "magnitude"):
                assert Q_(value, entry["unit"]) == expected
            else:
                assert value == expected

    def test_the_dictionary_gives_every_source(self, result):
        for name, entry in result.to_dict()["inputs"].items():
            assert entry["source"] == result.source(name)

    def test_json_is_strict(self, result):
        def refuse(text):
            raise AssertionError(f"{text} is not JSON")

        json.loads(result.to_json(), parse_constant=refuse)

    def test_references_are_works_of_the_bibliography_each_once(self, result):
        keys = [work.key for work in result.references()]
        assert len(set(keys)) == len(keys)
        assert {key for key in keys if not key.startswith("https://")} <= set(bibliography())
        assert all(work.link() for work in result.references() if work.key.startswith("https://"))
        assert {formula.source.key for formula in result.model.formulas if formula.name in result.outputs} <= set(keys)

    def test_repr_shows_the_headline(self, result):
        lines = repr(result).splitlines()
        assert lines[0] == f"<Result of {type(result.model).__name__}(variant='first_order')>"
        told = [line.split()[0] for line in lines[1:] if not line.startswith("  Note: ")]
        assert told == [n for n in result.model.headline if n in result.outputs]
        assert [line[8:] for line in lines[1 + len(told) :]] == [n for n in result.notes if n != result.obstacle]

    def test_latex_has_one_line_per_formula_with_its_value(self, result):
        lines = result.latex().splitlines()
        assert (lines[0], lines[-1]) == (r"\begin{align*}", r"\end{align*}")
        assert len(lines) - 2 == len(result.outputs)
        for line in lines[1:-1]:
            assert " &= " in line
            assert r" = \text{" in line
            assert line.count("{") == line.count("}")

    def test_html_is_well_formed_and_names_every_output(self, result):
        parser = Balanced()
        parser.feed(result._repr_html_())
        assert parser.open == []
        for name in result.outputs:
            assert name in parser.text
        assert f"{type(result.model).__name__}(variant='first_order')" in parser.text

    def test_copies_and_pickles_are_the_same(self, result):
        assert copy.deepcopy(result).to_dict() == result.to_dict()
        assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()

    def test_an_unknown_name_is_refused(self, result):
        with pytest.raises(UnknownNameError, match=f"^unknown output of {type(result.model).__name__} 'nonsense': "):
            _ = result.nonsense
        with pytest.raises(UnknownNameError, match=f"^unknown output of {type(result.model).__name__} 3: "):
            result[3]
        with pytest.raises(UnknownNameError, match=r"^unknown input 'nonsense': "):
            result.source("nonsense")


class Balanced(HTMLParser):
    """Collects text and checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_headline_of_the_memory_model_in_full():
    assert repr(MEMORY) == (
        "<Result of TrainingMemoryModel(variant='first_order')>\n"
        "  weights                      16.06 GB\n"
        "  gradients                    2.01 GB\n"
        "  optimizer_state              12.04 GB\n"
        "  activations                  2.68 GB\n"
        "  communication_buffers        0.100 GB\n"
        "  total_memory                 32.90 GB\n"
        "  memory_utilization           0.385\n"
        "  feasible                     True\n"
        "  Note: per_operator, the measured variant: 42.86 GB, fits"
    )


def test_an_infinity_is_one_in_plain_data_and_said_in_json():
    plain, found = TOO_BIG.to_dict()["outputs"], json.loads(TOO_BIG.to_json())["outputs"]
    for name, unit in {"required_replicas": "", "estimated_p99_latency": "ms", "utilization": ""}.items():
        assert plain[name] == {"value": math.inf, "unit": unit}
        assert found[name] == {"value": None, "infinite": "positive", "unit": unit}
    assert found["qps_capacity"] == plain["qps_capacity"] == {"value": 0.0, "unit": "QPS"}
    assert found["bottleneck"] == {"value": "Memory"}
    assert found["feasible"] == {"value": False}


def test_sources_of_inputs():
    assert MEMORY.source("batch_size") == "given"
    assert MEMORY.source("seq_len") == "default"
    assert MEMORY.source("layers") == "32 (paper: grattafiori2024, 2024-07)"
    assert MEMORY.source("memory_capacity").startswith("81559 MiB (reported: https://")


def test_references_include_the_papers_of_the_catalog_values():
    assert "grattafiori2024" in {work.key for work in MEMORY.references()}
    assert "brown2020" in {work.key for work in TOO_BIG.references()}
    assert all(work.text().startswith(work.authors) for work in MEMORY.references())


def test_a_mistyped_attribute_is_suggested():
    with pytest.raises(UnknownNameError) as caught:
        _ = MEMORY.wieghts
    assert str(caught.value) == "unknown output of TrainingMemoryModel 'wieghts': did you mean weights?"


def test_private_names_are_plain_attribute_errors():
    with pytest.raises(AttributeError, match=r"^_ipython_display_$"):
        _ = MEMORY._ipython_display_


class TestWithoutAFleet:
    result = RESULTS["no fleet"]

    def test_the_latency_is_absent(self):
        assert not {"all_to_all_latency", "link_bandwidth"} & {*self.result.outputs, *self.result.to_dict()["outputs"]}
        assert "all_to_all_latency" not in dir(self.result)
        assert not hasattr(self.result, "all_to_all_latency")

    def test_the_rest_is_as_with_one(self):
        full = RESULTS["routing"].outputs
        assert self.result.outputs == {name: value for name, value in full.items() if name in self.result.outputs}
        assert set(full) - set(self.result.outputs) == {"all_to_all_latency", "link_bandwidth"}

    def test_asking_for_it_names_the_fleet(self):
        with pytest.raises(UnknownNameError) as caught:
            _ = self.result.all_to_all_latency
        assert str(caught.value).startswith(
            "unknown output of this MoERoutingModel result (it needs fleet=...) 'all_to_all_latency': "
        )

    def test_it_names_only_the_fleet_when_nothing_comes_from_the_catalog(self):
        bare = MoERoutingModel().solve(
            active_parameters=1e9, hidden_dim=64, experts=8, active_experts_per_token=2, batch_size=1
        )
        with pytest.raises(UnknownNameError, match=r"\(it needs fleet=\.\.\.\) 'all_to_all_latency'"):
            _ = bare.all_to_all_latency

    def test_bandwidth_and_latency_by_hand_are_as_good_as_a_fleet(self):
        found = MoERoutingModel().solve(
            "Mixtral_8x7B", batch_size=4, ep_size=8, fabric_bandwidth="100 Gbit/s", fabric_latency="50 us"
        )
        assert found.all_to_all_latency == RESULTS["routing"].all_to_all_latency
        assert found.source("oversubscription") == "default"

    def test_half_a_fabric_is_not_enough(self):
        found = MoERoutingModel().solve("Mixtral_8x7B", batch_size=4, ep_size=8, fabric_bandwidth="100 Gbit/s")
        assert Q_(12.5, "GB/s") == found.link_bandwidth
        assert not hasattr(found, "all_to_all_latency")


depth = variable("pool_depth", "D", "meter", 'Depth of the <b>pool</b> & its "lid".')
volume = variable("pool_volume", "V", "meter**3", "Volume of a cubic pool, 10 % spare.")
share = variable("half_share", "x", "count", "Half of it.")


class PoolModel(PerformanceModel):
    """How much water a cubic pool holds."""

    variants = {
        "first_order": (
            Formula(
                volume,
                depth**3,
                "Cube <of depth>",
                Source("kaplan2020"),
                example=Example({depth: 2}, "8 meter**3", Source("kaplan2020")),
            ),
            Formula(share, depth / depth / 2, "Half", Source("kaplan2020"), no_example="a half is a half"),
        ),
        "hollow": (
            Formula(volume, depth**3 / 2, "Half a cube", Source("kaplan2020"), no_example="half of the other"),
            Formula(share, depth / depth / 2, "Half", Source("kaplan2020"), no_example="a half is a half"),
        ),
    }
    keywords = ("pool_depth",)
    headline = ("pool_volume",)


class TestAModelOfOnesOwn:
    def test_solves(self):
        assert Q_(8, "meter**3") == PoolModel().solve(pool_depth=2).pool_volume

    def test_its_variants_swap(self):
        assert Q_(4, "meter**3") == PoolModel("hollow").solve(pool_depth=2).pool_volume
        assert PoolModel(variant="hollow").solve(pool_depth=2).to_dict()["variant"] == "hollow"

    def test_the_first_variant_declared_is_the_default(self):
        assert PoolModel().variant == PoolModel(None).variant == "first_order"

    def test_its_words_are_escaped_in_html(self):
        text = PoolModel().solve(pool_depth=2)._repr_html_()
        assert "<b>" not in text
        assert "PoolModel(variant=&#x27;first_order&#x27;)" in text

    def test_escaping_covers_descriptions(self):
        odd = variable("pool_lid", "l", "meter", 'The <i>lid</i> & "rim".')
        lid = Formula(odd, depth / 2, "Lid", Source("kaplan2020"), no_example="none")

        class LidModel(PerformanceModel):
            """Lids."""

            variants = {"first_order": (lid,)}
            keywords = ("pool_depth",)
            headline = ("pool_lid",)

        text = LidModel().solve(pool_depth=2)._repr_html_()
        assert "The &lt;i&gt;lid&lt;/i&gt; &amp; &quot;rim&quot;." in text
        assert "<i>" not in text

    def test_an_unknown_variant_is_refused(self):
        with pytest.raises(UnknownNameError) as caught:
            PoolModel("holow")
        assert str(caught.value) == "unknown variant of PoolModel 'holow': did you mean hollow?"


@pytest.mark.parametrize("variant", ["second_order", "", 1, ["first_order"]])
@pytest.mark.parametrize("model", [TrainingMemoryModel, ServingCapacityModel, MoERoutingModel])
def test_an_unknown_variant_names_the_ones_there_are(model, variant):
    with pytest.raises(UnknownNameError, match=f"^unknown variant of {model.__name__} .*first_order"):
        model(variant)


def test_a_notebook_shows_the_question_the_headline_with_bars_and_what_went_in():
    found = TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8, dp_size=8, zero_stage=2)
    page = found._repr_html_()
    head, _, rest = page.partition(" values on the way</summary>")
    assert "Does this training run fit on one accelerator?" in head
    assert head.count("role='img'") == 5
    share = found.canonical("weights") / found.canonical("total_memory")
    assert f"aria-label='{100 * share:.0f}%'" in head
    assert "<summary>Given</summary>batch_size=8, zero_stage=2, dp_size=8</details>" in head
    assert "optimizer=adam" in head
    assert "<code>parameters_per_rank</code>" in rest
    assert "<code>parameters_per_rank</code>" not in head
