"""Makes docs/pictures: the page over the example repository, as a browser shows it.

`python -m tests.page.pictures` makes a fleet with three passes, and writes small PNGs.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image

from tests.cli.history import told_fleet
from tests.page.browser import chromium
from tests.page.served import VIEWS, served_page
from tests.shell.fleet import ROOT

FOLDER = ROOT / "docs/pictures"
SIZE = "1180,980"
COLOURS = 64
PICTURES = {
    "fleet": "/",
    "matrix": "/matrix",
    "object": VIEWS[-1],
    "timeline": "/timeline",
    "what-if": "/what-if?fail=member2",
}


def small(png: bytes) -> bytes:
    """Return a picture with few colours, as small as PNG has it."""
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="reconciler-pictures-") as name:
        fleet = told_fleet(Path(name) / "fleet")
        profile = Path(name) / "profile"
        with served_page(fleet.folder) as page, chromium(profile, size=SIZE) as person:
            for title, path in PICTURES.items():
                person.open(f"{page.address}{path}")
                png = small(person.driver.get_screenshot_as_png())
                (FOLDER / f"{title}.png").write_bytes(png)
                print(f"{title}.png: {len(png)} bytes")


if __name__ == "__main__":
    main()
