"""The traceback of a refusal ends at the line that asked; that of a bug keeps its frames."""

import inspect
import os
import pickle
import re
import subprocess
import sys
import threading
import traceback

import pytest

import mlsysim
from mlsysim import (
    DistributedModel,
    Example,
    Formula,
    Hardware,
    Requirement,
    Source,
    System,
    TrainingMemoryModel,
    plot,
    show,
    symbolic,
    tracebacks,
)
from mlsysim.errors import InputError, MlsysimError, UnknownNameError
from mlsysim.models.base import OWN_VERBS, VERBS
from mlsysim.models.registry import ours
from mlsysim.symbolic import variable_of

POINT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8}
GRID = {**POINT, "batch_size": [8, 16]}
ROWS = [{**POINT, "efficiency": 0.5, "step_time": "1 s"}]
memory = TrainingMemoryModel()

#: A bad call of every verb of a model, and how it is called.
BAD = {
    "solve": lambda: memory.solve(model="Llama3_8B", hardware="H999"),
    "sweep": lambda: memory.sweep(**{**GRID, "batch_size": [0, 8]}),
    "search": lambda: memory.search(minimize="no_such_output", **GRID),
    "pareto": lambda: memory.pareto(["no_such_output"], **GRID),
    "function": lambda: memory.function("no_such_output", **POINT),
    "sensitivity": lambda: memory.sensitivity("total_memory", **{**POINT, "batch_size": 0}),
    "regimes": lambda: memory.regimes("no_such_input", **POINT),
    "solve_for": lambda: memory.solve_for("batch_size", total_memory="80 s", **POINT),
    "uncertainty": lambda: memory.uncertainty({"efficiencyy": "uniform(0, 1)"}, **POINT),
    "calibrate": lambda: DistributedModel().calibrate(["no_such_input"], ROWS),
    "derivative": lambda: memory.derivative("total_memory", "no_such_input"),
    "simulate": lambda: mlsysim.ServingModel().simulate("Llama3_8B", "H100", request_rate=1, requests=0),
    "solve_example": lambda: TrainingMemoryModel.solve_example(batch_size=-1),
}
solved, swept = memory.solve(**POINT), memory.sweep(**GRID)
P = variable_of("batch_size").symbol
DOORS = {
    "a variant": lambda: TrainingMemoryModel("per_layer_of_cake"),
    "too many entries": lambda: memory.solve("Llama3_8B", "H100", "H200", batch_size=8),
    "an output of a model": lambda: memory.output("weigths"),
    "latex": lambda: memory.latex("weigths"),
    "source": lambda: memory.source_code("fortran"),
    "an attribute": lambda: solved.weigths,
    "an item": lambda: solved["weigths"],
    "explain": lambda: solved.explain("weigths"),
    "expected error": lambda: solved.expected_error("batch_size"),
    "compare": lambda: mlsysim.compare(solved, 3),
    "an item of a comparison": lambda: mlsysim.compare(solved, memory.solve(**{**POINT, "batch_size": 9}))["no"],
    "no design": lambda: memory.search(minimize="total_memory", subject_to="total_memory <= '1 B'", **GRID).best,
    "a row of sensitivities": lambda: memory.sensitivity("total_memory", **POINT)["no"],
    "bars of sensitivities": lambda: memory.sensitivity("total_memory", **POINT).tornado(7),
    "a group of the catalog": lambda: Hardware.Cloud.H999,
    "an item of the catalog": lambda: Hardware["Clowd"],
    "find": lambda: mlsysim.catalog.builtin().find("hardware", "H999"),
    "a file": lambda: mlsysim.load_catalog("no_such_file.toml"),
    "an entry": lambda: mlsysim.Accelerator(name="Mine"),
    "a changed entry": lambda: Hardware.Cloud.H100.changed(memory="96 GB"),
    "a model from a file": lambda: mlsysim.TransformerWorkload.from_hf("no_such_folder"),
    "a trace": lambda: mlsysim.Traffic.from_trace("no_such.csv"),
    "linked": lambda: mlsysim.linked(),
    "routing": lambda: mlsysim.routing_imbalance([[-1]], ep_size=2),
    "dropped tokens": lambda: mlsysim.dropped_tokens([[-1]], capacity_factor=1),
    "loads": lambda: mlsysim.expert_loads("no_such", 8),
    "a variable": lambda: mlsysim.variable("two words", "P", "", "Two words."),
    "a domain": lambda: mlsysim.between(2, 1),
    "a formula": lambda: Formula(variable_of("weights").symbol, P, title="No bytes", source=Source("own")),
    "an example": lambda: Example({P: 1}, "1 B"),
    "a requirement": lambda: Requirement("batch_size", "no condition", "must be"),
    "a system": lambda: System([*memory.formulas, memory.formulas[0]]),
    "labels": lambda: symbolic.by_label(P, {"a": 1}),
    "an index": lambda: mlsysim.Index("two words", "i", {}),
    "a heat map": lambda: plot.heatmap(swept, "total_memory"),
    "lines": lambda: plot.lines(swept, "weigths"),
    "bars": lambda: plot.bars(swept, []),
    "a front": lambda: plot.pareto(swept, "weights", "no"),
    "a roofline": lambda: plot.roofline(swept, "no", "no"),
    "a tornado": lambda: plot.tornado(3),
    "a map": lambda: plot.regimes(3),
    "a table": lambda: show.table([], []),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.delenv(tracebacks.SWITCH)


def frames(error):
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


@pytest.mark.parametrize("name", [*BAD, *DOORS])
def test_the_traceback_of_bad_input_ends_at_the_line_that_asked(name):
    call = {**BAD, **DOORS}[name]
    with pytest.raises(MlsysimError) as caught:
        call()
    assert [frame.f_code for frame in frames(caught.value)][1:] == [call.__code__]
    printed = "".join(traceback.format_exception(caught.value))
    assert f"mlsysim{os.sep}study" not in printed
    assert "During handling" not in printed


def test_every_verb_of_a_model_has_a_bad_call():
    assert {*VERBS, *OWN_VERBS, "derivative", "solve_example"} == set(BAD)


@pytest.mark.parametrize("declared", ours(), ids=lambda each: each.name)
def test_every_model_has_such_verbs(declared):
    model = declared.load()()

    def ask():
        model.solve(no_such_argument=1)

    with pytest.raises(MlsysimError) as caught:
        ask()
    assert frames(caught.value)[-1].f_code is ask.__code__


def test_a_wrong_declaration_ends_at_its_class():
    def declare():
        class Wrong(mlsysim.PerformanceModel):
            """What is wrong?"""

            command = "wrong"
            variants = {"one": (3,)}

        return Wrong

    with pytest.raises(MlsysimError) as caught:
        declare()
    assert frames(caught.value)[-1].f_code is declare.__code__


def test_all_frames_are_shown_where_the_environment_says_so(monkeypatch):
    monkeypatch.setenv(tracebacks.SWITCH, tracebacks.FULL)
    with pytest.raises(UnknownNameError) as caught:
        BAD["solve"]()
    assert len(frames(caught.value)) > 4
    assert "mlsysim.catalog" in frames(caught.value)[-1].f_globals["__name__"]


def test_a_bug_keeps_its_frames(monkeypatch):
    def broken(*_):
        return 1 / 0

    monkeypatch.setattr("mlsysim.study.solve.bind", broken)
    with pytest.raises(ZeroDivisionError) as caught:
        memory.solve(**POINT)
    assert frames(caught.value)[-1].f_code is broken.__code__
    assert len(frames(caught.value)) >= 4


class Own:
    """Passed to us, and called by us."""

    def __iter__(self):
        TrainingMemoryModel().solve(model="Llama3_8B", hardware="H999")
        return iter(())


def test_lines_of_a_user_that_we_call_stay():
    with pytest.raises(UnknownNameError) as caught:
        memory.named_outputs(Own())
    assert frames(caught.value)[-1].f_code is Own.__iter__.__code__
    assert all("mlsysim" not in frame.f_globals["__name__"].split(".") for frame in frames(caught.value)[1:])


def test_what_a_user_was_handling_is_still_told():
    def ask():
        try:
            {}["their key"]
        except KeyError:
            BAD["solve"]()

    with pytest.raises(UnknownNameError) as caught:
        ask()
    assert isinstance(caught.value.__context__, KeyError)
    assert "their key" in "".join(traceback.format_exception(caught.value))


def test_what_an_error_comes_from_stays_without_our_frames(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("raise RuntimeError('their own')\n")

    @tracebacks.at_the_call
    def load():
        from mlsysim.models.registry import Registry

        return Registry([str(file)])

    with pytest.raises(MlsysimError) as caught:
        load()
    printed = "".join(traceback.format_exception(caught.value))
    assert "their own" in printed
    assert f"mlsysim{os.sep}models" not in printed


def test_it_survives_pickling_and_threads():
    found = []

    def ask():
        try:
            BAD["solve"]()
        except MlsysimError as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(frames(found[0])) == 2
    assert str(pickle.loads(pickle.dumps(found[0]))) == str(found[0])


def test_groups_of_errors_are_left_alone():
    @tracebacks.at_the_call
    def several():
        raise ExceptionGroup("several", [InputError("a", 1, "must be 2")])

    with pytest.raises(ExceptionGroup) as caught:
        several()
    assert frames(caught.value)[-1].f_code.co_name == "several"


def test_names_help_and_signatures_stay():
    assert mlsysim.compare.__name__ == "compare"
    assert inspect.signature(mlsysim.compare).parameters.keys() == {"first", "second", "output"}
    assert "batch_size" in inspect.signature(TrainingMemoryModel.solve).parameters
    assert "title" in inspect.signature(Formula).parameters
    assert "Compare two results" in mlsysim.compare.__doc__


def test_python_prints_the_line_and_the_message(tmp_path):
    file = tmp_path / "ask.py"
    file.write_text("import mlsysim\nm = mlsysim.TrainingMemoryModel()\nm.solve(model='Llama3_8B', hardware='H999')\n")
    run = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False, timeout=120)
    lines = run.stderr.splitlines()
    assert [line.strip() for line in lines if line.strip().startswith("File")] == [
        f'File "{file}", line 3, in <module>'
    ]
    assert lines[-1].startswith("mlsysim.errors.UnknownNameError: unknown hardware 'H999': did you mean")


def test_a_notebook_shows_the_cell_and_the_message(capsys):
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("import mlsysim; m = mlsysim.TrainingMemoryModel()")
    capsys.readouterr()
    shell.run_cell("m.solve(model='Llama3_8B', hardware='H999')")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "".join(capsys.readouterr()))
    assert "did you mean" in shown
    assert "m.solve(model='Llama3_8B', hardware='H999')" in shown
    assert f"mlsysim{os.sep}" not in shown
