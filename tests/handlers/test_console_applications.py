"""Applications (OAuth clients) in the console: their secrets, and what users have granted them."""

import json
import re
from typing import Any

import pytest

from models.oauth_client import ClientSource
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, act_as, other_profile, recorded, send
from tests.handlers.people import add_person
from tests.handlers.steps import ADA, execute, join
from tests.handlers.test_console_user import ROOT, add, administrator
from tests.handlers.test_oauth_clients import authenticates, start
from tests.handlers.test_oauth_consents import allow
from tests.oauth import REDIRECT_URI, OAuthTestClient, add_client
from tests.oauth_codes import EVERYTHING, error, first_tokens, refresh
from tests.oauth_codes import SETTINGS as RESOURCES
from tests.oauth_logout import add_grant, session_of
from tests.service import Service

LIST = "/console/applications"
NEW, SECRET = f"{LIST}/new", f"{LIST}/secret"
ROLES = '{"support": {"user": ["list", "get"], "session": ["list", "revoke"]}, "reader": {"user": ["get"]}}'
SCRIPT = "<script>alert(1)</script>"
DOCUMENT = "https://client.example/metadata.json"
WIKI = {"wiki": {"client_name": "Wiki", "redirect_uris": ["https://wiki.example/cb"], "secret": "x" * 32}}
API = "https://api.example.com"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    service = await make_service(
        {
            **SETTINGS,
            **RESOURCES,
            "limits.enabled": "false",
            "console.page_size": "10",
            "admin.roles": ROLES,
            "oauth.clients": json.dumps(WIKI),
        }
    )
    await start(service)
    return service


@pytest.fixture
async def root(service: Service) -> Browser:
    return await administrator(service)


async def create(root: Browser, kind: str = "web", name: str = "Shop", **typed: str) -> Page:
    """Create an application with the form."""
    await root.open(f"{NEW}?kind={kind}")
    uris = {"redirectUris": REDIRECT_URI} if kind in ("web", "browser", "native") else {}
    return await root.submit(NEW, **{"name": name, **uris, **typed})


def secret_of(page: Page) -> str:
    found = re.search(r"gws_\w+", page.text)
    assert found is not None, page.text
    return found[0]


async def metadata(service: Service, name: str = "Shop") -> Any:
    """Return the metadata of an application."""
    [row] = await service.rows("SELECT registration FROM oauth_client WHERE client_name = :name", name=name)
    return json.loads(row.registration)


async def path_of(service: Service, name: str = "Shop") -> str:
    """Return the path of the page of an application."""
    [row] = await service.rows("SELECT client_id FROM oauth_client WHERE client_name = :name", name=name)
    return f"{LIST}/{row.client_id}"


def names(page: Page) -> list[str]:
    """Return the names of the applications in a list."""
    found = [text for text, path in page.links.items() if re.search(r"/applications/(app_|wiki|~)", path)]
    return [name for name in found if name != "Edit"]


async def connect(service: Service, email: str = ADA, **members: Any) -> tuple[OAuthTestClient, Any]:
    """Return an application with offline access to a new user, and its tokens."""
    with other_profile(service):
        person = await join(service, email)
    client = await add_client(service, **{**EVERYTHING, **members})
    return client, await first_tokens(service, client, person)


