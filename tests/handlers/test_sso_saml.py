"""The operations of openapi/paths/sso_sign_in.yaml with a SAML identity provider."""

import zlib
from base64 import b64decode
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from domain.sso.saml import (
    KeyCertificate,
    LogoutMessage,
    NameId,
    SamlIdentityProvider,
    SamlLogoutRequest,
    SamlLogoutResponse,
    SamlServiceProvider,
)
from tests.conftest import Headers, MakeService
from tests.handlers import sso_steps
from tests.handlers.sso_saml_steps import (
    ADA,
    ENTITY_ID,
    SLO,
    VALUE,
    answer_to,
    attributes,
    config,
    error_of,
    go_on,
    id_in,
    post,
    request_in,
    sign_in,
    state_of,
)
from tests.handlers.steps import code, execute
from tests.labs.provider import steps
from tests.security.second_factor import SESSION as SESSION_COOKIE
from tests.security.second_factor import set_cookies
from tests.server.saml import provider as idp
from tests.service import Service
from tests.trail import of_event, only
from tests.webhooks import add_endpoint

SESSION = "/get-session"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """A service at the time of the provider's responses, where connections may accept unsolicited ones."""
    service = await make_service({"sso.idp_initiated": "true"})
    service.clock.now = idp.NOW
    return service


@pytest.fixture
async def acme(service: Service) -> str:
    """A connection to the identity provider of the tests."""
    return await sso_steps.connect(service, config(), idp.ISSUER)


class TestSignIn:
    @pytest.mark.operation("sso.consume_assertion", "sso.complete_sign_in")
    async def test_a_new_user_is_created_and_signed_in(self, service: Service, acme: str) -> None:
        answer = await sign_in(service)

        headers = steps.session_of(answer)
        assert steps.redirect_path(answer) == steps.WELCOME
        body = (await service.get(SESSION, headers=headers)).json()
        assert (body["user"]["email"], body["user"]["name"]) == (ADA, "Ada")
        # The end of the session at the provider, which is earlier than ours.
        assert body["session"]["expiresAt"] == idp.at(3600)
        [account] = await service.rows("SELECT provider_id, issuer, account_id FROM account")
        assert tuple(account) == (
            f"sso:{acme}",
            "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            "ada-4711",
        )

    @pytest.mark.threat("SSO6")
    async def test_a_session_that_the_provider_ends_is_not_extended(
        self, service: Service, acme: str
    ) -> None:
        headers = steps.session_of(await sign_in(service))
        service.clock.advance(minutes=59)
        before = await service.get(SESSION, headers=headers)
        service.clock.advance(minutes=1)

        assert before.status_code == 200
        assert (await service.get(SESSION, headers=headers)).status_code == 401

    async def test_the_same_name_id_is_the_same_user(self, service: Service, acme: str) -> None:
        await sign_in(service)
        await sign_in(service, assertion="_assertion2", attributes=attributes("countess@acme.example"))

        assert len(await service.rows('SELECT id FROM "user"')) == 1

    async def test_a_transient_name_id_needs_a_lasting_attribute(self, service: Service, acme: str) -> None:
        name_id = '<saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:transient">x1</saml:NameID>'
        refused = await sign_in(service, name_id=name_id)
        await execute(service, "DELETE FROM sso_connection")
        names = replace(config().names, id="employee")
        await sso_steps.connect(service, config(names=names), idp.ISSUER)

        assert error_of(refused) == "unable_to_get_user_info"
        more = attributes(ADA, employee="4711")
        assert error_of(await sign_in(service, assertion="_a2", name_id=name_id, attributes=more)) is None

    async def test_a_name_id_can_be_the_address(self, service: Service, acme: str) -> None:
        name_id = f'<saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">{ADA}</saml:NameID>'

        assert error_of(await sign_in(service, name_id=name_id, attributes=attributes())) is None

    @pytest.mark.threat("SSO8")
    @pytest.mark.parametrize(
        "emails", [("ada@else.example",), ("ada@sub.acme.example",), (ADA, "eve@acme.example")]
    )
    async def test_addresses_outside_the_domains_are_refused(
        self, service: Service, acme: str, emails: tuple[str, ...]
    ) -> None:
        answer = await sign_in(service, attributes=attributes(*emails))

        assert error_of(answer) == "domain_not_allowed"
        assert not await service.rows('SELECT id FROM "user"')

    async def test_a_configuration_that_cannot_be_read_is_unavailable(
        self, service: Service, acme: str
    ) -> None:
        await execute(service, "UPDATE sso_connection SET config = :config", config=b"x")

        assert code(await sso_steps.ask(service)) == "503 PROVIDER_UNAVAILABLE"

    async def test_a_large_response_is_read(self, service: Service, acme: str) -> None:
        groups = "".join(VALUE.format(f"group-{number:05}") for number in range(1000))
        more = attributes(ADA) + f'<saml:Attribute Name="groups">{groups}</saml:Attribute>'

        assert error_of(await sign_in(service, attributes=more)) is None

    @pytest.mark.threat("SSO7")
    async def test_what_the_provider_says_stays_text(self, service: Service, acme: str) -> None:
        name = "&lt;script&gt;alert(1)&lt;/script&gt;"
        headers = steps.session_of(await sign_in(service, attributes=attributes(ADA, displayName=name)))

        user = (await service.get(SESSION, headers=headers)).json()["user"]
        assert user["name"] == "<script>alert(1)</script>"


