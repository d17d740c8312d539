"""Facts about what was decided over time."""
