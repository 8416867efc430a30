"""Units: bytes, operations, tokens, requests and money are dimensions of their own."""

import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pint
import pytest

import mlsysim
from mlsysim import Q_, KernelModel, TrainingMemoryModel, units, ureg
from mlsysim.catalog import Value
from mlsysim.errors import MlsysimError, UnitError

BASES = ("byte", "FLOP", "token", "request", "USD", "second", "kilogram", "meter")
UNITS_FILE = Path(mlsysim.__file__).parent / "units.txt"
UNITS = (
    "B", "GB", "GiB", "byte", "kB/token", "GB/s", "TB/s", "Gbit/s", "GB/request", "FLOP", "TFLOP", "TFLOP/s", "TOP/s",
    "token", "request", "QPS", "s", "ms", "µs", "ns", "hour", "W", "kW", "kWh", "J", "USD", "USD/hour", "count", "%",
    "", "byte/token",
)  # fmt: skip
FACTORS = {
    "GB": 1e9,
    "GiB": 2.0**30,
    "KiB": 1024.0,
    "Gbit/s": 1.25e8,
    "TFLOP/s": 1e12,
    "TOP/s": 1e12,
    "ms": 1e-3,
    "µs": 1e-6,
    "hour": 3600.0,
    "kWh": 3.6e6,
    "QPS": 1.0,
    "request/min": 1 / 60,
    "count": 1.0,
    "%": 0.01,
    "": 1.0,
    "USD": 1.0,
}


@pytest.mark.parametrize(("left", "right"), list(itertools.permutations(BASES, 2)))
def test_base_dimensions_cannot_be_added(left, right):
    with pytest.raises(pint.DimensionalityError):
        Q_(1, left) + Q_(1, right)


@pytest.mark.parametrize("name", BASES)
def test_base_dimensions_are_not_pure_numbers(name):
    assert units.dimension(name)
    with pytest.raises(pint.DimensionalityError):
        Q_(1, name) + 1


def test_a_pure_number_has_no_dimension():
    assert units.dimension("") == units.dimension("count") == units.dimension("%") == {}


def test_rates_are_quotients_of_dimensions():
    assert units.dimension("GB/s") == {"[information]": 1, "[time]": -1}
    assert units.dimension("TFLOP/s") == {"[operation]": 1, "[time]": -1}
    assert units.dimension("kB/token") == {"[information]": 1, "[token]": -1}
    assert units.dimension("W") == {"[mass]": 1, "[length]": 2, "[time]": -3}


@pytest.mark.parametrize(("name", "amount"), list(FACTORS.items()))
def test_canonical_amount(name, amount):
    assert units.factor(name) == pytest.approx(amount, rel=1e-15)


def test_decimal_and_binary_prefixes_differ():
    assert Q_(80, "GB").to("byte").magnitude == 80_000_000_000
    assert Q_(80, "GiB").to("byte").magnitude == 80 * 2**30
    assert units.factor("GiB") / units.factor("GB") == pytest.approx(1.073741824, rel=1e-15)


def test_a_bit_is_an_eighth_of_a_byte_and_case_matters():
    assert units.factor("Gb") == 1.25e8
    assert units.factor("GB") == 1e9


def test_the_tutorial_counts_parameters():
    assert (64e9 * ureg.count).to("").magnitude == 64e9
    assert (64e9 * ureg.params).dimensionless


def test_a_quantity_prints_short():
    assert f"{Q_(1299.0, 'ms')}" == "1299.0 ms"
    assert f"{Q_(3.35, 'TB/s')}" == "3.35 TB/s"


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 3.35, 1299.00147, 8030261248.0, 1e-30, 1e30])
def test_canonical_round_trip(name, value):
    there = units.to_canonical(value, name)
    assert units.from_canonical(there, name) == pytest.approx(value, rel=4e-16)
    assert there == pytest.approx(value * units.factor(name), rel=4e-16)


@pytest.mark.parametrize("name", ["ms", "µs", "ns", "GB", "kB/token", "TFLOP/s", "QPS"])
@pytest.mark.parametrize("value", [64.0, 0.01, 16.06, 785.574446, 2.5, 117.440512])
def test_decimal_units_lose_no_digit(name, value):
    assert units.from_canonical(units.to_canonical(value, name), name) == value


