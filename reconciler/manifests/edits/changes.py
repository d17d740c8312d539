"""Changes of labels, taints and replicas in kubectl's words, as edits of fields.

Labels are `tier=gold` and `tier-`; taints `key=value:Effect`, `key:Effect-` and `key-`. Which field
says how many replicas a workload wants depends on its kind.
"""

from collections.abc import Mapping, Sequence

from reconciler.errors import UsageError
from reconciler.manifests.edits.fields import AppendItem, DropField, SetField, Step
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import group_of
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.records import dataclass
from reconciler.model.text import shown


@dataclass(frozen=True, slots=True)
class LabelChanges:
    """Labels that are set, and keys of those that go, both in the order of the words."""

    added: Mapping[str, str]
    removed: tuple[str, ...]


def is_label_change(word: str) -> bool:
    """Return whether a word changes a label, and names no object."""
    return "=" in word or word.endswith("-")


def parse_label_changes(words: Sequence[str]) -> LabelChanges:
    """Return what words ask for.

    Source: kubectl pkg/cmd/label/label.go `parseLabels`.

    Raises:
        UsageError: A word is neither `KEY=VALUE` nor `KEY-`, or two of them contradict each other.
    """
    added: dict[str, str] = {}
    removed: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            key = word.removesuffix("-")
            removed.append(key)
        elif added.setdefault(key, value) != value:
            raise UsageError(f"the label {shown(key)} is given twice")
        if not is_label_key(key) or not is_label_value(value):
            raise UsageError(
                f"{shown(word)} must be KEY=VALUE or KEY-, both of letters, digits, -, _ and . "
                "and of at most 63 characters"
            )
    for key in removed:
        if key in added:
            raise UsageError(f"the label {shown(key)} cannot be set and removed at once")
    return LabelChanges(added, tuple(dict.fromkeys(removed)))


def label_steps(body: Body, changes: LabelChanges, *, overwrite: bool) -> tuple[Step, ...]:
    """Return how the labels of an object change; a label to remove may be absent already.

    Source: kubectl pkg/cmd/label/label.go `validateNoOverwrites`, `labelFunc`.

    Raises:
        UsageError: A label has another value already, and `overwrite` is false.
    """
    present = mapping(mapping(body, "metadata"), "labels")
    steps: list[Step] = []
    for key, value in changes.added.items():
        old = present.get(key)
        if old is not None and old != value and not overwrite:
            raise UsageError(f"the label {key} has the value {shown(old)}; add --overwrite")
        if old != value:
            steps.append(SetField(("metadata", "labels", key), value))
    gone = (key for key in changes.removed if key in present)
    return (*steps, *(DropField(("metadata", "labels", key)) for key in gone))


SCALED = frozenset(
    {("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"), ("batch", "Job")}
    | {("", "ReplicationController")}
)
"""Kinds that have replicas whether or not a file names them."""


def replica_field(kind: str) -> str:
    """Return the field of `spec` in which a kind has its replicas."""
    return "parallelism" if kind == "Job" else "replicas"


def replica_steps(body: Body, replicas: int, current: int | None) -> tuple[Step, ...]:
    """Return how a workload comes to so many replicas; nothing if it has them.

    A kind that Kubernetes does not know is scaled where its file has a number already.

    Args:
        body: The workload.
        replicas: How many there are to be.
        current: How many there must be now, `None` for any number.

    Raises:
        UsageError: Nothing says how many replicas it has, or there are others than `current`.
    """
    kind = text(body, "kind")
    field = replica_field(kind)
    spec = body.get("spec")  # anything: a workload is not checked
    present = spec.get(field) if isinstance(spec, dict) else None
    counted = isinstance(present, int) and not isinstance(present, bool)
    native = (group_of(text(body, "apiVersion")), kind) in SCALED
    if not counted and not (native and present is None):
        raise UsageError(f"a {kind} without a number in spec.{field} cannot be scaled")
    count = present if counted else 1
    if current is not None and count != current:
        raise UsageError(f"it has {shown(count)} replicas, and --current-replicas is {current}")
    return () if present == replicas else (SetField(("spec", field), replicas),)


TAINTS = ("spec", "taints")


@dataclass(frozen=True, slots=True)
class TaintWord:
    """A taint as a word names it; without an `effect`, one that goes whatever its effect is."""

    key: str
    value: str
    effect: str

    def fits(self, taint: Body) -> bool:
        """Return whether it means a taint: one is known by its key and effect.

        Source: kubernetes core/v1 `Taint.MatchTaint`.
        """
        return text(taint, "key") == self.key and self.effect in ("", text(taint, "effect"))

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}{self.effect and ':'}{self.effect}"


@dataclass(frozen=True, slots=True)
class TaintChanges:
    """Taints that are set, and those that go, both in the order of the words."""

    added: tuple[TaintWord, ...]
    removed: tuple[TaintWord, ...]


