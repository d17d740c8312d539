"""One package an API; the packages never import each other."""
