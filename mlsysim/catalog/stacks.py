"""Software stacks: the share of the hardware that a framework reaches, and its overheads."""

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
#: Widths in bits of the formats of products.
_WIDTH = {**BITS, "fp4": 4}


class Engine(Entry):
    """An inference engine; its speed on a device is in the stacks that refer to it.

    Parameters
    ----------
    variant : Choice
        Set of formulas that models its scheduling.
    """

    what: ClassVar[str] = "engine"

    variant: Choice

    def values(self) -> dict[str, Any]:
        """Return the variant, a :class:`Choice`."""
        return {"variant": self.variant}

    def text(self, name: str, digits: int = 6) -> str:
        """See :meth:`Entry.text`."""
        return self.values()[name].text(digits)


@lru_cache
def _given_itself(name: str) -> Value:
    """Return zero for a law whose result a stack gives directly."""
    unit = "pJ/FLOP" if name == "step_flop_energy" else ""
    return Value.of(0, unit, source="what it gives way to is given")


class Stack(Entry):
    """A framework with its kernels and libraries on one class of devices.

    Fields left out are taken from ``Stacks.Generic``.

    Parameters
    ----------
    devices : tuple of Accelerator
        Devices that its values were measured on or described for; empty if it fits any device.
    engine : Engine, optional
        Engine of which this is a version. If several versions cover a device, ``engine=`` takes the newest.
    expert_models : tuple of TransformerWorkload
        Models on which its expert constants were measured; they do not carry over to other expert shapes.
    unsettled : str, optional
        Reason why no efficiency is known; then it must be given.
    efficiency : Value or dict of Value, optional
        Share of peak FLOP/s that matrix products reach, optionally by number format
        (:data:`mlsysim.formats.NUMBER_FORMATS`).
    expert_efficiency : Value or dict of Value, optional
        The same for grouped products of routed experts in serving; 0 if equal to that of other products.
    weight_only_expert_efficiency : Value, optional
        Share of the 16-bit peak that they reach if experts are stored narrower than they are computed.
    expert_popularity : Value, optional
        Shape of the gamma distribution of expert popularity; 0 if all experts are equally popular.
    attention_efficiency : Value, optional
        Rate of the attention kernel relative to that of products.
    memory_efficiency : Value, optional
        Share of the memory bandwidth that memory-bound kernels reach.
    weight_read_efficiency : Value, optional
        Bandwidth of reading 4-bit weights relative to that of 16-bit weights.
    flop_energy : Value, optional
        Energy per operation of a product, which caps the device's rate by its power.
    idle_power_fraction, busy_power, flop_power, cap_exponent : Value, optional
        Constants of the power law: at idle, while kernels run, per operation, and the exponent of the clock under a
        power cap.
    busy_bandwidth_share, busy_peak_share : Value, optional
        Shares of memory bandwidth and 16-bit peak that count as a fully busy device.
    kernel_gap : Value, optional
        Time per layer, neither reading nor computing, in an iteration that leaves the device waiting.
    format_energy : Value, optional
        Energy per operation relative to 16 bits, by number format.
    launch_time, quantization_time : Value, optional
        Time to launch, fill and drain a kernel; and time of the launches that quantise activations.
    link_efficiency, fabric_efficiency : Value, optional
        Share of the bandwidth of the node's links, and of a network port, that a collective reaches.
    exchange_link_efficiency : Value, optional
        Share of the links' bandwidth that expert exchanges reach.
    collective_latency, node_latency : Value, optional
        Start-up time of a collective, and time of one step within a node.
    all_to_all_start, all_to_all_step : Value, optional
        The same for an all-to-all.
    switch_latency : Value, optional
        Additional latency of a reduction in the switches.
    exchange_latency : Value, optional
        Time of an expert exchange in addition to moving its bytes.
    dp_overlap, tp_overlap, cp_overlap : Value, optional
        Shares of compute (for data, tensor and context parallelism in turn) behind which traffic can hide.
    ep_overlap : Value, optional
        Share of compute behind which expert exchanges can hide.
    exchange_multiprocessor_share : Value, optional
        Share of the multiprocessors that expert exchanges occupy while the others compute.
    eight_bit_efficiency : Value, optional
        Efficiency of 8-bit products relative to that of 16-bit products.
    step_flop_energy, expert_product_ratio : Value, optional
        Energy per operation in a training step, which lowers the rate of products at the board's power limit; and rate
        of routed-expert products relative to dense ones (``expert_efficiency`` is a share of peak, in serving).
    attention_kernel_share, elementwise_efficiency : Value, optional
        Rate of attention in a step relative to its kernel alone; and share of the memory bandwidth that element-wise
        code reaches, by default ``memory_efficiency``.
    flash_kernel : Choice, optional
        Kernel used for flash attention.
    two_batch_hidden_share, hidden_traffic_cost, slice_cost : Value, optional
        Share of the exchanges that another micro-batch hides; slowdown of compute by hidden traffic, relative to that
        traffic's time; and increase of the step time per doubling of slices.
    host_operation_time : Value, optional
        Host time to launch one operation of a training step.
    layer_operations, moe_layer_operations, expert_operations : Value, optional
        Operations launched per layer without experts, further ones per layer with experts, and per expert (optionally
        by number format).
    dispatcher, all_to_all_operations : Choice and Value, optional
        Launches of a dispatch to experts, and further operations if the dispatcher is an all-to-all.
    grouped_experts : Value, optional
        Yes if one kernel computes all experts of a rank.
    captured_share : Value, optional
        Share of the non-expert operations that CUDA graphs launch.
    count_sync_time : Value, optional
        Wait of the device while the host reads the number of tokens per expert.
    remap_bandwidth : Value, optional
        Bandwidth at which the allocator unmaps and remaps memory.
    dispatch_tax, layer_tax : Value, optional
        Fixed time per request; and per layer and decode step.
    moe_layer_tax, mla_layer_tax, index_layer_tax : Value, optional
        Further time per layer with routed experts, with latent attention and with an indexer.
    prompt_host_layer_time, prompt_host_mla_time, prompt_host_moe_time : Value, optional
        Host time per layer in an iteration with prompts, and further time per layer with latent attention and with
        experts.
    prefill_attention_efficiency : Value, optional
        Share of the 16-bit peak that attention reaches in prefill.
    kv_read_efficiency : Value, optional
        Share of the memory bandwidth that attention reaches in decode.
    scan_efficiency, scan_chunk_time : Value, optional
        Share of the memory bandwidth that recurrent scans reach in prefill, and minimum time per chunk.
    host_layer_time, iteration_overhead, worker_overhead, sequence_overhead : Value, optional
        Host times: to launch a layer, per iteration, per iteration if several accelerators share the layers, and per
        sequence.
    frontend_time, frontend_token_time : Value, optional
        Front-end time per request, and per prompt token.
    gpu_memory_utilization, kv_memory_fraction, workspace_memory : Value, optional
        Share of the memory that an engine uses, share of the rest after weights that the KV cache takes, and workspace
        per accelerator.
    max_num_seqs, max_num_batched_tokens, whole_prompts : Value, optional
        An engine's defaults for concurrent sequences and for tokens per iteration; and yes if it never splits a prompt.
    runtime_memory, communication_memory : Value, optional
        Memory per accelerator besides weights, logits and caches; and communication buffers if several share a model.
    sampled_requests, sampling_bytes : Value, optional
        Requests sampled together in the profiling run that reserves memory, and bytes per logit that this takes.
    expert_hidden_multiple, expert_width_multiple : Value, optional
        Multiples to which kernels pad the hidden size and the width of 4-bit experts; 0 without padding.
    loss_kernel, update_buffer, gradient_dtype, attention_kernel, elementwise_kernels, residual_dtype, \
    routing_weights, optimizer_device, adapter_dtype : Choice, optional
        Implementation of a training step, in the labels of these arguments.
    gradients_at_loss, optimizer_in_backward, activation_offload, loaded_mask : Value, optional
        What a training step keeps in memory, yes or no.
    loss_chunks, vocab_multiple, workspace : Value, optional
        Chunks of a chunked loss, multiple to which a rank pads its vocabulary rows, and memory that libraries allocate.
    memory_spread : Value, optional
        Standard deviation of log(measured / computed) memory in training.
    step_spread : Value, optional
        Standard deviation of log(measured / computed) time of training steps.
    memory_reading : Choice, optional
        Memory figure that its users report: ``allocated``, ``reserved`` or ``device``.
    context_memory, pool_share : Value, optional
        Memory of CUDA contexts outside the allocator, and memory that the allocator reserves beyond live tensors.
    rollout_stretch, update_stretch, rest_stretch : Value, optional
        Rollout time relative to the engine's law, update time relative to the same passes in pre-training, and
        post-training step time relative to its phases.
    refit_time, refit_bandwidth, sync_bandwidth : Value, optional
        Fixed time of a switch from training to rollout; and bandwidth at which weights are gathered on the same
        accelerators, or sent to others.
    """

    what: ClassVar[str] = "stack"
    by_precision: ClassVar[frozenset[str]] = frozenset(
        {"efficiency", "expert_efficiency", "expert_operations", "format_energy"}
    )
    #: Inputs that a law derives unless they are given, with all the inputs that the law needs.
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
        """See :meth:`Entry.value_of`; a table falls back to the format of the nearest width.

        ``elementwise_efficiency`` defaults to ``memory_efficiency``.

        Raises
        ------
        InputError
            If no efficiency is known for the stack.
        """
        if name == "efficiency" and self.unsettled:
            raise InputError(
                "stack", self.key or self.name, f"has no efficiency: {self.unsettled}", "give efficiency=..."
            )
        content = getattr(self, name, None)
        if content is None and name == "elementwise_efficiency":
            return self.memory_efficiency
        if content is None and any(getattr(self, share) is not None for share in self.gives_way.get(name, ())):
            return _given_itself(name)
        if not isinstance(content, Mapping):
            return super().value_of(name, precision)
        bits = _WIDTH.get(precision, 16)
        return content[min(content, key=lambda number_format: abs(_WIDTH[number_format] - bits))]
