"""What policies did to the taints of a cluster, kept in its status file, not in people's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reconciler.manifests.annotation_json import read_note, write_note
from reconciler.manifests.taint_dates import taint_id
from reconciler.model.body import Body
from reconciler.model.content import mappings_of
from reconciler.model.fields import mapping, text

POLICY_TAINTS = "reconciler.dev/policy-taints"
"""Annotation: taints that policies have put there, and written ones that they have taken away."""


@dataclass(frozen=True, slots=True)
class KeptTaints:
    """What is kept: taints with their moments, and the ids of written ones that are gone."""

    added: tuple[Body, ...] = ()
    removed: frozenset[str] = frozenset()

    def applied_to(self, written: Iterable[Body]) -> tuple[Body, ...]:
        """Return the taints that people wrote as policies left them."""
        stay = [one for one in written if taint_id(one) not in self.removed]
        known = set(map(taint_id, stay))
        return (*stay, *(one for one in self.added if taint_id(one) not in known))

    def of(self, written: Iterable[Body]) -> "KeptTaints":
        """Return the same without what people took away by themselves."""
        return KeptTaints(self.added, self.removed & set(map(taint_id, written)))


def decode_kept(record: Body | None) -> KeptTaints:
    """Return what a status file keeps; what a person garbled is not there."""
    annotations = mapping(mapping(record or {}, "metadata"), "annotations")
    note = read_note(text(annotations, POLICY_TAINTS))
    removed = note.get("removed")
    return KeptTaints(
        added=tuple(_taint(one) for one in mappings_of(note.get("added")) if _is_taint(one)),
        removed=frozenset(one for one in removed if isinstance(one, str))
        if isinstance(removed, list)
        else frozenset(),
    )


def encode_kept(kept: KeptTaints) -> dict[str, str]:
    """Return the annotation, none for nothing."""
    told = {"added": list(kept.added), "removed": sorted(kept.removed)}
    found = {name: value for name, value in told.items() if value}
    return {POLICY_TAINTS: write_note(found)} if found else {}


def after_policies(kept: KeptTaints, before: Sequence[Body], after: Sequence[Body]) -> KeptTaints:
    """Return what is kept once policies have changed the taints that there were."""
    ours = set(map(taint_id, kept.added))
    there, were = set(map(taint_id, after)), set(map(taint_id, before))
    came = tuple(one for one in after if taint_id(one) not in were)
    stay = tuple(one for one in kept.added if taint_id(one) in there)
    return KeptTaints((*stay, *came), kept.removed | (were - there - ours))


def _is_taint(one: Body) -> bool:
    return all(isinstance(one.get(name), str) for name in ("key", "effect", "timeAdded"))


def _taint(one: Body) -> Body:
    return {name: value for name, value in one.items() if isinstance(value, str)}
