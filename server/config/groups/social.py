"""The settings of sign-in through providers."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import SecretStr

from domain.social.policy import SocialPolicy
from server.config.base import Group, NamedGroup, Settings, fill
from server.config.value_types import (
    Duration,
    Items,
    OptionalText,
    OptionalUrl,
    Size,
    duration_between,
    setting,
)


class SocialSettings(Group):
    """`social.*`: settings that apply to all providers."""

    key = "social"

    former_keys = (
        "oauth.state_expires_in",
        "oauth.http_timeout",
        "oauth.max_response",
        "oauth.refresh_skew",
        "oauth.expose_refresh_token",
        "oauth.error_url",
    )

    state_expires_in: Duration = duration_between(
        "10m", "How long a user may take to sign in at the provider."
    )
    http_timeout: Duration = duration_between(
        "10s", "Longest time of a request to a provider.", at_least="0.05s"
    )
    max_response: Size = setting(2**20, "Largest response of a provider, in bytes.", ge=1024, le=2**28)
    refresh_skew: Duration = duration_between(
        "5s", "How long before its expiry an access token of a provider is refreshed.", at_least="0s"
    )
    expose_refresh_token: bool = setting(True, "Whether responses contain the refresh tokens of providers.")
    error_url: OptionalUrl = setting(
        None, "Page to which a failed sign-in through a provider redirects; by default /error."
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the settings of all providers."""
        target = settings.default_redirect_url or settings.base_url + "/"
        return (fill(SocialPolicy, self, default_redirect_url=target),)


class ProviderSettings(NamedGroup):
    """`providers.<id>.*`: one identity provider."""

    key = "providers"

    preset: OptionalText = setting(
        None, "Known provider, such as `google`, whose endpoints and defaults apply."
    )
    client_id: OptionalText = setting(None, "Client id of this service at the provider; required.")
    client_secret: SecretStr | None = setting(None, "Client secret of this service at the provider.")
    scopes: Annotated[tuple[str, ...] | None, Items] = setting(
        None, "Scopes that are requested instead of the default ones."
    )
    issuer: OptionalUrl = setting(None, "Issuer of a self-hosted server (gitlab).")
    tenant: OptionalText = setting(None, "Tenant (microsoft); by default `common`.")
    team_id: OptionalText = setting(None, "Team id, from which the client secret is made (apple).")
    key_id: OptionalText = setting(None, "Key id, from which the client secret is made (apple).")
    private_key: SecretStr | None = setting(
        None, "Private key in PEM, from which the client secret is made (apple)."
    )
    discovery_url: OptionalUrl = setting(None, "URL of the OpenID Connect discovery document.")
    authorization_endpoint: OptionalUrl = setting(None, "URL of the OAuth 2.0 authorization endpoint.")
    token_endpoint: OptionalUrl = setting(None, "URL of the OAuth 2.0 token endpoint.")
    userinfo_endpoint: OptionalUrl = setting(None, "URL from which the profile of the user is read.")
    token_auth: Literal["post", "basic"] = setting(
        "post",
        "How the client secret is sent to the token endpoint: in the body (`post`) or by HTTP Basic "
        "(`basic`).",
    )
    pkce: bool | None = setting(
        None, "Whether PKCE is used; by default it is, unless the preset excludes it."
    )
    id_token_sign_in: bool | None = setting(
        None,
        "Whether applications may sign users in by posting an ID token of the provider; by default true "
        "for OpenID Connect, and never for plain OAuth 2.0.",
    )
    allowed_algorithms: Annotated[tuple[str, ...] | None, Items] = setting(
        None, "Signature algorithms accepted in ID tokens."
    )
    claims: dict[str, str] = setting(
        {},
        "Names that the provider uses for id, email, email_verified, name and image, if they differ from "
        "the default ones.",
    )
    extra_params: dict[str, str] = setting({}, "Additional parameters of the authorization URL.")
    disable_sign_up: bool = setting(
        False,
        "Whether a sign-in is refused instead of creating a user, if no user has the account or the email "
        "address.",
    )
    disable_implicit_sign_up: bool = setting(
        False, "Whether a sign-in creates a user only if the request has `requestSignUp: true`."
    )
    require_verified_email: bool = setting(
        False, "Whether users with an unverified email address are refused."
    )
    sync_profile: bool = setting(False, "Whether each sign-in updates name and image from the provider.")
