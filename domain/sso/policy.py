"""Policy for companies' own sign-in, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, slots=True)
class SsoPolicy:
    """Who manages connections, and the limits of their protocols."""

    enabled: bool
    management: Literal["operators", "organizations"]
    clock_skew: timedelta
    request_expires_in: timedelta
    max_response: int
    """The length of an encoded SAML response in bytes."""
    idp_initiated: bool
    """Whether connections may accept SAML responses without a request."""
    domain_recheck: timedelta
    domain_grace: timedelta
