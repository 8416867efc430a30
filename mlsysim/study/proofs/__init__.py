"""A certificate as a file, and what checks it without the search."""
