"""What a pass makes of rebalancers and triggers."""
