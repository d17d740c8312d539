"""What somebody does who may push, and has no key that is allowed."""

from collections.abc import Callable

from tests.trust.campaign import FEEDBACK, WEB, Campaign, report_file, workload_file


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
