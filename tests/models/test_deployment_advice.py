"""Advice on deployments against what a scan by public calls finds."""

import math

import pytest

from mlsysim import IterationModel, ServingModel

POOLS = ServingModel("disaggregated")
GIVEN = {
    "model": "Llama3_3_70B", "hardware": "H100", "precision": "w8a8", "stack": "TensorRT_LLM_H100", "tp_size": 4,
    "isl": 2048, "osl": 256, "request_rate": 1, "num_replicas": 1, "kv_transfer_bandwidth": "400 GB/s",
}  # fmt: skip
BOTH = {"ttft_slo": "600 ms", "tpot_slo": "18 ms"}
#: Lengths that are all alike, and such that vary.
SPREADS = pytest.mark.parametrize("spread", [{}, {"isl_cv": 0.5, "osl_cv": 1}], ids=["alike", "varied"])
MIXTRAL = {"model": "Mixtral_8x7B", "hardware": "H100", "stack": "TensorRT_LLM_H100", "tp_size": 2}


def passed(given, output="iteration_time", **more):
    """An output of one iteration, by the model of iterations."""
    model = IterationModel("iteration")
    return model.solve(**{name: given[name] for name in given if name in model.arguments}, **more).canonical(output)


# --- pools ----------------------------------------------------------------------------------------


@SPREADS
@pytest.mark.parametrize("workers", [1, 3])
def test_a_pool_decodes_what_it_holds_where_nothing_else_binds(workers, spread):
    """The goodput of the whole deployment, which is a root of its own, beside prefill without end."""
    given = {**GIVEN, **spread, "tpot_slo": "18 ms", "decode_workers": workers, "prefill_workers": 60}
    found = POOLS.solve(**given)
    assert 0 < found.canonical("decode_batch_limit") < 256
    assert workers * found.canonical("decode_rate_limit") == pytest.approx(found.canonical("goodput"), rel=1e-6)


@SPREADS
@pytest.mark.parametrize("workers", [1, 3])
def test_a_pool_prefills_what_it_holds_where_nothing_else_binds(workers, spread):
    given = {**GIVEN, **spread, "ttft_slo": "400 ms", "prefill_workers": workers, "decode_workers": 60}
    found = POOLS.solve(**given)
    assert workers * found.canonical("prefill_rate_limit") == pytest.approx(found.canonical("goodput"), rel=1e-6)


@pytest.mark.long
def test_the_best_ratio_is_the_best_of_a_scan():
    """No pools of up to 21 workers are better by more than whole workers and a shared queue make."""
    found = POOLS.solve(**GIVEN, **BOTH, prefill_workers=9, decode_workers=5)
    ratio, best = found["prefill_decode_ratio"], found.canonical("matched_goodput_per_accelerator")
    scanned = POOLS.sweep(
        **GIVEN, **BOTH, prefill_workers=list(range(1, 15)), decode_workers=list(range(1, 8)),
        outputs=["goodput_per_accelerator"],
    )["goodput_per_accelerator"]  # fmt: skip
    served = {
        (x, y): float(scanned.sel(prefill_workers=x, decode_workers=y)) for x in range(1, 15) for y in range(1, 8)
    }
    reached = max(served, key=served.get)
    assert reached[0] / reached[1] == pytest.approx(ratio, rel=0.2)
    assert best == pytest.approx(served[reached], rel=0.05)


@SPREADS
def test_goodput_without_pools_is_that_of_the_other_variant(spread):
    given = {**GIVEN, **BOTH, **spread}
    apart = POOLS.solve(**given, prefill_tp_size=2)
    del given["kv_transfer_bandwidth"]
    together = ServingModel("colocated").solve(**given)
    without = apart.canonical("colocated_goodput_per_accelerator")
    assert without == pytest.approx(together.canonical("goodput_per_accelerator"), rel=1e-9)
    assert apart["disaggregation_gain"] == pytest.approx(
        apart.canonical("matched_goodput_per_accelerator") / without, rel=1e-12
    )


def test_what_is_advised_does_not_depend_on_the_load():
    advised = ("decode_batch_limit", "decode_rate_limit", "prefill_rate_limit", "prefill_decode_ratio",
               "matched_goodput_per_accelerator", "colocated_goodput_per_accelerator", "disaggregation_gain",
               "least_kv_transfer_bandwidth", "compute_bound_batch", "cache_bound_batch")  # fmt: skip
    loads = ({"request_rate": 0}, {"request_rate": 3}, {"request_rate": 300}, {"request_rate": 0, "concurrency": 40})
    found = [POOLS.solve(**{**GIVEN, **BOTH, **load}) for load in loads]
    assert [{name: each.canonical(name) for name in advised} for each in found[1:]] == [
        {name: found[0].canonical(name) for name in advised}
    ] * 3


def test_pools_pay_where_tokens_are_promised_and_not_where_nothing_is():
    gains = [POOLS.solve(**GIVEN, **promised)["disaggregation_gain"] for promised in ({}, BOTH)]
    assert gains[0] == pytest.approx(1, rel=0.01)
    assert gains[1] > 2


