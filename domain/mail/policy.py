"""Policy for mail, from the operator's settings."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Sender = Literal["none", "smtp", "console", "file"]


@dataclass(frozen=True, slots=True)
class MailPolicy:
    """How emails are sent, and whether users are notified of changes by email."""

    sender: Sender
    retry_for: timedelta
    send_email_notifications: bool
    not_me_page: str | None
    """The page that the link "This was not me" opens; None: the hosted page, or no link if the pages are disabled."""
