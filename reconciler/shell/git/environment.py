"""What git is started with: an environment made from nothing, and settings that outrank any file's.

They switch off whatever a repository could make git execute: hooks, file system monitors, signing
programs, transports.
"""

from collections.abc import Mapping

KEPT = ("PATH", "SSH_AUTH_SOCK")
"""Variables of the caller's environment that git may see."""

SSH_COMMAND = "ssh -o BatchMode=yes -o ConnectTimeout=15"

ENVIRONMENT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "none",  # only the mirror talks to remotes, and says by which protocol
    "GIT_ASKPASS": "true",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_COMMITTER_EMAIL": "reconciler@localhost",  # reflogs only; commits name their identity
    "GIT_COMMITTER_NAME": "reconciler",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": "/dev/null",  # or else a file of the repository rewrites its history
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone must not fetch behind our back
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": SSH_COMMAND,
    "GIT_SSH_VARIANT": "ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": "/nonexistent",
    "LANGUAGE": "C",
    "LC_ALL": "C",
}

SETTINGS: Mapping[str, str] = {
    "commit.gpgsign": "false",
    "core.alternateRefsCommand": "true",
    "core.attributesFile": "/dev/null",
    "core.fsmonitor": "false",
    "core.fsync": "all",  # objects, references and the index outlive a loss of power
    "core.hooksPath": "/dev/null",
    "core.sshCommand": SSH_COMMAND,
    "core.untrackedCache": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "log.showSignature": "false",  # or else git log runs gpg.program
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "tag.gpgSign": "false",
}
"""Settings that outrank those of any file; a repository's own cannot undo them."""
