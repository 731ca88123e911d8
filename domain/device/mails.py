"""The emails about devices."""

from domain.context import Context
from domain.mail.formats import NAME, TEXT
from domain.mail.messages import Recipient, notify
from domain.mail.templates import MailTemplate, Variable

DEVICE_AUTHORIZED = MailTemplate(
    "device-authorized",
    "a notice: a device was given access by its code",
    (
        Variable("client_name", NAME, "the application on the device", "Television"),
        Variable("network", TEXT, "the network address of the device; may be empty", "203.0.113.7"),
    ),
)


async def device_authorized(ctx: Context, user: Recipient, client_name: str, network: str | None) -> None:
    """Notify a user that a device was given access. `network` is the network address of the device, None if unknown."""
    await notify(ctx, DEVICE_AUTHORIZED, user, client_name=client_name, network=network)
