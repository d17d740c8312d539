"""One module follows and indexes: every other table is made of its classes, and says what it reads.

Whoever follows a world by hand, or keeps an index by hand, is listed here, with why.
"""

import ast
from collections.abc import Iterator, Mapping

import pytest

from tests.house.sources import SOURCES, tree_of, trees_with

ROOMS = (
    "model",
    "manifests",
    "schedule",
    "rebalance",
    "dialects",
    "delivery",
    "core",
    "audit",
    "page",
)
DECIDING = [source for source in SOURCES if source.partition("/")[0] in ROOMS]
MODULE = frozenset(("dialects/reads.py",))
CLASSES = frozenset(
    ("Followed", "FollowedIndex", "FollowedObjects", "KeyIndex", "ReadIndex", "ReadTable")
)

COMPARES = frozenset(("differing", "differing_keys"))
FORGETS = "it is given two worlds, and remembers none"
FILES = "it has files of git by path, of which each belongs to the folder that it stands in"
SUMMED = "it holds a world with what it summed up of it, and sums up anew what differs"
COMPARING: Mapping[str, str] = {
    "audit/fleet/placed_objects.py": SUMMED,
    "audit/fleet/problems.py": SUMMED,
    "audit/fleet/suspensions.py": SUMMED,
    "audit/fleet/trouble.py": SUMMED,
    "model/remembered.py": "it says where versions differ",
    "model/world.py": "the index of the world by kind is the world's own",
    "core/asked.py": FORGETS,
    "core/rounds.py": FORGETS,
    "core/publishing.py": SUMMED,
    "delivery/deliver.py": FILES,
    "delivery/pruning.py": FORGETS,
    "dialects/karmada/binding/renderer.py": FORGETS,
    "dialects/kubefleet/workgenerator/renderer.py": FORGETS,
    "dialects/ocm/manifestworkreplicaset/renderer.py": FORGETS,
}
INDEXING: Mapping[str, str] = {"delivery/memory.py": FILES}
ASKS_EACH = "it lets those follow that have an index each"
FOLLOWING: Mapping[str, str] = {
    "AskedAlone": ASKS_EACH,
    "DecidedObjects": SUMMED,
    "FleetLoads": SUMMED,
    "PlacedObjects": SUMMED,
    "PlacementTrouble": SUMMED,
    "Suspensions": SUMMED,
    "_Detection": "it brings the table of claims up to date, which follows",
    "StatedObjects": ASKS_EACH,
    "SharedPart": "it is a part of the world, in versions of its own",
}

EARLIER = "it asks for another outcome in the world as it was, to tell the cause"
MASKS = "schedulers look at all clusters at once, through masks; what they asked is told afterwards"
COMPUTED: Mapping[str, str] = {
    "dialects/karmada/detector/detect.py:claim_workload": "",
    "dialects/kubefleet/snapshots/selection.py:select_resources": "",
    "dialects/karmada/decide.py:decide": "",
    "dialects/karmada/causes.py:with_causes": "",
    "dialects/kubefleet/decide.py:decide": "",
    "dialects/kubefleet/placement_cycle.py:converge": "",
    "dialects/kubefleet/decide.py:with_causes": EARLIER,
    "dialects/ocm/decide.py:decide": "",
    "dialects/ocm/plan.py:SetsInTurn": "it finds out what there is of a set and its placements",
    "dialects/ocm/manifestworkreplicaset/sync.py:decide_set": "",
}
"""What computes what tables hold, and why one gets a world all the same."""

RECORDS: Mapping[str, str] = {
    "dialects/karmada/detector/detect.py:claim_workload": "ClaimReads",
    "dialects/kubefleet/snapshots/selection.py:_draw": "SelectableDocuments",
}
"""Those that get an accessor which records what they ask; of all others `MASKS` is true."""


