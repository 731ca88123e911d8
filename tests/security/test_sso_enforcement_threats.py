"""Users of a domain that requires its connection get in by no other way."""

import asyncio
from functools import partial
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from tests.authenticator import Authenticator
from tests.conftest import Headers, MakeService
from tests.handlers import device_steps, organization_steps, passkey_steps, sso_steps
from tests.handlers.people import Person, add_person
from tests.handlers.sso_steps import ADA
from tests.handlers.steps import bearer, code, execute, join, last_link, reset_token, token_in, verify
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.security import second_factor
from tests.server.database.test_transactions import lock_waits
from tests.service import PASSWORD, Service
from tests.trail import of_event

REQUIRED = "403 SSO_REQUIRED"
BOB = "bob@acme.example"
REQUIRE = "UPDATE sso_domain SET required = :required"


@pytest.fixture
async def ada(service: Service, provider: ProviderProcess) -> Headers:
    """The session of a user whose domain requires its connection from now on."""
    session = await join(service, ADA)
    await verify(service, ADA)
    await require(service, provider)
    return session


async def require(service: Service, provider: ProviderProcess, **columns: Any) -> str:
    """Have the domain of Ada require a connection to the test provider."""
    steps.as_user(provider, ADA, "acme-1", email_verified=True)
    return await sso_steps.connect(
        service, sso_steps.oidc(provider), provider.issuer, required=True, **columns
    )


@pytest.mark.threat("SSO11")
@pytest.mark.parametrize("email", [ADA, BOB])
@pytest.mark.parametrize("password", [PASSWORD, "wrong horse battery"])
async def test_a_password_is_refused_alike_for_everybody(
    service: Service, ada: Headers, email: str, password: str
) -> None:
    answer = await service.post("/sign-in/email", {"email": email, "password": password})

    assert answer.status_code == 403
    assert answer.json() == {
        "message": "Sign in with your organization",
        "code": "SSO_REQUIRED",
        "url": "http://localhost:8000/sign-in/sso",
        "providerId": "acme",
    }


@pytest.mark.threat("SSO11")
async def test_a_username_says_nothing_without_its_password(
    service: Service, provider: ProviderProcess
) -> None:
    await join(service, ADA, username="ada")
    await require(service, provider)

    answers = [
        await service.post("/sign-in/username", {"username": name, "password": password})
        for name, password in (("ada", PASSWORD), ("ada", "wrong horse battery"), ("bob", PASSWORD))
    ]

    wrong = "401 INVALID_USERNAME_OR_PASSWORD"
    assert [code(answer) for answer in answers] == [REQUIRED, wrong, wrong]


@pytest.mark.threat("SSO11")
@pytest.mark.parametrize("email", [ADA, BOB])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sign-in/magic-link", {}),
        ("/email-otp/send-verification-otp", {"type": "sign-in"}),
        ("/sign-up/email", {"name": "Bob", "password": PASSWORD}),
    ],
)
async def test_links_codes_and_sign_up_are_refused_alike_for_everybody(
    service: Service, ada: Headers, email: str, path: str, body: dict[str, str]
) -> None:
    assert code(await service.post(path, {"email": email, **body})) == REQUIRED
    await service.services.worker.drain()
    assert not await service.inbox(BOB)
    assert len(await service.rows('SELECT id FROM "user"')) == 1


@pytest.mark.threat("SSO11")
async def test_a_link_that_was_sent_before_is_refused(service: Service, provider: ProviderProcess) -> None:
    await service.post("/sign-in/magic-link", {"email": ADA})
    link = await last_link(service, "magic-link", ADA)
    await require(service, provider)

    answer = await service.get("/magic-link/verify", params={"token": token_in(link)})

    assert code(answer) == REQUIRED
    assert not await service.rows('SELECT id FROM "user"')


@pytest.mark.threat("SSO11")
async def test_a_code_that_was_sent_before_is_refused(service: Service, provider: ProviderProcess) -> None:
    await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
    otp = (await service.inbox(ADA, "sign-in-code"))[-1]["code"]
    await require(service, provider)

    answer = await service.post("/sign-in/email-otp", {"email": ADA, "otp": otp})

    assert code(answer) == REQUIRED


