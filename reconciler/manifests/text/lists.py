"""Lists as kubectl prints them: each item is a document of its own, at its place in the file.

Source: ours; items that say neither apiVersion nor kind have the list's, as in apimachinery
`unstructuredJSONScheme.decodeToList`, and lists in lists are taken apart, too, as by kubectl.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from reconciler.manifests.identify import Unidentified
from reconciler.manifests.text.positions import Place, Spot, locate_all
from reconciler.manifests.text.reader import Document
from reconciler.model.body import Body
from reconciler.model.identity import group_of
from reconciler.model.known_kinds import KnownKinds

SUFFIX = "List"
END: Place = (1 << 62, 0)

NO_ITEMS = Unidentified(
    "",
    "list-items",
    "`items` of a List is no list, it must be a list of objects",
    "items: [{apiVersion: ..., kind: ..., metadata: {name: ...}}]",
)
NO_OBJECT = Unidentified(
    "",
    "list-items",
    "an item of a List is no mapping, it must be an object",
    "a mapping with apiVersion, kind and metadata",
)


@dataclass(frozen=True, slots=True)
class BrokenItem:
    """What stands in a List and is no object, and why."""

    document: Document
    reason: Unidentified


Item = Document | BrokenItem


def unfold(documents: Iterable[Document], data: bytes, known: KnownKinds) -> Iterator[Item]:
    """Yield documents as they are, but for Lists: of these the items, in file order.

    Args:
        documents: What the file holds.
        data: The file as Git has it, which says where items stand.
        known: By which a List of objects is told from another program's.
    """
    for document in documents:
        if is_list(document.body, known):
            yield from _placed(document, [*_items(document.body, "", known)], data)
        else:
            yield document


def is_list(body: Body, known: KnownKinds) -> bool:
    """Return whether a document is a List of objects.

    A document of a kind that ends in List is one if its items are, and if it has no name: that is
    an object's. Of an unknown kind all items must be objects, or it is not for us.
    """
    api_version, kind, items = body.get("apiVersion"), body.get("kind"), body.get("items")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind.endswith(SUFFIX):
        return False
    if (api_version, kind) == ("v1", SUFFIX):
        return True
    metadata = body.get("metadata")
    if "items" not in body or (isinstance(metadata, Mapping) and "name" in metadata):
        return False
    if (group_of(api_version), kind.removesuffix(SUFFIX)) in known.scopes:
        return True
    return isinstance(items, list) and all(
        isinstance(item, Mapping) and isinstance(item.get("metadata"), Mapping) for item in items
    )


def _items(
    body: Body, pointer: str, known: KnownKinds
) -> Iterator[tuple[str, Body | Unidentified]]:
    """Yield each item with its pointer."""
    items = body.get("items")
    at = f"{pointer}/items"
    if not isinstance(items, list | None):
        yield at, NO_ITEMS
        return
    for number, item in enumerate(items or ()):
        place = f"{at}/{number}"
        if not isinstance(item, Mapping):
            yield place, NO_OBJECT
            continue
        whole = _with_kind(item, body)
        if is_list(whole, known):
            yield from _items(whole, place, known)
        else:
            yield place, whole


def _with_kind(item: Body, listed: Body) -> Body:
    """Return an item with the kind and the version that a list of one kind gives to its items."""
    kind = str(listed["kind"]).removesuffix(SUFFIX)
    if not kind or item.get("kind", kind) != kind or {"apiVersion", "kind"} <= item.keys():
        return item
    return {"apiVersion": listed["apiVersion"], "kind": kind, **item}


def _placed(
    listed: Document, found: list[tuple[str, Body | Unidentified]], data: bytes
) -> Iterator[Item]:
    """Yield the items where they stand, each with the aliases that are its own."""
    spots = [Spot(listed.index, pointer) for pointer, _ in found]
    at = locate_all(data, spots) if found else {}
    places = [*(at[spot] for spot in spots), END]
    for (pointer, item), (start, end) in zip(found, pairwise(places), strict=True):
        document = replace(
            listed,
            line=start[0],
            column=start[1],
            pointer=pointer,
            body=listed.body if isinstance(item, Unidentified) else item,
            aliases=tuple(place for place in listed.aliases if start <= place < end),
        )
        yield BrokenItem(document, item) if isinstance(item, Unidentified) else document
