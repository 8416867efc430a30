"""Catalog entries: accelerators, memory designs, nodes, fabrics, fleets and models.

Each class checks the dimension of its fields when an entry is built, from a TOML file or by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import pydantic

from mlsysim import units
from mlsysim.catalog.value import Choice, Name, Text, Value, problems
from mlsysim.errors import CatalogError, InputError, UnknownNameError
from mlsysim.formats import BITS, NUMBER_FORMATS, PRESETS, STORED_WEIGHT, WEIGHT_PARTS, rate_format
from mlsysim.tracebacks import at_the_call


def _in(unit: str) -> pydantic.BeforeValidator:
    """Convert a field's content to a :class:`Value` of the dimension of ``unit``; bare numbers are in ``unit``."""

    def convert(content: Any) -> Any:
        value = Value.model_validate(content) if isinstance(content, Mapping) else Value.of(content, unit)
        if units.dimension(value.unit) != units.dimension(unit):
            content = f"{value.value:g} {value.unit}".strip()
            raise ValueError(f"{content} is not in a unit of {unit}" if unit else f"{content} is not a pure number")
        if value.value < 0:
            raise ValueError(f"{value.value:g} is negative")
        return value

    return pydantic.BeforeValidator(convert)


#: Decimal units, each with the binary unit that makers often mean by it.
_BINARY = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB"}
_AS_MADE, _AS_TYPED = "The data sheet's", "Taken as typed"
#: More bytes than any device has (the largest memories are below 1 TB): a number this large was meant in bytes.
_TOO_MANY = 1e15


def _in_binary(printed: Value) -> Value:
    """Convert a maker's number to the bytes behind it: 80 GB of memory are 80 GiB."""
    kind, unit = "user" if printed.kind == "user" else "assumed", _BINARY.get(printed.unit, printed.unit)
    actual = Value(**{**printed.model_dump(), "unit": unit, "kind": kind, "calibrated_on": "", "note": ""})
    reading = f" in binary units, {actual.text()} ({actual.canonical / 1e9:.1f} GB)" if unit != printed.unit else ""
    return actual.model_copy(
        update={"note": f"{_AS_MADE} {printed.text()}{reading}: what its driver shows is not known."}
    )


def memory_as_typed(typed: Value) -> Value:
    """Add a note with the bytes that a maker's number would mean; unchanged if the unit leaves no doubt.

    Parameters
    ----------
    typed : Value
        Memory size as the caller typed it.

    Returns
    -------
    Value

    Examples
    --------
    >>> from mlsysim.catalog import Value, memory_as_typed
    >>> print(memory_as_typed(Value.of("80 GB")).note)
    Taken as typed, 80,000,000,000 bytes: of memory sold as 80 GB drivers show about 80 GiB (85.9 GB).
    """
    if typed.canonical >= _TOO_MANY and not typed.note:
        said = "1 PB or more, which no device has. Were bytes meant? A bare number is in GB"
        return typed.model_copy(update={"note": f"{_AS_TYPED}, {said}."})
    if typed.note or typed.unit not in _BINARY or typed.value != int(typed.value):
        return typed
    by_driver = _in_binary(typed)
    said = (
        f"of memory sold as {typed.text()} drivers show about {by_driver.text()} ({by_driver.canonical / 1e9:.1f} GB)"
    )
    return typed.model_copy(update={"note": f"{_AS_TYPED}, {typed.canonical:,.0f} bytes: {said}."})


def which_memory(value: Value) -> str:
    """Return the note on how a memory size was read; empty if there is only one reading.

    Parameters
    ----------
    value : Value
        Memory size in a result.

    Returns
    -------
    str

    Examples
    --------
    >>> from mlsysim.catalog import Value, which_memory
    >>> which_memory(Value.of("40 MiB"))
    ''
    """
    return value.note if value.note.startswith((_AS_MADE, _AS_TYPED)) else ""


def _truth(content: Any) -> Any:
    """Convert ``True`` and ``False`` to one and zero; leave anything else unchanged."""
    number = content.get("value") if isinstance(content, Mapping) else content
    if not isinstance(number, bool):
        return content
    return {**content, "value": float(number)} if isinstance(content, Mapping) else float(number)


def _yes_or_no(value: Value) -> Value:
    if value.value not in (0, 1):
        raise ValueError(f"{value.value:g} is neither true nor false")
    return value


def _by_format(content: Any) -> Any:
    """Convert a pure number, or a table of one per number format."""
    if not isinstance(content, Mapping) or "value" in content:
        return pydantic.TypeAdapter(Count).validate_python(content)
    return _known_formats(pydantic.TypeAdapter(dict[str, Count]).validate_python(content))


Count = Annotated[Value, _in("")]
Flag = Annotated[Value, _in(""), pydantic.BeforeValidator(_truth), pydantic.AfterValidator(_yes_or_no)]
Bytes = Annotated[Value, _in("GB")]
BytesPerSecond = Annotated[Value, _in("GB/s")]
Rate = Annotated[Value, _in("TFLOP/s")]
ElementBytes = Annotated[Value, _in("byte")]
Seconds = Annotated[Value, _in("µs")]
TokenSeconds = Annotated[Value, _in("µs/token")]
Milliseconds = Annotated[Value, _in("ms")]
Share = Annotated[Value | dict[str, Value], pydantic.BeforeValidator(_by_format)]
EnergyPerOperation = Annotated[Value, _in("pJ/FLOP")]
Watts = Annotated[Value, _in("W")]
Kilograms = Annotated[Value, _in("kg")]
CarbonPerEnergy = Annotated[Value, _in("kg/kWh")]
WaterPerEnergy = Annotated[Value, _in("L/kWh")]
Hertz = Annotated[Value, _in("GHz")]
Dollars = Annotated[Value, _in("USD")]
DollarsPerByte = Annotated[Value, _in("USD/GB")]
DollarsPerHour = Annotated[Value, _in("USD/hour")]


