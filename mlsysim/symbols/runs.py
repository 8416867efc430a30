"""Symbols of runs that fail: rates and clocks, saves, spares, days and dollars."""

from mlsysim.symbolic import Domain, at_least, between, choice, flag, integer, nonnegative, positive, variable

N_COUNT, S, DAY, USD = "count", "s", "day", "USD"

N_nd = variable(
    "nodes", r"N_{\mathrm{nd}}", N_COUNT, "Nodes of a job.", integer(1), label="Nodes of the job"
)  # fmt: skip
r_f = variable(
    "node_failure_rate",
    r"r_{\mathrm{f}}",
    "1/day",
    "Failures that interrupt a job, per node and day, of all causes.",
    nonnegative(),
)
N_0 = variable(
    "measured_nodes",
    r"N_0",
    N_COUNT,
    "Nodes of the job on which node_failure_rate was measured; 0 if it holds for any number.",
    integer(0),
)
x_f = variable(
    "failure_size_exponent",
    r"x_{\mathrm{size}}",
    N_COUNT,
    "Power by which the rate of a node grows with the size of a job beyond measured_nodes; 0 for none.",
    nonnegative(),
)
clock = variable(
    "failure_clock",
    r"\mathrm{clock}",
    "",
    "Time that the rate counts: wall, in which a job is scheduled, or running, in which it works.",
    choice("wall", "running"),
)
restarts_fail = variable(
    "restarts_fail", r"\beta_{\mathrm{rf}}", N_COUNT, "True if failures can also hit a job during recovery.", flag()
)
sigma_r = variable(
    "restart_share",
    r"\sigma_{\mathrm{r}}",
    N_COUNT,
    "Share of the failures that a restart of processes cures on the same nodes.",
    between(0, 1),
)
r_p = variable("planned_rate", r"r_{\mathrm{p}}", "1/day", "Planned stops of a job, a day.", nonnegative())
r_c = variable(
    "corruption_rate",
    r"r_{\mathrm{corr}}",
    "1/day",
    "Silent corruptions of the state of a job, per node and day.",
    nonnegative(),
)
T_c = variable(
    "corruption_lost_time",
    r"T_{\mathrm{corr}}",
    "hour",
    "Work that is done again after a silent corruption: back to the last save from before it.",
    nonnegative(),
)
lam_w = variable(
    "published_failure_rate",
    r"\lambda_{\mathrm{pub}}",
    "1/day",
    "Failures of a job per time that the rate of a node counts.",
    nonnegative(),
)
M_f = variable(
    "mttf", r"M_{\mathrm{f}}", "hour", "Mean running time of a job to a failure.", nonnegative(), label="MTTF"
)
lam = variable(
    "job_failure_rate", r"\lambda_{\mathrm{f}}", "1/day", "Failures of a job per running time.", nonnegative()
)
T_cyc = variable(
    "mean_time_between_interruptions",
    r"M_{\mathrm{w}}",
    "hour",
    "Mean wall time from an interruption of a job to the next.",
    nonnegative(),
)

t_det = variable(
    "detection_time",
    r"t_{\mathrm{det}}",
    S,
    "Time from a failure until it is detected; a time-out if nothing watches for it.",
    nonnegative(),
)
t_pl = variable(
    "placement_time", r"t_{\mathrm{pl}}", S, "Time to allocate nodes to a job again, one of them new.", nonnegative()
)
t_in = variable(
    "initialization_time", r"t_{\mathrm{in}}", S, "Start of processes and of their communication.", nonnegative()
)
t_ld = variable("load_time", r"t_{\mathrm{ld}}", S, "Reading of a save from storage.", nonnegative())
t_warm = variable("warmup_time", r"t_{\mathrm{wu}}", S, "Slow first steps after a start.", nonnegative())
R_f = variable(
    "recovery_time",
    r"R_{\mathrm{f}}",
    S,
    "From a failure until the first step, without what is done again.",
    nonnegative(),
)
R_pl = variable("planned_stop_time", r"R_{\mathrm{p}}", S, "Length of a planned stop.", nonnegative())
s_R = variable(
    "recovery_deviation", r"s_{\mathrm{R}}", S, "Standard deviation of the recovery time.", nonnegative()
)  # fmt: skip

