"""Users from a fastapi-users database, in the tables of its SQLAlchemy models."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from server.importers.source import Row
from server.importers.tables import Record, SourceDatabase, SourceTable, flag, instant

ORIGIN = "fastapi-users"
INACTIVE = "Not active in the application this user comes from"
ADMINISTRATOR = "admin"

_USER = ("id", "email", "hashed_password", "is_active", "is_superuser", "is_verified")
_ACCOUNT = ("id", "user_id", "oauth_name", "account_id")


@dataclass(frozen=True)
class FastapiUsers:
    """The source that reads an open fastapi-users database. Applications add columns, some of which are imported."""

    origin = ORIGIN
    source: SourceDatabase
    users: SourceTable
    accounts: SourceTable | None
    total: int | None

    async def rows(self) -> AsyncIterator[Row]:
        """Yield every user. Raises SourceRefused if the database fails."""
        position = 0
        async for page in self.source.pages(self.users):
            accounts = await self.source.rows_of_users(self.accounts, [record["id"] for record in page])
            for record in page:
                position, id_ = position + 1, record["id"]
                yield Row(f"id {id_}", _fields(record, accounts.get(id_, [])), str(id_), position)


async def fastapi_users(source: SourceDatabase) -> FastapiUsers:
    """Return the source of the users in a database. Raises SourceRefused if a table or a column is missing."""
    users = source.table("user", _USER)
    accounts = source.optional_table("oauth_account", _ACCOUNT)
    return FastapiUsers(source, users, accounts, await source.count(users))


def _fields(record: Record, accounts: list[Record]) -> dict[str, object]:
    active = flag(record["isactive"])
    return {
        "id": record["id"],
        "email": record["email"],
        "emailVerified": flag(record["isverified"]),
        "name": record.get("name"),
        "username": record.get("username"),
        "role": ADMINISTRATOR if flag(record["issuperuser"]) is True else None,
        "banned": not active if isinstance(active, bool) else active,
        "banReason": INACTIVE if active is False else None,
        "createdAt": instant(record.get("createdat")),
        "updatedAt": instant(record.get("updatedat")),
        "passwordHash": record["hashedpassword"] or None,
        "accounts": [{"providerId": each["oauthname"], "accountId": each["accountid"]} for each in accounts],
    }
