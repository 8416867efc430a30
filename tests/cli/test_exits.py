"""Exit codes: one table, in the help and on the page, and every command keeps to it."""

import re
from pathlib import Path

import pytest
from typer.core import TyperGroup

from mlsysim.cli.app import app
from mlsysim.cli.exits import Exit

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
POINT = ("model=Llama3_8B", "hardware=H100")
#: For every command words that are refused.
REFUSED = {
    "memory": ("--model", "Llama9"),
    "sweep": ("memory", *POINT, "batch_size=0,8"),
    "search": ("memory", *POINT, "batch_size=8,16", "--minimize", "weigths"),
    "pareto": ("memory", *POINT, "batch_size=8,16", "--minimize", "weights"),
    "sensitivity": ("memory", *POINT, "batch_size=0"),
    "solve-for": ("memory", "batch_sise", *POINT, "total_memory=80 GB"),
    "compare": ("memory", *POINT, "batch_size=8"),
    "uncertainty": ("memory", *POINT, "batch_size=8"),
    "simulate": ("serve", *POINT, "request_rate=1", "--requests", "0"),
    "verify": ("no_such_certificate.json",),
    "what-fits": ("H999",),
    "plan": (*POINT, "request_rate=1", "tpot_slow=3"),
    "calibrate": ("train", "no_such_table.csv", "--free", "efficiency"),
    "formula": ("weigths",),
    "symbols": ("memory", "weigths"),
    "derivative": ("memory", "weights", "dp_sise"),
    "catalog": ("H999",),
    "book": ("--out", ""),
    "calculator": ("memory", "--variant", "no_such"),
    "demo": ("--fast",),
}
#: Words whose answer is infeasible, or of which there is none.
INFEASIBLE = {
    "memory": ("--model", "Llama3_70B", "--hardware", "H100", "--batch-size", "8"),
    "search": ("memory", *POINT, "batch_size=8,16", "--minimize", "weights", "--subject-to", "weights <= 1 B"),
    "pareto": ("memory", *POINT, "batch_size=8,16", "--minimize", "weights", "--minimize", "activations",
               "--subject-to", "weights <= 1 B"),
    "solve-for": ("memory", "batch_size", *POINT, "total_memory<=1 B"),
    "plan": ("model=Llama3_70B", "hardware=H100", "request_rate=1", "tpot_slo=2 ms", "tp_size=1", "--accelerators", "1",
             "--modes", "chunked"),
}  # fmt: skip


def test_the_page_has_the_table_of_the_code():
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert rows == [(str(int(code)), code.meaning) for code in Exit]


def test_every_command_is_asked_here():
    questions = {"memory"}
    fixed = {each.name or each.callback.__name__.replace("_", "-") for each in app.registered_commands}
    assert fixed | questions == set(REFUSED)


@pytest.mark.parametrize("command", REFUSED)
def test_bad_input(run, command):
    done = run(command, *REFUSED[command])
    assert done.exit_code == Exit.REFUSED
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("command", INFEASIBLE)
def test_what_is_infeasible_ends_in_its_code_where_that_is_asked(run, command):
    done = run(command, *INFEASIBLE[command])
    assert done.exit_code == Exit.ANSWERED, done.stderr
    assert run(command, *INFEASIBLE[command], "--strict").exit_code == Exit.INFEASIBLE


def test_a_proof_that_took_too_long(run):
    words = ("search", "train", "model=Llama3_70B", "fleet=SuperPOD_H100", "seq_len=8192", "batch_size=512:2048",
             "tp_size=1:8", "pp_size=1:80", "zero_stage=0,1,2,3", "--minimize", "step_time",
             "--time-limit", "0.000000001")  # fmt: skip
    assert run(*words).exit_code == Exit.ANSWERED
    assert run(*words, "--strict").exit_code == Exit.UNPROVEN


@pytest.mark.parametrize("command", REFUSED)
def test_an_interrupt(run, monkeypatch, command):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(TyperGroup, "invoke", interrupt)
    done = run(command, *REFUSED[command])
    assert (done.exit_code, done.output) == (Exit.INTERRUPTED, "interrupted\n")


FAULT = """
import sys
from mlsysim.cli import demo, main
def fail():
    raise RuntimeError("a fault")
demo.run = fail
sys.argv = ["mlsysim", "demo"]
main()
"""


def test_a_fault_of_ours(process):
    done = process("-c", FAULT)
    assert done.returncode == Exit.FAULT
    assert "RuntimeError: a fault" in done.stderr
    assert done.stderr.endswith("please report the lines above\n")
    assert done.stdout == ""


def test_an_interrupt_while_a_string_is_executed_has_the_code_too(process, tmp_path):
    """Functions are compiled out of strings, and Python would end by the signal itself."""
    own = tmp_path / "own.py"
    own.write_text('exec("raise KeyboardInterrupt")\n', encoding="utf-8")
    done = process("-m", "mlsysim", "--with", str(own), "list")
    assert (done.returncode, done.stderr) == (Exit.INTERRUPTED, "interrupted\n")
