"""Certificates of fronts hold where the front is that of a quadratic check, and no longer once anything is changed."""

import json
import math
import time
from typing import Any

import numpy as np
import pytest
import sympy
from fuzz import rest_long
from study.search_cases import FAMILIES, random_objective, random_problem, searches
from study.tampering import BAD, as_text, every_part_but_digests, put, put_tree, tree_of, written_after
from study.test_pareto import ROUTED, ROUTES, ROUTING, everywhere, to_digits, undominated

from mlsysim import DistributedModel, TrainingMemoryModel, verify
from mlsysim.bounds import Search
from mlsysim.bounds.branch_tree import BOUND, EVALUATED, OPEN, leaves
from mlsysim.errors import CertificateError, InputError, UnknownNameError
from mlsysim.study import search as module
from mlsysim.study.proofs import verification

STEP = DistributedModel()
FIXED: dict[str, Any] = {"model": "Llama3_8B", "hardware": "H100", "fabric_bandwidth": "50 GB/s",
                         "fabric_latency": "10 us", "fleet_size": 64}  # fmt: skip
AXES: dict[str, Any] = {
    "batch_size": [64, 128, 192], "tp_size": [1, 2, 3, 4, 8], "pp_size": [1, 2, 4], "zero_stage": [0, 1, 2, 3],
    "activation_checkpointing": ["none", "selective", "full"], "gradient_accumulation_steps": [1, 2, 4, 8],
}  # fmt: skip
GOALS: dict[str, Any] = {"minimize": ["step_time", "total_memory"], "maximize": ["batch_size"]}
NAMES, SIGNS = ["step_time", "total_memory", "batch_size"], [1, 1, -1]
SIZES = tuple(map(len, AXES.values()))


