"""Runs the steps of deploy/Dockerfile in roots that debootstrap makes: `make image-steps`.

It shows that the steps work where no registry can be reached. The base image's Python is Debian's
here; needs root, debootstrap and the network, for Debian's mirror and PyPI.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITE = os.environ.get("DEBIAN_SUITE", "bookworm")
BASE = "ca-certificates,python3,python3-venv"
PASSED = ("PIP_CERT", "PIP_INDEX_URL", "http_proxy", "https_proxy")


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile, each as its word and the rest in one line."""
    lines = [line for line in dockerfile.splitlines() if line and not line.startswith("#")]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        word, _, rest = line.partition(" ")
        yield word, rest.strip()


def main() -> int:
    """Run the steps; return what the image's command answers at their end."""
    with tempfile.TemporaryDirectory(prefix="image-") as name:
        folder = Path(name)
        base = folder / "base"
        run("debootstrap", "--variant=minbase", f"--include={BASE}", SUITE, str(base))
        lend(base)
        image = build(folder, base, (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8"))
        return image.check()


class Image:
    """A root that is built, and what the Dockerfile says about running it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user = "0:0"
        self.variables: dict[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}

    def shell(self, command: str) -> None:
        """Run a command in it, as RUN does."""
        run("chroot", str(self.root), "/bin/sh", "-ec", command, variables=self.variables)

    def check(self) -> int:
        """Run the command as the image's user, on a root that is mounted read-only."""
        words = "reconciler version && reconciler demo --folder /tmp/fleet && ! touch /opt/x"
        chroot = f"{shutil.which('chroot')} --userspec={self.user} {self.root}"
        inner = f"exec {chroot} /bin/sh -ec '{words}'"
        mounts = f"mount --bind {self.root} {self.root} && mount -o remount,ro,bind {self.root}"
        for kind, place in (("tmpfs", "tmp"), ("proc", "proc")):
            mounts += f" && mount -t {kind} none {self.root / place}"
        command = ["unshare", "--mount", "/bin/sh", "-ec", f"{mounts} && {inner}"]
        return subprocess.run(command, env=self.variables, check=False).returncode


def build(folder: Path, base: Path, dockerfile: str) -> Image:
    """Follow a Dockerfile; return the last image."""
    stages: dict[str, Image] = {}
    image = Image(base)
    for word, rest in instructions(dockerfile):
        match word:
            case "FROM":
                name, _, stage = rest.partition(" AS ")
                image = Image(folder / f"stage-{len(stages)}")
                below = stages.get(name)
                if below is not None:
                    image.user, image.variables = below.user, dict(below.variables)
                run("cp", "--archive", str(base if below is None else below.root), str(image.root))
                stages[stage or "last"] = image
            case "COPY":
                copy(rest, image.root, stages)
            case "RUN":
                image.shell(rest)
            case "ENV":
                image.variables |= dict(part.split("=", 1) for part in rest.split())
            case "USER":
                image.user = rest
            case "VOLUME" | "EXPOSE" | "ENTRYPOINT" | "CMD":
                pass
            case _:
                raise ValueError(f"{word} is an instruction that is not known here")
    return image


def copy(rest: str, root: Path, stages: Mapping[str, Image]) -> None:
    """Copy files of the source tree, or of another stage."""
    *patterns, into = rest.split()
    target = root / into.lstrip("/")
    if patterns[0].startswith("--from="):
        source = stages[patterns[0].removeprefix("--from=")].root / patterns[1].lstrip("/")
        shutil.copytree(source, target, symlinks=True)
        return
    target.mkdir(parents=True)
    for pattern in patterns:
        for file in ROOT.glob(pattern):
            shutil.copy(file, target)


def lend(root: Path) -> None:
    """Give a root this machine's way into the network."""
    for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
        shutil.copy(file, root / file.lstrip("/"))
    for proxy in Path("/etc/apt").glob("apt.conf.d/*proxy*"):
        shutil.copy(proxy, root / "etc/apt/apt.conf.d")


def run(*command: str, variables: Mapping[str, str] | None = None) -> None:
    """Run a command that must succeed."""
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    given = None if variables is None else {**passed, **variables}
    subprocess.run(command, env=given, check=True)


if __name__ == "__main__":
    sys.exit(main())
