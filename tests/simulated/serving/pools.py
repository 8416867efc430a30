"""Pools of engines: prefill workers, links that carry keys and values, decode workers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from simulated.serving.engine import Totals
from simulated.serving.gaps import note
from simulated.serving.iteration_time import seconds


class Sizes(NamedTuple):
    """Workers of each pool and the links between them."""

    prefill_workers: int
    decode_workers: int
    slots: int
    """Requests that decode together on a worker."""
    links: int
    seconds_per_token: float
    """Time that the cache of one token occupies a link."""
    latency: float
    """Time of a transfer beside that, which occupies nothing."""
    drafted: int
    draft_time: float


@njit
def serve_pools(load, prefill_times, decode_times, sizes, opens, closes, first, finish, gaps):
    """Serve all requests; note first and last tokens, and gaps and totals while so many have finished."""
    count, per_request = len(load.prompt), sizes.drafted + 1
    # Prefill workers: what they work on and until when. Links: when they are free, and what is on its way.
    prefilled, prefill_end = np.full(sizes.prefill_workers, -1), np.full(sizes.prefill_workers, np.inf)
    link_free, ready = np.zeros(sizes.links), np.zeros(count)
    way_head, way_tail = np.full(sizes.links, -1), np.full(sizes.links, -1)
    # Decode workers: requests sent to them, those in their steps, and those who wait for a slot.
    step_end = np.full(sizes.decode_workers, np.inf)
    sent, n = np.zeros(sizes.decode_workers, np.int64), np.zeros(sizes.decode_workers, np.int64)
    step = np.zeros(sizes.decode_workers, np.int64)
    context, pace = np.zeros(sizes.decode_workers), np.zeros(sizes.decode_workers)
    queue_head, queue_tail = np.full(sizes.decode_workers, -1), np.full(sizes.decode_workers, -1)
    calendar = np.full((sizes.decode_workers, 2 + load.steps.max()), -1)
    # A request is in one list at a time: on a link, in a queue, or among those that a step ends.
    follows, joined = np.full(count, -1), np.empty(count, np.int64)
    arrived = head = done = finished = finished_before = 0
    start, elapsed, busy, batch, tokens, prefill_busy, link_busy = -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    now = 0.0

    while done < count:
        if start < 0 and done >= opens:
            start, finished_before = now, done
        if elapsed < 0 and done >= closes:
            elapsed, finished = now - start, done - finished_before
        recording = start >= 0 and elapsed < 0

        # At the same time arrivals come first and steps last, so that a step begins with all that are there.
        now, event, where = np.inf, 0, 0
        released = min(count, load.in_flight + done) if load.in_flight else count
        if arrived < released:
            now = load.arrival[arrived]
        for worker in range(sizes.prefill_workers):
            if prefill_end[worker] < now:
                now, event, where = prefill_end[worker], 1, worker
        for link in range(sizes.links):
            if way_head[link] >= 0 and ready[way_head[link]] < now:
                now, event, where = ready[way_head[link]], 2, link
        for worker in range(sizes.decode_workers):
            if step_end[worker] < now:
                now, event, where = step_end[worker], 3, worker

        starts, finished_now = -1, -1
        if event == 0:
            arrived += 1
        elif event == 1:
            request = prefilled[where]
            prefill_end[where] = np.inf
            first[request] = now
            if recording:
                tokens += 1
            if load.answer[request] == 1:
                finish[request] = now
                if load.in_flight and load.in_flight + done < count:
                    load.arrival[load.in_flight + done] = now
                done += 1
            else:
                link = link_free.argmin()
                occupied = load.prompt[request] * sizes.seconds_per_token
                link_free[link] = max(now, link_free[link]) + occupied
                ready[request] = link_free[link] + sizes.latency
                if recording:
                    link_busy += occupied
                follows[request] = -1
                if way_head[link] < 0:
                    way_head[link] = request
                else:
                    follows[way_tail[link]] = request
                way_tail[link] = request
        elif event == 2:
            request = way_head[where]
            way_head[where] = follows[request]
            worker = sent.argmin()
            sent[worker] += 1
            follows[request] = -1
            if queue_head[worker] < 0:
                queue_head[worker] = request
            else:
                follows[queue_tail[worker]] = request
            queue_tail[worker] = request
            if step_end[worker] == np.inf:
                starts = worker
        else:
            step[where] += 1
            context[where] += pace[where]
            place = step[where] % calendar.shape[1]
            finished_now = calendar[where, place]
            calendar[where, place] = -1
            while finished_now >= 0:
                request = finished_now
                finished_now = follows[request]
                context[where] -= load.prompt[request] + load.answer[request]
                pace[where] -= load.pace[request]
                n[where] -= 1
                sent[where] -= 1
                finish[request] = now
                if load.in_flight and load.in_flight + done < count:
                    load.arrival[load.in_flight + done] = now
                done += 1
            if n[where] == 0:
                context[where] = pace[where] = 0.0
            starts = where

        if event < 2:
            for worker in range(sizes.prefill_workers):
                if head < arrived and prefill_end[worker] == np.inf:
                    known, all_of_it = load.cached[head], load.prompt[head]
                    tau = seconds(prefill_times, all_of_it - known, 1, 0.0, 0.5 * (all_of_it**2 - known**2))
                    prefilled[worker], prefill_end[worker] = head, now + tau
                    if recording:
                        prefill_busy += tau
                    head += 1
        if starts >= 0:
            newcomers = 0
            while queue_head[starts] >= 0 and n[starts] < sizes.slots:
                request = queue_head[starts]
                queue_head[starts] = follows[request]
                place = (step[starts] + load.steps[request]) % calendar.shape[1]
                follows[request] = calendar[starts, place]
                calendar[starts, place] = request
                context[starts] += load.prompt[request] + 1
                pace[starts] += load.pace[request]
                n[starts] += 1
                joined[newcomers] = request
                newcomers += 1
            step_end[starts] = np.inf
            if n[starts] > 0:
                rows = n[starts] * per_request
                tau = seconds(decode_times, rows, rows, context[starts], 0.0) + sizes.draft_time
                step_end[starts] = now + tau
                if recording:
                    busy += tau
                    batch += n[starts] * tau
                    tokens += pace[starts]
                    note(gaps, tau, n[starts] - newcomers)
                    for one in range(newcomers):
                        note(gaps, now + tau - first[joined[one]], 1)
    if elapsed < 0:
        elapsed, finished = now - start, done - finished_before
    workers = sizes.decode_workers
    return Totals(
        elapsed,
        busy / workers,
        batch / workers,
        tokens,
        finished,
        0,
        prefill_busy / sizes.prefill_workers,
        link_busy / sizes.links,
    )
