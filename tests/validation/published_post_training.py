"""Steps of reinforcement learning that frameworks published, asked by the arguments of each run and catalog entries."""

import statistics
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from validation.checks import Check, Group, Spread, spread
from validation.post_training_rows import PHASED, PHASES, Row, lengths, phased, rows, sent_model, syncs

from mlsysim import PostTrainingModel
from mlsysim.symbolic import variable_of

#: Largest medians: of all steps, of colocated ones, of phases, and of steps with their model left out of the fit.
STEPS, COLOCATED, PHASE, LEFT_OUT = 0.11, 0.06, 0.2, 0.15
#: A step may be so far off; beyond it the reason is said.
FURTHEST = 0.2
NAMES = {
    "rollout_time": "Rollouts",
    "update_time": "Updates",
    "logprob_time": "Log-probabilities",
    "sync_time": "Refits",
}
YOUNG = "the same layout took 506, 431 and 395 s in versions 0.4, 0.5 and 0.6: the engine of 0.4 was slower"
RAISED = "64 devices took 332 and 286 s, 128 of the same layout 345 s; neither is explained"
PHASES_OF = (
    "rows with phases are of version 0.3: updates of Llama 70B are 1.8 (4,096 tokens) to 4 times (16,384) those of "
    "pre-training, of 8B 1.4"
)
REFITS = "single refits of one layout are up to twice as long: 14 and 26 s, 5 and 8 s"


@cache
def solved(whole: bool) -> tuple[Any, ...]:
    """Ours, by stacks."""
    return tuple(row.solve() for row in rows(whole))


@cache
def left_out(whole: bool) -> tuple[float, ...]:
    """Our steps by constants that were fitted without their model."""
    return tuple(row.solve(**row.without).canonical("step_time") for row in rows(whole))


def errors(whole: bool, output: str = "step_time", schedule: str = "") -> list[float]:
    """Errors of a step or of a printed phase, of all schedules or of one."""
    found = []
    for row, ours in zip(rows(whole), solved(whole), strict=True):
        theirs = row.seconds if output == "step_time" else row.phases.get(output)
        if theirs and schedule in ("", row.schedule):
            found.append(ours.canonical(output) / theirs - 1)
    return found


def why(row: Row) -> str:
    """Reason of a row that is further off; empty where none is known."""
    if row.model == "Qwen3_235B_A22B":
        return RAISED if row.row["device"] == "GB200" else YOUNG
    return ""


def checks(whole: bool) -> list[Check]:
    """Every step."""
    found = []
    for row, ours, other in zip(rows(whole), solved(whole), left_out(whole), strict=True):
        step = ours.canonical("step_time")
        far = abs(step / row.seconds - 1) > FURTHEST
        found.append(Check(row.case, row.seconds, step, FURTHEST, "s", other, why(row) if far else ""))
    return found


def spreads(whole: bool) -> list[Spread]:
    """Errors of steps, by schedule and with their model left out, and of phases."""
    without = [other / row.seconds - 1 for row, other in zip(rows(whole), left_out(whole), strict=True)]
    found = [
        Spread("steps, each with its model left out of the constants", without, LEFT_OUT),
        Spread("Steps, calibrated here", errors(whole), STEPS),
        Spread("Colocated steps, calibrated here", errors(whole, schedule="colocated"), COLOCATED),
    ]
    for output in PHASES.values():
        own = errors(whole, output)
        far = spread(own)[0] > PHASE
        missed = REFITS if output == "sync_time" else PHASES_OF
        found.append(Spread(f"{NAMES[output]}, calibrated here", own, PHASE, missed=missed if far else ""))
    return found


#: A job whose lengths or weights are asked for; nothing else of it counts.
JOB: dict[str, Any] = {
    "fleet": "SuperPOD_H100", "fleet_size": 64, "tp_size": 8, "zero_stage": 1, "rollout_tp_size": 8,
    "stack": "NeMo_RL_H100", "rollout_stack": "vLLM_2026_Hopper", "num_prompts": 64,
    "prompt_len": 100, "mean_response_length": 1000, "max_response_length": 4000,
}  # fmt: skip
#: A refit may be so far off, and the weights of a table, which are rounded.
REFIT, WEIGHTS = 0.5, 0.02


def _weights(model: str) -> Any:
    few = model.startswith(("Qwen2_5_7B", "Qwen3_30B"))
    ranks: dict[str, Any] = {"tp_size": 4, "rollout_tp_size": 4} if few else {}
    return PostTrainingModel("colocated").solve(**{**JOB, **ranks}, model=model)


#: Refits whose steps the constants were found on.
FITTED = ("mcore", "70B|dtensor", "70B-16k")


def refits(whole: bool) -> list[Check]:
    """Weights that are sent, once for each model, and seconds of refits on the training devices themselves."""
    found: list[Check] = []
    for row in syncs(whole):
        if not (model := sent_model(row)):
            continue
        ours, case = _weights(model), row["model"].replace("|", " ")
        sent = f"{model}, weights"
        if sent not in {check.what for check in found}:
            gigabytes = ours.canonical("synced_weights") / 1e9
            found.append(Check(sent, row["weight_gigabytes"], gigabytes, WEIGHTS, "GB"))
        if row["kind"] == "colocated, whole refit":
            seconds, fitted = ours.canonical("sync_time"), row["model"].endswith(FITTED)
            far = not fitted and abs(seconds / row["seconds"] - 1) > REFIT
            missed = REFITS if far else ""
            found.append(Check(f"{case}, refit", row["seconds"], seconds, REFIT, "s", missed=missed, calibrated=fitted))
    return found


