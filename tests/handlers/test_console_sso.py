"""Single sign-on in the console: connections, their domains, and the tokens of their directories."""

import re
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers import organization_steps
from tests.handlers.pages import SETTINGS, Browser, Page, act_as, other_profile, recorded, send
from tests.handlers.sso_saml_steps import attributes
from tests.handlers.steps import ADA, execute
from tests.handlers.test_console_user import add, administrator
from tests.handlers.test_sso_pages import come_back
from tests.name_server import NameServer
from tests.receiver import Receiver, respond
from tests.server.saml.provider import NOW, key
from tests.server.saml.test_metadata import bare, descriptor, metadata
from tests.service import Service
from tests.sso import discovered, issuer_of

LIST = "/console/sso"
NEW, TOKEN = f"{LIST}/new", f"{LIST}/token"
ACME = f"{LIST}/providers/acme"
ROLES = '{"reader": {"user": ["get"]}}'
SCRIPT = "<script>alert(1)</script>"
RECORD = "_gatewright-acme.acme.example"


@pytest.fixture
async def service(make_service: MakeService, names: NameServer) -> Service:
    return await make_service(
        {
            **SETTINGS,
            "limits.enabled": "false",
            "console.page_size": "10",
            "admin.roles": ROLES,
            "sso.resolvers": f'["{names.address}"]',
        }
    )


@pytest.fixture
async def root(service: Service) -> Browser:
    return await administrator(service)


async def create(root: Browser, provider_id: str = "acme", **typed: str) -> Page:
    """Create a connection to a SAML identity provider with the form."""
    await root.open(f"{NEW}?type=saml")
    usual = {
        "name": provider_id.title(),
        "domains": f"{provider_id}.example",
        "metadata": metadata().decode(),
    }
    return await root.submit(NEW, providerId=provider_id, **{**usual, **typed})


async def verify(service: Service, domain: str = "acme.example") -> None:
    """Make a domain verified, as its record does."""
    await execute(
        service, "UPDATE sso_domain SET verified_at = created_at WHERE domain = :domain", domain=domain
    )


async def column(service: Service, name: str) -> Any:
    """Return a column of the only connection."""
    [(value,)] = await service.rows(f"SELECT {name} FROM sso_connection")
    return value


def names_of(page: Page) -> list[str]:
    """Return the names of the connections in a list."""
    return [text for text, target in page.links.items() if re.search(r"/providers/[a-z0-9-]+$", target)]


class TestCreation:
    @pytest.mark.operation(
        "console.sso_connections.show_creation",
        "console.sso_connections.create",
        "console.sso_connection.show",
    )
    async def test_one_by_metadata(self, root: Browser, service: Service) -> None:
        page = await root.open(LIST)
        assert "There are no connections yet." in page.text
        page = await root.open(page.links["Create a connection"])
        assert "Which protocol does the identity provider use?" in page.text

        page = await create(root)

        assert (page.path, "The connection is created." in page.text) == (ACME, True)
        for text in ("SAML 2.0", "Draft", "https://idp.example.com", "CN=provider", "not verified", RECORD):
            assert text in page.text
        assert (await column(service, "state"), await column(service, "source")) == ("draft", "operation")
        assert await recorded(service, "sso.connection_created") == 1

    async def test_one_by_the_url_of_the_metadata(self, root: Browser) -> None:
        async with Receiver() as provider:
            provider.otherwise = respond(200, metadata())
            page = await create(root, metadata="", metadataUrl=provider.url("/metadata"))

        assert (page.path, "CN=provider" in page.text) == (ACME, True)

    async def test_one_of_openid_connect(self, root: Browser, service: Service) -> None:
        async with Receiver() as provider:
            provider.otherwise = discovered(provider)
            await root.open(f"{NEW}?type=oidc")
            page = await root.submit(
                NEW,
                providerId="acme",
                name="Acme",
                domains="acme.example, acme.test",
                issuer=issuer_of(provider),
                clientId="client-of-acme",
                clientSecret="hush-hush-hush",
            )

        assert page.path == ACME
        for text in ("OpenID Connect", "****acme", "/sso/callback/acme", "acme.test"):
            assert text in page.text
        assert "hush-hush-hush" not in page.text + str(await service.rows("SELECT * FROM audit"))

    async def test_one_of_an_organization(self, root: Browser, service: Service) -> None:
        with other_profile(service):
            owner = await organization_steps.add_verified(service, ADA)
            organization = await organization_steps.create(service, owner)

        page = await create(root, organization=organization["slug"])

        assert organization["name"] in page.links
        assert await column(service, "organization_id") == organization["id"]

    @pytest.mark.threat("C8")
    @pytest.mark.both_databases
    async def test_a_form_that_is_sent_twice_creates_one(self, root: Browser, service: Service) -> None:
        await create(root)

        page = await create(root)

        assert (page.status, "Another connection has this identifier." in page.text) == (422, True)
        assert await recorded(service, "sso.connection_created") == 1

    @pytest.mark.parametrize(
        ("typed", "text"),
        [
            ({"metadata": "<a/>"}, "This is not the metadata of a SAML identity provider."),
            ({"metadata": ""}, "Enter either a URL that leads to the metadata"),
            ({"metadata": "", "metadataUrl": "https://10.0.0.1/"}, "This service cannot use a URL"),
            ({"domains": "gmail.com"}, "One of these domains cannot be used."),
            ({"domains": ","}, "This is not valid here."),
            ({"provider_id": "Acme", "domains": "acme.example"}, "Use 1 to 40 lower-case letters"),
            ({"name": ""}, "Enter a name."),
            ({"organization": "no-such"}, "There is no organization with this slug"),
        ],
    )
    async def test_wrong_fields_are_refused(
        self, root: Browser, service: Service, typed: dict[str, str], text: str
    ) -> None:
        page = await create(root, typed.pop("provider_id", "acme"), **typed)

        assert (page.status, text in page.text) == (422, True), page.text
        assert not await service.rows("SELECT id FROM sso_connection")


