"""Requests to URLs that users choose: where they go, what they send, and what a response may cost."""

import asyncio
import ssl
import time
import tracemalloc
import warnings
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

from domain.outbound import OutboundError, OutboundFailure
from server.outbound.client import Answer
from server.outbound.guard import OwnAddresses, SystemResolver
from tests.certificates import DAY, Authority
from tests.ports import free_port
from tests.receiver import Behaviour, Names, Receiver, bomb, endless, hang, raw, redirect, respond
from tests.server.outbound.conftest import BODY, Client, MakeClient
from tests.server.outbound.test_addresses import REFUSED


class TestRequests:
    async def test_send_what_they_are_given_and_no_more_headers_than_they_must(
        self, client: Client, receiver: Receiver
    ) -> None:
        answer = await client.post(receiver.url("/hook?a=%20b"))

        [request] = receiver.requests
        assert answer == Answer(204, None)
        assert (request.method, request.target, request.body) == ("POST", "/hook?a=%20b", BODY)
        assert request.headers == {
            "host": f"127.0.0.1:{receiver.port}",
            "content-type": "application/json",
            "user-agent": "Gatewright-Webhooks/1",
            "accept-encoding": "identity",
            "connection": "close",
            "content-length": str(len(BODY)),
        }

    async def test_have_a_connection_each(self, client: Client, receiver: Receiver) -> None:
        receiver.otherwise = raw(
            b"HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\nSet-Cookie: a=b\r\n\r\n"
        )

        for _ in range(3):
            await client.post(receiver.url())

        assert receiver.connections == 3
        assert all("cookie" not in request.headers for request in receiver.requests)

    @pytest.mark.parametrize("status", [200, 202, 299, 400, 404, 410, 429, 500, 503])
    async def test_return_the_status(self, client: Client, receiver: Receiver, status: int) -> None:
        receiver.script.append(respond(status, b"inner data", {"Retry-After": "120"}))

        assert await client.post(receiver.url()) == Answer(status, "120")

    async def test_skip_interim_responses(self, client: Client, receiver: Receiver) -> None:
        receiver.script.append(
            raw(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n")
        )

        assert (await client.post(receiver.url())).status == 202

    async def test_resolve_names_by_the_operating_system(self) -> None:
        assert ip_address("127.0.0.1") in await SystemResolver().resolve("localhost")
        with pytest.raises(OSError, match=r".+"):
            await SystemResolver().resolve("nobody.invalid")

    async def test_try_the_addresses_of_a_host_in_turn(
        self, make_client: MakeClient, secure: Receiver
    ) -> None:
        names = Names({"hooks.test": [["127.0.0.3", "127.0.0.2", "127.0.0.1"]]})

        answer = await make_client(names, secure).post(secure.url(host="hooks.test"))

        assert answer.status == 204

    async def test_fail_with_a_word_that_tells_nothing_of_the_network(
        self, client: Client, receiver: Receiver, make_client: MakeClient
    ) -> None:
        nobody = f"http://127.0.0.1:{free_port()}/"
        assert await client.failure(nobody) == OutboundFailure.CONNECT
        for sent in (
            b"",
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 OK\r\nA: b\r\n",
            b"SSH-2.0-OpenSSH\r\n",
            b"\x00\xff" * 99,
        ):
            receiver.script.append(raw(sent))
            assert await client.failure(receiver.url()) == OutboundFailure.CONNECT, sent
        receiver.script.append(raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"))
        assert await client.failure(receiver.url()) == OutboundFailure.CONNECT
        with pytest.raises(OutboundError, match=r"^connect$"):
            await client.post(nobody)

    async def test_fail_where_the_host_has_no_address(self, make_client: MakeClient) -> None:
        class Stuck:
            async def resolve(self, host: str) -> list[object]:
                await asyncio.Event().wait()
                return []

        names = make_client(Names({"empty.test": [[]]}))
        stuck = make_client(Stuck(), lookup_timeout=0.05)
        begun = time.monotonic()

        assert await names.failure("https://unknown.test/") == OutboundFailure.DNS
        assert await names.failure("https://empty.test/") == OutboundFailure.DNS
        assert await stuck.failure("https://stuck.test/") == OutboundFailure.DNS
        assert time.monotonic() - begun < 30


@pytest.mark.threat("WH1")
class TestInnerAddresses:
    @pytest.mark.parametrize("address", REFUSED)
    async def test_are_refused_behind_a_name(
        self, make_client: MakeClient, secure: Receiver, address: str
    ) -> None:
        client = make_client(Names({"hooks.test": [[address]]}), secure, allowed=None)

        assert await client.failure(secure.url(host="hooks.test")) == OutboundFailure.REFUSED_ADDRESS
        assert secure.connections == 0

    @pytest.mark.parametrize(
        "host",
        [
            *(
                "127.0.0.1",
                "10.0.0.1",
                "169.254.169.254",
                "100.64.0.1",
                "0.0.0.0",
                "[::1]",
                "[fc00::1]",
                "[fe80::1]",
            ),
            *(
                "[::ffff:a00:1]",
                "[::ffff:10.0.0.1]",
                "[64:ff9b::7f00:1]",
                "2130706433",
                "0177.0.0.1",
                "127.1",
            ),
            *("0x7f000001", "localhost", "localhost."),
        ],
    )
    async def test_are_refused_in_the_url(self, make_client: MakeClient, secure: Receiver, host: str) -> None:
        client = make_client(Names({"localhost": [["127.0.0.1", "::1"]]}), secure, allowed=None)

        assert await client.failure(secure.url(host=host)) == OutboundFailure.REFUSED_ADDRESS
        with pytest.raises(OutboundError) as refused:
            await client.guard.check(secure.url(host=host))
        assert refused.value.reason == OutboundFailure.REFUSED_ADDRESS
        assert secure.connections == 0

    async def test_are_reached_where_the_operator_allows_them(
        self, make_client: MakeClient, secure: Receiver
    ) -> None:
        client = make_client(Names({"hooks.test": [["::ffff:127.0.0.1"], ["127.0.0.1"]]}), secure)

        await client.guard.check(secure.url(host="hooks.test"))

        assert (await client.post(secure.url(host="hooks.test"))).status == 204
        assert (await client.post(secure.url())).status == 204


@pytest.mark.threat("WH2")
class TestRebinding:
    async def test_changes_nothing_because_a_host_is_resolved_once(
        self, make_client: MakeClient, authority: Authority, tmp_path: Path
    ) -> None:
        tls = authority.server(tmp_path, "localhost")
        async with Receiver(tls, "127.0.0.2") as outer, Receiver(tls, "127.0.0.1", outer.port) as inner:
            # The operating system, too, would say that this name is 127.0.0.1.
            names = Names({"localhost": [["127.0.0.2"], ["127.0.0.1"]]})
            client = make_client(names, outer, allowed="127.0.0.2/32")

            answer = await client.post(outer.url(host="localhost"))

            assert (answer.status, names.asked) == (204, ["localhost"])
            assert (len(outer.requests), inner.connections) == (1, 0)
            # The next request sees the new address, and refuses it.
            assert await client.failure(outer.url(host="localhost")) == OutboundFailure.REFUSED_ADDRESS
            assert (outer.connections, inner.connections) == (1, 0)

    @pytest.mark.parametrize(
        "addresses",
        [
            ["127.0.0.2", "127.0.0.1"],
            ["127.0.0.1", "127.0.0.2"],
            ["127.0.0.2", "fd00::1"],
            ["127.0.0.2", "8.8.8.8", "10.0.0.1"],
        ],
    )
    async def test_of_several_addresses_one_is_enough_to_refuse(
        self, make_client: MakeClient, authority: Authority, tmp_path: Path, addresses: list[str]
    ) -> None:
        async with Receiver(authority.server(tmp_path, "hooks.test"), "127.0.0.2") as outer:
            client = make_client(Names({"hooks.test": [addresses]}), outer, allowed="127.0.0.2/32")

            assert await client.failure(outer.url(host="hooks.test")) == OutboundFailure.REFUSED_ADDRESS
            assert outer.connections == 0


@pytest.mark.threat("WH3")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(client: Client, receiver: Receiver, status: int) -> None:
    async with Receiver() as inner:
        for location in (inner.url(), "file:///etc/passwd", "//evil.test/", "/elsewhere"):
            receiver.script.append(redirect(status, location))

            assert (await client.post(receiver.url())).status == status

        assert (receiver.connections, inner.connections) == (4, 0)


@pytest.mark.threat("WH4")
class TestHostileResponses:
    @pytest.mark.parametrize(
        "behaviour",
        [
            endless(b"x" * 65536, b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"),
            endless(
                b"10000\r\n" + b"x" * 65536 + b"\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            ),
            endless(b"x" * 65536, b"HTTP/1.1 200 OK\r\n\r\n"),
            bomb(),
        ],
    )
    async def test_have_a_body_of_which_little_is_read(
        self, client: Client, receiver: Receiver, behaviour: Behaviour
    ) -> None:
        receiver.script.append(behaviour)
        begun = time.monotonic()
        tracemalloc.start()

        answer = await client.post(receiver.url(), within=120)

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert answer.status == 200
        assert peak < 4 * 2**20
        assert time.monotonic() - begun < 60

    @pytest.mark.parametrize(
        "behaviour",
        [
            endless(b"X-More: " + b"x" * 1000 + b"\r\n"),
            endless(b"x" * 65536),
            endless(b"HTTP/1.1 103 Early Hints\r\n\r\n", b""),
            endless(b"X: y\r\n"),
            raw(b"HTTP/1.1 200 OK\r\nX-More: " + b"x" * 16384 + b"\r\n\r\n"),
        ],
    )
    async def test_have_a_head_that_is_cut_off(
        self, client: Client, receiver: Receiver, behaviour: Behaviour
    ) -> None:
        receiver.script.append(behaviour)
        tracemalloc.start()

        assert await client.failure(receiver.url(), within=60) == OutboundFailure.TOO_SLOW

        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 * 2**20

    @pytest.mark.parametrize(
        ("behaviour", "reason"),
        [
            (hang(), OutboundFailure.TIMEOUT),
            (hang(b"HTTP/1.1 200 OK\r\n"), OutboundFailure.TOO_SLOW),
            (endless(b"x", b"HTTP/1.1 200 ", every=0.01), OutboundFailure.TOO_SLOW),
        ],
    )
    async def test_end_with_the_time(
        self, client: Client, receiver: Receiver, behaviour: Behaviour, reason: OutboundFailure
    ) -> None:
        receiver.script.append(behaviour)
        begun = time.monotonic()

        assert await client.failure(receiver.url(), within=3) == reason

        assert time.monotonic() - begun < 30

    async def test_count_although_their_body_never_ends(self, client: Client, receiver: Receiver) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        receiver.script += [hang(head), endless(b"x", head, every=0.01), raw(head + b"cut off")]

        answers = [await client.post(receiver.url(), within=3) for _ in range(3)]

        assert answers == [Answer(200, None)] * 3

    async def test_include_a_handshake_that_never_ends(self, make_client: MakeClient) -> None:
        async with Receiver() as silent:  # It waits for a request, and the client for its certificate.
            url = silent.url().replace("http:", "https:")
            begun = time.monotonic()

            assert await make_client(Names({}), silent).failure(url, within=3) == OutboundFailure.TIMEOUT
            assert time.monotonic() - begun < 30

    async def test_hold_up_no_other_request(self, client: Client, receiver: Receiver) -> None:
        receiver.script += [hang()] * 8
        stuck = [asyncio.create_task(client.post(receiver.url(), within=60)) for _ in range(8)]
        await receiver.wait_for(8)

        assert (await client.post(receiver.url(), within=30)).status == 204

        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)


@pytest.mark.threat("WH15")
@pytest.mark.parametrize("path", ["/\r\nX: y", "/a b", "/#part", "/\u2028", "/" + "a" * 10_000])
async def test_a_url_of_another_form_is_refused(client: Client, receiver: Receiver, path: str) -> None:
    assert await client.failure(receiver.url(path)) == OutboundFailure.REFUSED_ADDRESS
    assert receiver.connections == 0


@pytest.mark.threat("WH16")
async def test_a_body_is_sent_byte_by_byte_as_it_is(client: Client, receiver: Receiver) -> None:
    bodies = [
        '{"name": "a\\r\\n\\"b\\" \u2028 ' + "\U0001f980" * 256 + '"}',
        "\r\n\r\n",
        "",
        "\x00",
        "a" * 20 * 1024,
    ]

    for body in bodies:
        await client.post(receiver.url(), body.encode())

    assert [request.body.decode() for request in receiver.requests] == bodies


@pytest.mark.threat("WH18")
class TestCertificates:
    async def test_are_valid_for_the_name_or_address_in_the_url(
        self, make_client: MakeClient, secure: Receiver
    ) -> None:
        client = make_client(Names({"hooks.test": [["127.0.0.1"]]}), secure)

        for host in ("hooks.test", "127.0.0.1"):
            assert (await client.post(secure.url(host=host))).status == 204

    async def test_are_refused_with_another_name_expired_or_of_another_authority(
        self, make_client: MakeClient, authority: Authority, tmp_path: Path
    ) -> None:
        contexts = {
            "another name": authority.server(tmp_path, "other.test"),
            "the address, but not the name": authority.server(tmp_path, "127.0.0.1"),
            "expired": authority.server(tmp_path, "hooks.test", expires_in=-DAY),
            "not yet valid": authority.server(tmp_path, "hooks.test", expires_in=timedelta(days=12)),
            "another authority": Authority().server(tmp_path, "hooks.test"),
        }
        for what, context in contexts.items():
            async with Receiver(context) as receiver:
                client = make_client(Names({"hooks.test": [["127.0.0.1"]]}), receiver)

                assert await client.failure(receiver.url(host="hooks.test")) == OutboundFailure.TLS, what
                assert receiver.requests == [], what

    @pytest.mark.parametrize(
        ("version", "is_refused"),
        [(ssl.TLSVersion.TLSv1, True), (ssl.TLSVersion.TLSv1_1, True), (ssl.TLSVersion.TLSv1_2, False)],
    )
    async def test_are_not_even_looked_at_before_tls_1_2(
        self,
        make_client: MakeClient,
        authority: Authority,
        tmp_path: Path,
        version: ssl.TLSVersion,
        is_refused: bool,
    ) -> None:
        context = authority.server(tmp_path, "127.0.0.1")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of old versions, which are the point here.
            context.minimum_version = context.maximum_version = version
        context.set_ciphers("ALL:@SECLEVEL=0")
        async with Receiver(context) as receiver:
            client = make_client(Names({}), receiver)

            if is_refused:
                assert await client.failure(receiver.url()) == OutboundFailure.TLS
            else:
                assert (await client.post(receiver.url())).status == 204

    async def test_are_missing_where_nobody_speaks_tls(self, make_client: MakeClient) -> None:
        async with Receiver(reads=False, otherwise=raw(b"220 mail\r\n")) as plain:
            url = plain.url().replace("http:", "https:")

            assert await make_client(Names({}), plain).failure(url) == OutboundFailure.TLS


@pytest.mark.threat("WH19")
async def test_no_proxy_of_the_environment_is_used(
    make_client: MakeClient,
    client: Client,
    secure: Receiver,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Receiver() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))

        assert (await client.post(receiver.url())).status == 204
        assert proxy.connections == 0
        assert (await make_client(Names({}), secure).post(secure.url())).status == 204
        assert proxy.connections == 0


@pytest.mark.threat("WH20")
class TestThisService:
    @pytest.mark.parametrize("listens", ["127.0.0.1", "0.0.0.0", "::"])
    async def test_is_not_reached_at_an_address_it_listens_on(
        self, make_client: MakeClient, secure: Receiver, listens: str
    ) -> None:
        own = OwnAddresses("https://auth.test", [(ip_address(listens), secure.port)])
        names = Names({"hooks.test": [["127.0.0.1"], ["::ffff:127.0.0.1"]]})
        client = make_client(names, secure, own=own)

        for url in (secure.url(host="hooks.test"), secure.url(host="hooks.test"), secure.url()):
            assert await client.failure(url) == OutboundFailure.REFUSED_ADDRESS
        assert secure.connections == 0

    async def test_is_told_from_other_programs_of_its_machine(
        self, make_client: MakeClient, secure: Receiver
    ) -> None:
        listeners = [(ip_address("127.0.0.1"), free_port()), (ip_address("127.0.0.2"), secure.port)]
        client = make_client(Names({}), secure, own=OwnAddresses("https://auth.test", listeners))

        assert (await client.post(secure.url())).status == 204

    async def test_is_not_reached_by_its_public_name(
        self, make_client: MakeClient, authority: Authority, tmp_path: Path
    ) -> None:
        async with Receiver(authority.server(tmp_path, "auth.test")) as receiver:
            client = make_client(Names({"auth.test": [["127.0.0.1"]]}), receiver)

            for host in ("auth.test", "AUTH.test"):
                assert await client.failure(receiver.url(host=host)) == OutboundFailure.REFUSED_ADDRESS
            assert receiver.connections == 0