class TestCreation:
    @pytest.mark.operation(
        "console.applications.show_creation",
        "console.applications.create",
        "console.applications.show_secret",
    )
    async def test_three_questions_lead_to_a_secret(self, root: Browser, service: Service) -> None:
        page = await root.open(LIST)
        page = await root.open(page.links["Create an application"])
        assert "Question 1 of 3" in page.text
        page = await root.open(f"{NEW}?kind={page.form(NEW).fields['kind']}")
        assert "Question 2 of 3" in page.text
        checked = {name for name, one in page.inputs.items() if "checked" in one}
        assert checked == {"scope-openid", "scope-profile", "scope-email"}

        page = await root.submit(
            NEW,
            name="Shop",
            redirectUris=f"{REDIRECT_URI}\r\n\r\n https://shop.example/other ",
            **{"scope-offline_access": "true", f"resource-{API}": "true", "scope-read": "true"},
        )

        assert page.path == SECRET
        row = await service.rows("SELECT client_id FROM oauth_client WHERE source = 'admin'")
        assert await authenticates(service, row[0].client_id, secret_of(page))
        members = await metadata(service)
        assert members["redirect_uris"] == [REDIRECT_URI, "https://shop.example/other"]
        assert members["grant_types"] == ["authorization_code", "refresh_token"]
        assert members["resources"] == [API]
        assert set(members["scope"].split()) == {"openid", "profile", "email", "offline_access", "read"}
        assert await recorded(service, "oauth_client.created") == 2

    @pytest.mark.parametrize(
        ("kind", "typed", "expected"),
        [
            ("browser", {}, ("web", "none", ["authorization_code"])),
            ("native", {"redirectUris": "com.example.app:/cb"}, ("native", "none", ["authorization_code"])),
            ("machine", {"own-read": "true"}, ("web", "client_secret_basic", ["client_credentials"])),
            (
                "device",
                {"scope-offline_access": "true"},
                ("native", "none", ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]),
            ),
        ],
    )
    async def test_other_kinds(
        self,
        root: Browser,
        service: Service,
        kind: str,
        typed: dict[str, str],
        expected: tuple[str, str, list[str]],
    ) -> None:
        page = await create(root, kind, **typed)

        assert (page.path == SECRET) == (kind == "machine")
        members = await metadata(service)
        found = members["application_type"], members["token_endpoint_auth_method"], members["grant_types"]
        assert found == expected
        if kind != "machine":
            assert (page.path, "It has no secret." in page.text) == (await path_of(service), True)

    @pytest.mark.threat("C9")
    async def test_its_secret_is_shown_once(self, root: Browser, service: Service) -> None:
        secret = secret_of(await create(root))
        answer = await service.get(SECRET)
        assert (secret in answer.text, answer.headers["cache-control"]) == (True, "no-store")

        for path in (LIST, await path_of(service), SECRET):
            assert secret not in (await service.get(path)).text
        assert (await root.open(SECRET)).path == LIST
        assert secret not in str(await service.rows("SELECT * FROM oauth_client"))
        assert secret not in str(await service.rows("SELECT * FROM audit"))

    @pytest.mark.threat("C8")
    async def test_a_form_that_is_sent_twice_creates_one(self, root: Browser, service: Service) -> None:
        await root.open(f"{NEW}?kind=web")
        seen = root.page
        await root.submit(NEW, name="Shop", redirectUris=REDIRECT_URI)
        root.page = seen

        page = await root.submit(NEW, name="Shop", redirectUris=REDIRECT_URI)

        assert (page.status, "so nothing was done" in page.text) == (422, True)
        assert len(await service.rows("SELECT client_id FROM oauth_client WHERE source = 'admin'")) == 1

    @pytest.mark.parametrize(
        ("kind", "typed", "text"),
        [
            ("web", {"name": " "}, "Enter a name."),
            ("web", {"redirectUris": ""}, "Enter 1 to 20 URLs"),
            ("web", {"redirectUris": "https://shop.example/../x"}, "Enter 1 to 20 URLs"),
            ("web", {"redirectUris": "com.example.app:/cb"}, "Enter 1 to 20 URLs"),
            (
                "web",
                {"redirectUris": "\n".join(f"https://a.example/{n}" for n in range(21))},
                "Enter 1 to 20",
            ),
            ("web", {"scope-unknown": "true"}, "Choose at least one."),
            ("machine", {}, "Choose at least one."),
            ("web", {"resource-https://unknown.example": "true"}, "does not exist any more"),
        ],
    )
    async def test_wrong_fields_are_refused(
        self, root: Browser, service: Service, kind: str, typed: dict[str, str], text: str
    ) -> None:
        page = await create(root, kind, **typed)

        assert (page.status, text in page.text) == (422, True), page.text
        assert page.form(NEW).fields["kind"] == kind
        if "name" not in typed:
            assert page.form(NEW).fields["name"] == "Shop"
        assert not await service.rows("SELECT client_id FROM oauth_client WHERE source = 'admin'")


