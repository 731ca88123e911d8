"""The operations of openapi/paths/passkey_pages.yaml; the test does what the script of the pages does."""

from typing import Any

import httpx
import pytest

from tests.authenticator import UP, Authenticator
from tests.conftest import MakeService
from tests.handlers.pages import Browser, Page, other_profile, send, signed_in
from tests.handlers.passkey_steps import SIGN_IN_OPTIONS, add, options, passkeys_of, register_options
from tests.handlers.steps import ADA, EVE, execute, join, remove_passwords
from tests.security.second_factor import enrol_again
from tests.service import PASSWORD, Service

HERE = "http://localhost:8000"
SETTINGS = {
    "base_url": HERE,
    "session.cookie_secure": "false",
    "passkey.rp_id": "localhost",
    "passkey.origins": HERE,
}
LAST = {
    "passkey.max_per_user": "1",
    "password_reset.sender": "none",
    "magic_links.enabled": "false",
    "email_codes.enabled": "false",
}
"""One passkey at most, and no way in by mail."""
SIGN_IN, TWO_FACTOR, CONFIRM = (f"/account/{page}/passkey" for page in ("sign-in", "two-factor", "confirm"))
PASSKEYS, RENAME, REMOVE = "/account/passkeys", "/account/passkeys/rename", "/account/passkeys/remove"
NOT_CHECKED = "This passkey could not be checked."


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    service = await make_service({**SETTINGS, **getattr(request, "param", {})})
    service.client.base_url = httpx.URL(HERE)
    return service


@pytest.fixture
def browser(service: Service) -> Browser:
    return Browser(service)


@pytest.fixture
async def ada(service: Service, browser: Browser) -> Browser:
    """The browser of Ada, who is signed in."""
    await join(service)
    return browser


def new_device(**more: Any) -> Authenticator:
    return Authenticator(origin=HERE, rp_id="localhost", **more)


@pytest.fixture
async def device(service: Service, ada: Browser) -> Authenticator:
    """Ada's authenticator."""
    device = new_device()
    await add(service, {}, device)
    return device


async def proof(service: Service, device: Authenticator) -> dict[str, Any]:
    """Return the fields of a form that signs in."""
    return fields_of(device.get(await options(service)))


def fields_of(answer: dict[str, Any]) -> dict[str, Any]:
    return {"credential": answer["id"], **answer["response"]}


async def creation(service: Service, device: Authenticator) -> dict[str, Any]:
    """Return the fields of a form that adds a passkey."""
    answer = device.create(await register_options(service, {}))
    return {**fields_of(answer), "transports": " ".join(answer["response"]["transports"])}


def offers(page: Page, action: str) -> bool:
    return any(form.action == action for form in page.forms)


@pytest.mark.operation("pages.sign_in_with_passkey")
class TestSignIn:
    async def test_leads_back_to_where_it_was_begun_for(
        self, service: Service, browser: Browser, device: Authenticator
    ) -> None:
        service.client.cookies.clear()
        page = await browser.open("/account/sign-in?callbackURL=/account/profile")
        assert page.inputs["identifier"]["autocomplete"] == "username webauthn"

        page = await browser.submit(SIGN_IN, **await proof(service, device))

        assert page.path == "/account/profile"
        assert await signed_in(service) == ADA

    async def test_says_that_a_passkey_is_wrong(
        self, service: Service, browser: Browser, device: Authenticator
    ) -> None:
        service.client.cookies.clear()
        browser.languages = "de"
        await browser.open("/account/sign-in")
        fields = await proof(service, device)

        page = await browser.submit(SIGN_IN, **{**fields, "signature": "AAAA"})
        again = await browser.submit(SIGN_IN, **fields)

        assert (page.status, again.status) == (422, 422)
        sentence = "Dieser Passkey konnte nicht geprüft werden."
        assert (sentence in page.text, sentence in again.text) == (True, False)
        assert await signed_in(service) is None

    @pytest.mark.threat("H1")
    async def test_takes_no_form_of_another_site_and_remembers_only_if_wanted(
        self, service: Service, device: Authenticator
    ) -> None:
        service.client.cookies.clear()
        fields = {**await proof(service, device), "rememberMe": "false"}

        refused = await send(service, SIGN_IN, {"Sec-Fetch-Site": "cross-site"}, **fields)
        answer = await send(service, SIGN_IN, **fields)

        assert (refused.status_code, answer.status_code) == (403, 303)
        assert "Max-Age" not in answer.headers["set-cookie"]

    @pytest.mark.parametrize(
        "service",
        [{"passkey.enabled": "false"}, {"passkey.origins": "http://localhost:3000"}],
        indirect=True,
    )
    async def test_offers_none_where_the_pages_cannot_use_them(
        self, service: Service, browser: Browser
    ) -> None:
        page = await browser.open("/account/sign-in")
        script = await service.get(_script(await service.get("/account/sign-in")))

        assert not offers(page, SIGN_IN)
        assert page.inputs["identifier"]["autocomplete"] == "username"
        assert "navigator.credentials" not in script.text

    async def test_is_hidden_until_a_small_script_shows_it(self, service: Service) -> None:
        answer = await service.get("/account/sign-in")
        script = await service.get(_script(answer))

        [form] = [part for part in answer.text.split("<form ")[1:] if "data-passkey" in part]
        assert " hidden" in form.partition(">")[0]
        assert "navigator.credentials.get" in script.text
        assert len(script.content) < 8_000


