"""Open Cluster Management: Placement, from cluster sets to PlacementDecisions."""