@pytest.mark.operation("console.applications.show_list")
class TestList:
    async def test_it_shows_all_of_them(self, root: Browser, service: Service) -> None:
        service.clock.advance(minutes=1)
        await create(root)
        service.clock.advance(minutes=1)
        await connect(service, client_name="Forum", redirect_uris=["https://forum.example/cb?x=1"])
        service.clock.advance(minutes=1)
        await add_client(service, client_name="Stranger", source=ClientSource.DYNAMIC)

        page = await root.open(LIST)

        assert names(page) == ["Stranger", "Forum", "Shop", "Wiki"]
        for text in ("Not verified", "Configuration", "Registered itself", "forum.example", "Single-page"):
            assert (text in page.text) == (text != "Single-page")
        assert "/cb" not in page.text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("search=FOR", ["Forum"]),
            ("search=wiki.exa", ["Wiki"]),
            ("search=%25", []),
            ("source=config", ["Wiki"]),
            ("state=disabled", ["Forum"]),
            ("state=active&source=cli", []),
        ],
    )
    async def test_it_filters(self, root: Browser, service: Service, query: str, expected: list[str]) -> None:
        await add_client(service, client_name="Forum")
        await execute(service, "UPDATE oauth_client SET disabled_at = created_at WHERE client_name = 'Forum'")

        page = await root.open(f"{LIST}?{query}")

        assert (page.status, names(page)) == (200, expected)
        assert ("No application matches." in page.text) == (not expected)

    async def test_pages_lead_forth_and_back(self, root: Browser, service: Service) -> None:
        for number in range(21):
            await add_client(service, client_name=f"Client {number:02}")
        page = await root.open(LIST)
        seen = [names(page)]
        while "Older" in page.links:
            page = await root.open(page.links["Older"])
            seen.append(names(page))
        assert [len(each) for each in seen] == [10, 10, 2]

        back = [names(page)]
        while "Newer" in page.links:
            page = await root.open(page.links["Newer"])
            back.append(names(page))
        assert back == seen[::-1]

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        ("query", "name"),
        [("state=perhaps", "state"), ("source=x", "source"), ("search=a&search=b", "search"),
         ("search=%00", "search"), ("after=WyJj", "after"), ("before=-1.k", "before")],
    )  # fmt: skip
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, root: Browser, query: str, name: str
    ) -> None:
        page = await root.open(f"{LIST}?{query}")

        assert page.status == 400
        assert re.search(rf"\b{name}\b", page.text)

    async def test_search_and_overview_know_them(self, root: Browser, service: Service) -> None:
        await add_client(service, client_name="Till")
        await execute(service, "UPDATE oauth_client SET disabled_at = created_at WHERE client_name = 'Till'")

        assert "Applications 2 Disabled 1" in (await root.open("/console")).text
        assert (await root.open("/console/search?search=till")).path == await path_of(service, "Till")


