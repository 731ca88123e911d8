"""Colours for people at a terminal."""

import os
from typing import IO, Any

_CODES = {"bold": 1, "red": 31, "green": 32, "cyan": 36}


def shows_colours(stream: IO[Any]) -> bool:
    """Return whether a stream is a terminal that shows colours; `NO_COLOR` (no-color.org) disables them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: IO[Any]) -> str:
    """Return a text in a colour if the stream is a terminal that shows colours, else unchanged."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if shows_colours(stream) else text
