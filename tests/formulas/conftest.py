"""Random valid points of a formula, in the units its variables are entered in."""

import math
import random

import pytest

from mlsysim import units
from mlsysim.symbolic import Variable, variable_of

#: Which names hang together: a queue is drawn whole, so that load, rate and utilization agree.
QUEUE = {"replicas", "offered_load", "utilization", "qps", "per_replica_qps_capacity"}


def draw_one(variable: Variable, rng: random.Random) -> float:
    """One value of a domain, in the unit of the variable; labels as codes."""
    domain = variable.domain
    if domain.kind in ("choice", "boolean"):
        return float(rng.randint(int(domain.lower), int(domain.upper)))
    if domain.kind == "integer":
        if rng.random() < 0.3:
            return float(domain.lower)
        top = min(domain.upper, domain.lower + 3000)
        return float(min(top, domain.lower + math.floor(10 ** rng.uniform(0, math.log10(top - domain.lower + 1)))))
    if domain.upper < math.inf:
        return rng.choice([domain.upper, rng.uniform(domain.lower, domain.upper)]) or domain.upper / 2
    if domain.lower > 0 or (not domain.open_lower and rng.random() < 0.2):
        return domain.lower + (10 ** rng.uniform(-2, 2) if rng.random() < 0.8 else 0.0)
    return 10 ** rng.uniform(-2, 3)


#: Zero is in the domain, where a memory holds no request; what follows from it has tests of its own.
DIVISORS = {"per_replica_qps_capacity"}


def draw_point(variables: tuple[Variable, ...], rng: random.Random) -> dict[str, float]:
    """One value per variable, in their units, consistent where the variables belong to one queue."""
    point = {variable.name: draw_one(variable, rng) for variable in variables}
    point |= {name: 10 ** rng.uniform(-2, 2) for name in DIVISORS & set(point)}
    if "offered_load" in point and len(QUEUE & set(point)) > 1:
        servers = float(rng.choice([1, 2, 3, rng.randint(4, 60), rng.randint(60, 400)]))
        rate = 10 ** rng.uniform(-1, 2)
        utilization = rng.choice([rng.uniform(0.02, 0.98), rng.uniform(0.98, 0.9999), rng.uniform(1.0, 3.0)])
        qps = utilization * servers * rate
        queue = {
            "replicas": servers,
            "per_replica_qps_capacity": rate,
            "qps": qps,
            "offered_load": qps / rate,
            "utilization": utilization,
        }
        point |= {name: queue[name] for name in QUEUE & set(point)}
    if "target_p99_latency_ms" in point and "base_request_latency" in point:
        point["target_p99_latency_ms"] = point["base_request_latency"] * rng.choice([0.9, 1.001, 1.1, 2.0, 5.0])
    return point


def canonical(point: dict[str, float]) -> dict[str, float]:
    """The point in canonical units, as compiled code sees it."""
    return {name: units.to_canonical(value, variable_of(name).unit) for name, value in point.items()}


@pytest.fixture(scope="session")
def draw_points():
    """``draw_points(formula, count)``: valid points in the units of the variables, the same on every run."""

    def draw(formula, count):
        rng = random.Random(formula.id)
        return [draw_point(formula.inputs, rng) for _ in range(count)]

    return draw


@pytest.fixture(scope="session")
def to_canonical():
    """Turns a point into canonical units."""
    return canonical
