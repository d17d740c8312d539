"""How bindings reach the latest resources. Upstream: pkg/controllers/rollout."""
