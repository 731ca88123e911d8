"""Emails, and the senders to a file and to the console; `smtp.py` has the sender by SMTP.

A sender delivers an email or raises DeliveryError.
"""

import asyncio
import fcntl
import os
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, TextIO

import orjson

from handlers import wire
from server.observability.terminal import paint

_WIDTH = 72
"""Characters of the lines around a printed email."""


class DeliveryError(Exception):
    """An email that was not delivered. The reason contains no secret, no email address and no text of the server."""


class TemporaryError(DeliveryError):
    """Another attempt may succeed: the connection failed, the server did not answer in time, or the answer was 4xx."""


class FinalError(DeliveryError):
    """The server refuses this email permanently: 5xx."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A rendered email: one recipient, a text and an HTML part. `id` is that of its outbox row."""

    id: str
    template: str
    to: str
    sender: str
    subject: str
    text: str = field(repr=False)
    html: str = field(repr=False)
    link: str | None = field(repr=False)
    code: str | None = field(repr=False)
    created_at: datetime


class Sender(Protocol):
    """The interface of senders."""

    async def send(self, mail: Mail) -> None:
        """Deliver the email. Raises TemporaryError or FinalError."""


class FileSender:
    """Appends emails to a file, one JSON object per line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def send(self, mail: Mail) -> None:
        """Append an email as one line. A new file is readable by its owner only. Raises TemporaryError."""
        try:
            await asyncio.to_thread(self._append, _json_line(mail))
        except OSError as error:
            raise TemporaryError(f"file: {type(error).__name__}") from error

    def _append(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # Another process may append to the same file.
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # The previous writer was killed in the middle of a line. Its email is sent again.
                line = b"\n" + line
            if os.write(descriptor, line) < len(line):
                # The disk is full. Half a line would also corrupt the next one.
                os.ftruncate(descriptor, size)  # defence: R8 half-mail
                raise OSError("the line was written in part")
        finally:
            os.close(descriptor)


class ConsoleSender:
    """Prints recipient, subject, and link or code, for developers."""

    def __init__(self, file: TextIO | None = None) -> None:
        """Print to `file`, by default standard output."""
        self._file = file

    async def send(self, mail: Mail) -> None:
        """Print an email as a block of lines, with the link on a line of its own."""
        file = self._file or sys.stdout
        lines = [
            paint(f"── email: {mail.template} ".ljust(_WIDTH, "─"), "cyan", file),
            f"to       {mail.to}",
            f"subject  {mail.subject}",
            *([f"code     {paint(mail.code, 'bold', file)}"] if mail.code is not None else []),
            *([mail.link] if mail.link is not None else []),
            paint("─" * _WIDTH, "cyan", file),
        ]
        file.write("\n".join(lines) + "\n")
        file.flush()


def _json_line(mail: Mail) -> bytes:
    """Return the line of an email; a missing link or code is null."""
    fields = {
        "id": mail.id,
        "template": mail.template,
        "to": mail.to,
        "from": mail.sender,
        "subject": mail.subject,
        "text": mail.text,
        "html": mail.html,
        "link": mail.link,
        "code": mail.code,
        "createdAt": wire.instant(mail.created_at),
    }
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
