"""The operations of openapi/paths/account_security_pages.yaml, through the public door and without scripts."""

import asyncio
import json
import re
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from models import BackupCode, TrustedDevice, User
from models.api_key import ApiKey
from tests import qr_codes
from tests.conftest import MakeService
from tests.handlers.pages import SAME_ORIGIN, Browser
from tests.handlers.steps import (
    ADA,
    EVE,
    bearer,
    count,
    execute,
    join,
    remove_passwords,
    set_user,
    sign_in,
    verify,
    works,
)
from tests.provider.process import ProviderProcess
from tests.provider.settings import social_settings
from tests.provider.steps import as_user, identities
from tests.security.second_factor import Owner, challenge, enrol, is_pending, trusted_device
from tests.service import PASSWORD, Service

FACTOR, SESSIONS = "/account/second-factor", "/account/sessions"
CONNECTIONS, KEYS = "/account/connections", "/account/api-keys"
ENABLE, CONFIRM, BACKUP, DISABLE = (
    f"{FACTOR}/{name}" for name in ("enable", "confirm", "backup-codes", "disable")
)
FORGET, FORGET_ALL = f"{FACTOR}/devices/forget", f"{FACTOR}/devices/forget-all"
END, END_OTHERS = f"{SESSIONS}/end", f"{SESSIONS}/end-others"
CONNECT, DISCONNECT, DELETE_KEY = f"{CONNECTIONS}/connect", f"{CONNECTIONS}/disconnect", f"{KEYS}/delete"
PASSKEYS = "/account/passkeys"
PAGES = (FACTOR, SESSIONS, CONNECTIONS, KEYS, PASSKEYS)
FRESH = (FACTOR, CONNECTIONS, KEYS, PASSKEYS)
"""The pages where ways in change."""
UNKNOWN = "x" * 32
FORMS = [
    (ENABLE, {"step": "totp", "password": PASSWORD}),
    (CONFIRM, {"code": "123456"}),
    (BACKUP, {"step": "backup-codes", "password": PASSWORD}),
    (DISABLE, {"step": "disable", "password": PASSWORD}),
    (FORGET, {"device": UNKNOWN}),
    (FORGET_ALL, {}),
    (END, {"session": f"rvk_{UNKNOWN}"}),
    (END_OTHERS, {}),
    (CONNECT, {"provider": "test"}),
    (DISCONNECT, {"connection": UNKNOWN}),
    (KEYS, {"name": "ci"}),
    (DELETE_KEY, {"key": UNKNOWN}),
    (PASSKEYS, {"credential": "AA", "clientDataJSON": "AA", "attestationObject": "AA"}),
    (f"{PASSKEYS}/rename", {"step": UNKNOWN, "newName": "Phone"}),
    (f"{PASSKEYS}/remove", {"passkey": UNKNOWN}),
]
"""Every form, filled in."""

SETTINGS = {
    "session.cookie_secure": "false",
    "api_keys.enabled": "true",
    "api_keys.grantable": json.dumps({"files": ["read"]}),
}
"""The test's browser keeps no cookies for https at an address of http."""
HOSTILE = "<script>alert(1)</script>\u202e\u2066" + "x" * 10_000
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


@pytest.fixture
def browser(service: Service) -> Browser:
    return Browser(service)


@pytest.fixture
async def ada(service: Service, browser: Browser) -> Browser:
    """The browser of Ada, who is signed in."""
    await join(service)
    return browser


@pytest.fixture
async def owner(service: Service) -> Owner:
    """Ada, who has an authenticator; the browser keeps her session."""
    return await enrol(service)


async def user_of(service: Service, email: str = ADA) -> User:
    [row] = await service.rows('SELECT * FROM "user" WHERE email = :email', email=email)
    found: User = row
    return found


async def state(service: Service) -> list[object]:
    """Return what the forms could change."""
    tables = ("user", "two_factor", "backup_code", "trusted_device", "account", "api_key", "passkey")
    rows = [sorted(map(tuple, await service.rows(f'SELECT * FROM "{name}"')), key=repr) for name in tables]
    return [*rows, sorted(row.id for row in await service.rows("SELECT id FROM session"))]


async def send(service: Service, path: str, **fields: str) -> httpx.Response:
    """Post a form that none of the pages may have shown."""
    return await service.client.post(path, data=fields, headers=SAME_ORIGIN)


