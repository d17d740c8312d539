"""What is asked not to happen on clusters, told and applied by a tool that prunes as Flux does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

import pytest

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.core.changes import Outcome
from reconciler.core.dialects import PLACED
from reconciler.delivery.carriage import TABLE, Effect
from reconciler.delivery.transports import TRANSPORTS
from reconciler.dialects.renderer import Instruction
from reconciler.manifests.text.reader import read
from tests.builders import (
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    metadata,
    policy,
    text,
)
from tests.delivery.test_transports import CIPHER, SOPS
from tests.dialects.kubefleet.fleet import member, placement
from tests.dialects.ocm.worlds import binding, cluster_set, replica_set, settings_map
from tests.dialects.ocm.worlds import cluster as managed
from tests.dialects.ocm.worlds import placement as ocm_placement
from tests.stories import Story, story

PRUNE, APPLY = (f"kustomize.toolkit.fluxcd.io/{name}" for name in ("prune", "ssa"))
Name = tuple[str, str, str]


@dataclass
class Member:
    """One cluster: what is live, and what Flux applied last."""

    live: dict[Name, Body] = field(default_factory=dict)
    applied: dict[Name, Body] = field(default_factory=dict)


@dataclass
class Flux:
    """All clusters, by name."""

    members: dict[str, Member] = field(default_factory=dict)

    def sync(self, told: Story) -> None:
        """Bring what the folders hold to the clusters, and prune what they hold no more."""
        for name in {path.split("/")[1] for path in told.files if path.startswith("delivery/")}:
            member = self.members.setdefault(name, Member())
            wanted = dict(_manifests(told, name))
            for key, manifest in wanted.items():
                _apply(member, key, manifest)
            for key in member.applied.keys() - wanted.keys():
                if annotations_of(member.live.get(key, {})).get(PRUNE) != "disabled":
                    member.live.pop(key, None)
                del member.applied[key]

    def report(self, told: Story, cluster: str, key: Name) -> None:
        """Let a cluster report an object with what keeps it there, as an import writes it."""
        live = self.members[cluster].live[key]
        metadata = {**cast(Body, live["metadata"])}
        told.files[f"feedback/{cluster}/{key[2]}.yaml"] = text(
            {
                "apiVersion": live["apiVersion"],
                "kind": live["kind"],
                "metadata": {
                    "name": metadata["name"],
                    "namespace": metadata["namespace"],
                    "annotations": {PRUNE: annotations_of(live).get(PRUNE, "enabled")},
                },
                "status": {},
            }
        )


def annotations_of(body: Body) -> Mapping[str, str]:
    """The annotations of an object."""
    metadata = cast(Mapping[str, object], body.get("metadata", {}))
    return cast(Mapping[str, str], metadata.get("annotations", {}))


def _manifests(told: Story, cluster: str) -> Iterator[tuple[Name, Body]]:
    """The objects that the kustomization of a cluster names."""
    folder = f"delivery/{cluster}"
    for path in sorted(told.files):
        if path.startswith(f"{folder}/") and not path.endswith("kustomization.yaml"):
            assert path.removeprefix(f"{folder}/") in told.files[f"{folder}/kustomization.yaml"]
            (document,) = read(told.files[path].encode(), path).documents
            metadata = cast(Mapping[str, str], document.body["metadata"])
            kind = str(document.body["kind"])
            yield (kind, metadata.get("namespace", ""), metadata["name"]), document.body


def _apply(member: Member, key: Name, manifest: Body) -> None:
    """Apply one object; its replicas default to one, as an API server has it."""
    before = member.applied.get(key)
    member.applied[key] = manifest
    if key in member.live and annotations_of(manifest).get(APPLY) == "IfNotPresent":
        return
    own = dict(cast(Mapping[str, object], manifest.get("spec", {})))
    if key[0] == "Deployment" and "replicas" not in own:
        live = cast(Mapping[str, object], member.live.get(key, {}).get("spec", {}))
        owned = before is not None and "replicas" in cast(Body, before["spec"])
        own["replicas"] = 1 if owned else live.get("replicas", 1)
    member.live[key] = {**manifest, "spec": own} if own else manifest


FOLDERS: Body = {"folders": {}}
CONTENT = "example.org/version"
AWHILE = timedelta(minutes=5)  # by then a silent cluster is taken for one that has it
Write = Callable[[bool, str], Sequence[Body]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Who asks: what people write beside what never changes, asking or not, in some version."""

    fleet: Sequence[Body]
    write: Write
    removed: Callable[[], Sequence[Body]]
    live: Name = ("ConfigMap", "default", "settings")

    def begin(self, delivery: Body = FOLDERS) -> Story:
        """The repository before anybody asks for anything."""
        options = configuration(delivery={**delivery, "secrets": "encrypted"})
        return story(*self.fleet, options)


