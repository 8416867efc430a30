"""Terms that bind on the way to an output, of each maximum, minimum and case, and where that changes."""
