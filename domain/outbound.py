"""Requests to URLs that users and clients choose: why a request fails, and the check of a URL when it is saved.

`server/outbound` implements the check.
"""

from enum import StrEnum
from typing import Protocol


class OutboundFailure(StrEnum):
    """Why a request got no response. The values are stored and shown, so they must reveal nothing about the host."""

    DNS = "dns"
    """The host has no address, or the look-up did not end in time."""
    REFUSED_ADDRESS = "refused_address"
    """The URL is not allowed: its form, its port, or one of the addresses of its host."""
    CONNECT = "connect"
    """The connection failed, or ended before the head of a response, or the response is not HTTP/1.1."""
    TLS = "tls"
    """No TLS 1.2 or newer, or a certificate that is not valid for the host."""
    TIMEOUT = "timeout"
    """The time was over before the first byte of a response."""
    TOO_SLOW = "too_slow"
    """A response began, but its head did not end in time or was too large."""


class OutboundError(Exception):
    """A request that got no response. The message is for the user who chose the URL, and names no address."""

    def __init__(self, reason: OutboundFailure, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason


class OutboundGuard(Protocol):
    """The rules for URLs that the service may send requests to."""

    async def check(self, url: str) -> None:
        """Check the form of a URL and the current addresses of its host; no request is sent.

        The check is early feedback for the user: it is repeated for every request. It takes up to 3 seconds, so do not
        call it within a transaction. Raises OutboundError.
        """
