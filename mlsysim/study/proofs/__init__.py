"""Saved certificates, and their verification without the search."""
