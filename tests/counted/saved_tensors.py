"""Counts the bytes that autograd keeps for the backward pass."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

INTEGERS = {torch.int8, torch.int16, torch.int32, torch.int64}
COPIES = {"ToCopyBackward0", "TBackward0", "TransposeBackward0", "PermuteBackward0", "ViewBackward0"}


@dataclass(frozen=True)
class Item:
    """One storage kept for the backward pass.

    `nbytes` is the whole storage, because a saved view keeps all of it; `view_bytes` is the largest view saved.
    `kind` is activation, index (integers), table (given by the caller) or weight (a cast copy of a parameter).
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    nbytes: int
    view_bytes: int
    kind: str
    savers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Saved:
    """What one forward pass keeps."""

    items: tuple[Item, ...]
    tokens: int = 1

    def bytes_of(self, kind: str) -> int:
        return sum(item.nbytes for item in self.items if item.kind == kind)

    @property
    def total(self) -> int:
        """Bytes of the activations: no parameters, indices, tables or copies of weights."""
        return self.bytes_of("activation")

    @property
    def per_token(self) -> float:
        return self.total / self.tokens

    def table(self) -> str:
        """One line per storage, the largest first."""
        rows = sorted(self.items, key=lambda item: -item.nbytes)
        return "\n".join(
            f"{item.nbytes / self.tokens:10.1f} B/token  {item.kind:10} {str(item.dtype)[6:]:9} "
            f"{item.shape!s:24} {', '.join(item.savers)}"
            for item in rows
        )


class _Handle:
    """What the graph holds in place of the tensor: it dies with the node that saved it."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor


@dataclass
class _Record:
    tensor: torch.Tensor
    view_bytes: int
    of_weight: bool
    handles: weakref.WeakSet[_Handle] = field(default_factory=weakref.WeakSet)
    savers: set[str] = field(default_factory=set)


def storage_key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def view_bytes(tensor: torch.Tensor) -> int:
    """Bytes of the distinct elements of a view: an expanded dimension counts once."""
    lengths = (n for n, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride or not n)
    return math.prod(lengths) * tensor.element_size()


class SavedTensors(saved_tensors_hooks):
    """Records every storage that is saved for backward while the context is open, each once.

    The records hold the tensors, so that no address is used twice.
    """

    def __init__(self, parameters: Iterable[torch.Tensor] = (), tables: Iterable[torch.Tensor] = ()):
        parameters = list(parameters)
        self._skip = {storage_key(parameter) for parameter in parameters}
        self._tables = {storage_key(table) for table in tables}
        self._records: dict[int, _Record] = {}
        super().__init__(self._pack, lambda handle: handle.tensor)

    def __enter__(self) -> SavedTensors:
        super().__enter__()
        return self

    def _pack(self, tensor: torch.Tensor) -> _Handle:
        handle = _Handle(tensor.detach())
        key = storage_key(tensor)
        if tensor.untyped_storage().nbytes() and key not in self._skip:
            record = self._records.setdefault(key, _Record(handle.tensor, 0, self._copies_weight(tensor)))
            record.handles.add(handle)
            if view_bytes(tensor) > record.view_bytes:
                record.tensor, record.view_bytes = handle.tensor, view_bytes(tensor)
        return handle

    def _copies_weight(self, tensor: torch.Tensor) -> bool:
        node = tensor.grad_fn
        while node is not None and node.name() in COPIES:
            node = node.next_functions[0][0]
        return tensor.grad_fn is not None and storage_key(getattr(node, "variable", tensor)) in self._skip

    def name_savers(self, output: torch.Tensor) -> None:
        """Walk the graph behind `output` and note which node saved each storage."""
        seen, stack = set(), [output.grad_fn]
        while stack:
            node = stack.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            stack.extend(parent for parent, _ in node.next_functions)
            names = [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]
            for name in names:
                for value in tree_leaves(getattr(node, name)):
                    if isinstance(value, torch.Tensor) and (record := self._records.get(storage_key(value))):
                        record.savers.add(f"{node.name()}.{name.removeprefix('_saved_')}")

    def saved(self, tokens: int = 1) -> Saved:
        """What the graph still holds: a node off the path to the output has dropped its tensors by now."""
        held = ((key, record) for key, record in self._records.items() if record.handles)
        return Saved(tuple(self._item(key, record) for key, record in held), tokens)

    def _item(self, key: int, record: _Record) -> Item:
        tensor = record.tensor
        if key in self._tables:
            kind = "table"
        elif tensor.dtype in INTEGERS:
            kind = "index"
        elif record.of_weight:
            kind = "weight"
        else:
            kind = "activation"
        nbytes = tensor.untyped_storage().nbytes()
        return Item(tuple(tensor.shape), tensor.dtype, nbytes, record.view_bytes, kind, tuple(sorted(record.savers)))


def count_saved(
    function: Callable[[], torch.Tensor],
    parameters: Iterable[torch.Tensor] = (),
    tables: Iterable[torch.Tensor] = (),
    tokens: int = 1,
    name_savers: bool = True,
) -> Saved:
    """Run `function` and count what its graph keeps; naming the savers unpacks them, so not under checkpointing."""
    with SavedTensors(parameters, tables) as hooks:
        output = function()
    # The output is alive here, and with it the graph.
    if name_savers:
        hooks.name_savers(output)
    return hooks.saved(tokens)


class LiveBytes(TorchDispatchMode):
    """Bytes of the storages made by operators and still alive, and their peak; an independent count.

    `skip` names storages that are not counted (parameters, tables); `start` those that exist already.
    """

    def __init__(self, skip: Iterable[torch.Tensor] = (), start: Iterable[torch.Tensor] = ()):
        super().__init__()
        self._skip = {tensor.untyped_storage()._cdata for tensor in skip}
        self._live: dict[int, tuple[StorageWeakRef, int]] = {}
        self.peak = 0
        for tensor in start:
            self._see(tensor)

    def _see(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._skip and storage._cdata not in self._live:
            self._live[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())

    def now(self) -> int:
        self._live = {key: entry for key, entry in self._live.items() if not entry[0].expired()}
        return sum(nbytes for _, nbytes in self._live.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        self._live = {key: entry for key, entry in self._live.items() if not entry[0].expired()}
        for value in tree_leaves(output):
            if isinstance(value, torch.Tensor):
                self._see(value)
        self.peak = max(self.peak, self.now())
        return output
