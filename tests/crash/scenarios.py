"""What is killed at every step: passes of a small fleet, in a checkout and through a mirror."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from reconciler.model.records import replace
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassReport
from tests.builders import (
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    text,
)
from tests.shell.counted import leave_behind
from tests.shell.fleet import Clock, new_passes, passes_of
from tests.shell.repositories import NOW, Checkout, git, new_checkout

REBALANCER = "rebalancers/back.yaml"
TTL_SECONDS = 60
DELIVERED, OUTPUTS = "fleet", "decisions"
FOLDERS = {
    "reconciler.yaml": text(configuration(delivery={"folders": {"branch": DELIVERED}})),
}
REMOTE, PERSON, MIRROR = "remote.git", "person", "mirror"
MOST_PASSES = 5


def manifests(*, failed: bool = False, replicas: int = 2) -> dict[str, str]:
    """A workload that prefers a, and both clusters; a may have failed long ago."""
    status = cluster_status("False" if failed else "True", since=after(-900))
    bodies = [
        cluster("a", status=status),
        cluster("b", status=cluster_status(since=after(-900))),
        deployment(replicas=replicas),
        policy(placement=groups(["a"], ["b"])),
    ]
    return {path_of(body): text(body) for body in bodies}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A prepared place, the moment at which a pass is killed there, and what it does.

    Attributes:
        name: For people.
        seconds: Moment of the pass, after `NOW`.
        remote: Whether the branch is served through a mirror.
        prepare: Makes everything below an empty folder.
        output_branch: Which branch outputs have for themselves, `None` if they have none.
    """

    name: str
    seconds: int
    remote: bool
    prepare: Callable[[Path], None]
    output_branch: str | None = None

    def person(self, root: Path) -> Checkout:
        """Return the checkout in which a person works."""
        return Checkout(root / PERSON)

    def served(self, root: Path) -> Path:
        """Return the git folder whose branch counts."""
        return root / REMOTE if self.remote else root / PERSON

    def run_pass(self, root: Path, seconds: int) -> PassReport:
        """Run one pass, as a process that was just started."""
        with self._passes(root, Clock(NOW + timedelta(seconds=seconds))) as passes:
            return passes.run()

    def settle(self, root: Path, seconds: int) -> None:
        """Run passes until nothing is left to be done."""
        for _ in range(MOST_PASSES):
            report = self.run_pass(root, seconds)
            if report.commit is None and not report.beside:
                return
        raise AssertionError("it does not settle")

    def change(self, root: Path, seconds: int) -> None:
        """Commit a further change as a person does, with all that seems changed; and settle."""
        person = self.person(root)
        if self.remote:
            person.git("pull", "--quiet", "--ff-only", str(root / REMOTE), "main")
        person.write(manifests(replicas=3))
        person.git("commit", "--quiet", "--all", "--message", "Scale")
        if self.remote:
            person.git("push", "--quiet", str(root / REMOTE), "main")
        self.settle(root, seconds)

    @contextlib.contextmanager
    def _passes(self, root: Path, clock: Clock) -> Iterator[Passes]:
        if not self.remote:
            yield new_passes(root / PERSON, clock, self.output_branch)
            return
        with Mirror.open(f"file://{root / REMOTE}", root / MIRROR) as mirror:
            branch = RemoteBranch(mirror, mirror.repository, "main")
            yield passes_of(branch, clock, self.output_branch)


def _share(root: Path, *, remote: bool) -> None:
    """Give the person's repository to a remote."""
    if remote:
        git(root, "clone", "--quiet", "--bare", str(root / PERSON), str(root / REMOTE))


def _fled(
    root: Path,
    *,
    remote: bool,
    more: Mapping[str, str] | None = None,
    output_branch: str | None = None,
) -> Scenario:
    """Web fled to b, a is back, and a rebalancer that brings it home was merged."""
    local = Scenario(
        name="", seconds=0, remote=False, prepare=lambda _: None, output_branch=output_branch
    )
    scenario = replace(local, remote=remote)
    person = new_checkout(root / PERSON, {**manifests(), **(more or {})})
    local.run_pass(root, 0)
    person.commit(manifests(failed=True), "PassReport a as failed")
    local.run_pass(root, 1)
    person.commit(manifests(), "PassReport a as recovered")
    local.settle(root, 400)
    person.commit({REBALANCER: text(rebalancer("back", ttl=TTL_SECONDS))}, "Go home")
    _share(root, remote=remote)
    return scenario