class TestApplication:
    @pytest.mark.operation(
        "console.application.show", "console.application.show_edit", "console.application.update"
    )
    async def test_it_is_changed(self, root: Browser, service: Service) -> None:
        await create(root, **{"scope-offline_access": "true"})
        page = await root.open(await path_of(service))
        for text in (REDIRECT_URI, "Web application with a server", "offline_access", "With a secret"):
            assert text in page.text
        page = await root.open(page.links["Edit"])
        edit = f"{await path_of(service)}/edit"
        form = page.form(edit)
        assert (form.fields["name"], form.fields["redirectUris"]) == ("Shop", REDIRECT_URI)
        del form.fields["scope-offline_access"]

        page = await root.submit(
            edit,
            name="Store",
            redirectUris="https://store.example/a\r\nhttps://store.example/b",
            tosUri="https://store.example/terms",
            contacts="ops@store.example",
            **{"scope-read": "true"},
        )

        assert "The application is saved." in page.text
        members = await metadata(service, "Store")
        assert members["redirect_uris"] == ["https://store.example/a", "https://store.example/b"]
        assert (members["scope"], members["grant_types"]) == (
            "openid profile email read",
            ["authorization_code"],
        )
        assert (members["tos_uri"], members["contacts"]) == (
            "https://store.example/terms",
            ["ops@store.example"],
        )

    async def test_what_is_the_same_is_not_changed(self, root: Browser, service: Service) -> None:
        await add_client(service, **EVERYTHING, jwks=None, skip_consent=True)
        before = await metadata(service)
        edit = f"{await path_of(service)}/edit"
        await root.open(edit)

        page = await root.submit(edit)

        assert "The application is saved." in page.text
        assert await metadata(service) == before
        assert await recorded(service, "oauth_client.updated") == 0

    @pytest.mark.parametrize(
        ("typed", "text"),
        [
            ({"tosUri": "http://shop.example"}, "Enter a URL that begins with https."),
            ({"backchannelLogoutUri": "https://10.0.0.1/"}, "Requests cannot be sent to this URL."),
            ({"postLogoutRedirectUris": "no"}, "Enter at most 20 URLs"),
            ({"contacts": "\n".join("abcdefghijk")}, "Enter at most 10 contacts"),
        ],
    )
    async def test_wrong_fields_are_refused(
        self, root: Browser, service: Service, typed: dict[str, str], text: str
    ) -> None:
        await create(root)
        edit = f"{await path_of(service)}/edit"
        await root.open(edit)

        page = await root.submit(edit, **typed)

        assert (page.status, text in page.text) == (422, True), page.text
        assert await recorded(service, "oauth_client.updated") == 0

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(self, root: Browser, service: Service) -> None:
        await create(root)
        edit = f"{await path_of(service)}/edit"
        await root.open(edit)
        seen = root.page
        await root.submit(edit, name="First")
        root.page = seen

        page = await root.submit(edit, name="Second")

        assert (page.status, "so nothing was done" in page.text) == (422, True)
        assert await recorded(service, "oauth_client.updated") == 1

    @pytest.mark.operation("console.application.show_rotation", "console.application.rotate_secret")
    @pytest.mark.threat("C8", "C9")
    async def test_its_secret_is_replaced_once(self, root: Browser, service: Service) -> None:
        first = secret_of(await create(root))
        path = await path_of(service)
        await root.open((await root.open(path)).links["Replace the secret"])
        seen = root.page

        page = await root.submit(f"{path}/rotate-secret")

        second = secret_of(page)
        assert (page.path, second != first) == (SECRET, True)
        assert "the previous secret is accepted, too" in page.text
        for secret in (first, second):
            assert await authenticates(service, path.rpartition("/")[2], secret)
        root.page = seen
        page = await root.submit(f"{path}/rotate-secret")
        assert (page.status, "so nothing was done" in page.text) == (422, True)
        assert await recorded(service, "oauth_client.secret_rotated") == 1
        assert second not in (await root.open(path)).text

    @pytest.mark.operation(
        "console.application.show_disabling", "console.application.disable", "console.application.enable"
    )
    async def test_it_is_disabled_and_enabled(self, root: Browser, service: Service) -> None:
        client, tokens = await connect(service)
        path = await path_of(service)
        page = await root.open((await root.open(path)).links["Disable"])
        assert "1 grant ends." in page.text

        page = await root.submit(f"{path}/disable")

        assert "The application is disabled" in page.text
        assert error(await refresh(service, client, tokens["refresh_token"])) == "401 invalid_client"
        page = await root.submit(f"{path}/enable")
        assert "The application is enabled." in page.text
        assert error(await refresh(service, client, tokens["refresh_token"])) == "400 invalid_grant"

    @pytest.mark.operation("console.application.show_end_grants", "console.application.end_grants")
    @pytest.mark.parametrize("consents", [{}, {"consents": "true"}])
    async def test_its_access_is_ended(
        self, root: Browser, service: Service, consents: dict[str, str]
    ) -> None:
        with other_profile(service):
            ada = await join(service, ADA)
        await allow(service, ada, scope="openid", scopes="openid")
        path = await path_of(service)
        page = await root.open((await root.open(path)).links["End all access"])
        assert "1 grant ends." in page.text

        page = await root.submit(f"{path}/end-grants", **consents)

        assert "The access of the application has ended." in page.text
        assert not await service.rows("SELECT id FROM oauth_grant")
        assert len(await service.rows("SELECT id FROM oauth_consent")) == 1 - len(consents)
        assert await recorded(service, "oauth_client.grants_revoked") == 1
        await root.open(f"{path}/end-grants")
        assert "there was nothing to end" in (await root.submit(f"{path}/end-grants")).text

    @pytest.mark.operation("console.application.show")
    @pytest.mark.parametrize("number", [10, 11])
    async def test_it_says_that_only_the_newest_grants_are_shown(
        self, root: Browser, service: Service, number: int
    ) -> None:
        with other_profile(service):
            session = await session_of(service, await join(service, ADA))
        for _ in range(number):
            await add_grant(service, "wiki", session)

        page = await root.open(f"{LIST}/wiki")

        assert ("The newest 10 are shown." in page.text) == (number > 10)

    @pytest.mark.operation("console.application.show_deletion", "console.application.delete")
    async def test_it_is_deleted_by_its_name(self, root: Browser, service: Service) -> None:
        await create(root)
        path = await path_of(service)
        await root.open((await root.open(path)).links["Delete the application"])
        page = await root.submit(f"{path}/delete", typedApplication="shop")
        assert (page.status, "This is not the name of the application." in page.text) == (422, True)
        seen = page

        page = await root.submit(f"{path}/delete", typedApplication="Shop")

        assert (page.path, "The application is deleted" in page.text) == (LIST, True)
        assert (await root.open(path)).status == 404
        root.page = seen
        page = await root.submit(f"{path}/delete", typedApplication="Shop")
        assert (page.path, "no longer exists" in page.text) == (LIST, True)
        assert await recorded(service, "oauth_client.deleted") == 1

    async def test_configured_ones_are_read_only(self, root: Browser, service: Service) -> None:
        page = await root.open(f"{LIST}/wiki")

        assert "This application comes from the configuration, and is changed there." in page.text
        assert not {"Edit", "Disable", "Replace the secret", "Delete the application"} & page.links.keys()
        for act in ("edit", "disable", "delete", "rotate-secret"):
            page = await root.open(f"{LIST}/wiki/{act}")
            assert (page.status, "is changed there" in page.text) == (200, True)
            typed = {"account": ROOT, "name": "X", "typedApplication": "Wiki", "scope-openid": "true"}
            answer = await send(service, f"{LIST}/wiki/{act}", **typed)
            assert (answer.status_code, "is changed there" in answer.text) == (422, True), act
        await root.open(f"{LIST}/wiki/end-grants")
        assert "nothing to end" in (await root.submit(f"{LIST}/wiki/end-grants")).text

    async def test_one_whose_id_is_a_url_has_a_page(self, root: Browser, service: Service) -> None:
        await add_client(service, client_name="Agent", source=ClientSource.DOCUMENT)
        for client_id in (DOCUMENT, "new", "secret"):
            await execute(
                service, "UPDATE oauth_client SET client_id = :id WHERE client_name = 'Agent'", id=client_id
            )
            page = await root.open((await root.open(LIST)).links["Agent"])

            assert (page.status, client_id in page.text) == (200, True)
            assert "This application describes itself in a document" in page.text
            assert ("Disable" in page.links, "Edit" in page.links) == (True, False)
        page = await root.open(page.links["Disable"])
        page = await root.submit(f"{page.path.partition('?')[0]}")
        assert "The application is disabled" in page.text
        for unknown in ("~", "~x", "~_w", "unknown", "a%2Fb", "x" * 700):
            assert (await root.open(f"{LIST}/{unknown}")).status == 404


