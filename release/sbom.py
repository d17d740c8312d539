"""The bill of materials in CycloneDX's JSON; the same bytes for the same release."""

import uuid
from collections.abc import Sequence
from datetime import datetime

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.bom_ref import BomRef
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from release.locked import Pin

NAMESPACE = uuid.UUID("6a1f7f0e-5d0c-5c0a-9a52-3d0f0b6f2d11")

DISTRIBUTION = "fleet-reconciler"
"""The name of `pyproject.toml`; files of a release have it with an underscore."""


def bill_of_materials(version: str, pins: Sequence[Pin], *, built_at: datetime) -> str:
    """Return the bill as text.

    Args:
        version: Of this release.
        pins: What runs beside it. Their digests stand as properties: a component of CycloneDX is
            one file, and a pin allows several.
        built_at: Aware UTC.
    """
    ours = Component(
        name=DISTRIBUTION,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=BomRef(f"pkg:pypi/{DISTRIBUTION}@{version}"),
        purl=PackageURL("pypi", name=DISTRIBUTION, version=version),
        licenses=[LicenseExpression("Apache-2.0")],
    )
    components = [_component(pin) for pin in pins]
    bom = Bom(
        serial_number=uuid.uuid5(NAMESPACE, repr((version, tuple(pins)))),
        metadata=BomMetaData(component=ours, timestamp=built_at),
        components=components,
    )
    bom.register_dependency(ours, components)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _component(pin: Pin) -> Component:
    purl = PackageURL("pypi", name=pin.name, version=pin.version)
    properties = [Property(name="reconciler:marker", value=pin.marker)] if pin.marker else []
    properties += [Property(name="reconciler:file:sha256", value=one) for one in pin.digests]
    only = [HashType(alg=HashAlgorithm.SHA_256, content=pin.digests[0])]
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        bom_ref=BomRef(str(purl)),
        purl=purl,
        hashes=only if len(pin.digests) == 1 else [],
        properties=properties,
    )
