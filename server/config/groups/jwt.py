"""The settings of signed tokens for other services."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Annotated, Literal

from domain.jwt.policy import JwtPolicy
from domain.jwt.session_tokens import ORGANIZATION_CLAIMS, TEAM_CLAIMS
from server.config.base import Group, Settings, fill
from server.config.groups.organizations import OrganizationSettings
from server.config.value_types import Duration, Items, OptionalUrl, duration_between, is_http, setting

_CLIENT_ID = "app_"
"""The prefix of client ids, which are the audiences of other tokens."""

Algorithm = Literal["ES256", "RS256", "EdDSA"]
Claim = Literal[
    "email",
    "emailVerified",
    "name",
    "image",
    "username",
    "role",
    "id",
    "activeOrganizationId",
    "organizationRole",
    "activeTeamId",
]


class JwtSettings(Group):
    """`jwt.*`: signed tokens (JWT) for other services, and the keys that sign them."""

    key = "jwt"
    enabled_in_development = True

    enabled: bool = setting(
        False, "Whether /token, /jwks and /.well-known/jwks.json exist; by default true in development."
    )
    algorithms: Annotated[tuple[Algorithm, ...], Items] = setting(
        ("ES256", "RS256"),
        "Signature algorithms. One signing key of each is kept; that of the first algorithm signs session "
        "tokens.",
    )
    issuer: OptionalUrl = setting(
        None, "`iss` of every token; by default `base_url` followed by `base_path`."
    )
    audiences: Annotated[tuple[str, ...], Items] = setting(
        (),
        "Audiences that callers may request; a request that names none gets the first. By default only the "
        "issuer.",
        max_length=20,
    )
    expires_in: Duration = duration_between(
        "5m", "Lifetime of a token, which never outlives its session.", at_least="1m", at_most="1h"
    )
    claims: Annotated[tuple[Claim, ...], Items] = setting(
        ("email", "emailVerified", "name"),
        "Fields of the user in each token. `activeOrganizationId`, `organizationRole` (the user's roles in "
        "the active organization) and `activeTeamId` are left out while the session has no active "
        "organization or team.",
    )
    header: bool = setting(False, "Whether /get-session also returns a token, in the header set-auth-jwt.")
    rotation_interval: Duration = duration_between(
        "90d",
        "How long a key signs until a new key replaces it, at least 1d; 0 = for ever.",
        at_least="0s",
        at_most="400d",
    )
    publish_ahead: Duration = duration_between(
        "1h",
        "How long the public part of a new key is published before the key signs.",
        at_least="10m",
        at_most="7d",
    )
    keep: Duration = duration_between(
        "30d",
        "How long the public part of a key stays published after the key has stopped signing.",
        at_least="1d",
    )
    jwks_max_age: Duration = duration_between(
        "5m", "How long HTTP caches may keep the response of /jwks.", at_least="1m", at_most="1h"
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how tokens are made, and how long keys live."""
        issuer = self.issuer or settings.base_url + settings.base_path
        return (fill(JwtPolicy, self, issuer=issuer, audiences=self.audiences or (issuer,)),)

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield settings that verifiers would not accept, or that would make them miss a key."""
        if self.header and not self.enabled:
            yield "jwt.header: needs jwt.enabled"
        if self.issuer is not None and (set(self.issuer) & {"?", "#"} or self.issuer.endswith("/")):
            yield "jwt.issuer: no trailing slash, query or fragment"
        if any(not 1 <= len(audience) <= 255 for audience in self.audiences):
            yield "jwt.audiences: each has 1 to 255 characters"
        if any(audience.startswith(_CLIENT_ID) for audience in self.audiences):
            yield f"jwt.audiences: none may begin with {_CLIENT_ID}"
        if set(self.claims) & ORGANIZATION_CLAIMS.keys() and not settings[OrganizationSettings].enabled:
            yield "jwt.claims: claims of the active organization need organizations.enabled"
        if set(self.claims) & TEAM_CLAIMS.keys() and not settings[OrganizationSettings].teams.enabled:
            yield "jwt.claims: activeTeamId needs organizations.teams.enabled"
        if not self.algorithms:
            yield "jwt.algorithms: must name one"
        if len(set(self.algorithms)) < len(self.algorithms):
            yield "jwt.algorithms: each only once"
        if timedelta(0) < self.rotation_interval < timedelta(days=1):
            yield "jwt.rotation_interval: must be 0 or at least 1d"
        if timedelta(0) < self.rotation_interval <= self.publish_ahead:
            yield "jwt.rotation_interval: must be longer than jwt.publish_ahead"
        # defence: JWT8 publish-ahead
        if self.publish_ahead < 2 * self.jwks_max_age + timedelta(minutes=1):
            yield "jwt.publish_ahead: must be at least twice jwt.jwks_max_age and 1m more"

    def production_problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if the issuer could be impersonated."""
        if self.issuer is not None and is_http(self.issuer) and not settings.allow_http:
            yield "jwt.issuer: must be https (or set allow_http)"
