"""Entries of the catalog: accelerators, memory designs, nodes, fabrics, fleets and models.

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
    """Conversion of what a field is given to a :class:`Value` of a dimension; bare numbers are in ``unit``."""

    def convert(given: Any) -> Any:
        value = Value.model_validate(given) if isinstance(given, Mapping) else Value.of(given, unit)
        if units.dimension(value.unit) != units.dimension(unit):
            given = f"{value.value:g} {value.unit}".strip()
            raise ValueError(f"{given} is not in a unit of {unit}" if unit else f"{given} is not a pure number")
        if value.value < 0:
            raise ValueError(f"{value.value:g} is negative")
        return value

    return pydantic.BeforeValidator(convert)


#: Decimal units, in which makers print what comes in the binary units of the same number.
_BINARY = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB"}
_AS_MADE, _AS_TYPED = "The data sheet's", "Taken as typed"
#: Bytes that no device has, as the largest memories of devices are below 1 TB: a number so large was meant in bytes.
_TOO_MANY = 1e15


def _in_binary(sold: Value) -> Value:
    """The bytes behind the number that a maker prints: 80 GB of memory are 80 GiB."""
    kind, unit = "user" if sold.kind == "user" else "assumed", _BINARY.get(sold.unit, sold.unit)
    made = Value(**{**sold.model_dump(), "unit": unit, "kind": kind, "calibrated_on": "", "note": ""})
    read = f" in binary units, {made.text()} ({made.canonical / 1e9:.1f} GB)" if unit != sold.unit else ""
    return made.model_copy(update={"note": f"{_AS_MADE} {sold.text()}{read}: what its driver shows is not known."})


def memory_as_typed(typed: Value) -> Value:
    """A memory with a note of its bytes had its maker printed it; as it is where that is no question.

    Parameters
    ----------
    typed : Value
        A memory.

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
    shown = _in_binary(typed)
    said = f"of memory sold as {typed.text()} drivers show about {shown.text()} ({shown.canonical / 1e9:.1f} GB)"
    return typed.model_copy(update={"note": f"{_AS_TYPED}, {typed.canonical:,.0f} bytes: {said}."})


