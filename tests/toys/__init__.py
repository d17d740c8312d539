"""Plugins that only tests register, one a file, as docs/extending.md shows them."""
