"""One engine: iterations that mix prompts with decoding, or whole prompts that stop it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from simulated.serving.gaps import note
from simulated.serving.iteration_time import seconds

WAITS, PREFILLS, DECODES, DONE = range(4)


class Rules(NamedTuple):
    """What an engine may do in an iteration."""

    mixed: bool
    """Whether prompts, cut where need be, share the iterations of decoding requests."""
    budget: int
    """Tokens of a mixed iteration."""
    slots: int
    """Requests that decode or prefill together."""
    kv_tokens: int
    """Tokens whose keys and values fit."""
    watermark: float
    """Share of them that is kept free when a prompt is let in beside others."""
    drafted: int
    draft_time: float


class Totals(NamedTuple):
    """What is added up between two numbers of finished requests."""

    elapsed: float
    busy: float
    batch: float
    """Decoding requests, times seconds."""
    tokens: float
    finished: int
    preemptions: int
    prefill_busy: float
    link_busy: float


@njit
def serve(load, times, rules, opens, closes, first, finish, gaps):
    """Serve all requests; note first and last tokens, and gaps and totals while so many have finished."""
    count = len(load.prompt)
    state = np.zeros(count, np.int8)
    # Tokens to prefill: the prompt, after a preemption also what was answered. Answered when decoding began.
    target, made = load.prompt.copy(), np.zeros(count, np.int64)
    # Decode steps at the beginning and the end of a request's decoding; its last token before the first of them.
    begun, ends, last = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count)
    # Requests by the step that ends them, in doubly linked lists.
    calendar = np.full(2 + load.steps.max(), -1)
    later, earlier = np.full(count, -1), np.full(count, -1)
    completed, fresh = np.empty(count, np.int64), np.empty(count, np.int64)
    n = step = arrived = done = waiting = head = fresh_count = progress = reserved = 0
    partial = -1
    now = last_step = context = pace = 0.0
    start, elapsed, busy, batch, tokens = -1.0, -1.0, 0.0, 0.0, 0.0
    finished = finished_before = preemptions = 0
    per_request = rules.drafted + 1

    while done < count:
        if start < 0 and done >= opens:
            start, finished_before = now, done
        if elapsed < 0 and done >= closes:
            elapsed, finished = now - start, done - finished_before
        recording = start >= 0 and elapsed < 0
        if load.in_flight:
            released = min(count, load.in_flight + done)
            waiting += released - arrived
            arrived = released
        else:
            while arrived < count and load.arrival[arrived] <= now:
                arrived += 1
                waiting += 1
        if n == 0 and partial < 0 and waiting == 0:
            now = load.arrival[arrived]
            continue

        # The youngest goes back to the head of the queue while the tokens held do not fit.
        while context + reserved > rules.kv_tokens:
            youngest = head - 1
            while state[youngest] != DECODES and state[youngest] != PREFILLS:
                youngest -= 1
            if state[youngest] == PREFILLS:
                partial = -1
                reserved -= target[youngest] + 1
            else:
                decoded = step - begun[youngest]
                answered = int(decoded * load.pace[youngest])
                if fresh_count > 0 and fresh[fresh_count - 1] == youngest:
                    fresh_count -= 1
                else:
                    last[youngest] = last_step
                context -= target[youngest] + 1 + decoded * load.pace[youngest]
                pace -= load.pace[youngest]
                n -= 1
                if n == 0:
                    context = pace = 0.0
                if earlier[youngest] >= 0:
                    later[earlier[youngest]] = later[youngest]
                else:
                    calendar[ends[youngest] % len(calendar)] = later[youngest]
                if later[youngest] >= 0:
                    earlier[later[youngest]] = earlier[youngest]
                made[youngest] += answered
                target[youngest] = load.prompt[youngest] + made[youngest]
                if recording:
                    preemptions += 1
            state[youngest] = WAITS
            head = youngest
            waiting += 1

        # Prompts of this iteration, first come first served.
        room = rules.budget - n * per_request if rules.mixed else np.int64(1 << 60)
        computed, pairs, completions = 0, 0.0, 0
        while room > 0:
            if partial < 0:
                if waiting == 0 or n + completions >= rules.slots:
                    break
                held = context + reserved
                if held > 0 and held + target[head] + 1 > (1 - rules.watermark) * rules.kv_tokens:
                    break
                partial = head
                state[partial] = PREFILLS
                progress = load.cached[partial]
                reserved += target[partial] + 1
                waiting -= 1
                head += 1
                while head < arrived and state[head] != WAITS:
                    head += 1
            piece = min(room, target[partial] - progress)
            pairs += piece * (progress + 0.5 * piece)
            computed += piece
            room -= piece
            progress += piece
            if progress == target[partial]:
                completed[completions] = partial
                completions += 1
                partial = -1
                if not rules.mixed:
                    break

        decoding = n if rules.mixed or computed == 0 else 0
        rows = decoding * per_request
        tau = seconds(times, rows + computed, rows + completions, context if decoding else 0.0, pairs)
        if decoding:
            tau += rules.draft_time
        now += tau
        if recording:
            busy += tau
            batch += n * tau
            tokens += completions + (pace if decoding else 0.0)
        if decoding:
            step += 1
            if recording:
                note(gaps, now - last_step, n - fresh_count)
                for one in range(fresh_count):
                    note(gaps, now - last[fresh[one]], 1)
            fresh_count = 0
            last_step = now
            context += pace
            request = calendar[step % len(calendar)]
            calendar[step % len(calendar)] = -1
            while request >= 0:
                context -= target[request] + 1 + (step - begun[request]) * load.pace[request]
                pace -= load.pace[request]
                n -= 1
                state[request] = DONE
                finish[request] = now
                if load.in_flight and load.in_flight + done < count:
                    load.arrival[load.in_flight + done] = now
                done += 1
                request = later[request]
            if n == 0:
                context = pace = 0.0
        for one in range(completions):
            request = completed[one]
            reserved -= target[request] + 1
            if made[request] == 0:
                first[request] = now
            elif recording:
                note(gaps, now - last[request], 1)
            made[request] += 1
            left = load.answer[request] - made[request]
            if left == 0:
                state[request] = DONE
                finish[request] = now
                if load.in_flight and load.in_flight + done < count:
                    load.arrival[load.in_flight + done] = now
                done += 1
                continue
            state[request] = DECODES
            begun[request], last[request] = step, now
            ends[request] = step + int(np.ceil(left / load.pace[request] - 1e-9))
            place = ends[request] % len(calendar)
            earlier[request], later[request] = -1, calendar[place]
            if later[request] >= 0:
                earlier[later[request]] = request
            calendar[place] = request
            fresh[fresh_count] = request
            fresh_count += 1
            context += target[request] + 1
            pace += load.pace[request]
            n += 1
    if elapsed < 0:
        elapsed, finished = now - start, done - finished_before
    return Totals(elapsed, busy, batch, tokens, finished, preemptions, 0.0, 0.0)