@pytest.mark.operation("console.sso_connections.show_list")
class TestList:
    async def test_it_shows_all_of_them(self, root: Browser, service: Service) -> None:
        with other_profile(service):
            owner = await organization_steps.add_verified(service, ADA)
            organization = await organization_steps.create(service, owner)
        await create(root, organization=organization["slug"], domains="acme.example acme.test third.example")
        service.clock.advance(minutes=1)
        await create(root, "other")
        await execute(service, "UPDATE sso_connection SET source = 'config' WHERE provider_id = 'other'")

        page = await root.open(LIST)

        assert names_of(page) == ["Other", "Acme"]
        for text in (organization["name"], "The whole service", "acme.test", "+1", "From the configuration"):
            assert text in page.text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("state=active", ["first"]),
            ("state=paused", ["second"]),
            ("state=missing", ["third"]),
            ("type=saml", ["third", "second", "first"]),
            ("type=oidc", []),
            ("owner=organization", ["first"]),
            ("owner=service&state=draft", ["third"]),
            ("search=IRS", ["first"]),
            ("search=second.exam", ["second"]),
            ("search=ngines", ["first"]),
            ("search=%25", []),
        ],
    )
    async def test_it_filters(self, root: Browser, service: Service, query: str, expected: list[str]) -> None:
        with other_profile(service):
            owner = await organization_steps.add_verified(service, ADA)
            organization = await organization_steps.create(service, owner, "engines")
        await create(root, "first", organization=organization["slug"])
        service.clock.advance(minutes=1)
        await create(root, "second")
        service.clock.advance(minutes=1)
        await create(root, "third")
        for name, state in (("first", "active"), ("second", "paused")):
            await execute(
                service,
                "UPDATE sso_connection SET state = :state WHERE provider_id = :name",
                state=state,
                name=name,
            )
        await execute(service, "UPDATE sso_domain SET missed_at = created_at WHERE domain = 'third.example'")

        page = await root.open(f"{LIST}?{query}")

        assert (page.status, [name.lower() for name in names_of(page)]) == (200, expected)
        assert ("No connection matches." in page.text) == (not expected)

    async def test_pages_lead_forth_and_back(self, root: Browser, service: Service) -> None:
        for number in range(13):
            await create(root, f"n{number:02}")
        page = await root.open(LIST)
        first = names_of(page)
        page = await root.open(page.links["Older"])
        second = names_of(page)
        assert (len(first), len(second), len({*first, *second})) == (10, 3, 13)

        assert names_of(await root.open(page.links["Newer"])) == first

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        ("query", "name"),
        [("state=perhaps", "state"), ("type=ldap", "type"), ("owner=me", "owner"), ("search=a&search=b", "search"),
         ("search=%00", "search"), ("after=WyJjcmVhdGVkIiwxXQ", "after"), ("after=1.k&before=1.k", "before")],
    )  # fmt: skip
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, root: Browser, query: str, name: str
    ) -> None:
        page = await root.open(f"{LIST}?{query}")

        assert page.status == 400
        assert re.search(rf"\b{name}\b", page.text)

    async def test_a_certificate_that_ends_soon_is_marked(self, root: Browser, service: Service) -> None:
        page = await create(root)
        assert "ends soon" not in page.text
        found = re.search(r'datetime="(\d{4}-\d\d-\d\dT[^"]+)"', (await service.get(LIST)).text)
        assert found is not None
        end = found[1]
        service.clock.now = type(service.clock.now).fromisoformat(end) - timedelta(days=29)
        with other_profile(service):
            browser = await administrator(service, email="second@example.com")
            page = await browser.open(ACME)

        assert "ends soon" in page.text
        assert "Ask the organization for the next certificate" in page.text

    async def test_the_search_finds_one(self, root: Browser) -> None:
        await create(root)

        assert (await root.open("/console/search?search=acme.exam")).path == ACME

    async def test_the_overview_counts_them(self, root: Browser, service: Service) -> None:
        await create(root)
        await create(root, "other")
        await execute(service, "UPDATE sso_connection SET state = 'paused' WHERE provider_id = 'other'")

        page = await root.open("/console")

        assert "Single sign-on connections 2 Paused 1 DNS record missing 0" in page.text