def bandwidths(whole: bool) -> str:
    """Weights over seconds between pools, by what carries them: what ``sync_bandwidth`` is for."""
    kinds: dict[str, list[float]] = {}
    for row in syncs(whole):
        if row["kind"].startswith("disaggregated, "):
            kind = row["kind"].removeprefix("disaggregated, ")
            kinds.setdefault(kind, []).append(row["weight_gigabytes"] / row["seconds"])
    said = "; ".join(f"{kind} {_range(each)}" for kind, each in kinds.items())
    return (
        "`synced_weights` and `sync_time` of `PostTrainingModel`. Refits are a time and a bandwidth of `NeMo_RL_H100`. "
        "Between pools `sync_bandwidth` says what carries the weights; by what they took it is, in GB/s: "
        f"{said}."
    )


def _range(values: Sequence[float]) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.2g}" if len(values) == 1 else f"{low:.2g} to {high:.2g} ({middle:.2g} in the median)"


def ended() -> list[Check]:
    """Share of responses that end before the cap, which mean and cap give by the law of lengths."""
    found = []
    for row in lengths():
        given: dict[str, Any] = {"mean_response_length": row["mean"], "max_response_length": row["cap"]}
        ours = PostTrainingModel("colocated").solve(**{**JOB, **given}, model="Llama3_1_8B").canonical("cut_share")
        found.append(Check(f"{row['source']}: mean {row['mean']:.0f}, cap {row['cap']}", 1 - row["cut"], 1 - ours, 0.1))
    return found


#: A step may be so much longer than its phases: rewards, advantages and data.
BESIDE = 0.1
REWARDS = "rewards are computed beside rollout and training, and count in the step alone"


def schedules(whole: bool) -> list[Check]:
    """Steps from their printed phases, by the formula of their schedule."""
    found = []
    for row in phased(whole):
        law: Any = PostTrainingModel(PHASED[row["schedule"]]).system["step_time"].expression
        theirs = {
            "rollout_time": row["gen"], "update_time": row["train"], "sync_time": row.get("refit") or 0,
            "logprob_time": (row.get("logprob") or 0) + (row.get("ref") or 0), "rest_stretch": 1,
        }  # fmt: skip
        ours = float(law.subs({symbol: theirs[variable_of(symbol).name] for symbol in law.free_symbols}))
        missed = REWARDS if abs(ours / row["step"] - 1) > BESIDE else ""
        case = f"{row['key'].replace('|', ' ')}, {row['schedule']}"
        found.append(Check(case, row["step"], ours, BESIDE, "s", missed=missed))
    return found


SOURCE = (
    "NVIDIA-NeMo/RL docs/about/performance-summary.md (v0.4 to v0.6), its pull request 1560, issue 959 and blog of v0.3"
)
ASKED = (
    "Seconds of a step of GRPO, solved with the published layout, lengths and batch, with stacks of NeMo-RL and vLLM. "
    "Constants (a stretch of rollouts by device and of updates by training software, a time and two bandwidths of "
    "exchanges) were found on these rows, so that each stands beside what constants without its model give. The "
    "longest response is taken as the cap. verl prints no lengths, so that none of its rows is asked."
)
GROUPS: tuple[Group, ...] = (
    *(
        Group(
            f"post_training{'_whole' if whole else ''}",
            f"Post-training: steps of NeMo-RL, {'all rows' if whole else 'a sample'}",
            ASKED, SOURCE, partial(checks, whole), spreads=partial(spreads, whole), beside="Without its model",
            long=whole, beside_project=whole,
        )
        for whole in (False, True)
    ),
    Group(
        "post_training_schedules", "Post-training: steps from their printed phases",
        "`step_time` by the formula of each schedule with the phases that are printed, without `rest_stretch`; 10%. "
        "Rows whose rollout is the time that a trainer waits for it are not asked.",
        "verl-project/verl docs/advance/fully_async.md and one_step_off.md, vllm-project/vime issue 358, "
        "marin-community/marin issue 8653, NVIDIA-NeMo/RL as above", partial(schedules, False), summary=True,
    ),
    Group(
        "post_training_weights", "Post-training: exchanges of weights", partial(bandwidths, False),
        "verl-project/verl docs/advance, verl/checkpoint_engine and pull request 7263, NVIDIA-NeMo/RL as above and its "
        "pull request 3294, checkpoint-engine, marin-community/marin issue 8955", partial(refits, False),
    ),
    Group(
        "post_training_lengths", "Post-training: responses that end before the cap",
        "One less `cut_share` of `PostTrainingModel`, from mean and cap alone; 10%. Lengths of the last row vary less "
        "than exponential ones: the cap cuts 0.4% of them, and 5% by the law; `response_cv` is for that.",
        "logs in THUDM/slime issue 1837, vllm-project/vime, verl-project/verl issue 1208", ended,
    ),
)  # fmt: skip
