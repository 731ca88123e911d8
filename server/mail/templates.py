"""From an outbox row to the mail that goes out: the templates, and what they are given."""

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import (
    Environment,
    Template,
    TemplateError,
    TemplateSyntaxError,
)

from domain.localization import LANGUAGES, Localization, localization, supported
from domain.mail.outbox import LeasedMail, Payload
from handlers.templating import template_environment
from server.config.sources import reason
from server.mail.message import Mail

BUILT_IN = Path(__file__).parents[1] / "templates" / "email"
MESSAGES = tuple(sorted(folder.name for folder in BUILT_IN.iterdir() if folder.is_dir()))
"""Every message has a folder of its parts."""
PARTS = ("subject.txt", "body.txt", "body.html")
LAYOUTS = ("layout.txt", "layout.html")
"""The layout of the bodies; also read at construction, so that a broken one of the operator's stops the startup."""

NAMES = (*LAYOUTS, *(f"{message}/{part}" for message in MESSAGES for part in PARTS))

_NAME_LENGTH = 64
_JOINERS = "\u200c\u200d"
"""Invisible, and part of how Persian names and emoji are written."""
_LINK_LIKE = re.compile(r"(?<=:)(?=//)|(?<=\w)(?=[.\u3002\uff0e\uff61]\w)")
_BLANK_LINES = re.compile(r"\n{3,}")
_WORD_JOINER = "\u2060"


@dataclass(frozen=True, slots=True)
class Brand:
    """How emails look: the colours of buttons and links in light and in dark mode, and the URL of a logo."""

    accent: str = "#2f55d4"
    accent_dark: str = "#9db4ff"
    logo_url: str | None = None
    """None: the name of the application is shown in its place."""


BRAND = Brand()


class TemplateRenderer:
    """Makes mails of outbox rows. `sender` is the From address, `locale` the language of rows that name none.

    `templates_dir` may replace single files, such as `<template>/body.html`, and those of a language by
    `<language>/<template>/body.html`. Where it is given, construction reads every template, and a TemplateError names a
    broken one in a line; the built-in ones are read when they are needed.
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
        self._environments = {} if templates_dir is None else _environments(templates_dir)
        self._service: dict[str, object] = {
            "app_name": app_name,
            "service": urlsplit(base_url).netloc,
            **asdict(brand),
        }
        self._sender = sender
        self._locale = locale

    def render(self, row: LeasedMail, now: datetime) -> Mail:
        """Return the mail of a claimed row; `now` tells how long its link still lives.

        The subject is given nothing that comes from users, so it cannot show any.
        """
        payload = row.payload or {}
        language = localization(supported(payload.get("locale")) or self._locale)
        common = {**self._service, "localization": language}
        values = common | _values(row, payload, language, now)
        environment = self._environments.get(language.language, _BUILT_IN)
        subject, text, html = (
            _read(environment, f"{row.template}/{part}").render(common if part == "subject.txt" else values)
            for part in PARTS
        )
        return Mail(
            id=row.id,
            template=row.template,
            to=str(payload["to"]),
            sender=self._sender,
            subject=one_line(subject),
            text=_BLANK_LINES.sub("\n\n", text.strip()) + "\n",
            html=html,
            link=payload.get("link"),
            code=payload.get("code"),
            created_at=row.created_at,
        )


def _values(row: LeasedMail, payload: Payload, language: Localization, now: datetime) -> dict[str, object]:
    """Return what only the bodies are given."""

    def moment(name: str) -> str | None:
        written = payload.get(name)
        return written and language.format_datetime(datetime.fromisoformat(written))

    expires = payload.get("expires")
    # defence: V80 name-value
    return {
        "to": one_line(str(payload["to"])),
        "name": shown_name(payload.get("name") or ""),
        "link": payload.get("link"),
        "not_me_link": payload.get("not_me_link"),
        "code": payload.get("code"),
        "happened_at": language.format_datetime(row.created_at),
        "expires_in": expires and language.format_duration(datetime.fromisoformat(expires) - now),
        "expires_at": moment("expires"),
        "until": moment("until"),
        "switched": payload.get("switched"),
        "key_name": shown_name(payload.get("key_name") or ""),
        "key_start": payload.get("key_start"),
        "network": payload.get("network"),
        "enabled_keys": payload.get("enabled_keys"),
        "passkeys": payload.get("passkeys"),
        "passkey_name": shown_name(payload.get("passkey_name") or ""),
        "removed": payload.get("removed"),
    }


def template_error(folder: Path) -> str | None:
    """Return what is wrong with the operator's templates, in a line; None where nothing is."""
    try:
        TemplateRenderer("", "", "", folder)
    except TemplateError as fault:
        return str(fault)
    return None


def _environment(*folders: Path) -> Environment:
    return template_environment(
        folders,
        autoescape=lambda name: name is None or not name.endswith(".txt"),  # defence: V80 html-escape
    )


_BUILT_IN = _environment(BUILT_IN)


def _environments(folder: Path) -> dict[str, Environment]:
    """Return where the templates of each language come from, all of the operator's read once. Raises TemplateError."""
    common = _environment(folder, BUILT_IN)
    for name in NAMES:
        _read(common, name)
    made = dict.fromkeys(LANGUAGES, common)
    for language in LANGUAGES:
        if (folder / language).is_dir():
            made[language] = _environment(folder / language, folder, BUILT_IN)
            for name in NAMES:
                if (folder / language / name).exists():
                    _read(made[language], name)
    return made


def _read(environment: Environment, name: str) -> Template:
    """Read one template, or give it as it was read. Raises TemplateError."""
    try:
        return environment.get_template(name)
    except TemplateSyntaxError as fault:
        raise TemplateError(f"{fault.filename}, line {fault.lineno}: {fault.message}") from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise TemplateError(f"{name}: {reason(fault)}") from fault


def one_line(text: str) -> str:
    """Return the text with runs of spaces and line breaks made one space, and without invisible characters."""
    # defence: V76 V79 one-line
    return "".join(c for c in " ".join(text.split()) if c.isprintable() or c in _JOINERS)


def shown_name(name: str) -> str:
    """Return a name fit for a greeting: one line, not too long, and nothing that mail programs make links of.

    Strangers choose the names in mails to people they do not know: a name must not be an advertisement.
    """
    line = one_line(name)
    cut = line if len(line) <= _NAME_LENGTH else line[: _NAME_LENGTH - 1].rstrip() + "…"
    return _LINK_LIKE.sub(_WORD_JOINER, cut)  # defence: V80 no-links
