"""Transports: folders and ManifestWorks, what is in them, when it changes, what returns."""

from base64 import b64encode
from typing import cast

import pytest

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.delivery.memory import FileOwner, texts_of
from reconciler.delivery.settings import Destination, folders_of_passes
from reconciler.dialects.karmada.detector.propagation import SKIP
from reconciler.dialects.ocm.api.placement import WORK_GROUP
from reconciler.dialects.ocm.workstatus.work_status import FINALIZER, status_of_work
from reconciler.dialects.renderer import ClusterWork, Rendered
from reconciler.errors import UserError
from reconciler.manifests.admission import SUSPEND
from reconciler.manifests.secrets import LAST_APPLIED
from reconciler.manifests.text.reader import read
from reconciler.model.fields import without
from reconciler.model.identity import ClusterName, ObjectKey
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    configmap,
    configuration,
    deployment,
    divided,
    metadata,
    policy,
    selector,
    taint,
    text,
    text_of,
)
from tests.dialects.kubefleet.fleet import condition, member
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.ocm.worlds import (
    SHOP,
    fleet,
    placement,
    progressive,
    replica_set,
    settings_map,
    succeed,
    templates,
)
from tests.stories import Story, story

FOLDERS: Body = {"folders": {}}
WEB = "default/deployments.apps/web.yaml"
NONCE = b64encode(bytes(32)).decode()
CIPHER = f"ENC[AES256_GCM,data:Zm9v,iv:{NONCE},tag:{b64encode(bytes(16)).decode()},type:str]"
SOPS: Body = {
    "age": [{"recipient": "age1example", "enc": "-----BEGIN AGE ENCRYPTED FILE-----"}],
    "lastmodified": "2026-11-20T12:00:00Z",
    "mac": CIPHER,
    "version": "3.9.0",
}


def delivered(*bodies: Body, delivery: Body = FOLDERS) -> Story:
    """Two clusters, a policy for Deployments, and delivery."""
    told = story(cluster("a"), cluster("b"), cluster_policy(), configuration(delivery=delivery))
    told.put(*bodies)
    told.run(0)
    return told


def below(told: Story, root: str = "delivery") -> list[str]:
    """The files of delivery, sorted."""
    prefix = f"{root}/"
    return sorted(p.removeprefix(prefix) for p in told.files if p.startswith(prefix))


