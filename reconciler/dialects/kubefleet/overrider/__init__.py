"""What a cluster has otherwise: ClusterResourceOverride and ResourceOverride."""
