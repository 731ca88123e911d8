"""What the operator has switched off is refused to everybody alike, and before anything else is looked at."""

from typing import Any

import httpx
import pytest

from models import OneTimeToken
from tests.conftest import Headers, MakeService
from tests.handlers.steps import ADA, EVE, UNKNOWN, count, join, refusal
from tests.service import Service

NOT_FOUND = (404, "NOT_FOUND", "Not found")
NO_SIGN_UP = (400, "EMAIL_PASSWORD_SIGN_UP_DISABLED", "Email and password sign up is not enabled")
NO_PASSWORDS = (400, "EMAIL_PASSWORD_DISABLED", "Email and password is not enabled")
NO_VERIFICATION = (400, "VERIFICATION_EMAIL_NOT_ENABLED", "Verification email isn't enabled")
NO_RESET = (400, "RESET_PASSWORD_DISABLED", "Reset password isn't enabled")

NEWCOMER = {"name": "Bob", "email": "bob@example.com", "username": "x", "password": "x"}
NAMED = {"username": "ada_l", "password": "x"}

Request = tuple[str, dict[str, Any] | None]
"""A path with the body of a POST, or None for a GET."""
Refusal = tuple[int, str, str]

SIGN_UP: list[Request] = [("/sign-up/email", NEWCOMER)]
SIGN_IN: list[Request] = [
    ("/sign-in/email", {"email": ADA, "password": "x"}),
    ("/sign-in/email", {"email": "no address", "password": "x"}),
    ("/sign-in/username", NAMED),
]
USERNAMES: list[Request] = [("/sign-in/username", NAMED), ("/is-username-available", {"username": "ada_l"})]
DELETION: list[Request] = [
    ("/delete-user", {"password": "x"}),
    (f"/delete-user/callback?token={UNKNOWN}", None),
]
LISTING: list[Request] = [("/list-sessions", None)]
REVOCATION: list[Request] = [
    ("/revoke-session", {"token": UNKNOWN}),
    ("/revoke-sessions", {}),
    ("/revoke-other-sessions", {}),
]
VERIFICATION: list[Request] = [("/send-verification-email", {"email": email}) for email in (ADA, EVE)]
RESET: list[Request] = [
    (path, {"email": email})
    for path in ("/request-password-reset", "/forget-password")
    for email in (ADA, EVE)
]

SWITCHES: list[tuple[dict[str, str], list[tuple[list[Request], Refusal]]]] = [
    ({"sign_up.enabled": "false"}, [(SIGN_UP, NO_SIGN_UP)]),
    ({"email_password.enabled": "false"}, [(SIGN_UP, NO_SIGN_UP), (SIGN_IN, NO_PASSWORDS)]),
    (
        {
            "username.enabled": "false",
            "enable_session_listing": "false",
            "email_verification.enabled": "false",
        },
        [(USERNAMES, NOT_FOUND), (LISTING, NOT_FOUND), (VERIFICATION, NO_VERIFICATION)],
    ),
    (
        {
            "delete_user.enabled": "false",
            "enable_session_revocation": "false",
            "password_reset.sender": "none",
        },
        [(DELETION, NOT_FOUND), (REVOCATION, NOT_FOUND), (RESET, NO_RESET)],
    ),
    ({"mail.sender": "none"}, [(VERIFICATION, NO_VERIFICATION)]),
]


@pytest.mark.parametrize(("settings", "refused"), SWITCHES)
async def test_is_refused_to_everybody(
    make_service: MakeService, settings: dict[str, str], refused: list[tuple[list[Request], Refusal]]
) -> None:
    service = await make_service(settings)
    callers = [{}] if (SIGN_UP, NO_SIGN_UP) in refused else [{}, await join(service)]
    mails, tokens = await service.inbox(), await count(service, OneTimeToken)

    told = [
        (path, refusal(await ask(service, path, body, caller)), expected)
        for requests, expected in refused
        for path, body in requests
        for caller in callers
    ]

    assert [one for one in told if one[1] != one[2]] == []
    assert (await service.inbox(), await count(service, OneTimeToken)) == (mails, tokens)


async def ask(service: Service, path: str, body: dict[str, Any] | None, caller: Headers) -> httpx.Response:
    """GET without a body, POST with one."""
    if body is None:
        return await service.get(path, headers=caller)
    return await service.post(path, body, headers=caller)
