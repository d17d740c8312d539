"""Heartbeats: observers within clusters say that they are there, and one judge counts silence.

An observer that runs in a cluster dies with it, and what it reported last would be true for ever.
So it sends heartbeats to a judge: it posts them to the judge's listener, or, where it reaches only
the forge, moves a reference of its own there. Of both only the last one is kept, so they make no
history. The judge turns silence beyond the grace period of the cluster's API into a report, as the
API's own controller would; decisions read reports only.

Only silence that was listened to counts. A judge that begins anew, was stopped, or cannot reach the
forge has heard nothing and knows nothing: the time of that is not silence. Clocks of observers are
not asked.

A report that says a cluster is well after it was said to be silent is from somebody who is answered
there: then the judge says no more of that cluster until it is heard itself.

An observer of other clusters, from outside, may send heartbeats under a name of its own. Its
silence says nothing of these: it is told, and what it reported stays. A second observer of the same
clusters may stand by for it: while the holder is heard, the second one reports nothing.
"""

import asyncio
import hmac
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import httpx

from reconciler.errors import ShellError
from reconciler.imports.export import LiveObject
from reconciler.imports.importers import importer_of
from reconciler.imports.observed import Probe, ProbedHealth, dated, reported_health, with_observed
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.version import __version__

MISSED = 4  # Karmada's agent renews its lease each 10 s, and its monitor waits for 40 s
POSTED_SECONDS = 10.0  # of one that did not say yet
PUSHED_SECONDS, SECONDS_A_CLUSTER = 60.0, 2.0
MARKS = 64  # different commits that a reference goes through, so a forge holds no more of them
REFERENCES = "refs/reconciler/observed"


def pushed_every(clusters: int) -> float:
    """Return how many seconds a reference stays where it is, in a fleet of so many clusters.

    A forge has to take one push in two seconds of all of them together.

    >>> pushed_every(3), pushed_every(500)
    (60.0, 1000.0)
    """
    return max(PUSHED_SECONDS, clusters * SECONDS_A_CLUSTER)


@dataclass(slots=True, eq=False)
class Heartbeats:
    """For how long senders are silent; other threads may hear them meanwhile.

    It says of each how often it sends, and for how many seconds of what was listened to it did not.
    """

    _every: dict[str, float] = field(default_factory=dict)
    _silent: dict[str, float] = field(default_factory=dict)
    _heard: dict[str, float] = field(default_factory=dict)
    _looked_at: datetime | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def hear(self, name: str, every: float) -> None:
        """Note that one is heard, who will send the next heartbeat in so many seconds."""
        with self._turn:
            self._heard[name] = every

    def look(self, now: datetime, expected: Mapping[str, float]) -> None:
        """Count the time since the last look for those who were not heard in it.

        A look that comes late was not listening all the time, so it counts twice the time between
        two heartbeats at most.

        Args:
            now: The moment.
            expected: Who is to be heard, and how often.
        """
        with self._turn:
            heard, self._heard = self._heard, {}
        at_last, self._looked_at = self._looked_at, now
        passed = 0.0 if at_last is None else (now - at_last).total_seconds()
        self._every = {name: heard.get(name, self._every.get(name, 0)) for name in expected}
        silent: dict[str, float] = {}
        for name, usual in expected.items():
            every = self._every[name] = self._every[name] or usual
            before = None if name in heard else self._silent.get(name)
            listened = max(0.0, min(passed, 2 * every))
            silent[name] = 0.0 if before is None else before + listened
        self._silent = silent

    def pause(self) -> None:
        """Let the time until the next look count for nobody: nothing can be heard now."""
        self._looked_at = None

    def is_silent(self, name: str, seconds: float) -> bool | None:
        """Return whether one was silent for so long, and for four heartbeats; `None` if unknown."""
        if name not in self._silent:
            return None
        return self._silent[name] >= max(seconds, MISSED * self._every[name])


