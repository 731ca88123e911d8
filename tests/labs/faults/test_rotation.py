"""The service key is changed: slowly, as it should be, and too fast (R44)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from server.components.key_rotation import COLUMNS, reencrypt
from tests.handlers.steps import ADA, bearer, code, join, refusal
from tests.labs.faults.places import Place
from tests.security import second_factor
from tests.security.second_factor import Owner, challenge, enter, mailed_code
from tests.service import START, Service, running_service

OLD, NEW = "o" * 32, "n" * 32
BOTH = f"{NEW},{OLD}"
STEP = 30
"""Seconds of one step of an authenticator, which is good for one code."""

Start = Callable[[str], Awaitable[Service]]


@pytest.fixture
async def start(place: Place) -> AsyncIterator[Start]:
    """Start the service with some secrets, in place of the one that ran before, a step later."""
    running = AsyncExitStack()
    number = 0

    async def start(secrets: str) -> Service:
        nonlocal number
        await running.aclose()
        settings = {"secrets": secrets, "limits.enabled": "false"}
        service = await running.enter_async_context(running_service(place.url, place.directory, settings))
        service.clock.now = START
        service.clock.advance(seconds=STEP * number)
        number += 1
        return service

    yield start
    await running.aclose()


async def listed(service: Service, owner: Owner) -> list[str]:
    """Return what the list of sessions shows as their tokens."""
    answer = await service.get("/list-sessions", headers=owner.session)
    assert answer.status_code == 200, answer.text
    return [session["token"] for session in answer.json()]


async def by_totp(service: Service, owner: Owner) -> str:
    """Sign in with the authenticator; give status and code of the answer."""
    return code(await enter(service, "totp", owner.code(service), bearer(await challenge(service))))


async def remaining(service: Service) -> dict[str, int]:
    """Do what the background does: encrypt anew what older secrets have encrypted."""
    return await reencrypt(service.services.database.transaction, service.services.cipher)


@pytest.mark.threat("R44")
class TestRotation:
    """Rotation of `secrets`."""

    async def test_a_secret_that_goes_slowly_is_missed_by_nobody(self, start: Start) -> None:
        service = await start(OLD)
        ada = await second_factor.enrol(service)
        pending = bearer(await challenge(service))
        mailed = await mailed_code(service, pending)
        phone = await enter(service, "backup-code", ada.backup_codes[0], bearer(await challenge(service)))
        await service.post("/request-password-reset", {"email": ADA})

        service = await start(BOTH)
        with_both = [await by_totp(service, ada), code(await enter(service, "otp", mailed, pending))]
        queued = await service.inbox(ADA, "reset-password")
        left = await remaining(service)
        service = await start(NEW)

        assert with_both == ["200", "200"]
        assert len(queued) == 1
        assert left == dict.fromkeys(COLUMNS, 0)
        assert await by_totp(service, ada) == "200"
        assert phone.json()["token"] in await listed(service, ada)

    async def test_one_that_goes_too_early_is_told_from_a_wrong_code_and_may_come_back(
        self, start: Start
    ) -> None:
        service = await start(OLD)
        ada = await second_factor.enrol(service)
        await service.post("/request-password-reset", {"email": ADA})

        service = await start(NEW)
        answers = [
            await enter(service, "totp", ada.code(service), bearer(await challenge(service)))
            for _ in range(2)
        ]
        undelivered = await service.inbox(ADA, "reset-password")
        by_backup_code = await enter(
            service, "backup-code", ada.backup_codes[0], bearer(await challenge(service))
        )
        service = await start(BOTH)
        service.clock.advance(hours=1)

        assert {refusal(answer)[:2] for answer in answers} == {(503, "SERVICE_UNAVAILABLE")}
        assert undelivered == []
        assert code(by_backup_code) == "200"
        assert await by_totp(service, ada) == "200"
        assert len(await service.inbox(ADA, "reset-password")) == 1

    async def test_a_handle_in_place_of_a_token_still_ends_its_session(self, start: Start) -> None:
        service = await start(OLD)
        phone, laptop = await join(service), await second_factor.sign_in(service)
        service = await start(NEW)
        own = {
            session["id"]: session["token"]
            for session in (await service.get("/list-sessions", headers=phone)).json()
        }
        [(other,)] = await service.rows(
            "SELECT id FROM session WHERE id <> :id", id=(await _session_id(service, phone))
        )

        answer = await service.post("/revoke-session", {"token": own[other]}, headers=phone)

        assert own[other] != laptop.json()["token"]
        assert code(answer) == "200"
        ended = await service.get("/get-session", headers=bearer(laptop.json()["token"]))
        assert ended.status_code == 401


async def _session_id(service: Service, headers: dict[str, str]) -> str:
    answer = await service.get("/get-session", headers=headers)
    identifier: str = answer.json()["session"]["id"]
    return identifier
