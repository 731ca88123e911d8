"""Who is calling: the classes of operations and the search for the session."""

from typing import Any

import pytest

from tests.server.api.conftest import PENDING, TOKEN, MakePeer, Peer
from tests.server.api.raw import ask

COOKIE = f"service.session-token={TOKEN}"
OTHER = "b2C3" * 8
CLEARED = "service.session-token=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly; Secure"
PENDING_CLEARED = "service.two-factor=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly; Secure"
Headers = list[tuple[str, Any]]


async def name(peer: Peer, headers: Headers) -> str | None:
    answer = await ask(peer.app, "GET", "/get-session", headers)
    return str(answer.json["caller"]) if answer.status == 200 else None


class TestBearer:
    @pytest.mark.parametrize("end", ["\v", "\f", "\x1f", "\x85", "\xa0"])
    async def test_white_space_is_spaces_and_tabs_alone(self, peer: Peer, end: str) -> None:
        assert await name(peer, [("authorization", f"Bearer {TOKEN}{end}")]) is None

    @pytest.mark.threat("V28")
    @pytest.mark.parametrize(
        "value",
        [
            *(f"{scheme} {TOKEN}" for scheme in ("Bearer", "BEARER", "bEaReR ")),
            *(f"Bearer {TOKEN} ", f"Bearer {TOKEN}\t", f" \t Bearer {TOKEN} \t"),
        ],
    )
    async def test_is_found_in_any_case_and_between_white_space(self, peer: Peer, value: str) -> None:
        assert await name(peer, [("authorization", value)]) == "Ada"
        assert peer.memory.looked_up == [(TOKEN, False)]

    @pytest.mark.threat("V28")
    @pytest.mark.parametrize("second", [f"Bearer {TOKEN}", "Basic x"])
    async def test_several_headers_are_no_session(self, peer: Peer, second: str) -> None:
        headers = [("authorization", f"Bearer {TOKEN}"), ("authorization", second), ("cookie", COOKIE)]

        assert await name(peer, headers) is None

    @pytest.mark.threat("V28")
    @pytest.mark.parametrize("value", ["Basic YTpi", "Digest a=b", f"Bearers {TOKEN}", "Negotiate"])
    async def test_other_schemes_are_ignored(self, peer: Peer, value: str) -> None:
        assert await name(peer, [("authorization", value), ("cookie", COOKIE)]) == "Ada"


class TestCookie:
    @pytest.mark.threat("V27")
    @pytest.mark.parametrize(
        "cookie",
        [
            COOKIE,
            f"a=1;{COOKIE} ; b=2",
            f"a=%; {COOKIE}; b=%zz",
            f'broken"; {{"json": 1}}; =; {COOKIE}',
            f"{COOKIE}; {COOKIE}",
            f"xservice.session-token=x; {COOKIE}",
            f"a=service.session-token=x; {COOKIE}",
            f"{COOKIE} \t",
            f"\t {COOKIE}",
        ],
    )
    async def test_is_found_beside_any_other(self, peer: Peer, cookie: str) -> None:
        assert await name(peer, [("cookie", "a=1"), ("cookie", cookie), ("cookie", "b=2")]) == "Ada"
        assert await name(peer, [("cookie", cookie)]) == "Ada"
        assert peer.memory.looked_up == [(TOKEN, True)] * 2

    @pytest.mark.parametrize(
        "cookie", ["", "a=b", f"Service.session-token={TOKEN}", f"session-token={TOKEN}", f"x{COOKIE}"]
    )
    async def test_others_are_none_of_ours(self, peer: Peer, cookie: str) -> None:
        answer = await ask(peer.app, "GET", "/get-session", [("cookie", cookie)])

        assert (answer.status, answer.header("set-cookie")) == (401, None)

    @pytest.mark.parametrize(
        "cookie",
        [
            f"service.session-token={OTHER}; service.session-token={OTHER[::-1]}",
            f"service.session-token={OTHER}",
            "service.session-token=%",
            "service.session-token=",
            f'service.session-token="{TOKEN}"',
            f"service.session-token={TOKEN}.signature",
            "service.session-token=" + "x" * 8192,
            b"service.session-token=\xff\xfe",
            f"service.session-token={PENDING}",
        ],
    )
    async def test_a_wrong_one_is_cleared_with_the_401(self, peer: Peer, cookie: Any) -> None:
        answer = await ask(peer.app, "GET", "/get-session", [("cookie", cookie)])

        assert (answer.status, answer.header("set-cookie")) == (401, CLEARED)


