"""What of a decision is on which cluster: delivered, reported, healthy, and waiting for what.

One answer for all that show it. What should be delivered is rendered as delivery renders it, and
compared with the files that are there.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from reconciler.audit.fleet.assumed_outputs import as_of, shown_at
from reconciler.core.dialects import DIALECTS, decision_on, dialect_of, wraps
from reconciler.core.record import recorded_faults
from reconciler.core.safety import REMOVAL_BRAKED
from reconciler.delivery.carriage import Carriage, not_carried, why_held
from reconciler.delivery.deliver import merged_text, not_carried_text
from reconciler.delivery.memory import FileOwner, carriages_of, is_in, places, texts_of
from reconciler.delivery.pruning import PRUNING_HELD
from reconciler.delivery.refusals import without_refused
from reconciler.delivery.settings import Destination, decode_delivery, misplaced, recorded
from reconciler.dialects.contract import Dialect
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt
from reconciler.dialects.renderer import UNKNOWN_OBJECTS, NotRendered, Reach, Rendered, Renderer
from reconciler.dialects.view import FINE, Copies, CopyStatus, Report
from reconciler.errors import UserError
from reconciler.manifests.paths import blob_id
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import World
from reconciler.staging.view import held_in

VOUCHED = frozenset({Report.ASSUMED, Report.REPORTED, Report.HEALTHY})
"""What is not believed of a cluster that is down."""

Elsewhere = Mapping[str, Mapping[str, str]]
"""The files of delivery on other branches: path to blob id, as `BRANCH:PATH`, by branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFiles:
    """What one transport has of a copy.

    Attributes:
        transport: Its name.
        paths: The files that are there, sorted; of another branch as `BRANCH:PATH`.
        is_current: Whether they are what the decision asks for.
        why: Why they are not, or why there are none; `""` if they are current, or if the copy says
            for what it waits.
        notes: What is asked of the copy and not carried, a clause each.
    """

    transport: str
    paths: tuple[str, ...]
    is_current: bool
    why: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredCopy:
    """One copy: what is known of it, and what each transport has of it."""

    status: CopyStatus
    files: tuple[CopyFiles, ...]

    @property
    def is_delivered(self) -> bool:
        """Whether every transport has what the decision asks for, and there is one."""
        return bool(self.files) and all(one.is_current for one in self.files)

    @property
    def is_fine(self) -> bool:
        """Whether it counts as healthy."""
        return self.status.report in FINE


