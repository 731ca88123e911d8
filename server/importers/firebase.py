"""Users of a Firebase project, from `firebase auth:export` in JSON or CSV, or from pages of its API.

The formats: https://github.com/firebase/firebase-tools/blob/master/src/accountExporter.ts,
https://cloud.google.com/identity-platform/docs/reference/rest/v1/UserInfo.
"""

import base64
import csv
import io
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from domain.data_import.eligibility import Field, Problem
from server.crypto import firebase_scrypt
from server.importers import json_document, metadata
from server.importers.json_lines import size
from server.importers.source import Row, SourceRefused
from server.importers.tables import instant_in_text
from server.importers.values import Fields

ORIGIN = "firebase"
DISABLED = "Disabled in Firebase"
PROVIDERS = {f"{name}.com": name for name in ("apple", "facebook", "github", "google", "twitter")}
"""The provider ids of this service, by Firebase's names."""
_REDACTED = base64.b64encode(b"REDACTED").decode()
"""What the API returns for a hash to a caller who may not read it."""
_OWN = frozenset({"password", "phone", "emailLink", "anonymous"})
"""The names of sign-in methods that are not accounts at a provider."""

_COLUMNS = ("localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl")
_PROVIDER_COLUMNS = (("google.com", 7), ("facebook.com", 11), ("twitter.com", 15), ("github.com", 19))
_LAST_COLUMNS = ("createdAt", "lastSignedInAt", "phoneNumber", "disabled", "customAttributes")
_LAST_FROM, _CELLS = 23, range(28, 30)
"""Where they begin, and the number of cells of a row: older versions wrote no claims; each row ends with a comma."""


@dataclass(frozen=True, slots=True)
class HashParameters:
    """The password hash parameters of a project, as its console shows them."""

    signer_key: str = field(repr=False)
    salt_separator: str
    rounds: str
    mem_cost: str

    def hashed(self, password_hash: str, salt: str) -> str:
        """Return an exported hash in the form that `server.crypto.firebase_scrypt` reads."""
        cost = f"v=1,n={self.mem_cost},r={self.rounds},p=1"
        separator = f",ss={self.salt_separator}" if self.salt_separator else ""
        return f"{firebase_scrypt.EXPORTED}{cost}{separator},sk={self.signer_key}${salt}${password_hash}"


def parse_parameters(text: str) -> HashParameters:
    """Parse the parameters in the form of Firebase's console (`base64_signer_key: …,`). Raises ValueError."""
    found = dict(re.findall(r'^\s*"?(\w+)"?\s*:\s*"?([^\s",]*)"?\s*,?\s*$', text, re.MULTILINE))
    for name in ("algorithm", "base64_signer_key", "rounds", "mem_cost"):
        if not found.get(name):
            raise ValueError(f"has no {name}: copy all lines that the Firebase console shows")
    if found["algorithm"] != "SCRYPT":
        raise ValueError(f"the algorithm is {found['algorithm'][:32]}, and only SCRYPT is supported")
    separator = found.get("base64_salt_separator", "")
    return HashParameters(found["base64_signer_key"], separator, found["rounds"], found["mem_cost"])


