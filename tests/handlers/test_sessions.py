"""The operations of openapi/paths/sessions.yaml, through the public door."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlmodel import col, select

from domain import tokens as domain_tokens
from domain.context import Context, RequestFacts
from domain.sessions import listing, sessions
from domain.users import locking
from models import Session
from tests import turns
from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.steps import EVE, UNKNOWN, bearer, count, join, sign_in, token_of, user_of, works
from tests.service import START, Service


@pytest.mark.operation("sessions.get_current")
class TestGetCurrent:
    async def test_gives_session_and_user(self, client: httpx.AsyncClient, sign_up: SignIn) -> None:
        ada = await sign_up("Ada@Example.com", username="Ada_L", displayUsername="Ada L.")

        answer = (await client.get("/get-session", headers={**ada, "User-Agent": "test"})).json()

        assert answer["session"]["token"] == token_of(ada)
        assert answer["session"]["userId"] == answer["user"]["id"]
        assert answer["session"]["createdAt"] == "2026-01-01T12:00:00.000Z"
        assert answer["session"]["expiresAt"] == "2026-01-08T12:00:00.000Z"
        assert answer["session"]["ipAddress"] == "127.0.0.1"
        assert answer["user"] == {
            "id": answer["user"]["id"],
            "name": "Ada",
            "email": "ada@example.com",
            "emailVerified": False,
            "image": None,
            "createdAt": "2026-01-01T12:00:00.000Z",
            "updatedAt": "2026-01-01T12:00:00.000Z",
            "username": "ada_l",
            "displayUsername": "Ada L.",
            "twoFactorEnabled": False,
            "role": "user",
            "banned": False,
            "banReason": None,
            "banExpires": None,
            "locale": None,
        }

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Authorization": f"Bearer {UNKNOWN}"},
            {"Authorization": "Basic eDp5"},
            {"Cookie": f"service.session-token={UNKNOWN}"},
            {"Cookie": "service.session-token=%"},
            {"Cookie": 'service.session-token="'},
        ],
        ids=str,
    )
    async def test_refuses_without_a_live_session(self, client: httpx.AsyncClient, headers: Headers) -> None:
        answer = await client.get("/get-session", headers=headers)

        assert answer.status_code == 401
        assert answer.json() == {"message": "Unauthorized", "code": "UNAUTHORIZED"}
        assert answer.headers["www-authenticate"] == "Bearer"
        assert ("max-age=0" in answer.headers.get("set-cookie", "").lower()) == ("Cookie" in headers)

    async def test_expires_and_is_deleted(self, service: Service, sign_up: SignIn) -> None:
        ada = await sign_up()

        service.clock.advance(days=7)

        assert not await works(service, ada)
        assert await count(service, Session) == 0

    async def test_extends_a_session_in_use_unless_asked_not_to(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up()

        service.clock.advance(hours=23)
        early = await service.get("/get-session", headers=ada)
        service.clock.advance(hours=1)
        unwanted = await service.get("/get-session?disableRefresh=TRUE", headers=ada)
        due = await service.get("/get-session", headers=ada)

        for answer in (early, unwanted):
            assert answer.json()["session"]["expiresAt"] == "2026-01-08T12:00:00.000Z"
            assert "set-cookie" not in answer.headers
        assert due.json()["session"]["expiresAt"] == "2026-01-09T12:00:00.000Z"
        assert due.json()["session"]["updatedAt"] == "2026-01-02T12:00:00.000Z"
        assert ("Max-Age=604800" in due.headers.get("set-cookie", "")) == ("Cookie" in ada)

    async def test_never_extends_beyond_the_absolute_lifetime(
        self, make_service: MakeService, sign_up: SignIn
    ) -> None:
        service = await make_service({"session.absolute_lifetime": "8d"})
        ada = await sign_up(on=service)

        service.clock.advance(days=6)
        extended = (await service.get("/get-session", headers=ada)).json()["session"]["expiresAt"]
        service.clock.advance(days=2)

        assert extended == "2026-01-09T12:00:00.000Z"
        assert not await works(service, ada)

    async def test_a_session_that_is_not_remembered_lives_a_day(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada = await sign_up(rememberMe="false")

        service.clock.advance(hours=23)
        answer = await service.get("/get-session", headers=ada)

        assert answer.json()["session"]["expiresAt"] == "2026-01-02T12:00:00.000Z"
        assert "set-cookie" not in answer.headers

    async def test_answers_null_where_no_authentication_is_required(self, make_service: MakeService) -> None:
        service = await make_service({"require_authentication": "false"})

        assert (await service.get("/get-session")).json() is None
        assert (await service.get("/list-sessions")).json() == []
        assert (await service.post("/revoke-session", {"token": UNKNOWN})).json() == {
            "success": True,
            "status": True,
        }
        assert (await service.post("/revoke-sessions")).json() == {"status": True, "count": 0}
        assert (await service.post("/revoke-other-sessions")).json() == {"status": True, "count": 0}


@pytest.mark.operation("sessions.list_active")
class TestListActive:
    @pytest.mark.threat("V22")
    async def test_lists_newest_first_with_tokens(
        self, service: Service, sign_up: SignIn, sign_in: SignIn
    ) -> None:
        phone = await sign_up()
        service.clock.advance(seconds=1)
        laptop = await sign_in()

        listed = (await service.get("/list-sessions", headers=phone)).json()

        assert [s["token"] for s in listed] == [token_of(laptop), token_of(phone)]

    async def test_leaves_expired_ones_out(self, service: Service, sign_up: SignIn, sign_in: SignIn) -> None:
        await sign_up(rememberMe=False)
        ada = await sign_in()

        service.clock.advance(days=1)

        listed = (await service.get("/list-sessions", headers=ada)).json()
        assert [s["token"] for s in listed] == [token_of(ada)]

    @pytest.mark.threat("V22", "V40")
    async def test_shows_handles_where_tokens_are_not_listed(self, make_service: MakeService) -> None:
        service = await make_service({"session.list_tokens": "false"})
        first, eve = await join(service), await join(service, EVE)
        service.clock.advance(seconds=1)
        second = await signed_in(service)

        newest, oldest = (await service.get("/list-sessions", headers=second)).json()
        handle = {"token": oldest["token"]}
        as_token = await works(service, bearer(oldest["token"]))
        foreign = await service.post("/revoke-session", handle, headers=eve)
        alive = await works(service, first)
        own = await service.post("/revoke-session", handle, headers=second)

        assert newest["token"] == token_of(second)
        assert oldest["token"] == f"rvk_{oldest['id']}"
        assert (as_token, alive) == (False, True)
        assert foreign.json() == own.json() == {"success": True, "status": True}
        assert not await works(service, first)
        assert await service.rows("SELECT id FROM session WHERE token_copy IS NOT NULL") == []

    async def test_lets_others_have_their_turn_in_a_long_list(self, service: Service) -> None:
        ada = await join(service)
        caller = await service.services.sessions.find([token_of(ada)], service.clock.now, by_cookie=False)
        assert caller is not None
        await add_sessions(service, caller.user.id, 399)

        turns = await service.services.unit_of_work.run(
            turns_between, RequestFacts(service.clock.now, caller=caller)
        )

        assert turns.total() == 400
        assert max(turns.values()) == 50

    async def test_lists_all_of_a_long_list(self, service: Service) -> None:
        ada = await join(service)
        await add_sessions(service, (await user_of(service, ada))["id"], 1200)

        listed = (await service.get("/list-sessions", headers=ada)).json()

        assert len(listed) == len({session["id"] for session in listed}) == 1201


async def turns_between(ctx: Context) -> Counter[int]:
    """List the caller's sessions; give how many came in each turn of the event loop."""
    with turns.counted() as turn:
        return Counter([turn() async for _ in listing.list_active(ctx)])


