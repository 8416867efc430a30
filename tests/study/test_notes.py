"""Lines beside a result: what a better variant says against it, and what saves nothing."""

import html
import json
import re
from itertools import product

import pytest

from mlsysim import (
    CollectiveModel,
    DistributedModel,
    EconomicsModel,
    IterationModel,
    MoERoutingModel,
    Recipes,
    ServingCapacityModel,
    ServingModel,
    Stacks,
    TrainingMemoryModel,
    TransformerWorkload,
)
from mlsysim.errors import InputError

#: Activations that the constants of the first-order form leave out.
TIGHT = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 24, "seq_len": 4096, "dp_size": 8, "zero_stage": 2,
         "precision": "bf16"}  # fmt: skip


def test_a_form_that_says_it_fits_is_contradicted_by_the_one_that_counts():
    first = TrainingMemoryModel().solve(**TIGHT, activation_checkpointing="none")
    counted = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="none")
    assert first.feasible
    assert not counted.feasible
    (note,) = first.notes
    assert note == f"per_operator, the measured variant: {counted.total_memory.magnitude:.1f} GB, does not fit"


def test_a_form_that_agrees_on_what_fits_is_contradicted_where_it_is_far_off():
    small = {**TIGHT, "batch_size": 8, "activation_checkpointing": "full"}
    (note,) = TrainingMemoryModel().solve(**small).notes
    assert re.fullmatch(r"per_operator, the measured variant: [\d.]+ GB, fits", note)
    assert not TrainingMemoryModel().solve(**{**small, "seq_len": 64, "tp_size": 2}).notes
    (note,) = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="none").notes
    assert note.startswith("total_memory, ")


def test_a_measured_variant_that_nobody_named_says_what_the_first_one_says():
    asked = TrainingMemoryModel.asked()
    assert (asked.variant, asked.is_chosen) == ("per_operator", False)
    found = asked.solve(**TIGHT, activation_checkpointing="none")
    first = TrainingMemoryModel().solve(**TIGHT, activation_checkpointing="none")
    assert found.notes[-1] == (
        "answered by per_operator, the measured variant; variant='first_order', the tutorial's form: "
        f"{first.total_memory.magnitude:.2f} GB, fits"
    )
    (routed,) = MoERoutingModel.asked().solve(**MoERoutingModel.example).notes
    assert "variant='first_order', the tutorial's form: 234.9 MB" in routed


def test_a_model_of_ones_own_without_the_measured_variant_is_held_against_none():
    class Ours(TrainingMemoryModel):
        """Does it fit, by our own measurements?"""

        command = "ours"
        variants = {"ours": TrainingMemoryModel.variants["first_order"]}

    assert Ours.asked().variant == "ours"
    assert not Ours().solve(**TIGHT, activation_checkpointing="none").notes


def test_replicas_that_the_prefill_asks_for_are_named():
    found = ServingCapacityModel.solve_example()
    counted = ServingCapacityModel.solve_example(variant="prefill_aware")
    assert found.required_replicas != counted.required_replicas
    assert found.notes == (f"prefill_aware, the measured variant: {counted.required_replicas} required replicas",)


def test_recomputing_what_a_flash_kernel_never_keeps_is_said_to_save_nothing():
    found = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="selective")
    note = found.notes[-1]
    assert note.startswith("activation_checkpointing=selective saves ")
    assert note.endswith(" GB total_memory")
    full = TrainingMemoryModel("per_operator").solve(**TIGHT, activation_checkpointing="full")
    assert not full.notes


def test_what_cannot_be_asked_of_the_other_variant_says_nothing():
    found = TrainingMemoryModel().solve(hardware="H100", parameters=8e9, layers=32, hidden_dim=4096, heads=32,
                                        experts=1, batch_size=1)  # fmt: skip
    assert [note.split(",")[0] for note in found.notes] == ["total_memory"]


