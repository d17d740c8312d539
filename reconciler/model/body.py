"""The body of a document, as every layer hands it on."""

from collections.abc import Mapping

Body = Mapping[str, object]
"""A decoded document: mappings with string keys, lists, str, int, float, bool and None."""
