"""Failures of training runs as publications count them, and the storage that saves are written to."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from mlsysim.catalog.entries import BytesPerSecond, Count, Entry, _in
from mlsysim.catalog.value import Choice, Value

PerDay = Annotated[Value, _in("1/day")]
Duration = Annotated[Value, _in("s")]


class Failures(Entry):
    """Failure rates of a published run, and the times it took to train on.

    Parameters
    ----------
    evidence : str
        What of the source was read: ``full text``, ``quotation``, ``abstract`` or ``secondary``, which is what others
        say of it. A value that was read in another way says so in its note.
    node_failure_rate : Value
        Unplanned interruptions per node and day.
    failure_clock : Choice, optional
        Time that this rate counts: ``wall``, all that nodes belong to the job, or ``running``, in which it trains.
    measured_nodes, failures_observed : Value, optional
        Nodes of the job, and interruptions that the rate was counted from.
    failure_size_exponent : Value, optional
        By which the rate of a node grows with the number of nodes; 0 where nodes fail independently.
    planned_rate : Value, optional
        Planned interruptions of the job per day, which save first.
    restart_share : Value, optional
        Share of the failures that a restart of processes cures, without another node.
    detection_time, placement_time, initialization_time, load_time, warmup_time : Value, optional
        Parts of a recovery: until the failure is noticed, until nodes are there, until processes have joined, until the
        last save is read, and until steps are as fast as before.
    save_stall, save_latency : Value, optional
        Pause of training at a save, and the time from then on until it can be restored from.
    memory_survival : Value, optional
        Share of the failures that leave the copy in the memory of hosts usable.
    elastic_stall, away_time : Value, optional
        Pause of all replicas where one fails, and its absence beyond it.
    repair_time : Value, optional
        Until a node that failed is a spare again.
    """

    what: ClassVar[str] = "failures"

    evidence: Literal["full text", "quotation", "abstract", "secondary"]
    node_failure_rate: PerDay
    failure_clock: Choice | None = None
    measured_nodes: Count | None = None
    failures_observed: Count | None = None
    failure_size_exponent: Count | None = None
    planned_rate: PerDay | None = None
    restart_share: Count | None = None
    detection_time: Duration | None = None
    placement_time: Duration | None = None
    initialization_time: Duration | None = None
    load_time: Duration | None = None
    warmup_time: Duration | None = None
    save_stall: Duration | None = None
    save_latency: Duration | None = None
    memory_survival: Count | None = None
    elastic_stall: Duration | None = None
    away_time: Duration | None = None
    repair_time: Duration | None = None


class Storage(Entry):
    """A file system that saves are written to and read from.

    Parameters
    ----------
    storage_bandwidth : Value
        At which all of it is written, sustained.
    storage_read_bandwidth : Value, optional
        At which it is read.
    node_storage_bandwidth : Value, optional
        What one node reaches.
    metadata_time : Value, optional
        What a save takes beside its bytes.
    peak_bandwidth : Value, optional
        In bursts.
    """

    what: ClassVar[str] = "storage"

    storage_bandwidth: BytesPerSecond
    storage_read_bandwidth: BytesPerSecond | None = None
    node_storage_bandwidth: BytesPerSecond | None = None
    metadata_time: Duration | None = None
    peak_bandwidth: BytesPerSecond | None = None
