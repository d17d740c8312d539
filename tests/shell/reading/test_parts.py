"""Parts of a commit, earlier versions and other revisions: as all of the commit says."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.stored import DocumentHead, FileHead
from reconciler.model.identity import RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.commit_part import CommitHeads, Names
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.parts import PartReader, keys_of, present_keys
from reconciler.shell.reading.tables import INDEX, DocumentCache, OptionalTable
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import Body, configmap, configuration, deployment, path_of, text
from tests.delivery.test_kubefleet_folders import NEW, ONE_BY_ONE, fleet
from tests.dialects.kubefleet.fleet import fixed, placement
from tests.shell.fleet import EXAMPLE, ROOT, Clock, new_fleet, new_passes, process_environment
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import ENVIRONMENT, Checkout, git, new_checkout
from tests.stories import Story

COUNT = 40
DEPLOYMENT = ("apps", "Deployment")
USERS = 4
DIES_WRITING = """
import os, sqlite3, sys
table = sqlite3.connect(sys.argv[1], isolation_level=None)
table.execute("PRAGMA cache_size = 1")
table.execute("BEGIN IMMEDIATE")
table.execute("UPDATE entry SET content = zeroblob(60000)")
os.kill(os.getpid(), 9)
"""
BAD = {
    "bad/syntax.yaml": "apiVersion: v1\nkind: [\n",
    "bad/field.yaml": text({**deployment("odd"), "spec": {"replicas": "2"}}),
    "other/compose.yaml": "services: {}\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A fleet after a pass, with faulty files that came since."""
    checkout = new_fleet(tmp_path / "fleet")
    bodies = [deployment(f"more-{number}") for number in range(COUNT)]
    checkout.commit({path_of(body): text(body) for body in bodies})
    new_passes(checkout.folder, Clock()).run()
    checkout.commit(BAD)
    return checkout


class Asked:
    """What a process of its own finds of some objects; `is_part` says whether an index helped."""

    def __init__(self, checkout: Checkout, folder: Path, names: Names, *, few: int = 0) -> None:
        """Ask, and leave behind what was found."""
        repository = Repository.open(checkout.folder)
        documents = DocumentCache(folder, lambda: "this", KINDS, few=few, stamp=lambda: "this")
        loader = Loader(
            GitTrees(repository), load_schemas(), layout=RepositoryLayout(), documents=documents
        )
        self.reader = reader = PartReader(loader, documents.index, "here")
        heads = reader.heads(checkout.head())
        self.is_part = heads is not None
        self.world = (
            loader.load(checkout.head())
            if heads is None
            else reader.world(checkout.head(), heads.part(names))
        )
        documents.save()
        self.problem = documents.problem


def asked_again(checkout: Checkout, folder: Path, names: Names) -> Asked:
    """What the second process finds."""
    Asked(checkout, folder, names)
    return Asked(checkout, folder, names)


def bodies_of(world: World, names: Names) -> dict[str, Body]:
    """What a world says of some objects."""
    return {
        f"{side} {key}": dict(one.body)
        for side, manifests in (("input", world.inputs), ("output", world.outputs))
        for key, one in manifests.items()
        if key[:2] in names and ((wanted := names[key[:2]]) is None or key.name in wanted)
    }


ONE: Names = {DEPLOYMENT: {"more-7"}}
ALL: Names = {DEPLOYMENT: None}


@pytest.mark.parametrize("names", [pytest.param(ONE, id="one"), pytest.param(ALL, id="all")])
def test_a_part_says_what_the_whole_says(checkout: Checkout, tmp_path: Path, names: Names) -> None:
    """Of what was asked for, though faulty files stand beside it."""
    asked = asked_again(checkout, tmp_path / "kept", names)
    expected = bodies_of(Asked(checkout, tmp_path / "other", names).world, names)

    assert (True, expected) == (asked.is_part, bodies_of(asked.world, names))
    assert len(expected) >= (1 if names is ONE else COUNT)


