"""Which taints the controllers of a hub put on clusters, and take away: by Ready, and by policies."""
