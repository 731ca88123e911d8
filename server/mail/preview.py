"""Emails with example values: to see what a template looks like, without a user or a database."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from difflib import get_close_matches

from jinja2 import TemplateError

from domain.localization import LANGUAGES, supported
from domain.mail import disown_links
from domain.mail.outbox import LeasedMail, Payload
from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.mail import backends
from server.mail.message import Mail
from server.mail.templates import MESSAGES

_LINK = "https://auth.example.com/account/{page}?token=Rq7Wn2Xv9Lk4Bt8Zc1Mf5Hy3Jd6Gp0Sa"
_CODE = "492039"
_VALUES: Mapping[str, Payload] = {
    "account-secured": {"removed": "API keys: 2"},
    "api-key-created": {"key_name": "Deployment", "key_start": "acme_Zt3R", "network": "203.0.113.7"},
    "change-email": {"link": _LINK.format(page="verify-email")},
    "change-email-code": {"code": _CODE},
    "delete-account": {"link": _LINK.format(page="delete")},
    "magic-link": {"link": _LINK.format(page="magic-link")},
    "otp": {"code": _CODE},
    "password-changed": {"enabled_keys": "2"},
    "reset-password": {"link": _LINK.format(page="reset-password")},
    "reset-password-code": {"code": _CODE},
    "second-factor-locked": {"until": None},
    "sign-in-code": {"code": _CODE},
    "two-factor-changed": {"switched": "on"},
    "verify-email": {"link": _LINK.format(page="verify-email")},
    "verify-email-code": {"code": _CODE},
}
"""The values that only some templates get; a moment without a value is a quarter of an hour later."""
_LIFETIMES = {"link": timedelta(hours=1), "code": timedelta(minutes=5)}


def preview(settings: Settings, name: str, locale: str | None, now: datetime) -> Mail:
    """Return the email of a template, in the language that serves `locale`; by default in `pages.locale`.

    Raises ConfigurationError for an unknown name or language, and for a template that cannot be filled in.
    """
    if name not in MESSAGES:
        raise ConfigurationError(
            f"there is no email {name}{_suggestion(name)} (gatewright mail list lists all)"
        )
    language = supported(locale)
    if locale is not None and language is None:
        raise ConfigurationError(f"there is no language {locale}; there are {', '.join(sorted(LANGUAGES))}")
    row = LeasedMail(
        id="preview",
        template=name,
        sender="none",
        attempts=1,
        created_at=now,
        expires_at=now,
        payload=_payload(name, language, now),
    )
    try:
        return backends.renderer(settings).render(row, now)
    except TemplateError as fault:
        raise ConfigurationError(f"mail.templates_dir: {fault}") from fault


def _payload(name: str, language: str | None, now: datetime) -> Payload:
    values = dict(_VALUES.get(name, {}))
    lifetime = next((span for key, span in _LIFETIMES.items() if key in values), None)
    if "until" in values:
        values["until"] = (now + timedelta(minutes=15)).isoformat()
    return {
        "to": "ada@example.com",
        "name": "Ada Lovelace",
        "locale": language,
        "expires": None if lifetime is None else (now + lifetime).isoformat(),
        "not_me_link": _LINK.format(page="not-me") if name in disown_links.TEMPLATES else None,
        **values,
    }


def _suggestion(name: str) -> str:
    nearest = get_close_matches(name, MESSAGES, n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
