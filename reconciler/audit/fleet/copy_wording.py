"""How copies in clusters are put into words, and for machines."""

from collections.abc import Iterator, Sequence

from reconciler.audit.fleet.delivered_copies import CopyFiles, DeliveredCopy
from reconciler.dialects.copy_status import CopyStatus, Report

NO_TRANSPORT = "Nothing is delivered: the configuration names no transport (`spec.delivery`)."
REPORTS = {
    Report.NONE: "no report yet",
    Report.ASSUMED: "no report, assumed healthy",
    Report.REPORTED: "reported",
    Report.UNHEALTHY: "unhealthy",
    Report.HEALTHY: "healthy",
}


def copy_lines(copy: DeliveredCopy) -> Iterator[tuple[str, str]]:
    """Yield what is known of a copy: a title and what there is to say, transports first.

    Where nothing is delivered, only for what it waits.
    """
    for one in copy.files:
        yield one.transport, files_text(one)
    if copy.files:
        yield "report", report_text(copy.status)
    if copy.status.waits_for:
        yield "waits for", copy.status.waits_for


def files_text(files: CopyFiles) -> str:
    """Return where the files of a copy are, and what is not as the decision asks for."""
    return "; ".join((_where(files), *files.notes))


def _where(files: CopyFiles) -> str:
    if not files.paths:
        return f"not delivered: {files.why}" if files.why else "not delivered yet"
    where = files.paths[0]
    if len(files.paths) > 1:
        where = f"{len(files.paths)} files in {_above(files.paths)}"
    if files.is_current:
        return where
    return f"{where}, as it was: {files.why}" if files.why else f"{where}, kept as it was"


def report_text(status: CopyStatus) -> str:
    """Return what a cluster says of a copy."""
    more = f" ({status.note})" if status.note else ""
    return f"{REPORTS[status.report]}{more}"


def copy_json(copy: DeliveredCopy) -> dict[str, object]:
    """Return a copy for machines."""
    status = copy.status
    return {
        "cluster": str(status.cluster),
        "replicas": status.replicas,
        "leaving": status.leaving,
        "delivered": copy.is_delivered,
        "files": [
            {
                "transport": one.transport,
                "paths": list(one.paths),
                "current": one.is_current,
                "problem": one.why,
                "notCarried": list(one.notes),
            }
            for one in copy.files
        ],
        "report": str(status.report),
        "note": status.note,
        "waitsFor": status.waits_for,
    }


def _above(paths: Sequence[str]) -> str:
    """Return the folder that files are in.

    >>> _above(["a/b/c", "a/d"])
    'a'
    """
    parts = [path.split("/")[:-1] for path in paths]
    shared = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return "/".join(shared)
