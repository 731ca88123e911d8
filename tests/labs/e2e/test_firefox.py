"""The main journeys in Firefox, which npm's puppeteer-core drives by WebDriver BiDi."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import packages
from tests.labs.e2e.browser import SCREENSHOTS
from tests.labs.e2e.page_walk import site
from tests.live import administrator
from tests.service import PASSWORD

HERE = Path(__file__).parent / "firefox"
TIME_LIMIT = 300.0
FIREFOX = os.environ.get("GATEWRIGHT_TEST_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")


@pytest.mark.skipif(FIREFOX is None, reason="Firefox is not here (on Debian: apt install firefox-esr)")
def test_firefox_shows_and_sends_every_page_of_the_journeys(tmp_path: Path) -> None:
    script = shutil.copy(HERE / "journey.mjs", packages.from_npm("firefox", HERE / "package.json"))
    with site(tmp_path) as running:
        root = administrator(running.origin, running.directory)
        done = subprocess.run(
            ["node", script, str(FIREFOX), running.origin, root, PASSWORD, str(SCREENSHOTS / "firefox")],
            capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
