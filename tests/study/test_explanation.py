"""Explanations: the formula, the numbers put in, the value, and which branch bound."""

import re
import subprocess
import sys

import pytest

from mlsysim import DistributedModel, MoERoutingModel, ServingCapacityModel, TrainingMemoryModel
from mlsysim.errors import MissingInputError, UnknownNameError


def memory(**given):
    return TrainingMemoryModel().solve("Llama3_8B", "H100", **{"batch_size": 8, **given})


def serving(model="Llama3_8B", **given):
    typed = {"qps": 20, "target_p99_latency_ms": 4000, **given}
    return ServingCapacityModel().solve(model, "H100", **typed)


def routing(**given):
    return MoERoutingModel().solve("Mixtral_8x7B", "Research_256", **{"batch_size": 4, "ep_size": 8, **given})


def lines(result, name):
    """The step of one variable: title and source, then everything after it on one line."""
    explanation = result.explain()
    step = explanation.steps()[[formula.name for formula in explanation.system].index(name)]
    title, *body = step.splitlines()
    formula = result.model.system[name]
    assert title == f"{formula.title}  [{formula.source.text()}]"
    return " ".join(" ".join(body).split())


EXACT = [
    (memory(), "parameters_per_rank", "P_r = P/(t·p·e) = 8.03e9/(1·1·1) = 8.03e9"),
    (
        memory(dp_size=8, zero_stage=3),
        "weights",
        "W = q·P_r/{d if Z ≥ 3; 1 otherwise} = 2.00 B·8.03e9/8 = 2.01 GB case: Z ≥ 3 (Z = 3)",
    ),
    (
        memory(dp_size=8, zero_stage=2),
        "weights",
        "W = q·P_r/{d if Z ≥ 3; 1 otherwise} = 2.00 B·8.03e9 = 16.06 GB case: otherwise (Z = 2)",
    ),
    (
        memory(optimizer="sgd"),
        "optimizer_bytes",
        "o = {12 if optimizer in {adam, adam_fp32, adamw}; 1537/256 if optimizer = adam_8bit; "
        "8 if optimizer in {adam_bf16, muon}; 4 if optimizer in {adafactor, sgd}; 0 otherwise} = 4.00 B "
        "case: optimizer in {adafactor, sgd} (optimizer = sgd)",
    ),
    (memory(batch_size=9, dp_size=8), "local_micro_batch", "m = ⌈b/(d·g)⌉ = ⌈9/(8·1)⌉ = 2"),
    (
        memory(dp_size=8, zero_stage=2),
        "total_memory",
        "M = W + G + O + A + C = 16.06 GB + 2.01 GB + 12.04 GB + 2.68 GB + 0.100 GB = 32.90 GB",
    ),
    (memory(), "feasible", "feasible = M ≤ M_cap = 150.8 GB ≤ 85.52 GB = False"),
    (
        serving(),
        "required_replicas",
        "c_req = min{n ≤ c_max : λ < n·μ and T_base + (c_v² + 1)·max(0, ln(100·C(n, Λ)))/(2·(n·μ − λ)) ≤ T*} "
        "= 1 n = 1 holds already",
    ),
    (
        serving(qps=30, target_p99_latency_ms=3300, max_replicas=1),
        "required_replicas",
        "c_req = min{n ≤ c_max : λ < n·μ and T_base + (c_v² + 1)·max(0, ln(100·C(n, Λ)))/(2·(n·μ − λ)) ≤ T*} "
        "= ∞ no n up to 1 holds: at 1 fails T_base + (c_v² + 1)·max(0, ln(100·C(n, Λ)))/(2·(n·μ − λ)) ≤ T*",
    ),
    (
        serving(qps=500, max_replicas=5),
        "replicas",
        "c = min(c_max, c_req) = min(5, ∞) = 5 binds: max replicas (c_max) = 5, the smallest; "
        "required replicas (c_req) = ∞",
    ),
    (
        serving(qps=500),
        "replicas",
        "c = min(c_max, c_req) = min(1024, 15) = 15 binds: required replicas (c_req) = 15, the smallest; "
        "max replicas (c_max) = 1024",
    ),
    (serving(), "estimated_p99_latency", "T_99 = T_base + W_99 = 3253.6 ms + 291.6 ms = 3545.1 ms"),
    (routing(), "link_bandwidth", "β = β_fab/κ = 12.50 GB/s/1.00 = 12.50 GB/s"),
    (
        routing(routing_imbalance_factor=1.25),
        "effective_active_experts",
        "k_eff = min(E, k·γ) = min(8, 2·1.25) = 2.50 binds: k·γ = 2.50, the smallest; experts (E) = 8",
    ),
    (
        routing(routing_imbalance_factor=10),
        "effective_active_experts",
        "k_eff = min(E, k·γ) = min(8, 2·10.00) = 8.00 binds: experts (E) = 8, the smallest; k·γ = 20",
    ),
]


