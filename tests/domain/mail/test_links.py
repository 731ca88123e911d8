"""Where emails lead to."""

import pytest

from tests.conftest import MakeService
from tests.handlers.steps import last_link, token_in
from tests.service import BASE_URL, PASSWORD, Service

ADA, NEW = "ada@example.com", "countess@example.com"
BY_MAIL = {"delete_user.confirm_by_mail": "true", "change_email.immediate_if_unverified": "false"}


async def links(service: Service, target: str | None) -> dict[str, str]:
    """Cause every email with a link, with or without a URL to go to; return the links without their tokens."""
    callback = {} if target is None else {"callbackURL": target}
    body = {"name": "Ada", "email": ADA, "password": PASSWORD, **callback}
    signed_up = await service.post("/sign-up/email", body)
    headers = {"Authorization": f"Bearer {signed_up.json()['token']}"}
    service.client.cookies.clear()
    reset = {"email": ADA} | ({} if target is None else {"redirectTo": target})
    await service.post("/request-password-reset", reset)
    await service.post("/change-email", {"newEmail": NEW, **callback}, headers=headers)
    await service.post("/delete-user", callback, headers=headers)
    templates = ("verify-email", "reset-password", "change-email", "delete-account")
    found = {template: await last_link(service, template) for template in templates}
    return {
        template: link.removeprefix(BASE_URL).replace(token_in(link), "TOKEN")
        for template, link in found.items()
    }


async def test_is_the_hosted_pages(make_service: MakeService) -> None:
    assert await links(await make_service(BY_MAIL), None) == {
        "verify-email": "/account/verify-email?token=TOKEN",
        "reset-password": "/account/reset-password?token=TOKEN",
        "change-email": "/account/verify-email?token=TOKEN&reason=change",
        "delete-account": "/account/delete?token=TOKEN",
    }


@pytest.mark.parametrize("enabled", ["true", "false"])
async def test_is_what_the_request_named(make_service: MakeService, enabled: str) -> None:
    assert await links(
        await make_service({**BY_MAIL, "pages.enabled": enabled, "oauth.enabled": enabled}), "/next"
    ) == {
        "verify-email": "/verify-email?token=TOKEN&callbackURL=%2Fnext",
        "reset-password": "/reset-password/TOKEN?callbackURL=%2Fnext",
        "change-email": "/verify-email?token=TOKEN&callbackURL=%2Fnext",
        "delete-account": "/delete-user/callback?token=TOKEN&callbackURL=%2Fnext",
    }


async def test_is_the_operation_without_either(make_service: MakeService) -> None:
    assert await links(
        await make_service({**BY_MAIL, "pages.enabled": "false", "oauth.enabled": "false"}), None
    ) == {
        "verify-email": "/verify-email?token=TOKEN",
        "reset-password": "/reset-password/TOKEN",
        "change-email": "/verify-email?token=TOKEN",
        "delete-account": "/delete-user/callback?token=TOKEN",
    }
