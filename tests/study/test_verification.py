"""Saved certificates hold, and no longer do once anything in them, or what they were made of, is changed."""

import json
import math

import numpy as np
import pytest
import sympy
from fuzz import rest_long
from study.search_cases import FAMILIES, random_problem, searches
from study.tampering import BAD, as_text, every_part_but_digests, put, put_tree, tree_of, written_after

import mlsysim
from mlsysim import Q_, Hardware, TrainingMemoryModel, derived, linked, load_catalog, verify
from mlsysim.bounds import Search
from mlsysim.bounds.branch_tree import BOUND, EVALUATED, OPEN, leaves
from mlsysim.errors import CertificateError, InputError, UnknownNameError
from mlsysim.study import search as module
from mlsysim.study.proofs import verification
from mlsysim.symbolic import variable_of

MEMORY = TrainingMemoryModel("per_operator")
ASKED = {
    "model": "Llama3_70B", "hardware": "H100", "precision": "bf16", "minimize": "tp_size * pp_size * dp_size",
    "subject_to": ["total_memory <= 0.9 * memory_capacity", "batch_size * seq_len >= 262144"], "method": "bounds",
    "tp_size": [1, 2, 4, 8], "zero_stage": [0, 1, 2, 3], "pp_size": range(1, 41), "dp_size": range(1, 65),
    "batch_size": range(1, 129), "seq_len": [1024, 2048, 4096, 8192],
    "activation_checkpointing": ["none", "selective", "full"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def by_bounds(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", -1.0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "best.json"
    previous, module.AT_ONCE = module.AT_ONCE, -1.0
    try:
        found = MEMORY.search(**ASKED, certificate=path)
    finally:
        module.AT_ONCE = previous
    return path, found


@pytest.fixture
def changed(saved, tmp_path):
    """Writes the certificate after a change, and gives its path."""

    return lambda change: written_after(change, saved[0], tmp_path / "changed.json")


def test_a_certificate_holds(saved):
    path, found = saved
    shown = verify(path)
    assert shown.complete
    assert shown.points == found.certificate.points
    assert shown.designs == 1
    assert str(shown).startswith(f"{path} holds")
    content = json.loads(path.read_text())
    assert content["certificate"]["proven"]
    assert content["designs"][0]["arguments"]["activation_checkpointing"] == found.best.activation_checkpointing
    assert shown.to_dict()["boxes"] == shown.boxes
    boxes = content["boxes"]
    assert boxes["open"] == 0
    assert sum(shown.boxes.values()) >= boxes["bound"] + boxes["infeasible"] > 0


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(("how", "conditions"), [({}, ["feasible"]), ({"allow_infeasible": True}, [])])
def test_that_designs_are_feasible_is_a_condition_of_the_file(tmp_path, how, conditions):
    asked = {name: value for name, value in ASKED.items() if name != "subject_to"}
    path = tmp_path / "best.json"
    found = MEMORY.search(**asked, **how, certificate=path)
    assert found.best.feasible is bool(conditions)
    content = json.loads(path.read_text())
    assert content["question"]["subject_to"] == conditions
    assert verify(path).complete
    content["question"]["subject_to"] = [] if conditions else ["feasible"]
    path.write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="feasible is"):
        verify(path)


def test_what_text_cannot_say_is_refused(tmp_path):
    given = ASKED | {"minimize": sympy.Max(variable_of("weights").symbol, 3 * variable_of("activations").symbol)}
    with pytest.raises(InputError, match="a certificate holds texts"):
        MEMORY.search(**given, certificate=tmp_path / "best.json")


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("/dev/null", "must be the path of a file"),
        ("/proc/best.json", "cannot be written"),
        ("best\0.json", "cannot be written"),
        ("b" * 300 + ".json", "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_search(named, why, monkeypatch):
    def searched(*_, **__):
        raise AssertionError("it searches")

    monkeypatch.setattr(module._SearchRun, "best", searched)
    with pytest.raises(InputError, match=why):
        MEMORY.search(**ASKED, certificate=named)


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("seed", rest_long([*range(0, len(FAMILIES), 4)], quick=2))
@pytest.mark.parametrize("top", [1, 5])
def test_every_model(seed, top, monkeypatch, tmp_path):
    monkeypatch.setattr(Search, "LEAF", 512 if searches(seed) else 64)
    asked = random_problem(seed, 1_500 if searches(seed) else 20_000)
    ((expression, sign),) = asked.objectives
    goal = {"minimize" if sign > 0 else "maximize": as_text(expression.sympy)}
    texts = [as_text(constraint.sympy) for constraint in asked.constraints]
    asked.model.search(
        **asked.typed, **goal, subject_to=texts, method="bounds", top=top, certificate=tmp_path / "best.json"
    )
    assert verify(tmp_path / "best.json").complete


def better(content):
    content["designs"][0]["objectives"][ASKED["minimize"]]["value"] = 8


def elsewhere(content):
    content["designs"][0]["place"][0] += 1


def other_place(content):
    """The design that is next on an axis, with its own numbers, which is worse."""
    design = content["designs"][0]
    axes = list(content["axes"])
    design["place"][axes.index("dp_size")] += 1
    design["arguments"]["dp_size"] += 1
    sizes = [design["arguments"][name] for name in ("tp_size", "pp_size", "dp_size")]
    design["objectives"][ASKED["minimize"]]["value"] = math.prod(sizes)
    content["certificate"]["bound"] = float(math.prod(sizes))


def box_missing(content):
    put_tree(content, tree_of(content)[:-1])


def evaluated_dropped(content):
    """The box that holds the design is said to be ruled out, and the design is another one."""
    tree = bytearray(tree_of(content))
    place = np.array(content["designs"][0]["place"])
    low, high, _ = leaves(bytes(tree), tuple(content["axes"].values()))
    number = np.flatnonzero(((low <= place[:, None]) & (high >= place[:, None])).all(axis=0))[0]
    leaf = [at for at, code in enumerate(tree) if code >= OPEN][number]
    assert tree[leaf] == EVALUATED
    tree[leaf] = BOUND
    put_tree(content, tree)
    content["boxes"]["evaluated"] -= 1
    content["boxes"]["bound"] += 1
    other_place(content)


def deeper(content):
    put_tree(content, [len(content["axes"]), *tree_of(content)])


def count(content):
    content["boxes"]["bound"] += 1


def bound(content):
    content["certificate"]["bound"] *= 0.9


def proven(content):
    content["certificate"]["proven"] = False
    content["certificate"]["gap"] = 0.1


def accepted(content):
    content["certificate"]["accepted"][1] -= 1


def formulas(content):
    content["fingerprint"]["formulas"]["total_memory"] = "0" * 24


def inputs(content):
    content["fingerprint"]["inputs"]["memory_capacity"] *= 2


def question(content):
    content["question"]["subject_to"][0] = "total_memory <= 0.8 * memory_capacity"


def axis(content):
    content["question"]["arguments"]["dp_size"] = {"range": [1, 66, 1]}


def unknown(content):
    content["question"]["arguments"]["hardware"] = "H999"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (better, "design 1: tp_size * pp_size * dp_size is "),
        (elsewhere, "design 1: tp_size is "),
        (other_place, "designs: tp_size * pp_size * dp_size is "),
        (box_missing, "boxes: the tree ends after "),
        (evaluated_dropped, "designs: tp_size * pp_size * dp_size is "),
        (deeper, "boxes: node 0 of the tree halves a box along axis 7"),
        (count, "boxes are said to be bound"),
        (bound, "certificate: the bound is "),
        (proven, "certificate: the gap is 0.1, and 0.0"),
        (accepted, "certificate: accepted is "),
        (formulas, "formulas: total_memory is another than in the search"),
        (inputs, "inputs: memory_capacity is another than in the search: 1.71042e+11 there, 8.55208e+10"),
        (question, "conditions: total_memory <= 0.8 * memory_capacity is new since"),
        (axis, "axes: the question has "),
        (unknown, "question: unknown hardware 'H999'"),
        (lambda content: content.pop("designs"), "designs: is missing"),
        (lambda content: content["designs"][0].pop("place"), "designs[0].place: is missing"),
        (lambda content: content["designs"][0].update(place=[99] * 7), "design 1: place "),
        (lambda content: content["boxes"].update(tree="+++"), "boxes: "),
        (lambda content: content["designs"].append(content["designs"][0]), "designs: there are 2, and 1"),
        (lambda content: content["question"].update(model="ServingModel"), "unknown model of the certificate"),
        (lambda content: content["question"].update(variant="no_such"), "question: "),
    ],
)
def test_what_was_changed_is_named(change, said, changed):
    with pytest.raises((CertificateError, UnknownNameError)) as caught:
        verify(changed(change))
    assert said in str(caught.value)


def test_a_certificate_of_another_version_is_called_so(changed):
    with pytest.raises(InputError, match="is 'mlsysim certificate 0', of another version than 'mlsysim certificate 3'"):
        verify(changed(lambda content: content.update(format="mlsysim certificate 0")))


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("name", rest_long(BAD, quick=2))
def test_whatever_stands_in_its_place_is_refused_or_taken_on_trust(name, saved, changed):
    """On trust is what the page says: version, seconds, boxes, points evaluated and undefined; and weaker claims."""
    content = json.loads(saved[0].read_text())
    held = set()
    for way in every_part_but_digests(content):
        put(copied := json.loads(saved[0].read_text()), way, BAD[name])
        if copied == content:
            continue
        try:
            verify(changed(lambda content, way=way: put(content, way, BAD[name])))
        except (CertificateError, InputError, UnknownNameError):
            continue
        held.add(".".join(map(str, way)))
    trusted = {"mlsysim", *(f"certificate.{name}" for name in ("seconds", "boxes", "evaluated", "undefined", "first"))}
    assert held <= trusted


def test_the_order_unit_and_method_are_those_of_the_search(changed):
    def unit(content):
        content["designs"][0]["objectives"]["tp_size * pp_size * dp_size"]["unit"] = "GB"

    for change, said in (
        (unit, "is in '', and in 'GB' in the file"),
        (lambda content: content["certificate"].update(method="dense"), "boxes: the search is said to be by dense"),
        (lambda content: content.update(boxes=None), "boxes: the search is said to be by bounds"),
    ):
        with pytest.raises(CertificateError, match=said):
            verify(changed(change))


@pytest.mark.parametrize("text", ["", "garbage", "[1, 2]", "{}", '{"format": 1}', "[" * 100_000])
def test_what_is_no_certificate(text, tmp_path):
    path = tmp_path / "any.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is no certificate of mlsysim"):
        verify(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        verify(tmp_path / "none.json")


def test_arguments_of_every_kind(tmp_path):
    path = tmp_path / "best.json"
    MEMORY.search(
        model="Llama3_8B",
        hardware=[Hardware.Cloud.A100, Hardware.Cloud.H100],
        layout=linked(tp_size=np.array([1, 2, 4]), pp_size=[4, 2, 1]),
        dp_size=derived("16 / (tp_size * pp_size)"),
        batch_size=[8, 16, 32],
        memory_capacity=Q_([40.0, 80.0], "GB"),
        seq_len=(1024, 4096),
        minimize="total_memory / memory_capacity",
        certificate=path,
    )
    assert verify(path).complete


OWN = """
[Hardware.Own.Mine]
name = "My chip"
source = "own measurement"
date = "2026-01"
kind = "assumed"
memory_capacity = "%d GB"
memory_bandwidth = "2 TB/s"
tdp = "300 W"
[Hardware.Own.Mine.peak_flops]
bf16 = "400 TFLOP/s"
"""


@pytest.mark.long
def test_an_entry_of_ones_own_is_looked_up_in_ones_own_catalog(tmp_path):
    path, catalogs = tmp_path / "best.json", []
    for number, size in enumerate((80, 96)):
        file = tmp_path / f"own{number}.toml"
        file.write_text(OWN % size)
        catalogs.append(load_catalog(file))
    MEMORY.search(**{**ASKED, "hardware": catalogs[0].find("hardware", "Mine")}, certificate=path)
    assert verify(path, catalog=catalogs[0]).complete
    with pytest.raises(CertificateError, match=r"inputs: memory_capacity is another than .*: 8e\+10 there, 9.6e\+10"):
        verify(path, catalog=catalogs[1])
    with pytest.raises(CertificateError, match="question: unknown hardware 'Mine'"):
        verify(path)


def test_a_search_cut_short_has_boxes_that_are_open(saved, tmp_path, monkeypatch):
    """A fifth of the operations that the proof takes leaves a gap, which holds; a smaller one does not."""
    path = tmp_path / "best.json"
    monkeypatch.setattr(module, "BOUNDS_SHARE", 1e-9)
    rounds = iter(range(6))
    whole = Search._round

    def few(self, *args):
        if next(rounds, None) is None:
            self._budget.narrow(-math.inf)
        whole(self, *args)

    monkeypatch.setattr(Search, "_round", few)
    found = MEMORY.search(**ASKED, certificate=path)
    assert not found.certificate.proven
    assert json.loads(path.read_text())["boxes"]["open"]
    shown = verify(path)
    assert shown.complete
    assert "It is not proven best" in str(shown)


@pytest.mark.long
def test_every_point_is_evaluated_again_where_there_are_few(tmp_path, monkeypatch):
    path = tmp_path / "best.json"
    asked = {**ASKED, "method": "auto", "pp_size": [1, 2, 4, 8], "dp_size": range(1, 34), "batch_size": [64, 128, 256]}
    monkeypatch.setattr(module, "AT_ONCE", math.inf)
    found = MEMORY.search(**asked, certificate=path)
    assert found.certificate.method == "enumeration"
    shown = verify(path)
    assert shown.complete
    assert shown.evaluated == found.certificate.points
    content = json.loads(path.read_text())
    other_place(content)
    (tmp_path / "worse.json").write_text(json.dumps(content))
    with pytest.raises(CertificateError, match="designs: "):
        verify(tmp_path / "worse.json")
    monkeypatch.setattr(verification, "EVERY_POINT", 0.0)
    shown = verify(path)
    assert shown.complete
    assert "bounds show the same" in str(shown)
    monkeypatch.setattr(verification, "TRIED", 0)
    shown = verify(path)
    assert not shown.complete
    assert "takes too long" in str(shown)


def test_files_that_cannot_be_written(tmp_path):
    for path, said in ((tmp_path / "no" / "x.json", "folder that exists"), (tmp_path, "path of a file"), (3, "a path")):
        with pytest.raises(InputError, match=said):
            MEMORY.search(**ASKED, certificate=path)


def test_it_is_public():
    assert {"verify", "Verification"} <= set(mlsysim.__all__)
