"""The operations of openapi/paths/account_security_pages.yaml, through the public door and without scripts."""

import asyncio
import json
import re
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from models import BackupCode, TrustedDevice
from models.api_key import ApiKey
from tests import qr_codes
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, act_as, other_profile, recorded, send, stored_user
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
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, identities
from tests.security.second_factor import Owner, challenge, enrol, is_pending, trusted_device
from tests.service import PASSWORD, Service

FACTOR, SESSIONS = "/account/second-factor", "/account/sessions"
CONNECTIONS, KEYS = "/account/connections", "/account/api-keys"
ENABLE, CONFIRM, BACKUP, DISABLE = (
    f"{FACTOR}/{name}" for name in ("enable", "confirm", "backup-codes", "disable")
)
SETUP, CODES, CREATED = f"{FACTOR}/set-up", f"{FACTOR}/codes", f"{KEYS}/created"
FORGET, FORGET_ALL = f"{FACTOR}/devices/forget", f"{FACTOR}/devices/forget-all"
END, END_OTHERS = f"{SESSIONS}/end", f"{SESSIONS}/end-others"
CONNECT, DISCONNECT, DELETE_KEY = f"{CONNECTIONS}/connect", f"{CONNECTIONS}/disconnect", f"{KEYS}/delete"

RESTRICTED = {
    **SETTINGS,
    "enable_session_revocation": "false",
    "api_keys.limit_per_owner": "1",
    "api_keys.kinds": json.dumps({"robot": {"references": "user", "default_prefix": "bot_"}}),
}
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


async def setup(service: Service) -> Owner:
    """Begin to set up Ada's authenticator with the form; return what the page with the QR code gives away."""
    shown = await send(service, ENABLE, account=ADA, step="totp", password=PASSWORD)
    [secret] = parse_qs(urlsplit(qr_codes.in_page(shown.text)).query)["secret"]
    return Owner(ADA, {}, secret, codes_in(shown.text))


def shown_key(answer: httpx.Response) -> str | None:
    """Return the text of the API key that a page shows, or None."""
    found = re.search(r'<code class="secret" id="key" dir="ltr">([\w-]+)</code>', answer.text)
    return None if found is None else found[1]


def codes_in(html: str) -> list[str]:
    """Return the backup codes that a page shows."""
    return re.findall(r"<li>([a-z0-9]{5}-[a-z0-9]{5})</li>", html)


