"""The operations of openapi/paths/mailbox.yaml: sent emails as pages, for development."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from domain import errors
from domain.context import Context
from domain.ports import Mailbox, SentMail
from handlers.responses.reply import Header, Page

_TEMPLATES = Path(__file__).parent / "templates"
_STYLE = (_TEMPLATES / "mailbox.css").read_text("utf-8")
_STYLE_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_OF_PAGES: Header = (
    b"content-security-policy",
    f"default-src 'none'; style-src 'sha256-{_STYLE_DIGEST}'; frame-src 'self'; frame-ancestors 'none'".encode(),
)
SANDBOXED: Header = (
    b"content-security-policy",
    # Emails have inline styles and remote images, as in a mail program.
    b"default-src 'none'; style-src 'unsafe-inline'; img-src * data:; frame-ancestors 'self'; "
    # No scripts, and without `allow-same-origin` no access to the service's cookies. A page that a link opens needs
    # both.
    b"sandbox allow-popups allow-popups-to-escape-sandbox",
)
"""The header of a response with the HTML of an email: only pages of this service may embed it, and no script runs in
it."""


# mailbox.list_mails
async def list_mails(ctx: Context) -> Page:
    """List the emails, newest first."""
    return _page(ctx, "mailbox.html", mails=_mailbox(ctx).newest_first())


# mailbox.show_mail
async def show_mail(ctx: Context, mail_id: str) -> Page:
    """Show an email: its link or code, its HTML in a frame, and its text."""
    return _page(ctx, "mail.html", mail=_sent_mail(ctx, mail_id))


# mailbox.show_html
async def show_html(ctx: Context, mail_id: str) -> Page:
    """Return the HTML of an email, in which no script runs."""
    return Page(_sent_mail(ctx, mail_id).html, (SANDBOXED,))


def _mailbox(ctx: Context) -> Mailbox:
    mailbox = ctx.port.get(Mailbox)
    if mailbox is None:
        raise errors.NotFound
    return mailbox


def _sent_mail(ctx: Context, mail_id: str) -> SentMail:
    sent_mail = _mailbox(ctx).find(mail_id)
    if sent_mail is None:
        raise errors.NotFound
    return sent_mail


def _page(ctx: Context, template: str, **values: object) -> Page:
    common = {
        "app_name": ctx.policy.app_name,
        "mailbox": f"{ctx.policy.base_path}/dev/mailbox",
        "style": _STYLE,
    }
    return Page(_environment().get_template(template).render({**common, **values}), (_OF_PAGES,))


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
