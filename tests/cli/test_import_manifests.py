"""`reconciler import`: exports into a repository, by files, kubectl, push and real servers."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.cli.options import CREDENTIAL
from reconciler.cli.verbs.begin import import_command
from reconciler.cli.verbs.run import run_command
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys, read_signatures
from tests.cli.history import answer
from tests.imports.hubs import (
    condition,
    karmada_hub,
    key_of,
    kubefleet_hub,
    live,
    ocm_hub,
    workload,
)
from tests.shell.fleet import decisions, load_world, run_pass
from tests.shell.keys import allowing, new_ssh_key
from tests.shell.kubectl_stand_in import stand_in
from tests.shell.repositories import Checkout, git, new_bare, new_checkout
from tests.shell.servers import Trouble, basic, new_certificate, ssh_server, web_server

Hub = Callable[[int], list[Body]]
Capsys = pytest.CaptureFixture[str]
BY_ADA = ("--author", "Ada <ada@example.com>")
ALL = ("--workloads", "deployments", "--adopt")
CLUSTER = karmada_hub(0)[0]
NAMESPACE = live("v1", "Namespace", "default")
YEAR = 365 * 24 * 3600  # passes must come after the moment of the import
LIVE = [{"name": "member1", "replicas": 4}]
STAYS = "the first pass moves 0 and places 0 new ones; 0 more move within the hour"
WEB = "ResourceBinding.work.karmada.io default/web-0000-deployment"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A repository with nothing to read in it."""
    return new_checkout(tmp_path / "fleet", {"README.md": "Ours.\n"})


def export(folder: Path, bodies: list[Body]) -> str:
    """Write an export, and return its path."""
    place = folder / "export.json"
    listed = {"apiVersion": "v1", "kind": "List", "items": bodies}
    place.write_text(json.dumps(listed), encoding="utf-8")
    return str(place)


