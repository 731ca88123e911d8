"""Users of WordPress, from the JSON of WP-CLI: https://developer.wordpress.org/cli/commands/user/list/."""

from collections.abc import AsyncIterator
from typing import BinaryIO

from domain.data_import.eligibility import Problem
from server.importers import json_document, metadata
from server.importers.json_lines import size
from server.importers.source import Row, SourceRefused
from server.importers.values import Fields

ORIGIN = "wordpress"
ROLES = {"administrator": "admin"}
"""The roles of this service, by WordPress's names where they differ."""
SPAM = "Marked as spam in WordPress"

_REQUIRED = ("ID", "user_login", "user_email", "user_pass", "roles")
_DEFAULT_ROLE = "subscriber"


class Wordpress:
    """The source that reads a file with one JSON array of users."""

    origin = ORIGIN

    def __init__(self, file: BinaryIO) -> None:
        """Create the source; `file` is open for reading bytes."""
        self._file = file
        self.total = size(file)

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if reading fails, or if there is no user."""
        number = 0
        for user in json_document.items(self._file, "item"):
            number += 1
            position = self._file.tell() if self._file.seekable() else 0
            fields = _fields(metadata.parse(user))
            left_out = "deleted users" if _is_set(user, "deleted") else ""
            yield Row(f"user {number}", fields, position=position, left_out=left_out)
        if number == 0:
            raise SourceRefused("the file has no users: it must be what `wp user list --format=json` prints")


def _fields(user: metadata.Metadata) -> Fields | Problem:
    for name in _REQUIRED:
        if name not in user:
            return Problem(name, "is missing: add it to --fields of `wp user list`")
    email, is_spam = str(user["user_email"] or ""), _is_set(user, "spam")
    login, shown = metadata.text(user["user_login"]), metadata.text(user.get("display_name"))
    return {
        "id": user["ID"],
        "email": email or Problem("user_email", "is missing: the user signs in without an email address"),
        "name": None if shown == email else shown,
        "username": None if login and login.lower() == email.lower() else login,
        "role": _role(str(user["roles"] or "")),
        "banned": is_spam,
        "banReason": SPAM if is_spam else None,
        # In UTC.
        "createdAt": user.get("user_registered") or None,
        "passwordHash": user["user_pass"] or None,
    }


def _role(listed: str) -> str | None:
    roles = [role.strip() for role in listed.split(",")]
    return ",".join(ROLES.get(role, role) for role in roles if role and role != _DEFAULT_ROLE) or None


def _is_set(user: object, name: str) -> bool:
    return isinstance(user, dict) and str(user.get(name)) == "1"
