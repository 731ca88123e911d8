"""`gatewright mail`: try the mail settings."""

import asyncio
from typing import Annotated

import typer
from jinja2 import TemplateError

from domain import identifiers, secrets
from domain.outbox import Claim
from server.clock import system_clock
from server.commands import configuration
from server.mailing import renderer, senders
from server.policy import policy_of
from server.settings import Settings
from server.sources import ConfigurationError

app = typer.Typer(help="Try the mail settings.", no_args_is_help=True)


@app.callback()
def mail() -> None:
    """Try the mail settings."""


@app.command()
def test(address: Annotated[str, typer.Argument(help="Whom to send a test mail to.")]) -> None:
    """Send a test mail the way mail.sender says, and wait for the outcome."""
    settings = configuration.read()
    asyncio.run(deliver(settings, address))
    typer.echo(f"The mail {configuration.mail_route(settings)}.")


async def deliver(settings: Settings, address: str) -> None:
    """Send a test mail.

    Raises ConfigurationError when there is no sender or a template cannot be used, DeliveryError, and InvalidEmail.
    """
    kind = settings.mail.sender
    if kind == "none":
        raise ConfigurationError("mail.sender: is none, so no mail is sent")
    now = system_clock()
    row = Claim(
        id=secrets.token(),
        template="test",
        sender=kind,
        attempts=0,
        created_at=now,
        expires_at=now,
        payload={"to": identifiers.email(address)},
    )
    try:
        message = renderer(settings, policy_of(settings, frozenset())).render(row, now)
    except TemplateError as fault:
        raise ConfigurationError(f"mail.templates_dir: {fault}") from fault
    await senders(settings)[kind].send(message)
