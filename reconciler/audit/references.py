"""All references of a world, checked: a finding, with its place, for each that leads nowhere.

Checked are amounts in workloads that cannot be read (they count as nothing); objects that policies
or placements of two APIs put onto clusters, which is rarely meant; clusters that two APIs declare
by one name, and those whose room nobody reports; reports of clusters that are not there; kinds
that control nothing here, misspelled or of APIs that are not read; symbolic links where manifests
are looked for, which are never followed; scores outside of the namespace of any cluster, where they
count in all APIs; what asks to be restored, and is placed by nobody; and what should not happen on
clusters, but the transports in use do not carry.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from reconciler.audit.findings import Finding, finding_of
from reconciler.audit.named_object import spelled
from reconciler.core.dialects import (
    CLUSTERS,
    DIALECTS,
    KINDS,
    PLACED,
    READ,
    STAGED,
    STRATEGIES,
    decision_on,
)
from reconciler.core.inputs.world import clusters_in, members_in, own_manager
from reconciler.delivery.carriage import NOT_CARRIED, TABLE
from reconciler.delivery.deliver import not_carried_text
from reconciler.delivery.settings import decode_delivery
from reconciler.delivery.transports import DECISIONS
from reconciler.dialects.renderer import Instruction
from reconciler.dialects.scores import scores_of_none
from reconciler.errors import UserError
from reconciler.manifests.admission import RESTORE
from reconciler.manifests.identity import CRD, KUBERNETES
from reconciler.manifests.paths import FEEDBACK, input_place
from reconciler.manifests.references import Brought, Dangling, Known, known_in, proposal
from reconciler.manifests.text.positions import Spot, locate_all
from reconciler.model.fields import at
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.quantity import parse_quantity
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH, settings_in
from reconciler.model.text import enumerated, shown
from reconciler.model.world import Fault, Manifest, World
from reconciler.multicluster.cluster_profile import (
    CLUSTER_PROFILE,
    decode_inventory,
    inventory_of,
    said_in_vain,
)
from reconciler.multicluster.placement_decision import decode_publishing
from reconciler.rebalance.target import REBALANCER
from reconciler.rebalance.view import dangling_in_rebalances
from reconciler.schedule.capacity import protects
from reconciler.staging.view import dangling_in_staged_deliveries

TEMPLATES = (("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))
LISTS = ("containers", "initContainers")
EXPECTED = "an amount such as 250m, 2 or 256Mi"


def unreadable_amounts(referable: Known) -> Iterator[Dangling]:
    """Yield the requests and limits of pods that are no amounts."""
    apis = referable.world.known.groups
    for key, manifest in referable.world.inputs.items():
        if key.group in apis:
            continue
        for path in TEMPLATES:
            pod = at(manifest.body, *path)
            for name in LISTS if pod else ():
                for pointer, value in _amounts(pod.get(name), f"/{'/'.join(path)}/{name}"):
                    message = f"{shown(value)} is not a valid quantity; the request is ignored"
                    yield Dangling(key, pointer, "workload-amount", message, EXPECTED)


def _amounts(containers: object, root: str) -> Iterator[tuple[str, object]]:
    """Yield what is no amount, with its JSON pointer."""
    for position, container in enumerate(containers if isinstance(containers, Sequence) else ()):
        resources = container.get("resources") if isinstance(container, Mapping) else None
        for part in ("requests", "limits"):
            asked = resources.get(part) if isinstance(resources, Mapping) else None
            for name, value in asked.items() if isinstance(asked, Mapping) else ():
                if not _is_amount(value):
                    escaped = str(name).replace("~", "~0").replace("/", "~1")
                    yield f"{root}/{position}/resources/{part}/{escaped}", value


def _is_amount(value: object) -> bool:
    """Return whether a value is an amount; what is left empty is none, and asks for nothing."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        parse_quantity(str(value))
    except ValueError:
        return False
    return True


RULE = "placed-by-two-apis"
NAMED = 3

Bringers = tuple[Brought, ...]
"""The first of each API, in the order in which a pass asks the APIs."""


