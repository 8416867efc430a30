"""Software stacks: what a framework reaches of the hardware, and what it costs beside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from mlsysim.catalog.entries import (
    Accelerator,
    Bytes,
    BytesPerSecond,
    Count,
    ElementBytes,
    EnergyPerOperation,
    Entry,
    Flag,
    Milliseconds,
    Seconds,
    Share,
    TokenSeconds,
    TransformerWorkload,
    _in,
)
from mlsysim.catalog.value import Choice, Value
from mlsysim.errors import InputError
from mlsysim.formats import BITS

Tokens = Annotated[Value, _in("token")]
Requests = Annotated[Value, _in("request")]
#: Bits of the formats of products.
_WIDTH = {**BITS, "fp4": 4}


class Engine(Entry):
    """An inference engine; how fast it is on a device say the stacks that name it.

    Parameters
    ----------
    variant : Choice
        The set of formulas that serves requests as it does.
    """

    what: ClassVar[str] = "engine"

    variant: Choice

    def values(self) -> dict[str, Any]:
        """Its variant, a :class:`Choice`."""
        return {"variant": self.variant}

    def text(self, name: str, digits: int = 6) -> str:
        """See :meth:`Entry.text`."""
        return self.values()[name].text(digits)


@lru_cache
def _given_itself(name: str) -> Value:
    """Nothing for a law whose result a stack gives itself."""
    unit = "pJ/FLOP" if name == "step_flop_energy" else ""
    return Value.of(0, unit, source="what it gives way to is given")


class Stack(Entry):
    """A framework with its kernels and libraries on one class of device.

    What an entry leaves out is that of ``Stacks.Generic``.

    Parameters
    ----------
    devices : tuple of Accelerator
        Devices that its rows were measured on, or that it was described for; none where it is for any.
    engine : Engine, optional
        The engine that it is a version of. Of several that know a device, ``engine=`` takes the newest.
    expert_models : tuple of TransformerWorkload
        Models that its constants of experts rest on; they do not carry over to experts of another shape.
    unsettled : str, optional
        Why no efficiency is known of it: then that must be given.
    efficiency : Value or dict of Value, optional
        Share of the peak rate that products reach, or one by number format (:data:`mlsysim.formats.NUMBER_FORMATS`).
    expert_efficiency : Value or dict of Value, optional
        The same of grouped products with routed experts, in serving; 0 where it is that of others.
    weight_only_expert_efficiency : Value, optional
        Share of the 16-bit peak that they reach where experts are stored narrower than products are computed.
    expert_popularity : Value, optional
        Shape of the gamma distribution of how popular experts are; 0 where all are alike.
    attention_efficiency : Value, optional
        Rate of the attention kernel over that of the products.
    memory_efficiency : Value, optional
        Share of the memory bandwidth that kernels bound by memory reach.
    weight_read_efficiency : Value, optional
        Rate at which weights of four bits are read over that of 16 bits.
    flop_energy : Value, optional
        Energy of one operation of a product, which sets the ceiling of a device by its power.
    idle_power_fraction, busy_power, flop_power, cap_exponent : Value, optional
        Constants of the law of power: of idling, of running kernels, of operations, and of the clock under a cap.
    busy_bandwidth_share, busy_peak_share : Value, optional
        Shares of the memory bandwidth and of the 16-bit peak at which a device that runs kernels is taken to work.
    kernel_gap : Value, optional
        Time of a layer that is neither reading nor computing, of an iteration that leaves its device waiting.
    format_energy : Value, optional
        Energy of an operation over that of a 16-bit one, by number format.
    launch_time, quantization_time : Value, optional
        Launch of a kernel, its fill and drain; and the launches that quantising the activations takes.
    link_efficiency, fabric_efficiency : Value, optional
        Share of the bandwidth of the links of a node, and of a port to the fabric, that a collective reaches.
    exchange_link_efficiency : Value, optional
        Share of the links' bandwidth that exchanges of experts reach.
    collective_latency, node_latency : Value, optional
        Start of a collective, and one step of it within a node.
    all_to_all_start, all_to_all_step : Value, optional
        The same of an all-to-all.
    switch_latency : Value, optional
        What a reduction in the switches takes beside.
    exchange_latency : Value, optional
        What an exchange of experts takes beside its bytes.
    dp_overlap, tp_overlap, cp_overlap : Value, optional
        Share of the computing (of the traffic, of attention) that traffic may hide behind.
    ep_overlap : Value, optional
        Share of the computing that exchanges of experts may hide behind.
    exchange_multiprocessor_share : Value, optional
        Share of the multiprocessors that exchanges of experts keep while the others compute.
    eight_bit_efficiency : Value, optional
        Share of the peak rate that products reach at 8 bit over that at 16 bit.
    step_flop_energy, expert_product_ratio : Value, optional
        Energy of an operation in a training step, by which the power of a board holds products down, and rate of the
        products of routed experts over that of dense ones (``expert_efficiency`` is a share of the peak in serving).
    attention_kernel_share, elementwise_efficiency : Value, optional
        Rate of attention in a step over that of its kernel alone, and share of the memory bandwidth that element-wise
        code reaches; ``memory_efficiency`` where that alone is given.
    flash_kernel : Choice, optional
        Kernel that it means by flash attention.
    two_batch_hidden_share, hidden_traffic_cost, slice_cost : Value, optional
        Share of the exchanges that another micro-batch hides, slowdown of computing by hidden traffic over the time of
        that traffic, and increase of a step for each doubling of slices.
    host_operation_time : Value, optional
        Time the host takes to launch one operation of a training step.
    layer_operations, moe_layer_operations, expert_operations : Value, optional
        Operations launched for a layer without experts, for one with experts beside these, and for one expert, or by
        number format.
    dispatcher, all_to_all_operations : Choice and Value, optional
        Launches of a dispatch to experts, and further operations where that is an all-to-all.
    grouped_experts : Value, optional
        Whether one kernel computes all experts of a rank.
    captured_share : Value, optional
        Share of the operations beside experts that captured graphs launch.
    count_sync_time : Value, optional
        Wait of the device while the host reads how many tokens each expert gets.
    remap_bandwidth : Value, optional
        Bytes a second that the allocator gives back to the device and maps again.
    dispatch_tax, layer_tax : Value, optional
        Fixed times to launch a request, and per layer and decode step.
    moe_layer_tax, mla_layer_tax, index_layer_tax : Value, optional
        Further such times of layers with routed experts, with latent attention and with an indexer.
    prompt_host_layer_time, prompt_host_mla_time, prompt_host_moe_time : Value, optional
        Times of the host to launch a layer of an iteration with prompts, and further ones of these kinds of layers.
    prefill_attention_efficiency : Value, optional
        Share of the 16-bit peak that attention reaches in a prefill.
    kv_read_efficiency : Value, optional
        Share of the memory bandwidth that attention reaches in decoding.
    scan_efficiency, scan_chunk_time : Value, optional
        Share of the memory bandwidth that scans of recurrent mixers reach in a prefill, and least time of a chunk.
    host_layer_time, iteration_overhead, worker_overhead, sequence_overhead : Value, optional
        Times of the host: to launch a layer, around an iteration, where several accelerators share the layers, and
        per sequence.
    frontend_time, frontend_token_time : Value, optional
        Time of a request in front of an engine, and what a token of its prompt adds.
    gpu_memory_utilization, kv_memory_fraction, workspace_memory : Value, optional
        Share of the memory an engine uses, share of what weights leave of it that the KV cache takes, and what each
        accelerator keeps for its work.
    max_num_seqs, max_num_batched_tokens, whole_prompts : Value, optional
        Defaults of an engine for the requests it decodes together, the tokens of one iteration, and whether it cuts no
        prompt.
    runtime_memory, communication_memory : Value, optional
        What each accelerator holds beside weights, logits and caches; buffers of exchanges, where several share.
    sampled_requests, sampling_bytes : Value, optional
        Requests sampled at once in the step that memory is kept for, and bytes that this takes of each of their logits.
    expert_hidden_multiple, expert_width_multiple : Value, optional
        Multiples that kernels pad the hidden size and the width of 4-bit experts to; 0 where they pad none.
    loss_kernel, update_buffer, gradient_dtype, attention_kernel, elementwise_kernels, residual_dtype, \
    routing_weights, optimizer_device, adapter_dtype : Choice, optional
        How a training step is computed, in the labels of these arguments.
    gradients_at_loss, optimizer_in_backward, activation_offload, loaded_mask : Value, optional
        What a training step keeps, yes or no.
    loss_chunks, vocab_multiple, workspace : Value, optional
        Chunks of a loss in chunks, what a rank pads its rows of the vocabulary to, and what libraries keep allocated.
    memory_spread : Value, optional
        Standard deviation of the logarithm of measured over computed memory of training.
    step_spread : Value, optional
        The same of the time of training steps.
    memory_reading : Choice, optional
        Number that its users read: ``allocated``, ``reserved`` or ``device``.
    context_memory, pool_share : Value, optional
        What contexts hold beside the allocator, and what that has reserved beyond what lives.
    rollout_stretch, update_stretch, rest_stretch : Value, optional
        Time of a rollout over the law of its engine, of updates over the same passes of pre-training, and of a
        post-training step over its phases.
    refit_time, refit_bandwidth, sync_bandwidth : Value, optional
        Time of a switch from training to rollout beside its bytes, and weights over the time to gather them on the same
        accelerators, or to send them to others.
    """

    what: ClassVar[str] = "stack"
    by_precision: ClassVar[frozenset[str]] = frozenset(
        {"efficiency", "expert_efficiency", "expert_operations", "format_energy"}
    )
    #: Shares that a law says unless they are given, and what the law rests on; it needs all of it.
    laws: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "efficiency": ("step_flop_energy", "power_limit"),
        "attention_efficiency": ("attention_kernel_share", "clock"),
    }
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = {law: (share,) for share, (law, _) in laws.items()}
    flags: ClassVar[frozenset[str]] = frozenset(
        {
            "grouped_experts",
            "gradients_at_loss",
            "optimizer_in_backward",
            "activation_offload",
            "loaded_mask",
            "whole_prompts",
        }
    )

    devices: tuple[Accelerator, ...] = ()
    engine: Engine | None = None
    expert_models: tuple[TransformerWorkload, ...] = ()
    unsettled: str = ""
    efficiency: Share | None = None
    expert_efficiency: Share | None = None
    weight_only_expert_efficiency: Count | None = None
    expert_popularity: Count | None = None
    attention_efficiency: Count | None = None
    memory_efficiency: Count | None = None
    weight_read_efficiency: Count | None = None
    flop_energy: EnergyPerOperation | None = None
    idle_power_fraction: Count | None = None
    busy_power: Count | None = None
    flop_power: Count | None = None
    busy_bandwidth_share: Count | None = None
    busy_peak_share: Count | None = None
    kernel_gap: Seconds | None = None
    cap_exponent: Count | None = None
    format_energy: Share | None = None
    launch_time: Seconds | None = None
    quantization_time: Seconds | None = None
    link_efficiency: Count | None = None
    fabric_efficiency: Count | None = None
    exchange_link_efficiency: Count | None = None
    collective_latency: Seconds | None = None
    node_latency: Seconds | None = None
    all_to_all_start: Seconds | None = None
    all_to_all_step: Seconds | None = None
    switch_latency: Seconds | None = None
    exchange_latency: Seconds | None = None
    dp_overlap: Count | None = None
    tp_overlap: Count | None = None
    cp_overlap: Count | None = None
    ep_overlap: Count | None = None
    exchange_multiprocessor_share: Count | None = None
    eight_bit_efficiency: Count | None = None
    step_flop_energy: EnergyPerOperation | None = None
    expert_product_ratio: Count | None = None
    attention_kernel_share: Count | None = None
    flash_kernel: Choice | None = None
    elementwise_efficiency: Count | None = None
    two_batch_hidden_share: Count | None = None
    hidden_traffic_cost: Count | None = None
    slice_cost: Count | None = None
    host_operation_time: Seconds | None = None
    layer_operations: Count | None = None
    moe_layer_operations: Count | None = None
    all_to_all_operations: Count | None = None
    dispatcher: Choice | None = None
    expert_operations: Share | None = None
    grouped_experts: Flag | None = None
    captured_share: Count | None = None
    count_sync_time: Milliseconds | None = None
    remap_bandwidth: BytesPerSecond | None = None
    dispatch_tax: Milliseconds | None = None
    layer_tax: Milliseconds | None = None
    moe_layer_tax: Milliseconds | None = None
    mla_layer_tax: Milliseconds | None = None
    index_layer_tax: Milliseconds | None = None
    prefill_attention_efficiency: Count | None = None
    kv_read_efficiency: Count | None = None
    scan_efficiency: Count | None = None
    scan_chunk_time: Seconds | None = None
    host_layer_time: Milliseconds | None = None
    prompt_host_layer_time: Milliseconds | None = None
    prompt_host_mla_time: Milliseconds | None = None
    prompt_host_moe_time: Milliseconds | None = None
    iteration_overhead: Milliseconds | None = None
    worker_overhead: Milliseconds | None = None
    sequence_overhead: Milliseconds | None = None
    frontend_time: Milliseconds | None = None
    frontend_token_time: TokenSeconds | None = None
    gpu_memory_utilization: Count | None = None
    kv_memory_fraction: Count | None = None
    max_num_seqs: Requests | None = None
    max_num_batched_tokens: Tokens | None = None
    whole_prompts: Flag | None = None
    workspace_memory: Bytes | None = None
    runtime_memory: Bytes | None = None
    communication_memory: Bytes | None = None
    sampled_requests: Count | None = None
    sampling_bytes: ElementBytes | None = None
    expert_hidden_multiple: Count | None = None
    expert_width_multiple: Count | None = None
    loss_kernel: Choice | None = None
    loss_chunks: Count | None = None
    update_buffer: Choice | None = None
    gradients_at_loss: Flag | None = None
    gradient_dtype: Choice | None = None
    optimizer_in_backward: Flag | None = None
    optimizer_device: Choice | None = None
    activation_offload: Flag | None = None
    attention_kernel: Choice | None = None
    elementwise_kernels: Choice | None = None
    residual_dtype: Choice | None = None
    routing_weights: Choice | None = None
    workspace: Bytes | None = None
    loaded_mask: Flag | None = None
    vocab_multiple: Count | None = None
    memory_spread: Count | None = None
    step_spread: Count | None = None
    adapter_dtype: Choice | None = None
    memory_reading: Choice | None = None
    context_memory: Bytes | None = None
    pool_share: Count | None = None
    rollout_stretch: Count | None = None
    update_stretch: Count | None = None
    refit_time: Seconds | None = None
    refit_bandwidth: BytesPerSecond | None = None
    sync_bandwidth: BytesPerSecond | None = None
    rest_stretch: Count | None = None

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; a table gives the share of the format that is as wide, or next to it.

        Element-wise code reaches what long reads do where nothing else is said.

        Raises
        ------
        InputError
            If no efficiency is known of it.
        """
        if name == "efficiency" and self.unsettled:
            raise InputError(
                "stack", self.key or self.name, f"has no efficiency: {self.unsettled}", "give efficiency=..."
            )
        found = getattr(self, name, None)
        if found is None and name == "elementwise_efficiency":
            return self.memory_efficiency
        if found is None and any(getattr(self, each) is not None for each in self.gives_way.get(name, ())):
            return _given_itself(name)
        if not isinstance(found, Mapping):
            return super().value_of(name, precision)
        wanted = _WIDTH.get(precision, 16)
        return found[min(found, key=lambda each: abs(_WIDTH[each] - wanted))]
