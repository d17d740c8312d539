"""Where commits and files are for people at a forge: links out of the page, and nothing else."""

from dataclasses import dataclass
from urllib.parse import quote, urlencode

LONGEST_NEW = 6000  # bytes of an address that hands a file over; servers refuse longer ones
FILES = {"github": "blob/", "gitlab": "-/blob/", "gitea": "src/branch/"}
"""By kind of forge, what stands before a branch and a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeLinks:
    """The addresses of one repository at its forge; a part that is `""` leads nowhere.

    Attributes:
        commits: Address of a commit, but for its id.
        files: Address of a file of the branch, but for its path.
        new: Address where a new file is made on the branch.
    """

    commits: str = ""
    files: str = ""
    new: str = ""

    def commit(self, revision: str) -> str:
        """Return where a commit is, `""` for nowhere."""
        return f"{self.commits}{revision}" if self.commits else ""

    def file(self, path: str) -> str:
        """Return where a file is, `""` for nowhere."""
        return f"{self.files}{quote(path)}" if self.files else ""

    def new_file(self, path: str, text: str) -> str:
        """Return where a new file is handed over, `""` for nowhere, or if it is too long for that.

        Source: GitHub fills in `filename` and `value`, as told in isaacs/github#1527.
        """
        found = f"{self.new}?{urlencode({'filename': path, 'value': text})}" if self.new else ""
        return found if len(found) <= LONGEST_NEW else ""


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
    home = commits.removesuffix("commit/").removesuffix("-/")
    where = quote(branch, safe="/")
    return ForgeLinks(
        commits=commits,
        files=f"{home}{FILES[kind]}{where}/{quote(prefix)}",
        new=f"{home}new/{where}" if kind == "github" and not prefix else "",
    )
