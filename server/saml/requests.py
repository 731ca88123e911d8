"""Authentication requests, sent by the redirect binding (Core 3.4, Bindings 3.4)."""

from datetime import datetime

from lxml.builder import ElementMaker

from domain.sso.saml import AuthenticationRequest, SamlIdentityProvider, SamlServiceProvider
from server.saml import bindings, names
from server.saml.xml import format_time

SAMLP = ElementMaker(namespace=names.SAMLP, nsmap={"samlp": names.SAMLP, "saml": names.SAML})
SAML = ElementMaker(namespace=names.SAML, nsmap={"saml": names.SAML})


def signing_key(own: SamlServiceProvider) -> str:
    """Return the private key that signs messages of this service. Raises ValueError if there is none."""
    if not own.keys:
        raise ValueError("signed messages need a key of the service provider")
    return own.keys[0].private_key


def url(
    own: SamlServiceProvider, provider: SamlIdentityProvider, request: AuthenticationRequest, now: datetime
) -> str:
    """Return the URL that sends a browser to the provider with an authentication request."""
    message = SAMLP.AuthnRequest(
        SAML.Issuer(own.entity_id),
        ID=request.id,
        Version="2.0",
        IssueInstant=format_time(now),
        Destination=provider.sign_in_url,
        AssertionConsumerServiceURL=own.acs_url,
        ProtocolBinding=names.POST,
    )
    if request.force_authentication:
        message.set("ForceAuthn", "true")
    policy = SAMLP.NameIDPolicy(AllowCreate="true")
    if request.name_id_format is not None:
        policy.set("Format", request.name_id_format)
    message.append(policy)
    hint = {} if request.login_hint is None else {"login_hint": request.login_hint}
    return bindings.redirect_url(
        provider.sign_in_url, "SAMLRequest", message,
        relay_state=request.relay_state,
        private_key=signing_key(own) if request.is_signed else None,
        **hint,
    )  # fmt: skip
