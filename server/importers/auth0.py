"""Users of Auth0: the file of its export job, and those with password hashes and MFA secrets from its support.

The formats: https://auth0.com/docs/manage-users/user-migration/bulk-user-exports,
https://auth0.com/docs/manage-users/user-accounts/user-profiles/user-profile-structure,
https://support.auth0.com/center/s/article/How-to-Use-the-Password-Hashes-Export-from-Auth0.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import BinaryIO

import orjson

from domain.data_import.eligibility import Field, Problem
from server.database.sqlite.temporary_map import TemporaryMap
from server.importers import metadata
from server.importers.json_lines import JsonLines
from server.importers.source import Row, SourceRefused
from server.importers.values import Fields

ORIGIN = "auth0"
DATABASE = "auth0"
"""Auth0's name of its own database, as the provider of users with a password."""
_OWN = frozenset({DATABASE, "email", "sms"})
"""The providers that are sign-in methods of Auth0 itself, not accounts at another provider."""
PROVIDERS = {"google-oauth2": "google"}
"""The provider ids of this service, by Auth0's names where they differ."""
_KEPT_AT_ONCE = 500


class Auth0:
    """The source that reads an export of Auth0 with one user per line."""

    origin = ORIGIN

    def __init__(self, file: BinaryIO, credentials: "Credentials") -> None:
        """Create the source; `file` is open for reading bytes."""
        self._lines = JsonLines(file)
        self._credentials = credentials
        self.total = self._lines.total

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if reading fails."""
        async for row in self._lines.rows():
            fields = row.fields if isinstance(row.fields, Problem) else self._user(row.fields)
            yield Row(row.name, fields, row.source_id, row.position)

    def _user(self, user: Fields) -> Fields | Problem:
        for name in ("user_id", "identities"):
            if name not in user:
                return Problem(name, "is missing: add it to the fields of the export job")
        identities = [metadata.parse(each) for each in metadata.parse_list(user["identities"])]
        own = metadata.parse(user.get("user_metadata"))
        return {
            "id": user["user_id"],
            "email": user.get("email")
            or Problem("email", "is missing: the user signs in without an email address"),
            "emailVerified": user.get("email_verified"),
            "name": _name(user, own),
            "image": metadata.text(user.get("picture"), own.get("picture")),
            "username": user.get("username") or None,
            "locale": metadata.text(user.get("locale")),
            "role": metadata.role(metadata.parse(user.get("app_metadata"))),
            "banned": user.get("blocked"),
            "createdAt": user.get("created_at"),
            "updatedAt": user.get("updated_at"),
            "passwordHash": self._credentials.password(identities),
            "twoFactor": self._credentials.second_factor(user),
            "accounts": [_account(each) for each in identities if each.get("provider") not in _OWN],
        }


class Credentials:
    """The password hashes and MFA secrets from the files of Auth0's support, kept on disk by user id."""

    def __init__(self, kept: TemporaryMap) -> None:
        """Create it; `kept` is an empty map, which is filled by the methods that read files."""
        self._kept = kept
        self._has_passwords = self._has_factors = False

    async def read_passwords(self, file: BinaryIO) -> None:
        """Read the file of password hashes. Raises SourceRefused for a line in another format."""
        self._has_passwords = True
        await self._read("--password-file", file, _passwords)

    async def read_factors(self, file: BinaryIO) -> None:
        """Read the file of MFA secrets. Raises SourceRefused for a line in another format."""
        self._has_factors = True
        await self._read("--mfa-file", file, _factors)

    async def _read(
        self, option: str, file: BinaryIO, entries: Callable[[Fields], Iterator[tuple[str, object]]]
    ) -> None:
        kept: dict[str, str] = {}
        async for row in JsonLines(file).rows():
            try:
                if isinstance(row.fields, Problem):
                    raise row.fields
                kept |= {key: orjson.dumps(value).decode() for key, value in entries(row.fields)}
            except Problem as problem:
                raise SourceRefused(f"{option}: {row.name}: {problem}") from None
            if len(kept) >= _KEPT_AT_ONCE:
                self._kept.update(kept)
                kept = {}
        self._kept.update(kept)

    def password(self, identities: list[Mapping[str, object]]) -> object:
        """Return the password hash of the first identity that has one, a Problem if it is missing, or None."""
        keys = [_password_key(each) for each in identities if each.get("provider") == DATABASE]
        if not keys:
            return None
        found = self._find(keys)
        if found is not None:
            return found
        reason = (
            "is not in the file of password hashes"
            if self._has_passwords
            else "is missing: pass --password-file"
        )
        return Problem("passwordHash", reason, Field.PASSWORD)

    def second_factor(self, user: Fields) -> object:
        """Return the second factor of a user, a Problem if it cannot be imported, or None."""
        id_ = user["user_id"]
        if (secret := self._find([f"otp {id_}"])) is not None:
            return {"secret": secret}
        if self._find([f"factor {id_}"]) is not None:
            # A phone or a security key as second factor: without a secret, the user gets codes by email.
            return {}
        if not user.get("multifactor"):
            return None
        reason = (
            "is on, and is not in the file of MFA secrets" if self._has_factors else "is on: pass --mfa-file"
        )
        return Problem("twoFactor", reason, Field.TWO_FACTOR)

    def _find(self, keys: list[str]) -> object:
        found = self._kept.find(keys)
        return next((orjson.loads(found[key]) for key in keys if key in found), None)


def _passwords(line: Fields) -> Iterator[tuple[str, object]]:
    """Yield the hash under each id that the user may have in the export: the custom one, or that of the database."""
    id_ = line.get("_id")
    ids = [id_.get("$oid") if isinstance(id_, dict) else id_, line.get("alt_id")]
    if not metadata.text(ids[0]) or not metadata.text(line.get("connection")):
        raise Problem("line", "needs _id and connection, as in Auth0's export of password hashes")
    if line.get("passwordHash") is not None:
        for each in ids:
            if each is not None:
                yield _password_key({"user_id": each, "connection": line["connection"]}), line["passwordHash"]


def _factors(line: Fields) -> Iterator[tuple[str, object]]:
    id_, kind = line.get("user_id"), line.get("type")
    if not metadata.text(id_) or not metadata.text(kind):
        raise Problem("line", "needs user_id and type, as in Auth0's export of MFA secrets")
    if kind == "otp":
        yield f"otp {id_}", line.get("otp_secret")
    elif kind != "recovery-code":
        yield f"factor {id_}", kind


def _password_key(identity: Mapping[str, object]) -> str:
    # Ids are unique within a connection only.
    return f"password {identity.get('connection')} {identity.get('user_id')}"


def _name(user: Fields, own: Mapping[str, object]) -> str | None:
    """Return the name; Auth0 sets it to the email address if a user of its database has none."""
    name = metadata.text(user.get("name"))
    if name is not None and name != user.get("email"):
        return name
    parts = [metadata.text(user.get(part)) for part in ("given_name", "family_name")]
    full = " ".join(part for part in parts if part)
    return metadata.text(full, own.get("name"), own.get("full_name"), user.get("nickname"))


def _account(identity: Mapping[str, object]) -> Fields:
    """Return an account of a social provider, or of an enterprise or custom connection under its own name."""
    provider, connection = str(identity.get("provider")), str(identity.get("connection"))
    is_known = identity.get("isSocial") is True and provider != "oauth2"
    return {
        "providerId": PROVIDERS.get(provider, provider) if is_known else connection,
        # GitHub's ids are numbers, and ids of custom connections begin with the name of the connection.
        "accountId": str(identity.get("user_id")).removeprefix(f"{connection}|"),
    }
