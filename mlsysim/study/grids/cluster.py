"""Parallel map over the workers of a ``dask.distributed`` cluster, with results in order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeVar

from mlsysim.errors import InputError
from mlsysim.extras import require

Item = TypeVar("Item")

#: Retries of a task, and tasks waiting per worker.
RETRIES, WAITING = 3, 3
#: Most bytes sent with every task; larger objects are sent once to each worker.
SENT = 2**20


def map_items(
    work: Callable[[Any, Any], Any], shared: Any, items: Iterable[Item], client: Any = None
) -> Iterator[tuple[Item, Any]]:
    """Call ``work(shared, item)`` for every item, here or on a cluster.

    Parameters
    ----------
    work : callable
        Function of a module, so that a worker can import it.
    shared : object
        Argument of every call; a large object is sent once.
    items : iterable
        Arguments, one per call.
    client : dask.distributed.Client, optional
        Client of the cluster; by default all calls run in this process.

    Yields
    ------
    tuple
        Item and result, in the order of the items.

    Raises
    ------
    MissingPackageError
        If dask.distributed is not installed.
    InputError
        If the client is of another type, or asynchronous.
    """
    if client is None:
        for item in items:
            yield item, work(shared, item)
        return
    require("a cluster", "distributed")
    from distributed import Client

    if not isinstance(client, Client) or client.asynchronous:
        raise InputError("client", client, "must be a dask.distributed.Client that is not asynchronous")
    yield from _on_cluster(work, pickle.dumps(shared), iter(items), client)


def _on_cluster(work: Any, shared: bytes, items: Iterator[Any], client: Any) -> Iterator[tuple[Any, Any]]:
    sent = client.scatter(shared, broadcast=True) if len(shared) > SENT else shared
    pending: list[tuple[Any, Any]] = []

    def submit() -> None:
        """Submit tasks until every worker has some waiting; a limit bounds memory."""
        most = WAITING * max(1, sum(client.nthreads().values()))
        for item in items:
            pending.append((item, client.submit(_call, work, sent, item, pure=False, retries=RETRIES)))
            if len(pending) >= most:
                break

    try:
        submit()
        while pending:
            item, future = pending.pop(0)
            result = future.result()
            future.release()
            submit()
            yield item, result
    finally:
        client.cancel([future for _, future in pending])


def _call(work: Any, shared: bytes, item: Any) -> Any:
    return work(_unpacked(shared), item)


@lru_cache(maxsize=4)
def _unpacked(shared: bytes) -> Any:
    """Unpickle once per worker, so that all its tasks share the compiled code of the object."""
    return pickle.loads(shared)
