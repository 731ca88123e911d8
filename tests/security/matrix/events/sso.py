"""Connections for single sign-on, and their domains; the user signs out at the identity provider."""

from urllib.parse import urlsplit

from domain.sso.saml import NameId, SamlIdentityProvider, SamlLogoutRequest, SamlServiceProvider
from tests.handlers import sso_saml_steps as saml
from tests.handlers import sso_steps
from tests.security.matrix.cells import VERIFIED, Event, column, ends, stays
from tests.security.matrix.groups import (
    ALL,
    IMPERSONATED,
    JWT,
    KEY,
    RESET_CODE,
    RESET_LINK,
    VERIFICATION_CODE,
    VERIFICATION_LINK,
)
from tests.security.matrix.subject import Subject
from tests.security.matrix.ways.organizations import ACTIVE, INVITATION, MEMBERSHIP
from tests.security.matrix.ways.sso import IDENTITY, KEPT, OPENED
from tests.server.saml import provider as idp

_OTHERS = (
    *("approved device", "disown link", "authorization code", "access token of a session", "refresh token"),
    *(MEMBERSHIP, ACTIVE, INVITATION, IDENTITY, KEPT),
)


async def _sign_out(subject: Subject) -> None:
    peer = SamlServiceProvider(idp.ISSUER, "https://idp.example.com/acs", idp.LOGOUT, (idp.key(),))
    ours = SamlIdentityProvider(saml.ENTITY_ID, saml.SLO, (idp.key("own").certificate,), saml.SLO)
    name_id = NameId("ada-4711", "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent")
    request = SamlLogoutRequest("_logout1", name_id)
    url = urlsplit(idp.SAML.request_logout(peer, ours, request, subject.service.clock.now))
    answer = await subject.service.get(f"{url.path}?{url.query}")
    assert "SAMLResponse" in answer.headers["location"]


async def _require(subject: Subject) -> None:
    if not await subject.service.rows("SELECT id FROM sso_connection"):
        await sso_steps.connect(subject.service, saml.config(), idp.ISSUER, domains=["example.com"])
    body = {"providerId": "acme", "requiredDomains": ["example.com"], "revokeOtherSessions": True}
    await subject.do("/sso/update-provider", body, subject.root.headers)


EVENTS = [
    Event(
        "the domain is required and other sessions end",
        _require,
        ("sso.other_sessions_ended",),
        column(
            stays("it began at the connection", IDENTITY, KEPT, OPENED),
            stays("administrators act in the name of users to help them", IMPERSONATED),
            stays("nobody signs in with it", KEY, JWT),
            stays("offline access outlives the session", "refresh token"),
            stays("a reset sets the password, and mails the way in", RESET_LINK, RESET_CODE),
            stays("it proves the address, and opens no session", VERIFICATION_LINK, VERIFICATION_CODE),
            stays("what a stranger has prepared can always be given up", "disown link"),
            rest=ends("users of the domain sign in through the connection", *ALL, *_OTHERS),
        ),
    ),
    Event(
        "the user signs out at the identity provider",
        _sign_out,
        ("session.revoked",),
        column(
            ends("it was opened through this connection", OPENED),
            rest=stays("the provider ends only the sessions that it has opened", *ALL, *_OTHERS),
        ),
        VERIFIED,
        "only a verified address has an identity at a connection",
    ),
]

OTHER_AUDIT_EVENTS = {
    "sso.signed_in": "opens a session, or a challenge",
    "sso.identity_linked": "opens a way in",
    "sso.refused": "a refusal",
    "sso.connection_created": "a connection opens nothing before somebody signs in through it",
    "sso.connection_updated": "another provider ends identities, sessions and grants of it, as its tests show",
    "sso.connection_paused": "nobody signs in through it; sessions stay",
    "sso.connection_tested": "a test opens no session, and changes nothing",
    "sso.connection_deleted": "ends the identities, sessions and grants of the connection, as its tests show",
    "sso.domain_verified": "lets users of the domain sign in",
    "sso.domain_lost": "users of the domain sign in no more; sessions stay",
}
