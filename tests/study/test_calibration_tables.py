"""Tables of measurements: files, DataFrames, columns and rows, with units where people write them."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from study.calibrated_models import RoofModel

from mlsysim import Q_, Hardware, IterationModel
from mlsysim.errors import InputError, MlsysimError, UnitError
from mlsysim.study.calibration.table import read_table

TIMES = [2.0, 3.0, 5.0]
WORK = [1000, 1500, 2500]
HELD = {"roof_peak": 1000, "roof_bandwidth": 3.35, "roof_bytes": 0.001, "roof_start": 0}


def reached(table, **given):
    """Share of the peak; a half in every table below."""
    return RoofModel().calibrate("roof_reached", table, **HELD, **given).values["roof_reached"]


def in_a_file(folder, text):
    file = folder / "measured.csv"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "text",
    [
        "roof_work [GFLOP],roof_time [ms]\n1000,2\n1500,3.0\n2500,5\n",
        "# a note\n\nroof_work [TFLOP]; roof_time[s]\n1;0.002\n1.5; 3e-3\n2.5;0.005\n",
        "\ufeffroof_work\troof_time\n1000\t2\n1500\t\n2500\t5\n",
        '"roof_work","roof_time"\n1 TFLOP,2 ms\n"1500",3\n2500,0.005 s\n',
    ],
)
def test_files(tmp_path, text):
    file = in_a_file(tmp_path, text)
    assert reached(file) == pytest.approx(0.5)
    assert reached(str(file)) == pytest.approx(0.5)
    assert "of measured.csv (sha256 " in read_table(file).described


@pytest.mark.parametrize(
    "text",
    [
        "#1,roof_work [GFLOP],roof_time [ms]\n#a,1000,2\nb,1500,3.0\n#c,2500,5\n",
        "# measured on one node, by hand, twice\n#of two\n#1\troof_work\troof_time\nx\t1000\t2\n#y\t1500\t3\n#late\n",
        '"# 1",roof_work,roof_time\n"# x",1000,2\n"#y",1500,3\n',
    ],
)
def test_a_line_with_the_cells_of_a_row_is_no_note(tmp_path, text):
    table = read_table(in_a_file(tmp_path, text))
    assert table.rows == text.count("00,") + text.count("00\t")
    assert [column.name for column in table.columns][1:] == ["roof_work", "roof_time"]
    assert reached(table, ignore=table.columns[0].name) == pytest.approx(0.5)


def test_a_file_of_lines_that_may_all_be_notes_says_how_to_write_its_headers(tmp_path):
    text = "#tag,roof_work,roof_time\n#1,1000,2\n#2,1500,3\n"
    with pytest.raises(InputError, match=r"lines that all begin with # are notes: put the first header in quotes"):
        read_table(in_a_file(tmp_path, text))
    assert read_table(in_a_file(tmp_path, text.replace("#tag", '"#tag"'))).rows == 2


def test_what_may_be_a_note_or_a_row_is_refused(tmp_path):
    text = "run,roof_work,roof_time\n# 1,1000,2\nb,1500,3\n"
    with pytest.raises(InputError, match=r"line '# 1,1000,2': put its first cell in quotes if it is a row"):
        read_table(in_a_file(tmp_path, text))


def test_cells_beyond_what_python_reads_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot be read as CSV: field larger than field limit"):
        read_table(in_a_file(tmp_path, f"roof_work,roof_time\n1000,{'2' * 2**18}\n"))


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(
    "cell", ["9" * 400, 10**400, "9" * 5000, "1e400"], ids=["text", "number", "longer", "exponent"]
)
@pytest.mark.parametrize("column", ["roof_time", "roof_work", "weight"])
def test_numbers_beyond_all_are_named(tmp_path, column, cell):
    table = {"roof_work": WORK, "roof_time": TIMES, "weight": [1, 1, 1]}
    table[column] = [*table[column][:2], cell]
    with pytest.raises(MlsysimError, match=rf"{column}.*(row 3|not all zero)"):
        reached(table)
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    if len(str(cell)) < 1000 or not isinstance(cell, int):
        with pytest.raises(MlsysimError, match=rf"{column}.*(row 3|not all zero)"):
            reached(in_a_file(tmp_path, "\n".join(lines)))


def frames():
    plain = pandas.DataFrame({"roof_work": np.array(WORK, np.int32), "roof_time": np.array(TIMES, np.float32)})
    yield plain
    whole = plain.assign(roof_time=np.array(TIMES) / 1e3)
    whole.attrs["units"] = {"roof_time": "s"}
    yield whole
    each = plain.assign(roof_time=np.array(TIMES) * 1e3)
    each["roof_time"].attrs["units"] = "µs"
    yield each.rename(columns={"roof_time": "roof_time [µs]"})
    yield pandas.DataFrame({"roof_work": WORK, "roof_time": [Q_(each, "ms") for each in TIMES]})
    missing = pandas.DataFrame({"roof_work": [*WORK, 7], "roof_time": pandas.array([2, 3, 5, None], dtype="Int64")})
    yield missing


@pytest.mark.parametrize("frame", list(frames()), ids=["plain", "attrs", "header", "pint", "missing"])
def test_frames(frame):
    assert reached(frame) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "table",
    [
        {"roof_work": range(1000, 3000, 500), "roof_time": (2, 3, 4, 5)},
        {"roof_work": Q_(np.array([1.0, 1.5]), "TFLOP"), "roof_time": Q_(np.array([2000.0, 3000.0]), "µs")},
        {"roof_work": [Q_(1, "TFLOP"), "1500 GFLOP", np.float64(2500)], "roof_time [ms]": [2, "3", Q_(0.005, "s")]},
        [{"roof_work": 1000, "roof_time": 2}, {"roof_work": 1500}, {"roof_work": 2500, "roof_time": 5}],
    ],
)
def test_columns_and_rows(table):
    assert reached(table) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"roof_work": [1]}, "nothing was measured"),
        ({"roof_work": "abc", "roof_time": [1]}, "list of cells"),
        ({"roof_work": [], "roof_time": []}, "at least one row"),
        ({"roof_time [ms": [1]}, "in brackets"),
        ({3: [1]}, "in brackets"),
        ({"roof_time [ms]": [1], "roof_time [s]": [1]}, "each column once"),
        ([1, 2], "CSV"),
        ("", "cannot be read"),
    ],
)
def test_what_is_no_table_is_refused(table, says):
    with pytest.raises(InputError, match=says):
        reached(table)


def test_a_line_that_is_too_short_is_named(tmp_path):
    with pytest.raises(InputError, match="row 2 has 1"):
        reached(in_a_file(tmp_path, "roof_work,roof_time\n1,2\n3\n"))
    with pytest.raises(InputError, match="at least one row"):
        reached(in_a_file(tmp_path, "roof_work,roof_time\n"))
    with pytest.raises(UnitError, match="roof_work"):
        reached(in_a_file(tmp_path, "roof_work [GB],roof_time\n1,2\n"))


def test_the_same_rows_have_the_same_fingerprint(tmp_path):
    columns = {"roof_work [GFLOP]": WORK, "roof_time": TIMES}
    file = in_a_file(tmp_path, "roof_work [GFLOP],roof_time\n1000,2.0\n1500,3.0\n2500,5.0\n")
    assert read_table(columns).fingerprint == read_table(file).fingerprint
    assert read_table(columns).fingerprint != read_table({**columns, "roof_time": [2.0, 3.0, 5.1]}).fingerprint


def test_columns_of_entries_labels_and_flags():
    """One row per device and format; the planted efficiency is found from all of them."""
    rows = [
        {"hardware": device, "precision": precision, "seq_len": 4096, "prompts": prompts}
        for device, precision in (("H100", "bf16"), ("H100", "w8a8"), ("A100", "bf16"), (Hardware.Cloud.H200, "w8a8"))
        for prompts in (1, 4)
    ]
    model, held = IterationModel(), {"model": "Llama3_8B", "decode_requests": 0, "context_tokens": 1}
    table = [{**row, "iteration_time": model.solve(**row, **held, efficiency=0.47).iteration_time} for row in rows]
    found = model.calibrate("efficiency", table, **held)
    assert found.values["efficiency"] == pytest.approx(0.47, rel=1e-9)
    with pytest.raises(InputError, match=r"H10O.*H100"):
        model.calibrate("efficiency", [{**table[0], "hardware": "H10O"}, table[1]], **held)
    with pytest.raises(InputError, match=r"precision.*bf17.*bf16"):
        model.calibrate("efficiency", [{**table[0], "precision": "bf17"}, table[1]], **held)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"tp_size": [1, 3, 1]}, r"^tp_size=3: .*; row 2$"),
        ({"decode_requests": [1, 16, -1]}, r"decode_requests.*; row 3$"),
        ({"precision": ["bf16", "bf17", "bf16"]}, r"precision.*bf17.*; row 2$"),
        ({"iteration_time [ms]": [20, "abc", 33]}, r"abc.*; row 2 of iteration_time$"),
    ],
)
def test_the_row_that_is_refused_is_named(changed, says):
    table = {"decode_requests": [1, 16, 64], "iteration_time [ms]": [20.1, 23.1, 32.7], **changed}
    with pytest.raises(MlsysimError, match=says):
        IterationModel().calibrate("layer_tax", table, model="OPT_13B", hardware="A100", context_tokens=256)
