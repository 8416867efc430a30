"""Template of a data set before its values are known, and the fingerprint of its parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

#: Names of the parts of a template.
DIMENSIONS, COORDINATE = "dimensions", "coordinate"
#: Most values of an axis, and most characters of one fact, that are printed.
SHOWN, LONGEST = 8, 80


@dataclass(frozen=True)
class Template:
    """A data set before its values are known.

    Attributes
    ----------
    dims : tuple of str
        Dimensions of every variable.
    sizes : tuple of int
        Length of each.
    dtypes : dict
        Type per variable.
    attrs : dict
        Attributes of the data set.
    variable_attrs : dict
        Attributes per variable.
    coords : dict
        Coordinates, as ``xarray.Dataset`` takes them.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    dtypes: Mapping[str, np.dtype]
    attrs: Mapping[Any, Any] = field(default_factory=dict)
    variable_attrs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    coords: Mapping[str, Any] = field(default_factory=dict)

    def without_variables(self) -> xarray.Dataset:
        """Build a data set with coordinates and attributes only."""
        import xarray

        return xarray.Dataset(coords=dict(self.coords), attrs=dict(self.attrs))

    def marks(self) -> dict[str, str]:
        """Return texts that identify what is known before the values, by part."""
        sizes = dict(zip(self.dims, self.sizes, strict=True))
        variables = {
            name: (self.dims, dtype.str, self.variable_attrs.get(name, {})) for name, dtype in self.dtypes.items()
        }
        return _marks(sizes, self.without_variables().coords, variables, self.attrs)

    def fingerprint(self) -> dict[str, str]:
        """Return texts by which a store is recognised, apart from those of its values."""
        marks = self.marks()
        coordinates = {part: text for part, text in marks.items() if part.startswith(COORDINATE)}
        attributes = {part: text for part, text in marks.items() if part not in coordinates and part != DIMENSIONS}
        return {
            "dimensions": marks[DIMENSIONS],
            "coordinates": json.dumps(coordinates, sort_keys=True),
            "attributes": json.dumps(attributes, sort_keys=True),
        }

    def facts(self) -> dict[str, str]:
        """Describe the data set as text by name: outputs, axes and attributes."""
        facts = {"outputs": ", ".join(self.dtypes), "axes": ", ".join(self.dims)}
        for key, value in self.attrs.items():
            read = _read(value)
            facts |= {str(name): str(item) for name, item in read.items()} if read else {str(key): str(value)}
        for name, coord in self.without_variables().coords.items():
            values = coord.values.ravel().tolist()
            shown = values if len(values) <= SHOWN else [*values[: SHOWN // 2], "...", values[-1]]
            facts[f"axis {name}"] = f"{', '.join(map(str, shown))} {coord.attrs.get('units', '')}".strip()
        return {name: text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for name, text in facts.items()}

    def changed(self, dataset: xarray.Dataset) -> list[str]:
        """Return the parts of a data set on disk that differ from this template."""
        variables = {
            name: (array.dims, array.dtype.str, array.attrs)
            for name, array in dataset.data_vars.items()
            if name in self.dtypes
        }
        sizes = {dim: dataset.sizes[dim] for dim in self.dims if dim in dataset.sizes}
        on_disk, laid_out = _marks(sizes, dataset.coords, variables, dataset.attrs), self.marks()
        return [part for part in {**laid_out, **on_disk} if on_disk.get(part) != laid_out.get(part)]


def _marks(
    sizes: Mapping[str, int],
    coords: Mapping[Any, Any],
    variables: Mapping[Any, tuple[Sequence[Any], str, Mapping[Any, Any]]],
    attrs: Mapping[Any, Any],
) -> dict[str, str]:
    marks = {DIMENSIONS: json.dumps(sizes), "attributes of the data set": _text_of_attributes(attrs)}
    for name, coord in coords.items():
        texts = coord.dtype.kind in "UOT"
        values = json.dumps(coord.values.tolist()).encode() if texts else np.ascontiguousarray(coord.values).tobytes()
        kind = "text" if texts else coord.dtype.str
        digest = hashlib.sha256(values).hexdigest()
        marks[f"{COORDINATE} {name}"] = f"{coord.dims} {kind} {digest} {_text_of_attributes(coord.attrs)}"
    for name, (dims, dtype, own) in variables.items():
        marks[f"variable {name}"] = f"{tuple(dims)} {dtype} {_text_of_attributes(own)}"
    return marks


def _read(value: Any) -> dict[str, Any]:
    """Parse an attribute that holds a mapping as JSON; empty if it holds something else."""
    try:
        content = json.loads(value)
    except (TypeError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _text_of_attributes(attrs: Mapping[Any, Any]) -> str:
    plain = {key: np.ravel(value).tolist() for key, value in attrs.items()}
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)
