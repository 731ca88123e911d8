"""What the operator decides about mail (behaviour chapter 8)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Sender = Literal["none", "smtp", "console", "file"]


@dataclass(frozen=True, slots=True)
class MailPolicy:
    """How mails are sent, and whether users are told of changes by mail."""

    sender: Sender
    retry_for: timedelta
    send_email_notifications: bool
