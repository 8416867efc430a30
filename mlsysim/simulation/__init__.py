"""Serving engines, iteration by iteration: step times are those of the model of an iteration, and no law is asked."""
