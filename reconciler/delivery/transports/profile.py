"""The transports of this build, by name; a new one is a file and a line here."""

from collections.abc import Mapping

from reconciler.delivery.transports.decisions import DECISIONS
from reconciler.delivery.transports.folders import FOLDERS
from reconciler.delivery.transports.manifest_works import MANIFEST_WORKS
from reconciler.delivery.transports.transport import Transport
from reconciler.delivery.transports.works import WORKS

TRANSPORTS: Mapping[str, Transport] = {
    one.name: one for one in (FOLDERS, DECISIONS, MANIFEST_WORKS, WORKS)
}
