"""What a placement selects, by which policy and overrides, by revision. Upstream: controllers."""
