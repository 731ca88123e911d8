"""Rows for the tests of what stores and reads them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from domain import tokens
from models import Session, User

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


def session(owner: User, token: str, **more: Any) -> Session:
    """Make a session of a week that is opened by `token`."""
    values = {"id": tokens.token(), "expires_at": NOW + WEEK, "created_at": NOW, "updated_at": NOW, **more}
    return Session(user_id=owner.id, token_digest=tokens.digest(token), method="password", **values)
