"""What stands in for files that cannot be understood: their last good versions, out of history."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from reconciler.audit.short_id import short_id
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import UPDATES
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.inputs.input_index import InputIndex, index_inputs
from reconciler.core.inputs.last_known_good import LastKnownGood, last_known_good
from reconciler.core.record import LastPass
from reconciler.core.step import Step
from reconciler.errors import ShellError
from reconciler.manifests.scope import CRD
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.shell.git.errors import GitError
from reconciler.shell.reading.listings import Listings
from reconciler.shell.reading.reported_trees import paired


@dataclass(frozen=True, slots=True)
class GoodVersions:
    """Where earlier versions of files are found.

    Attributes:
        listings: Which files a commit has.
        version: Returns what a version of a file holds, by path and blob.
    """

    listings: Listings
    version: Callable[[str, str], FileValidation]

    def find(
        self,
        index: InputIndex,
        revision: str,
        *,
        last: LastPass | None,
        covers: Callable[[str], bool],
        recorded: Container[ObjectKey],
        used: set[tuple[str, str]],
        allow: str | None = None,
        edited: Mapping[str, frozenset[Kind] | None] = MappingProxyType({}),
        unread: Callable[[Mapping[Kind, bool]], frozenset[ObjectKey]] | None = None,
    ) -> LastKnownGood:
        """Return what stands in for the files that cannot be understood.

        Args:
            index: What the files hold.
            revision: Full hex id of the commit that has them.
            last: The last pass, whose files were good; `None` if there was none.
            covers: Tells of a path whether its file is read.
            recorded: The outputs.
            used: Gets the path and blob of each version that is read.
            allow: The digest of removals that a person lets through, `""` for none.
            edited: The files that differ since the last pass, with the kinds of what they hold.
            unread: Returns the keys that stand in files beside those of the index, by scopes;
                `None` if there are none.

        Raises:
            ShellError: A file is faulty and its last good version is not in this repository.
        """
        now = self.listings.listing(revision)
        judged = any(found and found & UPDATES.keys() for found in edited.values())
        doubts = index.broken or index.partial or now.links or judged
        if last is None or not (doubts or last.held):
            return last_known_good(index, None, allow=allow)
        if unread is not None:
            index = replace(index, unread=unread(index.scopes))
        try:
            then = self.listings.listing(
                paired(last.revision, last.reported_at) if last.reported_at else last.revision
            )
            step = Step(
                index=index,
                now=now.tree,
                then=then.tree,
                last=last,
                covers=covers,
                recorded=recorded,
                edited=edited,
                updates=UPDATES,
            )
            needed = step.versions_needed()
            used.update(needed)
            found = step.with_versions({pair: self.version(*pair) for pair in sorted(needed)})
        except GitError as error:
            if not index.broken and not last.held:  # a clone without history; none known as faulty
                return last_known_good(index, None, allow=allow)
            path = next(iter(index.broken), "") or last.held[0].path
            raise ShellError(
                f"{path} is faulty, and its last good version (commit "
                f"{short_id(last.revision)}) is not in this repository; mend the file, or fetch "
                "the history"
            ) from error
        return last_known_good(index, found, allow=allow)


def with_scopes(
    index: InputIndex, files: Iterable[FileValidation], find: Callable[[InputIndex], LastKnownGood]
) -> tuple[InputIndex, LastKnownGood]:
    """Return the inputs with their last good versions, of which a CRD still says its scope."""
    good = find(index)
    if any((key.group, key.kind) == CRD for key in good.manifests):
        index = index_inputs(files, KINDS, good.manifests.values(), allowed=index.allowed)
        good = find(index)
    return index, good
