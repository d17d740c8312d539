"""JSON as Go writes it, since KubeFleet's hashes are taken of such text."""

import hashlib
import json
from collections.abc import Mapping

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def go_json(value: object) -> str:
    r"""Return a decoded value as Go's `json.Marshal` writes it, keys in the order given.

    >>> go_json({"b": "<é>", "a": [1, True, None]})
    '{"b":"\\u003cé\\u003e","a":[1,true,null]}'

    Source: Go src/encoding/json/encode.go `appendString` and indent.go `appendCompact`.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)


def sorted_keys(value: object) -> object:
    """Return a decoded value with the keys of all mappings sorted, as Go writes its maps."""
    if isinstance(value, Mapping):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sorted_keys(item) for item in value]
    return value


def hash_of(text: str) -> str:
    """Return the hex digest by which snapshots are compared.

    Source: kubefleet@e160c1c pkg/utils/resource/resource.go `HashOf`.
    """
    return hashlib.sha256(text.encode()).hexdigest()