@pytest.mark.parametrize(("result", "name", "text"), EXACT, ids=[f"{name}-{n}" for n, (_, name, _) in enumerate(EXACT)])
def test_a_step_in_full(result, name, text):
    assert lines(result, name) == text


class TestWhatBinds:
    """Each branch of each case distinction, Max, Min and least integer."""

    def test_the_batch_is_bound_by_its_maximum(self):
        text = lines(serving(), "active_batch_size")
        assert "binds: max batch size (B_max) = 32, the smallest; ⌊(M_cap − W_s)/κ_req⌋ = 258" in text
        assert "binds: min(B_max, ⌊(M_cap − W_s)/κ_req⌋) = 32, the largest; 0" in text

    def test_the_batch_is_bound_by_memory(self):
        text = lines(serving(max_batch_size=1000), "active_batch_size")
        assert "binds: ⌊(M_cap − W_s)/κ_req⌋ = 258, the smallest; max batch size (B_max) = 1000" in text

    def test_nothing_fits(self):
        text = lines(serving("GPT3_175B"), "active_batch_size")
        assert "= 0 request binds: 0, the largest; min(B_max, ⌊(M_cap − W_s)/κ_req⌋) = -28" in text
        assert "binds: ⌊(M_cap − W_s)/κ_req⌋ = -28, the smallest; max batch size (B_max) = 32" in text

    def test_latent_attention(self):
        assert "case: r_kv > 0 (r_kv = 512)" in lines(serving("DeepSeek_V3"), "kv_bytes_per_token")
        assert "case: otherwise (r_kv = 0)" in lines(serving(), "kv_bytes_per_token")

    def test_a_pipeline_has_buffers(self):
        assert lines(memory(pp_size=2), "communication_buffers").endswith("case: p > 1 (p = 2)")
        assert lines(memory(), "communication_buffers").endswith("case: otherwise (p = 1)")

    @pytest.mark.parametrize(
        ("label", "case"),
        [("none", "checkpointing = none"), ("selective", "checkpointing = selective"), ("full", "otherwise")],
    )
    def test_checkpointing(self, label, case):
        text = lines(memory(activation_checkpointing=label), "activation_bytes")
        assert text.endswith(f"case: {case} (checkpointing = {label})")

    def test_a_stable_queue_that_waits(self):
        text = lines(serving(qps=30), "queue_wait_p99")
        assert "case: λ < μ·c" in text
        assert "binds: ln(100·C(c, Λ)) = " in text
        assert ", the largest; 0" in text

    def test_a_stable_queue_that_hardly_waits(self):
        assert "binds: 0, the largest; ln(100·C(c, Λ)) = -" in lines(serving(qps=0.1), "queue_wait_p99")

    def test_an_unstable_queue(self):
        found = serving(qps=500, max_replicas=5)
        assert "= ∞ ms case: otherwise" in lines(found, "queue_wait_p99")
        assert "case: otherwise (ρ = 2.94)" in lines(found, "wait_probability")

    def test_the_least_number_of_replicas(self):
        text = lines(serving(qps=500), "required_replicas")
        assert "= 15 n = 15 holds; at n = 14 fails λ < n·μ" in text
        tail = lines(serving(qps=30, target_p99_latency_ms=3300), "required_replicas")
        assert "= 3 n = 3 holds; at n = 2 fails T_base + " in tail

    @pytest.mark.parametrize(
        ("found", "label", "case"),
        [
            (serving("GPT3_175B"), "Memory", "B_a < 1"),
            (serving(target_p99_latency_ms=100), "Base Latency", "T_base > T*"),
            (serving(), "Feasible", "c_max ≥ c_req"),
            (serving(qps=500, max_replicas=5), "Capacity", "λ ≥ c_max·μ"),
            (serving(qps=30, target_p99_latency_ms=3300, max_replicas=1), "Tail Latency", "otherwise"),
        ],
    )
    def test_the_bottleneck(self, found, label, case):
        assert f"= {label} case: {case} (" in lines(found, "bottleneck")


def test_inputs_stand_first_with_their_sources():
    explanation = memory(seq_len=4096).explain()
    text = str(explanation)
    assert text.startswith("Inputs\n")
    assert text == "\n\n".join(["Inputs\n" + explanation.given(), *explanation.steps()])
    found = [" ".join(line.split()) for line in explanation.given().splitlines()]
    assert "s 4096 token seq_len [given]" in found
    assert "d 1 dp_size [default]" in found
    assert "L 32 layers [paper: grattafiori2024, 2024-07]" in found
    assert any(line.startswith("M_cap 85.52 GB memory_capacity [reported: ") for line in found)


