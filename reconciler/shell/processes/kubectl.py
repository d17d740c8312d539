"""The only file that runs kubectl, without a shell, within a time limit.

It lists what a server has. What we publish it applies there, and deletes what is gone of it.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from reconciler.errors import ShellError, UsageError
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass
from reconciler.shell.git.command import stop
from reconciler.shell.processes.limits import limit_said

PASSED_ON = re.compile(
    r"PATH|HOME|USER|LANG|TMPDIR|KUBECONFIG|KUBERNETES_\w+|SSL_CERT_\w+|"
    r"(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|"
    r"(AWS|AZURE|ARM|GOOGLE|CLOUDSDK|GCE|USE_GKE|XDG)_\w+"
)
"""What kubectl and the plugins that log it in are told; nothing else of our environment is."""

ROW = re.compile(r"(?P<name>\S+)\s+(?:\S+\s+)?(?P<version>\S+)\s+(?:true|false)\s+(?P<kind>\S+)\s*")
"""A line of `kubectl api-resources`: name, short names if it has any, version, scope, kind."""
LONGEST_MESSAGE = 300
NO_TYPE = "the server doesn't have a resource type"
NO_CONTEXT = ("context was not found", "no context exists", "does not exist")
UNREACHABLE = (
    "Unable to connect to the server",
    "was refused - did you specify the right host or port",
    "i/o timeout",
    "Client.Timeout exceeded",
    "context deadline exceeded",
)


class NotServed(ShellError):
    """The server has no such kind of resource."""


class ResourceForbidden(ShellError):
    """The server does not let this user list it."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Kinds to the resources that kubectl is asked for, and what kubectl could not find out."""

    resources: Mapping[Kind, str]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """A context of kubectl's configuration.

    Attributes:
        context: Its name.
        kubeconfig: The file, `None` for the one that kubectl finds.
        namespace: The only one to look at, `""` for all.
        timeout_seconds: Limit of one command.
    """

    context: str
    kubeconfig: Path | None = None
    namespace: str = ""
    timeout_seconds: float = 60.0

    def get(self, resource: str) -> bytes:
        """Return every object of a resource, as one List in JSON.

        Args:
            resource: As kubectl names it, such as `deployments.apps`.

        Raises:
            NotServed: There is no such resource.
            ResourceForbidden: This user may not list it.
            UsageError: There is no kubectl, or no such context.
            ShellError: The server cannot be reached, or does not answer in time.
        """
        scope = ["--namespace", self.namespace] if self.namespace else ["--all-namespaces"]
        asked = ["get", resource, *scope, "--output", "json"]
        code, stdout, stderr = self._run([*self._begin, *asked], resource)
        if code == 0:
            return stdout
        raise self._error(resource, stderr.decode(errors="replace"))

    def apply(self, data: bytes, manager: str, *, subresource: str = "") -> None:
        """Apply objects by server-side apply; of the others all are, whichever is refused.

        Args:
            data: A List in JSON.
            manager: Who owns the fields; what others have set otherwise is theirs, and a conflict.
            subresource: The one to write in place of the objects, `""` for none.

        Raises:
            UsageError: There is no kubectl, or no such context.
            ShellError: An object was refused, or the server cannot be reached.
        """
        part = [f"--subresource={subresource}"] if subresource else []
        asked = ["apply", "--server-side", f"--field-manager={manager}", "--validate=false", *part]
        code, _, stderr = self._run([*self._begin, *asked, "--filename=-"], "what it has", data)
        if code:
            raise self._error("objects", stderr.decode(errors="replace"), "apply")

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Delete an object, if it is there.

        Raises:
            UsageError: There is no kubectl, or no such context.
            ShellError: The server refuses, or cannot be reached.
        """
        asked = ["delete", resource, name, "--namespace", namespace]
        options = ["--ignore-not-found", "--wait=false"]
        code, _, stderr = self._run([*self._begin, *asked, *options], resource)
        if code:
            raise self._error(f"{resource} {name}", stderr.decode(errors="replace"), "delete")

    def discover(self) -> Discovery:
        """Return what a server calls the kinds that it can list.

        Where it does not answer for an API that others serve for it, kubectl says so and lists the
        rest.

        Raises:
            UsageError: There is no kubectl, or no such context.
            ShellError: The server cannot be reached, or does not answer in time.
        """
        asked = ["api-resources", "--verbs=list", "--no-headers"]
        code, stdout, stderr = self._run([*self._begin, *asked], "its kinds")
        found = [ROW.fullmatch(line) for line in stdout.decode(errors="replace").splitlines()]
        rows = [row for row in found if row is not None]
        if not rows:
            raise self._error("its kinds", stderr.decode(errors="replace"))
        resources = {}
        for name, version, kind in (row.group("name", "version", "kind") for row in rows):
            group = version.rpartition("/")[0]
            resources[group, kind] = f"{name}.{group}" if group else name
        said = " ".join(stderr.decode(errors="replace").split())[:LONGEST_MESSAGE]
        return Discovery(resources, (said,) if code else ())

    @property
    def _begin(self) -> list[str]:
        config = [] if self.kubeconfig is None else ["--kubeconfig", str(self.kubeconfig)]
        seconds = max(int(self.timeout_seconds), 1)
        return ["kubectl", "--context", self.context, *config, f"--request-timeout={seconds}s"]

    def _run(
        self, arguments: Sequence[str], resource: str, data: bytes | None = None
    ) -> tuple[int, bytes, bytes]:
        """Return how the command ended; it and what it starts to log in never outlive the limit."""
        try:
            process = subprocess.Popen(  # noqa: S603  # no shell, and no option is a flag
                arguments,
                env={k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)},
                stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise UsageError(
                "there is no kubectl on the PATH; install it, or give files that it printed "
                "(kubectl get ... -o json)"
            ) from None
        with process:
            try:
                stdout, stderr = process.communicate(data, timeout=self.timeout_seconds)
            except subprocess.TimeoutExpired:
                stop(process)
                raise ShellError(
                    f"the server of context {self.context} did not list {resource} within "
                    f"{self.timeout_seconds:g} s; is it reachable from here? --timeout-seconds "
                    "gives it longer"
                ) from None
            except BaseException:
                stop(process)
                raise
        return process.returncode, stdout, stderr

    def _error(self, resource: str, stderr: str, verb: str = "list") -> ShellError | UsageError:
        """Return what a message of kubectl means."""
        said = " ".join(stderr.split())[:LONGEST_MESSAGE] or "nothing"
        if NO_TYPE in stderr or "(NotFound)" in stderr:
            return NotServed(f"the server of context {self.context} has no {resource}")
        if "(Forbidden)" in stderr or "(Unauthorized)" in stderr:
            return ResourceForbidden(f"context {self.context} may not {verb} {resource}: {said}")
        if any(words in stderr for words in NO_CONTEXT):
            return UsageError(
                f'kubectl knows no context "{self.context}"; kubectl config get-contexts lists them'
            )
        if any(words in stderr for words in UNREACHABLE):
            return ShellError(f"the server of context {self.context} cannot be reached: {said}")
        return ShellError(limit_said(stderr) or f"kubectl could not {verb} {resource}: {said}")
