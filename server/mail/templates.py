"""From an outbox row to the mail that goes out: the templates, and what they are given."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateSyntaxError,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from domain.mail.outbox import LeasedMail
from server.config.sources import reason
from server.mail.message import Mail

BUILT_IN = Path(__file__).parents[1] / "templates" / "email"
MESSAGES = tuple(sorted(folder.name for folder in BUILT_IN.iterdir() if folder.is_dir()))
"""Every message has a folder of its parts."""
PARTS = ("subject.txt", "body.txt", "body.html")
LAYOUTS = ("layout.txt", "layout.html")
"""The layout of the bodies; also read at construction, so that a broken one of the operator's stops the startup."""

_NAME_LENGTH = 64
_JOINERS = "\u200c\u200d"
"""Invisible, and part of how Persian names and emoji are written."""
_LINK_LIKE = re.compile(r"(?<=:)(?=//)|(?<=\w)(?=[.\u3002\uff0e\uff61]\w)")
_BLANK_LINES = re.compile(r"\n{3,}")
_WORD_JOINER = "\u2060"


class TemplateRenderer:
    """Makes mails of outbox rows. `sender` is the From address.

    `templates_dir` may replace single files, such as `<template>/body.html`. Where it is given, construction reads
    every template, and a TemplateError names a broken one in a line; the built-in ones are read when they are needed.
    """

    def __init__(self, app_name: str, base_url: str, sender: str, templates_dir: Path | None = None) -> None:
        self._templates = _BUILT_IN if templates_dir is None else _environment(templates_dir, BUILT_IN)
        if templates_dir is not None:
            for name in (*LAYOUTS, *(f"{message}/{part}" for message in MESSAGES for part in PARTS)):
                _read(self._templates, name)
        self._service = {"app_name": app_name, "service": urlsplit(base_url).netloc}
        self._sender = sender

    def render(self, row: LeasedMail, now: datetime) -> Mail:
        """Return the mail of a claimed row; `now` tells how long its link still lives.

        The subject is given nothing that comes from users, so it cannot show any.
        """
        payload = row.payload or {}
        to, link, code = str(payload["to"]), payload.get("link"), payload.get("code")
        expires, until = payload.get("expires"), payload.get("until")
        # defence: V80 name-value
        values = self._service | {
            "to": one_line(to),
            "name": shown_name(payload.get("name") or ""),
            "link": link,
            "code": code,
            "happened_at": _clock_time(row.created_at),
            "expires_in": expires and humanised(datetime.fromisoformat(expires) - now),
            "expires_at": expires and _clock_time(datetime.fromisoformat(expires)),
            "until": until and _clock_time(datetime.fromisoformat(until)),
            "switched": payload.get("switched"),
            "key_name": shown_name(payload.get("key_name") or ""),
            "key_start": payload.get("key_start"),
            "network": payload.get("network"),
            "enabled_keys": payload.get("enabled_keys"),
            "passkeys": payload.get("passkeys"),
            "passkey_name": shown_name(payload.get("passkey_name") or ""),
            "removed": payload.get("removed"),
        }
        subject, text, html = (
            _read(self._templates, f"{row.template}/{part}").render(
                self._service if part == "subject.txt" else values
            )
            for part in PARTS
        )
        return Mail(
            id=row.id,
            template=row.template,
            to=to,
            sender=self._sender,
            subject=one_line(subject),
            text=_BLANK_LINES.sub("\n\n", text.strip()) + "\n",
            html=html,
            link=link,
            code=code,
            created_at=row.created_at,
        )


def template_error(folder: Path) -> str | None:
    """Return what is wrong with the operator's templates, in a line; None where nothing is."""
    try:
        TemplateRenderer("", "", "", folder)
    except TemplateError as fault:
        return str(fault)
    return None


def _environment(*folders: Path) -> Environment:
    return ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(folder) for folder in folders]),
        autoescape=lambda name: name is None or not name.endswith(".txt"),  # defence: V80 html-escape
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_BUILT_IN = _environment(BUILT_IN)


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


def humanised(span: timedelta) -> str:
    """Return a time span in the largest unit that stays exact enough: `45 minutes`, `24 hours`, `7 days`."""
    minutes = max(1, round(span.total_seconds() / 60))
    for size, unit, least in ((1440, "day", 2880), (60, "hour", 60)):
        if minutes >= least and (minutes % size == 0 or minutes >= 2 * least):
            return _counted(minutes // size, unit)
    return _counted(minutes, "minute")


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def _clock_time(instant: datetime) -> str:
    return f"{instant.day} {instant:%B %Y, %H:%M} UTC"
