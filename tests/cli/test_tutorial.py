import re

import pytest

from mlsysim import MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.cli import tutorial

ZERO = """\
Component      ZeRO 0    ZeRO 1    ZeRO 2    ZeRO 3
───────────────────────────────────────────────────
Weights      16.06 GB  16.06 GB  16.06 GB   2.01 GB
Gradients    16.06 GB  16.06 GB   2.01 GB   2.01 GB
Optimizer    96.36 GB  12.04 GB  12.04 GB  12.04 GB
Activations   2.68 GB   2.68 GB   2.68 GB   2.68 GB
Buffers      0.803 GB  0.803 GB  0.100 GB  0.100 GB
Total        132.0 GB  47.65 GB  32.90 GB  18.84 GB
"""


@pytest.fixture(scope="module")
def text(run):
    done = run("demo", "--full")
    assert done.exit_code == 0, done.output
    return done.stdout


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize("table", ["memory", "serving", "routing"])
def test_the_tables_of_the_tutorial_stand_there_verbatim(text, printed_in_the_tutorial, table):
    assert f"\n\n{printed_in_the_tutorial[table]}" in text


@pytest.mark.parametrize(
    ("model", "outputs"),
    [
        (TrainingMemoryModel, (*tutorial.COMPONENTS.values(), "feasible")),
        (
            ServingCapacityModel,
            ("required_replicas", "qps_capacity", "utilization", "estimated_p99_latency", "bottleneck"),
        ),
        (MoERoutingModel, ("effective_active_experts", "token_dispatch_bytes", "all_to_all_latency")),
    ],
)
def test_every_formula_behind_the_printed_numbers_follows(text, model, outputs):
    for formula in model().system.closure(outputs):
        assert f"\n{formula.title}  [{formula.source.text()}]\n" in text
        assert words(formula.text()) in words(text)


def test_explanations_put_numbers_in_and_name_what_bound(text):
    assert "\n  P_r = P/(t·p·e)\n      = 8.03e9/(1·1·1)\n      = 8.03e9\n" in text
    assert "case: Z ≥ 2  (Z = 2)" in text
    assert "binds: max batch size (B_max) = 16, the smallest" in text
    assert "binds: k·γ = 4, the smallest; experts (E) = 8" in text


def test_the_row_that_is_explained_is_named(text):
    assert "\nFormulas of the row with imbalance 2.00, with the numbers put in\n" in text
    assert re.search(r"\n  γ +2\.00 +routing_imbalance_factor ", text)


def test_zero_stages_and_what_shrinks(text):
    assert f"\n{ZERO}\n" in text
    assert "Shrinking: Optimizer, Total from stage 1; Gradients, Buffers from stage 2; Weights from stage 3." in words(
        text
    )
    assert "Unchanged: Activations." in text


def test_the_sentence_on_zero_follows_the_numbers(monkeypatch, capsys):
    monkeypatch.setitem(TrainingMemoryModel.example, "optimizer", "none")
    tutorial.zero_stages()
    said = words(capsys.readouterr().out)
    assert "Shrinking: Gradients, Buffers, Total from stage 2; Weights from stage 3." in said
    assert "Unchanged: Optimizer, Activations." in said


def test_twice_the_output_tokens(text):
    exercise = text.partition("Exercise: 64 output tokens become 128")[2]
    solved = [
        ServingCapacityModel().solve(**{**ServingCapacityModel.example, "output_tokens": n}) for n in (64, 128, 256)
    ]
    rows = {line[:17].rstrip(): line[17:].split("  ") for line in exercise.splitlines()[3:11]}
    rows = {label: [cell.strip() for cell in cells if cell.strip()] for label, cells in rows.items()}
    pair = solved[:2]
    assert rows["Required replicas"] == [str(r.required_replicas) for r in pair]
    assert rows["Capacity"] == [f"{r.qps_capacity:.1f} QPS" for r in pair]
    assert rows["Utilization"] == [f"{r.utilization:.1%}" for r in pair]
    assert rows["Base latency"] == [f"{r.base_request_latency:~.1f}" for r in pair]
    assert rows["Queue wait, P99"] == [f"{r.queue_wait_p99:~.1f}" for r in pair]
    assert rows["Estimated P99"] == [f"{r.estimated_p99_latency:~.1f}" for r in pair]
    assert rows["Bottleneck"] == [r.bottleneck for r in pair]
    assert (
        f"At 256 tokens (base latency {solved[2].base_request_latency:~.1f}) no number of replicas up to 1024 meets "
        "the target of 2000 ms; the bottleneck is Base Latency." in words(exercise)
    )


def test_what_one_replica_would_do_is_computed(text):
    one = ServingCapacityModel().solve(**{**ServingCapacityModel.example, "output_tokens": 128, "max_replicas": 1})
    assert (
        f"With 1 replica the utilization at 128 tokens is {one.utilization:.1%} and 99% wait less than "
        f"{one.queue_wait_p99:~.1f}: a P99 of {one.estimated_p99_latency:~.1f}, above the target" in words(text)
    )


def test_replicas_by_load_are_those_of_a_scan(text):
    for line in text.partition("By load:")[2].splitlines()[4 : 4 + len(tutorial.LOADS)]:
        load, *replicas, ratio = line.split()
        for tokens, replica in zip((64, 128), replicas, strict=True):
            arguments = {**ServingCapacityModel.example, "qps": int(load), "output_tokens": tokens}
            fits = [ServingCapacityModel().solve(**arguments, max_replicas=n).feasible for n in range(1, 17)]
            assert int(replica) == fits.index(True) + 1
        assert ratio == f"{int(replicas[1]) / int(replicas[0]):.2f}"


def test_what_happens_past_the_target_is_said_from_the_numbers(monkeypatch, capsys):
    monkeypatch.setitem(ServingCapacityModel.example, "output_tokens", 128)
    tutorial.more_output_tokens()
    said = words(capsys.readouterr().out)
    assert "Exercise: 128 output tokens become 256" in said
    assert "At 256 tokens (base latency 2258.9 ms) no number of replicas up to 1024" in said


def test_the_note_on_what_is_left_out_is_that_of_the_formulas(text):
    note = words(text.partition("What the first-order form leaves out")[2])
    for model, name in tutorial.LEFT_OUT:
        assert words(model().system[name].assumes) in note
    assert {"activations", "per_replica_qps_capacity"} <= {name for _, name in tutorial.LEFT_OUT}


def test_it_fits_a_hundred_columns_and_is_plain_when_piped(text):
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
