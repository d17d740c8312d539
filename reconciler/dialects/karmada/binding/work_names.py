"""The names of Works, which upstream's agents and tools know a manifest by."""

from reconciler.manifests.names import built_name
from reconciler.schedule.apportion import fnv1a_32

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def work_name(kind: str, namespace: str, name: str) -> str:
    """Return the name of the Work of a manifest.

    Source: karmada@f8fdd02 pkg/util/names/names.go `GenerateWorkName`.

    >>> work_name("Deployment", "default", "web")
    'web-7b7cc5b9ff'
    """
    plain = name.lower().replace(":", ".")
    hashed = f"{namespace}-{plain}-{kind}" if namespace else f"{plain}-{kind}"
    digits = str(fnv1a_32(hashed.lower()))
    token = "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in digits)
    found = f"{plain}-{token}"
    # Unlike upstream: a name that its API server would refuse is mended, if there is one at all.
    return built_name(found, f"{kind} {namespace}/{name}") if name else found
