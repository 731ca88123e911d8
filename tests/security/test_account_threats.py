"""The attacks on accounts and their tokens, one group of tests per row of the threat list, each marked with its row."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest

from codegen.walk import Operation
from tests.conftest import Headers, MakeService
from tests.contract.reading import OPERATIONS
from tests.handlers import steps
from tests.handlers.steps import ADA, AT, EVE, NEW_PASSWORD, UNKNOWN, bearer, code, works
from tests.live import LiveService, serving
from tests.provider import steps as social_steps
from tests.provider.process import ProviderProcess
from tests.provider.settings import social_settings
from tests.provider.steps import Flow as ProviderFlow
from tests.provider.steps import as_user, begin, begin_link, deliver, error_of, go_through, opened, visit
from tests.security import belongings
from tests.security.belongings import Belongings, gather, kept
from tests.security.conftest import Carry
from tests.security.redirect_sites import example_of
from tests.security.second_factor import (
    METHODS,
    PENDING,
    SESSION,
    TRUST,
    Owner,
    challenge,
    cookie,
    enrol,
    enter,
    flipped,
    is_pending,
    right_code,
    session_count,
    set_cookies,
    sign_in,
    strings,
    token_in,
    told,
    trusted_device,
)
from tests.security.wire import ask
from tests.service import PASSWORD, START, Service

SETTINGS = belongings.SETTINGS
FOR_SESSIONS = {name: one for name, one in OPERATIONS.items() if one.spec.get("security") is None}
"""The operations that want a session, as the contract says."""

JUNK: tuple[str, ...] = (
    "", " ", "\t", "true", "null", "undefined", "0", "%", "_" * 32, "%" * 32, "*", "x", UNKNOWN, "x" * 31,
    "x" * 33, f" {UNKNOWN}", f"{UNKNOWN}\n", "é" * 32, "' OR '1'='1", "../" * 8, "a" * 10_000,
)  # fmt: skip
"""What is no token, or none that was given out."""

NO_STRINGS: tuple[Any, ...] = (None, True, 0, 1.5, [], {}, [UNKNOWN])


async def call(service: Service, operation: Operation, headers: Headers, **more: Any) -> httpx.Response:
    """Ask for an operation with the contract's own example of a body, changed by `more`; of a GET that is the query."""
    path = operation.path.replace("{provider}", "github").replace("{token}", UNKNOWN)
    if operation.method == "get":
        return await service.get(path, headers=headers, params=more)
    return await service.post(path, {**example_of(operation), **more}, headers=headers)


@pytest.fixture
async def open_service(make_service: MakeService) -> Service:
    """A service whose every token can be had."""
    return await make_service(SETTINGS)


