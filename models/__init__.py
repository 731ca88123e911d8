"""The tables of the database, one module for each. This package exports only the tables that are used most."""

from importlib import import_module

from models.account import CREDENTIAL, Account
from models.audit import Audit, AuditRecord, AuditRow, Outcome
from models.backup_code import BackupCode
from models.base import Instant, metadata
from models.counter import Counter
from models.discovery import import_modules
from models.known_network import KnownNetwork
from models.lease import Lease
from models.one_time_token import OneTimeToken, Purpose
from models.outbox import MailState, Outbox, OutboxRow
from models.session import Session
from models.trusted_device import TrustedDevice
from models.two_factor import TwoFactor
from models.user import User

__all__ = [
    "CREDENTIAL",
    "Account",
    "Audit",
    "AuditRecord",
    "AuditRow",
    "BackupCode",
    "Counter",
    "Instant",
    "KnownNetwork",
    "Lease",
    "MailState",
    "OneTimeToken",
    "Outbox",
    "OutboxRow",
    "Outcome",
    "Purpose",
    "Session",
    "TrustedDevice",
    "TwoFactor",
    "User",
    "metadata",
]  # fmt: skip

# Completes the metadata wherever a module of this package is imported. Migrations run without it.
import_modules(import_module(__name__), except_for=["models.migrations"])
