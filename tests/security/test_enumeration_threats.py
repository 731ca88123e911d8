"""The rows V70 to V72: who is registered must not show, neither in answers nor in the work they cost; and no password
may make a request cost more than a request."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import httpx
import pytest

from domain.ports import Hasher, Reads
from models import OneTimeToken, Outbox
from models.queries import ReadStatement
from server.components.cleanup import delete_expired
from tests.conftest import Headers, MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, code, join, looks
from tests.labs.provider import steps as social_steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.steps import as_user, sign_in_directly
from tests.processor import processor_seconds
from tests.security.conftest import UNLIMITED, OpenInstance
from tests.security.mailing import by_smtp
from tests.service import PASSWORD, Service
from tests.smtp_peer import HOST, Mood, SmtpPeer

Result = TypeVar("Result")
Other = TypeVar("Other")

UNKNOWN = "bob@example.com"
"""Of the length of Ada's address, and nobody's."""
NO_SESSION = {"sign_up.auto_sign_in": "false"}
"""Where sign-up makes no session, it does not tell either."""
MANY_MAILS = {
    f"limits.{mails}_{time}": "1000" for mails in ("mail", "sign_in_mail") for time in ("burst", "daily")
}
NO_NEW_USERS = {"magic_links.sign_up": "false", "email_codes.sign_up": "false"}
"""Where links and codes create users, strangers get mails, too."""


@dataclass(frozen=True, slots=True)
class Question:
    """One way to ask whether somebody is registered: an operation, and its body for an identifier."""

    path: str
    known: dict[str, Any]
    unknown: dict[str, Any]
    settings: dict[str, str] = field(default_factory=dict)
    by_owner: bool = False
    """Whether only somebody signed in may ask."""

    async def ask(self, service: Service, known: bool, headers: Headers) -> httpx.Response:
        """Ask, with the session of somebody else if need be."""
        body = self.known if known else self.unknown
        return await service.post(self.path, body, headers=headers if self.by_owner else {})


def _question(
    path: str, key: str = "email", *, known: str = ADA, unknown: str = UNKNOWN, **more: Any
) -> Question:
    own = {name: more.pop(name) for name in ("settings", "by_owner") if name in more}
    return Question(path, {key: known, **more}, {key: unknown, **more}, **own)


QUESTIONS = {
    "sign-in": _question("/sign-in/email", password=NEW_PASSWORD),
    "sign-in, other case": _question("/sign-in/email", known=ADA.upper(), password=NEW_PASSWORD),
    "sign-in by name": _question(
        "/sign-in/username", "username", known="ada_l", unknown="bob_l", password=NEW_PASSWORD
    ),
    "sign-up": _question("/sign-up/email", name="Eve", password=NEW_PASSWORD, settings=NO_SESSION),
    "sign-up, refused": _question("/sign-up/email", name="Eve", password="x", settings=NO_SESSION),
    "reset": _question("/request-password-reset", redirectTo="/next"),
    "forgot": _question("/forget-password"),
    "verification": _question("/send-verification-email", callbackURL="/next"),
    "change of address": _question("/change-email", "newEmail", by_owner=True),
    "sign-in link": _question("/sign-in/magic-link", settings=NO_NEW_USERS),
    "sign-in code": _question("/email-otp/send-verification-otp", type="sign-in", settings=NO_NEW_USERS),
}  # fmt: skip

MAILED = ["reset", "forgot", "verification", "change of address", "sign-in link", "sign-in code"]


async def settle(service: Service) -> Headers:
    """Make Ada, who is unverified, and Eve, who is verified and asks; give Eve's session."""
    await service.post(
        "/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD, "username": "ada_l"}
    )
    await service.post("/sign-up/email", {"name": "Eve", "email": EVE, "password": PASSWORD})
    await steps.set_user(service, EVE, email_verified=True)
    eve = await steps.sign_in(service, EVE)
    service.client.cookies.clear()
    return steps.bearer(eve.json()["token"])


async def _rows(service: Service) -> dict[str, int]:
    return {"outbox": await steps.count(service, Outbox), "grant": await steps.count(service, OneTimeToken)}


def alike(one: httpx.Response, other: httpx.Response) -> bool:
    """Return whether two answers have the same status, headers and body, keys in the same order.

    Of an invented user the id is as random as a real one's, and the address is the one that was sent.
    """
    return _impersonal(one) == _impersonal(other)


def _impersonal(answer: httpx.Response) -> tuple[int, str, list[tuple[str, str]]]:
    status, text, headers = looks(answer)
    user = answer.json().get("user")
    if user is not None:
        assert len(user["id"]) == 32
        text = text.replace(user["id"], "<id>").replace(json.dumps(user["email"]), '"<address>"')
    return status, text, [(name, value) for name, value in headers if name != "content-length"]


