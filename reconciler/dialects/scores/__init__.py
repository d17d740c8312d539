"""Scores that add-ons report of clusters, as all APIs read them."""
