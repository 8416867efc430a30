"""Objectives and constraints as text; the reader lives with the models, whose derived inputs need it too."""

from mlsysim.models.expressions import Expression, condition, quantity

__all__ = ["Expression", "condition", "quantity"]