class Firebase:
    """The source that reads an export of Firebase in JSON or CSV."""

    origin = ORIGIN

    def __init__(self, file: BinaryIO, parameters: HashParameters | None) -> None:
        """Create the source; `file` is open for reading bytes.

        If `parameters` is None, users with a password are refused.
        """
        self._file = file
        self._parameters = parameters
        self.total = size(file)

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if reading fails, or if there is no user."""
        start = self._file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        self._file.seek(0)
        is_json, number = start[:1] == b"{", 0
        for name, user in self._in_json() if is_json else self._in_csv():
            number += 1
            fields = user if isinstance(user, Problem) else self._fields(user)
            left_out = "anonymous users" if isinstance(user, dict) and _is_anonymous(user) else ""
            yield Row(name, fields, name, self._file.tell(), left_out)
        if number == 0:
            raise SourceRefused("the file has no users: it must be what `firebase auth:export` writes")

    def _in_json(self) -> Iterator[tuple[str, Fields | Problem]]:
        for number, user in enumerate(json_document.items(self._file, "users.item"), 1):
            problem = Problem("users", "is not a list of objects")
            yield f"user {number}", user if isinstance(user, dict) else problem

    def _in_csv(self) -> Iterator[tuple[str, Fields | Problem]]:
        text = io.TextIOWrapper(self._file, "utf-8-sig", newline="")
        # Not strict: the command does not escape quotation marks in names.
        reader = csv.reader(text)
        try:
            for cells in reader:
                if cells:
                    yield f"line {reader.line_num}", _of_cells(cells)
        except (csv.Error, UnicodeError) as fault:
            raise SourceRefused(
                f"the CSV file cannot be read after line {reader.line_num}: {fault}"
            ) from fault
        finally:
            text.detach()

    def _fields(self, user: Fields) -> Fields:
        accounts = [metadata.parse(each) for each in metadata.parse_list(user.get("providerUserInfo"))]
        disabled = user.get("disabled") or False
        return {
            "id": user.get("localId") or Problem("localId", "is missing"),
            "email": user.get("email") or Problem("email", "is missing: the user signs in without one"),
            "emailVerified": user.get("emailVerified"),
            "name": metadata.text(user.get("displayName")),
            "image": user.get("photoUrl") or None,
            "role": _role(metadata.parse(user.get("customAttributes"))),
            "banned": disabled,
            "banReason": DISABLED if disabled is True else None,
            "createdAt": instant_in_text(user.get("createdAt")),
            "passwordHash": self._password(user),
            # Firebase does not hand out secrets: users with a phone or an authenticator get codes by email.
            "twoFactor": {} if user.get("mfaInfo") else None,
            "accounts": [_account(each) for each in accounts if each.get("providerId") not in _OWN],
        }

    def _password(self, user: Fields) -> object:
        hashed, salt = user.get("passwordHash"), user.get("salt")
        if not hashed:
            return None
        if hashed == _REDACTED:
            return Problem("passwordHash", "is redacted: export as an owner of the project", Field.PASSWORD)
        if user.get("version"):
            # Users imported into Firebase keep the hash of the other program until their first sign-in.
            return Problem("passwordHash", "is in the format of another program", Field.PASSWORD)
        if self._parameters is None:
            return Problem(
                "passwordHash", "needs the hash parameters: pass --hash-parameters", Field.PASSWORD
            )
        return self._parameters.hashed(str(hashed), str(salt or ""))


def _of_cells(cells: list[str]) -> Fields | Problem:
    """Return a user in the form of the JSON format."""
    if len(cells) not in _CELLS or not cells[_LAST_FROM].isdecimal():
        # A name with a quotation mark or a line break shifts the cells.
        return Problem("line", "does not have the columns of an export: use the JSON format")
    user: dict[str, object] = dict(zip(_COLUMNS, cells, strict=False))
    user |= zip(_LAST_COLUMNS, cells[_LAST_FROM:], strict=False)
    user["emailVerified"], user["disabled"] = (
        user.get(name) == "true" for name in ("emailVerified", "disabled")
    )
    user["providerUserInfo"] = [
        {"providerId": name, "rawId": cells[start]} for name, start in _PROVIDER_COLUMNS if cells[start]
    ]
    return user


def _is_anonymous(user: Fields) -> bool:
    return not any(user.get(name) for name in ("email", "phoneNumber", "providerUserInfo", "passwordHash"))


def _role(claims: metadata.Metadata) -> str | None:
    """Return the claims that may be roles: the texts in `role` and `roles`, and the names of those that are true."""
    named = [claims.get("role"), *metadata.parse_list(claims.get("roles"))]
    flags = [name for name, value in claims.items() if value is True]
    return ",".join(each for each in (*named, *flags) if isinstance(each, str)) or None


def _account(account: Mapping[str, object]) -> Fields:
    provider = str(account.get("providerId"))
    return {
        "providerId": PROVIDERS.get(provider, provider.removeprefix("oidc.")),
        "accountId": account.get("rawId"),
    }
