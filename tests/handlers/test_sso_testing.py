"""The operations of openapi/paths/sso_testing.yaml: test sign-ins through connections."""

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.conftest import MakeService
from tests.handlers import organization_steps, sso_saml_steps, sso_steps
from tests.handlers.people import Person, add_person
from tests.handlers.sso_saml_steps import answer_to, attributes, config, go_on, post, request_in, state_of
from tests.handlers.steps import code, execute, sign_in
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.server.saml.provider import ISSUER, NOW
from tests.service import Service
from tests.trail import of_event

BACK = steps.WELCOME
GROUPS = '{"ops": "admin", "all": "member"}'
UNTOUCHED = ("account", "session", "sso_session", "member", '"user"', "outbox")
"""Tables that a test leaves as they are."""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service at the time of the provider's responses."""
    service = await make_service({"limits.enabled": "false"})
    service.clock.now = NOW
    return service


@pytest.fixture
async def owner(service: Service) -> Person:
    return await organization_steps.add_verified(service, "owner@example.com")


@pytest.fixture
async def acme(service: Service, owner: Person) -> str:
    """The id of the organization of the owner."""
    return str((await organization_steps.create(service, owner))["id"])


@dataclass
class Tried:
    """A test, from its beginning to the redirect at its end."""

    service: Service
    by: Person
    flow: steps.Flow
    end: httpx.Response

    @property
    def result(self) -> str | None:
        found: str | None = httpx.URL(self.end.headers["location"]).params.get("result")
        return found

    @property
    def error(self) -> str | None:
        return sso_saml_steps.error_of(self.end)

    async def read(self, by: Person | None = None, **more: str) -> httpx.Response:
        body = {"providerId": "acme", "result": self.result, **more}
        return await self.service.post("/sso/test-result", body, headers=(by or self.by).headers)

    async def shown(self) -> Any:
        answer = await self.read()
        assert answer.status_code == 200, answer.text
        return answer.json()


async def ask(service: Service, by: Person, **body: str) -> httpx.Response:
    """Ask for a test."""
    sent = {"providerId": "acme", "callbackURL": BACK, **body}
    return await service.post("/sso/test-provider", sent, headers=by.headers)


async def try_saml(service: Service, by: Person, **changes: str) -> Tried:
    """Test a connection by SAML; `changes` are those of the response."""
    flow = steps.begun(await ask(service, by))
    posted = await post(service, answer_to(request_in(flow), 0, **changes), state_of(flow))
    end = await go_on(service, posted, flow.headers) if "continue" in posted.headers["location"] else posted
    return Tried(service, by, flow, end)


async def connect(service: Service, organization_id: str | None, **columns: Any) -> str:
    """Store a draft by SAML."""
    return await sso_steps.connect(
        service, config(), ISSUER, organization_id=organization_id, **{"state": "draft", **columns}
    )


async def contents(service: Service) -> dict[str, Any]:
    """Return what is in the tables that a test leaves as they are."""
    return {name: await service.rows(f"SELECT * FROM {name} ORDER BY 1") for name in UNTOUCHED}


