"""One gate opens sessions: whatever can create one refuses a two-factor user without a code."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from codegen.walk import Operation
from tests.authenticator import UP, Authenticator
from tests.conftest import Headers, MakeService
from tests.contract.reading import JSON_OPERATIONS, bodies, responses
from tests.handlers import passkey_steps, steps
from tests.handlers.steps import ADA, bearer
from tests.handlers.test_inputs import protected
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, begin, deliver, go_through, sign_in_directly, visit
from tests.security.second_factor import (
    PENDING,
    SESSION,
    Owner,
    challenge,
    cookie,
    enrol,
    enter,
    is_pending,
    mailed_code,
    session_count,
    set_cookies,
    strings,
)
from tests.service import PASSWORD, Service

Attempt = Callable[[Service, ProviderProcess], Awaitable[httpx.Response]]

CREATORS = {
    operation_id
    for operation_id, operation in JSON_OPERATIONS.items()
    if "set-auth-token" in {name.lower() for name in responses(operation).get(200, {}).get("headers", {})}
}
"""The operations that hand out a new session: the contract says so by the header `set-auth-token`."""

DEVICE = Authenticator(flags=UP)
"""Ada's authenticator, which does not verify who uses it."""

REDIRECTING = {"social.receive_callback", "social.relay_callback"}
"""The ways back from a provider, which hand a session over in a cookie of a redirect."""


async def bring_id_token(service: Service, provider: ProviderProcess) -> httpx.Response:
    """Sign in by an ID token of the provider that vouches for her address."""
    answer = await sign_in_directly(service, provider.mint())
    assert is_pending(answer), answer.text
    return answer


async def come_back(service: Service, provider: ProviderProcess) -> httpx.Response:
    """Return from that provider."""
    return waiting(await go_through(service, await begin(service)))


async def relay_back(service: Service, provider: ProviderProcess) -> httpx.Response:
    """The same by a form."""
    flow = await begin(service)
    sent = httpx.URL(await visit(flow)).params
    relayed = await service.client.post("/callback/test", data=dict(sent), headers=flow.headers)
    assert relayed.status_code == 303
    assert "set-cookie" not in relayed.headers
    return waiting(await deliver(service, steps.local(relayed.headers["location"]), flow))


def waiting(answer: httpx.Response) -> httpx.Response:
    """Return the answer of a callback that came as far as the code."""
    assert httpx.URL(answer.headers["location"]).params["twoFactorRedirect"] == "true"
    return answer


async def follow_link(service: Service, method: str) -> httpx.Response:
    """Sign in by a mailed link, as the official client and as the page that confirms do."""
    await service.post("/sign-in/magic-link", {"email": ADA})
    token = steps.token_in(await steps.last_link(service, "magic-link"))
    if method == "GET":
        answer = await service.get("/magic-link/verify", params={"token": token})
    else:
        answer = await service.post("/magic-link/verify", {"token": token})
    assert is_pending(answer), answer.text
    return answer


async def use_passkey(service: Service, provider: ProviderProcess) -> httpx.Response:
    """Sign in with a passkey that has not verified its user."""
    answer = await passkey_steps.use(service, DEVICE)
    assert is_pending(answer), answer.text
    return answer


async def enter_code(service: Service, provider: ProviderProcess) -> httpx.Response:
    """Sign in by a mailed code."""
    await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
    otp = (await service.inbox(ADA, "sign-in-code"))[-1]["code"]
    answer = await service.post("/sign-in/email-otp", {"email": ADA, "otp": otp})
    assert is_pending(answer), answer.text
    return answer


ATTEMPTS: dict[str, Attempt] = {
    "social.sign_in": bring_id_token,
    "magic_links.verify": lambda service, provider: follow_link(service, "GET"),
    "magic_links.confirm": lambda service, provider: follow_link(service, "POST"),
    "email_codes.sign_in": enter_code,
    "passkeys.sign_in": use_passkey,
    "social.receive_callback": come_back,
    "social.relay_callback": relay_back,
}
"""Ways in without the password."""

