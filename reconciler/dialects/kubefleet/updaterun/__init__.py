"""Staged update runs: they roll a placement out, stage by stage, waiting for time and people."""