def test_conversion_works_on_arrays():
    values = np.array([1.0, 2.5, 80.0])
    np.testing.assert_array_equal(units.from_canonical(units.to_canonical(values, "GiB"), "GiB"), values)
    np.testing.assert_array_equal(units.to_canonical(values, "ms"), values / 1000)


class TestForeignRegistry:
    """A user's own registry may define the same names; its byte is a pure number."""

    foreign = pint.UnitRegistry()

    def test_its_byte_is_dimensionless(self):
        assert self.foreign.Quantity(1, "byte").dimensionless

    @pytest.mark.parametrize("name", ["GB", "GiB", "byte", "terabyte/second", "ms", "watt", "kilobyte", "Mbit/s"])
    def test_a_quantity_is_taken_over_unit_name_by_unit_name(self, name):
        found = units.own(self.foreign.Quantity(80, name))
        assert isinstance(found, Q_)
        assert found == Q_(80, name)
        assert found.dimensionality == Q_(1, name).dimensionality

    def test_arrays_are_taken_over(self):
        found = units.own(self.foreign.Quantity(np.array([1.0, 2.0]), "GB"))
        np.testing.assert_array_equal(found.to("byte").magnitude, [1e9, 2e9])

    def test_a_unit_unknown_here_is_refused(self):
        self.foreign.define("furlong_per_fortnight_of_silicon = [silicon]")
        with pytest.raises(UnitError, match="comes from another registry and its unit is unknown here"):
            units.own(self.foreign.Quantity(1, "furlong_per_fortnight_of_silicon"))
        with pytest.raises(UnitError, match="comes from another registry and its unit is unknown here"):
            units.own(self.foreign.Quantity(80, "degC"))

    def test_a_foreign_dimensionless_number_is_not_bytes(self):
        with pytest.raises(UnitError, match=r"^capacity='80 dimensionless': a pure number is not a unit of GB$"):
            units.canonical(self.foreign.Quantity(80, "dimensionless"), "GB", "capacity")

    def test_its_unit_definitions_are_ours(self):
        """Where the two registries disagree about a name, the name decides."""
        self.foreign.define("token = 3 * meter")
        assert units.own(self.foreign.Quantity(2, "token")).dimensionality == {"[token]": 1}


def test_a_quantity_of_ours_passes_unchanged():
    value = Q_(3, "GB")
    assert units.own(value) is value


@pytest.mark.parametrize(
    ("value", "unit", "message"),
    [
        (Q_(8, "GB"), "count", "x='8 GB': GB is not a unit of count"),
        (Q_(8, "GB"), "", "x='8 GB': GB is not a unit of a pure number"),
        (Q_(8, "s"), "GB", "x='8 s': s is not a unit of GB"),
        (Q_(8, "GB"), "GB/s", "x='8 GB': GB is not a unit of GB/s"),
        (Q_(8, "TFLOP"), "GB", "x='8 TFLOP': TFLOP is not a unit of GB"),
        (Q_(8, "token"), "request", "x='8 token': token is not a unit of request"),
        (Q_(8, "count"), "token", "x='8 count': count is not a unit of token"),
        (Q_(8, ""), "GB", "x='8': a pure number is not a unit of GB"),
    ],
)
def test_a_wrong_dimension_names_argument_value_and_both_units(value, unit, message):
    with pytest.raises(UnitError) as caught:
        units.canonical(value, unit, "x")
    assert str(caught.value) == message


def test_canonical_converts():
    assert units.canonical(Q_(80, "GiB"), "GB", "x") == 80 * 2**30
    assert units.canonical(Q_(2, "s"), "ms", "x") == 2.0
    assert units.canonical(Q_(50, "%"), "", "x") == 0.5
    assert units.canonical(Q_(1200, "request/min"), "QPS", "x") == 20.0


@pytest.mark.parametrize("name", sorted(units._table()))
def test_a_text_is_read_from_the_table_as_pint_reads_it(name):
    fitting = [other for other in units._table() if units.dimension(other) == units.dimension(name)]
    fitting = fitting if name else [other for other in fitting if other in units.PURE]
    for number in ("80", "1_000", "0.1", "3.35e-7", "-7", "9007199254740993", "inf"):
        text = f" {number} {name} "
        for into in fitting:
            expected = float(units.from_canonical(units.canonical(units.parsed(text), into, "x"), into))
            assert units.number_in(text, into) == expected
    assert math.isnan(units.number_in(f"nan {name}", name))


