"""The id of a session as a client sees it (`sid`, OpenID Connect Back-Channel Logout 1.0, 2.1).

Each client gets a different id for the same session, and none gets the id of the session itself, so that clients cannot
compare their users.
"""

import base64
from collections.abc import Sequence

from domain.ports import Cipher

PURPOSE = "oauth.sid"
"""The purpose of the keyed digest."""


def sid_of(cipher: Cipher, client_id: str, session_id: str) -> str:
    """Return the id of a session for a client: 43 characters of base64url."""
    return sids_of(cipher, client_id, session_id)[0]


def sids_of(cipher: Cipher, client_id: str, session_id: str) -> Sequence[str]:
    """Return every id that a session can have for a client, one per service key, that of the newest key first."""
    # An id of a session has a fixed length, so that no other client and session have the same text.
    digests = cipher.digests(PURPOSE, f"{session_id} {client_id}")  # defence: O24 sid
    return [base64.urlsafe_b64encode(digest).rstrip(b"=").decode() for digest in digests]
