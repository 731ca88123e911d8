"""The operations of openapi/paths/mailbox.yaml: the emails of the development profile, as pages."""

from html import unescape
from urllib.parse import urlsplit

import pytest

from domain.mail.outbox import LeasedMail
from server.mail.mailbox import KEPT, KeepingSender, RecentMails
from server.mail.message import Mail, TemporaryError
from tests.conftest import MakeService
from tests.handlers.steps import join
from tests.service import BASE_URL, START, Service

BOX = "/dev/mailbox"
ADA = "ada@example.com"


@pytest.mark.operation("mailbox.list_mails")
async def test_lists_what_was_sent_newest_first(make_cold_service: MakeService) -> None:
    service = await make_cold_service()
    assert "No emails yet" in (await service.get(BOX)).text
    await join(service)
    await service.inbox()
    service.clock.advance(minutes=1)
    await service.post("/request-password-reset", {"email": ADA})
    sent = await service.inbox()

    page = (await service.get(BOX)).text

    places = [page.index(f'href="{BOX}/{mail["id"]}"') for mail in reversed(sent)]
    assert len(places) == 2
    assert places == sorted(places)
    assert page.index("Reset your password") < page.index("Confirm your email address")
    assert "12:01:00 UTC" in page


@pytest.mark.operation("mailbox.show_html", "mailbox.show_mail")
async def test_shows_link_html_and_text_and_a_name_as_text(service: Service) -> None:
    await join(service, name="<script>alert(1)</script>")
    [mail] = await service.inbox()

    page = await service.get(f"{BOX}/{mail['id']}")
    html = await service.get(f"{BOX}/{mail['id']}/html")

    assert f'<a href="{mail["link"]}">' in unescape(page.text)
    assert mail["text"] in unescape(page.text)
    assert f'sandbox="allow-popups allow-popups-to-escape-sandbox" src="{BOX}/{mail["id"]}/html"' in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert html.text == mail["html"]
    assert "script-src" not in html.headers["content-security-policy"]
    assert "default-src 'none'" in html.headers["content-security-policy"]
    assert "sandbox allow-popups" in html.headers["content-security-policy"]


async def test_moves_under_the_base_path(make_service: MakeService) -> None:
    service = await make_service({"base_path": "/api/auth"})
    await join(service)
    [mail] = await service.inbox()

    page = (await service.get(BOX)).text

    assert f'href="/api/auth{BOX}/{mail["id"]}"' in page
    assert urlsplit(str(service.client.base_url)).path.rstrip("/") == "/api/auth"


async def test_what_is_not_there_is_not_found(service: Service) -> None:
    for path in ("/" + "x" * 32, "/" + "x" * 32 + "/html"):
        assert (await service.get(BOX + path)).status_code == 404


@pytest.mark.threat("R43")
@pytest.mark.parametrize(
    "settings",
    [
        {"mail.mailbox": "false"},
        {"profile": "production", "base_url": BASE_URL, "allow_http": "true", "secrets": "s" * 32},
    ],
    ids=["off", "production"],
)
async def test_does_not_exist_where_it_is_off(make_service: MakeService, settings: dict[str, str]) -> None:
    service = await make_service(settings)
    await join(service)
    [mail] = await service.inbox()

    found = [await service.get(BOX + path) for path in ("", f"/{mail['id']}", f"/{mail['id']}/html")]

    assert [answer.status_code for answer in found] == [404] * 3


def mail(number: int) -> Mail:
    """Return an email."""
    row = LeasedMail(str(number), "test", "console", 1, START, START, {})
    return Mail(row.id, row.template, ADA, "a@example.com", "A test", "", "", None, None, START)


class Unreliable:
    """A sender that fails for every other email."""

    async def send(self, mail: Mail) -> None:
        if int(mail.id) % 2:
            raise TemporaryError("busy")


async def test_keeps_the_last_ones_that_were_sent() -> None:
    box = RecentMails(lambda: START)
    sender = KeepingSender(Unreliable(), box)

    for number in range(0, 4 * KEPT, 2):
        await sender.send(mail(number))
        with pytest.raises(TemporaryError):
            await sender.send(mail(number + 1))

    kept = [int(one.id) for one in box.newest_first()]
    assert kept == list(range(4 * KEPT - 2, 2 * KEPT - 2, -2))
    assert box.find("0") is None
    assert box.find(str(kept[0])) is not None
