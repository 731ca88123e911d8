"""The table `api_key`: API keys, with which programs authenticate to this service and to others."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Index,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    text,
    update,
)
from sqlmodel import Field, col

from models.base import Access, Instant, Record, Retention
from models.queries import ReadStatement, by, with_user
from models.statements import table_of
from models.user import USER_COLUMNS, User, UserRow

_EXPIRES, _CREATED_BY = text("expires_at IS NOT NULL"), text("created_by IS NOT NULL")


class ApiKey(Record, table=True):
    """One key. Its text is shown once and never stored."""

    __tablename__ = "api_key"
    __export__ = "apiKeys"
    __retention__ = (Retention("expires_at", timedelta(days=30)),)
    __access__ = (  # defence: M5 keys
        Access("api_keys", "API keys", expiry="expires_at"),
        # A stranger who created a key of an organization from an account with another's address keeps its text.
        Access(
            "organization_api_keys",
            "API keys",
            where=lambda columns: columns.organization_id.is_not(None),
            expiry="expires_at",
            owner="created_by",
        ),
    )
    __table_args__ = (
        CheckConstraint("(user_id IS NULL) <> (organization_id IS NULL)", name="ck_api_key_owner"),
        Index(None, "user_id", "created_at"),
        Index(None, "organization_id", "created_at"),
        Index(None, "created_at", "id"),
        Index(None, "start", postgresql_ops={"start": "text_pattern_ops"}),
        Index(None, "expires_at", postgresql_where=_EXPIRES, sqlite_where=_EXPIRES),
        Index(None, "created_by", postgresql_where=_CREATED_BY, sqlite_where=_CREATED_BY),
    )

    digest: bytes = Field(unique=True, repr=False)
    kind: str = Field(max_length=32)
    user_id: str | None = Field(default=None, foreign_key="user.id", ondelete="CASCADE", max_length=32)
    """The owner; None for a key of an organization."""
    organization_id: str | None = Field(
        default=None, foreign_key="organization.id", ondelete="CASCADE", max_length=32
    )
    """The owner; None for a key of a user."""
    created_by: str | None = Field(default=None, foreign_key="user.id", ondelete="SET NULL", max_length=32)
    name: str | None = None
    prefix: str | None = None
    start: str | None = None
    """The first characters of the key, by which people recognize it."""
    enabled: bool = True
    expires_at: datetime | None = Field(default=None, sa_type=Instant)
    last_request: datetime | None = Field(default=None, sa_type=Instant)
    remaining: int | None = Field(default=None, sa_type=BigInteger)
    refill_amount: int | None = Field(default=None, sa_type=BigInteger)
    refill_interval_ms: int | None = Field(default=None, sa_type=BigInteger)
    last_refill_at: datetime | None = Field(default=None, sa_type=Instant)
    rate_limit_enabled: bool
    rate_limit_window_ms: int = Field(sa_type=BigInteger)
    rate_limit_max: int = Field(sa_type=BigInteger)
    request_count: int = Field(default=0, sa_type=BigInteger)
    window_start: datetime | None = Field(default=None, sa_type=Instant)
    permissions: str | None = None
    """Actions by resource, as JSON."""
    custom_data: str | None = None
    """Data of the owner, as JSON; called `metadata` in the API."""


class ApiKeyRow(NamedTuple):
    """A key as read by a query; the fields are those of `ApiKey`, without the digest."""

    id: str
    kind: str
    user_id: str | None
    organization_id: str | None
    created_by: str | None
    name: str | None
    prefix: str | None
    start: str | None
    enabled: bool
    expires_at: datetime | None
    last_request: datetime | None
    remaining: int | None
    refill_amount: int | None
    refill_interval_ms: int | None
    last_refill_at: datetime | None
    rate_limit_enabled: bool
    rate_limit_window_ms: int
    rate_limit_max: int
    request_count: int
    window_start: datetime | None
    permissions: str | None
    custom_data: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def owner_id(self) -> str:
        """The id of the user or organization whose key it is."""
        return self.user_id or self.organization_id or ""

    def has_expired(self, now: datetime) -> bool:
        """Return whether the key has expired at `now`."""
        return self.expires_at is not None and self.expires_at <= now

    def is_counted(self) -> bool:
        """Return whether each use of the key changes a counter: that of remaining uses, or of the rate limit."""
        return self.rate_limit_enabled or self.remaining is not None

    def refills_at(self) -> datetime | None:
        """Return when the uses are refilled, or None if they never are."""
        if self.refill_amount is None or self.refill_interval_ms is None:
            return None
        since = self.created_at if self.last_refill_at is None else self.last_refill_at
        return _later(since, self.refill_interval_ms)

    def window_ends_at(self) -> datetime | None:
        """Return the end of the current window of the rate limit, or None before the first use."""
        return None if self.window_start is None else _later(self.window_start, self.rate_limit_window_ms)


_FOREVER = datetime.max.replace(tzinfo=UTC)
"""Later than every interval that is added to a moment."""


def _later(moment: datetime, milliseconds: int) -> datetime:
    try:
        return moment + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return _FOREVER


KEY_COLUMNS = tuple(col(getattr(ApiKey, name)) for name in ApiKeyRow._fields)


def _key_and_user(columns: Sequence[Any]) -> tuple[ApiKeyRow, UserRow | None]:
    key = ApiKeyRow(*columns[: len(KEY_COLUMNS)])
    return key, None if key.user_id is None else UserRow(*columns[len(KEY_COLUMNS) :])


KEY_BY_DIGEST = ReadStatement(
    select(*KEY_COLUMNS, *USER_COLUMNS)
    .select_from(with_user(table_of(ApiKey), table_of(User), col(ApiKey.user_id) == col(User.id)))
    .where(by(ApiKey.digest)),
    _key_and_user,
    key=ApiKey.digest,
    cacheable=True,
)
"""The key with a SHA-256 digest, and its user; the user is None for a key of an organization."""

KEY_BY_ID = ReadStatement(select(*KEY_COLUMNS).where(by(ApiKey.id)), ApiKeyRow._make, key=ApiKey.id)
"""A key, by its id."""

FIND_KEY = select(*KEY_COLUMNS).where(col(ApiKey.id) == bindparam("key_id")).execution_options(row=ApiKeyRow)
"""The key `key_id`, as the transaction sees it."""

_at = bindparam("at", type_=Instant())
_refill_due = and_(
    col(ApiKey.refill_amount).is_not(None),
    func.coalesce(col(ApiKey.last_refill_at), col(ApiKey.created_at))
    <= bindparam("refill_floor", type_=Instant()),
)
_window_over = or_(
    col(ApiKey.window_start).is_(None),
    col(ApiKey.window_start) <= bindparam("window_floor", type_=Instant()),
)
USE_KEY = (
    update(table_of(ApiKey))
    .where(
        col(ApiKey.id) == bindparam("key_id"),
        # The floors are computed from the row that was read, so the row must be unchanged.
        col(ApiKey.updated_at) == bindparam("seen", type_=Instant()),
        col(ApiKey.enabled),
        or_(col(ApiKey.expires_at).is_(None), col(ApiKey.expires_at) > _at),
        # defence: KEY8 remaining
        or_(col(ApiKey.remaining).is_(None), col(ApiKey.remaining) > 0, _refill_due),
        # defence: KEY8 rate-limit
        or_(
            ~col(ApiKey.rate_limit_enabled),
            _window_over,
            col(ApiKey.request_count) < col(ApiKey.rate_limit_max),
        ),
    )
    .values(
        remaining=case(
            (col(ApiKey.remaining).is_(None), None),
            (_refill_due, col(ApiKey.refill_amount) - 1),
            else_=col(ApiKey.remaining) - 1,
        ),
        last_refill_at=case(
            (and_(col(ApiKey.remaining).is_not(None), _refill_due), _at), else_=col(ApiKey.last_refill_at)
        ),
        request_count=case(
            (~col(ApiKey.rate_limit_enabled), col(ApiKey.request_count)),
            (_window_over, 1),
            else_=col(ApiKey.request_count) + 1,
        ),
        window_start=case(
            (and_(col(ApiKey.rate_limit_enabled), _window_over), _at), else_=col(ApiKey.window_start)
        ),
        last_request=_at,
    )
    .returning(*KEY_COLUMNS)
    .execution_options(row=ApiKeyRow)
)
"""Count one use of the key `key_id` at the time `at`, if its limits allow it; return the key.

The remaining uses and the rate limit are counted together or not at all, however many requests use the key. `seen` is
the `updated_at` that was read. `refill_floor` is `at` minus the interval of the refill (None without a refill), and
`window_floor` is `at` minus the window of the rate limit.
"""
