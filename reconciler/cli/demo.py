"""The demonstration: a user and a real daemon on one repository, step by step.

Its clusters report how copies fare, and at the end what runs on each.
"""

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.audit.fleet.placed import placed_on
from reconciler.cli.tables import table_lines
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.core.message import plain
from reconciler.delivery.settings import decode_delivery
from reconciler.dialects.view import FINE, CopyStatus
from reconciler.errors import ShellError, UsageError
from reconciler.manifests.text.raw import Oversized
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import mapping, number, text
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.moments import format_moment
from reconciler.model.settings import CONFIGURATION_PATH, settings_in
from reconciler.model.text import short_id
from reconciler.model.world import World
from reconciler.rebalance.target import REBALANCER
from reconciler.shell.git.command import Git, GitError
from reconciler.shell.git.history import read_commit
from reconciler.shell.git.objects import read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas, write_example

PATIENCE_SECONDS = 30.0
BRANCH = "main"
REBALANCER_TTL_SECONDS = 4

PERSON = {
    "GIT_AUTHOR_NAME": "Ada Platform",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada Platform",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}

FAILURE = """\
status:
  conditions:
  - type: Ready
    status: "False"
    reason: PowerLost
    message: The data center has no power.
    lastTransitionTime: "{moment}"
"""

DEMAND = f"""\
# Bring the shop back to its primary cluster.
apiVersion: {REBALANCER[0]}/v1alpha1
kind: {REBALANCER[1]}
metadata:
  name: shop-back-to-primary
spec:
  workloads:
  - apiVersion: apps/v1
    kind: Deployment
    name: shop
    namespace: default
  ttlSecondsAfterFinished: {REBALANCER_TTL_SECONDS}
"""

Say = Callable[[str], None]


def run_story(folder: Path | None, *, say: Say, heading: Say) -> None:
    """Run the demonstration and leave its repository behind.

    Args:
        folder: A new or empty folder, `None` makes one.
        say: Prints a line.
        heading: Prints a heading.

    Raises:
        UsageError: The folder is in use.
        ShellError: Something that the story tells of did not happen in time.
    """
    began = time.monotonic()
    stage = _Stage.set_up(folder, say, heading)
    with _daemon(stage.folder):
        _show_placement(stage)
        _show_failure(stage)
        _show_rebalance(stage)
        _show_clusters(stage)
    heading("\nThe complete git log")
    say(stage.git.line("log", "--oneline", "--first-parent", BRANCH))
    say(f"\nThis took {time.monotonic() - began:.0f} seconds, with a real daemon.")
    say(f"The repository is kept in {stage.folder} for inspection.")


def _show_placement(stage: "_Stage") -> None:
    """First placement."""
    stage.heading("1. A daemon starts on a repository without any decisions")
    stage.wait("the first placement", lambda world: stage.shop(world) == "member1(2)")
    stage.show("The shop runs on its primary cluster, the reports where the scores are best.")
    stage.wait("the first report that all copies run", stage.is_running)


def _show_failure(stage: "_Stage") -> None:
    """A cluster fails and recovers."""
    stage.heading("\n2. member1 fails, reported by a commit to its manifest")
    member = stage.folder / "clusters" / "member1.yaml"
    healthy = member.read_text(encoding="utf-8")
    moment = format_moment(datetime.now(UTC))
    member.write_text(healthy + FAILURE.format(moment=moment), encoding="utf-8")
    stage.commit("Report member1 as failed")
    stage.wait("the move to the backup", lambda world: stage.shop(world) == "backup1(2)")
    stage.show(
        "The shop moved to its backup group. The frontend tolerates the failure for five minutes."
    )
    stage.wait("the end of the eviction", lambda world: not stage.is_leaving(world))

    stage.heading("\n3. member1 recovers, and nothing moves")
    member.write_text(healthy, encoding="utf-8")
    stage.commit("Report member1 as recovered")
    stage.let_daemon_see()
    stage.show("Running workloads stay where they are until a rebalance is requested.")


def _show_rebalance(stage: "_Stage") -> None:
    """A rebalancer is merged and goes when it is done."""
    stage.heading("\n4. A rebalancer is merged from a branch")
    stage.merge_rebalancer()
    stage.wait("the move back", lambda world: stage.shop(world) == "member1(2)")
    stage.show("The shop is back on its primary cluster; the commit names the rebalancer.")

    stage.heading(f"\n5. The finished rebalancer is removed after {REBALANCER_TTL_SECONDS} s")
    stage.wait("its removal", lambda world: not stage.has_rebalancer(world))
    stage.show("Its file is deleted, the decision stays.")


def _show_clusters(stage: "_Stage") -> None:
    """What came of it in each cluster."""
    stage.heading("\n6. What runs on each cluster, from the folder that Flux or Argo CD syncs")
    for line in clusters_table(stage.repository, stage.seen):
        stage.say(f"   {line}")


class _Stage:
    """The repository of the story, and the person who works in it."""

    def __init__(self, repository: Repository, folder: Path, say: Say, heading: Say) -> None:
        self.repository = repository
        self.folder = folder
        self.say = say
        self.heading = heading
        self.git = Git(folder=folder, variables=PERSON)
        self.loader = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout())
        self.seen = self.world()

    @classmethod
    def set_up(cls, folder: Path | None, say: Say, heading: Say) -> "_Stage":
        """Make a repository from the example."""
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="reconciler-demo-"))
        elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f'"{folder}" exists and is not an empty folder; give a new one')
        folder = folder.resolve()
        write_example(folder)
        configuration = folder / CONFIGURATION_PATH
        configuration.write_text(f"{configuration.read_text()}{DELIVERY}", encoding="utf-8")
        git = Git(folder=folder, variables=PERSON)
        git.output("init", "--quiet", f"--initial-branch={BRANCH}")
        git.output("add", ".")
        git.output("commit", "--quiet", "--message=Start the fleet")
        say(f"Created a repository from the example: {folder}\n")
        return cls(Repository.open(folder), folder, say, heading)

    def commit(self, subject: str) -> None:
        """Commit what the person has edited; wait where the daemon is just writing."""
        self._patiently("add", "--all")
        self._patiently("commit", "--quiet", f"--message={subject}")

    def merge_rebalancer(self) -> None:
        """Add a rebalancer on a branch and merge it, as a pull request would."""
        self._patiently("switch", "--quiet", "--create", "shop-back-to-primary")
        file = self.folder / "rebalancers" / "shop-back-to-primary.yaml"
        file.write_text(DEMAND, encoding="utf-8")
        self.commit("Bring the shop back to its primary cluster")
        self._patiently("switch", "--quiet", BRANCH)
        title = "--message=Merge the pull request: shop back to primary"
        self._patiently("merge", "--quiet", "--no-ff", title, "shop-back-to-primary")

    def _patiently(self, *arguments: str) -> None:
        """Run git as a person would: again, if the daemon holds the index for a moment."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.git.output(*arguments)
            except GitError as error:
                if "index.lock" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def world(self) -> World:
        """Return the world at the head of the branch."""
        return self.loader.load(self.repository.resolve(BRANCH))

    def wait(self, what: str, happened: Callable[[World], bool]) -> None:
        """Wait until the branch shows that something happened."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not happened(seen := self.world()):
            if time.monotonic() > deadline:
                raise ShellError(f"{what} did not happen within {PATIENCE_SECONDS:.0f} s")
            time.sleep(0.1)
        self.seen = self._first(seen, happened)

    def _first(self, seen: World, happened: Callable[[World], bool]) -> World:
        """Return the world in which something had just happened: the daemon may be further."""
        while True:
            parents = read_commit(self.repository, seen.revision).parents
            if not parents or seen.revision == self.seen.revision:
                return seen
            before = self.loader.load(parents[0])
            if not happened(before):
                return seen
            seen = before

    def let_daemon_see(self) -> None:
        """Give the daemon the time that its last reactions took, several times over."""
        time.sleep(2.0)
        self.seen = self.world()

    def shop(self, world: World) -> str:
        """Return where the shop is."""
        return self.placements(world).get("default/shop", "nowhere")

    def placements(self, world: World) -> dict[str, str]:
        """Return where everything is, by name, whatever its API."""
        return dict(sorted(_placements_in(world)))

    def is_running(self, world: World) -> bool:
        """Return whether every copy of a workload counts as healthy."""
        return all(copy.report in FINE for copy in copies_in(world, datetime.now(UTC)))

    def is_leaving(self, world: World) -> bool:
        """Return whether a workload is still leaving a cluster."""
        return any(copy.leaving for copy in copies_in(world, datetime.now(UTC)))

    def has_rebalancer(self, world: World) -> bool:
        """Return whether a rebalancer's manifest is still there."""
        return bool(world.of_kind(*REBALANCER))

    def show(self, moral: str) -> None:
        """Print the commit that was waited for, and the placements in it."""
        head = self.seen.revision
        commit = read_commit(self.repository, head)
        self.say(moral)
        self.say(
            f"   commit {short_id(head)} by {plain(commit.author.name)}: {plain(commit.subject)}"
        )
        placements = self.placements(self.seen)
        width = max(len(name) for name in placements)
        for name, clusters in placements.items():
            self.say(f"   {plain(name).ljust(width)}   {plain(clusters)}")


