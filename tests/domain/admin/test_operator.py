"""What the operator does to users, on both databases; the effects are seen through the public door."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from domain import errors
from domain.admin import operator
from domain.admin.errors import EmailTaken
from domain.admin.operator import NewUser
from domain.context import Context
from domain.identifiers import InvalidEmail, InvalidUsername, UsernameTooShort
from domain.passwords.errors import PasswordTooCommon, PasswordTooLong, PasswordTooShort
from domain.users import lookup
from domain.users.errors import UsernameIsAlreadyTaken
from models import Account, Outbox, Session, User
from tests.conftest import MakeService
from tests.handlers.steps import bearer, code, count, opens, sign_in, works
from tests.service import PASSWORD, START, Service

ADA = NewUser(email="ada@example.com", name="Ada", password=PASSWORD, username="Ada_L")
GRACE = NewUser(email="grace@example.com", name="Grace", password=PASSWORD)


async def run(service: Service, rule: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
    """Run a rule in a transaction of its own, as the command line does."""

    async def job(ctx: Context) -> Any:
        return await rule(ctx, *arguments, **named)

    return await service.services.unit_of_work.run(job)


@pytest.fixture
def do(service: Service) -> Callable[..., Awaitable[Any]]:
    """Run a rule on the default service."""
    return partial(run, service)


Do = Callable[..., Awaitable[Any]]


class TestCreate:
    async def test_makes_a_user_who_can_sign_in(self, service: Service, do: Do) -> None:
        user = await do(operator.create, ADA)
        verified = replace(GRACE, email="Grace@Example.com", email_verified=True)
        grace = await do(operator.create, verified)

        assert (user.email, user.username, user.email_verified) == ("ada@example.com", "ada_l", False)
        assert (grace.email, grace.email_verified) == ("grace@example.com", True)
        assert (await count(service, Session), await count(service, Outbox)) == (0, 0)
        assert await opens(service, PASSWORD)
        by_name = await service.post("/sign-in/username", {"username": "ada_l", "password": PASSWORD})
        assert by_name.status_code == 200

    async def test_works_where_strangers_may_not_sign_up(self, make_service: MakeService) -> None:
        service = await make_service({"sign_up.enabled": "false"})

        await run(service, operator.create, ADA)

        assert await opens(service, PASSWORD)

    async def test_holds_to_the_rules_of_sign_up(self, service: Service, do: Do) -> None:
        unsound: list[tuple[dict[str, Any], type[errors.Refusal]]] = [
            ({"email": "nobody"}, InvalidEmail),
            ({"name": "a\nb"}, errors.ValidationError),
            ({"name": "x" * 257}, errors.ValidationError),
            ({"password": "short"}, PasswordTooShort),
            ({"password": "x" * 129}, PasswordTooLong),
            ({"password": "ada@example.com"}, PasswordTooCommon),
            ({"username": "a"}, UsernameTooShort),
            ({"username": "a b c"}, InvalidUsername),
        ]
        for changed, refusal in unsound:
            with pytest.raises(refusal):
                await do(operator.create, replace(ADA, **changed))

        assert await count(service, User) == 0

    async def test_refuses_what_is_taken(self, service: Service, do: Do) -> None:
        await do(operator.create, ADA)

        with pytest.raises(EmailTaken):
            await do(operator.create, replace(GRACE, email="ADA@example.com"))
        with pytest.raises(UsernameIsAlreadyTaken):
            await do(operator.create, replace(GRACE, username="ADA_L"))

        assert await count(service, User) == 1


class TestFind:
    async def test_by_id_address_and_username(self, do: Do) -> None:
        ada = await do(operator.create, ADA)

        found = [await do(lookup.find, name) for name in (ada.id, "ADA@example.com", "Ada_L")]

        assert [user.id for user in found] == [ada.id] * 3
        for nobody in ("", "bob", "bob@example.com", "x" * 32, "%", "Ada"):
            with pytest.raises(errors.NotFound):
                await do(lookup.find, nobody)


class TestList:
    async def test_newest_first_and_page_by_page(self, service: Service, do: Do) -> None:
        await do(operator.create, ADA)
        service.clock.advance(seconds=1)
        await do(operator.create, GRACE)

        users, total = await do(operator.list_users, limit=10)
        second, still = await do(operator.list_users, limit=1, offset=1)

        assert ([user.name for user in users], total) == (["Grace", "Ada"], 2)
        assert ([user.name for user in second], still) == (["Ada"], 2)

    async def test_finds_parts_in_any_case_and_takes_them_literally(self, do: Do) -> None:
        await do(operator.create, replace(ADA, name="ÉLOïse"))
        await do(operator.create, GRACE)

        for search, names in (
            ("ADA_l", ["ÉLOïse"]),
            ("grace@", ["Grace"]),
            ("example", ["Grace", "ÉLOïse"]),
            ("%", []),
            ("a_a", []),
            ("Éloïse", ["ÉLOïse"]),
            ("éloïse", ["ÉLOïse"]),
            ("ï", ["ÉLOïse"]),
        ):
            users, total = await do(operator.list_users, search, limit=10)

            assert (sorted(user.name for user in users), total) == (names, len(names)), search


class TestShow:
    async def test_gives_the_live_sessions(self, service: Service, do: Do) -> None:
        await do(operator.create, ADA)
        await sign_in(service)
        service.clock.advance(days=8)
        await sign_in(service)

        overview = await do(operator.show, "ada_l")

        assert overview.user.email == ADA.email
        assert list(overview.providers) == ["credential"]
        assert [session.created_at for session in overview.sessions] == [START + timedelta(days=8)]


class TestBan:
    async def test_ends_sessions_and_refuses_sign_in(self, service: Service, do: Do) -> None:
        await do(operator.create, ADA)
        headers = [bearer((await sign_in(service)).json()["token"]) for _ in range(2)]

        ended = await do(operator.ban, ADA.email, reason="spam", until=START + timedelta(days=1))

        assert (ended, await works(service, headers[0])) == (2, False)
        assert code(await sign_in(service)) == "403 BANNED_USER"
        user = await do(lookup.find, ADA.email)
        assert (user.banned, user.ban_reason, user.ban_expires) == (True, "spam", START + timedelta(days=1))
        await do(operator.ban, ADA.email, reason="another", until=None)
        user = await do(lookup.find, ADA.email)
        assert (user.banned, user.ban_reason, user.ban_expires) == (True, "another", None)

    async def test_for_some_time_and_no_longer_a_reason_than_moves_on(self, do: Do) -> None:
        await do(operator.create, ADA)
        longest = "x" * operator.LONGEST_REASON

        with pytest.raises(errors.ValidationError, match="over at once"):
            await do(operator.ban, ADA.email, reason=None, until=START)
        with pytest.raises(errors.ValidationError, match="reason"):
            await do(operator.ban, ADA.email, reason=longest + "x", until=None)
        assert not (await do(lookup.find, ADA.email)).banned
        await do(operator.ban, ADA.email, reason=longest, until=None)

        assert (await do(lookup.find, ADA.email)).ban_reason == longest


async def test_sessions_that_are_ended_are_those_of_the_user_only(service: Service, do: Do) -> None:
    await do(operator.create, ADA)
    await do(operator.create, GRACE)
    ada, grace = [bearer((await sign_in(service, user.email)).json()["token"]) for user in (ADA, GRACE)]

    ended = await do(operator.revoke_sessions, "ada_l")

    assert (ended, await works(service, ada), await works(service, grace)) == (1, False, True)


async def test_deletion_takes_everything_along(service: Service, do: Do) -> None:
    await do(operator.create, ADA)
    await sign_in(service)
    await do(operator.create, GRACE)

    deleted = await do(operator.delete, ADA.email)

    assert deleted.email == ADA.email
    assert [await count(service, model) for model in (User, Account, Session)] == [1, 1, 0]
    with pytest.raises(errors.NotFound):
        await do(operator.delete, ADA.email)
