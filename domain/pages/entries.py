"""The values that a user entered into a form, encrypted in the URL of the page that shows the form again.

A refused form redirects to its page (post, redirect, get), so a browser never submits the form again when the user
reloads the page or goes back. The entries also survive if the user has to sign in before the form is processed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from domain import errors
from domain.errors import Field, Refusal, ValidationError
from domain.ports import Cipher

LIFE = timedelta(hours=1)
"""How long the entries in a URL are accepted: the user may have to find a phone or open an email in between."""

MAX_LENGTH = 3072
"""The maximum length of the encrypted text, in characters. A URL may have 8 KiB, and may contain other parameters."""

_PURPOSE = "pages.entries"

_PLACEHOLDER = "*"
SECRET_FIELDS = frozenset({"password", "currentPassword", "newPassword", "code", "token", "clientSecret"})
"""Fields whose values are neither kept nor shown again."""
_NEVER_KEPT = SECRET_FIELDS | {
    # Of a passkey: of no use for a second submission.
    "credential", "clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entries:
    """The fields of a form as they were submitted, and why the form is shown again."""

    fields: Mapping[str, str] = field(repr=False)
    refusal: Refusal
    withheld: Mapping[str, str] = field(default_factory=dict)
    """The secret fields that were submitted, with `*` in place of each value; empty texts stay empty."""


def seal(cipher: Cipher, entries: Entries, *, page: str, browser: str, now: datetime) -> str | None:
    """Return the encrypted entries, without the values of secret fields; None if the text is too long for a URL.

    `unseal` accepts it for `LIFE`, only for the same `page` (an operationId) and the same `browser` (its token).
    """
    refusal = entries.refusal
    # defence: H7 kept-fields-only
    kept = {name: value for name, value in entries.fields.items() if name not in _NEVER_KEPT}
    invalid = refusal.fields if isinstance(refusal, ValidationError) else ()
    claims = {
        "page": page,
        "browser": browser,
        "until": (now + LIFE).timestamp(),
        "fields": kept,
        "withheld": {
            name: _PLACEHOLDER if value else ""
            for name, value in entries.fields.items()
            if name in _NEVER_KEPT
        },
        "code": refusal.code,
        "message": refusal.message,
        "details": dict(refusal.details),
        "retry_at": None if refusal.retry_after is None else now.timestamp() + refusal.retry_after,
        "invalid": [tuple(one) for one in invalid],
    }
    sealed = cipher.encrypt(_PURPOSE, json.dumps(claims, ensure_ascii=False)).decode()
    return sealed if len(sealed) <= MAX_LENGTH else None


def unseal(cipher: Cipher, sealed: str, *, page: str, browser: str, now: datetime) -> Entries | None:
    """Return the entries encrypted by `seal`; None if they were for another page or browser, expired or changed."""
    text = cipher.decrypt(_PURPOSE, sealed.encode())
    if text is None:
        return None
    claims = json.loads(text)
    if claims["browser"] != browser:  # defence: H7 entries-browser
        return None
    if claims["page"] != page or now.timestamp() >= claims["until"]:
        return None
    return Entries(claims["fields"], _refusal(claims, now), claims["withheld"])


def _refusal(claims: Mapping[str, Any], now: datetime) -> Refusal:
    kind = _by_code().get(str(claims["code"]), errors.BadRequest)
    message = str(claims["message"])
    if kind is ValidationError:
        return ValidationError(message, *(Field(*invalid) for invalid in claims["invalid"]))
    retry_at = claims["retry_at"]
    seconds = None if retry_at is None else max(1, round(retry_at - now.timestamp()))
    return kind(message, retry_after=seconds, **claims["details"])


@cache
def _by_code() -> Mapping[str, type[Refusal]]:
    """Return the first class of each code; a subclass with the same code looks the same on a page."""
    return {kind.code: kind for kind in reversed(errors.every_refusal())}
