"""Overrides of either scope: what they change, for which placements and clusters, and the result.

An override names what it changes to the letter, so an object asks for its own name: in the
overrides of its namespace, and in those of the whole fleet, which mean what is in a Namespace by
that one. These questions lead from an override that differs to the objects that it concerns. The
table follows one world after the other, and decodes each override once.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.names import PLACEMENT_GROUP, VERSIONS, UnexpectedBehavior
from reconciler.dialects.reads import Question
from reconciler.errors import UserError
from reconciler.manifests.admission import read_note, write_note
from reconciler.manifests.json_patch import apply_patch
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS
from reconciler.model.body import Body
from reconciler.model.fields import (
    at,
    bodies,
    bodies_or_none,
    mapping,
    mapping_of,
    mapping_or_none,
    strings,
    text,
)
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.labels import LabelSelector, decode_label_selector, matches, refusal_of
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache
from reconciler.model.text import cut
from reconciler.model.world import Manifest, World
from reconciler.staging.staged_delivery import OverrideVersion, version_in

CLUSTER_SELECTORS = "clusterResourceSelectors"
SELECTORS = "resourceSelectors"
DELETE = "Delete"
NAMESPACED = "Namespaced"


class OverrideTarget(NamedTuple):
    """An object as overrides name it, with its version; `namespace` is `""` in a selector."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class MemberLabels:
    """A cluster as overrides see it."""

    name: ClusterName
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideChange:
    """What changes on some clusters.

    Attributes:
        terms: A label selector for each term, `None` in the place of one that has none; `None`
            instead of all terms selects no cluster, and no term at all selects every cluster.
        deletes: Whether the object does not go there.
        patches: JSON patches otherwise, in order.
    """

    terms: tuple[LabelSelector | None, ...] | None
    deletes: bool
    patches: tuple[Body, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """An override.

    Attributes:
        snapshot: Name of its snapshot, by which overrides are sorted and named in messages.
        namespace: `""` for a ClusterResourceOverride.
        selectors: What it changes; a ClusterResourceOverride also what is in these Namespaces.
        placement: For which placement alone, by upstream's key of it; `None` for all.
        rules: What changes where, `None` without a policy.
    """

    snapshot: str
    namespace: str
    selectors: tuple[OverrideTarget, ...]
    placement: str | None
    rules: tuple[OverrideChange, ...] | None


def decode_override(key: ObjectKey, spec: Body, snapshot: str) -> Override:
    """Return an override.

    Args:
        key: Of the override.
        spec: Its spec.
        snapshot: Name of its snapshot.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/override_types.go.
    """
    policy = mapping_or_none(spec, "policy")
    listed = bodies(spec, SELECTORS if key.namespace else CLUSTER_SELECTORS)
    return Override(
        snapshot=snapshot,
        namespace=key.namespace,
        selectors=tuple(map(_target, listed)),
        placement=_placement(key, mapping_or_none(spec, "placement")),
        rules=None if policy is None else tuple(map(_rule, bodies(policy, "overrideRules"))),
    )


def _target(selector: Body) -> OverrideTarget:
    """Return what a selector names; labels do not count."""
    group, version, kind, name = (text(selector, n) for n in ("group", "version", "kind", "name"))
    return OverrideTarget(group, version, kind, "", name)


def _placement(key: ObjectKey, placement: Body | None) -> str | None:
    """Return the key of the only placement that an override is for, `None` if it is for all.

    Only a ResourceOverride can be for a placement of its namespace, and says so by the scope.
    """
    if placement is None:
        return None
    name = text(placement, "name")
    own = key.namespace and text(placement, "scope") == NAMESPACED
    return f"{key.namespace}/{name}" if own else name


def _rule(rule: Body) -> OverrideChange:
    selector = mapping_or_none(rule, "clusterSelector")
    terms = None if selector is None else bodies_or_none(selector, "clusterSelectorTerms") or ()
    return OverrideChange(
        terms=None if terms is None else tuple(map(_term, terms)),
        deletes=text(rule, "overrideType") == DELETE,
        patches=bodies(rule, "jsonPatchOverrides"),
    )


def _term(term: Body) -> LabelSelector | None:
    if mapping_or_none(term, "labelSelector") is None:
        return None
    return decode_label_selector(mapping(term, "labelSelector"))


def selects(rule: OverrideChange, member: MemberLabels) -> bool:
    """Return whether a rule is for a cluster: any of its terms is.

    Raises:
        UnexpectedBehavior: A selector cannot be used, and no term before it selects the cluster.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go `IsClusterMatched`.
    """
    if rule.terms is None:
        return False
    return not rule.terms or any(_fits(term, member) for term in rule.terms)


def _fits(term: LabelSelector | None, member: MemberLabels) -> bool:
    """Return whether a term selects a cluster; one without labels selects none."""
    if term is None:
        return False
    refusal = refusal_of(term)
    if refusal:
        raise UnexpectedBehavior(f"invalid cluster label selector: {refusal}")
    return matches(term, member.labels)


def rules_of(override: Override) -> tuple[OverrideChange, ...]:
    """Return the rules of an override.

    Raises:
        UnexpectedBehavior: It has no policy.
    """
    if override.rules is None:
        raise UnexpectedBehavior(f"the override {override.snapshot} has no policy")
    return override.rules


MEMBER = "${MEMBER-CLUSTER-NAME}"
LABEL = "${MEMBER-CLUSTER-LABEL-KEY-"
VARIABLE, END = "${", "}"
SECRET = ("", "Secret")


def apply_overrides(
    manifest: Body,
    target: OverrideTarget,
    overrides: Iterable[Override],
    member: MemberLabels,
    *,
    namespaced: bool,
) -> Body | None:
    """Return an object as a cluster gets it, `None` if it does not go there.

    Every rule that is for the cluster applies, not only the first one; an object that one of them
    deletes stays away, whatever later ones say.

    Args:
        manifest: The object.
        target: As overrides name it, whatever they make of its name.
        overrides: Those that concern the cluster, in their order.
        member: The cluster.
        namespaced: Whether it is of a namespaced kind.

    Raises:
        UserError: One of them does not fit.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/override.go `applyOverrides`,
    `applyOverrideRules`.
    """
    overridden: Body | None = manifest
    for override in overrides:
        for _ in range(hits(override, target, namespaced=namespaced)):
            try:
                hidden = (target.group, target.kind) == SECRET
                overridden = _overridden(overridden, override, member, hidden=hidden)
            except UserError as error:
                raise UserError(_failure(override, target, error.message, namespaced)) from error
    return overridden


def _failure(override: Override, target: OverrideTarget, cause: str, namespaced: bool) -> str:  # noqa: FBT001  # of the object
    scope = "ResourceOverrideSnapshot" if override.namespace else "ClusterResourceOverrideSnapshot"
    place = f' in namespace "{target.namespace}"' if namespaced else ""
    named = f'{target.kind} "{target.name}"{place}'
    return f'{scope} "{override.snapshot}" failed to apply on {named}: {cause}'


def _overridden(
    manifest: Body | None, override: Override, member: MemberLabels, *, hidden: bool
) -> Body | None:
    """Return an object as one override leaves it."""
    for rule in override.rules or ():
        if not selects(rule, member):
            continue
        if rule.deletes:
            return None
        patches = [with_variables(patch, member, hidden=hidden) for patch in rule.patches]
        if manifest is not None:
            manifest = mapping_of(apply_patch(manifest, patches))
    return manifest


def with_variables(patch: Body, member: MemberLabels, *, hidden: bool = False) -> Body:
    """Return a patch with the name and the labels of a cluster in the place of variables.

    They are replaced in the JSON of the value alone, the name first; the leftmost label ends at
    the next brace, so that the name may be part of a key.

    Args:
        patch: Of a rule.
        member: The cluster.
        hidden: Whether the value is one of a Secret, of which no message has anything.

    Raises:
        UserError: The cluster has no such label, or nothing closes a variable.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/override.go
    `replaceClusterLabelKeyVariables`.
    """
    written = json.dumps(patch.get("value"), ensure_ascii=False, separators=(",", ":"))
    if VARIABLE not in written:
        return patch
    filled = "".join(_filled(written.replace(MEMBER, member.name), member, hidden=hidden))
    try:
        return {**patch, "value": json.loads(filled)}
    except ValueError:
        shown = HIDDEN_IN_CONDITIONS if hidden else cut(filled)
        raise UserError(f"the value {shown} is no JSON once its variables are replaced") from None


def _filled(written: str, member: MemberLabels, *, hidden: bool) -> Iterator[str]:
    """Yield a text piece by piece, labels in the place of their variables."""
    rest, start = 0, written.find(LABEL)
    while start >= 0:
        end = written.find(END, start)
        if end < 0:
            # Unlike upstream: of a Secret the input is hidden.
            shown = HIDDEN_IN_CONDITIONS if hidden else written[rest:]
            raise UserError(f"input {shown} is missing the closing bracket `}}`")
        key = written[start + len(LABEL) : end]
        if key not in member.labels:
            shown = HIDDEN_IN_CONDITIONS if hidden else key
            raise UserError(f"label key {shown} not found on cluster {member.name}")
        yield written[rest:start]
        yield member.labels[key]
        rest = end + 1
        start = written.find(LABEL, rest)
    yield written[rest:]


IsNamespaced = Callable[[OverrideTarget], bool]
"""Whether an object is of a namespaced kind, as the hub knows it."""


def target_of(manifest: Body, namespace: str = "") -> OverrideTarget:
    """Return an object as overrides name it.

    Args:
        manifest: The object.
        namespace: Where it stands if it does not say so itself.
    """
    group, _, version = text(manifest, "apiVersion").rpartition("/")
    metadata = at(manifest, "metadata")
    name, stated = metadata.get("name"), metadata.get("namespace")
    place = stated if isinstance(stated, str) and stated else namespace
    return OverrideTarget(
        group, version, text(manifest, "kind"), place, name if isinstance(name, str) else ""
    )


def hits(override: Override, target: OverrideTarget, *, namespaced: bool) -> int:
    """Return how many selectors of an override are for an object; each of them applies.

    A ClusterResourceOverride is for a namespaced object if it is for its Namespace, a
    ResourceOverride only for what is in its own namespace.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/override.go `applyOverrides`.
    """
    if override.namespace:
        if not namespaced or override.namespace != target.namespace:
            return 0
        wanted = target._replace(namespace="")
    elif namespaced:
        wanted = OverrideTarget("", "v1", "Namespace", "", target.namespace)
    else:
        wanted = target
    return override.selectors.count(wanted)


def overrides_of_placement(
    overrides: Iterable[Override],
    placement: str,
    targets: Iterable[OverrideTarget],
    is_namespaced: IsNamespaced,
) -> list[Override]:
    """Return the overrides that concern a placement: any object of it, by any of its selectors.

    Args:
        overrides: All there are.
        placement: Upstream's key of the placement: its name, after the namespace if it has one.
        targets: What it places, envelopes unpacked.
        is_namespaced: Whether an object is of a namespaced kind.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go
    `FetchAllMatchingOverridesForResourceSnapshot`.
    """
    scopes = {target: is_namespaced(target) for target in targets}
    return [
        override
        for override in overrides
        if override.placement in (None, placement)
        and any(hits(override, one, namespaced=own) for one, own in scopes.items())
    ]


def overrides_of_cluster(overrides: Iterable[Override], member: MemberLabels) -> list[Override]:
    """Return the overrides that have a rule for a cluster, in the order in which they apply.

    Those of the whole fleet come first; each scope is sorted by the names of the snapshots as
    texts.

    Raises:
        UnexpectedBehavior: An override has no policy, or a selector that cannot be used.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go
    `PickFromResourceMatchedOverridesForTargetCluster`.
    """
    selecting = [one for one in overrides if any(selects(rule, member) for rule in rules_of(one))]
    return sorted(selecting, key=lambda one: (one.namespace, one.snapshot))


SHOWN = 12  # hexadecimal digits of a git id


class PastContent(UserError):
    """A version of an object that this repository does not hold any more."""


class PickedOverrides(NamedTuple):
    """The overrides of a cluster, in their order.

    Attributes:
        picked: They.
        versions: Of which they are, as a note, where a run brought them; `""` elsewhere.
    """

    picked: Sequence[Override]
    versions: str = ""

    @property
    def lists(self) -> Body:
        """They as the spec of a binding lists them.

        Source: kubefleet@e160c1c apis/placement/v1beta1/binding_types.go `ResourceBindingSpec`.
        """
        fleet = [one.snapshot for one in self.picked if not one.namespace]
        own = [
            {"name": one.snapshot, "namespace": one.namespace}
            for one in self.picked
            if one.namespace
        ]
        return {
            **({"clusterResourceOverrideSnapshots": fleet} if fleet else {}),
            **({"resourceOverrideSnapshots": own} if own else {}),
        }


@dataclass(frozen=True, slots=True)
class OverrideVersions:
    """Of which versions overrides are that a run holds, as a note says it."""

    note: str

    def pick(self, world: World, lists: Body) -> PickedOverrides:
        """Return the overrides that a binding lists: each in its version, or else as it is.

        One that has no version, and is not there any more, is left out.

        Args:
            world: Where they are read from.
            lists: As the spec of the binding has them.

        Raises:
            PastContent: A version cannot be read.
        """
        known, found, picked = self._places(), dict[str, tuple[str, str]](), list[Override]()
        for name, key, snapshot in _listed(lists):
            manifest = _version(world, key, known.get(name))
            if manifest is None:
                continue
            path = manifest.origin.path
            found[name] = known.get(name) or (path, world.blobs.get(path, ""))
            picked.append(decode_override(key, mapping(manifest.body, "spec"), snapshot))
        return PickedOverrides(picked, _note(found))

    def behind(self, world: World, lists: Body, now: Iterable[Override]) -> list[ObjectKey]:
        """Return the overrides that a run would bring otherwise than a binding has them, sorted.

        What counts is what they say, not in which file. One differs, too, whose version cannot be
        read, since it is another one by now.

        Args:
            world: Where they are read from.
            lists: As the spec of the binding has them.
            now: Those of its cluster as they are now.
        """
        known = self._places()
        held, others = dict[ObjectKey, Override](), set[ObjectKey]()
        for name, key, snapshot in _listed(lists):
            try:
                manifest = _version(world, key, known.get(name))
            except PastContent:
                others.add(key)
                continue
            if manifest is not None:
                held[key] = decode_override(key, mapping(manifest.body, "spec"), snapshot)
        wanted = {_key_of(one.namespace, one.snapshot): one for one in now}
        others |= {key for key in held | wanted if held.get(key) != wanted.get(key)}
        return sorted(others)

    def among(self, lists: Body) -> str:
        """Return the versions of what a binding lists, as a note."""
        known = self._places()
        return _note({name: known[name] for name, _, _ in _listed(lists) if name in known})

    def blobs(self, world: World) -> Iterator[tuple[str, str]]:
        """Yield the git blobs of versions that are others by now, each with its path."""
        for path, blob in self._places().values():
            if world.blobs.get(path) != blob:
                yield blob, path

    def marked(self, annotations: Mapping[str, str]) -> Mapping[str, str]:
        """Return the annotations of a binding with them, the same ones where nothing differs."""
        if self.note:
            return {**annotations, VERSIONS: self.note}
        if VERSIONS not in annotations:
            return annotations
        return {name: one for name, one in annotations.items() if name != VERSIONS}

    def _places(self) -> dict[str, tuple[str, str]]:
        """Return path and blob of each, by name; what a person spoiled is left out."""
        found = {}
        for name, place in read_note(self.note).items():
            match place:
                case [str(path), str(blob)]:
                    found[name] = path, blob
                case _:
                    continue
        return found


def _version(world: World, key: ObjectKey, place: tuple[str, str] | None) -> Manifest | None:
    """Return an override in a version, or as it is, `None` if it is not there any more.

    Args:
        world: Where it is read from.
        key: The override.
        place: Path and git blob of its version, `None` for no version.

    Raises:
        PastContent: The version cannot be read.
    """
    if place is None:
        return world.inputs.get(key)
    path, blob = place
    manifest = version_in(world, OverrideVersion(key, path, blob, ""), key)
    if manifest is None:
        why = f"{key} is held on an earlier version (git blob {blob[:SHOWN]})"
        raise PastContent(f"{why}, which is not in this repository")
    return manifest


def _note(places: Mapping[str, tuple[str, str]]) -> str:
    return write_note(places) if places else ""


def _listed(lists: Body) -> Iterator[tuple[str, ObjectKey, str]]:
    """Yield what a binding lists: names in notes, keys, and names of snapshots."""
    for snapshot in strings(lists, "clusterResourceOverrideSnapshots"):
        yield snapshot, _key_of("", snapshot), snapshot
    for one in bodies(lists, "resourceOverrideSnapshots"):
        namespace, snapshot = text(one, "namespace"), text(one, "name")
        yield f"{namespace}/{snapshot}", _key_of(namespace, snapshot), snapshot


def _key_of(namespace: str, snapshot: str) -> ObjectKey:
    kind = "ResourceOverride" if namespace else "ClusterResourceOverride"
    return ObjectKey(PLACEMENT_GROUP, kind, namespace, snapshot.rpartition("-")[0])


ANY_OVERRIDE: Question = ("override",)
"""Whether there is any."""


def overrides_read(target: OverrideTarget, *, namespaced: bool) -> Iterator[Question]:
    """Yield what is asked of overrides for an object.

    Args:
        target: The object.
        namespaced: Whether its kind is.
    """
    if namespaced:
        yield _meant(target.namespace, target._replace(namespace=""))
        yield _meant("", OverrideTarget("", "v1", "Namespace", "", target.namespace))
    else:
        yield _meant("", target)


def answered_by(override: Override) -> Iterator[Question]:
    """Yield what an override answers."""
    yield from (_meant(override.namespace, one) for one in override.selectors)


def _meant(namespace: str, target: OverrideTarget) -> Question:
    """Return the question which overrides of a namespace mean an object, `""` for the fleet's."""
    return "override", namespace, target


OVERRIDES: tuple[Kind, ...] = (
    (PLACEMENT_GROUP, "ClusterResourceOverride"),
    (PLACEMENT_GROUP, "ResourceOverride"),
)
FIRST_INDEX = 0
"""Of the snapshot of an override; here there is one, since a change applies at once."""

Overrides = tuple[Override, ...]
"""All overrides of a world, those of the fleet first, then by namespace and name."""


@dataclass(slots=True, eq=False)
class OverrideTable:
    """Overrides decoded; it is changed in place, and no answer depends on it."""

    _found: AnswerCache[None, Overrides] = field(default_factory=AnswerCache)
    _each: dict[ObjectKey, tuple[Manifest, Override]] = field(default_factory=dict)

    def of(self, world: World) -> Overrides:
        """Return the overrides of a world, the very same ones while they stay."""
        written = tuple(world.of_kind(*kind) for kind in OVERRIDES)
        overrides = self._found.recall(None, written, lambda: self._decoded(chain(*written)))
        self._found.forget()
        return overrides

    def _decoded(self, manifests: Iterator[Manifest]) -> Overrides:
        decoded = self._each
        self._each = {
            one.key: pair
            if (pair := decoded.get(one.key)) is not None and pair[0] is one
            else (one, _again(one, pair))
            for one in manifests
        }
        return tuple([override for _, override in self._each.values()])


def _again(manifest: Manifest, pair: tuple[Manifest, Override] | None) -> Override:
    """Return an override that is new, or whose manifest is; the same one for the same document."""
    if pair is not None and pair[0].body is manifest.body:
        return pair[1]
    return decoded(manifest)


def decoded(manifest: Manifest) -> Override:
    """Return an override.

    Unlike upstream: each is as if it had never been another one, and a change of it applies at
    once, while upstream rolls it out like a change of resources. Where runs roll out, they hold it.
    """
    snapshot = f"{manifest.key.name}-{FIRST_INDEX}"
    return decode_override(manifest.key, mapping(manifest.body, "spec"), snapshot)


def changed_overrides(before: Overrides, now: Overrides) -> Iterator[Question]:
    """Yield the questions about overrides whose answers differ between two worlds."""
    if before is now:
        return
    if bool(before) != bool(now):
        yield ANY_OVERRIDE
    for versions in zip_longest(before, now):
        if versions[0] is not versions[1]:  # behind one that came or went, all are asked
            yield from chain.from_iterable(answered_by(one) for one in versions if one is not None)
