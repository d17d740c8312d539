"""Which names may exist: no name reaches a path, a ref or a message before it passed here."""

import hashlib
import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LOOSE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_FOREIGN = re.compile(r"[^a-z0-9]")
_VERSION = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?|[a-z0-9]([-a-z0-9]*[a-z0-9])?")

LONGEST_NAME = 253  # DNS-1123 subdomain
LONGEST_LABEL = 63  # DNS-1123 label
LONGEST_KIND = 63
TOKEN = 10  # hexadecimal digits of a digest

SUBDOMAIN_RULE = (
    "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit, "
    "at most 253 characters"
)
LABEL_RULE = (
    "lower-case letters, digits and '-', beginning and ending with a letter or digit, "
    "at most 63 characters"
)
LOOSE_RULE = (
    "letters, digits, '-', '_', '.' and ':', beginning and ending with a letter or digit, "
    "at most 253 characters"
)


def is_subdomain(name: str) -> bool:
    """Return whether a name is a DNS-1123 subdomain."""
    return len(name) <= LONGEST_NAME and _SUBDOMAIN.fullmatch(name) is not None


def is_label(name: str) -> bool:
    """Return whether a name is a DNS-1123 label."""
    return len(name) <= LONGEST_LABEL and _LABEL.fullmatch(name) is not None


def is_loose_name(name: str) -> bool:
    """Return whether a workload may have this name: RBAC kinds use upper case and colons."""
    return len(name) <= LONGEST_NAME and _LOOSE.fullmatch(name) is not None


def built_name(wanted: str, identity: str) -> str:
    """Return a name that is built from others: as wanted where that is valid, else mended.

    Every character that no such name may hold becomes `-`, and a hash of whose name it is follows.

    >>> built_name("web-deployment", "Deployment web")
    'web-deployment'
    >>> built_name("system..leader-role", "Role system::leader")
    'system--leader-role-afc4d85f9d'
    """
    if is_subdomain(wanted):
        return wanted
    token = hashlib.sha256(identity.encode()).hexdigest()[:TOKEN]
    plain = _FOREIGN.sub("-", wanted.lower())[: LONGEST_NAME - TOKEN - 1].strip("-")
    return f"{plain}-{token}" if plain else token


def is_kind(kind: str) -> bool:
    """Return whether a text is a kind in upper camel case."""
    return len(kind) <= LONGEST_KIND and _KIND.fullmatch(kind) is not None


def is_api_version(api_version: str) -> bool:
    """Return whether a text is `version` or `group/version`."""
    group, slash, version = api_version.rpartition("/")
    return _VERSION.fullmatch(version) is not None and (not slash or is_subdomain(group))
