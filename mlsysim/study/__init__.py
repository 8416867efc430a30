"""The questions asked of a model, one file per verb, and what they answer with."""