def symbol_of(symbol: str) -> ast.Module:
    """One function or class of a file, as a tree of its own."""
    source, _, name = symbol.partition(":")
    found = [
        node
        for node in tree_of(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
    ]
    assert 1 == len(found), symbol
    return ast.Module(body=[*found], type_ignores=[])


def comparisons(tree: ast.Module) -> list[int]:
    """The lines at which two mappings are compared as versions."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [node.lineno for node in calls if ast.unparse(node.func).split(".")[-1] in COMPARES]


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    """The classes of a file."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def annotations(node: ast.ClassDef) -> Iterator[str]:
    """What the fields of a class are, those that are set by its methods included."""
    for item in ast.walk(node):
        if isinstance(item, ast.AnnAssign):
            is_set = ast.unparse(item.target).startswith("self.")
            if is_set or item in node.body:
                yield ast.unparse(item.annotation)


def kept_indexes(tree: ast.Module) -> list[str]:
    """The fields that lead from something to a set, beside what only describes one value."""
    found = []
    for node in classes(tree):
        frozen = any("frozen=True" in ast.unparse(one) for one in node.decorator_list)
        for kind in annotations(node):
            of, _, inner = kind.partition("[")
            if of in ("dict", "defaultdict") and "set[" in inner and not frozen:
                found.append(f"{node.name}: {kind}")
        calls = (item for item in ast.walk(node) if isinstance(item, ast.Call))
        found += [f"{node.name}: {ast.unparse(one)}" for one in calls if is_set_by_default(one)]
    return found


def is_set_by_default(call: ast.Call) -> bool:
    """Whether a field gets a set for a key that it does not have."""
    method = call.func
    return (
        isinstance(method, ast.Attribute)
        and method.attr == "setdefault"
        and ast.unparse(method.value).startswith("self.")
        and len(call.args) > 1
        and ast.unparse(call.args[1]).startswith("set")
    )


def followers_by_hand(tree: ast.Module) -> list[str]:
    """The classes that follow, and have nothing of the one module to do it with."""
    found = []
    for node in classes(tree):
        methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        words = {word for kind in annotations(node) for word in names_in(kind)}
        if methods & {"follow", "followed", "begin"} and not words & CLASSES:
            found.append(node.name)
    return found


def names_in(kind: str) -> Iterator[str]:
    """The names in an annotation."""
    return (n.id for n in ast.walk(ast.parse(kind.strip("'\""))) if isinstance(n, ast.Name))


def worlds_given(tree: ast.Module) -> list[int]:
    """The lines at which a function or a class gets a world."""
    kinds = [
        (node.lineno, node.annotation)
        for node in ast.walk(tree)
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None
    ]
    return [line for line, kind in kinds if "World" in names_in(ast.unparse(kind))]


OTHERS = [source for source in DECIDING if source not in MODULE]


def test_one_module_compares_with_what_was_seen_before() -> None:
    """Everything else asks it what differs."""
    found = {source for source, tree in trees_with("differing", OTHERS) if comparisons(tree)}

    assert COMPARING.keys() == found


def test_one_module_keeps_indexes() -> None:
    """No other class leads from something to a set of keys."""
    found = {source for source, tree in trees_with(r"\bset\b", OTHERS) if kept_indexes(tree)}

    assert INDEXING.keys() == found


def test_who_follows_does_it_by_the_module() -> None:
    """What is listed is there, and for no other reason than the one given."""
    found = {name for _, tree in trees_with("def ", DECIDING) for name in followers_by_hand(tree)}

    assert FOLLOWING.keys() == found - {"Followed"}


@pytest.mark.parametrize("symbol", COMPUTED)
def test_what_tables_hold_is_computed_without_a_world(symbol: str) -> None:
    """What a computation may look at is handed to it, so that it can be recorded."""
    assert bool(COMPUTED[symbol]) == bool(worlds_given(symbol_of(symbol)))


@pytest.mark.parametrize("symbol", RECORDS)
def test_a_computation_gets_what_records_its_questions(symbol: str) -> None:
    """And records them in no other way."""
    tree = symbol_of(symbol)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    given = [
        ast.unparse(one.annotation)
        for function in functions
        for one in function.args.args
        if one.annotation is not None
    ]

    assert RECORDS[symbol] in given
    assert "World" not in given


BY_HAND = """
class Table:
    _seen: Mapping[str, int]
    _by_name: dict[str, set[str]]

    def follow(self, world: World) -> None:
        for key in differing_keys(world.inputs, self._seen):
            self._found.setdefault(key, set()).add(key)
"""
BY_THE_MODULE = """
class Table:
    _seen: Followed[str, int]
    _by_name: KeyIndex[str, str]

    def follow(self, inputs: Mapping[str, int]) -> None:
        for entry in self._seen.follow(inputs):
            self._by_name.put(entry.key, [entry.key])
"""


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(BY_HAND, (1, 2, 1, 1), id="by-hand"),
        pytest.param(BY_THE_MODULE, (0, 0, 0, 0), id="by-the-module"),
    ],
)
def test_a_table_by_hand_is_noticed(written: str, expected: tuple[int, ...]) -> None:
    """By each of the four looks at a file; one that is made of the module by none."""
    tree = ast.parse(written)
    looks = (comparisons, kept_indexes, followers_by_hand, worlds_given)

    assert expected == tuple(len(look(tree)) for look in looks)
