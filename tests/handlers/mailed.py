"""Steps with mailed links and codes."""

from typing import Any

import httpx

from tests.conftest import Headers
from tests.handlers.steps import (
    ADA,
    code,
    token_in,
)
from tests.service import Service

BY_MAIL = {
    "limits.sign_in_mail_burst": "100",
    "limits.sign_in_mail_daily": "100",
}
GRACE = "grace@example.com"
TEMPLATES = {
    "sign-in": "sign-in-code",
    "email-verification": "verify-email-code",
    "forget-password": "reset-password-code",
}
PAGE = {"Sec-Fetch-Mode": "navigate"}


async def link_to(service: Service, email: str = ADA, **more: Any) -> str:
    """Request a link; return its token."""
    answer = await service.post("/sign-in/magic-link", {"email": email, **more})
    assert (answer.status_code, answer.json()) == (200, {"status": True}), answer.text
    return token_in((await service.inbox(email, "magic-link"))[-1]["link"])


async def open_link(
    service: Service, token: str, headers: Headers | None = None, **urls: str
) -> httpx.Response:
    return await service.get("/magic-link/verify", params={"token": token, **urls}, headers=headers)


async def code_for(service: Service, email: str = ADA, kind: str = "sign-in") -> str:
    """Request a code; return the mailed digits."""
    answer = await service.post("/email-otp/send-verification-otp", {"email": email, "type": kind})
    assert (answer.status_code, answer.json()) == (200, {"success": True}), answer.text
    digits: str = (await service.inbox(email, TEMPLATES[kind]))[-1]["code"]
    return digits


def wrong(digits: str) -> str:
    return f"{(int(digits) + 1) % 1_000_000:06}"


async def use_code(service: Service, otp: Any, email: str = ADA, **more: Any) -> httpx.Response:
    return await service.post("/sign-in/email-otp", {"email": email, "otp": otp, **more})


async def checked(service: Service, otp: str, email: str = ADA, kind: str = "sign-in") -> str:
    return code(
        await service.post("/email-otp/check-verification-otp", {"email": email, "type": kind, "otp": otp})
    )


async def events(service: Service) -> list[str]:
    await service.services.audit_writer.flush()
    return [row.event for row in await service.rows("SELECT event FROM audit ORDER BY time, id")]
