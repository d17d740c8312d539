"""Leaving clusters: their taints, failing applications, what is taken along."""
