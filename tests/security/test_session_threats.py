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
from models import BackupCode, OneTimeToken, Session, TrustedDevice, TwoFactor, User
from tests.conftest import Headers, MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, bearer, code, join, token_of, user_of, works
from tests.handlers.test_inputs import example_of, protected
from tests.security import second_factor
from tests.security.conftest import UNLIMITED, OpenInstance
from tests.security.second_factor import (
    PENDING,
    SESSION,
    cookie,
    enrol,
    enter,
    set_cookies,
    trusted_device,
)
from tests.service import PASSWORD, START, Service

BY_MAIL = {"delete_user.confirm_by_mail": "true"}
RENAMED = "__Host-session-token"


def by_cookie(token: str) -> Headers:
    return cookie(SESSION, token)


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

    @pytest.mark.threat("R21", "V22", "V36")
    async def test_an_ended_session_is_dead_everywhere_and_after_a_restart_and_no_other_is(
        self, open_instance: OpenInstance
    ) -> None:
        here, there = await open_instance(), await open_instance()
        ended, others = {}, {}
        for name, ending in ENDINGS.items():
            email = f"{name.replace('_', '-')}@example.com"
            await join(here, email)
            token, other = [await token_of_new_session(here, email) for _ in range(2)]
            assert [await works(service, bearer(token)) for service in (here, there)] == [True, True]
            await ending(here, email, token, other)
            ended[name], others[name] = token, other

        restarted = await open_instance()
        for name, token in ended.items():
            for service in (here, restarted):
                assert not await works(service, bearer(token)), name
                assert not await works(service, by_cookie(token)), name
            assert await refused_everywhere(there, bearer(token)), name
        left = {name for name, other in others.items() if await works(there, bearer(other))}
        assert left == {"sign_out", "revoke", "revoke_others"}

    @pytest.mark.both_databases
    async def test_an_extension_does_not_bring_it_back(self, service: Service) -> None:
        ada = await join(service)
        other = bearer(await token_of_new_session(service, ADA))
        service.clock.advance(days=2)

        await asyncio.gather(
            *(service.get("/get-session", headers=ada) for _ in range(5)),
            service.post("/revoke-session", {"token": token_of(ada)}, headers=other),
            *(service.get("/get-session", headers=ada) for _ in range(5)),
        )

        assert not await works(service, ada)
        assert await steps.count(service, Session) == 1


OF_A_USER = (Session, OneTimeToken, TwoFactor, BackupCode, TrustedDevice)


@pytest.mark.threat("V36")
async def test_nothing_outlives_its_user(make_service: MakeService) -> None:
    """Neither for who finds it, nor for a newcomer of the same names."""
    service = await make_service({**UNLIMITED, **BY_MAIL})
    ada = await enrol(service, username="ada_l")
    before = await user_of(service, ada.session)
    pending = await second_factor.challenge(service)
    mailed = await second_factor.mailed_code(service, bearer(pending))
    reset = await steps.reset_token(service)
    verification = steps.local(await steps.last_link(service, "verify-email"))
    await service.post("/change-email", {"newEmail": EVE}, headers=ada.session)
    change = steps.local(await steps.last_link(service, "change-email", EVE))
    await trusted_device(service, ada)
    await second_factor.begin(service, ada.session)
    await service.post("/delete-user", headers=ada.session)
    deletion = steps.local(await steps.last_link(service, "delete-account"))

    gone = await service.get(deletion, headers=ada.session)
    kept = [await steps.count(service, table) for table in OF_A_USER]
    newcomer = await join(service, password=NEW_PASSWORD, username="ada_l")

    assert (code(gone), kept) == ("200", [0] * len(OF_A_USER))
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
        "password": await steps.sign_in(service),
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
        "password": "401 INVALID_EMAIL_OR_PASSWORD",
    }
    assert (await user_of(service, newcomer))["id"] != before["id"]


@pytest.mark.threat("V37")
class TestSignInsDuringRevocation:
    """A revocation crosses sign-ins, and leaves a session that nobody lists."""

    @pytest.mark.both_databases
    @pytest.mark.parametrize(("path", "kept"), [("/revoke-sessions", 0), ("/revoke-other-sessions", 1)])
    async def test_after_the_race_listed_and_usable_are_the_same(
        self, open_instance: OpenInstance, path: str, kept: int
    ) -> None:
        instances = [await open_instance(), await open_instance()]
        ada = await join(instances[0], username="ada_l")
        turns = zip(cycle(instances), range(12), strict=False)

        *signed_in, revoked = await asyncio.gather(
            *(self.sign_in(service, number) for service, number in turns),
            instances[0].post(path, headers=ada),
        )

        made = [answer.json()["token"] for answer in signed_in]
        witness = await token_of_new_session(instances[0], ADA)
        listed = (await instances[0].get("/list-sessions", headers=bearer(witness))).json()
        tokens = {session["token"] for session in listed} - {witness, token_of(ada)}
        usable = [{token for token in made if await works(service, bearer(token))} for service in instances]
        assert usable == [tokens, tokens]
        assert await works(instances[1], ada) == bool(kept)
        assert kept + revoked.json()["count"] + len(tokens) == 1 + len(made)
        assert await steps.count(instances[0], Session) == len(listed) == kept + 1 + len(tokens)

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
        ada = token_of(await join(instances[0]))
        turns = zip(cycle(instances), range(16), strict=False)

        signed_in, _ = await asyncio.gather(
            asyncio.gather(*(steps.sign_in(service, ADA) for service, _ in turns)),
            ending(instances[0], ADA, ada, ada),
        )

        assert {code(answer) for answer in signed_in} <= {"200", "401 INVALID_EMAIL_OR_PASSWORD"}
        made = [answer.json()["token"] for answer in signed_in if answer.status_code == 200]
        assert not any([await works(instances[1], bearer(token)) for token in made])
        assert await steps.opens(instances[1], NEW_PASSWORD)


