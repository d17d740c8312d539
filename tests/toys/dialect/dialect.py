"""A toy of an API as the contract has it: sites are its clusters, berths get some of them."""

from collections.abc import Mapping

from reconciler.dialects.contract import Dialect
from reconciler.manifests.schemas.violations import Admission
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.late import late, late_value

GROUP = "toy.example.dev"
VERSION = f"{GROUP}/v1"
SITE = (GROUP, "Site")
BERTH = (GROUP, "Berth")


def _admissions(_known: KnownKinds) -> Mapping[Kind, Admission]:
    return {}  # its schemas refuse all that is to be refused


TOY = Dialect(
    name="toy",
    kinds=(
        ApiKind(group=GROUP, kind="Site"),
        ApiKind(group=GROUP, kind="Berth", namespaced=True, writer=Writer.BOTH, suspendable=True),
    ),
    cluster=SITE,
    placed=frozenset({BERTH}),
    admissions=_admissions,
    view=late_value("tests.toys.dialect.answers", "VIEW"),
    begin=late("tests.toys.dialect.plan", "Toy"),
    renderers=late("tests.toys.dialect.cargo", "Loading"),
    importer=late_value("tests.toys.dialect.imports", "IMPORTER"),
)