def which_memory(value: Value) -> str:
    """Name the reading of a memory that was taken, in a sentence; empty where there is only one.

    Parameters
    ----------
    value : Value
        A memory of a result.

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


def _truth(given: Any) -> Any:
    """``True`` or ``False`` as one or zero; anything else as it is."""
    number = given.get("value") if isinstance(given, Mapping) else given
    if not isinstance(number, bool):
        return given
    return {**given, "value": float(number)} if isinstance(given, Mapping) else float(number)


def _yes_or_no(value: Value) -> Value:
    if value.value not in (0, 1):
        raise ValueError(f"{value.value:g} is neither true nor false")
    return value


def _by_format(given: Any) -> Any:
    """A pure number, or one for each of some number formats."""
    if not isinstance(given, Mapping) or "value" in given:
        return pydantic.TypeAdapter(Count).validate_python(given)
    return _known_formats(pydantic.TypeAdapter(dict[str, Count]).validate_python(given))


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
    """Base of everything in the catalog.

    Parameters
    ----------
    name : str
        As its maker writes it.
    description : str
        One sentence.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)
    what: ClassVar[str] = "entry"
    by_precision: ClassVar[frozenset[str]] = frozenset()
    flags: ClassVar[frozenset[str]] = frozenset()
    #: Whether it holds for its device alone, so that it is refused beside another one.
    of_one_device: ClassVar[bool] = False
    #: Inputs that it gives only where none of these arguments is given.
    gives_way: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Fields that follow from one another, so that a change of one drops the others.
    alternatives: ClassVar[frozenset[str]] = frozenset()
    #: Fields that hold of these alone, so that a change of one drops them too.
    dependent: ClassVar[frozenset[str]] = frozenset()

    name: Name
    description: Text = ""
    _key: str = pydantic.PrivateAttr(default="")

    @property
    def key(self) -> str:
        """Last part of its name in the catalog (``"H100"``); empty for an entry built by hand."""
        return self._key

    @property
    def device(self) -> Accelerator | None:
        """The device that it is, holds, or is given for; None where there is none."""
        return getattr(self, "accelerator", None)

    @property
    def unanswered(self) -> Mapping[str, tuple[float | None, str]]:
        """Arguments that no question may ask with it but at one value, or at none, and why."""
        return {}

    def __repr__(self) -> str:
        shape = ", ".join(f"{name}={self.text(name)}" for name in self.values())
        return f"<{type(self).__name__} {self.name}: {shape}>"

    __str__ = __repr__

    def __hash__(self) -> int:
        """By class and name, because a table of rates has no hash of its own."""
        return hash((type(self), self.name))

    @at_the_call
    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            given = fields.get("name")
            name = given if isinstance(given, str) and given else type(self).__name__
            raise CatalogError(f"{name}: {problems(error)}") from None

    @at_the_call
    def changed(self, **values: Any) -> Self:
        """A copy with other values, which say that they were changed by hand and what they were.

        Parameters
        ----------
        **values
            By field, as for an entry built by hand; of a table the rates that change. ``name=`` and ``description=``
            change these.

        Returns
        -------
        Self
            Of the same kind; all other values keep their sources.

        Raises
        ------
        UnknownNameError
            If there is no such field.
        CatalogError
            If a value is not of its unit.
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
        made = type(self)(**{**fields, **values, **tables})
        changed = {*values, *implied.intersection(made.model_fields_set)}
        marked = {name: _marked(getattr(made, name), getattr(self, name)) for name in changed}
        return made.model_copy(update=marked)

    def value_of(self, name: str, precision: str) -> Value | None:
        """The value this entry gives a formula's input, or None if it has none.

        Parameters
        ----------
        name : str
            Name of an input variable.
        precision : str
            Number format, for values that depend on it.
        """
        found = getattr(self, name, None)
        return found if isinstance(found, Value) else None

    def word_of(self, name: str) -> Choice | None:
        """The label this entry gives a formula's input that is a choice, or None if it has none.

        Parameters
        ----------
        name : str
            Name of a field that is a choice.

        Returns
        -------
        Choice or None
        """
        found = getattr(self, name, None)
        return found if isinstance(found, Choice) else None

    def stands_beside(self, name: str, given: Mapping[str, Any]) -> bool:
        """Tell whether what this entry gives holds beside arguments that it gives way to, by their values.

        Parameters
        ----------
        name : str
            Name of a field.
        given : mapping
            Values of the arguments that it gives way to, by name.

        Returns
        -------
        bool
        """
        return False

    def text(self, name: str, digits: int = 6) -> str:
        """One of :meth:`values` for a reader: a number with its unit, or yes or no.

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
        """Every value of the entry by field name (``peak_flops.fp16`` for tables)."""
        found: dict[str, Value] = {}
        for field in type(self).model_fields:
            content = getattr(self, field)
            if isinstance(content, Value):
                found[field] = content
            elif isinstance(content, Mapping):
                found.update({f"{field}.{key}": value for key, value in content.items()})
        return found


def _marked(made: Any, before: Any) -> Any:
    """Mark what was changed by hand, with its old value; leave what is no value, or still the same, as it is."""
    if isinstance(made, Mapping):
        table = before if isinstance(before, Mapping) else {}
        return {key: _marked(value, table.get(key)) for key, value in made.items()}
    if not isinstance(made, Value) or made == before:
        return made
    was = f", was {before.text()}" if isinstance(before, Value) else ""
    return made.model_copy(update={"source": f"changed by hand{was}"})


def _known_formats(rates: dict[str, Value]) -> dict[str, Value]:
    """A table of rates whose number formats are all known."""
    for name in rates:
        if name not in NUMBER_FORMATS:
            raise ValueError(str(UnknownNameError("number format", name, NUMBER_FORMATS)))
    return rates


def _rate(entry: Entry, rates: Mapping[str, Value], precision: str) -> Value:
    """The rate at a precision, or an error that says which there are."""
    if precision not in rates:
        bits = BITS[PRESETS[precision].served] if precision in PRESETS else 0
        alike = [each for each, preset in PRESETS.items() if BITS[preset.served] == bits and rate_format(each) in rates]
        small = f"with weights of {bits} bits it can run {', '.join(alike)}; " if alike else ""
        raise InputError(
            "precision",
            precision,
            f"{entry.name} has no rate for it, only for {', '.join(rates)}",
            f"{small}or give peak_flops=...",
        )
    return rates[precision]


