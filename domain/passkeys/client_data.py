"""Read the client data that an authenticator signs (Web Authentication).

This JSON contains the challenge, the origin of the page, and whether the page was in a frame of another origin.
"""

import base64
from collections.abc import Mapping
from typing import Any

import orjson

MEMBERS_AT_MOST = 20
CHALLENGE_BYTES = 32

ClientData = Mapping[str, Any]


def parse(client_data: bytes) -> ClientData | None:
    """Return the members of client data; None unless they are a JSON object in UTF-8 with at most 20 members."""
    try:
        members = orjson.loads(client_data)
    except ValueError:
        return None
    return members if isinstance(members, dict) and len(members) <= MEMBERS_AT_MOST else None


def challenge_of(members: ClientData) -> bytes | None:
    """Return the challenge in client data; None unless it is 32 bytes in base64url without padding."""
    written = members.get("challenge")
    challenge = decode(written) if isinstance(written, str) else None
    return challenge if challenge is not None and len(challenge) == CHALLENGE_BYTES else None


def is_own_page(members: ClientData) -> bool:
    """Return whether the response was created by a page that was not in a frame of another origin."""
    # In a frame of another site the user does not see for whom they sign (clickjacking).
    # defence: P3 frames
    return members.get("crossOrigin", False) is False and "topOrigin" not in members


def decode(text: str) -> bytes | None:
    """Return the bytes of a text in canonical base64url without padding; None for any other text."""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    # Python's decoder ignores characters outside its alphabet, so several texts would decode to the same bytes.
    return decoded if encode(decoded) == text else None


def encode(value: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