def versioned(body: Body, version: str) -> Body:
    """An object with a version that can be told from another."""
    found = cast(Body, body["metadata"])
    labels = cast(Mapping[str, str], found.get("labels", {}))
    return {**body, "metadata": {**found, "labels": {**labels, CONTENT: version}}}


def karmada(asking: Body, kind: str = "ConfigMap", **more: object) -> Case:
    """A policy that asks."""
    means = [{"apiVersion": "apps/v1" if kind == "Deployment" else "v1", "kind": kind}]
    content = deployment() if kind == "Deployment" else {**configmap(), "kind": kind, **more}
    name = "web" if kind == "Deployment" else "settings"

    def write(asked: bool, version: str) -> Sequence[Body]:  # noqa: FBT001  # a row of a table
        own = policy(selectors=means)
        spec = {**cast(Body, own["spec"]), **(asking if asked else {})}
        return {**own, "spec": spec}, versioned(content, version)

    return Case(
        fleet=[cluster("a")],
        write=write,
        removed=lambda: [content],
        live=(kind, "default", name),
    )


def labelled() -> Case:
    """A workload that asks by its label."""
    base = karmada({}, "Deployment")

    def write(asked: bool, version: str) -> Sequence[Body]:  # noqa: FBT001  # a row of a table
        own, body = base.write(False, version)
        if asked:
            found = cast(Body, body["metadata"])
            labels = {**cast(Body, found["labels"]), Instruction.REPLICAS_RETAINED.value: "true"}
            body = {**body, "metadata": {**found, "labels": labels}}
        return own, body

    return Case(fleet=base.fleet, write=write, removed=base.removed, live=base.live)


def kubefleet(**strategy: Body) -> Case:
    """A placement whose strategy asks."""

    def write(asked: bool, version: str) -> Sequence[Body]:  # noqa: FBT001  # a row of a table
        rolling: Body = {"rollingUpdate": {"maxUnavailable": "100%"}}
        wanted = placement(strategy={**rolling, **(strategy if asked else {})})
        return wanted, versioned(configmap(), version)

    return Case(fleet=[member("a")], write=write, removed=lambda: [placement()])


def ocm(template: Body) -> Case:
    """A set whose template asks."""

    def write(asked: bool, version: str) -> Sequence[Body]:  # noqa: FBT001  # a row of a table
        found = replica_set(versioned(settings_map(), version))
        spec = cast(Body, found["spec"])
        own = cast(Body, spec["manifestWorkTemplate"])
        asking = {**own, **(template if asked else {})}
        return ({**found, "spec": {**spec, "manifestWorkTemplate": asking}},)

    return Case(
        fleet=[cluster_set(), binding(), ocm_placement(), managed("a")],
        write=write,
        removed=lambda: [replica_set()],
        live=("ConfigMap", "shop", "settings"),
    )


def configured(strategy: Body) -> Case:
    """A set that asks how its ConfigMap is updated."""
    named = {"group": "", "resource": "configmaps", "namespace": "shop", "name": "settings"}
    return ocm({"manifestConfigs": [{"resourceIdentifier": named, "updateStrategy": strategy}]})


IGNORED: Body = {"ignoreFields": [{"condition": "OnSpokeChange", "jsonPaths": [".data.v"]}]}
CASES: Mapping[Instruction, Case] = {
    Instruction.SUSPENDED: karmada({"suspension": {"dispatching": True}}),
    Instruction.PRESERVED: karmada({"preserveResourcesOnDeletion": True}),
    Instruction.REPLICAS_RETAINED: labelled(),
    Instruction.ABORTS: karmada({"conflictResolution": "Abort"}),
    Instruction.REPORT_DIFF: kubefleet(applyStrategy={"type": "ReportDiff"}),
    Instruction.TAKE_OVER: kubefleet(applyStrategy={"whenToTakeOver": "Never"}),
    Instruction.DRIFTED: kubefleet(applyStrategy={"whenToApply": "IfNotDrifted"}),
    Instruction.UNFORCED: kubefleet(applyStrategy={"type": "ServerSideApply"}),
    Instruction.ABANDON: kubefleet(deleteStrategy={"propagationPolicy": "Abandon"}),
    Instruction.ORPHAN: ocm({"deleteOption": {"propagationPolicy": "Orphan"}}),
    Instruction.CREATE_ONLY: configured({"type": "CreateOnly"}),
    Instruction.READ_ONLY: configured({"type": "ReadOnly"}),
    Instruction.IGNORED_FIELDS: configured({"type": "ServerSideApply", "serverSideApply": IGNORED}),
    Instruction.EXECUTOR: ocm(
        {
            "executor": {
                "subject": {
                    "type": "ServiceAccount",
                    "serviceAccount": {"namespace": "shop", "name": "deployer"},
                }
            }
        }
    ),
}
"""Who asks for what; the checksum of SOPS is asked for by what it stands in."""
NEW_NOWHERE = frozenset({Effect.STAYS, Effect.KNOWN})
AS_IT_WAS = frozenset({Effect.STAYS, Effect.CREATES})
OUTLIVING = frozenset({Effect.MARKS, Effect.OUTLIVES})
ASKED = pytest.mark.parametrize("instruction", CASES, ids=lambda one: one.name)


