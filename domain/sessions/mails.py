"""The emails about sessions."""

from domain.context import Context
from domain.mail.formats import NAME
from domain.mail.messages import Recipient, notify
from domain.mail.templates import MailTemplate, Variable

ORGANIZATION_LINKED = MailTemplate(
    "organization-linked",
    "a notice: the user's organization signs in to an account that the user had before",
    (Variable("connection", NAME, "the name of the connection", "Acme"),),
)


async def organization_linked(ctx: Context, user: Recipient, connection: str) -> None:
    """Notify a user that the sign-in of their organization now opens their account; `connection` is its name."""
    await notify(ctx, ORGANIZATION_LINKED, user, connection=connection)
