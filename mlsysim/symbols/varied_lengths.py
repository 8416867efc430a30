"""Symbols of prompts and answers whose lengths vary: what a prefill then takes, and the laws of what follows."""

from mlsysim.symbolic import Index, between, family, nonnegative, positive, variable
from mlsysim.symbols.deployment import quantile

#: Lengths at which a prefill is timed, over the mean.
size = Index("size", r"\varkappa", {"half": "half", "mean": "once", "double": "twice"})

D_len = family(
    "{}_prompt_time", r"D_{\mathrm{p},{}}", "ms", "Prefill alone of a prompt of {} the mean length.", size,
    nonnegative(),
)  # fmt: skip
e_D = variable(
    "prompt_time_bend",
    r"e_D",
    "ms",
    "Half the second derivative of prefill time, from prefills of twice and half the mean length.",
    nonnegative(),
    label="Bend of the prefill over the length",
)
b_D = variable(
    "prompt_time_curvature",
    r"b_D",
    "ms",
    "Part of a prefill of mean length that grows with the square of the length.",
    nonnegative(),
    label="Prefill with the square of the length",
)
a_D = variable(
    "prompt_time_slope",
    r"a_D",
    "ms",
    "Part of a prefill of mean length that grows with the length.",
    nonnegative(),
    label="Prefill in proportion to the length",
)
m_D = variable(
    "varied_prompt_time",
    r"m_D",
    "ms",
    "Mean prefill beyond what it takes however short a prompt is.",
    nonnegative(),
    label="Mean prefill that lengths decide",
)
cv_D = variable(
    "prompt_time_cv",
    r"c_D",
    "count",
    "Coefficient of variation of the prefill of a prompt.",
    nonnegative(),
    label="Variation of the prefill",
)
k_D = variable(
    "prompt_time_third_cumulant",
    r"k_D",
    "count",
    "Third cumulant of the prefill of a prompt over the cube of its mean.",
    nonnegative(),
    label="Third cumulant of the prefill",
)
S_D = variable(
    "prompt_time_log_variance",
    r"S_D",
    "count",
    "Log-variance of the prefill beyond what it takes however short a prompt is.",
    nonnegative(),
    label="Log-variance of the prefill",
)
D_q = family(
    "prompt_time_{}", r"D_{{}}", "ms", "Prefill alone that {} of the prompts stay below.", quantile, nonnegative()
)
x_b = variable(
    "lost_bunch_share",
    r"x_{\mathrm{b}}",
    "count",
    "Share of a stay in which another that began with a request has ended, mean over tokens.",
    between(0, 1),
    label="Stay without those of the same bunch",
)
T_short = variable(
    "short_answer_excess",
    r"T_{\mathrm{tok},\mathrm{s}}",
    "ms",
    "Mean time per token over requests beyond that over tokens: short answers count as much as long ones.",
    label="Excess of short answers",
)
v_short = variable(
    "short_answer_variance",
    r"v_{\mathrm{s}}",
    "s^2",
    "Variance that short answers add to the time per token, over all tokens of a mean answer.",
    label="Variance by short answers",
)
v_F = variable("first_token_variance", r"v_{\mathrm{first}}", "s^2", "Variance of the time to first token.")
y_F = variable(
    "first_token_skewness",
    r"y_{\mathrm{first}}",
    "count",
    "Sixth of the skewness of the time to first token.",
    positive(),
    label="Skewness of the time to first token",
)
w_F = variable(
    "first_token_law",
    r"w_{\mathrm{first}}",
    "count",
    "Exponential of the log-variance of the time to first token beyond its least.",
    positive(),
    label="Log-normal law of first tokens",
)
w_T = variable(
    "whole_law",
    r"w_{\mathrm{end}}",
    "count",
    "Exponential of the log-variance of the time to last token beyond its least.",
    positive(),
    label="Log-normal law of whole requests",
)