def _script(answer: Any) -> str:
    path: str = answer.text.partition('<script src="')[2].partition('"')[0]
    return path


@pytest.mark.operation("pages.complete_with_passkey")
class TestSecondFactor:
    @pytest.fixture
    async def page(self, service: Service, browser: Browser) -> Page:
        """The page that asks Ada, who has a passkey, for a code."""
        session = await join(service)
        await enrol_again(service, ADA, session)
        self.device = new_device()
        await add(service, session, self.device)
        service.client.cookies.clear()
        await browser.open("/account/sign-in?callbackURL=/account/profile")
        return await browser.submit("/account/sign-in", identifier=ADA, password=PASSWORD)

    async def test_is_not_needed_with_a_passkey(self, service: Service, browser: Browser, page: Page) -> None:
        assert page.path.startswith("/account/two-factor?")

        page = await browser.submit(TWO_FACTOR, **await proof(service, self.device))

        assert page.path == "/account/profile"
        assert await signed_in(service) == ADA

    @pytest.mark.threat("P8")
    async def test_takes_no_passkey_of_another_user(
        self, service: Service, browser: Browser, page: Page
    ) -> None:
        others = new_device()
        with other_profile(service):
            await join(service, EVE)
            await add(service, {}, others)

        page = await browser.submit(TWO_FACTOR, **await proof(service, others))

        assert NOT_CHECKED in page.text
        assert await signed_in(service) is None

    @pytest.mark.parametrize("service", [{"passkey.counts_as_two_factors": "false"}], indirect=True)
    async def test_offers_no_passkey_that_is_one_factor(self, page: Page) -> None:
        assert page.path.startswith("/account/two-factor?")
        assert not offers(page, TWO_FACTOR)

    @pytest.mark.threat("P15")
    @pytest.mark.parametrize("service", [{"passkey.user_verification": "preferred"}], indirect=True)
    async def test_still_asks_for_a_code_after_one_factor(
        self, service: Service, browser: Browser, page: Page
    ) -> None:
        self.device.flags = UP

        page = await browser.submit(TWO_FACTOR, **await proof(service, self.device))

        assert page.path.startswith("/account/two-factor?")
        assert await signed_in(service) is None


@pytest.mark.operation("pages.confirm_with_passkey")
class TestConfirm:
    async def test_replaces_the_session(self, service: Service, ada: Browser, device: Authenticator) -> None:
        [old] = await service.rows("SELECT id FROM session")
        service.clock.advance(days=1, seconds=1)
        page = await ada.open(PASSKEYS)
        assert page.path.startswith("/account/confirm?")

        page = await ada.submit(CONFIRM, **await proof(service, device))

        assert (page.path, page.status) == (PASSKEYS, 200)
        [new] = await service.rows("SELECT id FROM session")
        assert new.id != old.id

    @pytest.mark.threat("P8")
    async def test_takes_no_passkey_of_another_user(
        self, service: Service, browser: Browser, device: Authenticator
    ) -> None:
        service.client.cookies.clear()
        await join(service, EVE)
        await add(service, {}, new_device())
        service.clock.advance(days=1, seconds=1)
        await browser.open(PASSKEYS)
        answer = await service.get(SIGN_IN_OPTIONS, headers={"Cookie": ""})
        assert "allowCredentials" not in answer.json()
        fields = fields_of(device.get(answer.json()))

        page = await browser.submit(CONFIRM, **fields)

        assert NOT_CHECKED in page.text
        assert await signed_in(service) == EVE

    async def test_offers_none_to_who_has_none(self, service: Service, ada: Browser) -> None:
        service.clock.advance(days=1, seconds=1)

        assert not offers(await ada.open(PASSKEYS), CONFIRM)


