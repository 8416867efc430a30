"""Finding an entry: attributes, brackets, completion, suggestions."""

import copy
import pickle

import pytest

from mlsysim import Hardware, Models, Systems
from mlsysim.catalog import Accelerator, Catalog, Group, builtin
from mlsysim.errors import InputError, UnknownNameError


def test_attributes_and_brackets_give_the_same_object():
    assert Hardware.Cloud.H100 is Hardware["Cloud"]["H100"] is Hardware.Cloud["H100"] is Hardware["Cloud.H100"]
    assert Hardware.Cloud.H100 is builtin().entry("Hardware.Cloud.H100")


def test_entries_are_built_once():
    assert Models.Language.Llama3_8B is Models.Language.Llama3_8B


@pytest.mark.parametrize("group", [Hardware, Models, Systems, Hardware.Cloud, Models.Language, Systems.Clusters])
class TestEveryGroup:
    def test_dir_lists_its_names_and_nothing_else(self, group):
        assert dir(group) == sorted(group)

    def test_completion_in_brackets(self, group):
        assert group._ipython_key_completions_() == list(group)

    def test_every_name_can_be_had(self, group):
        assert len(group) == len(list(group)) > 0
        for name in group:
            assert name in group
            assert getattr(group, name) is not None

    def test_repr_shows_path_and_names(self, group):
        text = repr(group)
        assert text.startswith("<")
        assert all(name in text for name in group)

    def test_copies_and_pickles(self, group):
        assert list(copy.copy(group)) == list(group)
        assert list(pickle.loads(pickle.dumps(group))) == list(group)

    def test_dunder_probes_are_plain_attribute_errors(self, group):
        assert not hasattr(group, "__array__")
        assert not hasattr(group, "_repr_html_")


def test_names_stand_in_file_order():
    assert list(Hardware) == ["Cloud", "Workstation", "Edge"]
    assert list(Hardware.Cloud)[:3] == ["H100", "H200", "A100"]
    assert repr(Systems.Clusters).startswith("<Systems.Clusters: Research_256, ")
    assert repr(Hardware) == "<Hardware: Cloud, Workstation, Edge>"


def test_the_whole_catalog():
    catalog = builtin()
    assert isinstance(catalog, Catalog)
    assert isinstance(catalog.Hardware, Group)
    assert repr(catalog) == f"<catalog mlsysim: {len(catalog.paths())} entries>"
    assert set(catalog.paths()) == {
        *(
            f"{top}.{group}.{name}"
            for top in ("Hardware", "Models", "Systems")
            for group in getattr(catalog, top)
            for name in getattr(catalog, top)[group]
        ),
        *(f"{top}.{name}" for top in ("Stacks", "Recipes") for name in getattr(catalog, top)),
    }


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Hardware.Cloud.H101, "unknown entry of Hardware.Cloud 'H101': did you mean H100"),
        (lambda: Hardware.Cloud.h100, "unknown entry of Hardware.Cloud 'h100': did you mean H100?"),
        (lambda: Hardware.H100, "unknown entry of Hardware 'H100': did you mean Cloud.H100"),
        (lambda: Hardware.Clod, "unknown entry of Hardware 'Clod': did you mean Cloud"),
        (lambda: Models.Language.Lama3_8B, "unknown entry of Models.Language 'Lama3_8B': did you mean Llama3_8B"),
        (
            lambda: Models["Language.Lama3_8B"],
            "unknown entry of Models 'Language.Lama3_8B': did you mean Language.Llama3_8B",
        ),
        (
            lambda: Systems.Clusters.Research_255,
            "unknown entry of Systems.Clusters 'Research_255': did you mean Research_256?",
        ),
        (lambda: Hardware["Cloud"]["x"], "unknown entry of Hardware.Cloud 'x': known: H100, H200"),
        (lambda: Hardware[3], "unknown entry of Hardware 3: known: Cloud"),
        (lambda: Hardware[None], "unknown entry of Hardware None: known: Cloud"),
        (lambda: Hardware[["Cloud"]], "unknown entry of Hardware ['Cloud']: "),
        (
            lambda: builtin().entry("Hardware.Cloud.H101"),
            "unknown entry 'Hardware.Cloud.H101': did you mean Hardware.Cloud.H1",
        ),
    ],
)
def test_did_you_mean(ask, message):
    with pytest.raises(UnknownNameError) as caught:
        ask()
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, AttributeError)