UNREAD = [("80 GB", "s"), ("80", "GB"), ("80 GB", ""), ("80 parsecs", "GB"), ("GB", "GB"), ("80,5 GB", "GB"),
          ("80 W hour", "MWh"), ("80 token", "byte"), ("0.5", "%")]  # fmt: skip


@pytest.mark.parametrize(("text", "into"), UNREAD)
def test_what_the_table_does_not_say_is_asked_of_pint(text, into):
    assert units.number_in(text, into) is None


class TestText:
    """A text is one number and one unit: pint would compute with whatever else it finds."""

    @pytest.mark.parametrize(
        ("text", "value", "unit"),
        [
            ("80 GB", 80, "GB"),
            ("80GB", 80, "GB"),
            ("  80  GB \n", 80, "GB"),
            ("80\xa0GB", 80, "GB"),
            ("+80 GB", 80, "GB"),
            ("-80 GB", -80, "GB"),
            (".5 GB", 0.5, "GB"),
            ("5. GB", 5, "GB"),
            ("8.03e9", 8.03e9, ""),
            ("8e9 params", 8e9, "params"),
            ("1_000 GB", 1000, "GB"),
            ("50%", 50, "%"),
            ("3.35 TB/s", 3.35, "TB/s"),
            ("3.35 TB / s", 3.35, "TB/s"),
            ("131.072 kB/token", 131.072, "kB/token"),
            ("20 1/s", 20, "1/s"),
            ("50 µs", 50, "µs"),
            ("50 μs", 50, "µs"),
            ("50 us", 50, "µs"),
            ("3 ms·s/GB", 3, "ms*s/GB"),
            ("3 GB^2", 3, "GB**2"),
            ("3 GB ** 2", 3, "GB**2"),
            ("3 W hour", 3, "W*hour"),
        ],
    )
    def test_a_number_with_a_unit(self, text, value, unit):
        found = units.parsed(text)
        assert found.magnitude == value
        assert found.units == ureg.Unit(unit)

    @pytest.mark.parametrize(
        "text",
        [
            "", " ", "GB", "GB 80", "forty GB", "80,5 GB", "80.000,5 GB", "80 000 GB", "[1,2] GB", "{3} GB", "(80) GB",
            "80 GB;", "80 GB # comment", "2*40 GB", "80 GB + 1 GB", "80 GB*0", "80 GB/0", "8±4 GB", "8(4) GB", "8 4 GB",
            "80 GB if", "9**9**9", "9**9**9 GB", "1e GB", "--8 GB", "'80' GB", "80 GB\x00", "__import__('os')",
            "80 GB**GB",
        ],
    )  # fmt: skip
    def test_anything_else_is_refused(self, text):
        with pytest.raises(UnitError):
            units.parsed(text)

    def test_the_refusal_shows_the_text_and_an_example(self):
        with pytest.raises(UnitError) as caught:
            units.parsed("80,5 GB")
        assert str(caught.value) == "'80,5 GB' is not a number with a unit, as in '80 GB'"

    @pytest.mark.parametrize("text", ["80 gb", "80 GBs", "80 zork"])
    def test_an_unknown_unit_is_named(self, text):
        with pytest.raises(UnitError, match=f"^unknown unit '{text[3:]}': "):
            units.parsed(text)

    @pytest.mark.parametrize(("text", "value"), [("1e400 GB", math.inf), ("-inf GB", -math.inf)])
    def test_infinities_are_read_and_left_to_the_caller_to_refuse(self, text, value):
        assert units.parsed(text).magnitude == value

    @pytest.mark.parametrize("text", ["a*" * 2000 + "!", "1" * 5000 + "!", "a " * 2000 + "!", "GB²·" * 500 + "!"])
    def test_long_rubbish_is_refused_at_once(self, text):
        with pytest.raises(UnitError):
            units.parsed(f"3 {text}")


