"""Requests to URLs that users and clients choose: where they may go, and what a response may cost."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.outbound.client import OutboundClient
    from server.outbound.guard import Guard


def client_of(guard: "Guard") -> "OutboundClient":
    """Return a client whose requests go only where the guard allows."""
    # httpcore and the certificates that the system trusts cost 40 ms.
    from server.outbound.client import OutboundClient  # noqa: PLC0415 - see above

    return OutboundClient(guard)
