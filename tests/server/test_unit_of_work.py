"""One request, one transaction: what is kept, undone, or tried again; and a database nobody can write to."""

import pytest
from sqlalchemy import text

from domain import errors
from domain.context import Context, StaleRead
from domain.two_factor.errors import InvalidCode
from tests.conftest import Headers, MakeService
from tests.handlers.steps import bearer, refusal
from tests.rows import user
from tests.service import PASSWORD, Service
from tests.sqlite import locked

ADA = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}


async def count(service: Service) -> int:
    return len(await service.rows('SELECT id FROM "user"'))


class TestTransaction:
    @pytest.mark.parametrize("fault", [errors.BadRequest, ZeroDivisionError], ids=["refusal", "defect"])
    async def test_what_fails_undoes_what_was_written_and_is_told(
        self, service: Service, fault: type[Exception]
    ) -> None:
        async def job(ctx: Context) -> None:
            ctx.db.add(user("ada"))
            await ctx.db.flush()
            raise fault

        with pytest.raises(fault):
            await service.services.unit_of_work.run(job)

        assert await count(service) == 0

    async def test_one_that_keeps_writes_does_not(self, service: Service) -> None:
        async def job(ctx: Context) -> None:
            ctx.db.add(user("ada"))
            raise InvalidCode

        with pytest.raises(InvalidCode):
            await service.services.unit_of_work.run(job)

        assert await count(service) == 1

    async def test_an_outdated_read_is_repeated_in_a_new_transaction(self, service: Service) -> None:
        tries: list[Context] = []

        async def job(ctx: Context) -> int:
            tries.append(ctx)
            ctx.db.add(user("ada"))
            await ctx.db.flush()
            if len(tries) < 3:
                raise StaleRead
            return len(tries)

        assert await service.services.unit_of_work.run(job) == 3
        assert await count(service) == 1

    async def test_a_conflict_that_does_not_end_is_503(self, service: Service) -> None:
        tries = 0

        async def job(ctx: Context) -> None:
            nonlocal tries
            tries += 1
            raise StaleRead

        with pytest.raises(errors.Unavailable):
            await service.services.unit_of_work.run(job)

        assert tries == 4


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
class TestLockedDatabase:
    @pytest.fixture
    async def impatient(self, make_service: MakeService) -> Service:
        return await make_service({"database.timeout": "0.2s"})

    @pytest.fixture
    async def ada(self, impatient: Service) -> Headers:
        answer = await impatient.post("/sign-up/email", ADA)
        return {"Cookie": f"service.session-token={answer.json()['token']}"}

    async def test_reads_go_on_and_the_extension_is_skipped(self, impatient: Service, ada: Headers) -> None:
        impatient.clock.advance(days=2)

        with locked(impatient.services.database.address.target):
            answer = await impatient.get("/get-session", headers=ada)
            listed = await impatient.get("/list-sessions", headers=ada)

        assert answer.json()["session"]["expiresAt"] == "2026-01-08T12:00:00.000Z"
        assert "set-cookie" not in answer.headers
        assert len(listed.json()) == 1

    @pytest.mark.parametrize(
        ("path", "body"),
        [("/revoke-session", {"token": "x" * 32}), ("/verify-password", {"password": PASSWORD})],
    )
    async def test_a_post_that_writes_nothing_goes_on_and_the_extension_is_skipped(
        self, impatient: Service, ada: Headers, path: str, body: dict[str, str]
    ) -> None:
        impatient.clock.advance(days=2)

        with locked(impatient.services.database.address.target):
            answer = await impatient.post(path, body, headers=ada)
        later = await impatient.post(path, body, headers=ada)

        assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
        assert (later.status_code, "set-cookie" in later.headers) == (200, True)

    async def test_a_write_that_is_due_for_extension_is_503_for_itself(
        self, impatient: Service, ada: Headers
    ) -> None:
        impatient.clock.advance(days=2)

        with locked(impatient.services.database.address.target):
            answer = await impatient.post("/update-user", {"name": "Countess"}, headers=ada)
        later = await impatient.post("/update-user", {"name": "Countess"}, headers=ada)

        assert refusal(answer) == (503, "SERVICE_UNAVAILABLE", "Service unavailable")
        assert (answer.headers["retry-after"], answer.headers.get("set-cookie")) == ("5", None)
        assert later.status_code == 200

    async def test_a_sign_out_that_cannot_revoke_still_clears_the_cookie(
        self, impatient: Service, ada: Headers
    ) -> None:
        with locked(impatient.services.database.address.target):
            answer = await impatient.post("/sign-out", headers=ada)
            foreign = await impatient.post("/sign-out", headers={**ada, "Origin": "https://evil.test"})

        assert answer.status_code == 503
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert (foreign.status_code, foreign.headers.get("set-cookie")) == (403, None)
        assert (await impatient.get("/get-session", headers=ada)).status_code == 200


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
class TestLockedSession:
    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/revoke-session", {"token": "x" * 32}),
            ("/verify-password", {"password": PASSWORD}),
        ],
    )
    async def test_a_post_goes_on_with_the_session_as_it_was(
        self, make_service: MakeService, path: str, body: dict[str, str]
    ) -> None:
        service = await make_service({"database.timeout": "1s"})
        token = (await service.post("/sign-up/email", ADA)).json()["token"]
        service.clock.advance(days=2)

        async with service.services.database.transaction() as other:
            await other.execute(text("SELECT id FROM session FOR UPDATE"))
            answer = await service.post(path, body, headers={"Cookie": f"service.session-token={token}"})

        session = (await service.get("/get-session?disableRefresh=true", headers=bearer(token))).json()[
            "session"
        ]
        assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)
        assert session["expiresAt"] == "2026-01-08T12:00:00.000Z"


async def test_the_cookie_of_an_extended_session_is_set_though_the_request_is_refused(
    service: Service,
) -> None:
    answer = await service.post("/sign-up/email", ADA)
    token = answer.json()["token"]
    service.clock.advance(days=2)

    refused = await service.post(
        "/verify-password", {"password": "wrong"}, headers={"Cookie": f"service.session-token={token}"}
    )

    assert refused.status_code == 400
    assert "Max-Age=604800" in refused.headers["set-cookie"]
