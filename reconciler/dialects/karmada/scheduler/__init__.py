"""From a binding's placement to its clusters. Upstream: pkg/scheduler."""
