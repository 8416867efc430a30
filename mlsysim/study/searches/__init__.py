"""A search problem, the ways to solve it, the designs that it finds, and why none is better."""
