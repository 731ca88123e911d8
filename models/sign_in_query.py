"""The query of a sign-in with a password: one statement reads the user and all data that the sign-in depends on."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, exists, false, select, true
from sqlmodel import col

from models.account import PASSWORD_ACCOUNT, Account
from models.queries import ReadStatement, by
from models.session import Session
from models.user import USER_COLUMNS, User, UserRow


class SignInRow(NamedTuple):
    """The user of an attempted sign-in, read before the password is checked."""

    user: UserRow
    hash: str | None
    """The stored hash of the password; None if the user has no password."""
    under_session_limit: bool
    """Whether the user has fewer sessions than `few` (see `sign_in_row_by`), including expired ones."""


def _sign_in_row(columns: Sequence[Any]) -> SignInRow:
    return SignInRow(UserRow._make(columns[:-2]), *columns[-2:])


@cache
def sign_in_row_by(name: Literal["email", "username"], few: int | None) -> ReadStatement[SignInRow]:
    """Return the query for a sign-in by lower-case `email` or `username`.

    It also reads whether the user has fewer than `few` sessions; if `few` is None, that is always true.
    """
    columns = select(*USER_COLUMNS, col(Account.password), _has_fewer(few))
    joined = columns.join(Account, PASSWORD_ACCOUNT, isouter=True)
    return ReadStatement(joined.where(by(getattr(User, name))), _sign_in_row)


def _has_fewer(sessions: int | None) -> ColumnElement[bool]:
    if sessions is None:
        return true()
    # An index-only scan: the index contains these columns.
    session = select(col(Session.user_id)).where(col(Session.user_id) == col(User.id))
    return ~exists(session.offset(sessions - 1).limit(1)) if sessions else false()
