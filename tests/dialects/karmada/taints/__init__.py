"""What taints clusters."""
