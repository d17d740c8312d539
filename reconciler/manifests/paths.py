"""The path of each output file, and the git blob id that its content would have."""

import hashlib

from reconciler.model.identity import ObjectKey
from reconciler.model.world import World

RECORD = ObjectKey("reconciler.dev", "ReconcilerStatus", "", "reconciler")
FAULTS = ObjectKey("reconciler.dev", "FaultReport", "", "faults")
DELIVERY = ObjectKey("reconciler.dev", "DeliveryStatus", "", "delivery")
SAFETY = ObjectKey("reconciler.dev", "SafetyStatus", "", "safety")

ALONE = (RECORD, FAULTS, DELIVERY, SAFETY)
"""The outputs of all objects together, which stand at the top of the output root."""

LONGEST_STEM = 200  # a file name has at most 255 bytes; suffix, extension and slack come on top


def output_path(root: str, key: ObjectKey) -> str:
    """Return where the output of an object stands, root-relative POSIX.

    Names reach this function only after they passed the rules of `names.py`. A name too long for a
    file name is cut and given a digest, so that no two objects share a file.

    >>> output_path("status", ObjectKey("work.example.org", "Binding", "ns", "web-service"))
    'status/bindings.work.example.org/ns/web-service.yaml'
    """
    if key in ALONE:
        return f"{root}/{key.name}.yaml"
    folder = f"{root}/{folder_of(key.group, key.kind)}"
    if key.namespace:
        folder = f"{folder}/{key.namespace}"
    return f"{folder}/{file_stem(key.name)}.yaml"


def file_stem(name: str) -> str:
    """Return the name of an object's file without suffix: its name, cut if it is too long."""
    if len(name) <= LONGEST_STEM:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[:LONGEST_STEM]}-{digest}"


def portable_stem(name: str) -> str:
    """Return the same where a disk may fold case, or refuse a colon.

    >>> portable_stem("web"), portable_stem("system:Admin")
    ('web', 'system-admin-88f8ab559728b438')
    """
    if ":" not in name and name == name.lower():
        return file_stem(name)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name.lower().replace(':', '-')[:LONGEST_STEM]}-{digest}"


def folder_of(group: str, kind: str) -> str:
    """Return the name of the folder of a kind: `<plural>.<group>`, of the core group `<plural>`.

    >>> folder_of("policy.example.org", "Policy")
    'policies.policy.example.org'
    """
    return f"{plural_of(kind)}.{group}" if group else plural_of(kind)


def plural_of(kind: str) -> str:
    """Return the plural of a kind in lower case.

    Source: apimachinery pkg/api/meta/restmapper.go `UnsafeGuessKindToResource`.

    >>> plural_of("Policy"), plural_of("Class"), plural_of("Binding")
    ('policies', 'classes', 'bindings')
    """
    single = kind.lower()
    if single.endswith("s"):
        return f"{single}es"
    return f"{single[:-1]}ies" if single.endswith("y") else f"{single}s"


def is_frozen(world: World, key: ObjectKey) -> bool:
    """Return whether the output of an object cannot be read, and so is left as it is."""
    return bool(world.frozen) and output_path(world.output_root, key) in world.frozen


def blob_id(content: bytes, *, like: str) -> str:
    """Return the git blob id of a content, in the object format that the id `like` has."""
    algorithm = hashlib.sha256 if len(like) == hashlib.sha256().digest_size * 2 else hashlib.sha1
    return algorithm(b"blob %d\x00" % len(content) + content).hexdigest()
