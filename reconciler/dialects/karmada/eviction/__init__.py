"""How a workload leaves a cluster: taints, failover, grace. Upstream: pkg/controllers."""
