"""``mlsysim calibrate`` gives what the library gives, saves it as a stack, and says what it refuses."""

import json

import pytest

from mlsysim import IterationModel, load_catalog

HELD = ("model=Llama3_8B", "hardware=A100", "precision=bf16")
FREE = ("--free", "kv-read-efficiency,layer_tax", "--ignore", "note")
TABLE = """# steps of a server
decode_requests,context_tokens,iteration_time [ms],note
1,256,14.1,a
16,256,14.6,b
64,512,17.5,
192,512,24.0,d
1,2048,14.3,e
64,2048,23.9,f
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path / "steps.csv"


def test_it_prints_what_the_library_finds(run, file):
    found = IterationModel().calibrate(
        ["kv_read_efficiency", "layer_tax"], file, ignore="note", model="Llama3_8B", hardware="A100", precision="bf16"
    )
    _ = found.leave_one_out
    answer = run("calibrate", "iterate", "steps.csv", *HELD, *FREE)
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.startswith(f"{found}\nStack    ")
    assert "\nError    iteration_time: " in answer.stdout
    plain = json.loads(run("calibrate", "iterate", "steps.csv", *HELD, *FREE, "--json").stdout)
    assert plain.pop("basis")["expected_errors"]["iteration_time"]
    assert plain == json.loads(found.to_json())


@pytest.mark.long
def test_it_saves_a_stack_and_predicts_other_rows(run, file):
    others = file.with_name("others.csv")
    others.write_text("decode_requests,context_tokens,iteration_time\n32,1024,17 ms\n", encoding="utf-8")
    asked = ("calibrate", "iterate", "steps.csv", *HELD, *FREE, "--save", "own.toml", "--name", "Ours")
    answer = run(*asked, "--predict", "others.csv", "--rows")
    assert answer.exit_code == 0, answer.output
    assert "Other rows. Predicted over measured: median" in answer.stdout
    assert answer.stdout.endswith("Written: own.toml. Use it: --catalog own.toml --stack Ours\n")
    stack = load_catalog("own.toml").Stacks.Ours
    assert stack.layer_tax.calibrated_on.startswith("6 rows of steps.csv (sha256 ")
    again = run(*asked)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "error: --name 'Ours': stands in own.toml already" in again.stderr
    used = run("calibrate", "iterate", "steps.csv", *HELD, "stack=Ours", "--catalog", "own.toml", "--free",
                   "layer_tax", "--ignore", "note")  # fmt: skip
    assert used.exit_code == 0, used.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("steps.csv", *HELD, "--free", "layer_tax"), "called 'note': did you mean node?; --ignore note carries it"),
        (("steps.csv", *HELD), "error: --free []: name at least one input"),
        (("nowhere.csv", *HELD, *FREE), "nowhere.csv: cannot be read"),
        (("steps.csv", *HELD, *FREE, "--save", "own.toml"), "--save own.toml --name Ours"),
        (("steps.csv", *HELD, *FREE, "--space", "cubic"), "must be 'log' or 'linear'"),
        (("steps.csv", "--hardware", "A100", *FREE), "hardware=A100"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_line(run, file, words, says):
    answer = run("calibrate", "iterate", *words)
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
    assert says in answer.stderr