class TestOfUser:
    @pytest.mark.operation("console.user_applications.show_end", "console.user_applications.end")
    async def test_an_application_loses_its_access(self, root: Browser, service: Service) -> None:
        client, tokens = await connect(service)
        user = f"/console/users/{await user_id(service)}"
        page = await root.open(user)
        assert "Connected applications" in page.text
        assert page.links["Shop"] == await path_of(service)
        end = f"{user}/end-application"
        await root.open(f"{end}?application={client.client_id}")

        page = await root.submit(end)

        assert (page.path, "has to ask the user again" in page.text) == (user, True)
        assert error(await refresh(service, client, tokens["refresh_token"])) == "400 invalid_grant"
        assert "No application has access to this user." in page.text
        page = await root.open(f"{end}?application={client.client_id}")
        assert (page.path, "has no access any more" in page.text) == (user, True)

    @pytest.mark.threat("C1", "C3")
    async def test_it_needs_powers_and_rank(self, service: Service, root: Browser) -> None:
        client = await add_client(service, **EVERYTHING)
        with other_profile(service):
            chief = await add_person(service, "admin", "chief@example.com")
        await first_tokens(service, client, chief.headers)
        await connect(service, ADA, client_name="Forum")
        ada = await user_id(service)
        browser = await administrator(service, "support", "support@example.com")

        page = await browser.open(f"/console/users/{ada}")
        assert ("Forum" in page.text, "Forum" in page.links) == (True, False)
        form = {"account": "support@example.com", "application": client.client_id}
        for path in (f"/console/users/{chief.id}/end-application",):
            assert (await browser.open(f"{path}?application={client.client_id}")).status == 403
            assert (await send(service, path, **form)).status_code == 403
        await administrator(service, "reader", "reader@example.com")
        answer = await send(
            service,
            f"/console/users/{ada}/end-application",
            **{**form, "account": "reader@example.com"},
        )
        assert answer.status_code == 403
        assert len(await service.rows("SELECT id FROM oauth_grant")) == 2


