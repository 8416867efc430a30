"""Which argument of each maximum and minimum, and which case, binds on the way to an output, and where that changes."""
