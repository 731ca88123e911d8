"""What the operator has switched off is refused to everybody alike, and before anything else is looked at."""

from typing import Any

import pytest

from models import OneTimeToken
from tests.conftest import MakeService
from tests.handlers.steps import ADA, EVE, UNKNOWN, count, join, refusal

NOT_FOUND = (404, "NOT_FOUND", "Not found")
NO_SIGN_UP = (400, "EMAIL_PASSWORD_SIGN_UP_DISABLED", "Email and password sign up is not enabled")
NO_PASSWORDS = (400, "EMAIL_PASSWORD_DISABLED", "Email and password is not enabled")
NO_VERIFICATION = (400, "VERIFICATION_EMAIL_NOT_ENABLED", "Verification email isn't enabled")
NO_RESET = (400, "RESET_PASSWORD_DISABLED", "Reset password isn't enabled")

NEWCOMER = {"name": "Bob", "email": "bob@example.com", "username": "x", "password": "x"}
NAMED = {"username": "ada_l", "password": "x"}

Request = tuple[str, dict[str, Any] | None]
"""A path with the body of a POST, or None for a GET."""

SWITCHES: list[tuple[dict[str, str], list[Request], tuple[int, str, str]]] = [
    ({"sign_up.enabled": "false"}, [("/sign-up/email", NEWCOMER)], NO_SIGN_UP),
    ({"email_password.enabled": "false"}, [("/sign-up/email", NEWCOMER)], NO_SIGN_UP),
    (
        {"email_password.enabled": "false"},
        [
            ("/sign-in/email", {"email": ADA, "password": "x"}),
            ("/sign-in/email", {"email": "no address", "password": "x"}),
            ("/sign-in/username", NAMED),
        ],
        NO_PASSWORDS,
    ),
    (
        {"username.enabled": "false"},
        [("/sign-in/username", NAMED), ("/is-username-available", {"username": "ada_l"})],
        NOT_FOUND,
    ),
    (
        {"delete_user.enabled": "false"},
        [("/delete-user", {"password": "x"}), (f"/delete-user/callback?token={UNKNOWN}", None)],
        NOT_FOUND,
    ),
    ({"enable_session_listing": "false"}, [("/list-sessions", None)], NOT_FOUND),
    (
        {"enable_session_revocation": "false"},
        [("/revoke-session", {"token": UNKNOWN}), ("/revoke-sessions", {}), ("/revoke-other-sessions", {})],
        NOT_FOUND,
    ),
    (
        {"email_verification.enabled": "false"},
        [("/send-verification-email", {"email": email}) for email in (ADA, EVE)],
        NO_VERIFICATION,
    ),
    (
        {"mail.sender": "none"},
        [("/send-verification-email", {"email": email}) for email in (ADA, EVE)],
        NO_VERIFICATION,
    ),
    (
        {"password_reset.sender": "none"},
        [
            (path, {"email": email})
            for path in ("/request-password-reset", "/forget-password")
            for email in (ADA, EVE)
        ],
        NO_RESET,
    ),
]


@pytest.mark.parametrize(("settings", "requests", "expected"), SWITCHES, ids=str)
async def test_is_refused_to_everybody(
    make_service: MakeService,
    settings: dict[str, str],
    requests: list[Request],
    expected: tuple[int, str, str],
) -> None:
    service = await make_service(settings)
    callers = [{}] if expected in (NO_SIGN_UP, NO_PASSWORDS) else [{}, await join(service)]
    mails, tokens = await service.inbox(), await count(service, OneTimeToken)

    answers = [
        await (
            service.get(path, headers=caller) if body is None else service.post(path, body, headers=caller)
        )
        for caller in callers
        for path, body in requests
    ]

    assert [refusal(answer) for answer in answers] == [expected] * len(callers) * len(requests)
    assert (await service.inbox(), await count(service, OneTimeToken)) == (mails, tokens)
