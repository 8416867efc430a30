"""Iterations of one engine: prompts in chunks beside decoding requests, or whole while decoding stops.

Compiled by numba where that is installed; else the same text runs in Python, on lists.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mlsysim.extras import installed


def _as_it_is(function: Any) -> Any:
    """Leave a function to Python."""
    return function


compiled: Any = _as_it_is
if installed("numba"):
    from numba import njit

    compiled = njit(cache=True)

#: States of a request.
UNSENT, WAITS, PREFILLS, DECODES, DONE = range(5)
#: Places of numbers that outlast a call: whole ones, and times.
STEP, OPENED, SENT, WAITING, ENDING, FUTURE, DECODING = range(7)
PARTIAL, PROGRESS, RESERVED, FINISHED, CHAINS, OLDEST, NEWEST, LOOKED, HELD, INTEGERS = range(7, 17)
NOW, BUSY, KEPT, OPEN_TIME, OPEN_BUSY, CLOSE_TIME, CLOSE_BUSY, CONTEXT, PACE, READY, FLOATS = range(11)
#: A priority is worth more than any place in the order of coming.
ORDERS = 1 << 40


class Table(NamedTuple):
    """Numbers of whole places up to one, and of every so many beyond; straight lines between."""

    values: Any
    fine: int
    stride: int


class Times(NamedTuple):
    """Seconds of an iteration, in tables."""

    decode: Table
    """Time by decoding requests, without what grows with their contexts."""
    decode_share: Table
    """Number of times that a step takes what the attention of one request does, by decoding requests."""
    decode_host: Table
    context: Table
    """Attention of one decoding request, by its tokens of context."""
    straight: Any
    """Tokens up to which that table goes on in the same straight line, by place."""
    whole: Table
    """Time by the tokens of one whole prompt, without attention."""
    whole_host: float
    tokens: Table
    """Time by the tokens that pass the layers."""
    sampled: Table
    """Time by the tokens that are sampled."""
    sampled_host: Table
    attention: Table
    """Attention of a prompt, by its tokens, from the first one on."""


class Rules(NamedTuple):
    """Limits of an engine."""

    chunked: bool
    budget: int
    """Tokens of an iteration."""
    slots: int
    """Requests that prefill or decode together."""
    cache: float
    """Tokens whose keys and values fit."""
    fixed: float
    """Tokens that a request takes of it beside those of its context."""
    per_token: float
    watermark: float
    """Share that is kept free when a prompt is let in beside others."""
    hit_share: float
    """Share of every prompt that is in a cache of prefixes."""
    in_flight: int
    """Requests of a closed loop; 0 for arrivals."""
    think: float
    """Seconds between an answer and the next turn of its session."""
    each: int
    """Tokens that a decoding request passes in a step: one, and those drafted for it."""
    draft_time: float
    """Seconds of drafting in a step."""
    missed: float
    """Seconds by which a request that follows another misses the iteration that starts as it is sent."""
    poll: int
    """Iterations of decoding between two looks at what has come."""
    wait: int
    """Iterations that prompts are held for others, while requests decode."""


class Requests(NamedTuple):
    """Columns of what is asked, by request."""

    arrival: Any
    prompt: Any
    answer: Any
    pace: Any
    """Tokens that a decode step gives, mean over its answer."""
    priority: Any
    """Rank: the lowest goes first."""
    next: Any
    """The turn that follows in its session, else -1."""
    session: Any
    """Number of the session of a request with other turns, else -1."""
    opening: Any
    """Requests that follow no other, in order of arrival."""
    front: Any
    """Seconds in front of the engine, which are part of the arrival."""


class Seen(NamedTuple):
    """Columns of what came of it, by request; times in seconds."""

    arrival: Any
    admitted: Any
    first: Any
    finish: Any
    cached: Any
    preemptions: Any


class Work(NamedTuple):
    """State of an engine between calls."""

    integers: Any
    floats: Any
    state: Any
    target: Any
    """Tokens to prefill: the prompt, after a preemption also what was answered."""
    made: Any
    begun: Any
    """Step at which a request began to decode."""
    key: Any
    """Place in the order of service."""
    waiting: Any
    waiting_of: Any
    ending: Any
    ending_of: Any
    future: Any
    future_of: Any
    completed: Any
    retained: Any
    """Tokens of a session that are kept for its next turn."""
    later: Any
    earlier: Any
    opens: int
    closes: int


@compiled
def look(table, place):
    """Read a table, with straight lines between its places and beyond them."""
    if place > table.fine:
        place = table.fine + (place - table.fine) / table.stride
    at = int(place)
    if at > len(table.values) - 2:
        at = len(table.values) - 2
    return table.values[at] + (place - at) * (table.values[at + 1] - table.values[at])


@compiled
def cell(table, place):
    """Find between which two numbers of a table a place lies, and how far apart they stand."""
    if place > table.fine:
        return min(int(table.fine + (place - table.fine) / table.stride), len(table.values) - 2), table.stride
    return min(int(place), len(table.values) - 2), 1


@compiled
def push(keys, items, size, key, item):
    """Add to a heap, whose least key stands first."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place], items[place] = keys[above], items[above]
        place = above
    keys[place], items[place] = key, item
    return size + 1


