"""Search problems: how they are read and solved, the designs found, and proof that none is better."""
