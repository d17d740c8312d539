"""Amounts in workloads that nobody can read: what they ask for counts as nothing."""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.manifests.references import Dangling, Known
from reconciler.model.content import at
from reconciler.model.message_text import shown
from reconciler.model.quantity import parse_quantity

TEMPLATES = (("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))
LISTS = ("containers", "initContainers")
EXPECTED = "an amount such as 250m, 2 or 256Mi"


def unreadable_amounts(known: Known) -> Iterator[Dangling]:
    """Yield the requests and limits of pods that are no amounts."""
    apis = known.world.known.groups
    for key, manifest in known.world.inputs.items():
        if key.group in apis:
            continue
        for path in TEMPLATES:
            pod = at(manifest.body, *path)
            for name in LISTS if pod else ():
                for pointer, value in _amounts(pod.get(name), f"/{'/'.join(path)}/{name}"):
                    message = f"{shown(value)} is no amount, so the workload counts without it"
                    yield Dangling(key, pointer, "workload-amount", message, EXPECTED)


def _amounts(containers: object, root: str) -> Iterator[tuple[str, object]]:
    """Yield what is no amount, with its JSON pointer."""
    for position, container in enumerate(containers if isinstance(containers, Sequence) else ()):
        resources = container.get("resources") if isinstance(container, Mapping) else None
        for part in ("requests", "limits"):
            asked = resources.get(part) if isinstance(resources, Mapping) else None
            for name, value in asked.items() if isinstance(asked, Mapping) else ():
                if not _is_amount(value):
                    escaped = str(name).replace("~", "~0").replace("/", "~1")
                    yield f"{root}/{position}/resources/{part}/{escaped}", value


def _is_amount(value: object) -> bool:
    """Return whether a value is an amount; what is left empty is none, and asks for nothing."""
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        parse_quantity(str(value))
    except ValueError:
        return False
    return True
