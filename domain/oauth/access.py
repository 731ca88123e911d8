"""The scopes and the resource of an access token: the granted scopes, reduced to those of one resource (RFC 8707)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from domain.context import Context
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients.errors import InvalidScope, InvalidTarget
from domain.oauth_clients.policy import ClientPolicy, Resource
from models.oauth_client import ClientRow


class Access(NamedTuple):
    """The scopes of an access token, and the resource that it is for."""

    scopes: str
    """Separated by spaces."""
    uri: str | None = None
    """The URI of the resource; None for a token that is for the operations of this service."""
    resource: Resource | None = None

    @property
    def is_jwt(self) -> bool:
        """Whether the token is a JWT, which its resource can verify without a request to this service."""
        return self.resource is not None and self.resource.format == "jwt"

    def lifetime(self, policy: OAuthPolicy) -> timedelta:
        """Return how long the token is valid."""
        own = None if self.resource is None else self.resource.expires_in
        return own or policy.access_token_expires_in


def select(
    ctx: Context, client: ClientRow, requested: Sequence[str], *, scopes: str, resources: Sequence[str]
) -> Access:
    """Return the scopes and the resource of an access token.

    `requested` are the resources that the request names; `scopes` and `resources` were granted. If the request names
    none, the only granted resource counts. Raises InvalidTarget if the request names several, or none of several that
    were granted, or one that was not granted or that the client no longer has; InvalidScope if the resource has none of
    the granted scopes.
    """
    if len(requested) > 1 or (not requested and len(resources) > 1):
        raise InvalidTarget
    uri = next(iter(requested or resources), None)
    if uri is None:
        return Access(scopes)
    resource = ctx.policy[ClientPolicy].resources.get(uri)
    # A resource may have been taken from the client since.
    is_allowed = uri in resources and uri in client.metadata.get("resources", ())  # defence: O10 resource
    if resource is None or not is_allowed:
        raise InvalidTarget
    # A resource must not see, and could not use, scopes of others.
    left = " ".join(one for one in scopes.split() if one in resource.scopes)  # defence: O10 scopes
    if not left:
        raise InvalidScope
    return Access(left, uri, resource)