class TestWho:
    @pytest.mark.threat("C1", "SSO10")
    async def test_it_needs_the_permission(self, root: Browser, service: Service) -> None:
        await create(root)
        browser = await administrator(service, "reader", "reader@example.com")

        assert "Single sign-on" not in (await browser.open("/console")).links
        for path in (
            LIST,
            NEW,
            TOKEN,
            ACME,
            f"{ACME}/settings",
            f"{ACME}/provider",
            f"{ACME}/test",
            f"{ACME}/pause",
            f"{ACME}/delete",
            f"{ACME}/remove-domain?domain=x",
        ):
            assert (await browser.open(path)).status == 403, path
        form = {"account": "reader@example.com", "typedConnection": "acme", "domain": "acme.example"}
        more = {"domains": "other.example", "tokenName": "x", "token": "x", **SENT_SETTINGS}
        for act in ACTS:
            assert (await send(service, f"{ACME}/{act}", **form, **more)).status_code == 403, act
        assert await column(service, "state") == "draft"
        assert not await service.rows("SELECT id FROM scim_token")

    @pytest.mark.threat("C10")
    async def test_it_is_closed_in_the_name_of_a_user(self, make_service: MakeService) -> None:
        service = await make_service(
            {**SETTINGS, "limits.enabled": "false", "admin.impersonation.enabled": "true"}
        )
        await add(service, ADA)
        await act_as(service)

        assert (await service.get(LIST)).status_code == 403

    @pytest.mark.parametrize(
        "settings", [{"sso.enabled": "false", "scim.enabled": "false"}, {"console.enabled": "false"}]
    )
    async def test_it_exists_only_if_single_sign_on_is_on(
        self, make_service: MakeService, settings: dict[str, str]
    ) -> None:
        service = await make_service({**SETTINGS, **settings})
        root = await administrator(service)

        for path in (LIST, NEW, TOKEN, ACME):
            assert (await root.open(path)).status == 404
        assert "Single sign-on" not in (await root.open("/console")).text

    @pytest.mark.threat("C2", "SSO10")
    async def test_changes_need_a_fresh_session(self, root: Browser, service: Service) -> None:
        await create(root, domains="acme.example, acme.test")
        await verify(service)
        page = await root.open(ACME)
        form = {"account": page.form(f"{ACME}/add-domains").fields["account"]}
        service.clock.advance(days=2)

        for path in (
            f"{NEW}?type=saml",
            f"{ACME}/settings",
            f"{ACME}/provider",
            f"{ACME}/pause",
            f"{ACME}/delete",
            f"{ACME}/remove-domain?domain=acme.test",
        ):
            assert (await root.open(path)).path.startswith("/account/confirm"), path
        fields = {
            "typedConnection": "acme",
            "domain": "acme.example",
            "domains": "x.example",
            "tokenName": "x",
            "token": "x",
            **SENT_SETTINGS,
        }
        for act in ACTS:
            answer = await send(service, f"{ACME}/{act}", **form, **fields)
            assert answer.headers["location"].startswith("/account/confirm"), act
        assert await column(service, "state") == "draft"

    async def test_one_that_does_not_exist(self, root: Browser) -> None:
        assert (await root.open(ACME)).status == 404
        assert "no longer exists" in (await root.open(f"{ACME}/delete")).text


