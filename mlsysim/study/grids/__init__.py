"""Grids and data sets of any size: block by block, in memory, on disk or over a cluster."""
