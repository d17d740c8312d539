"""A kubectl on the PATH that answers from files, a folder a context, with the real one's words."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from reconciler.manifests.paths import folder_of
from reconciler.model.body import Body
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
while [ "$1" != get ]; do shift; done
case "$2" in
slow)
  sleep 60 &
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
    folder: Path, bodies: Iterable[Body], forbidden: Iterable[str] = (), context: str = "hub"
) -> Path:
    """Make the command, and return the folder that the PATH needs; give it one context more.

    A script `once` in that folder is run by the first question.
    """
    place = folder / f"context-{context}"
    place.mkdir(parents=True, exist_ok=True)
    answers: dict[str, list[Body]] = {}
    for body in bodies:
        resource = folder_of(group_of(str(body["apiVersion"])), str(body["kind"]))
        answers.setdefault(resource, []).append(body)
        answers.setdefault(resource.partition(".")[0], answers[resource])
    for resource, items in answers.items():
        listed: Mapping[str, object] = {"apiVersion": "v1", "kind": "List", "items": items}
        (place / f"{resource}.json").write_text(json.dumps(listed), encoding="utf-8")
    for resource in forbidden:
        (place / f"{resource}.forbidden").touch()
    command = folder / "kubectl"
    command.write_text(SCRIPT.format(folder=folder), encoding="utf-8")
    command.chmod(0o755)
    return folder
