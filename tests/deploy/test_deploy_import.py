"""deploy/import: its commands are commands of ours, its objects as Kubernetes has them."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from reconciler.cli.verbs.begin import import_command
from reconciler.model.fields import at
from tests.delivery.kubectl import kubectl
from tests.shell.fleet import ROOT

FOLDER = ROOT / "deploy/import"


def options_in(arguments: list[str]) -> dict[str, object]:
    """Return how the verb understands its arguments."""
    context = click.Context(import_command, obj=ROOT, resilient_parsing=True)
    import_command.parse_args(context, list(arguments))
    return context.params


def cron_container() -> dict[str, object]:
    """Return the container of the CronJob."""
    job = YAML(typ="safe").load(FOLDER / "cronjob.yaml")
    containers = at(job, "spec", "jobTemplate", "spec", "template", "spec")["containers"]
    assert isinstance(containers, list)
    return dict(containers[0])


def test_the_cron_job_imports_and_pushes() -> None:
    """Its arguments are options of the verb; the remote comes from a secret."""
    container = cron_container()
    arguments = container["args"]
    assert isinstance(arguments, list)
    parsed = options_in(arguments[2:])
    environment = container["env"]
    assert isinstance(environment, list)
    (remote,) = [one for one in environment if one["name"] == "RECONCILER_IMPORT_REMOTE"]

    assert ["reconciler", "import"] == arguments[:2]
    assert ("hub", "main", Path("/kube/config")) == tuple(
        parsed[name] for name in ("context", "branch", "kubeconfig")
    )
    assert {"name": "reconciler-remote", "key": "url"} == remote["valueFrom"]["secretKeyRef"]


def test_the_service_imports_what_its_file_says() -> None:
    """The example of arguments is one that the verb understands."""
    text = (FOLDER / "reconciler-import.service").read_text(encoding="utf-8")
    example = re.search(r"^# IMPORT_ARGUMENTS=(.*)$", text, re.MULTILINE)
    assert example is not None
    parsed = options_in(example[1].split())

    assert "ExecStart=/usr/local/bin/reconciler import $IMPORT_ARGUMENTS\n" in text
    assert ("member1", "member1") == (parsed["context"], parsed["cluster"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """But for the command, which is not installed here."""
    for unit in FOLDER.glob("reconciler-import.*"):
        text = unit.read_text(encoding="utf-8").replace("/usr/local/bin/reconciler", "/bin/true")
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    units = sorted(str(unit) for unit in tmp_path.iterdir())
    finished = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, check=False
    )

    assert "reconciler-import" not in finished.stderr


def test_kustomize_builds_the_cron_job() -> None:
    """In its namespace, with a real kubectl."""
    built = subprocess.run(
        [kubectl(), "kustomize", FOLDER], check=True, capture_output=True, text=True
    )
    job = YAML(typ="safe").load(built.stdout)

    assert ("CronJob", "reconciler") == (job["kind"], job["metadata"]["namespace"])