def brought_twice(referable: Known) -> Iterator[Dangling]:
    """Yield each meeting of policies of several APIs once, with the objects on which they meet."""
    met: dict[tuple[tuple[ObjectKey, str], ...], list[ObjectKey]] = defaultdict(list)
    for key, bringers in _bringers(referable).items():
        if len(bringers) > 1:
            met[tuple((one.by, one.pointer) for one in bringers)].append(key)
    for meeting, objects in sorted(met.items()):
        yield _told(referable, meeting, sorted(objects))


def _bringers(referable: Known) -> Mapping[ObjectKey, Bringers]:
    """Return who brings each object; nobody where a single API places anything."""
    placing = [one for one in DIALECTS if any(referable.by_kind.get(kind) for kind in one.placing)]
    bringers: dict[ObjectKey, Bringers] = {}
    for dialect in placing if len(placing) > 1 else ():
        first: dict[ObjectKey, Brought] = {}
        for bringer in sorted(dialect.view().written.brought(referable)):
            first.setdefault(bringer.object, bringer)
        for key, bringer in first.items():
            bringers[key] = (*bringers.get(key, ()), bringer)
    return bringers


def _told(
    referable: Known, meeting: Sequence[tuple[ObjectKey, str]], objects: Sequence[ObjectKey]
) -> Dangling:
    (first, pointer), *others = meeting
    named = enumerated(map(spelled, objects), NAMED)
    also = " and ".join(f"{spelled(one)} ({_place(referable, one)})" for one, _ in others)
    verb = "puts" if len(others) == 1 else "put"
    return Dangling(
        first,
        pointer,
        RULE,
        f"{also} {verb} {named} onto clusters, too: where both do, each undoes the other",
        "one API for each object",
    )


def _place(referable: Known, key: ObjectKey) -> str:
    """Return the file and the line at which an object is written."""
    origin = referable.world.inputs[key].origin
    return f"{origin.path}:{origin.line}"


def check_references(
    world: World,
    texts: Mapping[str, bytes],
    referable: Known | None = None,
    *,
    foreseen: bool = False,
) -> tuple[Finding, ...]:
    """Return what leads nowhere among all that manifests say of one another, sorted.

    Args:
        world: All manifests of a repository; `outputs` may hold the records of rebalancers, whose
            finished targets need not be there any longer.
        texts: Path to content, for line and column; without it a finding has its path only.
        referable: What may be referred to, if that was gathered already.
        foreseen: With what a pass says by itself once it has read the same.
    """
    referable = referable or referable_in(world)
    rebalanced = foreseen and referable.by_kind.get(REBALANCER)
    idle = frozenset(not_selected_in(referable)) if rebalanced else frozenset[ObjectKey]()
    checks = (
        *(dialect.view().written.references for dialect in DIALECTS),
        partial(
            dangling_in_rebalances,
            unmakeable=_unmakeable,
            unkept=partial(_unkept, world),
            clusters={key.name for kind in CLUSTERS for key in referable.by_kind.get(kind, ())},
            idle=idle,
        ),
        partial(
            dangling_in_staged_deliveries,
            strategies=STRATEGIES,
            staged=STAGED,
            transports={one.transport for one in decode_delivery(settings_in(world)).destinations},
            unstaged=DECISIONS.name,
            rolled_out=_rolled_out,
            foreseen=foreseen,
        ),
        dangling_in_feedback,
        declared_twice,
        profiles_in_vain,
        decisions_without_profiles,
        rooms_without_report,
        unreadable_amounts,
        restored_in_vain,
        scores_without_cluster,
        brought_twice,
        not_carried_by_delivery,
        *((_secrets_not_delivered,) if foreseen else ()),
    )
    dangling = (one for check in checks for one in check(referable))
    manifests = {**world.inputs, **world.feedback}
    return tuple(sorted(map(finding_of, located(dangling, manifests, texts))))


def _rolled_out(referable: Known) -> Iterator[tuple[ObjectKey, ObjectKey]]:
    """Yield the objects that APIs roll out by themselves, each with what does so."""
    for dialect in DIALECTS:
        yield from dialect.view().written.rolled_out(referable)


def _unmakeable(manifest: Manifest) -> str:
    """Return why an object, as it is written, cannot be made before it breaks, `""` if it may."""
    asked = (dialect.view().written.unmakeable(manifest) for dialect in DIALECTS)
    return next(filter(None, asked), "")


