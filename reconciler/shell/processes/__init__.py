"""Processes and what the machine grants them: signals, threads, memory, the disk."""
