"""The operations of openapi/paths/sso_sign_in.yaml with an OpenID provider."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.conftest import Headers, MakeService
from tests.handlers import organization_steps, sso_steps
from tests.handlers.people import Person, add_person
from tests.handlers.sso_steps import ADA
from tests.handlers.steps import bearer, code, execute, join, verify
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.security import second_factor
from tests.service import Service
from tests.trail import forget, only, trail

SESSION = "/get-session"


@pytest.fixture
async def acme(service: Service, provider: ProviderProcess) -> str:
    """A connection of the whole service to the test provider, where Ada is signed in."""
    steps.as_user(provider, ADA, "acme-1")
    return await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)


async def owner_of(service: Service) -> tuple[Person, str]:
    """Return the owner of an organization, and its id."""
    owner = await add_person(service, email="owner@else.example")
    return owner, (await organization_steps.create(service, owner))["id"]


async def events(service: Service, name: str) -> list[Any]:
    """Return the audit records of an event."""
    await service.services.audit_writer.flush()
    statement = "SELECT outcome, code, user_id, details FROM audit WHERE event = :name ORDER BY time"
    return await service.rows(statement, name=name)


async def members(service: Service) -> list[tuple[str, str]]:
    """Return the addresses of members with their roles."""
    statement = 'SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id ORDER BY u.email'
    return [tuple(row) for row in await service.rows(statement)]


class TestSignIn:
    @pytest.mark.operation("sso.sign_in", "sso.receive_callback")
    async def test_a_new_user_is_created_and_signed_in(self, service: Service, acme: str) -> None:
        headers = await sso_steps.enter(service)

        user = (await service.get(SESSION, headers=headers)).json()["user"]
        assert (user["email"], user["emailVerified"], user["name"]) == (ADA, True, "Ada")
        assert await steps.identities(service) == [(f"sso:{acme}", "acme-1")]
        [session] = await service.rows("SELECT method, amr FROM session")
        assert tuple(session) == ("sso:acme", "fed")
        assert len(await events(service, "sso.signed_in")) == 1

    async def test_the_same_identity_is_the_same_user(
        self, service: Service, acme: str, provider: ProviderProcess
    ) -> None:
        first = await sso_steps.enter(service)
        steps.as_user(provider, "countess@acme.example", "acme-1")
        second = await sso_steps.enter(service)

        users = [
            (await service.get(SESSION, headers=each)).json()["user"]["email"] for each in (first, second)
        ]
        assert users == [ADA, ADA]
        assert len(await service.rows("SELECT id FROM account")) == 1

    @pytest.mark.parametrize(
        "named", [{"providerId": "acme"}, {"domain": "ACME.example"}, {"email": "eve@Acme.example"}]
    )
    async def test_a_connection_has_several_names(
        self, service: Service, acme: str, named: dict[str, str]
    ) -> None:
        answer = await sso_steps.ask(service, **named)

        assert answer.status_code == 200
        assert answer.json()["redirect"] is True

    async def test_the_slug_of_an_organization_names_its_connection(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        _, organization_id = await owner_of(service)
        await sso_steps.connect(
            service, sso_steps.oidc(provider), provider.issuer, organization_id=organization_id
        )

        assert (await sso_steps.ask(service, organizationSlug="ACME")).status_code == 200

    @pytest.mark.parametrize(
        "named",
        [
            {"providerId": "other"},
            {"domain": "sub.acme.example"},
            {"organizationSlug": "acme"},
            {"providerId": "acme", "providerType": "saml"},
        ],
    )
    async def test_others_are_not_found(self, service: Service, acme: str, named: dict[str, str]) -> None:
        answer = await sso_steps.ask(service, **named)

        assert code(answer) == "404 SSO_PROVIDER_NOT_FOUND"

    @pytest.mark.threat("SSO9")
    async def test_a_domain_that_is_only_claimed_leads_to_no_connection(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        domains = ["other.example", "acme.example"]
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer, domains=domains)
        await execute(service, "UPDATE sso_domain SET verified_at = NULL WHERE domain = 'acme.example'")

        assert (await sso_steps.ask(service, domain="other.example")).status_code == 200
        assert code(await sso_steps.ask(service, domain="acme.example")) == "404 SSO_PROVIDER_NOT_FOUND"

    @pytest.mark.parametrize("assignment", ["state = 'paused'", "state = 'draft'"])
    async def test_a_connection_that_is_not_active_is_not_found(
        self, service: Service, acme: str, assignment: str
    ) -> None:
        await execute(service, f"UPDATE sso_connection SET {assignment}")

        assert code(await sso_steps.ask(service)) == "404 SSO_PROVIDER_NOT_FOUND"

    async def test_nothing_names_a_connection(self, service: Service, acme: str) -> None:
        answer = await service.post("/sign-in/sso", {"callbackURL": "/welcome"})

        assert answer.status_code == 400
        assert [field["name"] for field in answer.json()["fields"]][:2] == ["providerId", "organizationSlug"]

    async def test_a_provider_that_is_away_is_unavailable(
        self, service: Service, acme: str, provider: ProviderProcess
    ) -> None:
        await execute(service, "UPDATE sso_connection SET issuer = 'http://127.0.0.1:9'")

        assert code(await sso_steps.ask(service)) == "503 PROVIDER_UNAVAILABLE"

    async def test_endpoints_of_the_configuration_replace_discovered_ones(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        steps.as_user(provider, ADA, "acme-1")
        endpoints = {
            "authorization_endpoint": f"{provider.issuer}/authorize",
            "token_endpoint": f"{provider.issuer}/token",
            "jwks_uri": f"{provider.issuer}/jwks",
        }
        await sso_steps.connect(service, sso_steps.oidc(provider, **endpoints), provider.issuer)
        provider.control(misbehave={"discovery": {"status": 500}})

        assert await sso_steps.enter(service)

    async def test_a_state_works_once_and_in_the_browser_that_began(
        self, service: Service, acme: str
    ) -> None:
        flow = await sso_steps.begin(service)
        back = await sso_steps.visit(flow)
        elsewhere = await service.get(back)
        first = await steps.deliver(service, back, flow)
        again = await steps.deliver(service, back, flow)

        assert [steps.error_of(each) for each in (elsewhere, first, again)] == [
            "state_mismatch",
            None,
            "state_mismatch",
        ]

    async def test_the_callback_of_another_connection_refuses_the_flow(
        self, service: Service, acme: str, provider: ProviderProcess
    ) -> None:
        await sso_steps.connect(
            service, sso_steps.oidc(provider), provider.issuer, "other", domains=["other.example"]
        )
        flow = await sso_steps.begin(service)
        back = (await sso_steps.visit(flow)).replace("/callback/acme", "/callback/other")

        assert steps.error_of(await steps.deliver(service, back, flow)) == "state_mismatch"

    async def test_the_callback_of_social_sign_in_refuses_the_flow(self, service: Service, acme: str) -> None:
        flow = await sso_steps.begin(service)
        back = (await sso_steps.visit(flow)).replace("/sso/callback/acme", f"/callback/sso:{acme}")

        assert steps.error_of(await steps.deliver(service, back, flow)) == "oauth_provider_not_found"

    async def test_a_connection_that_was_paused_meanwhile_signs_nobody_in(
        self, service: Service, acme: str
    ) -> None:
        flow = await sso_steps.begin(service)
        back = await sso_steps.visit(flow)
        await execute(service, "UPDATE sso_connection SET state = 'paused'")

        assert steps.error_of(await steps.deliver(service, back, flow)) == "oauth_provider_not_found"
        assert not await service.rows("SELECT id FROM session")

    @pytest.mark.operation("sso.relay_callback")
    async def test_a_form_is_relayed_with_what_it_may_carry(self, service: Service, acme: str) -> None:
        answer = await service.client.post(
            "/sso/callback/acme", data={"code": "a b", "state": "c", "extra": "d"}
        )

        assert answer.status_code == 303
        assert answer.headers["location"].endswith("/sso/callback/acme?code=a%20b&state=c")

    async def test_it_is_off_until_it_is_switched_on(self, make_service: MakeService) -> None:
        service = await make_service({"scim.enabled": "false", "sso.enabled": "false"})

        assert (await sso_steps.ask(service)).status_code == 404


class TestWhoItIs:
    @pytest.mark.threat("SSO8")
    @pytest.mark.parametrize(
        "email",
        [
            "ada@else.example",
            "ada@sub.acme.example",
            "ada@acme.example.else.example",
            "ada@notacme.example",
            ["ada@acme.example", "eve@acme.example"],
        ],
    )
    async def test_addresses_outside_the_domains_are_refused(
        self, service: Service, acme: str, provider: ProviderProcess, email: Any
    ) -> None:
        provider.control(user={"email": email})

        answer = await sso_steps.sign_in(service)

        assert steps.error_of(answer) == "domain_not_allowed"
        assert not await service.rows('SELECT id FROM "user"')
        [refused] = await events(service, "sso.refused")
        assert refused.code == "domain_not_allowed"

    @pytest.mark.threat("SSO8")
    @pytest.mark.parametrize("email", ["ada@\u0430cme.example", "ada@acme.example\u0000", "", "ada"])
    async def test_what_is_no_address_is_refused(
        self, service: Service, acme: str, provider: ProviderProcess, email: str
    ) -> None:
        provider.control(user={"email": email})

        assert steps.error_of(await sso_steps.sign_in(service)) == "email_not_found"

    @pytest.mark.threat("SSO8")
    @pytest.mark.parametrize(
        "email", ["ADA+test@ACME.example", ["Ada+Test@acme.example", "ada+test@acme.example"]]
    )
    async def test_an_address_is_lower_cased(
        self, service: Service, acme: str, provider: ProviderProcess, email: Any
    ) -> None:
        provider.control(user={"email": email})

        await sso_steps.enter(service)

        assert [row.email for row in await service.rows('SELECT email FROM "user"')] == [
            "ada+test@acme.example"
        ]

    @pytest.mark.threat("SSO8")
    async def test_a_domain_that_is_not_verified_signs_nobody_in(self, service: Service, acme: str) -> None:
        flow = await sso_steps.begin(service)
        back = await sso_steps.visit(flow)
        await execute(service, "UPDATE sso_domain SET verified_at = NULL")

        assert steps.error_of(await steps.deliver(service, back, flow)) == "domain_not_allowed"

    async def test_a_user_of_the_address_is_linked_and_notified(self, service: Service, acme: str) -> None:
        await join(service, ADA)
        await verify(service, ADA)

        await sso_steps.enter(service)

        assert len(await service.rows('SELECT id FROM "user"')) == 1
        assert len(await service.inbox(ADA, "organization-linked")) == 1
        assert len(await events(service, "sso.identity_linked")) == 1
        assert (await second_factor.sign_in(service, ADA)).status_code == 200

    async def test_a_new_user_gets_no_notice(self, service: Service, acme: str) -> None:
        await sso_steps.enter(service)

        assert not await service.inbox(ADA, "organization-linked")

    @pytest.mark.threat("SSO8")
    async def test_an_unproven_user_loses_what_a_stranger_may_have_prepared(
        self, service: Service, acme: str
    ) -> None:
        prepared = await join(service, ADA)

        await sso_steps.enter(service)

        assert (await service.get(SESSION, headers=prepared)).status_code == 401
        assert code(await second_factor.sign_in(service, ADA)) == "401 INVALID_EMAIL_OR_PASSWORD"

    @pytest.mark.threat("SSO8")
    async def test_a_user_with_a_second_factor_passes_it_once(self, service: Service, acme: str) -> None:
        owner = await second_factor.enrol(service, ADA)

        first = await sso_steps.sign_in(service)
        again = await sso_steps.sign_in(service)

        assert not steps.opened(first)
        assert not steps.opened(again)
        assert await steps.identities(service) == []
        pending = bearer(second_factor.set_cookies(again)[second_factor.PENDING])
        service.clock.advance(seconds=30)
        entered = await second_factor.enter(service, "totp", owner.code(service), pending)
        assert entered.status_code == 200, entered.text
        assert await steps.identities(service) == [(f"sso:{acme}", "acme-1")]
        assert steps.opened(await sso_steps.sign_in(service))

    async def test_a_local_second_factor_is_asked_for_every_time(self, service: Service, acme: str) -> None:
        owner = await second_factor.enrol(service, ADA)
        await execute(service, "UPDATE sso_connection SET second_factor = 'local'")
        pending = bearer(second_factor.set_cookies(await sso_steps.sign_in(service))[second_factor.PENDING])
        service.clock.advance(seconds=30)
        await second_factor.enter(service, "totp", owner.code(service), pending)

        assert not steps.opened(await sso_steps.sign_in(service))

    @pytest.mark.threat("SSO10")
    @pytest.mark.parametrize(
        "meanwhile", ["UPDATE sso_connection SET state = 'paused'", "DELETE FROM sso_connection"]
    )
    async def test_what_ends_while_a_second_factor_is_awaited_stays_ended(
        self, service: Service, provider: ProviderProcess, meanwhile: str
    ) -> None:
        _, organization = await owner_of(service)
        steps.as_user(provider, ADA, "acme-1")
        await sso_steps.connect(
            service, sso_steps.oidc(provider), provider.issuer, organization_id=organization
        )
        owner = await second_factor.enrol(service, ADA)
        pending = bearer(second_factor.set_cookies(await sso_steps.sign_in(service))[second_factor.PENDING])
        service.clock.advance(seconds=30)
        await execute(service, meanwhile)

        entered = await second_factor.enter(service, "totp", owner.code(service), pending)

        assert code(entered) == "401 INVALID_TWO_FACTOR_COOKIE"
        active = "SELECT id FROM session WHERE active_organization_id IS NOT NULL AND method <> 'password'"
        assert await service.rows(active) == []

    async def test_a_connection_without_sign_up_creates_nobody(self, service: Service, acme: str) -> None:
        await execute(service, "UPDATE sso_connection SET sign_up = :no", no=False)

        refused = await sso_steps.sign_in(service)
        wanted = await sso_steps.sign_in(service, providerId="acme", requestSignUp=True)

        assert (steps.error_of(refused), steps.error_of(wanted)) == ("signup_disabled", None)

    async def test_a_banned_user_is_refused(self, service: Service, acme: str) -> None:
        await sso_steps.enter(service)
        await execute(service, 'UPDATE "user" SET banned = :yes', yes=True)

        assert steps.error_of(await sso_steps.sign_in(service)) == "BANNED_USER"

    async def test_names_of_claims_and_profile_follow_the_connection(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        config = sso_steps.oidc(provider, override_user_info=True)
        names = replace(config.names, email="upn", name="label")
        await sso_steps.connect(service, replace(config, names=names), provider.issuer)
        provider.control(user={"sub": "acme-1", "upn": ADA, "label": "Ada", "email": None})
        await sso_steps.enter(service)
        provider.control(user={"label": "Ada <b>King</b>"})
        headers = await sso_steps.enter(service)

        user = (await service.get(SESSION, headers=headers)).json()["user"]
        assert (user["email"], user["name"]) == (ADA, "Ada <b>King</b>")

    @pytest.mark.threat("SSO10")
    async def test_an_identity_in_flight_is_not_taken_over_by_another_issuer(
        self, service: Service, acme: str, provider: ProviderProcess
    ) -> None:
        flow = await sso_steps.begin(service)
        back = await sso_steps.visit(flow)
        coming = steps.deliver(service, back, flow)
        async with steps.held_back(provider, "token", coming) as answer:
            await execute(service, "UPDATE sso_connection SET issuer = 'https://else.example'")

        assert steps.error_of(await answer) == "provider_changed"
        assert not await service.rows("SELECT id FROM account")


class TestMembership:
    @pytest.fixture
    async def organization(self, service: Service, provider: ProviderProcess) -> str:
        """An organization with a connection whose groups give roles."""
        _, organization_id = await owner_of(service)
        groups = {"staff": "member", "leads": "admin", "chiefs": "owner", "odd": "no-such-role"}
        steps.as_user(provider, ADA, "acme-1", groups=["leads"])
        await sso_steps.connect(
            service,
            sso_steps.oidc(provider),
            provider.issuer,
            organization_id=organization_id,
            group_roles=json.dumps(groups),
        )
        return organization_id

    async def test_a_user_becomes_a_member_where_they_are_active(
        self, service: Service, organization: str
    ) -> None:
        headers = await sso_steps.enter(service)

        session = (await service.get(SESSION, headers=headers)).json()["session"]
        assert session["activeOrganizationId"] == organization
        assert await members(service) == [(ADA, "admin"), ("owner@else.example", "owner")]

    @pytest.mark.threat("SSO10")
    @pytest.mark.parametrize(
        ("groups", "role"),
        [
            (["staff", "leads"], "admin"),
            (["staff"], "member"),
            ([], "member"),
            ("leads", "admin"),
            (["chiefs"], "member"),
            (["odd", "staff"], "member"),
            ([{"name": "leads"}, 7], "member"),
        ],
    )
    async def test_roles_follow_the_groups_at_each_sign_in(
        self, service: Service, organization: str, provider: ProviderProcess, groups: Any, role: str
    ) -> None:
        await sso_steps.enter(service)
        provider.control(user={"groups": groups})
        await sso_steps.enter(service)

        assert (ADA, role) in await members(service)

    @pytest.mark.threat("SSO10")
    async def test_an_owner_stays_owner(self, service: Service, organization: str) -> None:
        await sso_steps.enter(service)
        await execute(service, "UPDATE member SET role = 'owner', is_owner = :yes", yes=True)

        await sso_steps.enter(service)

        assert (ADA, "owner") in await members(service)

    async def test_without_roles_by_groups_a_role_that_was_given_stays(
        self, service: Service, organization: str
    ) -> None:
        await sso_steps.enter(service)
        await execute(service, "UPDATE sso_connection SET group_roles = '{}', default_role = 'member'")

        await sso_steps.enter(service)

        assert (ADA, "admin") in await members(service)

    @pytest.mark.both_databases
    async def test_the_audit_trail_says_that_the_connection_acted(
        self, service: Service, organization: str, provider: ProviderProcess
    ) -> None:
        [connection] = await service.rows("SELECT id FROM sso_connection")
        await forget(service)
        await sso_steps.enter(service)
        provider.control(user={"groups": ["staff"]})
        await sso_steps.enter(service)

        for event in ("member.added", "member.role_changed"):
            record = await only(service, event)
            named = record.actor_id, record.details["by"], record.details["connectionId"]
            assert named == (None, "connection", connection.id), event
        created = await only(service, "user.created")
        assert (created.actor_id, "by" in created.details) == (created.user_id, False)
        assert "operator" not in {record.details.get("by") for record in await trail(service)}

    async def test_a_full_organization_takes_nobody(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({"organizations.membership_limit": "1"})
        _, organization_id = await owner_of(service)
        steps.as_user(provider, ADA, "acme-1")
        await sso_steps.connect(
            service, sso_steps.oidc(provider), provider.issuer, organization_id=organization_id
        )

        answer = await sso_steps.sign_in(service)

        assert steps.error_of(answer) == "membership_limit_reached"
        assert not await service.rows('SELECT id FROM "user" WHERE email = :email', email=ADA)


class TestSignOut:
    @pytest.mark.operation("sso.sign_out")
    async def test_it_ends_the_session_and_leads_to_the_provider(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        steps.as_user(provider, ADA, "acme-1")
        config = sso_steps.oidc(provider, end_session_endpoint=f"{provider.issuer}/logout")
        await sso_steps.connect(service, config, provider.issuer)
        headers = await sso_steps.enter(service)

        answer = await service.post("/sso/saml2/logout/acme", {"callbackURL": "/bye"}, headers=headers)

        url = httpx.URL(answer.json()["url"])
        assert str(url).startswith(f"{provider.issuer}/logout?")
        assert url.params["post_logout_redirect_uri"] == "http://localhost:8000/bye"
        assert (await service.get(SESSION, headers=headers)).status_code == 401

    async def test_without_a_logout_url_it_leads_back(self, service: Service, acme: str) -> None:
        headers = await sso_steps.enter(service)

        answer = await service.post("/sso/saml2/logout/acme", {"callbackURL": "/bye"}, headers=headers)

        assert answer.json() == {"success": True, "redirect": True, "url": "http://localhost:8000/bye"}

    async def test_a_session_of_another_kind_is_only_ended_here(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        config = sso_steps.oidc(provider, end_session_endpoint=f"{provider.issuer}/logout")
        await sso_steps.connect(service, config, provider.issuer)
        headers = await join(service, "bob@else.example")

        answer = await service.post("/sso/saml2/logout/acme", headers=headers)

        assert answer.json() == {"success": True, "redirect": False, "url": None}
        assert (await service.get(SESSION, headers=headers)).status_code == 401


class TestBackchannelLogout:
    """Sessions that an OpenID provider ends by a logout token."""

    EVENT = "http://schemas.openid.net/event/backchannel-logout"

    @pytest.fixture
    async def session(self, service: Service, acme: str, provider: ProviderProcess) -> Headers:
        """A session of Ada that the provider calls `s1`."""
        provider.control(id_token={"sid": "s1"})
        headers = await sso_steps.enter(service)
        provider.control(id_token={"sid": None})
        return headers

    def token(self, provider: ProviderProcess, *, typ: str | None = "logout+jwt", **claims: Any) -> str:
        """Return a logout token that is valid but for these claims."""
        usual: dict[str, Any] = {
            "events": {self.EVENT: {}},
            "jti": "t1",
            "sid": "s1",
            "sub": "acme-1",
            "nonce": None,
        }
        return provider.mint(claims={**usual, **claims}, header={"typ": typ})

    async def send(self, service: Service, token: str, to: str = "acme") -> httpx.Response:
        """Send a logout token as a provider does."""
        return await service.client.post(f"/sso/backchannel-logout/{to}", data={"logout_token": token})

    @pytest.mark.operation("sso.backchannel_logout")
    @pytest.mark.parametrize("named", [{"sub": None}, {"sid": None}, {}])
    async def test_it_ends_the_sessions_that_the_token_names(
        self, service: Service, session: Headers, provider: ProviderProcess, named: dict[str, Any]
    ) -> None:
        answer = await self.send(service, self.token(provider, **named))

        assert answer.json() == {"success": True}
        assert (await service.get(SESSION, headers=session)).status_code == 401
        assert [row.details for row in await events(service, "session.revoked")] != []

    @pytest.mark.threat("SSO15")
    @pytest.mark.parametrize(
        "claims",
        [
            {"events": None},
            {"events": {}},
            {"nonce": "n"},
            {"aud": "another"},
            {"iss": "https://else.example"},
            {"sid": None, "sub": None},
            {"jti": None},
            {"iat": 0},
            {"typ": "at+jwt"},
        ],
    )
    async def test_any_other_token_ends_nothing(
        self, service: Service, session: Headers, provider: ProviderProcess, claims: dict[str, Any]
    ) -> None:
        answer = await self.send(service, self.token(provider, **claims))

        assert code(answer) == "400 INVALID_LOGOUT_TOKEN"
        assert (await service.get(SESSION, headers=session)).status_code == 200

    @pytest.mark.threat("SSO15")
    async def test_a_logout_token_is_no_id_token_and_works_once(
        self, service: Service, session: Headers, provider: ProviderProcess
    ) -> None:
        token = self.token(provider)
        await self.send(service, token)
        again = await sso_steps.enter(service)

        assert code(await self.send(service, token)) == "400 INVALID_LOGOUT_TOKEN"
        assert (await service.get(SESSION, headers=again)).status_code == 200

    @pytest.mark.threat("SSO15")
    @pytest.mark.parametrize("named", [{"sid": "s2"}, {"sub": "acme-2"}, {"sub": "acme-2", "sid": None}])
    async def test_other_sessions_stay(
        self, service: Service, session: Headers, provider: ProviderProcess, named: dict[str, Any]
    ) -> None:
        answer = await self.send(service, self.token(provider, **named))

        assert answer.status_code == 200
        assert (await service.get(SESSION, headers=session)).status_code == 200

    @pytest.mark.threat("SSO15")
    async def test_a_connection_ends_only_its_own_sessions(
        self, service: Service, session: Headers, provider: ProviderProcess
    ) -> None:
        await sso_steps.connect(
            service, sso_steps.oidc(provider), provider.issuer, "other", domains=["other.example"]
        )

        await self.send(service, self.token(provider), to="other")

        assert (await service.get(SESSION, headers=session)).status_code == 200
        assert (
            code(await self.send(service, self.token(provider), to="unknown")) == "400 INVALID_LOGOUT_TOKEN"
        )

    @pytest.mark.threat("SSO15")
    async def test_a_session_after_a_change_of_the_password_is_ended_too(
        self, service: Service, acme: str, provider: ProviderProcess
    ) -> None:
        await join(service, ADA)
        await verify(service, ADA)
        headers = await sso_steps.enter(service)
        body = {
            "currentPassword": "correct horse battery",
            "newPassword": "another horse battery",
            "revokeOtherSessions": True,
        }
        changed = await service.post("/change-password", body, headers=headers)
        newer = bearer(changed.json()["token"])
        assert (await service.get(SESSION, headers=newer)).status_code == 200

        await self.send(service, self.token(provider, sid=None))

        assert (await service.get(SESSION, headers=newer)).status_code == 401