def _unkept(world: World, manifest: Manifest) -> str:
    """Return why a rebalance cannot keep what runs of an object, `""` if it may."""
    asked = (dialect.view().written.unkept(world, manifest) for dialect in DIALECTS)
    return next(filter(None, asked), "")


@dataclass(frozen=True, slots=True)
class CheckedInputs:
    """What people wrote, and what that says of one another.

    `warnings` is what is legal, but has another effect than it seems; there are none where it is
    not known of every document whose it is. `not_selected` is what nothing puts onto clusters.
    """

    inputs: Mapping[ObjectKey, Manifest]
    warnings: tuple[Finding, ...]
    not_selected: tuple[ObjectKey, ...]


def not_to_be_checked(world: World) -> str:
    """Return why references of a world say nothing, `""` if they can be checked.

    What people mean follows from their settings, so without these there is no telling.
    """
    if not world.is_complete:
        return "some files do not parse"
    lacks_settings = not world.of_kind(*CONFIGURATION)
    if lacks_settings and any(fault.path == CONFIGURATION_PATH for fault in world.faults):
        return f"the settings in {CONFIGURATION_PATH} are not valid"
    return ""


def check_inputs(world: World) -> CheckedInputs:
    """Return what the files of people say of one another; a pass leaves them as they are."""
    referable = referable_in(world)
    warnings = check_references(world, {}, referable) if not not_to_be_checked(world) else ()
    return CheckedInputs(world.inputs, warnings, not_selected_in(referable))


def referable_in(world: World) -> Known:
    """Return what may be referred to in a world."""
    return known_in(world, PLACED - KINDS.owned)


def not_selected_in(referable: Known) -> tuple[ObjectKey, ...]:
    """Return what people wrote, and no policy, placement or object beside it puts onto clusters.

    Namespaces and definitions of kinds are left out: they are there for what is in them.
    """
    world = referable.world
    selected = {
        one.object for dialect in DIALECTS for one in dialect.view().written.brought(referable)
    }
    return tuple(
        key
        for key in sorted(world.inputs.keys() - selected)
        if key.group not in world.known.groups
        and key[:2] not in ALONGSIDE
        and decision_on(key) not in world.outputs
    )


ALONGSIDE = frozenset({("", "Namespace"), CLUSTER_PROFILE, CRD, CONFIGURATION})


def check_kinds(
    manifests: Mapping[ObjectKey, Manifest], texts: Mapping[str, bytes]
) -> tuple[Finding, ...]:
    """Return what is to be said of kinds that control nothing; each document tells by itself."""
    idle = idle_kinds(manifests)
    return tuple(sorted(map(finding_of, located(idle, manifests, texts))))


def located(
    dangling: Iterable[Dangling],
    manifests: Mapping[ObjectKey, Manifest],
    texts: Mapping[str, bytes],
) -> Iterator[Fault]:
    """Yield what leads nowhere as faults at their places; each file is read once."""
    by_path: defaultdict[str, list[tuple[Dangling, Spot]]] = defaultdict(list)
    for dangling_object in dangling:
        origin = manifests[dangling_object.key].origin
        is_key = dangling_object.rule == "schema-unknown-field"
        spot = Spot(origin.index, f"{origin.pointer}{dangling_object.pointer}", is_key)
        by_path[origin.path].append((dangling_object, spot))
    for path, spots in by_path.items():
        data = texts.get(path)
        places = {} if data is None else locate_all(data, (spot for _, spot in spots))
        for dangling_object, spot in spots:
            line, column = places.get(spot, (0, 0))
            yield Fault(
                path=path,
                line=line,
                column=column,
                field=spot.pointer,
                rule=dangling_object.rule,
                message=dangling_object.message,
                expected=dangling_object.expected,
                subject=str(dangling_object.key),
            )


MOST_NAMED = 5


