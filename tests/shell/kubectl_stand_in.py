"""A kubectl on the PATH that answers from files, a folder a context, with the real one's words."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from reconciler.manifests.paths import folder_of
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import group_of

SCRIPT = """#!/bin/sh
printf '%s\\n' "$*" >> "{folder}/asked"
env > "{folder}/environment"
place="{folder}/context-$2"
[ "$1" = --context ] && [ -d "$place" ] || {{
  echo "error: context \\"$2\\" does not exist" >&2
  exit 1
}}
if [ -e "{folder}/once" ]; then
  mv "{folder}/once" "{folder}/done"
  sh "{folder}/done" >&2
fi
case "$*" in
*" api-resources "*)
  cat "$place/api-resources"
  if [ -e "{folder}/unavailable" ]; then
    echo 'error: unable to retrieve the complete list of server APIs:' \\
      'metrics.k8s.io/v1beta1: the server is currently unable to handle the request' >&2
    exit 1
  fi
  exit 0 ;;
esac
while [ "$1" != get ]; do shift; done
case "$2" in
slow)
  sleep 60 &
  echo $! > "{folder}/pid"
  wait ;;
stubborn)
  (trap "" TERM; exec sleep 60) &
  echo $! > "{folder}/pid"
  wait ;;
down)
  echo 'The connection to the server 127.0.0.1:6443 was refused -' \\
    'did you specify the right host or port?' >&2
  exit 1 ;;
esac
if [ -e "$place/$2.forbidden" ]; then
  echo "Error from server (Forbidden): $2 is forbidden: User \\"ada\\" cannot list it" >&2
  exit 1
elif [ -e "$place/$2.json" ]; then
  cat "$place/$2.json"
else
  echo "error: the server doesn't have a resource type \\"$2\\"" >&2
  exit 1
fi
"""


def stand_in(
    folder: Path,
    bodies: Iterable[Body],
    forbidden: Iterable[str] = (),
    context: str = "hub",
    plurals: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Make the command, and return the folder that the PATH needs; give it one context more.

    A script `once` in that folder is run by the first question; with a file `unavailable` an API
    that others serve does not answer.

    Args:
        folder: Where the command is.
        bodies: What the server has.
        forbidden: Resources that it does not let anybody list.
        context: Its name.
        plurals: Kind to the name of its resource, where that is not as one would guess.
    """
    place = folder / f"context-{context}"
    place.mkdir(parents=True, exist_ok=True)
    answers: dict[str, list[Body]] = {}
    kinds: set[tuple[str, str, bool, str]] = set()
    for body in bodies:
        group, kind = group_of(str(body["apiVersion"])), str(body["kind"])
        plural = plurals.get(kind, folder_of("", kind))
        resource = f"{plural}.{group}" if group else plural
        namespaced = "namespace" in mapping(body, "metadata")
        kinds.add((plural, str(body["apiVersion"]), namespaced, kind))
        answers.setdefault(resource, []).append(body)
        answers.setdefault(resource.partition(".")[0], answers[resource])
    for resource, items in answers.items():
        listed: Mapping[str, object] = {"apiVersion": "v1", "kind": "List", "items": items}
        (place / f"{resource}.json").write_text(json.dumps(listed), encoding="utf-8")
    rows = (
        f"{plural:<40} {'x' if namespaced else '':<8} {version:<40} "
        f"{str(namespaced).lower():<12} {kind}\n"
        for plural, version, namespaced, kind in sorted(kinds)
    )
    (place / "api-resources").write_text("".join(rows), encoding="utf-8")
    for resource in forbidden:
        (place / f"{resource}.forbidden").touch()
    command = folder / "kubectl"
    command.write_text(SCRIPT.format(folder=folder), encoding="utf-8")
    command.chmod(0o755)
    return folder
