"""What says on a command line what a view shows; each word quoted, so it can be copied."""

import shlex
from collections.abc import Mapping, Sequence

from reconciler.model.identity import ObjectKey

WORDS: Mapping[str, Sequence[str]] = {
    "fleet": ("status",),
    "clusters": ("top", "clusters"),
    "coming": ("status",),
    "faults": ("validate",),
    "timeline": ("events",),
    "objects": ("get", "all", "-o", "wide"),
    "matrix": ("get", "all", "-o", "wide"),
    "rebalancers": ("get", "workloadrebalancers", "--all-namespaces"),
}
"""By view, the verb that says the same."""
KEY = ("group", "kind", "namespace", "name")


def command_for(view: str, query: Mapping[str, str], branch: str) -> str:
    """Return the command, `""` where no verb says the same.

    Args:
        view: Name of the view.
        query: The rest of its address.
        branch: Name of the branch that is shown.
    """
    words = [*WORDS.get(view, ())]
    if view == "plan" and query.get("branch"):
        words = ["plan", f"--head={query['branch']}", f"--base={branch}"]
    if view == "what-if" and (asked := [n for n in ("fail", "cordon", "scale") if query.get(n)]):
        words = ["simulate", *(f"--{name}={query[name]}" for name in asked)]
        words += [f"--namespace={query['namespace']}"] if query.get("namespace") else []
    if view in ("objects", "matrix"):
        words += [f"--namespace={query['namespace']}" if query.get("namespace") else "-A"]
        words += [f"--selector={query['selector']}"] if query.get("selector") else []
    if view == "cluster" and query.get("name"):
        words = ["describe", f"{query.get('kind') or 'cluster'}/{query['name']}"]
    if view == "object":
        return object_command("why", ObjectKey(*(query.get(name, "") for name in KEY)))
    return shlex.join(["reconciler", *words]) if words else ""


def object_command(verb: str, key: ObjectKey) -> str:
    """Return a command about one object.

    >>> object_command("why", ObjectKey("apps", "Deployment", "shop", "web"))
    'reconciler why deployment.apps/web --namespace=shop'
    """
    group = f".{key.group}" if key.group else ""
    scope = [f"--namespace={key.namespace}"] if key.namespace else []
    return shlex.join(["reconciler", verb, f"{key.kind.lower()}{group}/{key.name}", *scope])