def _placements_in(world: World) -> Iterator[tuple[str, str]]:
    """Yield the name of each object that a decision is about, and where it is."""
    for key in sorted(world.outputs):
        if (key.group, key.kind) not in PLACED:
            continue
        scope = f"{key.namespace}/" if key.namespace else ""
        clusters = [f"{name}({n})" if n else str(name) for name, n in placed_on(world, key)]
        yield f"{scope}{_name_of(world, key)}", ", ".join(clusters) or "nowhere"


def _name_of(world: World, key: ObjectKey) -> str:
    """Return the name of what is placed: of a workload that, not that of its binding."""
    dialect = dialect_of(key.group)
    workload = (
        None if dialect is None else dialect.view().outputs.workload_of(world.outputs[key].body)
    )
    return key.name if workload is None else workload.name


@contextmanager
def _daemon(folder: Path) -> Iterator[None]:
    """Run the daemon on a checkout as a process of its own; its log stays beside the checkout."""
    log = folder.with_name(f"{folder.name}.log")
    command = [sys.executable, "-m", "reconciler", "-C", str(folder), "run"]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stderr=stream, stdin=subprocess.DEVNULL)  # noqa: S603  # our own command
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_SECONDS)


DELIVERY = "  # A folder a cluster, for Flux or Argo CD to sync.\n  delivery:\n    folders: {}\n"
"""What turns delivery on, at the end of the example's configuration."""


