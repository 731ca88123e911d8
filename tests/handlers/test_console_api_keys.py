"""The API keys of all users in the console."""

import re

import pytest

from domain import tokens
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, other_profile, recorded, send, stored_user
from tests.handlers.steps import ADA, UNKNOWN, bearer, execute, set_user, sign_in
from tests.handlers.test_console_user import ROOT, add, administrator
from tests.service import PASSWORD, Service

KEYS = "/console/api-keys"
NEW = f"{KEYS}/new"
ROLES = '{"support": {"user": ["get"], "apiKey": ["manage"]}, "reader": {"user": ["get"]}}'
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(
        {
            **SETTINGS,
            "limits.enabled": "false",
            "console.page_size": "10",
            "admin.roles": ROLES,
            "api_keys.kinds": '{"partner": {"references": "user"}}',
        }
    )


@pytest.fixture
async def user(service: Service) -> str:
    """The path of the page of a user."""
    return await add(service, ADA, name="Ada Lovelace")


@pytest.fixture
async def root(service: Service, user: str) -> Browser:
    return await administrator(service)


async def create(root: Browser, name: str, email: str = ADA, **typed: str) -> str:
    """Create a key with the form; return its text."""
    await root.open(f"{NEW}?owner={email}")
    page = await root.submit(NEW, name=name, **typed)
    assert page.path == f"{KEYS}/created", page.text
    found = re.search(r"[A-Za-z0-9_]*[A-Za-z0-9]{64}", page.text)
    assert found is not None
    return found[0]


async def path_of(service: Service, name: str) -> str:
    """Return the path of the page of a key."""
    [(key,)] = await service.rows("SELECT id FROM api_key WHERE name = :name", name=name)
    return f"{KEYS}/{key}"


def names(page: Page) -> list[str]:
    """Return the names of the keys in a list, in its order."""
    return [text for text, target in page.links.items() if re.search(r"/api-keys/\w{32}$", target)]


class TestCreation:
    @pytest.mark.operation(
        "console.api_key_creation.show",
        "console.api_key_creation.create",
        "console.api_key_creation.show_created",
    )
    async def test_a_key_of_a_user_is_created(self, root: Browser, service: Service, user: str) -> None:
        page = await root.open(user)
        page = await root.open(page.links["Create a key"])
        assert "Ada Lovelace" in page.text

        text = await create(
            root, "ci", permissions="files:read files:write", remaining="5", refillAmount="10",
            refillInterval="3600", rateLimitMax="7", rateLimitTimeWindow="60", expiresIn="604800",
        )  # fmt: skip

        ada = await stored_user(service)
        [row] = await service.rows("SELECT * FROM api_key")
        assert (row.user_id, row.name, row.remaining, row.refill_amount, row.refill_interval_ms) == (
            ada.id, "ci", 5, 10, 3_600_000,
        )  # fmt: skip
        assert (bool(row.rate_limit_enabled), row.rate_limit_max, row.rate_limit_window_ms) == (
            True,
            7,
            60_000,
        )
        assert row.permissions == '{"files":["read","write"]}'
        assert bytes(row.digest) == tokens.digest(text)

    @pytest.mark.threat("C9")
    async def test_its_text_is_shown_once(self, root: Browser, service: Service, user: str) -> None:
        text = await create(root, "ci")
        answer = await service.get(f"{KEYS}/created")
        assert (text in answer.text, answer.headers["cache-control"]) == (True, "no-store")
        assert text not in (await service.get("/account/api-keys/created")).text

        for path in (KEYS, await path_of(service, "ci"), user, f"{KEYS}/created"):
            assert text not in (await service.get(path)).text
        assert (await root.open(f"{KEYS}/created")).path == KEYS
        stored = await service.rows("SELECT name, prefix, start, permissions FROM api_key")
        assert text not in str(stored)
        assert text not in str(await service.rows("SELECT * FROM audit"))

    @pytest.mark.threat("C9")
    async def test_its_text_is_gone_after_five_minutes(self, root: Browser, service: Service) -> None:
        text = await create(root, "ci")
        service.clock.advance(minutes=5)

        answer = await service.get(f"{KEYS}/created")

        assert (answer.status_code, text in answer.text) == (302, False)

    @pytest.mark.threat("C8")
    async def test_a_form_that_is_sent_twice_creates_one_key(self, root: Browser, service: Service) -> None:
        await root.open(f"{NEW}?owner={ADA}")
        seen = root.page
        await root.submit(NEW, name="ci")
        root.page = seen

        page = await root.submit(NEW, name="ci")

        assert (page.status, "so nothing was done" in page.text) == (422, True)
        assert await recorded(service, "api_key.created") == 1

    async def test_the_owner_is_asked_for_first(self, root: Browser) -> None:
        page = await root.open(NEW)
        assert "owner" in page.inputs
        page = await root.open(f"{NEW}?owner=nobody")
        assert "There is no such user." in page.text

    @pytest.mark.parametrize(
        ("field", "value"),
        [("permissions", "read"), ("permissions", "1:read"), ("remaining", "-1"), ("refillAmount", "0"),
         ("refillAmount", "5"), ("rateLimitMax", "0"), ("rateLimitMax", "9999999999"), ("expiresIn", "soon"),
         ("expiresIn", "999999999999999"), ("rateLimitTimeWindow", "31536001"), ("name", "x" * 300)],
    )  # fmt: skip
    async def test_a_wrong_field_is_refused(
        self, root: Browser, service: Service, field: str, value: str
    ) -> None:
        await root.open(f"{NEW}?owner={ADA}")

        page = await root.submit(NEW, **{"name": "ci", "remaining": "3", field: value})

        assert page.status == 422
        assert page.form(NEW).fields["name"] == ("ci" if field != "name" else value)
        assert not await service.rows("SELECT id FROM api_key")