async def act_as(service: Service, email: str = ADA) -> None:
    """Sign the browser in as an administrator who acts in the name of a user."""
    user = await user_of(service, email)
    service.client.cookies.clear()
    await join(service, "root@example.com")
    await set_user(service, "root@example.com", role="admin")
    answer = await service.post("/admin/impersonate-user", {"userId": user.id})
    assert answer.status_code == 200, answer.text


def codes_in(html: str) -> list[str]:
    """Return the backup codes that a page shows."""
    return re.findall(r"<li>([a-z0-9]{5}-[a-z0-9]{5})</li>", html)


class TestEveryPage:
    @pytest.mark.parametrize("path", PAGES)
    async def test_leads_to_the_sign_in_page_and_back(self, browser: Browser, path: str) -> None:
        page = await browser.open(path)

        assert page.path.startswith("/account/sign-in?")
        assert page.query["callbackURL"] == path

    @pytest.mark.parametrize("path", PAGES)
    async def test_has_one_heading_and_marks_itself_in_the_list(self, ada: Browser, path: str) -> None:
        answer = await ada.service.get(path)

        assert answer.text.count("<h1>") == 1
        assert answer.text.count('aria-current="page"') == 1

    @pytest.mark.parametrize("language", ["de", "ar"])
    @pytest.mark.parametrize("path", PAGES)
    async def test_is_there_in_every_direction(self, ada: Browser, path: str, language: str) -> None:
        page = await ada.open(f"{path}?ui_locales={language}")

        assert (page.status, page.language) == (200, language)
        assert page.direction == ("rtl" if language == "ar" else "ltr")

    @pytest.mark.parametrize("path", FRESH)
    async def test_asks_for_a_fresh_session_where_ways_in_change(
        self, service: Service, ada: Browser, path: str
    ) -> None:
        service.clock.advance(hours=24)
        assert (await ada.open(path)).status == 200
        service.clock.advance(seconds=1)

        page = await ada.open(path)

        assert page.path.startswith("/account/confirm?")
        assert page.query["callbackURL"] == path

    @pytest.mark.parametrize(("path", "fields"), [form for form in FORMS if not form[0].startswith(SESSIONS)])
    async def test_takes_no_form_of_a_session_that_is_not_fresh(
        self, service: Service, ada: Browser, path: str, fields: dict[str, str]
    ) -> None:
        service.clock.advance(hours=24, seconds=1)
        before = await state(service)

        answer = await send(service, path, account=ADA, **fields)

        assert answer.status_code == 303
        assert urlsplit(answer.headers["location"]).path == "/account/confirm"
        assert await state(service) == before

    @pytest.mark.threat("H8")
    @pytest.mark.parametrize(("path", "fields"), FORMS)
    async def test_refuses_a_form_of_another_account(
        self, service: Service, ada: Browser, path: str, fields: dict[str, str]
    ) -> None:
        before = await state(service)

        answer = await send(service, path, account=EVE, **fields)

        assert answer.status_code == 409
        assert EVE in answer.text
        assert ADA in answer.text
        assert await state(service) == before

    @pytest.mark.threat("H1")
    @pytest.mark.parametrize(("path", "fields"), FORMS)
    async def test_takes_no_form_from_a_page_of_another_site(
        self, service: Service, ada: Browser, path: str, fields: dict[str, str]
    ) -> None:
        before = await state(service)
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}

        answer = await service.client.post(path, data={"account": ADA, **fields}, headers=foreign)

        assert answer.status_code == 403
        assert await state(service) == before

    @pytest.mark.threat("H2")
    @pytest.mark.parametrize("path", PAGES)
    async def test_is_framed_by_nobody(self, ada: Browser, path: str) -> None:
        answer = await ada.service.get(path)

        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]

    @pytest.mark.threat("H4")
    @pytest.mark.parametrize(("path", "fields"), FORMS)
    async def test_leads_to_no_foreign_place(
        self, service: Service, ada: Browser, path: str, fields: dict[str, str]
    ) -> None:
        before = await state(service)

        answer = await send(service, path, account=ADA, callbackURL="https://evil.test/", **fields)

        assert answer.status_code == 403
        assert await state(service) == before

    @pytest.mark.threat("H13")
    @pytest.mark.parametrize(("path", "fields"), FORMS)
    async def test_refuses_who_acts_in_the_name_of_the_user(
        self, service: Service, ada: Browser, path: str, fields: dict[str, str]
    ) -> None:
        await act_as(service)
        before = await state(service)

        answer = await send(service, path, account=ADA, **fields)

        assert answer.status_code == 403
        assert "Administrators cannot do this in the name of a user." in answer.text
        assert await state(service) == before


