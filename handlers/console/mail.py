"""Emails: the lists of waiting, failed and sent ones, and previews of the templates."""

import re
from collections.abc import Mapping
from typing import Any

from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.localization import LANGUAGES, N_
from domain.mail.administration import GIVEN_UP
from domain.mail.search import ListedMail
from domain.mail.templates import templates
from domain.operations import outbox
from handlers import shapes, wire
from handlers.console import layout
from handlers.console.registry import NavigationItem, UserSection
from handlers.console.view import ConsoleView, view
from handlers.mail import STATES
from handlers.mailbox import SANDBOXED
from handlers.positions import positions, time_position
from handlers.responses.reply import Page, Redirect
from models import MailState
from models.user import UserRow

ERROR_TEXTS: Mapping[str, str] = {
    "MAIL_NOT_FOUND": N_("There is no such email. Sent and failed emails are listed for a few days."),
    "MAIL_TEMPLATE_NOT_FOUND": N_("There is no such template."),
}

_PERMISSION = ("service", "manage")
_OF_USER = 50
"""The most emails that the page of a user shows."""

NOTICES = {
    "mail-queued": N_("The email is queued, and sent as soon as possible."),
    "mail-given-up": N_(
        "The email is given up. It can be sent again until its link or code is no longer valid."
    ),
    "mail-preview-queued": N_("The email with example values is on its way to you."),
}

_REASONS: Mapping[str, str] = {
    GIVEN_UP: N_("An administrator gave it up"),
    "expired": N_("It could not be sent in time"),
    "malformed header": N_("A header of the email is malformed"),
    "malformed recipient": N_("The email address is malformed"),
    "no key fits the payload": N_("It is encrypted with a service key that is no longer configured"),
    "the sender is not configured": N_("Its sender is no longer configured"),
    "time-out": N_("The mail server took too long"),
}
_SMTP = (
    (r"smtp: \d+ [45]\.1\.\d+|smtp: 553", N_("The mail server does not know the mailbox")),
    (r"smtp: \d+ [45]\.2\.\d+|smtp: 552", N_("The mailbox is full or switched off")),
    (r"smtp: \d+ [45]\.7\.\d+|smtp: 53[045]", N_("The mail server refused it by its rules")),
    (r"smtp: 4", N_("The mail server did not accept it yet")),
    (r"smtp: 5", N_("The mail server refused it")),
    (r"smtp: ", N_("The mail server could not be reached")),
    (r"file: ", N_("The file could not be written")),
    (r"", N_("The email could not be prepared")),
)
"""Regular expressions for the beginning of the reason of a failure, each with the sentence to show; the first match
counts. The status codes are those of RFC 3463."""

_DARK = re.compile(r"\(\s*prefers-color-scheme\s*:\s*dark\s*\)")
_LIGHT = re.compile(r"\(\s*prefers-color-scheme\s*:\s*light\s*\)")


# console.mail.show_list
async def show_list(
    ctx: Context,
    ui_locales: str | None = None,
    state: str | None = None,
    template: str | None = None,
    recipient: str | None = None,
    after: str | None = None,
    before: str | None = None,
) -> Page:
    """Show a page of emails."""
    # In the order of the list, a page after a position has older emails.
    older_than, newer_than = positions(after, before, time_position)
    filters = {
        "state": state or None,
        "template": template or None,
        "recipient": (recipient or "").strip() or None,
    }
    here = view(ctx, "/mail", ui_locales, **filters)
    found = await outbox.list_mails(
        ctx,
        state=filters["state"],
        template=filters["template"],
        user=filters["recipient"],
        before=older_than,
        after=newer_than,
        limit=ctx.policy[ConsolePolicy].page_size,
    )
    return layout.render(
        ctx,
        here,
        "mail/list.html",
        mails=found.mails,
        filters=filters,
        active=sum(value is not None for name, value in filters.items() if name != "state"),
        newer=found.first and here.url("/mail", **here.query, before=wire.cursor(found.first)),
        older=found.last and here.url("/mail", **here.query, after=wire.cursor(found.last)),
        template_names=[(name, name) for name in templates()],
        **_words(here),
    )


# console.mail.send_again
async def send_again(ctx: Context, body: shapes.ConsoleMailForm) -> Redirect:
    """Send a failed email again."""
    here = view(ctx)
    await outbox.send_again(ctx, body["mail"])
    return layout.done(ctx, here, _list_of(body), "mail-queued")


