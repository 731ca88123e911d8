"""Administration of emails: list them, send them again, give them up, preview their templates."""

from collections.abc import Sequence

from domain.admin import permissions
from domain.admin.errors import SearchTooBroad, YouAreNotAllowedToManageService
from domain.admin.policy import AdminPolicy
from domain.context import Context
from domain.errors import Limited
from domain.keyset import Position
from domain.mail import administration, events, messages, outbox, search
from domain.mail.errors import MailNotFound, MailSenderNotConfigured, MailTemplateNotFound
from domain.mail.policy import MailPolicy
from domain.mail.search import ListedMail, MailFilter, MailPage
from domain.mail.templates import MailPreview, MailPreviews, MailTemplate, templates
from domain.ports import SearchTimedOut
from domain.rate_limits import limits
from models import MailState
from models.user import FIND_USER

STATES = {
    "waiting": outbox.WAITING,
    "failed": (MailState.FAILED,),
    "sent": (MailState.SENT,),
}
"""The states of the outbox by the names that administrators see."""

_WAIT = 60 * 60
"""Seconds after which previews may be sent again, once the limit of emails is reached."""


async def list_mails(
    ctx: Context,
    *,
    state: str | None = None,
    template: str | None = None,
    user: str | None = None,
    before: Position | None = None,
    after: Position | None = None,
    limit: int,
) -> MailPage:
    """Return a page of emails, newest first.

    `state` is a key of `STATES`; `user` is an id, email address or username; `before` and `after` are as for
    `domain.mail.search.find`. A filter that is None matches all emails. Raises YouAreNotAllowedToManageService,
    TwoFactorRequired; SearchTooBroad if the search takes too long.
    """
    _require(ctx)  # defence: ADM24 mails
    within = ctx.policy[AdminPolicy].scan_timeout
    try:
        wanted = MailFilter(
            states=None if state is None else STATES[state],
            template=template,
            user_id=None if user is None else await _user_id(ctx, user),
        )
        return await search.find(ctx, wanted, before=before, after=after, limit=limit, within=within)
    except SearchTimedOut:
        raise SearchTooBroad from None


async def get_mail(ctx: Context, mail_id: str) -> ListedMail:
    """Return an email. Raises YouAreNotAllowedToManageService, TwoFactorRequired, MailNotFound."""
    _require(ctx)
    found = await search.get(ctx, mail_id)
    if found is None:
        raise MailNotFound
    return found


async def send_again(ctx: Context, mail_id: str) -> None:
    """Queue a failed email again.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, MailNotFound, MailNotFailed, MailExpired.
    """
    _require(ctx)  # defence: ADM24 send-again
    await administration.send_again(ctx, mail_id)


async def give_up(ctx: Context, mail_id: str) -> None:
    """Mark a waiting email as failed, so that it is not sent.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, MailNotFound, MailNotWaiting, MailBeingSent.
    """
    _require(ctx)  # defence: ADM24 give-up
    await administration.give_up(ctx, mail_id)


def list_templates(ctx: Context) -> Sequence[MailTemplate]:
    """Return the templates, sorted by name. Raises YouAreNotAllowedToManageService, TwoFactorRequired."""
    _require(ctx)  # defence: ADM24 mail-templates
    return list(templates().values())


def preview(ctx: Context, name: str, language: str | None) -> MailPreview:
    """Return the email of the template `name` with example values; if `language` is None, in the caller's language.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, MailTemplateNotFound, BrokenMailTemplate.
    """
    _require(ctx)  # defence: ADM24 mail-preview
    return ctx.port[MailPreviews].render(_template(name).name, language or _own_language(ctx), ctx.now)


async def send_preview(ctx: Context, name: str, language: str | None) -> None:
    """Queue the email of the template `name` with example values, to the email address of the caller.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired, MailTemplateNotFound, MailSenderNotConfigured, Limited.
    """
    _require(ctx)  # defence: ADM24 send-preview
    template, language = _template(name), language or _own_language(ctx)
    if ctx.policy[MailPolicy].sender == "none":
        raise MailSenderNotConfigured
    # As if verified, so that its link "This was not me" does not delete the account of the caller.
    user = ctx.signed_in.user._replace(locale=language, email_verified=True)
    if not await limits.may_mail(ctx, limits.NOTICES, user.email):
        raise Limited(retry_after=_WAIT)
    examples = {variable.name: variable.example for variable in template.variables}
    messages.queue_mail(ctx, template, user, expires_in=template.example_lifetime, **examples)
    events.mail_preview_sent(ctx, template.name, language)


def _require(ctx: Context) -> None:
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)


def _template(name: str) -> MailTemplate:
    template = templates().get(name)
    if template is None:
        raise MailTemplateNotFound
    return template


def _own_language(ctx: Context) -> str:
    return messages.localization_of(ctx, ctx.signed_in.user).language


async def _user_id(ctx: Context, identifier: str) -> str:
    """Return the id of a user; an unknown identifier as it is, which matches no email."""
    named = FIND_USER.params(id=identifier, lowered=identifier.lower())
    # Outside the transaction, because the search has a connection of its own.
    [found] = await ctx.resources.database.search(
        [named], ctx.policy[AdminPolicy].scan_timeout, is_scan=False
    )
    user = found.first()
    return identifier if user is None else str(user.id)
