"""Instructions for well-known identity providers, which the pages that create a connection show.

They say where a provider is set up, and what it calls the values of this service.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

SAML, OIDC = "saml", "oidc"


@dataclass(frozen=True, slots=True)
class Guide:
    """How to set up a protocol at an identity provider, in the words of the provider's own pages, untranslated."""

    steps: str
    """The menus that lead to the form for the values of this service."""
    first: str
    """The provider's name for the assertion consumer service (SAML) or the redirect URI (OpenID Connect)."""
    second: str = ""
    """The provider's name for the entity id (SAML)."""
    source: str = ""
    """Where to find the metadata (SAML), or the issuer, client id and client secret (OpenID Connect)."""
    example: str = ""
    """An example of the URL of the metadata (SAML), or of the issuer (OpenID Connect)."""
    settings: str = ""
    """Other settings that are required at the provider."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """An identity provider for which the pages that create a connection have instructions."""

    key: str
    """The name of the provider in URLs, and in the suggested identifier of a connection."""
    name: str
    place: str
    """Where the provider is set up, such as `Okta Admin Console`."""
    guides: Mapping[str, Guide] = field(default_factory=dict)
    """The guides by protocol; the usual protocol comes first."""


_ALL = (
    IdentityProvider(
        "entra",
        "Microsoft Entra ID",
        "Microsoft Entra admin center",
        {
            SAML: Guide(
                "Enterprise applications > New application > Create your own application > Single sign-on > SAML",
                "Reply URL (Assertion Consumer Service URL)",
                "Identifier (Entity ID)",
                "SAML Certificates > App Federation Metadata Url",
                "https://login.microsoftonline.com/…/federationmetadata/2007-06/federationmetadata.xml?appid=…",
            ),
            OIDC: Guide(
                "App registrations > New registration > Redirect URI > Web",
                "Redirect URI",
                source="Overview > Application (client) ID; Certificates & secrets > New client secret",
                example="https://login.microsoftonline.com/…/v2.0",
            ),
        },
    ),
    IdentityProvider(
        "okta",
        "Okta",
        "Okta Admin Console",
        {
            SAML: Guide(
                "Applications > Create App Integration > SAML 2.0 > Configure SAML",
                "Single sign-on URL",
                "Audience URI (SP Entity ID)",
                "Sign On > Metadata details > Metadata URL",
                "https://example.okta.com/app/…/sso/saml/metadata",
            ),
            OIDC: Guide(
                "Applications > Create App Integration > OIDC - OpenID Connect > Web Application",
                "Sign-in redirect URIs",
                source="General > Client Credentials",
                example="https://example.okta.com",
            ),
        },
    ),
    IdentityProvider(
        "google",
        "Google Workspace",
        "Google Admin console",
        {
            SAML: Guide(
                "Apps > Web and mobile apps > Add app > Add custom SAML app > Service provider details",
                "ACS URL",
                "Entity ID",
                "Google Identity Provider details > Download metadata",
            ),
        },
    ),
    IdentityProvider(
        "keycloak",
        "Keycloak",
        "Keycloak Admin Console",
        {
            SAML: Guide(
                "Clients > Create client > Client type: SAML",
                "Valid redirect URIs, Master SAML Processing URL",
                "Client ID",
                "Realm settings > Endpoints > SAML 2.0 Identity Provider Metadata",
                "https://keycloak.example.com/realms/…/protocol/saml/descriptor",
                "Settings > Name ID format: email; Keys > Client signature required: Off",
            ),
            OIDC: Guide(
                "Clients > Create client > Client type: OpenID Connect > Client authentication: On",
                "Valid redirect URIs",
                source="Clients > Credentials > Client Secret",
                example="https://keycloak.example.com/realms/…",
            ),
        },
    ),
    IdentityProvider(
        "onelogin",
        "OneLogin",
        "OneLogin Administration",
        {
            SAML: Guide(
                "Applications > Add App > SAML Custom Connector (Advanced) > Configuration",
                "ACS (Consumer) URL, ACS (Consumer) URL Validator",
                "Audience (EntityID)",
                "SSO > Issuer URL",
                "https://app.onelogin.com/saml/metadata/…",
            ),
            OIDC: Guide(
                "Applications > Add App > OpenId Connect (OIDC) > Configuration",
                "Redirect URI's",
                source="SSO > Client ID, Client Secret",
                example="https://example.onelogin.com/oidc/2",
            ),
        },
    ),
    IdentityProvider(
        "jumpcloud",
        "JumpCloud",
        "JumpCloud Admin Portal",
        {
            SAML: Guide(
                "SSO Applications > Add New Application > Custom Application > Configure SSO with SAML",
                "ACS URLs",
                "SP Entity ID",
                "SSO > Copy Metadata URL",
                "https://sso.jumpcloud.com/saml2/metadata/…",
            ),
            OIDC: Guide(
                "SSO Applications > Add New Application > Custom Application > Configure SSO with OIDC",
                "Redirect URIs",
                source="SSO > Client ID, Client Secret",
                example="https://oauth.id.jumpcloud.com/",
            ),
        },
    ),
    IdentityProvider(
        "ping",
        "PingOne",
        "PingOne admin console",
        {
            SAML: Guide(
                "Applications > Applications > + > SAML Application > Configure > Manually Enter",
                "ACS URLs",
                "Entity ID",
                "Overview > IDP Metadata URL",
                "https://auth.pingone.com/…/saml20/metadata/…",
            ),
            OIDC: Guide(
                "Applications > Applications > + > OIDC Web App > Configuration",
                "Redirect URIs",
                source="Overview > Client ID, Client Secret, Issuer ID",
                example="https://auth.pingone.com/…/as",
            ),
        },
    ),
    IdentityProvider(
        "auth0",
        "Auth0",
        "Auth0 Dashboard",
        {
            SAML: Guide(
                "Applications > Create Application > Regular Web Applications > Addons > SAML2 Web App > Settings",
                "Application Callback URL",
                '"audience"',
                "Usage > Identity Provider Metadata",
                "https://example.auth0.com/samlp/metadata/…",
            ),
            OIDC: Guide(
                "Applications > Create Application > Regular Web Applications > Settings",
                "Allowed Callback URLs",
                source="Settings > Domain, Client ID, Client Secret",
                example="https://example.auth0.com/",
            ),
        },
    ),
    IdentityProvider(
        "adfs",
        "AD FS",
        "AD FS Management",
        {
            SAML: Guide(
                "Relying Party Trusts > Add Relying Party Trust > Claims aware > Enter data manually",
                "Relying party SAML 2.0 SSO service URL",
                "Relying party trust identifier",
                "Service > Endpoints > Federation Metadata",
                "https://adfs.example.com/FederationMetadata/2007-06/FederationMetadata.xml",
            ),
            OIDC: Guide(
                "Application Groups > Add Application Group > Server application accessing a web API",
                "Redirect URI",
                source="Client Identifier; Generate a shared secret",
                example="https://adfs.example.com/adfs",
            ),
        },
    ),
    IdentityProvider(
        "other",
        "",
        "",
        {
            SAML: Guide("", "Assertion Consumer Service (ACS)", "Entity ID, Audience"),
            OIDC: Guide("", "Redirect URI", example="https://login.example.com"),
        },
    ),
)

PROVIDERS: Mapping[str, IdentityProvider] = {one.key: one for one in _ALL}
"""The identity providers of the wizard, by key."""


def provider_of(key: str | None) -> IdentityProvider:
    """Return the identity provider with a key; for an unknown key, the general one without instructions."""
    return PROVIDERS.get(key or "", PROVIDERS["other"])


def protocol_of(provider: IdentityProvider, protocol: str | None) -> str:
    """Return `protocol` if the identity provider supports it, else the provider's usual protocol."""
    return protocol if protocol is not None and protocol in provider.guides else next(iter(provider.guides))
