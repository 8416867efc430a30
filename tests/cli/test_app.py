import os
import subprocess
import sys

import pytest
from fuzz import rest_long

import mlsysim
from mlsysim.cli import demo
from mlsysim.cli.app import app
from mlsysim.cli.exits import EXIT_CODES, Exit

HEAVY = "sympy", "jax", "xarray", "pint", "matplotlib", "numpy", "pydantic"
PROBE = """
import sys
sys.argv = ["mlsysim", *{words!r}.split()]
from mlsysim.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("heavy:", [name for name in {heavy!r} if name in sys.modules])
"""
FITS = "memory --model Llama3_8B --hardware H100 --batch-size 8 --dp-size 8 --zero-stage 2"
TOO_LARGE = "memory --model Llama3_70B --hardware H100 --batch-size 8"


LIGHT = {
    "--help": "Commands:",
    "--version": mlsysim.__version__,
    "memory --help": "--batch-size",
    "serve --variant first_order --help-all": "--target-p99-latency-ms",
    "sweep --help": "NAME=VALUES",
    "sweep memory --help": "NAME=VALUES",
}


@pytest.mark.parametrize(("words", "said"), LIGHT.items())
def test_help_and_version_import_nothing_heavy(process, words, said):
    heavy = [name for name in HEAVY if name != "pydantic" or len(words.split()) == 1]  # typer parses options with it
    done = process("-c", PROBE.format(words=words, heavy=heavy))
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert done.stdout.endswith("heavy: []\n")


def test_the_probe_sees_what_a_command_imports(process):
    """Guards the test above: the names it looks for are those a command does import."""
    done = process("-c", PROBE.format(words=FITS, heavy=HEAVY))
    assert "heavy: ['sympy', 'numpy', 'pydantic']" in done.stdout, done.stdout + done.stderr


def test_help_names_every_command_and_the_exit_codes(run):
    done = run("--help")
    assert done.exit_code == 0
    names = "memory serve moe train cost offload formula catalog book calculator demo"
    for name in names.split():
        assert f"\n  {name} " in done.stdout
    said = " ".join(done.stdout.split())
    assert said.endswith(f"Exit codes: {EXIT_CODES}.")


EXITS = [
    (f"{TOO_LARGE} --strict", 3, ""),
    (FITS, 0, ""),
    (TOO_LARGE, 0, ""),
    (f"{FITS} --tp-size 3", 2, "error: --tp-size 3: must divide heads=32; nearest: 2, 4\n"),
]
NAMES = ["strict", "feasible", "infeasible", "refused"]


@pytest.mark.parametrize(("words", "code", "said"), EXITS, ids=NAMES)
def test_exit_codes(run, words, code, said):
    done = run(*words.split())
    assert (done.exit_code, done.stderr) == (code, said)
    assert bool(done.stdout) == (code != 2)
    assert "\x1b" not in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(("words", "code", "said"), rest_long(EXITS, quick=1), ids=NAMES)
def test_exit_codes_of_a_process(process, words, code, said):
    done = process("-m", "mlsysim", *words.split())
    assert done.returncode == code, done.stderr
    assert done.stderr == said
    assert bool(done.stdout) == (code != 2)
    assert "\x1b" not in done.stdout


@pytest.mark.long
def test_an_ascii_terminal_is_no_error(process):
    done = process("-m", "mlsysim", "formula", "prefill_flops", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert r"\u03a6_pre" in done.stdout


def test_a_closed_pipe_is_quiet():
    with subprocess.Popen(
        [sys.executable, "-m", "mlsysim", "catalog"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
    ) as reader:
        reader.stdout.close()
        assert reader.stderr.read() == b""
        reader.wait(30)
    assert reader.returncode == Exit.UNREAD


def test_interrupting_ends_with_130(run, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupt)
    done = run("demo")
    assert done.exit_code == 130
    assert done.output == "interrupted\n"


def test_a_fault_of_ours_is_not_dressed_up_as_bad_input(run, monkeypatch):
    def fail():
        raise RuntimeError("a fault")

    monkeypatch.setattr(demo, "run", fail)
    assert isinstance(run("demo").exception, RuntimeError)


def test_an_unknown_command_gets_a_suggestion(run):
    done = run("memroy")
    assert done.exit_code == 2
    assert "No such command 'memroy'. Did you mean 'memory'" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("mlsysim mem", {"memory"}),
        ("mlsysim memory --hardware A100", {"A100", "A100_40GB"}),
        ("mlsysim moe --model Mix", {"Mixtral_8x7B", "Mixtral_8x22B"}),
        ("mlsysim offload --design Integrated_", {"Integrated_CPU_Links", "Integrated_GPU_Links"}),
        ("mlsysim offload --policy zero", {"zero_offload", "zero_infinity"}),
        (
            "mlsysim train --recipe Megatron_DeepSeek_V3_GB300",
            {f"Megatron_DeepSeek_V3_GB300_{x}" for x in ("bf16", "fp8")},
        ),
        ("mlsysim memory --precision fp", {"fp32", "fp16", "fp8", "fp8_deepseek"}),
        ("mlsysim memory --sequence-parallel t", {"true"}),
        ("mlsysim memory --selective-policy a", {"alternate_matmuls"}),
        ("mlsysim serve --max-", {"--max-num-seqs", "--max-num-batched-tokens", "--max-loras"}),
        ("mlsysim serve --variant first_order --max-", {"--max-batch-size", "--max-replicas"}),
        ("mlsysim sweep memory lora_", {"lora_rank=", "lora_target_modules="}),
        ("mlsysim sweep memory hardware=H100,A100", {"hardware=H100,A100", "hardware=H100,A100_40GB"}),
        ("mlsysim search train optimizer=adam_", {f"optimizer=adam_{x}" for x in ("fp32", "8bit", "bf16")}),
    ],
)
def test_completion(monkeypatch, capsys, words, offered):
    monkeypatch.setenv("_MLSYSIM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        app(prog_name="mlsysim", args=[])
    assert set(capsys.readouterr().out.split()) == offered