@pytest.mark.operation("console.api_keys.show_list")
class TestList:
    async def test_it_shows_the_keys_of_all_users(self, root: Browser, service: Service) -> None:
        await create(root, "first", permissions="files:read")
        service.clock.advance(minutes=1)
        await create(root, "second", ROOT, remaining="1200")

        page = await root.open(KEYS)

        assert names(page) == ["second", "first"]
        for text in ("Ada Lovelace", "files:read", "1,200", "Active", "default"):
            assert text in page.text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            (f"owner={ADA}", ["third", "second", "first"]),
            ("owner=nobody", []),
            ("state=disabled", ["second"]),
            ("state=expired", ["first"]),
            ("state=active", ["third"]),
            ("kind=partner", ["third"]),
            ("search=zzzz", []),
            ("search=%25", []),
        ],
    )
    async def test_it_filters(self, root: Browser, service: Service, query: str, expected: list[str]) -> None:
        for name in ("first", "second", "third"):
            await create(root, name, kind="partner" if name == "third" else "default")
            service.clock.advance(minutes=1)
        await execute(service, "UPDATE api_key SET expires_at = created_at WHERE name = 'first'")
        await execute(service, "UPDATE api_key SET enabled = :no WHERE name = 'second'", no=False)

        page = await root.open(f"{KEYS}?{query}")

        assert (page.status, names(page)) == (200, expected)

    async def test_a_key_is_found_by_its_start(self, root: Browser, service: Service) -> None:
        text = await create(root, "first")
        await create(root, "second")

        assert names(await root.open(f"{KEYS}?search={text[:6]}")) == ["first"]
        assert (await root.open(f"/console/search?search={text[:6]}")).path == await path_of(service, "first")

    @pytest.mark.both_databases
    async def test_pages_lead_forth_and_back(self, root: Browser, service: Service) -> None:
        await set_user(service, ADA, name="")
        for number in range(23):
            await create(root, f"key{number:02}")
        page = await root.open(KEYS)
        seen = [names(page)]
        while "Older" in page.links:
            page = await root.open(page.links["Older"])
            seen.append(names(page))
        assert [len(each) for each in seen] == [10, 10, 3]
        assert len({name for each in seen for name in each}) == 23

        back = [names(page)]
        while "Newer" in page.links:
            page = await root.open(page.links["Newer"])
            back.append(names(page))
        assert back == seen[::-1]

    async def test_it_needs_the_permission(self, service: Service, user: str) -> None:
        browser = await administrator(service, "reader")

        assert "API keys" not in (await browser.open(user)).links
        for path in (KEYS, NEW, f"{KEYS}/{UNKNOWN}", f"{KEYS}/{UNKNOWN}/edit", f"{KEYS}/{UNKNOWN}/delete"):
            assert (await browser.open(path)).status == 403

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        ("query", "name"),
        [("state=perhaps", "state"), ("kind=nothing", "kind"), ("search=a&search=b", "search"),
         ("search=%00", "search"), ("owner=" + "x" * 255, "owner"), ("after=WyJjcmVhdGVkIiwxXQ", "after"),
         ("before=-1.k", "before"), ("after=1.k&before=1.k", "before")],
    )  # fmt: skip
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, root: Browser, query: str, name: str
    ) -> None:
        page = await root.open(f"{KEYS}?{query}")

        assert page.status == 400
        assert re.search(rf"\b{name}\b", page.text)


