"""What is written here, as values: a binding's spec and status. Upstream: pkg/apis/work."""