zeta = variable(
    "save_bytes_per_parameter", r"\zeta_{\mathrm{s}}", "byte", "State that is saved per parameter.", nonnegative()
)
B_s = variable(
    "save_bytes", r"B_{\mathrm{s}}", "GB", "Size of a checkpoint, in which replicated state counts once.", nonnegative()
)
B_sr = variable(
    "rank_save_bytes",
    r"B_{\mathrm{s,r}}",
    "GB",
    "State that one rank saves: its share of what replicas hold alike.",
    nonnegative(),
)
beta_h = variable(
    "host_copy_bandwidth",
    r"\beta_{\mathrm{h}}",
    "GB/s",
    "Bandwidth between one accelerator and its host, one direction; 0 for no limit.",
    nonnegative(),
)
beta_ns = variable(
    "node_storage_bandwidth",
    r"\beta_{\mathrm{ns}}",
    "GB/s",
    "Bandwidth of one node to storage; 0 for no limit.",
    nonnegative(),
)
beta_st = variable(
    "storage_bandwidth", r"\beta_{\mathrm{st}}", "GB/s", "Bandwidth of the whole storage, writing.", positive()
)
beta_sr = variable(
    "storage_read_bandwidth",
    r"\beta_{\mathrm{rd}}",
    "GB/s",
    "Bandwidth of the whole storage, reading; 0 for that of writing.",
    nonnegative(),
)
sigma_st = variable(
    "storage_share",
    r"\sigma_{\mathrm{sto}}",
    N_COUNT,
    "Share of the storage that a job has while it saves.",
    between(0, 1, open_lower=True),
)
n_wr = variable("save_writers", r"n_{\mathrm{wr}}", N_COUNT, "Processes that write a save; 0 for no limit.", integer(0))
beta_wr = variable(
    "writer_bandwidth",
    r"\beta_{\mathrm{wr}}",
    "GB/s",
    "Bandwidth of one process that writes a checkpoint; 0 for no limit.",
    nonnegative(),
)
t_meta = variable(
    "metadata_time",
    r"t_{\mathrm{meta}}",
    S,
    "Time for planning and files of a checkpoint, besides its bytes.",
    nonnegative(),
)
t_sync = variable(
    "save_barrier", r"t_{\mathrm{bar}}", S, "Time in which all ranks wait for each other at a save.", nonnegative()
)
t_wr = variable("save_write_time", r"t_{\mathrm{wr}}", S, "Writing of a save to storage.", nonnegative())
C_s = variable("save_stall", r"C_{\mathrm{s}}", S, "Time in which training waits for a save.", nonnegative())
D_s = variable(
    "save_latency",
    r"D_{\mathrm{s}}",
    S,
    "Time from the end of a checkpoint's stall until it can be restored; 0 if training waits for all of it.",
    nonnegative(),
)
k_h = variable("host_buffers", r"k_{\mathrm{h}}", N_COUNT, "Saves that a host keeps room for.", integer(1))
m_cp = variable("memory_copies", r"m_{\mathrm{cp}}", N_COUNT, "Copies of a save in hosts of other nodes.", integer(0))
M_host = variable(
    "host_memory_per_node", r"M_{\mathrm{hsv}}", "GB", "Host memory of one node that saves take.", nonnegative()
)
M_hcap = variable(
    "host_memory_capacity",
    r"M_{\mathrm{hcap}}",
    "GB",
    "Host memory of one node available for checkpoints; 0 for no limit.",
    nonnegative(),
)
phi_0 = variable(
    "memory_survival",
    r"\phi_0",
    N_COUNT,
    "Share of the failures after which the copy in host memory is usable.",
    between(0, 1),
)
k_lost = variable(
    "lost_nodes",
    r"k_{\mathrm{lost}}",
    N_COUNT,
    "Nodes lost per failure, with copies kept in pairs; 0 if memory_survival is given instead.",
    integer(0, 5),
)
p_pair = variable(
    "pair_survival",
    r"p_{\mathrm{pair}}",
    N_COUNT,
    "Probability that nodes that are lost hold no pair of copies.",
    between(0, 1),
)
phi_s = variable(
    "copy_survival", r"\phi_{\mathrm{s}}", N_COUNT, "Share of the failures that memory restores.", between(0, 1)
)

