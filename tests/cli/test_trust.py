"""Keys that an operator names: commits are signed, checked and proven, here and at a remote."""

import json
import shutil
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.cli.trust import read_reporters
from reconciler.errors import UsageError
from tests.shell.counted import FRONTEND_OUTPUT, SHOP_OUTPUT
from tests.shell.fleet import EXAMPLE, new_fleet
from tests.shell.keys import SshKey, allowing, commit_signed, gpg_home, new_ssh_key
from tests.shell.repositories import Checkout, git, new_bare

SHOP = "workloads/shop.yaml"
TAINTED, FRONTEND = "clusters/member2.yaml", "policies/frontend.yaml"
TAINT = """\
  taints:
  - {key: spot, effect: NoExecute}
"""
TOLERATED = """\
  placement:
    clusterTolerations:
    - {key: spot, operator: Exists, effect: NoExecute, tolerationSeconds: 240}
"""
TOLERATING = EXAMPLE[FRONTEND].replace("  placement:\n", TOLERATED)


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, where a taint is tolerated until 12:04, so that there is something to write."""
    return new_fleet(tmp_path / "fleet", {TAINTED: EXAMPLE[TAINTED] + TAINT, FRONTEND: TOLERATING})


def answer(fleet: Checkout, *arguments: str) -> int:
    """Run a verb and return its exit code."""
    return run(["-C", str(fleet.folder), "--cache-dir", "off", *arguments])


def keys(folder: Path, *, trusted: str = "") -> tuple[SshKey, SshKey, list[str]]:
    """Make the keys of Ada and of the daemon, and the options that name them."""
    ada, robot = (new_ssh_key(folder / "keys", who) for who in ("ada", "robot"))
    allowed = allowing(folder, ada, robot)
    options = ["--signing-key", str(robot.file), "--allowed-signers", str(allowed)]
    return ada, robot, [*options, *(["--trust-from", trusted] if trusted else [])]


def first_pass(fleet: Checkout, *options: str) -> list[str]:
    """Run a pass at noon, and return what runs another at the moment that is appended."""
    at = ["reconcile", *options, "--now"]
    assert 0 == answer(fleet, *at, "2026-11-20T12:00:00Z")
    return at


def test_reconcile_signs_with_a_key_of_gpg(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key is looked for in GNUPGHOME, and the signature holds."""
    with gpg_home() as home:
        monkeypatch.setenv("GNUPGHOME", str(home))
        code = answer(
            fleet, "reconcile", "--signing-format", "gpg", "--signing-key", "robot@example.com"
        )
        proof = answer(
            fleet, "verify", "HEAD~1..HEAD", "--signatures", "--allowed-keyring", str(home)
        )

    assert (0, 0) == (code, proof)
    assert "1 of 1 commit signed by an allowed key" in capsys.readouterr().out