WITH_A_PENDING_TOKEN = {
    "authentication.sign_up_email": "422 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL",
    "authentication.sign_in_email": "200",
    "authentication.sign_in_username": "200",
    "admin.impersonate_user": "401 UNAUTHORIZED",
    "admin.stop_impersonating": "401 UNAUTHORIZED",
    "passwords.change": "401 UNAUTHORIZED",
    "two_factor.verify_totp": "401 INVALID_CODE",
    "two_factor.verify_otp": "401 INVALID_CODE",
    "two_factor.verify_backup_code": "401 INVALID_BACKUP_CODE",
}
"""How far the other creators of sessions come with a pending token and no code: to a refusal, or to the gate again."""


@pytest.fixture
async def service(
    make_service: MakeService, provider: ProviderProcess, other_provider: ProviderProcess
) -> Service:
    """A service with providers, one of which vouches for Ada's address."""
    as_user(provider, ADA, "1001")
    settings = {
        **social_settings(provider, other_provider),
        "passkey.user_verification": "preferred",
        "limits.enabled": "false",
    }
    return await make_service(settings)


@pytest.fixture
async def ada(service: Service) -> Owner:
    """A two-factor user who has signed out, so that no session exists."""
    owner = await enrol(service, username="ada_l")
    await passkey_steps.add(service, owner.session, DEVICE)
    await service.post("/sign-out", headers=owner.session)
    assert await session_count(service) == 0
    return owner


def test_every_operation_that_creates_sessions_is_tried_below() -> None:
    assert {*ATTEMPTS, *WITH_A_PENDING_TOKEN} == CREATORS | REDIRECTING
    assert len(CREATORS) >= 7


@pytest.mark.parametrize("operation_id", sorted(ATTEMPTS))
async def test_a_two_factor_user_gets_no_session_without_a_code(
    service: Service, provider: ProviderProcess, ada: Owner, operation_id: str
) -> None:
    answer = await ATTEMPTS[operation_id](service, provider)

    assert await session_count(service) == 0
    assert not set_cookies(answer).get(SESSION)
    assert "set-auth-token" not in answer.headers
    for text in strings(answer.json()) if answer.content else []:
        assert not await steps.works(service, bearer(text))


@pytest.mark.threat("V39", "V49")
async def test_no_operation_turns_a_pending_token_into_a_session(service: Service, ada: Owner) -> None:
    """Every operation of the contract with a pending token, the right password and everything but a code."""
    wanting_a_session = {name for name in protected() if not name.startswith("two_factor.verify")}
    wanting_a_session.remove("two_factor.send_otp")
    told = {}
    for name, operation in JSON_OPERATIONS.items():
        pending = await challenge(service)
        if name == "two_factor.verify_otp":
            await mailed_code(service, bearer(pending))
        for headers in (
            cookie(PENDING, pending),
            cookie(SESSION, pending),
            bearer(pending.removeprefix("2fa_")),
            bearer(pending),
        ):
            answer = await ask(service, operation, headers)

            assert await session_count(service) == 0, name
            assert not set_cookies(answer).get(SESSION), name
            assert "set-auth-token" not in answer.headers, name
            assert answer.status_code == 401 or name not in wanting_a_session, name
        told[name] = answer
    assert {name: steps.code(told[name]) for name in WITH_A_PENDING_TOKEN} == WITH_A_PENDING_TOKEN
    opened = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))
    assert steps.code(opened) == "200"


async def ask(service: Service, operation: Operation, headers: Headers) -> httpx.Response:
    """Ask for an operation with a body that fits, in Ada's name."""
    known = {
        "email": ADA,
        "username": "other" if operation.path == "/sign-up/email" else "ada_l",
        "password": PASSWORD,
        "currentPassword": PASSWORD,
        "code": "no code",
        "provider": "test",
        "providerId": "test",
    }
    options: dict[str, Any] = {
        "data" if "form" in media_type else "json": {**content.get("example", {}), **known}
        for media_type, content in bodies(operation).items()
    }
    path = operation.path.replace("{provider}", "test")
    return await service.client.request(operation.method.upper(), path, headers=headers, **options)
