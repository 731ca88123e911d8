"""Policy for companies' own sign-in, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, slots=True)
class SsoPolicy:
    """The settings of connections: who manages them, and limits of OpenID Connect and SAML."""

    enabled: bool
    management: Literal["operators", "organizations"]
    clock_skew: timedelta
    request_expires_in: timedelta
    max_response: int
    """The largest encoded SAML response, in bytes."""
    idp_initiated: bool
    """Whether a connection may be set to accept SAML responses without a request."""
    domain_recheck: timedelta
    domain_grace: timedelta
