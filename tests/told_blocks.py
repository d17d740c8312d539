"""What a document shows of the commands: the blocks behind `<!-- told -->`.

They are run on the history that the tests of the commands have; ids of commits and ages differ from
run to run, `...` stands for lines left out.
"""

import re

from tests.shell.fleet import ROOT

BLOCK = re.compile(r"<!-- told -->\n```\n(.*?)```\n", re.DOTALL)
ELSEWHERE = re.compile(r"\b[0-9a-f]{12}\b|\b[0-9a-f]{40}\b|^\d+[smhd] +", re.MULTILINE)
ELIDED = "..."


def told(document: str) -> list[tuple[str, list[list[str]]]]:
    """Each command with the pieces of its output, as a document shows them."""
    found: list[tuple[str, list[list[str]]]] = []
    for block in BLOCK.findall((ROOT / document).read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ reconciler "):
                found.append((line.removeprefix("$ reconciler "), [[]]))
            elif line == ELIDED:
                found[-1][1].append([])
            else:
                found[-1][1][-1].append(line)
    return found


def missing(pieces: list[list[str]], out: str) -> str:
    """Return the first piece that an output has not, one behind the other; `""` if it has all."""
    rest = ELSEWHERE.sub("~", out)
    for piece in pieces:
        wanted = ELSEWHERE.sub("~", "".join(f"{line}\n" for line in piece))
        if wanted not in rest:
            return f"{wanted}is not in\n{rest}"
        rest = rest[rest.index(wanted) + len(wanted) :]
    return ""