def override(name: str, *overriders: Body, namespace: str = "default") -> Body:
    """An OverridePolicy for the cluster b."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata(name, namespace),
        "spec": {
            "resourceSelectors": [selector()],
            "overrideRules": [
                {"targetCluster": {"clusterNames": ["b"]}, "overriders": overriders[0]}
            ],
        },
    }


def test_nothing_is_delivered_by_default() -> None:
    """Without a section on delivery there is no file but outputs."""
    told = story(cluster("a"), cluster_policy(), deployment())
    outcome = told.run(0)

    assert () == outcome.delivered
    assert "status/delivery.yaml" not in told.files


def test_each_cluster_has_a_folder_with_what_belongs_there() -> None:
    """And a kustomization.yaml that names it."""
    told = delivered(deployment())

    assert [f"{name}/{file}" for name in "ab" for file in (WEB, "kustomization.yaml")] == below(
        told
    )
    assert f"- {WEB}\n" in told.files["delivery/a/kustomization.yaml"]


def test_a_cluster_with_nothing_keeps_its_folder() -> None:
    """Or else nothing would be applied there, and so nothing pruned."""
    told = delivered()

    assert ["a/kustomization.yaml", "b/kustomization.yaml"] == below(told)
    assert "resources: []\n" in told.files["delivery/a/kustomization.yaml"]


def test_the_replicas_are_the_clusters_share() -> None:
    """Not those of the workload."""
    policy = cluster_policy(placement={"replicaScheduling": divided()})
    told = story(cluster("a"), cluster("b"), policy, configuration(delivery=FOLDERS))
    told.put(deployment(replicas=4)).run(0)

    assert "  replicas: 2\n" in told.files[f"delivery/a/{WEB}"]


def test_a_namespace_that_is_not_written_is_filled_in() -> None:
    """As an API server does, so that it goes where the policy meant it."""
    bare = deployment()
    metadata_of = dict(cast(Body, bare["metadata"]))
    del metadata_of["namespace"]
    told = delivered({**bare, "metadata": metadata_of})

    assert "  namespace: default\n" in told.files[f"delivery/a/{WEB}"]


def test_annotations_for_us_are_not_delivered() -> None:
    """To suspend a workload changes no file of its clusters."""
    web = deployment()
    marks = {"reconciler.dev/note": "x", "example.com/kept": "y"}
    told = delivered({**web, "metadata": {**cast(Body, web["metadata"]), "annotations": marks}})

    assert 'example.com/kept: "y"' in told.files[f"delivery/a/{WEB}"]
    assert "reconciler.dev" not in told.files[f"delivery/a/{WEB}"]

    marks |= {SUSPEND: "true"}
    told.put({**web, "metadata": {**cast(Body, web["metadata"]), "annotations": marks}})

    assert () == told.run(1).delivered


def test_a_changed_workload_rewrites_only_its_files() -> None:
    """Those of the others are not even looked at."""
    told = delivered(deployment("web"), deployment("other"))
    told.put(deployment("web", labels={"tier": "front"}))
    outcome = told.run()

    assert [f"delivery/{name}/{WEB}" for name in "ab"] == [one.path for one in outcome.delivered]


def test_an_override_changes_the_manifest_of_its_clusters_only() -> None:
    """What it changes stands in the file."""
    told = delivered(deployment())
    told.put(override("o", {"labelsOverrider": [{"operator": "add", "value": {"at": "b"}}]}))
    outcome = told.run()

    assert [f"delivery/b/{WEB}"] == [one.path for one in outcome.delivered]
    assert "    at: b\n" in told.files[f"delivery/b/{WEB}"]


def test_a_broken_override_keeps_the_last_good_file() -> None:
    """It is a fault that names cluster and policy; other clusters get what is new."""
    told = delivered(deployment())
    before = told.files[f"delivery/b/{WEB}"]
    told.put(override("o", {"plaintext": [{"path": "/no/such", "operator": "remove"}]}))
    told.put(deployment(replicas=9))
    outcome = told.run()
    (fault,) = outcome.faults

    assert ("delivery-not-rendered", True) == (fault.rule, "OverridePolicy o" in fault.message)
    assert "ResourceBinding default/web-deployment is not delivered to b" in fault.message
    assert before == told.files[f"delivery/b/{WEB}"]
    assert "  replicas: 9\n" in told.files[f"delivery/a/{WEB}"]


def test_what_leaves_a_cluster_leaves_its_folder() -> None:
    """A move is a decision, so its file goes, and its kustomization.yaml follows."""
    told = delivered(deployment())
    told.put(cluster_policy(placement={"clusterAffinity": {"clusterNames": ["a"]}}))
    told.run()

    assert [f"a/{WEB}", "a/kustomization.yaml", "b/kustomization.yaml"] == below(told)
    assert "resources: []\n" in told.files["delivery/b/kustomization.yaml"]


def test_a_removed_workload_leaves_all_folders() -> None:
    """The brake on removals let it through already."""
    told = delivered(deployment())
    told.drop(deployment()).run()

    assert ["a/kustomization.yaml", "b/kustomization.yaml"] == below(told)


def test_an_edited_file_is_put_right() -> None:
    """Delivery owns its folders as passes own the outputs."""
    told = delivered(deployment())
    right = told.files[f"delivery/a/{WEB}"]
    told.files[f"delivery/a/{WEB}"] = "kind: Other\n"
    told.run()

    assert right == told.files[f"delivery/a/{WEB}"]


def test_what_is_delivered_is_no_input() -> None:
    """A Deployment in a cluster's folder is no workload to be placed."""
    told = delivered(deployment())
    told.run()

    assert 1 == sum(path.startswith("status/resourcebindings") for path in told.files)