@pytest.mark.parametrize("variant", ["first_order", "korthikanti"])
def test_forms_that_divide_by_every_rank_refuse_experts_over_ranks(variant):
    asked = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 8, "dp_size": 8, "ep_size": 8}
    with pytest.raises(InputError, match="must be 1 in this variant; variant='per_operator' counts"):
        TrainingMemoryModel(variant).solve(**asked)
    held = TrainingMemoryModel("per_operator").solve(**asked)
    assert held.canonical("weights") > 2 * 46.7e9 / 8


def test_a_share_given_beside_a_cache_that_says_it_is_named():
    cached = {"prefix_cache_memory": "10 GB", "num_prefixes": 100}
    both = ServingModel.solve_example(variant="colocated", prefix_hit_rate=0.5, **cached)
    alone = ServingModel.solve_example(variant="colocated", **cached)
    assert both.outputs == alone.outputs
    assert set(both.notes) - set(alone.notes) == {
        "prefix_hit_rate, 0.500, is not used: prefix_cache_memory says how much is found"
    }
    assert not [note for note in ServingModel.solve_example(prefix_hit_rate=0.5).notes if "prefix" in note]


def test_a_step_without_recomputation_has_no_note():
    assert not DistributedModel.solve_example().notes


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "OPT_66B", "precision": "bf16"},
         "OPT_66B and a request do not fit one H100: they fit with tp_size >= 2, or precision=fp8"),
        ({"model": "Llama3_1_405B"}, "Llama3_1_405B and a request do not fit one H100: they fit with tp_size >= 8"),
        ({"model": "Llama3_1_405B", "precision": "bf16", "tp_size": 4},
         "Llama3_1_405B and a request do not fit 4 H100: they fit with tp_size=8, pp_size=2, or precision=w4a16"),
        ({"model": "Llama3_1_405B", "precision": "bf16", "dp_attention_size": 2},
         "Llama3_1_405B and a request do not fit 2 H100: they fit with tp_size=8, pp_size=2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_says_what_would(changed, said):
    given = {"tp_size": 1, **changed}
    found = ServingModel.solve_example(**given)
    assert not found.feasible
    assert found.serving_bottleneck == "Memory"
    assert found.notes == (said,)
    ranks, _, narrow = said.split(": they fit with ")[1].partition(", or precision=")
    layout = dict(word.replace(">=", "=").split("=") for word in ranks.replace(" ", "").split(","))
    fits = {name: int(size) for name, size in layout.items()}
    assert ServingModel.solve_example(**{**given, **fits}).serving_bottleneck != "Memory"
    if narrow:
        assert ServingModel.solve_example(**{**given, "precision": narrow}).serving_bottleneck != "Memory"
    smaller = {**fits, "tp_size": fits["tp_size"] // 2}
    assert ServingModel.solve_example(**{**given, **smaller}).serving_bottleneck == "Memory"


def test_a_model_without_a_key_is_named_whole():
    shape = {"layers": 80, "hidden_dim": 8192, "heads": 64, "kv_heads": 8, "ffn_dim": 28672, "gated": True}
    large = TransformerWorkload(name="Llama-3.1-70B", vocab_size=128_256, **shape)
    found = ServingModel.solve_example(model=large, precision="bf16", tp_size=1)
    assert found.obstacle.startswith("Llama-3.1-70B and a request do not fit one H100")


def test_what_does_not_fit_is_said_first_and_what_is_infinite_in_one_line():
    found = ServingModel.solve_example(model="OPT_66B", precision="bf16", tp_size=1)
    said = "OPT_66B and a request do not fit one H100: they fit with tp_size >= 2, or precision=fp8"
    assert found.obstacle == said
    lines = repr(found).splitlines()
    assert lines[1].strip() == said
    assert lines[-1].startswith("  Infinite, for the reason above: ")
    assert {"ttft_mean", "e2e_p99"} < {*lines[-1].replace(",", "").split()}
    assert not any("∞" in line for line in lines)
    page = found._repr_html_()
    reason = html.escape(said)
    assert page.count(reason) == 1
    assert page.index(reason) < page.index("<table>")
    table = page[page.index("<table>") : page.index("</table>")]
    assert "ttft_mean" not in table
    assert "engine_slots" in table
    assert "Infinite, for the reason above: " in page


def test_a_number_that_is_infinite_for_another_reason_keeps_its_row():
    found = ServingModel.solve_example(request_rate=1e6, num_replicas=1)
    assert not found.obstacle
    assert any(line.split() == ["ttft_mean", "∞", "ms"] for line in repr(found).splitlines())


def test_a_deployment_with_room_says_nothing_of_it():
    assert not ServingModel.solve_example().notes


def test_a_context_that_no_ranks_hold_is_said_to_fit_none():
    found = ServingModel.solve_example(isl=10**9)
    assert found.notes[0].endswith("nor any tp_size and pp_size of up to 256 ranks that this model can be cut over")


@pytest.mark.parametrize(
    ("solved", "said"),
    [
        (lambda tokens: ServingModel().solve(model="Llama3_8B", hardware="H100", isl=tokens - 9, osl=9), "isl + osl"),
        (lambda tokens: ServingCapacityModel().solve(model="Llama3_8B", hardware="H100", qps=1, seq_len=tokens - 192,
                                                     target_p99_latency_ms=1e5, output_tokens=192),
         "seq_len + output_tokens"),
    ],
)  # fmt: skip
def test_requests_longer_than_the_model_is_made_for_are_named(solved, said):
    assert not [note for note in solved(8192).notes if "max_position_embeddings" in note]
    (note,) = [note for note in solved(8193).notes if "max_position_embeddings" in note]
    assert note.startswith(f"{said} is 8,193 tokens, and Llama3_8B is made for 8,192 ")


DEPLOYED = {"model": "Llama3_1_8B", "hardware": "H100", "isl": 1024, "osl": 128}


def test_a_rate_beside_a_closed_loop_is_said_to_be_of_no_use():
    asked = {**DEPLOYED, "concurrency": 5}
    (gaps,) = ServingModel().solve(**asked).notes
    assert gaps.startswith("itl_p99, 6.20 ms, is below the mean time per token, 6.66 ms: ")
    note, again = ServingModel().solve(**asked, request_rate=20).notes
    assert again == gaps
    assert note == "request_rate, 20.00 request/s, is not used: concurrency says that 5.00 request are in flight"


def test_a_closed_loop_with_a_promise_is_said_to_be_one_replica():
    asked = {**DEPLOYED, "concurrency": 500, "tpot_slo": 5}
    found = ServingModel().solve(**asked)
    assert (found["deployed_replicas"], found["feasible"]) == (1, False)
    assert "a closed loop, here 500.0 request, is one replica whatever its targets: give num_replicas" in found.notes
    assert not [note for note in ServingModel().solve(**asked, num_replicas=1).notes if "closed loop" in note]


@pytest.mark.parametrize("spread", ["isl_cv", "osl_cv"])
def test_a_closed_loop_of_varied_lengths_is_said_to_have_means_alone(spread):
    result = ServingModel().solve(**DEPLOYED, concurrency=20, **{spread: 1})
    assert any(note.startswith("a closed loop, here 20.00 request, has only means") for note in result.notes)


@pytest.mark.parametrize(
    ("variants", "prompt", "said"),
    [
        (("chunked", "chunked_estimate"), 2048, "requests of one output length stay in the phases of the start"),
        (("colocated",), 1, "prompts of 1 token are prefilled one after the other here"),
    ],
)
def test_a_closed_loop_in_step_that_a_law_does_not_know_is_named(variants, prompt, said):
    """Only of several requests, whose answers are alike."""

    def noted(variant, **given):
        asked = {"model": "Llama3_8B", "hardware": "H100", "isl": prompt, "concurrency": 16, **given}
        return any(note.startswith(said) for note in ServingModel(variant).solve(**asked).notes)

    for variant in variants:
        assert noted(variant)
        assert noted(variant, num_rounds=10)
        assert not noted(variant, concurrency=1)
        assert not noted(variant, osl_cv=0.06)
        assert not noted(variant, concurrency=0, request_rate=1)
    assert not any(noted(other) for other in {"chunked_estimate", "colocated"} - {*variants})


SERVED = {"model": "Llama3_8B", "hardware": "H100", "request_rate": 1}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"acceptance_rate": 0.7}, "acceptance_rate, 0.700, is not used: num_speculative_tokens is 0"),
        ({"num_speculative_tokens": 3}, "no drafted token is accepted: acceptance_rate is 0"),
    ],
)
def test_drafts_that_change_nothing_or_cost_alone_are_named(changed, said):
    assert said in ServingModel("colocated").solve(**SERVED, **changed).notes