T_set = variable(
    "save_interval", r"T_{\mathrm{set}}", S, "Useful work between two saves; 0 for the best.", nonnegative()
)
interval_rule = variable(
    "interval_rule",
    r"\mathrm{rule}",
    "",
    "Law of the best interval: Young's, Daly's series, or that of the highest availability.",
    choice("daly", "young", "availability"),
)
mu_st = variable(
    "storage_multiplier",
    r"\mu_{\mathrm{st}}",
    "s/GB",
    "Price of storage in a plan of several jobs, in accelerator time per byte; 0 if storage is free.",
    nonnegative(),
)
C_eff = variable(
    "save_price", r"C_{\mathrm{eff}}", S, "Stall of a save, with the price of the storage it takes.", nonnegative()
)
o_st = variable(
    "other_save_pressure",
    r"o_{\mathrm{st}}",
    N_COUNT,
    "Other jobs on the storage, each counted as the root of its bytes, accelerators and failures relative to this "
    "job's; 0 alone.",
    nonnegative(),
)
T_yg = variable(
    "young_interval", r"T_{\mathrm{Young}}", S, "Best interval by Young.", nonnegative(), label="Young's interval"
)
T_dy = variable(
    "daly_interval", r"T_{\mathrm{Daly}}", S, "Best interval by Daly's series.", nonnegative(), label="Daly's interval"
)
T_av = variable(
    "availability_interval", r"T_{\mathrm{av}}", S, "Interval of the highest availability.", nonnegative()
)  # fmt: skip
T_sh = variable(
    "shared_interval", r"T_{\mathrm{sh}}", S, "Shortest interval that storage leaves a job among others.", nonnegative()
)
T_best = variable("best_save_interval", r"T^{\ast}", S, "Best interval between saves.", nonnegative())
T_s = variable("save_period", r"T_{\mathrm{s}}", S, "Useful work between two saves, as the job runs.", nonnegative())
x_seg = variable(
    "segment_load",
    r"x_{\mathrm{sg}}",
    N_COUNT,
    "Failures in the work between two saves and a stall, on average, of those that these saves restore.",
    nonnegative(),
)
x_mem = variable(
    "memory_segment_load",
    r"x_{\mathrm{m}}",
    N_COUNT,
    "Failures in the running time between two copies in memory, on average.",
    nonnegative(),
)
g_mem = variable(
    "memory_segment_loss",
    r"g_{\mathrm{m}}",
    N_COUNT,
    "Failures in that running time and in what failures restored from memory cost, on average.",
    nonnegative(),
)
kept = variable(
    "kept_share", r"\eta_{\mathrm{kept}}", N_COUNT, "Share of the running time whose work is kept.", between(0, 1)
)

C_m = variable(
    "memory_save_stall", r"C_{\mathrm{m}}", S, "Time in which training waits for a copy in memory.", nonnegative()
)
T_mset = variable(
    "memory_save_interval",
    r"T_{\mathrm{m,set}}",
    S,
    "Useful work between two copies in memory; 0 for the best.",
    nonnegative(),
)
T_mbest = variable(
    "best_memory_interval", r"T_{\mathrm{m}}^{\ast}", S, "Best interval between copies in memory.", nonnegative()
)
T_m = variable(
    "memory_save_period",
    r"T_{\mathrm{m}}",
    S,
    "Useful work between two copies in memory, as the job runs.",
    nonnegative(),
)
R_m = variable(
    "memory_recovery_time",
    r"R_{\mathrm{m}}",
    S,
    "From a failure until the first step, restored from a copy in memory.",
    nonnegative(),
)
t_mld = variable("memory_load_time", r"t_{\mathrm{m,ld}}", S, "Reading of a copy in memory.", nonnegative())
y_s = variable("stall_factor", r"y_{\mathrm{s}}", N_COUNT, "Running time over useful work, by saves.", at_least(1.0))
ettr = variable(
    "ettr", r"\mathrm{ETTR}", N_COUNT, "Useful work over the time in which a job has all its nodes.", between(0, 1),
    label="ETTR",
)  # fmt: skip
ettr_1 = variable(
    "first_order_ettr", r"\mathrm{ETTR}_1", N_COUNT, "ETTR to first order in failures.", between(0, 1),
    label="ETTR to first order",
)  # fmt: skip
s_run = variable(
    "running_share",
    r"s_{\mathrm{run}}",
    N_COUNT,
    "Share of the time with all nodes in which a job is not recovering.",
    between(0, 1),
)
s_st = variable(
    "stall_share",
    r"s_{\mathrm{st}}",
    N_COUNT,
    "Share of the time with all nodes in which training waits for saves.",
    nonnegative(),
)
s_rec = variable(
    "recovery_share",
    r"s_{\mathrm{rec}}",
    N_COUNT,
    "Share of the time with all nodes in which a job recovers.",
    between(0, 1),
)
s_re = variable(
    "rework_share",
    r"s_{\mathrm{re}}",
    N_COUNT,
    "Share of the time with all nodes in which lost work is done again.",
    between(0, 1),
)

