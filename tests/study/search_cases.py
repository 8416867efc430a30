"""Random search problems for every model: axes, an objective and constraints, always the same for a seed."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import sympy

from mlsysim import units
from mlsysim.backends import compiled
from mlsysim.backends.blocks import blocks, shape, within
from mlsysim.bounds import Points
from mlsysim.errors import MlsysimError
from mlsysim.inputs.binding import bind, bind_grid
from mlsysim.models import every_model
from mlsysim.study.searches.problem import read_problem
from mlsysim.symbolic import LeastInteger, variable_of

TRAINING = {"model": "Mixtral_8x7B", "hardware": "H100", "batch_size": 64, "precision": "bf16"}
DENSE = {**TRAINING, "model": "Llama3_70B", "batch_size": 512}
NETWORK = {"fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us", "fleet_size": 64}
SERVING = {"model": "Llama3_8B", "hardware": "H100", "qps": 20, "target_p99_latency_ms": 4000, "max_batch_size": 16}
ROUTING = {"model": "DeepSeek_V3", "fleet": "Research_256", "batch_size": 64, "ep_size": 8}
FLEET = {"hardware": "H100", "accelerators": 8, "run_tokens": 1e12}
PRICE, RENTAL = {"price": 30000, "tdp": 700}, {"rental_price": 2, "tdp": 700}
LAYOUT = ("batch_size", "seq_len", "tp_size", "pp_size", "ep_size", "cp_size", "zero_stage", "precision",
          "gradient_accumulation_steps", "activation_checkpointing", "interleaved_stages", "sequence_parallel",
          "optimizer", "hardware", "gradient_dtype", "attention_kernel", "pipeline_schedule")  # fmt: skip
STEP = (*LAYOUT, "fleet_size", "fabric_bandwidth", "efficiency", "dp_overlap", "tp_overlap", "training_tokens",
        "routing_imbalance_factor", "fabric_latency", "pipeline_split", "host_operation_time",
        "ep_overlap")  # fmt: skip
QUEUE = ("qps", "max_batch_size", "seq_len", "output_tokens", "efficiency", "precision", "hardware",
         "target_p99_latency_ms")  # fmt: skip
ENGINE = {"model": "Mixtral_8x7B", "hardware": "H100", "precision": "bf16"}
PASS = ("tp_size", "decode_requests", "context_tokens", "prompts", "seq_len", "output_tokens", "precision", "hardware",
        "efficiency", "max_batch_size")  # fmt: skip
MONEY = ("pue", "grid_carbon", "idle_power_fraction")
SAMPLED = {"model": "Llama3_8B", "hardware": "H100", "fleet_size": 16, "num_prompts": 64, "prompt_len": 200,
           "mean_response_length": 1500, "max_response_length": 4000}  # fmt: skip
SAMPLES = ("fleet_size", "num_prompts", "num_generations", "prompt_len", "rollout_tp_size", "tp_size", "hardware",
           "logprob_passes", "offload", "zero_stage", "duration")  # fmt: skip
STUDY = {"model": "DeepSpeedMoE_24B_MoE_128", "design": "GH200"}
TIERED = {**{name: value for name, value in DENSE.items() if name != "hardware"}, **NETWORK, "design": "GH200"}
SAVED = {"placement_time": 60, "storage_bandwidth": "100 GB/s"}
SAVES = ("save_interval", "spare_nodes", "storage_bandwidth")
TIMED = {"training_time": 48.6, "fleet_size": 16384, "accelerators_per_node": 8, "rental_price": 2}
STALLED = {"placement_time": 60, "save_stall": 60, "load_time": 130}
REPLICAS = {"elastic_stall": 180, "away_time": 900}
FAILING = (*SAVES, "training_time", "fleet_size", "node_failure_rate", "placement_time", "restart_share", "save_stall",
           "load_time", "interval_rule", "away_time", "shrunk_replicas", "memory_survival")  # fmt: skip
PHASES = ("batch_size", "seq_len", "tp_size", "ep_size", "design", "prefetch_fraction", "efficiency", "precision")
SHARES = ("weights_offload", "checkpoints_offload", "gradients_offload", "optimizer_offload")
PRODUCT = {"hardware": "H100", "product_rows": 512, "product_columns": 4096, "product_inner": 4096}
KERNEL = ("product_rows", "product_columns", "product_inner", "memory_efficiency", "efficiency")
GROUP = {"fleet": "SuperPOD_H100", "collective_ranks": 16}
ROUTED = {**GROUP, "tokens_per_rank": 512, "hidden_dim": 7168, "active_experts_per_token": 8}
RANKS = ("collective_ranks", "message_bytes", "node_bandwidth", "fabric_bandwidth", "oversubscription",
         "link_efficiency", "tokens_per_rank", "active_experts_per_token")  # fmt: skip
#: Model, variant, a point that is accepted, and the inputs that become axes.
FAMILIES = (
    ("ParameterCountModel", "counted", {"model": "DeepSeek_V3"}, ("layers", "hidden_dim", "heads", "experts",
     "expert_ffn_dim", "vocabulary", "tied_embeddings")),
    ("TrainingMemoryModel", "first_order", {**TRAINING}, (*LAYOUT[:4], *LAYOUT[4:10], "dp_size", "hardware")),
    ("TrainingMemoryModel", "korthikanti", {**DENSE}, (*LAYOUT, "dp_size")),
    ("TrainingMemoryModel", "per_operator", {**TRAINING}, (*LAYOUT, "dp_size", "gathered_layers", "etp_size")),
    ("TrainingMemoryModel", "per_operator", {**DENSE}, (*LAYOUT, "dp_size", "dropout_mask_bytes")),
    ("MoERoutingModel", "first_order", ROUTING, ("batch_size", "ep_size", "seq_len", "routing_imbalance_factor",
     "precision", "fleet", "tp_size", "congestion_factor")),
    ("MoERoutingModel", "per_layer", ROUTING, ("batch_size", "ep_size", "seq_len", "routing_imbalance_factor",
     "precision", "fleet", "tp_size", "congestion_factor")),
    ("DistributedModel", "per_operator", {**TRAINING, **NETWORK}, (*STEP, "etp_size")),
    ("DistributedModel", "per_operator", {**DENSE, **NETWORK}, STEP),
    ("DistributedModel", "per_operator", {**DENSE, **NETWORK, "fleet_size": 8}, STEP),
    ("DistributedModel", "load_line", {**DENSE, **NETWORK}, STEP),
    ("EconomicsModel", "owned_training", {**DENSE, **NETWORK, **PRICE}, (*STEP, *MONEY)),
    ("EconomicsModel", "rented_training", {**TRAINING, **NETWORK, **RENTAL}, (*STEP, *MONEY)),
    ("EconomicsModel", "owned_run", {**DENSE, **NETWORK, **SAVED, **PRICE}, (*STEP, *SAVES, *MONEY)),
    ("EconomicsModel", "rented_run", {**TRAINING, **NETWORK, **SAVED, **RENTAL}, (*STEP, *SAVES, *MONEY)),
    ("EconomicsModel", "owned_post_training", {**SAMPLED, **PRICE}, (*SAMPLES, *MONEY)),
    ("EconomicsModel", "rented_post_training", {**SAMPLED, **RENTAL}, (*SAMPLES, *MONEY)),
    ("EconomicsModel", "owned_fleet", {**FLEET, **PRICE},
     ("accelerators", "busy_share", "duration", *MONEY, "hardware")),
    ("EconomicsModel", "owned_fleet_load_line", {**FLEET, **PRICE},
     ("accelerators", "busy_share", "duration", *MONEY)),
    ("EconomicsModel", "rented_fleet", {**FLEET, **RENTAL}, ("accelerators", "busy_share", "duration", *MONEY)),
    ("EconomicsModel", "rented_fleet_load_line", {**FLEET, **RENTAL},
     ("accelerators", "busy_share", "duration", *MONEY)),
    ("ServingCapacityModel", "first_order", SERVING, QUEUE),
    ("ServingCapacityModel", "prefill_aware", SERVING, (*QUEUE, "service_time_cv")),
    ("IterationModel", "iteration", {**ENGINE, "decode_requests": 8, "context_tokens": 900, "prompts": 1}, PASS),
    ("IterationModel", "capped", {**ENGINE, "decode_requests": 8, "power_limit": 400}, (*PASS, "power_limit")),
    ("IterationModel", "saturated", ENGINE, PASS),
    ("IterationModel", "static", ENGINE, PASS),
    ("EconomicsModel", "owned_serving", {**SERVING, **PRICE}, (*QUEUE, *MONEY)),
    ("EconomicsModel", "rented_serving", {**SERVING, **RENTAL}, (*QUEUE, *MONEY)),
    ("MemoryExpansionModel", "by_policy", STUDY, (*PHASES, "policy")),
    ("MemoryExpansionModel", "by_share", STUDY, (*PHASES, *SHARES)),
    ("MemoryExpansionModel", "offloaded_training", TIERED, (*STEP, "design", "policy")),
    ("MemoryExpansionModel", "offloaded_by_share", TIERED, (*STEP, "design", *SHARES)),
    *(("KernelModel", law, PRODUCT, KERNEL) for law in ("waves", "smooth", "roofline")),
    ("KernelModel", "elementwise", {"hardware": "H100", "kernel_bytes": "100 MB"}, ("kernel_bytes", *KERNEL)),
    ("KernelModel", "attention", {"hardware": "H100", "heads": 32, "head_dim": 128, "seq_len": 4096},
     ("batch_size", "seq_len", "heads", "head_dim", "attention_kernel")),
    *(
        ("CollectiveModel", kind, {**GROUP, "message_bytes": "64 MiB"}, RANKS)
        for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    ),
    *(
        ("CollectiveModel", kind, ROUTED, RANKS)
        for kind in ("dispatch", "combine", "low_latency_dispatch", "low_latency_combine")
    ),
    ("ExpertParallelModel", "fsdp", {**TRAINING, **NETWORK, "zero_stage": 3}, (*STEP, "etp_size")),
    ("ExpertParallelModel", "per_operator", {**TRAINING, **NETWORK}, (*STEP, "etp_size")),
    *(
        ("RunModel", how, {**DENSE, **NETWORK, **SAVED}, (*STEP, *SAVES))
        for how in ("overlapped", "blocking", "two_level")
    ),
    ("RunModel", "elastic", {**DENSE, **NETWORK, **REPLICAS, "rental_price": 2}, (*STEP, "away_time", "spare_nodes")),
    ("RunModel", "given", {**TIMED, **STALLED}, FAILING),
    *(
        ("RunModel", how, {**TIMED, **SAVED, "save_bytes": "5.67 TB"}, FAILING)
        for how in ("given_overlapped", "given_blocking")
    ),
    ("RunModel", "given_two_level", {**TIMED, **STALLED, "memory_save_stall": 0.6}, FAILING),
    ("RunModel", "given_elastic", {**TIMED, **REPLICAS, "elastic_replicas": 48}, FAILING),
    *(
        ("PostTrainingModel", how, SAMPLED, SAMPLES)
        for how in ("colocated", "disaggregated", "one_step_off", "fully_asynchronous")
    ),
)  # fmt: skip
DEPLOYED = {"model": "Mixtral_8x7B", "hardware": "H100", "tp_size": 2, "request_rate": 20, "isl": 1024,
            "max_num_seqs": 24, "ttft_slo": 500, "tpot_slo": 40}  # fmt: skip
REPLICA = ("request_rate", "isl", "osl", "tp_size", "ep_size", "max_num_seqs", "hardware", "num_replicas", "tpot_slo",
           "prefix_hit_rate")  # fmt: skip
POOLED = (*REPLICA, "prefill_workers", "decode_workers", "pp_size", "kv_transfer_bandwidth")
CHUNKED = (*REPLICA, "max_num_batched_tokens")
ON_DESIGN = {name: value for name, value in DEPLOYED.items() if name != "hardware"} | {"design": "GH200"}
#: Deployments, whose points are roots within roots: every point is looked at.
DEPLOYMENTS = (
    ("ServingModel", "colocated", {**DEPLOYED, **RENTAL}, REPLICA),
    ("ServingModel", "disaggregated", {**DEPLOYED, **RENTAL}, POOLED),
    ("ServingModel", "chunked_estimate", {**DEPLOYED, "rental_price": 2, "max_num_batched_tokens": 2048}, CHUNKED),
    ("EconomicsModel", "owned_deployment", {**DEPLOYED, **PRICE}, (*REPLICA, *MONEY)),
    ("EconomicsModel", "rented_deployment", {**DEPLOYED, **RENTAL}, (*REPLICA, *MONEY)),
    ("EconomicsModel", "owned_disaggregated_deployment", {**DEPLOYED, **PRICE}, (*POOLED, *MONEY)),
    ("EconomicsModel", "rented_disaggregated_deployment", {**DEPLOYED, **RENTAL}, (*POOLED, *MONEY)),
    ("EconomicsModel", "owned_chunked_deployment_estimate", {**DEPLOYED, **PRICE}, (*CHUNKED, *MONEY)),
    ("EconomicsModel", "rented_chunked_deployment_estimate", {**DEPLOYED, **RENTAL}, (*CHUNKED, *MONEY)),
    ("MemoryExpansionModel", "serving", ON_DESIGN, (*REPLICA, "design", "kv_offload")),
    ("MemoryExpansionModel", "disaggregated_serving", ON_DESIGN, (*POOLED, "design", "weights_offload")),
    ("MemoryExpansionModel", "chunked_serving_estimate", ON_DESIGN, (*CHUNKED, "design", "kv_offload")),
)
ENTRIES = {
    "hardware": ["H100", "H200", "A100", "MI300X"],
    "fleet": ["Research_256", "Llama3_16K"],
    "design": ["GH200", "DGX_H100_PCIe", "MI300A"],
}


def build(kind, variant):
    return next(each for each in every_model() if each.__name__ == kind)(variant)


def values_of(random, variable, canonical, most):
    """Values of an axis around one that is accepted: every so many, powers of two, or anything between."""
    domain = variable.domain
    if domain.kind == "choice":
        count = int(random.integers(1, len(domain.labels) + 1))
        return [str(label) for label in random.permutation(domain.labels)[:count]]
    if domain.is_flag:
        return [False, True]
    at = 1.0 if canonical is None else float(units.from_canonical(canonical, variable.unit))
    if domain.kind == "integer":
        start, how = int(max(domain.lower, 1)), random.integers(3)
        if how == 0:
            found = [start * 2**n for n in range(min(most, 9))]
        elif how == 1:
            found = list(range(start, start + most))
        else:
            step = max(1, int(at))
            found = [step * n for n in range(1, most + 1)]
        return sorted({min(int(value), int(min(domain.upper, 2**40))) for value in found})
    low, high = max(domain.lower, at / 4 or 0.01), min(domain.upper, 4 * at or 1.0)
    return sorted({float(f"{value:.6g}") for value in random.uniform(low, high, most)})


def random_axes(random, kind, variant, point, names, points):
    """Some inputs as axes, of about so many points together, on which something is accepted."""
    model = build(kind, variant)
    binding = bind(model, point)
    chosen = [str(name) for name in random.permutation(names) if name in model.arguments][: int(random.integers(3, 8))]
    axes, size = {}, 1
    for place, name in enumerate(chosen):
        left = max(1.0, (points / size) ** (1 / (len(chosen) - place)))
        most = int(min(256, max(2, 2 * left * random.uniform(0.5, 1.5))))
        if name in ENTRIES:
            count = int(random.integers(1, len(ENTRIES[name]) + 1))
            values = [str(entry) for entry in random.permutation(ENTRIES[name])[:count]]
        else:
            values = values_of(random, variable_of(name), binding.values.get(name), most)
        axes[name] = values
        size *= len(values)
    return model, {**{name: value for name, value in point.items() if name not in axes}, **axes}


def random_objective(random, model, binding):
    """An output, a quotient, a product or a sum of outputs and inputs; and whether it is maximised."""

    def number(name):
        variable = variable_of(name)
        return variable.domain.kind in ("real", "integer") and not variable.domain.is_flag

    outputs = [v.name for v in binding.system.variables if number(v.name)]
    heads = [name for name in model.headline if name in outputs] or outputs
    first = variable_of(str(random.choice(heads if random.random() < 0.7 else outputs)))
    swept = [name for name, value in binding.values.items() if np.ndim(value) and number(name)]
    divisors = [name for name in swept if np.all(binding.values[name])]
    how = random.integers(5)
    expression = first.symbol
    if how == 1 and divisors:
        expression = first.symbol / variable_of(str(random.choice(divisors))).symbol
    elif how == 2:
        expression = first.symbol * variable_of(str(random.choice(swept or outputs))).symbol
    elif how == 3:
        alike = [variable_of(n).symbol for n in outputs if variable_of(n).dimension == first.dimension]
        picked = random.permutation(len(alike))[:3]
        expression = sympy.Add(*(alike[i] * int(random.integers(1, 4)) for i in picked), first.symbol)
    elif how == 4 and swept:
        expression = first.symbol**2 * variable_of(str(random.choice(swept))).symbol
    return expression, bool(random.random() < 0.25)


def random_constraints(random, binding, sample):
    """Limits on outputs at quantiles of what meets those before, products of axes, and feasibility."""
    found, held = [], binding.conditions
    names = [v.name for v in binding.system.variables]

    def met(objective, *more):
        return Points(binding.system, (objective,), (*held, *more), binding.numbers)(sample)

    feasible = variable_of("feasible").symbol
    if "feasible" in names and random.random() < 0.5 and met(sympy.Integer(1), feasible)[1].any():
        found.append(feasible)
        held += (feasible,)
    numbers = [n for n in names if variable_of(n).domain.kind == "real" and not variable_of(n).unit.startswith("1/")]
    for name in random.permutation(numbers)[: int(random.integers(0, 3))]:
        variable = variable_of(str(name))
        values, good = met(variable.symbol)
        known = values[good & np.isfinite(values)]
        if len(known):
            limit = float(units.from_canonical(np.quantile(known, random.uniform(0.1, 0.9)), variable.unit))
            unit = "" if variable.unit == "count" or variable.named_unit else f" {variable.unit}"
            relation = "<=" if random.random() < 0.7 else ">="
            found.append(f"{name} {relation} {limit:.12g}{unit}")
            canonical = limit * units.factor(variable.unit) * (1 + 1e-11)
            held += (variable.symbol <= canonical if relation == "<=" else variable.symbol >= canonical,)
    swept = [n for n, v in binding.values.items() if np.ndim(v) and variable_of(n).domain.kind == "integer"]
    swept = [n for n in swept if not variable_of(n).domain.is_flag and not variable_of(n).dimension]
    if len(swept) >= 2 and random.random() < 0.4:
        one, other = (variable_of(str(n)).symbol for n in random.permutation(swept)[:2])
        limit = int(np.median(binding.values[one.name]) * np.median(binding.values[other.name]))
        found.append(one * other <= limit if random.random() < 0.7 else sympy.Eq(sympy.Mod(one, other), 0))
    return tuple(found)


@cache
def searches(seed):
    """Whether every point of a family of problems is a search for replicas of its own."""
    kind, variant, *_ = FAMILIES[seed % len(FAMILIES)]
    system = next(each for each in every_model() if each.__name__ == kind)(variant).system
    return any(formula.expression.has(LeastInteger) for formula in system)


def random_problem(seed, points=100_000, families=FAMILIES):
    """A problem of about so many points, nearly always one that some of them solve."""
    random = np.random.default_rng(seed)
    kind, variant, point, names = families[seed % len(families)]
    last = None
    for _ in range(12):
        model, arguments = random_axes(random, kind, variant, point, names, points)
        try:
            binding = bind_grid(model, arguments)
        except MlsysimError:
            continue
        if not points / 3 <= math.prod(binding.sizes) <= 3 * points:
            continue
        sample = np.array([random.integers(0, size, 4096) for size in binding.sizes])
        objective, maximized = random_objective(random, model, binding)
        constraints = random_constraints(random, binding, sample)
        goals = {"maximize" if maximized else "minimize": objective}
        last = read_problem(model, arguments, goals.get("minimize"), goals.get("maximize"), constraints, True)
        if last.points(sample)[1].any() or random.random() < 0.1:
            break
    if last is None:
        raise ValueError(f"no axes of about {points:,} points for seed {seed}")
    return last


def searched(asked, **options):
    """A problem solved by ``search``."""
    ((expression, sign),) = asked.objectives
    goal = {"minimize" if sign > 0 else "maximize": expression.sympy}
    constraints = [constraint.sympy for constraint in asked.constraints]
    return asked.model.search(**asked.typed, **goal, subject_to=constraints, allow_infeasible=True, **options)


def by_brute_force(asked, points=1 << 17):
    """The objective, to be minimised, at every point of a grid in C order; infinite where it is not feasible."""
    sizes, numbers = asked.grid.sizes, asked.binding.numbers
    named = tuple((f"asked_{n}", each) for n, each in enumerate((*asked.goals, *asked.required)))
    function = compiled(asked.binding.system, None, "vector", named)
    parts, found = blocks(sizes, points), np.empty(math.prod(sizes))
    for number in range(parts.count):
        region = parts.region(number)
        of_region = shape(region)
        with np.errstate(all="ignore"):
            goal, *conditions = function.raw(
                *(np.asarray(within(numbers[name], region), float) for name in function.inputs)
            )
        good = np.ones(of_region, bool)
        for condition in conditions:
            good &= np.asarray(condition, bool)
        for reason in asked.binding.reasons:
            if reason.known is not None:
                good &= within(reason.known, region)
        start = parts.start(number)
        good &= np.less(goal, np.inf)
        found[start : start + good.size] = np.where(good, goal, np.inf).ravel()
    return found


def first_best(values, top):
    """Index and value of the best points: what is within 1e-9 counts as equal, and of equal ones the first is best."""
    known = np.flatnonzero(values < np.inf)
    if not len(known):
        return [], []
    last = np.sort(values[known])[min(top, len(known)) - 1]
    strict = known[values[known] < last - 1e-9 * abs(last)]
    tied = known[np.abs(values[known] - last) <= 1e-9 * abs(last)][: top - len(strict)]
    chosen = sorted([*strict.tolist(), *tied.tolist()], key=lambda place: values[place])
    ordered: list[int] = []
    while chosen:
        least = values[chosen[0]]
        run = [place for place in chosen if values[place] <= least + 1e-9 * abs(least)]
        ordered += sorted(run)
        chosen = chosen[len(run) :]
    return ordered, values[ordered].tolist()
