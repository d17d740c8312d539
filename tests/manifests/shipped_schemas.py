"""The schema files as a value, as the shell gives them to the product."""

import json
from functools import cache
from typing import Any

from reconciler.manifests.schemas.schema import Schemas
from tests.shell.fleet import ROOT

FOLDER = ROOT / "schemas"
FIELDS = ROOT / "fixtures" / "fields"


@cache
def documents() -> dict[str, dict[str, Any]]:
    """Every schema file by its path below `schemas/`."""
    return {
        path.relative_to(FOLDER).as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("*/*.json"))
    }


@cache
def schemas() -> Schemas:
    """All schemas, compiled once for all tests."""
    return Schemas(documents())
