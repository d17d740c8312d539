"""Where in a repository the outputs of a fleet are: their folder and their branch."""

from dataclasses import dataclass

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