@pytest.fixture(scope="module")
def absent() -> Iterator[int]:
    """A port on which nobody listens, and which nobody else takes."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        yield taken.getsockname()[1]


@pytest.mark.threat("V70")
class TestWhoIsRegistered:
    """A stranger learns who is registered from status, body, headers, a failing mail or a limit."""

    @pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
    async def test_known_and_unknown_are_answered_alike_beyond_every_limit_too(
        self, make_service: MakeService, question: Question
    ) -> None:
        """More often than failures, mails and mailed addresses are allowed by default."""
        service = await make_service(question.settings)
        eve = await settle(service)

        answers = [[await question.ask(service, known, eve) for _ in range(12)] for known in (True, False)]
        await service.inbox()

        assert all(alike(known, unknown) for known, unknown in zip(*answers, strict=True))
        assert code(answers[0][0]) != "500 INTERNAL_SERVER_ERROR"

    @pytest.mark.parametrize("name", ["sign-up", *MAILED])
    async def test_so_they_are_while_mail_fails(
        self, make_service: MakeService, absent: int, name: str
    ) -> None:
        question = QUESTIONS[name]
        service = await make_service(
            {**question.settings, **by_smtp(absent), "email_verification.send_on_sign_up": "false"}
        )
        eve = await settle(service)

        answers = []
        for known in (True, False):
            answers.append(await question.ask(service, known, eve))
            await service.services.worker.drain()

        assert alike(*answers)
        assert await service.rows("SELECT template FROM outbox WHERE last_error IS NOT NULL")

    async def test_only_the_right_password_tells_of_a_ban_or_a_missing_proof(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"email_verification.required": "true"})
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        unverified = await steps.sign_in(service, password=NEW_PASSWORD)
        right = await steps.sign_in(service)
        await steps.set_user(service, banned=True)
        banned = await steps.sign_in(service, password=NEW_PASSWORD)
        await steps.remove_passwords(service)
        without_password = await steps.sign_in(service, password=NEW_PASSWORD)

        unknown = await steps.sign_in(service, UNKNOWN, NEW_PASSWORD)

        assert code(right) == "403 EMAIL_NOT_VERIFIED"
        assert [looks(answer) for answer in (unverified, banned, without_password)] == [looks(unknown)] * 3

    async def test_a_used_and_an_invented_token_look_alike(self, service: Service) -> None:
        await join(service)
        token = await steps.reset_token(service)
        await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})

        used, invented = [
            [
                await service.post("/reset-password", {"token": value, "newPassword": PASSWORD}),
                await service.get(f"/reset-password/{value}"),
                await service.get("/verify-email", params={"token": value}),
            ]
            for value in (token, steps.UNKNOWN)
        ]

        assert [looks(answer) for answer in used] == [looks(answer) for answer in invented]

    @pytest.mark.parametrize(
        ("spoiled", "refused"),
        [
            ({"aud": "another"}, "401 INVALID_TOKEN"),
            ({"iss": "https://issuer.example.com"}, "401 INVALID_TOKEN"),
            ({"exp": 1}, "401 INVALID_TOKEN"),
            ({"sub": None}, "401 FAILED_TO_GET_USER_INFO"),
            ({"email": None}, "401 USER_EMAIL_NOT_FOUND"),
        ],
    )
    async def test_an_id_token_that_proves_nothing_tells_nothing_about_whom_it_names(
        self, social: Service, provider: ProviderProcess, spoiled: dict[str, Any], refused: str
    ) -> None:
        """With a password only, by this very provider, and nobody's."""
        await join(social)
        as_user(provider, EVE, "1003")
        await social_steps.sign_in(social)
        named = ({"sub": "7", "email": ADA}, {"sub": "1003", "email": EVE}, {"sub": "8", "email": UNKNOWN})

        answers = [
            await sign_in_directly(social, provider.mint(claims={**claims, **spoiled})) for claims in named
        ]

        assert [code(answer) for answer in answers] == [refused] * 3
        assert looks(answers[0]) == looks(answers[1]) == looks(answers[2])

    async def test_nor_does_the_way_to_a_provider(self, social: Service) -> None:
        await join(social)

        answers = [await social_steps.ask(social, loginHint=address) for address in (ADA, UNKNOWN)]

        urls = [httpx.URL(answer.json()["url"]) for answer in answers]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert [list(answer.headers) for answer in answers] == [list(answers[0].headers)] * 2
        assert [list(url.params) for url in urls] == [list(urls[0].params)] * 2


