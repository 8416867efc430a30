"""Ids of the Hugging Face Hub are models where the local cache has their file, and nothing is downloaded."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from mlsysim import TrainingMemoryModel
from mlsysim.catalog import builtin
from mlsysim.cli import app
from mlsysim.errors import UnknownNameError

SHAPE = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
NAME = "acme/Tiny-8B"
OFFLINE = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("a request")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from mlsysim.errors import UnknownNameError
from mlsysim.catalog import builtin
print(int(builtin().find("model", "acme/Tiny-8B").layers.value))
print(int(builtin().find("model", "acme/Tiny-8B@old").layers.value))
try:
    builtin().find("model", "acme/Tiny-9B")
except UnknownNameError as error:
    print(error)
"""


def cache(folder, layers, *, revision, commit):
    """Lay a file of a model into a cache as the Hub's library does."""
    repository = folder / "hub" / "models--acme--Tiny-8B"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir(exist_ok=True)
    (repository / "refs" / revision).write_text(commit)
    (snapshot / "config.json").write_text(json.dumps({**SHAPE, "num_hidden_layers": layers}))
    return snapshot / "config.json"


@pytest.fixture
def library(monkeypatch, tmp_path):
    """A stand-in of ``huggingface_hub`` whose cache has one model."""
    file = cache(tmp_path, 32, revision="main", commit="abc")

    def lookup(name, file_name, revision=None):
        if ".." in name:
            raise ValueError("no repository has such a name")
        return str(file) if (name, file_name, revision) == (NAME, "config.json", None) else None

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(try_to_load_from_cache=lookup))
    return file


def test_a_cached_model_is_that_of_its_file(library):
    asked = TrainingMemoryModel("per_operator")
    by_id, by_file = (asked.solve(model=name, hardware="H100", batch_size=1) for name in (NAME, str(library)))
    assert by_id.total_memory == by_file.total_memory
    assert by_id.entries["model"].name == NAME


def test_in_a_shell(library):
    run = CliRunner()
    words = ["--model", NAME, "--hardware", "H100", "--batch-size", "1"]
    done = run.invoke(app, ["memory", *words], prog_name="mlsysim")
    assert (done.exit_code, NAME in done.stdout) == (0, True), done.output
    done = run.invoke(app, ["what-fits", NAME, "H100"], prog_name="mlsysim")
    assert (done.exit_code, NAME in done.stdout) == (0, True), done.output
    done = run.invoke(app, ["what-fits", "acme/Llama3-8B", "H100"], prog_name="mlsysim")
    assert done.exit_code == 2
    assert "did you mean Llama3_8B" in done.stderr
    assert "hf download acme/Llama3-8B config.json" in done.stderr


@pytest.mark.parametrize("name", ["acme/Tiny-8B@old", "a/b/c", "a..b/c", "../Tiny-8B", "acme/"])
def test_what_the_cache_has_not_is_unknown(library, name):
    with pytest.raises(UnknownNameError) as caught:
        builtin().find("model", name)
    assert ("hf download" in str(caught.value)) == (name in ("acme/Tiny-8B@old", "a..b/c"))


def test_without_the_library_the_error_says_how(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UnknownNameError) as caught:
        builtin().find("model", "meta-llama/Meta-Llama-3-8B")
    said = str(caught.value)
    assert "did you mean Llama3_8B" in said
    assert "pip install huggingface_hub" in said
    assert "give the path of a config.json" in said


def test_only_models_have_ids(library):
    with pytest.raises(UnknownNameError) as caught:
        builtin().find("hardware", NAME)
    assert "Hub" not in str(caught.value)


def test_the_library_itself_makes_no_request(tmp_path):
    pytest.importorskip("huggingface_hub")
    cache(tmp_path, 32, revision="main", commit="abc")
    cache(tmp_path, 16, revision="old", commit="def")
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub")},
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["32", "16"], done.stdout + done.stderr
    assert "unknown model 'acme/Tiny-9B'" in lines[2]
