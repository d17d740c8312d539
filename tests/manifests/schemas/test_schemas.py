"""The set of schemas: which kinds it knows, and schemas of other shapes than ours."""

import subprocess
import sys

import pytest

from reconciler.manifests.schemas.schema import Schemas
from tests.manifests.shipped_schemas import documents, schemas
from tests.shell.fleet import ROOT


def test_values_of_a_secret_are_never_quoted() -> None:
    """Where a schema covers Secrets, its messages do not tell them."""
    document = {
        "properties": {
            "apiVersion": {"const": "v1"},
            "kind": {"const": "Secret"},
            "stringData": {"additionalProperties": {"type": "string", "pattern": "^a$(?!\\n)"}},
        }
    }
    body = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "password", "b": 12345}}
    found = Schemas({"v1/secret.json": document}).judge(body).violations

    assert 2 == len(found)
    assert not [one for one in found if "password" in str(one) or "12345" in str(one)]


def test_best_alternative_is_reported() -> None:
    """Of `oneOf`, the error deepest in the alternative that fits best."""
    document = {
        "properties": {
            "apiVersion": {"const": "a/v1"},
            "kind": {"const": "A"},
            "spec": {
                "oneOf": [
                    {"type": "string"},
                    {"type": "object", "properties": {"size": {"type": "integer"}}},
                ]
            },
        }
    }
    body = {"apiVersion": "a/v1", "kind": "A", "spec": {"size": "x"}}

    found = Schemas({"a/a_v1.json": document}).judge(body).violations

    assert ["/spec/size"] == [one.pointer for one in found]


def test_kinds_are_known_by_version() -> None:
    """A version without a schema is not covered, and the others are named."""
    known = schemas()

    assert known.covers("work.karmada.io/v1alpha2", "ResourceBinding")
    assert not known.covers("work.karmada.io/v1alpha1", "ResourceBinding")
    versions = known.versions_of("work.karmada.io", "ResourceBinding")
    assert ("work.karmada.io/v1alpha2",) == versions
    assert () == known.versions_of("apps", "Deployment")
    with pytest.raises(ValueError, match="no schema"):
        known.judge({"apiVersion": "apps/v1", "kind": "Deployment"})


def test_schemas_are_schemas() -> None:
    """Each file satisfies the schema of schemas."""
    from jsonschema import Draft202012Validator

    for document in documents().values():
        Draft202012Validator.check_schema(document)


def test_jsonschema_is_imported_late() -> None:
    """Importing the module costs the command line nothing."""
    code = (
        "import sys, reconciler.manifests.schemas.schema;"
        "print([name for name in ('jsonschema', 'referencing', 'difflib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert "[]" == done.stdout.strip()
