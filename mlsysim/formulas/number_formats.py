"""Number formats

Bytes one number takes, by format. ``tf32`` is stored as 32-bit floats; ``int4`` packs two numbers
into a byte.
"""

from __future__ import annotations

from fractions import Fraction

from mlsysim.symbolic import Example, Formula, Source, by_label, byte
from mlsysim.symbols.workload import precision, q

bytes_per_element = Formula(
    q,
    by_label(
        precision,
        {
            "fp32": 4 * byte,
            "tf32": 4 * byte,
            "bf16": 2 * byte,
            "fp16": 2 * byte,
            "fp8": 1 * byte,
            "int8": 1 * byte,
            "int4": Fraction(1, 2) * byte,
        },
    ),
    title="Bytes per number",
    source=Source("micikevicius2018", "section 3"),
    assumes="Scales and zero points of the integer and 8-bit formats are not counted.",
    convention="Memory footprint; the arithmetic rate of a format is a property of the device.",
    example=Example({precision: "fp16"}, "2 byte", Source("rajbhandari2020", "section 3.1")),
)

FORMULAS = (bytes_per_element,)
