"""What was found in a file is stored as text, and comes back as it was."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.stored import decode_validations, encode_validation, is_storable
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.model.body import TOGETHER, Held, StoredBody, read_body
from reconciler.shell.resources import load_schemas
from tests.builders import configmap, deployment, policy, rebalancer, target, text

RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
ODD = {**configmap("odd"), "data": {"é": "a\u2028b", "empty": "", "null": "null", "yes": "yes"}}
NUMBERS = {**deployment("numbers"), "odd": [1, 1.5, -0.0, True, None, 10**60, [], {}]}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YQ=="}}


def found_in(written: str, path: str = "x.yaml") -> FileValidation:
    """What is found in a file."""
    return validate_file(path, "b" * 40, written.encode(), RULES)


def restored(*files: FileValidation) -> list[FileValidation]:
    """What comes back of files."""
    stored = [(file.path, file.blob, encode_validation(file)) for file in files]
    return list(decode_validations(stored, {}))


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(text(policy()), id="a policy"),
        pytest.param(text(policy(), configmap(), deployment()), id="several documents"),
        pytest.param(text({"not": "ours"}), id="another program's file"),
        pytest.param("", id="an empty file"),
        pytest.param(text(ODD), id="odd characters"),
        pytest.param(text(NUMBERS), id="numbers"),
        pytest.param(
            text({"apiVersion": "v1", "kind": "List", "items": [configmap("a"), configmap("b")]}),
            id="items of a List",
        ),
    ],
)
def test_a_file_comes_back(written: str) -> None:
    """Documents, identities and places are the same to the type; only the text is not stored."""
    file = found_in(written)
    expected = [replace(file, data=b"")]

    assert is_storable(file, KINDS)
    assert repr(expected) == repr(restored(file))


def test_equal_texts_are_one_in_memory() -> None:
    """Keys and values that stand in many documents take memory once."""
    one, two = restored(found_in(text(deployment("a"))), found_in(text(deployment("b"))))
    first, second = (file.documents[0].body for file in (one, two))

    assert list(map(id, first)) == list(map(id, second))
    assert first["apiVersion"] is second["apiVersion"]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("kind: [\n", id="syntax"),
        pytest.param(text({**deployment(), "spec": {"replicas": "two"}}), id="schema"),
        pytest.param(text(configmap(), SECRET), id="a Secret"),
        pytest.param(
            text({"apiVersion": "v1", "kind": "List", "items": [SECRET]}), id="a Secret in a List"
        ),
        pytest.param(text(rebalancer("r", target())), id="a rebalancer that a pass may remove"),
    ],
)
def test_some_files_are_never_stored(written: str) -> None:
    """Faults are told from the file itself, and secret values stay in the repository."""
    assert not is_storable(found_in(written), KINDS)


def test_a_body_is_decoded_when_it_is_read() -> None:
    """Once, with its neighbours, and the very same one each time; names need no body."""
    many = TOGETHER + 1
    files = restored(*(found_in(text(deployment("a"))) for _ in range(many)))
    held = [file.documents[0].held for file in files]

    assert "a" == files[0].documents[0].identity.name
    assert [False] * many == list(map(is_read, held))
    assert files[0].documents[0].body is files[0].documents[0].body
    assert [True] * TOGETHER + [False] == list(map(is_read, held))


@pytest.mark.parametrize(
    "copied",
    [deepcopy, lambda held: pickle.loads(pickle.dumps(held))],  # noqa: S301  # its own
    ids=["copied", "sent"],
)
@pytest.mark.parametrize("read_before", [False, True], ids=["stored", "read"])
def test_a_stored_body_is_copied_and_sent(
    copied: Callable[[Held], Held], *, read_before: bool
) -> None:
    """Alone, read or not, and equal to what it was copied from and to the body itself."""
    expected = found_in(text(deployment("a"))).documents[0].body
    held = restored(found_in(text(deployment("a"))))[0].documents[0].held
    if read_before:
        read_body(held)
    found = copied(held)

    assert read_before == is_read(found)
    assert expected == read_body(found) == read_body(held)
    assert held == found


def is_read(held: Held) -> bool:
    """Whether a body was decoded."""
    return not isinstance(held, StoredBody) or held._body is not None
