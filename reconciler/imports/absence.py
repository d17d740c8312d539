"""Why an object that live decisions are about is not in the repository."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.imports.importers import PLAIN_SECRET, SECRET, importer_of, why_noise, why_unwanted
from reconciler.imports.plan import Became, ImportedObject
from reconciler.imports.wanted import Wanted
from reconciler.model.identity import ObjectKey

NOT_EXPORTED = "the export has none of that name"


@dataclass(frozen=True, slots=True)
class Absence:
    """Asked for what is lacking: `became` has what an import made of each object of an export."""

    became: Mapping[ObjectKey, ImportedObject]
    wanted: Wanted

    def why(self, key: ObjectKey) -> str:
        """Return why an object is not in the repository.

        Of a control plane it may never have been asked for: Secrets are not, nor is what nobody
        wants.
        """
        one = self.became.get(key)
        if one is not None and one.became in (Became.SKIPPED, Became.FAILED):
            return one.why
        if importer_of(key) is not None:
            return NOT_EXPORTED
        return (
            why_noise(key, self.wanted.reserved)
            or (PLAIN_SECRET if key[:2] == SECRET else "")
            or why_unwanted(key, self.wanted)
            or NOT_EXPORTED
        )


NOTHING_WANTED = Absence({}, Wanted())
"""Of an import that took no workload."""
