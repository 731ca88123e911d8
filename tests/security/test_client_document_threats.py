"""Attacks by the documents of clients, which anyone may publish and have the service request."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey

from domain.admin_oauth_clients import operator
from domain.oauth_clients.document_metadata import is_url
from domain.oauth_clients.errors import ClientReadOnly
from domain.outbound import OutboundError
from models.oauth_client import ClientSource
from server.components import cleanup
from server.oauth.client_documents import DocumentFetcher
from server.outbound.guard import document_guard_of
from server.services import load_settings
from tests.certificates import Authority
from tests.client_documents import (
    CLIENT_ID,
    JSON,
    REDIRECT_URI,
    SETTINGS,
    Site,
    client_of,
    document,
    hosts,
    is_refused,
    published,
)
from tests.conftest import Headers, MakeService
from tests.domain.oauth_clients.test_metadata import POLICY
from tests.handlers.steps import join
from tests.oauth_codes import redeem
from tests.oauth_flow import (
    VERIFIER,
    allow,
    arrive,
    consent,
    error_of,
    handle_of,
    is_at_client,
    page_of,
    query_of,
)
from tests.receiver import Behaviour, Receiver, endless, hang, redirect, respond
from tests.security.conftest import PATIENT, OpenInstance
from tests.security.crowd import CROWDS, turns
from tests.security.test_oauth_client_threats import assertion
from tests.service import START, Service, environment
from tests.trail import of_event, only

CONSENT, LOGIN = "/account/consent", "/account/sign-in"
CLIENT = client_of()
[ORDERS] = POLICY.resources
API = "https://api.example.com"
RESOURCES = {
    "oauth.scopes": json.dumps({"read": "Read"}),
    "oauth.resources": json.dumps({API: {"name": "API", "scopes": ["read"]}}),
}


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def site(authority: Authority, tmp_path: Path) -> AsyncIterator[Site]:
    async with Receiver(authority.server(tmp_path, "app.example", "evil.example")) as receiver:
        found = Site(receiver, authority)
        found.publish()
        yield found


@pytest.fixture
async def service(make_service: MakeService, site: Site) -> Service:
    service = await make_service({**SETTINGS, **RESOURCES, "limits.enabled": "false"})
    site.serve(service)
    return service


@pytest.fixture
async def ada(service: Service) -> Headers:
    session = await join(service)
    service.client.cookies.clear()
    return session


async def clients(service: Service) -> list[Any]:
    return await service.rows("SELECT * FROM oauth_client")


@pytest.mark.threat("O27")
class TestJourney:
    @pytest.mark.both_databases
    async def test_a_client_is_known_by_its_document(
        self, service: Service, site: Site, ada: Headers
    ) -> None:
        site.publish(document(skip_consent=True, session_sign_in=True, resource_server=[API]))

        returned = await allow(service, CLIENT, ada, redirect_uri=REDIRECT_URI, scope="openid offline_access")

        assert is_at_client(returned, REDIRECT_URI)
        answer = await redeem(service, CLIENT, query_of(returned)["code"], verifier=VERIFIER)
        assert answer.json()["scope"] == "openid offline_access"
        [request] = site.receiver.requests
        assert (request.method, request.target) == ("GET", "/client.json")
        assert request.headers.keys() == {"host", "accept", "user-agent", "accept-encoding", "connection"}
        [row] = await clients(service)
        assert (row.client_id, row.source, row.secret) == (CLIENT_ID, "document", None)
        metadata = json.loads(row.registration)
        assert (metadata["skip_consent"], metadata["session_sign_in"], metadata["resource_server"]) == (
            False,
            False,
            [],
        )
        assert (await only(service, "oauth_client.document_fetched")).details["client"] == CLIENT_ID

    async def test_the_pages_say_what_is_known(self, service: Service, site: Site, ada: Headers) -> None:
        site.publish(
            document(
                client_name="<script>alert(1)</script>",
                redirect_uris=["http://localhost/callback"],
                logo_uri="https://app.example/logo.png",
            )
        )
        arrived = await arrive(service, CLIENT, ada, redirect_uri="http://localhost:49152/callback")

        page = (await service.client.get(arrived.headers["location"], headers=ada)).text
        shown = (
            await service.get("/oauth2/request", params={"request": handle_of(arrived)}, headers=ada)
        ).json()

        assert page_of(arrived) == CONSENT
        assert "<bdi>app.example</bdi>" in page
        assert "not verified" in page
        assert "an app on this device (localhost)" in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "<script>alert" not in page
        assert "logo.png" not in page
        assert (shown["client"]["verified"], shown["client"]["client_id"]) == (False, CLIENT_ID)
        assert (shown["documentHost"], shown["redirectHost"]) == ("app.example", "localhost")

    async def test_a_program_of_this_machine_is_asked_about_each_time(
        self, service: Service, site: Site, ada: Headers
    ) -> None:
        site.publish(document(redirect_uris=["http://localhost/callback", REDIRECT_URI]))
        local = "http://localhost:1/callback"

        await allow(service, CLIENT, ada, redirect_uri=local)

        assert page_of(await arrive(service, CLIENT, ada, redirect_uri=local)) == CONSENT
        assert is_at_client(await arrive(service, CLIENT, ada, redirect_uri=REDIRECT_URI), REDIRECT_URI)

    async def test_a_client_signs_by_the_key_of_its_document(self, service: Service, site: Site) -> None:
        key, other = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
        jwks = {"keys": [key.as_dict(private=False)]}
        site.publish(document(token_endpoint_auth_method="private_key_jwt", jwks=jwks))
        pushed = {
            "response_type": "code",
            "redirect_uri": REDIRECT_URI,
            "scope": "openid",
            "code_challenge": "c" * 43,
            "code_challenge_method": "S256",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        }

        for signed, status in ((assertion(CLIENT_ID, key), 201), (assertion(CLIENT_ID, other, jti="2"), 401)):
            answer = await service.client.post("/oauth2/par", data={**pushed, "client_assertion": signed})
            assert answer.status_code == status

        asked = {"token": "gwa_" + "t" * 32, "client_assertion_type": pushed["client_assertion_type"]}
        for signed, told in (
            (assertion(CLIENT_ID, key, jti="3"), (200, {"active": False})),
            (assertion(CLIENT_ID, other, jti="4"), (401, None)),
        ):
            answer = await service.client.post(
                "/oauth2/introspect", data={**asked, "client_assertion": signed}
            )
            assert (answer.status_code, answer.json() if answer.is_success else None) == told

    async def test_scopes_come_with_their_resource(self, service: Service, ada: Headers) -> None:
        asked = {"redirect_uri": REDIRECT_URI, "scope": "openid read"}

        alone = await arrive(service, CLIENT, ada, **asked)
        whole = await allow(service, CLIENT, ada, **asked, resource=API)

        assert error_of(alone) == "invalid_scope"
        answer = await redeem(service, CLIENT, query_of(whole)["code"], verifier=VERIFIER)
        assert answer.json()["scope"] == "read"
        other = await arrive(service, CLIENT, ada, redirect_uri=REDIRECT_URI, resource=API + "/2")
        assert error_of(other) == "invalid_target"

    async def test_without_the_setting_a_url_is_no_client(
        self, make_service: MakeService, service: Service, site: Site, ada: Headers
    ) -> None:
        assert page_of(await arrive(service, CLIENT, ada, redirect_uri=REDIRECT_URI)) == CONSENT
        off = await make_service()
        site.serve(off)

        assert is_refused(await arrive(off, CLIENT, redirect_uri=REDIRECT_URI))
        assert site.requests == 1
        for one, flag in ((service, True), (off, False)):
            found = (await one.get("/.well-known/openid-configuration")).json()
            assert found["client_id_metadata_document_supported"] is flag


REFUSED_IDS = [
    "http://app.example/client.json",
    "https://app.example",
    "https://app.example/",
    "https://app.example/client.json#",
    "https://app.example/client.json?a=b",
    "https://ada@app.example/client.json",
    "https://app.example:8443/client.json",
    "https://app.example/a/../client.json",
    "https://app.example/./client.json",
    "https://app.example/a/%2E%2e/client.json",
    "https://app.example/client json",
    "https://app.example/client\\json",
    "https://äpp.example/client.json",
    "https://APP.example/client.json",
    "HTTPS://app.example/client.json",
    "https://127.0.0.1/client.json",
    "https://[::1]/client.json",
    "https://2130706433/client.json",
    "https://0x7f.1/client.json",
    "https://app.example./client.json",
    "https://app.example/" + "a" * 493,
    "https:///client.json",
]


@pytest.mark.threat("O27")
@pytest.mark.parametrize("client_id", REFUSED_IDS)
def test_a_url_has_one_form(client_id: str) -> None:
    assert not is_url(client_id, POLICY)


@pytest.mark.parametrize(
    "client_id", [CLIENT_ID, "https://app.example:443/a/b.c/%20", "https://x/.well-known"]
)
def test_other_urls_have_it(client_id: str) -> None:
    assert is_url(client_id, POLICY)


@pytest.mark.threat("O27")
def test_tokens_for_another_service_are_not_those_of_a_client() -> None:
    assert not is_url(CLIENT_ID, replace(POLICY, audiences={CLIENT_ID}))
    assert not is_url(CLIENT_ID, replace(POLICY, resources={CLIENT_ID: POLICY.resources[ORDERS]}))


@pytest.mark.threat("O27")
def test_inner_networks_need_a_list_of_hosts(tmp_path: Path) -> None:
    allowed = {
        "profile": "production",
        "base_url": "https://auth.test",
        "secrets": "0123456789abcdef0123456789abcdef",
        "mail.sender": "none",
        "oauth.enabled": "false",
        "webhooks.allowed_networks": '["10.0.0.0/8"]',
    }
    names = hosts("app.example", addresses=[["10.0.0.1"]])
    listed = {"oauth.client_document_hosts": '["app.example"]'}
    for more in ({}, listed):
        loaded = load_settings(environment("sqlite:///absent.db", tmp_path, {**allowed, **more}), tmp_path)
        checking = document_guard_of(loaded, names).check(CLIENT_ID)
        if more:
            asyncio.run(checking)
            continue
        with pytest.raises(OutboundError):
            asyncio.run(checking)


DOCUMENTS: list[tuple[Any, str]] = [
    (published(document("https://app.example/Client.json")), "client_id is not the URL of the document"),
    (published(document("https://evil.example/client.json")), "client_id is not the URL of the document"),
    (published(document(client_id=CLIENT_ID + "/")), "client_id is not the URL of the document"),
    (redirect(302, "https://app.example/client.json"), "redirect"),
    (respond(404, json.dumps(document()).encode(), JSON), "status"),
    (respond(203, json.dumps(document()).encode(), JSON), "status"),
    (respond(200, json.dumps(document()).encode(), {"Content-Type": "text/html"}), "type"),
    (respond(200, json.dumps(document()).encode()), "type"),
    (published(b"{"), "document is not JSON"),
    (published(b"[" * 5000), "document is not JSON"),
    (published(b"[]"), "document is no JSON object"),
    (published(document(contacts=["a" * 250] * 25)), "size"),
    (endless(b"a" * 1000, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"), "size"),
    (endless(b"x: y\r\n"), "too_slow"),
    (published(document(client_secret="s" * 40)), "client_secret must not be there"),
    (
        published(document(token_endpoint_auth_method="client_secret_basic")),
        "token_endpoint_auth_method must",
    ),
    (published(document(jwks_uri="https://app.example/keys")), "jwks_uri is not supported"),
    (published(document(grant_types=["client_credentials"])), "grant_types must name one"),
    (published(document(client_name=None)), "client_name is missing"),
    (published(document(client_name="a\u0000b")), "client_name must"),
    (published(document(redirect_uris=["https://evil.example/callback"])), "redirect_uris has"),
    (published(document(redirect_uris=["https://app.example:8443/callback"])), "redirect_uris has"),
    (published(document(redirect_uris=["https://app.example.evil.example/"])), "redirect_uris has"),
    (published(document(redirect_uris=["http://app.example/callback"])), "redirect_uris has"),
    (published(document(redirect_uris=["https://localhost/callback"])), "redirect_uris has"),
    (published(document(redirect_uris=["javascript:alert(1)"])), "redirect_uris has"),
    (
        published(document(post_logout_redirect_uris=["https://evil.example/"])),
        "post_logout_redirect_uris has",
    ),
]


@pytest.mark.threat("O27")
class TestRefusals:
    @pytest.mark.parametrize(("behaviour", "reason"), DOCUMENTS)
    async def test_a_document_that_cannot_be_used(
        self, service: Service, site: Site, behaviour: Behaviour, reason: str
    ) -> None:
        site.receiver.otherwise = behaviour

        refused = await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)

        assert is_refused(refused)
        shown = (await service.client.get(refused.headers["location"])).text
        # What is in the document is public. Whether and how another server responds is not.
        is_about_content = " " in reason
        assert (
            f"The document at app.example is not accepted: {reason}" in unescape(shown)
        ) == is_about_content
        assert (await only(service, "oauth_client.document_refused")).details["reason"].startswith(reason)
        assert await clients(service) == []
        assert site.requests == 1

    async def test_a_server_that_drips(self, service: Service, site: Site) -> None:
        site.receiver.otherwise = hang(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")
        site.serve(service, timeout=3)

        async with asyncio.timeout(30):
            assert is_refused(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI))

        assert (await only(service, "oauth_client.document_refused")).details["reason"] == "too_slow"

    @pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::1", "100.64.0.1"])
    async def test_a_name_of_an_inner_address(self, service: Service, site: Site, address: str) -> None:
        site.names = hosts("app.example", addresses=[[address, "127.0.0.1"]])

        assert is_refused(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI))

        assert (await only(service, "oauth_client.document_refused")).details["reason"] == "refused_address"
        assert site.receiver.connections == 0

    async def test_a_name_that_changes_its_address(self, service: Service, site: Site, ada: Headers) -> None:
        site.names = hosts("app.example", addresses=[["127.0.0.1"], ["10.0.0.1"]])

        assert page_of(await arrive(service, CLIENT, ada, redirect_uri=REDIRECT_URI)) == CONSENT

        assert site.names.asked == ["app.example"]

    async def test_only_hosts_of_the_list(self, make_service: MakeService, site: Site) -> None:
        service = await make_service(
            {**SETTINGS, "oauth.client_document_hosts": '["app.example", "*.apps.example"]'}
        )
        site.serve(service)
        site.names = hosts(
            "app.example", "a.apps.example", "evil.example", "apps.example", "evilapps.example"
        )
        for host in ("evil.example", "apps.example", "evilapps.example", "app.example.evil.example"):
            assert is_refused(await arrive(service, client_of(f"https://{host}/client.json")))
        assert site.names.asked == []
        assert error_of(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)) is None
        await arrive(service, client_of("https://a.apps.example/client.json"))
        assert site.names.asked == ["app.example", "a.apps.example"]


@pytest.mark.threat("O27")
class TestTimes:
    @pytest.mark.parametrize(
        ("cache_control", "seconds"),
        [
            ("", 3600),
            ("no-store", 300),
            ("max-age=0", 300),
            ("public, max-age=600", 600),
            ("max-age=9999999999", 86400),
        ],
    )
    async def test_a_document_is_kept_as_it_says(
        self, service: Service, site: Site, cache_control: str, seconds: int
    ) -> None:
        site.publish(Cache_Control=cache_control)
        await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)
        site.receiver.otherwise = respond(404)

        service.clock.advance(seconds=seconds - 1)
        assert page_of(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)) == LOGIN
        service.clock.advance(seconds=1)
        assert is_refused(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI))

        assert site.requests == 2

    async def test_a_failure_is_kept_for_ten_seconds(self, service: Service, site: Site) -> None:
        site.receiver.otherwise = respond(503)
        for _ in range(3):
            assert is_refused(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI))
        site.publish()
        service.clock.advance(seconds=9)
        assert is_refused(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI))
        assert site.requests == 1
        assert len(await of_event(service, "oauth_client.document_refused")) == 1

        service.clock.advance(seconds=1)

        assert page_of(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)) == LOGIN

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        "members",
        [
            {"redirect_uris": [REDIRECT_URI, "https://app.example/other"]},
            {
                "token_endpoint_auth_method": "private_key_jwt",
                "jwks": {"keys": [ECKey.generate_key("P-256").as_dict(private=False)]},
            },
        ],
    )
    async def test_after_a_change_users_are_asked_again(
        self, service: Service, site: Site, ada: Headers, members: dict[str, Any]
    ) -> None:
        await allow(service, CLIENT, ada, redirect_uri=REDIRECT_URI)
        site.publish(document(client_name="Renamed"))
        service.clock.advance(hours=1)
        assert is_at_client(await arrive(service, CLIENT, ada, redirect_uri=REDIRECT_URI), REDIRECT_URI)

        site.publish(document(**members))
        service.clock.advance(hours=1)

        assert page_of(await arrive(service, CLIENT, ada, redirect_uri=REDIRECT_URI)) == CONSENT
        assert await service.rows("SELECT id FROM oauth_consent") == []
        changes = [one.details["members"] for one in await of_event(service, "oauth_client.document_fetched")]
        assert ["client_name"] in changes

    async def test_a_consent_to_the_old_document_is_none_to_the_new_one(
        self, service: Service, site: Site, ada: Headers
    ) -> None:
        site.publish(
            document(redirect_uris=[REDIRECT_URI, "https://app.example/old"]), Cache_Control="no-store"
        )
        handle = handle_of(await arrive(service, CLIENT, ada, redirect_uri="https://app.example/old"))
        allowed = await consent(service, handle, ada)
        site.publish(document())
        service.clock.advance(minutes=5)

        assert (
            error_of(await service.client.get(allowed.json()["url"], headers=ada)) == "invalid_redirect_uri"
        )

    @pytest.mark.both_databases
    async def test_an_unused_client_is_deleted(self, service: Service, ada: Headers) -> None:
        await allow(service, CLIENT, ada, redirect_uri=REDIRECT_URI)
        database = service.services.database

        await cleanup.delete_expired(database, START + timedelta(days=90, seconds=-1))
        assert len(await clients(service)) == 1
        await cleanup.delete_expired(database, START + timedelta(days=90, seconds=1))

        assert await clients(service) == []
        assert await service.rows("SELECT id FROM oauth_consent") == []

    @pytest.mark.both_databases
    async def test_a_used_client_is_kept_for_ninety_days_more(self, service: Service, ada: Headers) -> None:
        service.clock.advance(minutes=1)
        await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)
        service.clock.advance(minutes=30)
        returned = await allow(service, CLIENT, ada, redirect_uri=REDIRECT_URI)
        await redeem(service, CLIENT, query_of(returned)["code"], verifier=VERIFIER)

        used = service.clock.now
        await cleanup.delete_expired(service.services.database, used + timedelta(days=90, seconds=-1))
        assert len(await clients(service)) == 1
        await cleanup.delete_expired(service.services.database, used + timedelta(days=90, seconds=1))
        assert await clients(service) == []


@pytest.mark.threat("O27")
class TestFloods:
    async def test_a_client_that_is_disabled_stays_so(
        self, service: Service, site: Site, ada: Headers
    ) -> None:
        run = service.services.unit_of_work.run
        site.publish(document(redirect_uris=[REDIRECT_URI, "http://localhost/callback"]))
        await allow(service, CLIENT, ada, redirect_uri=REDIRECT_URI)
        await run(lambda ctx: operator.disable(ctx, CLIENT_ID))

        await cleanup.delete_expired(service.services.database, START + timedelta(days=100))
        service.clock.advance(days=1)
        assert is_refused(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI))
        assert site.requests == 1

        with pytest.raises(ClientReadOnly):
            await run(lambda ctx: operator.update(ctx, CLIENT_ID, {"client_name": "A"}, ClientSource.CLI))
        await run(lambda ctx: operator.update(ctx, CLIENT_ID, {}, ClientSource.CLI, is_disabled=False))
        assert page_of(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)) == LOGIN
        await cleanup.delete_expired(service.services.database, START + timedelta(days=92))
        assert await clients(service) == []

    async def test_a_network_has_twenty_documents_requested_an_hour(
        self, service: Service, site: Site
    ) -> None:
        await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)
        for number in range(50):
            assert is_refused(await arrive(service, client_of(f"https://app.example/{number}")))
        assert site.requests == 20

        assert page_of(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)) == LOGIN
        service.clock.advance(hours=1)
        assert page_of(await arrive(service, CLIENT, redirect_uri=REDIRECT_URI)) == LOGIN
        await arrive(service, client_of("https://app.example/0"))
        assert site.requests == 22

    @pytest.mark.both_databases
    @pytest.mark.parametrize("number", CROWDS)
    async def test_many_at_once_cause_one_request(self, service: Service, site: Site, number: int) -> None:
        answers = await asyncio.gather(
            *(arrive(service, CLIENT, redirect_uri=REDIRECT_URI) for _ in range(number))
        )

        assert {page_of(answer) for answer in answers} == {LOGIN}
        assert (site.requests, len(await clients(service))) == (1, 1)
        assert len(await of_event(service, "oauth_client.document_fetched")) == 1
        # It counted once, so that the network may have another one requested.
        await arrive(service, client_of("https://app.example/other"))
        assert site.requests == 2

    @pytest.mark.long
    @pytest.mark.both_databases
    async def test_two_instances_keep_one_document(self, open_instance: OpenInstance, site: Site) -> None:
        instances = [await open_instance({**SETTINGS, **PATIENT}) for _ in range(2)]
        for instance in instances:
            site.serve(instance)

        for content in (document(), document(client_name="Renamed")):
            site.publish(content)
            sent = [arrive(one, CLIENT, redirect_uri=REDIRECT_URI) for one in turns(instances, 50)]
            assert {page_of(answer) for answer in await asyncio.gather(*sent)} == {LOGIN}
            for instance in instances:
                instance.clock.advance(hours=1)

        assert [row.client_name for row in await clients(instances[0])] == ["Renamed"]
        assert site.requests <= 4

    async def test_a_request_goes_on_when_its_first_caller_leaves(self, site: Site) -> None:
        fetcher = DocumentFetcher(site)
        first = asyncio.create_task(fetcher.fetch(CLIENT_ID, START))
        await asyncio.sleep(0)
        first.cancel()

        found = await fetcher.fetch(CLIENT_ID, START)

        assert json.loads(found.body) == document()
        assert site.requests == 1
