"""Attacks by strangers who sign up with the address of somebody else, and prepare ways to sign in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from domain import one_time_tokens
from domain.context import Context
from models import Purpose
from tests.authenticator import Authenticator
from tests.conftest import Headers, MakeService
from tests.handlers import passkey_steps
from tests.handlers.mailed import code_for, link_to, open_link, use_code
from tests.handlers.steps import (
    ADA,
    NEW_ADDRESS,
    NEW_PASSWORD,
    bearer,
    execute,
    join,
    opens,
    reset_token,
    set_user,
    works,
)
from tests.security.conftest import UNLIMITED
from tests.service import PASSWORD, Service
from tests.settings.api_keys import VERIFIER

Prove = Callable[[Service], Awaitable[None]]

MANY = {"limits.sign_in_mail_burst": "100", "limits.sign_in_mail_daily": "100"}


async def prove_by_link(service: Service) -> None:
    assert (await open_link(service, await link_to(service))).status_code == 200


async def prove_by_code(service: Service) -> None:
    assert (await use_code(service, await code_for(service))).status_code == 200


async def reset_by_link(service: Service) -> None:
    body = {"token": await reset_token(service), "newPassword": NEW_PASSWORD}
    assert (await service.post("/reset-password", body)).status_code == 200


async def reset_by_code(service: Service) -> None:
    body = {"email": ADA, "otp": await code_for(service, kind="forget-password"), "password": NEW_PASSWORD}
    assert (await service.post("/email-otp/reset-password", body)).status_code == 200


@dataclass
class Stranger:
    """What a stranger prepared in an account at somebody else's address: every way in."""

    session: Headers
    passkey: Authenticator
    key: str
    tokens: list[str]
    """Tokens on their way: one resets the password, one changes the address."""

    async def ways_in(self, service: Service) -> list[str]:
        """Return which of them still work."""
        verified = await service.post("/api-key/verify", {"key": self.key}, headers=bearer(VERIFIER))
        body = {"token": self.tokens[0], "newPassword": "eleven grey donkeys"}
        works_still = {
            "session": await works(service, self.session),
            "password": await opens(service, PASSWORD),
            "passkey": (await passkey_steps.use(service, self.passkey)).status_code == 200,
            "key": verified.json()["valid"],
            "session of the key": await works(service, {"x-api-key": self.key}),
            "reset": (await service.post("/reset-password", body)).status_code == 200,
            "new address": (await service.get("/verify-email", params={"token": self.tokens[1]})).is_success,
        }
        counts = {
            table: await service.rows(f"SELECT user_id FROM {table} {where}")
            for table, where in {
                "account": "WHERE provider_id = 'github'",
                "trusted_device": "",
                "two_factor": "",
                "backup_code": "",
            }.items()
        }
        return [name for name, left in (works_still | counts).items() if left]


async def prepare(service: Service) -> Stranger:
    session, device = await join(service), Authenticator()
    await passkey_steps.add(service, session, device)
    key = (await service.post("/api-key/create", {}, headers=session)).json()["key"]
    await service.post("/two-factor/enable", {"password": PASSWORD}, headers=session)
    await execute(
        service,
        "INSERT INTO account (id, user_id, provider_id, issuer, account_id, created_at, updated_at)"
        " SELECT 'a', id, 'github', 'https://github.com', '1', created_at, created_at FROM \"user\"",
    )
    await execute(
        service,
        "INSERT INTO trusted_device (id, user_id, digest, expires_at, created_at, updated_at)"
        " SELECT 'd', u.id, :digest, s.expires_at, s.created_at, s.created_at FROM session s"
        ' JOIN "user" u ON u.id = s.user_id',
        digest=b"d" * 32,
    )
    [(user_id,)] = await service.rows('SELECT id FROM "user"')

    async def issue(ctx: Context) -> str:
        return await one_time_tokens.issue(
            ctx, Purpose.CHANGE_EMAIL, user_id, expires_in=timedelta(hours=1), email=NEW_ADDRESS
        )

    change = await service.services.unit_of_work.run(issue)
    return Stranger(session, device, key, [await reset_token(service), change])


PROOFS = (prove_by_link, prove_by_code, reset_by_link, reset_by_code)


@pytest.mark.threat("M5", "V16")
@pytest.mark.both_databases
@pytest.mark.parametrize("prove", PROOFS)
async def test_every_way_in_that_a_stranger_prepared_is_removed(
    make_service: MakeService, prove: Prove
) -> None:
    service = await make_service({**UNLIMITED, **MANY, "api_keys.sessions": "true"})
    stranger = await prepare(service)
    is_reset = prove in (reset_by_link, reset_by_code)

    await prove(service)

    assert await stranger.ways_in(service) == []
    assert await opens(service, NEW_PASSWORD) is is_reset
    [notice] = await service.inbox(ADA, "account-secured")
    # Every reset replaces the password and ends the sessions.
    ways, sessions = ("1", "") if is_reset else ("2", " sessions: 1,")
    removed = f"ways to sign in: {ways}, API keys: 1, passkeys: 1,{sessions} trusted devices: 1"
    assert removed in " ".join(notice["text"].split())


@pytest.mark.threat("M6")
@pytest.mark.parametrize("prove", PROOFS)
async def test_a_mailbox_takes_nothing_from_an_account_with_a_second_factor(
    make_service: MakeService, prove: Prove
) -> None:
    service = await make_service({**UNLIMITED, **MANY, "api_keys.sessions": "true"})
    stranger = await prepare(service)
    await set_user(service, two_factor_enabled=True, email_verified=False)

    await prove(service)

    assert await service.inbox(ADA, "account-secured") == []
    assert {"key", "session of the key", "passkey", "account"} <= set(await stranger.ways_in(service))
