"""Measurements: `python -m benchmarks` prints one table of them beside their goals."""