@dataclass
class Work:
    """What requests cost: each hash by its kind, each look-up and each statement by its text."""

    done: list[str] = field(default_factory=list)

    def take(self) -> list[str]:
        """Return what was done since the last look."""
        done, self.done = self.done, []
        return done


@dataclass
class CountingHasher:
    """A hasher that notes what it is asked for and lets the real one do it."""

    real: Hasher
    work: Work
    meanwhile: Callable[[], Awaitable[None]] | None = None
    """Awaited during every hash."""

    @property
    def hash_params(self) -> str:
        return self.real.hash_params

    def admission(self) -> AbstractAsyncContextManager[None]:
        return self.real.admission()

    async def hash(self, password: str) -> str:
        self.work.done.append("hash")
        if self.meanwhile is not None:
            await self.meanwhile()
        return await self.real.hash(password)

    async def verify(self, password: str, hashed: str | None) -> bool:
        self.work.done.append("verify")
        return await self.real.verify(password, hashed)

    async def hash_code(self, code: str, salt: bytes, derivation: str) -> bytes:
        self.work.done.append("derive")
        return await self.real.hash_code(code, salt, derivation)

    def needs_rehash(self, hashed: str) -> bool:
        return self.real.needs_rehash(hashed)


@dataclass
class CountingReads:
    """Reads that are noted."""

    real: Reads
    work: Work

    async def one(self, query: ReadStatement[Result], value: object) -> Result | None:
        self.work.done.append(f"read {query.statement}")
        return await self.real.one(query, value)

    async def two(
        self, first: ReadStatement[Result], value: object, second: ReadStatement[Other], other: object
    ) -> tuple[Result | None, Other | None]:
        self.work.done += (f"read {query.statement}" for query in (first, second))
        return await self.real.two(first, value, second, other)

    async def each(self, query: ReadStatement[Result], values: Sequence[object]) -> list[Result | None]:
        self.work.done.append(f"read {len(values)} times {query.statement}")
        return await self.real.each(query, values)

    async def all(self, query: ReadStatement[Result], value: object) -> list[Result]:
        self.work.done.append(f"read {query.statement}")
        return await self.real.all(query, value)


@contextmanager
def counted(service: Service, while_hashing: Callable[[], Awaitable[None]] | None = None) -> Iterator[Work]:
    """Note the work of a service; its requests are given a hasher and reads that count."""
    work = Work()
    services = service.services
    reads = services.database.reads
    services.port.add(Hasher, CountingHasher(services.hasher, work, while_hashing))
    services.database.reads = CountingReads(reads, work)

    def note(statement: str, _: Sequence[object]) -> AbstractContextManager[None]:
        work.done.append(statement)
        return nullcontext()

    services.database.hook = note
    try:
        yield work
    finally:
        services.database.hook = None
        services.port.add(Hasher, services.hasher)
        services.database.reads = reads


@pytest.fixture
async def costly(make_service: MakeService) -> Service:
    """A service whose hashes are most of the work of a request: about a tenth of a second of one processor."""
    return await make_service({**UNLIMITED, "password.argon2_time": "100"})


