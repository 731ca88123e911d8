"""The query of a sign-in: who it may be, with all that decides on it, read at once."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, exists, false, select, true
from sqlmodel import col

from models.account import Account
from models.queries import PASSWORD_ACCOUNT, USER_COLUMNS, ReadStatement, UserRow, by
from models.session import Session
from models.user import User


class SignInRow(NamedTuple):
    """Who may be signing in, as seen before their password is checked."""

    user: UserRow
    hash: str | None
    """None when the user has no password."""
    under_session_limit: bool
    """Whether they have few sessions, those counted that have expired."""


def _sign_in_row(columns: Sequence[Any]) -> SignInRow:
    return SignInRow(UserRow._make(columns[:-2]), *columns[-2:])


@cache
def sign_in_row_by(name: Literal["email", "username"], few: int | None) -> ReadStatement[SignInRow]:
    """Return what finds who signs in by their lower-cased `email` or `username`, and whether they have fewer than `few`
    sessions (None for any number)."""
    wanted = select(*USER_COLUMNS, col(Account.password), _has_fewer(few))
    joined = wanted.join(Account, PASSWORD_ACCOUNT, isouter=True)
    return ReadStatement(joined.where(by(getattr(User, name))), _sign_in_row)


def _has_fewer(sessions: int | None) -> ColumnElement[bool]:
    if sessions is None:
        return true()
    # Their rows need not be read: what is asked for stands in the index.
    one = select(col(Session.user_id)).where(col(Session.user_id) == col(User.id))
    return ~exists(one.offset(sessions - 1).limit(1)) if sessions else false()
