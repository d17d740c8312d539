"""A repository in memory, and what passes make of it."""

import hashlib
import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import cast

from reconciler.core.changes import DeleteFile, Outcome, WriteFile
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS, UPDATES
from reconciler.core.inputs.index import InputIndex, index_inputs
from reconciler.core.inputs.last_known_good import (
    LastKnownGood,
    inputs_before,
    last_known_good,
    with_past,
)
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.core.inputs.world import compose, configuration_of, with_earlier_projected
from reconciler.core.reconcile import reconcile
from reconciler.core.record import LastPass, last_pass
from reconciler.core.state import read_state
from reconciler.core.step import FileTree, Step
from reconciler.delivery.settings import Destination, decode_delivery, recorded, roots_of
from reconciler.manifests.paths import blob_id, selects
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.records import replace
from reconciler.model.remembered import patched
from reconciler.model.settings import decode_settings
from reconciler.model.world import FormerVersion, Manifest, World
from reconciler.shell.resources import load_schemas
from tests.builders import NOW, Body, after, path_of, text

BINDINGS = "status/resourcebindings.work.karmada.io"
REBALANCERS = "status/workloadrebalancers.apps.karmada.io"


@lru_cache(maxsize=4096)
def _inspected(path: str, data: bytes, is_output: bool) -> FileValidation:  # noqa: FBT001  # a cache key
    admissions = {} if is_output else ADMISSIONS
    rules = Rules(load_schemas(), admissions, KINDS, status_only=is_output)
    return validate_file(path, blob_id(data, like=""), data, rules)


@dataclass
class Story:
    """A repository in memory: its files now, and its tree at each pass that committed.

    It does what the shell does with git: composes the world, and puts the changes of a pass into
    the files.
    """

    files: dict[str, str] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    trees: dict[str, Mapping[str, str]] = field(default_factory=dict)
    now: datetime = NOW

    def put(self, *bodies: Body, path: str = "") -> "Story":
        """Write each object into its file, or all of them into the one at `path`."""
        if path:
            self.files[path] = text(*bodies)
        else:
            self.files |= {path_of(body): text(body) for body in bodies}
        return self

    def drop(self, *bodies: Body) -> "Story":
        """Remove the files of objects."""
        for body in bodies:
            del self.files[path_of(body)]
        return self

    @property
    def inputs(self) -> dict[str, str]:
        """What people wrote."""
        return {path: data for path, data in self.files.items() if not path.startswith("status/")}

    @property
    def outputs(self) -> dict[str, str]:
        """What passes wrote."""
        return {path: data for path, data in self.files.items() if path.startswith("status/")}

    def world(self) -> World:
        """The world as a pass would find it now."""
        revision = _revision(self.files)
        self.trees[revision] = dict(self.files)
        outputs = [_inspected(path, data.encode(), True) for path, data in self.outputs.items()]
        state = read_state(outputs, "status", KINDS)
        had = recorded(state.manifests)
        exclude = tuple(f"/{root}/**" for root in roots_of(had))
        inputs = [
            _inspected(path, data.encode(), False)
            for path, data in self.inputs.items()
            if selects(path, include=(), exclude=exclude)
        ]
        last = last_pass(state.manifests)
        index = index_inputs(inputs, KINDS)
        allowed = decode_settings(configuration_of(index, LastKnownGood())).allowed
        if allowed:
            index = index_inputs(inputs, KINDS, allowed=allowed)
        edited = {} if last is None else self._edited(last, inputs)
        step = None if last is None else self._step(index, last, state.manifests, exclude, edited)
        found = compose(
            index,
            last_known_good(index, step, allow=self._allow(index)),
            state,
            revision=revision,
            layout=RepositoryLayout(),
            delivered=self._delivered(index, had),
            edited=edited,
        )
        if last is not None:
            earlier, former = self._before(found, inputs, last, index)
            found = with_earlier_projected(replace(found, earlier=earlier, former=former))
        return with_past(found, index.scopes, self._version)

    def _before(
        self, found: World, inputs: Sequence[FileValidation], last: LastPass, index: InputIndex
    ) -> tuple[Mapping[ObjectKey, Manifest | None], Mapping[ObjectKey, FormerVersion]]:
        """What differs from the last pass, as it was."""
        tree = self._tree(self.trees.get(last.revision, {})).files
        pairs = {(path, tree[path]) for path in found.edited if path in tree}
        pairs |= {(one.path, one.blob) for one in (*last.held, *last.kept) if one.blob}
        then = [self._version(*pair) for pair in sorted(pairs)]
        now = [one for one in inputs if one.path in {*found.edited, *(p for p, _ in pairs)}]
        return inputs_before(found, now, tuple(filter(None, then)), last, index.scopes)

    def _edited(
        self, last: LastPass, inputs: Sequence[FileValidation]
    ) -> dict[str, frozenset[Kind] | None]:
        """The inputs that differ from those of the last pass."""
        then, now = (
            self._tree(self.trees.get(last.revision, {})).files,
            self._tree(self.files).files,
        )
        known = {file.path: file.kinds for file in inputs}
        paths = then.keys() | now.keys()
        return {path: known.get(path) for path in paths if then.get(path) != now.get(path)}

    def _version(self, path: str, blob: str) -> FileValidation | None:
        """What an earlier version of a file holds."""
        data = self._contents().get(blob)
        return None if data is None else _inspected(path, data, False)

    def _contents(self) -> dict[str, bytes]:
        """All that files ever held, by blob id."""
        return {
            blob_id(data.encode(), like=""): data.encode()
            for files in self.trees.values()
            for data in files.values()
        }

    def _delivered(self, index: InputIndex, had: Sequence[Destination]) -> dict[str, str]:
        """The files below the folders that delivery has or is to have."""
        settings = decode_settings(configuration_of(index, LastKnownGood()))
        places = (*had, *decode_delivery(settings).on("").destinations)
        return {
            path: blob_id(data.encode(), like="")
            for path, data in self.files.items()
            if any(place.holds(path) for place in places)
        }

    def _step(
        self,
        index: InputIndex,
        last: LastPass,
        known: Container[ObjectKey],
        exclude: tuple[str, ...],
        edited: Mapping[str, frozenset[Kind] | None],
    ) -> Step:
        step = Step(
            index=index,
            now=self._tree(self.files),
            then=self._tree(self.trees.get(last.revision, {})),
            last=last,
            covers=lambda path: selects(path, include=(), exclude=exclude),
            recorded=known,
            edited=edited,
            updates=UPDATES,
        )
        contents = self._contents()
        needed = step.versions_needed()
        return step.with_versions(
            {pair: _inspected(pair[0], contents[pair[1]], False) for pair in needed}
        )

    def _tree(self, files: Mapping[str, str]) -> FileTree:
        return FileTree(
            {
                path: blob_id(data.encode(), like="")
                for path, data in files.items()
                if not path.startswith("status/")
            },
            frozenset(self.links),
        )

    def _allow(self, index: InputIndex) -> frozenset[str]:
        configuration = configuration_of(index, LastKnownGood())
        return decode_settings(configuration).safety.allow

    def run(self, seconds: int | None = None) -> Outcome:
        """Run a pass at so many seconds after NOW, or one second after the last one."""
        self.now = self.now + timedelta(seconds=1) if seconds is None else after(seconds)
        outcome = reconcile(self.world(), self.now)
        self.files = applied(self.files, outcome)
        return outcome

    def output(self, path: str) -> Body:
        """The body of an output, by its path below the output root's plural folder."""
        return _inspected(path, self.files[path].encode(), True).documents[0].body

    def binding(self, name: str = "web-deployment", namespace: str = "default") -> Body:
        """The body of a binding."""
        return self.output(f"{BINDINGS}/{namespace}/{name}.yaml")

    def placed(self, name: str = "web-deployment", namespace: str = "default") -> dict[str, int]:
        """Cluster to replicas of a binding."""
        spec = cast(Body, self.binding(name, namespace)["spec"])
        clusters = cast(Sequence[Mapping[str, int]], spec.get("clusters", ()))
        return {str(item["name"]): item.get("replicas", 0) for item in clusters}

    def condition(self, type_: str, name: str = "web-deployment") -> Mapping[str, str]:
        """A condition of a binding."""
        status = cast(Body, self.binding(name)["status"])
        found = cast(Sequence[Mapping[str, str]], status["conditions"])
        return next(item for item in found if item["type"] == type_)

    def rebalancer(self, name: str = "demo") -> Body:
        """The status of a rebalancer."""
        return cast(Body, self.output(f"{REBALANCERS}/{name}.yaml")["status"])


