"""Lists whose items are told apart by keys, as an API server keeps them: each item once."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.manifests.violations import Violation
from reconciler.model.fields import as_mapping, bodies
from reconciler.model.world import Body

ListKeys = Mapping[str, Sequence[str]]
"""JSON pointer of a list, in which `*` stands for any item, to the keys of its items."""


def refuse_duplicates(body: Body, lists: ListKeys) -> Iterator[Violation]:
    """Yield the items of lists that have the keys of an item before them.

    Source: apiextensions-apiserver pkg/apiserver/schema/listtype/validation.go
    `ValidateListSetsAndMaps`.

    >>> status = {"scores": [{"name": "a"}, {"name": "a"}]}
    >>> [one.pointer for one in refuse_duplicates(status, {"/scores": ("name",)})]
    ['/scores/1']
    """
    for pointer, keys in lists.items():
        for at, items in _lists(body, pointer.split("/")[1:], ""):
            seen: set[tuple[str, ...]] = set()
            for position, item in enumerate(items):
                told = tuple(str(item.get(key)) for key in keys)
                if told in seen:
                    named = " and ".join(f"{key} {item.get(key)}" for key in keys)
                    yield Violation(
                        f"{at}/{position}",
                        "list-key",
                        f"the item with {named} must be there once",
                        f"one item for each {' and '.join(keys)}",
                    )
                seen.add(told)


def _lists(body: Body, path: Sequence[str], at: str) -> Iterator[tuple[str, Sequence[Body]]]:
    """Yield each list that a path leads to, with its pointer."""
    name, *rest = path
    if not rest:
        yield f"{at}/{name}", bodies(body, name)
    elif rest[0] == "*":
        for position, item in enumerate(bodies(body, name)):
            yield from _lists(item, rest[1:], f"{at}/{name}/{position}")
    else:
        yield from _lists(as_mapping(body.get(name), name), rest, f"{at}/{name}")