async def add_sessions(service: Service, user_id: str, number: int, **more: Any) -> None:
    """Store sessions of a user, each a minute older than the one before, all older than now."""
    now = service.clock()
    copy = service.services.cipher.encrypt(sessions.COPY_PURPOSE, UNKNOWN)
    async with service.services.database.begin() as db:
        for age in range(1, number + 1):
            values = {
                "id": domain_tokens.token(),
                "user_id": user_id,
                "token_digest": domain_tokens.digest(domain_tokens.token()),
                "token_copy": copy,
                "method": "password",
                "created_at": now - timedelta(minutes=age),
                "updated_at": now,
                "expires_at": now + timedelta(days=1),
            }
            db.add(Session(**{**values, **more}))
        await db.commit()


async def ages(service: Service) -> list[float]:
    """Return the age of every stored session in minutes, the youngest first."""
    async with service.services.database.begin() as db:
        began = (await db.execute(select(col(Session.created_at)))).scalars()
    return sorted((service.clock() - moment).total_seconds() / 60 for moment in began)


class TestAtMost:
    """`session.max_per_user`: one session more ends the oldest."""

    async def test_a_new_session_ends_the_oldest_of_this_user(self, make_service: MakeService) -> None:
        service = await make_service({"session.max_per_user": "3"})
        eve, first = await join(service, EVE), await join(service)
        others = []
        for _ in range(3):
            service.clock.advance(seconds=1)
            others.append(await signed_in(service))

        alive = [await works(service, session) for session in (eve, first, *others)]

        assert alive == [True, False, True, True, True]
        [record] = await service.rows("SELECT * FROM audit WHERE event = 'session.revoked'")
        assert (record.user_id, record.outcome) == ((await user_of(service, others[0]))["id"], "success")
        assert "too many" in str(record.details)

    async def test_a_thousand_by_default(self, service: Service) -> None:
        user = await user_of(service, await join(service))
        await add_sessions(service, user["id"], 999)

        await signed_in(service)

        assert await ages(service) == [0, 0, *range(1, 999)]

    async def test_no_limit(self, make_service: MakeService) -> None:
        service = await make_service({"session.max_per_user": "0"})
        user = await user_of(service, await join(service))
        await add_sessions(service, user["id"], 150)

        await signed_in(service)

        assert await count(service, Session) == 152

    async def test_far_too_many_are_worked_off_by_the_hundred(self, make_service: MakeService) -> None:
        service = await make_service({"session.max_per_user": "3"})
        user = await user_of(service, await join(service))
        await add_sessions(service, user["id"], 149)

        numbers = []
        for _ in range(3):
            await signed_in(service)
            numbers.append(await count(service, Session))

        assert numbers == [51, 3, 3]
        assert await ages(service) == [0, 0, 0]

    @pytest.mark.both_databases
    async def test_simultaneous_sign_ins_leave_so_many(self, make_service: MakeService) -> None:
        service = await make_service({"session.max_per_user": "3"})
        await join(service)

        answers = await asyncio.gather(*(sign_in_once(service) for _ in range(8)))

        assert {answer.status_code for answer in answers} == {200}
        assert await count(service, Session) == 3

    @pytest.mark.parametrize("changes", [{"impersonated_by": "the user"}, {"expires_at": START}])
    async def test_what_does_not_count_takes_no_place(
        self, make_service: MakeService, changes: dict[str, Any]
    ) -> None:
        service = await make_service({"session.max_per_user": "2"})
        first = await join(service)
        user_id = (await user_of(service, first))["id"]
        referring = {"impersonated_by": user_id} if "impersonated_by" in changes else changes
        await add_sessions(service, user_id, 5, **referring)

        second = await signed_in(service)

        assert [await works(service, session) for session in (first, second)] == [True, True]
        assert await count(service, Session) == 7

    async def test_the_caller_s_own_session_stays(self, make_service: MakeService) -> None:
        service = await make_service({"session.max_per_user": "2"})
        own = await join(service)
        caller = await service.services.sessions.find([token_of(own)], service.clock.now, by_cookie=False)
        assert caller is not None
        await add_sessions(service, caller.user.id, 1, created_at=START + timedelta(seconds=1))

        await service.services.unit_of_work.run(
            open_one_more, RequestFacts(service.services.clock(), caller=caller)
        )

        assert await works(service, own)
        assert await count(service, Session) == 2


