"""What of a Secret may be shown: who it is, its labels, its type, which keys it has; no value.

`get`, `describe`, `render`, `plan`, reports and the page ask here. A Secret that stands in another
object, as in the manifests of a ManifestWork, is one as well. Whether SOPS encrypted a Secret is
judged as far as that can be seen without a key.

Source: getsops/sops aes/cipher.go `Cipher.Encrypt`, stores/stores.go `Metadata`.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import cast

from reconciler.model.body import Body

HIDDEN = "***"
HIDDEN_IN_CONDITIONS = "(hidden)"
"""What stands instead of a value in texts that upstream writes."""
KIND = ("v1", "Secret")
VALUES = ("data", "stringData")
SHOWN_METADATA = frozenset(
    (
        "name",
        "generateName",
        "namespace",
        "labels",
        "uid",
        "generation",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
    )
)
TYPES = frozenset(
    (
        "Opaque",
        "bootstrap.kubernetes.io/token",
        "helm.sh/release.v1",
        "kubernetes.io/basic-auth",
        "kubernetes.io/dockercfg",
        "kubernetes.io/dockerconfigjson",
        "kubernetes.io/service-account-token",
        "kubernetes.io/ssh-auth",
        "kubernetes.io/tls",
    )
)
"""Types that say nothing of their own; any other text may be a value in the wrong place."""


def without_secrets(body: Body, instead: str = HIDDEN) -> Body:
    """Return an object with the values of each Secret in it hidden; itself if there is none.

    Args:
        body: The object.
        instead: What stands where a value was.

    >>> without_secrets({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGU="}})
    {'apiVersion': 'v1', 'kind': 'Secret', 'data': {'password': '***'}}
    """
    return cast("Body", _shown(body, instead))


def is_secret(body: Body) -> bool:
    """Return whether an object is a Secret."""
    return (body.get("apiVersion"), body.get("kind")) == KIND


def _shown(value: object, instead: str) -> object:
    """Return a value of any depth; the very same where nothing in it is hidden."""
    if isinstance(value, Mapping):
        if is_secret(value):
            return {field: _shown_field(field, item, instead) for field, item in value.items()}
        inner = {key: _shown(item, instead) for key, item in value.items()}
        return inner if any(inner[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        items = [_shown(item, instead) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _shown_field(field: str, value: object, instead: str) -> object:
    """Return what may be shown of a field; whatever is not known to be harmless is hidden."""
    match field:
        case "apiVersion" | "kind":
            return value
        case "metadata":
            return _shown_metadata(value, instead)
        case "type":
            return value if isinstance(value, str) and value in TYPES else instead
        case "immutable":
            return value if isinstance(value, bool) else instead
        case "data" | "stringData":
            return _keys(value, instead)
        case _:
            return instead


def _shown_metadata(metadata: object, instead: str) -> object:
    """Return the metadata of a Secret; kubectl keeps the whole object in an annotation, too."""
    if not isinstance(metadata, Mapping):
        return instead
    return {
        field: value
        if field in SHOWN_METADATA
        else _keys(value, instead)
        if field == "annotations"
        else instead
        for field, value in metadata.items()
    }


def _keys(values: object, instead: str) -> object:
    """Return a mapping with its values hidden, or nothing but that there is something."""
    return dict.fromkeys(values, instead) if isinstance(values, Mapping) else instead


NONCE_BYTES = 32
TAG_BYTES = 16
IN_THE_CLEAR = frozenset(("apiVersion", "kind", "metadata", "type", "immutable", "sops"))
"""What of a Secret stays readable, so that it can be told what it is."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KEYS = ("age", "azure_kv", "gcp_kms", "hc_vault", "hckms", "kms", "pgp", "key_groups")

_TYPES = "str|int|float|bytes|bool|comment"
_ENCRYPTED = re.compile(rf"ENC\[AES256_GCM,data:([^,]*),iv:([^,]+),tag:([^,]+),type:(?:{_TYPES})\]")


def is_encrypted(secret: Body) -> bool:
    """Return whether every value of a Secret is encrypted, and its wrapper is one of SOPS.

    The wrapper has an encrypted checksum and the keys that it was made with. An empty value is left
    as it is by SOPS.
    """
    wrapper = secret.get("sops")
    if not isinstance(wrapper, Mapping) or not _is_cipher(wrapper.get("mac")):
        return False
    if not any(_is_filled(wrapper.get(name)) for name in KEYS):
        return False
    metadata = secret.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if isinstance(annotations, Mapping) and not _is_hidden(annotations.get(LAST_APPLIED, "")):
        return False
    if not all(isinstance(secret.get(field, {}), Mapping) for field in VALUES):
        return False
    rest = (value for field, value in secret.items() if field not in IN_THE_CLEAR)
    return all(_is_hidden(leaf) for value in rest for leaf in _leaves(value))


def has_values(secret: Body) -> bool:
    """Return whether a Secret holds anything, encrypted or not.

    One that its cluster fills, such as the token of a ServiceAccount, holds nothing. What is not
    known to be harmless counts: a type that Kubernetes does not know, an annotation that is of no
    tool, and the one of kubectl's that has the whole object.
    """
    metadata = secret.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if isinstance(annotations, Mapping) and not all(map(_is_of_a_tool, annotations)):
        return True
    if secret.get("type") not in (None, *TYPES):
        return True
    if secret.get("immutable") not in (None, True, False):
        return True
    rest = (value for field, value in secret.items() if field not in IN_THE_CLEAR - {"sops"})
    return any(leaf not in ("", None) for value in rest for leaf in _leaves(value))


def _is_of_a_tool(annotation: object) -> bool:
    return isinstance(annotation, str) and "/" in annotation and annotation != LAST_APPLIED


def has_open_checksum(secret: Body) -> bool:
    """Return whether the checksum of SOPS covers values that are not encrypted, too.

    Source: getsops/sops sops.go `Tree.Encrypt`, `MACOnlyEncrypted`.
    """
    wrapper = secret.get("sops")
    return isinstance(wrapper, Mapping) and wrapper.get("mac_only_encrypted") is not True


def _leaves(value: object) -> Iterator[object]:
    """Yield the values that hold no other ones."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _is_hidden(value: object) -> bool:
    return value == "" or value is None or _is_cipher(value)


def _is_cipher(value: object) -> bool:
    """Return whether a value is an encrypted one, by its structure."""
    match = _ENCRYPTED.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return False
    try:
        data, nonce, tag = (base64.b64decode(part, validate=True) for part in match.groups())
    except binascii.Error:
        return False
    return bool(data) and len(nonce) == NONCE_BYTES and len(tag) == TAG_BYTES


def _is_filled(value: object) -> bool:
    """Return whether a field names keys."""
    return isinstance(value, list | tuple) and any(
        isinstance(item, Mapping) and item for item in value
    )
