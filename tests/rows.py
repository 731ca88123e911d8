"""Rows for the tests of what stores and reads them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import SQLModel

from domain import tokens
from domain.ports import Transaction
from models import Session, User
from models.statements import insert, values_of
from server.database.database import Database

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
WEEK = timedelta(days=7)


def user(name: str, **more: Any) -> User:
    """Make a user with an address of their own."""
    values = {
        "id": tokens.token(),
        "email": f"{name}@example.com",
        "created_at": NOW,
        "updated_at": NOW,
        **more,
    }
    return User(name=name, **values)


async def add(database: Database, *rows: SQLModel) -> None:
    """Store rows in a transaction of their own."""
    async with database.transaction() as db:
        for row in rows:
            db.add(row)


async def insert_many(db: Transaction, model: type[SQLModel], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, with the defaults of the model where they have no value."""
    await db.execute_many(insert(model), [values_of(model(**row)) for row in rows])


def session(owner: User, token: str, **more: Any) -> Session:
    """Make a session of a week that is opened by `token`."""
    values = {"id": tokens.token(), "expires_at": NOW + WEEK, "created_at": NOW, "updated_at": NOW, **more}
    return Session(user_id=owner.id, token_digest=tokens.digest(token), method="password", **values)
