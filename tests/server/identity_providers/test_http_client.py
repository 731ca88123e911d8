"""Calls: bounded in time, size and memory; everything that goes wrong is one kind of fault."""

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.identity_providers.http_client import Calls, ProviderError, make_client
from tests.labs.provider.process import ProviderProcess
from tests.smtp_peer import HOST, certificate

MAX = 2**20


@pytest.fixture
async def calls() -> AsyncIterator[Calls]:
    """Calls as in development, with patience for a provider that has to make 100 MiB first."""
    async with make_client() as http:
        yield Calls(http, timeout=60, max_response=MAX, loopback_http=True)


@pytest.fixture
def jwks(provider: ProviderProcess) -> str:
    """An address that answers with some JSON."""
    return f"{provider.issuer}/jwks"


async def reason(calls: Calls, url: str) -> str:
    with pytest.raises(ProviderError) as fault:
        await calls.get(url)
    return str(fault.value)


class TestCalls:
    async def test_tell_garbage_from_an_answer(
        self, provider: ProviderProcess, calls: Calls, jwks: str
    ) -> None:
        garbage: list[tuple[dict[str, Any], str]] = [
            ({"status": 500}, "status 500"),
            ({"status": 503, "html": True}, "status 503"),
            ({"status": 429}, "status 429"),
            ({"html": True}, "no JSON"),
            ({"raw": ""}, "no JSON"),
            ({"raw": '{"keys": [NaN]}'}, "no JSON"),
            ({"raw": '{"keys": "\\ud800"}'}, "no JSON"),
            ({"raw": "[" * 100_000}, "no JSON"),
            ({"raw": "[" * 101 + "]" * 101}, "nested too deeply"),
            ({"truncate": True}, "no JSON"),
            ({"redirect": "/jwks"}, "redirect"),
            ({"redirect": "/jwks", "status": 307}, "redirect"),
        ]

        for behaviour, says in garbage:
            provider.control(misbehave={"jwks": behaviour})
            assert says in await reason(calls, jwks), behaviour

    async def test_tell_objects_from_other_json(
        self, provider: ProviderProcess, calls: Calls, jwks: str
    ) -> None:
        for written, body in (("[]", []), ('"text"', "text"), ("5", 5), ("null", None), ("true", True)):
            provider.control(misbehave={"jwks": {"raw": written}})

            reply = await calls.get(jwks)

            assert reply.body == body
            with pytest.raises(ProviderError):
                _ = reply.members

    async def test_give_refusals_as_they_are(
        self, provider: ProviderProcess, calls: Calls, jwks: str
    ) -> None:
        provider.control(misbehave={"jwks": {"json": {"error": "no"}, "status": 400}})
        reply = await calls.get(jwks)
        provider.control(misbehave={"jwks": {"html": True, "status": 401}})
        in_html = await calls.get(jwks)

        assert (reply.status, reply.is_success, reply.members) == (400, False, {"error": "no"})
        assert (in_html.status, in_html.body) == (401, None)

    @pytest.mark.parametrize("behaviour", [{"hang": 60}, {"drip": True}])
    async def test_end_in_time_as_a_whole(
        self, provider: ProviderProcess, calls: Calls, jwks: str, behaviour: dict[str, Any]
    ) -> None:
        provider.control(misbehave={"jwks": behaviour})
        hasty = Calls(calls.client, timeout=0.5, max_response=MAX, loopback_http=True)
        begun = time.monotonic()

        assert await reason(hasty, jwks) == "no answer within 0.5 s"

        assert time.monotonic() - begun < 30

    @pytest.mark.parametrize("behaviour", [{"bytes": 100 * 2**20}, {"gzip_bomb": True}])
    async def test_hold_little_of_what_is_too_long(
        self, provider: ProviderProcess, calls: Calls, jwks: str, behaviour: dict[str, Any]
    ) -> None:
        provider.control(misbehave={"jwks": behaviour})
        tracemalloc.start()

        said = await reason(calls, jwks)

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert f"longer than {MAX}" in said
        assert peak < 8 * MAX

    async def test_accept_what_is_just_short_enough(
        self, provider: ProviderProcess, calls: Calls, jwks: str
    ) -> None:
        provider.control(misbehave={"jwks": {"raw": '"' + "x" * (MAX - 2) + '"'}})
        assert len((await calls.get(jwks)).body) == MAX - 2

        provider.control(misbehave={"jwks": {"raw": '"' + "x" * (MAX - 1) + '"'}})
        assert "longer" in await reason(calls, jwks)

    async def test_use_no_proxy_of_the_environment(
        self,
        provider: ProviderProcess,
        other_provider: ProviderProcess,
        jwks: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", other_provider.issuer)
        monkeypatch.setenv("ALL_PROXY", other_provider.issuer)

        async with make_client() as http:
            reply = await Calls(http, timeout=60, max_response=MAX, loopback_http=True).get(jwks)

        assert reply.is_success
        assert other_provider.log() == []

    async def test_give_the_answer_and_send_no_more_than_they_must(
        self, provider: ProviderProcess, calls: Calls, jwks: str
    ) -> None:
        reply = await calls.get(jwks)

        assert reply.is_success
        assert reply.members["keys"]
        headers = provider.log("jwks")[-1]["headers"]
        assert headers["User-Agent"] == "gatewright"
        assert headers["Accept"] == "application/json"
        assert set(headers) <= {"Host", "Accept", "Accept-Encoding", "Connection", "User-Agent"}

    async def test_are_made_to_https_addresses_only(self, calls: Calls) -> None:
        for url in (
            "http://id.test/",
            "http://127.0.0.1.evil.test/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
            "https://user@id.test/",
            "https://id.test/#part",
            "https://id.test/with blank",
            "https://",
            "https://[::1/",
            "https://id.test:port/",
            "//id.test/",
            "",
        ):
            assert await reason(calls, url) == "the address is not https", url

    async def test_are_made_over_https_even_to_this_machine_in_production(
        self, calls: Calls, provider: ProviderProcess, jwks: str
    ) -> None:
        strict = Calls(calls.client, timeout=60, max_response=MAX, loopback_http=False)

        assert await reason(strict, jwks) == "the address is not https"
        assert provider.log("jwks") == []

    async def test_fail_where_nobody_is(self, calls: Calls, provider: ProviderProcess) -> None:
        for url in (
            "http://127.0.0.1:9/",
            "https://127.0.0.1:9/",
            "https://nobody.invalid/",
            "https://" + "x" * 300 + ".test/",
            # There is one, and no TLS.
            provider.issuer.replace("http:", "https:") + "/jwks",
        ):
            assert "the call failed" in await reason(calls, url), url

    async def test_fail_where_no_authority_vouches_for_the_certificate(
        self, calls: Calls, tmp_path: Path
    ) -> None:
        own, trusting = certificate(tmp_path)
        asked: list[bytes] = []

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            writer.close()

        async with await asyncio.start_server(answer, HOST, 0, ssl=own) as server:
            url = f"https://{HOST}:{server.sockets[0].getsockname()[1]}/"

            refused = await reason(calls, url)
            async with httpx.AsyncClient(verify=trusting, trust_env=False) as http:
                told = await Calls(http, timeout=60, max_response=MAX, loopback_http=True).get(url)

        assert refused == "the call failed (ConnectError)"
        assert (told.status, told.members, len(asked)) == (200, {}, 1)
