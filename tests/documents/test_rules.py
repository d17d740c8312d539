"""Rule ids are stable, known, documented, and their examples do what the pages say."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from reconciler.audit.findings import ERRORS, RULES, WARNINGS, finding_of
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
from tests.documents.generated import PAGES, RULE_PAGES, Shown, rule_pages
from tests.shell.fleet import ROOT


def rules_of(folder: Path, files: Mapping[str, bytes], *, whole_workloads: bool) -> dict[str, str]:
    """Return each rule that a repository with these files breaks, with its severity.

    What `validate` finds, and what a pass reports. Where a rule is not about what workloads hold,
    its example has no more of them than it needs.
    """
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    checked = check(
        FolderSource(folder, RepositoryLayout()),
        (),
        references=None,
        forced=True,
        kubernetes="" if whole_workloads else "none",
    )
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


WHERE_RULES_STAND = {"Violation": 1, "Fault": 4, "Unreadable": 0, "Unidentified": 1, "Dangling": 2}
"""What is made of a rule id, and the position of that argument."""

COMPOSED = {
    "f'policy-field-{name}'": {"policy-field-key", "policy-field-operator"},
    "f'{what}-unreadable'": {
        "binding-unreadable",
        "cluster-unreadable",
        "placement-unreadable",
        "score-unreadable",
        "set-unreadable",
    },
    "f'schema-{error.validator}'": set[str](),  # a keyword that none of our schemas has
}
"""Ids that are put together where they are used."""

NO_EXAMPLE = {
    "binding-unreadable": "a state that only an edited output has",
    "cluster-report-gone": "a change, not a state",
    "delivery-conflict": "files that a pass delivers",
    "delivery-not-rendered": "what a pass makes of its own decision",
    "delivery-path": "judged by a pass, which has the output root",
    "delivery-pruning-held": "a change, not a state",
    "delivery-same-object": "files that a pass delivers",
    "eviction-immutable": "a change, not a state",
    "failover-state": "what a pass makes of a report, after a while",
    "file-link": "a change, not a state",
    "file-unrecognized": "a change, not a state",
    "file-vanished": "a change, not a state",
    "internal-error": "a guard: no input that does so is known",
    "inventory-switch-braked": "a change, not a state",
    "link-skipped": "a link, which stands in no example",
    "oscillates": "a guard: no input that does so is known",
    "placement-immutable": "a change, not a state",
    "placement-unreadable": "a guard: the schema refuses such a document first",
    "policy-immutable": "a change, not a state",
    "profile-manager-immutable": "a change, not a state",
    "loss-braked": "a change, not a state",
    "removal-braked": "a change, not a state",
    "restore-commit": "a commit, which an example has not",
    "score-unreadable": "a guard: the schema refuses such a document first",
    "set-unreadable": "a guard: the schema refuses such a document first",
    "staged-held": "a change, not a state",
    "staged-stopped": "a change, not a state",
    "unreachable-braked": "a change, not a state",
    "update-immutable": "a change, not a state",
}
"""Rules whose pages have no example, and why."""

SAME_CAUSE = {"kubefleet-unexpected", "placement-selection"}
"""What `validate` says before a pass, and what the pass says."""

PREFIXES = "|".join(sorted({rule.partition("-")[0] for rule in RULES if "-" in rule}))
LITERAL = re.compile(rf"(?:{PREFIXES})(?:-[a-z]+)+")
NO_RULES = {
    "cluster-admin",
    "cluster-manager",
    "cluster-resource-binding-application-failover-controller",
    "placement-controller",
    "workload-rebalancer",
}
"""Names of upstream's that look like rules."""
CHECKED = (
    "audit/references.py",
    "audit/workloads.py",
    "core",
    "delivery",
    "dialects",
    "manifests",
    "multicluster",
    "rebalance",
    "staging",
)


def sources() -> Iterator[ast.Module]:
    """Parse every file that makes faults."""
    for name in CHECKED:
        place = ROOT / "reconciler" / name
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            yield ast.parse(path.read_text(encoding="utf-8"))


def constants(node: ast.expr) -> Iterator[str]:
    """Yield every text that an expression may come to."""
    if isinstance(node, ast.JoinedStr):
        yield from COMPOSED[ast.unparse(node)]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)


def used() -> set[str]:
    """Every rule id in the code: where faults are made, and wherever a text looks like one."""
    found: set[str] = set()
    for module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                position = WHERE_RULES_STAND.get(name, len(node.args))
                given = [*node.args[position : position + 1]]
                given += [word.value for word in node.keywords if word.arg == "rule"]
                for argument in given:
                    found.update(constants(argument))
            elif isinstance(node, ast.JoinedStr) and ast.unparse(node) in COMPOSED:
                found.update(COMPOSED[ast.unparse(node)])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update([node.value] if LITERAL.fullmatch(node.value) else ())
    return found - NO_RULES


def test_every_rule_is_listed_and_every_listed_rule_is_used() -> None:
    """One list, so that a report can say of any rule what it asks for."""
    assert used() == RULES.keys()


def test_a_rule_is_an_error_or_a_warning() -> None:
    """Never both."""
    assert set() == ERRORS.keys() & WARNINGS.keys()


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    """The id is the name of the page."""
    pages = {path.stem for path in (ROOT / RULE_PAGES).glob("*.md")} - {"README"}

    assert pages == RULES.keys() == rule_pages().keys()


def test_the_index_lists_every_rule_with_its_line() -> None:
    """Errors and warnings apart, in order; `make docs` writes it."""
    page = (ROOT / RULE_PAGES / "README.md").read_text(encoding="utf-8")

    assert PAGES[f"{RULE_PAGES}/README.md"](page) == page


@pytest.mark.parametrize("rule", RULES)
def test_page(rule: str, tmp_path: Path) -> None:
    """`make docs` writes it; the wrong example breaks this rule alone, the right one none."""
    page = rule_pages()[rule]
    severity = "warning" if rule in WARNINGS else "error"

    assert str(page) == (ROOT / RULE_PAGES / f"{rule}.md").read_text(encoding="utf-8")
    if rule in NO_EXAMPLE:
        assert not page.wrong
        return
    whole = rule.startswith("workload-") or rule == "override-result"
    wrong = rules_of(tmp_path / "wrong", files_of(page.wrong), whole_workloads=whole)
    right = rules_of(tmp_path / "right", files_of(page.right), whole_workloads=whole)
    assert severity == wrong.get(rule), wrong
    known = SAME_CAUSE if rule in SAME_CAUSE else {rule}
    assert known >= {name for name, level in wrong.items() if level == "error"}
    assert page.right
    assert {} == {name: level for name, level in right.items() if level == "error" or name == rule}


def files_of(example: Sequence[Shown]) -> dict[str, bytes]:
    """The files of an example by path; the only one may have none."""
    return {file.path or "example.yaml": file.content for file in example}