@compiled
def pull(keys, items, size, place):
    """Take out of a heap what stands at a place."""
    size -= 1
    key, item = keys[size], items[size]
    while place > 0 and keys[(place - 1) >> 1] > key:
        above = (place - 1) >> 1
        keys[place], items[place] = keys[above], items[above]
        place = above
    while True:
        below = 2 * place + 1
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if below >= size or keys[below] >= key:
            break
        keys[place], items[place] = keys[below], items[below]
        place = below
    keys[place], items[place] = key, item
    return size


@compiled
def decode_time(times, requests, context):
    """Seconds of a step in which so many requests of a mean context decode, and nothing else."""
    device = look(times.decode, requests) + look(times.decode_share, requests) * look(times.context, context)
    return max(device, look(times.decode_host, requests))


@compiled
def decode_steps(times, requests, context, pace, beside, most, left):
    """Steps, and their seconds, until so many are done or so much time is over, the last step included."""
    host, share = look(times.decode_host, requests) + beside, look(times.decode_share, requests)
    device = look(times.decode, requests) + share * look(times.context, context) + beside
    at, width = cell(times.context, context)
    most = min(most, int(min((times.straight[at] - context) / pace, 1e15)) + 1)
    if most <= 1:
        return 1, max(device, host)
    growth = pace * share * (times.context.values[at + 1] - times.context.values[at]) / width
    if device < host:
        if growth > 0:
            most = min(most, max(1, int((host - device) / growth)))
        device, growth = host, 0.0
    first = device - growth / 2
    steps = 2 * left / (first + math.sqrt(first * first + 2 * growth * left))
    most = min(most, max(1, math.ceil(min(steps, 1e15))))
    return most, most * (first + growth * most / 2)


@compiled
def prompt_time(times, tokens, attention):
    """Seconds of a pass over one prompt alone."""
    return max(look(times.whole, tokens) + attention, times.whole_host)


@compiled
def mixed_time(times, requests, rows, context, tokens, prompts, attention):
    """Seconds of an iteration of decoding requests beside tokens of prompts, of which so many end."""
    device = look(times.tokens, rows + tokens) + look(times.sampled, rows + prompts) + attention
    if requests:
        device += requests * look(times.context, context)
    return max(device, look(times.sampled_host, rows + prompts))


@compiled
def send(asked, work, request):
    """Put a request into the queue."""
    numbers = work.integers
    work.state[request] = WAITS
    work.key[request] = asked.priority[request] * ORDERS + numbers[SENT]
    numbers[SENT] += 1
    numbers[WAITING] = push(work.waiting, work.waiting_of, numbers[WAITING], work.key[request], request)


@compiled
def forget(rules, work, session):
    """Take a session out of what is kept for further turns."""
    numbers = work.integers
    work.floats[KEPT] -= rules.fixed + rules.per_token * work.retained[session]
    work.retained[session] = 0
    before, after = work.earlier[session], work.later[session]
    if before >= 0:
        work.later[before] = after
    else:
        numbers[OLDEST] = after
    if after >= 0:
        work.earlier[after] = before
    else:
        numbers[NEWEST] = before
    if numbers[OLDEST] < 0:
        work.floats[KEPT] = 0.0


@compiled
def finish(asked, rules, seen, work, request):
    """End a request: its cache is kept where a turn follows, and in a closed loop another one starts."""
    numbers, now = work.integers, work.floats[NOW]
    work.state[request] = DONE
    seen.finish[request] = now
    numbers[FINISHED] += 1
    follower = asked.next[request]
    if follower >= 0:
        session = asked.session[request]
        work.retained[session] = asked.prompt[request] + asked.answer[request]
        work.floats[KEPT] += rules.fixed + rules.per_token * work.retained[session]
        work.earlier[session], work.later[session] = numbers[NEWEST], -1
        if numbers[NEWEST] >= 0:
            work.later[numbers[NEWEST]] = session
        else:
            numbers[OLDEST] = session
        numbers[NEWEST] = session
        time = max(asked.arrival[follower], now + rules.think + asked.front[follower])
        seen.arrival[follower] = time - asked.front[follower]
        numbers[FUTURE] = push(work.future, work.future_of, numbers[FUTURE], time, follower)
    else:
        numbers[CHAINS] += 1


