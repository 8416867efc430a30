"""Failures of published runs and their storage: rates that follow from what was counted, and what is refused."""

import pytest

from mlsysim import Failures, Hardware, Storage, Systems, load_catalog
from mlsysim.errors import CatalogError

FAILURES = {name: Systems.Failures[name] for name in Systems.Failures}
STORAGES = {name: Systems.Storages[name] for name in Systems.Storages}
#: Causes of the unexpected interruptions of Llama 3 405B, as its table 5 counts them.
LLAMA3 = (148, 72, 54, 35, 32, 19, 17, 7, 7, 6, 6, 3, 3, 2, 2, 2, 2, 2)
#: Interruptions, nodes and days; or hours between those of a job of so many nodes.
COUNTED = {
    "Llama3_405B": sum(LLAMA3) / (2048 * 54), "ByteRobust_Dense": 175 / (9600 / 8 * 91),
    "ByteRobust_MoE": 125 / (9600 / 8 * 30), "MegaScale": 100 / (12288 / 8 * 21), "OPT_175B_Cloud": 2 / 124,
    "Meta_RSC1_A100_Jobs": 24 / (7.9 * 128), "FT_HSDP_98K": 24 * 60 / (18 * 98304 / 8),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_a_rate_is_what_was_counted(name):
    assert FAILURES[name].node_failure_rate.canonical * 86400 == pytest.approx(COUNTED[name], rel=3e-3)


@pytest.mark.parametrize("entry", FAILURES.values(), ids=FAILURES)
class TestEveryEntry:
    def test_is_a_rate_of_a_node_by_the_clock_on_the_wall(self, entry):
        assert isinstance(entry, Failures)
        assert 1e-3 < entry.node_failure_rate.canonical * 86400 < 0.03
        assert entry.word_of("failure_clock").value == "wall"

    def test_says_what_was_read_and_marks_what_others_quote(self, entry):
        secondary = entry.evidence == "secondary"
        assert (entry.node_failure_rate.kind == "reported") >= secondary
        for name, value in entry.values().items():
            if value.kind == "reported" and not secondary:
                assert value.note.startswith("Secondary: "), name

    def test_has_shares_between_zero_and_one(self, entry):
        for name in ("memory_survival", "restart_share"):
            value = entry.value_of(name, "bf16")
            assert value is None or 0 < value.value < 1


@pytest.mark.parametrize("entry", STORAGES.values(), ids=STORAGES)
def test_every_storage_has_a_bandwidth_for_all_of_it(entry):
    assert isinstance(entry, Storage)
    assert 1e9 < entry.storage_bandwidth.canonical < 1e13
    assert entry.peak_bandwidth is None or entry.peak_bandwidth.canonical > entry.storage_bandwidth.canonical


def test_storage_follows_from_the_time_of_a_save():
    assert STORAGES["ByteCheckpoint_HDFS"].storage_bandwidth.canonical == pytest.approx(405e9 * 14 / 51.06, rel=3e-3)
    assert STORAGES["Jean_Zay_GPFS"].storage_bandwidth.canonical == pytest.approx(176.25e9 * 14 / 40, rel=6e-3)


def test_a_fleet_copies_to_its_hosts_as_fast_as_its_device():
    fleet = Systems.Clusters.Llama3_16K
    assert fleet.value_of("host_copy_bandwidth", "bf16") is Hardware.Cloud.H100.host_copy_bandwidth
    assert Hardware.Cloud.A100.host_copy_bandwidth.canonical == 32e9


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"node_failure_rate": "3 day"}, "node_failure_rate: 3 d is not in a unit of 1/day"),
        ({"node_failure_rate": -1}, "node_failure_rate: -1 is negative"),
        ({"node_failure_rate": 1, "detection_time": "1 GB"}, "detection_time: 1 GB is not in a unit of s"),
        ({"node_failure_rate": 1, "evidence": "hearsay"}, "evidence: Input should be 'full text', 'quotation'"),
        ({}, "node_failure_rate: Field required"),
    ],
)
def test_what_is_refused(fields, message):
    with pytest.raises(CatalogError) as refused:
        Failures(name="bad", **{"evidence": "full text", **fields})
    assert message in str(refused.value)


OWN = """
[Systems.Failures.Ours]
name = "Our cluster"
evidence = "full text"
source = "own measurement"
date = "2026-11"
kind = "measured"
node_failure_rate = "2e-3 1/day"
failure_clock = { value = "running" }
repair_time = "3 day"

[Systems.Storages.Ours]
name = "Our file system"
source = "own measurement"
date = "2026-11"
kind = "measured"
storage_bandwidth = "300 GB/s"
"""


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "ours.toml"
    file.write_text(OWN, encoding="utf-8")
    ours = load_catalog(file)
    entry = ours.find("failures", "Ours")
    assert entry.word_of("failure_clock").value == "running"
    assert entry.value_of("repair_time", "bf16").canonical == 3 * 86400
    assert ours.find("storage", "Ours").storage_bandwidth.canonical == 3e11
