"""The pages of `docs/rules/`: what they say, and what their examples come to."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reconciler.audit.findings import finding_of
from reconciler.cli.validate import check
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import index_inputs
from reconciler.core.inputs.last_known_good import LastKnownGood, last_known_good
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.core.inputs.world import compose, configuration_of
from reconciler.core.reconcile import reconcile
from reconciler.core.state import read_state
from reconciler.model.identity import RepositoryLayout
from reconciler.model.settings import decode_settings
from reconciler.shell.reading.checked import FolderSource
from reconciler.shell.resources import load_schemas
from tests.builders import NOW
from tests.shell.fleet import ROOT

PAGES = ROOT / "docs" / "rules"
FENCE = re.compile(r"^```(yaml|json|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"# (\S+\.(?:yaml|json))\n")


@dataclass(frozen=True)
class Page:
    """One page: its title, its first line, and the files of its two examples."""

    title: str
    summary: str
    wrong: Mapping[str, bytes]
    right: Mapping[str, bytes]


def read_page(path: Path) -> Page:
    """Read one page."""
    text = path.read_text(encoding="utf-8")
    head, _, examples = text.partition("\n## Wrong\n")
    wrong, _, right = examples.partition("\n## Right\n")
    lines = head.splitlines()
    return Page(lines[0].removeprefix("# "), lines[2], _files(wrong), _files(right))


def _files(section: str) -> dict[str, bytes]:
    """Return the files that the fences of a section hold.

    A fence may begin with its path as a comment. One of Python is an expression that stands for a
    content too large or too odd to be printed.
    """
    files = {}
    for language, content in FENCE.findall(section):
        named = PATH.match(content)
        path = named[1] if named else f"example.{'json' if language == 'json' else 'yaml'}"
        files[path] = _evaluated(content) if language == "python" else content.encode()
    return files


def _evaluated(expression: str) -> bytes:
    """Return what an expression of texts, sums and products stands for."""
    value = eval(compile(ast.parse(expression.strip(), mode="eval"), "<page>", "eval"), {})  # noqa: S307  # our own pages
    return value if isinstance(value, bytes) else str(value).encode()


def rules_of(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Return each rule that a repository with these files breaks, with its severity.

    What `validate` finds, and what a pass reports.
    """
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    checked = check(FolderSource(folder, RepositoryLayout()), (), references=None, forced=True)
    found = {finding.fault.rule: str(finding.severity) for finding in checked.findings}
    if not any(finding.fault.rule.startswith("yaml-") for finding in checked.findings):
        found |= _reported(files)
    return found


def _reported(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return what a pass reports."""
    inputs = [
        validate_file(path, "", data, Rules(load_schemas(), ADMISSIONS, KINDS))
        for path, data in files.items()
        if not path.startswith("status/")
    ]
    outputs = [
        validate_file(path, "", data, Rules(load_schemas(), {}, KINDS, status_only=True))
        for path, data in files.items()
        if path.startswith("status/")
    ]
    configuration = configuration_of(index_inputs(inputs, KINDS), LastKnownGood())
    index = index_inputs(inputs, KINDS, allowed=decode_settings(configuration).allowed)
    world = compose(
        index,
        last_known_good(index, None),
        read_state(outputs, "status", KINDS),
        revision="0" * 40,
        layout=RepositoryLayout(),
    )
    faults = reconcile(world, NOW).faults
    return {fault.rule: str(finding_of(fault).severity) for fault in faults}