async def user_id(service: Service, email: str = ADA) -> str:
    [row] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=email)
    found: str = row.id
    return found


class TestWho:
    @pytest.mark.threat("C1", "O14")
    async def test_it_needs_the_permission(self, root: Browser, service: Service) -> None:
        await create(root)
        path = await path_of(service)
        browser = await administrator(service, "support", "support@example.com")

        assert "Applications" not in (await browser.open("/console")).links
        acts = ("edit", "disable", "rotate-secret", "end-grants", "delete")
        for each in (LIST, NEW, SECRET, path, *(f"{path}/{act}" for act in acts)):
            assert (await browser.open(each)).status == 403
        form = {"account": "support@example.com", "typedApplication": "Shop", "name": "X", "kind": "web"}
        typed = {**form, "once": "x", "redirectUris": REDIRECT_URI, "scope-openid": "true"}
        for each in (NEW, *(f"{path}/{act}" for act in (*acts, "enable"))):
            assert (await send(service, each, **typed)).status_code == 403
        assert len(await service.rows("SELECT client_id FROM oauth_client WHERE disabled_at IS NULL")) == 2

    @pytest.mark.threat("C10")
    async def test_it_is_closed_in_the_name_of_a_user(self, make_service: MakeService) -> None:
        service = await make_service(
            {**SETTINGS, "limits.enabled": "false", "admin.impersonation.enabled": "true"}
        )
        await add(service, ADA)
        await act_as(service)

        assert (await service.get(LIST)).status_code == 403

    @pytest.mark.parametrize("settings", [{"oauth.enabled": "false"}, {"oauth.client_management": "users"}])
    async def test_it_exists_only_if_administrators_manage_clients(
        self, make_service: MakeService, settings: dict[str, str]
    ) -> None:
        service = await make_service({**SETTINGS, "oauth.device.enabled": "false", **settings})
        root = await administrator(service)

        for path in (LIST, NEW, SECRET, f"{LIST}/unknown"):
            assert (await root.open(path)).status == 404
        assert "Applications" not in (await root.open("/console")).links
        page = await root.open(f"/console/users/{await user_id(service, ROOT)}")
        assert ("Connected applications" in page.text) == ("oauth.enabled" not in settings)

    @pytest.mark.threat("C2", "O14")
    async def test_changes_need_a_fresh_session(self, root: Browser, service: Service) -> None:
        await create(root)
        path = await path_of(service)
        forms = {}
        for act in ("edit", "disable", "rotate-secret", "end-grants", "delete"):
            forms[f"{path}/{act}"] = (await root.open(f"{path}/{act}")).form(f"{path}/{act}").fields
        forms[NEW] = (await root.open(f"{NEW}?kind=web")).form(NEW).fields
        service.clock.advance(days=2)

        for each, fields in forms.items():
            assert (await root.open(each)).path.startswith("/account/confirm"), each
            typed = {**fields, "name": "other", "redirectUris": REDIRECT_URI, "typedApplication": "Shop"}
            answer = await send(service, each, **typed)
            assert answer.headers["location"].startswith("/account/confirm"), each
        assert len(await service.rows("SELECT client_id FROM oauth_client WHERE disabled_at IS NULL")) == 2


