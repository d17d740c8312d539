"""Staged deliveries: a change of content reaches clusters stage by stage."""
