"""Who is who: names, keys of objects, uids, the places of documents, and where outputs are.

The outputs of a fleet have their folder in the repository, and their branch.
"""

from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple, NewType

from reconciler.model.records import dataclass, field

ClusterName = NewType("ClusterName", str)

UID_NAMESPACE = bytes.fromhex("6f0c1a3e52a45d0b9a3e7d1f0c2b9e11")  # ours: any fixed value will do


class ObjectKey(NamedTuple):
    """Identity of one object, as the API server would see it; a tuple, since all is found by it.

    The version is left out on purpose: `v1beta1` and `v1beta2` of one Placement are the same
    object. `namespace` is `""` for cluster-scoped kinds. `reporter` is the member cluster that
    tells of its copy of the object, `""` for the object itself. Ordering is by field, top to
    bottom; every listing the core returns is sorted by it.
    """

    group: str
    kind: str
    namespace: str
    name: str
    reporter: str = ""

    @property
    def place(self) -> str:
        """The name, behind its namespace where it has one."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def plain(self) -> str:
        """Kind and place, where the group says nothing new."""
        return f"{self.kind} {self.place}"

    def __str__(self) -> str:
        where = f" on {self.reporter}" if self.reporter else ""
        return f"{self.kind}.{self.group or 'core'} {self.place}{where}"

    @classmethod
    def read(cls, written: str) -> "ObjectKey":
        """Return the key of an object as it is written above, by nobody's report.

        Raises:
            ValueError: No object is written so.

        >>> ObjectKey.read("Deployment.apps default/web").place
        'default/web'
        """
        what, name = written.split(" ")
        kind, _, group = what.partition(".")
        namespace, _, name = name.rpartition("/")
        return cls("" if group == "core" else group, kind, namespace, name)


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """Where a document was read: root-relative POSIX path, and its 0-based index in it.

    Of an item of a List, `pointer` is the JSON pointer that leads to it; else it is `""`. `line` is
    where it begins, from 1, and 0 where that is not known.
    """

    path: str
    index: int = 0
    pointer: str = ""
    line: int = field(default=0, compare=False)


@lru_cache(maxsize=4096)  # every document has one, of a few
def group_of(api_version: str) -> str:
    """Return the API group of an `apiVersion`; the core group is `""`.

    >>> group_of("apps/v1"), group_of("v1")
    ('apps', '')
    """
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""


@lru_cache(maxsize=200_000)
def uid_of(key: ObjectKey) -> str:
    """Return the uid of an object: a UUIDv5 of its identity.

    No time is in it, so a preview foresees the uid, and with it how ties of replicas fall. It is
    put together here: `uuid5` takes five times as long, and each file of a cluster has an id.

    Source: ours; upstream draws it at random.
    """
    name = "\x00".join((key.group, key.kind, key.namespace, key.name))
    digits = sha1(UID_NAMESPACE + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


OUTPUT_ROOT = "status"
"""The folder that passes own where nobody names another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryLayout:
    """Where passes write, as the operator says; made once, from options, and passed by hand.

    Which branches have the reports of clusters, and which are delivered to, the configuration in
    the repository says.

    Attributes:
        output_root: Root-relative POSIX folder that passes own.
        output_branch: Branch of the outputs, `None` where it is that of the inputs.
    """

    output_root: str = OUTPUT_ROOT
    output_branch: str | None = None

    @property
    def apart(self) -> bool:
        """Whether the outputs have a branch of their own."""
        return self.output_branch is not None

    def moved(self, inputs: str) -> str:
        """Return the branch that passes move, of two of which one has the inputs."""
        return inputs if self.output_branch is None else self.output_branch

    def is_output(self, path: str) -> bool:
        """Return whether a root-relative path leads to a file that passes own.

        >>> layout = RepositoryLayout()
        >>> layout.is_output("status/faults.yaml"), layout.is_output("status")
        (True, False)
        """
        return path.startswith(f"{self.output_root}/")
