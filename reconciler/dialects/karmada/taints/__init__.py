"""Taints that controllers of a hub put on clusters, and take away: by Ready, and by policies."""
