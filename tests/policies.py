"""A policy made of the default settings, for tests that need no assembled service."""

from typing import Any

from domain.passwords.policy import Blocklist
from domain.policy import Policy
from domain.sessions.policy import SessionLimitThreshold
from server.config.policy import policy_of
from server.config.settings import AllSettings

_BY_SMTP = {"sender": "smtp"}


def policy(*parts: object, **settings: Any) -> Policy:
    """Return the default policy, with mail by SMTP, after these changes of settings.

    `parts` replace the policies of their class.
    """
    chosen = {"base_url": "https://auth.example.com", "mail": _BY_SMTP, "password_reset": _BY_SMTP} | settings
    return policy_of(AllSettings(**chosen), Blocklist(frozenset()), SessionLimitThreshold(20), *parts)
