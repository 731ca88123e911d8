"""The composition root: everything is wired together here."""

from server.imports import without

# The log is rendered here; structlog would have rich show traces, and colorama colours on Windows.
with without("colorama", "rich"):
    import structlog

__all__ = ["structlog"]
