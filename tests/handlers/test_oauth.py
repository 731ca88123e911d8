"""The form of requests and errors of the OAuth protocol, shown by the revocation of tokens."""

from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from tests.conftest import Headers, MakeService, SignIn
from tests.handlers.steps import code, token_of
from tests.oauth import OAuthTestClient, add_client, add_public_client
from tests.postgres import Cluster
from tests.service import BASE_URL, Service, open_service

PATH = "/oauth2/revoke"
FORM = {"content-type": "application/x-www-form-urlencoded"}
FOREIGN = "https://evil.example"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service()


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    """A client with a secret."""
    return await add_client(service)


def said(answer: httpx.Response) -> str:
    """Return status, error and description of an error of the protocol."""
    body = answer.json()
    assert set(body) == {"error", "error_description"}
    return f"{answer.status_code} {body['error']}: {body['error_description']}"


async def send(service: Service, content: str | bytes, headers: dict[str, str] = FORM) -> httpx.Response:
    return await service.client.post(PATH, content=content, headers=headers)


async def revoke(service: Service, data: dict[str, Any], headers: Headers | None = None) -> httpx.Response:
    return await service.client.post(PATH, data=data, headers=headers)


def cors(answer: httpx.Response) -> tuple[str | None, str | None]:
    names = ("access-control-allow-origin", "access-control-allow-credentials")
    return answer.headers.get(names[0]), answer.headers.get(names[1])