ACTS = (
    *("pause", "activate", "delete", "add-domains", "verify-domains", "require-domain", "release-domain"),
    *("remove-domain", "create-token", "revoke-token", "confirm-directory", "settings", "provider", "test"),
)
SENT_SETTINGS = {"name": "Mallory", "secondFactor": "local", "metadata": "<EntityDescriptor/>"}


class TestConnection:
    @pytest.mark.operation(
        "console.sso_connection.activate",
        "console.sso_connection.show_pausing",
        "console.sso_connection.pause",
    )
    async def test_it_is_activated_and_paused(self, root: Browser, service: Service) -> None:
        await create(root)
        page = await root.submit(f"{ACME}/activate")
        assert "The connection is active." in page.text
        assert await column(service, "state") == "active"

        page = await root.open(page.links["Pause"])
        page = await root.submit(f"{ACME}/pause")

        assert "The connection is paused." in page.text
        assert await column(service, "state") == "paused"
        assert await recorded(service, "sso.connection_paused") == 1

    @pytest.mark.operation("console.sso_connection.show_deletion", "console.sso_connection.delete")
    @pytest.mark.threat("C8")
    @pytest.mark.both_databases
    async def test_it_is_deleted_once(self, root: Browser, service: Service) -> None:
        await create(root)
        await root.open(f"{ACME}/delete")
        page = await root.submit(f"{ACME}/delete", typedConnection="other")
        assert (page.status, "This is not the identifier" in page.text) == (422, True)
        seen = root.page

        page = await root.submit(f"{ACME}/delete", typedConnection="acme")

        assert (page.path, "The connection is deleted" in page.text) == (LIST, True)
        root.page = seen
        assert "no longer exists" in (await root.submit(f"{ACME}/delete", typedConnection="acme")).text
        assert await recorded(service, "sso.connection_deleted") == 1

    async def test_one_of_the_configuration_is_read_only(self, root: Browser, service: Service) -> None:
        await create(root)
        await execute(service, "UPDATE sso_connection SET source = 'config'")

        page = await root.open(ACME)

        assert "This connection comes from the configuration of the service" in page.text
        for text in ("Activate", "Check now", "Delete the connection", "Add domains"):
            assert text not in page.text
        assert {"Settings of the connection", "Load the metadata again"}.isdisjoint(page.links)
        assert "is changed there" in (await root.open(f"{ACME}/delete")).text
        form = {"account": "root@example.com", "typedConnection": "acme", "domains": "x.example"}
        for act in ("activate", "delete", "add-domains", "settings", "provider"):
            answer = await send(service, f"{ACME}/{act}", **form, **SENT_SETTINGS)
            assert answer.status_code == 422, act
        assert await recorded(service, "sso.connection_updated") == 0

    @pytest.mark.threat("C4")
    async def test_what_others_have_set_is_text(self, root: Browser) -> None:
        page = await create(root, name=SCRIPT)

        for path in (LIST, ACME, f"{ACME}/pause", f"{ACME}/settings", f"{ACME}/provider", f"{ACME}/test"):
            page = await root.open(path)
            assert (page.status, SCRIPT in page.text) == (200, True)