def _pass(remote: bool) -> Callable[[Path], None]:  # noqa: FBT001  # one per mode
    def prepare(root: Path) -> None:
        scenario = _fled(root, remote=remote)
        if remote:  # the mirror is there, and was used
            with scenario._passes(root, Clock(NOW)) as passes:
                passes.branch.head()

    return prepare


def _delivery(remote: bool) -> Callable[[Path], None]:  # noqa: FBT001  # one per mode
    def prepare(root: Path) -> None:
        _fled(root, remote=remote, more=FOLDERS)

    return prepare


def _outputs(remote: bool) -> Callable[[Path], None]:  # noqa: FBT001  # one per mode
    """Outputs have a branch of their own, and so has what they deliver: both move at once."""

    def prepare(root: Path) -> None:
        _fled(root, remote=remote, more=FOLDERS, output_branch=OUTPUTS)

    return prepare


def _removal(remote: bool) -> Callable[[Path], None]:  # noqa: FBT001  # one per mode
    def prepare(root: Path) -> None:
        scenario = _fled(root, remote=remote)
        scenario.settle(root, 500)

    return prepare


def _start(remote: bool) -> Callable[[Path], None]:  # noqa: FBT001  # one per mode
    def prepare(root: Path) -> None:
        scenario = _fled(root, remote=remote)
        scenario.settle(root, 500)
        shutil.rmtree(root / MIRROR, ignore_errors=True)

    return prepare


def _recovery(remote: bool) -> Callable[[Path], None]:  # noqa: FBT001  # one per mode
    def prepare(root: Path) -> None:
        scenario = _fled(root, remote=remote)
        if not remote:
            _leave_half_a_step(scenario, root)
            return
        scenario.settle(root, 500)
        mirror = root / MIRROR / "repository.git"
        git(mirror, f"--git-dir={mirror}", "gc", "--quiet")
        for name in ("refs/heads/main.lock", "packed-refs.lock", "objects/pack/tmp_pack_x"):
            (mirror / name).touch()
        for pack in mirror.glob("objects/pack/*.pack"):
            pack.chmod(0o644)
            os.truncate(pack, 0)
        (mirror / "config").write_text("")
        (root / MIRROR / "reconciler-new-x").mkdir()

    return prepare


def _leave_half_a_step(scenario: Scenario, root: Path) -> None:
    """Leave a pass whose branch has moved: locks, a file unlinked, one cut short, one not begun."""
    person = scenario.person(root)
    old = person.head()
    scenario.run_pass(root, 500)
    new = person.head()
    changed = person.git("diff", "--name-only", old, new).splitlines()
    person.git("reset", "--quiet", "--hard", old)
    person.git("reflog", "expire", "--expire=all", "--all")
    child = os.fork()
    if child == 0:  # a process of its own, for the entry names who is dead
        leave_behind(Repository.open(person.folder), old=old, new=new)
        os._exit(0)
    os.waitpid(child, 0)
    git(person.folder, "update-ref", "refs/heads/main", new)
    (person.folder / ".git/HEAD.lock").touch()
    unlinked, cut, *_ = [person.folder / path for path in changed]
    unlinked.unlink(missing_ok=True)
    cut.parent.mkdir(parents=True, exist_ok=True)
    cut.write_bytes(b"")


SCENARIOS: tuple[Scenario, ...] = tuple(
    Scenario(
        name=f"{name}, {'remote' if remote else 'local'}",
        seconds=seconds,
        remote=remote,
        prepare=prepare(remote),
        output_branch=OUTPUTS if prepare is _outputs else None,
    )
    for remote in (False, True)
    for name, seconds, prepare in (
        ("pass", 500, _pass),
        ("delivery", 500, _delivery),
        ("outputs", 500, _outputs),
        ("removal", 500 + TTL_SECONDS, _removal),
        ("start", 502, _start),
        ("recovery", 502, _recovery),
    )
)