@pytest.mark.parametrize(
    ("data", "delivery"),
    [
        pytest.param({"data": {"k": "cGxhaW4="}}, FOLDERS, id="plain"),
        pytest.param(
            {"data": {"k": "cGxhaW4="}}, {**FOLDERS, "secrets": "encrypted"}, id="plain-allowed"
        ),
        pytest.param({"data": {"k": CIPHER}, "sops": SOPS}, FOLDERS, id="encrypted-not-allowed"),
        *(
            pytest.param(data, {**FOLDERS, "secrets": "encrypted"}, id=name)
            for name, data in {
                "the-word-only": {"data": {"k": "ENC["}, "sops": SOPS},
                "no-cipher": {"data": {"k": "ENC[AES256_GCM,data:x]"}, "sops": SOPS},
                "a-short-nonce": {"data": {"k": CIPHER.replace(NONCE, "AAAA")}, "sops": SOPS},
                "no-mac": {"data": {"k": CIPHER}, "sops": {**SOPS, "mac": ""}},
                "a-mac-in-the-clear": {"data": {"k": CIPHER}, "sops": {**SOPS, "mac": "ENC[y]"}},
                "no-keys": {"data": {"k": CIPHER}, "sops": {"mac": CIPHER}},
                "one-value-plain": {"data": {"k": CIPHER, "l": "cGxhaW4="}, "sops": SOPS},
                "plain-beside-data": {"data": {"k": CIPHER}, "note": "hunter2", "sops": SOPS},
                "data-no-mapping": {"data": "hunter2", "sops": SOPS},
                "the-whole-in-an-annotation": {
                    "data": {"k": CIPHER},
                    "sops": SOPS,
                    "metadata": {
                        **metadata("s", "default"),
                        "annotations": {LAST_APPLIED: '{"data": {"k": "cGxhaW4="}}'},
                    },
                },
            }.items()
        ),
    ],
)
def test_a_secret_is_refused_by_name(data: Body, delivery: Body) -> None:
    """Unless it is encrypted and the configuration says so."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata("s", "default"), **data}
    told = delivered(delivery=delivery)
    told.put(cluster_policy(selectors=[selector("Secret")]), secret)
    (fault,) = told.run().faults

    assert "Secret.core default/s is a Secret" in fault.message
    assert not any("secrets" in path for path in below(told))


def test_an_encrypted_secret_is_delivered_where_it_is_allowed() -> None:
    """As it is."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata("s", "default"),
        "data": {"k": CIPHER, "empty": ""},
        "sops": SOPS,
    }
    told = delivered(delivery={**FOLDERS, "secrets": "encrypted"})
    told.put(cluster_policy(selectors=[selector("Secret")]), secret).run()

    assert "a/default/secrets/s.yaml" in below(told)


@pytest.mark.parametrize("secrets", ["refuse", "encrypted"])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"type": "kubernetes.io/service-account-token"}, id="token"),
        pytest.param({"data": {}}, id="empty"),
        pytest.param({"data": None, "stringData": {"k": ""}}, id="nothing-in-it"),
    ],
)
def test_a_secret_without_any_value_is_delivered(fields: Body, secrets: str) -> None:
    """There is nothing in it that could be in the clear."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata("s", "default"), **fields}
    told = delivered(delivery={**FOLDERS, "secrets": secrets})
    outcome = told.put(cluster_policy(selectors=[selector("Secret")]), secret).run()

    assert () == outcome.faults
    assert "a/default/secrets/s.yaml" in below(told)


def test_a_secret_that_kubectl_kept_whole_has_values() -> None:
    """Its annotation has them."""
    kept = metadata("s", "default", annotations={LAST_APPLIED: '{"data": {"k": "cGxhaW4="}}'})
    told = delivered()
    told.put(cluster_policy(selectors=[selector("Secret")]))
    told.put({"apiVersion": "v1", "kind": "Secret", "metadata": kept})
    (fault,) = told.run().faults

    assert "is a Secret in the clear" in fault.message


def test_a_namespace_goes_to_every_cluster() -> None:
    """As the sync of namespaces has it."""
    told = delivered({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("team")})

    assert {f"{name}/_cluster/namespaces/team.yaml" for name in "ab"} <= set(below(told))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        pytest.param("default", {}, id="every-cluster-has-it"),
        pytest.param("karmada-cluster", {}, id="reserved"),
        pytest.param("team", {"labels": {SKIP: "true"}}, id="skipped-by-its-label"),
        pytest.param("team", {"deletionTimestamp": "2026-11-20T11:00:00Z"}, id="being-deleted"),
    ],
)
def test_a_namespace_that_is_not_synced_goes_to_no_cluster(name: str, fields: Body) -> None:
    """Though its name is one that a pattern may cover."""
    told = delivered(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {**metadata(name), **fields}}
    )

    assert [] == [path for path in below(told) if "/namespaces/" in path]


def test_only_folders_of_the_served_branch_are_of_passes() -> None:
    """What is delivered to another branch may have a folder of people's by its name on this one."""
    delivery = {"folders": {"path": "out/{cluster}"}, "manifestworks": {"branch": "works"}}
    told = story(configuration(delivery=delivery))

    assert ("status", "out") == folders_of_passes(told.world())


