"""TOTP as an authenticator app computes it: secrets, their URI, codes of 30 seconds (RFC 6238)."""

import base64
import hmac
import re
from datetime import datetime
from urllib.parse import quote

import pyotp

from domain import tokens

PERIOD = 30
"""The seconds of one time step, which has one code."""

# The recommended 160 bits (RFC 4226, 4, R6).
_SECRET_BYTES = 20
_SIX_DIGITS = re.compile(r"[0-9]{6}", re.ASCII)


def new_secret() -> str:
    """Return a new secret of 20 random bytes, in base32 without padding, for typing by hand."""
    return base64.b32encode(tokens.random_bytes(_SECRET_BYTES)).decode("ascii")


def uri(issuer: str, email: str, secret: str) -> str:
    """Return the URI `otpauth://…` that adds the secret to an authenticator app, which shows `issuer` and `email`."""
    # The issuer twice: older apps read the prefix, newer ones the parameter. No `algorithm`: every app supports
    # SHA-1, the default.
    shown_by, account = quote(issuer, safe=""), quote(email, safe="")
    return f"otpauth://totp/{shown_by}:{account}?secret={secret}&issuer={shown_by}&digits=6&period={PERIOD}"


def step_of(secret: str, code: str, now: datetime, window: int) -> int | None:
    """Return the time step of a code, at most `window` steps before or after `now`; None for a wrong code.

    Every step is compared, in constant time. If two steps have the same code, the later one is returned, so that the
    code cannot be used a second time.
    """
    if _SIX_DIGITS.fullmatch(code) is None:
        return None
    # pyotp's own `verify` returns only a boolean, but the replay guard needs the step.
    codes = pyotp.TOTP(_filled(secret), interval=PERIOD)
    present = int(now.timestamp()) // PERIOD
    # `window` steps either way, because the clocks of phones differ (RFC 6238, 5.2 and 6).
    steps = range(present - window, present + window + 1)  # defence: V47 R20 time-steps
    return max((step for step in steps if hmac.compare_digest(codes.generate_otp(step), code)), default=None)


def _filled(secret: str) -> str:
    """Return the secret with zero bytes at its end, so that it has at least the 20 bytes of one made here.

    The codes stay the same, because HMAC fills a short key with zeros itself (RFC 2104, 2). pyotp refuses secrets below
    14 bytes, and imported ones may have 10.
    """
    octets = base64.b32decode(secret + "=" * (-len(secret) % 8))
    return base64.b32encode(octets.ljust(_SECRET_BYTES, b"\0")).decode("ascii")
