"""Tables of step times: the compiled model of an iteration, evaluated at every point that a run may need."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import ceil, inf
from typing import Any

import numpy as np

from mlsysim.backends import compiled
from mlsysim.inputs.declaration import DeclaredModel
from mlsysim.simulation.engine import Table, Times, decode_time, look, mixed_time, prompt_time

#: Outputs of the model of an iteration, by their names here.
_DEVICE, _HOST, _WHOLE = "device_time", "host_time", "iteration_time"
_CONTEXT, _PROMPT, _HEAD = "decode_attention_time", "prefill_attention_time", "head_time"
#: Points of a table that are tabulated one by one.
FINE = 8192
#: Difference of two slopes, relative to the steepest, below which they count as one line.
STRAIGHT = 1e-9
#: Random points of each kind of iteration at which tables are compared with the model.
CHECKED = 64


class Steps:
    """Tabulated iterations of one engine.

    Parameters
    ----------
    iteration : DeclaredModel
        Model of an iteration.
    values : mapping
        Canonical values of its inputs, without those of the requests.

    Attributes
    ----------
    error : float
        Largest relative difference between tables and model, at points between those of the tables.
    """

    def __init__(self, iteration: DeclaredModel, values: Mapping[str, Any]) -> None:
        self._values = {
            name: float(values[name]) for name in (variable.name for variable in iteration.inputs) if name in values
        }
        own = dict.fromkeys(("decode_requests", "context_tokens", "prompts", "seq_len"), 0.0)
        missing = {variable.name for variable in iteration.inputs} - {*self._values, *own}
        outputs = (_DEVICE, _HOST, _WHOLE, _CONTEXT, _PROMPT, _HEAD)
        self._compute = compiled(iteration.without(frozenset(missing)), outputs, "vector")
        self.error = 0.0

    def _at(self, requests: Any = 0.0, context: Any = 0.0, prompts: Any = 0.0, tokens: Any = 1.0) -> dict[str, Any]:
        """Evaluate the model for decoding requests of a mean context, and for uncached prompts of one length."""
        request_inputs = {"decode_requests": requests, "context_tokens": context, "prompts": prompts, "seq_len": tokens}
        arrays = {name: np.atleast_1d(np.asarray(value, np.float64)) for name, value in request_inputs.items()}
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        arrays = {name: np.broadcast_to(array, shape) for name, array in arrays.items()}
        outputs = self._compute({**self._values, "prefix_hit_rate": 0.0, **arrays})
        names = (_DEVICE, _HOST, _WHOLE, _CONTEXT, _PROMPT, _HEAD)
        known = {name: np.array(np.broadcast_to(np.asarray(outputs[name], np.float64), shape)) for name in names}
        after = known[_WHOLE] - np.maximum(known[_DEVICE], known[_HOST])
        return {**known, "after": after}

    def tables(self, *, chunked: bool, budget: int, most: int, context: int, prompt: int) -> Times:
        """Tabulate iterations.

        Parameters
        ----------
        chunked : bool
            Prompts share iterations with decoding requests.
        budget : int
            Token budget of a mixed iteration.
        most : int
            Most requests that decode together.
        context, prompt : int
            Most tokens of a context, and of a prompt to prefill.
        """
        step_tokens = 1 + int(self._values.get("num_speculative_tokens", 0))
        rows, *by_requests = _points(most)
        contexts, *by_context = _points(context)
        of_context = self._at(1.0, contexts)[_CONTEXT]
        alone, longest = self._at(rows), self._at(rows, float(contexts[-1]))
        share = (longest[_DEVICE] - alone[_DEVICE]) / (of_context[-1] - of_context[0])
        base = alone[_DEVICE] - share * of_context[0] + alone["after"]
        prompts, own_fine, own_stride = _points(prompt)
        whole = self._at(prompts=1.0, tokens=np.maximum(prompts, 1.0))
        attention = np.where(prompts > 0, whole[_PROMPT], 0.0)
        none = Table(np.zeros(2), 1, 1)
        tokens = sampled = sampled_host = none
        if chunked:
            passed = _points(budget + step_tokens * most)
            together = self._at(passed[0] / step_tokens)
            tokens = Table(together[_DEVICE] - together[_HEAD] - together[_CONTEXT], *passed[1:])
            logits = _points(2 * step_tokens * most)
            heads = self._at(logits[0] / step_tokens)
            sampled = Table(heads[_HEAD] + heads["after"], *logits[1:])
            sampled_host = Table(whole[_HOST][0] + heads["after"], *logits[1:])
        slopes = np.diff(of_context) / np.diff(contexts)
        bent = np.abs(np.diff(slopes)) > STRAIGHT * slopes.max()
        ends = np.append(np.where(bent, contexts[1:-1], inf), inf)
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
        self.error = self._checked(times, chunked, budget, most, context, prompt, step_tokens)
        return times

    def _checked(
        self, times: Times, chunked: bool, budget: int, most: int, context: int, prompt: int, rows: int
    ) -> float:
        """Compare tables with the model at random points; return the largest relative difference."""
        rng = np.random.default_rng(0)
        requests, contexts = rng.integers(1, most + 1, CHECKED), rng.uniform(1, context, CHECKED)
        tokens = rng.integers(1, prompt + 1, CHECKED)
        attention = [look(times.attention, count) for count in tokens]
        tabulated_times = [decode_time(times, *point) for point in zip(requests, contexts, strict=True)]
        tabulated_times += [prompt_time(times, *point) for point in zip(tokens, attention, strict=True)]
        known = [self._at(requests, contexts)[_WHOLE], self._at(prompts=1.0, tokens=tokens)[_WHOLE]]
        if chunked:
            tokens = np.minimum(np.maximum(1, budget - requests * rows), tokens)
            attention = [look(times.attention, count) for count in tokens]
            mixed = zip(requests, requests * rows, contexts, tokens, [1] * CHECKED, attention, strict=True)
            tabulated_times += [mixed_time(times, *point) for point in mixed]
            known.append(self._at(requests, contexts, 1.0, tokens)[_WHOLE])
        return float(np.abs(np.array(tabulated_times) / np.concatenate(known) - 1).max())


def _points(most: int) -> tuple[Any, int, int]:
    """Return the points of a table: every one up to ``FINE``, then at a constant stride."""
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
    """Tabulate iterations and their largest error; recent tables are cached.

    Parameters
    ----------
    iteration : type
        Model class of an iteration.
    values : tuple
        Canonical values of its inputs.
    chunked, budget, most, longest
        As for :meth:`Steps.tables`; contexts and prompts have the same limit.
    """
    steps = Steps(iteration("iteration"), dict(values))
    times = steps.tables(chunked=chunked, budget=budget, most=most, context=longest, prompt=longest)
    return times, steps.error


def cache_use(
    saturated: DeclaredModel, values: Mapping[str, Any], first: float, last: float
) -> tuple[float, float, float]:
    """Return the cache size of an engine in tokens, and the cache use of a request as a line in its tokens.

    Parameters
    ----------
    saturated : DeclaredModel
        Model of a saturated engine, whose batch is limited by memory.
    values : mapping
        Canonical values of its inputs.
    first, last : float
        Tokens of a request when it begins and ends; the line is exact between them.

    Returns
    -------
    tuple of float
        Tokens that fit, constant tokens per request, and cached tokens per token of a request.
    """
    known = {variable.name: float(values[variable.name]) for variable in saturated.inputs if variable.name in values}
    tokens = np.array([first, max(last, first + 1)])
    request_inputs = {
        "seq_len": tokens - 1,
        "output_tokens": np.ones(2),
        "max_batch_size": 1e15,
        "prefix_hit_rate": 0.0,
    }
    missing = {variable.name for variable in saturated.inputs} - {*known, *request_inputs}
    outputs = ("kv_cache_tokens", "decode_requests")
    outputs_at_ends = compiled(saturated.without(frozenset(missing)), outputs, "vector")({**known, **request_inputs})
    cache = float(np.max(outputs_at_ends["kv_cache_tokens"]))
    if cache <= 0:
        return 0.0, 0.0, 1.0
    taken = cache / np.broadcast_to(np.asarray(outputs_at_ends["decode_requests"], np.float64), (2,))
    slope = float((taken[1] - taken[0]) / (tokens[1] - tokens[0]))
    return cache, max(0.0, float(taken[0] - slope * tokens[0])), slope
