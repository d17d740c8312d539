"""ClusterProfile: a cluster of an inventory, as its manager describes it to any tool.

A profile is a cluster for every API that has none of its own: one more language of the projection,
which no API schedules in. What it says in fields and in properties of stated names becomes facts;
what it does not say is not limited. Its namespace is the inventory, and belongs to a ClusterSet by
a label of the Namespace.

Several managers may describe one member cluster, each in a profile of its own. The label
`inventory-member-id`, or else the name, says that these are one. They are joined field by field:
what the first of them says counts, in the order of namespace and name, and where two contradict
each other that is told. The name of the first is that of the cluster.

Source: cluster-inventory-api@8375ac2 apis/v1alpha1/clusterprofile_types.go, and v0.2.0
apis/v1alpha2/clusterprofile_types.go.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from reconciler.manifests.columns import FILE, ColumnTable, if_reported, label, printed
from reconciler.manifests.columns import condition as column_of
from reconciler.manifests.references import Dangling
from reconciler.manifests.schemas.violations import Violation
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.kinds import ApiKind, Kind, Writer
from reconciler.model.labels import is_label_key, is_label_value, labels_of
from reconciler.model.quantity import parse_quantity
from reconciler.model.records import dataclass
from reconciler.model.settings import Settings
from reconciler.model.text import LABEL_RULE, bounded, is_label, shown
from reconciler.model.world import Manifest
from reconciler.projection.project import (
    APIS,
    CLAIMS,
    CLUSTER_SET,
    EVERY_API,
    METADATA,
    NODES,
    PROVIDER,
    READINESS,
    REGION,
    ROOM,
    VERSION,
    ZONES,
    Amounts,
    ClusterReadiness,
    FactRow,
    Language,
    Room,
    condition,
    label_of,
    project,
    readiness_by,
    region_by_label,
    status_of,
    zones_by_label,
)

GROUP = "multicluster.x-k8s.io"
CLUSTER_PROFILE: Kind = (GROUP, "ClusterProfile")
CLUSTER_PROFILE_KIND = ApiKind(
    group=CLUSTER_PROFILE[0],
    kind=CLUSTER_PROFILE[1],
    namespaced=True,
    writer=Writer.BOTH,
    short=("cp",),
    shares_group=True,
)

MANAGER_LABEL = "x-k8s.io/cluster-manager"
MEMBER_LABEL = f"{GROUP}/inventory-member-id"
SET_LABEL = f"{GROUP}/clusterset"
HEALTHY, JOINED = "ControlPlaneHealthy", "Joined"
WORST_FIRST = ("False", "Unknown", "True")

REGIONS = ("topology.kubernetes.io/region", "region.open-cluster-management.io")
ZONE = "topology.kubernetes.io/zone"
PLATFORM = "platform.open-cluster-management.io"
KUBERNETES = "kubeversion.open-cluster-management.io"
NODE_COUNT = "kubernetes-fleet.io/node-count"
AMOUNTS: Mapping[str, str] = {
    "capacity": "resources.kubernetes-fleet.io/total-",
    "allocatable": "resources.kubernetes-fleet.io/allocatable-",
    "available": "resources.kubernetes-fleet.io/available-",
}
"""How the names of properties begin that say what a cluster can give away, by the part of it."""

OF_FACTS = frozenset({*REGIONS, ZONE, PLATFORM, KUBERNETES, NODE_COUNT})


def _is_of_fact(name: str) -> bool:
    """Return whether a property says what is a fact of its own."""
    return name in OF_FACTS or name.startswith(tuple(AMOUNTS.values()))


def _properties(body: Body) -> Mapping[str, str]:
    """Return the properties of a profile."""
    listed = fields.bodies(status_of(body), "properties")
    return {fields.text(one, "name"): fields.text(one, "value") for one in listed}


def _with_properties(properties: Mapping[str, str]) -> Body:
    listed = [{"name": name, "value": value} for name, value in properties.items() if value]
    return {"status": {"properties": listed}} if listed else {}


def _first_of(body: Body, names: Iterable[str]) -> str | None:
    known = _properties(body)
    return next((known[name] for name in names if name in known), None)


def _readiness(body: Body) -> ClusterReadiness | None:
    """Return whether the control plane is healthy; a cluster that has not joined is not.

    What is Unknown, or not there at all, is left to the API that reads it, which knows what silence
    means there.
    """
    conditions = fields.bodies(status_of(body), "conditions")
    joined, healthy = readiness_by(conditions, JOINED), readiness_by(conditions, HEALTHY)
    verdicts = [one for one in (healthy, joined) if one is not None and one.status in WORST_FIRST]
    if joined is not None and joined.status == "True":
        verdicts = [one for one in verdicts if one is not joined]
    return min(verdicts, key=lambda one: WORST_FIRST.index(one.status), default=None)


def _conditions(one: ClusterReadiness) -> Body:
    joined = ClusterReadiness("True", one.since, "", "")
    return {"status": {"conditions": [condition(HEALTHY, one), condition(JOINED, joined)]}}


def _zones(body: Body) -> tuple[str, ...] | None:
    written = _properties(body).get(ZONE, "")
    return tuple(filter(None, map(str.strip, written.split(",")))) or zones_by_label(body)


def _nodes(body: Body) -> int | None:
    text = _properties(body).get(NODE_COUNT, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def _is_amount(text: str) -> bool:
    try:
        amount = parse_quantity(text)
    except ValueError:
        return False
    return 0 <= amount <= MOST


MOST = parse_quantity(str(2**63 - 1))  # that Kubernetes counts to


def _amounts(known: Mapping[str, str], part: str) -> Amounts | None:
    """Return the amounts of a part of the room; what is none is not said."""
    beginning = AMOUNTS[part]
    amounts = {
        name.removeprefix(beginning): value
        for name, value in known.items()
        if name.startswith(beginning) and _is_amount(value)
    }
    return amounts or None


def _room(body: Body) -> Room | None:
    known = _properties(body)
    capacity, allocatable = _amounts(known, "capacity"), _amounts(known, "allocatable")
    given = capacity if allocatable is None else allocatable
    return None if given is None else Room(capacity, given, _amounts(known, "available"))


def _with_room(room: Room) -> Body:
    return _with_properties(
        {
            f"{AMOUNTS[part]}{name}": amount
            for part, listed in zip(Room._fields, room, strict=True)
            for name, amount in sorted((listed or {}).items())
        }
    )


def _others(body: Body) -> Mapping[str, str] | None:
    known = _properties(body).items()
    return {name: value for name, value in known if not _is_of_fact(name)} or None


def _version(body: Body) -> str | None:
    version = fields.text(fields.mapping(status_of(body), "version"), "kubernetes")
    return version or _properties(body).get(KUBERNETES)


PROFILES = Language(
    name="ClusterProfile",
    kind=CLUSTER_PROFILE,
    api_version=f"{GROUP}/v1alpha1",
    bare={"spec": {"clusterManager": {"name": "projected"}}},
    well=_conditions(ClusterReadiness("True", "", "Declared", "it is declared")),
    rows=(
        FactRow(
            REGION,
            f"property {REGIONS[0]}",
            lambda body: _first_of(body, REGIONS) or region_by_label(body),
            lambda one: _with_properties({REGIONS[0]: one}),
            f"{REGIONS[1]} and the label are read where it is not there.",
        ),
        FactRow(
            ZONES,
            f"property {ZONE}",
            _zones,
            lambda zones: _with_properties({ZONE: ",".join(zones)}),
            "several are separated by commas; without it the label of that name is read.",
        ),
        FactRow(
            PROVIDER,
            f"property {PLATFORM}",
            lambda body: _first_of(body, (PLATFORM,)),
            lambda one: _with_properties({PLATFORM: one}),
        ),
        FactRow(
            READINESS,
            f"status.conditions, {HEALTHY} and {JOINED}",
            _readiness,
            _conditions,
            "one that has not joined is not ready; without both each API judges as it judges "
            "silence.",
        ),
        FactRow(
            ROOM,
            ", ".join(f"properties {beginning}RESOURCE" for beginning in AMOUNTS.values()),
            _room,
            _with_room,
            "a resource that is not named has no limit.",
        ),
        FactRow(
            NODES,
            f"property {NODE_COUNT}",
            _nodes,
            lambda one: _with_properties({NODE_COUNT: str(one)}),
        ),
        FactRow(
            CLAIMS,
            "status.properties",
            _others,
            lambda claims: _with_properties(dict(sorted(claims.items()))),
        ),
        FactRow(
            APIS,
            "not told",
            lambda body: EVERY_API if status_of(body) else None,
            None,
            "every API counts as enabled.",
        ),
        FactRow(
            VERSION,
            "status.version.kubernetes",
            _version,
            lambda one: {"status": {"version": {"kubernetes": one}}},
        ),
        FactRow(
            CLUSTER_SET,
            f"label {SET_LABEL} of the Namespace",
            lambda body: label_of(body, SET_LABEL) or None,
            None,
            "all profiles of the namespace are in the set.",
        ),
        *METADATA,
    ),
    alone=(
        ("name for people", "spec.displayName"),
        ("manager", "spec.clusterManager"),
        ("ways to reach it", "status.accessProviders"),
        ("when a property was seen", "status.properties, lastObservedTime"),
    ),
)


def manager_of(body: Body) -> str:
    """Return the name of the manager whose profile it is."""
    return fields.text(fields.at(body, "spec", "clusterManager"), "name")


@dataclass(frozen=True, slots=True)
class MemberProfiles:
    """One member cluster: its profiles in order, the first of which names it."""

    profiles: tuple[Manifest, ...]

    @property
    def name(self) -> str:
        """Of the cluster."""
        return self.profiles[0].key.name


@dataclass(frozen=True, slots=True)
class Inventory:
    """The members of all inventories, sorted by name, and what their profiles contradict in."""

    members: tuple[MemberProfiles, ...]
    contradictions: tuple[Dangling, ...]


def inventory_of(profiles: Iterable[Manifest], manager: str = "") -> Inventory:
    """Return which profiles are of one member.

    Args:
        profiles: What people and managers wrote, sorted by key.
        manager: The name under which we publish profiles; these are never input.
    """
    wrong: list[Dangling] = []
    by_name: dict[str, list[Manifest]] = {}
    for profile in profiles:
        name, member = profile.key.name, member_id(profile)
        if (manager and manager_of(profile.body) == manager) or not is_label(name):
            continue
        namesakes = by_name.setdefault(name, [])
        other = next((one for one in namesakes if member_id(one)), None)
        if member and other is not None and member != member_id(other):
            wrong.append(_clash(profile, other))
        else:
            namesakes.append(profile)
    grouped: list[list[Manifest]] = []
    by_id: dict[str, list[Manifest]] = {}
    for namesakes in by_name.values():
        named = next((one for one in namesakes if member_id(one)), None)
        known = None if named is None else by_id.get(member_id(named))
        if named is None or known is None:
            grouped.append(namesakes)
            by_id |= {} if named is None else {member_id(named): namesakes}
        elif _inventories(known) & _inventories(namesakes):
            grouped.append(namesakes)
            wrong.append(_two_members(named, known))
        else:
            known += namesakes
    for listed in grouped:
        listed.sort(key=lambda one: one.key)
        wrong += (
            found
            for i, other in enumerate(listed)
            for one in listed[:i]
            for found in _contradictions(one, other)
        )
    members = (MemberProfiles(tuple(listed)) for listed in grouped)
    return Inventory(tuple(sorted(members, key=lambda one: one.name)), tuple(wrong))


def member_id(profile: Manifest) -> str:
    """Return the id by which managers know a member cluster, `""` if the profile has none."""
    return label_of(profile.body, MEMBER_LABEL)


def access_to(profile: Manifest, provider: str) -> Body | None:
    """Return how an API server is reached by an access provider, as kubeconfigs have it.

    `None` where the profile names no such provider. Nothing of it says who we are.
    """
    for way in fields.bodies(status_of(profile.body), "accessProviders"):
        if way.get("name") == provider:
            return fields.mapping(way, "cluster")
    return None


def _inventories(profiles: Iterable[Manifest]) -> set[tuple[str, str]]:
    """Return the inventories of profiles: each of them lists a member once."""
    return {(one.key.namespace, manager_of(one.body)) for one in profiles}


CONTRADICTION = "profile-contradiction"


def _clash(profile: Manifest, first: Manifest) -> Dangling:
    return Dangling(
        profile.key,
        "/metadata/name",
        CONTRADICTION,
        f"{first.key.plain} has the same name and is another member, so this one is not taken",
        "a name that no other member has, or the same member id",
    )


def _two_members(profile: Manifest, known: Sequence[Manifest]) -> Dangling:
    other = next(one for one in known if member_id(one))
    return Dangling(
        profile.key,
        f"/metadata/labels/{MEMBER_LABEL.replace('/', '~1')}",
        CONTRADICTION,
        f"the member id is that of {other.key.plain}, yet one manager lists both as clusters of "
        "their own, so they are taken as two",
        "the id of the member that it describes",
    )


def _contradictions(one: Manifest, other: Manifest) -> Iterator[Dangling]:
    """Yield what two profiles of one member say differently."""
    first, second = _told(one.body), _told(other.body)
    for what in sorted(first.keys() & second.keys()):
        if first[what][0] != second[what][0]:
            yield Dangling(
                other.key,
                second[what][1],
                CONTRADICTION,
                f"{what} is {shown(second[what][0])} here and {shown(first[what][0])} in "
                f"{one.key.plain}, which counts",
                "the same of one member from all of its managers",
            )


def _told(body: Body) -> Mapping[str, tuple[str, str]]:
    """Return what a profile says of its cluster, with the JSON pointer to each."""
    status = status_of(body)
    told = {
        fields.text(one, "type"): (fields.text(one, "status"), f"/status/conditions/{i}/status")
        for i, one in enumerate(fields.bodies(status, "conditions"))
    }
    told |= {
        fields.text(one, "name"): (fields.text(one, "value"), f"/status/properties/{i}/value")
        for i, one in enumerate(fields.bodies(status, "properties"))
    }
    version = fields.text(fields.mapping(status, "version"), "kubernetes")
    return told | ({"the version": (version, "/status/version/kubernetes")} if version else {})


def joined(member: MemberProfiles, cluster_set: str = "") -> Manifest:
    """Return what the profiles of a member say together, with the set that it belongs to.

    Args:
        member: Its profiles.
        cluster_set: By the label of the Namespace of one of them, `""` if of none.
    """
    first = member.profiles[0]
    body = first.body
    for other in member.profiles[1:]:
        body = _merged(body, other.body)
    if cluster_set:
        metadata = fields.mapping(body, "metadata")
        labels = {**fields.mapping(metadata, "labels"), SET_LABEL: cluster_set}
        body = {**body, "metadata": {**metadata, "labels": labels}}
    return first if body is first.body else Manifest(first.key, first.origin, body)


def _merged(first: Body, other: Body) -> Body:
    """Return what two profiles say; the first counts where both say something."""
    metadata, status = fields.mapping(first, "metadata"), status_of(first)
    more = status_of(other)
    labels = {
        **fields.mapping(fields.mapping(other, "metadata"), "labels"),
        **fields.mapping(metadata, "labels"),
    }
    together = {**more, **status}
    for field, name in (("conditions", "type"), ("properties", "name")):
        listed = _listed(fields.bodies(status, field), fields.bodies(more, field), name)
        together |= {field: listed} if listed else {}
    body = {**first, "metadata": {**metadata, **({"labels": labels} if labels else {})}}
    return {**body, "status": together} if together else body


def _listed(first: Sequence[Body], more: Sequence[Body], name: str) -> list[Body]:
    known = {fields.text(one, name) for one in first}
    return [*first, *(one for one in more if fields.text(one, name) not in known)]


@dataclass(frozen=True, slots=True)
class InventoryPublishing:
    """Where passes write a profile of each cluster, and by which manager's name."""

    namespace: str
    manager: str