class Entry(pydantic.BaseModel):
    """Base class of catalog entries.

    Parameters
    ----------
    name : str
        Name as its maker writes it.
    description : str
        One sentence.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
    what: ClassVar[str] = "entry"
    by_precision: ClassVar[frozenset[str]] = frozenset()
    flags: ClassVar[frozenset[str]] = frozenset()
    #: True if it describes one device only, so that it is refused with another one.
    of_one_device: ClassVar[bool] = False
    #: Inputs that it supplies only if none of these arguments is given.
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Fields that determine one another: changing one drops the others.
    alternatives: ClassVar[frozenset[str]] = frozenset()
    #: Fields that hold for the alternatives only: changing one of those drops these too.
    dependent: ClassVar[frozenset[str]] = frozenset()

    name: Name
    description: Text = ""
    _key: str = pydantic.PrivateAttr(default="")

    @property
    def key(self) -> str:
        """Last part of the full name in the catalog (``"H100"``); empty for an entry built by hand."""
        return self._key

    @property
    def device(self) -> Accelerator | None:
        """Device that the entry is, contains or describes; None if there is none."""
        return getattr(self, "accelerator", None)

    @property
    def unanswered(self) -> Mapping[str, tuple[float | None, str]]:
        """Arguments that a question with this entry may set to one value only, or not at all, with the reason."""
        return {}

    def __repr__(self) -> str:
        shape = ", ".join(f"{name}={self.text(name)}" for name in self.values())
        return f"<{type(self).__name__} {self.name}: {shape}>"

    __str__ = __repr__

    def __hash__(self) -> int:
        """Hash class and name only, because a table of rates is not hashable."""
        return hash((type(self), self.name))

    @at_the_call
    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            name = fields.get("name")
            label = name if isinstance(name, str) and name else type(self).__name__
            raise CatalogError(f"{label}: {problems(error)}") from None

    @at_the_call
    def changed(self, **values: Any) -> Self:
        """Copy the entry with some values changed by hand; the new values record that, and the old value.

        Parameters
        ----------
        **values
            Values by field, as for an entry built by hand. For a table give the rates that change. ``name=`` and
            ``description=`` change the name and the description.

        Returns
        -------
        Self
            An entry of the same kind; all other values keep their sources.

        Raises
        ------
        UnknownNameError
            If there is no such field.
        CatalogError
            If a value has the wrong unit.
        """
        for name in values:
            if name not in type(self).model_fields:
                raise UnknownNameError(f"field of {self.name}", name, type(self).model_fields)
        implied = self.alternatives | self.dependent if self.alternatives.intersection(values) else frozenset()
        fields = {name: getattr(self, name) for name in self.model_fields_set - implied}
        tables = {
            name: {**fields[name], **new}
            for name, new in values.items()
            if isinstance(new, Mapping) and isinstance(fields.get(name), Mapping)
        }
        copied = type(self)(**{**fields, **values, **tables})
        changed = {*values, *implied.intersection(copied.model_fields_set)}
        marked = {name: _marked(getattr(copied, name), getattr(self, name)) for name in changed}
        return copied.model_copy(update=marked)

    def value_of(self, name: str, precision: str) -> Value | None:
        """Return the entry's value for an input of a formula; None if it has none.

        Parameters
        ----------
        name : str
            Name of an input variable.
        precision : str
            Number format, for values that depend on it.
        """
        value = getattr(self, name, None)
        return value if isinstance(value, Value) else None

    def word_of(self, name: str) -> Choice | None:
        """Return the entry's label for an input that is a choice; None if it has none.

        Parameters
        ----------
        name : str
            Name of a field that is a choice.

        Returns
        -------
        Choice or None
        """
        choice = getattr(self, name, None)
        return choice if isinstance(choice, Choice) else None

    def stands_beside(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Tell whether the entry's value still applies beside arguments to which it normally gives way.

        Parameters
        ----------
        name : str
            Name of a field.
        arguments : mapping
            Values of those arguments, by name.

        Returns
        -------
        bool
        """
        return False

    def text(self, name: str, digits: int = 6) -> str:
        """Format one of :meth:`values`: a number with its unit, or yes or no.

        Parameters
        ----------
        name : str
            Name of a value.
        digits : int
            Digits to show.

        Returns
        -------
        str
        """
        value = self.values()[name]
        if name in self.flags:
            return "yes" if value.value else "no"
        return f"{value.value:.{digits}g} {value.unit}".strip()

    def values(self) -> dict[str, Value]:
        """Return every value of the entry by field name (``peak_flops.fp16`` for tables)."""
        values: dict[str, Value] = {}
        for field in type(self).model_fields:
            content = getattr(self, field)
            if isinstance(content, Value):
                values[field] = content
            elif isinstance(content, Mapping):
                values.update({f"{field}.{key}": value for key, value in content.items()})
        return values


def _marked(new: Any, old: Any) -> Any:
    """Record a change by hand, with the old value; leave unchanged values, and what is no :class:`Value`, alone."""
    if isinstance(new, Mapping):
        table = old if isinstance(old, Mapping) else {}
        return {key: _marked(value, table.get(key)) for key, value in new.items()}
    if not isinstance(new, Value) or new == old:
        return new
    was = f", was {old.text()}" if isinstance(old, Value) else ""
    return new.model_copy(update={"source": f"changed by hand{was}"})


def _known_formats(rates: dict[str, Value]) -> dict[str, Value]:
    """Check that all number formats in a table of rates are known."""
    for name in rates:
        if name not in NUMBER_FORMATS:
            raise ValueError(str(UnknownNameError("number format", name, NUMBER_FORMATS)))
    return rates


def _rate(entry: Entry, rates: Mapping[str, Value], precision: str) -> Value:
    """Return the rate at a precision; the error lists the available ones."""
    if precision not in rates:
        bits = BITS[PRESETS[precision].served] if precision in PRESETS else 0
        alike = [
            precision
            for precision, preset in PRESETS.items()
            if BITS[preset.served] == bits and rate_format(precision) in rates
        ]
        small = f"with weights of {bits} bits it can run {', '.join(alike)}; " if alike else ""
        raise InputError(
            "precision",
            precision,
            f"{entry.name} has no rate for it, only for {', '.join(rates)}",
            f"{small}or give peak_flops=...",
        )
    return rates[precision]


