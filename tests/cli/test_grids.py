"""The commands that ask a grid give what the library gives, and say what was refused."""

import csv
import errno
import json
import signal
import subprocess
import sys
import time

import matplotlib.image
import numpy as np
import pytest
import xarray

from mlsysim import MemoryExpansionModel, TrainingMemoryModel
from mlsysim.cli import grids
from mlsysim.models import every_model

LLAMA = ("model=Llama3_8B", "hardware=H100", "dp_size=8")
SMALL = (*LLAMA, "batch_size=8,16", "tp_size=1,2,3")
GRID = (*LLAMA, "batch_size=8:128:8", "zero_stage=0,1,2,3", "tp_size=1,2,3,4")
TRAIN = ("model=Llama3_8B", "fleet=SuperPOD_H100", "batch_size=1024", "seq_len=4096", "tp_size=1:8:x2",
         "pp_size=1:4:x2", "zero_stage=0,1,2", "gradient_accumulation_steps=1:16:x2")  # fmt: skip
FITS = ("--subject-to", "total_memory <= 0.9 * memory_capacity")


@pytest.fixture(scope="module")
def expected():
    return TrainingMemoryModel("per_operator").sweep(
        "Llama3_8B",
        "H100",
        dp_size=8,
        batch_size=range(8, 129, 8),
        zero_stage=[0, 1, 2, 3],
        tp_size=[1, 2, 3, 4],
        refused="mask",
    )


def test_what_answers_a_question_comes_first_wherever_it_is_an_output():
    without = set()
    for model in every_model():
        for asked in map(model, model.variants):
            if model.answer not in asked.system:
                without.add((model.command, asked.variant.rpartition("_")[2]))
            assert asked.answer == (model.answer if model.answer in asked.system else asked.headline[0])
            assert asked.answer in asked.headline
    assert without == {("offload", "serving"), ("offload", "estimate"), ("kernel", "attention")}


@pytest.mark.long
def test_a_variant_without_that_output_begins_with_its_own_first(run):
    words = ("model=Llama3_8B", "design=GH200", "request_rate=1", "tpot_slo=100", "kv_offload=0,0.5,1")
    done = run("sweep", "offload", *words, "--variant", "serving")
    assert done.exit_code == 0, done.output
    above, below = (line.split() for line in done.stdout.splitlines()[3:5])
    assert above[0] + below[1] == MemoryExpansionModel("serving").headline[0]


def test_a_small_grid_is_a_table_with_a_row_per_point(run):
    done = run("sweep", "memory", *SMALL, "--refused", "mask")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "TrainingMemoryModel (per_operator), Llama 3 8B, NVIDIA H100 SXM5 80 GB"
    assert lines[1] == "6 points: batch_size 2 x tp_size 3"
    rows = [line.split() for line in lines if line[:1].isdigit() and " points" not in line]
    assert [row[:2] for row in rows] == [[str(b), str(t)] for b in (8, 16) for t in (1, 2, 3)]
    fits = TrainingMemoryModel("per_operator").solve("Llama3_8B", "H100", dp_size=8, batch_size=16, tp_size=2)
    assert rows[4][2:4] == [f"{fits.total_memory.to('GB').magnitude:.2f}", "GB"]
    assert set(rows[2][2:]) == {"-"}
    assert lines[-4] == "Refused: 2 of 6 points: tp_size must divide heads (2)"
    assert max(map(len, lines)) <= 100


@pytest.mark.long
def test_points_that_do_not_fit_are_told_under_the_table(run):
    done = run("sweep", "memory", *LLAMA, "zero_stage=3", "batch_size=8,64")
    assert "1 of 2 points is not feasible; the first: total_memory, 118.2 GB, exceeds usable_memory, 85.06 GB" in (
        " ".join(done.stdout.split())
    )


