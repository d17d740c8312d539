"""What a pass leaves behind for the next one can be read by it."""

from reconciler.core.record import DUPLICATE, faults_body
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.raw import MAX_BYTES
from reconciler.model.fields import bodies
from reconciler.model.world import Fault
from reconciler.shell.resources import load_schemas

MANY = 10_000


def fault(number: int, rule: str = "schema") -> Fault:
    """A fault with long sentences."""
    path = f"policies/{number:05}.yaml"
    said = "e" * 200
    return Fault(path, 1, 1, "/spec", rule, message=said, expected=said)


def test_many_faults_are_counted_instead_of_listed() -> None:
    """The file stays below the limit of its reader, and is valid."""
    body = faults_body(map(fault, range(MANY)), ())

    listed = len(bodies(body, "faults"))
    assert MANY - listed == body["omitted"]
    assert 500 < listed
    assert len(encode(body).encode()) < MAX_BYTES
    assert () == tuple(load_schemas().judge(body).violations)


def test_what_the_next_pass_needs_is_never_left_out() -> None:
    """Which objects are written twice decides what stays in force."""
    faults = [*map(fault, range(MANY)), fault(MANY, DUPLICATE)]

    body = faults_body(faults, ())

    assert DUPLICATE == bodies(body, "faults")[-1]["rule"]


def test_a_few_faults_are_all_listed() -> None:
    """And nothing says that there are more."""
    assert "omitted" not in faults_body(map(fault, range(100)), ())
