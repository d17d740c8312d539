"""The only file that reads kubeconfigs: where an API server is, and how we are let in.

Tokens are read from their file anew for each request, since they are renewed there. Keys that stand
in a kubeconfig itself touch the disk for a moment, in a folder of our own: TLS takes files only.
Plugins that log in (`exec`) are programs of others and are not run.
"""

import base64
import binascii
import ssl
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from reconciler.errors import ShellError, UsageError
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.records import dataclass

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Source: kubernetes@v1.33 staging/src/k8s.io/client-go/rest/config.go `InClusterConfig`."""


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


def context_access(kubeconfig: Path, context: str) -> KubeAccess:
    """Return how the API server of a context is reached.

    Raises:
        UsageError: There is no such file or context, or it logs in in a way that is not known here.
    """
    config = _read(kubeconfig)
    chosen = at(_named(config, "contexts", context, kubeconfig), "context")
    cluster = at(_named(config, "clusters", str(chosen.get("cluster")), kubeconfig), "cluster")
    named = chosen.get("user")
    user: Body = at(_named(config, "users", str(named), kubeconfig), "user") if named else {}
    for plugin in ("exec", "auth-provider"):
        if user.get(plugin):
            raise UsageError(
                f"context {context} logs in by a plugin ({plugin}), which is not run here; give it "
                "a token, or a certificate"
            )
    server = cluster.get("server")
    if not isinstance(server, str):
        raise UsageError(f"context {context} of {kubeconfig} names no server")
    here = kubeconfig.parent
    return KubeAccess(
        server=server,
        tls=_tls(cluster, user, here) if server.startswith("https://") else None,
        token=_token(user, here),
        server_name=str(cluster.get("tls-server-name") or ""),
        proxy=str(cluster.get("proxy-url") or ""),
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


def _named(config: Body, section: str, name: str, path: Path) -> Body:
    listed: Iterable[Body] = mappings_of(config.get(section))
    for one in listed:
        if one.get("name") == name:
            return one
    raise UsageError(f'{path} has no "{name}" among its {section}')


def _tls(cluster: Body, user: Body, here: Path) -> ssl.SSLContext:
    authority = _data(cluster, "certificate-authority", here)
    certificate, key = (_data(user, name, here) for name in ("client-certificate", "client-key"))
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify") is True:
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


def _data(part: Body, name: str, here: Path) -> bytes:
    """Return what stands in a field, or in the file that it names; nothing if it is not there."""
    written, named = part.get(f"{name}-data"), part.get(name)
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


def _token(user: Body, here: Path) -> Callable[[], str]:
    written, named = user.get("token"), user.get("tokenFile")
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
