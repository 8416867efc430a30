"""The verbs of a model, one file each, and what they return."""
