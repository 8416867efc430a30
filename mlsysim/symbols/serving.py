"""Symbols of a serving deployment: KV cache, latency, queue, replicas."""

from mlsysim.symbolic import between, choice, integer, nonnegative, positive, variable

n_out = variable("output_tokens", r"n_{\mathrm{out}}", "token", "Tokens generated per request.", integer(1))
B_max = variable("max_batch_size", r"B_{\max}", "request", "Most requests one replica decodes together.", integer(1))
page = variable("kv_page_size", r"s_{\mathrm{page}}", "token", "Tokens per page of the KV cache.", integer(1))

W_s = variable("served_weights", r"W_{\mathrm{s}}", "GB", "Weights one replica keeps in memory.", positive())
kv_token = variable("kv_bytes_per_token", r"\kappa_{\mathrm{tok}}", "kB/token", "KV cache of one token.", positive())
s_pad = variable("padded_seq_len", r"\hat{s}", "token", "Sequence length rounded up to whole pages.", integer(1))
kv_request = variable(
    "kv_bytes_per_request", r"\kappa_{\mathrm{req}}", "GB/request", "KV cache of one request.", nonnegative()
)
B_a = variable("active_batch_size", r"B_{\mathrm{a}}", "request", "Requests one replica decodes together.", integer(0))

flops_prefill = variable(
    "prefill_flops", r"\Phi_{\mathrm{pre}}", "TFLOP", "Arithmetic to prefill the active batch.", nonnegative()
)
ttft = variable("ttft", r"T_{\mathrm{first}}", "ms", "Time to first token.")
t_step = variable("decode_step_time", r"T_{\mathrm{step}}", "ms", "Time of one decode step of the batch.", positive())
itl = variable("itl", r"T_{\mathrm{tok}}", "ms", "Inter-token latency seen by one request.")
T_base = variable("base_request_latency", r"T_{\mathrm{base}}", "ms", "Latency of a request that does not queue.")

qps = variable(
    "qps", r"\lambda", "QPS", "Requests arriving per second.", positive(), named_unit=True, label="Arrival rate"
)
target = variable(
    "target_p99_latency_ms",
    r"T^{*}",
    "ms",
    "Latency 99% of the requests must meet.",
    positive(),
    named_unit=True,
    label="Target P99 latency",
)
cv = variable("service_time_cv", r"c_v", "count", "Coefficient of variation of the service time.", nonnegative())
c_max = variable("max_replicas", r"c_{\max}", "count", "Most replicas considered.", integer(1, 1_000_000))

mu = variable(
    "per_replica_qps_capacity",
    r"\mu",
    "QPS",
    "Requests one replica completes per second.",
    nonnegative(),
    named_unit=True,
    label="Capacity of one replica",
)
load = variable("offered_load", r"\Lambda", "count", "Work arriving, in replicas kept busy.", positive())
c_req = variable(
    "required_replicas",
    r"c_{\mathrm{req}}",
    "count",
    "Fewest replicas that meet the target; infinite when none do.",
    integer(1),
)
c = variable("replicas", "c", "count", "Replicas the queue is evaluated at.", integer(1))
qps_capacity = variable(
    "qps_capacity",
    r"\lambda_{\max}",
    "QPS",
    "Requests the deployment completes per second.",
    nonnegative(),
    named_unit=True,
    label="Capacity of all replicas",
)
utilization = variable("utilization", r"\rho", "count", "Arrivals over capacity.", positive())
wait_probability = variable(
    "wait_probability", r"P_{\mathrm{wait}}", "count", "Probability that a request queues.", between(0, 1)
)
W99 = variable("queue_wait_p99", r"W_{99}", "ms", "Queueing time 99% of the requests stay below.")
T99 = variable("estimated_p99_latency", r"T_{99}", "ms", "Latency 99% of the requests stay below.")
bottleneck = variable(
    "bottleneck",
    r"\mathrm{bottleneck}",
    "",
    "Bottleneck that keeps the deployment from its target, or Feasible.",
    choice("Memory", "Base Latency", "Capacity", "Tail Latency", "Feasible"),
)
