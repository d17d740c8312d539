"""What the configuration of a repository can hold, seen without asking git.

Only that a name is missing is read here. What a setting means is for git to say.
"""

from reconciler.shell.git.repository import Repository

OTHER_FILES = (b"include", b"worktreeconfig")  # what lets settings stand in a file beside it


def may_configure(repository: Repository, word: str) -> bool:
    """Return whether a setting with this word in its name may be set; false is certain.

    Git has no escapes in names of sections and keys, and reads them in either case. So where the
    word is not in the file, and nothing refers to another file, no such setting is in force.

    Args:
        repository: Whose configuration is meant.
        word: Of the section or the key, in lower case, such as `filter`.
    """
    if any(name.startswith("GIT_CONFIG") for name in repository.git.variables):
        return True
    try:
        text = (repository.common_dir / "config").read_bytes().lower()
    except OSError:
        return True
    return any(sign in text for sign in (word.encode(), *OTHER_FILES))
