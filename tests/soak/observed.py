"""`python -m tests.soak.observed`: observers, judge and daemon end at any moment; nothing flaps.

Two clusters, an observer and a mirror for each, a second observer of one that stands by, a judge
that hears both, and a daemon that decides from their branch of reports, which is cut every few
commits. Drawn by a seed, one process after the other is killed, asked to end, or stopped for a
while: after some heartbeats, or by the remote itself, before or after it takes a push, be it that
process's own or another one's. Whoever ends is started again at once, but that now and then the
holder stays away until the second observer has reported in its place. Meanwhile nodes grow, and
clusters go away and come back.

*Lost* is what a cluster has, or that it is away, and is not reported in the end; a decision that
the reports ask for and that was not made; or one that a fresh clone does not prove. A *flap* is a
report that a cluster is not well without a cause: it was not away, and no judge listened to it in
vain for a grace period since it was reported well.

Every wait is for an event: a heartbeat, the end of a process, a report.
"""

import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from socket import create_server

import httpx

from reconciler.cli.main import run
from reconciler.shell.resources import SystemClock
from tests.builders import configuration, deployment, path_of, policy, text
from tests.kube.loop import AUTHOR, managed
from tests.kube.members import Member, kubeconfig, node, running
from tests.shell.fleet import PATIENCE_SECONDS, Clock, eventually, new_passes
from tests.shell.repositories import git, new_bare
from tests.shell.servers import new_certificate
from tests.soak.commotion import read_options
from tests.soak.daemons import POLL, Daemon

NAMES = ("a", "b")
GRACE_SECONDS = 5  # five leases of one second, and more than four heartbeats
QUICK = ("--probe-seconds", "1", "--commit-seconds", "1", "--author", AUTHOR)
LEASED = {"hubAcceptsClient": True, "leaseDurationSeconds": 1}
CUT_AFTER = ("--most-commits", "5")
SECRET = "soaked-token-of-{name}"  # noqa: S105  # of servers of this soak
ENDS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ENDED_WELL = (0, 128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGTERM, -signal.SIGINT)
KINDS = (*("signal", "push", "outage") * 2, "pause", "holder")  # of what happens next
INTERRUPTED_AT_START = re.compile(
    r"Traceback \(most recent call last\):\n(?:  .*\n)*"
    r"    from reconciler\.cli\.main import main\n(?:  .*\n)*KeyboardInterrupt\n"
)
"""What Python says to SIGINT before anything of ours is loaded that could hear it."""
HOOK = """\
#!/bin/sh
test -e armed || exit 0
read -r hook signal whom < armed
test "$hook" = "$(basename "$0")" || exit 0
rm -f armed
kill -s "$signal" -- "$whom"
exit 0
"""


@dataclass
class Heard:
    """The heartbeats that the judge took, and those that were on their way to it.

    Attributes:
        judge: Port of the judge.
        second: Port of the observer that stands by, which hears them, too.
        taken: Of each cluster, the moments at which the judge took one.
        came: How many came here, taken or not.
    """

    judge: int
    second: int
    taken: Mapping[str, list[float]] = field(default_factory=lambda: {one: [] for one in NAMES})
    came: int = 0
    moved: threading.Condition = field(default_factory=threading.Condition)

    def bring(self, path: str, token: str) -> int:
        """Bring one to the judge, and return its answer."""
        with self.moved:
            self.came += 1
            self.moved.notify_all()
        codes = [posted(port, path, token) for port in (self.judge, self.second)]
        if codes[0] == 204:  # it was taken
            self.taken[path.split("/")[2].partition("?")[0]].append(time.time())
        return codes[0]

    def wait_for(self, number: int) -> None:
        """Wait until so many more came."""
        with self.moved:
            wanted = self.came + number
            came = self.moved.wait_for(lambda: self.came >= wanted, PATIENCE_SECONDS)
            assert came, "no heartbeats any more"


def posted(port: int, path: str, token: str) -> int:
    """Post a heartbeat, and return the answer, 502 for none."""
    url = f"http://127.0.0.1:{port}{path}"
    try:
        return httpx.post(url, headers={"Authorization": token}, timeout=5).status_code
    except httpx.HTTPError:
        return 502