# console.mail.show_give_up
async def show_give_up(ctx: Context, mail: str | None = None, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before the service stops trying to send an email."""
    here = view(ctx, "/mail/give-up", ui_locales, mail=mail)
    found = await outbox.get_mail(ctx, mail or "")
    return layout.render(ctx, here, "mail/give_up.html", mail=found, **_words(here))


# console.mail.give_up
async def give_up(ctx: Context, body: shapes.ConsoleMailForm) -> Redirect:
    """Stop trying to send an email that waits."""
    here = view(ctx)
    await outbox.give_up(ctx, body["mail"])
    return layout.done(ctx, here, _list_of(body), "mail-given-up")


# console.mail.show_preview
async def show_preview(
    ctx: Context,
    ui_locales: str | None = None,
    template: str | None = None,
    language: str | None = None,
    scheme: str | None = None,
) -> Page:
    """Show an email template with example values."""
    declared = outbox.list_templates(ctx)
    name, scheme = template or declared[0].name, scheme or "light"
    chosen = {"template": template or None, "language": language or None, "scheme": scheme}
    here = view(ctx, "/mail/preview", ui_locales, **chosen)
    shown = outbox.preview(ctx, name, language or here.localization.language)
    return layout.render(
        ctx,
        here,
        "mail/preview.html",
        frames=True,
        shown=shown,
        scheme=scheme,
        sent_when=templates()[name].sent_when,
        template_names=[one.name for one in declared],
        languages_of_mails=list(LANGUAGES.items()),
        html_url=here.url("/mail/preview/html", template=name, language=shown.language, scheme=scheme),
    )


# console.mail.show_preview_html
async def show_preview_html(
    ctx: Context,
    template: str,
    ui_locales: str | None = None,
    language: str | None = None,
    scheme: str | None = None,
) -> Page:
    """Return the HTML of an email template with example values; no script runs in it."""
    here = view(ctx, None, ui_locales)
    shown = outbox.preview(ctx, template, language or here.localization.language)
    return Page(in_scheme(shown.html, is_dark=scheme == "dark"), (SANDBOXED,))


# console.mail.send_preview
async def send_preview(ctx: Context, body: shapes.ConsoleMailPreviewForm) -> Redirect:
    """Send the caller an email with example values."""
    here = view(ctx)
    language = body.get("language") or here.localization.language
    await outbox.send_preview(ctx, body["template"], language)
    shown = here.url("/mail/preview", template=body["template"], language=language, scheme=body.get("scheme"))
    return layout.done_at(ctx, shown, "mail-preview-queued")


def in_scheme(html: str, *, is_dark: bool) -> str:
    """Return the HTML of an email so that it is shown dark or light whatever the browser prefers."""
    always, never = "(min-width: 0px)", "(max-width: 0px)"
    html = _DARK.sub(always if is_dark else never, html)
    return _LIGHT.sub(never if is_dark else always, html)


def reason(here: ConsoleView, error: str) -> str:
    """Return the reason why an email could not be sent, in words; `error` is the reason as stored."""
    text = _REASONS.get(error) or next(words for start, words in _SMTP if re.match(start, error))
    return here.localization.gettext(text)


def _list_of(body: shapes.ConsoleMailForm) -> str:
    state = body.get("state")
    return f"/mail?state={state}" if state else "/mail"


def _words(here: ConsoleView) -> Mapping[str, Any]:
    """Return the functions and translated labels with which templates describe emails."""
    gettext = here.localization.gettext
    states = {"waiting": gettext("Waiting"), "failed": gettext("Failed"), "sent": gettext("Sent")}

    def state_of(mail: ListedMail) -> str:
        return STATES[MailState(mail.state)]

    return {"states": states, "state_of": state_of, "reason": lambda error: reason(here, error)}


async def _mails_of(ctx: Context, here: ConsoleView, user: UserRow) -> Mapping[str, Any]:
    found = await outbox.list_mails(ctx, user=user.id, limit=_OF_USER)
    all_url = here.url("/mail", recipient=user.id) if found.last else None
    return {"mails": found.mails, "all_url": all_url, **_words(here)}


NAVIGATION = (NavigationItem(path="/mail", label=N_("Mail"), permission=_PERMISSION, position=60),)
USER_SECTIONS = (
    UserSection(
        name="mails", label=N_("Mails sent to this user"), permission=_PERMISSION, position=60, load=_mails_of
    ),
)