def test_the_link_is_slower_than_the_prefill_below_the_least_bandwidth():
    given = {**GIVEN, "prefill_workers": 2, "decode_workers": 20}
    least = POOLS.solve(**given)["least_kv_transfer_bandwidth"]
    rate = 2 / POOLS.solve(**given).canonical("prompt_interval")
    bound = [
        POOLS.solve(
            **{
                **given,
                "kv_transfer_bandwidth": share * least,
                "request_rate": 1.001 * rate,
            }
        )
        for share in (0.98, 1.02)
    ]
    capacity = [found.canonical("replica_capacity") for found in bound]
    assert capacity[0] == pytest.approx(0.98 * rate)
    assert capacity[1] == pytest.approx(rate)
    slower = POOLS.solve(**{**given, "kv_transfer_bandwidth": 0.98 * least, "request_rate": 0.99 * rate})
    faster = POOLS.solve(**{**given, "kv_transfer_bandwidth": 1.02 * least, "request_rate": 0.99 * rate})
    assert (slower["serving_bottleneck"], faster["serving_bottleneck"]) == ("KV transfer", "None")


# --- decode steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ServingModel.variants)
@pytest.mark.parametrize("given", [{**GIVEN, "isl": 256}, {**MIXTRAL, "isl": 128, "osl": 64, "num_replicas": 1}])
def test_the_batch_at_which_a_step_computes_as_long_as_it_reads(variant, given):
    model = ServingModel(variant)
    given = {name: value for name, value in given.items() if name in model.arguments}
    found = model.solve(**given)
    batch = int(found.canonical("compute_bound_batch"))
    fast = {"peak_flops": "1e15 TFLOP/s", "attention_peak_flops": "1e15 TFLOP/s"}

    def longer(requests):
        point = {"decode_requests": requests, "context_tokens": given["isl"] + given["osl"] / 2}
        computing = passed(given, "computed_time", **point, memory_bandwidth="1e15 GB/s")
        return computing >= passed(given, "computed_time", **point, **fast)

    assert [longer(requests) for requests in (batch // 2, batch - 1, batch, 2 * batch)] == [False, False, True, True]


def test_long_contexts_are_never_bound_by_arithmetic():
    assert POOLS.solve(**{**GIVEN, "isl": 16_000})["compute_bound_batch"].magnitude == math.inf


@pytest.mark.parametrize("given", [GIVEN, {**MIXTRAL, "isl": 2048, "osl": 256, "num_replicas": 1}])
def test_the_batch_at_which_caches_outweigh_weights(given):
    batch = int(ServingModel("chunked").solve(
        **{name: value for name, value in given.items() if name != "kv_transfer_bandwidth"}
    ).canonical("cache_bound_batch"))  # fmt: skip

    def outweigh(requests):
        point = {"decode_requests": requests, "context_tokens": given["isl"] + given["osl"] / 2,
                 "peak_flops": "1e15 TFLOP/s", "attention_peak_flops": "1e15 TFLOP/s"}  # fmt: skip
        weights = passed(given, "dense_product_time", **point) + passed(given, "expert_product_time", **point)
        return passed(given, "decode_attention_time", **point) >= weights

    assert [outweigh(requests) for requests in (batch // 2, batch - 1, batch, 2 * batch)] == [False, False, True, True]


@pytest.mark.parametrize("given", [GIVEN, {**MIXTRAL, "isl": 2048, "osl": 256}])
@pytest.mark.parametrize(("accepted", "cost"), [(0.9, 0.02), (0.6, 0.1), (0.8, 0), (0.3, 0.4), (0, 0)])
@pytest.mark.parametrize("flying", [1, 64, 250])
def test_no_other_number_of_drafts_gives_tokens_faster(given, accepted, cost, flying):
    model = ServingModel("colocated")
    asked = {name: value for name, value in given.items() if name in model.arguments and name != "request_rate"}
    asked |= {"acceptance_rate": accepted, "draft_cost": cost, "concurrency": flying, "num_replicas": 1}
    found = model.solve(**asked)
    requests = found.canonical("decode_batch") + 1
    alone = passed(given, decode_requests=1, context_tokens=given["isl"] + given["osl"] / 2)

    def per_token(drafts):
        point = {"decode_requests": requests, "context_tokens": given["isl"] + given["osl"] / 2}
        step = passed(given, **point, num_speculative_tokens=drafts)
        return (step + drafts * cost * alone) / sum(accepted**each for each in range(drafts + 1))

    tried = [per_token(drafts) for drafts in range(17)]
    assert found["best_num_speculative_tokens"] == tried.index(min(tried))


# --- chunks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["chunked", "chunked_estimate"])
@pytest.mark.parametrize("promised", ["30 ms", "60 ms", "200 ms"])
def test_the_largest_budget_is_the_largest_that_a_scan_allows(variant, promised):
    given = {name: value for name, value in GIVEN.items() if name != "kv_transfer_bandwidth"}
    found = ServingModel(variant).solve(**given, tpot_slo=promised)
    budget, requests = int(found.canonical("chunk_limit")), found.canonical("decode_batch") + 1

    def mixed(tokens):
        prompts = (tokens - requests) / given["isl"]
        return passed(given, decode_requests=requests, context_tokens=given["isl"] + given["osl"] / 2, prompts=prompts,
                      seq_len=given["isl"])  # fmt: skip

    limit = found.canonical("tpot_slo")
    fits = [tokens for tokens in range(max(64, budget - 20), budget + 20) if mixed(tokens) <= limit]
    assert max(fits) == budget


def test_without_a_promise_any_budget_will_do():
    assert ServingModel.solve_example(variant="chunked_estimate", tpot_slo=0)["chunk_limit"].magnitude == math.inf


def test_a_promise_that_no_mixed_iteration_keeps_leaves_no_room_for_prompts():
    found = ServingModel.solve_example(variant="chunked_estimate", tpot_slo="5 ms")
    assert found.canonical("chunk_limit") <= found.canonical("decode_batch") + 1