@pytest.mark.threat("V71")
class TestTiming:
    """The time of an answer tells who is registered, because a hash or a mail is skipped for who is not."""

    @pytest.mark.threat("M13")
    @pytest.mark.parametrize("name", ["sign-in", "sign-in by name", *MAILED])
    async def test_known_and_unknown_cost_the_same_statements(
        self, make_service: MakeService, name: str
    ) -> None:
        question = QUESTIONS[name]
        service = await make_service({**UNLIMITED, **question.settings})
        eve = await settle(service)
        # Who guesses does not live with the guessed.
        await steps.execute(service, "DELETE FROM known_network")

        with counted(service) as work:
            for known in (True, False):  # What is prepared once must not count.
                await question.ask(service, known, eve)
            work.take()
            await question.ask(service, True, eve)
            known_work = work.take()
            await question.ask(service, False, eve)
            unknown_work = work.take()

        assert known_work == unknown_work
        assert known_work
        assert known_work.count("verify") == (0 if name in MAILED else 1)

    @pytest.mark.threat("M13")
    @pytest.mark.parametrize("name", MAILED)
    async def test_what_follows_in_the_background_costs_the_same(
        self, make_service: MakeService, name: str
    ) -> None:
        """But for the last statement: a mail that was sent is noted, one that is for nobody is deleted."""
        question = QUESTIONS[name]
        service = await make_service({**UNLIMITED, **MANY_MAILS, **question.settings})
        eve = await settle(service)

        with counted(service) as work:
            for known in (True, False):
                await question.ask(service, known, eve)
                await service.inbox()
            mails = len(await service.inbox())
            work.take()
            done = []
            for known in (True, False):
                await question.ask(service, known, eve)
                await service.inbox()
                done.append(Counter(work.take()))

        deleted, noted = sorted([*(done[0] - done[1]), *(done[1] - done[0])])
        assert deleted.startswith("DELETE FROM outbox")
        assert noted.startswith("UPDATE outbox SET")
        assert len(await service.inbox()) == mails + 1

    async def test_what_is_done_for_nobody_leaves_nothing(self, make_service: MakeService) -> None:
        service = await make_service({**UNLIMITED, **MANY_MAILS})
        eve = await settle(service)
        await service.inbox()
        before = await _rows(service)

        for number in range(5):
            for path in ("/forget-password", "/send-verification-email"):
                await service.post(path, {"email": f"nobody{number}@example.com"})
            await service.post("/change-email", {"newEmail": ADA}, headers=eve)
        mails = await service.inbox()
        await delete_expired(service.services.database, service.clock())

        after = await _rows(service)
        assert after["outbox"] == before["outbox"]
        # The caller keeps one for the address that was asked for last.
        assert after["grant"] == before["grant"] + 1
        assert {mail["to"] for mail in mails} == {ADA, EVE}

    async def test_what_is_for_nobody_is_not_tried_again_while_mail_fails(
        self, make_service: MakeService, absent: int
    ) -> None:
        service = await make_service(by_smtp(absent))

        await service.post("/forget-password", {"email": UNKNOWN})
        await service.services.worker.drain()

        assert await service.rows("SELECT id FROM outbox") == []

    @pytest.mark.parametrize("notify", ["true", "false"])
    @pytest.mark.parametrize("verify", ["true", "false"])
    async def test_sign_up_files_as_many_mails_for_a_new_address_as_for_a_taken_one(
        self, make_service: MakeService, notify: str, verify: str
    ) -> None:
        service = await make_service(
            {
                **UNLIMITED,
                **NO_SESSION,
                "sign_up.notify_existing": notify,
                "email_verification.send_on_sign_up": verify,
            }
        )
        await steps.join_without_session(service, ADA)
        await service.inbox()

        filed = []
        for email in (ADA, UNKNOWN):
            await steps.join_without_session(service, email)
            filed.append(len(await service.rows("SELECT id FROM outbox WHERE state = 'queued'")))
            await service.inbox()

        assert filed == [int("true" in (notify, verify))] * 2
        sent = [mail["template"] for mail in await service.inbox()]
        assert sent.count("existing-account") == int(notify == "true")
        assert sent.count("verify-email") == 2 * int(verify == "true")

    async def test_sign_up_hashes_for_a_taken_address_too(self, make_service: MakeService) -> None:
        service = await make_service({**UNLIMITED, **NO_SESSION})
        eve = await settle(service)

        with counted(service) as work:
            hashes = []
            for known in (True, False):
                await QUESTIONS["sign-up"].ask(service, known, eve)
                hashes.append(work.take().count("hash"))

        assert hashes == [1, 1]

    async def test_a_hash_is_computed_where_there_is_none_to_compare_with(self, costly: Service) -> None:
        """In seconds of processor time: the dummy costs what a real one costs, give or take half."""
        ada = await join(costly, username="ada_l")
        wrong = {"password": NEW_PASSWORD}
        asked: dict[str, Callable[[], Any]] = {
            "known": lambda: costly.post("/sign-in/email", {"email": ADA, **wrong}),
            "unknown": lambda: costly.post("/sign-in/email", {"email": UNKNOWN, **wrong}),
            "unknown name": lambda: costly.post("/sign-in/username", {"username": "bob_l", **wrong}),
            "no password": lambda: costly.post("/sign-in/email", {"email": ADA, **wrong}),
            "caller without one": lambda: costly.post("/verify-password", wrong, headers=ada),
            "change without one": lambda: costly.post(
                "/change-password", {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}, headers=ada
            ),
            **{
                f"{name} without one": partial(costly.post, f"/two-factor/{name}", wrong, headers=ada)
                for name in ("enable", "disable", "get-totp-uri", "generate-backup-codes")
            },
        }

        seconds = {}
        for name, ask in asked.items():
            if name == "no password":
                await steps.remove_passwords(costly)
            with processor_seconds() as spent:
                answers = [await ask() for _ in range(2)]
                seconds[name] = spent()
            assert {answer.status_code for answer in answers} <= {400, 401}

        least = seconds["known"] / 2
        assert {name for name, spent in seconds.items() if spent < least} == set(), seconds

    async def test_no_answer_waits_for_the_mail(self, open_instance: OpenInstance) -> None:
        peer = SmtpPeer()
        await peer.start()
        peer.mood = Mood.STALL
        service = await open_instance(by_smtp(peer.port))
        await steps.execute(service, "DELETE FROM outbox")
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        await steps.execute(service, "DELETE FROM outbox")
        service.services.worker.start()

        async with asyncio.timeout(10):
            first = await QUESTIONS["forgot"].ask(service, True, {})
            await peer.asked.wait()
            while_it_hangs = [await QUESTIONS["reset"].ask(service, known, {}) for known in (True, False)]
        has_answered = peer.released.is_set()

        peer.mood = Mood.ACCEPT
        peer.released.set()
        await service.services.worker.stop()
        await peer.stop()
        assert not has_answered
        assert [looks(answer) for answer in while_it_hangs] == [looks(first)] * 2