@pytest.mark.operation("oauth.revoke")
class TestParameters:
    async def test_come_as_a_form_with_any_way_to_authenticate(self, service: Service) -> None:
        shop, app = await add_client(service), await add_public_client(service)

        answers = [
            await revoke(service, {"token": "x"}, shop.basic),
            await revoke(service, {"token": "x", **shop.form}),
            await revoke(service, {"token": "x", "client_id": app.client_id}),
            await revoke(service, {"token": "x", "client_id": shop.client_id}, shop.basic),
            await revoke(service, {"token": "x", **shop.form, "unknown": "y"}),
        ]

        assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {})] * 5
        assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}

    @pytest.mark.parametrize(
        "content_type",
        [
            "application/x-www-form-urlencoded",
            "Application/X-WWW-Form-URLencoded",
            "application/x-www-form-urlencoded; charset=UTF-8",
            'application/x-www-form-urlencoded ;charset="utf-8"',
        ],
    )
    async def test_come_in_utf_8(self, service: Service, shop: OAuthTestClient, content_type: str) -> None:
        headers = {"content-type": content_type, **shop.basic}

        assert (await send(service, "token=%C3%A9+%E2%98%83", headers)).status_code == 200

    async def test_an_empty_value_counts_as_absent(self, service: Service, shop: OAuthTestClient) -> None:
        empty = await revoke(service, {"token": "", **shop.form})
        twice = await send(service, "token=&token=x&client_id=", {**FORM, **shop.basic})

        assert said(empty) == "400 invalid_request: token is missing"
        assert twice.status_code == 200

    async def test_one_that_may_be_repeated_is_no_fault(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        content = "token=x&resource=https://a.example&resource=https://b.example"

        assert (await send(service, content, {**FORM, **shop.basic})).status_code == 200

    @pytest.mark.threat("O25")
    async def test_with_a_fault_are_refused(self, service: Service, shop: OAuthTestClient) -> None:
        own = f"client_id={shop.client_id}&client_secret={shop.secret}&token=x"
        for content, description in (
            (f"{own}&token=x", "token is given twice"),
            (f"{own}&client_id={shop.client_id}", "client_id is given twice"),
            (f"{own}&unknown=1&unknown=2", "unknown is given twice"),
            (f"{own}&%22%3E%0D%0Ax=1&%22%3E%0D%0Ax=2", "A parameter is given twice"),
            (f"{own}&state=a%00b", "U+0000 is not allowed"),
            (f"{own}&a%00b=1", "U+0000 is not allowed"),
            (f"{own}&state={'x' * 8193}", "state is longer than 8192 bytes"),
            (f"{own}&state={'%C3%A9' * 4097}", "state is longer than 8192 bytes"),
            (f"{own}&state=%FF", "A parameter is missing, malformed or given twice"),
            (f"{own}&state=".encode() + b"\xff", "A parameter is missing, malformed or given twice"),
        ):
            assert said(await send(service, content)) == f"400 invalid_request: {description}"

        assert (await send(service, f"{own}&state={'x' * 8192}")).status_code == 200

    @pytest.mark.threat("O25")
    async def test_in_the_query_are_not_read_and_must_not_be_in_the_body_too(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        async def ask(query: str, content: str) -> httpx.Response:
            return await service.client.post(f"{PATH}?{query}", content=content, headers=FORM)

        own = f"client_id={shop.client_id}&client_secret={shop.secret}"
        for query, content, expected in (
            (
                f"client_id={shop.client_id}",
                f"{own}&token=x",
                "400 invalid_request: client_id is given twice",
            ),
            ("client_id=app_other", f"{own}&token=x", "400 invalid_request: client_id is given twice"),
            ("token=y", f"{own}&token=x", "400 invalid_request: token is given twice"),
            ("token=x", own, "400 invalid_request: token is missing"),
            (own, "token=x", "401 invalid_client: The client is unknown, or its authentication failed"),
        ):
            assert said(await ask(query, content)) == expected
        assert (await ask("token=&page=1&page=2&%FF", f"{own}&token=x")).status_code == 200

    @pytest.mark.threat("O25")
    @pytest.mark.parametrize(
        "content_type",
        [
            "application/json",
            "text/plain",
            "multipart/form-data; boundary=x",
            "application/x-www-form-urlencoded; charset=iso-8859-1",
            "application/x-www-form-urlencoded; charset=utf-16",
            "application/x-www-form-urlencoded; charset=",
            "application/x-www-form-urlencoded, application/json",
            "",
        ],
    )
    async def test_in_another_form_are_refused(
        self, service: Service, shop: OAuthTestClient, content_type: str
    ) -> None:
        answer = await send(service, b'{"token": "x"}', {"content-type": content_type, **shop.basic})

        assert code(answer) == "415 UNSUPPORTED_MEDIA_TYPE"

    @pytest.mark.threat("O25")
    async def test_of_64_kib_and_no_more_are_read(self, service: Service, shop: OAuthTestClient) -> None:
        own = f"client_id={shop.client_id}&client_secret={shop.secret}&token=x"
        padded = own + "&a=" * ((65536 - len(own)) // 3)

        most = await send(service, padded.ljust(65536, "&"))
        more = await send(service, padded.ljust(65537, "&"))

        assert (most.status_code, code(more)) == (200, "413 PAYLOAD_TOO_LARGE")

    async def test_compressed_are_refused(self, service: Service, shop: OAuthTestClient) -> None:
        headers = {**FORM, **shop.basic, "content-encoding": "gzip"}

        assert code(await send(service, b"token=x", headers)) == "415 UNSUPPORTED_MEDIA_TYPE"


class TestErrors:
    async def test_of_a_client_say_how_it_authenticates(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        text = "401 invalid_client: The client is unknown, or its authentication failed"
        for data, headers in (
            ({}, {}),
            ({"client_id": "app_unknown"}, {}),
            ({"client_id": shop.client_id}, {}),
            ({"client_id": shop.client_id, "client_secret": "gws_wrong"}, {}),
            ({}, {"authorization": "Basic !"}),
            ({}, {"authorization": "Bearer x"}),
        ):
            answer = await revoke(service, {"token": "x", **data}, headers)

            assert said(answer) == text
            assert answer.headers["www-authenticate"] == 'Basic realm="gatewright"'
            assert answer.headers["cache-control"] == "no-store"

    async def test_before_the_operation_have_the_form_of_all_others(
        self, service: Service, make_service: MakeService
    ) -> None:
        off = await make_service({"oauth.enabled": "false"})

        assert code(await service.get(PATH)) == "405 METHOD_NOT_ALLOWED"
        assert code(await service.post(PATH + "/")) == "404 NOT_FOUND"
        assert code(await revoke(off, {"token": "x"})) == "404 NOT_FOUND"

    async def test_of_the_request_limit_say_when_to_retry(self, make_service: MakeService) -> None:
        service = await make_service({"limits.requests": "20"})
        answers = [await revoke(service, {"token": "x"}) for _ in range(22)]

        assert {answer.status_code for answer in answers[:19]} == {401}
        text = "429 temporarily_unavailable: Too many requests. Please try again later."
        assert said(answers[-1]) == text
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert answers[-1].headers["x-retry-after"] == answers[-1].headers["retry-after"]

    @pytest.mark.both_databases
    @pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
    async def test_without_a_database_say_when_to_retry(
        self, dialect: str, cluster: Cluster, tmp_path: Path
    ) -> None:
        url = str(cluster.create(migrated=True))
        service = await open_service(url, tmp_path, {})
        connection = await asyncpg.connect(cluster.url())
        await connection.execute(f'DROP DATABASE "{url.rpartition("/")[2]}" WITH (FORCE)')
        await connection.close()

        answer = await revoke(service, {"token": "x", "client_id": "app_x"})

        assert said(answer) == "503 temporarily_unavailable: Service unavailable"
        assert answer.headers["retry-after"] == "5"


class TestOrigins:
    @pytest.mark.parametrize(
        ("origin", "expected"),
        [(BASE_URL, (BASE_URL, "true")), (FOREIGN, ("*", None)), ("null", ("*", None)), (None, ("*", None))],
    )
    async def test_every_page_may_call_and_only_trusted_ones_with_credentials(
        self, service: Service, shop: OAuthTestClient, origin: str | None, expected: tuple[str, str | None]
    ) -> None:
        headers = {} if origin is None else {"origin": origin}
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}

        preflight = await service.client.options(PATH, headers={**headers, **asked})
        done = await revoke(service, {"token": "x"}, {**headers, **shop.basic})
        failed = await revoke(service, {}, headers)

        assert (preflight.status_code, done.status_code, failed.status_code) == (204, 200, 401)
        assert {cors(answer) for answer in (preflight, done, failed)} == {expected}
        assert preflight.headers["access-control-allow-headers"] == "Content-Type, Authorization"
        assert preflight.headers["access-control-allow-methods"] == "GET, POST"
        assert done.headers["vary"] == "Origin"

    @pytest.mark.threat("O22")
    async def test_cookies_are_ignored_whatever_page_sends_them(
        self, service: Service, shop: OAuthTestClient, sign_up: SignIn
    ) -> None:
        token = token_of(await sign_up())
        cookie = {"cookie": f"service.session-token={token}"}
        service.clock.advance(days=2)
        page = {"origin": FOREIGN, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}

        for headers in (cookie, {**cookie, **page}, {**cookie, "referer": f"{FOREIGN}/x"}):
            done = await revoke(service, {"token": token}, {**headers, **shop.basic})
            alone = await revoke(service, {"token": token}, headers)

            assert (done.status_code, done.json(), alone.status_code) == (200, {}, 401)
            assert {"set-cookie", "set-auth-token"}.isdisjoint({*done.headers, *alone.headers})
        # The session lives on, and was extended by none of these requests.
        session = await service.get("/get-session", headers=cookie)
        assert session.json()["session"]["updatedAt"] != "2026-01-01T12:00:00.000Z"
        assert "set-cookie" in session.headers
