"""The settings in the console."""

import pytest

from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS
from tests.handlers.test_console import administrator

PATH = "/console/settings"
SECRET = "the password of the mail server"


@pytest.mark.threat("C9")
@pytest.mark.operation("console.settings.show_list")
async def test_settings_are_shown_by_group_and_found_by_name(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, "mail.smtp.password": SECRET})
    browser = await administrator(service)

    page = await browser.open(PATH)
    assert "mail.smtp.password" in page.text
    assert SECRET not in page.text

    assert "Password, if the server requires one." in page.text
    assert "Documentation" not in page.links

    page = await browser.open(f"{PATH}?search=MAIL.smtp")
    assert "mail.smtp.password" in page.text
    assert "session.expires_in" not in page.text

    page = await browser.open(f"{PATH}?search=%3Cb%3E")
    assert "No setting matches." in page.text


@pytest.mark.parametrize("url", ["https://docs.example.com", "https://docs.example.com/"])
async def test_each_group_has_a_link_to_its_documentation(make_service: MakeService, url: str) -> None:
    service = await make_service({**SETTINGS, "console.docs_url": url})
    browser = await administrator(service)

    page = await browser.open(PATH)

    reference = "https://docs.example.com/reference/settings.html"
    assert {f"{reference}#mail-smtp", f"{reference}#the-service"} <= page.targets