@pytest.mark.threat("SSO5")
class TestReplay:
    async def test_another_browser_gets_no_session(self, service: Service, acme: str) -> None:
        flow, other = await sso_steps.begin(service), await sso_steps.begin(service)
        posted = await post(service, answer_to(request_in(flow)), state_of(flow))

        [name], [value] = flow.cookies, other.cookies.values()

        assert error_of(await go_on(service, posted, {})) == "state_mismatch"
        assert error_of(await go_on(service, posted, {"Cookie": f"{name}={value}"})) == "state_mismatch"
        assert error_of(await go_on(service, posted, other.headers)) == "state_mismatch"
        assert error_of(await go_on(service, posted, flow.headers)) is None

    async def test_a_response_is_used_once(self, service: Service, acme: str) -> None:
        flow = await sso_steps.begin(service)
        message = answer_to(request_in(flow))
        posted = await post(service, message, state_of(flow))
        again = await post(service, message, state_of(flow))
        await go_on(service, posted, flow.headers)

        assert error_of(again) == "saml_in_response_to"
        assert error_of(await go_on(service, posted, flow.headers)) == "state_mismatch"
        assert error_of(await post(service, message, state_of(flow))) == "saml_in_response_to"

    async def test_an_assertion_is_used_once_even_without_a_request(
        self, service: Service, acme: str
    ) -> None:
        await execute(service, "UPDATE sso_connection SET idp_initiated = :yes", yes=True)
        message = answer_to(None)
        first = await post(service, message, None)

        assert "continue" in first.headers["location"]
        assert error_of(await post(service, message, None)) == "saml_replay"

    async def test_an_answer_to_the_request_of_another_browser_is_refused(
        self, service: Service, acme: str
    ) -> None:
        flow, other = await sso_steps.begin(service), await sso_steps.begin(service)

        assert (
            error_of(await post(service, answer_to(request_in(other)), state_of(flow)))
            == "saml_in_response_to"
        )

    async def test_an_old_request_is_refused(self, service: Service, acme: str) -> None:
        flow = await sso_steps.begin(service)
        [row] = await service.rows('SELECT created_at FROM "grant"')
        await execute(service, 'UPDATE "grant" SET expires_at = :now', now=row.created_at)

        answer = await post(service, answer_to(request_in(flow)), state_of(flow))

        assert error_of(answer) == "saml_in_response_to"

    async def test_a_kept_response_waits_a_minute(self, service: Service, acme: str) -> None:
        flow = await sso_steps.begin(service)
        posted = await post(service, answer_to(request_in(flow)), state_of(flow))
        service.clock.advance(seconds=61)

        assert error_of(await go_on(service, posted, flow.headers)) == "state_mismatch"

    async def test_a_response_to_another_connection_is_refused(self, service: Service, acme: str) -> None:
        await sso_steps.connect(service, config(), idp.ISSUER, "other", domains=["other.example"])
        flow = await sso_steps.begin(service)
        message = answer_to(request_in(flow))

        assert error_of(await post(service, message, state_of(flow), to="other")) == "saml_destination"
        bent = answer_to(request_in(flow), destination="")
        assert error_of(await post(service, bent, state_of(flow), to="other")) == "saml_in_response_to"
        assert (
            error_of(await post(service, message, state_of(flow), to="unknown")) == "oauth_provider_not_found"
        )

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"destination": 'Destination="https://else.example/acs"'}, "saml_destination"),
            ({"issuer": "<saml:Issuer>https://else.example</saml:Issuer>"}, "saml_issuer"),
            (
                {
                    "audience": "<saml:AudienceRestriction><saml:Audience>x</saml:Audience></saml:AudienceRestriction>"
                },
                "saml_audience",
            ),
        ],
    )
    async def test_a_response_for_others_is_refused(
        self, service: Service, acme: str, changes: dict[str, str], error: str
    ) -> None:
        assert error_of(await sign_in(service, **changes)) == error

    async def test_unsolicited_responses_need_both_switches(
        self, service: Service, acme: str, make_service: MakeService
    ) -> None:
        refused = await post(service, answer_to(None), None)
        await execute(service, "UPDATE sso_connection SET idp_initiated = :yes", yes=True)
        posted = await post(service, answer_to(None), "/inbox")
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in set_cookies(posted).items())}
        done = await go_on(service, posted, cookie)

        assert error_of(refused) == "saml_unsolicited"
        assert (steps.redirect_path(done), bool(set_cookies(done)[SESSION_COOKIE])) == ("/inbox", True)
        off = await make_service()
        off.clock.now = idp.NOW
        await sso_steps.connect(off, config(), idp.ISSUER, idp_initiated=True)
        assert error_of(await post(off, answer_to(None), None)) == "saml_unsolicited"

    @pytest.mark.threat("SSO7")
    @pytest.mark.parametrize("target", ["https://else.example/", "//else.example", "javascript:alert(1)"])
    async def test_an_unsolicited_response_leads_nowhere_else(
        self, service: Service, acme: str, target: str
    ) -> None:
        await execute(service, "UPDATE sso_connection SET idp_initiated = :yes", yes=True)
        posted = await post(service, answer_to(None), target)
        cookie = {"Cookie": "; ".join(f"{name}={value}" for name, value in set_cookies(posted).items())}

        assert "else.example" not in (await go_on(service, posted, cookie)).headers["location"]

    @pytest.mark.threat("SSO10")
    async def test_a_kept_response_ends_with_a_change_of_the_connection(
        self, service: Service, acme: str
    ) -> None:
        flow = await sso_steps.begin(service)
        posted = await post(service, answer_to(request_in(flow)), state_of(flow))
        await execute(service, "UPDATE sso_connection SET issuer = 'https://else.example'")

        assert error_of(await go_on(service, posted, flow.headers)) == "provider_changed"


