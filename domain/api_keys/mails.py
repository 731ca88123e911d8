"""The emails about API keys."""

from domain.context import Context
from domain.mail.formats import NAME, TEXT
from domain.mail.messages import Recipient, notify
from domain.mail.templates import NETWORK, MailTemplate, Variable
from models.api_key import ApiKeyRow

API_KEY_CREATED = MailTemplate(
    "api-key-created",
    "a notice: an API key was created",
    (
        Variable("key_name", NAME, "the name of the key; may be empty", "Deployment"),
        Variable("key_start", TEXT, "the first characters of the key; may be empty", "acme_Zt3R"),
        Variable(
            "organization", NAME, "the name of the organization whose key it is; empty for a user's", "Acme"
        ),
        NETWORK,
    ),
    not_me_link=True,
)


async def key_created(ctx: Context, user: Recipient, row: ApiKeyRow, organization: str | None) -> None:
    """Notify a user of a new key: its owner or, for a key of an organization, an owner of the organization.

    `organization` is the name of that organization, None for a key of the user.
    """
    await notify(
        ctx,
        API_KEY_CREATED,
        user,
        key_name=row.name,
        key_start=row.start,
        organization=organization,
        network=ctx.client.network,
    )
