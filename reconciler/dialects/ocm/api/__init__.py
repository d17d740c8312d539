"""OCM's objects as its Go types decode them: clusters, sets, placements, their admission."""