class TestSignOut:
    @pytest.fixture
    async def session(self, service: Service, acme: str) -> Headers:
        """A session of Ada, which the provider calls `_session1`."""
        return steps.session_of(await sign_in(service))

    def peers(self, by: KeyCertificate | None = None) -> tuple[SamlServiceProvider, SamlIdentityProvider]:
        """Return the identity provider as it presents itself, and this service as it knows it."""
        peer = SamlServiceProvider(idp.ISSUER, "https://idp.example.com/acs", idp.LOGOUT, (by or idp.key(),))
        return peer, SamlIdentityProvider(ENTITY_ID, SLO, (idp.key("own").certificate,), SLO)

    def request(self, *, by: KeyCertificate | None = None, **changes: Any) -> LogoutMessage:
        """Return a signed logout request of the identity provider, as a redirect."""
        usual = {
            "id": "_logout1",
            "name_id": NameId("ada-4711", "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"),
            "session_indexes": ["_session1"],
        }
        url = idp.SAML.request_logout(*self.peers(by), SamlLogoutRequest(**{**usual, **changes}), idp.NOW)
        return LogoutMessage(query=urlsplit(url).query)

    async def send(self, service: Service, query: str | None) -> httpx.Response:
        """Send a logout message by redirect."""
        return await service.get(f"/sso/saml2/sp/slo/acme?{query}")

    @pytest.mark.operation("sso.end_session")
    async def test_a_signed_request_ends_the_session_and_is_answered(
        self, service: Service, session: Headers
    ) -> None:
        answer = await self.send(service, self.request().query)

        assert (await service.get(SESSION, headers=session)).status_code == 401
        location = answer.headers["location"]
        assert location.startswith(f"{idp.LOGOUT}?SAMLResponse=")
        assert "Signature" in parse_qs(urlsplit(location).query)

    async def test_the_response_goes_to_the_url_for_responses(self, service: Service) -> None:
        url = "https://idp.example.com/done"
        await sso_steps.connect(service, config(logout_response_url=url), idp.ISSUER)
        session = steps.session_of(await sign_in(service))

        answer = await self.send(service, self.request().query)

        assert answer.headers["location"].startswith(f"{url}?SAMLResponse=")
        assert (await service.get(SESSION, headers=session)).status_code == 401

    @pytest.mark.threat("SSO15")
    @pytest.mark.parametrize(
        "changes",
        [
            {"by": idp.key("another")},
            {"name_id": NameId("eve-4712")},
            {"session_indexes": ["_session2"]},
        ],
    )
    async def test_any_other_request_ends_nothing(
        self, service: Service, session: Headers, changes: dict[str, Any]
    ) -> None:
        await self.send(service, self.request(**changes).query)

        assert (await service.get(SESSION, headers=session)).status_code == 200

    @pytest.mark.threat("SSO15")
    async def test_an_unsigned_or_replayed_request_ends_nothing(
        self, service: Service, session: Headers
    ) -> None:
        query = self.request().query or ""
        unsigned = await self.send(service, query.partition("&SigAlg")[0])
        before = await service.get(SESSION, headers=session)
        await self.send(service, query)
        newer = steps.session_of(await sign_in(service, assertion="_assertion2"))
        await self.send(service, query)

        assert (unsigned.status_code, before.status_code) == (302, 200)
        assert (await service.get(SESSION, headers=newer)).status_code == 200

    @pytest.mark.operation("sso.end_session_by_post")
    @pytest.mark.threat("SSO15")
    async def test_a_form_without_a_signature_ends_nothing(self, service: Service, session: Headers) -> None:
        answer = await service.client.post(
            "/sso/saml2/sp/slo/acme", data={"SAMLRequest": idp.encoded("<x/>")}
        )

        assert answer.status_code == 303
        assert (await service.get(SESSION, headers=session)).status_code == 200

    async def test_signing_out_leads_to_the_provider_with_its_names(
        self, service: Service, session: Headers
    ) -> None:
        answer = await service.post("/sso/saml2/logout/acme", headers=session)

        query = parse_qs(urlsplit(answer.json()["url"]).query)
        request = zlib.decompress(b64decode(query["SAMLRequest"][0]), -15).decode()
        assert "ada-4711" in request
        assert "_session1" in request
        assert (await service.get(SESSION, headers=session)).status_code == 401

    async def test_the_response_to_a_sign_out_is_no_refusal(self, service: Service, session: Headers) -> None:
        signed_out = await service.post("/sso/saml2/logout/acme", headers=session)
        request = id_in(httpx.URL(signed_out.json()["url"]))
        response = SamlLogoutResponse(request, is_success=True, relay_state=None)
        url = idp.SAML.respond_to_logout(*self.peers(), response, "_response1", idp.NOW)

        answer = await self.send(service, urlsplit(url).query)

        assert answer.status_code == 302
        assert await of_event(service, "sso.refused") == []

    async def test_a_refused_message_is_no_failed_sign_in(self, service: Service, session: Headers) -> None:
        await add_endpoint(service, "https://93.184.215.14/hook", events=("sign_in.failed",))

        await self.send(service, self.request(by=idp.key("another")).query)

        assert (await only(service, "sso.refused")).code == "saml_signature_invalid"
        assert await service.rows("SELECT id FROM webhook_event") == []

    async def test_what_the_provider_calls_the_session_is_encrypted(
        self, service: Service, session: Headers
    ) -> None:
        [row] = await service.rows("SELECT name_id, subject FROM sso_session")

        assert b"4711" not in bytes(row.name_id) + bytes(row.subject)