def decode_inventory(settings: Settings) -> InventoryPublishing | None:
    """Return how the clusters are published, `None` if they are not."""
    body = fields.mapping_or_none(settings.options.get("inventory", {}), "publish")
    if body is None:
        return None
    return InventoryPublishing(fields.text(body, "namespace"), fields.text(body, "manager"))


def is_profile_of(body: Body, wanted: InventoryPublishing) -> bool:
    """Return whether an object of a hub is a profile that passes published."""
    return label_of(body, MANAGER_LABEL) == manager_of(body) == wanted.manager


def encode_profile(
    cluster: Body,
    source: Language,
    profile: Body | None,
    wanted: InventoryPublishing,
    *,
    declared: bool,
) -> Body:
    """Return the profile of a cluster, without moments that nobody reported.

    What no field of the cluster says is not said. A label that no API server would take is left
    out, and so is a way to reach the cluster that has a secret in it.

    Args:
        cluster: As somebody wrote it.
        source: The API that it is of.
        profile: What the profiles of people and other managers say of it, `None` if there is none.
        wanted: Of the repository.
        declared: Whether a cluster without any status counts as one that is well.
    """
    projected = project(cluster, source, PROFILES, declared=declared)
    name = fields.text(fields.mapping(cluster, "metadata"), "name")
    other = profile or {}
    member = label_of(other, MEMBER_LABEL) or uid_of(ObjectKey(*CLUSTER_PROFILE, "", name))
    labels = {
        key: value
        for key, value in sorted(labels_of(projected).items())
        if is_label_key(key) and is_label_value(value) and key != SET_LABEL
    }
    labels |= {MANAGER_LABEL: wanted.manager, MEMBER_LABEL: member}
    shown_as = fields.text(fields.mapping(other, "spec"), "displayName")
    said = status_of(projected)
    status: dict[str, object] = {
        "conditions": _published_conditions(cluster, source, declared=declared),
        **{part: said[part] for part in ("version", "properties") if part in said},
    }
    ways = [one for one in fields.bodies(status_of(other), "accessProviders") if not secret_in(one)]
    status |= {"accessProviders": ways} if ways else {}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": CLUSTER_PROFILE[1],
        "metadata": {"name": name, "namespace": wanted.namespace, "labels": labels},
        "spec": {
            **({"displayName": shown_as} if shown_as else {}),
            "clusterManager": {"name": wanted.manager},
        },
        "status": status,
    }


