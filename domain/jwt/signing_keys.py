"""The interface through which rules sign and verify tokens."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol


class KeyDocument(NamedTuple):
    """The published keys as a JSON Web Key Set (RFC 7517), and its strong ETag."""

    body: bytes
    etag: bytes


class SigningKeys(Protocol):
    """The keys that sign tokens for other services, held in memory."""

    @property
    def document(self) -> KeyDocument:
        """The public parts of the keys that are announced, sign, or are retired."""

    async def sign(
        self, claims: Mapping[str, Any], now: datetime, *, algorithm: str | None = None, typ: str = "JWT"
    ) -> str:
        """Return a signed token (RFC 7519) with these claims and this type.

        `algorithm` defaults to the first one of the policy. Raises Unavailable if no key of the algorithm can sign.
        """

    async def verify(
        self, token: str, now: datetime, *, typ: str = "JWT", ignore_expiry: bool = False
    ) -> Mapping[str, Any] | None:
        """Return the claims of a token of this type that was signed by a published key.

        None for every other token and, unless `ignore_expiry`, for an expired one. The caller checks the audience.
        Raises Unavailable if the keys must be read and the database does not respond.
        """
