"""The table `backup_code`: single-use codes that replace the second factor."""

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from models.base import Access, Record


class BackupCode(Record, table=True):
    """One code by its argon2id hash. The codes of one set share salt and cost, so one hash computation finds the
    code."""

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
