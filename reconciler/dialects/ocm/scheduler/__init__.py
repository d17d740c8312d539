"""From a placement to its clusters. Upstream: pkg/placement/plugins, scheduling/schedule.go."""
