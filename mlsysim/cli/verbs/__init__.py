"""Commands that ask a model other things than its outputs, one module each; what they need is imported when run."""
