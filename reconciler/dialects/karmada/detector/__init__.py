"""Which policy claims a workload, and the draft of its binding. Upstream: pkg/detector."""
