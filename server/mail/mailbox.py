"""The mailbox of the development profile: the last emails of this process, in memory."""

from collections import deque
from collections.abc import Sequence

from domain.ports import SentMail
from server.clock import Clock
from server.mail.message import Mail, Sender

KEPT = 100
"""The number of emails that are kept; the oldest one is dropped for a new one."""


class RecentMails:
    """The last emails that were sent; implements `domain.ports.Mailbox`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._mails: deque[SentMail] = deque(maxlen=KEPT)

    def newest_first(self) -> Sequence[SentMail]:
        """Return the emails, newest first."""
        return tuple(reversed(self._mails))

    def find(self, mail_id: str) -> SentMail | None:
        """Return the email with this id, or None."""
        return next((mail for mail in self._mails if mail.id == mail_id), None)

    def keep(self, mail: Mail) -> None:
        """Store an email that was sent."""
        self._mails.append(
            SentMail(
                id=mail.id,
                template=mail.template,
                to=mail.to,
                subject=mail.subject,
                text=mail.text,
                html=mail.html,
                link=mail.link,
                code=mail.code,
                sent_at=self._clock(),
            )
        )


class KeepingSender:
    """Sends emails with another sender, and then also stores them in a mailbox."""

    def __init__(self, sender: Sender, mails: RecentMails) -> None:
        self._sender = sender
        self._mails = mails

    async def send(self, mail: Mail) -> None:
        """Deliver the email, and store it in the mailbox. Raises TemporaryError or FinalError."""
        await self._sender.send(mail)
        self._mails.keep(mail)