def is_taint_change(word: str) -> bool:
    """Return whether a word changes a taint, and names no object."""
    return "=" in word or ":" in word or word.endswith("-")


def parse_taint_changes(words: Sequence[str]) -> TaintChanges:
    """Return what words ask for; which effects there are, the API of each cluster says.

    Source: kubectl pkg/cmd/taint/utils.go `parseTaints`, karmada pkg/karmadactl/taint/taint.go.

    Raises:
        UsageError: A word is no taint, or two of them contradict each other.
    """
    added: list[TaintWord] = []
    removed: list[TaintWord] = []
    for word in words:
        goes = word.endswith("-")
        named, colon, effect = word.removesuffix("-").partition(":")
        key, _, value = named.partition("=")
        is_taint = is_label_key(key) and is_label_value(value) and ":" not in effect
        if not is_taint or bool(colon) != bool(effect) or not (effect or goes):
            raise UsageError(f"{shown(word)} must be KEY=VALUE:EFFECT, KEY:EFFECT- or KEY-")
        (removed if goes else added).append(TaintWord(key, value, effect))
    pairs = [(taint.key, taint.effect) for taint in added]
    for change in added:
        if pairs.count((change.key, change.effect)) > 1:
            raise UsageError(f"the taint {change.key}:{change.effect} is given twice")
    for change in removed:
        if any(change.fits({"key": key, "effect": effect}) for key, effect in pairs):
            raise UsageError(f"the taint {change} cannot be set and removed at once")
    return TaintChanges(tuple(added), tuple(removed))


def taint_steps(
    body: Body, changes: TaintChanges, effects: Sequence[str], *, overwrite: bool
) -> tuple[Step, ...]:
    """Return how the taints of a cluster change.

    Args:
        body: The cluster.
        changes: What is asked for.
        effects: Those that the cluster's API has.
        overwrite: Whether a taint of the same key and effect may get another value.

    Raises:
        UsageError: The API has no such effect, a taint has another value already, or one that is
            to go is not there.
    """
    for word in (*changes.added, *changes.removed):
        if word.effect and word.effect not in effects:
            listed = ", ".join(effects) or "none"
            raise UsageError(
                f"taints of a {text(body, 'kind')} have no effect {shown(word.effect)}; "
                f"they have {listed}"
            )
    taints = bodies(mapping(body, "spec"), "taints")
    steps: list[Step] = []
    for word in changes.added:
        at = next((number for number, taint in enumerate(taints) if word.fits(taint)), None)
        steps += _set(word) if at is None else _changed(word, at, taints[at], overwrite=overwrite)
    gone: set[int] = set()
    for word in changes.removed:
        places = {number for number, taint in enumerate(taints) if word.fits(taint)}
        if not places:
            name = text(mapping(body, "metadata"), "name")
            cluster = f"{text(body, 'kind').lower()}/{name}"
            raise UsageError(f"there is no taint {word} on {cluster}")
        gone |= places
    return (*steps, *(DropField((*TAINTS, number)) for number in sorted(gone, reverse=True)))


def _set(word: TaintWord) -> list[Step]:
    """Return how a taint comes that is not there."""
    fields = {"key": word.key, "value": word.value, "effect": word.effect}
    return [AppendItem(TAINTS, {name: value for name, value in fields.items() if value})]


def _changed(word: TaintWord, at: int, taint: Body, *, overwrite: bool) -> list[Step]:
    """Return how the taint at a place gets another value."""
    present = text(taint, "value")
    if present == word.value:
        return []
    if not overwrite:
        has = f"the value {shown(present)}" if present else "no value"
        raise UsageError(f"the taint {word.key}:{word.effect} has {has}; add --overwrite")
    place = (*TAINTS, at, "value")
    return [SetField(place, word.value)] if word.value else [DropField(place)]


def cordon_steps(body: Body, cordon: Body) -> tuple[Step, ...]:
    """Return how a cluster is kept from taking anything new; nothing if it is already.

    Args:
        body: The cluster.
        cordon: The taint that its API's own tool puts.

    Source: karmada pkg/karmadactl/cordon/cordon.go `hasUnschedulerTaint`, which looks at key and
    effect.
    """
    word = _word(cordon)
    there = any(word.fits(taint) for taint in bodies(mapping(body, "spec"), "taints"))
    return () if there else tuple(_set(word))


def uncordon_steps(body: Body, closing: Sequence[Body]) -> tuple[Step, ...]:
    """Return how such a cluster takes something new again; nothing if it does already.

    Args:
        body: The cluster.
        closing: The taints that go.
    """
    words = [_word(taint) for taint in closing]
    taints = bodies(mapping(body, "spec"), "taints")
    places = [n for n, taint in enumerate(taints) if any(word.fits(taint) for word in words)]
    return tuple(DropField((*TAINTS, number)) for number in reversed(places))


def _word(taint: Body) -> TaintWord:
    return TaintWord(text(taint, "key"), text(taint, "value"), text(taint, "effect"))
