"""Render the templates of emails."""

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, Template, TemplateError, TemplateSyntaxError

from domain.localization import LANGUAGES, localization, supported
from domain.mail.formats import TIME, one_line, shown_name
from domain.mail.outbox import LeasedMail
from domain.mail.templates import templates
from handlers.templating import template_environment
from server.config.sources import reason
from server.mail.message import Mail

BUILT_IN = Path(__file__).parents[1] / "templates" / "email"
PARTS = ("subject.txt", "body.txt", "body.html")
"""The template files of each email."""
LAYOUTS = ("layout.txt", "layout.html")

_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Brand:
    """The appearance of emails: the colours of buttons and links in light and in dark mode, and the URL of a logo."""

    accent: str = "#2f55d4"
    accent_dark: str = "#9db4ff"
    logo_url: str | None = None
    """The URL of a logo; None to show the name of the application instead."""


BRAND = Brand()


class TemplateRenderer:
    """Renders the emails of outbox rows. `sender` is the From address, `locale` the language of rows without one.

    Files in `templates_dir` replace built-in templates: `<template>/body.html`, or `<language>/<template>/body.html`
    for one language. The constructor reads all these files, and raises TemplateError with file and line for a broken
    one. Built-in templates are read when they are first used.
    """

    def __init__(
        self,
        app_name: str,
        base_url: str,
        sender: str,
        templates_dir: Path | None = None,
        *,
        brand: Brand = BRAND,
        locale: str = "en",
    ) -> None:
        self._templates = templates()
        self._environments = {} if templates_dir is None else environments(templates_dir)
        self._service: dict[str, object] = {
            "app_name": app_name,
            "service": urlsplit(base_url).netloc,
            **asdict(brand),
        }
        self._sender = sender
        self._locale = locale

    def render(self, row: LeasedMail, now: datetime) -> Mail:
        """Return the email of a claimed row; `now` determines the remaining lifetime of its link or code.

        Raises TemplateError.
        """
        payload = row.payload or {}
        language = localization(supported(payload.get("locale")) or self._locale)
        environment = self._environments.get(language.language, _BUILT_IN)
        subject, text, html = (_read(environment, f"{row.template}/{part}") for part in PARTS)
        # A subject has no variable that comes from users, so it cannot show any text of theirs.
        common = {**self._service, "localization": language}
        expires = payload.get("expires")
        # defence: V80 name-value
        values = {
            "to": one_line(str(payload["to"])),
            "name": shown_name(payload.get("name") or ""),
            "happened_at": language.format_datetime(row.created_at),
            "expires_in": expires and language.format_duration(datetime.fromisoformat(expires) - now),
            "expires_at": expires and TIME.display(expires, language),
            "not_me_link": payload.get("not_me_link"),
            # The layouts test these in every email.
            "link": None,
            "code": None,
            **self._templates[row.template].display(payload, language),
            **common,
        }
        return Mail(
            id=row.id,
            template=row.template,
            to=str(payload["to"]),
            sender=self._sender,
            subject=one_line(subject.render(common)),
            text=_BLANK_LINES.sub("\n\n", text.render(values).strip()) + "\n",
            html=html.render(values),
            link=payload.get("link"),
            code=payload.get("code"),
            created_at=row.created_at,
        )


def environments(folder: Path) -> dict[str, Environment]:
    """Return a Jinja environment by language, with the templates in `folder`. Raises TemplateError for a broken one."""
    names = [*LAYOUTS, *(f"{template}/{part}" for template in templates() for part in PARTS)]
    common = _environment(folder, BUILT_IN)
    for name in names:
        _read(common, name)
    by_language = dict.fromkeys(LANGUAGES, common)
    for language in LANGUAGES:
        if (folder / language).is_dir():
            by_language[language] = _environment(folder / language, folder, BUILT_IN)
            for name in names:
                if (folder / language / name).exists():
                    _read(by_language[language], name)
    return by_language


def _environment(*folders: Path) -> Environment:
    return template_environment(
        folders,
        autoescape=lambda name: name is None or not name.endswith(".txt"),  # defence: V80 html-escape
    )


_BUILT_IN = _environment(BUILT_IN)


def _read(environment: Environment, name: str) -> Template:
    """Return a template, which is parsed once. Raises TemplateError with a message of one line."""
    try:
        return environment.get_template(name)
    except TemplateSyntaxError as error:
        raise TemplateError(f"{error.filename}, line {error.lineno}: {error.message}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{name}: {reason(error)}") from error