def test_a_large_grid_is_summarised(run, expected):
    lines = run("sweep", "memory", *GRID, "--refused", "mask").stdout.splitlines()
    assert lines[1] == "256 points: batch_size 16 x zero_stage 4 x tp_size 4"
    total = next(line.split() for line in lines if line.startswith("total_memory  "))
    values = expected.total_memory.values
    shown = [np.nanmin(values), np.quantile(values[~np.isnan(values)], 0.5, method="lower"), np.nanmax(values)]
    assert total[1::2] == [f"{value:.{1 if value >= 100 else 2}f}" for value in shown]
    assert f"feasible: {int(expected.feasible.sum())} of 256 points" in lines
    assert "total_memory is least at batch_size=8, zero_stage=3, tp_size=4" in lines
    assert "total_memory is most at batch_size=128, zero_stage=0, tp_size=1" in lines
    assert lines[-4] == "Refused: 64 of 256 points: tp_size must divide heads (64)"


def test_a_refused_point_is_an_error_unless_masked(run):
    done = run("sweep", "memory", *SMALL)
    assert done.exit_code == 2
    assert done.stderr == "error: tp_size=3: must divide heads=32; 1 of 3 points are refused; nearest: 2, 4\n"


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("ending", ["nc", "zarr"])
def test_a_grid_is_written_as_the_library_computes_it(run, tmp_path, expected, ending):
    file = tmp_path / f"grid.{ending}"
    done = run("sweep", "memory", *GRID, "--refused", "mask", "--output", str(file))
    assert done.exit_code == 0, done.output
    assert done.stdout.endswith(f"Written: {file}\n")
    with xarray.open_dataset(file) if ending == "nc" else xarray.open_zarr(file, consolidated=False) as found:
        assert found.sizes == expected.sizes
        np.testing.assert_array_equal(found.total_memory.values, expected.total_memory.values)
        assert found.total_memory.attrs["units"] == "GB"


def test_a_table_has_words_units_and_a_row_per_point(run, tmp_path):
    file = tmp_path / "grid.csv"
    words = ("model=Llama3_8B", "fleet=SuperPOD_H100", "batch_size=1024", "seq_len=4096", "zero_stage=1",
             "layout=tp_size=1,3,8;gradient_accumulation_steps=4,4,32")  # fmt: skip
    done = run("sweep", "train", *words, "--refused", "mask", "--outputs", "step_time,step_bottleneck",
               "--output", str(file))  # fmt: skip
    assert done.exit_code == 0, done.output
    with file.open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert list(rows[0]) == ["tp_size", "gradient_accumulation_steps", "step_time [s]", "step_bottleneck", "refused"]
    assert [row["tp_size"] for row in rows] == ["1", "3", "8"]
    assert rows[1]["step_time [s]"] == rows[1]["step_bottleneck"] == ""
    assert rows[1]["refused"].startswith(("heads", "tp size", "fleet size"))
    assert rows[0]["step_bottleneck"] in ("Arithmetic", "Memory", "Tensor Parallelism")
    assert float(rows[0]["step_time [s]"]) > 0


@pytest.mark.long
def test_several_variants_are_an_axis(run):
    done = run("sweep", "memory", *LLAMA, "batch_size=8,16", "--variant", "first_order,per_operator")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[1].startswith("4 points: variant 2 x batch_size 2")
    rows = [line.split()[:2] for line in lines if line.startswith(("first_order ", "per_operator "))]
    assert rows == [[variant, batch] for variant in ("first_order", "per_operator") for batch in ("8", "16")]


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(
    ("words", "panels"),
    [
        (("batch_size=8:64:8",), 1),
        (("batch_size=8:64:8", "zero_stage=0,1,2,3"), 1),
        (("batch_size=8:64:8", "zero_stage=0,1,2,3", "tp_size=1,2"), 2),
        (("layout=tp_size=1,2,4;pp_size=4,2,1", "batch_size=8,16"), 1),
    ],
)
def test_a_figure_has_a_panel_per_value_of_a_third_axis(run, tmp_path, words, panels):
    file = tmp_path / "map.png"
    done = run("sweep", "memory", *LLAMA, *words, "--outputs", "total_memory", "--plot", str(file))
    assert done.exit_code == 0, done.output
    height, width, _ = matplotlib.image.imread(file).shape
    assert width == pytest.approx(panels * 960)
    assert height == pytest.approx(660)