@pytest.mark.parametrize("variant", ServingModel.variants)
def test_more_requests_than_can_be_completed_are_named(variant):
    found = ServingModel(variant).solve(**{**SERVED, "request_rate": 1000}, num_replicas=1)
    (note,) = (note for note in found.notes if note.startswith("requests arrive faster than they are completed"))
    assert f"deployed_replicas is 1 of {int(found.canonical('replica_capacity'))}." in note


@pytest.mark.long(quick=1)
@pytest.mark.parametrize("variant", ServingModel.variants)
def test_replicas_that_just_keep_up_are_named(variant):
    def noted(**given):
        notes = ServingModel(variant).solve(**{**SERVED, "request_rate": 200, **given}).notes
        return any(note.startswith("no latency target is given") for note in notes)

    assert noted()
    assert not noted(ttft_slo="10 s")
    assert not noted(num_replicas=1000)


def test_tensor_parallelism_beyond_a_node_is_named():
    def notes(ranks):
        return IterationModel().solve(
            model="Llama3_70B", hardware="H100", tp_size=ranks, decode_requests=8, context_tokens=1000
        ).notes  # fmt: skip

    assert notes(16) == (
        "tensor parallelism over 16 ranks leaves a node of 8: each of its collectives goes over the fabric",
    )
    assert notes(8) == ()