@pytest.mark.operation(
    "console.sso_settings.show",
    "console.sso_settings.update",
    "console.sso_settings.show_provider",
    "console.sso_settings.update_provider",
)
class TestSettings:
    """The settings of a connection, and its identity provider."""

    async def test_they_are_changed(self, root: Browser, service: Service) -> None:
        await create(root)
        await root.open(root.page.links["Settings of the connection"])
        assert root.page.form(f"{ACME}/settings").fields["signUp"] == "true"
        root.page.form(f"{ACME}/settings").fields.pop("signUp")

        page = await root.submit(
            f"{ACME}/settings", name="ACME", secondFactor="local", groupsAttribute="memberOf"
        )

        assert (page.path, "Your changes are saved." in page.text) == (ACME, True)
        row = [await column(service, name) for name in ("name", "sign_up", "second_factor", "group_roles")]
        assert [row[0], bool(row[1]), *row[2:]] == ["ACME", False, "local", "{}"]
        page = await root.open(f"{ACME}/settings")
        assert page.form(f"{ACME}/settings").fields["groupsAttribute"] == "memberOf"
        assert await recorded(service, "sso.connection_updated") == 1

    async def test_one_of_an_organization_has_roles(self, root: Browser, service: Service) -> None:
        await create(root)
        page = await root.open(f"{ACME}/settings")
        assert "groupRoles" not in page.form(f"{ACME}/settings").fields
        with other_profile(service):
            owner = await organization_steps.add_verified(service, ADA)
            organization = await organization_steps.create(service, owner)
        await create(root, "beta", organization=organization["slug"])
        beta = f"{LIST}/providers/beta/settings"
        await root.open(beta)

        page = await root.submit(beta, groupRoles="ops = owner")
        assert (page.status, "#groupRoles" in page.targets) == (422, True)
        page = await root.submit(beta, groupRoles="ops = admin", defaultRole="admin")

        assert "Your changes are saved." in page.text
        [row] = await service.rows(
            "SELECT default_role, group_roles FROM sso_connection WHERE provider_id = 'beta'"
        )
        assert (row.default_role, row.group_roles) == ("admin", '{"ops": "admin"}')

    @pytest.mark.threat("C8", "H6")
    @pytest.mark.both_databases
    async def test_a_stale_form_overwrites_nothing(self, root: Browser, service: Service) -> None:
        await create(root)
        stale = await root.open(f"{ACME}/settings")
        service.clock.advance(seconds=1)
        await root.submit(f"{ACME}/settings", name="Mine")
        root.page = stale

        page = await root.submit(f"{ACME}/settings", name="Theirs")

        assert page.status == 422
        assert "The connection was changed after you opened the form" in page.text
        assert await column(service, "name") == "Mine"

    async def test_other_metadata_replaces_the_certificate(self, root: Browser) -> None:
        await create(root)
        await root.open(root.page.links["Load the metadata again"])
        page = await root.submit(f"{ACME}/provider", metadata="<nothing/>")
        assert (page.status, "#metadata" in page.targets) == (422, True)

        other = metadata(keys=descriptor(bare(key("other").certificate))).decode()
        page = await root.submit(f"{ACME}/provider", metadata=other)

        assert (page.path, "Your changes are saved." in page.text) == (ACME, True)
        assert ("CN=other" in page.text, "CN=provider" in page.text) == (True, False)

    async def test_another_client_keeps_the_secret(self, root: Browser, service: Service) -> None:
        async with Receiver() as provider:
            provider.otherwise = discovered(provider)
            await root.open(f"{NEW}?type=oidc")
            sent = {"issuer": issuer_of(provider), "clientId": "one", "clientSecret": "hush-hush-hush"}
            await root.submit(NEW, providerId="acme", name="Acme", domains="acme.example", **sent)
            page = await root.open(root.page.links["Change issuer or client"])
            assert page.form(f"{ACME}/provider").fields["issuer"] == issuer_of(provider)
            assert "hush-hush-hush" not in page.text

            page = await root.submit(f"{ACME}/provider", clientId="client-two")

        assert (page.path, "****-two" in page.text) == (ACME, True)

    @pytest.mark.threat("SSO10")
    async def test_another_issuer_needs_the_secret_again(self, root: Browser, service: Service) -> None:
        async with Receiver() as one, Receiver() as other:
            one.otherwise, other.otherwise = discovered(one), discovered(other)
            await root.open(f"{NEW}?type=oidc")
            sent = {"issuer": issuer_of(one), "clientId": "one", "clientSecret": "hush-hush-hush"}
            await root.submit(NEW, providerId="acme", name="Acme", domains="acme.example", **sent)
            await root.open(f"{ACME}/provider")
            moved = {"issuer": issuer_of(other), "clientId": "one"}

            page = await root.submit(f"{ACME}/provider", **moved)

            assert (page.status, "#clientSecret" in page.targets) == (422, True)
            assert "Enter the client secret." in page.text
            page = await root.submit(f"{ACME}/provider", **moved, clientSecret="hush-again")

        assert (page.path, "Your changes are saved." in page.text) == (ACME, True)