@compiled
def stop(asked, work, request):
    """Take a request out of those that decode."""
    numbers, floats = work.integers, work.floats
    floats[CONTEXT] -= work.target[request] + 1 + (numbers[STEP] - work.begun[request]) * asked.pace[request]
    floats[PACE] -= asked.pace[request]
    numbers[DECODING] -= 1
    if numbers[DECODING] == 0:
        floats[CONTEXT] = floats[PACE] = 0.0


@compiled
def preempt(asked, seen, work):
    """Send the request back to the queue that comes last in the order of service; it is prefilled again."""
    numbers = work.integers
    last, place = numbers[PARTIAL], -1
    for each in range(numbers[ENDING]):
        request = work.ending_of[each]
        if last < 0 or work.key[request] > work.key[last]:
            last, place = request, each
    if place < 0:
        numbers[PARTIAL] = -1
        numbers[RESERVED] -= work.target[last] + 1
    else:
        decoded = int((numbers[STEP] - work.begun[last]) * asked.pace[last])
        stop(asked, work, last)
        numbers[ENDING] = pull(work.ending, work.ending_of, numbers[ENDING], place)
        work.made[last] += decoded
        work.target[last] = asked.prompt[last] + work.made[last]
    seen.preemptions[last] += 1
    work.state[last] = WAITS
    numbers[WAITING] = push(work.waiting, work.waiting_of, numbers[WAITING], work.key[last], last)


@compiled
def held(rules, work):
    """Tokens of the cache that requests in service take."""
    numbers = work.integers
    requests = numbers[DECODING] + (1 if numbers[PARTIAL] >= 0 else 0)
    return rules.fixed * requests + rules.per_token * (work.floats[CONTEXT] + numbers[RESERVED])