#: For each model that can be asked whether it fits, a point that does not.
CROWDED = {
    "memory": (TrainingMemoryModel("per_operator"), {"model": "Llama3_1_70B", "hardware": "H100", "batch_size": 8}),
    "train": (DistributedModel(), {"model": "Llama3_1_70B", "fleet": "SuperPOD_H100", "batch_size": 256}),
    "replicas": (ServingCapacityModel(), {"model": "Llama3_1_70B", "hardware": "H100", "qps": 5,
                                          "target_p99_latency_ms": 9000}),
    "deployment": (ServingModel(), {"model": "Llama3_1_70B", "hardware": "H100", "concurrency": 4}),
    "cost": (EconomicsModel("rented_deployment"), {"model": "Llama3_1_70B", "hardware": "H100", "request_rate": 1,
                                                   "rental_price": 2}),
}  # fmt: skip


@pytest.mark.long(quick=1)
@pytest.mark.parametrize(("model", "given"), CROWDED.values(), ids=CROWDED)
def test_what_binds_is_named_in_numbers_with_the_nearest_layouts_that_fit(model, given):
    """Each layout that is named fits, whichever command asks."""
    found = model.solve(**given)
    assert not found.feasible
    said, _, layouts = re.sub(": they fit with |; it fits with ", "|", found.notes[0]).partition("|")
    assert "usable_memory, " in said or "do not fit" in said or "below 1 request" in said
    assert layouts
    for layout in layouts.replace(" >= ", "=").split(", or "):
        changed = dict(word.split("=") for word in layout.split(", "))
        other = model.solve(**{**given, **{n: int(v) if v.isdigit() else v for n, v in changed.items()}})
        assert not any("usable_memory, " in note or "1 request" in note or "do not fit" in note for note in other.notes)