@pytest.mark.threat("SSO11")
async def test_a_provider_of_the_settings_is_refused(
    make_service: MakeService, provider: ProviderProcess
) -> None:
    service = await make_service(social_settings(provider))
    await require(service, provider)

    known = await steps.sign_in(service)

    assert steps.error_of(known) == "SSO_REQUIRED"
    assert not await service.rows('SELECT id FROM "user"')


@pytest.mark.threat("SSO11")
async def test_a_second_factor_does_not_help(service: Service, provider: ProviderProcess) -> None:
    await second_factor.enrol(service, ADA)
    await require(service, provider)

    assert code(await second_factor.sign_in(service, ADA)) == REQUIRED


@pytest.mark.threat("SSO11")
@pytest.mark.both_databases
@pytest.mark.parametrize("method", second_factor.METHODS)
async def test_a_sign_in_that_waits_for_its_second_factor_is_not_completed(
    service: Service, provider: ProviderProcess, method: str
) -> None:
    owner = await second_factor.enrol(service, ADA)
    service.clock.advance(minutes=1)
    pending = bearer(await second_factor.challenge(service, ADA))
    given = await second_factor.right_code(service, owner, method, pending)
    await require(service, provider)

    answer = await second_factor.enter(service, method, given, pending)

    assert code(answer) == "401 INVALID_TWO_FACTOR_COOKIE"
    assert len(await service.rows("SELECT id FROM session")) == 1


@pytest.mark.threat("SSO11")
async def test_a_passkey_is_refused(service: Service, provider: ProviderProcess) -> None:
    session, device = await join(service, ADA), Authenticator()
    await verify(service, ADA)
    await passkey_steps.add(service, session, device)
    await require(service, provider)

    assert code(await passkey_steps.use(service, device)) == REQUIRED


@pytest.mark.threat("SSO11")
async def test_a_device_is_approved_only_by_a_session_of_the_connection(
    service: Service, ada: Headers
) -> None:
    through = await sso_steps.enter(service)
    television = await device_steps.add_television(service)
    polled = []
    for session in (ada, through):
        started = await device_steps.start(service, television)
        await device_steps.approve(service, started["user_code"], session)
        polled.append(await device_steps.poll(service, television, started["device_code"]))

    assert device_steps.error(polled[0]).endswith("access_denied")
    assert polled[1].status_code == 200


@pytest.mark.threat("SSO11")
@pytest.mark.parametrize("path", ["/request-password-reset", "/email-otp/request-password-reset"])
async def test_a_reset_answers_as_always_and_mails_the_way_in(
    service: Service, ada: Headers, path: str
) -> None:
    answers = [await service.post(path, {"email": email}) for email in (ADA, BOB)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [mail["template"] for mail in await service.inbox(ADA)][-1] == "organization-sign-in"
    assert not await service.inbox(BOB)


@pytest.mark.threat("SSO11")
async def test_a_reset_link_that_was_sent_before_opens_nothing(
    service: Service, provider: ProviderProcess
) -> None:
    await join(service, ADA)
    token = await reset_token(service, ADA)
    await require(service, provider)

    await service.post("/reset-password", {"token": token, "newPassword": "another horse battery"})

    answer = await service.post("/sign-in/email", {"email": ADA, "password": "another horse battery"})
    assert code(answer) == REQUIRED


@pytest.mark.threat("SSO11")
@pytest.mark.parametrize("path", ["/change-email", "/email-otp/request-email-change"])
async def test_no_address_leaves_or_enters_the_domain(service: Service, ada: Headers, path: str) -> None:
    carol = await join(service, "carol@else.example")
    await verify(service, "carol@else.example")

    out = await service.post(path, {"newEmail": "ada@else.example"}, headers=ada)
    into = await service.post(path, {"newEmail": "carol@acme.example"}, headers=carol)

    assert [code(out), code(into)] == [REQUIRED, REQUIRED]


@pytest.mark.threat("SSO11")
async def test_a_link_that_changes_the_address_is_refused_afterwards(
    service: Service, provider: ProviderProcess
) -> None:
    session = await join(service, ADA)
    await verify(service, ADA)
    await service.post("/change-email", {"newEmail": "ada@else.example"}, headers=session)
    link = await last_link(service, "change-email", "ada@else.example")
    await require(service, provider)

    answer = await service.get("/verify-email", params={"token": token_in(link)})

    assert code(answer) == REQUIRED
    assert [row.email for row in await service.rows('SELECT email FROM "user"')] == [ADA]


@pytest.mark.threat("SSO11")
async def test_a_session_from_before_is_not_renewed_by_the_password(service: Service, ada: Headers) -> None:
    answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD}, headers=ada)

    assert code(answer) == REQUIRED


