"""Where commits and files are for people at a forge: links out of the page, and nothing else."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from reconciler.page.links import Anchor

LONGEST_NEW = 6000  # bytes of an address that hands a file over; servers refuse longer ones


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeKind:
    """How the addresses of a kind of forge are made.

    Attributes:
        files: What stands before a branch and the path of a file.
        new: The same of the page on which a new file is made.
        named: How that page is told a path, and a text.
        requests: What stands before the number of a pull request.
        merged: What the subject of a commit holds that merged one, with its number.
    """

    files: str
    new: str
    named: tuple[str, str]
    requests: str
    merged: re.Pattern[str]


NUMBER = r"([1-9][0-9]{0,8})"
BY_NUMBER = re.compile(rf"^Merge pull request #{NUMBER} |\(#{NUMBER}\)(?:$| from )")
"""GitHub's subject of a merge, that of a squash, and Gitea's of both."""
KINDS = {
    "github": ForgeKind(
        files="blob/",
        new="new/",
        named=("filename", "value"),
        requests="pull/",
        merged=BY_NUMBER,
    ),
    "gitlab": ForgeKind(
        files="-/blob/",
        new="-/new/",
        named=("file_name", "content"),
        requests="-/merge_requests/",
        merged=re.compile(rf"See merge request [^ !]*!{NUMBER}$"),
    ),
    "gitea": ForgeKind(
        files="src/branch/",
        new="_new/",
        named=("filename", "value"),
        requests="pulls/",
        merged=BY_NUMBER,
    ),
}
"""The kinds of forges that are known.

Source: of a new file, GitHub as told in isaacs/github#1527, Gitea go-gitea/gitea#16556, GitLab
app/views/projects/blob/_editor.html.haml.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeLinks:
    """The addresses of one repository at its forge; a part that is `""` leads nowhere.

    Attributes:
        commits: Address of a commit, but for its id.
        files: Address of a file of the branch, but for its path.
        new: Address where a new file is made on the branch.
        requests: Address of a pull request, but for its number.
        kind: Which kind of forge it is, `None` for none.
    """

    commits: str = ""
    files: str = ""
    new: str = ""
    requests: str = ""
    kind: ForgeKind | None = None

    def commit(self, revision: str) -> str:
        """Return where a commit is, `""` for nowhere."""
        return f"{self.commits}{revision}" if self.commits else ""

    def file(self, path: str) -> str:
        """Return where a file is, `""` for nowhere."""
        return f"{self.files}{quote(path)}" if self.files else ""

    def new_file(self, path: str, text: str) -> str:
        """Return where a new file is handed over, `""` for nowhere, or if it is too long."""
        if self.kind is None or not self.new:
            return ""
        found = f"{self.new}?{urlencode(dict(zip(self.kind.named, (path, text), strict=True)))}"
        return found if len(found) <= LONGEST_NEW else ""

    def request(self, subject: str) -> Anchor | None:
        """Return the pull request that a commit merged, by its subject; `None` if it says none."""
        found = None if self.kind is None else self.kind.merged.search(subject)
        if found is None or not self.requests:
            return None
        number = next(filter(None, found.groups()))
        return Anchor(f"pull request {number}", f"{self.requests}{number}")


NO_FORGE = ForgeLinks()


def forge_links(kind: str, commits: str, branch: str, prefix: str) -> ForgeLinks:
    """Return the addresses of a repository.

    Args:
        kind: github, gitlab or gitea.
        commits: Address of a commit, but for its id, as the forge has it.
        branch: The branch that is shown.
        prefix: Folder of the repository that is shown, with `/` at its end; `""` for all of it.

    >>> found = forge_links("github", "https://github.com/acme/fleet/commit/", "main", "")
    >>> found.file("a b.yaml")
    'https://github.com/acme/fleet/blob/main/a%20b.yaml'
    """
    home, known = commits.removesuffix("commit/").removesuffix("-/"), KINDS[kind]
    where = quote(branch, safe="/")
    return ForgeLinks(
        commits=commits,
        files=f"{home}{known.files}{where}/{quote(prefix)}",
        new=f"{home}{known.new}{where}" if not prefix else "",
        requests=f"{home}{known.requests}",
        kind=known,
    )
