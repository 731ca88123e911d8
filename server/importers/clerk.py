"""Users of Clerk: the CSV file of its dashboard, and its Backend API's users, which have bans and accounts.

The formats: https://clerk.com/docs/guides/development/migrating/export-from-clerk,
https://clerk.com/docs/reference/backend-api/model/User.
"""

import re
from collections.abc import AsyncIterator
from typing import BinaryIO

import orjson

from domain.data_import.eligibility import Problem
from server.database.sqlite.temporary_map import TemporaryMap
from server.importers import clerk_hashes, metadata
from server.importers.csv_file import Cells, CsvFile
from server.importers.json_lines import JsonLines
from server.importers.source import Row, SourceRefused
from server.importers.tables import instant
from server.importers.values import Fields

ORIGIN = "clerk"
_COLUMNS = ("id", "primary_email_address", "verified_email_addresses", "password_digest", "password_hasher")
_SEPARATORS = re.compile(r"[|,; ]+")
_KEPT_AT_ONCE = 200


class Clerk:
    """The source that reads a CSV file of Clerk's dashboard, with one user per row."""

    origin = ORIGIN

    def __init__(self, file: BinaryIO, api_users: "ApiUsers") -> None:
        """Create the source; `file` is open for reading bytes. Raises SourceRefused if its header is not Clerk's."""
        self._file = CsvFile(file, _COLUMNS)
        self._api_users = api_users
        self.total = self._file.total

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if reading fails."""
        for number, position, cells in self._file.rows():
            fields = cells if isinstance(cells, Problem) else self._user(cells)
            yield Row(f"line {number}", fields, position=position)

    def _user(self, cells: Cells) -> Fields | Problem:
        if "id" not in cells:
            return Problem("id", "is missing")
        more = self._api_users.find(cells["id"])
        email = cells.get("primary_email_address")
        verified = _SEPARATORS.split(cells.get("verified_email_addresses", "").lower())
        name = " ".join(cells[part] for part in ("first_name", "last_name") if part in cells)
        return {
            "id": cells["id"],
            "email": email or Problem("email", "is missing: the user signs in without an email address"),
            "emailVerified": email is not None and email.lower() in verified,
            "name": name or None,
            "image": more.get("image_url") if more.get("has_image") else None,
            "username": cells.get("username"),
            "role": metadata.role(metadata.parse(more.get("public_metadata"))),
            "banned": more.get("banned"),
            "createdAt": instant(more.get("created_at")),
            "updatedAt": instant(more.get("updated_at")),
            "passwordHash": clerk_hashes.converted(
                cells.get("password_digest"), cells.get("password_hasher")
            ),
            "twoFactor": _second_factor(cells, more),
            "accounts": [_account(each) for each in _verified_accounts(more)],
        }


class ApiUsers:
    """The users of Clerk's Backend API, read from a file and kept on disk by user id."""

    def __init__(self, kept: TemporaryMap) -> None:
        """Create it; `kept` is an empty map, which `read` fills."""
        self._kept = kept

    async def read(self, file: BinaryIO) -> None:
        """Read a file with one user per line. Raises SourceRefused for a line in another format."""
        kept: dict[str, str] = {}
        async for row in JsonLines(file).rows():
            id_ = Problem("id", "is missing") if isinstance(row.fields, dict) else row.fields
            if isinstance(row.fields, dict) and isinstance(row.fields.get("id"), str):
                kept[row.fields["id"]] = orjson.dumps(row.fields).decode()
            else:
                raise SourceRefused(f"--api-users: {row.name}: {id_}")
            if len(kept) >= _KEPT_AT_ONCE:
                self._kept.update(kept)
                kept = {}
        self._kept.update(kept)

    def find(self, id_: str) -> metadata.Metadata:
        """Return the user with this id; an empty object if the file has no such user, or if no file was read."""
        return metadata.parse(self._kept.find([id_]).get(id_))


def _second_factor(cells: Cells, more: metadata.Metadata) -> Fields | None:
    if "totp_secret" in cells:
        return {"secret": cells["totp_secret"]}
    # A phone as second factor: without a secret, the user gets codes by email.
    return {} if more.get("two_factor_enabled") is True else None


def _verified_accounts(user: metadata.Metadata) -> list[metadata.Metadata]:
    accounts = [metadata.parse(each) for each in metadata.parse_list(user.get("external_accounts"))]
    # An account that is not verified is one that the user has begun to connect; it does not sign in.
    return [
        each
        for each in accounts
        if metadata.parse(each.get("verification")).get("status", "verified") == "verified"
    ]


def _account(account: metadata.Metadata) -> Fields:
    # Accounts of Google and Facebook have their own type, with the id under its name, in older versions of the API.
    kind = str(account.get("object")).removesuffix("_account")
    provider = metadata.text(account.get("provider")) or kind
    subject = account.get("provider_user_id") or account.get(f"{kind}_id")
    return {
        "providerId": provider.removeprefix("oauth_").removeprefix("custom_"),
        "accountId": subject,
        "createdAt": instant(account.get("created_at")),
    }
