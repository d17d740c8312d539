"""Which version this is, for everyone who says so."""

__version__ = "0.1.0"
