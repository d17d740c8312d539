"""A toy of an API as the contract has it: sites are its clusters, berths get some of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reconciler.dialects.contract import Dialect, DialectMemory
from reconciler.dialects.importer import Importer
from reconciler.dialects.renderer import Renderers
from reconciler.manifests.schemas.violations import Admission
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer

if TYPE_CHECKING:
    from reconciler.dialects.view import View

GROUP = "toy.example.dev"
VERSION = f"{GROUP}/v1"
SITE = (GROUP, "Site")
BERTH = (GROUP, "Berth")


def _admissions(_known: KnownKinds) -> Mapping[Kind, Admission]:
    return {}  # its schemas refuse all that is to be refused


def _view() -> "View":
    from tests.toys.dialect.answers import VIEW

    return VIEW


def _begin() -> DialectMemory:
    from tests.toys.dialect.plan import Toy

    return Toy()


def _renderers() -> Renderers:
    from tests.toys.dialect.cargo import Loading

    return Loading()


def _importer() -> Importer:
    from tests.toys.dialect.imports import IMPORTER

    return IMPORTER


TOY = Dialect(
    name="toy",
    kinds=(
        ApiKind(group=GROUP, kind="Site"),
        ApiKind(group=GROUP, kind="Berth", namespaced=True, writer=Writer.BOTH, suspendable=True),
    ),
    cluster=SITE,
    placed=frozenset({BERTH}),
    admissions=_admissions,
    view=_view,
    begin=_begin,
    renderers=_renderers,
    importer=_importer,
)
