"""Prefix cache

Prompts begin with shared prefixes of Zipf-distributed popularity. Their keys and values are cached up to a memory size,
with least-recently-used eviction. By Che's approximation every prefix stays for the same number of requests after its
last use: the number at which the cached prefixes fill the memory.
"""

from __future__ import annotations

from typing import Any

from sympy import And, Piecewise, Rational, exp, log

from mlsysim.formulas.mixers import kept
from mlsysim.symbolic import Example, Formula, Max, Min, Root, Source, by_member, total, when
from mlsysim.symbols.iteration import h_c, h_given, kv_rank
from mlsysim.symbols.prefix_cache import C_pre, H_pre, M_pre, N_pre, n_pre, place, s_pre, u_pre, y_pre, z_pre, z_sum
from mlsysim.symbols.training import t
from mlsysim.symbols.workload import s

CHE = Source("che2002", "section III")
ZIPF = Source("breslau1999", "section III")
_SINGLE = 4
#: Gauss-Legendre nodes and weights between 0 and 1, for the ranks beyond the first, by their logarithm.
_NODES = (
    "0.013046735741414", "0.067468316655508", "0.160295215850488", "0.283302302935376", "0.425562830509184",
    "0.574437169490816", "0.716697697064624", "0.839704784149512", "0.932531683344492", "0.986953264258586",
)  # fmt: skip
_WEIGHTS = (
    "0.033335672154344", "0.074725674575290", "0.109543181257991", "0.134633359654998", "0.147762112357376",
    "0.147762112357376", "0.134633359654998", "0.109543181257991", "0.074725674575290", "0.033335672154344",
)  # fmt: skip
_FROM = _SINGLE + Rational(1, 2)
_SINGLES = range(1, _SINGLE + 1)


def _span(count: Any) -> Any:
    """Last popularity rank in the class that begins at this rank."""
    return Max(1, (count + Rational(1, 2)) / _FROM)


def log_ranks(count: Any) -> Any:
    """Logarithms of the popularity ranks used in sums: the first four, then ten classes."""
    far = [float(node) * log(_span(count)) for node in _NODES]
    return by_member(
        **{f"c{number}": log(number) for number in _SINGLES},
        **{f"c{number}": log(_FROM) + each for number, each in enumerate(far, _SINGLE + 1)},
    )


def things_of_classes(count: Any, ranks: Any) -> Any:
    """Number of items that each of these ranks stands for, given their logarithms."""
    return by_member(
        **{f"c{number}": when(count >= number, 1, 0) for number in _SINGLES},
        **{
            f"c{number}": float(weight) * log(_span(count)) * exp(ranks[f"c{number}"])
            for number, weight in enumerate(_WEIGHTS, _SINGLE + 1)
        },
    )


#: Popularity of a prefix of each class, over that of the first, and over that of all.
_POPULARITY = exp(-z_pre * u_pre[place])
_ASKED = _POPULARITY / z_sum
#: Probability that a prefix of each class is in the cache.
_KEPT = 1 - exp(-_ASKED * exp(y_pre))
_PARTLY = And(C_pre >= 1, C_pre < N_pre)

given_share = Formula(
    h_c,
    h_given,
    title="Cached share of a prompt, given",
    source=Source("kwon2023", "section 4.4"),
    variant="given",
    example=Example({h_given: 0.5}, "0.5", derived="0.5"),
)

ranks = Formula(
    u_pre[place],
    log_ranks(N_pre),
    title="Ranks at which popularity is added up",
    source=ZIPF,
    assumes="The first four prefixes, then ten places between the logarithms of their ranks (Gauss-Legendre).",
    example=Example({N_pre: 1000}, "1.5746", derived="1.5040774 + 0.0130467 * 5.4041974", member="c5"),
)

class_sizes = Formula(
    n_pre[place],
    things_of_classes(N_pre, u_pre),
    title="Prefixes that a rank stands for",
    source=ZIPF,
    no_example="weights of an integral",
)

cached_prefixes = Formula(
    C_pre,
    M_pre / (t * kv_rank * kept(s_pre, t * kv_rank)),
    title="Prefixes that the cache holds",
    source=Source("kwon2023", "section 4.4"),
    assumes="The memory is one of its own, beside that for requests. Prefixes are of one length and stay or go whole. "
    "The state of a recurrent mixer is kept at the end of each prefix and nowhere else: a prompt that shares less of "
    "it finds nothing.",
    no_example="the reach of attention",
)

popularity = Formula(
    z_sum,
    total(place, n_pre[place] * _POPULARITY),
    title="Popularity of all prefixes over that of the first",
    source=ZIPF,
    assumes="Zipf's law. The first four prefixes are added one by one, the others by an integral over the logarithm of "
    "their rank, at ten places.",
    accuracy="Hit rates are within 0.001 of the sum over every prefix, up to a million of them.",
    no_example="a sum over classes",
)

lifetime = Formula(
    y_pre,
    when(
        _PARTLY,
        Root(y_pre, total(place, n_pre[place] * _KEPT), C_pre, 0, log(50 * z_sum * N_pre**z_pre)),
        0,
    ),
    title="Lifetime of a cached prefix",
    source=CHE,
    assumes="Requests ask for prefixes independently of each other.",
    no_example="a root",
)

found = Formula(
    H_pre,
    Piecewise((0, C_pre < 1), (1, C_pre >= N_pre), (total(place, n_pre[place] * _ASKED * _KEPT), True)),
    title="Prompts whose prefix is in the cache",
    source=CHE,
    no_example="a sum over classes",
)

cached_share = Formula(
    h_c,
    when(M_pre > 0, Min(Rational(999, 1000), H_pre * s_pre / s), h_given),
    title="Cached share of a prompt",
    source=CHE,
    variant="cache",
    assumes="Of a prompt whose prefix is found that prefix is not computed; the last token always is.",
    example=Example({M_pre: 100, H_pre: 0.75, s_pre: 456, s: 608, h_given: 0}, "0.5625", derived="0.75 * 456 / 608"),
)

FORMULAS = (given_share, ranks, class_sizes, cached_prefixes, popularity, lifetime, found, cached_share)
#: What a cache of a given size holds.
CACHE = FORMULAS[1:]
