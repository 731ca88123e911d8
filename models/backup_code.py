"""The table `backup_code`: single-use codes that replace the second factor."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import UniqueConstraint, select
from sqlmodel import Field, col

from models.base import Access, Record
from models.queries import ReadStatement, by
from models.two_factor import TwoFactor


class BackupCode(Record, table=True):
    """The argon2id hash of one code. All codes of a set have the same salt and cost, so a check computes one hash."""

    __tablename__ = "backup_code"
    __export__ = "backupCodes"
    __access__ = (Access("backup_codes"),)  # defence: M5 backup-codes
    __table_args__ = (UniqueConstraint("set_id", "code"),)

    user_id: str = Field(foreign_key="user.id", index=True, ondelete="CASCADE", max_length=32)
    set_id: str = Field(max_length=32)
    live: bool
    salt: bytes
    params: str
    code: bytes


class BackupSetRow(NamedTuple):
    """The salt and cost to hash a backup code with, and until when the user's second factor is locked."""

    set_id: str
    salt: bytes
    params: str
    locked_until: datetime | None


BACKUP_SET_BY_USER = ReadStatement(
    select(col(BackupCode.set_id), col(BackupCode.salt), col(BackupCode.params), col(TwoFactor.locked_until))
    .join(TwoFactor, col(TwoFactor.user_id) == col(BackupCode.user_id))
    .where(by(BackupCode.user_id), col(BackupCode.live))
    .limit(1),
    BackupSetRow._make,
)
"""The active set of a user's backup codes, as long as one code is left."""
