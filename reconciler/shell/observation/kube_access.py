"""The only file that reads kubeconfigs: where an API server is, and how we are let in.

Tokens are read from their file anew for each request, since they are renewed there. Keys that stand
in a kubeconfig itself touch the disk for a moment, in a folder of our own: TLS takes files only.
Plugins that log in (`exec`) are programs of others and are not run.
"""

import base64
import binascii
import os
import re
import ssl
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reconciler.errors import ShellError, UsageError
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.records import dataclass

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Source: kubernetes@v1.33 staging/src/k8s.io/client-go/rest/config.go `InClusterConfig`."""


SERVER = re.compile(
    r"https://(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._/-]*)?"
)
"""One that is read alike by everybody: without names of users, escapes or questions."""


def _no_token() -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeAccess:
    """How an API server is reached.

    Attributes:
        server: Its URL.
        tls: How it is known, and who we are; `None` without TLS.
        token: Returns what we say who we are with, `""` for nothing.
        server_name: Its name in its certificate, `""` for that of the URL.
        proxy: URL of a proxy before it, `""` for none.
    """

    server: str
    tls: ssl.SSLContext | None
    token: Callable[[], str] = _no_token
    server_name: str = ""
    proxy: str = ""


class _Entry(NamedTuple):
    """What a kubeconfig says under a name, and the folder that its files are named from."""

    body: Body
    here: Path


def context_access(kubeconfigs: str, context: str) -> KubeAccess:
    """Return how the API server of a context is reached.

    Args:
        kubeconfigs: A file, or several as `$KUBECONFIG` has them: of two entries of one name the
            first counts, and a file that is not there has none.
        context: Its name.

    Raises:
        UsageError: There is no such file or context, or it logs in in a way that is not known here.
    """
    paths = [Path(one) for one in kubeconfigs.split(os.pathsep) if one]
    there = [path for path in paths if path.is_file()] or paths
    configs = [_Entry(_read(path), path.parent) for path in there]
    chosen = at(_named(configs, "contexts", context, kubeconfigs).body, "context")
    section = _named(configs, "clusters", str(chosen.get("cluster")), kubeconfigs)
    cluster = _Entry(at(section.body, "cluster"), section.here)
    named = chosen.get("user")
    user = _Entry({}, Path())
    if named:
        section = _named(configs, "users", str(named), kubeconfigs)
        user = _Entry(at(section.body, "user"), section.here)
    for plugin in ("exec", "auth-provider"):
        if user.body.get(plugin):
            raise UsageError(
                f"context {context} logs in by a plugin ({plugin}), which is not run here; give it "
                "a token, or a certificate"
            )
    server = cluster.body.get("server")
    if not isinstance(server, str):
        raise UsageError(f"context {context} of {kubeconfigs} names no server")
    return KubeAccess(
        server=server,
        tls=_tls(cluster, user) if server.startswith("https://") else None,
        token=_token(user),
        server_name=str(cluster.body.get("tls-server-name") or ""),
        proxy=str(cluster.body.get("proxy-url") or ""),
    )


def profile_access(cluster: Body, token: Path, hosts: Sequence[str]) -> KubeAccess:
    """Return how an API server is reached that a ClusterProfile names.

    Whoever may write the profile says where our token goes, so it goes to hosts that the operator
    names only, by TLS that is checked, and no file of this machine is named by it.

    Args:
        cluster: Of an access provider, as kubeconfigs have it.
        token: The file of the token.
        hosts: Names of hosts, or of domains that they are in.

    Raises:
        UsageError: The server is none of these, or cannot be reached safely.
    """
    server = str(cluster.get("server", ""))
    match = SERVER.fullmatch(server)
    host = "" if match is None else match["host"].strip("[]").lower()
    if not any(host == one.lower() or host.endswith(f".{one.lower()}") for one in hosts):
        raise UsageError(f'the server "{server[:80]}" is not at a host of --access-host, by https')
    refused = ("certificate-authority", "insecure-skip-tls-verify", "proxy-url")
    odd = next((one for one in refused if cluster.get(one)), "")
    if odd:
        raise UsageError(f'`{odd}` of the server "{server}" is not taken from a ClusterProfile')
    data = {"certificate-authority-data": cluster.get("certificate-authority-data")}
    return KubeAccess(
        server=server,
        tls=_tls(_Entry(data, Path()), _Entry({}, Path())),
        token=lambda: _content(token),
        server_name=str(cluster.get("tls-server-name") or ""),
    )


def own_access(host: str, port: str, folder: Path = SERVICE_ACCOUNT) -> KubeAccess:
    """Return how the API server of the cluster is reached that we run in.

    Raises:
        UsageError: There is no service account here.
    """
    authority = folder / "ca.crt"
    if not host or not authority.is_file():
        raise UsageError("--in-cluster needs the service account of a pod, and there is none here")
    where = f"[{host}]" if ":" in host else host
    return KubeAccess(
        server=f"https://{where}:{port}",
        tls=ssl.create_default_context(cafile=authority),
        token=lambda: _content(folder / "token"),
    )


def _read(path: Path) -> Body:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    documents = read(data, str(path)).documents
    if not documents:
        raise UsageError(f"{path} is no kubeconfig")
    return documents[0].body


def _named(configs: Iterable[_Entry], section: str, name: str, where: str) -> _Entry:
    for config in configs:
        for entry in mappings_of(config.body.get(section)):
            if entry.get("name") == name:
                return _Entry(entry, config.here)
    raise UsageError(f'{where} has no "{name}" among its {section}')


def _tls(cluster: _Entry, user: _Entry) -> ssl.SSLContext:
    authority = _data(cluster, "certificate-authority")
    certificate, key = (_data(user, name) for name in ("client-certificate", "client-key"))
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.body.get("insecure-skip-tls-verify") is True:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate and key:
            with tempfile.TemporaryDirectory() as folder:  # readable by us only
                own, secret = Path(folder) / "crt", Path(folder) / "key"
                own.write_bytes(certificate)
                secret.write_bytes(key)
                context.load_cert_chain(own, secret)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise UsageError("a certificate or key of the kubeconfig cannot be read") from error
    return context


def _data(part: _Entry, name: str) -> bytes:
    """Return what stands in a field, or in the file that it names; nothing if it is not there."""
    written, named, here = part.body.get(f"{name}-data"), part.body.get(name), part.here
    if isinstance(written, str) and written:
        try:
            return base64.b64decode("".join(written.split()), validate=True)
        except binascii.Error as error:
            raise UsageError(f"`{name}-data` of the kubeconfig must be base64") from error
    if isinstance(named, str) and named:
        try:
            return (here / named).read_bytes()
        except OSError as error:
            raise UsageError(f"{here / named}: {error.strerror}") from error
    return b""


def _token(user: _Entry) -> Callable[[], str]:
    written, named, here = user.body.get("token"), user.body.get("tokenFile"), user.here
    if isinstance(named, str) and named:
        return lambda: _content(here / named)
    return (lambda: written) if isinstance(written, str) else _no_token


def _content(path: Path) -> str:
    """Return the one line of a file.

    Raises:
        ShellError: It cannot be read now.
    """
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ShellError(f"{path}: {error.strerror}") from error
