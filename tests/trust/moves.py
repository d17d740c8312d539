"""Moves in any order: those of strangers, of people, and looks of the daemon."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from tests.trust.campaign import FEEDBACK, OUTPUT, WEB, Campaign, report_file, workload_file


def scale(campaign: Campaign) -> None:
    """Ada scales the workload on top of what is there."""
    _sign(campaign, "main", {WEB: workload_file(campaign.next_number())})


def report(campaign: Campaign) -> None:
    """Ada reports."""
    _sign(campaign, "reports", {FEEDBACK: report_file(campaign.next_number())})


def report_by_daemon(campaign: Campaign) -> None:
    """An import reports by the daemon's key."""
    message = "Import\n\nReconciled-For: reports reports"
    made = _sign(
        campaign, "reports", {FEEDBACK: report_file(campaign.next_number())}, message=message
    )
    if made:
        campaign.oracle.made[made] = "reports"


def work_on_topic(campaign: Campaign) -> None:
    """Ada signs work that she has not merged, on top of what is there or of `main`."""
    if campaign.chosen.random() < 0.3 and "main" in campaign.shared.heads():
        campaign.shared.move("topic", campaign.shared.heads()["main"])
    _sign(campaign, "topic", {"notes.txt": f"{campaign.next_number()}\n"})


def merge(campaign: Campaign) -> None:
    """Ada merges another branch, and takes nothing of it but its commits."""
    heads = campaign.shared.heads()
    other = heads.get(campaign.chosen.choice(campaign.branches))
    if "main" in heads and other is not None:
        tree = f"{heads['main']}^{{tree}}"
        parents = [heads["main"], other]
        merged = campaign.shared.commit_tree(
            campaign.shared.git("rev-parse", tree), parents, by=campaign.shared.ada
        )
        campaign.shared.move("main", merged)


def edit_what_is_ours(campaign: Campaign) -> None:
    """Ada edits what the daemon wrote, or adds to it."""
    branch = campaign.chosen.choice([campaign.moved, "fleet"])
    _sign(
        campaign,
        branch,
        {f"{campaign.written_below(branch)}/person-{campaign.next_number()}.yaml": "e: 1\n"},
    )


def put_right(campaign: Campaign) -> None:
    """Somebody sets branches to what counts of them."""
    for branch, trusted in sorted(campaign.oracle.trusted.items()):
        if campaign.chosen.random() < 0.7:
            campaign.told(branch)
            campaign.shared.move(branch, trusted)


def review(campaign: Campaign) -> None:
    """The operator names the head of a branch, and starts the daemon again."""
    branch = "main"
    if _is_harmless(campaign, branch) and campaign.oracle.review(branch):
        campaign.anchors = (campaign.shared.heads()[branch],)
        campaign.restart()
        campaign.look()


def _is_harmless(campaign: Campaign, branch: str) -> bool:
    """Return whether a head has nothing of strangers in its files."""
    head = campaign.shared.heads().get(branch)
    listed = "" if head is None else campaign.files(head, ["."])
    needed = [f":{WEB}:", ":reconciler.yaml:", ":cluster/a.yaml:", ":propagationpolicy/"]
    needed += [] if campaign.apart else [":status/reconciler.yaml:", ":status/resourcebindings"]
    wrong = OUTPUT.search(listed) or ":delivery/" in listed
    return not wrong and all(one in listed for one in needed)


def _sign(
    campaign: Campaign, branch: str, files: dict[str, str | None], *, message: str = "Change"
) -> str:
    """Let a person, or the daemon's key where a message is given, commit to a branch."""
    head = campaign.shared.heads().get(branch)
    if head is None:
        return ""
    by = campaign.shared.ada if message == "Change" else campaign.shared.robot
    commit = campaign.shared.commit([head], files, by=by, message=message)
    campaign.shared.move(branch, commit)
    campaign.told(f"{branch} {commit[:8]}")
    return commit


PEOPLES_MOVES: list[Callable[[Campaign], None]] = [
    scale,
    scale,
    report,
    report_by_daemon,
    work_on_topic,
    merge,
    edit_what_is_ours,
    put_right,
    put_right,
    review,
    Campaign.look_twice,
    Campaign.look_twice,
]


def push(campaign: Campaign) -> None:
    """Commit something, unsigned or by a key that is not allowed."""
    branch, by = (
        campaign.chosen.choice(campaign.branches),
        campaign.chosen.choice([None, campaign.shared.stranger]),
    )
    number = campaign.next_number(strange=True)
    options: list[dict[str, str | None]] = [
        {WEB: workload_file(number)},
        {WEB: None},
        {FEEDBACK: report_file(number)},
        {"reconciler.yaml": None},
        {f"{campaign.written_below(branch)}/stranger-{number}.yaml": "e: 1\n"},
        {f"{campaign.written_below(branch)}/x/{n}.yaml": "stranger\n" for n in range(20)},
        {campaign.written_below(branch).partition("/")[0]: None},
        {campaign.written_below(branch).partition("/")[0]: "stranger\n"},
        {"delivery.yaml": "status:\n  destinations: [{transport: folders, path: x}]\n"},
    ]
    files = campaign.chosen.choice(options)
    links = list(files)[: campaign.chosen.choice([0, 0, 1])]
    head = campaign.shared.heads().get(branch)
    if head is not None:
        commit = campaign.shared.commit([head], files, by=by, links=links)
        campaign.shared.move(branch, commit)
        campaign.told(f"{branch} {min(files)} {commit[:8]}")


