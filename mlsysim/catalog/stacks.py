"""Software stacks: what a framework reaches of the hardware, and what it costs beside."""

from __future__ import annotations

from typing import ClassVar

from mlsysim.catalog.entries import Count, Entry, Milliseconds


class Stack(Entry):
    """A framework with its kernels and libraries on one class of device.

    What an entry leaves out is that of ``Stacks.Generic``.

    Parameters
    ----------
    efficiency : Value, optional
        Share of the peak rate that products reach.
    attention_efficiency : Value, optional
        Rate of the attention kernel over that of the products.
    memory_efficiency : Value, optional
        Share of the memory bandwidth that kernels bound by memory reach.
    link_efficiency : Value, optional
        Share of a link's bandwidth that a collective reaches.
    dp_overlap, tp_overlap, cp_overlap : Value, optional
        Share of the computing (of the traffic, of attention) that traffic may hide behind.
    dispatch_tax, layer_tax : Value, optional
        Fixed times to launch a request, and per layer and decode step.
    """

    what: ClassVar[str] = "stack"

    efficiency: Count | None = None
    attention_efficiency: Count | None = None
    memory_efficiency: Count | None = None
    link_efficiency: Count | None = None
    dp_overlap: Count | None = None
    tp_overlap: Count | None = None
    cp_overlap: Count | None = None
    dispatch_tax: Milliseconds | None = None
    layer_tax: Milliseconds | None = None
