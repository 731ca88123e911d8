"""Sign-ins through connections of users who moved, wait for a second factor, or share an address with a stranger."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from domain.context import Context
from domain.organizations import members
from domain.sso.configuration import AttributeNames, encrypt_config
from domain.sso_connections import operator
from domain.sso_connections.operator import Prepared
from domain.sso_connections.providers import Provider
from tests.conftest import Headers, MakeService
from tests.handlers import organization_steps, sso_saml_steps, sso_steps
from tests.handlers.organization_steps import add, add_verified, create
from tests.handlers.people import Person
from tests.handlers.steps import (
    bearer,
    change_address,
    code,
    execute,
    join,
    reset_token,
    verify,
)
from tests.handlers.test_user_disowning import BY_MAIL, disown, exists, not_me_token
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_codes import OFFLINE, error, first_tokens, refresh
from tests.scim import add_directory
from tests.security import second_factor
from tests.server.saml import provider as idp
from tests.service import PASSWORD, Service

ADA, HOME = "ada@acme.example", "ada@home.example"
ENDED = "401 INVALID_TWO_FACTOR_COOKIE"
ADMINS = '{"Admins": "admin"}'


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(BY_MAIL)


async def company(service: Service, name: str) -> tuple[Person, str]:
    """Create an organization; return its owner and its id."""
    owner = await add(service, f"boss-{name}")
    return owner, str((await create(service, owner, name))["id"])


async def connect(service: Service, provider: ProviderProcess, *args: Any, **more: Any) -> str:
    """Store a connection to the test provider, where Ada is signed in; return its id."""
    steps.as_user(provider, ADA, "acme-1", email_verified=True, groups=["Admins"])
    return await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer, *args, **more)


async def change_provider(service: Service, issuer: str | None = None, **config: Any) -> None:
    """Change the issuer or parts of the configuration of the connection `acme`, as its managers do."""

    async def change(ctx: Context) -> None:
        row = await operator.lock(ctx, await operator.find(ctx, "acme"))
        old = operator.provider_of(ctx, row)
        assert old is not None
        new = Provider(issuer or old.issuer, replace(old.config, **config))
        await operator.change(ctx, row, Prepared({}, new, None, None))

    await service.services.unit_of_work.run(change)


async def remove(service: Service) -> None:
    """Delete the connection `acme`, as its managers do."""

    async def delete(ctx: Context) -> None:
        await operator.remove(ctx, await operator.find(ctx, "acme"))

    await service.services.unit_of_work.run(delete)


async def roles(service: Service, organization: str) -> dict[str, str]:
    """Return the roles of the members of an organization by their addresses."""
    statement = (
        'SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id WHERE m.organization_id = :id'
    )
    return {row.email: row.role for row in await service.rows(statement, id=organization)}


async def who(service: Service, answer: httpx.Response) -> str:
    """Return the address of the user who was signed in."""
    session = steps.session_of(answer)
    return str((await service.get("/get-session", headers=session)).json()["user"]["email"])


@pytest.mark.threat("SSO8")
class TestMoved:
    """Users whose address is another one than when their identity was linked."""

    async def test_a_company_does_not_open_the_account_of_a_user_who_left(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        _, acme = await company(service, "acme")
        await connect(service, provider, organization_id=acme)
        session = await sso_steps.enter(service)
        await service.post("/organization/leave", {"organizationId": acme}, headers=session)
        await change_address(service, session, ADA, HOME)

        answer = await sso_steps.sign_in(service)

        assert steps.error_of(answer) == "domain_not_allowed"
        assert HOME not in await roles(service, acme)

    async def test_a_member_keeps_their_identity_with_a_private_address(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        _, acme = await company(service, "acme")
        await connect(service, provider, organization_id=acme)
        await change_address(service, await sso_steps.enter(service), ADA, HOME)

        assert await who(service, await sso_steps.sign_in(service)) == HOME

    async def test_a_member_whose_address_is_in_the_domain_of_another_company_is_refused(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        (_, acme), (_, other) = await company(service, "acme"), await company(service, "other")
        await connect(service, provider, organization_id=acme)
        await change_address(service, await sso_steps.enter(service), ADA, "ada@other.example")
        await connect(service, provider, "other", organization_id=other, domains=["other.example"])

        answer = await sso_steps.sign_in(service, providerId="acme")

        assert steps.error_of(answer) == "domain_not_allowed"

    async def test_a_connection_of_the_service_opens_only_users_of_its_domains(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        await connect(service, provider)
        await change_address(service, await sso_steps.enter(service), ADA, HOME)

        assert steps.error_of(await sso_steps.sign_in(service)) == "domain_not_allowed"

    async def test_a_former_connection_opens_no_users_of_a_domain_that_it_lost(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        (_, acme), (_, other) = await company(service, "acme"), await company(service, "other")
        await connect(service, provider, organization_id=acme, domains=("acme.example", "second.example"))
        await sso_steps.enter(service)
        await execute(service, "UPDATE sso_domain SET verified_at = NULL WHERE domain = 'acme.example'")
        await connect(service, provider, "other", organization_id=other, required=True)
        steps.as_user(provider, "anything@second.example", "acme-1", email_verified=True)

        answer = await sso_steps.sign_in(service, providerId="acme")

        assert steps.error_of(answer) == "domain_not_allowed"

    @pytest.mark.threat("SSO11")
    @pytest.mark.parametrize(("required", "error"), [(False, None), (True, "SSO_REQUIRED")])
    async def test_a_domain_of_another_connection_of_the_organization_may_require_it(
        self, service: Service, provider: ProviderProcess, required: bool, error: str | None
    ) -> None:
        _, acme = await company(service, "acme")
        await connect(service, provider, organization_id=acme)
        await change_address(service, await sso_steps.enter(service), ADA, "ada@second.example")
        domains = ["second.example"]
        await connect(service, provider, "second", organization_id=acme, domains=domains, required=required)

        answer = await sso_steps.sign_in(service, providerId="acme")

        assert steps.error_of(answer) == error


def pending(answer: httpx.Response) -> Headers:
    """Return the headers of a sign-in that waits for its second factor."""
    assert not steps.opened(answer)
    return bearer(second_factor.set_cookies(answer)[second_factor.PENDING])


async def stored(service: Service) -> tuple[bool, str, int, int]:
    """Return whether the address of Ada is verified, her name, and the numbers of identities and memberships."""
    [user] = await service.rows('SELECT id, email_verified, name FROM "user" WHERE email = :email', email=ADA)
    identities = await service.rows("SELECT id FROM account WHERE provider_id <> 'credential'")
    memberships = await service.rows("SELECT id FROM member WHERE user_id = :id", id=user.id)
    return bool(user.email_verified), user.name, len(identities), len(memberships)


@pytest.mark.threat("SSO8")
class TestSecondFactor:
    """Users who have a second factor, which another person may have set up under their address."""

    @pytest.fixture
    async def acme(self, service: Service, provider: ProviderProcess) -> str:
        """The organization of a connection that gives roles and names."""
        _, acme = await company(service, "acme")
        config = sso_steps.oidc(provider, override_user_info=True)
        steps.as_user(provider, ADA, "acme-1", name="Countess", groups=["Admins"])
        await sso_steps.connect(service, config, provider.issuer, organization_id=acme, group_roles=ADMINS)
        return acme

    async def test_the_account_of_a_stranger_gets_nothing(self, service: Service, acme: str) -> None:
        stranger = await second_factor.enrol_again(service, ADA, await join(service, ADA))
        not_me = await not_me_token(service, email=ADA)
        before = await stored(service)
        service.clock.advance(minutes=5)

        pending(await sso_steps.sign_in(service))

        assert await stored(service) == before == (False, "Ada", 0, 0)
        own = bearer((await second_factor.sign_in(service, ADA)).json()["token"])
        assert (await second_factor.enter(service, "totp", stranger.code(service), own)).status_code == 200
        assert await stored(service) == before
        assert await disown(service, not_me) == "200"
        assert not await exists(service)
        assert steps.opened(await sso_steps.sign_in(service))
        assert await stored(service) == (True, "Countess", 1, 1)

    async def test_a_verified_user_gets_everything_with_the_code(self, service: Service, acme: str) -> None:
        owner = await second_factor.enrol(service, ADA)
        service.clock.advance(minutes=1)
        waiting = pending(await sso_steps.sign_in(service))
        before = await stored(service)

        entered = await second_factor.enter(service, "totp", owner.code(service), waiting)

        assert before == (True, "Ada", 0, 0)
        assert entered.json()["user"]["name"] == "Countess"
        assert await stored(service) == (True, "Countess", 1, 1)
        assert (await roles(service, acme))[ADA] == "admin"
        session = (await service.get("/get-session", headers=bearer(entered.json()["token"]))).json()[
            "session"
        ]
        assert session["activeOrganizationId"] == acme

    async def test_roles_of_a_member_follow_with_the_code(
        self, service: Service, acme: str, provider: ProviderProcess
    ) -> None:
        provider.control(user={"groups": []})
        await sso_steps.enter(service)
        token = await reset_token(service, ADA)
        await service.post("/reset-password", {"token": token, "newPassword": PASSWORD})
        session = bearer((await second_factor.sign_in(service, ADA)).json()["token"])
        owner = await second_factor.enrol_again(service, ADA, session)
        await execute(service, "UPDATE sso_connection SET second_factor = 'local'")
        provider.control(user={"groups": ["Admins"]})
        service.clock.advance(minutes=1)

        waiting = pending(await sso_steps.sign_in(service))
        before = (await roles(service, acme))[ADA]
        await second_factor.enter(service, "totp", owner.code(service), waiting)

        assert (before, (await roles(service, acme))[ADA]) == ("member", "admin")

    async def test_an_address_is_verified_with_the_code(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({"email_verification.required": "true"})
        await connect(service, provider)
        await join(service, ADA)
        await verify(service, ADA)
        session = bearer((await second_factor.sign_in(service, ADA)).json()["token"])
        owner = await second_factor.enrol_again(service, ADA, session)
        await execute(service, 'UPDATE "user" SET email_verified = :no', no=False)
        service.clock.advance(minutes=1)

        waiting = pending(await sso_steps.sign_in(service))
        entered = await second_factor.enter(service, "totp", owner.code(service), waiting)

        assert entered.json()["user"]["emailVerified"] is True
        assert await stored(service) == (True, "Ada", 1, 0)

    async def test_a_full_organization_refuses_before_and_after_the_code(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({"organizations.membership_limit": "2"})
        owner = await second_factor.enrol(service, ADA)
        boss, acme = await company(service, "acme")
        await connect(service, provider, organization_id=acme)
        service.clock.advance(minutes=1)
        waiting = pending(await sso_steps.sign_in(service))
        await organization_steps.join(service, boss, await add_verified(service, "bob@acme.example"))

        refused = await sso_steps.sign_in(service)
        entered = await second_factor.enter(service, "totp", owner.code(service), waiting)

        assert steps.error_of(refused) == "membership_limit_reached"
        assert code(entered) == "401 INVALID_TWO_FACTOR_COOKIE"
        assert await stored(service) == (True, "Ada", 0, 0)


async def log_out(service: Service, provider: ProviderProcess, **claims: Any) -> None:
    """Send a logout token of the provider."""
    known: dict[str, Any] = {
        "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
        "nonce": None,
        "sid": None,
    }
    token = provider.mint(claims={**known, "jti": "t1", **claims}, header={"typ": "logout+jwt"})
    answer = await service.client.post("/sso/backchannel-logout/acme", data={"logout_token": token})
    assert answer.status_code == 200


class TestPending:
    """Sign-ins that wait for the second factor of their user, who enters the right code."""

    @pytest.fixture
    async def owner(self, service: Service, provider: ProviderProcess) -> second_factor.Owner:
        """Ada, who has a second factor, and a session at the provider that it calls `s1`."""
        owner = await second_factor.enrol(service, ADA)
        service.clock.advance(minutes=1)
        await connect(service, provider)
        provider.control(id_token={"sid": "s1"})
        return owner

    async def enter(self, service: Service, owner: second_factor.Owner, waiting: Headers) -> str:
        """Enter the right code; return `200`, or the error, after which nothing was changed."""
        entered = await second_factor.enter(service, "totp", owner.code(service), waiting)
        assert entered.is_success == bool(await service.rows("SELECT issuer FROM account WHERE issuer <> ''"))
        return code(entered)

    @pytest.mark.threat("SSO10")
    @pytest.mark.parametrize("change", [{"issuer": "https://evil.example"}, {"client_id": "evil"}])
    async def test_ends_with_the_provider(
        self, service: Service, owner: second_factor.Owner, change: dict[str, str]
    ) -> None:
        waiting = pending(await sso_steps.sign_in(service))

        await change_provider(service, **change)

        assert await self.enter(service, owner, waiting) == ENDED

    @pytest.mark.threat("SSO10")
    async def test_ends_when_its_roles_change(self, service: Service, owner: second_factor.Owner) -> None:
        waiting = pending(await sso_steps.sign_in(service))

        await execute(service, "UPDATE sso_connection SET group_roles = :roles", roles=ADMINS)

        assert await self.enter(service, owner, waiting) == ENDED

    @pytest.mark.threat("SSO8")
    async def test_ends_with_the_domain(self, service: Service, owner: second_factor.Owner) -> None:
        waiting = pending(await sso_steps.sign_in(service))

        await execute(service, "UPDATE sso_domain SET verified_at = NULL")

        assert await self.enter(service, owner, waiting) == ENDED

    @pytest.mark.threat("SSO8")
    async def test_of_a_member_ends_with_the_domain(
        self, service: Service, owner: second_factor.Owner
    ) -> None:
        _, acme = await company(service, "acme")
        await execute(service, "UPDATE sso_connection SET organization_id = :acme", acme=acme)
        [row] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=ADA)
        await service.services.unit_of_work.run(
            lambda ctx: members.add_directly(ctx, acme, row.id, ["member"])
        )
        waiting = pending(await sso_steps.sign_in(service))

        await execute(service, "UPDATE sso_domain SET verified_at = NULL")

        assert await self.enter(service, owner, waiting) == ENDED

    @pytest.mark.threat("SSO8")
    @pytest.mark.parametrize("new", [HOME, "eve@acme.example"])
    async def test_ends_with_the_address(
        self, service: Service, owner: second_factor.Owner, new: str
    ) -> None:
        waiting = pending(await sso_steps.sign_in(service))

        await execute(service, 'UPDATE "user" SET email = :new', new=new)

        assert await self.enter(service, owner, waiting) == ENDED

    @pytest.mark.threat("SSO15")
    @pytest.mark.parametrize(
        ("named", "expected"),
        [
            ({"sub": "acme-1"}, ENDED),
            ({"sub": None, "sid": "s1"}, ENDED),
            ({"sub": "acme-1", "sid": "s1"}, ENDED),
            ({"sub": "acme-2"}, "200"),
            ({"sub": "acme-2", "sid": "s1"}, "200"),
            ({"sub": "acme-1", "sid": "s2"}, "200"),
        ],
    )
    async def test_ends_with_a_logout_that_names_it(
        self,
        service: Service,
        owner: second_factor.Owner,
        provider: ProviderProcess,
        named: dict[str, str | None],
        expected: str,
    ) -> None:
        waiting = pending(await sso_steps.sign_in(service))

        await log_out(service, provider, **named)

        assert await self.enter(service, owner, waiting) == expected

    @pytest.mark.threat("SSO15")
    async def test_a_new_one_after_a_logout_is_completed(
        self, service: Service, owner: second_factor.Owner, provider: ProviderProcess
    ) -> None:
        for number in range(2):
            await log_out(service, provider, sub="acme-1", jti=f"t{number}")
        service.clock.advance(seconds=1)

        waiting = pending(await sso_steps.sign_in(service))

        assert await self.enter(service, owner, waiting) == "200"

    async def test_two_of_the_same_user_are_completed(
        self, service: Service, owner: second_factor.Owner
    ) -> None:
        both = [pending(await sso_steps.sign_in(service)) for _ in range(2)]

        entered = []
        for waiting in both:
            entered.append(await self.enter(service, owner, waiting))
            service.clock.advance(minutes=1)

        assert entered == ["200", "200"]

    @pytest.mark.threat("SSO10")
    async def test_another_saml_provider_does_not_inherit_it(self, service: Service) -> None:
        owner = await second_factor.enrol(service, ADA)
        service.clock.now = idp.NOW
        await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
        waiting = pending(await sso_saml_steps.sign_in(service))

        await change_provider(service, entry_point="https://new.example/sso")
        refused = await self.enter(service, owner, waiting)
        flow = await sso_steps.begin(service)
        message = sso_saml_steps.answer_to(sso_saml_steps.request_in(flow), assertion="_2")
        posted = await sso_saml_steps.post(service, message, sso_saml_steps.state_of(flow))
        answer = await sso_saml_steps.go_on(service, posted, flow.headers)

        assert refused == ENDED
        assert not steps.opened(answer)


@pytest.mark.threat("SSO13")
async def test_a_user_whom_the_directory_disabled_enters_no_code(
    service: Service, provider: ProviderProcess
) -> None:
    owner = await second_factor.enrol(service, ADA)
    _, acme = await company(service, "acme")
    config = encrypt_config(service.services.cipher, sso_steps.oidc(provider))
    directory = await add_directory(service, acme, "acme.example", issuer=provider.issuer, config=config)
    user = await directory.create(ADA)
    steps.as_user(provider, ADA, "acme-1")
    service.clock.advance(minutes=1)
    waiting = pending(await sso_steps.sign_in(service))

    assert (await directory.set_active(user["id"], False)).status_code == 200
    entered = await second_factor.enter(service, "totp", owner.code(service), waiting)

    assert code(entered) == ENDED
    assert ADA not in await roles(service, acme)


@pytest.mark.threat("SSO10")
async def test_another_subject_claim_inherits_no_identities(
    service: Service, provider: ProviderProcess
) -> None:
    await connect(service, provider)
    session = await sso_steps.enter(service)
    await change_provider(service, names=AttributeNames(id="nickname"))
    steps.as_user(provider, "eve@acme.example", "acme-2", email_verified=True, nickname="acme-1")

    answer = await sso_steps.sign_in(service)

    assert await who(service, answer) == "eve@acme.example"
    assert (await service.get("/get-session", headers=session)).status_code == 401


@pytest.mark.threat("SSO10")
async def test_other_names_of_attributes_keep_the_identities(
    service: Service, provider: ProviderProcess
) -> None:
    await connect(service, provider)
    session = await sso_steps.enter(service)

    await change_provider(service, names=AttributeNames(name="nickname"))

    assert (await service.get("/get-session", headers=session)).status_code == 200


NEW_PASSWORD = "another horse battery"


async def change_password(service: Service, session: Headers, **more: Any) -> httpx.Response:
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, **more}
    return await service.post("/change-password", body, headers=session)


@pytest.mark.threat("SSO11")
async def test_a_change_of_the_password_opens_no_session(service: Service, provider: ProviderProcess) -> None:
    session, other = (
        await join(service, ADA),
        bearer((await second_factor.sign_in(service, ADA)).json()["token"]),
    )
    await verify(service, ADA)
    await connect(service, provider, required=True)

    refused = await change_password(service, session, revokeOtherSessions=True)

    assert code(refused) == "403 SSO_REQUIRED"
    assert refused.json()["providerId"] == "acme"
    assert (await service.get("/get-session", headers=other)).status_code == 200
    # Nothing was changed, so that the old password is still the current one.
    assert (await change_password(service, session)).status_code == 200


@pytest.mark.threat("SSO11")
async def test_a_session_of_the_connection_is_replaced(service: Service, provider: ProviderProcess) -> None:
    await join(service, ADA)
    await verify(service, ADA)
    await connect(service, provider, required=True)

    changed = await change_password(service, await sso_steps.enter(service), revokeOtherSessions=True)

    assert changed.status_code == 200


class TestApplications:
    """What users have granted applications in sessions of a connection, after these sessions."""

    async def connected(self, service: Service) -> tuple[OAuthTestClient, str]:
        """Sign Ada in, connect an application that gets a refresh token, and sign out; return both."""
        client = await add_client(service, **OFFLINE)
        session = await sso_steps.enter(service)
        issued = await first_tokens(service, client, session)
        assert (await service.post("/sign-out", headers=session)).status_code == 200
        return client, str(issued["refresh_token"])

    @pytest.mark.threat("SSO10", "O16")
    @pytest.mark.parametrize("change", ["deleted", "another issuer", "another subject"])
    async def test_end_with_the_identities(
        self, service: Service, provider: ProviderProcess, change: str
    ) -> None:
        await connect(service, provider)
        client, token = await self.connected(service)
        other = await first_tokens(service, client, await join(service, "eve@example.com"))

        match change:
            case "deleted":
                await remove(service)
            case "another issuer":
                await change_provider(service, "https://login.example.com")
            case _:
                await change_provider(service, names=AttributeNames(id="nickname"))

        assert error(await refresh(service, client, token)) == "400 invalid_grant"
        assert error(await refresh(service, client, str(other["refresh_token"]))) == "200"

    @pytest.mark.threat("SSO10")
    async def test_stay_while_users_stay_who_they_are(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        await connect(service, provider)
        client, token = await self.connected(service)

        await change_provider(service, names=AttributeNames(name="nickname"))

        assert error(await refresh(service, client, token)) == "200"

    @pytest.mark.threat("SSO13", "O16")
    async def test_end_when_the_directory_disables_the_user(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        _, acme = await company(service, "acme")
        config = encrypt_config(service.services.cipher, sso_steps.oidc(provider))
        directory = await add_directory(service, acme, "acme.example", issuer=provider.issuer, config=config)
        users = [await directory.create(address) for address in (ADA, "bob@acme.example")]
        held = []
        for user, subject in zip(users, ("acme-1", "acme-2"), strict=True):
            steps.as_user(provider, user["userName"], subject)
            held.append(await self.connected(service))

        assert (await directory.set_active(users[0]["id"], False)).status_code == 200

        answers = [await refresh(service, client, token) for client, token in held]
        assert [error(answer) for answer in answers] == ["400 invalid_grant", "200"]
