"""What ``solve_for`` finds, ``solve`` gives back: every model, variant and input; and whole numbers by trying all."""

from __future__ import annotations

import math
import random

import pytest
from study.points import DEPLOYMENTS, POINTS

import mlsysim
from mlsysim.symbolic import variable_of

#: Models small enough to be asked by all inputs in a quick run.
QUICK = [
    ("TrainingMemoryModel", "first_order"),
    ("MoERoutingModel", "first_order"),
    ("KernelModel", "roofline"),
    ("EconomicsModel", "rented_fleet"),
    ("CollectiveModel", "all_gather"),
]


def asked(model, result, outputs):
    """Inputs and outputs that depend on them, which are finite at the point."""
    for output in outputs:
        if output not in result or not math.isfinite(result.canonical(output)):
            continue
        needed = {variable.name for variable in model.system.closure([output]).inputs}
        for name, variable in model.arguments.items():
            if name in needed and variable is not None and variable.domain.kind != "choice" and name in result.inputs:
                yield name, output


def round_trip(model, point, result, name, output):
    """The target is met again at what is found."""
    given = {argument: value for argument, value in point.items() if argument != name}
    found = model.solve_for(name, **given, **{output: result[output]}, allow_infeasible=True)
    if found.value is None:
        assert found.status == "everywhere", f"{name} for {output}: {found}"
        return
    back, target = found.result.canonical(output), result.canonical(output)
    assert back == pytest.approx(target, rel=1e-8, abs=1e-300), f"{name} for {output}: {found}"


#: Deployments are left out: each of their points solves roots within roots, and many points take minutes.
TRIED = [each for each in POINTS if each not in DEPLOYMENTS]


@pytest.mark.parametrize(("kind", "variant"), QUICK)
def test_round_trips_of_small_models(kind, variant):
    model, point = getattr(mlsysim, kind)(variant), POINTS[kind, variant]
    result = model.solve(**point)
    for name, output in asked(model, result, [model.answer or model.headline[0]]):
        round_trip(model, point, result, name, output)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "variant"), TRIED)
def test_round_trips(kind, variant):
    """Every input by the answer; by the other headline outputs where the model is small, else here and there."""
    model, point = getattr(mlsysim, kind)(variant), POINTS[kind, variant]
    result = model.solve(**point)
    outputs = list(dict.fromkeys([model.answer or model.headline[0], *model.headline]))
    choose = random.Random(0)
    for name, output in asked(model, result, outputs):
        if len(model.system) < 60 or output == outputs[0] or choose.random() < 0.5 / len(outputs):
            round_trip(model, point, result, name, output)


CASES = [
    ("TrainingMemoryModel", "first_order", "batch_size", "total_memory"),
    ("TrainingMemoryModel", "first_order", "tp_size", "total_memory"),
    ("TrainingMemoryModel", "first_order", "dp_size", "total_memory"),
    ("TrainingMemoryModel", "first_order", "seq_len", "activations"),
    ("TrainingMemoryModel", "first_order", "zero_stage", "total_memory"),
    ("MoERoutingModel", "first_order", "ep_size", "all_to_all_latency"),
    ("KernelModel", "waves", "product_rows", "kernel_time"),
    ("KernelModel", "waves", "product_columns", "ceiling_efficiency"),
    ("ServingCapacityModel", "first_order", "max_batch_size", "estimated_p99_latency"),
    ("TrainingMemoryModel", "per_operator", "gradient_accumulation_steps", "total_memory"),
    ("TrainingMemoryModel", "per_operator", "pp_size", "total_memory"),
    ("ServingCapacityModel", "first_order", "seq_len", "qps_capacity"),
]
#: Numbers that are tried.
TRIED = 300


@pytest.mark.parametrize(
    ("kind", "variant", "name", "output"),
    [case if place < 8 else pytest.param(*case, marks=pytest.mark.long) for place, case in enumerate(CASES)],
)
def test_whole_numbers_by_trying_all(kind, variant, name, output):
    model, point = getattr(mlsysim, kind)(variant), dict(POINTS[kind, variant])
    point.pop(name, None)
    lower = int(variable_of(name).domain.lower)
    upper = int(min(variable_of(name).domain.upper, TRIED))
    swept = model.sweep(**point, **{name: range(lower, upper + 1)}, outputs=[output], refused="mask")
    accepted = swept[output].notnull().values
    tried = swept[name].values[accepted].tolist()
    values = {n: model.solve(**point, **{name: n}).canonical(output) for n in tried}
    draw = random.Random(f"{kind} {name}")
    for _ in range(6):
        limit, sign = draw.choice(sorted(values.values())) * draw.choice([0.9995, 1.0005]), draw.choice(["<=", ">="])
        if not math.isfinite(limit):
            continue
        holds = [n for n, value in values.items() if (value <= limit if sign == "<=" else value >= limit)]
        condition = f"{output} {sign} {canonical_text(output, limit)} and {name} <= {counted(name, upper)}"
        for which in ("largest", "smallest"):
            found = model.solve_for(name, subject_to=condition, which=which, allow_infeasible=True, **point)
            expected = None if not holds else max(holds) if which == "largest" else min(holds)
            assert number(found.value) == expected, f"{condition}: {found}"


def canonical_text(output, value):
    """A canonical value as text with a unit, to the last digit."""
    variable = variable_of(output)
    unit = variable.unit if variable.dimension or variable.named_unit else ""
    return f"{mlsysim.units.from_canonical(value, variable.unit)!r} {'' if variable.named_unit else unit}".strip()


def counted(name, value):
    """A whole number with the unit of a count."""
    return f"{value} {variable_of(name).unit}" if variable_of(name).dimension else str(value)


def number(value):
    """A count without its unit."""
    return getattr(value, "magnitude", value)
