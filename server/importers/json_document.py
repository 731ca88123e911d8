"""JSON documents of any size, read value by value: the memory holds one value at a time."""

from collections.abc import Iterator
from typing import BinaryIO

import ijson

from server.importers.source import SourceRefused


def items(file: BinaryIO, prefix: str) -> Iterator[object]:
    """Yield the values at `prefix` in the JSON documents of a file; `users.item` means the items of the list `users`.

    Raises SourceRefused if reading fails, or when it comes to text that is not JSON.
    """
    try:
        yield from ijson.items(file, prefix, use_float=True, multiple_values=True)
    except ijson.JSONError:
        raise SourceRefused(
            f"the file is damaged or cut off: no JSON in UTF-8 near byte {file.tell()}"
        ) from None
    except OSError as fault:
        raise SourceRefused(f"the file cannot be read: {fault.strerror}") from fault