def test_inputs_no_formula_uses_are_left_out():
    assert " heads " not in memory().explain().given()
    assert " parameters " not in routing().explain().given()


def test_values_typed_into_a_workload_are_marked_as_the_callers():
    from mlsysim import SparseTransformerWorkload

    toy = SparseTransformerWorkload(
        name="toy",
        parameters=1e9,
        active_parameters=1e8,
        experts=8,
        active_experts_per_token=2,
        layers=2,
        hidden_dim=64,
        heads=2,
    )
    given = MoERoutingModel().solve(toy, batch_size=1).explain().given()
    assert "[given by the caller]" in given


def test_only_what_an_output_needs():
    explanation = memory().explain("weights", "activation_bytes")
    assert [formula.name for formula in explanation.system] == [
        "bytes_per_element",
        "parameters_per_rank",
        "weights",
        "activation_bytes",
    ]
    assert "seq_len" not in str(explanation)


@pytest.mark.parametrize(
    "result",
    [memory(), memory(pp_size=2), serving(), serving("GPT3_175B"), serving(qps=1e5), routing()],
    ids=["memory", "pipeline", "serving", "too big", "flooded", "routing"],
)
def test_every_formula_is_explained_and_no_line_is_long(result):
    explanation = result.explain()
    assert [formula.name for formula in explanation.system] == [
        formula.name for formula in result.model.formulas if formula.name in result.outputs
    ]
    assert len(explanation.steps()) == len(explanation.system)
    assert max(map(len, str(explanation).splitlines())) <= 120
    assert repr(explanation) == str(explanation)
    typeset = explanation._repr_html_()
    assert typeset.count("<details") == len(explanation.steps()) + 1
    assert typeset.count("$$") == 2 * len(explanation.steps())
    assert typeset.count("<details open>") == 1


@pytest.mark.long
def test_an_extreme_has_its_numbers_in_the_order_of_its_equation():
    layout = {"fleet": "SuperPOD_H100", "batch_size": 2048, "seq_len": 4096, "gradient_accumulation_steps": 8}
    found = DistributedModel().solve("Llama3_8B", **layout, zero_stage=2)
    *_, last = found.explain("longest_part_time").steps()
    _, equation, numbers = " ".join(last.split()).partition(" binds: ")[0].split("max(")
    assert equation.startswith("T_el, T_tp, ")
    assert equation.endswith(", {n_mb·t_launch,s if T_host > 0 and t_launch,s ≥ t_lay; 0 otherwise}) = ")
    assert re.fullmatch(r"[1-9][0-9.]+ ms, 0\.000 ms, .*, 0\) = .*", numbers)


def test_equations_are_typeset_with_their_numbers():
    typeset = memory(dp_size=8, zero_stage=2).explain("gradients")._repr_html_()
    put_in = r"&= \frac{2.00\,\text{B} \cdot 1.00 \cdot 8.03 \cdot 10^{9}}{8} \\ &= 2.01\,\text{GB}\end{align*}$$"
    assert put_in in typeset
    assert "<p>case: Z ≥ 2  (Z = 2)</p>" in typeset
    assert "<summary>Gradients held by one rank: G = 2.01 GB</summary>" in typeset


def test_an_unknown_output_is_refused():
    with pytest.raises(
        UnknownNameError, match=r"^unknown output of TrainingMemoryModel 'wieghts': did you mean weights"
    ):
        memory().explain("wieghts")


def test_an_output_that_was_not_computed_names_what_is_missing():
    result = MoERoutingModel().solve("Mixtral_8x7B", batch_size=4)
    with pytest.raises(MissingInputError) as caught:
        result.explain("all_to_all_latency")
    assert str(caught.value) == (
        "MoERoutingModel needs fabric_bandwidth for all_to_all_latency: give fleet=... or fabric_bandwidth=..."
    )


@pytest.mark.long
def test_the_text_is_the_same_in_every_process():
    """Sympy numbers its bound variables at random, which once shuffled the clauses that fail."""
    code = (
        "from mlsysim import ServingCapacityModel as M;"
        "print(M().solve('Llama3_8B', 'H100', qps=500, target_p99_latency_ms=4000).explain())"
    )
    texts = {
        subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, check=True, timeout=60).stdout
        for _ in range(2)
    }
    assert texts == {f"{serving(qps=500).explain()}\n".encode()}


def test_what_binds_is_said_in_words():
    """Where an argument of a maximum is one quantity, by its name beside its symbol."""
    said = str(DistributedModel().solve(recipe="torchtitan_issue_1624").explain("longest_part_time"))
    assert "step elementwise time (T_el) = 619.8 ms" in " ".join(said.split())