def story(*bodies: Body) -> Story:
    """A repository that holds these objects, each in its file; no pass has run."""
    return Story().put(*bodies)


def world(*bodies: Body) -> World:
    """The world of a repository that holds these objects."""
    return story(*bodies).world()


def applied(files: Mapping[str, str], outcome: Outcome) -> dict[str, str]:
    """The files after the changes of a pass."""
    changed = dict(files)
    for change in outcome.files:
        match change:
            case WriteFile():
                changed[change.path] = change.content
            case DeleteFile():
                del changed[change.path]
    return changed


def _revision(files: Mapping[str, str]) -> str:
    return hashlib.sha1(json.dumps(files, sort_keys=True).encode()).hexdigest()  # noqa: S324  # an id


def linked(world: World, before: World | None) -> World:
    """The world as versions of the one before, as it is where commits are followed."""
    if before is None:
        return world
    maps = {
        name: as_version(getattr(world, name), getattr(before, name))
        for name in ("inputs", "feedback", "outputs", "present", "blobs", "delivered")
    }
    frozen = before.frozen if before.frozen == world.frozen else world.frozen
    kinds, output_kinds = before.kinds.next(), before.output_kinds.next()
    return replace(world, **maps, frozen=frozen, kinds=kinds, output_kinds=output_kinds)  # type: ignore[arg-type]  # by name


def as_version(now: Mapping[object, object], before: Mapping[object, object]) -> object:
    """What is equal stays the very same object."""
    came = {key: one for key, one in now.items() if before.get(key) != one}
    return patched(before, came, before.keys() - now.keys())
