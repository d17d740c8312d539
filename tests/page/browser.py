"""A real Chromium for tests: headless, with a new profile, and what a person does with it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.shell.fleet import ROOT

T = TypeVar("T")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = "" if CHROMIUM and DRIVER else "no chromium and chromedriver here: apt-get install both"
AXE = ROOT / ".venv/page/node_modules/axe-core/axe.min.js"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
PATIENCE_SECONDS = 120.0  # only ends what hangs
ROLES = {"link": "a[href]", "button": "button", "heading": "h1, h2, h3", "row": "tr"}


class Browser:
    """Finds by role and text, and clicks, as a person does."""

    def __init__(self, driver: Chrome) -> None:
        """Take a browser that was started."""
        self.driver = driver

    def open(self, address: str) -> None:
        """Go to an address."""
        self.driver.get(address)

    def find(self, role: str, text: str) -> WebElement:
        """Return the first visible element of a role that has a text, once the page has it."""
        waiting = WebDriverWait(self.driver, PATIENCE_SECONDS, 0.05, (WebDriverException,))
        said = f"no {role} with {text!r}"
        found = waiting.until(lambda _: self._seen(role, text), message=said)
        assert found is not None
        return found

    def _seen(self, role: str, text: str) -> WebElement | None:
        """Return it as far as the page is there by now."""
        found = self.driver.find_elements(By.CSS_SELECTOR, ROLES[role])
        return next((one for one in found if one.is_displayed() and text in one.text), None)

    def click(self, role: str, text: str) -> None:
        """Click an element, and wait until the page that it leads to is there."""

        def clicked(_: Chrome) -> bool:
            self.find(role, text).click()
            return True

        self._once(clicked)

    def text(self) -> str:
        """Return all that can be seen."""
        return self._once(lambda driver: driver.find_element(By.TAG_NAME, "main").text or " ")

    def words_of(self, role: str, text: str) -> str:
        """Return all that the first visible element of a role says that has a text."""
        return self._once(lambda _: getattr(self._seen(role, text), "text", ""))

    def texts(self, selector: str) -> list[str]:
        """Return what the elements of a selector say, as the page is now."""
        found = self._once(
            lambda driver: ([one.text for one in driver.find_elements(By.CSS_SELECTOR, selector)],)
        )
        return found[0]

    def _once(self, action: Callable[[Chrome], T]) -> T:
        """Do something with the elements of a page; one that is replaced meanwhile has others."""
        waiting = WebDriverWait(self.driver, PATIENCE_SECONDS, 0.05, (WebDriverException,))
        return waiting.until(action)

    def until(self, script: str) -> None:
        """Wait until a script in the page says true."""
        WebDriverWait(self.driver, PATIENCE_SECONDS, 0.05).until(
            lambda driver: driver.execute_script(f"return {script}")
        )

    def row_of(self, name: str, expected: str) -> str:
        """Return the row of an object as soon as it is as expected: a page may be on its way."""
        xpath = f"//tr[th/a[.='{name}']]"

        def row(driver: Chrome) -> str:
            found = " ".join(driver.find_element(By.XPATH, xpath).text.split())
            return found if expected in found else ""

        return self._once(row)

    def run(self, script: str) -> Any:
        """Return what a script in the page says."""
        return self.driver.execute_script(f"return {script}")

    def complaints(self) -> list[str]:
        """Return what the browser complained of: policies that were broken, files not found."""
        return [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]

    def faults_of_access(self) -> list[str]:
        """Return what axe-core finds that is serious, each with where."""
        self.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        self.driver.refresh()
        self.driver.execute_script(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then((r) => done(r.violations))"
        )
        return [
            f"{one['id']}: {one['nodes'][0]['html']}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def resize(self, width: int) -> None:
        """Have a window of a width, as that of a telephone or of a large screen."""
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, theme: str) -> None:
        """Prefer `light` or `dark` colours, as the system's setting does."""
        scheme = {"name": "prefers-color-scheme", "value": theme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


@contextmanager
def chromium(profile: Path, *, script: bool = True, size: str = "1280,1400") -> Iterator[Browser]:
    """Run a Chromium while the block lasts; without a `script` it runs none."""
    options = ChromeOptions()
    for flag in (*FLAGS, f"--window-size={size}", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    if not script:
        options.add_experimental_option(
            "prefs", {"profile.managed_default_content_settings.javascript": 2}
        )
    assert CHROMIUM is not None
    options.binary_location = CHROMIUM
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
