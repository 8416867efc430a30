"""Every help fits 80 columns, and every command that a help shows gives an answer."""

import re
import shlex

import pytest
import typer
from typer.testing import CliRunner

from mlsysim.cli import app
from mlsysim.models.registry import Registry

COLUMNS = 80
VERBS = tuple(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
QUESTIONS = tuple(listed.words for models in Registry().commands.values() for listed in models)
HELPS = {
    "verbs": [("--help",), *((verb, "--help") for verb in VERBS)],
    "questions": [(*words.split(), "--help") for words in QUESTIONS],
    "every option": [(*words.split(), "--help-all") for words in QUESTIONS],
}
#: Verbs whose examples search, simulate or draw for seconds.
SLOW = ("sweep", "search", "pareto", "solve-for", "sensitivity", "simulate", "plan", "verify", "post-train")
QUICK = [words for words in (*VERBS, *QUESTIONS) if words not in (*SLOW, "demo", "book")]
#: Tables that examples read.
TABLES = {
    "measured.csv": "decode_requests,context_tokens,iteration_time [ms]\n"
    "8,1024,7.5\n32,1024,8.6\n64,2048,12.4\n128,2048,16.9\n",
    "AzureLLMInferenceTrace_code.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    + "".join(f"2023-11-16 18:17:{second:02}.0000000,{800 + 40 * second},{20 + second}\n" for second in range(60)),
}


def answered(words):
    return CliRunner().invoke(app, list(words), prog_name="mlsysim", env={"COLUMNS": str(COLUMNS)})


def examples(words):
    """The commands that the help of a command shows."""
    text = re.sub(r"\\\n\s*", "", answered([*words.split(), "--help"]).stdout)
    return [line for line in re.findall(r"(?m)^  (mlsysim .*)$", text) if not line.endswith("--help")]


@pytest.mark.long(quick=len(HELPS))
@pytest.mark.parametrize("helps", HELPS.values(), ids=HELPS)
def test_help_fits(helps):
    for words in helps:
        lines = answered(words).stdout.splitlines()
        assert len(lines) > 5, words
        assert not [line for line in lines if len(line) > COLUMNS], words


@pytest.mark.long(quick=len(QUICK))
@pytest.mark.parametrize("words", [*QUICK, *SLOW])
def test_an_example_of_a_help_gives_an_answer(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in TABLES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    shown = examples(words)
    assert shown or words in ("formula", "catalog", "calculator")
    for line in shown:
        done = answered(shlex.split(line)[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
        assert not re.match(r"no \w+ holds", done.stdout), f"{line}\n{done.stdout}"
