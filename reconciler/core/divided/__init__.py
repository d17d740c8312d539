"""A first pass in pieces that know nothing of each other, and what comes of them as one."""