def test_a_range_is_proven_by_its_signatures(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each commit that no allowed key signed is a finding, also for machines."""
    _, _, options = keys(tmp_path, trusted=fleet.head())
    first = fleet.head()
    assert 0 == answer(fleet, "reconcile", *options)
    unsigned = fleet.commit({"notes.txt": "n\n"})
    capsys.readouterr()

    codes = [
        answer(fleet, "verify", f"{first}..HEAD", "--signatures", *options[2:4]),
        answer(fleet, "verify", f"{first}..{unsigned}~1", "--signatures", *options[2:4]),
    ]
    told = capsys.readouterr().out
    codes.append(
        answer(fleet, "verify", f"{first}..HEAD", "--signatures", *options[2:4], "-o", "json")
    )
    document = json.loads(capsys.readouterr().out)

    assert [1, 0, 1] == codes
    assert f"✘ {unsigned[:12]}  it is not signed" in told
    assert "1 of 2 commits signed by an allowed key" in told
    assert [(unsigned, "it is not signed")] == [
        (one["revision"], one["problem"]) for one in document["signatures"] if one["problem"]
    ]


def test_a_pass_over_commits_that_wait_is_proven(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the inputs that it was made from and the commit that it stands on."""
    _, _, options = keys(tmp_path, trusted=fleet.head())
    at = first_pass(fleet, *options)
    fleet.commit({SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 9")})
    assert 1 == answer(fleet, *at, "2026-11-20T12:05:00Z")
    assert "Reconciled-Over" in fleet.git("log", "-1", "--format=%B")
    capsys.readouterr()

    assert 0 == answer(fleet, "verify")

    assert "2 of 2 decision commits verified" in capsys.readouterr().out


def test_a_pass_on_a_branch_that_was_set_back_counts_as_forged(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was made from inputs that the branch no longer has."""
    ada, _, options = keys(tmp_path, trusted=fleet.head())
    at = first_pass(fleet, *options)
    old = fleet.head()
    placed = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: others")
    commit_signed(fleet, ada, {"workloads/others.yaml": placed})
    assert 0 == answer(fleet, *at, "2026-11-20T12:01:00Z")
    fleet.git("reset", "--quiet", "--hard", old)
    assert 1 == answer(fleet, *at, "2026-11-20T12:05:00Z")
    capsys.readouterr()

    assert 1 == answer(fleet, "verify", f"{old}..HEAD")

    assert "is no ancestor of it" in capsys.readouterr().out


def test_status_lists_what_waits(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the first commit that no allowed key has signed on, without passes; until it counts."""
    _, _, options = keys(tmp_path, trusted=fleet.head())
    at = first_pass(fleet, *options)
    first = fleet.commit({"notes.txt": "n\n"}, "Take notes")
    assert 1 == answer(fleet, *at, "2026-11-20T12:05:00Z")
    newest = fleet.commit({"notes.txt": "m\n"})
    capsys.readouterr()

    assert 0 == answer(fleet, "status")
    told = capsys.readouterr().out
    assert 0 == answer(fleet, "status", "-o", "json")
    waiting = json.loads(capsys.readouterr().out)["unaccepted"]
    assert 0 == answer(fleet, *at, "2026-11-20T12:06:00Z", "--trust-from", newest)
    capsys.readouterr()
    assert 0 == answer(fleet, "status", "-o", "json")

    assert [newest, first] == [one["commit"] for one in waiting]
    assert (
        f"Unaccepted:  2 commits from {first[:12]} (Take notes) on, which are not accepted" in told
    )
    assert [] == json.loads(capsys.readouterr().out)["unaccepted"]


@pytest.mark.parametrize("output_branch", [None, "fleet-status"], ids=["one branch", "two"])
def test_a_pass_that_puts_outputs_back_is_proven(
    fleet: Checkout,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    output_branch: str | None,
) -> None:
    """It names the outputs that it was made from; the edit itself stays a finding."""
    ada, _, options = keys(tmp_path, trusted=fleet.head())
    apart = ["--output-branch", output_branch] if output_branch else []
    at = first_pass(fleet, *apart, *options)
    outputs = fleet.git("rev-parse", output_branch or "main")
    edited = edit_outputs(fleet, output_branch or "main")
    if output_branch:
        commit_signed(fleet, ada, {SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 4")})
    assert 1 == answer(fleet, *at, "2026-11-20T12:05:00Z")
    capsys.readouterr()

    code = answer(fleet, "verify", *apart, "--signatures", *options[2:4], "-o", "json")

    found = json.loads(capsys.readouterr().out)
    commits = found["commits"]
    states = [(one["commit"], one["state"]) for one in commits[-3:]]
    newest = fleet.git("rev-parse", output_branch or "main")
    assert [(outputs, "proven"), (edited, "tampered"), (newest, "proven")] == states
    signed = [(one["revision"], one["problem"]) for one in found["signatures"][-3:]]
    assert [(outputs, ""), (edited, "it is not signed"), (newest, "")] == signed
    assert f"Reconciled-Outputs: {outputs}" in fleet.git("log", "-1", "--format=%B", newest)
    assert 1 == code


@pytest.mark.parametrize(
    ("named", "state", "said"),
    [
        pytest.param("{outputs}", "different", "a pass would write it,", id="left out"),
        pytest.param("{edited}", "different", "a pass would leave it as it is", id="newer"),
        pytest.param("{start}", "forged", "Outputs {start:.12} is not between", id="old"),
        pytest.param("main", "forged", "is not once the id of a commit", id="no commit"),
    ],
)
def test_a_pass_that_puts_back_something_else_is_a_finding(
    fleet: Checkout,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    named: str,
    state: str,
    said: str,
) -> None:
    """Whoever can push cannot pass off other outputs as put back."""
    start = fleet.head()
    _, _, options = keys(tmp_path, trusted=start)
    at = first_pass(fleet, *options)
    outputs = fleet.head()
    names = {"start": start, "outputs": outputs, "edited": edit_outputs(fleet, "main")}
    assert 1 == answer(fleet, *at, "2026-11-20T12:05:00Z")
    message = fleet.git("log", "-1", "--format=%B").replace(
        f"Reconciled-Outputs: {outputs}", f"Reconciled-Outputs: {named.format(**names)}"
    )
    if named == "{outputs}":
        fleet.git("rm", "--quiet", FRONTEND_OUTPUT)
    fleet.git("commit", "--quiet", "--amend", "-m", message)
    capsys.readouterr()

    assert 1 == answer(fleet, "verify", "HEAD~1..HEAD", "-o", "json")

    [commit] = json.loads(capsys.readouterr().out)["commits"]
    assert state == commit["state"]
    assert said.format(**names) in str(commit["findings"])


def edit_outputs(fleet: Checkout, branch: str) -> str:
    """Commit, unsigned, one output that is gone, one that is wrong and one too many."""
    fleet.git("switch", "--quiet", branch)
    fleet.git("rm", "--quiet", FRONTEND_OUTPUT)
    commit = fleet.commit({SHOP_OUTPUT: "gone: wrong\n", "status/extra.txt": "e\n"})
    fleet.git("switch", "--quiet", "main")
    return commit


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--signing-key", "{folder}/none"], "cannot be read: No such file or directory"),
        (["--signing-key", "-x", "--signing-format", "gpg"], "must be the id, fingerprint"),
        (["--trust-from", "a" * 40], "--trust-from requires --allowed-signers"),
        (["--reporters-file", "x"], "--reporters-file requires --allowed-signers"),
        (["--allowed-signers", "{folder}/allowed_signers"], "require --signing-key"),
        (["--allowed-keyring", "{folder}/none"], "must be a gpg home, and is not"),
        (
            ["--allowed-signers", "{folder}/allowed_signers", "--trust-from", "main"],
            "--trust-from must be the full id of a commit, not 'main'",
        ),
        (
            [
                "--signing-key",
                "{folder}/keys/other",
                "--allowed-signers",
                "{folder}/allowed_signers",
            ],
            "must be one of the allowed keys, but its key SHA256:",
        ),
    ],
    ids=[
        "a file that is not there",
        "an id that is an option",
        "an anchor without keys",
        "reporters without keys",
        "checking without signing",
        "a keyring that is no folder",
        "an anchor that is a name",
        "a key that is not allowed",
    ],
)
def test_keys_that_cannot_be_used_are_told_at_the_start(
    fleet: Checkout,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """One sentence, before anything is decided."""
    keys(tmp_path)
    new_ssh_key(tmp_path / "keys", "other")
    before = fleet.head()

    code = answer(fleet, "reconcile", *(one.format(folder=tmp_path) for one in arguments))

    assert (2, before) == (code, fleet.head())
    assert said in capsys.readouterr().err


@pytest.fixture
def remote_fleet(tmp_path: Path) -> Checkout:
    """The example."""
    return new_fleet(tmp_path / "fleet")


def test_a_remote_is_followed_from_what_is_trusted(
    remote_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Ada signed is decided from and pushed signed; what nobody signed waits."""
    bare = new_bare(tmp_path / "remote.git")
    ada, _, options = keys(tmp_path, trusted=remote_fleet.head())
    remote = ["--remote", f"file://{bare}", "--mirror", str(tmp_path / "mirror")]
    commit_signed(remote_fleet, ada, {SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 4")})
    remote_fleet.git("push", "--quiet", str(bare), "main")
    assert 0 == answer(remote_fleet, "reconcile", *remote, *options)
    placed = git(bare, "rev-parse", "main")
    remote_fleet.git("fetch", "--quiet", str(bare), "main")
    remote_fleet.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    unsigned = remote_fleet.commit({SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 9")})
    remote_fleet.git("push", "--quiet", str(bare), "main")
    capsys.readouterr()

    code = answer(remote_fleet, "reconcile", "--dry-run", *remote, *options)

    told = capsys.readouterr().err
    assert f"main has {unsigned[:12]} by Ada <ada@example.com>, which waits: it is not" in told
    assert (1, True) == (code, "gpgsig" in git(bare, "cat-file", "commit", placed))


def test_a_mirror_that_was_lost_is_trusted_from_the_anchor_again(
    remote_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was accepted was kept there; without an anchor the whole line must be signed."""
    bare, mirror = new_bare(tmp_path / "remote.git"), tmp_path / "mirror"
    _, _, options = keys(tmp_path, trusted=remote_fleet.head())
    remote_fleet.git("push", "--quiet", str(bare), "main")
    at = ["reconcile", "--remote", f"file://{bare}", "--mirror", str(mirror), *options]
    codes = [answer(remote_fleet, *at, "--now", "2026-11-20T12:00:00Z")]

    shutil.rmtree(mirror)
    codes.append(answer(remote_fleet, *at, "--now", "2026-11-20T12:05:00Z"))
    shutil.rmtree(mirror)
    capsys.readouterr()
    codes.append(answer(remote_fleet, *at[:-2], "--now", "2026-11-20T12:10:00Z"))

    assert [0, 0, 1] == codes
    assert "it is not signed; sign it by an allowed key, or name it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [f"SHA256:{'a' * 43} member1 member2 # of Ada", "", f"SHA256:{'a' * 43} member3"],
            {f"SHA256:{'a' * 43}": {"member1", "member2", "member3"}},
            id="clusters",
        ),
        pytest.param([f"SHA256:{'a' * 43}"], "line 1, must be", id="no-cluster"),
        pytest.param(["# keys", "ada member1"], "line 2, must be", id="no-fingerprint"),
    ],
)
def test_reporters_are_fingerprints_with_clusters(
    tmp_path: Path, lines: list[str], expected: object
) -> None:
    """A line that is neither is refused, by its number."""
    file = tmp_path / "reporters"
    file.write_text("\n".join(lines))

    if isinstance(expected, str):
        with pytest.raises(UsageError, match=expected):
            read_reporters(file)
    else:
        assert expected == read_reporters(file)
