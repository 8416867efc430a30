"""The result of one point, how it explains itself, and two results side by side."""
