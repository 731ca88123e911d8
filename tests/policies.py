"""A policy made of the default settings, for tests that need no assembled service."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from domain.origins import TrustedOrigins
from domain.policy import (
    Cookies,
    LimitRules,
    LinkingRules,
    PasswordRules,
    Policy,
    ProviderRules,
    Quota,
    SessionRules,
    TwoFactorRules,
)

_DEFAULT = Policy(
    app_name="Gatewright",
    base_url="https://auth.example.com",
    base_path="",
    origins=TrustedOrigins.parse("https://auth.example.com", [], loopback=False),
    cookies=Cookies("service.session-token", "service.", True, True, "Lax", None),
    session=SessionRules(
        expires_in=timedelta(days=7),
        update_age=timedelta(days=1),
        absolute_lifetime=timedelta(days=90),
        not_remembered_expires_in=timedelta(days=1),
        fresh_age=timedelta(days=1),
        list_tokens=True,
        max_per_user=100,
        few=20,
    ),
    password=PasswordRules(8, 128, frozenset()),
    two_factor=TwoFactorRules(
        issuer="Gatewright",
        otp_available=True,
        totp_window=1,
        otp_expires_in=timedelta(minutes=3),
        otp_attempts=5,
        backup_code_count=10,
        challenge_expires_in=timedelta(minutes=10),
        challenge_attempts=5,
        lock_after=10,
        lock_for=timedelta(minutes=15),
        trust_expires_in=timedelta(days=30),
        enforce_for_social=True,
        page=None,
    ),
    providers=ProviderRules(
        state_expires_in=timedelta(minutes=10),
        refresh_skew=timedelta(seconds=5),
        expose_refresh_token=True,
        error_url=None,
        default_redirect_url="https://auth.example.com/",
    ),
    linking=LinkingRules(True, True, True, frozenset(), False, False),
    limits=LimitRules(
        requests=Quota(100, timedelta(seconds=10)),
        failures=Quota(10, timedelta(minutes=15)),
        network_failures=Quota(100, timedelta(minutes=15)),
        account_failures=Quota(100, timedelta(hours=24)),
        mail_burst=Quota(5, timedelta(minutes=15)),
        mail_daily=Quota(20, timedelta(hours=24)),
    ),
    require_authentication=True,
    require_current_password=True,
    send_email_notifications=True,
    email_password_enabled=True,
    sign_up_enabled=True,
    sign_up_auto_sign_in=True,
    sign_up_notify_existing=True,
    username_enabled=True,
    mail_sender="smtp",
    mail_retry_for=timedelta(hours=24),
    reset_sender="smtp",
    reset_token_expires_in=timedelta(hours=24),
    reset_revokes_sessions=True,
    verification_enabled=True,
    verification_required=False,
    verification_on_sign_up=True,
    verification_on_sign_in=False,
    verification_token_expires_in=timedelta(hours=1),
    change_email_enabled=True,
    change_email_immediate_if_unverified=True,
    delete_user_confirm_by_mail=False,
    delete_user_token_expires_in=timedelta(hours=24),
)


def policy(**changes: Any) -> Policy:
    """Give the default policy, with mail by SMTP, changed as told."""
    return replace(_DEFAULT, **changes)
