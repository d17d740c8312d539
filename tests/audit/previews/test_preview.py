"""Previews of a merge: the edits, the files of clusters, the comment, and true to the letter."""

import copy
import re
from collections.abc import Callable
from datetime import timedelta

import pytest

from reconciler.audit.previews import edits
from reconciler.audit.previews.edits import Edit, Named, apply_edits
from reconciler.audit.previews.foresight import moved_words, step_words, waited_step
from reconciler.audit.previews.placement_moves import moves_of
from reconciler.audit.previews.preview import Counts, Kind, Preview, PreviewEntry, preview
from reconciler.audit.previews.wording import (
    DELIVERED,
    LIMIT_BYTES,
    MARKER,
    Heading,
    clusters_summary,
    delivered_text,
    footer,
    preview_markdown,
    title,
)
from reconciler.dialects.view import Warned
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import replace
from reconciler.model.world import Fault, World
from reconciler.page.timeline import plan_page
from tests.builders import NOW, Body, after, cluster, configuration, deployment, policy, target
from tests.stories import Story, story

ALL: Body = {"folders": {}, "decisions": {}}
NEW = {"tier": "new"}


def delivering(delivery: Body | None = None) -> Story:
    """A Deployment on two clusters, delivered to folders."""
    told = story(cluster("a"), cluster("b"), policy(), deployment())
    told.put(configuration(delivery={"folders": {}} if delivery is None else delivery)).run(0)
    told.run(100)
    return told


def compared(base: World, told: Story) -> Preview:
    """The preview of what a story holds by now."""
    return preview(base, told.world(), after(200))


def lines(found: Preview) -> list[str]:
    """What is said of each cluster."""
    return [delivered_text(one) for one in found.delivered]


def test_an_edit_that_moves_nothing_is_told_by_its_files() -> None:
    """Each cluster gets another one."""
    told = delivering()
    base = told.world()
    found = compared(base, told.put(deployment(labels=NEW)))

    assert ["a (folders): 1 file written", "b (folders): 1 file written"] == lines(found)
    assert (True, "Nothing moves; 2 clusters get other files") == (found.changes, title(found))


def test_what_goes_is_counted_as_what_comes_is() -> None:
    """A cluster that is left loses its file, and the list of clusters changes."""
    told = delivering(ALL)
    base = told.world()
    named: Body = {"clusterAffinity": {"clusterNames": ["a"]}}
    found = compared(base, told.put(policy(placement=named)))

    assert ["all clusters (decisions): 1 file written", "b (folders): 1 file removed"] == (
        lines(found)
    )


def test_what_happens_anyway_is_left_out() -> None:
    """Both passes write it."""
    told = delivering()
    told.put(deployment(labels=NEW))

    assert () == compared(told.world(), told).delivered


def test_without_delivery_nothing_is_told() -> None:
    """There are no files."""
    told = delivering({})
    base = told.world()

    assert ((), False) == (
        (found := compared(base, told.put(deployment(labels=NEW)))).delivered,
        found.changes,
    )


def test_comments_and_pages_tell_it() -> None:
    """Below a title of its own."""
    told = delivering()
    base = told.world()
    found = compared(base, told.put(deployment(labels=NEW)))
    heading = Heading("plan", "a change")

    assert f"**{DELIVERED}:**\n\n- `a (folders): 1 file written`\n" in (
        preview_markdown(found, heading)
    )
    assert f"<h2>{DELIVERED}</h2>\n<ul>\n<li>a (folders): 1 file written</li>" in (
        plan_page(found, heading)
    )


A = ObjectKey("cluster.karmada.io", "Cluster", "", "a")
WEB = ObjectKey("apps", "Deployment", "default", "web")


def placed_world() -> World:
    """Two clusters and a placed Deployment."""
    told = story(cluster("a", labels={"x": "1"}), cluster("b"), policy(), deployment())
    told.run(0)
    return told.world()


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(edits.fail((A,), NOW), id="fail"),
        pytest.param(edits.cordon((A,)), id="cordon"),
        pytest.param(edits.remove((A,)), id="remove"),
        pytest.param(edits.scale(WEB, 9), id="scale"),
        pytest.param(edits.set_field(A, "/metadata/labels/x", "2"), id="set"),
        pytest.param(edits.rebalance([target()]), id="rebalance"),
        pytest.param(edits.add([(WEB, deployment(replicas=3))]), id="add"),
    ],
)
def test_an_edit_changes_no_world_but_its_own(edit: Edit) -> None:
    """The world that it was given equals its deep copy; the other one has another object."""
    world = placed_world()
    before = copy.deepcopy(world)

    changed = apply_edits(world, [Named("", edit)])

    assert before == world
    assert 1 == sum(
        changed.inputs.get(key) != world.inputs.get(key)
        for key in changed.inputs.keys() | world.inputs.keys()
    )
    assert world.outputs == changed.outputs


