"""Users of a Rails application with Devise, from its database: https://github.com/heartcombo/devise.

The columns are those of Devise's modules and of devise-two-factor. Secrets of authenticators come from a file, because
Active Record encrypts them: https://guides.rubyonrails.org/active_record_encryption.html.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import BinaryIO

from domain.data_import.eligibility import Field, Problem
from server.database.sqlite.temporary_map import TemporaryMap
from server.importers import metadata
from server.importers.json_lines import JsonLines
from server.importers.source import Row, SourceRefused
from server.importers.tables import Record, SourceDatabase, SourceTable, flag, instant
from server.importers.values import Fields

ORIGIN = "devise"
LOCKED = "Locked in the application this user comes from"
ADMINISTRATOR = "admin"
PROVIDERS = {"google_oauth2": "google"}
"""The provider ids of this service, by the names of OmniAuth's strategies where they differ."""

_USER = ("id", "email", "encrypted_password")
_IDENTITY = ("user_id", "provider", "uid")
_KEPT_AT_ONCE = 500


@dataclass(frozen=True)
class Devise:
    """The source that reads the open database of a Rails application."""

    origin = ORIGIN
    source: SourceDatabase
    users: SourceTable
    identities: SourceTable | None
    total: int | None
    secrets: TemporaryMap
    """The secrets of authenticators in base32, by the ids of their users."""
    has_pepper: bool
    """Whether passwords were hashed with `config.pepper`."""

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if the database fails."""
        position = 0
        async for page in self.source.pages(self.users):
            ids = [record["id"] for record in page]
            identities = await self.source.rows_of_users(self.identities, ids)
            secrets = self.secrets.find([str(id_) for id_ in ids])
            for record in page:
                position, id_ = position + 1, record["id"]
                fields = {
                    **_user(record),
                    "passwordHash": self._password(record),
                    "twoFactor": _second_factor(record, secrets.get(str(id_))),
                    "accounts": [
                        _account(each) for each in [record, *identities.get(id_, [])] if each.get("uid")
                    ],
                }
                is_deleted = record.get("deletedat") is not None or record.get("discardedat") is not None
                yield Row(f"id {id_}", fields, str(id_), position, "deleted users" if is_deleted else "")

    def _password(self, record: Record) -> object:
        hashed = record["encryptedpassword"] or None
        if hashed is not None and self.has_pepper:
            return Problem(
                "passwordHash", "was made with a pepper, so it cannot be checked here", Field.PASSWORD
            )
        return hashed


async def devise(
    source: SourceDatabase, secrets: TemporaryMap, *, table: str, identities: str, has_pepper: bool
) -> Devise:
    """Return the source of the users in a database. Raises SourceRefused if a table or a column is missing.

    `table` is the table of the users, `identities` that of their accounts at providers, which may be missing.
    """
    users = source.table(table, _USER)
    linked = source.optional_table(identities, _IDENTITY)
    return Devise(source, users, linked, await source.count(users), secrets, has_pepper)


async def read_secrets(file: BinaryIO, secrets: TemporaryMap) -> None:
    """Read a file of JSON lines with `id` and `otp_secret`, and store the secrets in `secrets` by id.

    Raises SourceRefused for a line in another format.
    """
    kept: dict[str, str] = {}
    async for row in JsonLines(file).rows():
        fields = {} if isinstance(row.fields, Problem) else row.fields
        id_, secret = fields.get("id"), fields.get("otp_secret")
        if isinstance(id_, bool) or not isinstance(id_, int | str) or not isinstance(secret, str | None):
            raise SourceRefused(f"--otp-file: {row.name}: is not an object with the texts id and otp_secret")
        if secret:
            kept[str(id_)] = secret
        if len(kept) >= _KEPT_AT_ONCE:
            secrets.update(kept)
            kept = {}
    secrets.update(kept)


def _user(record: Record) -> Fields:
    is_locked = record.get("lockedat") is not None
    names = (record.get("firstname"), record.get("lastname"))
    given = " ".join(part for each in names if (part := metadata.text(each)))
    return {
        "id": record["id"],
        "email": record["email"]
        or Problem("email", "is missing: the user signs in without an email address"),
        "emailVerified": record.get("confirmedat") is not None,
        "name": metadata.text(record.get("name"), record.get("fullname")) or given or None,
        "image": metadata.text(record.get("image"), record.get("avatarurl")),
        "username": metadata.text(record.get("username")),
        "locale": metadata.text(record.get("locale")),
        "role": _role(record),
        "banned": is_locked,
        "banReason": LOCKED if is_locked else None,
        "createdAt": instant(record.get("createdat")),
        "updatedAt": instant(record.get("updatedat")),
    }


def _role(record: Record) -> str | None:
    # Older versions of Rails store booleans in SQLite as `t` and `f`.
    is_administrator = record.get("admin") == "t" or flag(record.get("admin")) is True
    # A number is the place of a role in an enumeration of the application, which is not in the database.
    return ADMINISTRATOR if is_administrator else metadata.text(record.get("role"))


def _second_factor(record: Record, secret: str | None) -> object:
    is_required = record.get("otprequiredforlogin") == "t" or flag(record.get("otprequiredforlogin")) is True
    if not is_required:
        return None
    secret = secret or metadata.text(record.get("otpsecret"))
    if secret is None or secret.startswith("{"):
        return Problem("twoFactor", "is on, and the secret is encrypted: pass --otp-file", Field.TWO_FACTOR)
    return {"secret": secret}


def _account(record: Record) -> Fields:
    provider = str(record["provider"])
    return {"providerId": PROVIDERS.get(provider, provider), "accountId": str(record["uid"])}
