"""What people do whose keys are allowed, and the operator."""

from collections.abc import Callable

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
