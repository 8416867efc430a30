"""Random points that a variant accepts: around its point, in the domain of every input."""

import numpy as np
from study.points import POINTS

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.inputs.binding import bind

#: How often an input is changed, in a point of which so many are tried.
SHARES = (0.03, 0.1, 0.3, 0.8)


def drawn(model, count, rng):
    """So many points as an array by input, with the system they are points of."""
    binding = bind(model, POINTS[type(model).__name__, model.variant])
    reasons = [r for r in model.requirements if set(binding.values) >= {v.name for v in r.inputs}]
    named = tuple((f"met_{place}", reason.condition) for place, reason in enumerate(reasons))
    variables = [v for name, v in model.arguments.items() if v is not None and name in binding.values]
    kept, found = [], 0
    for _ in range(1000):
        share = rng.choice(SHARES, size=count)
        tried = {v.name: _values(v, binding.values[v.name], share, rng) for v in variables}
        held = compiled(binding.system, None, "vector", named)(tried) if named else {}
        met = np.ones(count, bool)
        for condition in held.values():
            met &= np.broadcast_to(condition, count).astype(bool)
        kept.append({name: values[met] for name, values in tried.items()})
        found += int(met.sum())
        if found >= count:
            return binding.system, {name: np.concatenate([part[name] for part in kept])[:count] for name in kept[0]}
    raise AssertionError(f"{model}: {found} of {count} points found")


def _values(variable, at, share, rng):
    """Values of one input: that of the point, or another of its domain."""
    domain, count = variable.domain, len(share)
    if domain.kind == "choice":
        other = rng.integers(0, len(domain.labels), count).astype(float)
    elif domain.is_flag:
        other = rng.integers(0, 2, count).astype(float)
    else:
        typed = float(units.from_canonical(at, variable.unit))
        whole = domain.kind == "integer"
        near = typed * np.exp2(rng.integers(-3, 4, count) if whole else rng.uniform(-3, 3, count))
        any_size = np.exp2(rng.integers(0, 8, count) if whole else rng.uniform(-8, 8, count))
        other = np.where((typed == 0) | (rng.random(count) < 0.1), any_size, near)
        other = np.where(rng.random(count) < 0.1, domain.lower if np.isfinite(domain.lower) else 0, other)
        other = np.clip(np.round(other) if whole else other, domain.lower, domain.upper)
        other = np.where(domain.open_lower & (other == domain.lower), typed, other)
        other = np.asarray(units.to_canonical(other, variable.unit), float)
    return np.where(rng.random(count) < share, other, at)