def test_a_condition_of_ones_own_that_is_not_met_is_named():
    found = ServingCapacityModel().solve("Llama3_8B", "H100", qps=20, target_p99_latency_ms=100)
    assert found.notes == (
        f"base_request_latency, {found.base_request_latency.magnitude:.1f} ms, exceeds target_p99_latency_ms, 100.0 ms",
    )
    (note,) = ServingCapacityModel().solve("Llama3_8B", "H100", qps=500, target_p99_latency_ms=4000,
                                           max_replicas=14).notes  # fmt: skip
    assert note == "required_replicas: no number up to max_replicas, 14, is enough"


TARGETS = {"tpot_slo": "tpot_p90", "ttft_slo": "ttft_p90", "e2e_slo": "e2e_"}
LOADS = [{"request_rate": 1}, {"request_rate": 1, "num_replicas": 2}, {"concurrency": 4}]
#: Quick are those that have every two of them together once.
PROMISES = [
    pytest.param(variant, target, load, marks=[pytest.mark.long] if (v + t + n) % len(LOADS) else [])
    for (v, variant), (t, target), (n, load) in product(*map(enumerate, (ServingModel.variants, TARGETS, LOADS)))
]


@pytest.mark.long(quick=2)
@pytest.mark.parametrize(("variant", "target", "load"), PROMISES)
def test_a_target_that_no_load_meets_says_what_a_request_alone_takes(variant, target, load):
    """For each target, however the load is given; what is infinite stands in one line."""
    asked = {"model": "Llama3_1_8B", "hardware": "H100", **load}
    found = ServingModel(variant).solve(**asked, **{target: 2})
    assert not found.feasible
    assert f"{target}, 2.00 ms, cannot be met at any load: a request alone takes " in found.obstacle
    assert f"({TARGETS[target]}" in found.obstacle
    assert not any("∞" in line for line in repr(found).splitlines())
    assert not ServingModel(variant).solve(**asked, **{target: 60_000}).obstacle


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (CollectiveModel(), {"hardware": "B200", "stack": "NCCL_A100"}, "NCCL_A100 is a stack of A100: "),
        (
            CollectiveModel(),
            {"fleet": "SuperPOD_A100", "stack": "NCCL_H100"},
            "NCCL_H100 is a stack of H100 and H200: ",
        ),
        (
            IterationModel(),
            {"hardware": "TPU_v5p", "stack": "Megatron_Bridge_H100"},
            "Megatron_Bridge_H100 is a stack ",
        ),
        (CollectiveModel(), {"hardware": "H200", "stack": "NCCL_H100"}, ""),
        (CollectiveModel(), {"hardware": "B200"}, ""),
        (CollectiveModel(), {"hardware": "B200", "stack": "Ideal"}, ""),
        (IterationModel(), {"hardware": "H100", "stack": Stacks.Generic.changed(name="Own", efficiency=0.5)}, ""),
    ],
)
def test_a_stack_of_other_devices_is_named(model, given, said):
    asked = {"collective_ranks": 8, "message_bytes": "1 MiB"}
    if isinstance(model, IterationModel):
        asked = {"model": "Llama3_1_8B", "decode_requests": 8, "context_tokens": 100}
    notes = [note for note in model.solve(**asked, **given).notes if "is a stack of" in note]
    assert len(notes) == bool(said)
    assert all(note.startswith(said) and note.endswith(" was not measured") for note in notes)


def test_no_recipe_has_a_stack_of_other_devices():
    for name in Recipes:
        entries = Recipes[name].entries
        device = entries.get("hardware", entries.get("fleet"))
        stack = entries.get("stack")
        if stack is not None and stack.devices and device is not None:
            assert device.device in stack.devices, name


