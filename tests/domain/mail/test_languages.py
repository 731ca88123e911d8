"""The language of emails."""

from typing import Any

import pytest

from domain.admin import operator
from tests.conftest import Headers, SignIn
from tests.service import PASSWORD, Service

GERMAN = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
ADA, EVE = "ada@example.com", "eve@example.com"


async def subjects(service: Service, to: str) -> list[str]:
    """Return the subjects of the emails to an address, oldest first."""
    return [mail["subject"] for mail in await service.inbox(to)]


async def join(service: Service, email: str, headers: Headers, **more: Any) -> None:
    body = {"name": "Ada", "email": email, "password": PASSWORD, **more}
    assert (await service.post("/sign-up/email", body, headers=headers)).status_code == 200
    service.client.cookies.clear()


async def reset(service: Service, headers: Headers) -> None:
    await service.inbox()
    service.clock.advance(minutes=5)
    await service.post("/request-password-reset", {"email": ADA}, headers=headers)


async def test_is_that_of_the_user(service: Service) -> None:
    await join(service, ADA, GERMAN, locale="fr-CA")
    await reset(service, GERMAN)

    assert await subjects(service, ADA) == [
        "Confirmez votre adresse e-mail",
        "Réinitialisez votre mot de passe",
    ]


async def test_is_that_of_the_browser_while_the_user_has_none(service: Service) -> None:
    await join(service, ADA, GERMAN)
    await reset(service, {"Accept-Language": "ar"})
    await reset(service, {"Accept-Language": "nl"})

    assert await subjects(service, ADA) == [
        "Bestätigen Sie Ihre E-Mail-Adresse",
        "إعادة تعيين كلمة مرورك",
        "Reset your password",
    ]


async def test_is_that_of_the_service_without_either(make_service: Any) -> None:
    service = await make_service({"pages.locale": "es"})
    await join(service, ADA, {})
    await reset(service, {})

    assert await subjects(service, ADA) == ["Confirma tu dirección de correo", "Restablece tu contraseña"]


async def test_is_never_that_of_an_administrators_browser(service: Service, sign_up: SignIn) -> None:
    eve = await sign_up(EVE)
    await join(service, ADA, {})
    await service.services.unit_of_work.run(lambda ctx: operator.set_role(ctx, EVE, "admin"))
    [ada] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=ADA)
    await service.inbox()

    body = {"userId": ada.id, "role": "admin"}
    answer = await service.post("/admin/set-role", body, headers={**eve, **GERMAN})

    assert answer.status_code == 200, answer.text
    assert (await subjects(service, ADA))[-1] == "Your account has rights of an administrator"


@pytest.mark.parametrize(("language", "shown"), [("de", "Sitzungen: 1"), ("fr", "sessions: 1")])
async def test_what_was_removed_is_named_in_it(service: Service, language: str, shown: str) -> None:
    await join(service, ADA, {}, locale=language)
    await service.post("/email-otp/send-verification-otp", {"email": ADA, "type": "sign-in"})
    [code] = [mail["code"] for mail in await service.inbox(ADA, "sign-in-code")]

    await service.post("/sign-in/email-otp", {"email": ADA, "otp": code})

    [notice] = await service.inbox(ADA, "account-secured")
    assert shown in " ".join(notice["text"].split())