@compiled
def serve(asked, times, rules, seen, work, most):
    """Serve requests for so many iterations at most; whether all are done."""
    numbers, floats = work.integers, work.floats
    count, opening = len(asked.prompt), len(asked.opening)
    while numbers[FINISHED] < count:
        if most <= 0:
            return False
        most -= 1
        now = floats[NOW]
        idle = numbers[DECODING] == 0 and numbers[PARTIAL] < 0 and numbers[WAITING] == 0
        looks = numbers[LOOKED] == 0 or idle
        if rules.in_flight:
            while numbers[OPENED] < min(opening, rules.in_flight + numbers[CHAINS]):
                request = asked.opening[numbers[OPENED]]
                later = asked.front[request] + (0.0 if idle else rules.missed)
                seen.arrival[request] = now
                if later <= 0 and looks:
                    send(asked, work, request)
                else:
                    # Nobody overtakes in front of the engine.
                    floats[READY] = max(now + later, floats[READY] + 1e-10)
                    numbers[FUTURE] = push(work.future, work.future_of, numbers[FUTURE], floats[READY], request)
                numbers[OPENED] += 1
        if looks and not rules.in_flight:
            while numbers[OPENED] < opening and asked.arrival[asked.opening[numbers[OPENED]]] <= now:
                request = asked.opening[numbers[OPENED]]
                seen.arrival[request] = asked.arrival[request] - asked.front[request]
                send(asked, work, request)
                numbers[OPENED] += 1
        while looks and numbers[FUTURE] > 0 and work.future[0] <= now:
            request = work.future_of[0]
            numbers[FUTURE] = pull(work.future, work.future_of, numbers[FUTURE], 0)
            send(asked, work, request)
        if idle and numbers[WAITING] == 0:
            time = work.future[0] if numbers[FUTURE] > 0 else 1e300
            if not rules.in_flight and numbers[OPENED] < opening:
                time = min(time, asked.arrival[asked.opening[numbers[OPENED]]])
            floats[NOW] = time
            continue

        while held(rules, work) > rules.cache:
            preempt(asked, seen, work)
        while numbers[OLDEST] >= 0 and held(rules, work) + floats[KEPT] > rules.cache:
            forget(rules, work, numbers[OLDEST])

        decoding = numbers[DECODING]
        room = rules.budget - decoding * rules.each if rules.chunked else 1 << 60
        if decoding and numbers[PARTIAL] < 0 and numbers[HELD] < rules.wait:
            room = 0
        computed, completions, attention = 0, 0, 0.0
        while room > 0:
            if numbers[PARTIAL] < 0:
                if numbers[WAITING] == 0 or decoding + completions >= rules.slots:
                    break
                request = work.waiting_of[0]
                taken = held(rules, work) + rules.fixed * completions
                needed = rules.fixed + rules.per_token * (work.target[request] + 1)
                if taken > 0 and taken + needed > (1 - rules.watermark) * rules.cache:
                    break
                numbers[WAITING] = pull(work.waiting, work.waiting_of, numbers[WAITING], 0)
                cached = round(asked.prompt[request] * rules.hit_share)
                session = asked.session[request]
                if session >= 0 and work.retained[session] > 0:
                    cached = max(cached, work.retained[session])
                    forget(rules, work, session)
                cached = min(cached, asked.prompt[request] - 1)
                if work.state[request] == WAITS and seen.preemptions[request] == 0:
                    seen.admitted[request] = now
                    seen.cached[request] = cached
                work.state[request] = PREFILLS
                numbers[PARTIAL], numbers[PROGRESS] = request, cached
                numbers[RESERVED] += work.target[request] + 1
            request = numbers[PARTIAL]
            piece = min(room, work.target[request] - numbers[PROGRESS])
            ended = numbers[PROGRESS] + piece
            attention += look(times.attention, ended)
            if numbers[PROGRESS] > 0:
                attention -= look(times.attention, numbers[PROGRESS])
            computed += piece
            room -= piece
            numbers[PROGRESS] = ended
            if ended == work.target[request]:
                work.completed[completions] = request
                completions += 1
                numbers[PARTIAL] = -1
                if not rules.chunked:
                    break
        while numbers[OLDEST] >= 0 and held(rules, work) + rules.fixed * completions + floats[KEPT] > rules.cache:
            forget(rules, work, numbers[OLDEST])

        context, rows, steps = floats[CONTEXT] / max(1, decoding), decoding * rules.each, 1
        if computed == 0:
            # Nothing changes until a request ends or comes, or the cache is full: whoever waits has no room till then.
            most_steps = work.ending[0] - numbers[STEP]
            free = (rules.cache - held(rules, work)) / (rules.per_token * floats[PACE])
            most_steps = min(most_steps, int(min(free, 1e15)) + 1)
            coming = work.future[0] if numbers[FUTURE] > 0 else 1e300
            if not rules.in_flight and numbers[OPENED] < opening:
                coming = min(coming, asked.arrival[asked.opening[numbers[OPENED]]])
            pace = floats[PACE] / decoding
            left = coming - now
            if left <= 0:
                most_steps, left = min(most_steps, rules.poll - numbers[LOOKED]), 1e300
            if numbers[WAITING] > 0 and numbers[HELD] < rules.wait:
                most_steps = min(most_steps, rules.wait - numbers[HELD])
            steps, seconds = decode_steps(times, decoding, context, pace, rules.draft_time, most_steps, left)
        elif rules.chunked:
            seconds = mixed_time(times, decoding, rows, context, computed, completions, attention)
            if decoding:
                seconds += rules.draft_time
        else:
            decoding = 0
            seconds = prompt_time(times, computed, attention)
        floats[NOW] += seconds
        floats[BUSY] += seconds
        numbers[HELD] = 0 if numbers[WAITING] == 0 else rules.wait if computed > 0 else numbers[HELD] + steps
        # Whoever prefilled without decoding looks at once.
        numbers[LOOKED] = (numbers[LOOKED] + steps) % rules.poll if decoding else 0

        if decoding:
            numbers[STEP] += steps
            floats[CONTEXT] += floats[PACE] * steps
            while numbers[ENDING] > 0 and work.ending[0] <= numbers[STEP]:
                request = work.ending_of[0]
                numbers[ENDING] = pull(work.ending, work.ending_of, numbers[ENDING], 0)
                stop(asked, work, request)
                finish(asked, rules, seen, work, request)
        for each in range(completions):
            request = work.completed[each]
            numbers[RESERVED] -= work.target[request] + 1
            if work.made[request] == 0:
                seen.first[request] = floats[NOW]
            work.made[request] += 1
            left = asked.answer[request] - work.made[request]
            if left == 0:
                finish(asked, rules, seen, work, request)
                continue
            work.state[request] = DECODES
            work.begun[request] = numbers[STEP]
            last = numbers[STEP] + math.ceil(left / asked.pace[request] - 1e-9)
            numbers[ENDING] = push(work.ending, work.ending_of, numbers[ENDING], last, request)
            floats[CONTEXT] += work.target[request] + 1
            floats[PACE] += asked.pace[request]
            numbers[DECODING] += 1
        if floats[OPEN_TIME] < 0 and numbers[FINISHED] >= work.opens:
            floats[OPEN_TIME], floats[OPEN_BUSY] = floats[NOW], floats[BUSY]
        if floats[CLOSE_TIME] < 0 and numbers[FINISHED] >= work.closes:
            floats[CLOSE_TIME], floats[CLOSE_BUSY] = floats[NOW], floats[BUSY]
    return True
