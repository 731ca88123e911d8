"""Render templates of emails with example values, without a user or a database."""

from datetime import datetime
from difflib import get_close_matches

from domain.localization import LANGUAGES, supported
from domain.mail.outbox import Payload
from domain.mail.templates import MailTemplate, templates
from server.config.base import Settings
from server.config.sources import ConfigurationError
from server.mail import backends
from server.mail.message import Mail

_NOT_ME_LINK = "https://auth.example.com/account/not-me?token=Rq7Wn2Xv9Lk4Bt8Zc1Mf5Hy3Jd6Gp0Sa"


def preview(settings: Settings, name: str, locale: str | None, now: datetime) -> Mail:
    """Render a template with example values, in the supported language for `locale`; None for `pages.locale`.

    Raises ConfigurationError for an unknown name or language, and for a template that cannot be rendered.
    """
    template = templates().get(name)
    if template is None:
        raise ConfigurationError(
            f"there is no email {name}{_suggestion(name)} (gatewright mail list lists all)"
        )
    language = supported(locale)
    if locale is not None and language is None:
        raise ConfigurationError(f"there is no language {locale}; there are {', '.join(sorted(LANGUAGES))}")
    return backends.render(settings, template, example(template, language, now), now)


def example(template: MailTemplate, language: str | None, now: datetime) -> Payload:
    """Return the payload of an email with example values; `language` is that of the email, None for the default."""
    lifetime = template.example_lifetime
    return {
        "to": "ada@example.com",
        "name": "Ada Lovelace",
        "locale": language,
        "expires": None if lifetime is None else (now + lifetime).isoformat(),
        "not_me_link": _NOT_ME_LINK if template.not_me_link else None,
        **template.examples(),
    }


def _suggestion(name: str) -> str:
    nearest = get_close_matches(name, templates(), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
