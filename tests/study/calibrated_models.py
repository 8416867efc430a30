"""Models whose parameters are known: a roofline, and problems of NIST with certified answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sympy import Max, exp

from mlsysim import Formula, PerformanceModel, Source, between, integer, nonnegative, positive, variable
from mlsysim.symbolic import Variable

OWN = {"source": Source("own"), "no_example": "a test"}
ANY = between(-math.inf, math.inf)

work = variable("roof_work", "W", "GFLOP", "Operations.", positive())
read = variable("roof_bytes", "B", "GB", "Bytes.", positive())
peak = variable("roof_peak", "P", "TFLOP/s", "Peak.", positive())
bandwidth = variable("roof_bandwidth", "b", "TB/s", "Bandwidth.", positive())
copies = variable("roof_copies", "c", "", "How many.", integer(1))
reached = variable("roof_reached", "e", "", "Share of the peak.", between(0, 1, open_lower=True))
moved = variable("roof_moved", "m", "", "Share of the bandwidth.", between(0, 1, open_lower=True))
start = variable("roof_start", "s", "ms", "Time to start.", nonnegative())
seconds = variable("roof_time", "t", "ms", "Time.", positive())
rate = variable("roof_rate", "r", "TFLOP/s", "Rate.", positive())
TIME = Formula(seconds, start + Max(work / (reached * peak), read / (moved * bandwidth)) * copies, "Time", **OWN)


class RoofModel(PerformanceModel):
    """How long does it take?"""

    variants = {"roof": (TIME, Formula(rate, work * copies / seconds, "Rate", **OWN))}
    defaults = {"roof_start": 0.1, "roof_reached": 0.5, "roof_moved": 0.8, "roof_copies": 1}


def _real(prefix: str, count: int) -> list:
    return [variable(f"{prefix}_b{n}", f"b_{n}", "", "A parameter.", ANY) for n in range(1, count + 1)]


x = variable("nist_x", "x", "", "The predictor.", ANY)
y = variable("nist_y", r"y_{\mathrm{N}}", "", "The response.", ANY)
a1, a2 = _real("misra1a", 2)
t1, t2, t3, t4, t5, t6, t7 = _real("thurber", 7)
g1, g2, g3, g4 = _real("mgh09", 4)


class Misra1aModel(PerformanceModel):
    """What volume is adsorbed?"""

    variants = {"nist": (Formula(y, a1 * (1 - exp(-a2 * x)), "Misra1a", **OWN),)}


class ThurberModel(PerformanceModel):
    """How mobile are electrons?"""

    variants = {"nist": (Formula(y, (t1 + t2 * x + t3 * x**2 + t4 * x**3) / (1 + t5 * x + t6 * x**2 + t7 * x**3),
                                 "Thurber", **OWN),)}  # fmt: skip


class Mgh09Model(PerformanceModel):
    """How fast is the reaction?"""

    variants = {"nist": (Formula(y, g1 * (x**2 + x * g2) / (x**2 + x * g3 + g4), "MGH09", **OWN),)}


@dataclass(frozen=True)
class Certified:
    """A nonlinear problem of the NIST Statistical Reference Datasets, https://www.itl.nist.gov/div898/strd."""

    model: PerformanceModel
    start: tuple[float, ...]
    data: str
    values: tuple[float, ...]
    errors: tuple[float, ...]
    squares: float

    @property
    def free(self) -> list[str]:
        """The parameters."""
        inputs: list[Variable] = [v for v in self.model.inputs if v.name != "nist_x"]
        return sorted(v.name for v in inputs)

    @property
    def table(self) -> dict[str, list[float]]:
        """The data as columns; the file has the response first."""
        numbers = [float(word) for word in self.data.split()]
        return {"nist_y": numbers[::2], "nist_x": numbers[1::2]}


CERTIFIED = {
    "Misra1a": Certified(
        Misra1aModel(),
        (500, 0.0001),
        "10.07 77.6 14.73 114.9 17.94 141.1 23.93 190.8 29.61 239.9 35.18 289.0 40.02 332.8 44.82 378.4 50.76 434.8 "
        "55.05 477.3 61.01 536.8 66.40 593.1 75.47 689.1 81.78 760.0",
        (2.3894212918e02, 5.5015643181e-04),
        (2.7070075241e00, 7.2668688436e-06),
        1.2455138894e-01,
    ),
    "Thurber": Certified(
        ThurberModel(),
        (1000, 1000, 400, 40, 0.7, 0.3, 0.03),
        "80.574 -3.067 84.248 -2.981 87.264 -2.921 87.195 -2.912 89.076 -2.840 89.608 -2.797 89.868 -2.702 "
        "90.101 -2.699 92.405 -2.633 95.854 -2.481 100.696 -2.363 101.060 -2.322 401.672 -1.501 390.724 -1.460 "
        "567.534 -1.274 635.316 -1.212 733.054 -1.100 759.087 -1.046 894.206 -0.915 990.785 -0.714 1090.109 -0.566 "
        "1080.914 -0.545 1122.643 -0.400 1178.351 -0.309 1260.531 -0.109 1273.514 -0.103 1288.339 0.010 "
        "1327.543 0.119 1353.863 0.377 1414.509 0.790 1425.208 0.963 1421.384 1.006 1442.962 1.115 1464.350 1.572 "
        "1468.705 1.841 1447.894 2.047 1457.628 2.200",
        (1.2881396800e03, 1.4910792535e03, 5.8323836877e02, 7.5416644291e01, 9.6629502864e-01, 3.9797285797e-01,
         4.9727297349e-02),
        (4.6647963344e00, 3.9571156086e01, 2.8698696102e01, 5.5675370270e00, 3.1333340687e-02, 1.4984928198e-02,
         6.5842344623e-03),
        5.6427082397e03,
    ),
    "MGH09": Certified(
        Mgh09Model(),
        (25, 39, 41.5, 39),
        "0.1957 4.0 0.1947 2.0 0.1735 1.0 0.1600 0.5 0.0844 0.25 0.0627 0.167 0.0456 0.125 0.0342 0.1 0.0323 0.0833 "
        "0.0235 0.0714 0.0246 0.0625",
        (1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01),
        (1.1435312227e-02, 1.9633220911e-01, 8.0842031232e-02, 9.0025542308e-02),
        3.0750560385e-04,
    ),
}  # fmt: skip
