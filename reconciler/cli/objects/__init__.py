"""Objects as words name them, and as tables show them."""
