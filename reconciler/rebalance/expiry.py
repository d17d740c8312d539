"""What the status says of a rebalancer or trigger whose time is over, but whose manifest stays.

It is ignored from then on, until its spec changes or its manifest is removed.
"""

from datetime import datetime

from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.fields import bodies, mapping
from reconciler.model.moments import stamp

EXPIRED = Condition(
    type="Expired",
    status="True",
    reason="InList",
    message=(
        "its time to live is over; it stands in a List, from which nothing is cut out, so a person "
        "removes it"
    ),
)


def marked(body: Body, now: datetime) -> Body:
    """Return a status file that says so."""
    status = mapping(body, "status")
    conditions = set_condition(bodies(status, "conditions"), EXPIRED, at=stamp(now))
    return {**body, "status": {**status, "conditions": conditions}}


def is_marked(body: Body, fresh: Body) -> bool:
    """Return whether a status file says so of the generation that a fresh one is about."""
    found = bodies(mapping(body, "status"), "conditions")
    said = any(one.get("type") == EXPIRED.type and one.get("status") == "True" for one in found)
    generations = [mapping(one, "metadata").get("generation") for one in (body, fresh)]
    return said and generations[0] == generations[1]
