"""Fills empty databases with users, by the models and the password helper of fastapi-users.

The first argument is everybody's password, the others are the databases; prints the ids of each.
"""

import asyncio
import json
import sys
from typing import Any

from fastapi_users.password import PasswordHelper
from fastapi_users_db_sqlalchemy import (
    SQLAlchemyBaseOAuthAccountTableUUID,
    SQLAlchemyBaseUserTableUUID,
    SQLAlchemyUserDatabase,
)
from pwdlib import PasswordHash
from pwdlib.hashers.bcrypt import BcryptHasher
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, relationship


class Base(DeclarativeBase):
    """The tables of an application that uses fastapi-users."""


class OAuthAccount(SQLAlchemyBaseOAuthAccountTableUUID, Base):
    """As its documentation shows it."""


class User(SQLAlchemyBaseUserTableUUID, Base):
    """As its documentation shows it."""

    oauth_accounts: Mapped[list[OAuthAccount]] = relationship("OAuthAccount", lazy="joined")


async def fill(url: str, password: str) -> dict[str, str]:
    """Return the ids by name."""
    engine = create_async_engine(url)
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    ids = {}
    argon2, bcrypt = PasswordHelper(), PasswordHash((BcryptHasher(rounds=4),))
    async with async_sessionmaker(engine)() as session:
        database: Any = SQLAlchemyUserDatabase(session, User, OAuthAccount)
        for name, hashed, more in (
            ("ada", argon2.hash(password), {"is_verified": True, "is_superuser": True}),
            ("bob", bcrypt.hash(password), {}),
            ("eve", argon2.hash(password), {"is_active": False}),
        ):
            user = await database.create(
                {"email": f"{name.title()}@example.com", "hashed_password": hashed, **more}
            )
            ids[name] = str(user.id)
            if name == "bob":
                await database.add_oauth_account(
                    user,
                    {
                        "oauth_name": "test",
                        "access_token": "access-token-of-bob",
                        "account_id": "bob-at-the-provider",
                        "account_email": "bob@example.com",
                    },
                )
    await engine.dispose()
    return ids


if __name__ == "__main__":
    _, shared, *urls = sys.argv
    print(json.dumps([asyncio.run(fill(each, shared)) for each in urls]))
