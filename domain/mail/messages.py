"""Queue an email as an outbox row: recipient, template, values."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

import domain
from domain import localization
from domain.context import Context
from domain.localization import Localization
from domain.mail import disown_links, outbox
from domain.mail.policy import MailPolicy
from domain.mail.templates import MailTemplate
from domain.pages.policy import PagesPolicy
from domain.rate_limits import limits
from models import MailState
from models.discovery import import_modules

Resolver = Callable[[Context, str, str | None], Awaitable[None]]
"""Looks up the user with an email address and queues the email. Its last argument is `target` of `queue_request`."""

_RESOLVERS: dict[str, Resolver] = {}


class Recipient(Protocol):
    """The recipient of an email: a `User` or a `UserRow`."""

    @property
    def id(self) -> str | None:
        """The user's id, None without a user; queued emails are deleted with the user."""

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
class _UnregisteredRecipient:
    id: str | None = None
    name: str = ""
    email: str = outbox.DECOY_ADDRESS
    email_verified: bool = False
    locale: str | None = None


UNREGISTERED: Recipient = _UnregisteredRecipient()
"""Stands for the user in an email to an address that has no user. Without the parameter `to`, the email is a decoy."""


async def notify(
    ctx: Context,
    template: MailTemplate,
    user: Recipient,
    *,
    to: str | None = None,
    is_verified: bool | None = None,
    **values: Any,
) -> None:
    """Queue an email that tells a user about a change; every such notice is queued by this function.

    Nothing is queued if `mail.send_email_notifications` is off, or if the address is unverified and has reached its
    limit. `to` and `is_verified` default to the user's stored address and whether it is verified; `values` has a value
    for each variable of the template.
    """
    recipient = user.email if to is None else to
    proven = user.email_verified if is_verified is None else is_verified
    if not ctx.policy[MailPolicy].send_email_notifications:
        return
    if await limits.may_notify(ctx, recipient, is_verified=proven):
        queue_mail(ctx, template, user, to=recipient, **values)  # defence: V78 notice-recipient


def queue_mail(
    ctx: Context,
    template: MailTemplate,
    user: Recipient,
    *,
    to: str | None = None,
    sender: str | None = None,
    expires_in: timedelta | None = None,
    **values: Any,
) -> None:
    """Queue an email for the user. `to` defaults to their stored address, `sender` to the setting `mail.sender`.

    Nothing is queued if the sender is `none`. `expires_in` is the lifetime of the link or code in the email. Raises
    ValueError unless `values` has a value for exactly the variables of the template.
    """
    sender = sender or ctx.policy[MailPolicy].sender
    if sender == "none":
        return
    expires_at = None if expires_in is None else ctx.now + expires_in
    recipient = user.email if to is None else to
    payload: outbox.Payload = {
        "to": recipient,
        "name": user.name,
        "locale": localization_of(ctx, user).language,
        "expires": None if expires_at is None else expires_at.isoformat(),
        **template.encode(values),
    }
    not_me_link = _not_me_link(ctx, template, user, recipient)
    if not_me_link is not None:
        payload["not_me_link"] = not_me_link
    row = outbox.row(
        ctx, MailState.QUEUED, template.name, sender, payload, user_id=user.id, expires_at=expires_at
    )
    ctx.outbox.append(row)


def _not_me_link(ctx: Context, template: MailTemplate, user: Recipient, recipient: str) -> str | None:
    """Return the link that deletes the user, for an email to their unverified address; None for emails without it."""
    is_unproven = recipient == user.email and not user.email_verified  # defence: N4 verified
    return disown_links.link(ctx, template, user.id if is_unproven else None, recipient)


def localization_of(ctx: Context, user: Recipient) -> Localization:
    """Return the localization for emails to a user: their own language, else that of the browser, else `pages.locale`.

    The browser's language is not used if another user is signed in.
    """
    is_own = ctx.caller is None or ctx.caller.user.id == user.id
    language = localization.negotiate(
        user.locale,
        accept_language=ctx.client.languages if is_own else None,
        default=ctx.policy[PagesPolicy].locale,
    )
    return localization.localization(language)


def queue_request(ctx: Context, template: MailTemplate, sender: str, email: str, target: str | None) -> None:
    """Queue a request for an email to `email` that was made without a session; do nothing if `sender` is "none".

    Later the outbox worker calls the template's resolver with `target`. The resolver looks up the user and queues the
    email.
    """
    if sender == "none":
        return
    client = ctx.client
    payload: outbox.Payload = {
        "email": email,
        "target": target,
        "address": client.address,
        "user_agent": client.user_agent,
        "request_id": client.request_id,
        "languages": client.languages,
    }
    ctx.outbox.append(outbox.row(ctx, MailState.UNRESOLVED, template.name, sender, payload))


def resolves(template: MailTemplate) -> Callable[[Resolver], Resolver]:
    """Register the decorated function as the resolver of queued requests for this email.

    Raises ValueError if the email already has a resolver, or is not declared with `on_request`.
    """

    def declare(resolver: Resolver) -> Resolver:
        if template.name in _RESOLVERS:
            raise ValueError(f"requests for the email {template.name!r} are resolved twice")
        if not template.on_request:
            raise ValueError(f"the email {template.name!r} is not declared with on_request")
        _RESOLVERS[template.name] = resolver
        return resolver

    return declare


def resolvers() -> Mapping[str, Resolver]:
    """Return the resolvers of queued requests, by the name of the email's template."""
    import_modules(domain, except_for=domain.LOADED_LATER)
    return _RESOLVERS
