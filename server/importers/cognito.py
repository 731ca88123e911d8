"""Users of an Amazon Cognito user pool, from `aws cognito-idp list-users` or a CSV file of its import format.

The formats: https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UserType.html,
https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-using-import-tool-csv-header.html.
Cognito does not hand out password hashes and authenticator secrets.
"""

import re
from collections.abc import AsyncIterator, Iterator
from typing import BinaryIO

from domain.data_import.eligibility import Problem
from server.importers import json_document, metadata
from server.importers.csv_file import CsvFile
from server.importers.json_lines import size
from server.importers.source import Row, SourceRefused
from server.importers.tables import instant, instant_in_text
from server.importers.values import Fields

ORIGIN = "cognito"
DISABLED, COMPROMISED = "Disabled in Cognito", "Compromised in Cognito"
PROVIDERS = {
    "SignInWithApple": "apple",
    "LoginWithAmazon": "amazon",
    "Facebook": "facebook",
    "Google": "google",
}
"""The provider ids of this service, by Cognito's names."""
_OPAQUE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\+[0-9]+|.*@.*", re.DOTALL)
"""Usernames that no person has chosen: UUIDs, phone numbers, email addresses."""
_FLAGS = {"true": True, "false": False}
_EXTERNAL = "EXTERNAL_PROVIDER"


class Cognito:
    """The source that reads a file in JSON, as the command prints it, or in CSV."""

    origin = ORIGIN

    def __init__(self, file: BinaryIO) -> None:
        """Create the source; `file` is open for reading bytes."""
        self._file = file
        self.total = size(file)

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if reading fails, or if there is no user."""
        start = self._file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n")
        self._file.seek(0)
        number = 0
        for name, user in self._in_json(start) if start[:1] in (b"{", b"[") else self._in_csv():
            number += 1
            yield Row(name, user if isinstance(user, Problem) else _fields(user), name, self._file.tell())
        if number == 0:
            raise SourceRefused("the file has no users: it must be what `aws cognito-idp list-users` prints")

    def _in_json(self, start: bytes) -> Iterator[tuple[str, Fields | Problem]]:
        prefix = "item" if start[:1] == b"[" else "Users.item" if re.match(rb'\{\s*"Users"', start) else ""
        for number, user in enumerate(json_document.items(self._file, prefix), 1):
            yield f"user {number}", _of_json(user)

    def _in_csv(self) -> Iterator[tuple[str, Fields | Problem]]:
        for number, _, cells in CsvFile(self._file, ["cognito:username", "email"]).rows():
            if isinstance(cells, Problem):
                yield f"line {number}", cells
            else:
                yield f"line {number}", {"Username": cells.get("cognito:username"), **cells}


def _of_json(user: object) -> Fields | Problem:
    """Return the attributes of a user by their names, next to the other members."""
    attributes = user.get("Attributes") if isinstance(user, dict) else None
    if not isinstance(user, dict) or not isinstance(attributes, list):
        return Problem("Attributes", "is missing: write users as `aws cognito-idp list-users` prints them")
    named = map(metadata.parse, attributes)
    return {**user, **{str(each.get("Name")): each.get("Value") for each in named}}


def _fields(user: Fields) -> Fields:
    enabled, status = user.get("Enabled", True), user.get("UserStatus")
    compromised = status == "COMPROMISED"
    given = " ".join(part for key in ("given_name", "family_name") if (part := metadata.text(user.get(key))))
    return {
        # Every user has a `sub`; the CSV format has no column for it, but may be given one.
        "id": user.get("sub") or user.get("Username") or Problem("Username", "is missing"),
        "email": user.get("email") or Problem("email", "is missing: the user signs in without one"),
        "emailVerified": _flag(user.get("email_verified")),
        "name": metadata.text(user.get("name")) or given or None,
        "image": metadata.text(user.get("picture")),
        "locale": metadata.text(user.get("locale")),
        "username": _username(user),
        "banned": True if compromised else not enabled if isinstance(enabled, bool) else enabled,
        "banReason": COMPROMISED if compromised else DISABLED if enabled is False else None,
        "createdAt": instant(user.get("UserCreateDate")),
        "updatedAt": instant(user.get("UserLastModifiedDate")),
        "twoFactor": {} if _has_second_factor(user) else None,
        "accounts": [_account(metadata.parse(each)) for each in metadata.parse_list(user.get("identities"))],
    }


def _flag(value: object) -> object:
    return _FLAGS.get(value.lower(), value) if isinstance(value, str) else value


def _username(user: Fields) -> str | None:
    """Return the name that a person has chosen, if any."""
    preferred, username = metadata.text(user.get("preferred_username")), user.get("Username")
    if preferred is not None or not isinstance(username, str) or user.get("UserStatus") == _EXTERNAL:
        return preferred
    return None if _OPAQUE.fullmatch(username) else username


def _has_second_factor(user: Fields) -> bool:
    """Return whether a user needs a code; without a secret, they get it by email."""
    is_on = _flag(user.get("cognito:mfa_enabled")) is True
    return is_on or bool(user.get("MFAOptions") or user.get("UserMFASettingList"))


def _account(identity: metadata.Metadata) -> Fields:
    # The type `SignInWithApple` has the same name; OIDC and SAML providers have one of their own.
    provider = str(identity.get("providerName"))
    return {
        "providerId": PROVIDERS.get(provider, provider),
        "accountId": identity.get("userId"),
        "createdAt": instant_in_text(identity.get("dateCreated")),
    }