@pytest.mark.threat("V21")
class TestChangedAddresses:
    """A proof of one address counts for another: the address changes while the mail is under way."""

    async def test_a_link_does_not_prove_the_address_that_took_its_place(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        old = steps.local(await steps.last_link(service, "verify-email", ADA))

        changed = await service.post("/change-email", {"newEmail": EVE}, headers=ada)
        answers = [await service.get(old, headers=headers) for headers in (ada, {})]
        answers.append(
            await service.get(old, params={**httpx.URL(old).params, "callbackURL": "/x"}, headers=ada)
        )

        assert code(changed) == "200"
        assert [code(answer) for answer in answers[:2]] == ["401 INVALID_TOKEN"] * 2
        assert httpx.URL(answers[2].headers["location"]).params["error"] == "INVALID_TOKEN"
        user = await steps.user_of(service, ada)
        assert (user["email"], user["emailVerified"]) == (EVE, False)

    async def test_nor_does_it_when_the_address_comes_back(self, service: Service) -> None:
        ada = await steps.join(service)
        old = steps.local(await steps.last_link(service, "verify-email", ADA))
        for address in (EVE, ADA):
            await service.post("/change-email", {"newEmail": address}, headers=ada)

        assert code(await service.get(old)) == "401 INVALID_TOKEN"
        assert (await steps.user_of(service, ada))["emailVerified"] is False

    async def test_a_newer_wish_ends_the_older_link(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        await steps.verify(service)
        wanted = ("first@example.com", "second@example.com")
        first, second = [await self.request_change(service, ada, address) for address in wanted]

        answers = [await service.get(first), await service.get(second)]

        assert [code(answer) for answer in answers] == ["401 INVALID_TOKEN", "200"]
        assert (await steps.user_of(service, ada))["email"] == wanted[1]

    async def request_change(self, service: Service, headers: Headers, address: str) -> str:
        answer = await service.post("/change-email", {"newEmail": address}, headers=headers)
        assert answer.status_code == 200, answer.text
        return steps.local(await steps.last_link(service, "change-email", address))

    async def test_a_change_ends_every_token_that_was_sent_to_the_old_address(
        self, open_service: Service
    ) -> None:
        ada = await gather(open_service, ADA)
        changed = await open_service.get("/verify-email", params={"token": ada.secrets["change-email"]})

        reset = {"token": ada.secrets["reset"], "newPassword": NEW_PASSWORD}
        answers = [
            await open_service.get("/verify-email", params={"token": ada.secrets["verify"]}),
            await open_service.post("/reset-password", reset),
            await open_service.get(
                "/delete-user/callback", params={"token": ada.secrets["delete"]}, headers=ada.session
            ),
        ]

        assert changed.json()["user"]["email"] == f"new.{ADA}"
        assert [code(answer) for answer in answers] == [
            "401 INVALID_TOKEN", "400 INVALID_TOKEN", "404 INVALID_TOKEN",
        ]  # fmt: skip

    async def test_a_link_finished_in_another_browser_changes_nothing(
        self, open_service: Service, carry: Callable[[str], Headers]
    ) -> None:
        service = open_service
        ada, eve = await gather(service, ADA), await gather(service, EVE)
        before = [await kept(service, one.user_id) for one in (ada, eve)]
        foreign = carry(eve.secrets["session"])

        answer = await service.get(
            "/verify-email", params={"token": ada.secrets["change-email"]}, headers=foreign
        )

        assert code(answer) == "401 INVALID_USER"
        assert [await kept(service, one.user_id) for one in (ada, eve)] == before

    async def test_a_linking_finished_in_another_browser_links_nothing(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        ada, eve = await steps.join(social, ADA), await steps.join(social, EVE)
        as_user(provider, ADA, "1001")
        flow = await begin_link(social, ada)
        back = await visit(flow)
        eves = {SESSION: token_in(eve)}

        without = await deliver(social, back, ProviderFlow(flow.url, eves))
        with_the_cookie = await deliver(social, back, ProviderFlow(flow.url, {**flow.cookies, **eves}))

        answers = (without, with_the_cookie)
        assert [error_of(answer) for answer in answers] == ["state_mismatch", "unable_to_link_account"]
        assert await social_steps.identities(social) == []
        assert [opened(answer) for answer in answers] == [False, False]

    async def test_a_linking_is_held_against_the_address_at_its_end(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        ada = await steps.join(social, ADA)
        as_user(provider, ADA, "1001")
        flow = await begin_link(social, ada)
        await social.post("/change-email", {"newEmail": EVE}, headers=ada)

        answer = await go_through(social, flow)

        assert error_of(answer) == "email_does_not_match"
        assert await social_steps.identities(social) == []


@pytest.mark.threat("V22")
class TestObjectsOfOthers:
    """Somebody names an object of another user: a token, a session, an account, an id."""

    KEYS = ("token", "userId", "user_id", "id", "accountId", "sessionId", "session_id", "email", "user")

    @pytest.mark.parametrize("operation_id", sorted(FOR_SESSIONS))
    async def test_whatever_is_named_only_the_caller_is_concerned(
        self, open_service: Service, operation_id: str
    ) -> None:
        service = open_service
        eve = await gather(service, EVE)
        before = await kept(service, eve.user_id)
        [account] = await service.rows("SELECT id FROM account WHERE user_id = :user", user=eve.user_id)
        named = ("session", "handle", "delete", "change-email", "id")
        objects = [*(eve.secrets[kind] for kind in named), str(account.id), EVE]

        for number, value in enumerate(objects):
            ada = await steps.join(service, f"ada{number}@example.com")
            everywhere = dict.fromkeys(self.KEYS, value)
            for more in ({"token": value}, everywhere):
                answer = await call(service, FOR_SESSIONS[operation_id], ada, **more)

                assert EVE not in answer.text
                assert eve.user_id not in answer.text
        assert await kept(service, eve.user_id) == before
        assert await works(service, eve.session)

    @pytest.mark.parametrize("kind", ["session", "handle"])
    async def test_a_session_of_another_user_is_not_revoked_and_looks_unknown(
        self, open_service: Service, carry: Callable[[str], Headers], kind: str
    ) -> None:
        service = open_service
        eve = await gather(service, EVE)
        ada = carry(token_in(await steps.join(service)))
        unknown = UNKNOWN if kind == "session" else f"rvk_{UNKNOWN}"

        foreign, none = [
            await service.post("/revoke-session", {"token": token}, headers=ada)
            for token in (eve.secrets[kind], unknown)
        ]

        assert steps.looks(foreign) == steps.looks(none)
        assert await works(service, eve.session)
        assert await works(service, ada)

    @pytest.mark.parametrize("path", ["/revoke-sessions", "/revoke-other-sessions"])
    async def test_ending_all_sessions_ends_one_s_own(
        self, service: Service, carry: Callable[[str], Headers], path: str
    ) -> None:
        eve = await steps.join(service, EVE)
        ada = carry(token_in(await steps.join(service)))
        other = bearer((await steps.sign_in(service)).json()["token"])

        answer = await service.post(path, headers=ada)

        assert answer.json()["count"] == (2 if path == "/revoke-sessions" else 1)
        assert (await works(service, eve), await works(service, other)) == (True, False)

    async def test_the_deletion_token_of_another_user_deletes_nobody(
        self, open_service: Service, carry: Callable[[str], Headers]
    ) -> None:
        service = open_service
        eve, ada = await gather(service, EVE), await gather(service, ADA)
        before = [await kept(service, one.user_id) for one in (ada, eve)]
        headers, token = carry(ada.secrets["session"]), {"token": eve.secrets["delete"]}

        answers = [
            await service.get("/delete-user/callback", params=token, headers=headers),
            await service.post("/delete-user", token, headers=headers),
            await service.post("/delete-user", {**token, "password": PASSWORD}, headers=headers),
        ]

        assert told(answers) == {"404 INVALID_TOKEN": 3}
        assert [await kept(service, one.user_id) for one in (ada, eve)] == before
        own = await service.get("/delete-user/callback", params=token, headers=eve.session)
        assert code(own) == "200"
        assert await works(service, ada.session)

    async def test_lists_hold_one_s_own(self, service: Service, carry: Callable[[str], Headers]) -> None:
        eve = await steps.user_of(service, await steps.join(service, EVE))
        ada = carry(token_in(await steps.join(service)))

        listed = (await service.get("/list-sessions", headers=ada, params={"userId": eve["id"]})).json()

        assert [session["token"] for session in listed] == [steps.token_of(ada)]
        assert {session["userId"] for session in listed} == {(await steps.user_of(service, ada))["id"]}


@pytest.mark.threat("V23")
class TestResetsWithoutMail:
    """A password is set without the mail: no token, or one that was given for something else."""

    KINDS = (
        "session", "handle", "verify", "change-email", "delete", "pending", "otp", "trust", "backup-code", "id",
    )  # fmt: skip

    async def test_no_token_sets_no_password(self, open_service: Service) -> None:
        ada = await gather(open_service, ADA)
        before = await kept(open_service, ada.user_id)
        own, new = ada.secrets["reset"], {"newPassword": NEW_PASSWORD}

        answers = [await open_service.post("/reset-password", new)]
        answers += [await open_service.post("/reset-password", {**new, "token": junk}) for junk in JUNK]
        answers += [await open_service.post("/reset-password", {**new, "token": none}) for none in NO_STRINGS]
        answers += [await open_service.post("/reset-password", new, params={"token": own})]
        answers += [await open_service.post("/reset-password", new, headers=bearer(own))]
        answers += [await open_service.post("/reset-password", {**new, "email": ADA}, headers=ada.session)]

        assert {answer.status_code for answer in answers} == {400}
        assert set(told(answers)) == {"400 INVALID_TOKEN", "400 VALIDATION_ERROR"}
        assert told(answers)["400 VALIDATION_ERROR"] == len(NO_STRINGS)
        assert await kept(open_service, ada.user_id) == before

    @pytest.mark.parametrize("kind", KINDS)
    async def test_no_other_secret_sets_a_password(self, open_service: Service, kind: str) -> None:
        service = open_service
        ada, eve = await gather(service, ADA), await gather(service, EVE)
        before = [await kept(service, one.user_id) for one in (ada, eve)]

        for secret in (ada.secrets[kind], eve.secrets[kind], ada.secrets[kind].removeprefix("2fa_")[-32:]):
            for headers in ({}, ada.session):
                answer = await service.post(
                    "/reset-password", {"token": secret, "newPassword": NEW_PASSWORD}, headers=headers
                )

                assert code(answer) == "400 INVALID_TOKEN"
                assert set_cookies(answer) == {}
        assert [await kept(service, one.user_id) for one in (ada, eve)] == before
        assert not await steps.opens(service, NEW_PASSWORD)

    async def test_the_mailed_one_does(self, open_service: Service) -> None:
        ada = await gather(open_service, ADA)

        answer = await open_service.post(
            "/reset-password", {"token": ada.secrets["reset"], "newPassword": NEW_PASSWORD}
        )

        assert code(answer) == "200"
        assert await steps.opens(open_service, NEW_PASSWORD)

    async def test_a_password_is_not_set_by_changing_it_without_the_old_one(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        guesses: list[dict[str, Any]] = [
            {}, {"currentPassword": ""}, {"currentPassword": NEW_PASSWORD}, {"currentPassword": None},
            {"currentPassword": True}, {"password": PASSWORD}, {"token": UNKNOWN},
        ]  # fmt: skip

        answers = [
            await service.post("/change-password", {"newPassword": NEW_PASSWORD, **guess}, headers=ada)
            for guess in guesses
        ]

        assert {answer.status_code for answer in answers} == {400}
        assert await steps.opens(service, PASSWORD)


@pytest.mark.threat("V25")
class TestMailedCodes:
    """The service tells the caller the code that it sends by mail."""

    async def test_a_waiting_sign_in_is_not_told_the_code(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        pending = carry_pending(await challenge(service))

        answer = await service.post("/two-factor/send-otp", headers=pending)
        mailed = (await service.inbox(ADA, "otp"))[-1]["code"]
        wrong = await enter(service, "otp", flipped_digits(mailed), pending)
        again = await service.post("/two-factor/send-otp", headers=pending)

        assert answer.json() == {"status": True}
        for heard in (answer, wrong, again):
            self.check_silent(heard, mailed)
        newest = (await service.inbox(ADA, "otp"))[-1]["code"]
        right = await enter(service, "otp", newest, pending)
        assert right.status_code == 200
        self.check_silent(right, newest)

    async def test_nor_is_a_session(
        self, service: Service, ada: Owner, carry: Callable[[str], Headers]
    ) -> None:
        session = carry(token_in(ada.session))

        answer = await service.post("/two-factor/send-otp", headers=session)
        mailed = (await service.inbox(ADA, "otp"))[-1]["code"]
        others = [await service.get(path, headers=session) for path in ("/get-session", "/list-sessions")]

        assert answer.json() == {"status": True}
        for heard in (answer, *others):
            self.check_silent(heard, mailed)
        assert code(await enter(service, "otp", mailed, session)) == "200"

    @pytest.mark.parametrize("path", ["/request-password-reset", "/send-verification-email"])
    async def test_nor_is_anybody_told_a_token(self, service: Service, path: str) -> None:
        await steps.join(service)

        answer = await service.post(path, {"email": ADA})

        assert answer.json() == {"status": True}
        links = [mail["link"] for mail in await service.inbox(ADA) if mail["link"]]
        assert len(links) == 2
        for link in links:
            self.check_silent(answer, steps.token_in(link))

    def check_silent(self, answer: httpx.Response, secret: str) -> None:
        named = [value for name, value in answer.headers.multi_items() if name != "x-request-id"]
        for text in (*strings(answer.json()), *named):
            assert secret != text
            assert len(secret) < 32 or secret not in text


def flipped_digits(code_: str) -> str:
    """Give a code with another last digit."""
    return code_[:-1] + str((int(code_[-1]) + 1) % 10)


BROKEN_COOKIES: tuple[bytes, ...] = (
    b"%", b'"', b'""', b"", b"=", b"==", b"true", b"null", b"x" * 8000, b"\xff\xfe", b"\xc3\x28",
    "é".encode(), b"\x01\x02", b"%00", b"x" * 31, b"x" * 32, b"x" * 33, b"2fa_" + b"x" * 32,
    b"rvk_" + b"x" * 32, b"' OR 1=1 --", b"{}", b"[object Object]",
)  # fmt: skip
"""Values of a cookie that stand for no session."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A process of its own, for bytes that no client library sends."""
    with serving(tmp_path_factory.mktemp("live"), {"limits.enabled": "false"}) as live:
        yield live


@pytest.fixture(scope="module")
def live_token(live: LiveService) -> bytes:
    """The token of a session in that process."""
    body = b'{"name":"Ada","email":"ada@example.com","password":"correct horse battery"}'
    made = ask(live.url, "POST /sign-up/email HTTP/1.1", b"Host: {host}", body=body)
    assert made.status == 200
    return str(made.json["token"]).encode()


@pytest.mark.threat("V27")
class TestMalformedCookies:
    """A malformed cookie, or a name that is not configured, opens what it should close."""

    @pytest.mark.parametrize("value", BROKEN_COOKIES)
    async def test_a_broken_session_cookie_is_no_session(self, service: Service, value: bytes) -> None:
        await steps.join(service)
        broken: Any = {"Cookie": SESSION.encode() + b"=" + value}

        answer = await service.get("/get-session", headers=broken)
        changed = await service.post("/update-user", {"name": "Eve"}, headers=broken)
        optional = await service.get("/verify-email", headers=broken, params={"token": UNKNOWN})
        left = await service.post("/sign-out", headers=broken)

        assert [code(one) for one in (answer, changed)] == ["401 UNAUTHORIZED"] * 2
        assert set_cookies(answer) == {SESSION: ""}
        assert (code(optional), code(left)) == ("401 INVALID_TOKEN", "200")

    @pytest.mark.parametrize("value", BROKEN_COOKIES)
    def test_nor_is_it_on_the_wire(self, live: LiveService, value: bytes) -> None:
        sent = b"Cookie: " + SESSION.encode() + b"=" + value

        answer = ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", sent)

        assert answer.status == 400 if b"\x01" in value else answer.code == "401 UNAUTHORIZED"

    @pytest.mark.parametrize("operation_id", sorted(FOR_SESSIONS))
    async def test_no_operation_lets_one_in(self, service: Service, operation_id: str) -> None:
        for value in BROKEN_COOKIES:
            broken: Any = {"Cookie": SESSION.encode() + b"=" + value}

            assert code(await call(service, FOR_SESSIONS[operation_id], broken)) == "401 UNAUTHORIZED", value

    async def test_of_two_that_differ_none_counts(self, service: Service) -> None:
        ada, eve = [token_in(await steps.join(service, email)) for email in (ADA, EVE)]
        for first, second in ((ada, eve), (ada, "%"), ("", ada), (ada, ""), (ada, ada + "x")):
            one = f"{SESSION}={first}; {SESSION}={second}"
            two = [("Cookie", f"{SESSION}={first}"), ("Cookie", f"{SESSION}={second}")]

            answers = [
                await service.get("/get-session", headers=headers) for headers in ({"Cookie": one}, two)
            ]

            assert told(answers) == {"401 UNAUTHORIZED": 2}, (first, second)
        assert await works(service, {"Cookie": f"{SESSION}={ada}; {SESSION}={ada}"})

    def test_of_two_on_the_wire_none_counts(self, live: LiveService, live_token: bytes) -> None:
        good, bad = [b"Cookie: " + SESSION.encode() + b"=" + value for value in (live_token, b"x" * 32)]

        heard = [
            ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", *sent).code
            for sent in ((good,), (good, bad), (bad, good))
        ]

        assert heard == ["200", "401 UNAUTHORIZED", "401 UNAUTHORIZED"]

    async def test_other_broken_cookies_hide_nothing(self, service: Service) -> None:
        token = token_in(await steps.join(service)).encode()
        for other in (b"a=%", b'a="', b"a", b"=", b";;", b"\xff=\xfe", b"a=" + b"x" * 8000, b'$Version="1"'):
            headers: Any = {"Cookie": other + b"; " + SESSION.encode() + b"=" + token + b"; " + other}

            assert await works(service, headers), other

    @pytest.mark.parametrize("value", BROKEN_COOKIES)
    async def test_broken_pending_and_trust_cookies_prove_nothing(
        self, service: Service, ada: Owner, value: bytes
    ) -> None:
        pending: Any = {"Cookie": PENDING.encode() + b"=" + value}
        trust: Any = {"Cookie": TRUST.encode() + b"=" + value}
        before = await session_count(service)

        answers = [await enter(service, method, "123456", pending) for method in METHODS]
        signed_in = await sign_in(service, headers=trust)

        assert told(answers) == {"401 INVALID_TWO_FACTOR_COOKIE": len(METHODS)}
        assert is_pending(signed_in)
        assert await session_count(service) == before

    @pytest.mark.parametrize(
        "provider",
        ["gitlab", "", "GITHUB", "github ", "../github", "credential", "__proto__", "é", "a" * 300],
    )
    async def test_no_other_provider_takes_the_place_of_an_unknown_one(
        self, make_service: MakeService, provider: str
    ) -> None:
        keys = {"preset": "github", "client_id": "id", "client_secret": "secret"}
        service = await make_service({f"providers.github.{key}": value for key, value in keys.items()})
        ada = await steps.join(service)
        service.client.cookies.clear()
        before = await session_count(service)
        beginnings: tuple[dict[str, Any], ...] = (
            {"callbackURL": "/x"},
            {"idToken": "a.b.c"},
            {"idToken": {"token": "a.b.c"}},
        )

        answers = [
            await service.post(path, {"provider": provider, **body}, headers=headers)
            for path, headers in (("/sign-in/social", {}), ("/link-social", ada))
            for body in beginnings
        ]

        for answer in answers:
            assert steps.refusal(answer) == (404, "PROVIDER_NOT_FOUND", "Provider not found")
            assert set_cookies(answer) == {}
        assert await session_count(service) == before


BROKEN_BEARERS: tuple[bytes, ...] = (
    b"Bearer", b"Bearer ", b"Bearer  ", b"bearer", b"BEARER x", b"Bearer  a b", b"Bearer a, b", b"Bearer \xff",
    "Bearer é".encode(), b"Bearer %", b'Bearer "x"', b"Bearer " + b"x" * 32, b"Bearer " + b"x" * 8000,
    b"Bearer 2fa_" + b"x" * 32, b"Bearer rvk_" + b"x" * 32, b"Bearer null", b"Bearer undefined", b"Bearer\tx",
    b"", b" ", b"\xff\xfe", b"=", b",", b"Bearer:x", b"Bearer Bearer x", b"Bearer eyJhbGciOiJub25lIn0.e30.",
)  # fmt: skip
"""Values of an Authorization header that are no session token."""


@pytest.mark.threat("V28")
class TestMalformedAuthorization:
    """A malformed Authorization header breaks the service, or lets somebody in."""

    @pytest.mark.parametrize("value", BROKEN_BEARERS)
    async def test_it_is_no_session_and_the_cookie_does_not_help_it(
        self, service: Service, value: bytes
    ) -> None:
        token = token_in(await steps.join(service))
        helped: Any = {"Authorization": value, "Cookie": f"{SESSION}={token}".encode()}

        alone = await service.get("/get-session", headers={"Authorization": value})
        beside = await service.get("/get-session", headers=helped)

        assert code(alone) == "401 UNAUTHORIZED"
        assert alone.headers["www-authenticate"] == "Bearer"
        if value.lower().startswith(b"bearer"):
            assert code(beside) == "401 UNAUTHORIZED"
        else:
            assert beside.status_code in (200, 401)

    @pytest.mark.parametrize("operation_id", sorted(OPERATIONS))
    async def test_no_operation_breaks(self, service: Service, operation_id: str) -> None:
        for value in BROKEN_BEARERS:
            answer = await call(service, OPERATIONS[operation_id], {"Authorization": value})  # type: ignore[dict-item]

            if operation_id in FOR_SESSIONS:
                assert code(answer) == "401 UNAUTHORIZED", value
            else:
                assert answer.status_code not in (500, 502, 503), value

    @pytest.mark.parametrize("value", BROKEN_BEARERS)
    def test_nor_does_it_on_the_wire(self, live: LiveService, value: bytes) -> None:
        answer = ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", b"Authorization: " + value)

        assert answer.code == "401 UNAUTHORIZED"

    @pytest.mark.parametrize("size", [17 * 1024, 64 * 1024, 1024 * 1024])
    def test_a_huge_one_is_refused(self, live: LiveService, size: int) -> None:
        huge = b"Authorization: Bearer " + b"x" * size

        try:
            answer = ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", huge)
        except ConnectionError:
            assert size > 64 * 1024, "hung up before all was sent"
        else:
            assert answer.code == "431 HEADERS_TOO_LARGE"
        assert ask(live.url, "GET /ok HTTP/1.1", b"Host: {host}").status == 200

    async def test_of_two_none_counts(self, service: Service) -> None:
        ada, eve = [token_in(await steps.join(service, email)) for email in (ADA, EVE)]
        for first, second in ((ada, eve), (ada, ada), (ada, "x"), ("x", ada)):
            both = [("Authorization", f"Bearer {first}"), ("Authorization", f"Bearer {second}")]

            assert code(await service.get("/get-session", headers=both)) == "401 UNAUTHORIZED"

    def test_of_two_on_the_wire_none_counts(self, live: LiveService, live_token: bytes) -> None:
        good = b"Authorization: Bearer " + live_token

        heard = [
            ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", *sent).code
            for sent in ((good,), (good, good), (good, b"Authorization: Basic YTpi"))
        ]

        assert heard == ["200", "401 UNAUTHORIZED", "401 UNAUTHORIZED"]

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
    async def test_the_scheme_is_known_in_any_case(self, service: Service, scheme: str) -> None:
        token = token_in(await steps.join(service))

        assert await works(service, {"Authorization": f"{scheme} {token}"})

    @pytest.mark.parametrize("value", ["Basic YTpi", "Digest x", "Negotiate abc"])
    async def test_another_scheme_is_somebody_else_s(self, service: Service, value: str) -> None:
        token = token_in(await steps.join(service))

        assert not await works(service, {"Authorization": value})
        assert not await works(service, {"Authorization": f"Basic {token}"})
        assert await works(service, {"Authorization": value, **cookie(SESSION, token)})

    @pytest.mark.parametrize("place", ["access_token", "token", "session_token", SESSION])
    async def test_a_token_elsewhere_is_none(self, service: Service, place: str) -> None:
        token = token_in(await steps.join(service))

        answers = [
            await service.get("/get-session", params={place: token}),
            await service.post("/update-user", {"name": "Eve", place: token}),
            await service.get("/get-session", headers={"X-Auth-Token": token, "set-auth-token": token}),
        ]

        assert told(answers) == {"401 UNAUTHORIZED": 3}


@dataclass(frozen=True, slots=True)
class Flow:
    """What may be done with a token: how to try it, as Ada where that needs a session, and which kinds are right."""

    attempt: Callable[[Service, str, Belongings], Awaitable[httpx.Response]]
    refused: str
    kinds: tuple[str, ...]


FLOWS = {
    "verify": Flow(
        lambda service, token, ada: service.get("/verify-email", params={"token": token}),
        "401 INVALID_TOKEN",
        ("verify", "change-email"),
    ),
    "reset": Flow(
        lambda service, token, ada: service.post(
            "/reset-password", {"token": token, "newPassword": NEW_PASSWORD}
        ),
        "400 INVALID_TOKEN",
        ("reset",),
    ),
    "look at a reset": Flow(
        lambda service, token, ada: service.get(f"/reset-password/{token}"), "400 INVALID_TOKEN", ("reset",)
    ),
    "follow a deletion": Flow(
        lambda service, token, ada: service.get(
            "/delete-user/callback", params={"token": token}, headers=ada.session
        ),
        "404 INVALID_TOKEN",
        ("delete",),
    ),
    "delete": Flow(
        lambda service, token, ada: service.post("/delete-user", {"token": token}, headers=ada.session),
        "404 INVALID_TOKEN",
        ("delete",),
    ),
    "come by bearer": Flow(
        lambda service, token, ada: service.get("/get-session", headers=bearer(token)),
        "401 UNAUTHORIZED",
        ("session",),
    ),
    "come by cookie": Flow(
        lambda service, token, ada: service.get("/get-session", headers=cookie(SESSION, token)),
        "401 UNAUTHORIZED",
        ("session",),
    ),
    "enter a code": Flow(
        lambda service, token, ada: enter(
            service, "totp", ada.owner.wrong_code(service), cookie(PENDING, token)
        ),
        "401 INVALID_TWO_FACTOR_COOKIE",
        ("pending",),
    ),
}


@pytest.mark.threat("V29")
class TestPurposesOfTokens:
    """A token is taken for what it looks like, not for what it was given out for and to whom."""

    @pytest.mark.parametrize("name", FLOWS)
    async def test_a_token_of_another_kind_is_refused(self, open_service: Service, name: str) -> None:
        service, flow = open_service, FLOWS[name]
        ada, eve = await gather(service, ADA), await gather(service, EVE)
        before = [await kept(service, one.user_id) for one in (ada, eve)]

        for owner in (ada, eve):
            for kind, secret in owner.secrets.items():
                if kind not in flow.kinds:
                    assert code(await flow.attempt(service, secret, ada)) == flow.refused, kind

        assert [await kept(service, one.user_id) for one in (ada, eve)] == before

    @pytest.mark.parametrize("name", FLOWS)
    async def test_while_a_right_one_exists_nothing_like_it_is_accepted(
        self, open_service: Service, name: str
    ) -> None:
        service, flow = open_service, FLOWS[name]
        ada = await gather(service, ADA)
        before = await kept(service, ada.user_id)
        right = ada.secrets[flow.kinds[0]]
        like = [flipped(right), right.swapcase(), right[:-1], right + "x", right[::-1], "_" * 32, "%" * 8]

        for token in (*like, UNKNOWN):
            assert code(await flow.attempt(service, token, ada)) == flow.refused, token

        assert await kept(service, ada.user_id) == before
        assert code(await flow.attempt(service, right, ada)) in ("200", "401 INVALID_CODE")

    async def test_a_token_serves_the_user_it_was_given_for(self, open_service: Service) -> None:
        service = open_service
        ada, eve = await gather(service, ADA), await gather(service, EVE)
        body = {
            "token": ada.secrets["reset"],
            "newPassword": NEW_PASSWORD,
            "email": EVE,
            "userId": eve.user_id,
        }
        before = await kept(service, eve.user_id)

        answer = await service.post("/reset-password", body, headers=eve.session)

        assert answer.json()["user"]["email"] == ADA
        assert await kept(service, eve.user_id) == before
        assert (await steps.opens(service, NEW_PASSWORD, ADA), await steps.opens(service, PASSWORD, EVE)) == (
            True,
            True,
        )


MASS: dict[str, Any] = {
    "role": "admin", "emailVerified": True, "banned": False, "banReason": "x", "banExpires": AT,
    "twoFactorEnabled": True, "id": "i" * 32, "createdAt": "2000-01-01T00:00:00.000Z",
    "updatedAt": "2000-01-01T00:00:00.000Z", "userId": "i" * 32,
    "user": {"role": "admin", "emailVerified": True}, "session": {"expiresAt": "2100-01-01T00:00:00.000Z"},
    "__proto__": {"role": "admin"}, "constructor": {"prototype": {"role": "admin"}}, "role ": "admin",
    "email_verified": True, "two_factor_enabled": True, "is_admin": True, "isAdmin": True,
    "impersonatedBy": "i" * 32, "activeOrganizationId": "o", "expiresAt": "2100-01-01T00:00:00.000Z",
    "data": {"role": "admin"}, "accounts": [{"providerId": "github", "accountId": "1"}],
}  # fmt: skip
"""Fields that only the service sets, in every spelling somebody may hope for."""

OWN = ("id", "role", "emailVerified", "banned", "banReason", "banExpires", "twoFactorEnabled", "createdAt")


def owned(user: dict[str, Any]) -> dict[str, Any]:
    """Give what of a user only the service sets."""
    return {key: user[key] for key in OWN}


@pytest.mark.threat("V30")
class TestFieldsNobodyOffered:
    """A body sets fields that nobody offered."""

    async def test_sign_up_sets_none_of_them(self, service: Service) -> None:
        answer = await service.post(
            "/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD, **MASS}
        )

        user = await steps.user_of(service, bearer(answer.json()["token"]))
        assert user["id"] != MASS["id"]
        assert owned(user) == {
            "id": user["id"], "role": "user", "emailVerified": False, "banned": False, "banReason": None,
            "banExpires": None, "twoFactorEnabled": False, "createdAt": AT,
        }  # fmt: skip
        [session] = (await service.get("/list-sessions", headers=bearer(answer.json()["token"]))).json()
        assert session["expiresAt"] == "2026-01-08T12:00:00.000Z"
        assert "impersonatedBy" not in session
        [account] = await service.rows("SELECT provider_id FROM account")
        assert account.provider_id == "credential"

    @pytest.mark.parametrize("key", [*MASS, "email", "password"])
    async def test_update_user_sets_none_of_them(
        self, service: Service, carry: Callable[[str], Headers], key: str
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        before = await steps.user_of(service, ada)
        value = {"email": EVE, "password": NEW_PASSWORD}.get(key, MASS.get(key))

        alone = await service.post("/update-user", {key: value}, headers=ada)
        beside = await service.post("/update-user", {key: value, "name": "Countess"}, headers=ada)

        after = await steps.user_of(service, ada)
        known = key in (*OWN, "updatedAt", "email", "password")
        assert alone.status_code == 400
        assert beside.status_code == (400 if known else 200)
        assert after == {**before, "name": before["name"] if known else "Countess"}
        assert await steps.opens(service, PASSWORD)

    @pytest.mark.parametrize(
        "operation_id",
        sorted(name for name, one in FOR_SESSIONS.items() if one.method == "post" and name != "users.delete"),
    )
    async def test_no_other_operation_does(self, service: Service, operation_id: str) -> None:
        ada = await steps.join(service)
        before = owned(await steps.user_of(service, ada))
        mass = {**MASS, "password": PASSWORD, "currentPassword": PASSWORD}

        await call(service, FOR_SESSIONS[operation_id], ada, **mass)

        [row] = await service.rows('SELECT * FROM "user"')
        assert (row.id, row.role, bool(row.email_verified)) == (before["id"], "user", False)
        assert (bool(row.banned), bool(row.two_factor_enabled)) == (False, False)
        for session in await service.rows("SELECT impersonated_by, active_organization_id FROM session"):
            assert tuple(session) == (None, None)

    async def test_signing_in_sets_none_of_them(self, service: Service) -> None:
        before = owned(await steps.user_of(service, await steps.join(service)))

        answer = await steps.sign_in(service, **MASS)

        assert owned(await steps.user_of(service, bearer(answer.json()["token"]))) == before


@pytest.mark.threat("V32")
class TestUnverifiedAddresses:
    """An address that nobody proved counts as one's own."""

    async def test_no_codes_go_to_an_unproven_address(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        by_mail = {"password": PASSWORD, "method": "otp"}

        refused = await service.post("/two-factor/enable", by_mail, headers=ada)
        await service.post("/change-email", {"newEmail": EVE}, headers=ada)
        still = await service.post("/two-factor/enable", by_mail, headers=ada)
        await steps.verify(service, EVE)
        proven = await service.post("/two-factor/enable", by_mail, headers=ada)

        assert [code(one) for one in (refused, still, proven)] == ["403 EMAIL_NOT_VERIFIED"] * 2 + ["200"]

    async def test_a_new_address_is_unproven_whatever_the_old_one_was(self, service: Service) -> None:
        ada = await steps.join(service)

        await service.post("/change-email", {"newEmail": EVE}, headers=ada)

        user = await steps.user_of(service, ada)
        assert (user["email"], user["emailVerified"]) == (EVE, False)

    async def test_a_proven_address_does_not_change_without_the_proof_of_the_next(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        await steps.verify(service)

        await service.post("/change-email", {"newEmail": EVE}, headers=ada)

        user = await steps.user_of(service, ada)
        assert (user["email"], user["emailVerified"]) == (ADA, True)
        assert await service.inbox(ADA, "change-email") == []

    async def test_where_proof_is_required_nobody_gets_in_without(self, make_service: MakeService) -> None:
        service = await make_service({"email_verification.required": "true"})
        body = {"name": "Ada", "email": ADA, "password": PASSWORD, "username": "ada_l"}

        made = await service.post("/sign-up/email", body)
        by_email = await steps.sign_in(service)
        by_name = await service.post("/sign-in/username", {"username": "ada_l", "password": PASSWORD})

        assert (made.json()["token"], set_cookies(made)) == (None, {})
        assert [code(one) for one in (by_email, by_name)] == ["403 EMAIL_NOT_VERIFIED"] * 2
        assert await session_count(service) == 0
        await steps.verify(service)
        assert code(await steps.sign_in(service)) == "200"

    async def test_only_the_link_proves(self, open_service: Service) -> None:
        """Neither signing in nor looking at a reset, nor any other user's proof."""
        service = open_service
        ada = await steps.join(service)
        eve = await gather(service, EVE)

        await steps.sign_in(service)
        await service.get(f"/reset-password/{await steps.reset_token(service)}")
        await service.post("/send-verification-email", {"email": ADA}, headers=ada)
        await service.get("/verify-email", params={"token": eve.secrets["verify"]}, headers=ada)
        foreign = await service.post("/send-verification-email", {"email": EVE}, headers=ada)

        assert (await steps.user_of(service, ada))["emailVerified"] is False
        assert code(foreign) == "400 EMAIL_MISMATCH"

    @pytest.mark.parametrize(("local", "vouched"), [(False, True), (True, False), (False, False)])
    async def test_a_provider_finds_nobody_by_an_address_that_one_side_has_not_proven(
        self, social: Service, provider: ProviderProcess, local: bool, vouched: bool
    ) -> None:
        ada = await steps.join(social)
        await steps.set_user(social, email_verified=local)
        as_user(provider, ADA, "7", email_verified=vouched)

        answer = await social_steps.sign_in(social)
        direct = await social_steps.sign_in_directly(social, provider.mint())

        assert (error_of(answer), code(direct)) == ("account_not_linked", "401 OAUTH_LINK_ERROR")
        assert not opened(answer)
        assert await social_steps.identities(social) == []
        assert (await steps.user_of(social, ada))["emailVerified"] is local

    async def test_nor_is_an_identity_linked_that_its_provider_does_not_vouch_for(
        self, social: Service, provider: ProviderProcess, carry: Callable[[str], Headers]
    ) -> None:
        session = await steps.join(social)
        await steps.set_user(social, email_verified=True)
        social.client.cookies.clear()
        ada = carry(token_in(session))
        as_user(provider, ADA, "7", email_verified=False)

        answer = await social_steps.link(social, ada)
        direct = await social.post(
            "/link-social", {"provider": "test", "idToken": provider.mint()}, headers=ada
        )

        assert (error_of(answer), code(direct)) == ("unable_to_link_account", "401 LINKING_NOT_ALLOWED")
        assert await social_steps.identities(social) == []

    async def test_what_a_provider_does_not_vouch_for_is_unproven_in_a_new_user_too(
        self, make_service: MakeService, provider: ProviderProcess
    ) -> None:
        service = await make_service({**social_settings(provider), "email_verification.required": "true"})
        as_user(provider, ADA, "7", email_verified=False)

        answer = await social_steps.sign_in(service)
        direct = await social_steps.sign_in_directly(service, provider.mint())

        assert (error_of(answer), code(direct)) == ("email_not_verified", "403 EMAIL_NOT_VERIFIED")
        assert await session_count(service) == 0


@pytest.mark.threat("V33")
class TestBans:
    """Somebody who was banned gets in, or stays in."""

    async def ban(self, service: Service, **more: Any) -> None:
        await steps.set_user(service, banned=True, ban_reason="spam", **more)

    @pytest.mark.parametrize("operation_id", sorted(FOR_SESSIONS))
    async def test_their_session_ends_at_once_everywhere(
        self, service: Service, carry: Callable[[str], Headers], operation_id: str
    ) -> None:
        ada = carry(token_in(await steps.join(service)))
        await self.ban(service)

        answer = await call(service, FOR_SESSIONS[operation_id], ada)

        assert code(answer) == "401 UNAUTHORIZED"
        assert await session_count(service) == 0
        await steps.set_user(service, banned=False)
        assert not await works(service, ada)

    @pytest.mark.parametrize("way", ["email", "username", "trusted device"])
    async def test_no_sign_in_lets_them_in(self, service: Service, way: str) -> None:
        owner = await enrol(service, username="ada_l")
        trusted = cookie(TRUST, await trusted_device(service, owner))
        await self.ban(service)
        before = await session_count(service)
        headers = trusted if way == "trusted device" else {}
        path, name = ("username", "ada_l") if way == "username" else ("email", ADA)

        right, wrong = [
            await service.post(f"/sign-in/{path}", {path: name, "password": password}, headers=headers)
            for password in (PASSWORD, NEW_PASSWORD)
        ]

        assert steps.refusal(right) == (403, "BANNED_USER", "You have been banned from this application")
        assert wrong.status_code == 401
        assert not set(set_cookies(right)) & {SESSION, PENDING}
        assert await session_count(service) == before

    @pytest.mark.parametrize("method", METHODS)
    async def test_nor_does_the_second_step_of_one_begun_before(
        self, service: Service, ada: Owner, carry_pending: Carry, method: str
    ) -> None:
        pending = carry_pending(await challenge(service))
        right = await right_code(service, ada, method, pending)
        before = await session_count(service)
        await self.ban(service)

        answer = await enter(service, method, right, pending)
        asked = await service.post("/two-factor/send-otp", headers=pending)

        assert (code(answer), code(asked)) == ("403 BANNED_USER", "403 BANNED_USER")
        assert await session_count(service) == before

    async def test_nor_a_new_password_nor_signing_up_again(self, service: Service) -> None:
        await steps.join(service)
        token = await steps.reset_token(service)
        await self.ban(service)

        reset = await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
        signed_in = await steps.sign_in(service, password=NEW_PASSWORD)
        again = await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})

        assert (code(reset), set_cookies(reset)) == ("200", {})
        assert (code(signed_in), again.status_code) == ("403 BANNED_USER", 422)
        assert await session_count(service) == 0

    @pytest.mark.parametrize("begun", ["before the ban", "after it"])
    async def test_nor_does_a_provider(self, social: Service, provider: ProviderProcess, begun: str) -> None:
        as_user(provider, ADA, "1001")
        await social_steps.enter(social)
        before = await session_count(social)
        early = await begin(social)
        await self.ban(social)

        answer = await go_through(social, early if begun == "before the ban" else await begin(social))
        direct = await social_steps.sign_in_directly(social, provider.mint())

        assert error_of(answer) == "BANNED_USER"
        assert steps.refusal(direct) == (403, "BANNED_USER", "You have been banned from this application")
        assert not set(set_cookies(answer)) & {SESSION, PENDING}
        assert await session_count(social) == before

    async def test_nor_is_an_identity_joined_or_linked_to_them(
        self, social: Service, provider: ProviderProcess
    ) -> None:
        ada = await steps.join(social)
        await steps.verify(social)
        as_user(provider, ADA, "1001")
        linking = await begin_link(social, ada)
        await self.ban(social)

        joined = await social_steps.sign_in(social)
        linked = await go_through(social, linking)

        assert [error_of(joined), error_of(linked)] == ["BANNED_USER", "unable_to_link_account"]
        assert await social_steps.identities(social) == []

    async def test_where_a_session_is_optional_theirs_counts_as_none(
        self, open_service: Service, carry: Callable[[str], Headers]
    ) -> None:
        service = open_service
        ada = await gather(service, ADA)
        await self.ban(service)

        answer = await service.post(
            "/send-verification-email", {"email": EVE}, headers=carry(ada.secrets["session"])
        )

        assert answer.json() == {"status": True}

    async def test_a_ban_that_has_ended_is_lifted(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        await steps.join(service)
        await self.ban(service, ban_expires=START + timedelta(hours=1))
        service.clock.advance(minutes=59, seconds=59)
        early = await steps.sign_in(service)
        service.clock.advance(seconds=1)

        late = await steps.sign_in(service)

        assert (code(early), code(late)) == ("403 BANNED_USER", "200")
        user = await steps.user_of(service, carry(late.json()["token"]))
        assert (user["banned"], user["banReason"], user["banExpires"]) == (False, None, None)

    async def test_one_that_has_ended_stops_nobody_on_the_way(self, service: Service, ada: Owner) -> None:
        pending = bearer(await challenge(service))
        await self.ban(service, ban_expires=service.clock.now + timedelta(minutes=1))
        service.clock.advance(minutes=1)

        right = await right_code(service, ada, "totp", pending)
        answer = await enter(service, "totp", right, pending)

        assert code(answer) == "200"
        assert await works(service, ada.session)

    async def test_others_are_not_concerned(self, service: Service) -> None:
        eve = await steps.join(service, EVE)
        await steps.join(service)
        await self.ban(service)

        assert await works(service, eve)
        assert code(await steps.sign_in(service, EVE)) == "200"
