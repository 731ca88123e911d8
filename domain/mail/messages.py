"""Queue an email as an outbox row: recipient, template, values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import domain
from domain import localization
from domain.context import Context
from domain.localization import Localization
from domain.mail import disown_links, outbox
from domain.mail.policy import MailPolicy
from domain.pages.policy import PagesPolicy
from domain.rate_limits import limits
from models import MailState, OutboxRow
from models.discovery import import_modules

Resolver = Callable[[Context, str, str | None], Awaitable[None]]
"""Looks up the user with an email address and queues the email; the last argument is the redirect target."""

_RESOLVERS: dict[str, Resolver] = {}


class Addressee(Protocol):
    """The recipient of an email: a `User` or a `UserRow`."""

    @property
    def id(self) -> str | None:
        """The user's id, None for a decoy; queued emails are deleted with the user."""

    @property
    def name(self) -> str:
        """The user's name."""

    @property
    def email(self) -> str:
        """The stored email address."""

    @property
    def email_verified(self) -> bool:
        """Whether that address is verified."""

    @property
    def locale(self) -> str | None:
        """The user's language, None if unknown."""


@dataclass(frozen=True, slots=True)
class _Nobody:
    """A recipient without an account: of a decoy, or of an email to an unknown address. It has no name."""

    id: str | None = None
    name: str = ""
    email: str = outbox.DECOY
    email_verified: bool = False
    locale: str | None = None


NOBODY: Addressee = _Nobody()
"""In place of a user. Only an email to its own address is a decoy."""


async def notify(
    ctx: Context,
    template: str,
    user: Addressee,
    *,
    to: str | None = None,
    is_verified: bool | None = None,
    **values: str,
) -> None:
    """Queue a notice, unless notices are disabled or an unverified address has reached its limit.

    Every notice is queued by this function. Address and verification default to the stored ones.
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
    """Queue an email for the user, by default through `mail.sender` and to the stored address.

    `lives` is the lifetime of its link or code; `values` are for the template: link, code, until, switched, key_name,
    key_start, network, enabled_keys, passkeys, passkey_name, removed.
    """
    expires_at = None if lives is None else ctx.now + lives
    by = sender or ctx.policy[MailPolicy].sender
    if by == "none":
        return
    recipient = user.email if to is None else to
    payload: outbox.Payload = {
        "to": recipient,
        "name": user.name,
        "locale": localization_of(ctx, user).language,
        "link": None,
        "code": None,
        "expires": None if expires_at is None else expires_at.isoformat(),
        **values,
    }
    not_me_link = _not_me_link(ctx, template, user, recipient)
    if not_me_link is not None:
        payload["not_me_link"] = not_me_link
    _add(
        ctx,
        outbox.row(ctx, MailState.QUEUED, template, by, payload, user_id=user.id, expires_at=expires_at),
    )


def _not_me_link(ctx: Context, template: str, user: Addressee, recipient: str) -> str | None:
    """Return the link that deletes the user if this, their address, is unverified; None without such a link."""
    is_unproven = recipient == user.email and not user.email_verified  # defence: N4 verified
    return disown_links.link(ctx, template, user.id if is_unproven else None, recipient)


def localization_of(ctx: Context, user: Addressee) -> Localization:
    """Return the language of emails to a user: their own, else the browser's if the user made the request, else
    `pages.locale`."""
    is_own = ctx.caller is None or ctx.caller.user.id == user.id
    language = localization.negotiate(
        user.locale,
        accept_language=ctx.client.languages if is_own else None,
        default=ctx.policy[PagesPolicy].locale,
    )
    return localization.localization(language)


def queue_request(ctx: Context, template: str, sender: str, email: str, target: str | None) -> None:
    """Queue a request for an email to `email` made without a session; the worker looks up the user."""
    client = ctx.client
    payload: outbox.Payload = {
        "email": email,
        "target": target,
        "address": client.address,
        "user_agent": client.user_agent,
        "request_id": client.request_id,
        "languages": client.languages,
    }
    _add(ctx, outbox.row(ctx, MailState.UNRESOLVED, template, sender, payload))


def resolves(template: str) -> Callable[[Resolver], Resolver]:
    """Register the function that resolves queued requests for an email; each email has one."""

    def declare(resolver: Resolver) -> Resolver:
        if template in _RESOLVERS:
            raise ValueError(f"requests for the mail {template!r} are resolved twice")
        _RESOLVERS[template] = resolver
        return resolver

    return declare


def resolvers() -> Mapping[str, Resolver]:
    """Return the resolvers of queued requests, by the name of the email."""
    import_modules(domain, except_for=domain.LOADED_LATER)
    return _RESOLVERS


def _add(ctx: Context, row: OutboxRow) -> None:
    if row.sender != "none":
        ctx.outbox.append(row)
