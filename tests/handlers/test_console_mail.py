"""Emails in the console."""

import re

import pytest

from domain.localization import LANGUAGES
from domain.mail import administration
from domain.mail.templates import templates
from handlers.console.mail import in_scheme
from models import MailState
from tests.conftest import MakeService
from tests.handlers.mailings import add_mail, state_of
from tests.handlers.pages import SETTINGS, Browser, Page, send
from tests.handlers.steps import execute
from tests.handlers.test_console import ROOT, administrator
from tests.service import Service

MAIL = "/console/mail"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({**SETTINGS, "limits.enabled": "false", "console.page_size": "10"})


@pytest.fixture
async def browser(service: Service) -> Browser:
    """An administrator's; the outbox is empty."""
    browser = await administrator(service)
    await execute(service, "DELETE FROM outbox")
    return browser


def _users(page: Page) -> list[str]:
    """Return the first part of the email addresses on a page, in order."""
    return re.findall(r"(user\d\d)@", page.text)


@pytest.mark.operation("console.mail.show_list")
class TestList:
    async def test_it_shows_emails_with_the_reason_in_words(self, service: Service, browser: Browser) -> None:
        await add_mail(service, "a", to="eve@example.com")
        await add_mail(service, "b", MailState.SENT, payload={"to": "bob@example.com"})
        await add_mail(service, "c", MailState.QUEUED, to="ann@example.com", last_error="smtp: TimeoutError")

        page = await browser.open(MAIL)

        for text in (
            "eve@example.com",
            "The mail server does not know the mailbox",
            "bob@example.com",
            "ann@example.com",
            "The mail server could not be reached",
        ):
            assert text in page.text
        page = await browser.open(f"{MAIL}?state=failed")
        assert "eve@example.com" in page.text
        assert "bob@example.com" not in page.text

    async def test_pages_follow_each_other(self, service: Service, browser: Browser) -> None:
        for number in range(25):
            await add_mail(service, f"m{number:02}", to=f"user{number:02}@example.com")

        page = await browser.open(f"{MAIL}?state=failed")
        shown = [_users(page)]
        for name in ("Older", "Older", "Newer", "Newer"):
            page = await browser.open(page.links[name])
            shown.append(_users(page))

        every = [f"user{number:02}" for number in reversed(range(25))]
        pages = [every[:10], every[10:20], every[20:]]
        assert shown == [*pages, pages[1], pages[0]]
        assert "Newer" not in page.links
        assert "Older" in page.links

    async def test_pages_of_all_states_follow_each_other(self, service: Service, browser: Browser) -> None:
        states = (MailState.FAILED, MailState.SENT, MailState.QUEUED)
        for number in range(15):
            await add_mail(service, f"m{number:02}", states[number % 3], to=f"user{number:02}@example.com")

        first = await browser.open(MAIL)
        second = await browser.open(first.links["Older"])
        again = await browser.open(second.links["Newer"])

        assert _users(first) == _users(again)
        assert len({*_users(first), *_users(second)}) == 15
        assert "Newer" not in again.links

    @pytest.mark.threat("C6")
    async def test_a_page_is_on_one_side_of_a_position(self, service: Service, browser: Browser) -> None:
        for number in range(11):
            await add_mail(service, f"m{number:02}", to=f"user{number:02}@example.com")
        position = (await browser.open(f"{MAIL}?state=failed")).links["Older"].rpartition("after=")[2]

        assert (await browser.open(f"{MAIL}?after={position}&before={position}")).status == 400

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        "query", ["after=x", "after=1.", "before=x", "state=x", "recipient=" + "x" * 255]
    )
    async def test_a_malformed_filter_is_refused(self, browser: Browser, query: str) -> None:
        assert (await browser.open(f"{MAIL}?{query}")).status == 400

    @pytest.mark.threat("C4")
    async def test_foreign_text_is_text(self, service: Service, browser: Browser) -> None:
        script = "<script>alert(1)</script>"
        await add_mail(service, "a", to=script, template=script, last_error=script)

        answer = await service.get(MAIL)

        assert script not in answer.text
        assert "&lt;script&gt;" in answer.text

    @pytest.mark.parametrize("state", ["", "waiting", "failed", "sent"])
    async def test_an_empty_list_says_what_will_be_there(self, browser: Browser, state: str) -> None:
        page = await browser.open(f"{MAIL}?state={state}")
        assert "appear here" in page.text
        page = await browser.open(f"{MAIL}?state={state}&template=otp")
        assert "No email matches." in page.text


async def test_the_page_of_a_user_shows_the_emails_sent_to_them(service: Service, browser: Browser) -> None:
    [user] = await service.rows('SELECT id FROM "user"')
    await add_mail(service, "a", user_id=user[0], to="old@example.com")

    page = await browser.open(f"/console/users/{user[0]}")

    assert "Mails sent to this user" in page.text
    assert "old@example.com" in page.text
    assert "The mail server does not know the mailbox" in page.text