def declared_twice(referable: Known) -> Iterator[Dangling]:
    """Yield each cluster that an API declares after another one did, if a third sees only one."""
    world = referable.world
    if not world.projected:
        return
    seeing = [one for one in DIALECTS if one.cluster in world.projected]
    first: dict[str, ObjectKey] = {}
    for kind in CLUSTERS:
        for manifest in world.written_of_kind(*kind):
            taken = first.setdefault(manifest.key.name, manifest.key)
            others = [one.title or one.name for one in seeing if one.cluster != kind]
            if taken[:2] == CLUSTER_PROFILE or taken == manifest.key or not others:
                continue
            yield Dangling(
                manifest.key,
                "/metadata/name",
                "cluster-declared-twice",
                f"the cluster is declared as {taken.kind} in {input_place(world, taken)}, too; "
                f"{enumerated(others, len(others))} takes that one",
                "one declaration, or all that is to be known of it in both",
            )


def restored_in_vain(referable: Known) -> Iterator[Dangling]:
    """Yield what asks to be restored although no decision is about it, or says as of no commit."""
    for key, manifest in referable.world.inputs.items():
        asked = at(manifest.body, "metadata", "annotations").get(RESTORE)
        if asked is None or (asked != "" and decision_on(key) is not None):
            continue
        idle = "it names no commit" if asked == "" else f"no decision is about a {key.kind}"
        yield Dangling(
            key,
            f"/metadata/annotations/{RESTORE.replace('/', '~1')}",
            "restore-in-vain",
            f"{idle}, so nothing is restored",
            "the annotation with a full commit id on a workload or a placement",
        )


def profiles_in_vain(referable: Known) -> Iterator[Dangling]:
    """Yield what ClusterProfiles say in vain, and what two of one member contradict each other in.

    Contradictions are told where profiles are taken as clusters.
    """
    profiles, own = referable.world.written_of_kind(*CLUSTER_PROFILE), own_manager(referable.world)
    for profile in profiles:
        yield from said_in_vain(profile.key, profile.body, own)
    if referable.world.projected:
        yield from inventory_of(profiles, own).contradictions


def decisions_without_profiles(referable: Known) -> Iterator[Dangling]:
    """Yield, where decisions are published, the clusters to whose profile no reference leads."""
    world = referable.world
    settings = settings_in(world)
    configuration = next(iter(world.of_kind(*CONFIGURATION)), None)
    if configuration is None or decode_publishing(settings, ()) is None:
        return
    if decode_inventory(settings) is not None:  # each cluster gets one, or a fault
        return
    profiles = {one.key.name for one in members_in(world)}
    without = sorted({one.key.name for one, _ in clusters_in(world)} - profiles)
    if without:
        yield Dangling(
            configuration.key,
            "/spec/decisions/publish",
            "decision-without-profile",
            f"{enumerated(without, MOST_NAMED)} {'has' if len(without) == 1 else 'have'} no "
            "ClusterProfile, so what decisions refer to is not there",
            "`inventory.publish`, by which each cluster gets one",
        )


def rooms_without_report(referable: Known) -> Iterator[Dangling]:
    """Yield, where room is protected, the clusters with capacity from which no report comes.

    What is left there is what their files say less what is placed; pods of others do not count.
    """
    world = referable.world
    settings = settings_in(world)
    configuration = next(iter(world.of_kind(*CONFIGURATION)), None)
    if configuration is None or not protects(settings):
        return
    reporting = {key.reporter for key in world.feedback}
    silent = sorted(_limited(referable) - reporting)
    if silent:
        yield Dangling(
            configuration.key,
            "/spec/capacity/protect",
            "room-not-reported",
            f"nothing reports from {enumerated(silent, MOST_NAMED)}: what is left there is what "
            "the cluster's file says less what is placed, whatever else runs there",
            "reports below feedback/, such as from `reconciler import`",
        )


def _limited(referable: Known) -> set[str]:
    """Return the names of the clusters whose files say what is left."""
    rules = {one.cluster: capacity for one in DIALECTS if (capacity := one.capacity()) is not None}
    names: set[str] = set()
    for _, cluster in clusters_in(referable.world):
        rule = rules.get(cluster.key[:2])
        try:
            limited = rule is not None and rule.reported(cluster.body) is not None
        except UserError:
            continue  # a fault of its own
        if limited:
            names.add(cluster.key.name)
    return names


