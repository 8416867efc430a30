"""Failure rates of published training runs, and storage for checkpoints."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from mlsysim.catalog.entries import BytesPerSecond, Count, Entry, _in
from mlsysim.catalog.value import Choice, Value

PerDay = Annotated[Value, _in("1/day")]
Duration = Annotated[Value, _in("s")]


class Failures(Entry):
    """Failure rates and recovery times of a published training run.

    Parameters
    ----------
    evidence : str
        Part of the source that was read: ``full text``, ``quotation``, ``abstract`` or ``secondary`` (a report by
        others). A value that was read in another way says so in its note.
    node_failure_rate : Value
        Unplanned interruptions per node and day.
    failure_clock : Choice, optional
        Time base of the rate: ``wall`` (all time that the job holds its nodes) or ``running`` (time in training only).
    measured_nodes, failures_observed : Value, optional
        Nodes of the job, and number of interruptions behind the rate.
    failure_size_exponent : Value, optional
        Exponent by which the failure rate per node grows with the number of nodes; 0 if nodes fail independently.
    planned_rate : Value, optional
        Planned interruptions of the job per day, each preceded by a checkpoint.
    restart_share : Value, optional
        Share of failures that a restart of processes resolves without replacing a node.
    detection_time, placement_time, initialization_time, load_time, warmup_time : Value, optional
        Phases of a recovery: detecting the failure, allocating nodes, initialising processes, loading the checkpoint,
        and returning to full speed.
    save_stall, save_latency : Value, optional
        Pause of training for a checkpoint, and time from then until it can be restored.
    memory_survival : Value, optional
        Share of failures after which the copy in host memory is still usable.
    elastic_stall, away_time : Value, optional
        Pause of all replicas if one fails, and further absence of the failed one.
    repair_time : Value, optional
        Time until a failed node is available as a spare.
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
    """A file system that checkpoints are written to and read from.

    Parameters
    ----------
    storage_bandwidth : Value
        Sustained write bandwidth of the whole system.
    storage_read_bandwidth : Value, optional
        Sustained read bandwidth of the whole system.
    node_storage_bandwidth : Value, optional
        Bandwidth of one node.
    metadata_time : Value, optional
        Time of a checkpoint besides moving its bytes.
    peak_bandwidth : Value, optional
        Peak bandwidth in bursts.
    """

    what: ClassVar[str] = "storage"

    storage_bandwidth: BytesPerSecond
    storage_read_bandwidth: BytesPerSecond | None = None
    node_storage_bandwidth: BytesPerSecond | None = None
    metadata_time: Duration | None = None
    peak_bandwidth: BytesPerSecond | None = None
