"""What the catalog holds: accelerators, nodes, fabrics, fleets and models.

Each class checks the dimension of its fields when an entry is built, from a TOML file or by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import pydantic

from mlsysim import units
from mlsysim.catalog.value import Value, problems
from mlsysim.errors import CatalogError, InputError


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


Count = Annotated[Value, _in("")]
Bytes = Annotated[Value, _in("GB")]
BytesPerSecond = Annotated[Value, _in("GB/s")]
Rate = Annotated[Value, _in("TFLOP/s")]
Seconds = Annotated[Value, _in("µs")]
Watts = Annotated[Value, _in("W")]
Dollars = Annotated[Value, _in("USD")]


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

    name: str
    description: str = ""
    _key: str = pydantic.PrivateAttr(default="")

    @property
    def key(self) -> str:
        """Last part of its name in the catalog (``"H100"``); empty for an entry built by hand."""
        return self._key

    def __repr__(self) -> str:
        shape = ", ".join(f"{name}={value.value:g} {value.unit}".strip() for name, value in self.values().items())
        return f"<{type(self).__name__} {self.name}: {shape}>"

    __str__ = __repr__

    def __hash__(self) -> int:
        """By class and name, because a table of rates has no hash of its own."""
        return hash((type(self), self.name))

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            given = fields.get("name")
            name = given if isinstance(given, str) and given else type(self).__name__
            raise CatalogError(f"{name}: {problems(error)}") from None

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


class Accelerator(Entry):
    """One device.

    Parameters
    ----------
    memory_capacity, memory_bandwidth : Value
        Its memory.
    peak_flops : dict of Value
        Dense peak rate per number format.
    link_bandwidth : Value, optional
        To its neighbours in a node, one direction.
    tdp, price : Value, optional
        Power and price.
    """

    what: ClassVar[str] = "hardware"
    by_precision: ClassVar[frozenset[str]] = frozenset({"peak_flops"})

    memory_capacity: Bytes
    memory_bandwidth: BytesPerSecond
    peak_flops: dict[str, Rate]
    link_bandwidth: BytesPerSecond | None = None
    tdp: Watts | None = None
    price: Dollars | None = None

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; ``peak_flops`` is the rate at the precision.

        Raises
        ------
        InputError
            If the device has no rate for the precision.
        """
        if name != "peak_flops":
            return super().value_of(name, precision)
        if precision not in self.peak_flops:
            raise InputError(
                "precision",
                precision,
                f"{self.name} has no rate for it, only for {', '.join(self.peak_flops)}",
                "or give peak_flops=...",
            )
        return self.peak_flops[precision]


class TransformerWorkload(Entry):
    """A dense transformer.

    Parameters
    ----------
    parameters : Value
        Parameters as published.
    layers, hidden_dim, heads : Value
        Shape.
    kv_heads : Value, optional
        Key-value heads (GQA); as many as ``heads`` where left out.
    kv_lora_rank, qk_rope_head_dim : Value, optional
        Multi-head latent attention; 0 without it.
    counted_parameters : Value, optional
        The exact count, where the published number is rounded.
    architecture : str
        Free text.
    """

    what: ClassVar[str] = "model"

    architecture: str = "Transformer"
    parameters: Count
    layers: Count
    hidden_dim: Count
    heads: Count
    kv_heads: Count | None = None
    kv_lora_rank: Count | None = None
    qk_rope_head_dim: Count | None = None
    counted_parameters: Count | None = None

    @pydantic.model_validator(mode="after")
    def _shape(self) -> TransformerWorkload:
        for field in ("layers", "hidden_dim", "heads", "kv_heads"):
            value = getattr(self, field)
            if value is not None and (value.value < 1 or value.value != int(value.value)):
                raise ValueError(f"{field}={value.value:g} must be a whole number >= 1")
        return self

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; a model without GQA has as many key-value heads as heads."""
        if name == "kv_heads" and self.kv_heads is None:
            return self.heads
        if name == "experts":
            return Value.of(1, source="a dense model")
        return super().value_of(name, precision)

    def counted(self) -> TransformerWorkload:
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
    active_parameters : Value
        Parameters one token passes through.
    experts, active_experts_per_token : Value
        Experts per MoE layer, and how many the router picks for a token.
    """

    architecture: str = "Sparse Transformer"
    active_parameters: Count
    experts: Count
    active_experts_per_token: Count

    @pydantic.model_validator(mode="after")
    def _experts(self) -> SparseTransformerWorkload:
        for field in ("experts", "active_experts_per_token"):
            value = getattr(self, field)
            if value.value < 1 or value.value != int(value.value):
                raise ValueError(f"{field}={value.value:g} must be a whole number >= 1")
        if self.active_experts_per_token.value > self.experts.value:
            raise ValueError(
                f"active_experts_per_token={self.active_experts_per_token.value:g} "
                f"is more than experts={self.experts.value:g}"
            )
        if self.active_parameters.value > self.parameters.value:
            raise ValueError(
                f"active_parameters={self.active_parameters.value:g} is more than parameters={self.parameters.value:g}"
            )
        return self

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`."""
        return self.experts if name == "experts" else super().value_of(name, precision)


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
    """

    what: ClassVar[str] = "fabric"

    bandwidth: BytesPerSecond
    latency: Seconds
    oversubscription: Count


class Node(Entry):
    """A server.

    Parameters
    ----------
    accelerator : Accelerator
        What it holds.
    accelerators_per_node : Value
        How many.
    """

    what: ClassVar[str] = "node"

    accelerator: Accelerator
    accelerators_per_node: Count


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
    """

    what: ClassVar[str] = "fleet"

    node: Node
    count: Count
    fabric: Fabric

    def value_of(self, name: str, precision: str) -> Value | None:
        """See :meth:`Entry.value_of`; a fleet gives the inputs of its fabric."""
        return {
            "fabric_bandwidth": self.fabric.bandwidth,
            "fabric_latency": self.fabric.latency,
            "oversubscription": self.fabric.oversubscription,
        }.get(name)