@pytest.mark.parametrize(
    ("variant", "given"),
    [
        ("colocated", {"isl": 32768, "osl": 64, "request_rate": 0.384}),
        ("disaggregated", {"isl": 32768, "osl": 128, "request_rate": 0.1, "kv_transfer_bandwidth": "1 GB/s"}),
    ],
)
def test_a_quantile_of_gaps_below_their_mean_says_why(variant, given):
    model = ServingModel(variant)
    found = model.solve(model="Llama3_1_8B", hardware="H100", num_replicas=1, **given)
    assert found.itl_p99 < 0.9 * found.tpot_mean
    (note,) = (note for note in found.notes if note.startswith("itl_p99"))
    assert "below the mean time per token" in note
    assert "one gap in a hundred is far longer" in note
    usual = model.solve(model="Llama3_1_8B", hardware="H100", num_replicas=1, isl=512, osl=512, request_rate=2)
    assert not [note for note in usual.notes if note.startswith("itl_p99")]


def test_no_solution_says_why_the_output_is_infinite():
    found = ServingModel().solve_for("concurrency", tpot_mean="<= 20 ms", model="Llama3_1_70B", hardware="H100")
    assert found.value is None
    said = "Llama3_1_70B and a request do not fit one H100: they fit with tp_size >= 2"
    assert said in " ".join(found.text().split())
    beyond = ServingModel().solve_for("request_rate", tpot_p90="<= 2 ms", model="Llama3_1_8B", hardware="H100")
    assert "tpot_p90 is at least 6.03 ms" in " ".join(beyond.text().split())


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({"request_rate": 1, "isl": 8192, "osl": 256}, "itl_p99, 10.08 ms, is below the mean time per token, 10.84 ms"),
        ({"request_rate": 1, "isl": 1, "osl": 256}, "itl_p99, 5.97 ms, is below the mean time per token, 5.98 ms"),
        ({"request_rate": 4, "isl": 1, "osl": 256}, ""),
        ({"concurrency": 1}, ""),
    ],
)
def test_a_late_quantile_below_the_mean_is_told_however_near_it_is(load, said):
    found = ServingModel("colocated").solve(
        model="Llama3_1_8B", hardware="H100", precision="bf16", num_replicas=1, **load
    )
    assert [note.partition(":")[0] for note in found.notes if note.startswith("itl_p99")] == ([said] if said else [])


