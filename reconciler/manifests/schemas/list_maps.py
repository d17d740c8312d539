"""Lists whose items are told apart by keys, as a schema says with `x-kubernetes-list-map-keys`."""

from collections.abc import Iterator, Mapping, Sequence

KEYWORD = "x-kubernetes-list-map-keys"


def repeated(keys: Sequence[str], value: object) -> Iterator[int]:
    """Yield the position of each item whose keys an earlier item has.

    A key that is absent is alike with another that is absent. What is no list of mappings is a
    matter of its type.

    Source: apiextensions-apiserver pkg/apiserver/schema/listtype `ValidateListSetsAndMaps`.

    >>> [*repeated(["name"], [{"name": "a"}, {"name": "b"}, {"name": "a"}])]
    [2]
    """
    seen = set()
    for position, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, Mapping):
            told = tuple(repr(item.get(key)) for key in keys)
            if told in seen:
                yield position
            seen.add(told)


class ListMapKeys:
    """The keyword, as jsonschema-rs asks for it."""

    def __init__(self, _schema: object, keys: list[str], _path: object) -> None:
        """Take the keys that the schema names."""
        self.keys = keys

    def validate(self, instance: object) -> None:
        """Refuse a list in which two items have the same keys.

        Raises:
            ValueError: It has two such items.
        """
        for position in repeated(self.keys, instance):
            raise ValueError(f"item {position} is there before")
