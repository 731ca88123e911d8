"""Formats of template variables: the text of a value in the outbox, and what a template shows of that text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from domain.localization import Localization

Value = TypeVar("Value")

_NAME_LENGTH = 64
_JOINERS = "\u200c\u200d"
"""The zero-width non-joiner and joiner: invisible, but needed to write Persian words and emoji."""
_LINK_LIKE = re.compile(r"(?<=:)(?=//)|(?<=\w)(?=[.\u3002\uff0e\uff61]\w)")
_WORD_JOINER = "\u2060"


@dataclass(frozen=True, slots=True)
class Format(Generic[Value]):
    """How values of one type are stored in the outbox and shown in emails.

    The empty text stands for no value; `display` is not called for it.
    """

    encode: Callable[[Value], str]
    """Returns the text of a value for the outbox."""
    display: Callable[[str, Localization], str]
    """Returns what a template shows for the stored text, in the language of the email."""


def one_line(text: str) -> str:
    """Return the text as one line: runs of white space become one space, and unprintable characters are removed."""
    # defence: V76 V79 one-line
    return "".join(c for c in " ".join(text.split()) if c.isprintable() or c in _JOINERS)


def shown_name(name: str) -> str:
    """Return a name as emails show it: one line of at most 64 characters, which mail programs do not turn into links.

    Strangers can choose names that appear in emails to other people, and could use them for advertisements.
    """
    line = one_line(name)
    cut = line if len(line) <= _NAME_LENGTH else line[: _NAME_LENGTH - 1].rstrip() + "…"
    return _LINK_LIKE.sub(_WORD_JOINER, cut)  # defence: V80 no-links


TEXT: Format[str | None] = Format(lambda text: text or "", lambda text, _: text)
NAME: Format[str | None] = Format(lambda name: name or "", lambda name, _: shown_name(name))
"""A name that a user chose."""
COUNT: Format[int] = Format(lambda number: str(number or ""), lambda number, _: number)
"""A number of things; zero is the empty text, so that a template can test for it."""
TIME: Format[datetime] = Format(
    datetime.isoformat,
    lambda time, localization: localization.format_datetime(datetime.fromisoformat(time)),
)
"""A point in time, shown like `25 November 2026, 10:19 UTC`."""