@contextmanager
def relayed(judge: int, second: int) -> Iterator[tuple[Heard, int]]:
    """Relay heartbeats to two ports while the block lasts; yield the port for them."""
    heard = Heard(judge, second)

    class Relay(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # as http.server calls it
            code = heard.bring(self.path, self.headers["Authorization"])
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield heard, server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(kw_only=True)
class Commotion:
    """What happens to the processes and to the clusters.

    Attributes:
        remote: The bare repository.
        members: The clusters.
        actors: The processes, the judge among them.
        heard: The heartbeats.
        choice: Where chance comes from.
        judged_from: The moments at which a judge began.
        outages: Of each cluster, from when until when it was away.
        counts: How often each kind of thing was done.
    """

    remote: Path
    members: Mapping[str, Member]
    actors: Sequence[Daemon]
    heard: Heard
    choice: random.Random
    judged_from: list[float] = field(default_factory=list)
    outages: Mapping[str, list[tuple[float, float]]] = field(
        default_factory=lambda: {one: [] for one in NAMES}
    )
    counts: Counter[str] = field(default_factory=Counter)
    _away: dict[str, float] = field(default_factory=dict)
    _cpu: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 4))

    def __post_init__(self) -> None:
        """Let the remote end who it is told to."""
        for name in ("pre-receive", "post-receive"):
            place = self.remote / "hooks" / name
            place.parent.mkdir(exist_ok=True)
            place.write_text(HOOK)
            place.chmod(0o755)

    def start(self, actor: Daemon) -> None:
        """Start a process."""
        if actor.name == "judge":
            self.judged_from.append(time.time())
        actor.start()

    def step(self) -> None:
        """Let one thing happen, and wait until it has."""
        victim = self.choice.choice(self.actors)
        match self.choice.choice(KINDS):
            case "signal":
                self.heard.wait_for(self.choice.randint(1, 4))
                self._end(victim, self.choice.choice(ENDS))
            case "pause":
                self._pause(victim)
            case "push":
                self._end_at_push(victim)
            case "holder" if NAMES[0] not in self._away:
                self._replace_holder()
            case _:
                self._toggle(self.choice.choice(NAMES))

    def _end(self, victim: Daemon, number: signal.Signals) -> None:
        """Send a signal to a process, wait for its end, and start it again."""
        os.kill(victim.running.pid, number)
        self._begin_again(victim, number)
        self.counts[number.name] += 1

    def _begin_again(self, victim: Daemon, number: signal.Signals) -> None:
        code = victim.wait()
        assert code == -number or code in ENDED_WELL, f"{victim.name} ended with {code}"
        self.start(victim)

    def _pause(self, victim: Daemon) -> None:
        """Stop a process until others were heard for a while."""
        os.kill(victim.running.pid, signal.SIGSTOP)
        self.heard.wait_for(2)
        os.kill(victim.running.pid, signal.SIGCONT)
        self.counts["SIGSTOP"] += 1

    def _end_at_push(self, victim: Daemon) -> None:
        """Let the remote end a process at the next push, alone or with all that it started."""
        hook = self.choice.choice(("pre-receive", "post-receive"))
        number = self.choice.choice(ENDS)
        pid = victim.running.pid
        whom = -pid if number is signal.SIGKILL and self.choice.random() < 1 / 2 else pid
        armed = self.remote / "armed"
        armed.with_suffix(".new").write_text(f"{hook} {number.name[3:]} {whom}\n")
        armed.with_suffix(".new").rename(armed)
        self._stir()
        eventually(lambda: not armed.exists(), "a push")
        self._begin_again(victim, number)
        self.counts[f"{number.name} at {hook}"] += 1

    def _replace_holder(self) -> None:
        """Kill an observer, and begin it again once the second one has reported in its place."""
        (holder,) = (one for one in self.actors if one.name == NAMES[0])
        os.kill(holder.running.pid, signal.SIGKILL)
        holder.wait()
        self._grow(NAMES[0])
        expected = f'cpu: "{self._cpu[NAMES[0]]}"'
        eventually(partial(self._reports, NAMES[0], expected), "a report of the second observer")
        self.start(holder)
        self.counts["holders replaced"] += 1

    def _stir(self) -> None:
        """Change something that has to be reported: a node where a cluster is there."""
        present = [one for one in NAMES if one not in self._away]
        if not present:
            self._toggle(NAMES[0])
            return
        self._grow(self.choice.choice(present))

    def _grow(self, name: str) -> None:
        self._cpu[name] += 4
        self.members[name].put(node("n1", cpu=str(self._cpu[name])))

    def _toggle(self, name: str) -> None:
        """Let a cluster go away and be reported so, or come back."""
        if name in self._away:
            self.outages[name].append((self._away.pop(name), time.time()))
            self.members[name].dead, self.members[name].ready = False, 200
            return
        self._away[name] = time.time()
        if self.choice.random() < 1 / 2:
            self.members[name].dead = True
        else:
            self.members[name].ready = 500
        eventually(lambda: not self.is_well(name), f"that {name} is away")
        self.counts["outages"] += 1

    def _reports(self, name: str, expected: str) -> bool:
        return expected in report_of(self.remote, name)

    def is_well(self, name: str) -> bool:
        """Return whether a cluster is reported well now."""
        return is_well(report_of(self.remote, name))

    def come_to_rest(self) -> None:
        """Let all be there, and wait until all of it is reported and decided."""
        for name in [*self._away]:
            self._toggle(name)
        for name in NAMES:
            expected = f'cpu: "{self._cpu[name]}"'
            eventually(partial(self.is_well, name), f"that {name} is back")
            eventually(partial(self._reports, name, expected), f"the node of {name}")
        eventually(lambda: is_settled(self.remote), "the decision about it")