@pytest.mark.operation("console.mail.send_again", "console.mail.show_give_up", "console.mail.give_up")
class TestActs:
    async def test_a_failed_email_is_sent_again(self, service: Service, browser: Browser) -> None:
        await add_mail(service, "a", to="eve@example.com")

        await browser.open(f"{MAIL}?state=failed")
        page = await browser.submit(f"{MAIL}/send-again")

        assert "The email is queued" in page.text
        assert page.query["state"] == "failed"
        await service.services.worker.drain()
        assert len(await service.inbox(to="eve@example.com")) == 1

    @pytest.mark.threat("C8")
    async def test_the_second_click_is_told(self, service: Service, browser: Browser) -> None:
        await add_mail(service, "a")

        first, second = [
            await send(service, f"{MAIL}/send-again", account=ROOT, mail="a", state="failed")
            for _ in range(2)
        ]

        assert (first.status_code, second.status_code) == (303, 422)
        assert "Only an email that has failed can be sent again" in second.text

    async def test_an_email_that_waits_is_given_up_after_a_question(
        self, service: Service, browser: Browser
    ) -> None:
        await add_mail(service, "a", MailState.QUEUED, to="eve@example.com")

        page = await browser.open(f"{MAIL}?state=waiting")
        page = await browser.open(page.links["Give up"])
        assert "eve@example.com" in page.text
        assert (await state_of(service, "a"))[0] == MailState.QUEUED
        page = await browser.submit(f"{MAIL}/give-up")

        assert "The email is given up." in page.text
        assert await state_of(service, "a") == (MailState.FAILED, administration.GIVEN_UP)

    async def test_an_email_that_is_gone_is_no_page(self, browser: Browser) -> None:
        assert (await browser.open(f"{MAIL}/give-up?mail=x")).status == 404


@pytest.mark.operation(
    "console.mail.show_preview", "console.mail.show_preview_html", "console.mail.send_preview"
)
class TestPreview:
    async def test_every_template_has_a_preview_in_every_language(
        self, service: Service, browser: Browser
    ) -> None:
        for name in templates():
            page = await browser.open(f"{MAIL}/preview?template={name}")
            assert page.status == 200
            for language in LANGUAGES:
                html = await service.get(
                    f"{MAIL}/preview/html?template={name}&language={language}&scheme=dark"
                )
                assert (html.status_code, f'lang="{language}"' in html.text) == (200, True)

    @pytest.mark.threat("C5")
    async def test_a_script_in_a_template_does_not_run_and_no_other_site_frames_it(
        self, service: Service, browser: Browser
    ) -> None:
        page = await browser.open(f"{MAIL}/preview")
        html = await service.get(f"{MAIL}/preview/html?template=otp")

        policy = html.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "sandbox allow-popups" in policy
        assert "allow-scripts" not in policy
        assert "frame-ancestors 'self'" in policy
        assert "frame-src 'self'" in page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]

    async def test_an_unknown_template_is_no_page(self, browser: Browser) -> None:
        assert (await browser.open(f"{MAIL}/preview?template=x")).status == 404
        assert (await browser.open(f"{MAIL}/preview/html?template=x")).status == 404

    async def test_it_is_sent_to_the_administrator(self, service: Service, browser: Browser) -> None:
        await browser.open(f"{MAIL}/preview?template=otp&language=ar&scheme=dark")
        page = await browser.submit(f"{MAIL}/preview/send")

        assert "on its way to you" in page.text
        assert dict(page.query) == {"template": "otp", "language": "ar", "scheme": "dark"}
        await service.services.worker.drain()
        [mail] = await service.inbox(template="otp")
        assert (mail["to"], 'dir="rtl"' in mail["html"]) == (ROOT, True)

    def test_a_colour_scheme_does_not_depend_on_that_of_the_browser(self) -> None:
        html = "@media (prefers-color-scheme: dark) {} @media screen and (prefers-color-scheme:light) {}"

        assert (
            in_scheme(html, is_dark=True)
            == "@media (min-width: 0px) {} @media screen and (max-width: 0px) {}"
        )
        assert (
            in_scheme(html, is_dark=False)
            == "@media (max-width: 0px) {} @media screen and (min-width: 0px) {}"
        )


async def test_who_may_only_manage_users_sees_nothing_of_it(make_service: MakeService) -> None:
    service = await make_service({**SETTINGS, "admin.roles": '{"support": {"user": ["list"]}}'})
    browser = await administrator(service, role="support")

    page = await browser.open("/console/users")

    assert not {"Mail", "Doctor", "Signing keys"} & set(page.links)
    for path in (MAIL, f"{MAIL}/preview", "/console/keys", "/console/doctor"):
        assert (await browser.open(path)).status == 403
