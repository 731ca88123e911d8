"""How much of a connection is read that is no body (behaviour 1.3)."""

MAX_HEAD = 64 * 1024
"""Bytes of an unfinished head that are kept. Shorter heads are finished first and refused, if need be, in the order of
behaviour 1.3; this bound is for those that never end."""

MAX_FRAMING = 16 * 1024
"""Bytes of line ends before a request, of chunk extensions and of trailers that are read beside a body."""

MAX_REST = 64 * 1024
"""Bytes of a request that are still read, and thrown away, when the request has been answered already."""

PIECE = 4 * 1024
"""Bytes that are parsed at a time; after each piece the bounds above are checked, and whether requests wait."""

CHUNK_FRAME = 20
"""Bytes around a chunk that are ordinary: 16 digits and two line ends."""
