"""The origin check and CORS."""

import pytest

from tests.server.api.conftest import TOKEN, Peer
from tests.server.api.raw import Answer, ask

JSON = ("content-type", "application/json")
GOOD = b'{"email":"ada@app.test","password":"p"}'
EVIL = "https://evil.test"
CROSS_NAVIGATION = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]


async def sign_in(peer: Peer, *headers: tuple[str, str]) -> Answer:
    return await ask(peer.app, "POST", "/sign-in/email", [JSON, *headers], [GOOD])


class TestOriginCheck:
    @pytest.mark.parametrize(
        ("headers", "code"),
        [
            (CROSS_NAVIGATION, "CROSS_SITE_NAVIGATION_LOGIN_BLOCKED"),
            ([*CROSS_NAVIGATION, ("origin", "https://app.test")], "CROSS_SITE_NAVIGATION_LOGIN_BLOCKED"),
            ([("origin", "null")], "MISSING_OR_NULL_ORIGIN"),
            ([("origin", EVIL)], "INVALID_ORIGIN"),
            ([("origin", "")], "INVALID_ORIGIN"),
            ([("origin", EVIL), ("sec-fetch-site", "same-origin")], "INVALID_ORIGIN"),
            ([("origin", "https://app.test"), ("origin", EVIL)], "INVALID_ORIGIN"),
            ([("origin", "https://app.test.evil.test")], "INVALID_ORIGIN"),
            ([("referer", f"{EVIL}/page")], "INVALID_ORIGIN"),
            ([("referer", "https://app.test@evil.test/")], "INVALID_ORIGIN"),
            ([("referer", "garbage")], "INVALID_ORIGIN"),
            ([("referer", "")], "INVALID_ORIGIN"),
            ([("sec-fetch-site", "cross-site")], "MISSING_OR_NULL_ORIGIN"),
            ([("sec-fetch-site", "same-site")], "MISSING_OR_NULL_ORIGIN"),
            (
                [("sec-fetch-site", "cross-site "), ("sec-fetch-mode", "\tnavigate\t")],
                "CROSS_SITE_NAVIGATION_LOGIN_BLOCKED",
            ),
            ([("origin", "null ")], "MISSING_OR_NULL_ORIGIN"),
            ([("origin", "https://app.test"), ("origin", "null\t")], "MISSING_OR_NULL_ORIGIN"),
            ([("origin", "https://app.test\v")], "INVALID_ORIGIN"),
            ([("authorization", "Basic YTpi"), ("origin", EVIL)], "INVALID_ORIGIN"),
        ],
    )
    async def test_what_a_foreign_page_sends_is_refused(
        self, peer: Peer, headers: list[tuple[str, str]], code: str
    ) -> None:
        answer = await sign_in(peer, *headers)

        assert (answer.status, answer.json["code"], peer.memory.calls) == (403, code, [])

    @pytest.mark.threat("V11")
    @pytest.mark.parametrize(
        "headers",
        [
            [],
            [("origin", "https://app.test"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")],
            [("origin", "https://auth.test")],
            [("origin", "https://one.sites.test")],
            [("referer", "https://app.test/sign-in?x=1")],
            [("sec-fetch-site", "same-origin")],
            [("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
            [("origin", "https://app.test \t"), ("sec-fetch-site", "cross-site")],
            [("origin", " https://app.test"), ("origin", "https://app.test\t")],
            [("referer", " https://app.test/ ")],
            [("sec-fetch-site", "same-origin ")],
            [("authorization", "Bearer x"), ("origin", EVIL)],
            [("authorization", f"bearer {TOKEN}"), ("origin", EVIL)],
        ],
    )
    async def test_a_trusted_page_or_a_program_passes(
        self, peer: Peer, headers: list[tuple[str, str]]
    ) -> None:
        assert (await sign_in(peer, *headers)).status == 200

    async def test_get_is_not_checked(self, peer: Peer) -> None:
        assert (await ask(peer.app, "GET", "/reset-password/a", [("origin", EVIL)])).status == 200


class TestCors:
    @pytest.mark.parametrize(
        ("method", "path", "status"), [("GET", "/ok", 200), ("GET", "/nope", 404), ("POST", "/ok", 405)]
    )
    async def test_every_answer_to_a_trusted_origin_carries_it(
        self, peer: Peer, method: str, path: str, status: int
    ) -> None:
        answer = await ask(peer.app, method, path, [("origin", "https://one.sites.test")])

        assert answer.status == status
        assert answer.header("access-control-allow-origin") == "https://one.sites.test"
        assert answer.header("access-control-allow-credentials") == "true"
        assert answer.header("access-control-expose-headers") == (
            "set-auth-token, set-auth-jwt, Retry-After, X-Retry-After, X-Request-Id"
        )

    async def test_white_space_around_the_origin_is_no_part_of_it(self, peer: Peer) -> None:
        answer = await ask(peer.app, "GET", "/ok", [("origin", "\thttps://app.test ")])

        assert answer.header("access-control-allow-origin") == "https://app.test"

    @pytest.mark.parametrize("origin", [EVIL, "null", "", "https://APP.test", "\xff"])
    async def test_other_origins_hear_nothing(self, peer: Peer, origin: str) -> None:
        answer = await ask(peer.app, "GET", "/ok", [("origin", origin)])

        assert [name for name, _ in answer.headers if name.startswith(b"access-control")] == []

    async def test_preflight_of_a_trusted_origin(self, peer: Peer) -> None:
        headers = [("origin", "https://app.test"), ("access-control-request-method", "POST")]

        answer = await ask(peer.app, "OPTIONS", "/sign-in/email", headers)

        assert (answer.status, answer.body) == (204, b"")
        assert answer.header("access-control-allow-methods") == "GET, POST"
        assert answer.header("access-control-allow-headers") == "Content-Type, Authorization"
        assert answer.header("access-control-max-age") == "600"
        assert answer.header("access-control-allow-origin") == "https://app.test"

    @pytest.mark.threat("V12")
    async def test_preflight_of_another_origin(self, peer: Peer) -> None:
        headers = [("origin", EVIL), ("access-control-request-method", "POST")]

        answer = await ask(peer.app, "OPTIONS", "/sign-in/email", headers)

        assert (answer.status, answer.header("allow")) == (204, "POST, OPTIONS")
        assert [name for name, _ in answer.headers if name.startswith(b"access-control")] == []
