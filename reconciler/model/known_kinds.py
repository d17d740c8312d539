"""What is known of kinds before any file is read: whose they are, their scope, who writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from reconciler.model.copy_report import Unpack

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
        read: Whether it controls anything here; if not, people are warned of it.
        reported_in: Where clusters report objects of it: the namespace but for the name of the
            cluster, which `{}` stands for; `""` if they report none.
        carries: What an object of it says of others, `None` if it says nothing of them.
    """

    group: str
    kind: str
    namespaced: bool = False
    writer: Writer = Writer.PEOPLE
    short: tuple[str, ...] = ()
    suspendable: bool = False
    removable: bool = False
    read: bool = True
    reported_in: str = ""
    carries: Unpack | None = None

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
        suspendable: Kinds of these groups that a person may suspend; any workload may be.
        short: Short name to kind, in lower case.
        reported: Kinds of these groups that clusters report, with the namespace, see `ApiKind`.
        carriers: Kinds whose objects say something of others, with what finds it.
    """

    groups: frozenset[str]
    scopes: Mapping[Kind, bool]
    outputs: frozenset[Kind]
    owned: frozenset[Kind]
    removable: frozenset[Kind]
    suspendable: frozenset[Kind]
    short: Mapping[str, str]
    reported: Mapping[Kind, str] = field(default_factory=dict)
    carriers: Mapping[Kind, Unpack] = field(default_factory=dict)
