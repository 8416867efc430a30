"""Step times as tables: the compiled model of an iteration, evaluated once at every place that a run may look at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import ceil, inf
from typing import Any

import numpy as np

from mlsysim.backends import compiled
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.simulation.engine import Table, Times, decode_time, look, mixed_time, prompt_time

#: What is read of the model of an iteration, by what it is called here.
_DEVICE, _HOST, _WHOLE = "device_time", "host_time", "iteration_time"
_CONTEXT, _PROMPT, _HEAD = "decode_attention_time", "prefill_attention_time", "head_time"
#: Places of a table that are looked at one by one.
FINE = 8192
#: Share of the steepest slope by which two may differ that are one line.
STRAIGHT = 1e-9
#: Drawn places of each kind of iteration at which tables are held against the model.
CHECKED = 64


class Steps:
    """Iterations of one engine.

    Parameters
    ----------
    iteration : DeclaredModel
        The model of an iteration.
    values : mapping
        Canonical values of its inputs, but for the requests.

    Attributes
    ----------
    error : float
        Largest difference of the tables from the model, as a share, at places that no table has.
    """

    def __init__(self, iteration: DeclaredModel, values: Mapping[str, Any]) -> None:
        self._values = {name: float(values[name]) for name in (v.name for v in iteration.inputs) if name in values}
        own = dict.fromkeys(("decode_requests", "context_tokens", "prompts", "seq_len"), 0.0)
        missing = {v.name for v in iteration.inputs} - {*self._values, *own}
        outputs = (_DEVICE, _HOST, _WHOLE, _CONTEXT, _PROMPT, _HEAD)
        self._compute = compiled(iteration.without(frozenset(missing)), outputs, "vector")
        self.error = 0.0

    def _at(self, requests: Any = 0.0, context: Any = 0.0, prompts: Any = 0.0, tokens: Any = 1.0) -> dict[str, Any]:
        """Evaluate the model for decoding requests of a mean context and prompts of a length, without any cached."""
        asked = {"decode_requests": requests, "context_tokens": context, "prompts": prompts, "seq_len": tokens}
        arrays = {name: np.atleast_1d(np.asarray(each, np.float64)) for name, each in asked.items()}
        shape = np.broadcast_shapes(*(each.shape for each in arrays.values()))
        arrays = {name: np.broadcast_to(each, shape) for name, each in arrays.items()}
        found = self._compute({**self._values, "prefix_hit_rate": 0.0, **arrays})
        names = (_DEVICE, _HOST, _WHOLE, _CONTEXT, _PROMPT, _HEAD)
        known = {name: np.array(np.broadcast_to(np.asarray(found[name], np.float64), shape)) for name in names}
        after = known[_WHOLE] - np.maximum(known[_DEVICE], known[_HOST])
        return {**known, "after": after}

    def tables(self, *, chunked: bool, budget: int, most: int, context: int, prompt: int) -> Times:
        """Tabulate iterations.

        Parameters
        ----------
        chunked : bool
            Whether prompts share iterations with decoding requests.
        budget : int
            Tokens of an iteration where they do.
        most : int
            Requests that decode together at most.
        context, prompt : int
            Tokens of a context and of a prompt to prefill, at most.
        """
        each = 1 + int(self._values.get("num_speculative_tokens", 0))
        rows, *by_requests = _places(most)
        seen, *by_context = _places(context)
        of_context = self._at(1.0, seen)[_CONTEXT]
        alone, longest = self._at(rows), self._at(rows, float(seen[-1]))
        share = (longest[_DEVICE] - alone[_DEVICE]) / (of_context[-1] - of_context[0])
        base = alone[_DEVICE] - share * of_context[0] + alone["after"]
        prompts, own_fine, own_stride = _places(prompt)
        whole = self._at(prompts=1.0, tokens=np.maximum(prompts, 1.0))
        attention = np.where(prompts > 0, whole[_PROMPT], 0.0)
        none = Table(np.zeros(2), 1, 1)
        tokens = sampled = sampled_host = none
        if chunked:
            passed = _places(budget + each * most)
            together = self._at(passed[0] / each)
            tokens = Table(together[_DEVICE] - together[_HEAD] - together[_CONTEXT], *passed[1:])
            logits = _places(2 * each * most)
            heads = self._at(logits[0] / each)
            sampled = Table(heads[_HEAD] + heads["after"], *logits[1:])
            sampled_host = Table(whole[_HOST][0] + heads["after"], *logits[1:])
        slopes = np.diff(of_context) / np.diff(seen)
        bent = np.abs(np.diff(slopes)) > STRAIGHT * slopes.max()
        ends = np.append(np.where(bent, seen[1:-1], inf), inf)
        times = Times(
            Table(base, *by_requests),
            Table(share, *by_requests),
            Table(alone[_HOST] + alone["after"], *by_requests),
            Table(of_context, *by_context),
            np.minimum.accumulate(ends[::-1])[::-1].copy(),
            Table(whole[_DEVICE] - whole[_PROMPT] + whole["after"], own_fine, own_stride),
            float((whole[_HOST] + whole["after"])[0]),
            tokens,
            sampled,
            sampled_host,
            Table(attention, own_fine, own_stride),
        )
        self.error = self._checked(times, chunked, budget, most, context, prompt, each)
        return times

    def _checked(
        self, times: Times, chunked: bool, budget: int, most: int, context: int, prompt: int, rows: int
    ) -> float:
        """Hold tables against the model at drawn places."""
        rng = np.random.default_rng(0)
        requests, contexts = rng.integers(1, most + 1, CHECKED), rng.uniform(1, context, CHECKED)
        tokens = rng.integers(1, prompt + 1, CHECKED)
        attention = [look(times.attention, each) for each in tokens]
        found = [decode_time(times, *each) for each in zip(requests, contexts, strict=True)]
        found += [prompt_time(times, *each) for each in zip(tokens, attention, strict=True)]
        known = [self._at(requests, contexts)[_WHOLE], self._at(prompts=1.0, tokens=tokens)[_WHOLE]]
        if chunked:
            tokens = np.minimum(np.maximum(1, budget - requests * rows), tokens)
            attention = [look(times.attention, each) for each in tokens]
            mixed = zip(requests, requests * rows, contexts, tokens, [1] * CHECKED, attention, strict=True)
            found += [mixed_time(times, *each) for each in mixed]
            known.append(self._at(requests, contexts, 1.0, tokens)[_WHOLE])
        return float(np.abs(np.array(found) / np.concatenate(known) - 1).max())


def _places(most: int) -> tuple[Any, int, int]:
    """Places of a table up to one: all the first, then every so many."""
    if most <= FINE:
        return np.arange(max(2, most + 1), dtype=np.float64), FINE, 1
    stride = ceil((most - FINE) / FINE)
    beyond = FINE + stride * np.arange(1, ceil((most - FINE) / stride) + 1)
    return np.concatenate([np.arange(FINE + 1), beyond]).astype(np.float64), FINE, stride


@lru_cache(maxsize=8)
def tabulated(
    iteration: type[DeclaredModel],
    values: tuple[tuple[str, float], ...],
    chunked: bool,
    budget: int,
    most: int,
    longest: int,
) -> tuple[Times, float]:
    """Tabulate iterations, and say how far the tables are off; the last ones are kept.

    Parameters
    ----------
    iteration : type
        The model of an iteration.
    values : tuple
        Canonical values of its inputs.
    chunked, budget, most, longest
        As for :meth:`Steps.tables`; contexts and prompts are as long.
    """
    steps = Steps(iteration("iteration"), dict(values))
    times = steps.tables(chunked=chunked, budget=budget, most=most, context=longest, prompt=longest)
    return times, steps.error


def kept_line(
    saturated: DeclaredModel, values: Mapping[str, Any], first: float, last: float
) -> tuple[float, float, float]:
    """Tokens of the cache of an engine, and the line of what a request takes of it by its tokens.

    Parameters
    ----------
    saturated : DeclaredModel
        The model of an engine that never runs out of requests: the memory sets its batch.
    values : mapping
        Canonical values of its inputs.
    first, last : float
        Tokens of a request when it begins and ends; between them the line is right.

    Returns
    -------
    tuple of float
        Tokens that fit, tokens that a request takes whatever its length, and those for each of its tokens.
    """
    known = {v.name: float(values[v.name]) for v in saturated.inputs if v.name in values}
    tokens = np.array([first, max(last, first + 1)])
    given = {"seq_len": tokens - 1, "output_tokens": np.ones(2), "max_batch_size": 1e15, "prefix_hit_rate": 0.0}
    missing = {v.name for v in saturated.inputs} - {*known, *given}
    outputs = ("kv_cache_tokens", "decode_requests")
    found = compiled(saturated.without(frozenset(missing)), outputs, "vector")({**known, **given})
    cache = float(np.max(found["kv_cache_tokens"]))
    if cache <= 0:
        return 0.0, 0.0, 1.0
    taken = cache / np.broadcast_to(np.asarray(found["decode_requests"], np.float64), (2,))
    slope = float((taken[1] - taken[0]) / (tokens[1] - tokens[0]))
    return cache, max(0.0, float(taken[0] - slope * tokens[0])), slope
