"""One of the sets of formulas a model offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlsysim.symbolic import Formula, Requirement
from mlsysim.tracebacks import at_the_call


@at_the_call
@dataclass(frozen=True)
class Variant:
    """A complete set of formulas, and what it asks for beyond its model.

    Parameters
    ----------
    formulas : iterable of Formula
        All formulas of the set; what they leave undefined are the inputs.
    requirements : tuple of Requirement
        Conditions on the inputs, in addition to those of the model.
    defaults : mapping
        Values of keywords that are left out, where they differ from the model's.
    headline : tuple of str
        Outputs shown first; those of the model where left out.
    example : mapping
        Arguments that give an answer worth showing; those of the model's example that it takes where left out.
    about : str
        What sets it apart and how near it comes to what was measured, for the book.

    Examples
    --------
    >>> from mlsysim import KernelModel, Variant
    >>> Variant.of(KernelModel.variants["roofline"]).about[:40]
    'The higher of two times at shares of the'
    """

    formulas: Iterable[Formula]
    requirements: tuple[Requirement, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    headline: tuple[str, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""

    @classmethod
    def of(cls, given: Variant | Iterable[Formula]) -> Variant:
        """A variant, from a declared one or from its formulas alone.

        Parameters
        ----------
        given : Variant or iterable of Formula
            A variant, or its formulas.

        Returns
        -------
        Variant
        """
        return given if isinstance(given, Variant) else cls(tuple(given))