def test_an_object_that_etcd_would_not_take_is_refused_by_name() -> None:
    """It has more than one and a half megabytes."""
    key = ObjectKey("", "ConfigMap", "default", "settings")
    body = {**configmap(), "data": {"k": "x" * 1_600_000}}
    work = ClusterWork(cluster=ClusterName("a"), carrier={}, manifests={key: body})
    rendered = Rendered(path="settings.yaml", works=(work,))

    with pytest.raises(UserError, match=r"configmaps/settings.yaml has \d+ bytes, more than the"):
        texts_of(
            FileOwner("karmada", key), rendered, [Destination("folders", "delivery/{cluster}")], {}
        )


def test_a_folder_of_works_has_no_kustomization() -> None:
    """Kustomize reads none of it, in whichever pass."""
    told = delivered(deployment(), delivery={"works": {"hubsWithoutControllers": True}})
    told.put(deployment("other")).run()

    assert [] == [path for path in below(told, "works") if path.endswith("kustomization.yaml")]


def test_a_divided_kind_that_nobody_can_interpret_is_a_warning() -> None:
    """It goes whole to each cluster, unless the configuration refuses that."""
    widget = {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": metadata("w", "default"),
        "spec": {"replicas": 4},
    }
    means = {"apiVersion": "example.org/v1", "kind": "Widget"}
    divides = cluster_policy(selectors=[means], placement={"replicaScheduling": divided()})
    told = delivered(widget).put(divides)
    outcome = told.run()

    assert 1 == len([one for one in outcome.warnings if "Widget.example.org default/w" in one])
    assert "  replicas: 4\n" in told.files["delivery/a/default/widgets.example.org/w.yaml"]
    refusing = configuration(delivery={**FOLDERS, "uninterpreted": "refuse"})
    (fault,) = told.put(refusing).run().faults
    assert "delivery-not-rendered" == fault.rule


@pytest.mark.parametrize(
    ("delivery", "path"),
    [
        pytest.param({"folders": {}}, f"delivery/a/{WEB}", id="folders"),
        pytest.param({"works": {"hubsWithoutControllers": True}}, "works/a/", id="works"),
        pytest.param({"manifestworks": {}}, "manifestworks/a/", id="manifestworks"),
    ],
)
def test_a_new_transport_has_what_is_left_in_the_middle_of_an_eviction(
    delivery: Body, path: str
) -> None:
    """With the replicas that it had, or else nobody would delete it; it goes when that ends."""
    silent: Body = {"feedback": {"assumeAfterSeconds": None}}
    placement = {"replicaScheduling": divided("Aggregated")}
    told = story(cluster("a"), policy(placement=placement), deployment(replicas=3))
    told.put(configuration(**silent)).run(0)
    told.put(cluster("b"), cluster("a", taints=[taint(effect="NoExecute")])).run(10)
    told.put(deployment(replicas=5), configuration(delivery=delivery, **silent)).run(20)
    during = {one: told.files[one] for one in told.files if one.startswith(path)}
    told.put(deployment(replicas=7)).run(30)
    later = {one: told.files[one] for one in told.files if one.startswith(path)}
    told.run(1000)

    assert (1, True) == (len(during), all("replicas: 3\n" in one for one in during.values()))
    assert during == later
    assert [] == [one for one in told.files if one.startswith(path) and "kustomization" not in one]


SETTINGS = "shop/configmaps/settings.yaml"


def delivered_set(delivery: Body, *bodies: Body) -> Story:
    """Two clusters, a set that goes to both, and delivery; nothing is assumed."""
    options = configuration(delivery=delivery, feedback={"assumeAfterSeconds": None})
    told = fleet("a", "b").put(options, *(bodies or (replica_set(),)))
    told.run(0)
    return told


def below_folder(told: Story, root: str) -> list[str]:
    """The files below a folder but for kustomization.yaml, sorted."""
    found = (path.removeprefix(f"{root}/") for path in told.files if path.startswith(f"{root}/"))
    return sorted(path for path in found if not path.endswith("kustomization.yaml"))


def value(told: Story, path: str) -> object:
    """What a delivered ConfigMap holds."""
    data = read(told.files[path].encode(), path).documents[0].body["data"]
    assert isinstance(data, dict)
    return data["v"]


def works(told: Story) -> list[Body]:
    """The ManifestWorks that are delivered, by path."""
    paths = [path for path in sorted(told.files) if path.startswith("manifestworks/")]
    return [read(told.files[path].encode(), path).documents[0].body for path in paths]


