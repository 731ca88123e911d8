"""Errors about connections and their domains."""

from domain.errors import BadRequest, Conflict, Forbidden, NotFound, Refusal


class SsoProviderNotFound(NotFound):
    """There is no such connection, or the caller may not manage it."""

    message = "Provider not found"


class SsoProviderExists(Conflict):
    """Another connection has this `providerId`."""

    message = "SSO provider with this providerId already exists"


class SsoProviderReadOnly(BadRequest):
    """The connection is defined in the configuration, so it cannot be changed here."""

    message = "SSO provider is managed by configuration"


class StaleSsoProvider(Conflict):
    """The connection was changed after the form was shown, so nothing was saved."""

    message = "SSO provider has been changed"


class TooManySsoProviders(Forbidden):
    """The organization has the maximum number of connections (`sso.limit_per_organization`)."""

    message = "You have reached the maximum number of SSO providers"


class InvalidSsoDomain(BadRequest):
    """A connection cannot have this domain; the message names it, and says why."""

    message = "Invalid domain"


class DiscoveryFailed(BadRequest):
    """The discovery document of the provider cannot be used; `reason` says why."""

    message = "The discovery document of the provider cannot be used"


class InvalidProviderUrl(BadRequest):
    """The service may not send requests to a URL of the provider; the message names the field, and says why."""

    message = "Invalid provider URL"


class SsoTestNotFound(NotFound):
    """The result of the test was read, has expired, or belongs to another session."""

    message = "Test result not found"


class DomainVerified(Conflict):
    """Every domain of the connection is verified already."""

    message = "Domain has already been verified"


class DomainTaken(Conflict):
    """Another connection has already verified the domain."""

    message = "Domain is verified by another SSO provider"


class PendingDomainTaken(DomainTaken):
    """The record of a domain was found, but another connection has already verified the domain."""

    code = "DOMAIN_TAKEN"
    keeps_writes = True  # Other domains of the connection may be verified now.


class DomainVerificationFailed(Refusal):
    """The record of a domain is missing, or its name servers do not respond; the message names the domain (502)."""

    status = 502
    message = "Unable to verify domain ownership. Try again later"
    keeps_writes = True  # Other domains of the connection may be verified now.
