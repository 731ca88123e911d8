"""The settings of passkeys."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from domain import identifiers
from domain.passkeys.policy import PasskeyPolicy
from domain.trusted_origins import TrustedOrigins
from server.config.base import Group, Settings, fill
from server.config.groups.email_codes import EmailCodeSettings
from server.config.groups.magic_links import MagicLinkSettings
from server.config.groups.password import PasswordResetSettings
from server.config.value_types import Duration, Items, OptionalText, duration_between, is_http, setting

_ANDROID_APP = re.compile(r"android:apk-key-hash:[A-Za-z0-9_-]{43}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_RP_ID = re.compile(rf"localhost|{_LABEL}(?:\.{_LABEL})+")
_NAME_LENGTH = 64


class PasskeySettings(Group):
    """`passkey.*`: sign-in with passkeys (Web Authentication)."""

    key = "passkey"
    enabled_in_development = True

    enabled: bool = setting(
        False,
        "Whether users can add passkeys and sign in with them; by default true in development, unless "
        "`base_url` has an IP address.",
    )
    rp_id: OptionalText = setting(
        None,
        "Domain for which passkeys are created; they also work on its subdomains. By default the host of "
        "`base_url`. A change makes all passkeys unusable.",
    )
    rp_name: OptionalText = setting(
        None, "Name that browsers show, up to 64 characters; by default `app_name`."
    )
    origins: Annotated[tuple[str, ...], Items] = setting(
        (),
        "Origins of the pages and apps that may use passkeys; that of an Android app is "
        "`android:apk-key-hash:…`. By default `base_url` and the entries of `trusted_origins` without "
        "wildcards whose host is `rp_id` or a subdomain of it.",
        max_length=32,
    )
    user_verification: Literal["required", "preferred"] = setting(
        "required",
        "Whether passkeys must check a fingerprint, face or PIN (`required`). With `preferred`, a passkey "
        "without such a check is accepted too, as one factor.",
    )
    counts_as_two_factors: bool = setting(
        True, "Whether a passkey with fingerprint, face or PIN replaces the second factor."
    )
    challenge_expires_in: Duration = duration_between(
        "5m", "How long a browser may take to use a passkey.", at_least="1m", at_most="10m"
    )
    max_per_user: int = setting(20, "Largest number of passkeys of one user.", ge=1, le=100)

    def effective_rp_id(self, settings: Settings) -> str:
        """Return the domain that passkeys are for."""
        return self.rp_id if self.rp_id is not None else urlsplit(settings.base_url).hostname or ""

    def effective_origins(self, settings: Settings) -> tuple[str, ...]:
        """Return the origins that responses may come from, as browsers serialize them, without malformed ones."""
        rp_id = self.effective_rp_id(settings)
        if not self.origins:
            trusted = sorted(settings.parsed_origins().exact)
            return tuple(origin for origin in trusted if _is_page(origin) and _is_below(origin, rp_id))
        return tuple(origin for entry in self.origins if (origin := _as_sent(entry)) is not None)

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how passkeys work."""
        origins = self.effective_origins(settings)
        computed: dict[str, Any] = {
            "rp_id": self.effective_rp_id(settings),
            "rp_name": settings.app_name if self.rp_name is None else self.rp_name,
            "origins": origins,
            "on_pages": self.enabled and _as_sent(settings.base_url) in origins,
            "requires_user_verification": self.user_verification == "required",
            "mail_signs_in": settings[MagicLinkSettings].enabled
            or settings[EmailCodeSettings].enabled
            or settings[PasswordResetSettings].effective_sender(settings) != "none",
        }
        return [fill(PasskeyPolicy, self, prefix="", **computed)]

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield settings that browsers would refuse: an IP address as domain, or origins outside the domain."""
        if not self.enabled:
            return
        if self.rp_name is not None and not (
            len(self.rp_name) <= _NAME_LENGTH and identifiers.is_name(self.rp_name)
        ):
            yield f"passkey.rp_name: at most {_NAME_LENGTH} characters, none of which steers the display"
        rp_id = self.effective_rp_id(settings)
        if not _RP_ID.fullmatch(rp_id) or _is_address(rp_id):
            yield from self._no_domain(settings)
            return
        with contextlib.suppress(ValueError):  # Malformed origins are reported as problems of their own.
            yield from self._origin_problems(settings, rp_id)

    def _no_domain(self, settings: Settings) -> Iterator[str]:
        if self.rp_id is not None:
            yield "passkey.rp_id: a domain in lower case, such as example.com, or localhost: no scheme, port or address"
        else:
            port = urlsplit(settings.base_url).port
            here = "http://localhost" if port is None else f"http://localhost:{port}"
            yield f"passkey.enabled: passkeys need a domain, and base_url has none; for a first try use {here}"

    def _origin_problems(self, settings: Settings, rp_id: str) -> Iterator[str]:
        if not self.origins and not _is_below(settings.base_url, rp_id):
            yield f"passkey.rp_id: {settings.base_url} (base_url) is neither at {rp_id} nor below it"
        for entry in self.origins or self.effective_origins(settings):
            origin = _as_sent(entry)
            if origin is None:
                yield f"passkey.origins: {entry!r} is not an origin such as https://app.example.com"
            elif _is_page(origin) and not _is_below(origin, rp_id):
                yield f"passkey.origins: {entry} is neither at {rp_id} nor below it"
            elif is_http(origin) and urlsplit(origin).hostname != "localhost":
                yield f"passkey.origins: {entry} must be https"


def _as_sent(entry: str) -> str | None:
    """Return an origin as browsers serialize it, or None if it is malformed."""
    if _ANDROID_APP.fullmatch(entry):
        return entry
    try:
        (origin,) = TrustedOrigins.parse(entry, ()).exact
    except ValueError:
        return None
    return origin if _is_page(origin) else None


def _is_page(origin: str) -> bool:
    return origin.startswith(("http://", "https://"))


def _is_below(origin: str, rp_id: str) -> bool:
    host = urlsplit(origin).hostname or ""
    return host == rp_id or host.endswith(f".{rp_id}")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