def test_one_object_takes_its_own_file(checkout: Checkout, tmp_path: Path) -> None:
    """Besides that, only what is faulty or unknown is read, and the records of passes."""
    world = asked_again(checkout, tmp_path / "kept", ONE).world

    assert {"more-7"} == {key.name for key in world.inputs if key[:2] == DEPLOYMENT}
    assert set() == {key.name for key in world.outputs if "Binding" in key.kind}
    assert {path for path in BAD if path.startswith("bad/")} == {one.path for one in world.faults}


def test_a_new_commit_costs_its_own_files(checkout: Checkout, tmp_path: Path) -> None:
    """What an edit leaves alone is known, what it touches is read as it is now."""
    asked_again(checkout, tmp_path / "kept", ONE)
    body = deployment("more-7", replicas=77)
    checkout.commit({path_of(body): text(body)})
    asked = Asked(checkout, tmp_path / "kept", ONE)

    assert asked.is_part
    assert [body["spec"]] == [one["spec"] for one in bodies_of(asked.world, ONE).values()]


PROPAGATION = ("policy.karmada.io", "PropagationPolicy")
MEMBER = ("cluster.karmada.io", "Cluster")
GADGET = ("example.org", "Gadget")


@pytest.mark.parametrize(
    ("kind", "namespaces", "expected"),
    [
        pytest.param(PROPAGATION, ["a", "b", "c"], {PROPAGATION}, id="one-name-in-each-namespace"),
        pytest.param(PROPAGATION, ["a", "a", "a"], None, id="written-thrice"),
        pytest.param(PROPAGATION, ["", "default"], None, id="once-by-default"),
        pytest.param(MEMBER, ["a", "b", "c"], None, id="of-no-namespace"),
        pytest.param(GADGET, ["a", "b", "c"], None, id="of-unknown-scope"),
    ],
)
def test_a_kind_is_there_where_its_keys_are(
    kind: Kind, namespaces: list[str], expected: set[Kind] | None
) -> None:
    """Teams call their policies alike; what is written more than once is there for nobody."""
    files = {
        f"{number}.yaml": FileHead(0, [DocumentHead(*kind, namespace, "web", {}, suspends=False)])
        for number, namespace in enumerate(namespaces)
    }

    assert expected == CommitHeads(files, {}, frozenset()).kinds()


def test_an_object_that_is_written_twice_is_there_for_nobody(
    checkout: Checkout, tmp_path: Path
) -> None:
    """Both files are read for a question about it, so its last good version stays in force."""
    checkout.commit({"twice/more-7.yaml": text(deployment("more-7", replicas=77))})
    asked = asked_again(checkout, tmp_path / "kept", ONE)
    whole = Asked(checkout, tmp_path / "other", ONE)

    assert (True, False) == (asked.is_part, whole.is_part)
    assert bodies_of(whole.world, ONE) == bodies_of(asked.world, ONE)
    assert {"twice/more-7.yaml"} < {one.path for one in asked.world.faults}


def test_what_moved_beside_a_faulty_file_is_there_once(checkout: Checkout, tmp_path: Path) -> None:
    """A file that was read by nobody for this question counts among those that there are."""
    name = path_of(deployment("more-7"))
    checkout.commit({"moved/more-7.yaml": text(deployment("more-7"), configmap("new"))})
    checkout.commit({name: "kind: [\n"})
    names: Names = {DEPLOYMENT: {"more-8"}}
    asked = asked_again(checkout, tmp_path / "kept", names)
    whole = Asked(checkout, tmp_path / "other", names)

    assert asked.is_part
    assert whole.world.held == asked.world.held


def test_an_index_tells_which_objects_there_are(checkout: Checkout, tmp_path: Path) -> None:
    """Those of the whole world, faulty files beside them or not; without an index nothing."""
    whole = Asked(checkout, tmp_path / "kept", ONE)
    reader = Asked(checkout, tmp_path / "kept", ONE).reader
    blind = Asked(checkout, tmp_path / "kept", ONE, few=1000).reader

    assert keys_of(whole.world) == present_keys(reader, checkout.head())
    assert None is present_keys(blind, checkout.head())


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_time_only(
    checkout: Checkout, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """The answer is the same, and after one or two processes more the index helps again."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    damage(folder / INDEX)
    found = [bodies_of(Asked(checkout, folder, ALL).world, ALL) for _ in range(2)]

    assert [expected, expected] == found
    assert Asked(checkout, folder, ALL).is_part


def test_nonsense_behind_a_right_checksum_is_not_there(checkout: Checkout, tmp_path: Path) -> None:
    """Whoever may write the file can write anything; what cannot be understood is read anew."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    with sqlite3.connect(folder / INDEX) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM entry")]
    connection.close()
    table = OptionalTable(folder, INDEX, str, most_bytes=1 << 20)
    said = table.read(keys).items()
    table.write([(key, one.replace("[", "{").replace("]", "}")) for key, one in said])

    assert expected == bodies_of(Asked(checkout, folder, ALL).world, ALL)


