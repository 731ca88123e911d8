"""Files with personal data, which only their owner may read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from server.config.sources import ConfigurationError, reason


@contextmanager
def created(option: str, path: str | None) -> Iterator[BinaryIO | None]:
    """Yield the file that an option names, or None without one. Raises ConfigurationError."""
    if path is None:
        yield None
        return
    try:
        file = create(path)
    except OSError as error:
        raise ConfigurationError(f"{option}: {path}: {reason(error)}") from None
    with file:
        yield file


def create(path: str) -> BinaryIO:
    """Open a file for writing, empty and with mode 0600, even if it exists. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # The mode comes first: an existing file may be readable by others.
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "wb")
