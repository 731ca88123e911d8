"""The ways to sign in that the pages offer, and the redirect after a sign-in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.accounts import accounts
from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from domain.context import Context
from domain.email_codes.policy import EmailCodePolicy
from domain.emails.policy import EmailVerificationPolicy
from domain.identity_provider import IdentityProviders
from domain.magic_links.policy import MagicLinkPolicy
from domain.mail.policy import MailPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.passwords.policy import PasswordPolicy, PasswordResetPolicy
from domain.sessions import replacement
from domain.sessions.sessions import OpenedSession
from domain.sso.policy import SsoPolicy
from domain.two_factor.challenges import PendingSignIn
from domain.users.policy import UsernamePolicy
from handlers.pages.view import View
from handlers.responses.reply import Redirect
from handlers.responses.sessions import pending_cookies, session_cookies
from models import CREDENTIAL

_NAMES = {
    "github": "GitHub",
    "gitlab": "GitLab",
    "linkedin": "LinkedIn",
    "paypal": "PayPal",
    "tiktok": "TikTok",
}
"""The names of providers that are spelled in another way than their capitalized id."""


@dataclass(frozen=True, slots=True)
class ShownProvider:
    """The data of the button that signs in through a provider."""

    id: str
    name: str


def providers(ctx: Context) -> Sequence[ShownProvider]:
    """Return the configured external providers, in the order of the settings."""
    return [ShownProvider(name, provider_name(name)) for name in ctx.port[IdentityProviders]]


def provider_name(provider_id: str) -> str:
    """Return the display name of a provider; for a single sign-on connection, whose id begins with `sso:`, `SSO`."""
    if provider_id.startswith("sso:"):
        return "SSO"
    return _NAMES.get(provider_id, provider_id.replace("-", " ").replace("_", " ").title())


def offered(ctx: Context) -> Mapping[str, Any]:
    """Return the template values that say which ways to sign in are enabled."""
    policy = ctx.policy
    with_password = policy[EmailPasswordPolicy].enabled
    return {
        "with_password": with_password,
        "with_username": policy[UsernamePolicy].enabled,
        "with_passkey": policy[PasskeyPolicy].on_pages,
        "with_link": policy[MagicLinkPolicy].enabled,
        "with_code": policy[EmailCodePolicy].enabled,
        "can_reset": policy[PasswordResetPolicy].sender != "none",
        "can_sign_up": with_password and policy[SignUpPolicy].enabled,
        "can_verify": policy[EmailVerificationPolicy].enabled,
        "with_mail": policy[MailPolicy].sender != "none",
        "with_sso": policy[SsoPolicy].enabled,
        "providers": providers(ctx),
    }


async def has_password(ctx: Context) -> bool:
    """Return whether the caller can sign in with a password."""
    return CREDENTIAL in {row.provider_id for row in await accounts.of_caller(ctx)}


def password_rules(ctx: Context) -> Mapping[str, Any]:
    """Return the template values with the rules for a new password.

    `minimum` is the least number of characters; `password_rules` is for password managers, as the attribute
    `passwordrules`.
    """
    policy = ctx.policy[PasswordPolicy]
    return {
        "minimum": policy.min_length,
        "password_rules": f"minlength: {policy.min_length}; maxlength: {policy.max_length}; allowed: ascii-printable;",
    }


async def complete_sign_in(
    ctx: Context, view: View, opened: OpenedSession | PendingSignIn, *, removed_access: bool = False
) -> Redirect:
    """Return the redirect after a sign-in: to the page for the second factor, or to the URL requested at its start.

    If `removed_access` is true, a page that shows the removed access comes first. An earlier session of the same user
    in this browser ends when the new session begins; while the second factor is pending, it remains.
    """
    if isinstance(opened, PendingSignIn):
        # Backup codes are not listed as a method, and a user without another one may still have them.
        method = opened.methods[0] if opened.methods else "backup"
        keeps_session = bool(await replacement.presented(ctx, opened.user_id))
        return view.redirect(
            "/two-factor", pending_cookies(ctx, opened, keeps_session=keeps_session), method=method
        )
    await replacement.end_replaced(ctx, opened)  # defence: H17 by-page
    if removed_access:
        return view.redirect("/removed-access", session_cookies(ctx, opened))
    return view.finish(session_cookies(ctx, opened))