@dataclass(slots=True, eq=False)
class HeardCluster:
    """A cluster whose observer sends heartbeats; it has something to report while that is silent.

    Attributes:
        name: Of the cluster.
        is_silent: Returns whether it was silent for so many seconds.
        health: What it counts as, by the kinds as which it is declared; nothing while it is heard.
        contradicted: The kinds as which somebody reported it well meanwhile.
    """

    name: str
    is_silent: Callable[[float], bool]
    health: dict[Kind, ProbedHealth] = field(default_factory=dict)
    contradicted: set[Kind] = field(default_factory=set)
    unknown: bool = False
    probe: Probe | None = None
    listed: frozenset[Kind] = frozenset()
    _said: set[Kind] = field(default_factory=set)

    async def look(
        self, clusters: Mapping[Kind, Body], workloads: Collection[Kind], now: datetime
    ) -> None:
        """Judge the silence by the rules of each API.

        Args:
            clusters: As what it is declared, with the status that was reported last.
            workloads: They are not looked at.
            now: The moment.
        """
        del workloads
        self.unknown = False
        for kind, body in clusters.items():
            importer = importer_of(ObjectKey(*kind, "", self.name))
            rules = None if importer is None else importer.probed
            if rules is None:
                continue
            if not self.is_silent(rules.silent.seconds(body)):
                self.health.pop(kind, None)
                self.contradicted.discard(kind)
                self._said.discard(kind)
                continue
            reported = reported_health(body, kind)
            if reported is None:
                self.unknown = True  # it was never reported: what people wrote of it counts
            elif kind in self._said and reported.is_well:
                self.contradicted.add(kind)
                self.health.pop(kind, None)
            elif kind not in self.contradicted and kind not in self.health:
                self.health[kind] = ProbedHealth(dated(rules.silent, now))

    def note_reported(self) -> None:
        """Note that everything was reported."""
        self._said |= self.health.keys()

    @property
    def state(self) -> str:
        """Whether it is silent."""
        return "silent" if self.health else ""

    @property
    def token(self) -> object:
        """What differs where something differs that a report may say."""
        return (self.health,)

    def problems(self) -> Iterator[str]:
        """Yield what is known of the silence."""
        if self.contradicted:
            yield f"{self.name}: it is not heard, but somebody else reports that it is well"
        elif self.health:
            yield f"{self.name}: its observer is silent, so it is reported so"
        elif self.unknown:
            yield f"{self.name}: its observer was never heard, and nothing was reported of it"

    def live(self, clusters: Mapping[Kind, Body]) -> Iterator[LiveObject]:
        """Yield the cluster as a silent one, with all else that was reported of it."""
        for kind, body in clusters.items():
            health = self.health.get(kind)
            if health is not None:
                observed = with_observed(body, kind, health.verdict, None)
                yield LiveObject(ObjectKey(*kind, "", self.name), observed)

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class HeartbeatTokens:
    """Who may post heartbeats: by lines of a name and a token, which are read anew each time."""

    lines: Callable[[], Iterable[str]]

    def names(self) -> frozenset[str]:
        """Return who has a token."""
        return frozenset(name for name, _ in self._pairs())

    def admits(self, name: str, token: str) -> bool:
        """Return whether a token is one of that name, in a time that depends on none of them."""
        admitted = False
        for known, secret in self._pairs():
            same = hmac.compare_digest(secret.encode(), token.encode())
            admitted |= same and known == name
        return admitted

    def _pairs(self) -> Iterator[tuple[str, str]]:
        for line in self.lines():
            name, _, secret = line.partition(" ")
            yield name, secret.strip()


