"""Calibration: what measurements imply for inputs of a model, and how sure that is."""
