"""The pass: `reconcile(world, now)` decides everything; the rest carries data."""