def _published_conditions(cluster: Body, source: Language, *, declared: bool) -> list[Body]:
    """Return whether a cluster is healthy and has joined; since when, as far as it says that."""
    reported = status_of(cluster)
    if not reported:
        status = "True" if declared else "Unknown"
        why = ("Declared", "the cluster is declared") if declared else ("NotReported", "")
        return [_condition(kind, status, *why) for kind in (HEALTHY, JOINED)]
    row = next(one for one in source.rows if one.fact is READINESS)
    read: ClusterReadiness | None = row.read(cluster)
    readiness = read or ClusterReadiness("Unknown", "", "NotReported", "")
    left = readiness.reason == "NotJoined"
    return [
        _condition(HEALTHY, readiness.status, readiness.reason, readiness.message, readiness.since),
        _condition(JOINED, *(("False", "NotJoined") if left else ("True", "Reports")), ""),
    ]


_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")


def _condition(kind: str, status: str, reason: str, message: str, since: str = "") -> Body:
    """Return a condition; it has no moment where none is known."""
    one: dict[str, object] = {"type": kind, "status": status}
    one |= {"lastTransitionTime": since} if since else {}
    return one | {
        "reason": reason if _REASON.fullmatch(reason) else "Reported",
        "message": bounded(message),
    }


def dated(profile: Body, present: Body | None, now: str) -> Body:
    """Return a profile whose conditions have moments: kept while a status stays, else of now.

    Args:
        profile: As `encode_profile` returns it.
        present: As it was published last, `None` if it was not.
        now: Text of the moment of the pass.
    """
    known = {
        (fields.text(one, "type"), fields.text(one, "status")): fields.text(
            one, "lastTransitionTime"
        )
        for one in fields.bodies(status_of(present or {}), "conditions")
    }
    conditions = [
        {"lastTransitionTime": known.get((str(one["type"]), str(one["status"])), "") or now, **one}
        for one in fields.bodies(status_of(profile), "conditions")
    ]
    listed = [{name: one[name] for name in _CONDITION} for one in conditions]
    return {**profile, "status": {**status_of(profile), "conditions": listed}}