class TestClasses:
    async def test_public_operations_ignore_credentials(self, peer: Peer) -> None:
        headers = [("authorization", "Bearer x"), ("cookie", f"service.session-token={OTHER}")]

        answer = await ask(peer.app, "GET", "/ok", headers)

        assert (answer.status, answer.header("set-cookie"), peer.memory.looked_up) == (200, None, [])

    async def test_optional_operations_use_a_session(self, peer: Peer) -> None:
        answer = await ask(peer.app, "GET", "/verify-email?token=a", [("cookie", COOKIE)])

        assert answer.json["caller"] == "Ada"

    @pytest.mark.parametrize("headers", [[], [("authorization", "Bearer x"), ("cookie", COOKIE)]])
    async def test_optional_operations_do_without(self, peer: Peer, headers: Headers) -> None:
        answer = await ask(peer.app, "GET", "/verify-email?token=a", headers)

        assert (answer.json["caller"], answer.header("set-cookie")) == (None, None)

    @pytest.mark.parametrize(("target", "status"), [("/verify-email?token=a", 200), ("/verify-email", 400)])
    async def test_optional_operations_clear_a_stale_cookie(
        self, peer: Peer, target: str, status: int
    ) -> None:
        answer = await ask(peer.app, "GET", target, [("cookie", f"service.session-token={OTHER}")])

        assert (answer.status, answer.header("set-cookie")) == (status, CLEARED)

    async def test_a_cookie_is_never_set_twice(self, peer: Peer) -> None:
        peer.memory.headers = ((b"set-cookie", CLEARED.encode()), (b"set-cookie", b"other=1"))

        answer = await ask(peer.app, "POST", "/sign-out", [("cookie", f"service.session-token={OTHER}")])

        assert answer.every("set-cookie") == [CLEARED, "other=1"]

    async def test_session_management_opens_when_authentication_is_not_required(
        self, make_peer: MakePeer
    ) -> None:
        peer = make_peer(require_authentication=False)

        assert (await ask(peer.app, "GET", "/get-session")).body == b"null"
        assert (await ask(peer.app, "POST", "/revoke-sessions")).json == {"caller": None}
        assert await name(peer, [("cookie", COOKIE)]) == "Ada"
        assert (await ask(peer.app, "POST", "/two-factor/verify-totp")).status == 401


class TestPending:
    JSON = ("content-type", "application/json")

    async def verify(self, peer: Peer, *headers: tuple[str, str]) -> Any:
        return await ask(
            peer.app, "POST", "/two-factor/verify-totp", [self.JSON, *headers], [b'{"code":"1"}']
        )

    @pytest.mark.parametrize(
        ("headers", "caller", "challenge"),
        [
            ([("authorization", f"Bearer {PENDING}"), ("cookie", COOKIE)], None, "first"),
            ([("cookie", f"{COOKIE}; service.two-factor={PENDING}")], None, "first"),
            (
                [("authorization", f"Bearer {TOKEN}"), ("cookie", f"service.two-factor={PENDING}")],
                None,
                "first",
            ),
            ([("authorization", f"Bearer {TOKEN}"), ("cookie", COOKIE)], "Ada", None),
            ([("authorization", "Bearer x"), ("cookie", COOKIE)], "Ada", None),
            ([("authorization", f"Bearer {OTHER}"), ("cookie", COOKIE)], "Ada", None),
        ],
    )
    async def test_the_order_of_credentials(
        self, peer: Peer, headers: Headers, caller: str | None, challenge: str | None
    ) -> None:
        peer.memory.live_challenges[PENDING] = "first"

        answer = await self.verify(peer, *headers)

        assert (answer.json["caller"], answer.json["challenge"]) == (caller, challenge)

    async def test_a_dead_pending_cookie_is_cleared_beside_a_session(self, peer: Peer) -> None:
        answer = await self.verify(peer, ("cookie", f"{COOKIE}; service.two-factor={PENDING}"))

        assert (answer.json["caller"], answer.every("set-cookie")) == ("Ada", [PENDING_CLEARED])

    async def test_none_valid_is_refused_and_all_cookies_are_cleared(self, peer: Peer) -> None:
        cookie = f"service.session-token={OTHER}; service.two-factor={PENDING}"

        answer = await self.verify(peer, ("authorization", f"Bearer {PENDING}"), ("cookie", cookie))

        assert answer.status == 401
        assert answer.json == {"message": "Invalid two factor cookie", "code": "INVALID_TWO_FACTOR_COOKIE"}
        assert answer.every("set-cookie") == [PENDING_CLEARED, CLEARED]

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ([("cookie", f"service.two-factor={PENDING}")], 403),
            ([("authorization", "Bearer x"), ("cookie", f"service.two-factor={PENDING}")], 403),
            ([("authorization", "Bearer x"), ("cookie", COOKIE)], 403),
            ([("authorization", f"Bearer {PENDING}")], 200),
            ([("authorization", f"Bearer {TOKEN}")], 200),
        ],
    )
    async def test_a_cookie_that_counts_needs_a_trusted_origin(
        self, peer: Peer, headers: Headers, status: int
    ) -> None:
        peer.memory.live_challenges[PENDING] = "first"

        answer = await self.verify(peer, ("origin", "https://evil.test"), *headers)

        assert answer.status == status


class TestElsewhere:
    @pytest.mark.threat("V28")
    @pytest.mark.parametrize("target", [f"/get-session?token={TOKEN}", f"/get-session?access_token={TOKEN}"])
    async def test_tokens_never_authenticate(self, peer: Peer, target: str) -> None:
        headers = [("x-auth-token", TOKEN), ("set-auth-token", TOKEN), ("x-session-token", TOKEN)]

        assert (await ask(peer.app, "GET", target, headers)).status == 401
