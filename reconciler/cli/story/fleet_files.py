"""What a fleet of one's own begins with: the files of the example, chosen by API, forge and wish.

Which file is whose is told by what it holds, so a file that is added to the example needs no line
here. Nothing is read or written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from reconciler.cli.story.fleet_choice import DELIVERIES, FORGES, FleetChoice
from reconciler.cli.story.fleet_readmes import README, readmes
from reconciler.core.dialects import dialect_of
from reconciler.manifests.file_names import is_manifest_name
from reconciler.manifests.text.reader import read
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.settings import CONFIGURATION_PATH

Files = Mapping[str, bytes]
"""Path to content, the path relative to the folder of the fleet."""

MINIMAL = """\
# What decisions depend on besides the manifests. Everything here has a default.
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata:
  name: fleet
spec:
  # One inventory, one score table, and room that is counted once, for all APIs.
  inventory:
    project: true
  scores:
    extend: true
  capacity:
    protect: true
"""
OF_A_SELECTOR = "resourceSelectors"  # where Karmada and KubeFleet name the workloads they place
FENCED = re.compile(rb"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def fleet_files(example: Files, choice: FleetChoice) -> Files:
    """Return the files to begin with.

    Args:
        example: All files of the example repository.
        choice: What is wanted.
    """
    owners = api_by_file(example)
    files = {path: data for path, data in example.items() if _is_kept(path, owners, choice)}
    files[CONFIGURATION_PATH] = _configuration(example[CONFIGURATION_PATH], choice)
    return files | readmes(example, files, choice) if choice.folders else files


def api_by_file(example: Files) -> Mapping[str, frozenset[str]]:
    """Return for each manifest of the example, and each README with one in it, the APIs it is of.

    A document of an API's group is of that API, and a workload of each API whose policies or
    placements name it. Of our configuration nothing is said.
    """
    documents = {path: tuple(_bodies(path, data)) for path, data in example.items()}
    selectors = [
        (dialect.name, selector)
        for found in documents.values()
        for body in found
        if (dialect := dialect_of(_group_of(body))) is not None
        for selector in bodies(mapping(body, "spec"), OF_A_SELECTOR)
    ]
    return {
        path: frozenset(api for body in found for api in _apis_of(body, selectors))
        for path, found in documents.items()
        if found
    }


def configuration_lines(choice: FleetChoice) -> str:
    """Return what a configuration says of delivery, as lines below `spec:`; `""` for nothing."""
    if not choice.transports:
        return ""
    said = f"  # {DELIVERIES[choice.delivery][0]}"
    return "\n".join(
        [said, "  delivery:", *(f"    {name}: {{}}" for name in choice.transports), ""]
    )


def _group_of(body: Mapping[str, object]) -> str:
    """Return the API group that a document or a selector names, `""` for the core's."""
    group, slash, _ = text(body, "apiVersion").partition("/")
    return group if slash else text(body, "group")


def _bodies(path: str, data: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the documents of a manifest, and the targets of the demand that a README shows."""
    if path.startswith(".") or path == CONFIGURATION_PATH:
        return
    if is_manifest_name(path):
        yield from (document.body for document in read(data, path).documents)
    elif path.endswith(f"/{README}"):
        for block in FENCED.findall(data):
            for document in read(block, path).documents:
                yield from bodies(mapping(document.body, "spec"), "workloads")


def _apis_of(
    body: Mapping[str, object], selectors: Iterable[tuple[str, Mapping[str, object]]]
) -> Iterator[str]:
    """Yield the APIs of a document, by its group or by what selects it."""
    dialect = dialect_of(_group_of(body))
    if dialect is not None:
        yield dialect.name
        return
    kind = (_group_of(body), text(body, "kind"))
    name = text(body, "name") or text(mapping(body, "metadata"), "name")
    for api, selector in selectors:
        meant = (_group_of(selector), text(selector, "kind"))
        if meant == kind and text(selector, "name") in ("", name):
            yield api


def _is_kept(path: str, owners: Mapping[str, frozenset[str]], choice: FleetChoice) -> bool:
    """Return whether a file of the example is among those to begin with, as it is."""
    if path.endswith(README):
        ours = not owners.get(path, frozenset()).isdisjoint(choice.apis)
        return choice.folders and (path == README or ours)
    if path in owners:
        return choice.examples and not owners[path].isdisjoint(choice.apis)
    forges = [forge for forge in FORGES if path.startswith(f".{forge}")]
    return not forges or forges[0] in choice.forges


def _configuration(example: bytes, choice: FleetChoice) -> bytes:
    """Return the configuration: that of the example, or the least there is, with delivery."""
    lines = configuration_lines(choice)
    if choice.examples:
        return example + lines.encode()
    return (MINIMAL + lines).encode()
