"""The metadata that an OpenID provider publishes, and its checks (OpenID Connect Discovery 1.0)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.identity_providers.configuration import Configuration
from server.identity_providers.http_client import Calls, ProviderError
from server.identity_providers.urls import is_valid_url

_TENANT = "{tenantid}"
"""The placeholder in Microsoft's discovered issuer; each token has its own tenant there."""
_GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad"
"""Microsoft's tenant of all personal accounts."""
_OPEN_TENANTS = ("common", "organizations")


class ForeignIssuer(ProviderError):
    """The discovery document names an issuer other than the configured one."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The members of a discovery document that the service uses."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    end_session_endpoint: str | None
    announces_issuer: bool
    """Whether the provider announces that all its redirects have the parameter `iss` (RFC 9207)."""
    announced: Mapping[str, Any]
    """The whole document, for `gatewright providers check`."""


async def discover(calls: Calls, configuration: Configuration) -> Metadata:
    """Fetch and check the discovery document. Raises ProviderError, also if its issuer is not the configured one."""
    reply = await calls.get(configuration.discovery_url)
    if not reply.is_success:
        raise ProviderError(f"the discovery document is not there ({reply.status})")
    return metadata_of(reply.members, configuration)


def metadata_of(announced: Mapping[str, Any], configuration: Configuration) -> Metadata:
    """Check a discovery document and return its metadata.

    Raises ForeignIssuer if its issuer is not the configured one, and ProviderError naming an invalid member.
    """
    issuer = announced.get("issuer")
    if not isinstance(issuer, str) or not _may_be_issuer(issuer, configuration):
        raise ForeignIssuer("the discovered issuer is not the configured one")
    userinfo, end_session = "userinfo_endpoint", "end_session_endpoint"
    return Metadata(
        issuer=issuer,
        authorization_endpoint=_address(announced, "authorization_endpoint", configuration),
        token_endpoint=_address(announced, "token_endpoint", configuration),
        jwks_uri=_address(announced, "jwks_uri", configuration),
        userinfo_endpoint=_address(announced, userinfo, configuration) if announced.get(userinfo) else None,
        end_session_endpoint=_optional(announced, end_session, configuration),
        announces_issuer=announced.get("authorization_response_iss_parameter_supported") is True,
        announced=announced,
    )


def issuers(configuration: Configuration, metadata: Metadata, tenant: object = None) -> tuple[str, ...]:
    """Return the accepted values of `iss` in a token or redirect.

    `tenant` is the claim `tid` of the token; only Microsoft has it.
    """
    if not configuration.preset.tenanted:
        return (metadata.issuer, *configuration.preset.aliases)
    if _TENANT not in metadata.issuer:
        return (metadata.issuer,)
    if not isinstance(tenant, str) or not _GUID.fullmatch(tenant):
        return ()
    if configuration.tenant == "organizations" and tenant == _CONSUMERS:
        return ()
    return (metadata.issuer.replace(_TENANT, tenant),)


def is_issuer_of_redirect(configuration: Configuration, metadata: Metadata, written: str | None) -> bool:
    """Return whether the parameter `iss` of a redirect is valid (RFC 9207).

    It may be absent (None) unless the provider announces that it always sends it.
    """
    if written is None:
        return not metadata.announces_issuer  # defence: V56 issuer-announced
    before, _, after = metadata.issuer.partition(_TENANT)
    tenant = written.removeprefix(before).removesuffix(after)
    return written in issuers(configuration, metadata, tenant)


def _may_be_issuer(issuer: str, configuration: Configuration) -> bool:
    """Return whether an issuer is the configured one."""
    if issuer in configuration.issuers and issuer not in configuration.preset.aliases:
        return True
    if not configuration.preset.tenanted or _GUID.fullmatch(configuration.tenant):
        return False
    # A tenant may be configured by its domain name, but Microsoft's document always contains its GUID.
    before, _, after = configuration.preset.issuer.partition("{tenant}")
    tenant = issuer.removeprefix(before).removesuffix(after)
    if issuer != before + tenant + after:
        return False
    return tenant == _TENANT if configuration.tenant in _OPEN_TENANTS else _GUID.fullmatch(tenant) is not None


def _optional(announced: Mapping[str, Any], name: str, configuration: Configuration) -> str | None:
    """Return a URL that providers of social sign-in do not need; None if it is missing or invalid."""
    url = announced.get(name)
    is_usable = isinstance(url, str) and is_valid_url(url, loopback_http=configuration.loopback_http)
    return url if is_usable else None


def _address(announced: Mapping[str, Any], name: str, configuration: Configuration) -> str:
    url = announced.get(name)
    # defence: V59 https-only
    if not isinstance(url, str) or not is_valid_url(url, loopback_http=configuration.loopback_http):
        raise ProviderError(f"{name} is missing or no https address")
    return url
