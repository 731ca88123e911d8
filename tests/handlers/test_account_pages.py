"""The operations of openapi/paths/account_pages.yaml, through the public door and without scripts; and what holds on
every page of the account."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest

from codegen.bundle import bundle
from codegen.walk import operations
from models import Audit, User
from server.api.extension import extension_of
from tests import rows
from tests.authenticator import Authenticator
from tests.conftest import MakeService
from tests.contract.reading import OPERATIONS
from tests.handlers import passkey_steps
from tests.handlers.pages import (
    SAME_ORIGIN,
    SETTINGS,
    SHOWN_ONCE,
    Browser,
    Page,
    act_as,
    other_profile,
    recorded,
    send,
    signed_in,
    stored_user,
)
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_ADDRESS,
    NEW_PASSWORD,
    UNKNOWN,
    count,
    execute,
    join,
    last_link,
    opens,
    set_user,
    sign_in,
    token_in,
    works,
)
from tests.service import BASE_URL, PASSWORD, Service

PROFILE, EMAIL, PASSWORD_PAGE = "/account/profile", "/account/email", "/account/password"
HISTORY, DATA, EXPORT, DELETE = "/account/history", "/account/data", "/account/data/export", "/account/delete"
FACTOR, SESSIONS, CONNECTIONS = "/account/second-factor", "/account/sessions", "/account/connections"
KEYS, PASSKEYS = "/account/api-keys", "/account/passkeys"
REMOVED_ACCESS = "/account/removed-access"
ACCOUNT = [one for name, one in OPERATIONS.items() if name.startswith("account_pages.")]
APPLICATIONS, DEVICE = "/account/applications", "/account/device"
REMOVALS = (f"{KEYS}/delete", f"{CONNECTIONS}/disconnect", f"{PASSKEYS}/remove", f"{APPLICATIONS}/revoke")
OTHERS = (EXPORT, REMOVED_ACCESS, *SHOWN_ONCE, *REMOVALS)
PAGES = [one.path for one in ACCOUNT if one.method == "get" and one.path not in OTHERS]
FRESH = (EMAIL, PASSWORD_PAGE, DATA, EXPORT, f"{DELETE}?token=x", FACTOR, CONNECTIONS, KEYS, PASSKEYS)
"""Where ways in change, or all data is shown."""
VERIFY = "/account/verify-email"
FORMS = {
    PROFILE: {"name": "Eve", "version": "x"},
    EMAIL: {"newEmail": NEW_ADDRESS},
    f"{EMAIL}/verification": {},
    PASSWORD_PAGE: {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD},
    f"{PASSWORD_PAGE}/link": {},
    f"{DATA}/delete": {"password": PASSWORD},
    DELETE: {"token": "x"},
    f"{FACTOR}/enable": {"step": "totp", "password": PASSWORD},
    f"{FACTOR}/confirm": {"code": "123456"},
    f"{FACTOR}/backup-codes": {"step": "backup-codes", "password": PASSWORD},
    f"{FACTOR}/disable": {"step": "disable", "password": PASSWORD},
    f"{FACTOR}/devices/forget": {"device": UNKNOWN},
    f"{FACTOR}/devices/forget-all": {},
    f"{SESSIONS}/end": {"session": f"rvk_{UNKNOWN}"},
    f"{SESSIONS}/end-others": {},
    f"{CONNECTIONS}/connect": {"provider": "test"},
    f"{CONNECTIONS}/disconnect": {"connection": UNKNOWN},
    f"{APPLICATIONS}/revoke": {"consent": UNKNOWN},
    f"{DEVICE}/approve": {"user_code": "BCDF-GHJK"},
    f"{DEVICE}/deny": {"user_code": "BCDF-GHJK"},
    KEYS: {"name": "ci"},
    f"{KEYS}/delete": {"key": UNKNOWN},
    PASSKEYS: {"credential": "AA", "clientDataJSON": "AA", "attestationObject": "AA"},
    f"{PASSKEYS}/rename": {"step": UNKNOWN, "newName": "Phone"},
    f"{PASSKEYS}/remove": {"passkey": UNKNOWN},
}
"""Every form, filled in."""
DEVICES = {f"{DEVICE}/approve", f"{DEVICE}/deny"}
HARMLESS = {PROFILE, f"{EMAIL}/verification"}
"""The forms that need no fresh session, and that administrators may send in the name of a user."""
OWN_SESSIONS = {f"{SESSIONS}/end", f"{SESSIONS}/end-others", f"{APPLICATIONS}/revoke", *DEVICES}
"""The forms that need no fresh session either: they end sessions and grants, or are part of a sign-in."""

HOSTILE = "<script>alert(1)</script>\u202e\u2066\u0007" + "x" * 10_000
"""Markup, controls of text direction, a control character, and 10 kB without a space."""
WITHOUT = {**SETTINGS, "username.enabled": "false", "delete_user.enabled": "false"}


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


async def state(service: Service) -> list[object]:
    """Return what the forms could change, and the emails."""
    tables = ("user", "two_factor", "backup_code", "trusted_device", "account", "api_key", "passkey")
    rows = [sorted(map(tuple, await service.rows(f'SELECT * FROM "{name}"')), key=repr) for name in tables]
    sessions = sorted(row.id for row in await service.rows("SELECT id FROM session"))
    return [*rows, sessions, await service.inbox()]


async def refused(
    service: Service, headers: Mapping[str, str] = SAME_ORIGIN, /, **more: str
) -> dict[str, httpx.Response]:
    """Send every form with these further fields; see that none does anything, and return the answers by path."""
    before = await state(service)
    answers = {path: await send(service, path, headers, **fields, **more) for path, fields in FORMS.items()}
    assert await state(service) == before
    return answers


async def add_key_and_passkey(browser: Browser) -> None:
    await passkey_steps.add(browser.service, {}, Authenticator())
    await browser.open(KEYS)
    await browser.submit(KEYS, name="ci")


def statuses(answers: Mapping[str, httpx.Response]) -> dict[str, int]:
    return {path: answer.status_code for path, answer in answers.items()}


def led(answer: httpx.Response) -> tuple[int, str]:
    """Return the status of a redirect, and the path that it leads to."""
    return answer.status_code, urlsplit(answer.headers["location"]).path


class TestUnverified:
    """Pages of a user whose address was never verified ask for it."""

    async def test_asks_on_every_page_for_the_verification(self, service: Service, ada: Browser) -> None:
        for path in ("/account", PROFILE, SESSIONS, HISTORY):
            page = await ada.open(path)
            assert "Verify your email address" in page.text
            assert page.form(f"{EMAIL}/verification")

        page = await ada.submit(f"{EMAIL}/verification")

        assert "We have sent you a link" in page.text
        assert await service.inbox(ADA, "verify-email")

    async def test_an_old_session_is_not_asked_to_sign_in_again_first(
        self, service: Service, ada: Browser
    ) -> None:
        service.clock.advance(days=2)
        await ada.open("/account")
        await service.inbox()

        page = await ada.submit(f"{EMAIL}/verification")

        assert page.path.startswith("/account/mail-sent")
        assert await service.inbox(ADA, "verify-email")

    async def test_asks_no_verified_user_and_no_administrator(self, service: Service, ada: Browser) -> None:
        await act_as(service)
        assert "Verify your email address" not in (await ada.open("/account")).text

        service.client.cookies.clear()
        await set_user(service, email_verified=True)
        await sign_in(service)
        assert "Verify your email address" not in (await ada.open("/account")).text

    async def test_asks_nothing_where_no_email_can_be_sent(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "mail.sender": "none"})
        await join(service)

        page = await Browser(service).open("/account")

        assert page.title.startswith("Your account")
        assert "Verify your email address" not in page.text

    @pytest.mark.parametrize("language", ["de", "ar"])
    async def test_asks_in_the_language_of_the_reader(self, ada: Browser, language: str) -> None:
        ada.languages = language

        page = await ada.open("/account")

        assert page.language == language
        assert "We do not know yet" not in page.text
        assert page.form(f"{EMAIL}/verification")


class TestEveryPage:
    @pytest.mark.parametrize("because", ["absent", "ended", "banned", "expired"])
    async def test_leads_to_the_sign_in_page_and_back(self, service: Service, because: str) -> None:
        session = await join(service)
        headers = {"Cookie": f"service.session-token={service.client.cookies['service.session-token']}"}
        match because:
            case "absent":
                headers = {}
            case "ended":
                await service.post("/revoke-sessions", headers=session)
            case "banned":
                await set_user(service, banned=True)
            case "expired":
                service.clock.advance(days=400)
        service.client.cookies.clear()

        for path in (*PAGES, EXPORT, REMOVED_ACCESS, f"{DELETE}?token=x"):
            answer = await service.get(path, headers=headers)
            assert led(answer) == (302, "/account/sign-in")
            assert parse_qs(urlsplit(answer.headers["location"]).query)["callbackURL"] == [path]
        for path, fields in FORMS.items():
            answer = await send(service, path, {**SAME_ORIGIN, **headers}, **fields)
            assert led(answer) == (303, "/account/sign-in")

    async def test_asks_for_a_fresh_session_where_ways_in_change(
        self, service: Service, ada: Browser
    ) -> None:
        service.clock.advance(hours=24)
        assert [(await service.get(path)).status_code for path in FRESH] == [200] * len(FRESH)
        service.clock.advance(seconds=1)

        answers = [await service.get(path) for path in FRESH]

        assert [answer.headers["location"] for answer in answers] == [
            f"/account/confirm?callbackURL={quote(path, safe='')}" for path in FRESH
        ]

    @pytest.mark.threat("H2")
    @pytest.mark.parametrize("path", PAGES)
    async def test_is_whole_in_every_direction(self, ada: Browser, path: str) -> None:
        for language, direction in (("en", "ltr"), ("de", "ltr"), ("ar", "rtl")):
            answer = await ada.service.get(f"{path}?ui_locales={language}")
            page = Page(answer)

            assert (page.status, page.language, page.direction) == (200, language, direction)
            assert answer.text.count("<h1>") == 1
            assert answer.text.count('aria-current="page"') == (0 if path in (DELETE, DEVICE) else 1)
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]

    @pytest.mark.threat("H3")
    async def test_shows_hostile_names_as_text(self, service: Service, ada: Browser) -> None:
        await add_key_and_passkey(ada)
        await set_user(service, name=HOSTILE, username="ada", display_username=HOSTILE, image=f'"{HOSTILE}')
        for change in (
            "audit SET user_agent = :text, address = :text WHERE user_id IS NOT NULL",
            "session SET user_agent = :text, ip_address = :text",
            "api_key SET name = :text",
            "passkey SET name = :text",
        ):
            await execute(service, f"UPDATE {change}", text=HOSTILE)

        answers = {path: await service.get(path) for path in (*PAGES, "/account/sign-in")}

        assert statuses(answers) == dict.fromkeys(answers, 200)
        assert {answer.text.count("<script") for answer in answers.values()} == {1}
        assert not any("<script>alert" in answer.text for answer in answers.values())
        shown = {path for path, answer in answers.items() if "&lt;script&gt;alert(1)" in answer.text}
        assert shown >= {"/account", PROFILE, HISTORY, SESSIONS, KEYS, PASSKEYS, "/account/sign-in"}


class TestEveryForm:
    def test_is_tried_below(self) -> None:
        assert set(FORMS) == {one.path for one in ACCOUNT if one.method == "post"}

    @pytest.mark.threat("H8")
    async def test_is_refused_for_another_account(self, service: Service, ada: Browser) -> None:
        answers = await refused(service, account=EVE)

        assert statuses(answers) == dict.fromkeys(FORMS, 409)
        assert all(EVE in answer.text and ADA in answer.text for answer in answers.values())

    @pytest.mark.threat("H1")
    async def test_is_refused_from_a_page_of_another_site(self, service: Service, ada: Browser) -> None:
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}

        answers = await refused(service, foreign, account=ADA)

        assert statuses(answers) == dict.fromkeys(FORMS, 403)

    @pytest.mark.threat("H4")
    async def test_leads_to_no_foreign_place(self, service: Service, ada: Browser) -> None:
        target = "https://evil.test/"

        answers = await refused(service, account=ADA, callbackURL=target)

        assert statuses(answers) == dict.fromkeys(FORMS, 403)
        assert not any("location" in answer.headers for answer in answers.values())
        assert (await service.get(f"{PROFILE}?callbackURL={target}")).status_code == 403

    async def test_needs_a_fresh_session_where_ways_in_change(self, service: Service, ada: Browser) -> None:
        service.clock.advance(hours=24, seconds=1)
        before = await state(service)

        for path in sorted(FORMS.keys() - HARMLESS - OWN_SESSIONS):
            answer = await send(service, path, account=ADA, **FORMS[path])
            assert led(answer) == (303, "/account/confirm")

        assert await state(service) == before

    @pytest.mark.threat("H13")
    async def test_is_refused_for_who_acts_in_the_name_of_the_user(
        self, service: Service, ada: Browser
    ) -> None:
        await act_as(service)
        before = await state(service)

        for path in sorted(FORMS.keys() - HARMLESS):
            answer = await send(service, path, account=ADA, **FORMS[path])
            assert answer.status_code == 403
            assert "Administrators cannot do this in the name of a user." in answer.text

        assert await state(service) == before
        assert (await service.get(EXPORT)).status_code == 403
        assert f"You are acting as {ADA} ." in (await ada.open("/account")).text

    @pytest.mark.threat("V22")
    async def test_leaves_what_belongs_to_others(self, service: Service, ada: Browser) -> None:
        token = service.client.cookies["service.session-token"]
        await add_key_and_passkey(ada)
        await execute(
            service,
            "INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)"
            " SELECT :id, id, 'github', 'https://github.com', '1', created_at, created_at FROM \"user\"",
            id=UNKNOWN,
        )
        await execute(
            service,
            "INSERT INTO trusted_device (id, user_id, digest, expires_at, created_at, updated_at)"
            ' SELECT :id, id, :digest, created_at, created_at, created_at FROM "user"',
            id=UNKNOWN,
            digest=b"d" * 32,
        )
        for table in ("session", "api_key", "passkey"):
            await execute(service, f"UPDATE {table} SET id = :id", id=UNKNOWN)

        with other_profile(service):
            await join(service, EVE)
            before = await state(service)
            for path, fields in FORMS.items():
                if UNKNOWN in "".join(fields.values()) or path in OWN_SESSIONS:
                    assert (await send(service, path, account=EVE, **fields)).status_code in (303, 422)
            for handle in (UNKNOWN, token):
                await send(service, f"{SESSIONS}/end", account=EVE, session=handle)
            assert await state(service) == before


@pytest.mark.operation("account_pages.show_overview")
class TestOverview:
    async def test_shows_who_is_signed_in_and_what_happened_and_signs_out(
        self, service: Service, browser: Browser
    ) -> None:
        session = await join(service)

        page = await browser.open("/account")

        assert f"Email address {ADA} not verified" in page.text
        assert "1 January 2026" in page.text
        assert "Password set" in page.text
        assert "The account was created" in page.text
        await browser.submit("/account/sign-out")
        assert not await works(service, session)


@pytest.mark.operation("account_pages.show_profile", "account_pages.update_profile")
class TestProfile:
    async def test_changes_the_profile(self, service: Service, ada: Browser) -> None:
        await ada.open(PROFILE)

        page = await ada.submit(
            PROFILE, name=" Ada King ", username="Ada.King", image="https://images.example.com/ada.png"
        )

        user = await stored_user(service)
        assert "Your profile is saved." in page.text
        assert (user.name, user.username, user.display_username) == ("Ada King", "ada.king", "Ada.King")
        assert user.image == page.inputs["image"]["value"] == "https://images.example.com/ada.png"
        await ada.submit(PROFILE, image="")
        assert (await stored_user(service)).image is None

    async def test_changes_the_language_of_pages_and_emails_at_once(
        self, service: Service, ada: Browser
    ) -> None:
        await service.inbox(ADA)
        page = await ada.open(f"{PROFILE}?ui_locales=fr")
        assert page.form(PROFILE).fields["locale"] == ""

        page = await ada.submit(PROFILE, locale="de")

        assert (page.language, page.form(PROFILE).fields["locale"]) == ("de", "de")
        assert (await ada.open("/account")).language == "de"
        await service.post("/send-verification-email", {"email": ADA})
        assert "Bestätigen" in (await service.inbox(ADA, "verify-email"))[-1]["subject"]

        await ada.open(PROFILE)
        page = await ada.submit(PROFILE, locale="")

        assert (page.language, (await stored_user(service)).locale) == ("en", None)

    async def test_takes_no_language_that_there_is_not(self, service: Service, ada: Browser) -> None:
        await ada.open(PROFILE)

        for locale in ("xx", "de\n", "../de"):
            page = await ada.submit(PROFILE, locale=locale)
            assert (page.status, page.links["This is not valid here."]) == (422, "#locale")

        assert (await stored_user(service)).locale is None

    async def test_says_what_is_wrong_and_keeps_the_rest(self, service: Service, ada: Browser) -> None:
        await ada.open(PROFILE)

        page = await ada.submit(PROFILE, name="Ada King", username="a")

        assert page.status == 422
        assert page.links["This username is too short."] == "#username"
        assert page.inputs["name"]["value"] == "Ada King"
        assert (await stored_user(service)).name == "Ada"

    @pytest.mark.threat("H3")
    async def test_takes_no_name_that_steers_the_display(self, ada: Browser) -> None:
        await ada.open(PROFILE)

        for name in ("\u202eadA", "x" * 257):
            page = await ada.submit(PROFILE, name=name)
            assert (page.status, page.inputs["name"]["aria-invalid"]) == (422, "true")

    async def test_has_no_username_where_there_are_none(self, make_service: MakeService) -> None:
        service = await make_service(WITHOUT)
        await join(service)
        browser = Browser(service)
        await browser.open(PROFILE)

        await browser.submit(PROFILE, name="Ada King", username="ada")

        assert "username" not in browser.page.inputs
        assert (await stored_user(service)).username is None

    @pytest.mark.threat("H6")
    async def test_overwrites_nothing_that_was_changed_meanwhile(
        self, service: Service, ada: Browser
    ) -> None:
        await ada.open(PROFILE)
        service.clock.advance(minutes=1)
        await service.post("/update-user", {"name": "Ada Lovelace"})

        page = await ada.submit(PROFILE, name="Ada King")

        assert page.status == 422
        assert "Your account was changed after you opened this form, so nothing was saved." in page.text
        assert "Stored now: “ Ada Lovelace ”" in page.text
        assert page.inputs["name"]["value"] == "Ada King"
        assert (await stored_user(service)).name == "Ada Lovelace"

        await ada.submit(PROFILE)

        assert (await stored_user(service)).name == "Ada King"

    @pytest.mark.threat("H6")
    async def test_another_mistake_makes_no_stale_form_new(self, service: Service, ada: Browser) -> None:
        await ada.open(PROFILE)
        service.clock.advance(minutes=1)
        await service.post("/update-user", {"name": "Ada Lovelace"})
        await ada.submit(PROFILE, name="x" * 257)

        page = await ada.submit(PROFILE, name="Ada King")

        assert page.status == 422
        assert (await stored_user(service)).name == "Ada Lovelace"

    @pytest.mark.threat("H6")
    async def test_of_two_forms_at_once_one_wins(self, service: Service, ada: Browser) -> None:
        page = await ada.open(PROFILE)
        service.clock.advance(minutes=1)
        fields = page.form(PROFILE).fields

        answers = await asyncio.gather(
            *(send(service, PROFILE, **{**fields, "name": f"Ada {number}"}) for number in range(8))
        )

        assert sorted(answer.status_code for answer in answers) == [303] + [422] * 7
        assert await recorded(service, "user.updated") == 1

    @pytest.mark.threat("H6")
    async def test_of_a_deleted_user_leads_to_the_sign_in_page(self, service: Service, ada: Browser) -> None:
        await ada.open(PROFILE)
        await execute(service, 'DELETE FROM "user"')

        page = await ada.submit(PROFILE, name="Ada King")

        assert page.path.startswith("/account/sign-in?")

    @pytest.mark.threat("H7")
    async def test_sent_twice_is_saved_once(self, service: Service, ada: Browser) -> None:
        page = await ada.open(PROFILE)
        service.clock.advance(minutes=1)
        fields = {**page.form(PROFILE).fields, "name": "Ada King"}

        answers = [await send(service, PROFILE, **fields) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        assert await recorded(service, "user.updated") == 1


@pytest.mark.operation(
    "account_pages.change_email", "account_pages.send_verification_email", "account_pages.show_email"
)
class TestEmail:
    async def test_sends_the_verification_again(self, service: Service, ada: Browser) -> None:
        await service.inbox()
        await ada.open(EMAIL)

        page = await ada.submit(f"{EMAIL}/verification")

        assert "We have sent you a link." in page.text
        await ada.open(page_of(await last_link(service, "verify-email", ADA)))
        page = await ada.submit("/account/verify-email")
        assert page.links["Continue"].endswith(EMAIL)
        assert f"{ADA} verified" in (await ada.open(EMAIL)).text

    async def test_says_that_it_is_verified_already(self, service: Service, ada: Browser) -> None:
        await ada.open(EMAIL)
        await set_user(service, email_verified=True)

        page = await ada.submit(f"{EMAIL}/verification")

        assert page.status == 422
        assert "This email address is verified already." in page.text

    async def test_changes_an_address_that_was_never_verified_at_once(
        self, service: Service, ada: Browser
    ) -> None:
        await ada.open(EMAIL)

        page = await ada.submit(EMAIL, newEmail=NEW_ADDRESS)

        assert f"{NEW_ADDRESS} not verified" in page.text

    async def test_changes_a_verified_address_when_the_link_is_opened(
        self, service: Service, ada: Browser
    ) -> None:
        await set_user(service, email_verified=True)
        await ada.open(EMAIL)

        page = await ada.submit(EMAIL, newEmail=NEW_ADDRESS)
        assert f"{ADA} verified" in page.text
        assert "The change takes effect when you open it." in page.text
        await ada.open(page_of(await last_link(service, "change-email", NEW_ADDRESS)))
        await ada.submit("/account/verify-email")

        assert f"{NEW_ADDRESS} verified" in (await ada.open(EMAIL)).text

    async def test_names_the_account_and_the_new_address_before_it_is_changed(
        self, service: Service, ada: Browser
    ) -> None:
        link = await change_link(service, ada)

        page = await ada.open(link)
        assert page.title.startswith("Change your email address")
        assert f"The account {ADA} gets the email address {NEW_ADDRESS}" in page.text
        service.client.cookies.clear()
        page = await ada.open(link)
        assert f"The account a***@example.com gets the email address {NEW_ADDRESS}" in page.text
        assert ADA not in page.text

        page = await ada.submit(VERIFY)

        assert (await stored_user(service, NEW_ADDRESS)).email_verified
        assert page.title.startswith("Your email address is changed")
        assert NEW_ADDRESS not in page.path

    @pytest.mark.parametrize("why", ["used", "expired", "replaced"])
    async def test_a_dead_link_leads_to_where_a_new_one_is_sent(
        self, service: Service, ada: Browser, why: str
    ) -> None:
        link = await change_link(service, ada)
        if why == "used":
            await ada.open(link)
            await ada.submit(VERIFY)
        elif why == "expired":
            service.clock.advance(hours=25)
        else:
            await ada.open(EMAIL)
            await ada.submit(EMAIL, newEmail="third@example.com")

        page = await ada.open(link)

        assert "This link is no longer valid" in page.text
        assert [form.action for form in page.forms] == []
        assert page.links["Go to the email address"].startswith(EMAIL)

    async def test_a_link_that_died_on_the_page_leads_there_too(self, service: Service, ada: Browser) -> None:
        await ada.open(await change_link(service, ada))
        service.clock.advance(hours=25)

        page = await ada.submit(VERIFY)

        assert page.status == 422
        assert page.links["Go to the email address"].startswith(EMAIL)

    @pytest.mark.threat("H8")
    async def test_a_link_of_another_user_offers_to_sign_out_and_goes_on(
        self, service: Service, ada: Browser
    ) -> None:
        link = await change_link(service, ada)
        service.client.cookies.clear()
        await join(service, EVE)

        page = await ada.open(link)
        assert "This link belongs to another account" in page.text
        assert EVE in page.text
        assert ADA not in page.text
        page = await ada.submit("/account/sign-out")
        assert f"gets the email address {NEW_ADDRESS}" in page.text
        await ada.submit(VERIFY)

        assert (await stored_user(service, NEW_ADDRESS)).email_verified

    async def test_a_form_from_before_the_change_is_still_the_users_own(
        self, service: Service, ada: Browser
    ) -> None:
        fields = (await ada.open(PROFILE)).form(PROFILE).fields
        await set_user(service, email_verified=True)
        await service.post("/update-user", {"name": "Ada"})
        await execute(service, f"UPDATE \"user\" SET email = '{NEW_ADDRESS}'")

        ended = await send(service, f"{SESSIONS}/end-others", account=fields["account"], user=fields["user"])

        assert ended.status_code == 303

    async def test_says_that_the_new_address_is_the_old_one(self, ada: Browser) -> None:
        await ada.open(EMAIL)

        page = await ada.submit(EMAIL, newEmail=ADA)

        assert page.links["This is your email address already."] == "#newEmail"

    async def test_says_that_a_link_is_dead(self, ada: Browser) -> None:
        page = await ada.open("/verify-email?token=x&callbackURL=/account/email")

        assert page.status == 200
        assert "This link has been used or is no longer valid." in page.text

    @pytest.mark.threat("H14")
    @pytest.mark.parametrize("is_taken", [True, False])
    async def test_says_the_same_of_an_address_that_is_taken(
        self, service: Service, browser: Browser, is_taken: bool
    ) -> None:
        await join(service, EVE)
        await join(service)
        await set_user(service, email_verified=True)
        await browser.open(EMAIL)

        page = await browser.submit(EMAIL, newEmail=EVE if is_taken else NEW_ADDRESS)

        assert page.path == f"{EMAIL}?reason=sent"
        assert "We have sent a link to the new address." in page.text

    async def test_says_what_is_no_address(self, ada: Browser) -> None:
        await ada.open(EMAIL)

        for address in ("ada", "ada@-example.com", "ada@192.0.2.1", "=?utf-8?q?eve?=@x.test"):
            page = await ada.submit(EMAIL, newEmail=address)
            assert page.status == 422
            assert page.links["Enter an email address such as name@example.com."] == "#newEmail"

    @pytest.mark.threat("H7")
    async def test_sent_twice_changes_once(self, service: Service, ada: Browser) -> None:
        page = await ada.open(EMAIL)
        fields = {**page.form(EMAIL).fields, "newEmail": NEW_ADDRESS}

        answers = [await send(service, EMAIL, **fields) for _ in range(2)]

        # The second one asks for the address that the user has by then.
        assert [answer.status_code for answer in answers] == [303, 422]
        assert await recorded(service, "email.changed") == 1


@pytest.mark.operation(
    "account_pages.change_password", "account_pages.send_password_link", "account_pages.show_password"
)
class TestPassword:
    async def test_changes_it_and_signs_out_everywhere_else(self, service: Service, ada: Browser) -> None:
        elsewhere = (await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})).json()
        await ada.open(PASSWORD_PAGE)

        page = await ada.submit(PASSWORD_PAGE, currentPassword=PASSWORD, newPassword=NEW_PASSWORD)

        assert "Your password is changed." in page.text
        headers = {"Authorization": f"Bearer {elsewhere['token']}", "Cookie": ""}
        assert (await service.get("/get-session", headers=headers)).status_code == 401
        assert not await opens(service, PASSWORD)
        assert await opens(service, NEW_PASSWORD)

    async def test_keeps_other_sessions_if_that_is_wanted(self, service: Service, ada: Browser) -> None:
        fields = (await ada.open(PASSWORD_PAGE)).form(PASSWORD_PAGE).fields
        del fields["revokeOtherSessions"]
        filled = {**fields, "currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}

        answer = await send(service, PASSWORD_PAGE, **filled)

        assert answer.headers["location"] == f"{PASSWORD_PAGE}?reason=changed"
        assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize(
        ("current", "new", "sentence", "field"),
        [
            ("wrong one", NEW_PASSWORD, "This is not your password.", "currentPassword"),
            (PASSWORD, "short", "Use at least 8 characters.", "newPassword"),
            ("", NEW_PASSWORD, "Enter your current password.", "currentPassword"),
        ],
    )
    async def test_says_what_is_wrong(
        self, service: Service, ada: Browser, current: str, new: str, sentence: str, field: str
    ) -> None:
        await ada.open(PASSWORD_PAGE)

        page = await ada.submit(PASSWORD_PAGE, currentPassword=current, newPassword=new)

        assert page.status == 422
        assert page.links[sentence] == f"#{field}"
        assert not page.inputs["currentPassword"].get("value")
        assert await opens(service, PASSWORD)

    async def test_offers_a_link_to_who_has_none(self, service: Service, ada: Browser) -> None:
        await execute(service, "DELETE FROM account")
        await ada.open(PASSWORD_PAGE)

        page = await ada.submit(f"{PASSWORD_PAGE}/link")

        assert "Open it to set a password." in page.text
        await ada.open(page_of(await last_link(service, "reset-password", ADA)))
        await ada.submit("/account/reset-password", newPassword=NEW_PASSWORD)
        assert await opens(service, NEW_PASSWORD)

    @pytest.mark.threat("H7")
    async def test_sent_twice_changes_once(self, service: Service, ada: Browser) -> None:
        fields = (await ada.open(PASSWORD_PAGE)).form(PASSWORD_PAGE).fields
        filled = {**fields, "currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}

        answers = await asyncio.gather(*(send(service, PASSWORD_PAGE, **filled) for _ in range(2)))

        changed = [answer.headers.get("location") == f"{PASSWORD_PAGE}?reason=changed" for answer in answers]
        assert sorted(changed) == [False, True]
        assert await opens(service, NEW_PASSWORD)


@pytest.mark.operation("account_pages.show_history")
class TestHistory:
    async def test_says_in_plain_words_what_happened(self, service: Service, ada: Browser) -> None:
        await service.post("/sign-in/email", {"email": ADA, "password": "wrong one"})
        await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})

        page = await ada.open(HISTORY)

        assert "A sign-in failed Password failed" in page.text
        assert "Signed in Password" in page.text
        assert "127.0.0.1" in page.text
        assert "1 January 2026" in page.text

    @pytest.mark.parametrize(
        ("method", "shown"),
        [
            ("oauth:github", "GitHub"),
            ("id_token:google", "Google"),
            ("passkey", "Passkey"),
            ("totp", "Authenticator"),
        ],
    )
    async def test_names_how_one_signed_in(
        self, service: Service, ada: Browser, method: str, shown: str
    ) -> None:
        await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})
        await execute(
            service, "UPDATE audit SET method = :method WHERE event = 'sign_in.succeeded'", method=method
        )

        assert f"Signed in {shown}" in (await ada.open(HISTORY)).text

    async def test_hides_events_that_say_nothing_to_the_user(self, service: Service, ada: Browser) -> None:
        await execute(
            service, "UPDATE audit SET event = 'password.rehashed' WHERE event = 'sign_in.succeeded'"
        )

        page = await ada.open(HISTORY)

        assert "The account was created" in page.text
        assert "The hash of the password was renewed" not in page.text

    async def test_shows_the_users_own_events_alone(self, service: Service, browser: Browser) -> None:
        await join(service, EVE)
        await service.post("/update-user", {"name": "Eve"})
        await join(service)

        page = await browser.open(HISTORY)

        assert "The account was created" in page.text
        assert "The profile was changed" not in page.text

    async def test_forgets_after_90_days(self, service: Service, ada: Browser) -> None:
        service.clock.advance(days=91)
        await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})

        page = await ada.open(HISTORY)

        assert "Signed in Password" in page.text
        assert "The account was created" not in page.text

    async def test_has_50_on_a_page_and_misses_none(self, service: Service, ada: Browser) -> None:
        user = await stored_user(service)
        await execute(service, "DELETE FROM audit")
        async with service.services.database.transaction() as db:
            for number in range(120):
                row = Audit(
                    id=f"{number:032}", time=service.clock.now, event="sign_out", outcome="success",
                    user_id=user.id, actor_id=user.id, address=f"192.0.2.{number}",
                )  # fmt: skip
                db.add(row)
        seen: list[str] = []
        page = await ada.open(HISTORY)
        numbers = []
        while True:
            shown = [word for word in page.text.split() if word.startswith("192.0.2.")]
            numbers.append(len(shown))
            seen += shown
            if "Older" not in page.links:
                break
            page = await ada.open(page.links["Older"])

        assert numbers == [50, 50, 20]
        assert len(set(seen)) == 120
        assert page.links["Newest"] == HISTORY

    async def test_a_position_that_is_none_does_no_harm(self, ada: Browser) -> None:
        for before in ("", "x", "1.", ".x", "99999999999999.x", "²3.x", "1.x.y"):
            assert (await ada.open(f"{HISTORY}?before={quote(before)}")).status == 200

    @pytest.mark.threat("H13")
    @pytest.mark.parametrize(
        ("by", "shown", "is_elsewhere"),
        [
            ("operator", "by an administrator", True),
            ("directory", "by a directory", True),
            ("connection", "through single sign-on", False),
        ],
    )
    async def test_says_who_acted_if_no_user_did(
        self, service: Service, ada: Browser, by: str, shown: str, is_elsewhere: bool
    ) -> None:
        user = await stored_user(service)
        await rows.add(
            service.services.database,
            Audit(
                id="e1", time=service.clock.now, event="member.added", outcome="success",
                user_id=user.id, address="192.0.2.9", details={"by": by},
            ),
        )  # fmt: skip

        page = await ada.open(HISTORY)

        assert "The account was added to an organization" in page.text
        assert shown in page.text
        assert ("192.0.2.9" not in page.text) is is_elsewhere
        texts = {"by an administrator", "by a directory", "through single sign-on"}
        assert [text for text in texts if text in page.text] == [shown]

    @pytest.mark.threat("H13")
    async def test_says_what_an_administrator_did_and_not_where_they_are(
        self, service: Service, ada: Browser
    ) -> None:
        await act_as(service)
        await execute(service, "UPDATE audit SET address = '192.0.2.9' WHERE event LIKE 'impersonation%'")
        service.client.cookies.clear()
        await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD})

        page = await ada.open(HISTORY)
        exported = (await service.get(EXPORT)).text

        assert "An administrator began to act in the name of this account" in page.text
        assert "by an administrator" in page.text
        assert "192.0.2.9" not in page.text
        assert "192.0.2.9" not in exported
        assert (await stored_user(service, "root@example.com")).id not in exported


@pytest.mark.operation("account_pages.delete_account", "account_pages.show_data")
class TestData:
    @pytest.mark.operation("account_pages.export_data")
    async def test_names_everything_that_goes_and_is_downloaded(self, service: Service, ada: Browser) -> None:
        page = await ada.open(DATA)

        assert f"Your profile, with the email address {ADA}" in page.text
        assert "1 way to sign in" in page.text
        assert "1 session" in page.text
        answer = await service.get(page.links["Download"])

        assert answer.headers["content-disposition"] == 'attachment; filename="account.json"'
        assert answer.headers["cache-control"] == "no-store"
        held = answer.json()
        assert held["user"]["email"] == ADA
        assert held["accounts"][0]["password"] is True
        assert {record["event"] for record in held["audit"]} >= {"user.created"}

    async def test_deletes_with_the_password(self, service: Service, ada: Browser) -> None:
        await ada.open(DATA)

        page = await ada.submit(f"{DATA}/delete", password=PASSWORD)

        assert page.path == "/account/sign-in?reason=deleted"
        assert "Your account has been deleted." in page.text
        assert await count(service, User) == 0
        assert await signed_in(service) is None

    async def test_deletes_nothing_without_it(self, service: Service, ada: Browser) -> None:
        await ada.open(DATA)

        for password in ("", "wrong one"):
            page = await ada.submit(f"{DATA}/delete", password=password)
            assert (page.status, page.inputs["password"]["aria-invalid"]) == (422, "true")

        assert await count(service, User) == 1

    async def test_asks_for_the_address_where_there_is_no_password(
        self, service: Service, ada: Browser
    ) -> None:
        await execute(service, "DELETE FROM account")
        page = await ada.open(DATA)
        assert "password" not in page.inputs

        for typed in ("", EVE):
            page = await ada.submit(f"{DATA}/delete", typedEmail=typed)
            assert page.status == 422
            assert page.links["This is not the email address of your account."] == "#typedEmail"
        assert await count(service, User) == 1

        await ada.submit(f"{DATA}/delete", typedEmail=f" {ADA.upper()} ")

        assert await count(service, User) == 0

    async def test_offers_no_deletion_where_there_is_none(self, make_service: MakeService) -> None:
        service = await make_service(WITHOUT)
        await join(service)
        browser = Browser(service)

        page = await browser.open(DATA)

        assert "Delete your account" not in page.text
        assert (await send(service, f"{DATA}/delete", account=ADA)).status_code == 404

    @pytest.mark.threat("ADM13")
    async def test_keeps_the_last_administrator_and_says_so(self, service: Service, ada: Browser) -> None:
        await ada.open(DATA)
        await set_user(service, role="admin")

        page = await ada.submit(f"{DATA}/delete", password=PASSWORD)

        assert page.status == 422
        assert "Make another user an administrator first." in page.text
        page = await ada.open(DATA)
        assert "Make another user an administrator first." in page.text
        assert f"{DATA}/delete" not in [form.action for form in page.forms]
        assert await count(service, User) == 1

    @pytest.mark.threat("H7")
    async def test_sent_twice_deletes_once(self, service: Service, ada: Browser) -> None:
        fields = {**(await ada.open(DATA)).form(f"{DATA}/delete").fields, "password": PASSWORD}

        answers = await asyncio.gather(*(send(service, f"{DATA}/delete", **fields) for _ in range(2)))

        deleted = [answer.headers.get("location", "").endswith("?reason=deleted") for answer in answers]
        assert sorted(deleted) == [False, True]
        assert await recorded(service, "user.deleted") == 1


@pytest.mark.operation("account_pages.confirm_deletion", "account_pages.show_deletion")
class TestDeletionByMail:
    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        return await make_service({**SETTINGS, "delete_user.confirm_by_mail": "true"})

    @pytest.mark.threat("ADM13")
    async def test_keeps_the_last_administrator(self, service: Service, ada: Browser) -> None:
        await ada.open(DATA)
        await ada.submit(f"{DATA}/delete")
        token = token_in(await last_link(service, "delete-account", ADA))
        await set_user(service, role="admin")

        page = await ada.open(f"{DELETE}?token={token}")
        answer = await send(service, DELETE, account=ADA, token=token)

        assert answer.status_code == 422
        for text in (page.text, answer.text):
            assert "Make another user an administrator first." in text
        assert DELETE not in [form.action for form in page.forms]
        assert await count(service, User) == 1

    @pytest.mark.threat("H9")
    async def test_asks_for_a_click_after_the_link(self, service: Service, ada: Browser) -> None:
        await ada.open(DATA)
        page = await ada.submit(f"{DATA}/delete")
        assert "We have sent you a link. Open it to delete your account." in page.text
        link = (await last_link(service, "delete-account", ADA)).removeprefix(BASE_URL)

        for _ in range(2):
            page = await ada.open(link)
        assert await count(service, User) == 1
        assert page.path.startswith(f"{DELETE}?token=")
        assert "1 way to sign in" in page.text
        page = await ada.submit(DELETE)

        assert page.path == "/account/sign-in?reason=deleted"
        assert await count(service, User) == 0
        assert await signed_in(service) is None

    async def test_a_dead_link_deletes_nothing(self, service: Service, ada: Browser) -> None:
        page = await ada.open(f"{DELETE}?token={UNKNOWN}")
        answer = await send(service, DELETE, account=ADA, token=UNKNOWN)

        assert "Nothing was deleted." in page.text
        assert DELETE not in [form.action for form in page.forms]
        assert answer.status_code == 422
        assert "This link has been used or is no longer valid." in answer.text
        assert await count(service, User) == 1

    async def test_is_not_for_another_user(self, service: Service, ada: Browser) -> None:
        await ada.open(DATA)
        await ada.submit(f"{DATA}/delete")
        token = token_in(await last_link(service, "delete-account", ADA))
        await join(service, EVE)

        page = await ada.open(f"{DELETE}?token={token}")
        page = Page(await service.get(f"{DELETE}?token={token}"))
        again = page.form("/account/sign-out", "callbackURL").fields["callbackURL"]
        assert again == f"{DELETE}?token={token}"
        answer = await send(service, DELETE, account=EVE, token=token)

        assert "Nothing was deleted." in page.text
        assert answer.status_code == 422
        assert await count(service, User) == 2


class TestSignUp:
    @pytest.mark.threat("H3")
    async def test_takes_only_what_the_operation_for_programs_takes(
        self, service: Service, browser: Browser
    ) -> None:
        wrong = [
            ("Ada", "ada@-example.com"),
            ("Ada", "=?utf-8?q?eve?=@example.com"),
            ("Ada", f"{'a' * 65}@example.com"),
            ("Ada", f"ada@{'a.' * 130}com"),
            ("\u202eadA", ADA),
            ("A\u0007da", ADA),
        ]
        await browser.open("/account/sign-up")

        for name, email in wrong:
            page = await browser.submit("/account/sign-up", name=name, email=email, password=PASSWORD)
            invalid = page.inputs["name" if email == ADA else "email"]["aria-invalid"]
            assert (page.status, invalid) == (422, "true"), (name, email)

        assert await count(service, User) == 0


async def change_link(service: Service, ada: Browser) -> str:
    """Request a change of the verified address; return the path of the page that the mailed link opens."""
    await set_user(service, email_verified=True)
    await ada.open(EMAIL)
    await ada.submit(EMAIL, newEmail=NEW_ADDRESS)
    return page_of(await last_link(service, "change-email", NEW_ADDRESS))


def page_of(link: str) -> str:
    """Return the path of a mailed link, as a browser opens it."""
    return link.removeprefix(BASE_URL)


@pytest.mark.parametrize(
    "name", [name for name, one in OPERATIONS.items() if one.spec["tags"] == ["account_pages"]]
)
def test_every_page_of_the_account_declares_whose_it_is(name: str) -> None:
    [spec] = [one.spec for one in operations(bundle(internal=True)) if one.spec["operationId"] == name]

    assert extension_of(spec).account == "own"
