"""Questions that ask several models at once, and answer with a choice."""
