"""Where a view leads to: addresses of the served page, anchors of a report, or nowhere."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlencode

from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text that leads somewhere; an `href` of `""` leads nowhere, then it is text only."""

    text: str
    href: str = ""


class Links:
    """Leads nowhere: the links of a page that stands by itself."""

    def view(self, name: str, /, **query: str | int) -> str:  # noqa: ARG002  # those below use it
        """Return where a view is, `""` for nowhere."""
        return ""

    def object(self, key: ObjectKey) -> str:  # noqa: ARG002  # those below use it
        """Return where the view of an object is, `""` for nowhere."""
        return ""

    def ask(self, verb: str, key: ObjectKey) -> str:
        """Return where what a verb would do with an object is composed, `""` for nowhere."""
        return self.view(
            verb, group=key.group, kind=key.kind, namespace=key.namespace, name=key.name
        )

    def part(self, name: str, part: str) -> str:
        """Return where a part of a view is, `""` for nowhere."""
        found = self.view(name)
        return f"{found.partition('#')[0]}#{part}" if found else ""

    def manifest(self, key: ObjectKey, at: str = "") -> str:
        """Return where the texts of an object are, as they were in a commit; `""` for nowhere."""
        return self.view(
            "manifest",
            group=key.group,
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            at=at,
        )

    def cluster(self, key: ObjectKey) -> str:
        """Return where the view of a cluster is, `""` for nowhere."""
        return self.view("cluster", kind=key.kind, name=key.name)


class ServedLinks(Links):
    """Leads to the addresses of the served page: all of its views stand beside each other."""

    def view(self, name: str, /, **query: str | int) -> str:
        """Return the address of a view; parts of the query that are empty are left out."""
        given = {key: value for key, value in query.items() if value not in ("", 0)}
        path = "./" if name == "fleet" else name
        return f"{path}?{urlencode(given)}" if given else path

    def object(self, key: ObjectKey) -> str:
        """Return the address of an object's view."""
        return self.ask("object", key)


@dataclass(frozen=True, slots=True)
class ReportLinks(Links):
    """Leads to the parts of one file: its views, and the objects that it tells of."""

    views: Collection[str]
    objects: Collection[ObjectKey] = field(default=())

    def view(self, name: str, /, **query: str | int) -> str:
        """Return the anchor of a view; a report has no pages and no filters."""
        return f"#{name}" if name in self.views and not query else ""

    def object(self, key: ObjectKey) -> str:
        """Return the anchor of an object."""
        return f"#{anchor_of(key)}" if key in self.objects else ""


def anchor_of(key: ObjectKey) -> str:
    """Return the id of an object's part of a report; names may hold anything."""
    return f"object-{hashlib.sha256(str(key).encode()).hexdigest()[:12]}"
