"""``mlsysim plan``: layouts of a deployment and of a training run from a shell."""

from __future__ import annotations

import json

import pytest

SERVE = ("model=Llama3_1_8B", "hardware=H100", "request_rate=10", "isl=1024", "osl=256", "ttft_slo=1 s",
         "tpot_slo=30 ms", "tp_size=1,2", "max_num_seqs=64,256")  # fmt: skip
TRAIN = ("train", "model=Llama3_8B", "hardware=H100", "--accelerators", "8", "batch_size=64", "seq_len=8192")


def test_a_deployment(run):
    done = run("plan", *SERVE, "--accelerators", "2", "--modes", "chunked,pools", "--show", "2")
    assert done.exit_code == 0
    assert "Llama 3.1 8B on up to 2 NVIDIA H100" in done.stdout
    assert "Layout 2" in done.stdout
    assert "vllm serve meta-llama/Llama-3.1-8B" in done.stdout
    assert "Proven best of" in done.stdout
    assert "\nStack    vLLM" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_a_training_run_in_json(run):
    done = run("plan", *TRAIN, "--framework", "torchtitan", "--json", "--top", "2")
    said = json.loads(done.stdout)
    assert len(said["layouts"]) == 2
    assert said["certificates"]["training"]["proven"]
    (command,) = said["layouts"][0]["commands"]["torchtitan"]
    assert "--training.global_batch_size 64" in command
    assert said["basis"]["expected_errors"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trian", *SERVE), "unknown question of plan 'trian': did you mean train?"),
        ((*SERVE, "--engine", "vlm"), "unknown engine 'vlm': did you mean vllm?"),
        ((*SERVE, "--modes", "chunky"), "unknown mode of plan 'chunky': did you mean chunked?"),
        ((*SERVE, "--framework", "torchtitan"), "--framework: an option of `mlsysim plan train`"),
        ((*TRAIN, "--engine", "vllm"), "--engine: an option of `mlsysim plan serve`"),
        (
            ("train", "model=Llama3_8B", "hardware=H100", "batch_size=64", "seq_len=8192"),
            "plan needs --accelerators: give how many",
        ),
        (SERVE[:1], "plan needs hardware"),
        ((*SERVE, "--accelerators", "0"), "--accelerators 0: must be a whole number of at least 1"),
        (("model=Llama3_1_9B", *SERVE[1:]), "Llama3_1_8B"),
        ((*SERVE, "--accelerators", "1", "--modes", "chunked", "--show", "9"), "--show 9: must be a layout"),
    ],
)
def test_bad_input(run, words, said):
    done = run("plan", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