@pytest.mark.operation("console.sso_settings.show_test", "console.sso_settings.begin_test")
class TestTest:
    """A test sign-in; the browser signs in at the identity provider in between."""

    @pytest.fixture
    async def root(self, service: Service) -> Browser:
        service.clock.now = NOW
        return await administrator(service)

    async def test_it_shows_what_came_and_what_would_happen(self, root: Browser, service: Service) -> None:
        await create(root)
        await verify(service)
        await root.open(root.page.links["Test the sign-in"])
        await root.submit(f"{ACME}/test")

        page = await come_back(root, attributes=attributes("Grace@Acme.Example", displayName="Grace &lt;b>"))

        assert (page.status, page.path.startswith(f"{ACME}/test?")) == (200, True)
        assert "A new user would be created, and signed in." in page.text
        for shown in ("grace@acme.example", "Grace@Acme.Example", "Grace <b>", "ada-4711"):
            assert shown in page.text
        assert "This result was shown already" in (await root.open(page.path)).text
        assert [row.email for row in await service.rows('SELECT email FROM "user"')] == ["root@example.com"]

    async def test_it_says_why_a_response_is_refused(self, root: Browser) -> None:
        await create(root)
        await root.open(f"{ACME}/test")
        await root.submit(f"{ACME}/test")

        page = await come_back(root, audience="")

        assert "saml_audience" in page.text
        assert "Copy the entity ID of this service" in page.text


class TestDomains:
    @pytest.mark.operation(
        "console.sso_domains.add", "console.sso_domains.show_removal", "console.sso_domains.remove"
    )
    async def test_they_are_added_and_removed(self, root: Browser, service: Service) -> None:
        await create(root)
        page = await root.submit(f"{ACME}/add-domains", domains="acme.test, ACME.example")
        assert "The domains are added." in page.text
        assert [row[0] for row in await service.rows("SELECT domain FROM sso_domain ORDER BY domain")] == [
            "acme.example",
            "acme.test",
        ]
        page = await root.submit(f"{ACME}/add-domains", domains="gmail.com")
        assert (page.status, "One of these domains cannot be used." in page.text) == (422, True)

        await root.open(f"{ACME}/remove-domain?domain=acme.test")
        page = await root.submit(f"{ACME}/remove-domain")

        assert "The domain is removed." in page.text
        assert [row[0] for row in await service.rows("SELECT domain FROM sso_domain")] == ["acme.example"]
        await root.open(f"{ACME}/remove-domain?domain=acme.example")
        assert (await root.submit(f"{ACME}/remove-domain")).status == 422

    @pytest.mark.operation("console.sso_domains.verify")
    async def test_a_record_verifies_one(self, root: Browser, service: Service, names: NameServer) -> None:
        await create(root)
        page = await root.submit(f"{ACME}/verify-domains")
        assert "A record was not found." in page.text
        [(token,)] = await service.rows("SELECT token FROM sso_domain")
        assert token in page.text
        names.texts[RECORD] = [token]

        page = await root.submit(f"{ACME}/verify-domains")

        assert "The domains are verified." in page.text
        assert "Records to create" not in page.text
        assert await recorded(service, "sso.domain_verified") == 1

    @pytest.mark.operation(
        "console.sso_domains.show_requirement", "console.sso_domains.require", "console.sso_domains.release"
    )
    async def test_one_is_required_and_released(self, root: Browser, service: Service) -> None:
        await create(root)
        await verify(service)
        await root.open(f"{ACME}/require-domain?domain=acme.example")

        page = await root.submit(f"{ACME}/require-domain")

        assert "must sign in with this connection now" in page.text
        assert [bool(row[0]) for row in await service.rows("SELECT required FROM sso_domain")] == [True]
        page = await root.submit(f"{ACME}/release-domain")
        assert "can also sign in another way now" in page.text
        assert [bool(row[0]) for row in await service.rows("SELECT required FROM sso_domain")] == [False]

    @pytest.mark.threat("SSO9")
    async def test_one_that_is_not_verified_is_not_required(self, root: Browser, service: Service) -> None:
        await create(root)
        await root.open(f"{ACME}/require-domain?domain=acme.example")

        assert (await root.submit(f"{ACME}/require-domain")).status == 422
        assert [bool(row[0]) for row in await service.rows("SELECT required FROM sso_domain")] == [False]