def _attention_rate(rates: Mapping[str, Value], precision: str) -> Value | None:
    """Return the 16-bit rate, at which attention runs beside narrower products; that of wider products if they are."""
    if precision in ("fp32", "tf32"):
        return rates.get(precision)
    return rates.get("bf16") or rates.get("fp16")


class Fabric(Entry):
    """The network between nodes, as seen by one accelerator.

    Parameters
    ----------
    bandwidth : Value
        Bandwidth in one direction.
    latency : Value
        Latency before the first byte.
    oversubscription : Value
        Oversubscription factor; 1 is full bisection bandwidth.
    accelerators_per_pod : Value, optional
        Accelerators below the oversubscribed level, which have full bisection bandwidth among them; by default those of
        a node.
    low_latency_bandwidth, bulk_start : Value, optional
        Bandwidth of an all-reduce with the low-latency protocol, and start-up time of one with the bulk protocol, if a
        fabric has both protocols.
    """

    what: ClassVar[str] = "fabric"

    bandwidth: BytesPerSecond
    latency: Seconds
    oversubscription: Count
    accelerators_per_pod: Count | None = None
    low_latency_bandwidth: BytesPerSecond | None = None
    bulk_start: Seconds | None = None

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; also supplies ``fabric_bandwidth`` and ``fabric_latency``."""
        own = {"fabric_bandwidth": self.bandwidth, "fabric_latency": self.latency}
        return own.get(name) or super().value_of(name, precision)


#: The driver's share of a memory is unknown if a call sets the capacity.
DRIVER_GIVES_WAY: Mapping[str, tuple[str, ...]] = {"driver_memory": ("memory_capacity",)}
#: So is the scheduling granularity of a node whose size a call sets.
NODE_GIVES_WAY = {**DRIVER_GIVES_WAY, "accelerators_per_segment": ("accelerators_per_node",)}


class WithMemory(Entry):
    """Base of entries with a ``memory_capacity``: the memory that the driver shows, which all formulas use.

    Parameters
    ----------
    datasheet_memory : Value, optional
        Memory as its maker prints it: 80 GB where the driver shows 79.6 GiB. On its own it sets the capacity, as the
        same number in binary units.
    driver_memory : Value, optional
        Memory that the driver leaves to programs, from which engines take their share; by default all of the capacity.
    """

    alternatives: ClassVar[frozenset[str]] = frozenset({"memory_capacity", "datasheet_memory"})
    dependent: ClassVar[frozenset[str]] = frozenset({"driver_memory"})
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = DRIVER_GIVES_WAY

    datasheet_memory: Bytes | None = None
    driver_memory: Bytes | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _memory(cls, fields: Any) -> Any:
        if "memory_capacity" in fields or fields.get("datasheet_memory") is None:
            return fields
        try:
            sold = pydantic.TypeAdapter(Bytes).validate_python(fields["datasheet_memory"])
        except pydantic.ValidationError as error:
            raise ValueError(f"datasheet_memory: {problems(error)}") from None
        return {**fields, "memory_capacity": _in_binary(sold)}

    @pydantic.field_validator("memory_capacity", check_fields=False)
    @classmethod
    def _reading(cls, capacity: Value | None, others: pydantic.ValidationInfo) -> Value | None:
        if capacity is None or others.data.get("datasheet_memory") is not None:
            return capacity
        return memory_as_typed(capacity)


class Accelerator(WithMemory):
    """A single accelerator.

    Parameters
    ----------
    memory_capacity, datasheet_memory, driver_memory : Value
        Memory that the driver shows, memory that the maker prints, and memory left to programs. One of the first two
        may be left out, and so may the last (see :class:`WithMemory`).
    memory_bandwidth : Value
        Bandwidth of that memory.
    peak_flops : dict of Value
        Dense peak rate per number format (:data:`mlsysim.formats.NUMBER_FORMATS`).
    link_bandwidth : Value, optional
        Bandwidth to neighbours in the node, one direction.
    link_domain : Value, optional
        Devices that these links join, this one included, if fewer than a node holds.
    fabric : Fabric, optional
        Network to the other devices of the node in that case.
    multiprocessors : Value, optional
        Multiprocessors (SMs), each of which computes one tile of a product at a time.
    clock, exponentials_per_clock : Value, optional
        Clock of a multiprocessor under load, and exponentials that it computes per clock cycle (16 by default).
    compute_capability : Value, optional
        CUDA compute capability, on which the choice of kernels depends.
    switch_reduces : Value, optional
        Share of the link bandwidth at which the switches reduce in the network; 0 if they do not.
    direct_mesh : Value, optional
        Devices with direct links to each other, this one included; 0 if switches join them.
    torus_axes : Value, optional
        Axes of the torus that its links form, two links per axis; 0 if there is no torus.
    host_copy_bandwidth : Value, optional
        Bandwidth to host memory, one direction.
    tdp, price : Value, optional
        Power and price.
    idle_power_fraction, busy_power, flop_power : Value, optional
        Constants of the power law measured on this device; by default those of its stack.
    host_power_fraction : Value, optional
        Mean power of hosts, network and fans, relative to that of the devices.
    embodied_device, embodied_host : Value, optional
        Carbon dioxide from making the device, and from making its share of a host.

    Examples
    --------
    >>> from mlsysim import Accelerator, Hardware
    >>> print(Hardware.Cloud.H100.text("tdp"))
    700 W
    >>> mine = dict(datasheet_memory="128 GB", memory_bandwidth="6 TB/s", peak_flops={"bf16": "1500 TFLOP/s"})
    >>> device = Accelerator(name="Mine", **mine)
    >>> device.text("memory_bandwidth")
    '6 TB/s'
    """

    what: ClassVar[str] = "hardware"
    by_precision: ClassVar[frozenset[str]] = frozenset({"peak_flops", "attention_peak_flops"})

    memory_capacity: Bytes
    memory_bandwidth: BytesPerSecond
    peak_flops: dict[str, Rate]
    link_bandwidth: BytesPerSecond | None = None
    link_domain: Count | None = None
    fabric: Fabric | None = None
    multiprocessors: Count | None = None
    clock: Hertz | None = None
    exponentials_per_clock: Count | None = None
    compute_capability: Count | None = None
    switch_reduces: Count | None = None
    direct_mesh: Count | None = None
    torus_axes: Count | None = None
    host_copy_bandwidth: BytesPerSecond | None = None
    tdp: Watts | None = None
    price: Dollars | None = None
    idle_power_fraction: Count | None = None
    busy_power: Count | None = None
    flop_power: Count | None = None
    host_power_fraction: Count | None = None
    embodied_device: Kilograms | None = None
    embodied_host: Kilograms | None = None

    @property
    def device(self) -> Accelerator:
        """Itself."""
        return self

    @pydantic.field_validator("peak_flops")
    @classmethod
    def _formats(cls, rates: dict[str, Value]) -> dict[str, Value]:
        return _known_formats(rates)

    @pydantic.model_validator(mode="after")
    def _domain(self) -> Accelerator:
        _whole(self, "link_domain", 1)
        if self.clock is not None and self.multiprocessors is None:
            raise ValueError(f"clock: {self.clock.text()} is that of each multiprocessor: give multiprocessors, too")
        usable = self.driver_memory
        if usable is not None and usable.canonical > self.memory_capacity.canonical:
            raise ValueError(f"driver_memory: {usable.text()} is more than its memory, {self.memory_capacity.text()}")
        return self

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; ``peak_flops`` is the rate at the given precision.

        ``attention_peak_flops`` is a 16-bit rate or wider, because attention never runs below 16 bits. ``power_limit``,
        the board power, caps the rate of products in long runs.

        Raises
        ------
        InputError
            If the device has no rate for the precision.
        """
        if name == "node_bandwidth":
            return self.link_bandwidth
        if name == "attention_peak_flops":
            return _attention_rate(self.peak_flops, precision)
        if name == "power_limit":
            return self.tdp
        if name != "peak_flops":
            return super().value_of(name, precision)
        return _rate(self, self.peak_flops, precision)


