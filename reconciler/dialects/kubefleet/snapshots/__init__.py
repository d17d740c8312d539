"""What a placement selects and by which policy, by revision. Upstream: controllers/placement."""
