"""A class name means one thing; words that only their author understands name nothing."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.house.sources import SOURCES, trees_with

ROLES = {
    "Binding": "where one thing is placed, by its API's own object",
    "Draft": "an object as a person wants it, beside what was decided",
    "Members": "the clusters of an API, indexed",
    "Placement": "where something wants to be, decoded",
    "Policy": "what a person asks of placing",
    "Request": "the question that filters and scores are asked",
    "SpreadConstraint": "how evenly clusters are to be picked",
    "Surroundings": "what all objects of one round share",
    "ToleratedTaint": "what would have a taint tolerated",
}
"""Names that dialects share since they play the same part in each, and nothing else does."""

FOREIGN = re.compile(
    r"(?:^|_)(?:claims|elections|settle|stages|witness|tell|happenings|chronicle|sweep|intake|"
    r"survey|shelf|sides|people|holding|cutting|notes|utils|helpers|common|misc|base)(?:$|_)"
)
"""Words that are no names of files; the field has better ones."""


@cache
def classes() -> dict[str, list[str]]:
    """Each public class with the files that define one of that name."""
    found: dict[str, list[str]] = defaultdict(list)
    for source, tree in trees_with(r"\bclass "):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(source)
    return found


def test_a_class_name_means_one_thing() -> None:
    """But for the parts that are the same in each API."""
    twice = {name: paths for name, paths in classes().items() if len(paths) > 1}

    assert {} == {name: paths for name, paths in twice.items() if name not in ROLES}
    for name, paths in twice.items():
        apis = [path.split("/")[1] for path in paths if path.startswith("dialects/")]
        assert len(set(apis)) == len(paths), f"{name}: {paths}"


def test_every_role_is_played() -> None:
    """A name that is shared no more leaves the list."""
    assert set(ROLES) <= {name for name, paths in classes().items() if len(paths) > 1}


def test_a_file_has_a_name_that_the_field_knows() -> None:
    """See the list above for what it is not."""
    assert [] == [source for source in SOURCES if FOREIGN.search(Path(source).stem)]