class TransformerWorkload(Entry):
    """A dense transformer.

    Parameters
    ----------
    parameters : Value, optional
        Published parameter count; may be left out if the whole shape is given, from which it is counted.
    layers, hidden_dim, heads : Value
        Number of layers, hidden size and attention heads.
    kv_heads : Value, optional
        Key-value heads (GQA); ``heads`` by default.
    head_dim : Value, optional
        Width of a head; by default ``hidden_dim / heads``, or with latent attention the width of its keys,
        ``qk_nope_head_dim + qk_rope_head_dim``.
    vocab_size, ffn_dim, gated : Value, optional
        Rest of the shape, needed for exact counts. ``ffn_dim`` is the inner width of dense blocks, 0 if there are none.
    embedding_dim : Value, optional
        Width of embedding and head if they are projected to the hidden size and back; ``hidden_dim`` by default.
    tied_embeddings, qkv_bias, attention_output_bias, mlp_bias, norm_bias, qk_norm : Value, optional
        Yes or no; no by default. A LayerNorm has a bias, an RMSNorm has none.
    norm_scale : Value, optional
        No if norms have no weights; yes by default.
    learned_positions : Value, optional
        Rows of the learned position embedding.
    max_position_embeddings : Value, optional
        Longest context, prompt and output together, that the model supports.
    attention_sinks, sandwich_norm : Value, optional
        Yes or no; no by default: a learned sink per head; norms behind the blocks as well as in front.
    gate_width, block_norms : Value, optional
        Width of attention's output gate per token, 0 by default; norms in front of the blocks of a layer, 2 by default.
    q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim : Value, optional
        Ranks and head widths of multi-head latent attention; 0 without it.
    v_head_dim : Value, optional
        Width of a head's values; by default that of its keys.
    sliding_window, sliding_layers : Value, optional
        Size of the sliding window in tokens, and number of layers that have one; 0 without.
    chunked_attention : Value, optional
        Yes if those layers attend within chunks of that size; no by default.
    sliding_heads, sliding_kv_heads, sliding_head_dim, sliding_v_head_dim : Value, optional
        Shape of attention in layers with a window; by default that of the other layers.
    value_projections : Value, optional
        No if keys also serve as values in layers without a window; yes by default.
    lookup_parameters : Value, optional
        Parameters of further lookup tables, such as per-layer embeddings; 0 by default.
    shared_cache_layers, sliding_shared_layers : Value, optional
        Layers that reuse the keys and values of another layer, without a window and with one; 0 by default.
    mixerless_layers, blockless_layers : Value, optional
        Layers without a mixer, and layers without a feed-forward block; 0 by default.
    state_layers, parallel_layers : Value, optional
        Layers with a recurrent mixer, and those of them that have attention in parallel; 0 by default.
    state_key_heads, state_key_dim, state_heads, state_value_dim : Value, optional
        Heads that write to the recurrent state, and its rows; heads of the state, and its columns.
    state_gates, state_scalars, state_matrices, state_vectors : Value, optional
        Gates as wide as the state's values, and scalars per token and head; further matrix elements and vectors of the
        mixer.
    state_matrix_width : Value, optional
        Numbers per token that those matrices produce, if some of them read widths other than the hidden size.
    conv_channels, conv_kernel : Value, optional
        Channels and kernel size of the mixer's short convolution.
    state_operations, state_chunk, delta_rule, state_element_bytes : Value, optional
        Operations per state element and token, tokens per chunk, and use of the delta rule; bytes per state element, 4
        by default.
    index_layers, index_heads, index_head_dim, index_topk : Value, optional
        Indexers that select the tokens read by latent attention; 0 without.
    compressed_layers, heavily_compressed_layers : Value, optional
        Layers that attend to a window and to compressed entries before it: with an indexer they read the selected
        entries, heavily compressed ones read all; 0 by default.
    index_compression, heavy_compression : Value, optional
        Tokens per entry at each of the two compressions; 0 without.
    o_lora_rank, o_groups : Value, optional
        Rank of the output projection in those layers, and groups of heads that share one; 0 without.
    further_matrices, further_vectors : Value, optional
        Matrix elements that a token passes outside mixers and blocks, and biases and norms that no other field covers,
        for the whole model; 0 by default.
    reused_parameters : Value, optional
        Parameters that later layers share with earlier ones, stored once; 0 by default.
    bidirectional : Value, optional
        Yes if tokens also attend to later ones, so that nothing is decoded; no by default.
    source_stack : TransformerWorkload, optional
        Stack that reads another source than the text: an encoder, or a vision tower with its projector.
    cross_layers, source_hidden_dim : Value, optional
        Layers with cross-attention to the source, and the source's width if it is not the hidden size; 0 by default.
    source_tokens, image_patches : Value, optional
        Tokens per request that an encoder reads, and patches per image that a tower reads, if these are fixed.
    mtp_layers : Value, optional
        Multi-token-prediction layers in training; 0 by default.
    counted_parameters : Value, optional
        Exact count from the checkpoint's tensors, if the published number is rounded.
    weight_format, kv_cache_format : Choice, optional
        Number formats named by the checkpoint: of most weights, and of keys and values.
    mixer_bytes, dense_bytes, head_bytes : Value, optional
        Bytes per weight, scales included, in the matrices of mixers, dense blocks and head as the checkpoint stores
        them; by default those of ``weight_dtype``. Like the cache's format they give way to ``precision``.
    architecture : str
        Architecture, as free text.
    measured_by : str
        Package and version whose class was measured, if the shape was measured and not read; else empty.

    Examples
    --------
    >>> from mlsysim import Models
    >>> Models.Language.Llama3_8B.values()["layers"].value
    32.0
    """

    what: ClassVar[str] = "model"
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(WEIGHT_PARTS, ("precision", "weight_dtype")),
        "kv_cache_dtype": ("precision",),
    }
    flags: ClassVar[frozenset[str]] = frozenset(
        {"gated", "tied_embeddings", "qkv_bias", "attention_output_bias", "mlp_bias", "norm_bias", "qk_norm",
         "norm_scale", "attention_sinks", "sandwich_norm", "chunked_attention", "value_projections", "delta_rule",
         "bidirectional"}
    )  # fmt: skip
    counts: ClassVar[tuple[str, ...]] = ("parameters",)
    counted_from: ClassVar[tuple[str, ...]] = ("vocab_size", "ffn_dim", "gated")

    architecture: Name = "Transformer"
    measured_by: Name = ""
    parameters: Count | None = None
    layers: Count
    hidden_dim: Count
    heads: Count
    kv_heads: Count | None = None
    head_dim: Count | None = None
    vocab_size: Count | None = None
    embedding_dim: Count | None = None
    ffn_dim: Count | None = None
    gated: Flag | None = None
    tied_embeddings: Flag | None = None
    learned_positions: Count | None = None
    max_position_embeddings: Count | None = None
    qkv_bias: Flag | None = None
    attention_output_bias: Flag | None = None
    mlp_bias: Flag | None = None
    norm_bias: Flag | None = None
    norm_scale: Flag | None = None
    qk_norm: Flag | None = None
    q_lora_rank: Count | None = None
    kv_lora_rank: Count | None = None
    qk_nope_head_dim: Count | None = None
    qk_rope_head_dim: Count | None = None
    v_head_dim: Count | None = None
    attention_sinks: Flag | None = None
    gate_width: Count | None = None
    block_norms: Count | None = None
    sandwich_norm: Flag | None = None
    sliding_window: Count | None = None
    sliding_layers: Count | None = None
    chunked_attention: Flag | None = None
    sliding_heads: Count | None = None
    sliding_kv_heads: Count | None = None
    sliding_head_dim: Count | None = None
    sliding_v_head_dim: Count | None = None
    value_projections: Flag | None = None
    lookup_parameters: Count | None = None
    shared_cache_layers: Count | None = None
    sliding_shared_layers: Count | None = None
    mixerless_layers: Count | None = None
    blockless_layers: Count | None = None
    state_layers: Count | None = None
    parallel_layers: Count | None = None
    state_key_heads: Count | None = None
    state_key_dim: Count | None = None
    state_heads: Count | None = None
    state_value_dim: Count | None = None
    state_gates: Count | None = None
    state_scalars: Count | None = None
    conv_channels: Count | None = None
    conv_kernel: Count | None = None
    state_matrices: Count | None = None
    state_vectors: Count | None = None
    state_matrix_width: Count | None = None
    index_layers: Count | None = None
    index_heads: Count | None = None
    index_head_dim: Count | None = None
    index_topk: Count | None = None
    compressed_layers: Count | None = None
    heavily_compressed_layers: Count | None = None
    index_compression: Count | None = None
    heavy_compression: Count | None = None
    o_lora_rank: Count | None = None
    o_groups: Count | None = None
    state_operations: Count | None = None
    state_chunk: Count | None = None
    delta_rule: Flag | None = None
    state_element_bytes: Count | None = None
    further_matrices: Count | None = None
    further_vectors: Count | None = None
    reused_parameters: Count | None = None
    bidirectional: Flag | None = None
    source_stack: TransformerWorkload | None = None
    cross_layers: Count | None = None
    source_hidden_dim: Count | None = None
    source_tokens: Count | None = None
    image_patches: Count | None = None
    mtp_layers: Count | None = None
    counted_parameters: Count | None = None
    weight_format: Choice | None = None
    kv_cache_format: Choice | None = None
    mixer_bytes: ElementBytes | None = None
    dense_bytes: ElementBytes | None = None
    head_bytes: ElementBytes | None = None

    @pydantic.model_validator(mode="after")
    def _shape(self) -> TransformerWorkload:
        for field in (
            "layers",
            "hidden_dim",
            "heads",
            "kv_heads",
            "head_dim",
            "max_position_embeddings",
            "block_norms",
        ):
            _whole(self, field, 1)
        for field in ("ffn_dim", "embedding_dim", "learned_positions", "q_lora_rank", "kv_lora_rank"):
            _whole(self, field, 0)
        for field in (
            "qk_nope_head_dim",
            "qk_rope_head_dim",
            "v_head_dim",
            "gate_width",
            "sliding_window",
            "sliding_layers",
            "mtp_layers",
            "sliding_heads",
            "sliding_kv_heads",
            "sliding_head_dim",
            "sliding_v_head_dim",
            "lookup_parameters",
            "shared_cache_layers",
            "sliding_shared_layers",
            "mixerless_layers",
            "blockless_layers",
            "state_layers",
            "parallel_layers",
            "state_key_heads",
            "state_key_dim",
            "state_heads",
            "state_value_dim",
            "state_gates",
            "state_scalars",
            "conv_channels",
            "conv_kernel",
            "state_matrices",
            "state_vectors",
            "state_matrix_width",
            "index_layers",
            "index_heads",
            "index_head_dim",
            "index_topk",
            "compressed_layers",
            "heavily_compressed_layers",
            "index_compression",
            "heavy_compression",
            "o_lora_rank",
            "o_groups",
            "state_chunk",
            "state_element_bytes",
            "further_matrices",
            "further_vectors",
            "reused_parameters",
            "vocab_size",
            "cross_layers",
            "source_hidden_dim",
            "source_tokens",
            "image_patches",
        ):
            _whole(self, field, 0)
        sliding = 0 if self.sliding_layers is None else self.sliding_layers.value
        if sliding > self.layers.value:
            raise ValueError(f"sliding_layers={sliding:g} is more than layers={self.layers.value:g}")
        if sliding and (self.sliding_window is None or not self.sliding_window.value):
            raise ValueError("sliding_layers needs a sliding_window above 0 beside it")
        if self.ffn_dim is not None and self.gated is None:
            raise ValueError("ffn_dim needs gated = true or false beside it")
        left_out = [field for field in self.counts if getattr(self, field) is None]
        unknown = [field for field in self.counted_from if getattr(self, field) is None]
        if left_out and unknown:
            raise ValueError(f"give {' and '.join(left_out)}, or {', '.join(unknown)} to count from")
        return self

    @property
    def unanswered(self) -> Mapping[str, tuple[float | None, str]]:
        """See :attr:`Entry.unanswered`; a measured model has costs but no named matrices."""
        return (_UNMEASURED if self.measured_by else {}) | (_OF_SOURCES if self.source_stack else {})

    def word_of(self, name: str) -> Choice | None:
        """See :meth:`Entry.word_of`."""
        return self.kv_cache_format if name == "kv_cache_dtype" else None

    def stands_beside(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """See :meth:`Entry.stands_beside`; the narrowest stored format leaves the wider matrices as stored."""
        widths = [stored.canonical for part in WEIGHT_PARTS if (stored := getattr(self, part, None)) is not None]
        preset = PRESETS.get(str(arguments.get("precision")))
        word = arguments.get("weight_dtype", "as_precision")
        word = preset.served if preset and word == "as_precision" else word
        return name in WEIGHT_PARTS and bool(widths) and STORED_WEIGHT.get(str(word)) == min(widths)

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; derives what a dense model without GQA or MLA does not state."""
        value = super().value_of(name, precision)
        if value is not None:
            return value
        if name == "kv_heads":
            return self.heads
        if name == "active_parameters" and name not in type(self).model_fields:
            return self.parameters
        if name == "head_dim":
            nope, rope = self.qk_nope_head_dim, self.qk_rope_head_dim
            return _sum(nope, rope) if nope is not None and rope is not None else _quotient(self.hidden_dim, self.heads)
        return _of_dense(name) if name in _DENSE else None

    @classmethod
    @at_the_call
    def from_hf(cls, path: str | Path, *, ignore: str | Iterable[str] = (), **fields: Any) -> TransformerWorkload:
        """Read a model from a Hugging Face ``config.json`` on disk.

        The file does not hold a parameter count: give ``parameters=...``, or let it be counted from the shape.

        Parameters
        ----------
        path : str or Path
            The file, or the folder that contains it.
        ignore : str or iterable of str
            Fields of the file that do not affect the shape; other unknown fields are refused.
        **fields
            Fields of the entry that the file lacks (``parameters=8.03e9``) or that replace its own (``name=...``).

        Returns
        -------
        TransformerWorkload
            A :class:`SparseTransformerWorkload` if the model has experts. Every value names the file as its source.

        Raises
        ------
        CatalogError
            If the file cannot be read, its ``model_type`` is not known, or a field is missing, wrong or unknown.
        """
        from mlsysim.catalog.huggingface import workload

        model = workload(path, ignore=ignore, **fields)
        if not isinstance(model, cls):
            raise CatalogError(f"{path}: has no experts; use TransformerWorkload.from_hf")
        return model

    def counted(self) -> Self:
        """Copy the model with its exact parameter count in place of the published, rounded one.

        Raises
        ------
        InputError
            If the catalog has no exact count.
        """
        if self.counted_parameters is None:
            raise InputError("model", self.name, "has no counted_parameters")
        return self.model_copy(update={"parameters": self.counted_parameters})


class SparseTransformerWorkload(TransformerWorkload):
    """A transformer with mixture-of-experts layers.

    Parameters
    ----------
    active_parameters : Value, optional
        Published count of parameters used per token; may be left out if the whole shape is given.
    experts, active_experts_per_token : Value
        Experts per MoE layer, and experts that the router selects per token.
    expert_ffn_dim, moe_layers : Value, optional
        Inner width of an expert, and number of layers with experts.
    moe_layer_interval : Value, optional
        Interval between layers with experts; 1 by default.
    shared_ffn_dim : Value, optional
        Inner width of all shared experts of a layer together.
    expert_input_dim : Value, optional
        Width to which tokens are projected for routed experts; ``hidden_dim`` by default.
    router_bias, expert_bias : Value, optional
        Yes or no; no by default.
    expert_bytes, shared_expert_bytes : Value, optional
        Bytes per weight in the matrices of routed and shared experts, as ``mixer_bytes``.
    counted_active_parameters : Value, optional
        Exact count of active parameters, embedding and head included.

    Examples
    --------
    >>> from mlsysim import Models
    >>> Models.Language.Mixtral_8x7B.values()["experts"].value
    8.0
    """

    flags: ClassVar[frozenset[str]] = TransformerWorkload.flags | {"router_bias", "expert_bias"}
    counts: ClassVar[tuple[str, ...]] = ("parameters", "active_parameters")
    counted_from: ClassVar[tuple[str, ...]] = (*TransformerWorkload.counted_from, "expert_ffn_dim", "moe_layers")

    architecture: Name = "Sparse Transformer"
    active_parameters: Count | None = None
    experts: Count
    active_experts_per_token: Count
    expert_ffn_dim: Count | None = None
    moe_layers: Count | None = None
    moe_layer_interval: Count | None = None
    shared_ffn_dim: Count | None = None
    expert_input_dim: Count | None = None
    router_bias: Flag | None = None
    expert_bias: Flag | None = None
    expert_bytes: ElementBytes | None = None
    shared_expert_bytes: ElementBytes | None = None
    counted_active_parameters: Count | None = None

    @pydantic.model_validator(mode="after")
    def _experts(self) -> SparseTransformerWorkload:
        for field in ("experts", "active_experts_per_token", "moe_layer_interval"):
            _whole(self, field, 1)
        for field in ("expert_ffn_dim", "moe_layers", "shared_ffn_dim", "expert_input_dim"):
            _whole(self, field, 0)
        if self.active_experts_per_token.value > self.experts.value:
            raise ValueError(
                f"active_experts_per_token={self.active_experts_per_token.value:g} "
                f"is more than experts={self.experts.value:g}"
            )
        active, total = self.active_parameters, self.parameters
        if active is not None and total is not None and active.value > total.value:
            raise ValueError(f"active_parameters={active.value:g} is more than parameters={total.value:g}")
        if self.moe_layers is not None and self.moe_layers.value > self.layers.value:
            raise ValueError(f"moe_layers={self.moe_layers.value:g} is more than layers={self.layers.value:g}")
        if self.expert_ffn_dim is not None and self.gated is None:
            raise ValueError("expert_ffn_dim needs gated = true or false beside it")
        return self

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; a missing expert shape does not fall back to that of a dense model."""
        if name in ("expert_ffn_dim", "moe_layers"):
            return getattr(self, name)
        return super().value_of(name, precision)

    def counted(self) -> Self:
        """See :meth:`TransformerWorkload.counted`; also replaces the active parameters, if counted."""
        model = super().counted()
        active = self.counted_active_parameters
        return model if active is None else model.model_copy(update={"active_parameters": active})


def _whole(entry: Entry, field: str, least: int) -> None:
    value = getattr(entry, field)
    if value is not None and (value.value < least or value.value != int(value.value)):
        raise ValueError(f"{field}={value.value:g} must be a whole number >= {least}")


def _derived(origin: Value, value: float) -> Value:
    """Copy a value with another number, in the same unit and with the same provenance."""
    kind = "user" if origin.kind == "user" else "derived"
    return Value(**{**origin.model_dump(), "value": value, "kind": kind, "calibrated_on": "", "note": ""})


def _sum(left: Value, right: Value) -> Value:
    """Sum two values of an entry, with the provenance of the first."""
    return _derived(left, left.value + right.value)


def _quotient(left: Value, right: Value) -> Value | None:
    """Divide two values of an entry, with the provenance of the first; None if the quotient is not whole."""
    if left.value % right.value:
        return None
    return _derived(left, left.value / right.value)


#: Arguments that a measured model does not answer.
_UNMEASURED: dict[str, tuple[float | None, str]] = {
    "tp_size": (1, "must be 1: a measured model does not say which of its matrices ranks split"),
    "pp_size": (1, "must be 1: a measured model does not say which layer holds what"),
    "num_loras": (0, "must be 0: a measured model does not say which of its matrices adapters have"),
    "activation_checkpointing": (None, "is measured, which does not say what its layers keep for the backward pass"),
}

#: Arguments that a model with a second stack does not answer.
_OF_SOURCES: dict[str, tuple[float | None, str]] = {
    "optimizer": (
        None, "has an encoder or a tower, whose training is not counted (--ignore vision_config leaves a tower out)"
    ),
}  # fmt: skip

#: Expert inputs of a model without experts.
_DENSE = {
    "experts": 1, "active_experts_per_token": 1, "expert_ffn_dim": 0, "moe_layers": 0, "shared_ffn_dim": 0,
    "moe_layer_interval": 1, "router_bias": 0, "expert_bias": 0, "expert_input_dim": 0,
}  # fmt: skip


@lru_cache
def _of_dense(name: str) -> Value:
    """Return a dense model's value for an input on experts; cached, because every call asks for it."""
    return Value.of(_DENSE[name], source="a dense model")


#: Inputs that a node and a fleet pass on from their accelerators.
OF_ACCELERATOR = (
    "memory_capacity",
    "driver_memory",
    "memory_bandwidth",
    "peak_flops",
    "attention_peak_flops",
    "multiprocessors",
    "power_limit",
    "clock",
    "exponentials_per_clock",
    "compute_capability",
    "switch_reduces",
    "direct_mesh",
    "torus_axes",
    "host_copy_bandwidth",
    "tdp",
    "price",
    "idle_power_fraction",
    "busy_power",
    "flop_power",
    "embodied_device",
    "embodied_host",
)


class Grid(Entry):
    """Electricity of a region, averaged over a year; not marginal.

    Parameters
    ----------
    grid_carbon : Value
        Carbon dioxide equivalent per energy; its note says whether over the life cycle or from stacks only.
    grid_water : Value, optional
        Water evaporated by power plants per energy.
    """

    what: ClassVar[str] = "grid"

    grid_carbon: CarbonPerEnergy
    grid_water: WaterPerEnergy | None = None


class Rent(Entry):
    """Rental price of one accelerator in a cloud on a given day; an example for comparison, not an offer.

    Parameters
    ----------
    accelerator : Accelerator
        Rented accelerator; it must be the hardware of the question, which is not taken from here.
    price : Value
        Price of one accelerator per hour, with its host and power.
    """

    what: ClassVar[str] = "rent"
    of_one_device: ClassVar[bool] = True

    accelerator: Accelerator
    price: DollarsPerHour

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; the price supplies ``rental_price``."""
        return self.price if name == "rental_price" else None


class MemoryKind(Entry):
    """A kind of memory and its price.

    Parameters
    ----------
    price : Value
        Price per byte of the memory alone.
    """

    what: ClassVar[str] = "memory"

    price: DollarsPerByte


class MemoryDesign(WithMemory):
    """An accelerator with two memory tiers: a local one, and a remote one behind a port.

    Parameters
    ----------
    accelerator : Accelerator, optional
        Supplies the fields left out below.
    peak_flops : dict of Value, optional
        Dense peak rate per number format.
    memory_bandwidth, memory_capacity, datasheet_memory : Value, optional
        Bandwidth and size of the local tier (see :class:`WithMemory`).
    remote_bandwidth : Value
        Bandwidth to the remote tier, as seen by one accelerator while the others are idle.
    remote_sharers : Value, optional
        Accelerators that share that bandwidth; 1 by default.
    remote_capacity : Value, optional
        One accelerator's share of the remote tier.
    unified : Value, optional
        Yes if both tiers are one memory; no by default.
    link_bandwidth : Value, optional
        Bandwidth to other accelerators, one direction.
    local_memory, remote_memory : MemoryKind, optional
        Kinds of memory of both tiers, which set their prices.
    """

    what: ClassVar[str] = "design"
    flags: ClassVar[frozenset[str]] = frozenset({"unified"})
    by_precision: ClassVar[frozenset[str]] = Accelerator.by_precision

    accelerator: Accelerator | None = None
    memory_capacity: Bytes | None = None
    peak_flops: dict[str, Rate] | None = None
    memory_bandwidth: BytesPerSecond | None = None
    remote_bandwidth: BytesPerSecond
    remote_sharers: Count | None = None
    remote_capacity: Bytes | None = None
    unified: Flag | None = None
    link_bandwidth: BytesPerSecond | None = None
    local_memory: MemoryKind | None = None
    remote_memory: MemoryKind | None = None

    @pydantic.field_validator("peak_flops")
    @classmethod
    def _formats(cls, rates: dict[str, Value] | None) -> dict[str, Value] | None:
        return rates if rates is None else _known_formats(rates)

    @pydantic.model_validator(mode="after")
    def _complete(self) -> MemoryDesign:
        _whole(self, "remote_sharers", 1)
        left_out = [field for field in ("peak_flops", "memory_bandwidth") if getattr(self, field) is None]
        if left_out and self.accelerator is None:
            raise ValueError(f"give {' and '.join(left_out)}, or an accelerator that has them")
        return self

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; the accelerator supplies what the design leaves out.

        Raises
        ------
        InputError
            If it has no rate for the precision.
        """
        kind = {"local_price": self.local_memory, "remote_price": self.remote_memory}
        if name in kind:
            value = kind[name]
            return None if value is None else value.price
        if name in ("local_memory", "remote_memory"):
            return None
        if name == "peak_flops" and self.peak_flops is not None:
            return _rate(self, self.peak_flops, precision)
        if name == "attention_peak_flops" and self.peak_flops is not None:
            return _attention_rate(self.peak_flops, precision)
        if name == "node_bandwidth":
            name = "link_bandwidth"
        value = super().value_of(name, precision)
        return self.accelerator.value_of(name, precision) if value is None and self.accelerator is not None else value


class Node(Entry):
    """A server.

    Parameters
    ----------
    accelerator : Accelerator
        Accelerator in the server.
    accelerators_per_node : Value
        Accelerators per server, joined by fast links.
    accelerators_per_segment : Value, optional
        Accelerators by which a run may fill a node in part.
    link_bandwidth : Value, optional
        Bandwidth of one accelerator to the others of the node, one direction; by default that of the accelerator, for
        as many devices as its links join.
    nics, nic_bandwidth : Value, optional
        Network ports of the server, and the line rate of each, one direction.
    power : Value, optional
        Maximum power of the whole server.
    """

    what: ClassVar[str] = "node"
    by_precision: ClassVar[frozenset[str]] = Accelerator.by_precision
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = NODE_GIVES_WAY

    accelerator: Accelerator
    accelerators_per_node: Count
    accelerators_per_segment: Count | None = None
    link_bandwidth: BytesPerSecond | None = None
    nics: Count | None = None
    nic_bandwidth: BytesPerSecond | None = None
    power: Watts | None = None

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; the accelerators supply the links, and the node supplies host power.

        Measured host power takes precedence over that derived from the server's maximum.
        """
        tdp, measured = self.accelerator.tdp, self.accelerator.host_power_fraction
        if name == "host_power_fraction" and measured is not None:
            return measured
        if name == "host_power_fraction" and self.power is not None and tdp is not None:
            overhead = self.power.canonical / (self.accelerators_per_node.value * tdp.canonical) - 1
            return Value.of(overhead, source=f"{self.name}: its power over that of its accelerators, less one")
        if name == "node_bandwidth":
            return self.link_bandwidth or self.accelerator.link_bandwidth
        if name == "accelerators_per_node" and self.link_bandwidth is None:
            return self.accelerator.link_domain or self.accelerators_per_node
        if name in OF_ACCELERATOR:
            return self.accelerator.value_of(name, precision)
        return super().value_of(name, precision)


class Fleet(Entry):
    """A cluster of nodes joined by a fabric.

    Parameters
    ----------
    node : Node
        The server.
    count : Value
        Number of servers.
    fabric : Fabric
        Network between the servers.

    Examples
    --------
    >>> from mlsysim import Systems
    >>> Systems.Clusters.Research_256.device.name
    'NVIDIA H100 SXM5 80 GB'
    """

    what: ClassVar[str] = "fleet"
    by_precision: ClassVar[frozenset[str]] = Accelerator.by_precision
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = NODE_GIVES_WAY

    node: Node
    count: Count
    fabric: Fabric

    @property
    def device(self) -> Accelerator:
        """Accelerator of the nodes."""
        return self.node.accelerator

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; fabric and nodes supply the inputs."""
        if name in ("fleet_size", "accelerators"):
            size = self.count.value * self.node.accelerators_per_node.value
            return Value.of(size, source=f"{self.name}: nodes times accelerators")
        return self.fabric.value_of(name, precision) or self.node.value_of(name, precision)