def report_of(remote: Path, name: str, commit: str = "reports") -> str:
    """Return what a cluster reports in a commit, `""` for nothing."""
    path = f"feedback/{name}/cluster.yaml"
    if not git(remote, "for-each-ref", "refs/heads/reports"):
        return ""
    there = git(remote, "ls-tree", "--name-only", commit, path)
    return git(remote, "show", f"{commit}:{path}") if there else ""


def is_well(report: str) -> bool:
    """Return whether a report says that its cluster is well."""
    return "reason: ManagedClusterAvailable" in report


def is_settled(remote: Path) -> bool:
    """Return whether a calm daemon would leave everything as it is."""
    with tempfile.TemporaryDirectory(prefix="calm-") as name:
        git(Path(name), "clone", "-q", "--bare", str(remote), "calm.git")
        return new_passes(Path(name) / "calm.git", Clock(SystemClock().now())).run().commit is None


def flaps(remote: Path, commotion: Commotion) -> list[str]:
    """Return each report without a cause that a cluster is not well.

    The branch is cut meanwhile, so the reports are those that the hooks' log of references has.
    """
    wrong = []
    lines = git(remote, "reflog", "show", "--format=%H %ct", "refs/heads/reports").splitlines()
    commits = [line.split() for line in reversed(lines)]
    for name in NAMES:
        well_at = 0.0
        was_well = True
        for commit, moment in commits:
            report, at = report_of(remote, name, commit), float(moment)
            if is_well(report):
                well_at, was_well = at, True
            elif report and was_well:
                was_well = False
                if not has_cause(name, well_at, at, commotion):
                    wrong.append(f"{commit[:12]} says without cause that {name} is not well")
    return wrong


def has_cause(name: str, well_at: float, at: float, commotion: Commotion) -> bool:
    """Return whether a cluster was away between two moments, or a judge listened in vain.

    Moments of commits are whole seconds, and what is reported was seen a little before.
    """
    if any(begin <= at + 1 and end >= well_at - 1 for begin, end in commotion.outages[name]):
        return True
    moments = sorted((*commotion.heard.taken[name], *commotion.judged_from, at + 1))
    grace = GRACE_SECONDS - 1
    return any(
        end - begin >= grace and end >= well_at - 1 and begin + grace <= at + 1
        for begin, end in pairwise(moments)
    )


