"""The model of a serving deployment."""

from __future__ import annotations

from typing import Any

from sympy import And, Eq, Or, Rational

from mlsysim.catalog import Engine, Rent, Traffic
from mlsysim.formulas import (
    answer_times,
    chunked_chain,
    chunked_prefill,
    closed_loops,
    continuous_batching,
    deployment,
    deployment_advice,
    deployment_costs,
    economics,
    energy,
    iteration,
    mixers,
    prefix_cache,
    replica_layout,
    varied_lengths,
)
from mlsysim.inputs.declaration import Alone, Caveat, Foundation, Room
from mlsysim.inputs.slot import Slot
from mlsysim.inputs.variant import Variant
from mlsysim.models.base import PerformanceModel, Verb
from mlsysim.models.energy import DEFAULTS, FOLLOWS, KEYWORDS
from mlsysim.models.iteration import ADAPTERS, ENGINE_CAVEATS, ENGINE_DEFAULTS, FORMATS, LAYOUT, IterationModel
from mlsysim.models.shape import DECODES, UNCROSSED, prefill_caveats
from mlsysim.models.stack import stack_slot
from mlsysim.symbolic import Requirement, request, token, when
from mlsysim.symbolic.exchange import exchanged
from mlsysim.symbolic.variable import declaration_order
from mlsysim.symbols.chunked import C_b, cv_in, cv_out, tau_Z, uncut
from mlsysim.symbols.closed_loops import B_z, K_z, r_poll, w_wait
from mlsysim.symbols.deployment import (
    T_1,
    T_2,
    T_3,
    B_seq,
    Z_all,
    alpha_s,
    c_given,
    d_pre,
    e_pre,
    itl_99,
    k_a,
    lam_all,
    mu_e,
    p_pre,
    rho_e,
    s_in,
    t_pre,
    tpot_mean,
)
from mlsysim.symbols.iteration import d_a, gamma_s, h_given
from mlsysim.symbols.prefix_cache import M_pre, s_pre
from mlsysim.symbols.training import e, p, t

#: Prompts of no more tokens take about as long to read weights for as to compute.
_FEW = 256

_ENGINE = (
    *iteration.operators(),
    *prefix_cache.CACHE,
    *iteration.ITERATION,
    replica_layout.replica_weights,
    iteration.kv_memory,
    iteration.cache_tokens,
    iteration.held_tokens,
    varied_lengths.mean_context,
    mixers.mixer_matrices,
    continuous_batching.stored_weights,
    continuous_batching.expert_padding,
    continuous_batching.peak_seq_len,
)
_RENT = (
    deployment_costs.deployed_accelerators,
    deployment_costs.answered_requests,
    deployment_costs.hourly_cost,
    economics.token_cost,
    economics.generated_tokens,
    *economics.RENTED,
)
_POWER = (energy.engine_request, *energy.SERVED, energy.node_power, energy.request_energy)
_HEADLINE = (
    "deployed_replicas",
    "accelerators_per_replica",
    "feasible",
    "serving_bottleneck",
    "slo_attainment",
    "goodput",
    "goodput_per_accelerator",
    "ttft_mean",
    "ttft_p50",
    "ttft_p90",
    "ttft_p99",
    "tpot_mean",
    "tpot_p50",
    "tpot_p90",
    "tpot_p99",
    "e2e_mean",
    "decode_batch",
    "engine_slots",
    "kv_cache_tokens",
    "replica_load",
    "tokens_per_second",
    "tokens_per_second_per_accelerator",
    "cost_per_hour",
    "cost_per_token",
)
_WHOLE = ("e2e_p50", "e2e_p90", "e2e_p99", "itl_p99")
_SHARED_OUT = ("cost_per_input_token", "cost_per_output_token", "energy_per_token")
#: Outputs as far off as the iterations of an engine: means of a token, and what an engine or an accelerator completes.
_BY_ITERATIONS = (
    "tpot_mean",
    "deployed_replicas",
    "replica_capacity",
    "goodput",
    "goodput_per_accelerator",
    "tokens_per_second_per_accelerator",
)
#: What traffic says of the requests.
TRAFFIC = tuple(name for name in Traffic.model_fields if name in declaration_order())
#: Times before a request reaches the engine, which its stack gives.
FRONTEND = ("frontend_time", "frontend_token_time")
#: Settings of an engine, of which its stack says the defaults.
FLAGS = ("max_num_seqs", "max_num_batched_tokens", "whole_prompts")
#: A cache of prefixes of a given size, and who asks for them.
PREFIXES = {"prefix_cache_memory": 0.0, "num_prefixes": 1000, "prefix_len": 512, "prefix_zipf": 1.0}
_PREFILL_LAYOUT = {t: t_pre, p: p_pre, e: e_pre, d_a: d_pre}
_POOLS = {
    "prefill_workers": 1,
    "decode_workers": 1,
    "kv_transfer_bandwidth": 50,
    **{size.name: 0 for size in _PREFILL_LAYOUT.values()},
}
#: Laws of chunked prefill know no stages.
_BUDGET = (
    Requirement(C_b, C_b / token >= B_seq / request, "must be at least {max_num_seqs}, as in vLLM"),
    Requirement(p, Eq(p, 1), "must be 1 with chunked prefill"),
    Requirement(
        uncut,
        Eq(uncut, 0) | (C_b > s_in),
        "must be False where a prompt of {isl} is longer than {max_num_batched_tokens}",
    ),
)


