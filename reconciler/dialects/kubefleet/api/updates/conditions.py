"""The conditions of runs, their stages and requests, as status files hold them."""

from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.moments import is_moment

TEXTS = ("type", "status", "reason", "message")


def conditions_in(body: Body) -> tuple[Body, ...]:
    """Return the conditions below a body.

    Raises:
        UserError: One holds what no condition holds; a person may edit the file.
    """
    found = fields.bodies(body, "conditions")
    for one in found:
        for name in TEXTS:
            fields.text(one, name)
        fields.number(one, "observedGeneration")
        if not moment_in(one, "lastTransitionTime"):
            raise UserError("must say since when it is so", field="lastTransitionTime")
    return found


def moment_in(body: Body, field: str) -> str:
    """Return a moment as it is written, `""` if there is none.

    Raises:
        UserError: It is no moment.
    """
    found = fields.text(body, field)
    if found and not is_moment(found):
        raise UserError("must be a moment such as 2026-01-02T15:04:05Z", field=field)
    return found
