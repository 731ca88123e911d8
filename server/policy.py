"""From the settings to what rules and handlers read."""

from collections.abc import Set
from datetime import timedelta

from domain import identifiers
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
from server.hashing_threads import ENTRANCE
from server.settings import Settings


def trusted_origins(settings: Settings) -> TrustedOrigins:
    """Give the trusted origins; in development with none set also the loopback ones (behaviour 1.6).

    Raises ValueError naming the entry that is none.
    """
    loopback = settings.profile == "development" and "trusted_origins" not in settings.model_fields_set
    return TrustedOrigins.parse(settings.base_url, settings.trusted_origins, loopback=loopback)


def policy_of(settings: Settings, blocklist: Set[str]) -> Policy:
    """Give the policy of complete settings; switches that need mail count only when there is a sender.

    `blocklist` holds case-folded NFKC forms.
    """
    mails = settings.mail.sender != "none"
    return Policy(
        app_name=settings.app_name,
        base_url=settings.base_url,
        base_path=settings.base_path,
        origins=trusted_origins(settings),
        cookies=_cookies(settings),
        session=_session_rules(settings),
        password=_password_rules(settings, blocklist),
        two_factor=_two_factor_rules(settings),
        providers=_provider_rules(settings),
        linking=_linking_rules(settings),
        limits=_limit_rules(settings),
        require_authentication=settings.require_authentication,
        require_current_password=settings.require_current_password,
        send_email_notifications=settings.send_email_notifications,
        email_password_enabled=settings.email_password.enabled,
        sign_up_enabled=settings.sign_up.enabled,
        sign_up_auto_sign_in=settings.sign_up.auto_sign_in,
        sign_up_notify_existing=settings.sign_up.notify_existing,
        username_enabled=settings.username.enabled,
        mail_sender=settings.mail.sender,
        mail_retry_for=settings.mail.retry_for,
        reset_sender=settings.password_reset.sender,
        reset_token_expires_in=timedelta(hours=settings.reset_token_expiry_hours),
        reset_revokes_sessions=settings.password_reset.revoke_sessions,
        verification_enabled=settings.email_verification.enabled and mails,
        verification_required=settings.email_verification.required and mails,
        verification_on_sign_up=settings.email_verification.send_on_sign_up,
        verification_on_sign_in=settings.email_verification.send_on_sign_in,
        verification_token_expires_in=settings.email_verification.token_expires_in,
        change_email_enabled=settings.change_email.enabled,
        change_email_immediate_if_unverified=settings.change_email.immediate_if_unverified,
        delete_user_confirm_by_mail=settings.delete_user.confirm_by_mail,
        delete_user_token_expires_in=settings.delete_user.token_expires_in,
    )


def _cookies(settings: Settings) -> Cookies:
    session = settings.session
    return Cookies(
        session_name=session.cookie_name,
        prefix=session.cookie_prefix,
        secure=session.cookie_secure,
        http_only=session.cookie_http_only,
        same_site=session.cookie_same_site,
        domain=session.cookie_domain,
    )


def _session_rules(settings: Settings) -> SessionRules:
    session = settings.session
    return SessionRules(
        expires_in=session.expires_in,
        update_age=session.update_age,
        absolute_lifetime=session.absolute_lifetime,
        not_remembered_expires_in=session.not_remembered_expires_in,
        fresh_age=session.fresh_age,
        list_tokens=session.list_tokens,
        max_per_user=session.max_per_user,
        few=_few_sessions(settings),
    )


def _few_sessions(settings: Settings) -> int | None:
    """Give how many are few, if there is a limit: others may sign in between the look at a user and their session."""
    most, password = settings.session.max_per_user, settings.password
    return max(0, most - ENTRANCE - password.hash_queue - password.hash_workers) if most else None


def _password_rules(settings: Settings, blocklist: Set[str]) -> PasswordRules:
    password = settings.password
    return PasswordRules(
        min_length=password.min_length,
        max_length=password.max_length,
        blocklist=blocklist,
        blocklist_enabled=password.blocklist,
    )


def _two_factor_rules(settings: Settings) -> TwoFactorRules:
    two_factor = settings.two_factor
    return TwoFactorRules(
        # A colon would end the issuer early in the address an authenticator reads.
        issuer=two_factor.issuer or settings.app_name.replace(":", "")[: identifiers.ISSUER_LENGTH],
        otp_available=two_factor.otp_enabled and settings.mail.sender != "none",
        totp_window=two_factor.totp_window,
        otp_expires_in=two_factor.otp_expires_in,
        otp_attempts=two_factor.otp_attempts,
        backup_code_count=two_factor.backup_code_count,
        challenge_expires_in=two_factor.challenge_expires_in,
        challenge_attempts=two_factor.challenge_attempts,
        lock_after=two_factor.lock_after,
        lock_for=two_factor.lock_for,
        trust_expires_in=two_factor.trust_expires_in,
        enforce_for_social=two_factor.enforce_for_social,
        page=two_factor.page,
    )


def _provider_rules(settings: Settings) -> ProviderRules:
    oauth = settings.oauth
    return ProviderRules(
        state_expires_in=oauth.state_expires_in,
        refresh_skew=oauth.refresh_skew,
        expose_refresh_token=oauth.expose_refresh_token,
        error_url=oauth.error_url,
        default_redirect_url=settings.default_redirect_url or settings.base_url + "/",
    )


def _linking_rules(settings: Settings) -> LinkingRules:
    linking = settings.account_linking
    return LinkingRules(
        enabled=linking.enabled,
        implicit=linking.implicit,
        require_local_verified=linking.require_local_verified,
        trusted_providers=frozenset(linking.trusted_providers),
        allow_different_emails=linking.allow_different_emails,
        allow_unlinking_all=linking.allow_unlinking_all,
    )


def _limit_rules(settings: Settings) -> LimitRules:
    limits = settings.limits

    def quota(number: int, window: timedelta) -> Quota:
        return Quota(number if limits.enabled else 0, window)

    return LimitRules(
        requests=quota(limits.requests, limits.requests_window),
        failures=quota(limits.failures, limits.failures_window),
        network_failures=quota(limits.network_failures, limits.network_failures_window),
        account_failures=quota(limits.account_failures, limits.account_failures_window),
        mail_burst=quota(limits.mail_burst, limits.mail_burst_window),
        mail_daily=quota(limits.mail_daily, timedelta(days=1)),
    )
