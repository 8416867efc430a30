"""Counting refused points on few axes gives what looking at every point gives."""

import numpy as np
import pytest
import sympy

from mlsysim.backends import refused
from mlsysim.backends.refused import Refusals
from mlsysim.models import TrainingMemoryModel
from mlsysim.symbolic import variable_of

SYSTEM = TrainingMemoryModel("per_operator").system
TP, PP, CP, BATCH, STEPS, LAYERS = (
    variable_of(name).symbol
    for name in ("tp_size", "pp_size", "cp_size", "batch_size", "gradient_accumulation_steps", "layers")
)
SIZES = (12, 7, 5, 30, 9)
VALUES = {
    symbol.name: np.arange(1.0, size + 1).reshape([-1 if at == axis else 1 for at in range(len(SIZES))])
    for axis, (symbol, size) in enumerate(zip((TP, PP, CP, BATCH, STEPS), SIZES, strict=True))
}
MASK = (np.arange(12 * 9).reshape(12, 1, 1, 1, 9) % 7) == 0
VALUES |= {"layers": 5.0, "has_price": (~MASK).astype(float)}
REASONS = {
    "one axis": sympy.Eq(sympy.Mod(64, TP), 0),
    "a number and an axis": PP <= LAYERS,
    "two axes": TP * PP <= 24,
    "three axes": sympy.Eq(sympy.Mod(BATCH, STEPS * CP), 0),
    "a mask over two axes": sympy.Eq(sympy.Symbol("has_price"), 1),
    "all points": LAYERS > 5,
    "no point": LAYERS > 4,
}


def counted(names):
    return Refusals(SYSTEM, [REASONS[name] for name in names], VALUES, SIZES)


def by_brute_force(name):
    """Where a reason refuses, at every point."""
    if name == "a mask over two axes":
        return np.broadcast_to(MASK, SIZES)
    t, p, c, b, g = np.meshgrid(*(np.arange(1, size + 1) for size in SIZES), indexing="ij")
    met = {
        "one axis": 64 % t == 0,
        "a number and an axis": p <= 5,
        "two axes": t * p <= 24,
        "three axes": b % (g * c) == 0,
        "all points": np.zeros(SIZES, bool),
        "no point": np.ones(SIZES, bool),
    }
    return ~met[name]


SETS = [
    [name] for name in REASONS
] + [
    [], ["one axis", "two axes"], ["two axes", "three axes"], ["two axes", "a mask over two axes"],
    ["one axis", "a number and an axis", "two axes", "three axes", "a mask over two axes"],
    ["three axes", "all points"],
]  # fmt: skip


@pytest.mark.parametrize("names", SETS, ids=", ".join)
def test_counts_what_every_point_says(names):
    found = counted(names)
    assert [each.count for each in found.by_reason()] == [2 * (int(by_brute_force(name).sum()),) for name in names]
    refused_points = np.zeros(SIZES, bool)
    for name in names:
        refused_points |= by_brute_force(name)
    assert found.accepted() == 2 * (int((~refused_points).sum()),)


@pytest.mark.parametrize("names", SETS, ids=", ".join)
def test_too_many_combinations_give_a_bracket(names, monkeypatch):
    exact = counted(names)
    counts, accepted = [each.count[0] for each in exact.by_reason()], exact.accepted()[0]
    monkeypatch.setattr(refused, "COUNTED", 40)
    bracket = counted(names)
    for each, true in zip(bracket.by_reason(), counts, strict=True):
        low, high = each.count
        assert low <= true <= high
        assert (low < high) == (np.prod([SIZES[axis] for axis in each.axes]) > 40)
    low, high = bracket.accepted()
    assert low <= accepted <= high
    assert low < high or "three axes" not in names or not accepted


def test_which_combinations_are_kept():
    (one,) = counted(["one axis"]).by_reason()
    assert one.axes == (0,)
    assert one.where.tolist() == [64 % t != 0 for t in range(1, 13)]
    (mask,) = counted(["a mask over two axes"]).by_reason()
    assert mask.axes == (0, 4)
    assert (mask.where == MASK[:, 0, 0, 0, :]).all()


def test_a_reason_of_many_combinations_is_not_kept(monkeypatch):
    monkeypatch.setattr(refused, "KEPT", 50)
    assert counted(["two axes"]).by_reason()[0].where is None
    assert counted(["two axes"]).by_reason()[0].count == 2 * (int(by_brute_force("two axes").sum()),)


def test_a_grid_nobody_could_hold_is_counted_exactly():
    sizes = (12, 7, 5, 30, 9, 10**6, 10**6)
    values = {name: np.asarray(value).reshape(*value.shape, 1, 1) if np.ndim(value) else value
              for name, value in VALUES.items()}  # fmt: skip
    names = ["two axes", "three axes"]
    found = Refusals(SYSTEM, [REASONS[name] for name in names], values, sizes)
    accepted = int((~(by_brute_force("two axes") | by_brute_force("three axes"))).sum())
    assert found.accepted() == 2 * (accepted * 10**12,)
