"""The settings of the second factor and of trusted devices."""

import contextlib
from collections.abc import Iterable, Iterator

from pydantic import Field

from domain import identifiers
from domain.trusted_devices.policy import TrustedDevicePolicy
from domain.two_factor.policy import TwoFactorPolicy
from server.config.base import Group, Settings, fill
from server.config.groups.mail import MailSettings
from server.config.value_types import Duration, OptionalText, OptionalUrl, duration_between


class TwoFactorSettings(Group):
    """`two_factor.*`: the second factor."""

    key = "two_factor"

    issuer: OptionalText = Field(
        default=None, description="Name authenticator apps show; by default `app_name`."
    )
    otp_enabled: bool = Field(
        default=True, description="Whether codes can be sent by email (needs `mail.sender`)."
    )
    enforce_for_social: bool = Field(
        default=True, description="Whether sign-in through a provider requires it too."
    )
    page: OptionalUrl = Field(
        default=None,
        description="Page at a trusted origin for sign-ins through a provider that require a code.",
    )
    totp_window: int = Field(
        default=1, ge=0, le=10, description="Steps of 30 s accepted before and after the current one."
    )
    otp_expires_in: Duration = duration_between("3m", "Lifetime of an emailed code.")
    otp_attempts: int = Field(default=5, ge=1, le=100, description="Attempts per emailed code.")
    backup_code_count: int = Field(default=10, ge=1, le=100, description="Backup codes in one set.")
    challenge_expires_in: Duration = duration_between("10m", "Time to enter the code after the password.")
    challenge_attempts: int = Field(
        default=5, ge=1, le=100, description="Attempts per sign-in, over all methods."
    )
    lock_after: int = Field(
        default=10,
        ge=1,
        le=10_000,
        description="Consecutive wrong codes at sign-ins that lock the second factor.",
    )
    lock_for: Duration = duration_between("15m", "How long it stays locked.")
    trust_expires_in: Duration = duration_between("30d", "How long a trusted device skips the second factor.")

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how the second factor works, and how long devices are trusted."""
        # A colon separates issuer and account in the URI that an authenticator reads.
        issuer = self.issuer or settings.app_name.replace(":", "")[: identifiers.ISSUER_LENGTH]
        mails_codes = self.otp_enabled and settings[MailSettings].has_sender
        return (
            fill(TwoFactorPolicy, self, issuer=issuer, otp_available=mails_codes),
            fill(TrustedDevicePolicy, self),
        )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if authenticators cannot display the issuer, or if redirects to a page are not allowed."""
        if not identifiers.is_issuer(self.issuer or ""):
            yield (
                f"two_factor.issuer: at most {identifiers.ISSUER_LENGTH} characters, no colon, no control characters"
            )
        with contextlib.suppress(ValueError):  # Malformed origins are reported as problems of their own.
            if self.page is not None and not settings.parsed_origins().accepts(self.page):
                yield "two_factor.page: must be at base_url or at one of trusted_origins"
