"""The family ocm/workstatus: what an agent reports of a ManifestWork."""

from collections.abc import Sequence
from typing import cast

from reconciler.dialects.ocm.workstatus.work_status import status_of_work
from reconciler.errors import UserError
from reconciler.model.fields import at, text
from reconciler.model.identity import group_of
from tests.builders import Body
from tests.conformance.compare import first_difference


def check_workstatus(case: Body) -> str | None:
    """Compare the status, and whether it was patched."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    work = cast(Body, given["manifestWork"])
    raw = given.get("rawFeedbackJsonString") is True

    def lookup(meta: Body) -> Body | UserError | None:
        for fault in cast(Sequence[Body], given.get("getFaults", ())):
            if text(fault, "name") == text(meta, "name"):
                why = f"is forbidden: {fault['error']}"
                return UserError(f'{text(meta, "resource")} "{text(meta, "name")}" {why}')
        found = (o for o in cast(Sequence[Body], given["objects"]) if _identity(o) == _meant(meta))
        return next(found, None)

    before = at(work, "status")
    after = status_of_work(work, lookup, raw=raw, at="now")
    answer = {"status": after, "patched": after != before, "syncError": None}
    answers = cast(Sequence[Body], expected.get("anyOf", [expected]))
    differences = [first_difference(_told(one), _told(answer)) for one in answers]
    return None if None in differences else differences[0]


def _identity(body: Body) -> tuple[str, ...]:
    metadata, version = at(body, "metadata"), text(body, "apiVersion")
    group = group_of(version)
    named = text(metadata, "namespace"), text(metadata, "name")
    return (group, version.removeprefix(f"{group}/"), text(body, "kind"), *named)


def _meant(meta: Body) -> tuple[str, ...]:
    return tuple(text(meta, name) for name in ("group", "version", "kind", "namespace", "name"))


def _told(expected: Body) -> Body:
    """Return what is compared; Go writes no empty list."""
    status = cast(Body, expected["status"])
    full = {name: one for name, one in status.items() if one != []}
    return {"status": full, "patched": expected["patched"], "syncError": expected["syncError"]}