@dataclass(slots=True, eq=False)
class SilenceJudge:
    """Who is expected to send heartbeats, and what their silence means.

    Attributes:
        tokens: Of those who post them, `None` if nobody can.
        references: Returns the references of those who push them, name to what it is now.
        holder: The observer that this process stands by for, `""` for none. Unlike others it is
            expected from the beginning: one that was never heard counts as silent, too.
        judges: Whether silence of clusters is reported; if not, only the holder is listened to.
        posted: Those that are posted; the listener hears them.
        silent_observers: Senders that are no cluster, and silent; the holder is none of them.
    """

    tokens: HeartbeatTokens | None
    references: Callable[[], Mapping[str, str]]
    holder: str = ""
    judges: bool = True
    posted: Heartbeats = field(default_factory=Heartbeats)
    silent_observers: tuple[str, ...] = ()
    problem: str = ""
    _pushed: Heartbeats = field(default_factory=Heartbeats)
    _marks: dict[str, str] = field(default_factory=dict)
    _asked_at: datetime | None = None
    _clusters: dict[str, HeardCluster] = field(default_factory=dict)

    def hear(self, name: str, token: str, every: float) -> bool:
        """Take a heartbeat that is posted, and return whether the token is of that name."""
        admitted = self.tokens is not None and self.tokens.admits(name, token)
        if admitted:
            self.posted.hear(name, every)
        return admitted

    def look(self, declared: Collection[str], now: datetime) -> None:
        """Count the silence until now; the forge is asked once in a while.

        Args:
            declared: The names of all clusters.
            now: The moment.
        """
        names = frozenset() if self.tokens is None else self.tokens.names()
        self.posted.look(now, dict.fromkeys(names, POSTED_SECONDS))
        if self._asked_at is None or now >= self._asked_at + timedelta(seconds=PUSHED_SECONDS):
            self._ask({self.holder} - {"", *names}, pushed_every(len(declared)), now)
        senders = names | self._marks.keys()
        if not self.judges:
            return
        others = senders - {*declared, self.holder}
        self.silent_observers = tuple(sorted(one for one in others if self.is_silent(one, 0.0)))
        for name in sorted(senders & set(declared)):
            if name not in self._clusters:
                self._clusters[name] = HeardCluster(name, partial(self.is_silent, name))
        for name in self._clusters.keys() - (senders & set(declared)):
            del self._clusters[name]

    def _ask(self, expected: Collection[str], every: float, now: datetime) -> None:
        try:
            references = self.references()
        except ShellError as error:
            self._pushed.pause()
            self.problem = f"the heartbeats at the remote cannot be read: {error}"
            return
        self._asked_at, self.problem = now, ""
        for name, mark in references.items():
            if self._marks.get(name, mark) != mark:
                self._pushed.hear(name, every)
        self._marks = dict(references)
        self._pushed.look(now, dict.fromkeys({*references, *expected}, every))

    def is_silent(self, name: str, seconds: float) -> bool:
        """Return whether one is silent in every way in which it is heard."""
        silences = [one.is_silent(name, seconds) for one in (self.posted, self._pushed)]
        return all(one is not False for one in silences) and True in silences

    @property
    def stands_in(self) -> bool:
        """Whether the holder is silent, so that we observe in its place."""
        return bool(self.holder) and self.is_silent(self.holder, 0.0)

    def clusters(self, but: Collection[str] = ()) -> tuple[HeardCluster, ...]:
        """Return those that are judged, by name, but for those that are observed here."""
        return tuple(one for name, one in sorted(self._clusters.items()) if name not in but)

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with observers, not with clusters."""
        if self.problem:
            yield self.problem
        if self.stands_in:
            yield f"observer {self.holder} is silent, so this one reports its clusters"
        for name in self.silent_observers:
            yield f"observer {name} is silent: what it reported stays as it is, and gets old"


class Sender(Protocol):
    """Sends a heartbeat, or raises `ShellError`; it says how often, in seconds."""

    def every(self, clusters: int) -> float:
        """Return how often, in a fleet of so many clusters."""
        ...

    async def send(self) -> None:
        """Send one."""
        ...


class Postponed(ShellError):
    """A server wants us to wait for so many seconds."""

    def __init__(self, message: str, seconds: float) -> None:
        """Keep for how long."""
        super().__init__(message)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class PostingSender:
    """Posts to the listener of a judge.

    Attributes:
        url: Of the listener.
        name: Whose heartbeat it is.
        token: Returns what proves that.
        seconds: How often.
        client: That is used.
    """

    url: str
    name: str
    token: Callable[[], str]
    seconds: float
    client: httpx.AsyncClient

    def every(self, clusters: int) -> float:
        """Return how often."""
        del clusters
        return self.seconds

    async def send(self) -> None:
        """Post one.

        Raises:
            ShellError: It did not arrive.
        """
        url = f"{self.url.rstrip('/')}/heartbeat/{self.name}"
        headers = {
            "Authorization": f"Bearer {self.token()}",
            "User-Agent": f"reconciler/{__version__}",
        }
        wanted = {"seconds": f"{self.seconds:g}"}
        try:
            answer = await self.client.post(url, params=wanted, headers=headers)
        except httpx.HTTPError as error:
            raise ShellError(f"{self.url} does not answer heartbeats") from error
        after = answer.headers.get("Retry-After", "")
        if answer.is_success:
            return
        said = f"{self.url} answers a heartbeat of {self.name} with {answer.status_code}"
        raise Postponed(said, float(after) if after.isascii() and after.isdecimal() else 0.0)


@dataclass(slots=True, eq=False)
class PushingSender:
    """Moves a reference of the cluster at the remote."""

    mirror: Mirror
    name: str
    _turn: int = field(default_factory=lambda: secrets.randbelow(MARKS))

    def every(self, clusters: int) -> float:
        """Return how often."""
        return pushed_every(clusters)

    async def send(self) -> None:
        """Push one.

        Raises:
            GitError: It did not arrive.
        """
        self._turn = (self._turn + 1) % MARKS
        reference, message = f"{REFERENCES}/{self.name}", f"Heartbeat {self._turn} of {self.name}"
        await asyncio.to_thread(self.mirror.put_mark, reference, message)


@dataclass(slots=True, eq=False)
class RegularSender:
    """Sends heartbeats when they are due.

    After failures it waits for twice as long, never longer unless a server asks for it: whoever
    waits for longer than the grace period would count as silent when the judge is back.

    Attributes:
        sender: How.
        problem: Why the last one failed, `""` if it did not.
    """

    sender: Sender
    problem: str = ""
    _due_at: datetime | None = None

    async def send(self, clusters: int, now: datetime) -> None:
        """Send one if it is time for it.

        Args:
            clusters: How many there are in the fleet.
            now: The moment.
        """
        if self._due_at is not None and now < self._due_at:
            return
        every = timedelta(seconds=self.sender.every(clusters))
        try:
            await self.sender.send()
        except ShellError as error:
            wait = every * (2 if self.problem else 1)
            wanted = error.seconds if isinstance(error, Postponed) else 0.0
            self._due_at = now + max(wait, timedelta(seconds=wanted))
            self.problem = f"heartbeats do not arrive, so we may count as silent: {error}"
            return
        self.problem, self._due_at = "", now + every
