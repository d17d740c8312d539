"""The comment on a pull request: it fits, it can be found again, and it is harmless."""

import re
from dataclasses import replace

import pytest

from reconciler.audit.previews.placement_moves import moves_of
from reconciler.audit.previews.preview import Counts, Kind, Preview, PreviewEntry
from reconciler.audit.previews.wording import LIMIT_BYTES, MARKER, Heading, preview_markdown
from reconciler.dialects.view import Warned
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Fault
from tests.builders import NOW

HEADING = Heading("plan", "topic merged into main")
EVIL = (
    "`x` ``` ~~~\n# head @ada #12 https://evil.example [a](b) <img src=x> </details> | a | "
    f"<!-- x --> {MARKER} \\` \\| &lt; \u202e"
)


def entry(number: int = 0, *, subject: str = "", clusters: int = 2) -> PreviewEntry:
    """An object that moves."""
    placed = tuple((ClusterName(f"c{i:04d}"), i) for i in range(clusters))
    return PreviewEntry(
        key=ObjectKey("work.karmada.io", "ResourceBinding", "default", f"w{number}"),
        subject=subject or f"default/w{number}",
        kind=Kind.CHANGED,
        cause="replicas changed",
        moves=moves_of((), placed),
        rejected={},
    )


def plan(*entries: PreviewEntry, warnings: tuple[Warned, ...] = (), faults: int = 0) -> Preview:
    """A preview."""
    return Preview(
        now=NOW,
        entries=entries,
        anyway=entries,
        counts=Counts(changed=len(entries)),
        warnings=warnings,
        faults=tuple(Fault(f"f{i}.yaml", 1, 1, "", "r", "m" * 250) for i in range(faults)),
        mended=(),
        removes=(),
        recheck_at=None,
    )


@pytest.mark.parametrize("faults", [0, 10, 1000])
@pytest.mark.parametrize(("objects", "clusters"), [(1, 2), (1000, 2), (40, 900), (5, 5000)])
def test_it_fits_one_comment(objects: int, clusters: int, faults: int) -> None:
    """What does not fit is counted, and every section is whole."""
    text = preview_markdown(
        plan(*(entry(i, clusters=clusters) for i in range(objects)), faults=faults), HEADING
    )

    assert len(text.encode()) <= LIMIT_BYTES
    assert text.startswith(f"{MARKER}\n### Plan: ")
    assert text.count("<details>") == text.count("</details>")
    left_out = re.search(r"and (\d+) more objects, left out", text)
    assert objects == text.count("<details>") + (int(left_out[1]) if left_out else 0)


def outside_code(text: str) -> str:
    """What a forge reads as Markdown or HTML: all but code, and but our own tags."""
    text = re.sub(r"<code>[^<>]*</code>", "", text)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.sub(r"</?(?:details|summary|sub)>", "", text)


def test_names_cannot_leave_their_code() -> None:
    """No mention, reference, link, HTML, fence or table cell comes from a manifest."""
    bad = replace(
        entry(subject=EVIL),
        cause=EVIL,
        problem=EVIL,
        rejected={ClusterName(EVIL): EVIL},
        moves=moves_of((), ((ClusterName(EVIL), 1),)),
    )
    fault = Fault(EVIL, 1, 1, EVIL, EVIL, EVIL, EVIL, EVIL)
    preview = replace(
        plan(bad, warnings=(Warned(EVIL, EVIL, EVIL),)),
        faults=(fault,),
        mended=(fault,),
        removes=(EVIL,),
    )

    text = preview_markdown(preview, Heading("plan", EVIL))

    left = outside_code(text.removeprefix(MARKER))
    assert "evil.example" not in left
    assert [] == re.findall(r"[@<>\[\]`~\\&]|#1", left)
    assert 1 == text.count(MARKER)
    assert {5} == {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert "\u202e" not in text