_CONDITION = ("type", "status", "lastTransitionTime", "reason", "message")
_SECRETS = re.compile(
    r"(?:id|access|refresh|bearer|auth)?[-_]?token|password|passwd|(?:client|api|private)[-_]?key"
    r"(?:[-_]?data)?|client[-_]?secret|secret",
    re.IGNORECASE,
)
_VALUES = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|^eyJ[\w-]+\.[\w-]+\.|://[^/@\s]+:[^/@\s]+@")


def secret_in(value: object, name: str = "") -> str:
    """Return the name of the first field that holds a secret or a token, `""` if none does.

    >>> secret_in({"extensions": [{"extension": {"clientKey": "abc"}}]})
    'clientKey'
    >>> secret_in({"server": "https://me:pass@host"}), secret_in({"secretRef": {"name": "a"}})
    ('server', '')
    """
    if isinstance(value, str):
        return name if value and (_SECRETS.fullmatch(name) or _VALUES.search(value)) else ""
    if isinstance(value, Mapping):
        secrets = (secret_in(one, str(key)) for key, one in value.items())
    elif isinstance(value, list | tuple):
        secrets = (secret_in(one, name) for one in value)
    else:
        return ""
    return next(filter(None, secrets), "")


COLUMNS: ColumnTable = {
    CLUSTER_PROFILE: (
        (
            ("DISPLAY NAME", printed(".spec.displayName")),
            ("MANAGER", printed(".spec.clusterManager.name")),
            ("VERSION", printed(".status.version.kubernetes")),
            ("HEALTHY", if_reported(column_of(HEALTHY))),
        ),
        (("JOINED", if_reported(column_of(JOINED))), ("MEMBER", label(MEMBER_LABEL)), FILE),
    )
}
"""What tables show; nothing keeps when a profile was first seen, so its age is not among it."""

