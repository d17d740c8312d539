"""Which signed commits of ours are out of their place: on another branch, or beyond their purpose.

A commit that our key signs must name branch, root and purpose, and differ from its parent only in
what that purpose writes: the output root, the folders of delivery, and documents of rebalancers
that are finished.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.history.revisions import COMMIT_ID, FROM
from reconciler.audit.proofs.commit_place import misplacement, said_purpose
from reconciler.core.commit_purpose import CommitPurpose, Purpose
from reconciler.core.removal import loses_demands_only
from reconciler.delivery.destinations import roots_of
from reconciler.delivery.record import destinations_in
from reconciler.delivery.settings import decode_delivery
from reconciler.manifests.paths import DELIVERY, output_path
from reconciler.manifests.text.limits import Oversized
from reconciler.manifests.text.reader import read
from reconciler.model.frozen import is_at_or_below
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.settings import CONFIGURATION_PATH, decode_settings
from reconciler.shell.git.history import CommitRecord, read_commits
from reconciler.shell.git.objects import ChangedFile, read_blobs, read_file
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.revisions import changes_of, is_ancestor
from reconciler.shell.git.signatures import Signature

DELIVERED = f"{DELIVERY.name}.yaml"
"""What a branch of delivery says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPlaces:
    """Finds commits that are out of their place.

    Attributes:
        repository: Where they are, and the root that is served.
        layout: Where passes write in that root.
        own: Fingerprint of the key of the daemon.
    """

    repository: Repository
    layout: RepositoryLayout
    own: str

    def find_misplaced(
        self, signed: Sequence[Signature], *, branch: str, purpose: Purpose
    ) -> Mapping[str, str]:
        """Return why commits do not count on a branch, for those that do not.

        Args:
            signed: The commits; those whose signature does not count are left out.
            branch: Where they stand.
            purpose: What commits of ours do there.
        """
        ours = {one.revision: one.key == self.own for one in signed if not one.problem}
        found: dict[str, str] = {}
        written: list[CommitRecord] = []
        for record in read_commits(self.repository, ours):
            own = ours[record.revision]
            if record.unread:
                found[record.revision] = "its message is too long to be read"
                continue
            why = misplacement(record.trailers, branch=branch, purpose=purpose, ours=own)
            if why:
                found[record.revision] = why
            elif own:
                written.append(record)
        changes = changes_of(self.repository, written) if written else {}
        for record in written:
            why = self._beyond(record, changes.get(record.revision, ()))
            if why:
                found[record.revision] = why
        return found

    def is_of_root(self, record: CommitRecord) -> bool:
        """Return whether a commit says that it is for the root that is served."""
        said = said_purpose(record.trailers)
        return said is not None and said.root == self.repository.prefix

    def _beyond(self, commit: CommitRecord, changes: Sequence[ChangedFile]) -> str:
        """Return how a commit of ours is more than it says, `""` if it is not."""
        said = said_purpose(commit.trailers)
        if said is None or said.purpose is Purpose.REPORTS:
            return ""  # of a branch of reports nothing but reports are read
        if len(commit.parents) > 1:
            return "it is a merge by the daemon's key, which merges nothing"
        path = next(self._strays(commit, said, changes), None)
        return "" if path is None else f"it changes {path!r}, which {said.purpose} do not"

    def _strays(
        self, commit: CommitRecord, said: CommitPurpose, changes: Sequence[ChangedFile]
    ) -> Iterator[str]:
        """Yield the paths that a commit of ours has no business with."""
        if said.root != self.repository.prefix:
            yield from (one.path for one in changes if not self._is_of(said.root, one.path))
            return
        own = self._own_path(said.purpose)
        rest = [one for one in changes if not is_at_or_below(one.path, own)]
        delivered = [*self._delivered_to(commit, said.purpose)] if rest else []
        for change in rest:
            if any(is_at_or_below(change.path, root) for root in delivered):
                continue
            if said.purpose is not Purpose.DECISIONS or not self._is_removal(change):
                yield change.path

    def _is_of(self, root: str, path: str) -> bool:
        """Return whether a file is another root's, and not of the one that is served."""
        ours = self.repository.prefix
        return _is_below(path, root) and (_is_below(root, ours) or not _is_below(path, ours))

    def _own_path(self, purpose: Purpose) -> str:
        """Return where a purpose writes whatever is configured, from the top."""
        delivery = purpose is Purpose.DELIVERY
        return self.repository.from_top(DELIVERED if delivery else self.layout.output_root)

    def _delivered_to(self, commit: CommitRecord, purpose: Purpose) -> Iterator[str]:
        """Yield the folders that are delivered to before or after a commit, from the top.

        A pass owns those, too, that its inputs configure and that wait for a person's word.
        """
        delivery = purpose is Purpose.DELIVERY
        record = DELIVERED if delivery else output_path(self.layout.output_root, DELIVERY)
        for revision in (commit.revision, *commit.parents):
            content = read_file(self.repository, revision, self.repository.from_top(record))
            for document in read(content or b"", record).documents:
                roots = filter(None, roots_of(destinations_in(document.body)))
                yield from map(self.repository.from_top, roots)
        inputs = dict(commit.trailers).get(FROM, "")
        named = purpose is Purpose.DECISIONS and COMMIT_ID.fullmatch(inputs) is not None
        if named and is_ancestor(self.repository, inputs, inputs):  # it is here
            yield from self._configured(inputs)

    def _configured(self, inputs: str) -> Iterator[str]:
        """Yield the folders of delivery that the configuration of a commit names, from the top."""
        place = self.repository.from_top(CONFIGURATION_PATH)
        content = read_file(self.repository, inputs, place)
        for document in read(content or b"", CONFIGURATION_PATH).documents:
            configured = decode_delivery(decode_settings(document.body)).on("")
            roots = filter(None, roots_of(configured.destinations))
            yield from map(self.repository.from_top, roots)

    def _is_removal(self, change: ChangedFile) -> bool:
        """Return whether a file of people lost finished rebalancers, and nothing else."""
        before, after = change.before, change.after
        if before is None or not before.is_file or not (after is None or after.is_file):
            return False
        wanted = [one.blob for one in (before, after) if one is not None]
        texts = [content for _, content in read_blobs(self.repository, wanted)]
        if any(isinstance(one, Oversized) for one in texts):
            return False
        known = [one for one in texts if isinstance(one, bytes)]
        return loses_demands_only(known[0], known[1] if after else None, change.path)


def _is_below(path: str, folder: str) -> bool:
    return not folder or is_at_or_below(path, folder)