def test_search_prints_the_designs_of_the_library(run):
    done = run("search", "train", *TRAIN, "--minimize", "step_time", *FITS, "--top", "3", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    swept = run("sweep", "train", *TRAIN, "--refused", "mask", "--outputs", "step_time")
    assert swept.exit_code == 0
    times = [design["objectives"]["step_time"]["value"] for design in found["designs"]]
    assert times == sorted(times)
    assert times[0] == found["designs"][0]["outputs"]["step_time"]["value"]
    assert all(design["outputs"]["total_memory"]["value"] <= 72 for design in found["designs"])
    assert found["certificate"]["proven"]
    assert found["certificate"]["points"] == 4 * 3 * 3 * 5
    text = run("search", "train", *TRAIN, "--minimize", "step_time", *FITS, "--top", "3").stdout
    assert "accepted, to a relative 1e-09. 180 points" in " ".join(text.split())
    assert f"{times[0]:.2f} s" in text


DESIGNS = "design=Per_Node,Per_GPU,Integrated_CPU_Links,Integrated_GPU_Links"


def test_designs_and_policies_are_swept_and_searched(run):
    """What Heo et al. say of their figure: which design is best, and where policies change the order."""
    words = ("offload", "model=DeepSpeedMoE_24B_MoE_128", DESIGNS)
    rows = run("sweep", *words, "policy=conservative,aggressive", "--outputs", "step_time").stdout.splitlines()
    lines = [line.split() for line in rows if line.endswith("ms")]
    times = {(design, policy): float(time) for design, policy, time, _ in lines}
    by_policy = {
        policy: sorted((time, design) for (design, of), time in times.items() if of == policy)
        for policy in ("conservative", "aggressive")
    }
    assert [design for _, design in by_policy["conservative"]] == [
        "Integrated_GPU_Links", "Per_GPU", "Integrated_CPU_Links", "Per_Node"
    ]  # fmt: skip
    assert [design for _, design in by_policy["aggressive"]] == [
        "Integrated_GPU_Links", "Integrated_CPU_Links", "Per_GPU", "Per_Node"
    ]  # fmt: skip
    done = run("search", *words, "policy=conservative,aggressive", "--minimize", "step_time",
               "--subject-to", "local_memory <= 10 GB", "--json")  # fmt: skip
    best = json.loads(done.stdout)["designs"][0]
    assert best["inputs"]["policy"]["value"] == "aggressive"
    assert best["entries"]["design"] == "Integrated chip, joined by GPUs (design 4)"


@pytest.mark.long
def test_the_methods_agree(run):
    best = {}
    for method in ("auto", "bounds", "dense"):
        done = run("search", "train", *TRAIN, "--minimize", "step_time", *FITS, "--method", method, "--json")
        assert done.exit_code == 0, done.output
        best[method] = json.loads(done.stdout)["designs"][0]["objectives"]
    assert best["auto"] == best["bounds"] == best["dense"]


def test_nothing_feasible_is_an_answer(run):
    done = run("search", "train", *TRAIN, "--minimize", "step_time", "--subject-to", "total_memory <= 1 MB")
    assert done.exit_code == 0
    assert done.stdout.startswith("No design meets the constraints.\n")
    done = run("search", "train", *TRAIN, "--minimize", "step_time", "--subject-to", "total_memory <= 1 MB", "--json")
    assert json.loads(done.stdout)["designs"] == []


INFEASIBLE = ("--subject-to", "total_memory <= 1 MB")


def test_infeasible_is_an_answer_unless_strict(run):
    words = ("train", *TRAIN, "--minimize", "step_time")
    late = run("search", *words, *INFEASIBLE)
    strict = run("search", *words, *INFEASIBLE, "--strict")
    assert (late.exit_code, strict.exit_code) == (0, 3)
    assert "total_memory <= 1 MB: nearest " in " ".join(strict.stdout.split())
    assert " GB against " in strict.stdout
    assert run("search", *words, "--subject-to", "feasible", "--strict").exit_code == 0
    front = run("pareto", *words, "--minimize", "total_memory", *INFEASIBLE, "--strict", "--json")
    assert front.exit_code == 3
    assert json.loads(front.stdout)["misses"][0]["constraint"] == "total_memory <= 1 MB"


@pytest.mark.long
def test_a_best_design_that_is_not_feasible_is_said_and_fails_where_strict(run):
    words = ("memory", "--variant", "per_operator", "model=Llama3_70B", "hardware=H100", "batch_size=8", "dp_size=1")
    asked = ("search", *words, "tp_size=1,2", "--minimize", "total_memory", "--allow-infeasible")
    found, strict = run(*asked), run(*asked, "--strict")
    text = " ".join(found.stdout.split())
    assert "The best design is not feasible: total_memory <= usable_memory, " in text
    assert (found.exit_code, strict.exit_code) == (0, 3)
    assert json.loads(run(*asked, "--json").stdout)["infeasible"]["designs"] == [1]
    front = run("pareto", *words, "tp_size=1,8", "pp_size=1,80", "--minimize", "total_memory", "--minimize",
                "tp_size * pp_size", "--strict", "--allow-infeasible")  # fmt: skip
    assert front.exit_code == 0
    assert "Not feasible: " in front.stdout


def test_what_is_not_feasible_is_left_out_and_counted(run):
    words = ("memory", "--variant", "per_operator", "model=Llama3_70B", "hardware=H100", "batch_size=8", "dp_size=1")
    asked = ("search", *words, "tp_size=1,2", "--minimize", "total_memory")
    found, strict = run(*asked), run(*asked, "--strict")
    text = " ".join(found.stdout.split())
    assert text.startswith("No design is feasible. total_memory <= usable_memory: nearest ")
    assert "Infeasible designs left out: 2 (--allow-infeasible keeps them)." in text
    assert (found.exit_code, strict.exit_code) == (0, 3)
    assert json.loads(run(*asked, "--json").stdout)["designs"] == []
    front = run("pareto", *words, "tp_size=1,8", "pp_size=1,80", "--minimize", "total_memory", "--minimize",
                "tp_size * pp_size", "--strict")  # fmt: skip
    assert front.exit_code == 0
    assert "Not feasible: " not in front.stdout
    assert "left out: 2 (--allow-infeasible keeps them)" in " ".join(front.stdout.split())


@pytest.mark.long
def test_notes_of_a_grid_are_printed(run):
    words = ("memory", "model=Llama3_8B", "hardware=H100", "batch_size=8", "seq_len=4096,16384")
    said = "1 of 2 points: seq_len is longer than the positions of Llama3_8B (8,192)"
    assert said in " ".join(run("sweep", *words).stdout.split())
    assert json.loads(run("sweep", *words, "--json").stdout)["notes"][0].startswith(said)


def test_a_device_without_a_price_is_named(run):
    words = ("accelerators=8", "busy_share=0.5", "duration=30 day", "run_tokens=1e12", "electricity_price=0.1")
    done = run(
        "search", "cost", "--variant", "owned_fleet", *words, "hardware=H100,A100,L40S", "--minimize", "total_cost"
    )
    said = " ".join(done.stdout.split())
    assert "Proven best of the 1 accepted" in said
    assert "Refused: 2: price is not in the catalog (2: H100, A100)." in said


def test_pareto_prints_and_draws_what_nothing_beats(run, tmp_path):
    file = tmp_path / "front.png"
    words = ("pareto", "train", *TRAIN, "--minimize", "step_time", "--minimize", "total_memory")
    found = json.loads(run(*words, "--json").stdout)["designs"]
    points = [tuple(design["objectives"][name]["value"] for name in ("step_time", "total_memory")) for design in found]
    assert points == sorted(points)
    assert [memory for _, memory in points] == sorted({memory for _, memory in points}, reverse=True)
    done = run(*words, "--plot", str(file))
    assert done.stdout.endswith(f"Written: {file}\n")
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sweep", "memroy", *SMALL), "unknown question 'memroy': did you mean memory?"),
        (("sweep", "memory", *LLAMA, "batch_size=8"), "arguments='model=Llama3_8B hardware=H100 dp_size=8 batch_size=8'"
         ": each has one value; give one of them several values, as in batch_size=1:8; for one point there is "
         "mlsysim memory"),
        (("sweep", "memory", *SMALL, "--plot", "map.txt"), "--plot 'map.txt': must end in .png, .pdf or .svg"),
        (("sweep", "memory", *SMALL, "--plot", "map.png", "--theme", "drak"),
         "unknown theme 'drak': did you mean dark"),
        (("sweep", "memory", *SMALL, "--output", "grid.xls"), "--output 'grid.xls': must end in .nc, .zarr or .csv"),
        (("sweep", "memory", *SMALL, "--output", "nowhere/grid.nc"),
         "--output 'nowhere/grid.nc': must be in a folder that exists"),
        (("sweep", "memory", *SMALL, "--refused", "no"), "--refused 'no': must be 'raise' or 'mask'"),
        (("sweep", "memory", *SMALL, "--outputs", "total"), "unknown output of TrainingMemoryModel 'total': did you "
         "mean total_memory?"),
        (("sweep", "memory", *LLAMA, "batch_size=1:18000", "seq_len=1:10000"), "axes=('batch_size', 'seq_len'): a "
         "grid in memory has at most 100,000,000 points; this one has 180,000,000; name a file: --output sweep.zarr"),
        (("sweep", "memory", *GRID, "pp_size=1,2", "--plot", "a.png"), "--plot 'batch_size, zero_stage, tp_size, "
         "pp_size': a figure shows one or two axes, and one of at most 6 values as panels; give one value of the "
         "others, as in pp_size=..."),
        (("sweep", "memory", *LLAMA, "batch_size=8,16", "sequence_parallel=true", "--variant", "first_order"),
         "sequence_parallel=True: the "
         "variant first_order does not use it; --variant korthikanti or per_operator does"),
        (("sweep", "serve", "variant=chunked", "request_rate=1,2"), "use --variant chunked"),
        (("search", "memory", *SMALL), "a search needs an objective: give --minimize ... or --maximize ..., an "),
        (("search", "memory", *SMALL, "--minimize", "total_memry"), "unknown input or output of TrainingMemoryModel "
         "'total_memry': did you mean total_memory?"),
        (("search", "memory", *SMALL, "--minimize", "total_memory", "--method", "fast"),
         "--method 'fast': must be one of auto, bounds, dense"),
        (("search", "memory", *SMALL, "--minimize", "total_memory", "--top", "0"),
         "--top 0: must be a whole number from 1 to 10,000"),
        (("search", "memory", *SMALL, "--minimize", "total_memory", "--method", "bounds", "--checkpoint", "a"),
         "--method 'bounds': a checkpoint or a cluster is for streaming; use --method dense"),
        (("search", "memory", *SMALL, "--minimize", "total_memory", "--subject-to", "total_memory <= 3 s"),
         "--subject-to 'total_memory <= 3 s': s is not a unit of GB"),
        (("pareto", "memory", *SMALL, "--minimize", "total_memory"), "--minimize ['total_memory']: takes at least two "
         "objectives together with maximize; use mlsysim search"),
        (("pareto", "memory", *SMALL, "--minimize", "2 * total_memory", "--minimize", "weights", "--plot", "a.png"),
         "--plot 'a.png': a front is drawn of two objectives that are outputs by name"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_on_stderr_and_code_2(run, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.usefixtures("interruptible")
def test_interrupted_a_grid_on_disk_goes_on_where_it_stopped(tmp_path):
    """A real interrupt, as Ctrl-C gives it, once blocks are finished."""
    file, note = tmp_path / "grid.zarr", tmp_path / "grid.zarr.progress"
    words = [sys.executable, "-m", "mlsysim", "sweep", "memory", *LLAMA[:2], "batch_size=1:9000", "tp_size=1,2,4,8",
             "zero_stage=0,1,2,3", "dp_size=1:400", "--refused", "mask", "--outputs", "total_memory",
             "--output", str(file)]  # fmt: skip

    def finished():
        """Lines of the note behind its head, one of each block."""
        return note.read_text(encoding="utf-8").splitlines()[1:] if note.exists() else []

    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as running:
        until = time.monotonic() + 60
        while not finished() and running.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "blocks are finished in" in said
    assert "the same command goes on from there" in said
    before = finished()
    again = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert again.returncode == 0, again.stderr
    assert before
    assert finished()[: len(before)] == before
    assert len(finished()) > len(before)
    with xarray.open_zarr(file, consolidated=False) as found:
        point = {"batch_size": 2999, "tp_size": 2, "zero_stage": 1, "dp_size": 398}
        one = TrainingMemoryModel.asked().solve("Llama3_8B", "H100", **point)
        assert float(found.total_memory.sel(point)) == pytest.approx(one.total_memory.to("GB").magnitude, rel=1e-12)
        assert not bool(found.total_memory.isnull().any())


def test_an_interrupt_without_a_file_says_no_more(run, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainingMemoryModel, "sweep", stop)
    done = run("sweep", "memory", *SMALL)
    assert done.exit_code == 130
    assert done.output == "interrupted\n"


@pytest.mark.parametrize("verb", grids.VERBS)
def test_help_spells_the_values_and_imports_nothing_heavy(process, verb):
    code = (
        "import sys; sys.argv = ['mlsysim', sys.argv[1], '--help']\nfrom mlsysim.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([name for name in ('sympy', 'jax', 'xarray', 'pint', 'numpy', 'matplotlib') if name in sys.modules])"
    )
    done = process("-c", code, verb)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("[]\n")
    assert f"mlsysim {verb} " in done.stdout
    assert 'layout="tp_size=1,2,4; pp_size=8,4,2"' in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("option", ["--output", "--plot"])
def test_a_folder_in_place_of_a_file_is_refused_before_anything_is_computed(run, tmp_path, option, monkeypatch):
    folder = tmp_path / ("grid.csv" if option == "--output" else "map.png")
    folder.mkdir()
    monkeypatch.setattr(TrainingMemoryModel, "sweep", None)
    done = run("sweep", "memory", *SMALL, "--refused", "mask", option, str(folder))
    assert done.exit_code == 2
    assert done.stderr == f"error: {option} {str(folder)!r}: is a folder; name a file\n"


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("before", [None, "kept"])
def test_a_file_that_cannot_be_written_whole_is_named_and_left_as_it_was(run, tmp_path, monkeypatch, before):
    def half(ds, file):
        file.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(grids, "write_csv", half)
    file = tmp_path / "grid.csv"
    if before:
        file.write_text(before)
    done = run("sweep", "memory", *SMALL, "--refused", "mask", "--output", str(file))
    assert done.exit_code == 2
    assert f"error: {str(file)!r}: cannot be written: No space left on device; " in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == [before] * bool(before)


def test_an_output_where_nothing_can_be_created_is_said(run):
    done = run("sweep", "memory", *SMALL, "--refused", "mask", "--output", "/proc/x.nc")
    assert (done.exit_code, "cannot be created in '/proc'" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "ep", "--recipe", "torchtitan_issue_1624", "--ep-size", "1,2"),
        ("sweep", "ep", "--recipe=torchtitan_issue_1624", "ep_size=1,2"),
    ],
)
def test_an_argument_typed_as_an_option_is_shown_as_a_word(run, words):
    found = run(*words)
    assert found.exit_code == 2
    assert "`mlsysim sweep ep recipe=torchtitan_issue_1624 ep_size=1,2`" in found.stderr
    assert "No such option: --minimise" in run("sweep", "ep", "--minimise", "x").stderr


@pytest.mark.parametrize(("file", "package"), [("map.nc", "h5netcdf"), ("map.zarr", "zarr"), ("map.nc", "filelock")])
def test_a_store_without_its_package_is_refused_before_anything_is_loaded(run, monkeypatch, file, package):
    monkeypatch.setattr("mlsysim.extras.installed", lambda name: name != package)
    monkeypatch.setattr("mlsysim.models.registry.Registry.model", lambda *words: pytest.fail("loads a model"))
    done = run("sweep", "memory", "model=Llama3_8B", "hardware=H100", "batch_size=1:8", "--output", file)
    assert done.exit_code == 2
    assert done.stderr == (
        f'error: --output {file} needs {package}: pip install -e ".[store]" in the folder of mlsysim\n'
    )


def test_every_output_that_is_named_is_printed(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["total_memory", "weights", "gradients", "optimizer_state", "activations", "memory_utilization", "feasible"]
    words = ("memory", "model=Llama3_8B", "hardware=A100,H100", "batch_size=8", "zero_stage=0,1")
    lines = run("sweep", *words, "--outputs", ",".join(names)).stdout.splitlines()
    table = lines[: next(at for at, line in enumerate(lines) if line.startswith("Stack"))]
    assert max(map(len, table)) <= 80
    assert not any("Also computed" in line for line in lines)
    assert [line.split()[:2] for line in table].count(["A100", "0"]) == 2
    assert all(name in "".join(table) or name.partition("_")[0] in "".join(table) for name in names)
    assert "Also computed" in run("sweep", *words).stdout
