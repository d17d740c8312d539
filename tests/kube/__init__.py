"""A small API server on the loopback that keeps state, for stories about clusters."""