@dataclass
class Run:
    """A repository, its clusters, and what the last pass made of it."""

    case: Case
    told: Story
    flux: Flux
    outcome: Outcome

    def __init__(self, instruction: Instruction, *steps: tuple[bool, str]) -> None:
        """Take steps: asking or not, each with a version of what is placed."""
        self.case = CASES[instruction]
        self.told, self.flux = self.case.begin(), Flux()
        for asked, version in steps:
            self.take(asked=asked, version=version)

    def take(self, *, asked: bool, version: str) -> "Run":
        """Write, decide, apply; what rolls out has some passes for it."""
        self.told.put(*self.case.write(asked, version))
        return self.settle()

    def remove(self) -> "Run":
        """Take away what brings the object."""
        self.told.drop(*self.case.removed())
        return self.settle()

    def settle(self) -> "Run":
        """Decide and apply until nothing changes."""
        self.outcome = self.told.run()
        self.flux.sync(self.told)
        for _ in range(4):
            self.told.now += AWHILE
            self.told.run()
            self.flux.sync(self.told)
        return self

    @property
    def version(self) -> str | None:
        """The version that runs on the cluster, `None` if nothing does."""
        live = self.flux.members.get("a")
        found = None if live is None else live.live.get(self.case.live)
        if found is None:
            return None
        labels = cast(Body, cast(Body, found["metadata"])["labels"])
        return str(labels[CONTENT])

    @property
    def files(self) -> list[str]:
        """The delivered files of the object."""
        named = f"/{self.case.live[2]}.yaml"
        return [p for p in self.told.files if p.startswith("delivery/") and p.endswith(named)]


def effect(instruction: Instruction) -> Effect:
    """What folders do about it."""
    return TABLE[instruction]["folders"].effect


@ASKED
def test_what_is_asked_at_first_decides_whether_anything_comes(instruction: Instruction) -> None:
    """Where applying could harm what runs, nothing new is delivered."""
    ran = Run(instruction, (True, "1"))

    assert (None if effect(instruction) in NEW_NOWHERE else "1") == ran.version


@ASKED
def test_what_is_asked_later_takes_nothing_away(instruction: Instruction) -> None:
    """What was delivered stays as it is, or follows."""
    ran = Run(instruction, (False, "1"), (True, "1"))
    assert "1" == ran.version
    ran.take(asked=True, version="2")

    assert ("1" if effect(instruction) in AS_IT_WAS else "2") == ran.version


@ASKED
def test_what_is_not_delivered_stays_byte_for_byte(instruction: Instruction) -> None:
    """Its file is the one of before."""
    ran = Run(instruction, (False, "1"))
    (path,) = ran.files
    before = ran.told.files[path]
    ran.take(asked=True, version="2")

    assert (effect(instruction) is Effect.STAYS) == (before == ran.told.files[path])


@ASKED
def test_what_is_asked_no_more_follows_again(instruction: Instruction) -> None:
    """With the content of now."""
    ran = Run(instruction, (False, "1"), (True, "2"), (False, "3"))

    assert "3" == ran.version


@ASKED
def test_what_is_to_outlive_its_removal_does(instruction: Instruction) -> None:
    """A removal prunes it, unless that was asked not to happen."""
    ran = Run(instruction, (False, "1"), (True, "1")).remove()

    assert ("1" if effect(instruction) in OUTLIVING else None) == ran.version


