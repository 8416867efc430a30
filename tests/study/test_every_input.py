"""Every model, in every variant, sweeps over every one of its inputs: as a loop of solve, refusals included."""

import json
from functools import cache

import numpy as np
import pytest
from fuzz import drawn
from study.points import CHAINS, NETWORK, POINTS

from mlsysim import Systems, units
from mlsysim.catalog import Traffic
from mlsysim.errors import InputError
from mlsysim.inputs.binding import bind
from mlsysim.models import every_model
from mlsysim.symbolic import ChunkedPrefill, Root, variable_of

ENTRIES = {
    "model": ["Mixtral_8x7B", "DeepSeek_V3", "Qwen3_30B_A3B", "Llama3_8B"],
    "hardware": ["H100", "H200", "MI300X"],
    "node": ["DGX_A100", "DGX_B200"],
    "fleet": ["Research_256", "Llama3_16K"],
    "fabric": ["RoCE_400G", "Meta_RoCE_400G"],
    "stack": ["Ideal", "Generic"],
    "rollout_stack": ["Generic", "vLLM_2026_Hopper"],
    "engine": ["vllm", "trtllm"],
    "grid": ["France", "US"],
    "rent": ["RunPod_H100", Systems.Rents.RunPod_H100.changed(name="Other", price=2)],
    "traffic": [
        Traffic(name="chat", isl=500, osl=200, osl_cv=1),
        Traffic(name="papers", request_rate=4, isl=8000, osl=100),
    ],
    "recipe": ["Megatron_DeepSeek_V3_GB200_bf16", "Megatron_DeepSeek_V3_GB200_fp8"],
    "design": ["GH200", "DGX_H100_PCIe", "MI300A"],
    "failures": ["Llama3_405B", "Meta_RSC1_A100"],
    "storage": ["Tectonic", "Jean_Zay_GPFS"],
}


def build(kind, variant):
    model = next(each for each in every_model() if each.__name__ == kind)
    return model(variant)


def cases():
    """Every input of every variant.

    Quick is the first input of a model, and in the quickest variant with them entries, labels, flags and some numbers.
    """
    variants = [(kind, variant) for kind in every_model() for variant in kind.variants]

    def slow(case):
        kind, variant = case
        return (kind.__name__, variant) in CHAINS, len(kind(variant).system)

    quickest = {}
    for kind, variant in sorted(variants, key=slow):
        for name in kind(variant).arguments:
            quickest.setdefault(name, (kind, variant))
    for kind, variant in variants:
        for place, (name, variable) in enumerate(kind(variant).arguments.items()):
            case, first = (kind.__name__, variant, name), place == 0 and variant == next(iter(kind.variants))
            number = variable is not None and variable.domain.kind in ("real", "integer")
            quick = first or (quickest[name] == (kind, variant) and (not number or drawn(name, 4)))
            yield pytest.param(*case, id="-".join(case), marks=[] if quick else [pytest.mark.long])


def test_every_variant_has_a_point():
    assert {(kind.__name__, variant) for kind in every_model() for variant in kind.variants} <= set(POINTS)


def near(variable, canonical):
    """Values of a domain around one of its values, in the unit of the variable."""
    domain = variable.domain
    if domain.kind == "choice":
        return list(domain.labels)
    if domain.is_flag:
        return [False, True]
    at = 1.0 if canonical is None else float(units.from_canonical(canonical, variable.unit))
    around = [at, 2 * at, at + 1, at / 2, 0.0, 1.0]
    if domain.kind == "integer":
        around = [round(value) for value in around]
    inside = [value for value in around if domain.lower <= value <= domain.upper]
    return list(dict.fromkeys(v for v in inside if not (domain.open_lower and v == domain.lower)))


def comparable(name, value):
    labels = variable_of(name).domain.labels
    return labels.index(value) if isinstance(value, str) else getattr(value, "magnitude", value)


@cache
def with_roots(system):
    """Names of what is a root or follows from one, in one walk along the formulas."""
    found = set()
    for formula in system:
        if formula.expression.has(Root, ChunkedPrefill) or any(v.name in found for v in formula.inputs):
            found.add(formula.name)
    return found


@pytest.mark.parametrize(("kind", "variant", "name"), list(cases()))
def test_a_sweep_over_one_input_is_a_loop_of_solve(kind, variant, name):
    model, point = build(kind, variant), POINTS[kind, variant]
    binding = bind(model, point)
    variable = model.arguments[name]
    values = ENTRIES[name] if variable is None else near(variable, binding.values.get(name))
    if name == "fleet":
        point = {k: v for k, v in point.items() if k not in NETWORK}
        point |= {"batch_size": 16384} if "pp_size" in point and "batch_size" in model.arguments else {}
    if name == "recipe":
        point = {"ep_size": 2, **point}
    if name == "model" and kind == "MoERoutingModel":
        values = values[:-1]
    outputs = [v.name for v in model.outputs if v.name in binding.system]
    grid = model.sweep(**{**point, name: values}, outputs=outputs, refused="mask")
    assert grid.sizes == {name: len(values)}
    columns = {output: np.broadcast_to(grid[output].values, len(values)) for output in outputs}
    codes = np.broadcast_to(grid["refused"].values if "refused" in grid else 0, len(values))
    accepted, rooted = 0, with_roots(binding.system)
    for place, value in enumerate(values):
        try:
            solved = model.solve(**{**point, name: value})
        except InputError:
            assert codes[place] > 0
            assert not any(np.isfinite(column[place]) for column in columns.values() if column.dtype.kind == "f")
            continue
        accepted += 1
        assert codes[place] == 0
        for output in outputs:
            found, wanted = columns[output][place].item(), comparable(output, solved[output])
            # A root ends where rounding hides on which side of it a number is: a flat one some digits earlier.
            near_by = 1e-11 if output in rooted else 1e-12
            assert found == pytest.approx(wanted, rel=near_by, abs=0, nan_ok=True), (output, value)
    assert accepted
    assert grid.attrs["refused_points"] == len(values) - accepted
    assert sum(json.loads(grid.attrs["refused_reasons"]).values()) == len(values) - accepted
