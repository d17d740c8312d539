"""Edits that an API server would refuse: an object keeps the version that was in force.

An edit is what became of an object since the last committing pass, wherever its file is by now. One
whose earlier version that pass did not read is new.

Source: ours; upstream's webhooks are given the old object beside the new one.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from reconciler.core.step import Step
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import patched
from reconciler.model.world import Fault, Manifest


def without_refused_edits(step: Step) -> Step:
    """Return a step in which a refused edit is a fault, like a document that is not valid.

    Args:
        step: With its versions.
    """
    refused = dict(_refused(step))
    if not refused:
        return step
    index = step.index
    broken = defaultdict(list, {path: list(found) for path, found in index.broken.items()})
    for key, fault in refused.items():
        broken[fault.path].append((fault, key))
    manifests = patched(index.manifests, {}, refused)
    found = {path: tuple(broken[path]) for path in sorted(broken)}
    return replace(step, index=replace(index, manifests=manifests, broken=found))


def _refused(step: Step) -> Iterator[tuple[ObjectKey, Fault]]:
    """Yield each object whose edit is refused, and the first thing that is wrong with it."""
    judged = sorted(_judged(step), key=lambda manifest: manifest.key)
    in_force = step.in_force() if judged else {}
    for manifest in judged:
        before = in_force.get(manifest.key)
        if before is None:
            continue
        refuse = step.updates[manifest.key.group, manifest.key.kind]
        for violation in refuse(before.body, manifest.body)[:1]:
            yield manifest.key, _fault(manifest, violation)


def _judged(step: Step) -> Iterator[Manifest]:
    """Yield the objects of which not everything may change, and that may have changed."""
    paths = step.judged_paths()
    held = {key for one in step.last.held for key in one.keys if key[:2] in step.updates}
    if not paths:
        yield from (step.index.manifests[key] for key in held if key in step.index.manifests)
        return
    for key, manifest in step.index.manifests.items():
        if key[:2] in step.updates and (key in held or manifest.origin.path in paths):
            yield manifest


def _fault(manifest: Manifest, violation: Violation) -> Fault:
    """Return what a person must edit."""
    return Fault(
        path=manifest.origin.path,
        line=manifest.origin.line,
        column=1 if manifest.origin.line else 0,
        field=f"{manifest.origin.pointer}{violation.pointer}",
        rule=violation.rule,
        message=violation.message,
        expected=violation.expected,
        subject=str(manifest.key),
    )
