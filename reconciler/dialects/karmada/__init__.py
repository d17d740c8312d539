"""Karmada: policies claim workloads, bindings are scheduled, taints evict."""
