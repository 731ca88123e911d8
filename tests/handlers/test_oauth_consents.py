"""What users have allowed clients: the operations, and the page of the connected applications."""

from typing import Any

import pytest

from domain import tokens
from models.oauth_client import ClientSource
from models.oauth_code import OauthCode
from models.oauth_consent import OauthConsent
from tests import rows
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.pages import SETTINGS as PAGES
from tests.handlers.pages import Browser
from tests.handlers.steps import ADA, EVE, refusal
from tests.oauth import add_client
from tests.oauth_logout import add_grant, session_of
from tests.service import Service

LIST, READ = "/oauth2/get-consents", "/oauth2/get-consent"
NARROW, REVOKE = "/oauth2/update-consent", "/oauth2/delete-consent"
API = "https://api.shop.example"
SETTINGS = {
    **PAGES,
    "oauth.scopes": '{"orders": "Read your orders"}',
    "oauth.resources": f'{{"{API}": {{"name": "Shop API", "scopes": ["orders"]}}}}',
}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service with a scope and a resource of its own."""
    return await make_service(SETTINGS)


@pytest.fixture
async def ada(sign_up: SignIn) -> Headers:
    """The session of a user."""
    return await sign_up(ADA)


async def allow(
    service: Service,
    headers: Headers,
    *,
    scopes: str = "openid email orders",
    resources: str = "",
    **client: Any,
) -> OauthConsent:
    """Have a user allow a new client something, with a grant and a code."""
    session = await session_of(service, headers)
    entered = await add_client(service, **{"scope": "openid profile email orders", **client})
    now = service.clock.now
    consent = OauthConsent(
        id=tokens.token(),
        user_id=session["userId"],
        client_id=entered.client_id,
        scopes=scopes,
        resources=resources,
        created_at=now,
        updated_at=now,
    )
    code = OauthCode(
        code=tokens.random_bytes(32),
        client_id=entered.client_id,
        user_id=session["userId"],
        session_id=session["id"],
        redirect_uri="https://shop.example/callback",
        code_challenge="x" * 43,
        scopes=scopes,
        expires_at=now,
        created_at=now,
        updated_at=now,
    )
    await rows.add(service.services.database, consent, code)
    await add_grant(service, entered.client_id, session)
    return consent


async def granted(service: Service) -> set[str]:
    """Return the clients with a grant or a code."""
    statement = "SELECT client_id FROM oauth_grant UNION SELECT client_id FROM oauth_code"
    return {row.client_id for row in await service.rows(statement)}


@pytest.mark.operation("oauth_consents.list", "oauth_consents.read")
async def test_a_user_sees_what_they_have_allowed(service: Service, ada: Headers) -> None:
    first = await allow(service, ada, resources=API)
    service.clock.advance(seconds=1)
    second = await allow(service, ada, client_name="Mail", scopes="openid")

    listed = (await service.get(LIST, headers=ada)).json()

    assert [one["clientName"] for one in listed] == ["Shop", "Mail"]
    assert listed[0] == {
        "id": first.id,
        "clientId": first.client_id,
        "clientName": "Shop",
        "userId": first.user_id,
        "scopes": ["openid", "email", "orders"],
        "resources": [API],
        "createdAt": "2026-01-01T12:00:00.000Z",
        "updatedAt": "2026-01-01T12:00:00.000Z",
    }
    assert (await service.get(READ, params={"id": second.id}, headers=ada)).json() == listed[1]


@pytest.mark.threat("O16")
@pytest.mark.operation("oauth_consents.revoke")
@pytest.mark.both_databases
async def test_revoking_ends_everything_that_was_granted(service: Service, ada: Headers) -> None:
    consent, kept = await allow(service, ada), await allow(service, ada)

    answer = await service.post(REVOKE, {"id": consent.id}, headers=ada)

    assert answer.json() == {"success": True}
    assert [one["id"] for one in (await service.get(LIST, headers=ada)).json()] == [kept.id]
    assert await granted(service) == {kept.client_id}
    [event] = await service.rows("SELECT * FROM audit WHERE event = 'oauth.consent_revoked'")
    assert consent.client_id in str(event.details)


@pytest.mark.threat("O16")
@pytest.mark.operation("oauth_consents.narrow")
@pytest.mark.both_databases
async def test_narrowing_ends_everything_that_was_granted(service: Service, ada: Headers) -> None:
    consent = await allow(service, ada)
    service.clock.advance(minutes=1)

    answer = await service.post(
        NARROW, {"id": consent.id, "update": {"scopes": ["orders", "openid", "openid"]}}, headers=ada
    )

    assert (answer.json()["scopes"], answer.json()["updatedAt"]) == (
        ["openid", "orders"],
        "2026-01-01T12:01:00.000Z",
    )
    assert (await service.get(READ, params={"id": consent.id}, headers=ada)).json() == answer.json()
    assert await granted(service) == set()


@pytest.mark.threat("O5")
@pytest.mark.parametrize("scopes", [["openid", "profile"], ["admin"], ["openid email"]])
async def test_a_consent_never_grows(service: Service, ada: Headers, scopes: list[str]) -> None:
    consent = await allow(service, ada, scopes="openid email")

    answer = await service.post(NARROW, {"id": consent.id, "update": {"scopes": scopes}}, headers=ada)

    assert refusal(answer) == (400, "INVALID_SCOPE", "Invalid scope")
    assert await granted(service) == {consent.client_id}


@pytest.mark.threat("O5")
@pytest.mark.both_databases
async def test_a_consent_of_another_user_looks_unknown(
    service: Service, ada: Headers, sign_up: SignIn
) -> None:
    consent, eve = await allow(service, ada), await sign_up(EVE)

    for id_ in (consent.id, "x"):
        update = {"id": id_, "update": {"scopes": ["openid"]}}
        for answer in (
            await service.get(READ, params={"id": id_}, headers=eve),
            await service.post(NARROW, update, headers=eve),
            await service.post(REVOKE, {"id": id_}, headers=eve),
        ):
            assert refusal(answer) == (404, "CONSENT_NOT_FOUND", "Consent not found")
    assert (await service.get(LIST, headers=eve)).json() == []
    assert await granted(service) == {consent.client_id}


@pytest.mark.parametrize("path", [LIST, READ, NARROW, REVOKE])
async def test_without_a_session_there_are_none(service: Service, path: str) -> None:
    is_post = path in (NARROW, REVOKE)
    answer = await (service.post(path, {}) if is_post else service.get(path, params={"id": "x"}))

    assert answer.status_code == 401


async def test_they_are_off_with_the_provider(make_service: MakeService, sign_up: SignIn) -> None:
    service = await make_service({"oauth.enabled": "false"})
    ada = await sign_up(on=service)

    assert (await service.get(LIST, headers=ada)).status_code == 404


@pytest.mark.operation(
    "account_pages.show_applications",
    "account_pages.show_application_revocation",
    "account_pages.revoke_application",
)
class TestPage:
    @pytest.fixture
    async def browser(self, service: Service, ada: Headers) -> Browser:
        """A browser that is signed in."""
        service.client.cookies.set("service.session-token", ada["Authorization"].removeprefix("Bearer "))
        return Browser(service)

    async def test_it_shows_what_applications_may_do(
        self, service: Service, browser: Browser, ada: Headers
    ) -> None:
        await allow(service, ada, resources=API)
        await allow(service, ada, client_name="Guest", source=ClientSource.DYNAMIC, scopes="openid gone")

        page = await browser.open("/account/applications")

        for text in (
            "Shop",
            "Allowed since",
            "See your email address",
            "Read your orders",
            "Use Shop API",
        ):
            assert text in page.text
        assert "Guest not verified" in page.text
        assert "Connected applications" in page.links

    async def test_an_application_is_removed_after_a_question(
        self, service: Service, browser: Browser, ada: Headers
    ) -> None:
        consent = await allow(service, ada, client_name="<b>Shop</b>")
        page = await browser.open("/account/applications")
        page = await browser.open(page.links["Remove access"])
        assert "<b>Shop</b>" in page.text
        assert await granted(service) == {consent.client_id}

        page = await browser.submit("/account/applications/revoke")

        assert "no longer has access" in page.text
        assert "No application has access" in page.text
        assert await granted(service) == set()

    async def test_one_that_is_gone(self, service: Service, browser: Browser, ada: Headers) -> None:
        consent = await allow(service, ada)
        await browser.open(f"/account/applications/revoke?consent={consent.id}")
        await service.post(REVOKE, {"id": consent.id}, headers=ada)

        page = await browser.submit("/account/applications/revoke")

        assert "has no access to your account any more" in page.text
        page = await browser.open(f"/account/applications/revoke?consent={consent.id}")
        assert page.query["reason"] == "gone"

    async def test_it_speaks_the_language_of_the_user(
        self, service: Service, browser: Browser, ada: Headers
    ) -> None:
        await allow(service, ada)
        browser.languages = "de"

        page = await browser.open("/account/applications")

        assert "Verbundene Anwendungen" in page.text
        assert "Ihre E-Mail-Adresse sehen" in page.text