def _apart(requirement: Requirement) -> Requirement:
    """The same of the engines that prefill, where they have a layout of their own."""
    own: dict[Any, Any] = {size: when(given > 0, given, size) for size, given in _PREFILL_LAYOUT.items()}
    words = requirement.allowed
    for size, given in _PREFILL_LAYOUT.items():
        words = words.replace(f"{{{size.name}}}", f"{{{given.name}}} (0: {{{size.name}}})")
    blamed = _PREFILL_LAYOUT.get(requirement.argument, requirement.argument)
    if blamed is not requirement.argument:
        words = f"(0: {{{requirement.argument.name}}}) {words}"
    same = And(*(given <= 0 for given in _PREFILL_LAYOUT.values()))
    return Requirement(blamed, Or(same, exchanged(requirement.condition, own)), words)


#: What a layout must hold, of the engines that prefill.
_OF_PREFILL = tuple(
    _apart(own)
    for own in IterationModel.requirements
    if any(size in own.condition.free_symbols for size in _PREFILL_LAYOUT)
)


class ServingModel(PerformanceModel):
    """What does a serving deployment deliver, and how many replicas meet its latency targets?

    Latencies, goodput and replicas of engines on several accelerators: colocated, with chunked prefill or in pools.
    """

    simulate = Verb("simulate")
    command = "serve"
    engine = "vllm"
    example = {
        "model": "Llama3_3_70B",
        "hardware": "H100",
        "precision": "w8a8",
        "tp_size": 4,
        "stack": "TensorRT_LLM_H100",
        "request_rate": 20,
        "isl": 1024,
        "osl": 256,
        "ttft_slo": 1000,
        "tpot_slo": 50,
    }
    answer = "deployed_replicas"
    foundations = tuple(
        Foundation(IterationModel, variant, dict.fromkeys(_BY_ITERATIONS, measured))
        for variant, measured in (("saturated", "output_tokens_per_second"), ("iteration", "iteration_time"))
    )
    variants = {
        "colocated": Variant(
            (
                *_ENGINE,
                *varied_lengths.SHARED,
                *closed_loops.replica(),
                *deployment_costs.SHARED,
                *deployment_advice.SHARED,
                *_RENT,
                *_POWER,
            ),
            about="One engine prefills whole prompts and decodes by turns. The mean time per token is within 6% of a "
            "simulation up to a load of 0.9 (docs/serving.md).",
        ),
        "disaggregated": Variant(
            (
                *_ENGINE,
                *varied_lengths.POOLS,
                *replica_layout.POOLS,
                *deployment.replica(replica_layout.DISAGGREGATED),
                *answer_times.POOLS,
                *deployment_costs.POOLS,
                *deployment_advice.POOLS,
                *_RENT,
                *_POWER,
            ),
            requirements=_OF_PREFILL,
            about="Engines of one pool prefill, those of another decode; keys and values go from one to the other. The "
            "mean time per token is within 1% of a simulation (docs/serving.md).",
        ),
        "chunked": Variant(
            (
                *_ENGINE,
                *chunked_chain.replica(),
                *deployment_costs.CHUNKED,
                *deployment_advice.CHUNKED,
                *_RENT,
                *_POWER,
            ),
            headline=(*_HEADLINE, *_WHOLE, "slot_wait_probability", *_SHARED_OUT),
            requirements=_BUDGET,
            about="One engine prefills prompts in chunks beside its decoding; latencies are read off a Markov chain.",
        ),
        "chunked_estimate": Variant(
            (
                *_ENGINE,
                *chunked_prefill.replica(),
                *deployment_costs.CHUNKED,
                *deployment_advice.CHUNKED,
                *_RENT,
                *_POWER,
            ),
            headline=(*_HEADLINE, *_SHARED_OUT),
            requirements=_BUDGET,
            about="The same in closed form. The mean time per token is within 8% of a simulation up to a load of 0.5, "
            "15% up to 0.9 (docs/serving.md).",
        ),
    }
    room = (
        Room("engine_slots", ("tp_size", "pp_size"), "dp_attention_size", "accelerators_per_node"),
        Room(
            "prompt_slots",
            ("prefill_tp_size", "prefill_pp_size"),
            "prefill_attention_ranks",
            "accelerators_per_node",
            "a prompt",
            ("prefill_tensor_ranks", "prefill_stages"),
        ),
    )
    alone = Alone(
        {"request_rate": 1e-6, "concurrency": 0, "num_replicas": 1},
        {
            f"{time}_slo": {0.5: f"{time}_p50", 0.9: f"{time}_p90", 0.99: f"{time}_p99", 1: f"{time}_mean"}
            for time in ("ttft", "tpot", "e2e")
        },
        "slo_quantile",
    )
    effective_with = IterationModel.effective_with
    caveats = (
        *ENGINE_CAVEATS,
        *prefill_caveats(s_in),
        Caveat(
            And(Z_all <= 0, lam_all <= 0),
            "no arrival rate is given: latencies are those of a request alone; give request_rate or concurrency",
        ),
        Caveat(
            And(Z_all > 0, lam_all > 0),
            "request_rate, {request_rate}, is not used: concurrency says that {concurrency} are in flight",
        ),
        Caveat(
            And(M_pre > 0, h_given > 0),
            "prefix_hit_rate, {prefix_hit_rate}, is not used: prefix_cache_memory says how much is found",
        ),
        Caveat(
            And(Z_all > 0, Or(k_a < 1, k_a > 1)),
            "burstiness, {burstiness}, is not used: a closed loop sends a request when another ends",
        ),
        Caveat(
            And(Z_all <= 0, Or(k_a < Rational(1, 4), k_a > 4)),
            "burstiness, {burstiness}, is outside of 0.25 to 4, the range checked by simulation",
        ),
        Caveat(
            And(Z_all <= 0, Or(k_a < 1, k_a > 1)),
            "burstiness, {burstiness}, is not used: chunked prefill takes Poisson's arrivals; variant='colocated' and "
            "a simulation have bursts",
            variants=("chunked", "chunked_estimate"),
            stored=True,
        ),
        Caveat(
            And(Z_all <= 0, Or(r_poll > 1, w_wait > 0)),
            "poll_interval, {poll_interval}, and batch_wait, {batch_wait}, are not used: arrivals are an open loop",
        ),
        Caveat(
            And(Z_all > 0, c_given <= 0, Or(T_1 > 0, T_2 > 0, T_3 > 0)),
            "a closed loop, here {concurrency}, is one replica whatever its targets: give num_replicas",
        ),
        Caveat(
            And(Z_all > 0, Or(cv_in > 0, cv_out > 0)),
            "a closed loop, here {concurrency}, has only means if lengths vary: all quantiles equal them, "
            "and targets are compared with them",
        ),
        Caveat(
            And(Z_all > 1, cv_out <= 0, gamma_s <= 0, tau_Z > 0),
            "requests of one output length stay in the phases of the start of a closed loop, which chunked prefill "
            "does not model: in simulations TTFT was up to fifteen times as long, in runs (num_rounds) up to six "
            "times as short, and TPOT 0.7 times; give osl_cv, or simulate",
        ),
        Caveat(
            And(B_z > 1, s_in <= _FEW),
            "prompts of {isl} are prefilled one after the other here; engines batch several such short prompts: "
            "IterationModel('static') has their time",
        ),
        Caveat(
            And(gamma_s <= 0, alpha_s > 0),
            "acceptance_rate, {acceptance_rate}, is not used: num_speculative_tokens is 0",
        ),
        Caveat(
            And(gamma_s > 0, alpha_s <= 0),
            "no drafted token is accepted: acceptance_rate is 0",
        ),
        Caveat(
            And(Z_all <= 0, rho_e >= 1, mu_e > 0),
            "requests arrive faster than they are completed, and the queue grows without bound: deployed_replicas is "
            "{deployed_replicas} of {replica_capacity} each",
        ),
        Caveat(
            And(Z_all <= 0, c_given <= 0, T_1 <= 0, T_2 <= 0, T_3 <= 0, rho_e > Rational(9, 10), rho_e < 1),
            "no latency target is given: the fewest replicas that keep up, {deployed_replicas}, have a replica_load of "
            "{replica_load}, at which requests may wait long; give ttft_slo or tpot_slo",
        ),
        Caveat(
            And(mu_e > 0, Or(Z_all > 0, rho_e < 1), itl_99 < Rational(999, 1000) * tpot_mean),
            "itl_p99, {itl_p99}, is below the mean time per token, {tpot_mean}: about one gap in a hundred is far "
            "longer, and so are quantiles just above 99%",
        ),
    )
    uncrossed = UNCROSSED
    follows = FOLLOWS
    slots = {
        **IterationModel.slots,
        "stack": stack_slot((*IterationModel.slots["stack"].provides, *FRONTEND, *FLAGS)),
        "engine": Slot(Engine, ()),
        "traffic": Slot(Traffic, TRAFFIC, optional=True),
        "rent": Slot(Rent, ("rental_price",), optional=True, strict=True),
    }
    keywords = {
        "request_rate": 0.0,
        "concurrency": 0.0,
        "num_rounds": 0,
        "isl": 2048,
        "osl": 128,
        "ttft_slo": 0.0,
        "tpot_slo": 0.0,
        "e2e_slo": 0.0,
        "slo_quantile": 0.9,
        "num_replicas": 0,
        **LAYOUT,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "whole_prompts": False,
        **FORMATS,
        "prefix_hit_rate": 0.0,
        **PREFIXES,
        **ADAPTERS,
        "num_speculative_tokens": 0,
        "acceptance_rate": 0.0,
        "draft_cost": 0.0,
        **_POOLS,
        "isl_cv": 0.0,
        "osl_cv": 0.0,
        "burstiness": 1.0,
        "poll_interval": 0.0,
        "batch_wait": 0.0,
        "kv_page_size": 16,
        "attention_mask": "causal",
        "congestion_factor": 1.0,
        "images": 0,
        "duration": 365,
        **KEYWORDS,
    }
    defaults = {**ENGINE_DEFAULTS, **DEFAULTS}
    requirements = (
        *IterationModel.requirements,
        DECODES,
        Requirement(s_pre, (M_pre <= 0) | (s_pre <= s_in), "must be at most {isl}"),
        Requirement(K_z, (K_z <= 0) | (Z_all > 0), "is of a closed loop: give concurrency"),
        Requirement(Z_all, (Z_all <= 0) | (Z_all >= request), "must be at least 1 in flight, or 0 for no closed loop"),
    )
    automatic = {"num_replicas": 0}
    common = (
        "engine",
        "traffic",
        "concurrency",
        "num_replicas",
        "slo_quantile",
        "pp_size",
        "ep_size",
        "max_num_seqs",
        "max_num_batched_tokens",
        "kv_cache_dtype",
        "prefix_hit_rate",
        "prefill_workers",
        "decode_workers",
    )
    headline = (*_HEADLINE, *_WHOLE, *_SHARED_OUT)