def test_an_export_becomes_files(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """Uncommitted, in the checkout, with a line for each."""
    code, out, err = answer(fleet, capsys, "import", export(tmp_path, [CLUSTER]))

    assert 0 == code
    assert "CREATED   Cluster member1   clusters/member1.yaml" in out.splitlines()
    assert "1 created" in out.splitlines()
    assert "clusters/member1.yaml is written, not committed" in err
    assert "?? clusters/member1.yaml" == fleet.status().strip()


def test_a_second_import_writes_nothing(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """It says so."""
    source = export(tmp_path, karmada_hub(3))
    answer(fleet, capsys, "import", source, *ALL)
    fleet.git("add", "--all")
    code, out, err = answer(fleet, capsys, "import", source, *ALL)

    assert (0, "nothing that counts has changed\n") == (code, err)
    assert "14 unchanged" in out.splitlines()


@pytest.mark.parametrize("hub", [karmada_hub, ocm_hub, kubefleet_hub])
def test_an_adopted_hub_stays_where_it_is(
    fleet: Checkout, tmp_path: Path, capsys: Capsys, hub: Hub
) -> None:
    """Two real passes decide nothing."""
    code, out, _ = answer(fleet, capsys, "import", export(tmp_path, hub(3)), *ALL)
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Adopt the hub")
    reports = [run_pass(fleet.folder, seconds) for seconds in (YEAR, YEAR + 61)]

    assert (0, True) == (code, STAYS in out.splitlines())
    assert [(), ()] == [report.outcome.decisions for report in reports]


@pytest.mark.parametrize("hub", [karmada_hub, ocm_hub, kubefleet_hub])
@pytest.mark.parametrize("merge", ["--ff-only", "--no-ff", ""])
def test_verify_knows_the_commit_that_adopts(
    fleet: Checkout, tmp_path: Path, capsys: Capsys, hub: Hub, merge: str
) -> None:
    """By its trailer: of the branch, of the merge that brought it, or as a person committed it."""
    source = export(tmp_path, hub(3))
    if merge:
        answer(fleet, capsys, "import", source, *ALL, "--branch", "adopt", *BY_ADA)
        fleet.git("merge", "--quiet", merge, "--message=Merge it", "adopt")
    else:
        _, _, err = answer(fleet, capsys, "import", source, *ALL)
        asked = err.partition("commit them with: git commit --trailer '")[2].partition("'")[0]
        fleet.git("add", "--all")
        fleet.git("commit", "--quiet", "--message=Adopt it", "--trailer", asked)
    run_pass(fleet.folder, YEAR)
    code, out, _ = answer(fleet, capsys, "verify", "-v")

    assert (0, 1) == (code, out.count("✔ adopted"))


def test_what_adopts_and_edits_is_tampering(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """The trailer is of just the files that the import wrote."""
    answer(fleet, capsys, "import", export(tmp_path, karmada_hub(3)), *ALL, "--branch", "adopt")
    fleet.git("checkout", "--quiet", "adopt")
    binding = next((fleet.folder / "status/resourcebindings.work.karmada.io").rglob("*.yaml"))
    binding.write_text(binding.read_text().replace("member1", "member2"))
    fleet.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    code, out, _ = answer(fleet, capsys, "verify")

    assert (1, True) == (code, "✘ tampered" in out)


@pytest.mark.parametrize("hub", [karmada_hub, ocm_hub, kubefleet_hub])
def test_a_dry_run_agrees_with_what_an_adoption_told(
    fleet: Checkout, tmp_path: Path, capsys: Capsys, hub: Hub
) -> None:
    """Here one object has no live decision, so it is placed anew."""
    kinds = ("ResourceBinding", "PlacementDecision", "ClusterResourceBinding")
    lacking = next(one for one in hub(3) if one["kind"] in kinds)
    left_out = [one for one in hub(3) if key_of(one) != key_of(lacking)]
    _, out, _ = answer(fleet, capsys, "import", export(tmp_path, left_out), "--adopt")
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Adopt the hub")
    _, told, _ = answer(fleet, capsys, "reconcile", "--dry-run")
    moved = [line for line in told.splitlines() if " -> " in line]
    anew = [line for line in moved if ": nowhere -> " in line]
    counts = f"moves {len(moved) - len(anew)} and places {len(anew)} new ones;"

    assert (1, True) == (len(moved), f"the first pass {counts}" in out)


def test_an_adopted_binding_has_its_live_clusters(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """Though the scheduler would spread it over four."""
    answer(fleet, capsys, "import", export(tmp_path, karmada_hub(3)), *ALL)
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Adopt the hub")
    run_pass(fleet.folder, YEAR)

    assert LIVE == decisions(load_world(fleet.folder))[WEB]


def test_an_import_goes_onto_a_new_branch(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """As one commit; the checkout is not touched."""
    source = export(tmp_path, karmada_hub(1))
    code, _, _ = answer(fleet, capsys, "import", source, *ALL, "--branch", "adopt", *BY_ADA)

    assert (0, "") == (code, fleet.status())
    assert "Adopt an export" == fleet.git("log", "-1", "--format=%s", "adopt").strip()
    assert "status/reconciler.yaml" in fleet.git("ls-tree", "-r", "--name-only", "adopt")


def test_a_dry_run_writes_nothing(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """It says what it would write."""
    source = export(tmp_path, [CLUSTER])
    code, out, err = answer(fleet, capsys, "import", source, "--dry-run")

    assert (0, "") == (code, fleet.status())
    assert "nothing is written (--dry-run); 1 files would be\n" == err
    assert "CREATED" in out


def test_machines_get_every_object(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """With its result, its file, or the reason why it has none."""
    source = export(tmp_path, [CLUSTER, workload("web", 1)])
    code = run(["-C", str(fleet.folder), "import", source, "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    found = [(one["object"]["name"], one["result"], one["path"]) for one in told["objects"]]

    assert 0 == code
    assert [("web", "skipped", None), ("member1", "created", "clusters/member1.yaml")] == found
    assert ["clusters/member1.yaml"] == told["written"]


def test_what_is_no_export_is_refused(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """In one sentence, with what would do."""
    place = tmp_path / "broken.json"
    place.write_text("{", encoding="utf-8")
    code, out, err = answer(fleet, capsys, "import", str(place))

    assert (2, "") == (code, out)
    assert err.startswith(f"reconciler: {place} is not JSON from line 1 on; give ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param((), "name files, folders or -", id="nothing"),
        pytest.param(("x.json", "--context", "hub"), "name files, folders or -", id="both"),
        pytest.param(("-", "--remote", "/r.git"), "--remote requires --branch", id="remote"),
        pytest.param(("-", "--cluster", "A b"), '--cluster is "A b"', id="cluster"),
        pytest.param(
            ("-", "--cluster", "a", "--adopt"), "--adopt needs a control plane", id="adopt"
        ),
        pytest.param(("-", "--workloads", "none,services"), "none cannot be combined", id="none"),
        pytest.param(
            ("-", "--cluster", "a", "--workloads", "propagated"),
            "--workloads propagated needs a control plane",
            id="propagated",
        ),
        pytest.param(("none.json",), "does not exist", id="absent"),
    ],
)
def test_wrong_usage_is_told(
    fleet: Checkout, capsys: Capsys, arguments: tuple[str, ...], words: str
) -> None:
    """With exit code 2."""
    code, _, err = answer(fleet, capsys, "import", *arguments)

    assert (2, True) == (code, words in err)


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubectl whose context `hub` is a Karmada control plane that hides its scores."""
    folder = stand_in(
        tmp_path / "tools",
        [*karmada_hub(2), *ocm_hub(0)],
        forbidden=["addonplacementscores.cluster.open-cluster-management.io"],
    )
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.usefixtures("kubectl")
def test_a_context_is_asked_for_every_kind(fleet: Checkout, capsys: Capsys) -> None:
    """What the server does not have is noted, what it refuses is a warning and exit code 1."""
    code, told = answer_json_of(
        fleet, capsys, "--context", "hub", "--workloads", "deployments.apps"
    )
    names = {one["object"]["kind"] for one in told["objects"]}

    assert 1 == code
    assert {"Cluster", "Deployment", "ManagedCluster", "ManagedClusterSet"} <= names
    assert "memberclusters.cluster.kubernetes-fleet.io" in told["notServed"]
    assert "may not list addonplacementscores" in told["problems"][0]


def test_an_adoption_asks_for_what_is_propagated(
    fleet: Checkout, kubectl: Path, capsys: Capsys
) -> None:
    """By the names that the server gives; kinds that it does not have are noted."""
    gateway = live("gateway.networking.k8s.io/v1", "Gateway", "web", namespace="default")
    named = [
        {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway"},
        {"apiVersion": "example.org/v1", "kind": "Widget"},
        {"apiVersion": "v1", "kind": "Secret"},
    ]
    hub = [
        {**body, "spec": {**mapping(body, "spec"), "resourceSelectors": named}}
        if body["kind"] == "PropagationPolicy"
        else body
        for body in karmada_hub(2)
    ]
    stand_in(kubectl, [*hub, gateway, NAMESPACE], plurals={"Gateway": "gateways"})
    _, told = answer_json_of(fleet, capsys, "--context", "hub", "--adopt")
    lines = (kubectl / "asked").read_text().splitlines()
    asked = [line.split(" get ")[1].split()[0] for line in lines if " get " in line]

    assert ["namespaces", "deployments.apps", "gateways.gateway.networking.k8s.io"] == asked[-3:]
    assert {"Deployment", "Gateway"} < {one["object"]["kind"] for one in told["objects"]}
    assert "widgets.example.org" in told["notServed"]
    assert "secrets" not in asked


@pytest.mark.usefixtures("kubectl")
def test_an_adoption_without_workloads_asks_for_none(
    fleet: Checkout, kubectl: Path, capsys: Capsys
) -> None:
    """With `none` each decision is left."""
    arguments = ("--context", "hub", "--adopt", "--workloads", "none")
    _, told = answer_json_of(fleet, capsys, *arguments)

    assert "api-resources" not in (kubectl / "asked").read_text()
    assert [[], 2] == [told["adoption"]["adopted"], len(told["adoption"]["left"])]


def test_what_a_control_plane_has_for_itself_is_one_line(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """However many objects that are."""
    roles = [
        live("rbac.authorization.k8s.io/v1", "ClusterRole", f"system:{number}")
        for number in range(40)
    ]
    source = export(tmp_path, [*karmada_hub(1), *roles, NAMESPACE])
    _, out, _ = answer(fleet, capsys, "import", source, "--adopt")

    assert ["skipped internal objects of the control plane: 40 ClusterRole, 1 Namespace"] == [
        line for line in out.splitlines() if line.startswith(("left", "skipped"))
    ]


@pytest.mark.usefixtures("kubectl")
def test_a_member_is_asked_for_the_kinds_of_the_repository(
    fleet: Checkout, kubectl: Path, capsys: Capsys
) -> None:
    """For nodes and pods besides, and for nothing secret."""
    answer(fleet, capsys, "import", "--context", "hub", "--workloads", "deployments.apps")
    (kubectl / "asked").unlink()
    reported = [
        {**workload("web-0000", 4), "status": {"conditions": [condition("Available")]}},
        workload("other", 1),
    ]
    stand_in(kubectl, reported)
    code, _, _ = answer(fleet, capsys, "import", "--context", "hub", "--cluster", "member1")
    asked = [
        line.split(" get ")[1].split()[0] for line in (kubectl / "asked").read_text().splitlines()
    ]

    assert (0, ["nodes", "pods", "deployments.apps"]) == (code, asked)
    assert (fleet.folder / "feedback/member1/default/web-0000-deployment.yaml").is_file()
    assert not (fleet.folder / "feedback/member1/default/other-deployment.yaml").exists()


def answer_json_of(fleet: Checkout, capsys: Capsys, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Import, and return the exit code and the answer for machines."""
    code, out, err = answer(fleet, capsys, "import", *arguments, "-o", "json")
    assert "are written, not committed" in err or "is written, not committed" in err
    return code, json.loads(out)


@pytest.fixture
def remote(fleet: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bare repository with the checkout's branch."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "remote.git"
    fleet.git("clone", "--quiet", "--bare", str(fleet.folder), str(place))
    return str(place)


def test_a_push_goes_onto_what_the_remote_has(
    fleet: Checkout, remote: str, tmp_path: Path, capsys: Capsys
) -> None:
    """Twice: the second has nothing to push."""
    source = export(tmp_path, [CLUSTER])
    pushing = ("import", source, "--remote", remote, "--branch", "main", *BY_ADA)
    first = answer(fleet, capsys, *pushing)
    second = answer(fleet, capsys, *pushing)
    subjects = fleet.git("--git-dir", remote, "log", "--format=%an: %s", "main").splitlines()

    assert (0, 0) == (first[0], second[0])
    assert "1 file is pushed to main" in first[2]
    assert "nothing that counts has changed\n" == second[2]
    assert "Ada: Import an export" == subjects[0]
    assert 2 == len(subjects)


def test_a_branch_that_is_not_there_is_told(
    fleet: Checkout, remote: str, tmp_path: Path, capsys: Capsys
) -> None:
    """Nothing is pushed."""
    source = export(tmp_path, [CLUSTER])
    code, _, err = answer(fleet, capsys, "import", source, "--remote", remote, "--branch", "other")

    assert (2, True) == (code, 'the remote has no branch "other"' in err)


def test_a_push_that_lost_a_race_is_computed_again(
    fleet: Checkout, remote: str, kubectl: Path, capsys: Capsys
) -> None:
    """While the hub is asked, Bob pushes: his commit stays, ours comes after it."""
    git = f"git -C {fleet.folder} -c user.name=Bob -c user.email=bob@example.com"
    bob = f"{git} commit --quiet --allow-empty -m Bobs && {git} push --quiet {remote} main\n"
    (kubectl / "once").write_text(bob, encoding="utf-8")
    code, _, err = answer(
        fleet, capsys, "import", "--context", "hub", "--remote", remote, "--branch", "main", *BY_ADA
    )
    subjects = fleet.git("--git-dir", remote, "log", "--format=%an: %s", "main").splitlines()

    assert (1, True) == (code, "pushed to main" in err)
    assert ["Ada: Import hub", "Bob: Bobs"] == subjects[:2]


FILE = "clusters/member1.yaml"


@dataclass(frozen=True)
class Importer:
    """Imports a cluster into a remote."""

    fleet: Checkout
    bare: Path
    source: str
    capsys: Capsys

    def push(self, url: str, *options: str) -> tuple[int, str]:
        """Import and push; return the exit code and what was told."""
        to = ("--remote", url, "--branch", "main", *BY_ADA, *options)
        code, _, err = answer(self.fleet, self.capsys, "import", self.source, *to)
        return code, err

    @property
    def files(self) -> list[str]:
        """Return what the remote has."""
        return git(self.bare, "ls-tree", "-r", "--name-only", "main").splitlines()


@pytest.fixture
def importer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Importer:
    """A remote with one commit, and an export."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bare = new_bare(tmp_path / "remote", {"README.md": "Ours.\n"})
    fleet = new_checkout(tmp_path / "fleet", {"README.md": "Ours.\n"})
    return Importer(fleet, bare, export(tmp_path, [CLUSTER]), capsys)


@pytest.mark.parametrize("given", ["file", "environment"])
def test_a_credential_and_a_certificate_let_in(
    importer: Importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """By https, where without either nothing is pushed, and no message has the password."""
    certificate = new_certificate(tmp_path)
    file = tmp_path / "credential"
    file.write_text("me:pw-0123456789\n")
    with web_server(tmp_path, certificate=certificate) as web:
        web.credential = basic("me", "pw-0123456789")
        url, trusted = f"{web.url}/remote", ("--ca-file", str(certificate.file))
        untrusted = importer.push(url)
        nobody = importer.push(url, *trusted)
        if given == "environment":
            monkeypatch.setenv(CREDENTIAL, "me:pw-0123456789")
            code, told = importer.push(url, *trusted)
        else:
            code, told = importer.push(url, *trusted, "--credential-file", str(file))

    assert (1, True) == (untrusted[0], "certificate" in untrusted[1])
    assert (1, True) == (nobody[0], "check the URL and the credentials" in nobody[1])
    assert (0, True) == (code, FILE in importer.files)
    assert "pw-0123456789" not in untrusted[1] + nobody[1] + told


def test_a_key_and_a_known_host_let_in(importer: Importer, tmp_path: Path) -> None:
    """By ssh; a host with another key than the operator names gets nothing."""
    with ssh_server(tmp_path / "ssh") as ssh:
        url, key = ssh.url(importer.bare), ("--ssh-key-file", str(ssh.key))
        stranger, told = importer.push(url, *key, "--known-hosts-file", str(ssh.other_hosts))
        code, _ = importer.push(url, *key, "--known-hosts-file", str(ssh.known_hosts))

    assert (1, True) == (stranger, "--known-hosts" in told)
    assert (0, True) == (code, FILE in importer.files)


def test_what_is_pushed_is_signed(importer: Importer, tmp_path: Path) -> None:
    """So that it counts where only signed commits are decided from, and says for what."""
    key = new_ssh_key(tmp_path / "keys", "importer")
    allowed = AllowedKeys(signers=allowing(tmp_path, key))

    code, _ = importer.push(str(importer.bare), "--signing-key", str(key.file))

    pushed = git(importer.bare, "rev-parse", "main")
    [signature] = read_signatures(Repository.open(importer.bare), [pushed], allowed)
    assert (0, "") == (code, signature.problem)
    trailers = git(importer.bare, "log", "-1", "--format=%(trailers)", pushed)
    assert "Reconciled-For: reports main" == trailers.strip()


def test_what_a_killed_import_left_in_its_mirror_goes_with_the_next(
    importer: Importer, tmp_path: Path
) -> None:
    """No pass runs in that mirror, so nobody else would take it away."""
    importer.push(str(importer.bare), "--dry-run")
    [mirror] = (tmp_path / "cache").rglob("repository.git")
    left = [mirror / "reconciler/0123.import/objects", mirror / "objects/pack/tmp_pack_0123"]
    for folder in left:
        folder.mkdir(parents=True)

    code, _ = importer.push(str(importer.bare))

    assert (0, []) == (code, [*mirror.rglob("*.import"), *mirror.rglob("tmp_pack_*")])


def test_a_key_that_cannot_be_read_is_told(importer: Importer) -> None:
    """Before anything is pushed."""
    code, told = importer.push(str(importer.bare), "--signing-key", "/nowhere")

    assert (2, True) == (code, '--signing-key "/nowhere" cannot be read' in told)
    assert ["README.md"] == importer.files


def test_a_server_that_is_silent_is_given_up(importer: Importer, tmp_path: Path) -> None:
    """After as long as the operator says."""
    with web_server(tmp_path, certificate=new_certificate(tmp_path)) as web:
        web.trouble = Trouble.STALL
        options = ("--ca-file", str(tmp_path / "server.pem"), "--remote-timeout-seconds", "1")
        code, told = importer.push(f"{web.url}/remote", *options)

    assert (1, True) == (code, "1 second" in told)


@pytest.mark.parametrize("option", ["--ca-file", "--signing-key"])
def test_what_is_of_use_for_a_remote_only_needs_one(importer: Importer, option: str) -> None:
    """Else a person would think that it was pushed, or signed."""
    arguments = ("import", importer.source, option, "file")
    code, _, err = answer(importer.fleet, importer.capsys, *arguments)

    assert (2, True) == (code, f"{option} requires --remote" in err)


def test_the_options_are_those_of_the_daemon() -> None:
    """The same names, variables, defaults and texts; they are written once."""
    names = ("credential_file", "ca_file", "ssh_key_file", "known_hosts_file")
    of_both = [
        [
            (one.opts, one.envvar, one.default, getattr(one, "help", None))
            for one in verb.params
            if one.name in (*names, "remote_timeout_seconds")
        ]
        for verb in (run_command, import_command)
    ]

    assert 5 == len(of_both[0])
    assert of_both[0] == of_both[1]