def _processes(
    remote: Path, folder: Path, config: Path, heard: Heard, relay: int
) -> tuple[Daemon, ...]:
    """Return the observers, the judge and the daemon; heartbeats go to the port of the relay."""
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{name} {SECRET.format(name=name)}\n" for name in NAMES))
    at = ("--remote", f"file://{remote}", "--mirror")

    def observing(name: str, *options: str) -> Daemon:
        own = (*at, str(folder / f"{name}.mirror"), *QUICK, *options)
        return Daemon(name=name, arguments=("observe", *own), log=folder / f"{name}.log")

    observers = []
    for name in NAMES:
        token = folder / f"token-{name}"
        token.write_text(f"{SECRET.format(name=name)}\n")
        sends = ("--heartbeat", f"http://127.0.0.1:{relay}", "--heartbeat-name", name)
        beats = (*sends, "--heartbeat-token-file", str(token))
        reaches = ("--context", name, "--kubeconfig", str(config))
        observers.append(observing(name, *reaches, *beats, *CUT_AFTER))
    admits = ("--heartbeat-tokens-file", str(tokens))
    held = ("--context", NAMES[0], "--kubeconfig", str(config), "--stand-by", NAMES[0])
    daemon = ("run", *at, str(folder / "daemon.mirror"), *POLL)
    return (
        *observers,
        observing("second", *held, "--listen", str(heard.second), *admits),
        observing("judge", "--judge", "--listen", str(heard.judge), *admits),
        Daemon(name="daemon", arguments=daemon, log=folder / "daemon.log"),
    )


def soak(folder: Path, seconds: float, choice: random.Random) -> Commotion:
    """Let everything happen for so long, come to rest, and end all of it."""
    reports = {"branch": "reports", "keepUsed": True, "assumeAfterSeconds": 2}
    settings = configuration(feedback=reports, inventory={"project": True})
    leases = ({**managed(name), "spec": LEASED} for name in NAMES)
    bodies = (*leases, deployment(), policy(), settings)
    remote = new_bare(folder / "remote.git", {path_of(body): text(body) for body in bodies})
    git(remote, "config", "core.logAllRefUpdates", "always")
    with create_server(("127.0.0.1", 0)) as first, create_server(("127.0.0.1", 0)) as other:
        ports = [taken.getsockname()[1] for taken in (first, other)]
    certificate = new_certificate(folder)
    with ExitStack() as stack:
        members = {name: stack.enter_context(running(name, certificate)) for name in NAMES}
        for member in members.values():
            member.put(node("n1"))
        config = kubeconfig(folder, members, certificate)
        heard, relay = stack.enter_context(relayed(*ports))
        actors = _processes(remote, folder, config, heard, relay)
        commotion = Commotion(
            remote=remote, members=members, actors=actors, heard=heard, choice=choice
        )
        for one in actors:
            stack.callback(one.end)
            commotion.start(one)
        for name in NAMES:
            eventually(partial(commotion.is_well, name), f"the first report of {name}")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            commotion.step()
        commotion.come_to_rest()
        for one in actors:
            os.kill(one.running.pid, signal.SIGTERM)
            assert one.wait() in ENDED_WELL, one.log.read_text()[-2000:]
        return commotion


def crashed(actor: Daemon) -> bool:
    """Return whether a process ever met what nobody foresaw."""
    return "Traceback" in INTERRUPTED_AT_START.sub("", actor.log.read_text())


def main() -> int:
    """Soak, check, print figures; exit 1 if anything is lost or flaps."""
    asked = read_options("tests.soak.observed", __doc__, seconds=120)
    print(f"soaking observers for {asked.seconds:.0f} s, seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        choice = random.Random(asked.seed)  # noqa: S311  # to be repeated, no secret
        commotion = soak(folder, asked.seconds, choice)
        remote = commotion.remote
        git(remote, "fsck", "--strict")
        git(folder, "clone", "-q", f"file://{remote}", "fresh")
        wrong = flaps(remote, commotion)
        wrong += [f"{one.name} has a traceback" for one in commotion.actors if crashed(one)]
        wrong += [] if run(["-C", str(folder / "fresh"), "verify"]) == 0 else ["not all is proven"]
        for line in wrong:
            print(line)
        survived = ", ".join(f"{count} {kind}" for kind, count in sorted(commotion.counts.items()))
        reports = git(remote, "reflog", "show", "--format=%H", "refs/heads/reports").splitlines()
        print(f"survived: {survived}; {len(reports)} reports, {len(wrong)} wrong")
        if wrong and asked.keep is not None:
            shutil.copytree(folder, asked.keep)
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
