"""The descriptions of scopes that users read."""

from collections.abc import Mapping, Sequence

from domain.localization import N_
from domain.oauth_clients.policy import ClientPolicy

SCOPES: Mapping[str, str] = {
    "openid": N_("Confirm who you are"),
    "profile": N_("See your name, username and picture"),
    "email": N_("See your email address"),
    "offline_access": N_("Keep this access while you are signed out"),
}
"""The descriptions of the standard scopes."""


def described(policy: ClientPolicy, scopes: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return each scope with its description for users, in English; an unknown scope with its name."""
    return [(scope, SCOPES.get(scope) or policy.scopes.get(scope) or scope) for scope in scopes]
