"""PlacementDecisions, their groups, a placement's record. Upstream: scheduling_controller.go."""