def dangling_in_feedback(referable: Known) -> Iterator[Dangling]:
    """Yield the first document of each folder of reports whose cluster is not declared.

    And each report of a cluster itself that is of an API in which it is not declared.
    """
    clusters = frozenset().union(*(referable.names(group, kind) for group, kind in CLUSTERS))
    first: dict[str, ObjectKey] = {}
    for key, manifest in sorted(referable.world.feedback.items(), key=lambda item: item[1].origin):
        if manifest.key.reporter not in clusters:
            first.setdefault(key.reporter, key)
        elif key[:2] in CLUSTERS and key._replace(reporter="") not in referable.world.inputs:
            yield Dangling(
                key,
                "/kind",
                "feedback-cluster-unknown",
                f"no {key.kind} is named {shown(key.name)}, so its status here is not read",
                "a report of the kind that the cluster is declared as",
            )
    for reporter, key in first.items():
        yield Dangling(
            key,
            "",
            "feedback-cluster-unknown",
            f"no cluster is named {shown(reporter)}, so what stands below "
            f"{FEEDBACK}/{reporter}/ is not read",
            proposal(reporter, clusters, "cluster"),
        )


ALIKE = 0.85  # ours: a letter or two in a kind of ten
SLIP = 2  # letters too many at the end; a longer kind that begins with one of ours is another one


def idle_kinds(keys: Iterable[ObjectKey]) -> Iterator[Dangling]:
    """Yield the objects that are of an API here, or nearly of a built-in kind, yet control nothing.

    Args:
        keys: What is written in the repository.
    """
    keys_by_kind: dict[Kind, list[ObjectKey]] = defaultdict(list)
    for key in keys:
        if not key.reporter:
            keys_by_kind[key.group, key.kind].append(key)
    crds = (
        key.name
        for group, kind in keys_by_kind
        if (group, kind) == CRD
        for key in keys_by_kind[CRD]
    )
    defined = frozenset(name.partition(".")[2] for name in crds)
    content = frozenset(kind for dialect in DIALECTS for kind in dialect.content)
    for kind in sorted(keys_by_kind.keys() - READ - content):
        for key in sorted(keys_by_kind[kind]):
            yield from _misspelled(key) or _not_read(key) or _not_built_in(key, defined)


def _not_read(key: ObjectKey) -> Sequence[Dangling]:
    """Return that a kind of an API is not read."""
    domain = _domain_of(key.group)
    if domain is None and key.kind not in _upstream().get(key.group, ()):
        return ()
    message = f"{key.kind} of {key.group} is not read, so it controls nothing here"
    kinds = ", ".join(sorted(kind for group, kind in READ - KINDS.owned if group == key.group))
    expected = f"of {key.group} {kinds} are read" if kinds else f"nothing of {key.group} is read"
    return (Dangling(key, "/kind", "kind-not-read", message, expected),)


def _misspelled(key: ObjectKey) -> Sequence[Dangling]:
    """Return that a kind or its group is all but one that is read; none if upstream has it."""
    if key.kind in _upstream().get(key.group, ()) or (key.group, key.kind) in KINDS.scopes:
        return ()
    kinds = [kind for group, kind in READ if group == key.group]
    close = _closest(key.kind, kinds)
    if close is not None and not _is_longer(key.kind, close):
        message = f'"{key.kind}" is not a kind of {key.group} that is read, so it has no effect'
        return (_meant(key, "/kind", message, f'"{close}"'),)
    groups = [group for group, kind in READ if kind == key.kind]
    domain = _domain_of(key.group)
    near = _closest(key.group, groups)
    if near is None and domain is not None:
        near = next((group for group in sorted(groups) if _domain_of(group) == domain), None)
    if near is None:
        return ()
    message = f'"{key.group}" has no {key.kind} that is read, so it has no effect'
    return (_meant(key, "/apiVersion", message, near),)