@ASKED
def test_what_is_asked_and_not_carried_is_told(instruction: Instruction) -> None:
    """By the pass, with the rule and the instruction; what is carried is not."""
    ran = Run(instruction, (True, "1"))
    told = [one for one in ran.outcome.warnings if f"`{instruction}`" in one]

    assert TABLE[instruction]["folders"].carried == (not told)
    assert all("delivery-not-carried" in one for one in told)


@ASKED
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_each_transport_tells_what_it_does_not_carry(
    transport: str, instruction: Instruction
) -> None:
    """The table has a cell for each pair, and the pass says what it says."""
    case = CASES[instruction]
    hub = {"hubsWithoutControllers": True} if transport == "works" else {}
    told = case.begin({transport: hub}).put(*case.write(True, "1"))
    found = [one for one in told.run().warnings if f"`{instruction}`" in one]

    assert TABLE[instruction][transport].carried == (not found)


@ASKED
def test_what_is_asked_and_not_carried_is_told_of_each_copy(instruction: Instruction) -> None:
    """As `why` and `tree` show it: what is not carried, and why a copy stays as it is."""
    ran = Run(instruction, (False, "1"), (True, "2"))
    cell, world = TABLE[instruction]["folders"], ran.told.world()
    of = CopiesOf(world, ran.told.now)
    (copy,) = (one for output in world.outputs_of(sorted(PLACED)) for one in of(output.key))
    (files,) = copy.files
    named = [one for one in files.notes if f"`{instruction}`" in one]

    assert cell.carried == (not named)
    assert (cell.effect is Effect.STAYS) == (f"`{instruction}`" in files.why)
    assert (cell.effect is not Effect.STAYS) == copy.is_delivered


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nothing_new_comes_while_dispatching_is_suspended(transport: str) -> None:
    """A cluster that is chosen meanwhile gets nothing, and the first one keeps what it has."""
    case = CASES[Instruction.SUSPENDED]
    hub = {"hubsWithoutControllers": True} if transport == "works" else {}
    told = case.begin({transport: hub}).put(*case.write(False, "1"))
    told.run(0)
    before = delivered_in(told)
    told.put(*case.write(True, "2"), cluster("b")).run()
    now = delivered_in(told)

    if transport == "works":  # its agents look at the field
        assert all("suspendDispatching: true" in text for text in now.values())
    else:
        assert before == now


def delivered_in(told: Story) -> dict[str, str]:
    """What was delivered, but for what kustomize reads."""
    roots = ("delivery/", "decisions/", "manifestworks/", "works/")
    found = {path: text for path, text in told.files.items() if path.startswith(roots)}
    return {path: text for path, text in found.items() if "kustomization" not in path}


@pytest.mark.parametrize("transport", ["manifestworks", "works"])
def test_an_agents_object_stays_where_asking_and_removal_come_in_one_merge(transport: str) -> None:
    """Nobody told the agent before that what it applied is to outlive that."""
    case = CASES[Instruction.PRESERVED]
    hub = {"hubsWithoutControllers": True} if transport == "works" else {}
    told = case.begin({transport: hub}).put(*case.write(False, "1"))
    told.run(0)
    (path,) = delivered_in(told)
    asking, content = case.write(True, "1")
    outcome = told.put(asking).drop(content).run()
    told.run()

    assert [path] == list(delivered_in(told))
    assert ["delivery-pruning-held"] == [one.rule for one in outcome.faults]


def test_every_instruction_has_a_cell_for_every_transport() -> None:
    """One without would be dropped in silence."""
    assert set(Instruction) == TABLE.keys()
    assert all(TRANSPORTS.keys() == cells.keys() for cells in TABLE.values())


@pytest.mark.parametrize(
    "drop", [pytest.param(True, id="removed"), pytest.param(False, id="moved")]
)
def test_preserving_and_removal_in_one_merge_keep_the_file(drop: bool) -> None:  # noqa: FBT001
    """Until a report shows the mark on the object; then the file goes and the object stays."""
    ran = Run(Instruction.PRESERVED, (False, "1"))
    asking, content = ran.case.write(True, "1")
    if drop:
        ran.told.put(asking).drop(content)
    else:
        away = {"placement": {"clusterAffinity": {"clusterNames": ["b"]}}}
        spec = {**cast(Body, asking["spec"]), **away}
        ran.told.put(cluster("b"), {**asking, "spec": spec})
    ran.settle()
    (fault,) = (one for one in ran.outcome.faults if one.rule == "delivery-pruning-held")
    held = [path for path in ran.files if path.startswith("delivery/a/")]
    assert ("1", 1, True) == (ran.version, len(held), "are to outlive" in fault.message)
    if drop:  # nothing tells any more how it was, so that a person marks it, or lets it go
        live = ran.flux.members["a"].live[ran.case.live]
        ran.flux.members["a"].live[ran.case.live] = marked_by_hand(live)
    ran.flux.report(ran.told, "a", ran.case.live)
    ran.settle()

    assert ("1", []) == (
        ran.version,
        [path for path in ran.files if path.startswith("delivery/a/")],
    )


