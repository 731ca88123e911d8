"""The operations of openapi/paths/mail.yaml: emails that wait, failed or were sent, and previews of the templates."""

from domain.context import Context
from domain.mail.search import ListedMail
from domain.operations import outbox
from handlers import shapes, wire
from models import MailState

STATES = {state: name for name, states in outbox.STATES.items() for state in states}
"""The name of each state of the outbox in the API."""


# mail.list_messages
async def list_messages(
    ctx: Context,
    state: str | None = None,
    template: str | None = None,
    recipient: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> shapes.MailPage:
    """Return a page of emails. `recipient` is the id, email address or username of a user."""
    page = await outbox.list_mails(
        ctx,
        state=state,
        template=template,
        user=recipient,
        before=None if cursor is None else wire.position(cursor),
        limit=100 if limit is None else limit,
    )
    return {
        "mails": [_mail(mail) for mail in page.mails],
        "nextCursor": None if page.last is None else wire.cursor(page.last),
    }


# mail.send_again
async def send_again(ctx: Context, body: shapes.MailRequest) -> shapes.Status:
    """Queue a failed email again."""
    await outbox.send_again(ctx, body["mailId"])
    return {"status": True}


# mail.give_up
async def give_up(ctx: Context, body: shapes.MailRequest) -> shapes.Status:
    """Stop trying to send an email that waits."""
    await outbox.give_up(ctx, body["mailId"])
    return {"status": True}


# mail.list_templates
async def list_templates(ctx: Context) -> shapes.MailTemplates:
    """Return the email templates."""
    return {
        "templates": [
            {"name": template.name, "sentWhen": template.sent_when} for template in outbox.list_templates(ctx)
        ]
    }


# mail.preview
async def preview(ctx: Context, template: str, language: str | None = None) -> shapes.MailPreview:
    """Return an email, rendered from a template with example values."""
    shown = outbox.preview(ctx, template, language)
    return {
        "template": shown.template,
        "language": shown.language,
        "subject": shown.subject,
        "text": shown.text,
        "html": shown.html,
    }


# mail.send_preview
async def send_preview(ctx: Context, body: shapes.SendMailPreviewRequest) -> shapes.Status:
    """Send the caller an email, rendered from a template with example values."""
    await outbox.send_preview(ctx, body["template"], body.get("language"))
    return {"status": True}


def _mail(mail: ListedMail) -> shapes.Mail:
    return {
        "id": mail.id,
        "state": STATES[MailState(mail.state)],
        "template": mail.template,
        "recipient": mail.recipient,
        "userId": mail.user_id,
        "createdAt": wire.instant(mail.created_at),
        "updatedAt": wire.instant(mail.updated_at),
        "attempts": mail.attempts,
        "nextAttempt": wire.instant(mail.next_attempt) if mail.is_waiting else None,
        "error": mail.last_error,
        "canSendAgain": mail.can_be_sent_again,
    }
