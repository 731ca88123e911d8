"""The tables, and nothing but tables."""

from models.account import CREDENTIAL, Account
from models.audit import Audit, AuditRecord, AuditRow, Outcome
from models.backup_code import BackupCode
from models.base import Instant, metadata
from models.counter import Counter
from models.grant import Grant, Purpose
from models.known_network import KnownNetwork
from models.lease import Lease
from models.outbox import MailState, Outbox
from models.session import Session
from models.trusted_device import TrustedDevice
from models.two_factor import TwoFactor
from models.user import User

__all__ = [
    "CREDENTIAL", "Account", "Audit", "AuditRecord", "AuditRow", "BackupCode", "Counter", "Grant", "Instant",
    "KnownNetwork", "Lease", "MailState", "Outbox", "Outcome", "Purpose", "Session", "TrustedDevice", "TwoFactor",
    "User", "metadata",
]  # fmt: skip