class TestFind:
    @pytest.mark.parametrize("name", ["H100", "Cloud.H100", "Hardware.Cloud.H100"])
    def test_by_any_length_of_name(self, name):
        assert builtin().find("hardware", name) is Hardware.Cloud.H100

    @pytest.mark.parametrize(
        ("what", "name", "kind"),
        [
            ("hardware", "MI300X", "Accelerator"),
            ("model", "Llama3_8B", "TransformerWorkload"),
            ("model", "Mixtral_8x7B", "SparseTransformerWorkload"),
            ("fleet", "Research_256", "Fleet"),
            ("node", "DGX_H100", "Node"),
            ("fabric", "Ethernet_100G_TCP", "Fabric"),
            ("recipe", "torchtitan_issue_1624", "Recipe"),
        ],
    )
    def test_every_kind(self, what, name, kind):
        assert type(builtin().find(what, name)).__name__ == kind

    def test_only_whole_parts_of_the_name_count(self):
        with pytest.raises(UnknownNameError):
            builtin().find("hardware", "100")
        with pytest.raises(UnknownNameError):
            builtin().find("hardware", "oud.H100")

    def test_an_entry_of_another_kind_is_not_found(self):
        with pytest.raises(
            UnknownNameError, match=r"^unknown hardware 'Llama3_8B': known: H100, .*; it is an entry for model$"
        ):
            builtin().find("hardware", "Llama3_8B")

    def test_the_name_that_people_know_leads_to_the_key(self):
        with pytest.raises(UnknownNameError, match=r"^unknown stack 'LLM_Foundry': did you mean MPT_A100, MPT_H100\?"):
            builtin().find("stack", "LLM_Foundry")

    @pytest.mark.parametrize("name", ["", None, 3, "H999"])
    def test_what_is_not_there(self, name):
        with pytest.raises(UnknownNameError, match=r"^unknown hardware "):
            builtin().find("hardware", name)


def test_entries_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Hardware.Cloud.H100.name = "other"


def test_an_entry_lists_its_values():
    values = Hardware.Cloud.H100.values()
    assert set(values) >= {"memory_capacity", "memory_bandwidth", "peak_flops.fp16", "tdp"}
    assert values["peak_flops.fp16"] is Hardware.Cloud.H100.peak_flops["fp16"]
    assert str(values["tdp"]).startswith("700 W (datasheet: https://")


@pytest.mark.parametrize("path", builtin().paths())
def test_entries_can_be_members_of_sets_and_keys(path):
    entry = builtin().entry(path)
    again = pickle.loads(pickle.dumps(entry))
    assert {entry, again} == {entry}
    assert {entry: 1}[again] == 1


def test_entries_pickle():
    again = pickle.loads(pickle.dumps(Hardware.Cloud.H100))
    assert isinstance(again, Accelerator)
    assert again == Hardware.Cloud.H100


def test_a_file_that_is_none_of_the_kind_says_what_is_read(tmp_path):
    notes = tmp_path / "NOTES.md"
    notes.write_text("x")
    with pytest.raises(InputError) as refused:
        builtin().find("model", str(notes))
    assert "is a file, but its name does not end in .json; a model is read from a Hugging Face" in str(refused.value)
    with pytest.raises(UnknownNameError):
        builtin().find("model", str(tmp_path / "NO.md"))


@pytest.mark.parametrize("name", ["x" * 300, "x" * 5_000, "x/" * 3_000, "a\0b"], ids=len)
@pytest.mark.parametrize("what", ["model", "hardware", "traffic", "stack", "recipe"])
def test_a_name_that_no_file_can_have_is_unknown(what, name):
    with pytest.raises(UnknownNameError, match=f"unknown {what}"):
        builtin().find(what, name)