@pytest.mark.parametrize("name", ["zork", "GBB", "GB zork", "GB+s", "9**9**9", "GB**s", "2 GB", "GB;", "(", " "])
def test_unknown_units_are_refused(name):
    with pytest.raises(UnitError, match=r"^unknown unit "):
        units.unit(name)


@pytest.mark.parametrize(
    ("value", "unit", "fit"),
    [
        (0.0, "GB", "B"),
        (999.0, "GB", "B"),
        (1e3, "B", "kB"),
        (117_440_512.0, "byte", "MB"),
        (16.06e9, "MB", "GB"),
        (-16.06e9, "MB", "GB"),
        (5e18, "GB", "EB"),
        (5e24, "GB", "EB"),
        (9.75e-3, "s", "ms"),
        (50e-6, "ms", "µs"),
        (1e-12, "s", "ns"),
        (7200.0, "hour", "s"),
        (12.5e9, "B/s", "GB/s"),
        (989e12, "FLOP/s", "TFLOP/s"),
        (272e12, "FLOP", "TFLOP"),
        (700.0, "kW", "W"),
        (20.0, "QPS", "QPS"),
        (3.0, "token", "token"),
        (3.0, "kB/token", "kB/token"),
        (3.0, "", ""),
    ],
)
def test_fitting_picks_the_prefix_that_reads_best(value, unit, fit):
    assert units.fitting(value, unit) == fit


def test_a_quotient_of_units_drops_counts():
    assert units.per("GB", "count") == (1e-9, ureg.Unit("GB"))
    assert units.per("count", "ms") == (1e-3, ureg.Unit("1/ms"))
    scale, unit = units.per("ms", "GB/s")
    assert scale == pytest.approx(1e3 * 1e9)
    assert unit == ureg.Unit("ms*s/GB")


def test_unit_errors_are_library_errors_and_value_errors():
    assert issubclass(UnitError, MlsysimError)
    assert issubclass(UnitError, ValueError)


@pytest.mark.parametrize(
    ("value", "unit", "amount"),
    [(0.08, "TB", 80e9), (1, "TB", 1e12), (1000, "GB", 1e12), (0.1, "s", 0.1), (100, "ms", 0.1), (35, "%", 0.35)],
)
def test_conversion_to_canonical_loses_no_digit(value, unit, amount):
    """Pint's own conversion goes through a rounded quotient of factors: 0.08 TB became 80.00000000000001 GB."""
    wanted = {"TB": "GB", "GB": "GB", "s": "ms", "ms": "ms", "%": ""}[unit]
    assert units.canonical(Q_(value, unit), wanted, "x") == amount


class TestTheRegistryIsNotRedefined:
    """What a text names never changes what other units are worth, in this process or after."""

    PREFIXES = ("pico", "nano", "micro", "milli", "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta",
                "kibi", "mebi", "gibi", "tebi", "pebi")  # fmt: skip

    def names(self):
        """Every name of a unit in units.txt."""
        lines = [line for line in UNITS_FILE.read_text().splitlines() if " = " in line and "- " not in line]
        found = {part.strip() for line in lines for part in line.split("#")[0].split("=")}
        return {name for name in found if re.fullmatch(r"[^\W\d_]\w*", name)}

    def test_no_unit_is_a_prefix_with_another_unit(self):
        names = self.names()
        assert {"gram", "watt", "FLOPs", "byte"} <= names
        assert not [prefix + name for prefix in self.PREFIXES for name in names if prefix + name in names]

    def test_after_any_text_watts_are_watts(self):
        texts = [f"5 {name}{plural}" for name in sorted(self.names()) for plural in ("", "s")]
        texts += [
            f"5 {prefix}{name}{s}" for prefix in self.PREFIXES for name in ("gram", "watt", "byte") for s in ("", "s")
        ]
        texts += ["5 kg", "5 kgs", "5 kilograms", "5 kilokilograms", "5 kilogramss", "5 mg", "5 Mgs"]
        script = (
            "import json, sys\n"
            "from mlsysim import units\n"
            "from mlsysim.errors import UnitError\n"
            "for text in json.load(sys.stdin):\n"
            "    try:\n"
            "        units.parsed(text)\n"
            "    except UnitError:\n"
            "        pass\n"
            "found = [units.factor(name) for name in ('W', 'kW', 'kWh', 'kg', 'g', 't', 'GB/s', 'TFLOP', 'QPS')]\n"
            "assert found == [1, 1e3, 3.6e6, 1, 1e-3, 1e3, 1e9, 1e12, 1], found\n"
        )
        done = subprocess.run([sys.executable, "-c", script], input=json.dumps(texts), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]


THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from mlsysim import units

sys.setswitchinterval(1e-6)
barrier = Barrier(8)

def met(_):
    barrier.wait()
    return units.unit("GB")

with ThreadPoolExecutor(8) as pool:
    print(len({id(unit._REGISTRY) for unit in pool.map(met, range(8))}))
"""


def test_threads_that_meet_units_first_share_one_registry():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "1"


def test_half_loaded_pint_has_no_quantities(monkeypatch):
    """While another thread loads pint."""
    monkeypatch.setitem(sys.modules, "pint", ModuleType("pint"))
    assert not units.is_quantity(1.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("80 mB", "unit 'mB': there is no millibyte; did you mean MB?"),
        ("80 mb", "there is no millibit; did you mean MB?"),
        ("80 millibyte", "there is no millibyte"),
        ("80 µB", "there is no microbyte"),
        ("3 mB/s", "unit 'mB/s': there is no millibyte; did you mean MB/s?"),
        ("2 GB/mB", "there is no millibyte"),
        ("3 mbps", "there is no millibps; did you mean Mbps?"),
        ("80 mFLOP", "there is no milliFLOP; did you mean MFLOP?"),
        ("80 mflops", "did you mean MFLOPS?"),
        ("5 mtoken", "there is no millitoken; did you mean Mtoken?"),
        ("5 mrequest", "there is no millirequest"),
        ("5 mUSD", "there is no millidollar; did you mean USD"),
        ("5 pUSD", "there is no picodollar"),
        ("7 mparams", "there is no millicount"),
        ("80 gb", "unknown unit 'gb': did you mean GB?"),
        ("80 KB", "did you mean kB?"),
        ("80 gib", "did you mean GiB?"),
        ("80 mGB", "did you mean GB, MB, MiB?"),
        ("80 tflops", "did you mean TFLOPS?"),
        ("80 Bytes", "did you mean bytes?"),
    ],
)
def test_a_unit_that_nobody_means_is_refused_with_the_nearest(text, said):
    with pytest.raises(UnitError, match=re.escape(said)):
        units.parsed(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("80 Gb", 1e10), ("80 Gbit", 1e10), ("80 kb", 1e4), ("400 Gb/s", 5e10), ("400 Gbps", 5e10), ("400 GBps", 4e11),
        ("3 MB", 3e6), ("5 ms", 5e-3), ("3 pJ/FLOP", 3e-12), ("3 mW", 3e-3), ("3 USD/Mtoken", 3e-6), ("80 kbit/s", 1e4),
    ],
)  # fmt: skip
def test_what_may_be_small_is_read(text, amount):
    found = units.parsed(text)
    assert float(units.to_canonical(found.magnitude, f"{found.units:C}")) == pytest.approx(amount)


def test_parts_of_bytes_are_refused_wherever_they_are_given():
    """As a quantity, of another registry, in a catalog, a condition, a header."""
    given = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 1}
    for capacity in ("80 mB", units.Q_(80, "mB"), pint.UnitRegistry().Quantity(80, "millibyte")):
        with pytest.raises(MlsysimError, match=r"there is no millibyte"):
            TrainingMemoryModel().solve(**given, memory_capacity=capacity)
        with pytest.raises(MlsysimError, match=r"there is no millibyte"):
            Value.of(capacity)
    with pytest.raises(MlsysimError, match=r"'mB' is no unit; did you mean MB\?"):
        TrainingMemoryModel().search(
            **given | {"batch_size": [1, 2]}, minimize="total_memory", subject_to="total_memory <= 80 mB"
        )
    with pytest.raises(MlsysimError, match=r"there is no millibyte"):
        KernelModel().calibrate("efficiency", {"product_rows": [1, 2], "kernel_bytes [mB]": [1, 2]}, hardware="H100")