class TestSecondFactor:
    async def test_is_enabled_with_the_qr_code_and_the_first_code(
        self, service: Service, ada: Browser
    ) -> None:
        await ada.open(f"{FACTOR}?step=totp")
        fields = ada.page.form(ENABLE).fields | {"password": PASSWORD}
        shown = await send(service, ENABLE, **fields)
        uri = qr_codes.in_page(shown.text)
        [secret] = parse_qs(urlsplit(uri).query)["secret"]
        codes = codes_in(shown.text)
        owner = Owner(ADA, {}, secret, codes)

        assert shown.status_code == 200
        assert " style=" not in shown.text
        assert urlsplit(uri)[:3] == ("otpauth", "totp", "/Gatewright:ada%40example.com")
        assert " ".join(re.findall(".{4}", secret)) in shown.text
        assert 'aria-label="QR code with the key that is written below it"' in shown.text
        assert len(codes) == 10
        assert not (await user_of(service)).two_factor_enabled

        confirmed = await send(service, CONFIRM, account=ADA, code=" ".join(owner.code(service)))

        assert confirmed.headers["location"] == f"{FACTOR}?reason=enabled"
        page = await ada.open(confirmed.headers["location"])
        assert "From now on, signing in requires a code." in page.text
        assert "10 left" in page.text
        service.client.cookies.clear()
        assert is_pending(await sign_in(service))

    async def test_offers_buttons_that_keep_the_codes(self, service: Service, ada: Browser) -> None:
        shown = (await send(service, ENABLE, account=ADA, step="totp", password=PASSWORD)).text

        assert 'data-copy="codes"' in shown
        assert 'data-download="codes" data-name="backup-codes.txt"' in shown
        assert "data-print" in shown
        assert 'data-copy="key"' in shown

    async def test_wants_the_right_password(self, service: Service, ada: Browser) -> None:
        await ada.open(f"{FACTOR}?step=totp")

        page = await ada.submit(ENABLE, password="wrong password")

        assert page.status == 422
        assert page.links["This is not your password."] == "#password"
        assert page.form(ENABLE).fields["step"] == "totp"
        assert await count(service, BackupCode) == 0

    async def test_asks_again_after_a_wrong_code(self, service: Service, ada: Browser) -> None:
        shown = await send(service, ENABLE, account=ADA, step="totp", password=PASSWORD)
        [secret] = parse_qs(urlsplit(qr_codes.in_page(shown.text)).query)["secret"]
        owner = Owner(ADA, {}, secret, [])
        await ada.open(FACTOR)

        page = await ada.submit(CONFIRM, code=owner.wrong_code(service))

        assert page.status == 422
        assert page.links["This code is not right. Check it, or wait for the next one."] == "#code"
        assert page.inputs["code"].get("value") == ""
        assert not (await user_of(service)).two_factor_enabled
        page = await ada.submit(CONFIRM, code=owner.code(service))
        assert page.query["reason"] == "enabled"

    @pytest.mark.threat("H7")
    async def test_confirmed_twice_stays_enabled(self, service: Service, ada: Browser) -> None:
        shown = await send(service, ENABLE, account=ADA, step="totp", password=PASSWORD)
        [secret] = parse_qs(urlsplit(qr_codes.in_page(shown.text)).query)["secret"]
        code = Owner(ADA, {}, secret, []).code(service)

        answers = [await send(service, CONFIRM, account=ADA, code=code) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        assert await count(service, BackupCode) == 10

    async def test_without_a_setup_says_so(self, service: Service, ada: Browser) -> None:
        answer = await send(service, CONFIRM, account=ADA, code="123456")

        assert answer.status_code == 422
        assert "No authenticator app is being set up. Begin again." in answer.text

    async def test_keeps_the_present_authenticator_until_the_new_one_is_confirmed(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        await browser.open(f"{FACTOR}?step=totp")
        assert "Your present app stays valid" in browser.page.text
        shown = await send(service, ENABLE, account=ADA, step="totp", password=PASSWORD)
        [secret] = parse_qs(urlsplit(qr_codes.in_page(shown.text)).query)["secret"]

        page = await browser.open(FACTOR)

        assert secret != owner.secret
        assert "Finish setting up your authenticator app" in page.text
        pending = bearer(await challenge(service))
        code = {"code": owner.code(service, steps=1)}
        assert (await service.post("/two-factor/verify-totp", code, headers=pending)).status_code == 200

    async def test_works_with_codes_by_email(self, service: Service, ada: Browser) -> None:
        await verify(service)
        await ada.open(f"{FACTOR}?step=otp")

        shown = await send(service, ENABLE, **{**ada.page.form(ENABLE).fields, "password": PASSWORD})

        assert shown.status_code == 200
        assert len(codes_in(shown.text)) == 10
        assert "<svg" not in shown.text
        assert (await user_of(service)).two_factor_enabled
        service.client.cookies.clear()
        pending = await sign_in(service)
        assert pending.json()["twoFactorMethods"] == ["otp"]

    async def test_sends_codes_only_to_a_verified_address(self, service: Service, ada: Browser) -> None:
        page = await ada.open(f"{FACTOR}?step=otp")

        assert "Verify your email address first." in page.text
        assert "password" not in page.inputs
        answer = await send(service, ENABLE, account=ADA, step="otp", password=PASSWORD)
        assert answer.status_code == 422
        assert not (await user_of(service)).two_factor_enabled

    async def test_offers_no_codes_by_email_where_there_are_none(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "two_factor.otp_enabled": "false"})
        await join(service)

        assert "Codes by email" not in (await Browser(service).open(FACTOR)).text

    async def test_replaces_the_backup_codes(self, service: Service, browser: Browser, owner: Owner) -> None:
        await browser.open(f"{FACTOR}?step=backup-codes")

        shown = await send(service, BACKUP, **{**browser.page.form(BACKUP).fields, "password": PASSWORD})

        new = codes_in(shown.text)
        assert len(new) == 10
        assert not set(new) & set(owner.backup_codes)
        for code, status in ((owner.backup_codes[0], 401), (new[0], 200)):
            pending = bearer(await challenge(service))
            answer = await service.post("/two-factor/verify-backup-code", {"code": code}, headers=pending)
            assert answer.status_code == status
        service.client.cookies.clear()

    async def test_shows_backup_codes_only_once(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        assert codes_in((await service.get(FACTOR)).text) == []

    async def test_that_is_off_has_no_backup_codes_to_replace(self, service: Service, ada: Browser) -> None:
        answer = await send(service, BACKUP, account=ADA, step="backup-codes", password=PASSWORD)

        assert answer.status_code == 422
        assert codes_in(answer.text) == []

    async def test_is_disabled_with_the_password(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        await browser.open(f"{FACTOR}?step=disable")
        refused = await browser.submit(DISABLE, password="wrong password")
        assert refused.status == 422
        assert (await user_of(service)).two_factor_enabled

        page = await browser.submit(DISABLE, password=PASSWORD)

        assert "Two-factor authentication is turned off." in page.text
        assert not (await user_of(service)).two_factor_enabled
        assert await count(service, BackupCode) == 0

    @pytest.mark.threat("H7")
    async def test_disabled_twice_sends_one_mail(self, service: Service, owner: Owner) -> None:
        fields = {"account": ADA, "step": "disable", "password": PASSWORD}

        answers = [await send(service, DISABLE, **fields) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        assert len(await service.inbox(ADA, "two-factor-changed")) == 2

    async def test_needs_a_password_first(self, service: Service, ada: Browser) -> None:
        await remove_passwords(service)

        page = await ada.open(f"{FACTOR}?step=totp")

        assert page.links["Set a password"] == "/account/password"
        assert "password" not in page.inputs


class TestTrustedDevices:
    async def trust(self, service: Service, owner: Owner) -> str:
        """Sign in on a new device and trust it; the browser keeps the session, but not the cookie of the device."""
        token = await trusted_device(service, owner)
        service.client.cookies.delete("service.trust-device")
        return token

    async def test_are_listed_and_forgotten_one_by_one(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        await self.trust(service, owner)
        service.clock.advance(hours=1)
        here = await self.trust(service, owner)
        service.client.cookies.set("service.trust-device", here)

        page = await browser.open(FACTOR)

        assert page.text.count("Trusted since 1 January 2026") == 2
        assert page.text.index("Trusted since") < page.text.index("this browser")
        assert page.text.count("this browser") == 1
        newest = page.form(FORGET).fields["device"]
        answer = await send(service, FORGET, account=ADA, device=newest)
        assert answer.headers["location"] == f"{FACTOR}?reason=forgotten"
        assert "service.trust-device=;" in answer.headers["set-cookie"]
        assert await count(service, TrustedDevice) == 1
        assert is_pending(await sign_in(service))

    async def test_are_forgotten_together(self, service: Service, browser: Browser, owner: Owner) -> None:
        await self.trust(service, owner)
        await self.trust(service, owner)
        await browser.open(FACTOR)

        page = await browser.submit(FORGET_ALL)

        assert "Trusted devices" not in page.text
        assert await count(service, TrustedDevice) == 0

    async def test_that_have_expired_are_not_listed(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        await self.trust(service, owner)
        await execute(service, "UPDATE trusted_device SET expires_at = created_at")

        assert "Trusted devices" not in (await browser.open(FACTOR)).text

    @pytest.mark.threat("V22")
    async def test_of_another_user_stay(self, service: Service, owner: Owner) -> None:
        await self.trust(service, owner)
        [device] = await service.rows("SELECT id FROM trusted_device")
        service.client.cookies.clear()
        await join(service, EVE)

        answer = await send(service, FORGET, account=EVE, device=device.id)

        assert answer.status_code == 303
        assert await count(service, TrustedDevice) == 1

    @pytest.mark.threat("H7")
    async def test_forgotten_twice_are_recorded_once(self, service: Service, owner: Owner) -> None:
        await self.trust(service, owner)
        [device] = await service.rows("SELECT id FROM trusted_device")

        answers = [await send(service, FORGET, account=ADA, device=device.id) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        [removed] = await service.rows(
            "SELECT count(*) AS n FROM audit WHERE event = 'trusted_device.removed'"
        )
        assert removed.n == 1


class TestSessions:
    async def elsewhere(self, service: Service, email: str = ADA, agent: str = FIREFOX) -> dict[str, str]:
        """Sign in on another device; give the headers of that session."""
        kept = dict(service.client.cookies)
        body = {"email": email, "password": PASSWORD}
        answer = await service.post("/sign-in/email", body, headers={"User-Agent": agent})
        service.client.cookies.clear()
        service.client.cookies.update(kept)
        return bearer(answer.json()["token"])

    async def test_say_what_where_and_when(self, service: Service, ada: Browser) -> None:
        await self.elsewhere(service)

        page = await ada.open(SESSIONS)

        assert "Firefox 145 on Windows" in page.text
        assert page.text.count("127.0.0.1 · signed in 1 January 2026") == 2
        assert page.text.count("this one") == 1

    async def test_are_ended_one_by_one(self, service: Service, ada: Browser) -> None:
        other, third = await self.elsewhere(service), await self.elsewhere(service, agent="curl/8.5.0")
        await ada.open(SESSIONS)
        page = (await service.get(SESSIONS)).text
        handles = re.findall(r'name="session" value="(rvk_\w{32})"', page)
        assert len(handles) == 2

        for handle in handles:
            ended = await send(service, END, account=ADA, session=handle)
            assert ended.headers["location"] == f"{SESSIONS}?reason=ended"

        assert not await works(service, other)
        assert not await works(service, third)
        assert (await ada.open(SESSIONS)).path == SESSIONS

    @pytest.mark.threat("V40")
    async def test_never_show_a_token(self, service: Service, ada: Browser) -> None:
        other = await self.elsewhere(service)
        token = other["Authorization"].removeprefix("Bearer ")

        page = (await service.get(SESSIONS)).text

        assert token not in page
        assert str(service.client.cookies["service.session-token"]) not in page

    async def test_are_ended_together(self, service: Service, ada: Browser) -> None:
        other = await self.elsewhere(service)
        await ada.open(SESSIONS)

        page = await ada.submit(END_OTHERS)

        assert "You are signed out everywhere else." in page.text
        assert END_OTHERS not in [form.action for form in page.forms]
        assert not await works(service, other)

    async def test_the_current_one_ended_signs_out(self, service: Service, ada: Browser) -> None:
        [row] = await service.rows("SELECT id FROM session")

        answer = await send(service, END, account=ADA, session=f"rvk_{row.id}")

        assert answer.headers["location"] == "/account/signed-out"
        assert "service.session-token=;" in answer.headers["set-cookie"]

    @pytest.mark.threat("V22")
    async def test_of_another_user_stay(self, service: Service, ada: Browser) -> None:
        kept = dict(service.client.cookies)
        service.client.cookies.clear()
        eve = await join(service, EVE)
        [session] = await service.rows(
            'SELECT session.id FROM session JOIN "user" ON "user".id = user_id WHERE email = :email',
            email=EVE,
        )
        service.client.cookies.clear()
        service.client.cookies.update(kept)

        for handle in (f"rvk_{session.id}", session.id, eve["Authorization"].removeprefix("Bearer ")):
            await send(service, END, account=ADA, session=handle)
        await send(service, END_OTHERS, account=ADA)

        assert await works(service, eve)

    @pytest.mark.threat("H7")
    async def test_ended_twice_are_recorded_once(self, service: Service, ada: Browser) -> None:
        await self.elsewhere(service)
        page = await ada.open(SESSIONS)
        fields = page.form(END).fields

        answers = [await send(service, END, **fields) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        [ended] = await service.rows("SELECT count(*) AS n FROM audit WHERE event = 'session.revoked'")
        assert ended.n == 1

    @pytest.mark.threat("H13")
    async def test_hide_where_an_administrator_is(self, service: Service, ada: Browser) -> None:
        kept = dict(service.client.cookies)
        await act_as(service)
        await execute(
            service,
            "UPDATE session SET ip_address = '203.0.113.9', user_agent = :agent WHERE impersonated_by IS NOT NULL",
            agent=FIREFOX,
        )
        service.client.cookies.clear()
        service.client.cookies.update(kept)

        page = await ada.open(SESSIONS)

        assert "An administrator in your name" in page.text
        assert "203.0.113.9" not in page.text
        assert "Firefox" not in page.text

    @pytest.mark.threat("H3")
    async def test_show_a_hostile_user_agent_as_text(self, service: Service, ada: Browser) -> None:
        await execute(service, "UPDATE session SET user_agent = :text, ip_address = :text", text=HOSTILE)

        answer = await service.get(SESSIONS)

        assert answer.status_code == 200
        assert answer.text.count("<script") == 1

    @pytest.mark.parametrize("agent", [None, "", " ", "gibberish/0"])
    async def test_on_an_unknown_device_are_shown(
        self, service: Service, ada: Browser, agent: str | None
    ) -> None:
        await execute(service, "UPDATE session SET user_agent = :agent", agent=agent)

        page = await ada.open(SESSIONS)

        assert ("gibberish/0" if agent and agent.strip() else "Unknown device") in page.text

    async def test_are_hidden_where_they_cannot_be_listed(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "enable_session_listing": "false"})
        await join(service)

        assert (await service.get(SESSIONS)).status_code == 404
        assert "Where you are signed in" not in (await Browser(service).open(FACTOR)).links

    async def test_stay_where_they_cannot_be_ended(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "enable_session_revocation": "false"})
        await join(service)
        await self.elsewhere(service)

        page = await Browser(service).open(SESSIONS)

        assert {END, END_OTHERS}.isdisjoint(form.action for form in page.forms)
        assert (await send(service, END_OTHERS, account=ADA)).status_code == 404


class TestConnections:
    @pytest.fixture
    async def service(self, make_service: MakeService, provider: ProviderProcess) -> Service:
        as_user(provider, ADA, "1001")
        return await make_service({**SETTINGS, **social_settings(provider)})

    async def connect(self, browser: Browser, provider: str = "test") -> None:
        """Connect an account: through the page that leads on, and the provider's, back to ours."""
        await browser.open(CONNECTIONS)
        page = await browser.submit(CONNECT, provider=provider)
        assert page.status == 200
        async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
            back = await stranger.get(page.refresh)
        await browser.open(back.headers["location"])

    async def test_are_made_through_the_provider(self, service: Service, ada: Browser) -> None:
        await set_user(service, email_verified=True)

        await self.connect(ada)

        assert ada.page.path == f"{CONNECTIONS}?reason=connected"
        assert "The account is connected." in ada.page.text
        assert "Connected since 1 January 2026" in ada.page.text
        assert await identities(service) == [("test", "1001")]

    async def test_lead_back_with_what_went_wrong(
        self, service: Service, ada: Browser, provider: ProviderProcess
    ) -> None:
        as_user(provider, EVE, "1002")

        await self.connect(ada)

        assert urlsplit(ada.page.path).path == CONNECTIONS
        assert "That account has another email address than yours." in ada.page.text
        assert await identities(service) == []

    async def test_say_something_about_any_error(self, ada: Browser) -> None:
        page = await ada.open(f"{CONNECTIONS}?error=%3Cb%3E&reason=connected")

        assert "The account could not be connected. Try again." in page.text
        assert "<b>" not in page.text
        assert "The account is connected." not in page.text

    async def test_are_removed(self, service: Service, ada: Browser) -> None:
        await set_user(service, email_verified=True)
        await self.connect(ada)

        page = await ada.submit(DISCONNECT)

        assert "The account is disconnected." in page.text
        assert await identities(service) == []

    @pytest.mark.threat("H6", "H7")
    async def test_removed_twice_are_gone_already(self, service: Service, ada: Browser) -> None:
        await set_user(service, email_verified=True)
        await self.connect(ada)
        fields = ada.page.form(DISCONNECT).fields
        await send(service, DISCONNECT, **fields)

        again = await send(service, DISCONNECT, **fields)

        assert again.headers["location"] == f"{CONNECTIONS}?reason=gone"
        [removed] = await service.rows("SELECT count(*) AS n FROM audit WHERE event = 'account.unlinked'")
        assert removed.n == 1

    async def test_keep_the_last_way_in(self, service: Service, ada: Browser) -> None:
        await set_user(service, email_verified=True)
        await self.connect(ada)
        fields = ada.page.form(DISCONNECT).fields
        await execute(service, "DELETE FROM account WHERE provider_id = 'credential'")

        page = await ada.open(CONNECTIONS)

        assert "This is the only way you can sign in." in page.text
        assert DISCONNECT not in [form.action for form in page.forms]
        refused = await send(service, DISCONNECT, **fields)
        assert refused.status_code == 422
        assert await identities(service) == [("test", "1001")]

    @pytest.mark.threat("V22")
    async def test_of_another_user_stay(self, service: Service, ada: Browser) -> None:
        await set_user(service, email_verified=True)
        await self.connect(ada)
        fields = ada.page.form(DISCONNECT).fields
        service.client.cookies.clear()
        await join(service, EVE)

        await send(service, DISCONNECT, **{**fields, "account": EVE})

        assert await identities(service) == [("test", "1001")]

    async def test_leave_the_password_alone(self, service: Service, ada: Browser) -> None:
        await set_user(service, email_verified=True)
        await self.connect(ada)
        [password] = await service.rows("SELECT id FROM account WHERE provider_id = 'credential'")

        await send(service, DISCONNECT, account=ADA, connection=password.id)

        assert (await sign_in(service)).status_code == 200

    async def test_cannot_be_made_with_an_unknown_provider(self, service: Service, ada: Browser) -> None:
        answer = await send(service, CONNECT, account=ADA, provider="nobody")

        assert answer.status_code == 422

    async def test_are_not_offered_where_linking_is_off(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        off = {**SETTINGS, **social_settings(provider), "account_linking.enabled": "false"}
        service = await make_service(off)
        await join(service)

        assert CONNECT not in [form.action for form in (await Browser(service).open(CONNECTIONS)).forms]


class TestApiKeys:
    async def test_are_created_and_shown_once(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        fields = ada.page.form(KEYS).fields | {"name": " ci ", "expiresIn": "2592000"}
        fields |= {"permissions": "files:read"}

        shown = await send(service, KEYS, **fields)

        [text] = re.findall(r'<code class="secret" id="key" dir="ltr">([\w-]+)</code>', shown.text)
        assert shown.status_code == 200
        page = await ada.open(KEYS)
        assert text not in page.text
        assert "ci" in page.text
        assert "expires 31 January 2026" in page.text
        verified = await service.post("/api-key/verify", {"key": text}, headers=bearer("v" * 40))
        key = verified.json()["key"]
        assert (verified.json()["valid"], key["name"]) == (True, "ci")
        assert key["permissions"] == {"files": ["read"]}

    @pytest.mark.threat("H7")
    async def test_sent_twice_create_one(self, service: Service, ada: Browser) -> None:
        page = await ada.open(KEYS)
        fields = {**page.form(KEYS).fields, "name": "ci"}

        answers = await asyncio.gather(*(send(service, KEYS, **fields) for _ in range(4)))

        assert sorted(answer.status_code for answer in answers) == [200, 422, 422, 422]
        assert await count(service, ApiKey) == 1
        again = await send(service, KEYS, **fields)
        assert "Your keys have changed since this page was opened, so no key was created." in again.text
        assert await count(service, ApiKey) == 1

    async def test_may_have_the_same_name(self, service: Service, ada: Browser) -> None:
        for _ in range(2):
            page = await ada.open(KEYS)
            assert (await send(service, KEYS, **{**page.form(KEYS).fields, "name": "ci"})).status_code == 200

        assert await count(service, ApiKey) == 2

    @pytest.mark.parametrize(
        ("fields", "message", "field"),
        [
            ({"name": "x" * 33}, "This name is too short or too long.", "#name"),
            ({"expiresIn": "1"}, "Keys have to live longer here. Choose a longer time.", "#expiresIn"),
            (
                {"expiresIn": "9" * 15},
                "Keys may not live that long here. Choose a shorter time.",
                "#expiresIn",
            ),
            ({"expiresIn": "soon"}, "This is not valid here.", "#expiresIn"),
            ({"permissions": "files:write"}, "You may not give a key these permissions.", "#permissions"),
            ({"permissions": "files"}, "You may not give a key these permissions.", "#permissions"),
        ],
    )
    async def test_say_what_is_wrong(
        self, service: Service, ada: Browser, fields: dict[str, str], message: str, field: str
    ) -> None:
        await ada.open(KEYS)

        page = await ada.submit(KEYS, **fields)

        assert page.status == 422
        assert page.links[message] == field
        assert await count(service, ApiKey) == 0

    async def test_have_a_limit(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "api_keys.limit_per_owner": "1"})
        await join(service)
        browser = Browser(service)
        await browser.open(KEYS)
        await browser.submit(KEYS)
        await browser.open(KEYS)

        page = await browser.submit(KEYS)

        assert page.status == 422
        assert "You have as many keys as are allowed. Delete one first." in page.text

    async def test_of_several_kinds_are_offered(self, make_service: MakeService) -> None:
        kinds = {"robot": {"references": "user", "default_prefix": "bot_"}}
        service = await make_service({**SETTINGS, "api_keys.kinds": json.dumps(kinds)})
        await join(service)
        page = await Browser(service).open(KEYS)

        answer = await send(service, KEYS, **{**page.form(KEYS).fields, "kind": "robot"})

        assert answer.status_code == 200, answer.text

        [key] = await service.rows("SELECT kind, prefix FROM api_key")
        assert tuple(key) == ("robot", "bot_")

    async def test_are_deleted(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        await ada.submit(KEYS, name="ci")
        await ada.open(KEYS)

        page = await ada.submit(DELETE_KEY)

        assert "The key is deleted." in page.text
        assert await count(service, ApiKey) == 0

    @pytest.mark.threat("H6", "H7")
    async def test_deleted_twice_are_gone_already(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        await ada.submit(KEYS, name="ci")
        page = await ada.open(KEYS)
        fields = page.form(DELETE_KEY).fields
        await send(service, DELETE_KEY, **fields)

        again = await send(service, DELETE_KEY, **fields)

        assert again.headers["location"] == f"{KEYS}?reason=gone"

    @pytest.mark.threat("V22")
    async def test_of_another_user_stay(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        await ada.submit(KEYS, name="ci")
        [key] = await service.rows("SELECT id FROM api_key")
        service.client.cookies.clear()
        await join(service, EVE)

        answer = await send(service, DELETE_KEY, account=EVE, key=key.id)

        assert answer.headers["location"] == f"{KEYS}?reason=gone"
        assert await count(service, ApiKey) == 1

    @pytest.mark.threat("H3")
    async def test_show_a_hostile_name_as_text(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        await ada.submit(KEYS, name="ci")
        await execute(service, "UPDATE api_key SET name = :text", text=HOSTILE)

        assert (await service.get(KEYS)).text.count("<script") == 1

    async def test_are_hidden_where_there_are_none(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "api_keys.enabled": "false"})
        await join(service)

        assert (await service.get(KEYS)).status_code == 404
        assert "API keys" not in (await Browser(service).open(FACTOR)).links