WRONG = "401 INVALID_EMAIL_OR_PASSWORD"
BANNED = 'UPDATE "user" SET banned = true, ban_expires = NULL'
CHANGES: list[Any] = [
    pytest.param(change, told, was_banned, id=name)
    for name, change, told, was_banned in (
        ("another password", "UPDATE account SET password = 'another'", WRONG, False),
        ("no password any more", "DELETE FROM account", WRONG, False),
        ("no user any more", 'DELETE FROM "user"', WRONG, False),
        ("a ban", BANNED, "403 BANNED_USER", False),
        ("a ban after one that has ended", BANNED, "403 BANNED_USER", True),
        (
            "the address unverified",
            'UPDATE "user" SET email_verified = false',
            "403 EMAIL_NOT_VERIFIED",
            False,
        ),
        ("a second factor", 'UPDATE "user" SET two_factor_enabled = true', "200", False),
    )
]
"""What happens to who is signing in, what they are told, and whether they were banned until now."""


@pytest.mark.threat("V37")
class TestChangesDuringSignIn:
    """What decides on a sign-in changes while the password is being checked."""

    @pytest.mark.parametrize(("change", "told", "was_banned"), CHANGES)
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
async def test_the_browser_is_always_who_signed_in_last(make_service: MakeService) -> None:
    """One browser, many users: no session of an earlier user is found for a later one."""
    service = await make_service(UNLIMITED)
    emails = [f"user{number}@example.com" for number in range(20)]
    for email in emails:
        await join(service, email)
    service.client.cookies.clear()
    chosen, browser = random.Random(38), Browser(service)
    given: list[str] = []

    for _ in range(60):
        if given and chosen.random() < 0.3:
            await browser.post("/sign-out")
            assert await browser.whoami() is None
            assert not await works(service, bearer(given[-1]))
        expected = chosen.choice(emails)
        await browser.post("/sign-in/email", {"email": expected, "password": PASSWORD})
        assert await browser.whoami() == expected
        given.append(browser.jar[SESSION])

    assert len(set(given)) == len(given)


@pytest.mark.threat("V40")
async def test_what_is_listed_for_another_session_opens_nothing(open_instance: OpenInstance) -> None:
    """The setting counts from the next start on, for sessions that were made before it, too."""
    before = await open_instance()
    stolen = token_of(await join(before))
    others = [await token_of_new_session(before, ADA) for _ in range(3)]
    service = await open_instance({"session.list_tokens": "false"})

    listed = (await service.get("/list-sessions", headers=bearer(stolen))).json()

    shown = {session["token"] for session in listed}
    assert len(shown) == 4
    assert shown.isdisjoint(others)
    assert stolen in shown
    for text in shown - {stolen}:
        for value in (text, text.removeprefix("rvk_")):
            assert not await works(service, bearer(value))
            assert not await works(service, by_cookie(value))
    assert all([await works(service, bearer(token)) for token in others])


@pytest.mark.threat("V41")
async def test_no_cookie_of_another_name_shadows_the_one_with_a_protected_name(
    make_service: MakeService,
) -> None:
    """A sub-domain may set such cookies."""
    service = await make_service({"session.cookie_name": RENAMED})
    ada, eve = token_of(await join(service)), token_of(await join(service, EVE))
    [given] = (await steps.sign_in(service)).headers.get_list("set-cookie")
    service.client.cookies.clear()

    assert given.startswith(f"{RENAMED}=")
    assert {"Secure", "Path=/"} <= set(given.split("; "))
    assert "Domain" not in given
    for shadow in (SESSION, "session-token", "__host-session-token", f"x{RENAMED}", f"{RENAMED}x"):
        pairs = [f"{shadow}={eve}", f"{RENAMED}={ada}"]
        alone = await service.get("/get-session", headers=cookie(shadow, eve))
        assert code(alone) == "401 UNAUTHORIZED", shadow
        for line in ("; ".join(pairs), "; ".join(pairs[::-1]), ";".join(pairs)):
            assert (await user_of(service, {"Cookie": line}))["email"] == ADA, line
    for one, two in ((ada, eve), (eve, ada)):
        pair = {"Cookie": f"{RENAMED}={one}; {RENAMED}={two}"}
        assert not await works(service, pair), pair


@pytest.mark.threat("V42")
async def test_an_extension_and_the_answer_set_the_cookie_once(service: Service) -> None:
    """The answer's own cookie counts: the new session of a password change, or its end.

    That no cache may keep an answer, the client of all tests demands (tests/contract/conformance.py).
    """
    renewing = {"currentPassword": PASSWORD, "newPassword": PASSWORD, "revokeOtherSessions": True}
    for path, body in (
        ("/change-password", renewing),
        ("/revoke-sessions", {}),
        ("/sign-out", {}),
        ("/delete-user", {"password": PASSWORD}),
    ):
        ada = await join(service, f"{path.strip('/')}@example.com")
        service.clock.advance(days=2)

        answer = await service.post(path, body, headers=by_cookie(token_of(ada)))

        assert answer.status_code == 200
        assert set_cookies(answer) == {SESSION: answer.json().get("token", "")}
    assert await steps.count(service, User) == 3