def _attention_rate(rates: Mapping[str, Value], precision: str) -> Value | None:
    """The rate of what stays at 16 bit beside narrower products; that of the products where they are wider."""
    if precision in ("fp32", "tf32"):
        return rates.get(precision)
    return rates.get("bf16") or rates.get("fp16")


class Fabric(Entry):
    """The network between nodes, as one accelerator sees it.

    Parameters
    ----------
    bandwidth : Value
        One direction.
    latency : Value
        Before the first byte.
    oversubscription : Value
        1 is full bisection.
    accelerators_per_pod : Value, optional
        Accelerators below the oversubscribed level, which have full bisection among them; those of a node where
        left out.
    low_latency_bandwidth, bulk_start : Value, optional
        Rate of an all-reduce by the protocol of short messages, and start of one by that of long ones, where a fabric
        has two.
    """

    what: ClassVar[str] = "fabric"

    bandwidth: BytesPerSecond
    latency: Seconds
    oversubscription: Count
    accelerators_per_pod: Count | None = None
    low_latency_bandwidth: BytesPerSecond | None = None
    bulk_start: Seconds | None = None

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; what its bandwidth and latency are called outside it."""
        own = {"fabric_bandwidth": self.bandwidth, "fabric_latency": self.latency}
        return own.get(name) or super().value_of(name, precision)


#: What programs get of a memory is not known of one that a call gives.
DRIVER_GIVES_WAY: Mapping[str, tuple[str, ...]] = {"driver_memory": ("memory_capacity",)}
#: Nor what runs take of a node of another size.
NODE_GIVES_WAY = {**DRIVER_GIVES_WAY, "accelerators_per_segment": ("accelerators_per_node",)}


class WithMemory(Entry):
    """Base of what has a memory of its own, with a ``memory_capacity``: that its driver shows, which all formulas read.

    Parameters
    ----------
    datasheet_memory : Value, optional
        Memory as its maker prints it, which is 80 GB where the driver shows 79.6 GiB. Alone, it gives the capacity: the
        same number in binary units.
    driver_memory : Value, optional
        Memory that its driver gives to programs, of which engines take their share; all that it shows where left out.
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
    """One device.

    Parameters
    ----------
    memory_capacity, datasheet_memory, driver_memory : Value
        Memory that its driver shows, that its maker prints, and that programs get; one of the first two may be left
        out, and the last (see :class:`WithMemory`).
    memory_bandwidth : Value
        Of that memory.
    peak_flops : dict of Value
        Dense peak rate per number format (:data:`mlsysim.formats.NUMBER_FORMATS`).
    link_bandwidth : Value, optional
        To its neighbours in a node, one direction.
    link_domain : Value, optional
        Devices that these links join, this one among them, where they are fewer than stand in a node.
    fabric : Fabric, optional
        What joins it to the others of its node then.
    multiprocessors : Value, optional
        Of the kind that takes one tile of a product at a time.
    clock, exponentials_per_clock : Value, optional
        Clock of a multiprocessor under load, and exponentials that it computes in each; 16 where left out.
    compute_capability : Value, optional
        CUDA compute capability, by which kernels differ.
    switch_reduces : Value, optional
        Share of the links' rate at which the switches between its neighbours reduce; 0 where they do not.
    direct_mesh : Value, optional
        Devices that have a link of their own to each other, this one among them; 0 where switches join them.
    torus_axes : Value, optional
        Axes of the torus that its links make, two for each; 0 where they make none.
    host_copy_bandwidth : Value, optional
        To the memory of its host, one direction.
    tdp, price : Value, optional
        Power and price.
    idle_power_fraction, busy_power, flop_power : Value, optional
        Its own constants of the law of power, where it was measured; those of its stack where left out.
    host_power_fraction : Value, optional
        Mean power of hosts, network and fans beside it, over its own.
    embodied_device, embodied_host : Value, optional
        Carbon dioxide of its manufacture, and of its share of a host.

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
        given = self.driver_memory
        if given is not None and given.canonical > self.memory_capacity.canonical:
            raise ValueError(f"driver_memory: {given.text()} is more than its memory, {self.memory_capacity.text()}")
        return self

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; ``peak_flops`` is the rate at the precision.

        Attention is computed at 16 bit at least: ``attention_peak_flops`` is that rate. Products of a long run are
        held to the power of the board, ``power_limit``.

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
        Parameters as published; left out where the whole shape is there to count them from.
    layers, hidden_dim, heads : Value
        Shape.
    kv_heads : Value, optional
        Key-value heads (GQA); as many as ``heads`` where left out.
    head_dim : Value, optional
        Width of a head. Where left out, ``hidden_dim / heads``, or with latent attention that of its keys,
        ``qk_nope_head_dim + qk_rope_head_dim``.
    vocab_size, ffn_dim, gated : Value, optional
        The rest of the shape, which exact counts need; ``ffn_dim`` is that of dense layers, 0 without any.
    embedding_dim : Value, optional
        Width of embedding and head where they are projected to that of the model and back; that where left out.
    tied_embeddings, qkv_bias, attention_output_bias, mlp_bias, norm_bias, qk_norm : Value, optional
        Yes or no; no where left out. A LayerNorm has a bias, an RMSNorm has none.
    norm_scale : Value, optional
        No where norms have no weights; yes where left out.
    learned_positions : Value, optional
        Rows of a learned position embedding.
    max_position_embeddings : Value, optional
        Most tokens of a prompt and its answer that the model is made for.
    attention_sinks, sandwich_norm : Value, optional
        Yes or no; no where left out. A learned sink per head; norms behind the blocks as well as in front.
    gate_width, block_norms : Value, optional
        Numbers of an output gate of attention per token, 0 where left out; norms in front of the blocks of a layer, 2
        where left out.
    q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim : Value, optional
        Multi-head latent attention; 0 without it.
    v_head_dim : Value, optional
        Width of the values of a head; that of its keys where left out.
    sliding_window, sliding_layers : Value, optional
        Tokens a layer with a sliding window attends to, and how many layers have one; 0 without.
    chunked_attention : Value, optional
        Yes where those layers attend within chunks of so many tokens; no where left out.
    sliding_heads, sliding_kv_heads, sliding_head_dim, sliding_v_head_dim : Value, optional
        Shape of attention in layers with a window; that of the others where left out.
    value_projections : Value, optional
        No where keys serve as values in layers without a window; yes where left out.
    lookup_parameters : Value, optional
        Of further tables that a token looks up and nothing multiplies (embeddings of each layer); 0 where left out.
    shared_cache_layers, sliding_shared_layers : Value, optional
        Layers that read the keys and values of another layer, without a window and with one; 0 where left out.
    mixerless_layers, blockless_layers : Value, optional
        Layers in which tokens do not see each other, and without a feed-forward block; 0 where left out.
    state_layers, parallel_layers : Value, optional
        Layers with a recurrent mixer, and those of them that have attention beside it; 0 where left out.
    state_key_heads, state_key_dim, state_heads, state_value_dim : Value, optional
        Heads that write to its state and its rows; heads of the state and its columns.
    state_gates, state_scalars, state_matrices, state_vectors : Value, optional
        Gates as wide as its values, numbers per token and head; further matrix elements, and its vectors.
    state_matrix_width : Value, optional
        Numbers of a token that those matrices give, where some read other widths than that of the model.
    conv_channels, conv_kernel : Value, optional
        Its short convolution.
    state_operations, state_chunk, delta_rule, state_element_bytes : Value, optional
        Arithmetic per element of the state and token, tokens of a chunk, whether it follows the delta rule; bytes of an
        element, 4 where left out.
    index_layers, index_heads, index_head_dim, index_topk : Value, optional
        Indexers that pick the tokens which latent attention reads; 0 without.
    compressed_layers, heavily_compressed_layers : Value, optional
        Layers with attention to a window and to compressed entries before it, of which those with an indexer read what
        it picks and these all; 0 where left out.
    index_compression, heavy_compression : Value, optional
        Tokens of an entry in each of the two; 0 without.
    o_lora_rank, o_groups : Value, optional
        Rank of their output projection and groups of heads that have one; 0 without.
    further_matrices, further_vectors : Value, optional
        Elements of matrices that a token passes beside mixers and blocks, and of biases and norms that no other field
        says; of the whole model, 0 where left out.
    reused_parameters : Value, optional
        Parameters that later layers share with earlier ones, so that they are stored once; 0 where left out.
    bidirectional : Value, optional
        Yes where tokens see those behind them as well, and none is decoded; no where left out.
    source_stack : TransformerWorkload, optional
        What reads a source beside the text: an encoder, or the tower of a vision-language model with its projector.
    cross_layers, source_hidden_dim : Value, optional
        Layers that attend to the source beside their own mixer, and its width where it is another; 0 where left out.
    source_tokens, image_patches : Value, optional
        Tokens that an encoder reads of a request, and patches that a tower reads of an image, where all have so many.
    mtp_layers : Value, optional
        Layers that predict further tokens in training; 0 where left out.
    counted_parameters : Value, optional
        The exact count, where the published number is rounded and somebody counted the tensors.
    weight_format, kv_cache_format : Choice, optional
        Formats that its checkpoint names: of most weights, and of keys and values.
    mixer_bytes, dense_bytes, head_bytes : Value, optional
        Bytes of one weight in the matrices of mixers, dense blocks and head, as its checkpoint stores it with its
        scales; as ``weight_dtype`` says where left out. Like the format of the cache they give way to ``precision``.
    architecture : str
        Free text.
    measured_by : str
        The package whose class was measured in place of a shape that somebody read, with its version; empty otherwise.

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
        """See :attr:`Entry.unanswered`; a measured model has costs, and no matrices by name."""
        return (_UNMEASURED if self.measured_by else {}) | (_OF_SOURCES if self.source_stack else {})

    def word_of(self, name: str) -> Choice | None:
        """See :meth:`Entry.word_of`."""
        return self.kv_cache_format if name == "kv_cache_dtype" else None

    def stands_beside(self, name: str, given: Mapping[str, Any]) -> bool:
        """See :meth:`Entry.stands_beside`; the format of the narrowest matrices leaves the others as stored."""
        parts = [part.canonical for each in WEIGHT_PARTS if (part := getattr(self, each, None)) is not None]
        preset = PRESETS.get(str(given.get("precision")))
        word = given.get("weight_dtype", "as_precision")
        word = preset.served if preset and word == "as_precision" else word
        return name in WEIGHT_PARTS and bool(parts) and STORED_WEIGHT.get(str(word)) == min(parts)

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; what a dense model without GQA or MLA leaves out follows from the rest."""
        found = super().value_of(name, precision)
        if found is not None:
            return found
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
        """A model of the shape a Hugging Face ``config.json`` on disk gives.

        The file says nothing of the count: give ``parameters=...`` here, or let a formula count the shape.

        Parameters
        ----------
        path : str or Path
            The file, or the folder that holds it.
        ignore : str or iterable of str
            Fields of the file that are known to leave the shape alone; other unknown ones are refused.
        **fields
            Fields of the entry that the file does not give (``parameters=8.03e9``), or gives otherwise (``name=...``).

        Returns
        -------
        TransformerWorkload
            A :class:`SparseTransformerWorkload` where the model has experts. Every value has the file as its source.

        Raises
        ------
        CatalogError
            If the file cannot be read, its ``model_type`` is not known, or a field is missing, wrong or unknown.
        """
        from mlsysim.catalog.huggingface import workload

        found = workload(path, ignore=ignore, **fields)
        if not isinstance(found, cls):
            raise CatalogError(f"{path}: has no experts; use TransformerWorkload.from_hf")
        return found

    def counted(self) -> Self:
        """The same model with its exact parameter count instead of the published, rounded one.

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
        Parameters one token passes through, as published; left out where the whole shape is there.
    experts, active_experts_per_token : Value
        Experts per MoE layer, and how many the router picks for a token.
    expert_ffn_dim, moe_layers : Value, optional
        Inner width of one expert, and how many layers have experts.
    moe_layer_interval : Value, optional
        Every how many layers one has experts; 1 where left out.
    shared_ffn_dim : Value, optional
        Inner width of all shared experts of a layer together.
    expert_input_dim : Value, optional
        Width to which tokens are projected for routed experts; that of the model where left out.
    router_bias, expert_bias : Value, optional
        Yes or no; no where left out.
    expert_bytes, shared_expert_bytes : Value, optional
        Bytes of one weight in the matrices of routed and shared experts, as ``mixer_bytes``.
    counted_active_parameters : Value, optional
        The exact count of active parameters, embedding and head included.

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
        """See :meth:`Entry.value_of`; the shape of the experts is given or missing, never that of a dense model."""
        if name in ("expert_ffn_dim", "moe_layers"):
            return getattr(self, name)
        return super().value_of(name, precision)

    def counted(self) -> Self:
        """See :meth:`TransformerWorkload.counted`; the active parameters too, where they were counted."""
        found = super().counted()
        active = self.counted_active_parameters
        return found if active is None else found.model_copy(update={"active_parameters": active})


def _whole(entry: Entry, field: str, least: int) -> None:
    value = getattr(entry, field)
    if value is not None and (value.value < least or value.value != int(value.value)):
        raise ValueError(f"{field}={value.value:g} must be a whole number >= {least}")


def _derived(given: Value, value: float) -> Value:
    """Another value in its unit, with its provenance."""
    kind = "user" if given.kind == "user" else "derived"
    return Value(**{**given.model_dump(), "value": value, "kind": kind, "calibrated_on": "", "note": ""})


def _sum(left: Value, right: Value) -> Value:
    """A sum of two values of an entry, with the provenance of the first."""
    return _derived(left, left.value + right.value)


def _quotient(left: Value, right: Value) -> Value | None:
    """A whole quotient of two values of an entry, with the provenance of the first."""
    if left.value % right.value:
        return None
    return _derived(left, left.value / right.value)


#: What the costs of a model do not tell.
_UNMEASURED: dict[str, tuple[float | None, str]] = {
    "tp_size": (1, "must be 1: a measured model does not say which of its matrices ranks split"),
    "pp_size": (1, "must be 1: a measured model does not say which layer holds what"),
    "num_loras": (0, "must be 0: a measured model does not say which of its matrices adapters have"),
    "activation_checkpointing": (None, "is measured, which does not say what its layers keep for the backward pass"),
}

#: Of models with a second stack.
_OF_SOURCES: dict[str, tuple[float | None, str]] = {
    "optimizer": (
        None, "has an encoder or a tower, whose training is not counted (--ignore vision_config leaves a tower out)"
    ),
}  # fmt: skip

#: What a model has that has no experts.
_DENSE = {
    "experts": 1, "active_experts_per_token": 1, "expert_ffn_dim": 0, "moe_layers": 0, "shared_ffn_dim": 0,
    "moe_layer_interval": 1, "router_bias": 0, "expert_bias": 0, "expert_input_dim": 0,
}  # fmt: skip


@lru_cache
def _of_dense(name: str) -> Value:
    """Value of an input of experts for a dense model; cached, because every call asks for it."""
    return Value.of(_DENSE[name], source="a dense model")


#: What a node and a fleet pass on of the accelerators they are made of.
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
    """Electricity of a place over a year, on average and not at the margin.

    Parameters
    ----------
    grid_carbon : Value
        Carbon dioxide equivalent per energy; its note says whether of the whole life cycle or of stacks alone.
    grid_water : Value, optional
        Water that power plants evaporate per energy.
    """

    what: ClassVar[str] = "grid"

    grid_carbon: CarbonPerEnergy
    grid_water: WaterPerEnergy | None = None


class Rent(Entry):
    """Price of one accelerator at a cloud on a day, an example to compare by and not a quotation.

    Parameters
    ----------
    accelerator : Accelerator
        What is rented; the hardware of a question is not taken from it, and must be the same.
    price : Value
        Of one accelerator for an hour, its host and power included.
    """

    what: ClassVar[str] = "rent"
    of_one_device: ClassVar[bool] = True

    accelerator: Accelerator
    price: DollarsPerHour

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; the price is the ``rental_price`` of a question."""
        return self.price if name == "rental_price" else None


