"""Small systems to compile."""

from small_systems import formula, pure, system_of

__all__ = ["formula", "pure", "system_of"]