PROXIES = ("http", "https", "socks5")


def refuse_profile(body: Body) -> tuple[Violation, ...]:
    """Return what v1alpha2 refuses of a profile that its schema accepts.

    v1alpha1 takes any address.

    Source: cluster-inventory-api v0.2.0 apis/v1alpha2/clusterprofile_types.go, its CEL rules.
    """
    if body.get("apiVersion") != f"{GROUP}/v1alpha2":
        return ()
    return tuple(_refused_addresses(body))


def _refused_addresses(body: Body) -> Iterator[Violation]:
    for i, provider in enumerate(fields.bodies(status_of(body), "accessProviders")):
        cluster = fields.mapping(provider, "cluster")
        where = f"/status/accessProviders/{i}/cluster"
        for field, schemes in (("server", ()), ("proxy-url", PROXIES)):
            address = fields.text(cluster, field)
            if (address or field == "server") and not _is_address(address, schemes):
                yield Violation(
                    f"{where}/{field}",
                    "profile-address",
                    f"`{field}` must be an absolute URL with a host, not {shown(address)}",
                    f"{' or '.join(schemes) or 'https'}://host:port",
                )


def _is_address(address: str, schemes: Sequence[str]) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return bool(parts.scheme and parts.hostname) and (not schemes or parts.scheme in schemes)


