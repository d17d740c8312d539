"""Karmada's objects as its Go types decode them: policies, clusters, bindings, their admission."""
