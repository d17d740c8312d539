"""How agents bring objects to a cluster: created or updated, with an owner or without."""

from typing import Any

from reconciler.model.body import Body
from tests.kube.store import Place, Refused, Store


def bring(member: Store, manifest: Any, owner: Body, *, owns: bool, manager: str) -> None:
    """Create or update an object, and own it or take the owner off it."""
    place = member.place_of(manifest)
    live: Any = member.get(place) if is_there(member, place) else None
    named = [] if live is None else live["metadata"].get("ownerReferences", [])
    owners = [one for one in named if one["uid"] != owner["uid"]] + ([owner] if owns else [])
    if live is None:
        metadata = {**manifest["metadata"], "ownerReferences": owners}
        member.write({**manifest, "metadata": metadata}, manager)
    elif live["spec"] != manifest["spec"] or named != owners:
        metadata = {**live["metadata"], "ownerReferences": owners}
        member.write({**live, "metadata": metadata, "spec": manifest["spec"]}, manager)


def is_there(store: Store, place: Place) -> bool:
    """Return whether a server has an object."""
    try:
        store.get(place)
    except Refused:
        return False
    return True