def set_branch(campaign: Campaign) -> None:
    """Set a branch to any commit that ever was a head, or to another branch."""
    branch = campaign.chosen.choice(campaign.branches)
    heads = campaign.shared.heads()
    recent = [heads[name] for name in campaign.branches if name in heads]
    commit = campaign.chosen.choice([*recent * 4, *sorted(campaign.shared.known)])
    campaign.shared.move(branch, commit)
    campaign.told(f"{branch} {commit[:8]}")


def detour(campaign: Campaign) -> None:
    """Let the daemon write on top of one branch on another, and bring that back."""
    here = campaign.chosen.choice(["main", *campaign.branches])
    there = campaign.chosen.choice(["fleet", "fleet", campaign.moved, *campaign.branches])
    if here in campaign.shared.heads():
        campaign.shared.move(there, campaign.shared.heads()[here])
        campaign.look()
        campaign.shared.move(
            here, campaign.shared.heads().get(there, campaign.shared.heads()[here])
        )
        campaign.told(f"{here} {there}")
        campaign.look()


def forward(campaign: Campaign) -> None:
    """Set a branch to one that comes after it, as a push that is not forced does."""
    heads = campaign.shared.heads()
    after = [
        (branch, other)
        for branch in campaign.branches
        for other in campaign.branches
        if branch in heads
        and other in heads
        and heads[branch] != heads[other]
        and campaign.shared.contains(heads[branch], heads[other])
    ]
    if after:
        branch, other = campaign.chosen.choice(after)
        campaign.shared.move(branch, heads[other])
        campaign.told(f"{branch} {other}")


def merge_unsigned(campaign: Campaign) -> None:
    """Merge a commit into a branch, either of them first."""
    branch = campaign.chosen.choice(campaign.branches)
    head = campaign.shared.heads().get(branch)
    other = campaign.chosen.choice(sorted(campaign.shared.known))
    if head is not None:
        parents = campaign.chosen.sample([head, other], 2)
        tree = campaign.shared.git("rev-parse", f"{campaign.chosen.choice(parents)}^{{tree}}")
        campaign.shared.move(branch, campaign.shared.commit_tree(tree, parents, by=None))
        campaign.told(f"{branch} {parents[0][:8]} {parents[1][:8]}")


def rename(campaign: Campaign) -> None:
    """Give a branch the name of another one."""
    branch, other = campaign.chosen.sample(campaign.branches, 2)
    heads = campaign.shared.heads()
    if branch in heads and branch != "main":
        campaign.shared.move(other, heads[branch])
        campaign.shared.git("update-ref", "-d", f"refs/heads/{branch}")
        campaign.told(f"{branch} {other}")


def delete(campaign: Campaign) -> None:
    """Delete a branch."""
    branch = campaign.chosen.choice(campaign.branches[1:])
    campaign.shared.git("update-ref", "-d", f"refs/heads/{branch}")
    campaign.told(branch)


def tag(campaign: Campaign) -> None:
    """Give a tag the name of a branch."""
    commit = campaign.chosen.choice(sorted(campaign.shared.known))
    campaign.shared.git(
        "update-ref", f"refs/tags/{campaign.chosen.choice(campaign.branches)}", commit
    )


STRANGERS_MOVES: list[Callable[[Campaign], None]] = [
    push,
    push,
    set_branch,
    set_branch,
    detour,
    detour,
    forward,
    merge_unsigned,
    rename,
    delete,
    tag,
]


KINDS = [*STRANGERS_MOVES] * 2 + [*PEOPLES_MOVES] * 2 + [Campaign.look] * 9


def play(folder: Path, seed: int, moves: int) -> None:
    """Make moves in a new repository; by its seed it has outputs apart, or is served from afar.

    Raises:
        LawBrokenError: A law does not hold.
    """
    chosen = random.Random(seed)  # noqa: S311  # moves, not secrets
    apart, mirrored = seed % 2 == 1, seed % 4 > 1
    with closing(Campaign(folder, chosen, apart=apart, mirrored=mirrored)) as campaign:
        campaign.make(_chosen_moves(chosen, moves))


def _chosen_moves(chosen: random.Random, count: int) -> Iterator[Callable[[Campaign], None]]:
    """Yield so many moves; the daemon looks after every third or so."""
    return (chosen.choice(KINDS) for _ in range(count))