@pytest.mark.parametrize(
    ("pointer", "value", "expected"),
    [
        pytest.param("/spec/list/0", 9, {"list": [9, {"b": 2}]}, id="item"),
        pytest.param("/spec/list/-", 9, {"list": [1, {"b": 2}, 9]}, id="append"),
        pytest.param("/spec/list/1/b", 9, {"list": [1, {"b": 9}]}, id="in-item"),
        pytest.param("/spec/list/0", None, {"list": [{"b": 2}]}, id="remove-item"),
        pytest.param("/spec/list", None, {}, id="remove"),
        pytest.param("/spec/a~1b~0", 1, {"list": [1, {"b": 2}], "a/b~": 1}, id="escaped"),
        pytest.param("/spec/x/y", 1, {"list": [1, {"b": 2}], "x": {"y": 1}}, id="made"),
    ],
)
def test_pointers(pointer: str, value: object, expected: object) -> None:
    """RFC 6901, with `-` for a new last item and null for removal."""
    key = ObjectKey("apps", "Deployment", "default", "odd")
    body = {**deployment("odd"), "spec": {"list": [1, {"b": 2}]}}
    world = edits.put(placed_world(), {key: body})
    edit: Callable[[World], World] = edits.set_field(key, pointer, value)

    assert expected == mapping(edit(world).inputs[key].body, "spec")


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


def test_many_objects_are_summed_up_by_cluster() -> None:
    """Before the list that nobody reads whole: most traffic first; few objects need no sum."""
    few, many = plan(*map(entry, range(10))), plan(*map(entry, range(11)))

    assert [] == clusters_summary(few)
    assert [
        "c0000: 11 copies; 11 objects",
        "c0001: +11 replicas; 11 objects",
    ] == clusters_summary(many)
    assert "**By cluster:**" in preview_markdown(many, HEADING)


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


KEY = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
PREVIEW = Preview(
    now=NOW,
    entries=(),
    anyway=(),
    counts=Counts(),
    warnings=(),
    faults=(),
    mended=(),
    removes=(),
    recheck_at=None,
)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(None, "no further changes pending", id="never"),
        pytest.param(1, "another pass at 2026-11-20T12:00:01Z would continue", id="at-once"),
        pytest.param(60, "no further changes before 2026-11-20T12:01:00Z", id="later"),
    ],
)
def test_a_moment_a_second_away_is_no_rest(seconds: int | None, expected: str) -> None:
    """A daemon is there before anybody has read that nothing changes until then."""
    until = None if seconds is None else NOW + timedelta(seconds=seconds)

    assert f"evaluated at 2026-11-20T12:00:00Z; {expected}" == footer(
        replace(PREVIEW, recheck_at=until)
    )


def decided(before: dict[str, int], after: dict[str, int]) -> Decision:
    """A decision that moves web."""
    return Decision(KEY, "default/web", Cause(CauseKind.EVICTED, ""), _on(before), _on(after))


def _on(counts: dict[str, int]) -> Placed:
    return tuple((ClusterName(name), count) for name, count in counts.items())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, {"a": 1}, "it is placed, as of now to a(1)", id="placed"),
        pytest.param({"a": 2}, {"b": 2}, "it moves, as of now to b(2)", id="moved"),
        pytest.param({"a": 2}, {}, "it moves, as of now to nowhere", id="nowhere"),
        pytest.param({"a": 0, "b": 0}, {"b": 0}, "it leaves a, and it stays on b", id="left"),
        pytest.param({"a": 1, "b": 1}, {"b": 2}, "it moves, as of now to b(2)", id="taken-over"),
        pytest.param({"a": 3}, {"a": 2}, "it has fewer replicas, and it stays on a(2)", id="fewer"),
    ],
)
def test_an_object_moves_only_to_where_it_was_not(
    before: dict[str, int], after: dict[str, int], expected: str
) -> None:
    """What leaves a cluster and runs on the others already goes nowhere."""
    decision = decided(before, after)

    assert expected == moved_words(step_words(decision), decision)


def test_what_waits_for_a_moment_may_move_or_leave() -> None:
    """As far as is known where that leads."""
    assert "it may move" == waited_step(None)
    assert "it may move" == waited_step(decided({"a": 0}, {"b": 0}))
    assert "it leaves a" == waited_step(decided({"a": 0, "b": 0}, {"b": 0}))