LONG = "x" * 1_000_000


@pytest.mark.threat("V72")
class TestLongPasswords:
    """A long password keeps a processor busy, or is cut so that its tail does not matter."""

    async def test_a_megabyte_is_refused_unread(self, service: Service) -> None:
        ada = await join(service)
        bodies_of: dict[str, dict[str, Any]] = {
            "/sign-in/email": {"email": ADA, "password": LONG},
            "/sign-up/email": {"name": "Eve", "email": EVE, "password": LONG},
            "/verify-password": {"password": LONG},
            "/change-password": {"currentPassword": LONG, "newPassword": LONG},
            "/reset-password": {"token": steps.UNKNOWN, "newPassword": LONG},
            "/two-factor/enable": {"password": LONG},
        }

        with counted(service) as work:
            answers = [await service.post(path, body, headers=ada) for path, body in bodies_of.items()]

        assert {code(answer) for answer in answers} == {"413 PAYLOAD_TOO_LARGE"}
        assert work.take() == []

    @pytest.mark.threat("R35")
    async def test_what_fits_a_request_but_no_password_is_never_hashed(self, costly: Service) -> None:
        """60 000 characters; the normal form of 24 000 combining marks takes about a second."""
        ada = await join(costly)
        marks = "a" + "\u0315\u0300" * 12_000

        with processor_seconds() as spent:
            for text in ("x" * 60_000, marks):
                change = {"currentPassword": PASSWORD, "newPassword": text}
                answers = [
                    await steps.sign_in(costly, password=text),
                    await costly.post("/verify-password", {"password": text}, headers=ada),
                    await costly.post("/sign-up/email", {"name": "E", "email": EVE, "password": text}),
                    await costly.post("/change-password", change, headers=ada),
                    await costly.post("/update-user", {"name": text}, headers=ada),
                ]
                assert [code(answer) for answer in answers] == [
                    "401 INVALID_EMAIL_OR_PASSWORD",
                    "400 INVALID_PASSWORD",
                    "400 PASSWORD_TOO_LONG",
                    "400 PASSWORD_TOO_LONG",
                    "400 VALIDATION_ERROR",
                ]
            took = spent()

        with processor_seconds() as spent:
            await steps.opens(costly, "one wrong password")
            assert took < 3 * spent()

    async def test_others_are_served_meanwhile(self, costly: Service) -> None:
        """Hashes of a tenth of a second each run in threads; the health check does not wait for them."""
        await join(costly)

        hashing = asyncio.gather(*(steps.sign_in(costly, password=NEW_PASSWORD) for _ in range(8)))
        served = 0
        while not hashing.done():
            assert (await costly.get("/ok")).status_code == 200
            served += 1
            await asyncio.sleep(0)

        assert {code(answer) for answer in await hashing} <= {
            "401 INVALID_EMAIL_OR_PASSWORD",
            "503 OVERLOADED",
        }
        assert served >= 20

    @pytest.mark.threat("R42")
    async def test_too_many_at_once_are_turned_away_and_not_piled_up(
        self, open_instance: OpenInstance
    ) -> None:
        service = await open_instance(
            {"password.argon2_time": "40", "password.hash_workers": "1", "password.hash_queue": "3"}
        )
        await join(service)

        answers = await asyncio.gather(*(steps.sign_in(service, password=NEW_PASSWORD) for _ in range(30)))

        told = [code(answer) for answer in answers]
        assert set(told) == {"401 INVALID_EMAIL_OR_PASSWORD", "503 OVERLOADED"}
        assert told.count("503 OVERLOADED") >= 20
        assert all(answer.headers["retry-after"] == "1" for answer in answers if answer.status_code == 503)