class TestKey:
    @pytest.mark.operation("console.api_keys.show", "console.api_keys.show_edit", "console.api_keys.update")
    async def test_it_is_changed(self, root: Browser, service: Service) -> None:
        await create(root, "ci", permissions="files:read", remaining="5")
        key = await path_of(service, "ci")
        page = await root.open(key)
        await root.open(page.links["Edit"])

        page = await root.submit(
            f"{key}/edit",
            name="build",
            permissions="",
            remaining="",
            rateLimitMax="9",
            rateLimitTimeWindow="30",
        )

        assert (page.path, "The key is saved." in page.text) == (key, True)
        [row] = await service.rows("SELECT * FROM api_key")
        assert (row.name, row.permissions, row.remaining, row.rate_limit_max) == ("build", None, None, 9)
        await root.open(f"{key}/edit")
        await root.submit(f"{key}/edit", rateLimitMax="")
        [row] = await service.rows("SELECT * FROM api_key")
        assert not row.rate_limit_enabled

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(self, root: Browser, service: Service) -> None:
        await create(root, "ci")
        key = await path_of(service, "ci")
        await root.open(f"{key}/edit")
        seen = root.page
        service.clock.advance(seconds=1)
        await root.submit(f"{key}/edit", name="first")
        root.page = seen

        page = await root.submit(f"{key}/edit", name="second")

        assert (page.status, "so nothing was done" in page.text) == (422, True)
        root.page = seen
        assert (await root.submit(f"{key}/edit", name="first")).path == key
        assert await recorded(service, "api_key.updated") == 1

    @pytest.mark.operation(
        "console.api_keys.show_disabling", "console.api_keys.disable", "console.api_keys.enable"
    )
    async def test_it_is_disabled_and_enabled(self, root: Browser, service: Service) -> None:
        await create(root, "ci")
        key = await path_of(service, "ci")
        page = await root.open(key)
        await root.open(page.links["Disable"])

        page = await root.submit(f"{key}/disable")
        assert (page.path, "The key is disabled." in page.text) == (key, True)
        page = await root.submit(f"{key}/enable")

        assert "The key is enabled." in page.text
        assert await recorded(service, "api_key.updated") == 2

    @pytest.mark.operation("console.api_keys.show_deletion", "console.api_keys.delete")
    @pytest.mark.threat("C8")
    async def test_it_is_deleted_once(self, root: Browser, service: Service) -> None:
        await create(root, "ci")
        key = await path_of(service, "ci")
        await root.open(f"{key}/delete")
        seen = root.page

        page = await root.submit(f"{key}/delete")
        assert (page.path, "The key is deleted." in page.text) == (KEYS, True)
        root.page = seen
        page = await root.submit(f"{key}/delete")

        assert "That key was deleted already." in page.text
        assert await recorded(service, "api_key.deleted") == 1

    @pytest.mark.threat("C4")
    async def test_what_others_have_set_is_text(self, root: Browser, service: Service, user: str) -> None:
        await create(root, "ci")
        await set_user(service, ADA, name=SCRIPT)
        await execute(
            service, "UPDATE api_key SET start = :script, prefix = :script, kind = :script, permissions = :more",
            script=SCRIPT, more='{"<script>alert(1)</script>": ["<script>alert(1)</script>"]}',
        )  # fmt: skip
        key = await path_of(service, "ci")
        await execute(service, "UPDATE api_key SET name = :script", script=SCRIPT)

        for path in (KEYS, key, f"{key}/edit", f"{key}/disable", f"{key}/delete", f"{NEW}?owner={ADA}", user):
            answer = await service.get(path)
            assert (path, answer.status_code, SCRIPT in answer.text) == (path, 200, False)


