"""Makes docs/pictures: the page over a fleet of some size, as a browser shows it.

`python -m tests.page.pictures` makes a fleet with a few passes, and writes small PNGs.
"""

import io
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image

from tests.builders import DYNAMIC, NOW, cluster, cluster_status, deployment, policy, selector, text
from tests.page.browser import Browser, chromium
from tests.page.served import ServedPage, served_page
from tests.shell.fleet import ROOT, Clock, new_passes
from tests.shell.repositories import Checkout, new_checkout

FOLDER = ROOT / "docs/pictures"
SIZE = "1280,900"
COLOURS = 96
OBJECT = "/object?group=apps&kind=Deployment&namespace=shop&name=cart"
PICTURES = {
    "fleet": ("/", "light"),
    "fleet-dark": ("/", "dark"),
    "cluster": ("/cluster?name=eu-west-11", "light"),
    "cluster-dark": ("/cluster?name=eu-north-11#past", "dark"),
    "objects": ("/objects?sort=-replicas", "light"),
    "object": (OBJECT, "light"),
    "matrix": ("/matrix", "light"),
    "timeline": ("/timeline", "light"),
    "what-if": ("/what-if?fail=us-east-11", "light"),
    "rebalance": (OBJECT.replace("/object", "/rebalance"), "light"),
}
REGIONS = ("eu-west", "eu-north", "us-east", "ap-south")
SCALED = (
    (1310, "shop", "cart", 12),
    (1250, "media", "video", 18),
    (1180, "shop", "search", 30),
    (1010, "shop", "cart", 18),
    (840, "billing", "ledger", 6),
    (770, "shop", "search", 16),
    (640, "shop", "cart", 9),
)
"""What people scale in the day before: minutes ago, and to how many replicas."""
NAMES = {
    "shop": ("cart", "checkout", "catalog", "search", "reviews"),
    "media": ("images", "video", "thumbnails", "streams"),
    "billing": ("invoices", "ledger", "payments"),
}


def manifest(region: str, number: int, ready: str = "True", *, since: datetime = NOW) -> str:
    """Return a cluster, some of them small."""
    status = cluster_status(ready, cpu=str(8 + 7 * number % 40), since=since)
    return text(cluster(f"{region}-{number:02}", region=f"{region}", status=status))


def pictured_fleet(folder: Path) -> Checkout:
    """Make a fleet: placed and scaled; a cluster has just failed, and an object has none."""
    files = {f"clusters/{r}-{n}.yaml": manifest(r, n) for r in REGIONS for n in range(1, 13)}
    for space, names in NAMES.items():
        most = 3 * len(names)
        spread = [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": most}]
        placement = {"replicaScheduling": DYNAMIC, "spreadConstraints": spread}
        claim = policy("spread", namespace=space, placement=placement)
        files[f"policies/{space}.yaml"] = text(claim)
        files |= {
            f"workloads/{name}.yaml": text(
                deployment(name, namespace=space, replicas=6 + 5 * at, cpu="900m")
            )
            for at, name in enumerate(names)
        }
    fleet = new_checkout(folder, files)
    now = datetime.now(UTC).replace(microsecond=0)

    def run(minutes: int) -> None:
        new_passes(fleet.folder, Clock(now - timedelta(minutes=minutes))).run()

    def scale(minutes: int, space: str, name: str, replicas: int) -> None:
        scaled = deployment(name, namespace=space, replicas=replicas, cpu="900m")
        fleet.commit({f"workloads/{name}.yaml": text(scaled)}, f"Scale {name} to {replicas}")
        run(minutes)

    run(3000)
    for minutes, space, name, replicas in SCALED:
        scale(minutes, space, name, replicas)
    fleet.commit({"clusters/us-east-8.yaml": manifest("us-east", 8, "False")}, "Lose us-east-08")
    run(520)
    fleet.commit({"clusters/us-east-8.yaml": manifest("us-east", 8)}, "Have us-east-08 back")
    scale(430, "media", "streams", 26)
    scale(95, "shop", "cart", 24)
    failed = now - timedelta(minutes=2)  # what is on it is tolerated there for some minutes still
    lost = policy(
        "export",
        namespace="billing",
        selectors=[selector(name="export")],
        placement={"clusterAffinity": {"clusterNames": ["eu-central-01"]}},
    )
    fleet.commit(
        {
            "clusters/eu-west-11.yaml": manifest("eu-west", 11, "False", since=failed),
            "workloads/export.yaml": text(deployment("export", namespace="billing")),
            "policies/export.yaml": text(lost),
        },
        "Report that eu-west-11 has no power",
    )
    run(1)
    return fleet


def small(png: bytes) -> bytes:
    """Return a picture with few colours, as small as PNG has it."""
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def take(page: ServedPage, person: Browser) -> None:
    """Write the pictures."""
    for title, (path, theme) in PICTURES.items():
        person.prefer(theme)
        person.open(f"{page.address}{path}")
        png = small(person.driver.get_screenshot_as_png())
        (FOLDER / f"{title}.png").write_bytes(png)
        print(f"{title}.png: {len(png)} bytes")


def main() -> None:
    """Make the fleet and its pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="reconciler-pictures-") as name:
        fleet = pictured_fleet(Path(name) / "fleet")
        profile = Path(name) / "profile"
        with served_page(fleet.folder) as page, chromium(profile, size=SIZE) as person:
            take(page, person)


if __name__ == "__main__":
    main()
