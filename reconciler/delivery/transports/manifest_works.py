"""What any API decides as objects of the one whose agents read them, in the words of that one."""

from reconciler.delivery.settings import Destination
from reconciler.delivery.transports.transport import Files, Transport
from reconciler.delivery.transports.works import owner_folder, places_of
from reconciler.dialects.renderer import Rendered, Wraps
from reconciler.model.content import at
from reconciler.model.fields import text
from reconciler.model.identity import ObjectKey

NAME = "manifestworks"


def _files(owner: ObjectKey, rendered: Rendered, destination: Destination, wraps: Wraps) -> Files:
    wrap = wraps[NAME]
    for work in rendered.works:
        body = wrap(owner, work)
        folder = owner_folder(destination, work.cluster, owner)
        yield f"{folder}/{text(at(body, 'metadata'), 'name')}.yaml", body


MANIFEST_WORKS = Transport(name=NAME, files=_files, places=places_of)
