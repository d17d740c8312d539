"""What a cluster has otherwise: OverridePolicy and ClusterOverridePolicy, applied to a manifest."""
