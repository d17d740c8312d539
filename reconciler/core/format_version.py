"""Which version of the format a repository has: of its configuration, and of what passes record.

The number goes up when a release could misread what an older one wrote, or the reverse.
"""

from collections.abc import Mapping

from reconciler.manifests.paths import RECORD
from reconciler.model.body import Body
from reconciler.model.message_text import shown

FORMAT_VERSION = 1
API_VERSION = "reconciler.dev/v1alpha1"


def newer_format(body: Body) -> str:
    """Return what in a document of ours is newer than what is known here, `""` if nothing is.

    The document was not validated. Without a number it is of the first version, or older. A person
    may have mistyped the version of the API of the configuration, which is a fault like others.
    """
    api_version = str(body.get("apiVersion"))
    if not api_version.startswith(f"{RECORD.group}/"):
        return ""
    if body.get("kind") == RECORD.kind and api_version != API_VERSION:
        return f"apiVersion {shown(api_version)}, and this release knows {API_VERSION}"
    status = body.get("status")
    for part in (body, status if isinstance(status, Mapping) else {}):
        number = part.get("formatVersion")
        if isinstance(number, int) and number > FORMAT_VERSION:
            return f"formatVersion {number}, and this release knows {FORMAT_VERSION}"
    return ""