def clusters_table(repository: Repository, world: World) -> list[str]:
    """Return a line for each cluster that has a folder: what stands in it, with replicas."""
    (folders,) = decode_delivery(settings_in(world)).destinations
    paths = sorted(path for path in world.delivered if folders.cluster_of(path))
    blobs = [world.delivered[path] for path in paths]
    names: dict[str, list[str]] = defaultdict(list)
    for path, (_, content) in zip(paths, read_blobs(repository, blobs), strict=True):
        listed = names[folders.cluster_of(path)]
        if not isinstance(content, Oversized):
            listed += _objects(content, path)
    rows = [[name, ", ".join(listed) or "nothing"] for name, listed in sorted(names.items())]
    return table_lines(["CLUSTER", "RUNS"], rows)


def _objects(content: bytes, path: str) -> Iterator[str]:
    """Yield the objects in a file, but for what only kustomize reads."""
    for document in read(content, path).documents:
        if document.body.get("kind") != "Kustomization":
            yield _named(document.body)


def _named(body: Body) -> str:
    """Return an object by kind and name, with its replicas."""
    replicas = number(mapping(body, "spec"), "replicas")
    name = f"{text(body, 'kind').lower()}/{text(mapping(body, 'metadata'), 'name')}"
    return f"{name}({replicas})" if replicas else name


def copies_in(world: World, now: datetime) -> Iterator[CopyStatus]:
    """Yield what is known by now of the copies of each workload that was decided about."""
    copies = CopiesOf(world, now)
    for dialect in DIALECTS:
        view = dialect.view()
        for key, manifest in world.outputs.items():
            is_decision = (key.group, key.kind) in dialect.placed
            if is_decision and view.outputs.workload_of(manifest.body) is not None:
                yield from copies.statuses(key)