def test_folders_hold_the_manifests_of_a_set() -> None:
    """A folder a cluster, with what its template says."""
    told = delivered_set({"folders": {}})

    assert [f"a/{SETTINGS}", f"b/{SETTINGS}"] == below_folder(told, "delivery")


def test_a_manifest_work_is_its_own_carrier() -> None:
    """In the namespace of its cluster, with upstream's labels."""
    told = delivered_set({"manifestworks": {}})
    metadata = works(told)[0]["metadata"]
    assert isinstance(metadata, dict)

    assert "a" == metadata["namespace"]
    assert {
        "team": "web",
        f"{WORK_GROUP}/manifestworkreplicaset": "ns1.shop",
        f"{WORK_GROUP}/placementname": "p",
    } == metadata["labels"]


def test_a_manifest_work_holds_the_template() -> None:
    """With all that the template says beside the manifests."""
    told = delivered_set({"manifestworks": {}})

    assert {"workload": {"manifests": [settings_map()]}} == works(told)[0]["spec"]


def test_names_of_manifest_works_are_stable() -> None:
    """A new template is written over the old one."""
    told = delivered_set({"manifestworks": {}})
    before = below_folder(told, "manifestworks")
    told.put(replica_set(settings_map("2"))).run()

    assert before == below_folder(told, "manifestworks")


def test_a_cluster_before_its_turn_keeps_what_is_there() -> None:
    """The folder of the next one holds the old template."""
    told = delivered_set({"folders": {}})
    told.put(replica_set(settings_map("2"), strategy=progressive())).run()

    assert ("2", "1") == tuple(value(told, f"delivery/{name}/{SETTINGS}") for name in "ab")


def test_an_object_that_a_template_lost_stays_until_the_turn_comes() -> None:
    """Then it goes."""
    told = delivered_set({"folders": {}}, replica_set(settings_map(), settings_map(name="old")))
    told.put(replica_set(strategy=progressive())).run()
    old = "shop/configmaps/old.yaml"
    early = [path for path in below_folder(told, "delivery") if path.endswith(old)]
    succeed(told, "a").run()

    assert [f"b/{old}"] == early
    assert not any(path.endswith(old) for path in below_folder(told, "delivery"))


def test_a_moved_decision_moves_what_is_delivered() -> None:
    """Its files go with the cluster."""
    told = delivered_set({"manifestworks": {}})
    told.put(placement(numberOfClusters=1)).run()

    assert 1 == len(templates(told)) == len(works(told))


def test_a_set_that_stays_leaves_every_file_alone() -> None:
    """Bytes are stable."""
    told = delivered_set({"folders": {}, "manifestworks": {}})

    assert ((), ()) == ((outcome := told.run()).changes, outcome.delivered)


def test_a_removal_that_is_held_back_keeps_what_is_delivered() -> None:
    """Twelve sets of twelve are more than the limit."""
    told = delivered_set({"folders": {}}, *(_numbered(number) for number in range(12)))
    before = below_folder(told, "delivery")
    rules = {one.rule for one in told.drop(*map(_numbered, range(12))).run().faults}

    assert "removal-braked" in rules
    assert before == below_folder(told, "delivery")


def _numbered(number: int) -> Body:
    """A set with a ConfigMap of its own."""
    body = replica_set(settings_map(name=f"settings-{number}"))
    return {**body, "metadata": {"name": f"shop-{number}", "namespace": "ns1"}}


def test_a_cluster_in_two_placements_of_a_set_is_shown_once() -> None:
    """It has a work for each, as upstream has it, and the pass says what that means."""
    told = fleet("a").put(placement(name="q"), replica_set(placements=("p", "q")))
    outcome = told.put(configuration(delivery={"folders": {}})).run(0)
    copies = CopiesOf(told.world(), told.now)(SHOP)

    assert ["a"] == [one.status.cluster for one in copies]
    assert 1 == len([one for one in outcome.warnings if "by several of its placements (p" in one])


SILENT = configuration(delivery={"manifestworks": {}}, feedback={"assumeAfterSeconds": None})
HEALTHY = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}