class TestDirectory:
    @pytest.mark.operation("console.sso_directory.create_token", "console.sso_directory.show_token")
    @pytest.mark.threat("C8", "C9")
    async def test_a_token_is_shown_once(self, root: Browser, service: Service) -> None:
        await create(root)
        seen = root.page

        page = await root.submit(f"{ACME}/create-token", tokenName="Entra ID", days="90")

        found = re.search(r"scim_\w+", page.text)
        assert (page.path, found is not None, "/scim/v2" in page.text) == (TOKEN, True, True)
        assert found is not None
        headers = {"authorization": f"Bearer {found[0]}"}
        assert (await service.client.get("/scim/v2/Users", headers=headers)).status_code == 200
        for path in (LIST, ACME):
            assert found[0] not in (await service.get(path)).text
        assert (await root.open(TOKEN)).path == LIST
        assert found[0] not in str(await service.rows("SELECT * FROM audit"))
        root.page = seen
        page = await root.submit(f"{ACME}/create-token", tokenName="Entra ID", days="90")
        assert (page.status, "a name that no other token" in page.text) == (422, True)
        assert await recorded(service, "scim.token_created") == 1

    @pytest.mark.operation("console.sso_directory.show_revocation", "console.sso_directory.revoke_token")
    async def test_a_token_is_revoked_once(self, root: Browser, service: Service) -> None:
        await create(root)
        await root.submit(f"{ACME}/create-token", tokenName="Entra ID")
        page = await root.open(ACME)
        await root.open(page.links["Revoke"])
        seen = root.page

        page = await root.submit(f"{ACME}/revoke-token")

        assert "The token is revoked." in page.text
        assert not await service.rows("SELECT id FROM scim_token")
        root.page = seen
        assert "This token no longer exists." in (await root.submit(f"{ACME}/revoke-token")).text
        assert await recorded(service, "scim.token_revoked") == 1

    @pytest.mark.operation("console.sso_directory.confirm")
    async def test_a_stopped_one_continues(self, root: Browser, service: Service) -> None:
        await create(root)
        await execute(
            service,
            "INSERT INTO scim_directory (connection_id, window_members, window_disabled, stopped_at, created_at,"
            " updated_at) SELECT id, 20, 11, created_at, created_at, created_at FROM sso_connection",
        )
        page = await root.open(ACME)
        assert "The directory is stopped" in page.text

        page = await root.submit(f"{ACME}/confirm-directory")

        assert "The directory may continue." in page.text
        assert await recorded(service, "scim.confirmed") == 1
        answer = await send(service, f"{ACME}/confirm-directory", account="root@example.com")
        assert answer.status_code == 303

    async def test_shows_the_last_errors(self, root: Browser, service: Service) -> None:
        page = await create(root)
        assert "No request of the directory was refused." in page.text
        page = await root.submit(f"{ACME}/create-token", tokenName="Entra ID")
        found = re.search(r"scim_\w+", page.text)
        assert found is not None
        headers = {"authorization": f"Bearer {found[0]}"}
        for path in ("/Users/none", "/Users?filter=title+pr"):
            await service.client.get(f"/scim/v2{path}", headers=headers)

        page = await root.open(ACME)

        for shown in ("Last errors", "GET Users", "404", "There is no such resource", "400 invalidFilter"):
            assert shown in page.text
        assert "No request of the directory" not in page.text

    async def test_there_is_none_if_directories_are_off(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "limits.enabled": "false", "scim.enabled": "false"})
        root = await administrator(service)

        page = await create(root)

        assert (page.path, "Directory (SCIM)" in page.text) == (ACME, False)
        assert (await root.open(TOKEN)).status == 404


@pytest.mark.parametrize("language", ["de", "fr", "es", "pt-BR", "ar"])
async def test_every_language_has_the_texts(root: Browser, language: str) -> None:
    await create(root)
    of_domain = ("require-domain?domain=acme.example", "remove-domain?domain=acme.example")
    acts = ("pause", "delete", "settings", "provider", "test", *of_domain)

    for path in (LIST, NEW, f"{NEW}?type=saml", ACME, *(f"{ACME}/{act}" for act in acts)):
        page = await root.open(f"{path}{'&' if '?' in path else '?'}ui_locales={language}")
        assert (page.status, page.language) == (200, language)
        assert not re.search(
            r"\b(Certificates|Which protocol|Records to create|This cannot be undone)\b", page.text
        )