def test_another_user_s_index_is_not_used(checkout: Checkout, tmp_path: Path) -> None:
    """Nor one that others may write to."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    (folder / INDEX).chmod(0o666)
    asked = Asked(checkout, folder, ALL)

    assert (False, expected) == (asked.is_part, bodies_of(asked.world, ALL))
    assert f'"{folder / INDEX}" must be writable for its owner only' == asked.problem


def test_a_locked_index_is_not_waited_for(checkout: Checkout, tmp_path: Path) -> None:
    """A process that writes for long stands in nobody's way."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    other = sqlite3.connect(folder / INDEX, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    asked = Asked(checkout, folder, ALL)
    other.close()

    assert (False, expected) == (asked.is_part, bodies_of(asked.world, ALL))


def test_a_kill_in_the_middle_of_writing_loses_nothing(checkout: Checkout, tmp_path: Path) -> None:
    """Half of what was written is on the disk; the next process takes it back."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    killed = subprocess.run([sys.executable, "-c", DIES_WRITING, folder / INDEX], check=False)
    left = {file.name for file in folder.iterdir()}
    asked = Asked(checkout, folder, ALL)

    assert (-9, True) == (killed.returncode, f"{INDEX}-journal" in left)
    assert (True, expected) == (asked.is_part, bodies_of(asked.world, ALL))


def test_several_users_at_once_get_one_answer(checkout: Checkout, tmp_path: Path) -> None:
    """Whoever comes second waits for nobody, and what the first wrote helps a third."""
    folder = tmp_path / "kept"
    expected = bodies_of(Asked(checkout, tmp_path / "other", ALL).world, ALL)
    with ThreadPoolExecutor(USERS) as pool:
        asked = list(pool.map(lambda _: Asked(checkout, folder, ALL), range(USERS)))

    assert [expected] * USERS == [bodies_of(one.world, ALL) for one in asked]
    assert Asked(checkout, folder, ALL).is_part


def held() -> tuple[dict[str, str], Story]:
    """The files before a change, and a story in which a cluster is held on them."""
    told = fleet(placement(fixed("a", "b"), strategy=ONE_BY_ONE), deployment())
    told.run(100)
    before = dict(told.files)
    told.put(deployment(labels=NEW)).run()
    return before, told


def loaded(checkout: Checkout, *, past: bool = False) -> World:
    """The world at the head of a repository."""
    repository = Repository.open(checkout.folder)
    return Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout(), past=past).load(
        checkout.head()
    )


def test_the_version_that_a_cluster_is_held_on_is_read(tmp_path: Path) -> None:
    """From the git blob that its snapshot names."""
    before, told = held()
    checkout = new_checkout(tmp_path / "r", before)
    checkout.commit(told.files)
    ((version,),) = loaded(checkout).past.values()

    assert deployment() == version.body


def test_a_version_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    """As in a clone without history."""
    _, told = held()

    assert {} == loaded(new_checkout(tmp_path / "r", told.files)).past


@pytest.mark.parametrize(("past", "read"), [(False, 0), (True, 1)], ids=["daemon", "render"])
def test_where_nothing_is_delivered_it_is_read_on_demand(
    tmp_path: Path,
    past: bool,  # noqa: FBT001  # a row of the table
    read: int,
) -> None:
    """A pass asks for no content there, a person may."""
    before, told = held()
    silent = {**told.files, "reconciler.yaml": text(configuration())}
    checkout = new_checkout(tmp_path / "r", before)
    checkout.commit(silent)
    checkout.git("rm", "-r", "--quiet", "delivery", "status/delivery.yaml")
    checkout.git("commit", "--quiet", "--message", "Deliver nothing")

    assert read == len(loaded(checkout, past=past).past)


def test_a_version_that_nothing_is_held_on_is_not_read(tmp_path: Path) -> None:
    """Once the rollout has reached every cluster."""
    before, told = held()
    told.run(300)
    told.run(500)
    checkout = new_checkout(tmp_path / "r", before)
    checkout.commit(told.files)

    assert {} == loaded(checkout).past


Capsys = pytest.CaptureFixture[str]
CLUSTER = EXAMPLE["clusters/member1.yaml"]
WRONG = CLUSTER.replace("kind: Cluster\n", "kind: Cluster\ntypo: 1\n")
HOOK = re.compile(r"<!-- pre-receive hook -->\n```sh\n(.*?)```\n", re.DOTALL)


@pytest.fixture
def mended_fleet(tmp_path: Path) -> Checkout:
    """A wrong cluster at first, which the second commit mends."""
    checkout = new_checkout(tmp_path / "fleet", {"clusters/member1.yaml": WRONG})
    checkout.commit(
        {"clusters/member1.yaml": CLUSTER, "policies/p.yaml": EXAMPLE["policies/shop.yaml"]}
    )
    return checkout


def bare(fleet: Checkout) -> Path:
    """Return a bare clone."""
    folder = fleet.folder.with_name("bare.git")
    git(fleet.folder, "clone", "--quiet", "--bare", ".", str(folder))
    return folder


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--rev", "HEAD~1"], 1, id="earlier"),
        pytest.param(["--rev", "main"], 0, id="branch"),
        pytest.param(["--rev", "nowhere"], 2, id="no-revision"),
        pytest.param(["--rev", "HEAD~1", "clusters"], 1, id="folder"),
        pytest.param(["--rev", "HEAD~1", "clusters/member1.yaml"], 1, id="file"),
        pytest.param(["--rev", "HEAD~1", "clusters/*.yaml"], 1, id="glob"),
        pytest.param(["--rev", "HEAD~1", "**/member*.yaml"], 1, id="deep-glob"),
        pytest.param(["--rev", "HEAD~1", "policies"], 2, id="not-there-yet"),
        pytest.param(
            ["--rev", "HEAD", "policies", "--references", "--fail-level", "warning"],
            1,
            id="references",
        ),
        pytest.param(["--rev", "HEAD", "policies"], 0, id="by-itself"),
        pytest.param(["--rev", "HEAD", "-"], 2, id="standard-input"),
        pytest.param(["--rev", "HEAD", "../elsewhere"], 2, id="outside"),
    ],
)
@pytest.mark.parametrize("place", ["checkout", "bare"])
def test_a_commit_is_checked_as_it_is(
    mended_fleet: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    place: str,
) -> None:
    """What is on disk plays no part."""
    (mended_fleet.folder / "clusters/untracked.yaml").write_text("kind: [\n")
    monkeypatch.chdir(bare(mended_fleet) if place == "bare" else mended_fleet.folder)

    assert code == run(["validate", *arguments])


def test_a_bare_repository_is_checked_at_its_head(mended_fleet: Checkout, capsys: Capsys) -> None:
    """It has no files on disk."""
    assert 0 == run(["-C", str(bare(mended_fleet)), "validate", "--no-references"])
    assert "2 manifests valid, 0 faults\n" == capsys.readouterr().err


def test_a_path_of_a_commit_is_named_from_where_one_stands(
    mended_fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """As one on disk is; the finding is told from the root."""
    monkeypatch.chdir(mended_fleet.folder / "clusters")

    assert 1 == run(["validate", "--rev", "HEAD~1", "member1.yaml"])
    assert capsys.readouterr().out.startswith("clusters/member1.yaml:")


def test_a_root_below_the_top_is_checked_at_a_commit(
    mended_fleet: Checkout, capsys: Capsys
) -> None:
    """Its own configuration counts."""
    mended_fleet.commit(
        {
            "prod/reconciler.yaml": text(configuration(exclude=["drafts/**"])),
            "prod/drafts/wrong.yaml": WRONG,
            "prod/clusters/member1.yaml": CLUSTER,
        }
    )

    assert 0 == run(["-C", str(mended_fleet.folder / "prod"), "validate", "--rev", "HEAD"])
    assert "2 manifests valid, 0 faults\n" == capsys.readouterr().err


def pushed(fleet: Checkout, files: Mapping[str, str]) -> tuple[int, str, str]:
    """Push a commit to a bare repository with the hook of the documentation."""
    served = bare(fleet)
    found = HOOK.search((ROOT / "docs/pull-requests.md").read_text(encoding="utf-8"))
    assert found is not None
    tools = fleet.folder.with_name("tools")
    tools.mkdir()
    for path, script in (
        (served / "hooks/pre-receive", found[1]),
        (tools / "reconciler", f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n'),
    ):
        path.write_text(script)
        path.chmod(0o755)
    fleet.commit(files)
    before = git(served, "rev-parse", "main")
    environment = {
        **process_environment(),
        **ENVIRONMENT,
        "PATH": f"{tools}{os.pathsep}{ENVIRONMENT['PATH']}",
    }
    done = subprocess.run(
        ["git", "push", str(served), "main"],
        cwd=fleet.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    after = git(served, "rev-parse", "main")
    return done.returncode, done.stderr, "moved" if before != after else "stayed"


def test_the_documented_hook_refuses_a_fault(mended_fleet: Checkout) -> None:
    """Git keeps what is pushed aside until the hook has agreed; it is read there."""
    code, said, branch = pushed(mended_fleet, {"clusters/member2.yaml": WRONG})

    assert (1, "stayed") == (code, branch)
    assert "remote: clusters/member2.yaml:" in said


def test_the_documented_hook_lets_the_rest_pass(mended_fleet: Checkout) -> None:
    """Warnings included."""
    code, said, branch = pushed(
        mended_fleet, {"clusters/member2.yaml": CLUSTER.replace("name: member1", "name: member2")}
    )

    assert (0, "moved") == (code, branch), said


LINKS = {"clusters/link.yaml": "member1.yaml", "more": "clusters", "notes": "README.md"}


@pytest.mark.parametrize("arguments", [[], ["--rev", "HEAD"]], ids=["disk", "commit"])
def test_a_symbolic_link_that_is_skipped_is_said(
    mended_fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys, arguments: list[str]
) -> None:
    """One that is named like a manifest, and one to a folder; none to anything else."""
    mended_fleet.write({"README.md": ""})
    for path, target in LINKS.items():
        (mended_fleet.folder / path).symlink_to(target)
    mended_fleet.git("add", "--all")
    mended_fleet.git("commit", "--quiet", "--message", "Link")
    monkeypatch.chdir(mended_fleet.folder)

    assert 0 == run(["validate", "--no-references", *arguments])
    warned = [line for line in capsys.readouterr().out.splitlines() if "[link-skipped]" in line]
    said = "warning: a symbolic link is never followed, so what it leads to is not read here"
    expected = [f"{path}: {said} [link-skipped]" for path in ("clusters/link.yaml", "more")]
    assert expected == warned


@pytest.mark.parametrize("output", ["json", "junit", "sarif", "github"])
def test_every_report_can_tell_of_a_link(
    mended_fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys, output: str
) -> None:
    """It has no line."""
    (mended_fleet.folder / "clusters/link.yaml").symlink_to("member1.yaml")
    monkeypatch.chdir(mended_fleet.folder)

    assert 0 == run(["validate", "-o", output])
    assert "clusters/link.yaml" in capsys.readouterr().out


def test_a_link_that_is_left_out_is_not_said(
    mended_fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """By the configuration, as any file is."""
    mended_fleet.write({"reconciler.yaml": text(configuration(exclude=["more/**"]))})
    (mended_fleet.folder / "more").symlink_to("clusters")
    monkeypatch.chdir(mended_fleet.folder)

    assert 0 == run(["validate", "--no-references"])
    assert "" == capsys.readouterr().out
