"""The operations of openapi/paths/sso_pages.yaml, through the public door and without scripts."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, act_as, other_profile, recorded
from tests.handlers.sso_saml_steps import answer_to, attributes, id_in, post
from tests.handlers.steps import ADA, execute, join
from tests.name_server import NameServer
from tests.receiver import Receiver, redirect, respond
from tests.server.saml.provider import ISSUER, NOW, key
from tests.server.saml.test_metadata import bare, descriptor, metadata
from tests.service import BASE_URL, Service
from tests.sso import discovered, issuer_of

LIST = "/account/organizations"
ACS = f"{BASE_URL}/sso/saml2/sp/acs/acme-okta"
SSO_OFF = {"sso.enabled": "false", "scim.enabled": "false"}
OPERATORS = {"sso.management": "operators"}


@pytest.fixture
def settings(names: NameServer) -> dict[str, str]:
    return {**SETTINGS, "organizations.enabled": "true", "sso.resolvers": f'["{names.address}"]'}


@pytest.fixture
async def service(make_service: MakeService, settings: dict[str, str]) -> Service:
    return await make_service(settings)


@pytest.fixture
async def ada(service: Service) -> Browser:
    """The browser of Ada, who owns the organization Acme, on its page."""
    return await owner_of(service)


async def owner_of(service: Service, slug: str = "acme") -> Browser:
    await join(service)
    browser = Browser(service)
    await browser.open(LIST)
    await browser.submit(LIST, name="Acme", slug=slug)
    return browser


def home_of(browser: Browser) -> str:
    """Return the path of the organization of the page that a browser shows."""
    return "/".join(urlsplit(browser.page.path).path.split("/")[:4])


def text_of(document: bytes) -> str:
    return document.decode()


async def choose(browser: Browser, provider: str = "okta", protocol: str = "saml") -> Page:
    """Go to the form for a new connection, as somebody does who begins on the page of the organization."""
    home = home_of(browser)
    await browser.open(home)
    await browser.open(browser.page.links["Manage"])
    await browser.open(browser.page.links["Set up a connection"])
    await browser.open(f"{home}/sso/new/copy?provider={provider}&protocol={protocol}")
    return await browser.open(browser.page.links["Continue"])


async def set_up(browser: Browser, **more: str) -> Page:
    """Create a draft of a connection by SAML; its domains are shown."""
    page = await choose(browser)
    action = urlsplit(page.path).path
    return await browser.submit(action, **{"metadata": text_of(metadata()), **more})


async def add_domain(browser: Browser, names: NameServer, domain: str = "acme.example") -> Page:
    """Add and verify a domain on the page of the domains."""
    here = urlsplit(browser.page.path).path
    await browser.submit(here, domains=domain)
    [row] = await browser.service.rows(
        "SELECT d.token, c.provider_id FROM sso_domain d JOIN sso_connection c ON c.id = d.connection_id"
        " WHERE d.domain = :domain",
        domain=domain,
    )
    names.texts[f"_gatewright-{row.provider_id}.{domain}"] = [row.token]
    return await browser.submit(f"{here}/verify")


async def switch_on(browser: Browser) -> Page:
    here = f"{home_of(browser)}/sso/connection"
    await browser.open(f"{here}?connection={parse_qs(urlsplit(browser.page.path).query)['connection'][0]}")
    return await browser.submit(f"{here}/state")


async def stored(service: Service) -> Any:
    [row] = await service.rows("SELECT * FROM sso_connection")
    return row


class TestAccess:
    @pytest.mark.operation("sso_pages.show_connections")
    async def test_the_page_of_the_organization_leads_there(self, service: Service, ada: Browser) -> None:
        page = await ada.open(ada.page.links["Manage"])

        assert (page.status, page.title) == (200, "Single sign-on · Gatewright")
        assert "There are no connections yet." in page.text

    @pytest.mark.parametrize("off", [SSO_OFF, OPERATORS])
    async def test_without_delegation_there_are_no_pages(
        self, make_service: MakeService, settings: dict[str, str], off: dict[str, str]
    ) -> None:
        browser = await owner_of(await make_service({**settings, **off}))

        assert f"{home_of(browser)}/sso" not in browser.page.targets
        assert ("Ask them for it" in browser.page.text) is (off is OPERATORS)
        assert (await browser.open(f"{home_of(browser)}/sso")).status == 404

    @pytest.mark.threat("SSO10")
    async def test_a_plain_member_sees_and_changes_nothing(self, service: Service, ada: Browser) -> None:
        await set_up(ada)
        home = home_of(ada)
        with other_profile(service):
            await join(service, "bob@example.com")
            await execute(
                service,
                "INSERT INTO member (id, organization_id, user_id, role, is_owner, created_at, updated_at)"
                " SELECT 'bob', m.organization_id, u.id, 'admin', false, m.created_at, m.updated_at"
                " FROM member m JOIN \"user\" u ON u.email = 'bob@example.com'",
            )
            bob = Browser(service)
            page = await bob.open(home)
            assert f"{home}/sso" not in page.targets
            for path in (
                "",
                "/new",
                "/connection?connection=acme-okta",
                "/connection/domains?connection=acme-okta",
            ):
                page = await bob.open(f"{home}/sso{path}")
                assert "Your role does not allow this." in page.text, path
            fields = {"account": "bob@example.com", "connection": "acme-okta", "state": "active"}
            answer = await service.client.post(
                f"{home}/sso/connection/state", data=fields, headers={"Sec-Fetch-Site": "same-origin"}
            )
            assert answer.headers["location"].endswith("/sso?reason=gone")
        assert (await stored(service)).state == "draft"

    @pytest.mark.threat("SSO10")
    async def test_a_connection_of_another_organization_is_unknown(
        self, service: Service, ada: Browser
    ) -> None:
        await set_up(ada)
        await ada.open(LIST)
        await ada.submit(LIST, name="Other", slug="other")
        other = home_of(ada)

        page = await ada.open(f"{other}/sso/connection?connection=acme-okta")

        assert (urlsplit(page.path).path, "There is no such connection" in page.text) == (
            f"{other}/sso",
            True,
        )

    @pytest.mark.threat("H13", "SSO10")
    async def test_an_administrator_changes_nothing_in_the_name_of_a_user(
        self, service: Service, ada: Browser
    ) -> None:
        await set_up(ada)
        home = home_of(ada)
        await act_as(service)
        await ada.open(f"{home}/sso/connection?connection=acme-okta")

        answer = await service.client.post(
            f"{home}/sso/connection/delete",
            data={"account": ADA, "connection": "acme-okta", "typedConnection": "acme-okta"},
            headers={"Sec-Fetch-Site": "same-origin"},
        )

        assert answer.status_code == 403
        assert (await stored(service)).state == "draft"

    @pytest.mark.threat("SSO10")
    async def test_forms_need_a_fresh_session(self, service: Service, ada: Browser) -> None:
        await set_up(ada)
        home = home_of(ada)
        service.clock.advance(days=2)

        for path in (
            "new",
            "connection/settings",
            "connection/domains",
            "connection/delete",
            "connection/provider",
        ):
            page = await ada.open(f"{home}/sso/{path}?connection=acme-okta")
            assert page.path.startswith("/account/confirm"), path
        assert (await ada.open(f"{home}/sso/connection?connection=acme-okta")).status == 200

    @pytest.mark.threat("H1")
    async def test_a_foreign_page_changes_nothing(self, service: Service, ada: Browser) -> None:
        await set_up(ada)

        page = await ada.submit(
            f"{home_of(ada)}/sso/connection/domains", {"Sec-Fetch-Site": "cross-site"}, domains="acme.example"
        )

        assert page.status == 403
        assert await service.rows("SELECT * FROM sso_domain") == []


@pytest.mark.operation(
    "sso_pages.show_providers",
    "sso_pages.show_values",
    "sso_pages.show_creation",
    "sso_pages.create_connection",
)
class TestWizard:
    async def test_ten_providers_with_their_protocols(self, service: Service, ada: Browser) -> None:
        page = await ada.open(f"{home_of(ada)}/sso/new")

        assert [
            name for name in ("Okta", "Microsoft Entra ID", "AD FS", "Another one") if name not in page.text
        ] == []
        assert len([one for one in page.targets if "/sso/new/copy" in one]) == 19

    async def test_the_values_are_those_of_the_connection_that_will_exist(
        self, service: Service, ada: Browser
    ) -> None:
        page = await ada.open(f"{home_of(ada)}/sso/new/copy?provider=okta&protocol=saml")

        assert ACS in page.text
        assert "Called Single sign-on URL there." in page.text
        assert f"{BASE_URL}/sso/saml2/sp/metadata?providerId=acme-okta" in page.text
        page = await set_up(ada)
        assert ((await stored(service)).provider_id, (await stored(service)).state) == ("acme-okta", "draft")
        assert page.path.endswith("/sso/connection/domains?connection=acme-okta")
        page = await ada.open(f"{home_of(ada)}/sso/new/copy?provider=okta&protocol=saml")
        assert "acs/acme-okta-2" in page.text

    async def test_a_form_that_is_sent_twice_creates_one(self, service: Service, ada: Browser) -> None:
        page = await choose(ada)
        for _ in "12":
            ada.page = page
            shown = await ada.submit(urlsplit(page.path).path, metadata=text_of(metadata()))
            assert shown.path.endswith("/domains?connection=acme-okta")

        assert await recorded(service, "sso.connection_created") == 1

    async def test_metadata_from_its_url(self, service: Service, ada: Browser) -> None:
        async with Receiver() as provider:
            provider.otherwise = respond(200, metadata())
            await set_up(ada, metadata="", metadataUrl=provider.url("/metadata"))

        assert (await stored(service)).issuer == ISSUER

    async def test_an_openid_provider(self, service: Service, ada: Browser) -> None:
        page = await choose(ada, "entra", "oidc")
        assert "clientSecret" in page.inputs
        async with Receiver() as provider:
            provider.otherwise = discovered(provider)
            page = await ada.submit(
                urlsplit(page.path).path, issuer=issuer_of(provider), clientId="web", clientSecret="s3cret"
            )

        assert (await stored(service)).type == "oidc"

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"metadata": "<html/>"}, "metadata"),
            ({"metadata": ""}, "metadataUrl"),
            ({"metadata": "", "metadataUrl": "https://10.0.0.1/"}, "metadataUrl"),
            ({"metadata": "<x/>", "metadataUrl": "https://example.com/"}, "metadataUrl"),
            ({"name": " "}, "name"),
        ],
    )
    async def test_what_is_wrong_is_named(
        self, service: Service, ada: Browser, fields: dict[str, str], field: str
    ) -> None:
        page = await set_up(ada, **fields)

        assert (page.status, f"#{field}" in page.targets) == (422, True)
        assert await service.rows("SELECT * FROM sso_connection") == []

    async def test_the_reason_why_a_url_cannot_be_used_is_said(self, service: Service, ada: Browser) -> None:
        async with Receiver() as provider:
            provider.otherwise = redirect(302, "https://elsewhere.example/")
            page = await set_up(ada, metadata="", metadataUrl=provider.url("/metadata"))
            moved = (page.status, "This URL leads to another one. Enter that one." in page.text)
            provider.otherwise = respond(404)
            page = await ada.submit(urlsplit(page.path).path)

        assert (moved, page.status) == ((422, True), 422)
        assert "does not respond at this URL, or not as expected" in page.text

    async def test_a_secret_is_not_shown_again(self, service: Service, ada: Browser) -> None:
        page = await choose(ada, "entra", "oidc")

        page = await ada.submit(urlsplit(page.path).path, issuer="", clientId="web", clientSecret="s3cret")

        assert (page.status, "#issuer" in page.targets) == (422, True)
        assert page.forms[-1].fields["clientSecret"] == ""
        assert "s3cret" not in page.text


@pytest.mark.operation(
    "sso_pages.show_domains",
    "sso_pages.add_domains",
    "sso_pages.verify_domains",
    "sso_pages.show_requirement",
    "sso_pages.require_domain",
    "sso_pages.show_domain_removal",
    "sso_pages.remove_domain",
)
class TestDomains:
    async def test_a_record_verifies_a_domain(
        self, service: Service, ada: Browser, names: NameServer
    ) -> None:
        here = urlsplit((await set_up(ada)).path).path
        page = await ada.submit(here, domains="Acme.Example, acme.test")
        assert "_gatewright-acme-okta.acme.example" in page.text
        page = await ada.submit(f"{here}/verify")
        assert "A record was not found." in page.text

        page = await add_domain(ada, names, "acme.example")

        assert "A record was not found." in page.text
        assert "acme.example verified" in page.text
        assert "acme.test not verified" in page.text

    async def test_a_domain_becomes_required_and_goes(
        self, service: Service, ada: Browser, names: NameServer
    ) -> None:
        here = urlsplit((await set_up(ada)).path).path
        page = await add_domain(ada, names)
        await ada.open(page.links["Require"])
        page = await ada.submit(f"{here}/require")
        assert "Its users must sign in with this connection." in page.text
        page = await ada.submit(f"{here}/require")
        assert "Its users can also sign in another way." in page.text
        await ada.open(page.links["Remove"])
        assert "the last domain" in ada.page.text
        await ada.open(f"{here}?connection=acme-okta")
        await ada.submit(here, domains="acme.test")
        await ada.open(f"{here}/remove?connection=acme-okta&domain=acme.test")

        page = await ada.submit(f"{here}/remove")

        assert "The domain is removed." in page.text
        assert [row.domain for row in await service.rows("SELECT domain FROM sso_domain")] == ["acme.example"]

    async def test_domains_of_everybody_are_refused(self, service: Service, ada: Browser) -> None:
        here = urlsplit((await set_up(ada)).path).path

        page = await ada.submit(here, domains="gmail.com")

        assert (page.status, "#domains" in page.targets) == (422, True)


@pytest.mark.operation(
    "sso_pages.show_connection",
    "sso_pages.set_state",
    "sso_pages.show_settings",
    "sso_pages.update_settings",
    "sso_pages.show_provider",
    "sso_pages.update_provider",
    "sso_pages.show_deletion",
    "sso_pages.delete_connection",
)
class TestConnection:
    async def test_is_switched_on_with_a_verified_domain_and_paused(
        self, service: Service, ada: Browser, names: NameServer
    ) -> None:
        await set_up(ada)
        here = f"{home_of(ada)}/sso/connection"
        page = await ada.open(f"{here}?connection=acme-okta")
        assert "Before you can switch it on, it needs a verified domain." in page.text
        assert ISSUER in page.text
        await ada.open(page.links["Domains"])
        await add_domain(ada, names)

        page = await switch_on(ada)

        assert "The connection is on." in page.text
        assert (await stored(service)).state == "active"
        page = await ada.submit(f"{here}/state")
        assert "The connection is paused." in page.text
        assert "Acme Paused" in (await ada.open(f"{home_of(ada)}/sso")).text

    async def test_a_certificate_that_ends_soon_is_marked(self, service: Service, ada: Browser) -> None:
        await set_up(ada)
        path = f"{home_of(ada)}/sso"
        page = await ada.open(path)
        assert "certificate expires on" in page.text

        page = await ada.open(f"{path}/connection?connection=acme-okta")

        facts = page.text.partition("SHA-256:")[2].split()[0]
        assert len(facts) == 64

    async def test_settings_are_changed(self, service: Service, ada: Browser) -> None:
        await set_up(ada)
        here = f"{home_of(ada)}/sso/connection/settings"
        await ada.open(f"{here}?connection=acme-okta")
        assert ada.page.forms[-1].fields["signUp"] == "true"
        ada.page.form(here).fields.pop("signUp")

        page = await ada.submit(
            here,
            name="ACME",
            groupRoles="ops = admin\r\nall=member\r\n",
            groupsAttribute="memberOf",
            secondFactor="local",
        )

        assert "Your changes are saved." in page.text
        row = await stored(service)
        assert (row.name, bool(row.sign_up), row.second_factor) == ("ACME", False, "local")
        assert row.group_roles == '{"all": "member", "ops": "admin"}'
        page = await ada.open(f"{here}?connection=acme-okta")
        assert page.forms[-1].fields["groupsAttribute"] == "memberOf"
        assert "signUp" not in page.forms[-1].fields

    @pytest.mark.threat("H6")
    async def test_a_stale_form_overwrites_nothing(self, service: Service, ada: Browser) -> None:
        await set_up(ada)
        here = f"{home_of(ada)}/sso/connection/settings"
        stale = await ada.open(f"{here}?connection=acme-okta")
        service.clock.advance(seconds=1)
        await ada.submit(here, name="Mine")
        ada.page = stale

        page = await ada.submit(here, name="Theirs")

        assert (page.status, "The connection was changed after you opened the form" in page.text) == (
            422,
            True,
        )
        assert (await stored(service)).name == "Mine"
        ada.page = stale
        assert "Your changes are saved." in (await ada.submit(here, name="Mine")).text

    @pytest.mark.parametrize(
        "roles", ["ops", "ops = owner", "ops = nothing", "= admin", "a=member\r\na=admin"]
    )
    async def test_roles_that_do_not_work_are_named(self, service: Service, ada: Browser, roles: str) -> None:
        await set_up(ada)
        here = f"{home_of(ada)}/sso/connection/settings"
        await ada.open(f"{here}?connection=acme-okta")

        page = await ada.submit(here, groupRoles=roles)

        assert (page.status, "#groupRoles" in page.targets) == (422, True)

    async def test_metadata_with_another_certificate_replaces_it(
        self, service: Service, ada: Browser
    ) -> None:
        await set_up(ada)
        here = f"{home_of(ada)}/sso/connection"
        before = (await ada.open(f"{here}?connection=acme-okta")).text
        await ada.open(ada.page.links["Load the metadata again"])
        other = text_of(metadata(keys=descriptor(bare(key("other").certificate))))

        page = await ada.submit(f"{here}/provider", metadata=other)

        assert "Your changes are saved." in page.text
        assert page.text.partition("SHA-256:")[2].split()[0] != before.partition("SHA-256:")[2].split()[0]

    @pytest.mark.threat("SSO10")
    async def test_another_issuer_needs_the_secret_again(self, service: Service, ada: Browser) -> None:
        page = await choose(ada, "entra", "oidc")
        async with Receiver() as one, Receiver() as other:
            one.otherwise, other.otherwise = discovered(one), discovered(other)
            sent = {"issuer": issuer_of(one), "clientId": "web", "clientSecret": "s3cret"}
            await ada.submit(urlsplit(page.path).path, **sent)
            here = f"{home_of(ada)}/sso/connection"
            await ada.open(f"{here}?connection=acme-entra")
            page = await ada.open(ada.page.links["Change issuer or client"])
            assert "If you change the issuer, enter the secret again." in page.text
            moved = {"issuer": issuer_of(other), "clientId": "web"}

            page = await ada.submit(f"{here}/provider", **moved)

            assert (page.status, "#clientSecret" in page.targets) == (422, True)
            assert "Enter the client secret." in page.text
            page = await ada.submit(f"{here}/provider", **moved, clientSecret="s3cret-too")

        assert "Your changes are saved." in page.text

    async def test_is_deleted_once_its_identifier_was_typed(self, service: Service, ada: Browser) -> None:
        await set_up(ada)
        here = f"{home_of(ada)}/sso/connection/delete"
        page = await ada.open(f"{here}?connection=acme-okta")
        page = await ada.submit(here, typedConnection="acme")
        assert (page.status, "#typedConnection" in page.targets) == (422, True)

        for _ in "12":
            shown = await ada.submit(here, typedConnection="acme-okta")
            assert "The connection is deleted." in shown.text
            ada.page = page

        assert await service.rows("SELECT * FROM sso_connection") == []


@pytest.mark.operation(
    "sso_pages.show_directory",
    "sso_pages.create_token",
    "sso_pages.show_token",
    "sso_pages.show_revocation",
    "sso_pages.revoke_token",
    "sso_pages.confirm_directory",
)
class TestDirectory:
    """The directory of a connection."""

    @pytest.fixture
    async def here(self, ada: Browser) -> str:
        """The path of the page of the directory, which the browser shows."""
        await set_up(ada)
        await ada.open(f"{home_of(ada)}/sso/connection?connection=acme-okta")
        return urlsplit((await ada.open(ada.page.links["Directory (SCIM)"])).path).path

    @pytest.mark.threat("SSO12")
    async def test_a_token_is_shown_once_and_works_until_it_is_revoked(
        self, service: Service, ada: Browser, here: str
    ) -> None:
        page = await ada.submit(here, tokenName="Okta", days="90")
        [token] = [word for word in page.text.split() if word.startswith("scim_")]
        shown = page.path
        await ada.open(page.links["I have saved it"])
        assert "Okta" in ada.page.text
        assert token not in ada.page.text
        assert token not in (await ada.open(shown)).text
        assert await self.status(service, token) == 200
        await ada.open(f"{here}?connection=acme-okta")
        await ada.open(ada.page.links["Revoke"])
        page = await ada.submit(f"{here}/revoke")

        assert "The token is revoked." in page.text
        assert await self.status(service, token) == 401

    @staticmethod
    async def status(service: Service, token: str) -> int:
        with other_profile(service):
            headers = {"Authorization": f"Bearer {token}"}
            return (await service.get("/scim/v2/Users", headers=headers)).status_code

    async def test_two_tokens_have_different_names(self, ada: Browser, here: str) -> None:
        await ada.submit(here, tokenName="Okta")
        await ada.open(f"{here}?connection=acme-okta")

        page = await ada.submit(here, tokenName="Okta")

        assert (page.status, "#tokenName" in page.targets) == (422, True)

    async def test_a_stopped_directory_continues(self, service: Service, ada: Browser, here: str) -> None:
        await execute(
            service,
            "INSERT INTO scim_directory (connection_id, window_members, window_disabled, stopped_at, created_at,"
            " updated_at) SELECT id, 20, 11, created_at, created_at, created_at FROM sso_connection",
        )
        page = await ada.open(f"{here}?connection=acme-okta")
        assert "disabled more than half of its users" in page.text

        page = await ada.submit(f"{here}/confirm")

        assert "The directory may continue." in page.text
        assert "disabled more than half" not in page.text

    async def test_shows_the_last_errors(self, service: Service, ada: Browser, here: str) -> None:
        assert "No request of the directory was refused." in ada.page.text
        page = await ada.submit(here, tokenName="Okta")
        [token] = [word for word in page.text.split() if word.startswith("scim_")]
        with other_profile(service):
            await service.get("/scim/v2/Users/none", headers={"Authorization": f"Bearer {token}"})

        page = await ada.open(f"{here}?connection=acme-okta")

        for shown in ("Last errors", "GET Users: 404", "There is no such resource"):
            assert shown in page.text
        assert "No request of the directory" not in page.text


async def come_back(browser: Browser, **changes: str) -> Page:
    """Sign in at the identity provider that a browser was led to, and return to the service."""
    url = httpx.URL(browser.page.path)
    message = answer_to(id_in(url), 0, **changes)
    with other_profile(browser.service):
        posted = await post(browser.service, message, url.params["RelayState"])
    return await browser.open(posted.headers["location"])


@pytest.mark.operation("sso_pages.show_test", "sso_pages.begin_test")
class TestTest:
    """A test sign-in on the pages; the browser signs in at the identity provider in between."""

    @pytest.fixture
    async def tester(self, service: Service) -> Browser:
        """The browser of the owner, on the page that tests a draft."""
        service.clock.now = NOW
        browser = await owner_of(service)
        await set_up(browser, providerId="acme")
        await browser.open(f"{home_of(browser)}/sso/connection?connection=acme")
        await browser.open(browser.page.links["Test the sign-in"])
        return browser

    async def test_shows_what_came_and_which_rule_gives_the_role(
        self, service: Service, names: NameServer, tester: Browser
    ) -> None:
        here = urlsplit(tester.page.path).path
        await execute(service, 'UPDATE sso_connection SET group_roles = \'{"ops": "admin"}\'')
        await tester.open(f"{home_of(tester)}/sso/connection/domains?connection=acme")
        await add_domain(tester, names)
        await tester.open(f"{here}?connection=acme")
        await tester.submit(here)

        page = await come_back(
            tester, attributes=attributes("Grace@Acme.Example", displayName="Grace &lt;b>", groups="ops")
        )

        assert (page.status, urlsplit(page.path).path) == (200, here)
        assert "A new user would be created, and signed in." in page.text
        assert "Administrator (from the rule for the group “ops”)" in page.text
        for shown in ("grace@acme.example", "Grace@Acme.Example", "Grace <b>", "ada-4711", "displayName"):
            assert shown in page.text
        again = await tester.open(page.path)
        assert "This result was shown already" in again.text
        assert "grace@acme.example" not in again.text

    async def test_says_why_the_sign_in_would_be_refused(self, tester: Browser) -> None:
        await tester.submit(urlsplit(tester.page.path).path)

        page = await come_back(tester)

        assert "The sign-in would be refused." in page.text
        assert "none of the verified domains" in page.text

    async def test_says_why_a_response_is_refused(self, tester: Browser) -> None:
        await tester.submit(urlsplit(tester.page.path).path)

        page = await come_back(tester, audience="")

        assert "saml_audience" in page.text
        assert "Copy the entity ID of this service" in page.text
