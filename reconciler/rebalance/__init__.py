"""WorkloadRebalancer: from manifests and the targets that exist to moments of triggers."""