def refuse_profile_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what an API server refuses of an edit of a profile: its manager stays.

    Source: cluster-inventory-api@8375ac2 apis/v1alpha1/clusterprofile_types.go `ClusterManager`.
    """
    was, now = manager_of(before), manager_of(after)
    if was == now:
        return ()
    return (
        Violation(
            "/spec/clusterManager/name",
            "profile-manager-immutable",
            f"the manager of a profile must stay {shown(was)}, not become {shown(now)}",
            "a new profile for another manager, and this one removed",
        ),
    )


def refuse_publishing_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of a configuration that publishes: its manager stays.

    An API server refuses another one for each profile that is there.
    """
    was, now = (
        fields.text(fields.at(body, "spec", "inventory", "publish"), "manager")
        for body in (before, after)
    )
    if not was or not now or was == now:
        return ()
    return (
        Violation(
            "/spec/inventory/publish/manager",
            "profile-manager-immutable",
            f"the manager of published profiles must stay {shown(was)}, not become {shown(now)}",
            "`publish` taken out and merged, then put back with the other name",
        ),
    )


def said_in_vain(key: ObjectKey, body: Body, own: str = "") -> Iterator[Dangling]:
    """Yield what a profile says in vain, and where it breaks what consumers rely on.

    Args:
        key: Of the profile.
        body: Of the profile.
        own: The manager by whose name passes publish profiles, `""` if they publish none.
    """
    manager, labels = manager_of(body), fields.at(body, "metadata", "labels")
    if own and manager == own:
        yield Dangling(
            key,
            "/spec/clusterManager/name",
            "profile-own-manager",
            f"{shown(own)} is the manager by whose name passes publish profiles, so this one is "
            "no cluster",
            "another manager here, or in `inventory.publish.manager`",
        )
    if MANAGER_LABEL in labels and labels[MANAGER_LABEL] != manager:
        yield Dangling(
            key,
            "/metadata/labels",
            "profile-manager-label",
            f"the label {MANAGER_LABEL} is {shown(labels[MANAGER_LABEL])}, and the manager is "
            f"{shown(manager)}",
            manager,
        )
    if labels.get(MEMBER_LABEL) == "":
        yield Dangling(
            key,
            "/metadata/labels",
            "profile-member-id",
            f"the label {MEMBER_LABEL} is empty, so it says nothing",
            "an id of the member cluster, or no label",
        )
    if not is_label(key.name):
        yield Dangling(
            key,
            "/metadata/name",
            "profile-name",
            f"no cluster can be named {shown(key.name)}, so the profile is not taken as one",
            LABEL_RULE,
        )
    yield from _secrets_told(key, body)
    yield from _unreadable_properties(key, body)


