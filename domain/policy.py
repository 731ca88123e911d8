"""Policy: the numbers and switches the rules and handlers read. Built once, from the settings (behaviour chapter 2)."""

from collections.abc import Set
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, NamedTuple

from domain.origins import TrustedOrigins

Sender = Literal["none", "smtp", "console", "file"]


@dataclass(frozen=True, slots=True)
class Cookies:
    """How cookies are set (interface 5.5, behaviour 3.3)."""

    session_name: str
    prefix: str
    secure: bool
    http_only: bool
    same_site: Literal["Lax", "Strict", "None"]
    domain: str | None


@dataclass(frozen=True, slots=True)
class SessionRules:
    """How long sessions live (behaviour 3.5); an absolute lifetime of zero means no limit."""

    expires_in: timedelta
    update_age: timedelta
    absolute_lifetime: timedelta
    not_remembered_expires_in: timedelta
    fresh_age: timedelta
    list_tokens: bool
    max_per_user: int
    """Live sessions; 0 for no limit. Those an operator has opened in the user's name do not count."""
    few: int | None
    """Who was seen to have fewer has room for one more, even after all sign-ins that this process lets be under way;
    None for whoever has any number."""


@dataclass(frozen=True, slots=True)
class PasswordRules:
    """What a new password must satisfy (behaviour 4.1); lengths are code points after NFKC."""

    min_length: int
    max_length: int
    blocklist: Set[str] = field(repr=False)
    """Case-folded NFKC forms."""
    blocklist_enabled: bool = True
    """Whether common passwords are refused, those of the list and those that name the user or the service."""


@dataclass(frozen=True, slots=True)
class TwoFactorRules:
    """How the second factor works (behaviour chapter 6)."""

    issuer: str
    """What an authenticator shows, unless the user asks for another name; without a colon."""
    otp_available: bool
    """`two_factor.otp_enabled`, and a mail sender is configured."""
    totp_window: int
    """Steps of 30 seconds accepted before and after the present one."""
    otp_expires_in: timedelta
    otp_attempts: int
    backup_code_count: int
    challenge_expires_in: timedelta
    challenge_attempts: int
    lock_after: int
    """Wrong codes in a row at sign-ins."""
    lock_for: timedelta
    trust_expires_in: timedelta
    enforce_for_social: bool
    """Whether a sign-in through a provider asks for it too."""
    page: str | None
    """Where such a sign-in leads when a code is due, instead of to its callbackURL; a trusted address."""


@dataclass(frozen=True, slots=True)
class ProviderRules:
    """What concerns every identity provider (behaviour chapter 7)."""

    state_expires_in: timedelta
    refresh_skew: timedelta
    """How long before its end an access token is renewed."""
    expose_refresh_token: bool
    error_url: str | None
    """Where a failed flow leads that named no place; None is the service's own /error."""
    default_redirect_url: str
    """Where a flow leads that named no place."""


@dataclass(frozen=True, slots=True)
class LinkingRules:
    """Whose account an identity belongs to (behaviour 7.5)."""

    enabled: bool
    implicit: bool
    require_local_verified: bool
    trusted_providers: frozenset[str]
    allow_different_emails: bool
    allow_unlinking_all: bool


class Quota(NamedTuple):
    """How many within how long; a number of 0 means no limit."""

    number: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class LimitRules:
    """How often something may be tried (behaviour 10.1); with `limits.enabled` false every number is 0."""

    requests: Quota
    failures: Quota
    network_failures: Quota
    account_failures: Quota
    mail_burst: Quota
    mail_daily: Quota


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything the operator decided that a rule or handler asks for."""

    app_name: str
    base_url: str
    """The public origin, without a path and without a trailing slash."""
    base_path: str
    """Empty, or a path such as `/api/auth`."""
    origins: TrustedOrigins
    cookies: Cookies
    session: SessionRules
    password: PasswordRules
    two_factor: TwoFactorRules
    providers: ProviderRules
    linking: LinkingRules
    limits: LimitRules

    require_authentication: bool
    require_current_password: bool
    send_email_notifications: bool

    email_password_enabled: bool
    sign_up_enabled: bool
    sign_up_auto_sign_in: bool
    sign_up_notify_existing: bool
    username_enabled: bool

    mail_sender: Sender
    mail_retry_for: timedelta
    reset_sender: Sender
    reset_token_expires_in: timedelta
    reset_revokes_sessions: bool

    verification_enabled: bool
    """`email_verification.enabled`, and a mail sender is configured."""
    verification_required: bool
    """`email_verification.required`, and a mail sender is configured."""
    verification_on_sign_up: bool
    verification_on_sign_in: bool
    verification_token_expires_in: timedelta

    change_email_enabled: bool
    change_email_immediate_if_unverified: bool

    delete_user_confirm_by_mail: bool
    delete_user_token_expires_in: timedelta