class MemoryKind(Entry):
    """A kind of memory and what it costs.

    Parameters
    ----------
    price : Value
        Per byte, the memory alone.
    """

    what: ClassVar[str] = "memory"

    price: DollarsPerByte


class MemoryDesign(WithMemory):
    """An accelerator with memory in two tiers: its own, and a remote one behind a port.

    Parameters
    ----------
    accelerator : Accelerator, optional
        Gives what is left out below.
    peak_flops : dict of Value, optional
        Dense peak rate per number format.
    memory_bandwidth, memory_capacity, datasheet_memory : Value, optional
        Of the local tier (see :class:`WithMemory`).
    remote_bandwidth : Value
        To the remote tier, as one accelerator sees it while the others rest.
    remote_sharers : Value, optional
        Accelerators that share that bandwidth; 1 where left out.
    remote_capacity : Value, optional
        Share of one accelerator in the remote tier.
    unified : Value, optional
        Yes where both tiers are one memory; no where left out.
    link_bandwidth : Value, optional
        To other accelerators, one direction.
    local_memory, remote_memory : MemoryKind, optional
        What each tier is made of, which gives its price.
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
        """See :meth:`Entry.value_of`; what the design leaves out is that of its accelerator.

        Raises
        ------
        InputError
            If it has no rate for the precision.
        """
        kind = {"local_price": self.local_memory, "remote_price": self.remote_memory}
        if name in kind:
            found = kind[name]
            return None if found is None else found.price
        if name in ("local_memory", "remote_memory"):
            return None
        if name == "peak_flops" and self.peak_flops is not None:
            return _rate(self, self.peak_flops, precision)
        if name == "attention_peak_flops" and self.peak_flops is not None:
            return _attention_rate(self.peak_flops, precision)
        if name == "node_bandwidth":
            name = "link_bandwidth"
        found = super().value_of(name, precision)
        return self.accelerator.value_of(name, precision) if found is None and self.accelerator is not None else found


class Node(Entry):
    """A server.

    Parameters
    ----------
    accelerator : Accelerator
        What it holds.
    accelerators_per_node : Value
        How many it holds, which share its fast links.
    accelerators_per_segment : Value, optional
        How many of them a run takes that nodes do not divide.
    link_bandwidth : Value, optional
        Of one accelerator to the others of the node, one direction; where left out that of the accelerator, among as
        many as its links join.
    nics, nic_bandwidth : Value, optional
        Ports to the fabric between nodes, and the line rate of each, one direction.
    power : Value, optional
        What the whole server draws at most.
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
        """See :meth:`Entry.value_of`; a node has the links of its accelerators, and a host that draws power.

        What hosts were measured to draw comes before the most that the server may.
        """
        tdp, measured = self.accelerator.tdp, self.accelerator.host_power_fraction
        if name == "host_power_fraction" and measured is not None:
            return measured
        if name == "host_power_fraction" and self.power is not None and tdp is not None:
            beside = self.power.canonical / (self.accelerators_per_node.value * tdp.canonical) - 1
            return Value.of(beside, source=f"{self.name}: its power over that of its accelerators, less one")
        if name == "node_bandwidth":
            return self.link_bandwidth or self.accelerator.link_bandwidth
        if name == "accelerators_per_node" and self.link_bandwidth is None:
            return self.accelerator.link_domain or self.accelerators_per_node
        if name in OF_ACCELERATOR:
            return self.accelerator.value_of(name, precision)
        return super().value_of(name, precision)


class Fleet(Entry):
    """Nodes joined by a fabric.

    Parameters
    ----------
    node : Node
        The server.
    count : Value
        How many servers.
    fabric : Fabric
        What joins them.

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
        """Accelerator of its nodes."""
        return self.node.accelerator

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; a fleet gives the inputs of its fabric and of its nodes."""
        if name in ("fleet_size", "accelerators"):
            size = self.count.value * self.node.accelerators_per_node.value
            return Value.of(size, source=f"{self.name}: nodes times accelerators")
        return self.fabric.value_of(name, precision) or self.node.value_of(name, precision)