@pytest.mark.operation("sso.begin_test", "sso.take_test_result")
class TestSaml:
    async def test_a_draft_shows_what_came_and_what_would_happen(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme, group_roles=GROUPS)

        tried = await try_saml(
            service, owner, attributes=attributes("Ada@Acme.Example", displayName="Ada", groups="ops")
        )

        assert await tried.shown() == {
            "outcome": "create",
            "code": None,
            "subject": "ada-4711",
            "email": "ada@acme.example",
            "name": "Ada",
            "groups": ["ops"],
            "attributes": [
                {"name": "email", "values": ["Ada@Acme.Example"]},
                {"name": "displayName", "values": ["Ada"]},
                {"name": "groups", "values": ["ops"]},
            ],
            "roles": ["admin"],
            "roleSource": "group",
            "group": "ops",
        }
        assert len(await of_event(service, "sso.connection_tested")) == 1

    @pytest.mark.threat("SSO17")
    @pytest.mark.both_databases
    async def test_nothing_is_changed(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme, state="active")
        before = await contents(service)

        tried = await try_saml(service, owner)

        assert (await tried.shown())["outcome"] == "create"
        assert await contents(service) == before
        assert not any("session" in value for value in tried.end.headers.get_list("set-cookie"))
        assert [len(await of_event(service, name)) for name in ("sso.signed_in", "sso.refused")] == [0, 0]

    async def test_a_user_with_the_address_would_be_linked(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme)
        await add_person(service, email=sso_saml_steps.ADA)

        shown = await (await try_saml(service, owner)).shown()

        assert (shown["outcome"], shown["roles"], shown["roleSource"]) == ("link", ["member"], "default")

    @pytest.mark.both_databases
    async def test_it_says_what_the_sign_in_then_does(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme, state="active", group_roles=GROUPS)
        changes = {"attributes": attributes(sso_saml_steps.ADA, groups="ops")}
        first = await (await try_saml(service, owner, **changes)).shown()
        await sso_saml_steps.sign_in(service, assertion="_assertion2", **changes)
        [member] = await service.rows("SELECT role FROM member WHERE NOT is_owner")
        assert (first["outcome"], [member.role]) == ("create", first["roles"])

        again = await (await try_saml(service, owner, assertion="_assertion3", **changes)).shown()

        assert (again["outcome"], again["roles"]) == ("sign_in", ["admin"])

    @pytest.mark.parametrize(
        ("columns", "changes", "expected"),
        [
            ({"sign_up": False}, {}, "signup_disabled"),
            ({}, {"attributes": attributes("ada@other.example")}, "domain_not_allowed"),
            ({}, {"attributes": attributes(sso_saml_steps.ADA, "eve@acme.example")}, "domain_not_allowed"),
            ({}, {"attributes": attributes("nobody")}, "email_not_found"),
        ],
    )
    async def test_why_the_sign_in_would_be_refused(
        self,
        service: Service,
        owner: Person,
        acme: str,
        columns: dict[str, Any],
        changes: dict[str, str],
        expected: str,
    ) -> None:
        await connect(service, acme, **columns)

        shown = await (await try_saml(service, owner, **changes)).shown()

        assert (shown["outcome"], shown["code"], shown["roles"]) == ("refused", expected, [])
        assert shown["attributes"]

    async def test_a_banned_user_would_be_refused(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        await add_person(service, email=sso_saml_steps.ADA)
        await execute(
            service, 'UPDATE "user" SET banned = true WHERE email = :email', email=sso_saml_steps.ADA
        )

        shown = await (await try_saml(service, owner)).shown()

        assert (shown["outcome"], shown["code"]) == ("refused", "BANNED_USER")

    @pytest.mark.threat("SSO17")
    async def test_nothing_is_said_about_users_of_a_domain_that_is_not_verified(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await sso_steps.connect(
            service, config(), ISSUER, organization_id=acme, state="draft", verified=False
        )
        await add_person(service, email=sso_saml_steps.ADA)

        shown = await (await try_saml(service, owner)).shown()

        assert (shown["outcome"], shown["code"]) == ("refused", "domain_not_allowed")

    async def test_a_response_that_is_refused_has_its_code(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme)

        tried = await try_saml(service, owner, audience="")

        assert (tried.result, tried.error) == (None, "saml_audience")
        assert await of_event(service, "sso.refused") == []


@pytest.mark.threat("SSO17")
class TestSecrecy:
    @pytest.mark.both_databases
    async def test_a_result_is_read_once(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        tried = await try_saml(service, owner)

        assert (await tried.read()).status_code == 200
        assert code(await tried.read()) == "404 SSO_TEST_NOT_FOUND"

    async def test_another_session_and_another_manager_read_nothing(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme)
        tried = await try_saml(service, owner)
        again = await sign_in(service, owner.email)
        service.client.cookies.clear()
        other = Person(owner.id, owner.email, again.json()["token"])
        admin = await add_person(service, "admin", "root@example.com")

        for by in (other, admin):
            assert code(await tried.read(by)) == "404 SSO_TEST_NOT_FOUND"
        assert (await tried.read()).status_code == 200

    async def test_a_result_is_that_of_its_connection(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme)
        await sso_steps.connect(
            service, config(), ISSUER, "other", organization_id=acme, domains=("other.example",)
        )
        tried = await try_saml(service, owner)

        assert code(await tried.read(providerId="other")) == "404 SSO_TEST_NOT_FOUND"

    async def test_a_result_expires(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        tried = await try_saml(service, owner)
        service.clock.advance(minutes=10)

        assert code(await tried.read()) == "404 SSO_TEST_NOT_FOUND"

    async def test_a_result_is_encrypted(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        await try_saml(service, owner)

        [row] = await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'sso-test'")

        assert b"acme.example" not in bytes(row.payload)

    async def test_another_browser_ends_no_test(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        flow = steps.begun(await ask(service, owner))
        posted = await post(service, answer_to(request_in(flow)), state_of(flow))

        end = await go_on(service, posted, {"Cookie": "other=browser"})

        assert sso_saml_steps.error_of(end) == "state_mismatch"
        assert await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'sso-test'") == []

    async def test_a_response_is_used_once(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        flow = steps.begun(await ask(service, owner))
        message = answer_to(request_in(flow))
        await go_on(service, await post(service, message, state_of(flow)), flow.headers)

        again = await post(service, message, state_of(flow))

        assert "continue" not in again.headers["location"]


@pytest.mark.threat("SSO17")
class TestDraft:
    async def test_signs_nobody_in(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)

        assert code(await sso_steps.ask(service, providerId="acme")) == "404 SSO_PROVIDER_NOT_FOUND"
        tried = await try_saml(service, owner)
        assert tried.result
        unsolicited = await post(service, answer_to(None), None)
        assert sso_saml_steps.error_of(unsolicited) == "oauth_provider_not_found"
        [user] = await service.rows('SELECT email FROM "user"')
        assert user.email == owner.email


@pytest.mark.threat("SSO17", "SSO10")
class TestPermission:
    async def test_only_managers_begin(self, service: Service, owner: Person, acme: str) -> None:
        await connect(service, acme)
        stranger = await organization_steps.add_verified(service, "eve@example.com")
        helper = await organization_steps.add_verified(service, "hal@example.com")
        await organization_steps.join(service, owner, helper, "admin")

        for by in (stranger, helper):
            assert code(await ask(service, by)) == "404 SSO_PROVIDER_NOT_FOUND"

    async def test_with_a_fresh_session_and_a_trusted_url(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await connect(service, acme)
        untrusted = await ask(service, owner, callbackURL="https://evil.example.com/")
        assert code(untrusted) == "403 INVALID_CALLBACK_URL"
        assert (await ask(service, owner, callbackURL="")).status_code == 200
        service.clock.advance(days=2)

        assert code(await ask(service, owner)) == "403 SESSION_NOT_FRESH"


@pytest.mark.threat("SSO17")
class TestOpenId:
    @pytest.fixture
    async def service(self, make_service: MakeService) -> Service:
        """A service at the time of the provider."""
        return await make_service({"limits.enabled": "false"})

    async def test_the_claims_are_shown(
        self, service: Service, owner: Person, acme: str, provider: ProviderProcess
    ) -> None:
        await sso_steps.connect(
            service, sso_steps.oidc(provider), provider.issuer, organization_id=acme, state="draft"
        )
        steps.as_user(provider, sso_steps.ADA, "acme-1")
        before = await contents(service)
        flow = steps.begun(await ask(service, owner))

        end = await steps.deliver(service, await sso_steps.visit(flow), flow)

        shown = await Tried(service, owner, flow, end).shown()
        assert (shown["outcome"], shown["email"]) == ("create", sso_steps.ADA)
        assert {"name": "email", "values": [sso_steps.ADA]} in shown["attributes"]
        assert await contents(service) == before
        again = await steps.deliver(service, await sso_steps.visit(flow), flow)
        assert steps.error_of(again) == "state_mismatch"
