"""``mlsysim uncertainty`` says what the library says."""

import json

import pytest

from mlsysim import KernelModel

WORDS = (
    "kernel",
    "hardware=H100",
    "stack=cuBLAS_H100",
    "product_rows=4096",
    "product_columns=8192",
    "product_inner=8192",
)
DRAWN = (*WORDS, "memory_efficiency=uniform(0.85, 0.95)", "flop_energy=catalog")


def test_it_prints_what_the_library_prints(run):
    done = run(
        "uncertainty", *DRAWN, "--output", "kernel_time,kernel_bottleneck", "--probability", "kernel_time < 1 ms"
    )
    assert done.exit_code == 0, done.output
    given = dict(word.split("=") for word in WORDS[1:])
    given |= {name: int(given[name]) for name in given if name.startswith("product")}
    found = KernelModel().uncertainty(
        ["kernel_time", "kernel_bottleneck"],
        distributions={"memory_efficiency": "uniform(0.85, 0.95)", "flop_energy": "catalog"},
        conditions="kernel_time < 1 ms",
        **given,
    )
    assert done.stdout.startswith(f"{found}\nStack    ")
    assert "varied: memory_efficiency; " in done.stdout


def test_json_and_all_ranges(run):
    done = run("uncertainty", *WORDS, "--ranges", "--json", "--samples", "64")
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)["distributions"]) == {"flop_energy", "launch_time"}


def test_a_grid_is_a_table(run):
    done = run("uncertainty", *DRAWN, "batch_size=1,2")
    assert done.exit_code == 2
    done = run(
        "uncertainty", *(word for word in DRAWN if "rows" not in word), "product_rows=128,256", "--samples", "64"
    )
    assert done.exit_code == 0, done.output
    assert "6 points: quantile 3 x product_rows 2" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (WORDS, "no argument has a distribution"),
        ((*WORDS, "efficiency=unifrm(1, 2)"), "did you mean uniform"),
        ((*WORDS, "eficiency=uniform(0, 1)"), "did you mean efficiency"),
        ((*WORDS, "efficiency=normal(5, 1)"), "efficiency='normal(5, 1)': lies mostly outside"),
        ((*DRAWN, "--samples", "3"), "--samples 3: must be a whole number"),
        ((*DRAWN, "--quantiles", "a"), "--quantiles ['a']: must be numbers"),
        ((*DRAWN, "--probability", "kernel_time"), "--probability"),
        ((*DRAWN, "--ranges"), "takes every range"),
        ((*WORDS, "hardware=choice(A100, H101)"), "did you mean H100"),
    ],
)
def test_refused(run, words, said):
    done = run("uncertainty", *words)
    assert done.exit_code == 2
    assert said in done.output


def test_shares_and_labels_beside_an_axis_of_quantiles_are_summarised(run):
    """Of a grid that is too large for a row per point."""
    given = ["model=Llama3_8B", "hardware=H100", "seq_len=1000:1300", "batch_size=uniform(8, 9)"]
    found = run("uncertainty", "memory", *given, "--samples", "16")
    assert found.exit_code == 0, found.stderr
    assert "total_memory" in found.stdout