def marked_by_hand(live: Body) -> Body:
    """What runs, with the annotation that a person put there."""
    found = cast(Body, live["metadata"])
    annotations = {
        **cast(Body, found.get("annotations", {})),
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
    }
    return {**live, "metadata": {**found, "annotations": annotations}}


def test_what_stays_may_be_let_go_by_its_digest() -> None:
    """Then it is pruned, which is what the person said."""
    ran = Run(Instruction.PRESERVED, (False, "1"))
    asking, content = ran.case.write(True, "1")
    ran.told.put(asking).drop(content)
    ran.settle()
    (fault,) = (one for one in ran.outcome.faults if one.rule == "delivery-pruning-held")
    allowed = fault.expected.split("`")[1].removeprefix("allow: ")
    ran.told.put(configuration(delivery=FOLDERS, safety={"allow": allowed}))
    ran.settle()

    assert (None, []) == (ran.version, ran.files)


def test_what_outlives_a_placement_goes_once_a_report_shows_the_mark() -> None:
    """Its file gets the mark when the placement goes, so that moves before prune as ever."""
    ran = Run(Instruction.ABANDON, (True, "1"))
    assert "prune" not in ran.told.files[ran.files[0]]
    ran.remove()
    assert "prune: disabled" in ran.told.files[ran.files[0]]
    ran.flux.report(ran.told, "a", ran.case.live)
    ran.settle()

    assert ("1", []) == (ran.version, ran.files)


def test_replicas_that_are_retained_are_no_ones_but_the_clusters() -> None:
    """What scales the workload there keeps its number."""
    ran = Run(Instruction.REPLICAS_RETAINED, (True, "1"))
    live = ran.flux.members["a"].live
    body = live[ran.case.live]
    live[ran.case.live] = {**body, "spec": {**cast(Body, body["spec"]), "replicas": 7}}
    ran.take(asked=True, version="2")

    assert 7 == cast(Body, live[ran.case.live]["spec"])["replicas"]


def test_an_option_of_argo_that_is_written_stays() -> None:
    """The marks stand beside it."""
    case = CASES[Instruction.PRESERVED]
    asking, content = case.write(True, "1")
    options = {"argocd.argoproj.io/sync-options": "Replace=true"}
    found = {**cast(Body, content["metadata"]), "annotations": options}
    told = case.begin().put(asking, {**content, "metadata": found})
    told.run(0)

    text = told.files["delivery/a/default/configmaps/settings.yaml"]
    assert "argocd.argoproj.io/sync-options: Replace=true,Prune=false,Delete=false\n" in text


def test_agents_of_other_apis_are_told_in_their_words() -> None:
    """A ManifestWork orphans what is preserved, and leaves replicas that are retained."""
    case = CASES[Instruction.REPLICAS_RETAINED]
    asking, content = case.write(True, "1")
    kept = {**asking, "spec": {**cast(Body, asking["spec"]), "preserveResourcesOnDeletion": True}}
    told = case.begin({"manifestworks": {}}).put(kept, content)
    told.run(0)
    (work,) = (text for path, text in told.files.items() if path.startswith("manifestworks/"))

    assert "  deleteOption:\n    propagationPolicy: Orphan\n" in work
    assert "ignoreFields:\n" in work
    assert ".spec.replicas" in work
    assert "replicas: 2\n" in work


@pytest.mark.parametrize(
    ("own", "told"),
    [pytest.param({}, 1, id="all"), pytest.param({"mac_only_encrypted": True}, 0, id="encrypted")],
)
def test_a_checksum_that_covers_what_delivery_adds_is_told(own: Body, told: int) -> None:
    """Labels and annotations of Karmada are not in it."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata("s", "default"),
        "data": {"k": CIPHER},
        "sops": {**SOPS, **own},
    }
    means = [{"apiVersion": "v1", "kind": "Secret"}]
    options = configuration(delivery={**FOLDERS, "secrets": "encrypted"})
    outcome = story(cluster("a"), policy(selectors=means), secret, options).run(0)

    assert told == len([one for one in outcome.warnings if "`sops.mac`" in one])
