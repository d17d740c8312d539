"""Expressions over a managed cluster. Upstream: sdk-go pkg/cel."""