n_el = variable(
    "elastic_replicas", r"d_{\mathrm{el}}", N_COUNT, "Replicas that go on while one of them is away.", integer(1)
)
t_el = variable(
    "elastic_stall", r"t_{\mathrm{leave}}", S, "Time in which all replicas wait when one of them leaves.", nonnegative()
)
t_aw = variable("away_time", r"t_{\mathrm{aw}}", S, "Time that a replica is away after that stall.", nonnegative())
k_shr = variable(
    "shrunk_replicas", r"k_{\mathrm{shr}}", N_COUNT, "Replicas that a job goes without all the time.", integer(0)
)
f_shr = variable(
    "shrunk_throughput",
    r"f_{\mathrm{shr}}",
    N_COUNT,
    "Throughput without shrunk_replicas over that with all.",
    between(0, 1),
)
A_el = variable(
    "elastic_capacity", r"A_{\mathrm{el}}", N_COUNT, "Replicas that work over all, outside of stalls.", between(0, 1)
)
s_ab = variable("absent_share", r"s_{\mathrm{ab}}", N_COUNT, "Share of the capacity that is away.", between(0, 1))

S_sp = variable("spare_nodes", r"S_{\mathrm{sp}}", N_COUNT, "Spare nodes of a job.", integer(0))
t_rep = variable(
    "repair_time",
    r"t_{\mathrm{rep}}",
    DAY,
    "Time that a node is away after a failure; 0 if it is replaced at once.",
    nonnegative(),
)
a_rep = variable("nodes_away", r"a_{\mathrm{rep}}", N_COUNT, "Nodes in repair, on average.", nonnegative())
p_cov = variable(
    "spare_coverage",
    r"p_{\mathrm{cov}}",
    N_COUNT,
    "Probability with which spares cover the failures of one repair.",
    between(0, 1, open_lower=True),
)
S_need = variable(
    "spare_nodes_needed",
    r"S_{\mathrm{need}}",
    N_COUNT,
    "Fewest spares that cover the failures of one repair with that probability.",
    nonnegative(),
)  # fmt: skip
s_wait = variable(
    "spare_wait_share",
    r"s_{\mathrm{wait}}",
    N_COUNT,
    "Share of the time in which a job waits for a node.",
    between(0, 1),
)
s_pl = variable("planned_share", r"s_{\mathrm{pl}}", N_COUNT, "Share of the time in planned stops.", between(0, 1))
s_cor = variable(
    "corruption_share", r"s_{\mathrm{cor}}", N_COUNT, "Share of the time that silent corruptions cost.", between(0, 1)
)
A_s = variable(
    "scheduled_share",
    r"A_{\mathrm{sch}}",
    N_COUNT,
    "Share of the time in which a job is scheduled.",
    between(0, 1, open_lower=True),
)
A_up = variable(
    "up_share",
    r"A_{\mathrm{up}}",
    N_COUNT,
    "Share of the time in which a job has its nodes, and no stop is planned and no corruption made good.",
    between(0, 1),
)
gput = variable(
    "run_goodput",
    r"G_{\mathrm{run}}",
    N_COUNT,
    "Useful work over wall time.",
    between(0, 1),
    label="Goodput of the run",
)