def _secrets_told(key: ObjectKey, body: Body) -> Iterator[Dangling]:
    """Yield the ways to reach a cluster that hold a secret."""
    for i, provider in enumerate(fields.bodies(status_of(body), "accessProviders")):
        if held := secret_in(provider):
            yield Dangling(
                key,
                f"/status/accessProviders/{i}",
                "profile-secret",
                f"{held} of {shown(fields.text(provider, 'name'))} holds a secret, which no "
                "profile may tell; it is not published",
                "a provider that finds the secret by itself",
            )


def _unreadable_properties(key: ObjectKey, body: Body) -> Iterator[Dangling]:
    """Yield the properties that are to be amounts and are none."""
    for i, prop in enumerate(fields.bodies(status_of(body), "properties")):
        name, value = fields.text(prop, "name"), fields.text(prop, "value")
        readable = _READABLE.get(name) or (
            _is_amount if name.startswith(tuple(AMOUNTS.values())) else None
        )
        if readable is not None and not readable(value):
            yield Dangling(
                key,
                f"/status/properties/{i}/value",
                "profile-amount",
                f"{name} is {shown(value)}, which is no amount; it is ignored",
                "an amount such as 250m, 2 or 256Mi",
            )


_READABLE: Mapping[str, Callable[[str], bool]] = {
    NODE_COUNT: lambda text: text.isascii() and text.isdecimal()
}
