"""The questions asked of a model: sweep, sensitivity."""
