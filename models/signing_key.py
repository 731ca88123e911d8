"""The table `signing_key`: the keys that sign tokens for other services."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, bindparam, or_, select
from sqlmodel import Field, SQLModel, col

from models.base import ENCRYPTED, Instant
from models.queries import ReadStatement


class SigningKey(SQLModel, table=True):
    """A key pair, named by its thumbprint (RFC 7638), and the times at which it is published and signs."""

    __tablename__ = "signing_key"
    __table_args__ = (Index(None, "algorithm", "signs_from"),)

    kid: str = Field(primary_key=True, max_length=43)
    algorithm: str
    public_jwk: str
    private_jwk: bytes | None = Field(default=None, repr=False, sa_column_kwargs=ENCRYPTED)
    """The private key; None once it was erased, because the key has retired or was revoked."""
    created_at: datetime = Field(sa_type=Instant)
    signs_from: datetime = Field(sa_type=Instant)
    signs_until: datetime | None = Field(default=None, sa_type=Instant)
    """When the key stops signing; None if keys are not rotated."""
    published_until: datetime | None = Field(default=None, sa_type=Instant)
    revoked_at: datetime | None = Field(default=None, sa_type=Instant)


class SigningKeyRow(NamedTuple):
    """A signing key as read by a query; the fields are those of `SigningKey`."""

    kid: str
    algorithm: str
    public_jwk: str
    private_jwk: bytes | None
    created_at: datetime
    signs_from: datetime
    signs_until: datetime | None
    published_until: datetime | None
    revoked_at: datetime | None

    def is_published(self, now: datetime) -> bool:
        """Return whether the key is in the key document at `now`."""
        return self.revoked_at is None and (self.published_until is None or now < self.published_until)

    def has_begun(self, now: datetime) -> bool:
        """Return whether the key may sign already at `now`.

        Always true for a key that signs from its creation, so that an instance whose clock is behind can use the key.
        """
        return self.signs_from <= max(now, self.created_at)  # defence: JWT13 begun

    def signs(self, now: datetime) -> bool:
        """Return whether the key may sign at `now`: it has begun, has not ended, and was not revoked."""
        begun = self.revoked_at is None and self.has_begun(now)
        return begun and (self.signs_until is None or now < self.signs_until)


SIGNING_KEYS = select(*(col(getattr(SigningKey, name)) for name in SigningKeyRow._fields)).order_by(
    col(SigningKey.created_at).desc(), col(SigningKey.algorithm)
)
"""Every key, newest first."""

PUBLISHED_KEYS = ReadStatement(
    SIGNING_KEYS.where(
        col(SigningKey.revoked_at).is_(None),
        or_(
            col(SigningKey.published_until).is_(None),
            col(SigningKey.published_until) > bindparam("value", type_=Instant()),
        ),
    ),
    SigningKeyRow._make,
)
"""The keys that are published at a time, newest first."""
