"""The page about email providers has settings that the program accepts, and names the sources of its figures."""

import re
from pathlib import Path

import pytest

from server.config.groups.mail import MailSettings
from server.services import load_settings
from tests.docs.typing_in import PAGES, blocks

PAGE = (PAGES / "operations" / "email-providers.md").read_text("utf-8")
SECTION = PAGE.partition("\n## Ten providers\n")[2].partition("\n## ")[0]
PROVIDERS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("| ") and "](https://" in line
]
[EXAMPLE] = blocks(PAGE.replace("\n    ", "\n"), "toml")


def provider(cells: list[str]) -> str:
    """Return the name of a provider, without its sources."""
    return cells[0].partition("<br>")[0]


def mail_of(directory: Path, text: str) -> MailSettings:
    """Return the settings of emails that a file has."""
    (directory / "gatewright.toml").write_text(text, "utf-8")
    return load_settings({"GATEWRIGHT_PROFILE": "development"}, directory)[MailSettings]


def test_there_are_ten() -> None:
    assert len({provider(cells) for cells in PROVIDERS}) == 10


@pytest.mark.parametrize("cells", PROVIDERS, ids=provider)
def test_the_settings_of_a_provider_are_accepted(cells: list[str], tmp_path: Path) -> None:
    host, port, tls = re.findall(r"`([^`]+)`", cells[1])
    values = {"smtp.example.net": host, "465": port, '"tls"': f'"{tls}"'}
    text = re.sub("|".join(values), lambda found: values[found[0]], EXAMPLE.text)

    smtp = mail_of(tmp_path, text).smtp

    assert (smtp.host, smtp.port, smtp.tls) == (host, int(port), tls)
    assert smtp.tls == ("tls" if port == "465" else "starttls")
