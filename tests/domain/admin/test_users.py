"""What the operator does to users, on both databases; the effects are seen through the public door."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from domain import errors
from domain.admin import users as admin_users
from domain.admin.errors import EmailTaken
from domain.admin.users import NewUser
from domain.context import Context
from domain.identifiers import InvalidEmail, InvalidUsername, UsernameTooShort
from domain.passwords.errors import PasswordTooCommon, PasswordTooLong, PasswordTooShort
from domain.users import lookup
from domain.users.errors import UsernameIsAlreadyTaken
from tests.conftest import MakeService
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


async def sign_in(service: Service, email: str = ADA.email) -> dict[str, str]:
    """Sign in; give the headers of the session."""
    answer = await service.post("/sign-in/email", {"email": email, "password": PASSWORD})
    service.client.cookies.clear()
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['token']}"}


async def count(service: Service, table: str) -> int:
    """Return how many rows a table holds."""
    return int((await service.rows(f'SELECT count(*) FROM "{table}"'))[0][0])


class TestCreate:
    async def test_makes_a_user_who_can_sign_in(self, service: Service, do: Do) -> None:
        user = await do(admin_users.create, ADA)
        verified = replace(GRACE, email="Grace@Example.com", email_verified=True)
        grace = await do(admin_users.create, verified)

        assert (user.email, user.username, user.email_verified) == ("ada@example.com", "ada_l", False)
        assert (grace.email, grace.email_verified) == ("grace@example.com", True)
        await sign_in(service)
        by_name = await service.post("/sign-in/username", {"username": "ada_l", "password": PASSWORD})
        assert by_name.status_code == 200

    async def test_opens_no_session_and_sends_no_mail(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)

        assert (await count(service, "session"), await count(service, "outbox")) == (0, 0)

    async def test_works_where_strangers_may_not_sign_up(self, make_service: MakeService) -> None:
        service = await make_service({"sign_up.enabled": "false"})

        await run(service, admin_users.create, ADA)

        await sign_in(service)

    @pytest.mark.parametrize(
        ("changed", "refusal"),
        [
            ({"email": "nobody"}, InvalidEmail),
            ({"name": "a\nb"}, errors.ValidationError),
            ({"name": "x" * 257}, errors.ValidationError),
            ({"password": "short"}, PasswordTooShort),
            ({"password": "x" * 129}, PasswordTooLong),
            ({"password": "password123"}, PasswordTooCommon),
            ({"password": "ada@example.com"}, PasswordTooCommon),
            ({"username": "a"}, UsernameTooShort),
            ({"username": "a b c"}, InvalidUsername),
        ],
    )
    async def test_holds_to_the_rules_of_sign_up(
        self, service: Service, do: Do, changed: dict[str, str], refusal: type[errors.Refusal]
    ) -> None:
        wanted: dict[str, Any] = {"email": ADA.email, "name": ADA.name, "password": ADA.password, **changed}

        with pytest.raises(refusal):
            await do(admin_users.create, NewUser(**wanted))

        assert await count(service, "user") == 0

    async def test_refuses_what_is_taken(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)

        with pytest.raises(EmailTaken):
            await do(admin_users.create, NewUser(email="ADA@example.com", name="Other", password=PASSWORD))
        with pytest.raises(UsernameIsAlreadyTaken):
            await do(
                admin_users.create,
                NewUser(email="a@example.com", name="Other", password=PASSWORD, username="ADA_L"),
            )

        assert await count(service, "user") == 1


class TestFind:
    async def test_by_id_address_and_username(self, do: Do) -> None:
        ada = await do(admin_users.create, ADA)

        found = [await do(lookup.find, name) for name in (ada.id, "ADA@example.com", "Ada_L")]

        assert [user.id for user in found] == [ada.id] * 3

    @pytest.mark.parametrize("name", ["", "bob", "bob@example.com", "x" * 32, "%", "Ada"])
    async def test_nobody(self, do: Do, name: str) -> None:
        await do(admin_users.create, ADA)

        with pytest.raises(errors.NotFound):
            await do(lookup.find, name)


class TestList:
    async def test_newest_first_and_page_by_page(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)
        service.clock.advance(seconds=1)
        await do(admin_users.create, GRACE)

        users, total = await do(admin_users.list_users, limit=10)
        second, still = await do(admin_users.list_users, limit=1, offset=1)

        assert ([user.name for user in users], total) == (["Grace", "Ada"], 2)
        assert ([user.name for user in second], still) == (["Ada"], 2)

    @pytest.mark.parametrize(
        ("search", "names"),
        [("ADA_l", ["Ada"]), ("grace@", ["Grace"]), ("example", ["Ada", "Grace"]), ("%", []), ("a_a", [])],
    )
    async def test_finds_parts_and_takes_them_literally(self, do: Do, search: str, names: list[str]) -> None:
        await do(admin_users.create, ADA)
        await do(admin_users.create, GRACE)

        users, total = await do(admin_users.list_users, search, limit=10)

        assert (sorted(user.name for user in users), total) == (names, len(names))

    @pytest.mark.parametrize("search", ["Éloïse", "éloïse", "ÉLOÏSE", "ï"])
    async def test_finds_names_beyond_ascii_in_any_case(self, do: Do, search: str) -> None:
        await do(admin_users.create, NewUser(email=ADA.email, name="ÉLOïse", password=PASSWORD))
        await do(admin_users.create, GRACE)

        users, total = await do(admin_users.list_users, search, limit=10)

        assert ([user.name for user in users], total) == (["ÉLOïse"], 1)


class TestShow:
    async def test_gives_the_live_sessions(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)
        await sign_in(service)
        service.clock.advance(days=8)
        await sign_in(service)

        overview = await do(admin_users.show, "ada_l")

        assert overview.user.email == ADA.email
        assert list(overview.providers) == ["credential"]
        assert [session.created_at for session in overview.sessions] == [START + timedelta(days=8)]


class TestBan:
    async def test_ends_sessions_and_refuses_sign_in(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)
        headers = await sign_in(service)
        await sign_in(service)

        ended = await do(admin_users.ban, ADA.email, reason="spam", until=None)

        assert ended == 2
        assert (await service.get("/get-session", headers=headers)).status_code == 401
        answer = await service.post("/sign-in/email", {"email": ADA.email, "password": PASSWORD})
        assert (answer.status_code, answer.json()["code"]) == (403, "BANNED_USER")
        user = await do(lookup.find, ADA.email)
        assert (user.banned, user.ban_reason, user.ban_expires) == (True, "spam", None)

    async def test_a_second_one_replaces_the_first(self, do: Do) -> None:
        await do(admin_users.create, ADA)
        await do(admin_users.ban, ADA.email, reason="one", until=START + timedelta(days=1))

        await do(admin_users.ban, ADA.email, reason="two", until=None)

        user = await do(lookup.find, ADA.email)
        assert (user.ban_reason, user.ban_expires) == ("two", None)

    async def test_for_no_time_at_all(self, do: Do) -> None:
        await do(admin_users.create, ADA)

        with pytest.raises(errors.ValidationError, match="over at once"):
            await do(admin_users.ban, ADA.email, reason=None, until=START)

        assert not (await do(lookup.find, ADA.email)).banned

    async def test_for_no_longer_a_reason_than_moves_on(self, do: Do) -> None:
        await do(admin_users.create, ADA)
        longest = "x" * admin_users.LONGEST_REASON

        await do(admin_users.ban, ADA.email, reason=longest, until=None)
        with pytest.raises(errors.ValidationError, match="reason"):
            await do(admin_users.ban, ADA.email, reason=longest + "x", until=None)

        assert (await do(lookup.find, ADA.email)).ban_reason == longest


class TestRevokeSessions:
    async def test_ends_those_of_the_user_only(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)
        await do(admin_users.create, GRACE)
        ada, grace = await sign_in(service), await sign_in(service, GRACE.email)

        ended = await do(admin_users.revoke_sessions, "ada_l")

        assert ended == 1
        assert (await service.get("/get-session", headers=ada)).status_code == 401
        assert (await service.get("/get-session", headers=grace)).status_code == 200


class TestDelete:
    async def test_takes_everything_along(self, service: Service, do: Do) -> None:
        await do(admin_users.create, ADA)
        await sign_in(service)
        await do(admin_users.create, GRACE)

        deleted = await do(admin_users.delete, ADA.email)

        assert deleted.email == ADA.email
        assert [await count(service, table) for table in ("user", "account", "session")] == [1, 1, 0]
        with pytest.raises(errors.NotFound):
            await do(admin_users.delete, ADA.email)
