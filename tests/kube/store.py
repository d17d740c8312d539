"""What an API server keeps: objects with uids, finalizers and owners, and who set which field."""

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from reconciler.model.body import Body

Path = tuple[str, ...]
IDENTITY = {
    ("apiVersion",),
    ("kind",),
    *(("metadata", name) for name in ("name", "namespace", "uid", "managedFields")),
    *(("metadata", name) for name in ("resourceVersion", "generation", "creationTimestamp")),
}
"""What nobody owns."""


@dataclass(frozen=True, order=True)
class Manager:
    """Who writes, and whether by server-side apply: the same name is two managers then."""

    name: str
    applies: bool = False


Owners = MutableMapping[Path, set[Manager]]


def fields(body: Body, above: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the fields of an object that can be owned, with their values."""
    for name, value in body.items():
        path = (*above, name)
        if path in IDENTITY or path == ("status",):
            continue
        if isinstance(value, Mapping) and value:
            yield from fields(value, path)
        else:
            yield path, value


def conflicts(live: Body, wanted: Body, owners: Owners, manager: Manager) -> list[str]:
    """Return the fields that somebody else has set to another value, with who it was."""
    present = dict(fields(live))
    return [
        f"{'.'.join(path)} of {other.name}"
        for path, value in fields(wanted)
        for other in sorted(owners.get(path, set()) - {manager})
        if path in present and present[path] != value
    ]


def applied(live: Body, wanted: Body, owners: Owners, manager: Manager) -> dict[str, object]:
    """Return an object after a server-side apply that takes over what others have set otherwise.

    What the manager applied before and does not any more goes, unless somebody else has it, too.
    """
    present, asked = dict(fields(live)), dict(fields(wanted))
    body = _copied(live)
    for path, value in asked.items():
        others = owners.setdefault(path, set())
        if present.get(path) != value:
            others.clear()
        others.add(manager)
        _put(body, path, value)
    for path in [path for path, named in owners.items() if manager in named and path not in asked]:
        owners[path].discard(manager)
        if not owners[path]:
            del owners[path]
            _take(body, path)
    return body


def updated(live: Body, body: Body, owners: Owners, manager: Manager) -> None:
    """Note who has what after a whole object was written: what changed is the writer's alone."""
    before, after = dict(fields(live)), dict(fields(body))
    for path, value in after.items():
        if before.get(path) != value:
            owners[path] = {manager}
    for path in before.keys() - after.keys():
        owners.pop(path, None)


def owned_fields(owners: Owners, manager: Manager) -> Body:
    """Return what a manager has set, as Kubernetes writes it."""
    found: dict[str, object] = {}
    for path in sorted(path for path, named in owners.items() if manager in named):
        _put(found, tuple(f"f:{name}" for name in path), {})
    return found


def _copied(value: Body) -> dict[str, object]:
    return {k: _copied(v) if isinstance(v, Mapping) else v for k, v in value.items()}


def _put(body: dict[str, object], path: Path, value: object) -> None:
    *above, last = path
    for name in above:
        below = body.get(name)
        if not isinstance(below, dict):
            below = body[name] = {}
        body = below
    if value == {} and isinstance(body.get(last), dict):
        return  # an empty mapping takes nothing away
    body[last] = value


def _take(body: dict[str, object], path: Path) -> None:
    *above, last = path
    for name in above:
        below = body.get(name)
        if not isinstance(below, dict):
            return
        body = below
    body.pop(last, None)


Stored = dict[str, object]
NOW = "2026-11-22T09:00:00Z"


@dataclass(frozen=True, order=True)
class Resource:
    """A kind that is served."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Group and version, as objects say it."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, order=True)
class Place:
    """Which object: its resource, namespace and name."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        scope = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {scope}{self.name}"


class Refused(Exception):  # what the server says, with its status
    """An answer that is no success."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        """Keep what is told."""
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


@dataclass
class Store:
    """The objects of one API server.

    Attributes:
        name: Of the server, so that uids of two differ.
        resources: What it serves.
        log: What was created and deleted, in order: `created Deployment default/web`.
        watched: Who reacts to each request that wrote something, before it is answered.
    """

    name: str
    resources: tuple[Resource, ...]
    log: list[str] = field(default_factory=list)
    watched: Callable[[], None] = lambda: None
    lock: RLock = field(default_factory=RLock)
    _objects: dict[Place, Stored] = field(default_factory=dict)
    _owners: dict[Place, Owners] = field(default_factory=dict)
    _status_owners: dict[Place, Owners] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def resource(self, kind: str, group: str | None = None) -> Resource:
        """Return what is served of a kind."""
        return next(r for r in self.resources if r.kind == kind and group in (None, r.group))

    def get(self, place: Place) -> Stored:
        """Return a copy of an object."""
        found = self._objects.get(place)
        if found is None:
            plural = place.resource.plural
            raise Refused(404, "NotFound", f'{plural} "{place.name}" not found')
        return copy.deepcopy(found)

    def listed(self, resource: Resource, namespace: str = "") -> list[Stored]:
        """Return copies of the objects of a resource, sorted."""
        found = sorted(place for place in self._objects if place.resource == resource)
        return [self.get(place) for place in found if namespace in ("", place.namespace)]

    def all(self, kind: str, group: str | None = None) -> list[Stored]:
        """Return copies of the objects of a kind, sorted."""
        return self.listed(self.resource(kind, group))

    def place_of(self, body: Body) -> Place:
        """Return where an object belongs."""
        metadata = body["metadata"]
        assert isinstance(metadata, Mapping)
        resource = next(
            r
            for r in self.resources
            if (r.api_version, r.kind) == (body["apiVersion"], body["kind"])
        )
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        return Place(resource, namespace, metadata["name"])

    def write(self, body: Body, manager: str, expected: str = "") -> Stored:
        """Create an object, or replace it.

        Args:
            body: All of it.
            manager: Who writes.
            expected: The resourceVersion that is replaced, `""` for any.
        """
        place = self.place_of(body)
        live = self._objects.get(place)
        if live is not None and expected and _metadata(live)["resourceVersion"] != expected:
            raise Refused(409, "Conflict", "the object has been modified")
        owners = self._owners.setdefault(place, {})
        updated(live or {}, body, owners, Manager(manager))
        return self._keep(place, copy.deepcopy(dict(body)))

    def apply(self, body: Body, manager: str, *, force: bool) -> Stored:
        """Apply an object as server-side apply does."""
        place = self.place_of(body)
        if "uid" in _metadata(body) and place not in self._objects:
            raise Refused(409, "Conflict", "uid is a precondition, and there is no such object")
        live, who = self._objects.get(place, {}), Manager(manager, applies=True)
        owners = self._owners.setdefault(place, {})
        found = conflicts(live, body, owners, who)
        if found and not force:
            raise Refused(409, "Conflict", f"Apply failed with conflicts: {', '.join(found)}")
        named = {"name": place.name, **({"namespace": place.namespace} if place.namespace else {})}
        bare = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": named}
        return self._keep(place, applied(live or bare, body, owners, who))

    def apply_status(self, body: Body, manager: str, *, force: bool) -> Stored:
        """Apply the status of an object that is there, as a subresource; nothing else of it."""
        place = self.place_of(body)
        live, who = self.get(place), Manager(manager, applies=True)
        present, wanted = ({"s": one.get("status", {})} for one in (live, body))
        owners = self._status_owners.setdefault(place, {})
        found = conflicts(present, wanted, owners, who)
        if found and not force:
            raise Refused(409, "Conflict", f"Apply failed with conflicts: {', '.join(found)}")
        return self._keep(place, {**live, "status": applied(present, wanted, owners, who)["s"]})

    def merge(self, place: Place, patch: Body, manager: str) -> Stored:
        """Patch an object by a JSON merge patch."""
        live = self.get(place)
        return self.write(_merged(live, patch), manager)

    def delete(self, place: Place, propagation: str = "Background") -> Stored:
        """Delete an object, once its finalizers are gone, with what it owns or without.

        Args:
            place: Which.
            propagation: `Orphan` takes the owner off what it owns; all else deletes that, too.
        """
        body = self.get(place)
        uid = str(_metadata(body)["uid"])
        if propagation == "Orphan":
            self._disown(uid)
        _metadata(body)["deletionTimestamp"] = NOW
        self._objects[place] = body
        self._end(place)
        return body

    def _keep(self, place: Place, body: Stored) -> Stored:
        """Keep an object with what a server makes of it."""
        live = self._objects.get(place)
        metadata = {**_metadata(body)}
        body["metadata"] = metadata
        if live is None:
            self.log.append(f"created {place}")
            made = str(uuid5(NAMESPACE_URL, f"{self.name} {place} {next(self._numbers)}"))
            metadata.setdefault("uid", made)
            metadata.setdefault("generation", 1)
            metadata.setdefault("creationTimestamp", NOW)
        else:
            before = _metadata(live)
            metadata |= {name: before[name] for name in ("uid", "creationTimestamp")}
            grown = body.get("spec") != live.get("spec")
            metadata["generation"] = int(str(before["generation"])) + grown
            if "deletionTimestamp" in before:
                metadata["deletionTimestamp"] = before["deletionTimestamp"]
        metadata["resourceVersion"] = str(next(self._numbers))
        metadata["managedFields"] = self._managed(place)
        self._objects[place] = body
        self._end(place)
        return copy.deepcopy(body)

    def _managed(self, place: Place) -> list[object]:
        """Return who has set which fields."""
        owners = self._owners[place]
        return [
            {
                "manager": one.name,
                "operation": "Apply" if one.applies else "Update",
                "apiVersion": place.resource.api_version,
                "time": NOW,
                "fieldsType": "FieldsV1",
                "fieldsV1": owned_fields(owners, one),
            }
            for one in sorted({one for named in owners.values() for one in named})
        ]

    def _end(self, place: Place) -> None:
        """Remove an object that is being deleted and has no finalizer left, with what it owns."""
        metadata = _metadata(self._objects[place])
        if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
            return
        del self._objects[place]
        self._owners.pop(place, None)
        self.log.append(f"deleted {place}")
        self._collect()

    def _collect(self) -> None:
        """Delete what had owners that are all gone, and take off those that are."""
        there = {_metadata(body)["uid"] for body in self._objects.values()}
        for place, body in list(self._objects.items()):
            named = _references(body)
            kept = [one for one in named if one["uid"] in there]
            if named and not kept and place in self._objects:
                self.delete(place)
            elif len(kept) != len(named):
                _metadata(body)["ownerReferences"] = kept

    def _disown(self, uid: str) -> None:
        """Take an owner off everything."""
        for body in self._objects.values():
            named = _references(body)
            if any(one["uid"] == uid for one in named):
                kept = [one for one in named if one["uid"] != uid]
                _metadata(body)["ownerReferences"] = kept


def _metadata(body: Mapping[str, object]) -> dict[str, object]:
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def _references(body: Mapping[str, object]) -> list[dict[str, object]]:
    found = _metadata(body).get("ownerReferences") or []
    assert isinstance(found, list)
    return found


def _merged(live: Mapping[str, object], patch: Mapping[str, object]) -> Stored:
    """Return an object after a JSON merge patch: null removes, lists are replaced."""
    body = dict(live)
    for name, value in patch.items():
        present = body.get(name)
        if value is None:
            body.pop(name, None)
        elif isinstance(value, Mapping):
            body[name] = _merged(present if isinstance(present, Mapping) else {}, value)
        else:
            body[name] = value
    return body


DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
KARMADA = (
    DEPLOYMENT,
    Resource("cluster.karmada.io", "v1alpha1", "Cluster", "clusters", namespaced=False),
    Resource("policy.karmada.io", "v1alpha1", "PropagationPolicy", "propagationpolicies"),
    Resource("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings"),
    Resource("work.karmada.io", "v1alpha1", "Work", "works"),
)
OCM_GROUP = "cluster.open-cluster-management.io"
OCM_WORK = "work.open-cluster-management.io"
OCM = (
    DEPLOYMENT,
    Resource(OCM_GROUP, "v1", "ManagedCluster", "managedclusters", namespaced=False),
    Resource(OCM_GROUP, "v1beta2", "ManagedClusterSet", "managedclustersets", namespaced=False),
    Resource(OCM_GROUP, "v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings"),
    Resource(OCM_GROUP, "v1beta1", "Placement", "placements"),
    Resource(OCM_GROUP, "v1beta1", "PlacementDecision", "placementdecisions"),
    Resource(OCM_WORK, "v1", "ManifestWork", "manifestworks"),
    Resource(OCM_WORK, "v1alpha1", "ManifestWorkReplicaSet", "manifestworkreplicasets"),
)
OCM_MEMBER = (
    DEPLOYMENT,
    Resource(OCM_WORK, "v1", "AppliedManifestWork", "appliedmanifestworks", namespaced=False),
)
FLEET = "placement.kubernetes-fleet.io"
WHOLE = (
    "ClusterResourceBinding",
    "ClusterResourcePlacement",
    "ClusterResourceSnapshot",
    "ClusterSchedulingPolicySnapshot",
)
CLUSTERS = "cluster.kubernetes-fleet.io"
KUBEFLEET = (
    DEPLOYMENT,
    Resource(CLUSTERS, "v1beta1", "MemberCluster", "memberclusters", namespaced=False),
    Resource(FLEET, "v1beta1", "Work", "works"),
    *(Resource(FLEET, "v1beta1", kind, f"{kind.lower()}s", namespaced=False) for kind in WHOLE),
)
KUBEFLEET_MEMBER = (
    DEPLOYMENT,
    Resource(FLEET, "v1beta1", "AppliedWork", "appliedworks", namespaced=False),
)


def filled(name: str, resources: tuple[Resource, ...], bodies: Iterable[Body]) -> Store:
    """Return an API server that has some objects, with the uids that they have."""
    store = Store(name, resources)
    for body in bodies:
        store.write(body, "kubectl")
    return store


def wants_replicas(store: Store, namespace: str, name: str) -> bool:
    """Return whether a Deployment is to run."""
    for one in store.all("Deployment"):
        metadata, spec = one["metadata"], one["spec"]
        assert isinstance(metadata, dict)
        assert isinstance(spec, dict)
        if (metadata["namespace"], metadata["name"]) == (namespace, name):
            return bool(spec.get("replicas", 1))
    return False


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
