"""Where member clusters report: `feedback/<cluster>/`, one folder a cluster."""

from reconciler.manifests.names import is_subdomain

FEEDBACK = "feedback"


def is_feedback(path: str) -> bool:
    """Return whether a file stands where clusters report.

    >>> is_feedback("feedback/member1/web.yaml"), is_feedback("workloads/web.yaml")
    (True, False)
    """
    return path.startswith(f"{FEEDBACK}/")


def reporter_of(path: str) -> str:
    """Return the cluster whose report a file is, `""` if it is none.

    >>> reporter_of("feedback/member1/default/web.yaml")
    'member1'
    >>> reporter_of("feedback/web.yaml")
    ''
    """
    if not is_feedback(path):
        return ""
    parts = path.split("/")
    if len(parts) < 3:
        return ""
    return parts[1] if is_subdomain(parts[1]) else ""
