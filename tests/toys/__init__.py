"""Plugins that only tests register, one a file, as docs/architecture.md shows them."""
