"""The attacks on accounts and their tokens, one group of tests per row of the threat list, each marked with its row."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest

from codegen.walk import Operation
from tests.conftest import Headers, MakeService
from tests.contract.reading import OWN_OPERATIONS
from tests.handlers import steps
from tests.handlers.steps import ADA, AT, EVE, NEW_PASSWORD, UNKNOWN, bearer, code, works
from tests.labs.provider import steps as social_steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.steps import Flow as ProviderFlow
from tests.labs.provider.steps import as_user, begin, begin_link, deliver, error_of, go_through, opened, visit
from tests.live import LiveService, serving
from tests.security import belongings
from tests.security.belongings import Belongings, gather, kept
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
from tests.service import PASSWORD, Service

SETTINGS = belongings.SETTINGS
FOR_SESSIONS = {name: one for name, one in OWN_OPERATIONS.items() if one.spec.get("security") is None}
"""The operations that want a session, as the contract says."""


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

    async def test_whatever_is_named_only_the_caller_is_concerned(self, open_service: Service) -> None:
        service = open_service
        eve = await gather(service, EVE)
        before = await kept(service, eve.user_id)
        [account] = await service.rows("SELECT id FROM account WHERE user_id = :user", user=eve.user_id)
        named = ("session", "handle", "delete", "change-email", "id")
        objects = [*(eve.secrets[kind] for kind in named), str(account.id), EVE]

        for operation_id, operation in FOR_SESSIONS.items():
            for number, value in enumerate(objects):
                ada = await steps.join(service, f"{operation_id}.{number}@example.com")
                for more in ({"token": value}, dict.fromkeys(self.KEYS, value)):
                    answer = await call(service, operation, ada, **more)

                    assert EVE not in answer.text, operation_id
                    assert eve.user_id not in answer.text, operation_id
            assert await kept(service, eve.user_id) == before, operation_id
        assert await works(service, eve.session)


@pytest.mark.threat("V25")
class TestMailedCodes:
    """The service tells the caller the code that it sends by mail."""

    async def test_a_caller_with_a_session_is_not_told_either(
        self, service: Service, ada: Owner, carry: Callable[[str], Headers]
    ) -> None:
        session = carry(token_in(ada.session))

        answer = await service.post("/two-factor/send-otp", headers=session)
        mailed = (await service.inbox(ADA, "otp"))[-1]["code"]
        others = [await service.get(path, headers=session) for path in ("/get-session", "/list-sessions")]

        assert answer.json() == {"status": True}
        for heard in (answer, *others):
            named = [value for name, value in heard.headers.multi_items() if name != "x-request-id"]
            assert mailed not in [*strings(heard.json()), *named]
        assert code(await enter(service, "otp", mailed, session)) == "200"


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

    async def test_no_operation_lets_one_in(self, service: Service) -> None:
        for operation_id, operation in FOR_SESSIONS.items():
            for value in (b"%", b"\xff\xfe", b"x" * 32):
                broken: Any = {"Cookie": SESSION.encode() + b"=" + value}

                answer = await call(service, operation, broken)

                assert code(answer) == "401 UNAUTHORIZED", (operation_id, value)

    def test_of_two_live_ones_on_the_wire_none_counts(self, live: LiveService, live_token: bytes) -> None:
        body = b'{"email":"ada@example.com","password":"correct horse battery"}'
        second = ask(live.url, "POST /sign-in/email HTTP/1.1", b"Host: {host}", body=body).json["token"]
        sent = (live_token, b"x" * 32, str(second).encode())
        good, bad, other = [b"Cookie: " + SESSION.encode() + b"=" + value for value in sent]

        heard = [
            ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", *sent).code
            for sent in ((good,), (good, bad), (bad, good), (good, other), (other, good))
        ]

        assert heard == ["200"] * 3 + ["401 UNAUTHORIZED"] * 2

    async def test_broken_pending_and_trust_cookies_prove_nothing(self, service: Service, ada: Owner) -> None:
        before = await session_count(service)

        for value in BROKEN_COOKIES:
            pending: Any = {"Cookie": PENDING.encode() + b"=" + value}
            trust: Any = {"Cookie": TRUST.encode() + b"=" + value}
            answers = [await enter(service, method, "123456", pending) for method in METHODS]

            assert told(answers) == {"401 INVALID_TWO_FACTOR_COOKIE": len(METHODS)}, value
            assert is_pending(await sign_in(service, headers=trust)), value
        assert await session_count(service) == before

    async def test_no_other_provider_takes_the_place_of_an_unknown_one(
        self, make_service: MakeService
    ) -> None:
        keys = {"preset": "github", "client_id": "id", "client_secret": "secret"}
        service = await make_service({f"providers.github.{key}": value for key, value in keys.items()})
        ada = await steps.join(service)
        service.client.cookies.clear()
        before = await session_count(service)
        unknown = ("gitlab", "", "GITHUB", "github ", "../github", "credential", "__proto__", "é", "a" * 300)
        beginnings: tuple[dict[str, Any], ...] = (
            {"callbackURL": "/x"},
            {"idToken": "a.b.c"},
            {"idToken": {"token": "a.b.c"}},
        )

        answers = [
            await service.post(path, {"provider": provider, **body}, headers=headers)
            for provider in unknown
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

    async def test_no_operation_breaks(self, service: Service) -> None:
        wrong = {}
        for operation_id, operation in OWN_OPERATIONS.items():
            for value in (b"Bearer", b"Bearer \xff", b"Bearer " + b"x" * 32, b"\xff\xfe", b""):
                answer = await call(service, operation, {"Authorization": value})  # type: ignore[dict-item]
                told = code(answer)
                if told != "401 UNAUTHORIZED" if operation_id in FOR_SESSIONS else answer.status_code >= 500:
                    wrong[operation_id, value] = told

        assert wrong == {}

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

    def test_of_two_on_the_wire_none_counts(self, live: LiveService, live_token: bytes) -> None:
        good = b"Authorization: Bearer " + live_token

        heard = [
            ask(live.url, "GET /get-session HTTP/1.1", b"Host: {host}", *sent).code
            for sent in ((good,), (good, good), (good, b"Authorization: Basic YTpi"))
        ]

        assert heard == ["200", "401 UNAUTHORIZED", "401 UNAUTHORIZED"]


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

    @pytest.mark.threat("V23", "V85")
    async def test_a_token_of_another_kind_is_refused(self, open_service: Service) -> None:
        service = open_service
        ada, eve = await gather(service, ADA), await gather(service, EVE)
        before = [await kept(service, one.user_id) for one in (ada, eve)]

        for name, flow in FLOWS.items():
            for kind, secret in (*ada.secrets.items(), *eve.secrets.items()):
                if kind not in flow.kinds:
                    assert code(await flow.attempt(service, secret, ada)) == flow.refused, (name, kind)

        assert [await kept(service, one.user_id) for one in (ada, eve)] == before

    @pytest.mark.threat("V23")
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
    "email_verified": True, "two_factor_enabled": True, "is_admin": True, "isAdmin": True, "user_id": "i" * 32,
    "remembered": True,
    "impersonatedBy": "i" * 32, "activeOrganizationId": "o", "expiresAt": "2100-01-01T00:00:00.000Z",
    "data": {"role": "admin"}, "accounts": [{"providerId": "github", "accountId": "1"}],
}  # fmt: skip
"""Fields that only the service sets, in every spelling somebody may hope for."""

OWN = ("id", "role", "emailVerified", "banned", "banReason", "banExpires", "twoFactorEnabled", "createdAt")


def owned(user: dict[str, Any]) -> dict[str, Any]:
    """Return what of a user only the service sets."""
    return {key: user[key] for key in OWN}


@pytest.mark.threat("V30")
class TestFieldsNobodyOffered:
    """A body sets fields that nobody offered."""

    async def test_neither_sign_up_nor_sign_in_sets_any(self, service: Service) -> None:
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD, **MASS})
        signed_in = bearer((await steps.sign_in(service, **MASS)).json()["token"])

        user = await steps.user_of(service, signed_in)
        assert user["id"] != MASS["id"]
        assert owned(user) == {
            "id": user["id"], "role": "user", "emailVerified": False, "banned": False, "banReason": None,
            "banExpires": None, "twoFactorEnabled": False, "createdAt": AT,
        }  # fmt: skip
        for session in (await service.get("/list-sessions", headers=signed_in)).json():
            assert session["expiresAt"] == "2026-01-08T12:00:00.000Z"
            assert "impersonatedBy" not in session
        [account] = await service.rows("SELECT provider_id, user_id FROM account")
        assert (account.provider_id, account.user_id) == ("credential", user["id"])

    async def test_update_user_sets_none_of_them(self, service: Service) -> None:
        ada = await steps.join(service)
        before = owned(await steps.user_of(service, ada))

        # Without the fields that are refused by name.
        unknown = {key: value for key, value in MASS.items() if key not in before and key != "updatedAt"}
        answer = await service.post("/update-user", {"name": "B", **unknown}, headers=ada)

        assert answer.json() == {"status": True}
        assert owned(await steps.user_of(service, ada)) == before

    async def test_no_other_operation_does(self, service: Service) -> None:
        mass = {**MASS, "password": PASSWORD, "currentPassword": PASSWORD}
        others = [
            one for name, one in FOR_SESSIONS.items() if one.method == "post" and name != "users.delete"
        ]

        for operation in others:
            await call(
                service,
                operation,
                await steps.join(service, f"{operation.spec['operationId']}@x.test"),
                **mass,
            )

        for user in await service.rows('SELECT * FROM "user"'):
            assert user.id != MASS["id"]
            assert (user.role, bool(user.email_verified)) == ("user", False)
            assert (bool(user.banned), bool(user.two_factor_enabled)) == (False, False)
        for session in await service.rows("SELECT impersonated_by, active_organization_id FROM session"):
            assert session.impersonated_by is None
            assert session.active_organization_id != MASS["activeOrganizationId"]


@pytest.mark.threat("V32")
class TestUnverifiedAddresses:
    """An address that nobody proved counts as one's own."""

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


@pytest.mark.threat("V33")
class TestBans:
    """Somebody who was banned gets in, or stays in."""

    async def ban(self, service: Service, **more: Any) -> None:
        await steps.set_user(service, banned=True, ban_reason="spam", **more)

    async def test_their_session_ends_at_once_everywhere(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        eve = await steps.join(service, EVE)
        await steps.join(service)

        for operation_id, operation in FOR_SESSIONS.items():
            service.clock.advance(
                seconds=1
            )  # There are more operations than requests in the window of the limit.
            ada = carry((await steps.sign_in(service)).json()["token"])
            await self.ban(service)

            assert code(await call(service, operation, ada)) == "401 UNAUTHORIZED", operation_id
            await steps.set_user(service, banned=False)
            assert not await works(service, ada), operation_id
        assert await works(service, eve)

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

    async def test_one_that_has_ended_stops_nobody_on_the_way(self, service: Service, ada: Owner) -> None:
        pending = bearer(await challenge(service))
        await self.ban(service, ban_expires=service.clock.now + timedelta(minutes=1))
        service.clock.advance(minutes=1)

        right = await right_code(service, ada, "totp", pending)
        answer = await enter(service, "totp", right, pending)

        assert code(answer) == "200"
        assert await works(service, ada.session)
