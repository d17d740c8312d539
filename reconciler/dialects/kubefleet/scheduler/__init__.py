"""From a policy to bindings. Upstream: pkg/scheduler."""
