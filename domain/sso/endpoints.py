"""The URLs of this service that are registered at the identity provider of a connection."""

from domain import urls
from domain.policy import Policy


def callback_url(policy: Policy, provider_id: str) -> str:
    """Return the OpenID Connect redirect URI of the connection with this `providerId`."""
    return urls.public_url(policy, f"/sso/callback/{provider_id}")


def acs_url(policy: Policy, provider_id: str) -> str:
    """Return the URL of the SAML assertion consumer service for the connection with this `providerId`."""
    return urls.public_url(policy, f"/sso/saml2/sp/acs/{provider_id}")


def logout_url(policy: Policy, provider_id: str) -> str:
    """Return the URL of the SAML single logout service for the connection with this `providerId`."""
    return urls.public_url(policy, f"/sso/saml2/sp/slo/{provider_id}")


def metadata_url(policy: Policy, provider_id: str) -> str:
    """Return the URL of the SAML metadata of this service, which is by default its entity id."""
    return urls.public_url(policy, "/sso/saml2/sp/metadata", providerId=provider_id)