@pytest.mark.threat("SSO11")
async def test_the_connection_itself_lets_in(service: Service, ada: Headers) -> None:
    assert await sso_steps.enter(service)


@pytest.mark.threat("SSO11")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sso_connection SET state = 'paused'",
        "UPDATE sso_domain SET verified_at = NULL",
        "UPDATE sso_domain SET domain = 'sub.acme.example'",
    ],
)
async def test_only_verified_domains_of_active_connections_are_required(
    service: Service, ada: Headers, statement: str
) -> None:
    await execute(service, statement)

    assert (await second_factor.sign_in(service, ADA)).status_code == 200


@pytest.mark.threat("SSO11")
async def test_without_single_sign_on_nothing_is_required(
    make_service: MakeService, provider: ProviderProcess
) -> None:
    service = await make_service({"scim.enabled": "false", "sso.enabled": "false"})
    await join(service, ADA)
    await require(service, provider)

    assert (await second_factor.sign_in(service, ADA)).status_code == 200


@pytest.mark.threat("SSO11")
class TestExempt:
    async def test_an_owner_with_a_second_factor(self, service: Service, provider: ProviderProcess) -> None:
        owner = await add_person(service, email=ADA)
        await verify(service, ADA)
        organization = await organization_steps.create(service, owner)
        await require(service, provider, organization_id=organization["id"])
        before = code(await second_factor.sign_in(service, ADA))

        enrolled = await second_factor.enrol_again(service, ADA, owner.headers)

        assert before == REQUIRED
        service.clock.advance(minutes=1)
        pending = bearer(await second_factor.challenge(service, ADA))
        given = await second_factor.right_code(service, enrolled, "totp", pending)
        assert code(await second_factor.enter(service, "totp", given, pending)) == "200"
        wrong = {"email": ADA, "password": "wrong horse battery"}
        assert code(await service.post("/sign-in/email", wrong)) == REQUIRED

    async def test_no_owner_of_another_organization(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        await organization_steps.create(service, await add_person(service, email="eve@else.example"), "else")
        owner = await add_person(service, email=ADA)
        await verify(service, ADA)
        await organization_steps.create(service, owner)
        [other] = await service.rows("SELECT id FROM organization WHERE slug = 'else'")
        await require(service, provider, organization_id=other.id)
        await second_factor.enrol_again(service, ADA, owner.headers)

        assert code(await second_factor.sign_in(service, ADA)) == REQUIRED

    async def test_an_administrator_of_the_service_with_a_second_factor(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        admin = await add_person(service, "admin", ADA)
        await verify(service, ADA)
        await require(service, provider)
        before = code(await second_factor.sign_in(service, ADA))

        await second_factor.enrol_again(service, ADA, admin.headers)

        assert before == REQUIRED
        assert second_factor.is_pending(await second_factor.sign_in(service, ADA))
        await service.post("/request-password-reset", {"email": ADA})
        assert [mail["template"] for mail in await service.inbox(ADA)][-1] == "reset-password"


async def status(service: Service, headers: Headers) -> int:
    """Return how a session is answered."""
    return (await service.get("/get-session", headers=headers)).status_code


@pytest.mark.threat("SSO11")
@pytest.mark.both_databases
class TestOtherSessions:
    """A domain becomes required, and sessions from other ways to sign in end."""

    @pytest.fixture
    async def admin(self, service: Service) -> Person:
        return await add_person(service, "admin", "root@else.example")

    @staticmethod
    async def require(service: Service, admin: Person, **more: Any) -> httpx.Response:
        body = {"providerId": "acme", "requiredDomains": ["acme.example"], **more}
        return await service.post("/sso/update-provider", body, headers=admin.headers)

    async def test_only_those_of_the_connection_stay(
        self, service: Service, provider: ProviderProcess, admin: Person
    ) -> None:
        ada, carol = await join(service, ADA), await join(service, "carol@else.example")
        twin = await join(service, "eve@not-acme.example")
        await verify(service, ADA)
        await require(service, provider)
        await execute(service, REQUIRE, required=False)
        through = await sso_steps.enter(service)

        kept = code(await self.require(service, admin))
        statuses = [await status(service, ada)]
        ended = code(await self.require(service, admin, revokeOtherSessions=True))

        assert (kept, ended) == ("200", "200")
        sessions = (ada, through, carol, twin, admin.headers)
        statuses += [await status(service, one) for one in sessions]
        assert statuses == [200, 401, 200, 200, 200, 200]
        [event] = await of_event(service, "sso.other_sessions_ended")
        assert event.details["sessions"] == 1

    async def test_who_is_exempt_and_who_asks_keep_theirs(
        self, service: Service, provider: ProviderProcess
    ) -> None:
        admin = await add_person(service, "admin", ADA)
        other = await add_person(service, "admin", BOB)
        await second_factor.enrol_again(service, BOB, other.headers)
        of_bob = "SELECT id FROM session WHERE user_id = :id ORDER BY id"
        before = await service.rows(of_bob, id=other.id)
        await require(service, provider)

        await self.require(service, admin, revokeOtherSessions=True)

        assert await status(service, admin.headers) == 200
        assert before
        assert await service.rows(of_bob, id=other.id) == before

    @pytest.mark.parametrize("more", [{"requiredDomains": []}, {"state": "paused"}])
    async def test_nobody_is_signed_out_who_may_sign_in_another_way(
        self, service: Service, provider: ProviderProcess, admin: Person, more: dict[str, Any]
    ) -> None:
        ada = await join(service, ADA)
        await require(service, provider)

        await self.require(service, admin, revokeOtherSessions=True, **more)

        assert await status(service, ada) == 200

    @pytest.mark.parametrize("dialect", ["postgresql"])
    @pytest.mark.parametrize("had_session", [True, False])
    @pytest.mark.parametrize("is_first", [True, False])
    async def test_a_sign_in_on_its_way_leaves_none(
        self, service: Service, provider: ProviderProcess, admin: Person, had_session: bool, is_first: bool
    ) -> None:
        await join(service, ADA)
        await verify(service, ADA)
        await require(service, provider)
        await execute(service, REQUIRE, required=False)
        others, named = "FROM session WHERE user_id <> :admin", {"admin": admin.id}
        if not had_session:
            await execute(service, f"DELETE {others}", **named)
        requests = [
            partial(second_factor.sign_in, service, ADA),
            partial(self.require, service, admin, revokeOtherSessions=True),
        ]

        async with service.services.database.begin() as holding:
            await holding.execute(text('SELECT 1 FROM "user" WHERE email = :email FOR UPDATE'), email=ADA)
            first = asyncio.create_task(requests[not is_first]())
            await _until_waiting(service, 1, unless=first)
            second = asyncio.create_task(requests[is_first]())
            await _until_waiting(service, 2, unless=second)
        answers = await asyncio.gather(first, second)

        assert {answer.status_code for answer in answers} <= {200, 403}
        assert await service.rows("SELECT id FROM sso_domain WHERE required")
        assert await service.rows(f"SELECT id {others}", **named) == []


async def _until_waiting(service: Service, number: int, *, unless: asyncio.Task[Any]) -> None:
    """Wait until so many requests wait for a lock, or a task is done."""
    async with asyncio.timeout(20):
        while await lock_waits(service.services.database) < number:
            if unless.done():
                return