@dataclasses.dataclass(slots=True, eq=False)
class CopiesOf:
    """The copies of the decisions of one world; what was found out for one serves the next.

    Attributes:
        world: That is asked about.
        now: Moment of the question, aware UTC: what is assumed of silence by then counts.
        elsewhere: What is delivered on other branches; those that cannot be seen are left out.
        only: The decisions that are asked about, `None` for any.
        settings: Of the world.
    """

    world: World
    now: datetime
    elsewhere: Elsewhere = dataclasses.field(default_factory=dict)
    only: Collection[ObjectKey] | None = None
    settings: Settings = dataclasses.field(init=False)
    _shown: World | None = None
    _renderers: dict[str, Renderer] = dataclasses.field(default_factory=dict)
    _known: dict[str, Copies] = dataclasses.field(default_factory=dict)
    _held: dict[ObjectKey | None, dict[ClusterName, str]] | None = None
    _down: dict[str, dict[ClusterName, bool]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the configuration."""
        self.settings = settings_in(self.world)

    def statuses(self, key: ObjectKey) -> tuple[CopyStatus, ...]:
        """Return what is known of the copies of a decision, whether delivered or not.

        A cluster that is down vouches for nothing: no copy there counts as well, neither by an
        older report nor by its silence.
        """
        dialect = dialect_of(key.group)
        if dialect is None:
            return ()
        if dialect.name not in self._known:
            shown = self._shown or as_of(self.world, self.now, self.only)
            self._shown = shown
            moment = shown_at(shown, self.now)
            self._known[dialect.name] = dialect.view().world.copies(shown, moment)
        asked = attempt(partial(self._known[dialect.name], key), lambda: _place(key))
        if isinstance(asked, Failed):
            return ()
        known = self._down.setdefault(dialect.name, {})
        vouching = {one.cluster for one in asked if one.report in VOUCHED}
        for name in vouching - known.keys():  # each is asked once, however many copies it has
            known[name] = self._is_down(dialect, name)
        down = {name for name in vouching if known[name]}
        held = self._held_on(key)
        if not down and not held:
            return tuple(asked)
        return tuple(
            replace(
                one,
                report=Report.AT_RISK
                if one.report in VOUCHED and one.cluster in down
                else one.report,
                waits_for=one.waits_for or held.get(one.cluster, ""),
            )
            for one in asked
        )

    def _held_on(self, key: ObjectKey) -> Mapping[ClusterName, str]:
        """Return the clusters on which a change of content waits for its stage, and why."""
        if self._held is None:
            held = held_in(self.world).items()
            self._held = {decision_on(one): clusters for one, clusters in held}
        return self._held.get(key, {})

    def _is_down(self, dialect: Dialect, name: ClusterName) -> bool:
        """Return whether a cluster is down."""
        cluster = self.world.find(ObjectKey(*dialect.cluster, "", name))
        if cluster is None:
            return False
        return bool(dialect.view().clusters.report_of(mapping(cluster.body, "status")).down)

    def __call__(self, key: ObjectKey) -> tuple[DeliveredCopy, ...]:
        """Return the copies of a decision; none if it is about no content."""
        statuses, dialect = self.statuses(key), dialect_of(key.group)
        if not statuses or dialect is None:
            return ()
        destinations = decode_delivery(self.settings).destinations
        if not destinations:
            return tuple(DeliveredCopy(status=one, files=()) for one in statuses)
        asked = _asked(dialect, key, self, destinations)
        return tuple(asked.copy(status) for status in statuses)

    def renderer(self, dialect: Dialect) -> Renderer:
        """Return what renders the decisions of an API."""
        if dialect.name not in self._renderers:
            self._renderers[dialect.name] = dialect.renderers().of(self.world, self.settings)
        return self._renderers[dialect.name]

    def texts(
        self, owner: FileOwner, rendered: Rendered, destinations: Sequence[Destination]
    ) -> Mapping[str, str]:
        """Return the files of a decision, with what others put into them beside it."""
        texts = texts_of(owner, rendered, destinations, wraps())
        for path, text in list(texts.items()):
            there = self.world.delivered.get(path)
            if there is not None and there != blob_id(text.encode(), like=self.world.revision):
                texts[path] = self._shared(owner, path, text, rendered, destinations)
        return texts

    def _shared(
        self,
        owner: FileOwner,
        path: str,
        text: str,
        rendered: Rendered,
        destinations: Sequence[Destination],
    ) -> str:
        """Return what stands in a file if several decisions put one object there."""
        sources = {
            source
            for work in rendered.works
            for source in work.manifests
            if path in places(owner.key, {work.cluster: (source,)}, [work.cluster], destinations)
        }
        texts_by_owner = {owner: text}
        for dialect in DIALECTS:
            renderer = self.renderer(dialect)
            for key in {key for source in sources for key in renderer.bringers(source)}:
                other = FileOwner(dialect.name, key)
                if other not in texts_by_owner and (more := renderer.render(key)) is not None:
                    texts = texts_of(other, more, destinations, wraps())
                    texts_by_owner |= {other: texts[path]} if path in texts else {}
        merged = merged_text(path, [texts_by_owner[one] for one in sorted(texts_by_owner)])
        return text if merged is None else merged


def _asked(
    dialect: Dialect,
    key: ObjectKey,
    around: CopiesOf,
    destinations: Sequence[Destination],
) -> "_Asked":
    """Return what a decision asks for, rendered."""
    world, settings, renderer = around.world, around.settings, around.renderer(dialect)
    reach = renderer.reach(key)
    found = attempt(partial(renderer.render, key), lambda: _place(key))
    if isinstance(found, Failed):
        found = Rendered(path="", failed=tuple(NotRendered(name, found.message) for name in reach))
    every = found or Rendered(path="")
    rendered, _ = without_refused(every, decode_delivery(settings), world.known)
    failed = {one.cluster: one.message for one in rendered.failed}
    texts: Mapping[str, str] = {}
    try:
        texts = around.texts(FileOwner(dialect.name, key), rendered, destinations)
    except UserError as error:
        failed |= {one.cluster: error.message for one in rendered.works}
    blobs: defaultdict[tuple[Destination, ClusterName], dict[str, str]] = defaultdict(dict)
    for path, text in texts.items():
        for destination in destinations:
            if destination.holds(path):
                blob = blob_id(text.encode(), like=world.revision)
                blobs[destination, destination.cluster_of(path)][path] = blob
    return _Asked(
        key=key,
        world=world,
        settings=settings,
        elsewhere=around.elsewhere,
        destinations=destinations,
        blobs=blobs,
        carriages=carriages_of(rendered, destinations),
        failed=failed,
        placed=frozenset(name for name, _ in rendered.placed),
        reach=reach,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What one decision asks for.

    Attributes:
        key: The decision.
        world: With the files that are there.
        settings: Of the repository.
        elsewhere: The files on other branches.
        destinations: Where is delivered to.
        blobs: What should stand where, by destination and cluster.
        carriages: What each transport delivers, and what it carries.
        failed: Why clusters get nothing new.
        placed: The clusters that it says.
        reach: What of it may be where.
    """

    key: ObjectKey
    world: World
    settings: Settings
    elsewhere: Elsewhere
    destinations: Sequence[Destination]
    blobs: Mapping[tuple[Destination, ClusterName], Mapping[str, str]]
    carriages: Mapping[Destination, Carriage]
    failed: Mapping[ClusterName, str]
    placed: frozenset[ClusterName]
    reach: Reach

    def copy(self, status: CopyStatus) -> DeliveredCopy:
        """Return a copy with what is delivered of it."""
        if not status.waits_for and (brake := self._brake(status.cluster)):
            status = replace(status, leaving=True, waits_for=brake)
        return DeliveredCopy(status=status, files=tuple(self._files(status)))

    def _files(self, status: CopyStatus) -> Iterator[CopyFiles]:
        """Yield what each transport has for a cluster."""
        name = status.cluster
        for destination in self.destinations:
            wanted = self.blobs.get((destination, name), {})
            if not wanted and name in self.placed:  # a list of clusters is of no cluster alone
                wanted = self.blobs.get((destination, ClusterName("")), {})
            carriage = self.carriages[destination]
            notes = tuple(
                not_carried_text(asked, destination.transport)
                for asked in not_carried(carriage, destination.transport)
            )
            held = why_held(carriage, destination.transport, name)
            if wanted and not held:
                yield replace(self._compared(destination, name, wanted), notes=notes)
            else:
                there = tuple(self._there(destination, name))
                if status.leaving and not there:
                    absence = "the object leaves the cluster"
                else:
                    absence = "" if status.waits_for else "it has no content"
                why = held or self.failed.get(name, absence)
                yield CopyFiles(
                    transport=destination.transport,
                    paths=there,
                    is_current=False,
                    why=why,
                    notes=notes,
                )

    def _compared(
        self, destination: Destination, cluster: ClusterName, wanted: Mapping[str, str]
    ) -> CopyFiles:
        """Return what is there of what should be."""
        present = self._present(destination)
        reach = self.carriages[destination].known
        expected = frozenset(places(self.key, reach, reach.keys() & {cluster}, [destination]))
        wanted = {
            path: blob
            for path, blob in wanted.items()
            if path in present or not is_in(path, expected)
        }
        there = tuple(sorted(path for path in wanted if path in present))
        is_current = all(present.get(path) == blob for path, blob in wanted.items())
        why = "" if is_current else self._why(destination)
        return CopyFiles(
            transport=destination.transport, paths=there, is_current=is_current, why=why
        )

    def _there(self, destination: Destination, cluster: ClusterName) -> Iterator[str]:
        """Yield the files that stay for a cluster that gets nothing new, sorted."""
        objects = [one for one in self.reach.get(cluster, ()) if one != UNKNOWN_OBJECTS]
        paths = frozenset(places(self.key, {cluster: tuple(objects)}, [cluster], [destination]))
        present = self._present(destination)
        files = paths.intersection(present)  # most transports have files, few a folder
        yield from sorted(files or (path for path in present if is_in(path, paths)))

    def _present(self, destination: Destination) -> Mapping[str, str]:
        """Return the files that are there, of all destinations on that branch."""
        if not destination.branch:
            return self.world.delivered
        return self.elsewhere.get(destination.branch, {})

    def _why(self, destination: Destination) -> str:
        """Return why a destination does not have what it should."""
        outputs = self.world.outputs
        if destination.branch and destination.branch not in self.elsewhere:
            return f"the branch {destination.branch} is not in this repository"
        if self.settings.suspend:
            return "passes are suspended"
        fault = misplaced(self.destinations, self.world.output_root)
        if fault is not None:
            return fault.message
        if not destination.branch and destination not in recorded(outputs):
            held = (one.expected for one in recorded_faults(outputs) if one.rule == PRUNING_HELD)
            return next((f"held back: {one}" for one in held), "no pass has delivered there yet")
        return "the next pass writes it"

    def _brake(self, cluster: ClusterName) -> str:
        """Return what lets a copy go whose object was removed, `""` if it was not."""
        named = {self.key, *self.reach.get(cluster, ())}
        if cluster not in self.failed or not named.isdisjoint(self.world.inputs):
            return ""
        faults = recorded_faults(self.world.outputs)
        return next((one.expected for one in faults if one.rule == REMOVAL_BRAKED), "")


def _place(key: ObjectKey) -> FaultPlace:
    return FaultPlace(key.name, str(key))
