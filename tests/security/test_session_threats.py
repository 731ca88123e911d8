"""The rows V35 to V38 and V40 to V42: sessions that outlive their end, cross each other, or show more than they may."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import httpx
import pytest

from codegen.walk import Operation
from models import Session, User
from tests.conftest import Headers, MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, bearer, code, join, user_of, works
from tests.handlers.test_inputs import example_of, protected
from tests.security import second_factor
from tests.security.conftest import UNLIMITED, OpenInstance
from tests.security.second_factor import (
    PENDING,
    SESSION,
    TRUST,
    Owner,
    cookie,
    enrol,
    enter,
    set_cookies,
    token_in,
    trusted_device,
)
from tests.service import PASSWORD, START, Service

BY_MAIL = {"delete_user.confirm_by_mail": "true"}
RENAMED = "__Host-session-token"
CARRIES: tuple[Callable[[str], Headers], ...] = (bearer, lambda token: cookie(SESSION, token))


def carried(token: str) -> list[Headers]:
    """Return the headers by which a token may travel."""
    return [carry(token) for carry in CARRIES]


async def token_of_new_session(service: Service, email: str) -> str:
    answer = await steps.sign_in(service, email)
    service.client.cookies.clear()
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])


async def call(service: Service, operation: Operation, headers: Headers) -> httpx.Response:
    """Call an operation with a body that fits; what is left of the headers says who calls."""
    path = operation.path.replace("{token}", steps.UNKNOWN)
    body = example_of(operation) if operation.method == "post" and "requestBody" in operation.spec else None
    return await service.client.request(operation.method.upper(), path, headers=headers, json=body)


async def refused_everywhere(service: Service, headers: Headers) -> bool:
    """Return whether every operation that wants somebody finds nobody behind these headers."""
    answers = [await call(service, operation, headers) for operation in protected().values()]
    return {answer.status_code for answer in answers} == {401}


@dataclass
class Browser:
    """Keeps cookies as a browser does, by name, and sends all of them along."""

    service: Service
    jar: dict[str, str] = field(default_factory=dict)

    async def post(self, path: str, body: Any = None) -> httpx.Response:
        """POST, and take over what the answer sets and clears."""
        answer = await self.service.post(path, body, headers=self.headers())
        self.service.client.cookies.clear()
        self.jar = {name: value for name, value in {**self.jar, **set_cookies(answer)}.items() if value}
        return answer

    async def whoami(self) -> str | None:
        """Return the address of the user the service takes this browser for, None for nobody."""
        answer = await self.service.get("/get-session", headers=self.headers())
        return answer.json()["user"]["email"] if answer.status_code == 200 else None

    def headers(self) -> Headers:
        """Return the header with all cookies."""
        line = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        return {"Cookie": line} if line else {}


async def sign_out(service: Service, email: str, token: str, other: str) -> None:
    await service.post("/sign-out", headers=bearer(token))


async def revoke(service: Service, email: str, token: str, other: str) -> None:
    await service.post("/revoke-session", {"token": token}, headers=bearer(other))


async def revoke_all(service: Service, email: str, token: str, other: str) -> None:
    await service.post("/revoke-sessions", headers=bearer(other))


async def revoke_others(service: Service, email: str, token: str, other: str) -> None:
    await service.post("/revoke-other-sessions", headers=bearer(other))


async def change_password(service: Service, email: str, token: str, other: str) -> None:
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD, "revokeOtherSessions": True}
    await service.post("/change-password", body, headers=bearer(other))


async def reset_password(service: Service, email: str, token: str, other: str) -> None:
    mailed = await steps.reset_token(service, email)
    await service.post("/reset-password", {"token": mailed, "newPassword": NEW_PASSWORD})


async def delete_user(service: Service, email: str, token: str, other: str) -> None:
    await service.post("/delete-user", {"password": PASSWORD}, headers=bearer(other))


Ending = Callable[[Service, str, str, str], Awaitable[None]]

ENDINGS: dict[str, Ending] = {
    ending.__name__: ending
    for ending in (
        sign_out, revoke, revoke_all, revoke_others, change_password, reset_password, delete_user,
    )
}  # fmt: skip
"""Every way a session `token` ends; `other` is another session of the same user."""


@pytest.mark.threat("V35")
class TestEndedSessions:
    """A session that was ended still works somewhere, or comes back from a second store."""

    @pytest.mark.threat("R21")
    async def test_an_ended_session_is_dead_everywhere_and_after_a_restart(
        self, open_instance: OpenInstance
    ) -> None:
        here, there = await open_instance(), await open_instance()
        ended = {}
        for name, ending in ENDINGS.items():
            email = f"{name.replace('_', '-')}@example.com"
            await join(here, email)
            token, other = [await token_of_new_session(here, email) for _ in range(2)]
            assert [await works(service, bearer(token)) for service in (here, there)] == [True, True]
            await ending(here, email, token, other)
            ended[name] = token

        alive = [
            (name, number)
            for number, service in enumerate((here, there, await open_instance()))
            for name, token in ended.items()
            for headers in carried(token)
            if not await refused_everywhere(service, headers)
        ]

        assert alive == []

    @pytest.mark.threat("V22")
    @pytest.mark.parametrize("ending", [sign_out, revoke, revoke_others])
    async def test_the_other_sessions_live_on(self, service: Service, ending: Ending) -> None:
        await join(service)
        eve = await join(service, EVE)
        token, other = [await token_of_new_session(service, ADA) for _ in range(2)]

        await ending(service, ADA, token, other)

        assert await works(service, bearer(other))
        assert await works(service, eve)

    @pytest.mark.both_databases
    async def test_an_extension_does_not_bring_it_back(self, service: Service) -> None:
        ada = await join(service)
        other = bearer(await token_of_new_session(service, ADA))
        service.clock.advance(days=2)

        await asyncio.gather(
            *(service.get("/get-session", headers=ada) for _ in range(5)),
            service.post("/revoke-session", {"token": token_in(ada)}, headers=other),
            *(service.get("/get-session", headers=ada) for _ in range(5)),
        )

        assert not await works(service, ada)
        assert await steps.count(service, Session) == 1


SENSITIVE: dict[str, dict[str, Any]] = {
    "/get-access-token": {"providerId": "github"},
    "/refresh-token": {"providerId": "github"},
    "/update-user": {"name": "Mallory"},
    "/change-password": {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD},
    "/change-email": {"newEmail": EVE},
    "/verify-password": {"password": PASSWORD},
    "/two-factor/disable": {"password": PASSWORD},
    "/delete-user": {"password": PASSWORD},
}


@pytest.mark.threat("V36")
class TestAfterRevocation:
    """An operation that matters trusts a cached session after its revocation, or something outlives its user."""

    async def test_nothing_sensitive_is_served_from_memory(
        self, make_service: MakeService, carry: Callable[[str], Headers]
    ) -> None:
        service = await make_service({**UNLIMITED, **BY_MAIL})
        ada = await enrol(service)
        await service.post("/delete-user", headers=ada.session)
        link = steps.local(await steps.last_link(service, "delete-account"))
        trusted = await trusted_device(service, ada)
        headers = second_factor.also(carry(token_in(ada.session)), TRUST, trusted)
        before = await user_of(service, headers)

        await service.post("/revoke-sessions", headers=ada.session)
        answers = [await service.post(path, body, headers=headers) for path, body in SENSITIVE.items()]
        answers += [await service.get(path, headers=headers) for path in (link, "/account-info")]

        assert {code(answer) for answer in answers} == {"401 UNAUTHORIZED"}
        pending = bearer(await second_factor.challenge(service))
        service.clock.advance(seconds=30)
        back = await enter(service, "totp", ada.code(service), pending)
        assert await user_of(service, bearer(back.json()["token"])) == before

    async def test_nothing_outlives_its_user(self, make_service: MakeService) -> None:
        service = await make_service({**UNLIMITED, **BY_MAIL})
        ada = await enrol(service)
        pending = await second_factor.challenge(service)
        mailed = await second_factor.mailed_code(service, bearer(pending))
        reset = await steps.reset_token(service)
        verification = steps.local(await steps.last_link(service, "verify-email"))
        await service.post("/change-email", {"newEmail": EVE}, headers=ada.session)
        change = steps.local(await steps.last_link(service, "change-email", EVE))
        await trusted_device(service, ada)
        await service.post("/delete-user", headers=ada.session)
        deletion = steps.local(await steps.last_link(service, "delete-account"))

        gone = await service.get(deletion, headers=ada.session)
        newcomer = await join(service)

        assert code(gone) == "200"
        assert not await works(service, ada.session)
        answers = {
            "mailed code": await enter(service, "otp", mailed, bearer(pending)),
            "backup code": await enter(service, "backup-code", ada.backup_codes[0], bearer(pending)),
            "totp": await enter(service, "totp", ada.code(service), cookie(PENDING, pending)),
            "reset": await service.post("/reset-password", {"token": reset, "newPassword": NEW_PASSWORD}),
            "reset page": await service.get(f"/reset-password/{reset}"),
            "verification": await service.get(verification),
            "change": await service.get(change),
            "deletion": await service.get(deletion, headers=newcomer),
        }
        assert {name: code(answer) for name, answer in answers.items()} == {
            "mailed code": "401 INVALID_TWO_FACTOR_COOKIE",
            "backup code": "401 INVALID_TWO_FACTOR_COOKIE",
            "totp": "401 INVALID_TWO_FACTOR_COOKIE",
            "reset": "400 INVALID_TOKEN",
            "reset page": "400 INVALID_TOKEN",
            "verification": "401 INVALID_TOKEN",
            "change": "401 INVALID_TOKEN",
            "deletion": "404 INVALID_TOKEN",
        }
        assert await service.rows("SELECT id FROM trusted_device") == []
        assert await works(service, newcomer)

    async def test_a_namesake_inherits_nothing(self, service: Service) -> None:
        old = await join(service, username="ada_l")
        before = await user_of(service, old)
        await service.post("/delete-user", {"password": PASSWORD}, headers=old)

        new = await join(service, password=NEW_PASSWORD, username="ada_l")

        assert not await works(service, old)
        assert (await user_of(service, new))["id"] != before["id"]
        assert code(await steps.sign_in(service)) == "401 INVALID_EMAIL_OR_PASSWORD"


@pytest.mark.threat("V37")
class TestSignInsDuringRevocation:
    """A revocation crosses sign-ins, and leaves a session that nobody lists."""

    @pytest.mark.both_databases
    async def test_after_the_race_listed_and_usable_are_the_same(self, open_instance: OpenInstance) -> None:
        instances = [await open_instance(), await open_instance()]
        ada = await join(instances[0], username="ada_l")
        turns = zip(cycle(instances), range(20), strict=False)

        *signed_in, revoked = await asyncio.gather(
            *(self.sign_in(service, number) for service, number in turns),
            instances[0].post("/revoke-sessions", headers=ada),
        )

        made = [answer.json()["token"] for answer in signed_in]
        witness = await token_of_new_session(instances[0], ADA)
        listed = (await instances[0].get("/list-sessions", headers=bearer(witness))).json()
        tokens = {session["token"] for session in listed} - {witness}
        usable = [{token for token in made if await works(service, bearer(token))} for service in instances]
        assert usable == [tokens, tokens]
        assert revoked.json()["count"] + len(tokens) == 1 + len(made)
        assert await steps.count(instances[0], Session) == len(listed)

    async def sign_in(self, service: Service, number: int) -> httpx.Response:
        """Sign in by one of the two names, remembered or not."""
        path, who = (
            ("/sign-in/email", {"email": ADA}),
            ("/sign-in/username", {"username": "ada_l"}),
        )[number % 2]
        body = {**who, "password": PASSWORD, "rememberMe": number % 4 < 2}
        answer = await service.post(path, body)
        assert answer.status_code == 200, answer.text
        return answer

    @pytest.mark.both_databases
    @pytest.mark.parametrize("ending", [change_password, reset_password])
    async def test_no_sign_in_with_the_old_password_outlives_it(
        self, open_instance: OpenInstance, ending: Ending
    ) -> None:
        instances = [await open_instance(), await open_instance()]
        ada = token_in(await join(instances[0]))
        turns = zip(cycle(instances), range(16), strict=False)

        signed_in, _ = await asyncio.gather(
            asyncio.gather(*(steps.sign_in(service, ADA) for service, _ in turns)),
            ending(instances[0], ADA, ada, ada),
        )

        assert {code(answer) for answer in signed_in} <= {"200", "401 INVALID_EMAIL_OR_PASSWORD"}
        made = [answer.json()["token"] for answer in signed_in if answer.status_code == 200]
        assert not any([await works(instances[1], bearer(token)) for token in made])
        assert await steps.opens(instances[1], NEW_PASSWORD)


CHANGES: list[Any] = [
    pytest.param(
        "UPDATE account SET password = 'another'", "401 INVALID_EMAIL_OR_PASSWORD", id="another password"
    ),
    pytest.param("DELETE FROM account", "401 INVALID_EMAIL_OR_PASSWORD", id="no password any more"),
    pytest.param('DELETE FROM "user"', "401 INVALID_EMAIL_OR_PASSWORD", id="no user any more"),
    pytest.param('UPDATE "user" SET banned = true, ban_expires = NULL', "403 BANNED_USER", id="a ban"),
    pytest.param(
        'UPDATE "user" SET email_verified = false', "403 EMAIL_NOT_VERIFIED", id="the address unverified"
    ),
    pytest.param('UPDATE "user" SET two_factor_enabled = true', "200", id="a second factor"),
]
"""What happens to who is signing in, and what they are told."""


@pytest.mark.threat("V37")
class TestChangesDuringSignIn:
    """What decides on a sign-in changes while the password is being checked."""

    @pytest.mark.parametrize("was_banned", [False, True], ids=["", "whose ban has ended"])
    @pytest.mark.parametrize(("change", "told"), CHANGES)
    async def test_the_sign_in_goes_by_what_is_true_at_its_end(
        self, make_service: MakeService, change: str, told: str, was_banned: bool
    ) -> None:
        service = await make_service({"email_verification.required": "true", "password.hash_workers": "1"})
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        await steps.set_user(
            service, email_verified=True, banned=was_banned, ban_expires=START if was_banned else None
        )

        answer = await self.sign_in_during(service, change)

        assert code(answer) == told
        assert answer.json().get("user") is None
        assert await steps.count(service, Session) == 0

    async def sign_in_during(self, service: Service, change: str) -> httpx.Response:
        """Sign in while the one thread that hashes is kept busy until the database has changed."""
        hasher, free = service.services.hasher, threading.Event()
        busy = asyncio.create_task(hasher._threads.run(free.wait))
        signing_in = asyncio.create_task(steps.sign_in(service))
        async with asyncio.timeout(60):
            while not hasher.state().waiting:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
        await steps.execute(service, change)
        free.set()
        await busy
        return await signing_in


@pytest.mark.threat("V38")
class TestManyUsersInOneBrowser:
    """One browser, many users: a session of an earlier user is found for a later one."""

    async def test_the_browser_is_always_who_signed_in_last(self, make_service: MakeService) -> None:
        service = await make_service(UNLIMITED)
        emails = [f"user{number}@example.com" for number in range(20)]
        for email in emails:
            await join(service, email)
        service.client.cookies.clear()
        chosen, browser = random.Random(38), Browser(service)
        expected: str | None = None

        for _ in range(200):
            if expected is not None and chosen.random() < 0.3:
                left = browser.jar[SESSION]
                await browser.post("/sign-out")
                assert await browser.whoami() is None
                assert not await works(service, bearer(left))
            expected = chosen.choice(emails)
            await browser.post("/sign-in/email", {"email": expected, "password": PASSWORD})
            assert await browser.whoami() == expected

    async def test_no_session_id_or_token_is_given_out_twice(self, make_service: MakeService) -> None:
        service = await make_service(UNLIMITED)
        await join(service)

        tokens = [await token_of_new_session(service, ADA) for _ in range(50)]

        assert len(set(tokens)) == 50
        assert await steps.count(service, Session) == 51


@pytest.mark.threat("V40")
class TestListOfSessions:
    """The list of sessions gives a thief of one session the tokens of all others."""

    @pytest.mark.parametrize("listed_before", [False, True])
    async def test_what_is_listed_for_another_session_opens_nothing(
        self, open_instance: OpenInstance, listed_before: bool
    ) -> None:
        """The setting counts from the next start on, for sessions that were made before it, too."""
        before = await open_instance({} if listed_before else {"session.list_tokens": "false"})
        stolen = token_in(await join(before))
        others = [await token_of_new_session(before, ADA) for _ in range(3)]
        service = await open_instance({"session.list_tokens": "false"})

        listed = (await service.get("/list-sessions", headers=bearer(stolen))).json()

        shown = {session["token"] for session in listed}
        assert len(shown) == 4
        assert shown.isdisjoint(others)
        assert stolen in shown
        for text in shown - {stolen}:
            for value in (text, text.removeprefix("rvk_")):
                assert [await works(service, headers) for headers in carried(value)] == [False, False]
        assert all([await works(service, bearer(token)) for token in others])

    async def test_no_copy_of_a_token_is_kept(self, make_service: MakeService) -> None:
        service = await make_service({"session.list_tokens": "false"})

        await join(service)

        assert [row.token_copy for row in await service.rows("SELECT token_copy FROM session")] == [None]

    async def test_the_handle_ends_the_session_of_its_owner_alone(self, make_service: MakeService) -> None:
        service = await make_service({"session.list_tokens": "false"})
        ada, eve = await join(service), await join(service, EVE)
        other = await token_of_new_session(service, ADA)
        listed = (await service.get("/list-sessions", headers=ada)).json()
        [handle] = {session["token"] for session in listed} - {token_in(ada)}

        foreign = await service.post("/revoke-session", {"token": handle}, headers=eve)
        still = await works(service, bearer(other))
        own = await service.post("/revoke-session", {"token": handle}, headers=ada)

        assert foreign.json() == own.json() == {"success": True, "status": True}
        assert still
        assert not await works(service, bearer(other))


@pytest.mark.threat("V41")
class TestShadowingCookies:
    """A cookie of another name, which a sub-domain may set, shadows the one with the protected name."""

    @pytest.fixture
    async def renamed(self, make_service: MakeService) -> Service:
        """A service whose session cookie has a protected name."""
        return await make_service({"session.cookie_name": RENAMED})

    @pytest.mark.parametrize(
        "shadow",
        [
            SESSION,
            "session-token",
            "__Secure-session-token",
            "__host-session-token",
            f"x{RENAMED}",
            f"{RENAMED}x",
        ],
    )
    async def test_only_the_configured_name_counts(self, renamed: Service, shadow: str) -> None:
        ada, eve = token_in(await join(renamed)), token_in(await join(renamed, EVE))
        renamed.client.cookies.clear()
        pairs = [f"{shadow}={eve}", f"{RENAMED}={ada}"]

        alone = await renamed.get("/get-session", headers=cookie(shadow, eve))
        beside = [
            await user_of(renamed, {"Cookie": separator.join(order)})
            for order in (pairs, pairs[::-1])
            for separator in ("; ", ";")
        ]

        assert code(alone) == "401 UNAUTHORIZED"
        assert [user["email"] for user in beside] == [ADA] * 4

    async def test_two_of_the_right_name_are_none(self, renamed: Service) -> None:
        ada, eve = token_in(await join(renamed)), token_in(await join(renamed, EVE))
        renamed.client.cookies.clear()

        answers = [
            await renamed.get("/get-session", headers={"Cookie": f"{RENAMED}={one}; {RENAMED}={two}"})
            for one, two in ((ada, eve), (eve, ada), (ada, ""), ("x", ada))
        ]

        assert {code(answer) for answer in answers} == {"401 UNAUTHORIZED"}

    async def test_the_protected_name_is_what_is_set(self, renamed: Service) -> None:
        await join(renamed)

        answer = await steps.sign_in(renamed)

        [line] = answer.headers.get_list("set-cookie")
        assert line.startswith(f"{RENAMED}=")
        assert {"Secure", "Path=/"} <= set(line.split("; "))
        assert "Domain" not in line


@pytest.mark.threat("V42")
class TestCachesAndCookies:
    """An answer with a secret is kept by a cache, or sets a cookie twice so that the wrong one wins."""

    async def test_no_answer_of_a_whole_life_is_stored_or_sets_a_cookie_twice(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**UNLIMITED, **BY_MAIL})
        seen: list[httpx.Response] = []

        async def see(answer: httpx.Response) -> None:
            await answer.aread()
            seen.append(answer)

        service.client.event_hooks = {"response": [see]}
        try:
            await self.live(service)
        finally:
            service.client.event_hooks = {"response": []}

        assert {answer.status_code for answer in seen} >= {200, 302, 400, 401, 404, 405, 413, 415}
        assert {answer.headers.get_list("cache-control", split_commas=False)[0] for answer in seen} == {
            "no-store"
        }
        assert all(len(answer.headers.get_list("cache-control")) == 1 for answer in seen)
        assert {name for answer in seen for name in set_cookies(answer)} == {SESSION, PENDING, TRUST}

    async def live(self, service: Service) -> None:
        """Take a user through every operation that hands out a secret, and through refusals beside."""
        ada = await enrol(service)
        by_cookie = cookie(SESSION, token_in(ada.session))
        await self.look_around(service, ada)
        await trusted_device(service, ada)
        await steps.reset_token(service)
        link = await steps.last_link(service, "reset-password")
        await service.get(steps.local(link))
        await service.get(steps.local(link), params={"callbackURL": "/next"})
        await service.get("/get-session")
        await service.get("/get-session", headers=cookie(SESSION, "x" * 32))
        await service.post("/sign-in/email")
        await service.get("/nope")
        await service.get("/sign-in/email")
        await service.client.post("/sign-in/email", content=b"x" * 70_000)
        await service.client.post("/sign-in/email", content=b"a=b", headers={"Content-Type": "text/plain"})
        for path, body in (
            ("/update-user", {"name": "Ada L"}),
            (
                "/change-password",
                {"currentPassword": PASSWORD, "newPassword": PASSWORD, "revokeOtherSessions": True},
            ),
        ):
            service.clock.advance(days=2)
            await service.post(path, body, headers=by_cookie)
        again = bearer(await second_factor.challenge(service))
        answer = await enter(service, "totp", ada.code(service), again)
        by_cookie = cookie(SESSION, answer.json()["token"])
        service.clock.advance(days=2)
        await service.post("/sign-out", headers=by_cookie)

    async def look_around(self, service: Service, ada: Owner) -> None:
        """Ask for everything that is shown to who is signed in."""
        for path in ("/get-session", "/list-sessions", "/list-accounts"):
            await service.get(path, headers=ada.session)
        for path in ("get-totp-uri", "generate-backup-codes"):
            answer = await service.post(f"/two-factor/{path}", {"password": PASSWORD}, headers=ada.session)
            assert answer.status_code == 200
            ada.backup_codes[:] = answer.json().get("backupCodes", ada.backup_codes)
        await service.post("/two-factor/send-otp", headers=ada.session)
        await service.post("/delete-user", headers=ada.session)

    async def test_an_extension_and_the_answer_set_the_cookie_once(self, service: Service) -> None:
        """The answer's own cookie counts: the new session of a password change, or its end."""
        for path, body in (
            (
                "/change-password",
                {"currentPassword": PASSWORD, "newPassword": PASSWORD, "revokeOtherSessions": True},
            ),
            ("/revoke-sessions", {}),
            ("/sign-out", {}),
            ("/delete-user", {"password": PASSWORD}),
        ):
            ada = await join(service, f"{path.strip('/')}@example.com")
            service.clock.advance(days=2)

            answer = await service.post(path, body, headers=cookie(SESSION, token_in(ada)))

            assert answer.status_code == 200
            assert set_cookies(answer) == {SESSION: answer.json().get("token", "")}
        assert await steps.count(service, User) == 3
