import json

import pytest
from fuzz import rest_long

from mlsysim.catalog import builtin

OWN = """
[Systems.Fabrics.Fast]
name = "Fast fabric"
description = "For tests."
source = "https://example.org/fast"
date = "2025-02-03"
kind = "measured"
bandwidth = { value = 200, unit = "GB/s", kind = "calibrated", calibrated_on = "one run" }
latency = { value = 5, unit = "µs", note = "Ping." }
oversubscription = 1

[Systems.Clusters.Small]
name = "Small cluster"
source = "https://example.org/small"
date = "2025-02"
kind = "assumed"
node = "Systems.Nodes.DGX_H100"
count = 2
fabric = "Systems.Fabrics.Fast"
"""


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(OWN, encoding="utf-8")
    return str(file)


def test_every_entry_is_listed(run):
    lines = run("catalog").stdout.splitlines()
    assert lines[0].split() == ["Entry", "Type", "Name"]
    assert [line.split()[:2] for line in lines[1:]] == [
        [path, builtin().entry(path).what] for path in builtin().paths()
    ]


def test_a_branch_lists_what_is_in_it(run):
    listed = json.loads(run("catalog", "Hardware.Cloud", "--json").stdout)
    assert [row["path"] for row in listed] == [p for p in builtin().paths() if p.startswith("Hardware.Cloud.")]
    assert listed[0] == {"path": "Hardware.Cloud.H100", "type": "hardware", "name": "NVIDIA H100 SXM5 80 GB"}


@pytest.mark.parametrize("path", rest_long(builtin().paths(), quick=40))
def test_an_entry_has_every_value_with_its_provenance(run, path):
    entry = builtin().entry(path)
    text = run("catalog", path).stdout
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == [path, *entry.name.split()]
    for field, value in entry.values().items():
        row = next(line for line in lines if line and line[0] == field)
        unit = value.unit.split()
        if field in entry.flags:
            assert row[1] == ("yes" if value.value else "no")
        elif isinstance(value.value, str):
            assert row[1] == value.value
        else:
            assert float(row[1]) == value.value
        assert row[2 : 2 + len(unit)] == unit
        assert row[2 + len(unit) : -1] == [value.kind, value.date]
        assert "".join(value.note.split()) in "".join(text.split())
        if value.kind == "calibrated":
            said = f"{field}: Calibrated on {value.calibrated_on}. {value.note}"
            assert "".join(said.split()) in "".join(text.split())


def test_an_entry_is_found_by_its_last_names_and_its_source_is_spelled_out(run):
    full = run("catalog", "Models.Language.Llama3_8B").stdout
    assert run("catalog", "Llama3_8B").stdout == run("catalog", "Language.Llama3_8B").stdout == full
    assert "[1] https://huggingface.co/meta-llama/Meta-Llama-3-8B\n" in full
    assert "The Llama 3 Herd of Models" in full


def test_json_of_an_entry_is_the_whole_entry(run):
    entry = json.loads(run("catalog", "Research_256", "--json").stdout)
    assert entry["path"] == "Systems.Clusters.Research_256"
    assert entry["node"]["accelerator"]["memory_capacity"] == builtin().entry(
        "Hardware.Cloud.H100"
    ).memory_capacity.model_dump(mode="json")


def test_own_entries_come_first_with_the_values_of_their_parts(run, own):
    assert run("catalog", "--catalog", own).stdout.splitlines()[1].split()[0] == "Systems.Fabrics.Fast"
    card = run("catalog", "Small", "--catalog", own).stdout
    assert "fabric.bandwidth" in card
    assert "200 GB/s" in card
    assert "node.accelerator.memory_capacity" in card
    assert "  fabric.latency: Ping.\n" in card
    assert "  fabric.bandwidth: Calibrated on one run.\n" in card
    assert "https://example.org/fast" in card


def test_an_own_entry_hides_the_built_in_one_of_the_same_name(run, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(OWN.replace("Fabrics.Fast", "Fabrics.Ethernet_100G_TCP"), encoding="utf-8")
    assert "Fast fabric" not in run("catalog", "Ethernet_100G_TCP").stdout
    assert "Fast fabric" in run("catalog", "Ethernet_100G_TCP", "--catalog", str(file)).stdout
    assert run("catalog", "--catalog", str(file)).stdout.count("Systems.Fabrics.Ethernet_100G_TCP") == 1


def test_an_unknown_name_gets_a_suggestion(run, own):
    done = run("catalog", "H10")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: unknown catalog entry 'H10': did you mean H100")
    assert "did you mean Small, " in run("catalog", "Smal", "--catalog", own).stderr


def test_an_engine_has_its_variant_and_a_stack_its_engine(run):
    card = run("catalog", "SGLang").stdout
    assert "\nvariant  colocated  derived" in card
    assert "--enable-mixed-chunk" in card
    card = run("catalog", "TensorRT_LLM_H100").stdout
    assert "\nA version of TensorRT-LLM.\nOn H100, H200.\n" in card
    assert "engine." not in card
