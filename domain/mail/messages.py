"""One function per message, adding an outbox row: to whom, which template, which values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Protocol

import domain
from domain.context import Context
from domain.mail import outbox
from domain.mail.policy import MailPolicy
from domain.rate_limits import limits
from models import MailState, Outbox
from models.discovery import import_modules

Resolver = Callable[[Context, str, str | None], Awaitable[None]]
"""Looks for the user behind an address and queues the mail; the last argument is the redirect target."""

_RESOLVERS: dict[str, Resolver] = {}


class Addressee(Protocol):
    """The user a mail is for: a `User` or a `UserRow`."""

    @property
    def id(self) -> str | None:
        """The user's id, None for nobody; queued mail goes when the user goes."""

    @property
    def name(self) -> str:
        """What to call the user."""

    @property
    def email(self) -> str:
        """The stored address."""

    @property
    def email_verified(self) -> bool:
        """Whether that address is proven."""


@dataclass(frozen=True, slots=True)
class _Nobody:
    """What stands in for a user in a decoy."""

    id: str | None = None
    name: str = "Nobody"
    email: str = outbox.DECOY
    email_verified: bool = False


NOBODY: Addressee = _Nobody()
"""A mail for nobody is a decoy."""


async def notify(
    ctx: Context,
    template: str,
    user: Addressee,
    *,
    to: str | None = None,
    is_verified: bool | None = None,
    **values: str,
) -> None:
    """Add a notice, unless notices are off or the budget of an address that was never proven is spent.

    Every notice is added here. The address is the stored one, and proven as stored, unless said otherwise.
    """
    recipient = user.email if to is None else to
    proven = user.email_verified if is_verified is None else is_verified
    if not ctx.policy[MailPolicy].send_email_notifications:
        return
    if await limits.may_notify(ctx, recipient, is_verified=proven):
        queue_mail(ctx, template, user, to=recipient, lives=None, **values)  # defence: V78 notice-recipient


def queue_mail(
    ctx: Context,
    template: str,
    user: Addressee,
    *,
    to: str | None = None,
    sender: str | None = None,
    lives: timedelta | None = None,
    **values: str,
) -> None:
    """Add a mail for the user, by `mail.sender` and to the stored address unless said otherwise.

    `lives` says how long its link or code works; `values` are what the template shows: link, code, until, switched.
    """
    expires_at = None if lives is None else ctx.now + lives
    payload: outbox.Payload = {
        "to": user.email if to is None else to,
        "name": user.name,
        "link": None,
        "code": None,
        "expires": None if expires_at is None else expires_at.isoformat(),
        **values,
    }
    row = outbox.row(ctx, template, sender or ctx.policy[MailPolicy].sender, payload, expires_at)
    row.user_id = user.id
    _add(ctx, row)


def queue_request(ctx: Context, template: str, sender: str, email: str, target: str | None) -> None:
    """Queue a request for a mail to `email` made without a session; the worker looks up the user."""
    row = outbox.row(ctx, template, sender, {"email": email, "target": target, **asdict(ctx.client)})
    row.state = MailState.UNRESOLVED
    _add(ctx, row)


def resolves(template: str) -> Callable[[Resolver], Resolver]:
    """Declare a function as what resolves the queued requests for a mail; a mail has one of them."""

    def declare(resolver: Resolver) -> Resolver:
        if template in _RESOLVERS:
            raise ValueError(f"requests for the mail {template!r} are resolved twice")
        _RESOLVERS[template] = resolver
        return resolver

    return declare


def resolvers() -> Mapping[str, Resolver]:
    """Return what resolves queued requests, by the name of the mail."""
    import_modules(domain)
    return _RESOLVERS


def _add(ctx: Context, row: Outbox) -> None:
    if row.sender != "none":
        ctx.outbox.append(row)