@pytest.mark.operation(
    "account_pages.confirm_two_factor",
    "account_pages.disable_two_factor",
    "account_pages.enable_two_factor",
    "account_pages.replace_backup_codes",
    "account_pages.show_backup_codes",
    "account_pages.show_two_factor",
    "account_pages.show_two_factor_setup",
)
class TestSecondFactor:
    async def test_is_enabled_with_the_qr_code_and_the_first_code(
        self, service: Service, ada: Browser
    ) -> None:
        await ada.open(f"{FACTOR}?step=totp")
        shown = await send(service, ENABLE, **{**ada.page.form(ENABLE).fields, "password": PASSWORD})
        uri = qr_codes.in_page(shown.text)
        [secret] = parse_qs(urlsplit(uri).query)["secret"]
        codes = codes_in(shown.text)
        owner = Owner(ADA, {}, secret, codes)

        assert shown.status_code == 200
        assert " style=" not in shown.text
        assert urlsplit(uri)[:3] == ("otpauth", "totp", "/Gatewright:ada%40example.com")
        assert " ".join(re.findall(".{4}", secret)) in shown.text
        assert 'aria-label="QR code with the key that is written below it"' in shown.text
        assert 'data-copy="codes"' in shown.text
        assert 'data-download="codes" data-name="backup-codes.txt"' in shown.text
        assert "data-print" in shown.text
        assert 'data-copy="key"' in shown.text
        assert len(codes) == 10
        assert not (await stored_user(service)).two_factor_enabled

        confirmed = await send(service, CONFIRM, account=ADA, code=" ".join(owner.code(service)))

        assert confirmed.headers["location"] == f"{FACTOR}?reason=enabled"
        page = await ada.open(confirmed.headers["location"])
        assert "From now on, signing in requires a code." in page.text
        assert "10 left" in page.text
        service.client.cookies.clear()
        assert is_pending(await sign_in(service))

    async def test_wants_the_right_password(self, service: Service, ada: Browser) -> None:
        await ada.open(f"{FACTOR}?step=totp")

        page = await ada.submit(ENABLE, password="wrong password")

        assert page.status == 422
        assert page.links["This is not your password."] == "#password"
        assert page.form(ENABLE).fields["step"] == "totp"
        assert await count(service, BackupCode) == 0

    async def test_asks_again_after_a_wrong_code(self, service: Service, ada: Browser) -> None:
        owner = await setup(service)
        await ada.open(FACTOR)

        page = await ada.submit(CONFIRM, code=owner.wrong_code(service))

        assert page.status == 422
        assert page.links["This code is not right. Check it, or wait for the next one."] == "#code"
        assert page.inputs["code"].get("value") == ""
        assert page.inputs["code"]["autocomplete"] == "one-time-code"
        assert page.inputs["code"]["inputmode"] == "numeric"
        assert not (await stored_user(service)).two_factor_enabled
        page = await ada.submit(CONFIRM, code=owner.code(service))
        assert page.query["reason"] == "enabled"

    @pytest.mark.threat("H7")
    async def test_shows_the_same_codes_and_key_again(self, service: Service, ada: Browser) -> None:
        shown = await send(service, ENABLE, account=ADA, step="totp", password=PASSWORD)
        assert codes_in(shown.text)

        again = await service.get(SETUP)
        assert (codes_in(again.text), qr_codes.in_page(again.text)) == (
            codes_in(shown.text),
            qr_codes.in_page(shown.text),
        )
        await ada.open(SETUP)
        wrong = await ada.submit(CONFIRM, code="000000")
        assert (wrong.status, wrong.path.partition("?")[0]) == (422, SETUP)
        assert codes_in(shown.text)[0] in wrong.text
        assert "This code is not right." in wrong.text

        service.clock.advance(minutes=5)
        later = await ada.open(SETUP)
        assert "Finish setting up your authenticator app" in later.text
        assert codes_in(shown.text)[0] not in later.text

    @pytest.mark.threat("H7")
    async def test_shows_new_backup_codes_again(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        shown = await send(service, BACKUP, account=ADA, step="backup-codes", password=PASSWORD)

        again = await service.get(CODES)

        assert len(codes_in(again.text)) == 10
        assert codes_in(again.text) == codes_in(shown.text)
        await browser.open(FACTOR)
        assert (await service.get(CODES)).headers["location"] == FACTOR

    @pytest.mark.threat("H7")
    async def test_confirmed_twice_stays_enabled(self, service: Service, ada: Browser) -> None:
        code = (await setup(service)).code(service)

        answers = [await send(service, CONFIRM, account=ADA, code=code) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        assert await count(service, BackupCode) == 10

    async def test_without_a_setup_has_nothing_to_confirm_or_replace(
        self, service: Service, ada: Browser
    ) -> None:
        confirmed = await send(service, CONFIRM, account=ADA, code="123456")
        replaced = await send(service, BACKUP, account=ADA, step="backup-codes", password=PASSWORD)

        assert (confirmed.status_code, replaced.status_code) == (422, 422)
        assert "No authenticator app is being set up. Begin again." in confirmed.text
        assert codes_in(replaced.text) == []

    async def test_keeps_the_present_authenticator_until_the_new_one_is_confirmed(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        await browser.open(f"{FACTOR}?step=totp")
        assert "Your current app works" in browser.page.text
        new = await setup(service)

        page = await browser.open(FACTOR)

        assert new.secret != owner.secret
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
        assert (await stored_user(service)).two_factor_enabled
        service.client.cookies.clear()
        pending = await sign_in(service)
        assert pending.json()["twoFactorMethods"] == ["otp"]

    async def test_sends_codes_only_to_a_verified_address(self, service: Service, ada: Browser) -> None:
        page = await ada.open(f"{FACTOR}?step=otp")

        assert "Verify your email address first." in page.text
        assert "password" not in page.inputs
        answer = await send(service, ENABLE, account=ADA, step="otp", password=PASSWORD)
        assert answer.status_code == 422
        assert not (await stored_user(service)).two_factor_enabled

    async def test_replaces_the_backup_codes(self, service: Service, browser: Browser, owner: Owner) -> None:
        await browser.open(f"{FACTOR}?step=backup-codes")

        shown = await send(service, BACKUP, **{**browser.page.form(BACKUP).fields, "password": PASSWORD})

        new = codes_in(shown.text)
        assert len(new) == 10
        assert not set(new) & set(owner.backup_codes)
        assert codes_in((await service.get(FACTOR)).text) == []
        for code, status in ((owner.backup_codes[0], 401), (new[0], 200)):
            pending = bearer(await challenge(service))
            answer = await service.post("/two-factor/verify-backup-code", {"code": code}, headers=pending)
            assert answer.status_code == status
        service.client.cookies.clear()

    async def test_is_disabled_with_the_password(
        self, service: Service, browser: Browser, owner: Owner
    ) -> None:
        await browser.open(f"{FACTOR}?step=disable")
        refused = await browser.submit(DISABLE, password="wrong password")
        assert refused.status == 422
        assert (await stored_user(service)).two_factor_enabled

        page = await browser.submit(DISABLE, password=PASSWORD)

        assert "Two-factor authentication is turned off." in page.text
        assert not (await stored_user(service)).two_factor_enabled
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


@pytest.mark.operation("account_pages.forget_trusted_device", "account_pages.forget_trusted_devices")
class TestTrustedDevices:
    async def trust(self, service: Service, owner: Owner) -> str:
        """Sign in on a new device and trust it; the browser keeps the session, but not the cookie of the device."""
        token = await trusted_device(service, owner)
        service.client.cookies.delete("service.trust-device")
        return token

    @pytest.mark.threat("H7")
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
        answer, again = [await send(service, FORGET, account=ADA, device=newest) for _ in range(2)]
        assert answer.headers["location"] == f"{FACTOR}?reason=forgotten"
        assert "service.trust-device=;" in answer.headers["set-cookie"]
        assert again.status_code == 303
        assert await count(service, TrustedDevice) == 1
        assert await recorded(service, "trusted_device.removed") == 1
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


@pytest.mark.operation(
    "account_pages.end_other_sessions", "account_pages.end_session", "account_pages.show_sessions"
)
class TestSessions:
    async def elsewhere(self, service: Service, agent: str = FIREFOX) -> dict[str, str]:
        """Sign in on another device; give the headers of that session."""
        with other_profile(service):
            body = {"email": ADA, "password": PASSWORD}
            answer = await service.post("/sign-in/email", body, headers={"User-Agent": agent})
        return bearer(answer.json()["token"])

    @pytest.mark.threat("V40")
    async def test_say_what_where_and_when_and_show_no_token(self, service: Service, ada: Browser) -> None:
        other = await self.elsewhere(service)
        token = other["Authorization"].removeprefix("Bearer ")

        page = await ada.open(SESSIONS)
        html = (await service.get(SESSIONS)).text

        assert "Firefox 145 on Windows" in page.text
        assert page.text.count("127.0.0.1 · signed in 1 January 2026") == 2
        assert page.text.count("this session") == 1
        assert token not in html
        assert str(service.client.cookies["service.session-token"]) not in html

    @pytest.mark.threat("H7")
    async def test_are_ended_one_by_one_and_recorded_once(self, service: Service, ada: Browser) -> None:
        other, third = await self.elsewhere(service), await self.elsewhere(service, agent="curl/8.5.0")
        page = (await service.get(SESSIONS)).text
        handles = re.findall(r'name="session" value="(rvk_\w{32})"', page)
        assert len(handles) == 2

        for handle in handles:
            ended, again = [await send(service, END, account=ADA, session=handle) for _ in range(2)]
            assert ended.headers["location"] == f"{SESSIONS}?reason=ended"
            assert again.status_code == 303

        assert await recorded(service, "session.revoked") == 2
        assert not await works(service, other)
        assert not await works(service, third)
        assert (await ada.open(SESSIONS)).path == SESSIONS

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

    @pytest.mark.threat("H13")
    async def test_hide_where_an_administrator_is(self, service: Service, ada: Browser) -> None:
        with other_profile(service):
            await act_as(service)
        await execute(
            service,
            "UPDATE session SET ip_address = '203.0.113.9', user_agent = :agent WHERE impersonated_by IS NOT NULL",
            agent=FIREFOX,
        )

        page = await ada.open(SESSIONS)

        assert "An administrator in your name" in page.text
        assert "203.0.113.9" not in page.text
        assert "Firefox" not in page.text

    async def test_on_an_unknown_device_are_shown(self, service: Service, ada: Browser) -> None:
        for agent in (None, "", " ", "gibberish/0"):
            await execute(service, "UPDATE session SET user_agent = :agent", agent=agent)
            page = await ada.open(SESSIONS)
            assert ("gibberish/0" if agent and agent.strip() else "Unknown device") in page.text

    async def test_stay_where_they_cannot_be_ended(self, make_service: MakeService) -> None:
        service = await make_service(RESTRICTED)
        await join(service)
        await self.elsewhere(service)

        page = await Browser(service).open(SESSIONS)

        assert {END, END_OTHERS}.isdisjoint(form.action for form in page.forms)
        assert (await send(service, END_OTHERS, account=ADA)).status_code == 404


@pytest.mark.operation(
    "account_pages.connect_provider",
    "account_pages.disconnect_provider",
    "account_pages.show_connections",
    "account_pages.show_disconnection",
)
class TestConnections:
    @pytest.fixture
    async def service(self, make_service: MakeService, provider: ProviderProcess) -> Service:
        as_user(provider, ADA, "1001")
        return await make_service({**SETTINGS, **social_settings(provider)})

    async def connect(self, browser: Browser, provider: str = "test") -> None:
        """Connect an account: through the page that leads on, and the provider's, back to ours."""
        await set_user(browser.service, email_verified=True)
        await browser.open(CONNECTIONS)
        page = await browser.submit(CONNECT, provider=provider)
        async with httpx.AsyncClient(trust_env=False, timeout=30) as stranger:
            back = await stranger.get(page.path)
        await browser.open(back.headers["location"])

    async def test_are_made_through_the_provider(self, service: Service, ada: Browser) -> None:
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

    @pytest.mark.threat("H6", "H7")
    async def test_are_removed_once(self, service: Service, ada: Browser) -> None:
        await self.connect(ada)
        page = await ada.open(ada.page.links["Disconnect"])
        assert "Disconnect this account?" in page.text
        assert "your only way to sign in" not in page.text
        fields = page.form(DISCONNECT).fields

        page = await ada.submit(DISCONNECT)
        again = await send(service, DISCONNECT, **fields)

        assert "The account is disconnected." in page.text
        assert again.headers["location"] == f"{CONNECTIONS}?reason=gone"
        assert await identities(service) == []
        assert await recorded(service, "account.unlinked") == 1

    async def test_keep_the_last_way_in(self, service: Service, ada: Browser) -> None:
        await self.connect(ada)
        fields = (await ada.open(ada.page.links["Disconnect"])).form(DISCONNECT).fields
        await execute(service, "DELETE FROM account WHERE provider_id = 'credential'")

        page = await ada.open(CONNECTIONS)

        assert "This is the only way you can sign in." in page.text
        assert "Disconnect" not in page.links
        refused = await send(service, DISCONNECT, **fields)
        assert refused.status_code == 422
        assert await identities(service) == [("test", "1001")]

    async def test_leave_the_password_alone(self, service: Service, ada: Browser) -> None:
        await self.connect(ada)
        [password] = await service.rows("SELECT id FROM account WHERE provider_id = 'credential'")

        await send(service, DISCONNECT, account=ADA, connection=password.id)

        assert (await sign_in(service)).status_code == 200

    async def test_cannot_be_made_with_an_unknown_provider(self, service: Service, ada: Browser) -> None:
        answer = await send(service, CONNECT, account=ADA, provider="nobody")

        assert answer.status_code == 422


@pytest.mark.operation(
    "account_pages.create_api_key",
    "account_pages.delete_api_key",
    "account_pages.show_api_key_deletion",
    "account_pages.show_api_keys",
    "account_pages.show_new_api_key",
)
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
    async def test_are_shown_again_to_the_same_session_for_five_minutes(
        self, service: Service, ada: Browser
    ) -> None:
        await ada.open(KEYS)
        first = await send(service, KEYS, **{**ada.page.form(KEYS).fields, "name": "ci"})
        text = shown_key(first)
        assert text
        assert "service.shown-once" in service.client.cookies

        service.clock.advance(minutes=4, seconds=59)
        again = await service.get(CREATED)
        assert shown_key(again) == text
        content = str(service.client.cookies["service.shown-once"])
        with other_profile(service):
            await sign_in(service)
            service.client.cookies.set("service.shown-once", content)
            assert (await service.get(CREATED)).headers["location"] == KEYS
        service.clock.advance(seconds=1)
        assert (await service.get(CREATED)).headers["location"] == KEYS

    @pytest.mark.threat("H7")
    async def test_are_gone_once_the_user_has_gone_on(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        assert shown_key(await send(service, KEYS, **{**ada.page.form(KEYS).fields, "name": "ci"}))

        await ada.open(KEYS)

        assert "service.shown-once" not in service.client.cookies
        assert (await service.get(CREATED)).headers["location"] == KEYS

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

    async def test_say_what_is_wrong(self, service: Service, ada: Browser) -> None:
        forbidden = "You may not give a key these permissions."
        too_long = "Keys may not live that long here. Choose a shorter time."
        wrong = [
            ({"name": "x" * 33}, "This name is too short or too long."),
            ({"expiresIn": "1"}, "Keys have to live longer here. Choose a longer time."),
            ({"expiresIn": "9" * 15}, too_long),
            ({"expiresIn": "soon"}, "This is not valid here."),
            ({"permissions": "files:write"}, forbidden),
            ({"permissions": "files"}, forbidden),
        ]
        for fields, message in wrong:
            await ada.open(KEYS)
            page = await ada.submit(KEYS, **fields)
            assert (page.status, page.links[message]) == (422, f"#{next(iter(fields))}")

        assert await count(service, ApiKey) == 0

    async def test_have_a_limit_and_the_prefix_of_their_kind(self, make_service: MakeService) -> None:
        service = await make_service(RESTRICTED)
        await join(service)
        browser = Browser(service)
        await browser.open(KEYS)
        await browser.submit(KEYS, kind="robot")
        await browser.open(KEYS)

        page = await browser.submit(KEYS, kind="robot")

        assert page.status == 422
        assert "You have as many keys as are allowed. Delete one first." in page.text
        [key] = await service.rows("SELECT kind, prefix FROM api_key")
        assert tuple(key) == ("robot", "bot_")

    @pytest.mark.threat("H6", "H7")
    async def test_are_deleted_once(self, service: Service, ada: Browser) -> None:
        await ada.open(KEYS)
        await ada.submit(KEYS, name="ci")
        page = await ada.open(KEYS)
        page = await ada.open(page.links["Delete"])
        assert "Delete this API key?" in page.text
        assert await count(service, ApiKey) == 1
        fields = page.form(DELETE_KEY).fields

        page = await ada.submit(DELETE_KEY)
        again = await send(service, DELETE_KEY, **fields)

        assert "The key is deleted." in page.text
        assert again.headers["location"] == f"{KEYS}?reason=gone"
        assert await count(service, ApiKey) == 0


class TestSwitchedOff:
    async def test_is_neither_there_nor_offered(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        off = {
            "two_factor.otp_enabled": "false",
            "enable_session_listing": "false",
            "account_linking.enabled": "false",
            "api_keys.enabled": "false",
        }
        service = await make_service({**SETTINGS, **social_settings(provider), **off})
        await join(service)
        browser = Browser(service)

        page = await browser.open(FACTOR)

        assert "Codes by email" not in page.text
        assert {"Devices and sessions", "API keys"}.isdisjoint(page.links)
        assert [(await service.get(path)).status_code for path in (SESSIONS, KEYS)] == [404, 404]
        page = await browser.open(CONNECTIONS)
        assert CONNECT not in [form.action for form in page.forms]
