"""What stands in the status file of a set about its ManifestWorks: no content, but which template.

An annotation a cluster, such as `work.reconciler.dev/a: shop 0f3c55d2a1b4 2026-11-20T12:00:00Z`:
for which placement it has a work, of which template, since when. What plain reports said of it may
follow: by what they were known when the cluster got the template, `-` if there were none, and since
when which condition is what, as in `Progressing=False@2026-11-20T12:05:00Z`. One a template says
which objects are in it, so that delivery knows what is on a cluster that is still to get the
present one. One that was adopted from a hub and is not the present one says in which git blob it
stands, so that delivery knows it whole.

Source: ours; upstream looks at the ManifestWorks themselves.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    comparable_spec,
    manifests_of,
)
from reconciler.manifests.admission import digest
from reconciler.manifests.scope import namespace_for
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.known_kinds import Kind
from reconciler.model.moments import format_moment, parse_moment

WORK_OF = "work.reconciler.dev/"
TEMPLATE_OF = "template.reconciler.dev/"
CONTENT_OF = "content.reconciler.dev/"
TEMPLATE = "reconciler.dev/template"
"""Annotation of a ManifestWork that says of which template it is, so that its report does, too."""
BLOB = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
TOKEN = 12  # hexadecimal digits of a digest
NOTHING_SEEN = "-"
NAMED = "named="
LONGEST_STEM = 50  # beside the token, in a name that fits into a label


@dataclass(frozen=True, slots=True, order=True)
class ObservedCondition:
    """A condition that follows from plain reports: its type, its status, since when."""

    kind: str
    status: str
    since: datetime


@dataclass(frozen=True, slots=True, order=True)
class WorkRecord:
    """A ManifestWork of a set: of the cluster, for the placement, of the template, since when.

    Attributes:
        cluster: Where it is.
        placement: Why.
        template: By what its template is known.
        since: When the cluster got that.
        seen: By what the plain reports were known then, `""` if there were none.
        observed: What plain reports have said since.
        adopted_name: Its name if it came from a hub, `""` if it has the one that we give.
    """

    cluster: ClusterName
    placement: str
    template: str
    since: datetime
    seen: str = ""
    observed: tuple[ObservedCondition, ...] = ()
    adopted_name: str = ""

    def name(self, owner: ObjectKey) -> str:
        """Return the name of the work, which stays while the cluster has one for the placement.

        Args:
            owner: The set.
        """
        return self.adopted_name or work_name(owner, self.placement, self.cluster)


@dataclass(frozen=True, slots=True)
class SetRecord:
    """The works of a set, sorted, and what is in each of their templates.

    `contents` are the git blobs of templates that came from a hub.
    """

    works: tuple[WorkRecord, ...] = ()
    templates: Mapping[str, tuple[ObjectKey, ...]] | None = None
    contents: Mapping[str, str] = field(default_factory=dict)

    def sources(self, template: str) -> tuple[ObjectKey, ...]:
        """Return the objects of a template, none if that is not known."""
        return (self.templates or {}).get(template, ())


def template_id(template: Body) -> str:
    """Return by what a template is known."""
    return digest(comparable_spec(template)).removeprefix("sha256:")[:TOKEN]


def work_name(owner: ObjectKey, placement: str, cluster: ClusterName) -> str:
    """Return the name of the work of a set for one cluster; upstream has one drawn."""
    token = digest([str(owner), placement, cluster]).removeprefix("sha256:")[:TOKEN]
    return f"{owner.name[:LONGEST_STEM].rstrip('-.')}-{token}"


def sources_of(template: Body, scopes: Mapping[Kind, bool]) -> tuple[ObjectKey, ...]:
    """Return the objects of a template, in order."""
    return tuple(_source(one, scopes) for one in manifests_of(template))


def _source(manifest: Body, scopes: Mapping[Kind, bool]) -> ObjectKey:
    metadata, group = mapping(manifest, "metadata"), group_of(text(manifest, "apiVersion"))
    kind = text(manifest, "kind")
    namespace = namespace_for(group, kind, text(metadata, "namespace"), scopes)
    return ObjectKey(group, kind, namespace, text(metadata, "name"))


def decode_record(status_file: Body | None) -> SetRecord:
    """Read a record back; what a person spoiled counts as missing."""
    annotations = mapping(mapping(status_file or {}, "metadata"), "annotations")
    works: list[WorkRecord] = []
    templates = {}
    contents: dict[str, str] = {}
    for name, written in annotations.items():
        if name.startswith(WORK_OF):
            works += _works(ClusterName(name.removeprefix(WORK_OF)), str(written))
        elif name.startswith(TEMPLATE_OF):
            templates[name.removeprefix(TEMPLATE_OF)] = _sources(str(written))
        elif name.startswith(CONTENT_OF) and BLOB.fullmatch(str(written)):
            contents[name.removeprefix(CONTENT_OF)] = str(written)
    return SetRecord(tuple(sorted(works)), templates, contents)


def _works(cluster: ClusterName, written: str) -> Iterable[WorkRecord]:
    for part in written.split("; "):
        words = part.split(" ")
        named = [word.removeprefix(NAMED) for word in words if word.startswith(NAMED)]
        match [word for word in words if not word.startswith(NAMED)]:
            case [placement, template, since, *rest]:
                seen, told = (rest[0], rest[1:]) if rest else (NOTHING_SEEN, [])
            case _:
                continue
        try:
            observed = tuple(map(_observed, told))
            yield WorkRecord(
                cluster,
                placement,
                template,
                parse_moment(since),
                "" if seen == NOTHING_SEEN else seen,
                observed,
                named[0] if named else "",
            )
        except ValueError:
            continue


def _observed(written: str) -> ObservedCondition:
    """Read a condition back.

    Raises:
        ValueError: A person spoiled it.
    """
    condition, _, since = written.partition("@")
    kind, _, status = condition.partition("=")
    return ObservedCondition(kind, status, parse_moment(since))


def _written(one: WorkRecord) -> str:
    words = [one.placement, one.template, format_moment(one.since)]
    if one.seen or one.observed:
        words += [one.seen or NOTHING_SEEN]
        words += [f"{c.kind}={c.status}@{format_moment(c.since)}" for c in one.observed]
    return " ".join([*words, f"{NAMED}{one.adopted_name}"] if one.adopted_name else words)


def _sources(written: str) -> tuple[ObjectKey, ...]:
    try:
        found = json.loads(written)
    except ValueError:
        return ()
    listed = found if isinstance(found, list) else []
    return tuple(
        ObjectKey(*cast("list[str]", one))
        for one in listed
        if isinstance(one, list) and len(one) == 4 and all(isinstance(w, str) for w in one)
    )


def record_annotations(record: SetRecord) -> dict[str, str]:
    """Return the annotations that say it."""
    by_cluster: dict[str, list[str]] = {}
    for one in record.works:
        by_cluster.setdefault(f"{WORK_OF}{one.cluster}", []).append(_written(one))
    annotations = {name: "; ".join(told) for name, told in by_cluster.items()}
    for template in sorted({one.template for one in record.works}):
        found = [[k.group, k.kind, k.namespace, k.name] for k in record.sources(template)]
        annotations[f"{TEMPLATE_OF}{template}"] = json.dumps(found)
        if template in record.contents:
            annotations[f"{CONTENT_OF}{template}"] = record.contents[template]
    return annotations


def clusters_of(record: SetRecord) -> Placed:
    """Return the clusters of a record; there are no replicas."""
    return tuple((name, 0) for name in sorted({one.cluster for one in record.works}))
