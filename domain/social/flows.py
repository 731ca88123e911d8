"""Where OAuth flows of configured providers differ from those of single sign-on connections, and the errors of both."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from domain import errors
from domain.context import Context
from domain.identity_provider import CodeRefused, IdentityRefused, IssuerMismatch, Provider, VerifiedIdentity
from domain.sessions import events as session_events
from domain.social import authorization_request, events, identity, sign_in
from domain.social.errors import (
    LinkingDifferentEmailsNotAllowed,
    LinkingNotAllowed,
    OauthLinkError,
    ProviderNotFound,
    ProviderUnavailable,
    SignUpDisabled,
    SocialAccountAlreadyLinked,
    UserEmailNotFound,
)
from domain.social.sign_in import SocialSignIn, SocialSignInResult, UserMismatch
from domain.sso_enforcement.errors import SsoRequired
from domain.users.errors import BannedUser, EmailNotVerified


class CallbackError(StrEnum):
    """The values of `error` in the redirect of a failed flow, in addition to a provider's own code."""

    STATE_NOT_FOUND = "state_not_found"
    STATE_MISMATCH = "state_mismatch"
    PROVIDER_ERROR = "provider_error"
    NO_CODE = "no_code"
    INVALID_CODE = "invalid_code"
    ISSUER_MISMATCH = "issuer_mismatch"
    NO_USER_INFO = "unable_to_get_user_info"
    NO_EMAIL = "email_not_found"
    NO_PROVIDER = "oauth_provider_not_found"
    NOT_LINKED = "account_not_linked"
    SIGN_UP_DISABLED = "signup_disabled"
    EMAIL_NOT_VERIFIED = "email_not_verified"
    BANNED = "BANNED_USER"
    LINKING_IMPOSSIBLE = "unable_to_link_account"
    OTHER_EMAIL = "email_does_not_match"
    OTHER_OWNER = "account_already_linked_to_different_user"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    USER_MISMATCH = "user_mismatch"
    SSO_REQUIRED = "SSO_REQUIRED"
    OUR_FAULT = "internal_server_error"


FAILURES: Mapping[type[Exception], str] = {
    CodeRefused: CallbackError.INVALID_CODE,
    IssuerMismatch: CallbackError.ISSUER_MISMATCH,
    IdentityRefused: CallbackError.NO_USER_INFO,
    UserEmailNotFound: CallbackError.NO_EMAIL,
    ProviderNotFound: CallbackError.NO_PROVIDER,
    OauthLinkError: CallbackError.NOT_LINKED,
    SignUpDisabled: CallbackError.SIGN_UP_DISABLED,
    EmailNotVerified: CallbackError.EMAIL_NOT_VERIFIED,
    BannedUser: CallbackError.BANNED,
    errors.Unauthenticated: CallbackError.LINKING_IMPOSSIBLE,
    LinkingNotAllowed: CallbackError.LINKING_IMPOSSIBLE,
    LinkingDifferentEmailsNotAllowed: CallbackError.OTHER_EMAIL,
    SocialAccountAlreadyLinked: CallbackError.OTHER_OWNER,
    ProviderUnavailable: CallbackError.PROVIDER_UNAVAILABLE,
    UserMismatch: CallbackError.USER_MISMATCH,
    SsoRequired: CallbackError.SSO_REQUIRED,
}
"""The value of `error` in the redirect for each exception, by the closest class.

An exception that is not listed is an internal error."""


class Flows(Protocol):
    """The parts of an OAuth flow that differ between configured providers and connections of organizations."""

    @property
    def failures(self) -> Mapping[type[Exception], str]:
        """The value of `error` in the redirect for each exception, as in `FAILURES`."""

    def method(self, provider_id: str) -> str:
        """Return the authentication method of sessions and audit records."""

    def provider(self, ctx: Context, provider_id: str) -> Provider:
        """Return the provider of a flow. Raises ProviderNotFound."""

    def redirect_uri(self, ctx: Context, provider_id: str) -> str:
        """Return the URL to which the provider has redirected the browser."""

    async def sign_in(
        self, ctx: Context, attempt: SocialSignIn, proof: VerifiedIdentity
    ) -> SocialSignInResult:
        """Sign in the user of a verified identity, in one transaction. Raises the refusals in `failures`."""

    def record_failure(self, ctx: Context, provider_id: str, code: str, said: str | None) -> None:
        """Record in the audit trail that a sign-in failed.

        `code` is the value of `error` in the redirect. `said` is the provider's own error code; None if it sent none.
        """


class ProviderFlows:
    """The flows of the providers in the settings."""

    failures: Mapping[type[Exception], str] = FAILURES

    def method(self, provider_id: str) -> str:
        """Return `oauth:<id>`."""
        return f"{events.OAUTH.name}:{provider_id}"

    def provider(self, ctx: Context, provider_id: str) -> Provider:
        """Return a configured provider. Raises ProviderNotFound."""
        return identity.provider_of(ctx, provider_id)

    def redirect_uri(self, ctx: Context, provider_id: str) -> str:
        """Return the URL of the callback of a provider."""
        return authorization_request.redirect_uri(ctx, provider_id)

    async def sign_in(
        self, ctx: Context, attempt: SocialSignIn, proof: VerifiedIdentity
    ) -> SocialSignInResult:
        """Sign in the user of an identity at a configured provider."""
        return await sign_in.sign_in(ctx, attempt, proof)

    def record_failure(self, ctx: Context, provider_id: str, code: str, said: str | None) -> None:
        """Record in the audit trail, and publish, that a sign-in through a provider failed."""
        session_events.provider_sign_in_failed(ctx, self.method(provider_id), code, said=said)


PROVIDERS = ProviderFlows()