def front(path, **how):
    """The front of the small grid, saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "LEAF", 8)
        return STEP.pareto(**FIXED, **AXES, **GOALS, certificate=path, **{"method": "bounds", **how})


@pytest.fixture(scope="module")
def rows():
    """Objectives at every point of the small grid, to be minimised, by a sweep."""
    return everywhere(STEP, FIXED, AXES, NAMES, SIGNS, allow_infeasible=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "front.json"
    return path, front(path)


@pytest.fixture
def changed(saved, tmp_path):
    """Writes the certificate after a change, and gives its path."""
    return lambda change: written_after(change, saved[0], tmp_path / "changed.json")


def test_the_front_of_a_quadratic_check_holds(saved, rows):
    path, found = saved
    true = undominated(to_digits(rows).tolist())
    assert sorted(np.atleast_1d(np.ravel_multi_index(tuple(found.places.T), SIZES)).tolist()) == true
    shown = verify(path)
    assert shown.complete
    assert (shown.designs, shown.points) == (len(true), math.prod(SIZES))
    assert str(shown).startswith(f"{path} holds")
    content = json.loads(path.read_text())
    assert content["question"]["kind"] == "front"
    boxes = content["boxes"]
    assert boxes["open"] == 0
    assert all(boxes[fate] > 0 for fate in ("bound", "infeasible", "evaluated"))
    assert shown.evaluated > 0
    assert shown.boxes["bound"] > 0


def designs_at(found, rows, places):
    """Designs as a file has them, at places that need not be on the front."""
    asked, made = found._problem, []
    for place in places:
        at = [int(index) for index in np.unravel_index(place, SIZES)]
        arguments = {name: list(values)[index] for (name, values), index in zip(AXES.items(), at, strict=True)}
        units = [expression.unit for expression, _ in asked.objectives]
        values = [float(value) for value in rows[place] * SIGNS]
        shown = {n: {"value": v, "unit": u} for n, v, u in zip(NAMES, values, units, strict=True)}
        made.append({"place": at, "arguments": arguments, "objectives": shown})
    return made


@pytest.mark.long
@pytest.mark.parametrize("seed", rest_long(range(24), quick=3))
def test_no_other_set_of_designs_holds(seed, saved, rows, changed):
    """Some points of the front less, others in their place or beside them: with their true values none is a front."""
    random, (_, found) = np.random.default_rng(seed), saved
    true, feasible = undominated(to_digits(rows).tolist()), np.flatnonzero(np.isfinite(rows).all(axis=1))
    kept = [place for place in true if random.random() < 0.9]
    added = random.choice(feasible, random.integers(0, 3)).tolist()
    if seed == 0:
        kept, added = true, []
    chosen = sorted({*kept, *added}, key=lambda place: tuple(rows[place]))
    path = changed(lambda content: content.update(designs=designs_at(found, rows, chosen)))
    if sorted(chosen) == true:
        assert verify(path).complete
        return
    with pytest.raises(CertificateError) as caught:
        verify(path)
    assert "designs: " in str(caught.value)


def without(number):
    def change(content):
        del content["designs"][number]

    return change


def dominated(content):
    """A design worse in memory than another one, in its order, with its own numbers, that is feasible."""
    design = json.loads(json.dumps(content["designs"][0]))
    content["designs"].insert(1, design)


def objective(content):
    content["designs"][1]["objectives"]["total_memory"]["value"] *= 0.999


def swapped(content):
    designs = content["designs"]
    designs[0], designs[-1] = designs[-1], designs[0]


def box_missing(content):
    put_tree(content, tree_of(content)[:-1])


def parent_of_leaves(tree):
    """The place of the last node whose two halves are leaves, as the file stands by level."""
    levels, at, width = [], 0, 1
    while width:
        levels.append(range(at, at + width))
        at, width = at + width, 2 * sum(code < OPEN for code in tree[at : at + width])
    above, last = levels[-2:]
    return [place for place in above if tree[place] < OPEN][-1], last[-2:]


def box_enlarged(content):
    """A box takes the place of the node above it, and its halves are forgotten: they stay in the tree."""
    tree = bytearray(tree_of(content))
    place, _ = parent_of_leaves(tree)
    tree[place] = BOUND
    put_tree(content, tree)


def all_in_one_box(content):
    """The whole grid is said to be ruled out by its bound, and the front to be a design shorter."""
    put_tree(content, [BOUND])
    content["boxes"] |= {"bound": 1, "infeasible": 0, "evaluated": 0, "open": 0}
    del content["designs"][2]


def evaluated_dropped(content):
    """The box that holds a design is said to be ruled out, and the design is left out."""
    tree = bytearray(tree_of(content))
    low, high, fates = leaves(bytes(tree), SIZES)
    nodes = [at for at, code in enumerate(tree) if code >= OPEN]
    for number, design in enumerate(content["designs"]):
        place = np.array(design["place"])[:, None]
        (leaf,) = np.flatnonzero(((low <= place) & (high >= place)).all(axis=0))
        if fates[leaf] == EVALUATED:
            tree[nodes[leaf]] = BOUND
            content["boxes"]["evaluated"] -= 1
            content["boxes"]["bound"] += 1
            del content["designs"][number]
            put_tree(content, tree)
            return


def axis(content):
    content["question"]["arguments"]["tp_size"][2] = 6


def longer(content):
    content["question"]["arguments"]["tp_size"].append(16)


def formulas(content):
    content["fingerprint"]["formulas"]["total_memory"] = "0" * 24


def goal(content):
    content["question"]["minimize"] = ["step_time", "total_memory - weights"]


def turned(content):
    content["question"].update(minimize=NAMES, maximize=[])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without(0), "which no design of the front equals or betters in every objective"),
        (without(-1), "which no design of the front equals or betters in every objective"),
        (dominated, "designs: one of them is there twice"),
        (objective, "design 2: total_memory is "),
        (swapped, "designs: they do not stand in order"),
        (box_missing, "boxes: the tree ends after "),
        (box_enlarged, "boxes: the tree has 2 nodes more"),
        (all_in_one_box, "which no design of the front equals or betters in every objective"),
        (evaluated_dropped, "which no design of the front equals or betters in every objective"),
        (axis, "inputs: tp_size is another than in the search"),
        (longer, "axes: the question has "),
        (formulas, "formulas: total_memory is another than in the search"),
        (goal, "objectives: total_memory - weights is new since"),
        (turned, "objectives: batch_size is another than in the search"),
        (lambda content: content["question"].update(kind="search"), "question: a search has one objective"),
        (lambda content: content["question"].update(kind="best"), "question.kind: must be one of search, front"),
        (lambda content: content["question"].update(top=1), "question.top: a front has none, and it is 1"),
        (lambda content: content["question"].update(minimize=[]), "question: a front has two objectives or more"),
        (lambda content: content["certificate"].update(bound=1.0), "certificate.bound: a front has none"),
        (lambda content: content["certificate"].update(gap=0.1), "certificate: it is proven, and the gap is 0.1"),
        (lambda content: content["certificate"].update(method="dense"), "is said to be by dense, which has no boxes"),
        (lambda content: content.update(boxes=None), "is said to be by bounds, which has boxes"),
    ],
)
def test_what_was_changed_is_named(change, said, changed):
    with pytest.raises(CertificateError) as caught:
        verify(changed(change))
    assert said in str(caught.value)


def test_nothing_is_said_to_be_bounded_where_nothing_is_claimed(tmp_path):
    """Time was over before a design was found: the file holds, and says that it says nothing."""
    path = tmp_path / "front.json"
    axes = {"tp_size": [1, 2, 4, 8], "dp_size": range(1, 129), "batch_size": range(128, 8193, 128)}
    asked = {"minimize": ["total_memory", "tp_size * dp_size"], "method": "bounds", "time_limit": 1e-9}
    found = TrainingMemoryModel().pareto(model="Llama3_70B", hardware="H100", **axes, **asked, certificate=path)
    assert not found.certificate.proven
    assert math.isinf(found.certificate.gap)
    said = verify(path)
    assert "bound" not in said.boxes
    assert said.boxes["open"] >= 1
    assert "nothing is claimed" in str(said)
    assert "not proven" in str(said)


@pytest.mark.long
@pytest.mark.parametrize("name", rest_long(BAD, quick=1))
def test_whatever_stands_in_its_place_is_refused_or_taken_on_trust(name, saved, changed):
    """On trust is what the page says: version, seconds, boxes, points evaluated and undefined; and weaker claims."""
    content, held = json.loads(saved[0].read_text()), set()
    for way in every_part_but_digests(content):
        if way[0] == "designs" and way[1:2] > (1,):
            continue
        put(copied := json.loads(saved[0].read_text()), way, BAD[name])
        if copied == content:
            continue
        try:
            verify(changed(lambda content, way=way: put(content, way, BAD[name])))
        except (CertificateError, InputError, UnknownNameError):
            continue
        held.add(".".join(map(str, way[:2])))
    assert held <= {"mlsysim", *(f"certificate.{n}" for n in ("seconds", "boxes", "evaluated", "undefined", "first"))}


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("seed", rest_long([n for n in range(2 * len(FAMILIES)) if not searches(n)], quick=2))
def test_every_model(seed, monkeypatch, tmp_path):
    """Two or three objectives of any model, under constraints; that sizes divide is none that text can say."""
    monkeypatch.setattr(Search, "LEAF", 64)
    random, asked = np.random.default_rng(3000 + seed), random_problem(seed, 20_000)
    more = [random_objective(random, asked.model, asked.binding) for _ in range(1 + seed % 2)]
    goals = [(expression.sympy, sign < 0) for expression, sign in asked.objectives] + more
    model: Any = asked.model
    found = model.pareto(
        [as_text(each) for each, maximized in goals if not maximized],
        maximize=[as_text(each) for each, maximized in goals if maximized],
        subject_to=[as_text(c.sympy) for c in asked.constraints if not c.sympy.has(sympy.Mod)],
        method="bounds",
        certificate=tmp_path / "front.json",
        **asked.typed,
    )
    assert found.certificate.proven
    shown = verify(tmp_path / "front.json")
    assert shown.complete
    assert shown.designs == len(found)


def test_a_grid_whose_points_have_no_number_each(saved, monkeypatch):
    monkeypatch.setattr(verification, "LARGEST", math.prod(SIZES) - 1)
    with pytest.raises(CertificateError, match="question: a front is of at most 2,159 points"):
        verify(saved[0])


@pytest.mark.long
def test_a_front_that_is_empty(tmp_path):
    """No layout has so little memory: that is shown of every box, and a design is not taken for one."""
    path = tmp_path / "front.json"
    found = front(path, subject_to="total_memory <= 1 GB")
    assert (len(found), found.certificate.proven) == (0, True)
    shown = verify(path)
    assert shown.complete
    assert "No point meets the constraints." in str(shown)


@pytest.mark.long
@pytest.mark.parametrize("rounds", rest_long([2, 4], quick=1))
def test_a_front_cut_short_has_a_gap_that_holds_and_no_smaller_one(rounds, monkeypatch, tmp_path):
    path, left, whole = tmp_path / "front.json", iter(range(rounds)), Search._round

    def few(self, *args):
        if next(left, None) is None:
            self._budget.narrow(-math.inf)
        whole(self, *args)

    monkeypatch.setattr(Search, "_round", few)
    found = front(path)
    assert not found.certificate.proven
    assert json.loads(path.read_text())["boxes"]["open"]
    shown = verify(path)
    assert shown.complete
    assert "It is not proven whole: to be as good as any other design, " in str(shown)
    # Of the whole grid the front is known by now, and how far from it these designs are.
    columns, good = found._problem.points.columns(np.indices(SIZES).reshape(len(SIZES), -1))
    ours = np.array(found.objectives) * SIGNS
    true = max(((ours - row) / np.abs(ours)).max(axis=1).min() for row in columns[:, good].T)
    assert true <= found.certificate.gap + 1e-9
    if true > 1e-6:
        content = json.loads(path.read_text())
        content["certificate"]["gap"] = true / 2
        path.write_text(json.dumps(content))
        with pytest.raises(CertificateError, match=r"boxes: in the box|designs: "):
            verify(path)


@pytest.mark.long
@pytest.mark.parametrize("method", rest_long(["auto", "dense"], quick=1))
def test_a_front_of_every_point_has_no_boxes(method, saved, tmp_path, monkeypatch):
    """Its points are evaluated again where they are few; else bounds are tried; and where these are weak it says so."""
    path, worse = tmp_path / "front.json", tmp_path / "worse.json"
    found = front(path, method=method)
    assert found.places.tolist() == saved[1].places.tolist()
    assert found.certificate.method == {"auto": "enumeration", "dense": "dense"}[method]
    shown = verify(path)
    assert shown.complete
    assert shown.evaluated == math.prod(SIZES)
    with pytest.raises(CertificateError, match="which no design of the front equals or betters"):
        verify(written_after(without(1), path, worse))
    monkeypatch.setattr(verification, "EVERY_POINT", 0.0)
    shown = verify(path)
    assert shown.complete
    assert "bounds show the same" in str(shown)
    monkeypatch.setattr(verification, "TRIED", 0)
    monkeypatch.setattr("mlsysim.bounds.recheck.SMALL", 1)
    shown = verify(path)
    assert not shown.complete
    assert "method='bounds' finds a proof that can be verified" in str(shown)


def test_what_streaming_takes_over_has_no_boxes_either(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "COMPILING", 0.0)
    monkeypatch.setattr(module, "BOUNDS_SHARE", 1e-9)
    path = tmp_path / "front.json"
    goals = {"minimize": ["all_to_all_latency"], "maximize": ["batch_size"]}
    found = ROUTING.pareto(**ROUTED | ROUTES | {"ep_size": [2, 8]}, **goals, certificate=path)
    assert found.certificate.method == "dense"
    assert json.loads(path.read_text())["boxes"] is None
    shown = verify(path)
    assert shown.complete
    assert "they count as equal up to 1e-09" in str(shown)
    with pytest.raises(CertificateError, match="which no design of the front equals or betters"):
        verify(written_after(without(1), path, tmp_path / "worse.json"))


@pytest.mark.long
def test_the_front_of_a_million_million_layouts(tmp_path):
    """Step time and fleet size: 32,000 boxes, which are verified in some ten seconds of processor time."""
    path = tmp_path / "front.json"
    axes = {
        "tp_size": [1, 2, 4, 8], "zero_stage": [0, 1, 2, 3], "sequence_parallel": [False, True],
        "activation_checkpointing": ["none", "selective", "full"], "cp_size": [1, 2, 4, 8],
        "precision": ["bf16", "fp8"],
        "pp_size": range(1, 81), "gradient_accumulation_steps": range(1, 513), "seq_len": [8192],
        "batch_size": range(16, 4097, 16), "fleet_size": range(8, 1025, 8),
    }  # fmt: skip
    found = STEP.pareto(
        ["step_time", "fleet_size"],
        **{name: value for name, value in FIXED.items() if name not in axes} | {"model": "Llama3_70B"},
        **axes,
        subject_to=["total_memory <= 0.9 * memory_capacity", "batch_size >= 1024"],
        method="bounds",
        certificate=path,
    )
    assert found.certificate.proven
    assert found.certificate.points > 1e12
    assert path.stat().st_size < 300_000
    started = time.process_time()
    assert verify(path).complete
    assert time.process_time() - started < 60
    for number in (0, len(found) // 2, -1):
        with pytest.raises(CertificateError, match="which no design of the front equals or betters"):
            verify(written_after(without(number), path, tmp_path / "changed.json"))
