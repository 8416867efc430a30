"""Options that messages name: each is one of the command that prints the message."""

import ast
import json
import re
from pathlib import Path

import pytest
import typer

import mlsysim
from mlsysim.cli.app import app
from mlsysim.cli.question import question_command
from mlsysim.models.registry import Registry

SOURCE = Path(mlsysim.__file__).parent
VERBS = (
    "calibrate", "compare", "plan", "sensitivity", "simulate", "solve_for", "uncertainty", "verify", "what_fits",
)  # fmt: skip


def options(command):
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help", "--with"}


@pytest.fixture(scope="module")
def commands():
    registry, group = Registry(), typer.main.get_command(app)
    asked = {listed.words: question_command(listed, registry) for each in registry.commands.values() for listed in each}
    found = {name: options(command) for name, command in {**asked, **group.commands}.items()}
    return {**found, "mlsysim": options(group)}


def texts(file):
    """Texts of a module that are no docstring: what it may print."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    homes = [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef) and n.body]
    docs = {id(node.body[0].value) for node in homes if isinstance(node.body[0], ast.Expr)}
    return [
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docs
    ]


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_every_option_in_a_text_exists(file, commands):
    """A module of one verb names options of that verb, and of the commands whose answers it names."""
    verb = next((each for each in VERBS if file.stem.removesuffix("_answer") == each and "verbs" in file.parts), None)
    own = [verb.replace("_", "-")] if verb else [*commands]
    for text in texts(file):
        quoted = {name for name in commands if f"mlsysim {name}" in text}
        known = {option for name in {*own, *quoted, "mlsysim"} for option in commands[name]}
        # Any option, and the stack that calibrate has saved, which other commands take.
        placeholders = {"--name"} if "--name value" in text else {"--stack"} if verb == "calibrate" else set()
        named = {*re.findall(r"(?<![\w-])--[a-z][a-z-]*(?![\w-])", text)}
        assert named <= known | placeholders, text


@pytest.fixture
def shape(tmp_path):
    """A config.json with a field that is not known."""
    file = tmp_path / "config.json"
    known = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
             "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "hidden_act": "silu",
             "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False}  # fmt: skip
    file.write_text(json.dumps({**known, "mystery": 3, "more": [1]}))
    return file


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "--model", "{}", "--hardware", "H100", "--batch-size", "8"],
        ["sweep", "memory", "model={}", "hardware=H100", "batch_size=1,2"],
        ["search", "memory", "model={}", "hardware=H100", "batch_size=1,2", "--minimize", "weights"],
        ["pareto", "memory", "model={}", "hardware=H100", "batch_size=1,2", "--minimize", "weights"],
        ["solve-for", "memory", "batch_size", "model={}", "hardware=H100", "total_memory=80 GB"],
        ["sensitivity", "memory", "total_memory", "model={}", "hardware=H100", "batch_size=8"],
        ["compare", "memory", "model={}", "hardware=H100", "batch_size=1,2"],
        ["simulate", "serve", "model={}", "hardware=H100", "request_rate=1", "--requests", "10"],
        ["uncertainty", "memory", "model={}", "hardware=H100", "batch_size=8", "--ranges", "seq_len=1000:2000"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_fields_of_a_config_that_are_refused_can_be_ignored(run, shape, words):
    """The option that the message names is one of the command, and does what it says."""
    typed = [word.format(shape) for word in words]
    refused = run(*typed)
    assert refused.exit_code == 2
    assert refused.stderr.rstrip().endswith("where not, give --ignore mystery,more")
    assert "--ignore" not in run(*typed, "--ignore", "mystery,more").stderr
