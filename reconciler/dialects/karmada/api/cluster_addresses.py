"""Addresses of a cluster as Go reads them."""

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
_NOT_IN_HOSTS = re.compile(r"[\x20%@\\^`{|}]")
_PORT = re.compile(r"(:\d*)?", re.ASCII)
PROXIES = ("http", "https", "socks5")


class _Url:
    """The parts of a URL that the rules ask for; `host` is `""` where there is none."""

    __slots__ = ("fragment", "host", "query", "scheme", "user")

    def __init__(self, address: str) -> None:
        """Read an address.

        Raises:
            ValueError: Go could not read it, either.

        Source: Go net/url `Parse`.
        """
        rest, _, self.fragment = address.partition("#")
        if _CONTROL.search(address) or _BAD_ESCAPE.search(rest.partition("?")[0]):
            raise ValueError
        found = _SCHEME.match(rest)
        self.scheme = found[1].lower() if found else ""
        rest, _, self.query = rest[found.end() if found else 0 :].partition("?")
        if not found and ":" in rest.partition("/")[0]:
            raise ValueError
        self.user, self.host = False, ""
        if rest.startswith("//"):
            authority = rest[2:].partition("/")[0]
            _, at, self.host = authority.rpartition("@")
            self.user = bool(at)
            if not _is_host(self.host):
                raise ValueError


def _is_host(host: str) -> bool:
    """Return whether Go takes a host and its port.

    Source: Go net/url `parseHost`.
    """
    end = host.rfind("]") + 1 if host.startswith("[") else host.rfind(":")
    if host.startswith("[") and not end:
        return False
    name, port = (host[:end], host[end:]) if end >= 0 else (host, "")
    return _PORT.fullmatch(port) is not None and not _NOT_IN_HOSTS.search(name)


def endpoint_fault(address: str) -> str | None:
    """Return what an API server's address must be and is not, `None` if all is well.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go `ValidateClusterSpec`.

    >>> endpoint_fault("https://10.0.0.1:6443"), endpoint_fault("10.0.0.1:6443")
    (None, 'must be a URL such as https://10.0.0.1:6443')
    """
    try:
        url = _Url(address)
    except ValueError:
        return "must be a URL such as https://10.0.0.1:6443"
    if not url.host:
        return "must name a host, as https://10.0.0.1:6443 does"
    if url.user or url.query or url.fragment:
        return "must have no user, query or fragment"
    return None


def proxy_fault(address: str) -> str | None:
    """Return what a proxy's address must be and is not, `None` if all is well.

    Source: karmada@f8fdd02 pkg/apis/cluster/validation/validation.go `ValidateClusterProxyURL`.

    >>> proxy_fault("socks5://proxy:1080"), proxy_fault("ftp://proxy")
    (None, 'must be a URL with http, https or socks5')
    """
    try:
        scheme = _Url(address).scheme
    except ValueError:
        scheme = ""
    return None if scheme in PROXIES else "must be a URL with http, https or socks5"
