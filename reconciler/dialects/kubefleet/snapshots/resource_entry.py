"""An entry of a resource snapshot: which object it is for."""

from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, group_of


def resource_key(entry: Body) -> ObjectKey:
    """Return the object that an entry of a snapshot is for."""
    metadata, group = mapping(entry, "metadata"), group_of(text(entry, "apiVersion"))
    named = text(metadata, "namespace"), text(metadata, "name")
    return ObjectKey(group, text(entry, "kind"), *named)
