"""The upstream projects, and the API groups that are theirs."""

from collections.abc import Mapping
from typing import NamedTuple


class Project(NamedTuple):
    """A project: its title, and what the names of its API groups end in."""

    title: str
    domains: tuple[str, ...]


PROJECTS: Mapping[str, Project] = {
    "karmada": Project("Karmada", ("karmada.io", "multicluster.x-k8s.io")),
    "kubefleet": Project("KubeFleet", ("kubernetes-fleet.io", "kubefleet.dev")),
    "ocm": Project("Open Cluster Management", ("open-cluster-management.io",)),
}
"""By the name of the dialect."""


def project_of(group: str) -> str:
    """Return the project whose group it is.

    Raises:
        ValueError: It is not one of a project that is known.
    """
    for name, project in PROJECTS.items():
        if group.endswith(project.domains):
            return name
    raise ValueError(
        f"{group} must be a group of {', '.join(PROJECTS)}; see tests/crds/projects.py"
    )
