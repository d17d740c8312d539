"""What a merge does to the files of clusters, as its preview tells it."""

from reconciler.audit.previews.preview import Preview, preview
from reconciler.audit.previews.wording import (
    DELIVERED,
    Heading,
    delivered_text,
    preview_markdown,
    title,
)
from reconciler.model.world import World
from reconciler.page.timeline import plan_page
from tests.builders import Body, after, cluster, configuration, deployment, policy
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