def _not_built_in(key: ObjectKey, defined: Collection[str]) -> Sequence[Dangling]:
    """Return that a kind is all but one that Kubernetes has; none if its group is defined here."""
    if key[:2] in KUBERNETES or key.group in defined or _domain_of(key.group) is not None:
        return ()
    close = _closest(key.kind, [kind for group, kind in KUBERNETES if group == key.group])
    if close is not None and not _is_longer(key.kind, close):
        message = f'"{key.kind}" is no kind that Kubernetes has, so nothing knows what it means'
        return (_meant(key, "/kind", message, f'"{close}"'),)
    near = _closest(key.group, [group for group, kind in KUBERNETES if kind == key.kind])
    if near is None:
        return ()
    message = f'"{key.group}" has no {key.kind} that Kubernetes knows'
    return (_meant(key, "/apiVersion", message, near),)


def _is_longer(kind: str, close: str) -> bool:
    """Return whether a kind is a known one with another word behind it."""
    return kind.startswith(close) and len(kind) - len(close) > SLIP


def _meant(key: ObjectKey, pointer: str, message: str, meant: str) -> Dangling:
    """Return that something else was meant."""
    return Dangling(key, pointer, "identity-kind-unknown", message, f"did you mean {meant}?")


def _closest(word: str, words: Iterable[str]) -> str | None:
    """Return the known word that is all but the one given."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is wrong

    return next(iter(get_close_matches(word, sorted(words), n=1, cutoff=ALIKE)), None)


def _domain_of(group: str) -> str | None:
    """Return the domain of an API that a group belongs to."""
    domains = (domain for dialect in DIALECTS for domain in dialect.domains)
    return next((one for one in domains if group == one or group.endswith(f".{one}")), None)


def _upstream() -> Mapping[str, Sequence[str]]:
    """Return group to kinds of all that the APIs define."""
    return {group: kinds for dialect in DIALECTS for group, kinds in dialect.crds().items()}


def skipped_links(links: Iterable[str]) -> Iterator[Fault]:
    """Yield what is to be said of each link that is skipped.

    Args:
        links: Root-relative paths.
    """
    for link in links:
        yield Fault(
            path=link,
            line=0,
            column=0,
            field="",
            rule="link-skipped",
            message="a symbolic link is never followed, so what it leads to is not read here",
            expected="the manifest itself, or no link",
        )


def scores_without_cluster(referable: Known) -> Iterable[Dangling]:
    """Return the scores that no cluster of any API has; where they count in one API, that tells."""
    if not settings_in(referable.world).extends_scores:
        return ()
    names = (referable.names(group, kind) for group, kind in CLUSTERS)
    return scores_of_none(referable, frozenset[str]().union(*names), "cluster")


def not_carried_by_delivery(referable: Known) -> Iterator[Dangling]:
    """Yield what is asked of objects and not carried, for each transport that is in use."""
    destinations = decode_delivery(settings_in(referable.world)).destinations
    if not destinations:
        return
    transports = sorted({one.transport for one in destinations})
    for dialect in DIALECTS:
        for instructed in dialect.view().written.instructed(referable):
            for transport in transports:
                if not TABLE[instructed.instruction][transport].carried:
                    text = not_carried_text(instructed.instruction, transport)
                    expected = _expected(instructed.instruction)
                    yield Dangling(instructed.by, instructed.pointer, NOT_CARRIED, text, expected)


def _secrets_not_delivered(referable: Known) -> Iterator[Dangling]:
    """Yield the Secrets that are placed, and held back where their content would be delivered."""
    settings = decode_delivery(settings_in(referable.world))
    if all(one.transport == "decisions" for one in settings.destinations):
        return
    refused = {
        one.key: why
        for one in referable.of_kind("", "Secret")
        if (why := settings.refusal_of_secret(one.key, one.body))
    }
    views = [dialect.view() for dialect in DIALECTS] if refused else []
    placed = {one.object for view in views for one in view.written.brought(referable)}
    for key in sorted(refused.keys() & placed):
        yield Dangling(key, "", "delivery-not-rendered", refused[key], ENCRYPTED)


ENCRYPTED = "a SealedSecret, or one that SOPS encrypted and `delivery.secrets: encrypted`"


def _expected(instruction: Instruction) -> str:
    """Return what carries it."""
    cells = TABLE[instruction].items()
    carrying = [name for name, cell in cells if cell.carried and name != "decisions"]
    if not carrying:
        return "a manifest that does not ask for it"
    return f"a transport that carries it ({', '.join(carrying)}), or a manifest without it"
