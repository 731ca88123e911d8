"""The way through a SAML identity provider without a browser: its responses, and the return to the service."""

import zlib
from base64 import b64decode
from typing import Any, cast

import httpx
from lxml import etree

from domain.sso.configuration import SamlConfig
from tests.conftest import Headers
from tests.handlers import sso_steps
from tests.labs.provider import steps
from tests.server.saml import provider as idp
from tests.service import BASE_URL, Service

ADA = "ada@acme.example"
ACS = f"{BASE_URL}/sso/saml2/sp/acs/acme"
SLO = f"{BASE_URL}/sso/saml2/sp/slo/acme"
ENTITY_ID = f"{BASE_URL}/sso/saml2/sp/metadata?providerId=acme"
EMAIL = '<saml:Attribute Name="email">{}</saml:Attribute>'
VALUE = "<saml:AttributeValue>{}</saml:AttributeValue>"


def config(**more: Any) -> SamlConfig:
    """Return the configuration of the identity provider of the tests."""
    own = idp.key("own")
    keys = {"private_key": own.private_key, "certificate": own.certificate}
    return SamlConfig(idp.SIGN_IN, (idp.key().certificate,), idp.LOGOUT, **{**keys, **more})


def attributes(*emails: str, **more: str) -> str:
    """Return attributes with these email addresses."""
    others = "".join(
        f'<saml:Attribute Name="{name}">{VALUE.format(value)}</saml:Attribute>'
        for name, value in more.items()
    )
    return EMAIL.format("".join(map(VALUE.format, emails))) + others


def answer_to(
    request: str | None, later: float = 0, *, acs: str = ACS, entity_id: str = ENTITY_ID, **changes: str
) -> str:
    """Return the signed response to a request of the service, in base64, as it is so many seconds after `idp.NOW`."""
    to = "" if request is None else f'InResponseTo="{request}"'
    end = f'NotOnOrAfter="{idp.at(later + 300)}"'
    usual = {
        "destination": f'Destination="{acs}"',
        "in_response_to": to,
        "issued": idp.at(later),
        "confirmation": f'<saml:SubjectConfirmationData {end} Recipient="{acs}" {to}/>',
        "period": f'NotBefore="{idp.at(later - 30)}" {end}',
        "audience": f"<saml:AudienceRestriction><saml:Audience>{entity_id}</saml:Audience></saml:AudienceRestriction>",
        "session": f'AuthnInstant="{idp.at(later - 60)}" SessionIndex="_session1"'
        f' SessionNotOnOrAfter="{idp.at(later + 3600)}"',
        "attributes": attributes(ADA, displayName="Ada"),
    }
    return idp.encoded(idp.answer(**{**usual, **changes}))


def request_in(flow: steps.Flow) -> str:
    """Return the id of the request that begins a sign-in."""
    return id_in(flow.url)


def id_in(url: httpx.URL) -> str:
    """Return the id of the request in a URL of the identity provider."""
    return cast("str", etree.fromstring(xml_in(url).encode()).get("ID"))


def xml_in(url: httpx.URL) -> str:
    """Return the XML of the request in a URL of the identity provider."""
    return zlib.decompress(b64decode(url.params["SAMLRequest"]), -15).decode()


def state_of(flow: steps.Flow) -> str:
    """Return the state that the identity provider returns."""
    return flow.url.params["RelayState"]


async def post(service: Service, message: str, state: str | None, to: str = "acme") -> httpx.Response:
    """Post a response as the page of the identity provider has the browser do, without cookies."""
    form = {"SAMLResponse": message, **({} if state is None else {"RelayState": state})}
    answer = await service.client.post(f"/sso/saml2/sp/acs/{to}", data=form)
    service.client.cookies.clear()
    return answer


async def go_on(service: Service, answer: httpx.Response, headers: Headers) -> httpx.Response:
    """Follow the redirect of the assertion consumer service with these cookies."""
    location = httpx.URL(answer.headers["location"])
    assert location.path == "/sso/saml2/continue", location
    done = await service.get(f"{location.path}?{location.query.decode()}", headers=headers)
    service.client.cookies.clear()
    return done


async def sign_in(service: Service, **changes: str) -> httpx.Response:
    """Sign in with a response; give the last redirect."""
    flow = await sso_steps.begin(service)
    posted = await post(service, answer_to(request_in(flow), 0, **changes), state_of(flow))
    return await go_on(service, posted, flow.headers) if "continue" in posted.headers["location"] else posted


def error_of(answer: httpx.Response) -> str | None:
    """Return the error of a redirect of either status."""
    assert answer.status_code in {302, 303}, answer.text
    error: str | None = httpx.URL(answer.headers["location"]).params.get("error")
    return error
