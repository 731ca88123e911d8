"""Files that only their owner may read: what is written there is about people."""

import os
from typing import BinaryIO


def create(path: str) -> BinaryIO:
    """Open a file for writing, empty and with mode 0600, also where there is one already. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Not before the mode is right: what is there already may be open to others.
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "wb")
