"""What is known of kinds before any file is read: whose they are, their scope, who writes them.

A copy report is what a cluster says of one copy of an object, whichever way it says it. A plain
report is the object itself, `metadata` and `status`. An agent that carries objects in an object of
its own, such as a Work, says of each whether it applied it, and what became of it.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from reconciler.model.body import Body
from reconciler.model.health import Health, has_health, health_of
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyReport:
    """A report of one copy.

    Attributes:
        body: The object as its cluster holds it, as far as that is told.
        applied: Whether the cluster has what it was given last.
        message: Why it has not, `""` if it has, or does not say.
        judged: Its health in the words of an agent, `None` if it follows from the body.
        is_judge: Whether who reports it knows the health of its kind, if that has any.
    """

    body: Body
    applied: bool = True
    message: str = ""
    judged: Health | None = None
    is_judge: bool = True

    @property
    def health(self) -> Health:
        """Its health; nothing is known of the health of what is not applied."""
        if not self.applied:
            return Health.UNKNOWN
        return health_of(self.body) if self.judged is None else self.judged

    @property
    def lacks_health(self) -> bool:
        """Whether it should tell its health, and does not (yet)."""
        return self.is_judge and self.health is Health.UNKNOWN and has_health(self.body)


Unpack = Callable[[Body], Iterable[tuple[ObjectKey, CopyReport]]]
"""Returns what an object that carries others says of each; the keys name no reporter."""


Kind = tuple[str, str]
"""API group, `""` for the core group, and kind."""


class Writer(StrEnum):
    """Who writes the files of a kind: people, people with a status file of ours beside, a pass."""

    PEOPLE = "people"
    BOTH = "both"
    OURS = "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKind:
    """One kind of an API.

    Attributes:
        group: API group.
        kind: Kind.
        namespaced: Its scope.
        writer: Who writes it.
        short: Short names, as kubectl has them; those of upstream's CRD.
        suspendable: Whether the annotation that suspends is read on it.
        removable: Whether a pass removes it from the file of a person once it is over.
        located: Whether passes tell what is wrong with it at the line of a field.
        read: Whether it controls anything here; if not, people are warned of it.
        reported_in: Where clusters report objects of it: the namespace, or of a kind without one
            the name, but for the name of the cluster, which `{}` stands for; `""` if they report
            none.
        overlaid: Whether the status that a cluster reports lies over what people wrote.
        carries: What an object of it says of others, `None` if it says nothing of them.
        shares_group: Whether other kinds of its group are anybody's. It is then a workload, too,
            where a policy selects it.
    """

    group: str
    kind: str
    namespaced: bool = False
    writer: Writer = Writer.PEOPLE
    short: tuple[str, ...] = ()
    suspendable: bool = False
    removable: bool = False
    located: bool = False
    read: bool = True
    reported_in: str = ""
    overlaid: bool = False
    carries: Unpack | None = None
    shares_group: bool = False

    @property
    def id(self) -> Kind:
        """Group and kind."""
        return self.group, self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKinds:
    """All kinds that are known.

    Attributes:
        groups: API groups that are read here: their kinds are never workloads.
        scopes: Whether a kind is namespaced, of these groups and of Kubernetes.
        outputs: Kinds that have a folder below the output root.
        owned: Kinds that only a pass writes.
        removable: Kinds that people write and a pass may remove from their file.
        texts: Kinds for which the text of a file is kept: these, and those of whose fields passes
            tell the lines.
        suspendable: Kinds of these groups that a person may suspend; any workload may be.
        short: Short name to kind, in lower case.
        reported: Kinds of these groups that clusters report, with the namespace, see `ApiKind`.
        overlaid: Those of them whose reported status lies over what people wrote.
        carriers: Kinds whose objects say something of others, with what finds it.
    """

    groups: frozenset[str]
    scopes: Mapping[Kind, bool]
    outputs: frozenset[Kind]
    owned: frozenset[Kind]
    removable: frozenset[Kind]
    texts: frozenset[Kind]
    suspendable: frozenset[Kind]
    short: Mapping[str, str]
    reported: Mapping[Kind, str] = field(default_factory=dict)
    overlaid: frozenset[Kind] = frozenset()
    carriers: Mapping[Kind, Unpack] = field(default_factory=dict)
