"""The settings of sign-in through providers."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from domain.social.policy import SocialPolicy
from server.config.base import Group, NamedGroup, Settings, fill
from server.config.value_types import Duration, Items, OptionalText, OptionalUrl, Size, duration_between


class SocialSettings(Group):
    """`social.*`: settings of all providers."""

    key = "social"

    former_keys = (
        "oauth.state_expires_in",
        "oauth.http_timeout",
        "oauth.max_response",
        "oauth.refresh_skew",
        "oauth.expose_refresh_token",
        "oauth.error_url",
    )

    state_expires_in: Duration = duration_between("10m", "Time to complete a sign-in at the provider.")
    http_timeout: Duration = duration_between("10s", "Longest wait for a provider.", at_least="0.05s")
    max_response: Size = Field(
        default=2**20, ge=1024, le=2**28, description="Largest response of a provider in bytes."
    )
    refresh_skew: Duration = duration_between(
        "5s", "How long before its end an access token is renewed.", at_least="0s"
    )
    expose_refresh_token: bool = Field(default=True, description="Whether responses contain refresh tokens.")
    error_url: OptionalUrl = Field(
        default=None, description="Page to which a failed sign-in redirects; by default /error."
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the settings of all providers."""
        target = settings.default_redirect_url or settings.base_url + "/"
        return (fill(SocialPolicy, self, default_redirect_url=target),)


class ProviderSettings(NamedGroup):
    """`providers.<id>.*`: one identity provider."""

    key = "providers"

    preset: OptionalText = Field(
        default=None, description="Known provider whose endpoints and defaults apply."
    )
    client_id: OptionalText = Field(
        default=None, description="Client id of this service at the provider; required."
    )
    client_secret: SecretStr | None = Field(
        default=None, description="Client secret of this service at the provider."
    )
    scopes: Annotated[tuple[str, ...] | None, Items] = Field(
        default=None, description="Replaces the default scopes."
    )
    issuer: OptionalUrl = Field(default=None, description="Issuer of a self-hosted server (gitlab).")
    tenant: OptionalText = Field(default=None, description="Tenant (microsoft).")
    team_id: OptionalText = Field(
        default=None, description="Team id, from which the client secret is made (apple)."
    )
    key_id: OptionalText = Field(
        default=None, description="Key id, from which the client secret is made (apple)."
    )
    private_key: SecretStr | None = Field(
        default=None, description="Private key in PEM, from which the client secret is made (apple)."
    )
    discovery_url: OptionalUrl = Field(default=None, description="OpenID Connect discovery document.")
    authorization_endpoint: OptionalUrl = Field(default=None, description="OAuth 2.0 authorization endpoint.")
    token_endpoint: OptionalUrl = Field(default=None, description="OAuth 2.0 token endpoint.")
    userinfo_endpoint: OptionalUrl = Field(default=None, description="OAuth 2.0 profile endpoint.")
    token_auth: Literal["post", "basic"] = Field(default="post", description="How the client secret is sent.")
    pkce: bool | None = Field(default=None, description="Whether PKCE is used; by default it is.")
    id_token_sign_in: bool | None = Field(
        default=None, description="Whether clients may post ID tokens; by default with OpenID Connect."
    )
    allowed_algorithms: Annotated[tuple[str, ...] | None, Items] = Field(
        default=None, description="Signature algorithms accepted in ID tokens."
    )
    claims: dict[str, str] = Field(
        default={}, description="Names of id, email, email_verified, name and image."
    )
    extra_params: dict[str, str] = Field(
        default={}, description="Additional parameters of the authorization URL."
    )
    disable_sign_up: bool = Field(default=False, description="Whether users without an account are refused.")
    disable_implicit_sign_up: bool = Field(
        default=False, description="Whether new users must sign up explicitly with requestSignUp."
    )
    require_verified_email: bool = Field(
        default=False, description="Whether the email address must be verified."
    )
    sync_profile: bool = Field(
        default=False, description="Whether each sign-in updates name and image from the provider."
    )