def reported(told: Story, name: str, status: Body | None) -> Story:
    """Let the agent of a cluster report each ManifestWork that is delivered to it.

    `status` is that of every Deployment there; with `None` no object could be applied.
    """
    live = {**deployment(), "status": status}
    for path in [path for path in told.files if path.startswith(f"manifestworks/{name}/")]:
        work = read(told.files[path].encode(), path).documents[0].body
        spec, metadata = work["spec"], work["metadata"]
        assert isinstance(spec, dict)
        assert isinstance(metadata, dict)
        done = {
            "type": "Applied",
            "status": "False" if status is None else "True",
            "reason": "AppliedManifest",
            "message": "no such namespace" if status is None else "",
            "lastTransitionTime": text_of(told.now),
        }
        manifests = [
            {"resourceMeta": meta(number, one), "conditions": [done]}
            for number, one in enumerate(spec["workload"]["manifests"])
        ]
        known = {"conditions": [done], "resourceStatus": {"manifests": manifests}}
        applied = {**work, "metadata": {**metadata, "finalizers": [FINALIZER]}, "status": known}
        found = status_of_work(applied, lambda _: live, raw=False, at=text_of(told.now))
        file = f"feedback/{name}/{metadata['name']}.yaml"
        told.files[file] = text({**work, "status": found})
    return told


def meta(number: int, manifest: Body) -> Body:
    """How an agent names a manifest."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    own = manifest["metadata"]
    assert isinstance(own, dict)
    kind = str(manifest["kind"])
    named = {"name": own["name"], "namespace": own.get("namespace", "")}
    types = {"group": group, "version": version, "kind": kind, "resource": f"{kind.lower()}s"}
    return {"ordinal": number, **types, **named}


def placed_by_karmada() -> Story:
    """A Deployment on one cluster of Karmada's."""
    told = story(cluster("a"), policy(), deployment(), SILENT)
    told.run(0)
    return told


@pytest.mark.parametrize(
    ("status", "health"),
    [
        pytest.param(HEALTHY, "Healthy", id="all-run"),
        pytest.param({**HEALTHY, "availableReplicas": 1}, "Unhealthy", id="one-is-missing"),
        pytest.param({"replicas": 2}, "Unhealthy", id="none-runs"),
    ],
)
def test_feedback_of_a_manifest_work_is_the_health_of_what_karmada_placed(
    status: Body, health: str
) -> None:
    """The ManifestWork asks its agent for the numbers that health follows from."""
    told = reported(placed_by_karmada(), "a", status)
    outcome = told.run(10)

    assert () == outcome.faults
    entry = {"clusterName": "a", "status": status, "applied": True, "health": health}
    assert [entry] == told.binding()["status"]["aggregatedStatus"]  # type: ignore[index]  # of JSON


def test_what_an_agent_could_not_apply_is_told_of_karmadas_binding() -> None:
    """With its words."""
    told = reported(placed_by_karmada(), "a", None)
    told.run(10)
    status = told.binding()["status"]
    assert isinstance(status, dict)

    assert [
        {
            "clusterName": "a",
            "appliedMessage": "no such namespace",
            "applied": False,
            "health": "Unknown",
        }
    ] == status["aggregatedStatus"]


@pytest.mark.parametrize(
    ("status", "applied", "available"),
    [
        pytest.param(HEALTHY, "True", "True", id="all-run"),
        pytest.param({"replicas": 2}, "True", "False", id="none-runs"),
        pytest.param(None, "False", "Unknown", id="not-applied"),
    ],
)
def test_manifest_works_say_how_far_a_placement_of_kubefleet_is(
    status: Body | None, applied: str, available: str
) -> None:
    """As far as they say it of single resources."""
    told = story(member("a"), fleet_placement(), deployment(), SILENT)
    told.run(0)
    reported(told, "a", status).run(10)

    assert applied == condition(told, "Applied")["status"]
    assert available == stage(told, "Available")


def stage(told: Story, kind: str) -> object:
    """Status of a stage of the placement, Unknown if it is not told."""
    try:
        return condition(told, kind)["status"]
    except StopIteration:
        return "Unknown"


def test_without_what_is_wanted_nothing_is_known_to_be_healthy() -> None:
    """All replicas that are there run, yet there may be fewer than there should be."""
    told = reported(placed_by_karmada(), "a", {**HEALTHY, "replicas": 1, "availableReplicas": 1})
    for path in [path for path in told.files if path.startswith("feedback/a/")]:
        told.files[path] = text(
            without(read(told.files[path].encode(), path).documents[0].body, ("spec",))
        )
    told.run(10)

    assert "'health': 'Unknown'" in str(told.binding()["status"])
