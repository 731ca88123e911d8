"""Rows N1 to N4: attacks with the link "This was not me". What it does for its users is in
tests/handlers/test_user_disowning.py."""

from datetime import timedelta

import pytest

from domain import one_time_tokens
from domain.context import Context
from models import Purpose
from tests.conftest import MakeService
from tests.handlers.mailed import link_to, open_link
from tests.handlers.pages import SAME_ORIGIN, Browser
from tests.handlers.steps import ADA, EVE, NEW_ADDRESS, execute, join, last_link, local, set_user, works
from tests.handlers.test_user_disowning import (
    BY_MAIL,
    PATH,
    disown,
    exists,
    newest,
    not_me_link,
    not_me_token,
    settle,
    squat,
)
from tests.security.conftest import UNLIMITED
from tests.security.crowd import all_of, turns
from tests.security.limits import told
from tests.security.second_factor import PENDING, challenge
from tests.service import Service

NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Accept": "text/html"}
BEGIN = "/account/two-factor/not-me"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service with hosted pages and sign-in by mail."""
    return await make_service({**BY_MAIL, **UNLIMITED})


async def pending_by_mail(service: Service) -> str:
    """Sign in with a link, up to the second factor; return the pending token."""
    token: str = (await open_link(service, await link_to(service))).json()["token"]
    service.client.cookies.clear()
    return token


async def begin(service: Service, pending: str) -> str | None:
    """Press "I did not set this up"; return the token of the page that it leads to."""
    headers = {**SAME_ORIGIN, "Cookie": f"{PENDING}={pending}"}
    answer = await service.client.post(BEGIN, data={}, headers=headers)
    assert answer.status_code == 303, answer.text
    return answer.next_request.url.params.get("token") if answer.next_request else None


@pytest.mark.threat("N1")
class TestLinks:
    async def test_a_scanner_uses_nothing_up(self, service: Service) -> None:
        session = await join(service)
        link = local(not_me_link(await newest(service, "verify-email")) or "")

        for headers in ({}, NAVIGATION, {**NAVIGATION, "Sec-Purpose": "prefetch"}):
            assert (await service.get(link, headers=headers)).status_code == 200
            assert (await service.client.head(link, headers=headers)).status_code == 405
        assert await works(service, session)

        assert await disown(service, link.partition("token=")[2]) == "200"

    async def test_works_once(self, service: Service) -> None:
        await join(service)
        token = await not_me_token(service)
        await disown(service, token)
        await join(service)

        assert await disown(service, token) == "400 INVALID_TOKEN"
        assert await exists(service)

    async def test_after_verification_it_says_so_and_changes_nothing(self, service: Service) -> None:
        session = await join(service)
        token = await not_me_token(service)
        browser = Browser(service)
        await browser.open(f"/account/not-me?token={token}")
        await service.get(local(await last_link(service, "verify-email")))

        page = await browser.submit("/account/not-me")
        assert (page.status, "This email address is verified" in page.text) == (422, True)
        assert await disown(service, token) == "400 INVALID_TOKEN"
        page = await browser.open(f"/account/not-me?token={token}")
        assert "This email address is verified" in page.text
        assert [form.action for form in page.forms] == []
        assert await works(service, session)

    async def test_after_a_change_of_address_it_deletes_nobody(self, service: Service) -> None:
        session = await join(service)
        token = await not_me_token(service)
        await service.post("/change-email", {"newEmail": NEW_ADDRESS}, headers=session)

        assert await disown(service, token) == "400 INVALID_TOKEN"
        page = await Browser(service).open(f"/account/not-me?token={token}")
        assert "This link is no longer valid" in page.text
        assert await exists(service, NEW_ADDRESS)

    async def test_it_is_for_the_address_it_was_sent_to(self, service: Service) -> None:
        """Also where the address was changed by hand, so that the tokens have stayed."""
        await join(service)
        token = await not_me_token(service)
        await execute(service, 'UPDATE "user" SET email = :email', email=NEW_ADDRESS)

        assert await disown(service, token) == "400 INVALID_TOKEN"
        assert await exists(service, NEW_ADDRESS)

    async def test_it_deletes_its_own_user_whoever_is_signed_in(self, service: Service) -> None:
        await join(service)
        token = await not_me_token(service)
        eve = await join(service, EVE)

        assert await disown(service, token, headers=eve) == "200"

        assert not await exists(service)
        assert await works(service, eve)

    async def test_a_token_of_another_purpose_is_none(self, service: Service) -> None:
        await join(service)
        [user] = await service.rows('SELECT id FROM "user"')
        for purpose in set(Purpose) - {Purpose.DISOWN}:

            async def issue(ctx: Context, purpose: Purpose = purpose) -> str:
                lives = timedelta(minutes=5)
                return await one_time_tokens.issue(ctx, purpose, user.id, expires_in=lives, email=ADA)

            token = await service.services.unit_of_work.run(issue)
            assert await disown(service, token) == "400 INVALID_TOKEN", purpose
        assert await exists(service)

    async def test_the_last_administrator_stays(self, service: Service) -> None:
        await join(service)
        await set_user(service, role="admin")
        token = await not_me_token(service)
        browser = Browser(service)
        await browser.open(f"/account/not-me?token={token}")

        assert await disown(service, token) == "400 LAST_ADMIN"
        page = await browser.submit("/account/not-me")
        assert (page.status, "last administrator" in page.text.lower()) == (422, True)
        assert await exists(service)

        await join(service, EVE)
        await execute(service, "UPDATE \"user\" SET role = 'admin'")
        assert await disown(service, token) == "200"

    async def test_a_page_of_another_site_presses_no_button(self, service: Service) -> None:
        await join(service)
        token = await not_me_token(service)
        evil = {"Origin": "https://evil.test", "Sec-Fetch-Site": "cross-site"}

        assert await disown(service, token, headers=evil) == "403 INVALID_ORIGIN"
        pressed = await service.client.post("/account/not-me", data={"token": token}, headers=evil)

        assert pressed.status_code == 403
        assert await exists(service)


@pytest.mark.threat("N1")
class TestPendingSignIns:
    async def test_only_one_that_began_in_the_mailbox_leads_to_the_page(self, service: Service) -> None:
        await squat(service)
        service.client.cookies.clear()
        by_password = await challenge(service)
        service.client.cookies.clear()

        assert await begin(service, by_password) is None
        token = await begin(service, await pending_by_mail(service))
        assert token is not None
        assert await disown(service, token) == "200"

    async def test_not_after_verification(self, service: Service) -> None:
        await squat(service)
        pending = await pending_by_mail(service)
        await set_user(service, email_verified=True)

        assert await begin(service, pending) is None

    async def test_not_for_another_address_than_was_proven(self, service: Service) -> None:
        owner = await squat(service)
        pending = await pending_by_mail(service)
        await service.post("/change-email", {"newEmail": NEW_ADDRESS}, headers=owner.session)

        assert await begin(service, pending) is None
        assert await exists(service, NEW_ADDRESS)

    async def test_not_without_a_sign_in_that_waits(self, service: Service) -> None:
        await join(service)
        service.client.cookies.clear()
        answer = await service.client.post(BEGIN, data={}, headers=SAME_ORIGIN)

        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/account/sign-in")


@pytest.mark.threat("N3")
@pytest.mark.parametrize("path", [PATH, "/account/not-me"])
async def test_no_session_or_cookie_results(service: Service, path: str) -> None:
    await squat(service)
    token = await not_me_token(service)
    service.client.cookies.clear()
    shown = await service.get("/account/not-me", params={"token": token})
    sending = (
        service.post(path, {"token": token})
        if path == PATH
        else service.client.post(path, data={"token": token}, headers=SAME_ORIGIN)
    )
    pressed = await sending

    assert pressed.status_code in (200, 303)
    for answer in (shown, pressed):
        assert "set-auth-token" not in answer.headers
    # The page tells browsers apart by a cookie that authenticates nothing.
    assert set(service.client.cookies) <= {"service.browser"}
    assert await service.rows("SELECT id FROM session") == []
    assert not await exists(service)


@pytest.mark.threat("N4")
async def test_mails_to_verified_addresses_have_no_link(service: Service) -> None:
    session = await join(service)
    await set_user(service, email_verified=True)
    await settle(service, session)
    await link_to(service)
    await join(service, EVE)
    assert (await open_link(service, await link_to(service, EVE))).status_code == 200

    mails = [await newest(service, name) for name in ("api-key-created", "two-factor-changed", "magic-link")]
    mails += await service.inbox(EVE, "account-secured")

    assert [not_me_link(mail) for mail in mails] == [None] * 4
    left = await service.rows("SELECT email FROM \"grant\" WHERE purpose = 'disown'")
    assert [row.email for row in left] == [ADA], (
        "only the first email to an address that was not verified yet"
    )


@pytest.mark.both_databases
@pytest.mark.threat("N2", "R21")
@pytest.mark.parametrize("number", [50])
async def test_a_user_is_disowned_once(unlimited_instances: list[Service], number: int) -> None:
    service = unlimited_instances[0]
    await join(service)
    token = await not_me_token(service)

    body = {"token": token}
    answers = await all_of(
        [each.post("/disown-account", body) for each in turns(unlimited_instances, number)]
    )

    assert told(answers) == {"200": 1, "400 INVALID_TOKEN": number - 1}
    assert len(await service.rows("SELECT id FROM audit WHERE event = 'user.disowned'")) == 1
    assert await service.rows('SELECT id FROM "user"') == []
