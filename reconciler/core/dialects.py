"""The dialects of this build, in the order in which a sweep asks them."""

from collections.abc import Mapping

from reconciler.core.inspect import Admission
from reconciler.dialects.base import Dialect
from reconciler.dialects.karmada.plan import KARMADA

DIALECTS: tuple[Dialect, ...] = (KARMADA,)

ADMISSIONS: Mapping[tuple[str, str], Admission] = {
    kind: admission for dialect in DIALECTS for kind, admission in dialect.admissions.items()
}
"""What each dialect's admission refuses, by (group, kind)."""