@pytest.mark.threat("C4")
async def test_scripts_of_applications_are_text(root: Browser, service: Service) -> None:
    client, _ = await connect(service, client_name=SCRIPT, source=ClientSource.DYNAMIC)
    members = {**EVERYTHING, **await metadata(service, SCRIPT)}
    odd: dict[str, Any] = dict.fromkeys(
        ("client_uri", "tos_uri", "backchannel_logout_uri"), f"https://{SCRIPT}/"
    )
    odd |= {"contacts": [SCRIPT], "scope": SCRIPT, "redirect_uris": [f"https://{SCRIPT}/cb"]}
    await execute(
        service,
        "UPDATE oauth_client SET registration = :members WHERE client_name = :name",
        members=json.dumps({**members, **odd}),
        name=SCRIPT,
    )
    await execute(service, "UPDATE oauth_grant SET scopes = :scopes", scopes=SCRIPT)
    path = f"{LIST}/{client.client_id}"
    user = f"/console/users/{await user_id(service)}"
    end = f"{user}/end-application?application={client.client_id}"

    for each in (LIST, path, f"{path}/edit", f"{path}/delete", user, end):
        answer = await service.get(each)
        assert answer.status_code == 200, each
        assert SCRIPT not in answer.text


@pytest.mark.parametrize("language", ["de", "fr", "es", "pt-BR", "ar"])
async def test_every_language_has_the_texts(root: Browser, service: Service, language: str) -> None:
    await connect(service)
    path = await path_of(service)
    acts = [f"{path}/{act}" for act in ("edit", "disable", "rotate-secret", "end-grants", "delete")]
    user = f"/console/users/{await user_id(service)}"

    for each in (LIST, NEW, f"{NEW}?kind=web", f"{NEW}?kind=machine", path, *acts, user):
        joint = "&" if "?" in each else "?"
        page = await root.open(f"{each}{joint}ui_locales={language}")
        assert (page.status, page.language) == (200, language)
        assert not re.search(r"\b(return to|May ask|grant ends|Authenticates)\b", page.text)
