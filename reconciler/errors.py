"""What can go wrong, by who must act.

`UserError`: a file is wrong, a person must edit it; retrying cannot help. `ShellError`: the world
outside refused; the same input may succeed later. A programmer's mistake inside pure code is a
`ValueError`. More specific classes of `ShellError` stand beside the code that raises them.
"""


class ReconcilerError(Exception):
    """Base of every error raised on purpose; never raised itself."""


class UserError(ReconcilerError):
    """A file is wrong; retrying without an edit cannot help.

    `message` says what must be, `path` is repository-relative, `field` is a JSON pointer or `""`
    for a whole document.
    """

    def __init__(self, message: str, *, path: str = "", field: str = "") -> None:
        self.message = message
        self.path = path
        self.field = field
        where = f"{path}: `{field}`" if field else path
        super().__init__(f"{where}: {message}" if where else message)


class MalformedManifest(UserError):
    """A document is not YAML, or has no `apiVersion`, `kind` or `metadata.name`."""


class Misconfigured(UserError):
    """A document is valid by schema, yet its fields contradict each other."""


class UsageError(ReconcilerError):
    """The command was given something that it cannot work with; the message says what would do."""


class ShellError(ReconcilerError):
    """The outside world refused; the same input may succeed later."""