W_run = variable("run_time", r"T_{\mathrm{wall}}", DAY, "Wall time of a run, on average.", positive())
n_f = variable("expected_failures", r"n_{\mathrm{f}}", N_COUNT, "Failures of a run, on average.", nonnegative())
kappa_f = variable(
    "saves_per_failure",
    r"\kappa_{\mathrm{f}}",
    N_COUNT,
    "Saves that are done from a failure to the next.",
    nonnegative(),
)
c_dev = variable(
    "failure_cost_deviation",
    r"s_{\mathrm{f}}",
    S,
    "Standard deviation of the wall time from a failure to the next, less that of the work it saves.",
    nonnegative(),
)
R_sto = variable(
    "storage_recovery_time",
    r"R_{\mathrm{sto}}",
    S,
    "Time to recover from storage beside copies in memory.",
    nonnegative(),
)
M_sto = variable(
    "storage_mttf",
    r"M_{\mathrm{sto}}",
    "hour",
    "Mean time, with recoveries from memory, to a failure that storage restores.",
    nonnegative(),
    label="MTTF of storage restores",
)
x_cp = variable(
    "copy_load",
    r"x_{\mathrm{cp}}",
    N_COUNT,
    "Failures that memory restores in the running time of a copy in memory, on average.",
    nonnegative(),
)
a_mem = variable(
    "copy_wall_time",
    r"a_{\mathrm{m}}",
    S,
    "Wall time from a copy in memory to the next, with the failures that memory restores.",
    nonnegative(),
)
v_mem = variable("copy_deviation", r"v_{\mathrm{m}}", S, "Standard deviation of copy_wall_time.", nonnegative())
x_wall = variable(
    "storage_wall_load",
    r"x_{\mathrm{wall}}",
    N_COUNT,
    "Failures that storage restores in the wall time between two saves to it, on average.",
    nonnegative(),
)
v_sto = variable(
    "interval_deviation",
    r"v_{\mathrm{sto}}",
    S,
    "Standard deviation of the wall time between saves to storage, by failures that these restore.",
    nonnegative(),
)
s_fail = variable(
    "failure_deviation",
    r"\sigma_{\mathrm{fail}}",
    DAY,
    "Standard deviation of the wall time by when failures come.",
    nonnegative(),
)
k_obs = variable(
    "failures_observed",
    r"k_{\mathrm{obs}}",
    N_COUNT,
    "Failures from which the rate was estimated; 0 if it is known exactly.",
    integer(0),
)
eps_f = variable(
    "failure_elasticity",
    r"\varepsilon_{\mathrm{f}}",
    N_COUNT,
    "Change of the wall time by that of the failures per running time, both relative.",
    Domain(),
)
sig_step = variable(
    "step_spread",
    r"\sigma_{\mathrm{step}}",
    N_COUNT,
    "Standard deviation of log(measured / computed) step time; 0 if the step was measured.",
    nonnegative(),
)
s_W = variable(
    "run_time_deviation", r"\sigma_{\mathrm{wall}}", DAY, "Standard deviation of the wall time.", nonnegative()
)
W_90 = variable(
    "run_time_p90",
    r"T_{\mathrm{wall},90}",
    DAY,
    "Wall time that nine runs of ten keep.",
    nonnegative(),
    label="P90 of the run time",
)
d_work = variable(
    "time_in_work", r"d_{\mathrm{work}}", DAY, "Days of a run in which work is done that is kept.", nonnegative()
)
d_st = variable("time_in_stalls", r"d_{\mathrm{st}}", DAY, "Days of a run that stalls of saves take.", nonnegative())
d_re = variable(
    "time_in_rework", r"d_{\mathrm{re}}", DAY, "Days of a run in which lost work is done again.", nonnegative()
)
d_rec = variable("time_in_recovery", r"d_{\mathrm{rec}}", DAY, "Days of a run in which it recovers.", nonnegative())
d_ab = variable(
    "time_in_absence", r"d_{\mathrm{ab}}", DAY, "Days of a run that replicas which are away cost.", nonnegative()
)
d_dn = variable(
    "time_down",
    r"d_{\mathrm{dn}}",
    DAY,
    "Days of a run without nodes, in planned stops and after corruptions.",
    nonnegative(),
)
C_run = variable(
    "run_cost", r"C_{\mathrm{run}}", USD, "Rent, or total cost, of a run, spares included, on average.", nonnegative()
)
s_C = variable(
    "run_cost_deviation", r"\sigma_{\mathrm{cost}}", USD, "Standard deviation of the cost of a run.", nonnegative()
)
C_90 = variable(
    "run_cost_p90",
    r"C_{\mathrm{run},90}",
    USD,
    "Rent, or total cost, that nine runs of ten keep.",
    nonnegative(),
    label="P90 of the cost of the run",
)
C_fail = variable(
    "failure_cost", r"C_{\mathrm{fail}}", USD, "Share of the cost of a run that pays for no useful work.", nonnegative()
)
u_st = variable(
    "storage_use", r"u_{\mathrm{st}}", N_COUNT, "Share of the storage that saves of a job keep busy.", nonnegative()
)
