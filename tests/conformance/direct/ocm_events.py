"""The family ocm/enqueue: what an event concerns is looked at again by the pass that follows it.

Upstream queues placements for an event; a pass looks at levels, and passes over what it remembers.
So the rule is that all that upstream would queue is not passed over. What admission refuses is
there all the same: upstream's queue does not ask for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.plan import Ocm
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World
from tests.builders import Body, manifest, path_of
from tests.conformance.door.door import field, items
from tests.conformance.door.ocm import GROUP, KINDS
from tests.followed import linked
from tests.stories import Story, applied

PLACEMENT = "Placement"
DECISION = "PlacementDecision"
SPOKEN = {
    **KINDS,
    "placements": ("v1beta1", PLACEMENT),
    "placementDecisions": ("v1beta1", DECISION),
}
VERSIONS = {kind: version for version, kind in SPOKEN.values()}
PASSES = 4


def check_events(case: Body) -> str | None:
    """Check that every placement that upstream queues is decided anew, if it is still there."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    repository, memo = Story().put(*_inputs(given)), Memo()
    for body in items(given, "placementDecisions"):
        _write(repository, _whole(body, DECISION))
    written = {(one := manifest(body)).key: one for body in _inputs(given)}
    there = repository.world().inputs
    refused = {key: one for key, one in written.items() if key not in there}
    world = None
    for _ in range(PASSES):
        world = _advance(repository, memo, refused, world)
    event = cast(Mapping[str, object], given["event"])
    before = _remembered(memo, expected)
    strangers = [name for name in before if not _stands(repository, name)]
    if strangers:
        return f".queued: {strangers} are no placements"
    world = _advance(repository, memo, refused, world)
    if any(answer is not before[name] for name, answer in _remembered(memo, expected).items()):
        return ".queued: without an event nothing is passed over"
    body = _whole(field(given, "event", "object"), str(event["kind"]))
    _happen(repository, str(event["verb"]), body)
    _advance(repository, memo, refused, world)
    left = [name for name, answer in _remembered(memo, expected).items() if answer is before[name]]
    passed = [name for name in left if before[name] is not None and _stands(repository, name)]
    return f".queued: {passed} are passed over" if passed else None


def _inputs(given: Body) -> Iterator[Body]:
    for name, (_, kind) in SPOKEN.items():
        if kind != DECISION:
            yield from (_whole(body, kind) for body in items(given, name))


def _whole(body: Body, kind: str) -> Body:
    whole = {"apiVersion": f"{GROUP}/{VERSIONS[kind]}", "kind": kind, **body}
    if kind != DECISION:
        return whole
    chosen = [{"reason": "", **item} for item in items(body, "status", "decisions")]
    return {**whole, "status": {"decisions": chosen}}


def _write(repository: Story, body: Body) -> None:
    if body["kind"] == DECISION:
        repository.files[output_path("status", manifest(body).key)] = encode(body)
    else:
        repository.put(body)


def _happen(repository: Story, verb: str, body: Body) -> None:
    if verb != "delete":
        _write(repository, body)
        return
    decided = body["kind"] == DECISION
    path = output_path("status", manifest(body).key) if decided else path_of(body)
    del repository.files[path]


def _advance(
    repository: Story, memo: Memo, refused: Mapping[ObjectKey, Manifest], before: World | None
) -> World:
    found = repository.world()
    world = linked(replace(found, inputs={**found.inputs, **refused}), before)
    outcome = reconcile(world, repository.now, memo=memo)
    repository.files = applied(repository.files, outcome)
    return world


def _key(name: str) -> ObjectKey:
    namespace, _, plain = name.partition("/")
    return ObjectKey(GROUP, PLACEMENT, namespace, plain)


def _stands(repository: Story, name: str) -> bool:
    return _key(name) in repository.world().inputs


def _remembered(memo: Memo, expected: Body) -> dict[str, object]:
    """What a pass remembers of each placement that upstream queues, by its name."""
    names = cast(list[str], expected["queued"])
    memory = _memory(memo)
    return {name: memory.parts.find(_key(name)) for name in names}


def _memory(memo: Memo) -> OcmMemory:
    return next(part.memory for part in memo.dialects.values() if isinstance(part, Ocm))