class TestEveryAnswer:
    """Notes travel with whatever a result is asked for."""

    LONG = {"model": "Llama3_8B", "hardware": "H100", "batch_size": 8, "dp_size": 8, "zero_stage": 3,
            "precision": "bf16"}  # fmt: skip
    SAID = "seq_len is 16,384 tokens, and Llama3_8B is made for 8,192 (max_position_embeddings): "
    COUNTED = "seq_len is longer than the positions of Llama3_8B (8,192) (max_position_embeddings): "

    def test_a_result_prints_them_and_carries_them_in_json(self):
        found = TrainingMemoryModel().solve(**self.LONG, seq_len=16384)
        assert [note for note in found.notes if note.startswith(self.SAID)]
        assert [note for note in found.notes if note.startswith("per_operator, the measured variant: ")]
        for note in found.notes:
            assert f"\n  Note: {note}" in repr(found)
        assert json.loads(found.to_json())["notes"] == list(found.notes)
        short = TrainingMemoryModel("per_operator").solve(**self.LONG, seq_len=8192, activation_checkpointing="none")
        assert (short.notes, "notes" in short.to_dict(), "Note" in repr(short)) == ((), False, False)

    def test_sweeps_say_of_how_many_points(self):
        found = TrainingMemoryModel().sweep(**self.LONG, seq_len=[4096, 16384, 32768], tp_size=[1, 2])
        counted, better = found.attrs["notes"].splitlines()
        assert counted.startswith(f"4 of 6 points: {self.COUNTED}")
        assert better == "per_operator is the variant that counts, and may say otherwise of feasible"
        of_models = TrainingMemoryModel("per_operator").sweep(
            **{**self.LONG, "model": ["Llama3_8B", "Llama3_1_8B"]}, seq_len=[4096, 16384]
        )
        assert of_models.attrs["notes"].startswith("1 of 4 points: ")
        assert "notes" not in TrainingMemoryModel("per_operator").sweep(**self.LONG, seq_len=[4096, 8192]).attrs

    def test_sweeps_say_what_a_model_wants_to_be_known_of_inputs(self):
        found = ServingModel("colocated").sweep(
            model="Llama3_3_70B", hardware="H100", tp_size=[4, 8, 16], request_rate=2, num_replicas=1,
            outputs=["engine_slots"],
        )  # fmt: skip
        assert found.attrs["notes"] == (
            "1 of 3 points: tensor parallelism over 16 ranks leaves a node of 8: each of its collectives goes over the "
            "fabric"
        )

    @pytest.mark.parametrize(
        ("model", "asked", "said"),
        [
            (IterationModel(), {"model": "Llama3_1_405B", "hardware": "RTX_4090", "tp_size": [1, 8]},
             ["2 of 2 points are not feasible; the first: Llama3_1_405B and a cache do not fit one RTX_4090"]),
            (IterationModel(), {"model": ["Llama3_1_8B", "Llama3_1_70B"], "hardware": "H100", "tp_size": [1, 8]},
             ["1 of 4 points is not feasible; the first: Llama3_1_70B and a cache do not fit one H100"]),
            (IterationModel(), {"model": "Llama3_1_405B", "hardware": "RTX_4090", "decode_requests": [1, 2, 3],
             "context_tokens": 100},
             ["3 of 3 points are not feasible; the first: Llama3_1_405B and a cache do not fit one RTX_4090"]),
            (ServingModel("colocated"), {"model": "Llama3_1_8B", "hardware": ["H200", "A100"],
             "stack": "vLLM_2023_A100", "num_replicas": 1, "request_rate": [1, 2]},
             ["2 of 4 points: vLLM_2023_A100 is a stack of A100: how far off its constants are on H200 was not "
              "measured"]),
            (ServingModel("colocated"), {"model": "Llama3_1_70B", "hardware": "H100", "concurrency": [1, 4]},
             ["2 of 2 points are not feasible; the first: Llama3_1_70B and a request do not fit one H100"]),
            (ServingModel("colocated"), {"model": "Llama3_1_8B", "hardware": "H100", "request_rate": 1,
             "tpot_slo": ["2 ms", "3 ms"]},
             ["2 of 2 points are not feasible; the first: slo_attainment, 0.000, is below slo_quantile, "
              "0.900"]),
            (TrainingMemoryModel("per_operator"), {"model": "Llama3_8B", "memory_capacity": ["80 GB", "90 GiB"],
             "batch_size": [8, 512]},
             ["2 of 4 points: memory_capacity: taken as typed, 80,000,000,000 bytes: of memory sold as 80 GB drivers "
              "show about 80 GiB (85.9 GB)",
              "4 of 4 points are not feasible; the first: total_memory, 227.0 GB, exceeds usable_memory, 80.00 GB"]),
        ],
    )  # fmt: skip
    def test_sweeps_say_of_entries_what_solve_says_and_why_the_first_point_is_not_feasible(self, model, asked, said):
        assert model.sweep(**asked).attrs["notes"].splitlines() == said

    def test_they_say_so_where_the_outputs_that_were_asked_do_not(self):
        asked = {"model": "Llama3_8B", "hardware": "H100", "batch_size": [8, 512]}
        whole = TrainingMemoryModel("per_operator").sweep(**asked).attrs["notes"]
        assert whole.startswith("2 of 2 points are not feasible; the first: total_memory, 227.0 GB, exceeds ")
        assert TrainingMemoryModel("per_operator").sweep(**asked, outputs=["total_memory"]).attrs["notes"] == whole

    def test_a_memory_of_several_devices_is_told_by_device(self):
        notes = [
            {note for note in TrainingMemoryModel("per_operator").solve(
                model="Llama3_8B", hardware=each, batch_size=1).notes if note.startswith("memory_capacity: ")}
            for each in ("H100", "RTX_4090")
        ]  # fmt: skip
        found = TrainingMemoryModel("per_operator").sweep(
            model="Llama3_8B", hardware=["H100", "RTX_4090"], batch_size=[1, 2]
        )
        lines = [each for each in found.attrs["notes"].splitlines() if "memory_capacity: " in each]
        assert lines == [f"2 of 4 points: {note}" for each in notes for note in each]

    def test_refused_points_are_not_counted_as_infeasible(self):
        found = TrainingMemoryModel("per_operator").sweep(
            model="Llama3_8B", hardware="H100", batch_size=[8, 512], tp_size=[1, 3], refused="mask"
        )
        assert found.attrs["notes"].startswith("2 of 4 points are not feasible; the first: total_memory, ")

    def test_a_store_has_them(self, tmp_path):
        asked = {**self.LONG, "seq_len": [4096, 16384]}
        stored = TrainingMemoryModel().sweep(**asked, store=tmp_path / "sweep.zarr")
        assert stored.attrs["notes"] == TrainingMemoryModel().sweep(**asked).attrs["notes"]

    def test_designs_say_of_which(self):
        grid = {**self.LONG, "batch_size": [8, 16, 24], "seq_len": [16384]}
        found = TrainingMemoryModel().search(**grid, maximize="batch_size", top=3)
        assert found.notes[0].startswith(self.SAID)
        others = [note for note in found.notes if note.startswith("per_operator, the measured variant: ")]
        assert [note[-10:] for note in others] == ["(design 1)", "(design 2)", "(design 3)"]
        assert f"Note: {others[0]}." in " ".join(repr(found).split())
        assert json.loads(found.to_json())["notes"] == list(found.notes)
        assert found.to_dataset().attrs["notes"].splitlines() == list(found.notes)
        front = TrainingMemoryModel().pareto(["total_memory"], maximize=["batch_size"], **grid)
        assert front.notes[0] == found.notes[0]

    def test_solutions_carry_those_of_their_result(self):
        asked = {name: value for name, value in self.LONG.items() if name != "batch_size"}
        found = TrainingMemoryModel().solve_for("batch_size", total_memory="<= 80 GB", seq_len=16384, **asked)
        assert found.notes == found.result.notes
        assert f"  note     {found.notes[0]}"[:60] in repr(found)
        grid = TrainingMemoryModel().solve_for("batch_size", total_memory="<= 80 GB", seq_len=[4096, 16384], **asked)
        assert grid.attrs["notes"].startswith(f"1 of 2 points: {self.COUNTED}")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"hardware": "RTX_4090", "decode_requests": 1, "context_tokens": 100},
         "Llama3_1_405B and a cache do not fit one RTX_4090: they fit with tp_size=8, pp_size=8"),
        ({"hardware": "H200", "tp_size": 8, "decode_requests": 1, "context_tokens": 100}, ""),
        ({"memory_bandwidth": "1 TB/s", "peak_flops": "1 PFLOP/s", "attention_peak_flops": "1 PFLOP/s",
          "node_bandwidth": "450 GB/s", "decode_requests": 1, "context_tokens": 100}, ""),
    ],
)  # fmt: skip
def test_an_iteration_says_where_weights_do_not_fit(asked, said):
    found = IterationModel().solve(model="Llama3_1_405B", precision="bf16", **asked)
    assert found.obstacle == said
    assert said in repr(found)
    assert found.notes == ((said,) if said else ())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"decode_requests": 8, "context_tokens": 200_000}, "context_tokens is 200,000 tokens, and Llama3_1_8B is"),
        ({"prompts": 1, "seq_len": 200_000}, "seq_len is 200,000 tokens, and Llama3_1_8B is made for 131,072"),
        ({"decode_requests": 8, "context_tokens": 2000, "seq_len": 200_000}, ""),
    ],
)
def test_sequences_of_an_iteration_that_are_too_long(asked, said):
    notes = IterationModel().solve(model="Llama3_1_8B", hardware="H200", precision="bf16", **asked).notes
    assert [note[: len(said)] for note in notes] == ([said] if said else [])