async def open_one_more(ctx: Context) -> None:
    """Open a session for the caller, as a rule does that leaves the present one alone."""
    user = await locking.lock_caller(ctx)
    await sessions.create(ctx, user, remembered=True, method="password")


async def sign_in_once(service: Service) -> httpx.Response:
    """Sign in as who is at no device of their own."""
    answer = await sign_in(service)
    service.client.cookies.clear()
    return answer


async def signed_in(service: Service) -> Headers:
    """Sign in; give the headers of the session."""
    return bearer((await sign_in_once(service)).json()["token"])


@pytest.mark.operation("sessions.revoke")
class TestRevoke:
    async def test_ends_another_session_or_the_current_one_whose_cookie_it_clears(
        self, service: Service, sign_in: SignIn
    ) -> None:
        phone, laptop = await sign_in(), await sign_in()

        other = await service.post("/revoke-session", {"token": token_of(laptop)}, headers=phone)
        alive = [await works(service, session) for session in (phone, laptop)]
        own = await service.post("/revoke-session", {"token": token_of(phone)}, headers=phone)

        assert other.json() == own.json() == {"success": True, "status": True}
        assert alive == [True, False]
        assert "set-cookie" not in other.headers
        assert "Max-Age=0" in own.headers["set-cookie"]
        assert not await works(service, phone)

    @pytest.mark.threat("V22")
    async def test_does_not_touch_or_tell_of_foreign_sessions(
        self, service: Service, sign_up: SignIn
    ) -> None:
        ada, eve = await sign_up("ada@example.com"), await sign_up("eve@example.com")
        [session] = (await service.get("/list-sessions", headers=ada)).json()

        tokens = [token_of(ada), f"rvk_{session['id']}", UNKNOWN, f"rvk_{UNKNOWN}", "", "é", "rvk_"]
        answers = [await service.post("/revoke-session", {"token": t}, headers=eve) for t in tokens]

        assert {answer.text for answer in answers} == {answers[0].text}
        assert await works(service, ada)


@pytest.mark.operation("sessions.revoke_all")
class TestRevokeAll:
    async def test_ends_and_counts_the_live_ones(
        self, service: Service, sign_up: SignIn, sign_in: SignIn
    ) -> None:
        await sign_up(rememberMe=False)
        service.clock.advance(days=1)
        phone, laptop = await sign_in(), await sign_in()

        answer = await service.post("/revoke-sessions", headers=phone)

        assert answer.json() == {"status": True, "count": 2}
        assert "Max-Age=0" in answer.headers["set-cookie"]
        assert [await works(service, h) for h in (phone, laptop)] == [False, False]


@pytest.mark.operation("sessions.revoke_others")
class TestRevokeOthers:
    async def test_keeps_the_current_session(self, service: Service, sign_in: SignIn) -> None:
        phone, laptop = await sign_in(), await sign_in()

        answer = await service.client.post("/revoke-other-sessions", headers=phone)

        assert answer.json() == {"status": True, "count": 2}
        assert [await works(service, h) for h in (phone, laptop)] == [True, False]
