"""The tables, and nothing but tables."""

from models.account import CREDENTIAL, Account
from models.base import Instant, metadata
from models.grant import Grant, Purpose
from models.lease import Lease
from models.outbox import MailState, Outbox
from models.session import Session
from models.user import User

__all__ = [
    "CREDENTIAL", "Account", "Grant", "Instant", "Lease", "MailState", "Outbox", "Purpose", "Session",
    "User", "metadata",
]  # fmt: skip