@pytest.mark.operation(
    "account_pages.add_passkey",
    "account_pages.remove_passkey",
    "account_pages.rename_passkey",
    "account_pages.show_passkey_removal",
    "account_pages.show_passkeys",
)
class TestOwnPasskeys:
    async def test_are_added_renamed_and_removed(self, service: Service, ada: Browser) -> None:
        page = await ada.open(PASSKEYS)
        assert "You have no passkeys yet." in page.text

        page = await ada.submit(PASSKEYS, **{**await creation(service, new_device()), "name": " Phone "})
        assert "Your passkey is added." in page.text
        page = await ada.open(page.links["Rename"])
        assert page.inputs["newName"]["value"] == "Phone"
        page = await ada.submit(RENAME, newName="Work phone")
        [passkey] = await passkeys_of(service, {})
        assert (passkey["name"], passkey["transports"]) == ("Work phone", "internal,hybrid")
        assert "Work phone" in page.text

        page = await ada.open(page.links["Remove"])
        assert "Remove this passkey?" in page.text
        assert "Work phone" in page.text
        assert len(await passkeys_of(service, {})) == 1
        page = await ada.submit(REMOVE)

        assert "The passkey is removed." in page.text
        assert await passkeys_of(service, {}) == []
        assert len(await service.inbox(ADA, "passkey-removed")) == 1

    async def test_say_what_was_wrong_and_keep_the_name(self, service: Service, ada: Browser) -> None:
        await ada.open(PASSKEYS)
        fields = {**await creation(service, new_device()), "name": "Phone", "attestationObject": "AAAA"}

        page = await ada.submit(PASSKEYS, **fields)

        assert page.status == 422
        assert "Your device did not make a passkey that can be used here." in page.text
        assert page.inputs["name"]["value"] == "Phone"

    async def test_need_a_name_to_be_renamed(
        self, service: Service, ada: Browser, device: Authenticator
    ) -> None:
        [passkey] = await passkeys_of(service, {})
        await ada.open(f"{PASSKEYS}?step={passkey['id']}")

        for name in ("", "   "):
            page = await ada.submit(RENAME, newName=name)
            assert (page.status, page.links["Enter a name."]) == (422, "#newName")

    @pytest.mark.threat("H6")
    async def test_that_are_gone_say_so(self, service: Service, ada: Browser, device: Authenticator) -> None:
        page = await ada.open(PASSKEYS)
        asked = page.links["Remove"]
        await ada.open(asked)
        await execute(service, "DELETE FROM passkey")

        page = await ada.submit(REMOVE)

        assert "That passkey was removed already." in page.text
        assert "That passkey was removed already." in (await ada.open(asked)).text

    @pytest.mark.threat("P21")
    @pytest.mark.parametrize("service", [LAST], indirect=True)
    async def test_have_a_limit_and_keep_the_last_way_in(
        self, service: Service, ada: Browser, device: Authenticator
    ) -> None:
        await remove_passwords(service)

        page = await ada.open(PASSKEYS)
        assert not offers(page, PASSKEYS)
        assert "You have as many passkeys as are allowed." in page.text
        [passkey] = await passkeys_of(service, {})
        page = await ada.open(page.links["Remove"])
        assert "This is the only way you can sign in" in page.text
        assert REMOVE not in [form.action for form in page.forms]
        refused = await send(service, REMOVE, account=ADA, passkey=passkey["id"])

        assert refused.status_code == 422
        assert "This is the only way you can sign in" in refused.text
        assert len(await passkeys_of(service, {})) == 1

    async def test_for_another_domain_are_marked(
        self, service: Service, ada: Browser, device: Authenticator
    ) -> None:
        await execute(service, "UPDATE passkey SET rp_id = 'example.com'")

        assert "no longer usable" in (await ada.open(PASSKEYS)).text

    async def test_are_counted_on_the_overview_and_before_a_deletion(
        self, ada: Browser, device: Authenticator
    ) -> None:
        assert "Manage the passkeys" in (await ada.open("/account")).links
        assert "1 passkey" in (await ada.open("/account/data")).text