async def test_keys_of_organizations_show_their_owner(make_service: MakeService) -> None:
    kinds = {"api_keys.kinds": '{"team": {"references": "organization"}}', "organizations.enabled": "true"}
    service = await make_service({**SETTINGS, "limits.enabled": "false", **kinds})
    await add(service, ADA, name="Ada Lovelace")
    ada = bearer((await sign_in(service)).json()["token"])
    acme = await service.post("/organization/create", {"name": "Acme & Co", "slug": "acme"}, headers=ada)
    key = {"configId": "team", "organizationId": acme.json()["id"], "name": "deploy"}
    assert (await service.post("/api-key/create", key, headers=ada)).status_code == 200
    root = await administrator(service)

    listed, filtered = await root.open(KEYS), await root.open(f"{KEYS}?owner=acme")
    path = await path_of(service, "deploy")
    shown = await root.open(path)

    for page in (listed, filtered, shown):
        assert "Acme & Co Organization" in page.text
    assert names(await root.open(f"{KEYS}?owner=other")) == []
    # Forms for new keys offer the kinds of users alone.
    assert "team" not in (await root.open(f"{NEW}?owner={ADA}")).text
    await root.open(f"{path}/disable")
    await root.submit(f"{path}/disable")
    assert "Disabled" in (await root.open(path)).text
    await root.open(f"{path}/delete")
    await root.submit(f"{path}/delete")
    assert await service.rows("SELECT id FROM api_key") == []


@pytest.mark.threat("KEY3", "C8")
async def test_a_key_of_an_organization_is_created_once(make_service: MakeService) -> None:
    kinds = {"api_keys.kinds": '{"team": {"references": "organization"}}', "organizations.enabled": "true"}
    service = await make_service({**SETTINGS, "limits.enabled": "false", **kinds})
    await add(service, ADA, name="Ada Lovelace")
    ada = bearer((await sign_in(service)).json()["token"])
    acme = await service.post("/organization/create", {"name": "Acme & Co", "slug": "acme"}, headers=ada)
    root = await administrator(service)
    page = await root.open(f"{NEW}?owner=nobody")
    assert "There is no such user or organization." in page.text
    page = await root.open(f"{NEW}?owner=ACME")
    assert "Acme & Co acme Organization" in page.text

    # A kind of users would make it a key of the administrator.
    refused = await root.submit(NEW, name="deploy", kind="default")
    assert (refused.status, await service.rows("SELECT id FROM api_key")) == (422, [])
    text = await create(root, "deploy", acme.json()["id"])
    root.page = page
    assert (await root.submit(NEW, name="deploy")).status == 422

    [(owner, kind)] = await service.rows("SELECT organization_id, kind FROM api_key")
    assert (owner, kind) == (acme.json()["id"], "team")
    assert text not in (await root.open(KEYS)).text
    assert await recorded(service, "api_key.created") == 1


@pytest.mark.threat("C3")
async def test_keys_of_a_user_of_higher_rank_are_not_shown_or_changed(service: Service, user: str) -> None:
    other = await add(service, "boss@example.com", role="admin")
    boss = await stored_user(service, "boss@example.com")
    with other_profile(service):
        token = (await sign_in(service, "boss@example.com", PASSWORD)).json()["token"]
        service.client.cookies.clear()
        answer = await service.post(
            "/api-key/create", {"name": "theirs"}, headers={"Authorization": f"Bearer {token}"}
        )
        assert answer.status_code == 200, answer.text
    browser = await administrator(service, "support")
    key = await path_of(service, "theirs")

    assert names(await browser.open(KEYS)) == []
    assert "You cannot see this of a user who has powers" in (await browser.open(other)).text
    assert "You cannot change this user" in (await browser.open(f"{NEW}?owner={boss.id}")).text
    for act in ("", "/edit", "/disable", "/delete"):
        assert (await browser.open(f"{key}{act}")).status == 403
    for path in (NEW, f"{key}/edit", f"{key}/disable", f"{key}/enable", f"{key}/delete"):
        answer = await send(service, path, account=ROOT, owner=boss.id, name="x")
        assert (path, answer.status_code in (403, 422)) == (path, True)
    [row] = await service.rows("SELECT name, enabled FROM api_key")
    assert (row.name, bool(row.enabled)) == ("theirs", True)


@pytest.mark.threat("C11")
async def test_the_page_of_a_user_has_their_newest_keys(root: Browser, service: Service, user: str) -> None:
    for number in range(22):
        await create(root, f"key{number:02}")

    page = await root.open(user)

    assert len(names(page)) == 20
    assert f"{KEYS}?owner={user.rpartition('/')[2]}" in page.targets
