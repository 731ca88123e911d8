"""A request of the SCIM protocol, as it was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


# Not frozen, because the headers are added later.
@dataclass(slots=True)
class ScimRequest:
    """The parts of a request that the functions of `domain.scim` read."""

    id: str = ""
    """The resource in the path; empty for none."""
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Any = field(default=None, repr=False)
    """The JSON value of the body; None without one."""
    token: str | None = field(default=None, repr=False)
    """The bearer token; None if there is none, or more than one."""
    connection_id: str | None = None
    """The id of the connection to which the token belongs; None until the token is checked."""
    if_match: str | None = None
    if_none_match: str | None = None


@dataclass(frozen=True, slots=True)
class ScimReply:
    """A response: its body, status, and the headers that the protocol requires."""

    body: Mapping[str, Any] | None = field(repr=False)
    """None for a response without content."""
    status: int = 200
    etag: str | None = None
    location: str | None = None
