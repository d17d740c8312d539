"""Placements, clusters and bindings as KubeFleet's Go types decode them, and their admission."""
