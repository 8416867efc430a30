"""Questions that ask several models at once: what fits, and which layout to launch."""
