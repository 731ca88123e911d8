"""Where a request comes from, as the rules and the stored session see it (behaviour 3.5, 3.6)."""

from functools import lru_cache

from starlette.types import Scope

from domain.context import Client
from server.addresses import Addresses, clean_user_agent
from server.pipeline.head import Head

_clean = lru_cache(maxsize=1024)(clean_user_agent)
"""Few User-Agents make most requests."""


def client_of(scope: Scope, head: Head, request_id: str, addresses: Addresses) -> Client:
    """Give address, User-Agent and request id of the client behind a request."""
    peer = scope.get("client")
    forwarded_for = head.every(b"x-forwarded-for") if b"x-forwarded-for" in head.fields else ()
    address = addresses.resolve(None if peer is None else peer[0], forwarded_for)
    return Client(address, _clean(head.fields.get(b"user-agent")), request_id)
